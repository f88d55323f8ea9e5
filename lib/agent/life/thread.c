// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads of the run: their numbers in order of appearance, and names that
 * last ("0.2.1").
 */
#include "agent/core.h"
#include "agent/raw.h"

#define ARMED 64 /* threads that arm the quiet sites again */

__thread struct maple_agent_thread maple_self
	__attribute__((tls_model("initial-exec"))) = {
		.number = MAPLE_THREAD_NONE,
	};

static unsigned int put_number(char *to, unsigned int n)
{
	char digits[12];
	unsigned int i = 0, len = 0;

	do {
		digits[i++] = '0' + n % 10;
		n /= 10;
	} while (n);
	while (i)
		to[len++] = digits[--i];
	return len;
}

/*
 * "0.2" is the second child of "0", and "0.t1" the first that is none of the
 * program's; a name that is too long ends in '+'.
 */
static void name_child(struct maple_shm_thread *t,
		       struct maple_shm_thread *parent, uint32_t *born,
		       bool helper)
{
	unsigned int n = 0;

	while (n < MAPLE_SHM_NAME - 1 && parent->name[n]) {
		t->name[n] = parent->name[n];
		n++;
	}
	if (n + 13 >= MAPLE_SHM_NAME) {
		t->name[MAPLE_SHM_NAME - 2] = '+';
		t->name[MAPLE_SHM_NAME - 1] = 0;
		return;
	}
	t->name[n++] = '.';
	if (helper)
		t->name[n++] = 't';
	n += put_number(t->name + n,
			__atomic_add_fetch(born, 1, __ATOMIC_RELAXED));
	t->name[n] = 0;
}

static bool has_budgets(const struct maple_shm *shm)
{
	if (maple_agent_controls)
		return shm->control.log;
	return !maple_agent_enforces && shm->budget;
}

/*
 * What thread @n shares may be seen at sites that went quiet: before it is
 * created, and when it begins, which may be long after.
 */
static void rearm(uint32_t n)
{
	static uint64_t quieted; /* sites, when this was done last */
	const struct maple_shm *shm = maple_shm;

	if (!has_budgets(shm) || (n >= ARMED && n & (n - 1)))
		return;
	if (maple_self.number == n && quieted == shm->stats.quieted)
		return;
	quieted = shm->stats.quieted;
	maple_interest_rearm();
}

static uint32_t new_thread(bool helper)
{
	static uint32_t helpers[MAPLE_THREADS]; /* born so far, by parent */
	struct maple_shm *shm = maple_shm;
	struct maple_shm_thread *t, *parent;
	uint32_t n;

	if (!maple_agent_on())
		return MAPLE_THREAD_NONE;
	parent = &shm->thread[maple_self.number];
	n = __atomic_load_n(&shm->nthreads, __ATOMIC_RELAXED);
	do {
		if (n >= MAPLE_THREADS) {
			__atomic_fetch_add(&shm->stats.threads_over, 1,
					   __ATOMIC_RELAXED);
			return MAPLE_THREAD_NONE;
		}
	} while (!__atomic_compare_exchange_n(&shm->nthreads, &n, n + 1, false,
					      __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	maple_agent_enter();
	maple_linger_start();
	t = &shm->thread[n];
	t->tid = 0;
	t->alive = 0;
	t->pthread = 0;
	t->demoted = 0;
	t->events = 0;
	t->born = 0;
	t->pthread = 0;
	t->parent = maple_self.number;
	name_child(t, parent,
		   helper ? &helpers[maple_self.number] : &parent->born, helper);
	t->prio = maple_sched_first(n);
	if (maple_agent_controls)
		maple_control_born(n);
	else if (maple_agent_enforces)
		maple_enforce_born(n);
	rearm(n);
	maple_agent_leave();
	return n;
}

uint32_t maple_agent_thread_new(void)
{
	return new_thread(false);
}

uint32_t maple_agent_helper_new(void)
{
	return new_thread(true);
}

void maple_agent_thread_drop(uint32_t number)
{
	if (!maple_shm || number >= MAPLE_THREADS)
		return;
	if (maple_agent_enforces) {
		maple_agent_enter();
		maple_enforce_exit(number);
		maple_agent_leave();
	}
	if (maple_agent_controls)
		maple_control_exit(number);
	maple_retire_dropped();
	maple_shm->thread[number].prio = 0;
}

unsigned int maple_agent_thread_prio(uint32_t number)
{
	if (!maple_shm || number >= MAPLE_THREADS)
		return 0;
	return maple_shm->thread[number].prio;
}

void maple_agent_thread_start(uint32_t number, const void *stack, uint64_t size)
{
	struct maple_shm *shm = maple_shm;
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_START,
				    (uint64_t)stack, size };
	struct maple_shm_thread *t;

	if (!shm || number >= MAPLE_THREADS)
		return;
	maple_agent_enter();
	t = &shm->thread[number];
	maple_self.events = &t->events;
	maple_self.number = number;
	maple_self.clock = maple_self.settled = 0;
	maple_self.late = 0;
	maple_self.yields = 0;
	t->pthread = (uint64_t)__builtin_thread_pointer();
	t->tid = raw0(SYS_gettid);
	t->alive = 1;
	maple_sched_begin(number);
	maple_fault_stack();
	if (maple_agent_controls)
		maple_net_begin();
	rearm(number);
	maple_ring_put(MAPLE_EV_START, &acc, 0, 0, 0, 0);
	maple_agent_leave();
}

void maple_agent_thread_exit(void)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_EXIT, 0, 0 };
	uint32_t number = maple_self.number;

	if (!maple_shm || number == MAPLE_THREAD_NONE)
		return;
	maple_agent_enter();
	if (maple_agent_controls)
		maple_net_end(number);
	maple_ring_put(MAPLE_EV_EXIT, &acc, 0, 0, 0, 0);
	maple_shm->thread[number].alive = 0;
	if (maple_agent_enforces)
		maple_enforce_exit(number);
	if (maple_agent_controls)
		maple_control_exit(number);
	maple_self.number = MAPLE_THREAD_NONE;
	maple_fault_stack_drop();
	maple_agent_leave();
}

uint32_t maple_agent_thread_find(uint64_t pthread)
{
	const struct maple_shm *shm = maple_shm;

	if (!shm)
		return MAPLE_THREAD_NONE;
	/* A pthread_t may be used again: the last one is meant. */
	for (uint32_t i = shm->nthreads; i-- > 0;)
		if (shm->thread[i].pthread == pthread)
			return i;
	return MAPLE_THREAD_NONE;
}

/* maple_thread_main - the main thread becomes thread 0 of the run */
void maple_thread_main(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_thread *t = &shm->thread[0];

	maple_sched_start();
	*t = (struct maple_shm_thread){ .parent = MAPLE_THREAD_NONE,
					.name = "0" };
	shm->nthreads = 1;
	t->prio = maple_sched_first(0);
	if (maple_agent_enforces)
		maple_enforce_born(0);
	maple_sched_take();
	maple_agent_thread_start(0, NULL, 0);
}
