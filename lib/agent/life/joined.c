// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The agent in a process that ran before it. lib/backend/join loads it by
 * dlopen(), and has one of the process's threads call what is below, in this
 * order. A copy of the agent has one run, and is unloaded after it.
 *
 * Nothing is interposed: the program was linked before we came. So there are
 * accesses of its own code, and no locks, no memory functions, and no ends of
 * threads. A thread that was there has its place in TLS from dlopen(); one that
 * appears later gets its number at its first access.
 */
#include <pthread.h>
#include "agent/core.h"
#include "agent/raw.h"

extern void *const __dso_handle __attribute__((visibility("hidden")));
void __cxa_finalize(void *dso);

bool maple_joined;		 /* this is such a process, */
bool maple_joined_left;		 /* ... and the run in it is over */
static struct maple_shm *opened; /* as maple_shm, but until the very end */

static uint64_t offset_of_self(void)
{
	return (uint64_t)&maple_self - (uint64_t)__builtin_thread_pointer();
}

/* [@at, @at + @size) is to be unmapped at the end. */
static void note_map(uint64_t at, uint64_t size)
{
	struct maple_shm_joined *j = &maple_shm->joined;
	uint32_t i = __atomic_fetch_add(&j->nmaps, 1, __ATOMIC_RELAXED);

	if (i >= MAPLE_SHM_MAPS)
		return;
	j->map[i].at = at;
	j->map[i].size = size;
}

/* A forked child is no part of the run; its copy of the patches is asleep. */
static void in_child(void)
{
	struct maple_shm *shm = maple_shm;

	maple_shm = NULL;
	maple_agent_pid = -1;
	if (shm)
		maple_sched_put_back(shm, 0);
}

/*
 * maple_joined_open - the run that @path is the shared memory of is to be had
 * here; what images there are stands in it afterwards
 *
 * Context: all other threads run; libc may be called.
 */
int maple_joined_open(const char *path)
{
	struct maple_shm *shm = maple_agent_map(path, sizeof(*shm));

	if (!shm)
		return -2; /* ENOENT */
	/* What is there is an earlier copy's, and unmapped. */
	shm->joined.nmaps = 0;
	shm->joined.handlers = 0;
	shm->joined.at = (uint64_t)shm;
	maple_joined = true;
	maple_shm = opened = shm;
	maple_lock_mapped = note_map;
	maple_agent_pid = shm->pid = (int32_t)raw0(SYS_getpid);
	maple_agent_enforces = shm->mode == MAPLE_SHM_ENFORCE;
	shm->joined.self = offset_of_self();
	maple_agent_enter();
	maple_fault_start();
	shm->joined.restorer = maple_fault_restorer();
	maple_call_start();
	pthread_atfork(NULL, NULL, in_child);
	maple_image_list();
	maple_agent_leave();
	return 0;
}

/* Thread @n has @tid, whose thread pointer is @tp; the main one made them all. */
static void admit(uint32_t n, int32_t tid, uint64_t tp)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_thread *t = &shm->thread[n];
	struct maple_agent_thread *self = (void *)(tp + shm->joined.self);
	char digits[12];
	unsigned int k = 0, at = 0, left = n;

	*t = (struct maple_shm_thread){ .parent = n ? 0 : MAPLE_THREAD_NONE,
					.tid = tid,
					.pthread = tp,
					.alive = 1 };
	t->name[at++] = '0';
	if (n) {
		t->name[at++] = '.';
		for (; left; left /= 10)
			digits[k++] = '0' + left % 10;
		while (k)
			t->name[at++] = digits[--k];
	}
	*self = (struct maple_agent_thread){ .number = n, .events = &t->events };
}

static void tell_start(uint32_t n)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_START, 0, 0 };
	struct maple_agent_thread was = maple_self;

	maple_self = (struct maple_agent_thread){
		.number = n, .events = &maple_shm->thread[n].events, .inside = 1
	};
	maple_ring_put(MAPLE_EV_START, &acc, 0, 0, 0, 0);
	maple_self = was;
}

/* Everyone that was there has its number, its level, and begins. */
static void admit_all(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_joined *j = &shm->joined;

	for (uint32_t i = 0; i < j->n; i++)
		admit(i, j->thread[i].tid, j->thread[i].pointer);
	shm->nthreads = j->n;
	shm->thread[0].born = j->n - 1;
	for (uint32_t i = 0; i < j->n; i++) {
		shm->thread[i].prio = maple_sched_first(i);
		if (maple_agent_enforces)
			maple_enforce_born(i);
	}
	/* The caller has stood at HOOK while it did that. */
	for (uint32_t i = 0; i < j->n; i++)
		if (shm->thread[i].prio)
			maple_sched_set(shm->thread[i].tid, shm->thread[i].prio);
	for (uint32_t i = 0; i < j->n; i++)
		tell_start(i);
}

/*
 * maple_joined_enter - from now on the run is observed, or enforced
 *
 * Context: all other threads are stopped, wherever they were. Those that are
 * told in shared memory have their new place there afterwards, where code was
 * moved away below them.
 */
int maple_joined_enter(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_joined *j = &shm->joined;
	uint64_t to;

	if (!j->n || j->n > MAPLE_THREADS)
		return -22; /* EINVAL */
	maple_self.inside = 1;
	shm->stats.pinned = j->pinned;
	maple_ring_shared = !j->pinned;
	maple_ring_start();
	if (maple_agent_enforces)
		maple_enforce_start();
	maple_image_patch();
	maple_sched_start();
	admit_all();
	for (uint32_t i = 0; i < j->n; i++)
		if (maple_patch_slot(j->thread[i].pc, &to))
			j->thread[i].pc = to;
	shm->entered = raw_now();
	maple_self.inside = 0;
	__atomic_store_n(&shm->state, MAPLE_AGENT_RUNNING, __ATOMIC_RELEASE);
	return 0;
}

/*
 * maple_joined_admit - the calling thread, which has no number, appeared after
 * we had come; false: there is no room for more
 */
bool maple_joined_admit(void)
{
	struct maple_shm *shm = maple_shm;
	uint32_t n;

	if (!maple_joined || maple_joined_left || !maple_agent_ours() ||
	    maple_self.inside || shm->state != MAPLE_AGENT_RUNNING)
		return false;
	maple_self.inside = 1;
	n = __atomic_fetch_add(&shm->nthreads, 1, __ATOMIC_ACQ_REL);
	if (n >= MAPLE_THREADS) {
		__atomic_store_n(&shm->nthreads, MAPLE_THREADS,
				 __ATOMIC_RELEASE);
		if (!maple_self.over)
			__atomic_fetch_add(&shm->stats.threads_over, 1,
					   __ATOMIC_RELAXED);
		maple_self.over = true;
		maple_self.inside = 0;
		return false;
	}
	admit(n, raw0(SYS_gettid), (uint64_t)__builtin_thread_pointer());
	maple_self.inside = 1;
	shm->thread[n].prio = maple_sched_first(n);
	if (maple_agent_enforces)
		maple_enforce_born(n);
	maple_sched_begin(n);
	tell_start(n);
	maple_self.inside = 0;
	return true;
}

/*
 * maple_joined_leave - the program's own code is back, and nobody is held or
 * scheduled by us any more; who is in a slot or a hook comes out of it
 *
 * Context: all other threads are stopped.
 */
int maple_joined_leave(void)
{
	struct maple_shm *shm = maple_shm;

	if (!shm) /* it was not even opened */
		return 0;
	maple_joined_left = true;
	maple_patch_out();
	maple_fault_leave();
	shm->sched = MAPLE_SCHEDULE_NATIVE;
	for (uint32_t i = 0; i < shm->nthreads && i < MAPLE_THREADS; i++)
		shm->thread[i].prio = shm->thread[i].demoted = 0;
	maple_enforce_wake();
	return 0;
}

/*
 * maple_joined_close - nothing that the agent has mapped is left but itself and
 * the shared memory
 *
 * Context: all other threads are stopped, and none of them is in any of it.
 */
int maple_joined_close(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_joined *j;
	uint32_t n;

	if (!shm)
		return 0;
	j = &shm->joined;
	n = j->nmaps < MAPLE_SHM_MAPS ? j->nmaps : MAPLE_SHM_MAPS;
	maple_lock_mapped = NULL;
	maple_shm = NULL;
	maple_image_unmap();
	for (uint32_t i = 0; i < n; i++)
		raw2(SYS_munmap, j->map[i].at, j->map[i].size);
	return 0;
}

/*
 * maple_joined_forget - libc knows nothing of us; to be called right before
 * dlclose()
 *
 * The shared memory goes last: a copy without it, which is what a kill may
 * leave, was not opened yet or may be closed at once.
 */
int maple_joined_forget(void)
{
	__cxa_finalize((void *)&__dso_handle);
	if (opened)
		raw2(SYS_munmap, opened, sizeof(*opened));
	opened = NULL;
	return 0;
}
