// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs: the policy (lib/policy) at work in the target. The rules are
 * algorithms.md 10; here are those about levels.
 *
 *	HOOK	decides in the name of all; is about to wait on a condition
 *	HIGH	in transit: new, or woken; runs to its next point
 *	MID..	the chosen one, above all others but these
 *	LOW..	stands at a point, runnable, at LOW or where it was chosen
 *
 * While the chosen one runs nobody in transit can, for they stand above it: so
 * at its next point all others that matter stand below it, and it decides, with
 * no lock and no system call. To hand over takes one: who is next goes one
 * level above it, and has the CPU. Whoever gets the CPU without being chosen
 * knows by that that nobody above can run: the chosen one has blocked, or
 * ended. Then he decides. So nobody says anything before he blocks, and
 * mutexes, raw futexes, page faults and system calls are all the same.
 *
 * No wake-up can be lost: nobody who stands at a point sleeps. Where there are
 * no priorities everybody does, and turn.c stands in for the levels.
 *
 * A run that took too long is let go: from there on its threads have no levels
 * and preempt each other anywhere, so nobody decides any more. Who has begun to
 * ends it alone, since all that come after it see that the run was let go.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define LOW  MAPLE_PRIO_LOW
#define MID  MAPLE_PRIO_NORM_FIRST
#define TOP  MAPLE_PRIO_NORM_LAST
#define HIGH MAPLE_PRIO_HIGH

#define NAPS 8 /* between two looks whether the caller was cancelled */

bool maple_agent_controls, maple_control_values;
static bool reads; /* what accesses read is recorded */

static struct maple_policy *policy;
static unsigned int top = MID; /* where the chosen one is */
/* From before a thread loses the CPU until it goes on. */
static volatile uint8_t stands[MAPLE_THREADS];
/* It was raised for its signals' handlers alone. */
static volatile uint8_t handles[MAPLE_THREADS];

bool maple_control_decides(void)
{
	return maple_agent_controls &&
	       !__atomic_load_n(&maple_shm->let_go, __ATOMIC_ACQUIRE);
}

/* maple_control_ahead - what a controlled run needs, whatever it is to do */
void maple_control_ahead(void)
{
	policy = maple_lock_memory(maple_policy_size());
	if (policy)
		maple_lock_populate((uint64_t)policy,
				    (uint64_t)policy + maple_policy_size() /
							       MAPLE_THREADS *
							       MAPLE_AGENT_FEW);
}

uint32_t maple_control_hits(uint32_t site)
{
	return maple_agent_controls
		       ? maple_policy_hits(policy, maple_self.number, site)
		       : 0;
}

static bool is_parked(uint32_t t)
{
	return maple_policy_is_parked(policy, t);
}

/* Of the caller, for who tells of the run. */
static void say(unsigned int kind, const struct maple_policy_op *op,
		uint32_t aux)
{
	struct maple_access acc = { MAPLE_SITE_NONE, 0, 0, 0 };

	if (!maple_control_values)
		return;
	if (op)
		acc = (struct maple_access){ op->site, op->kind, op->addr,
					     op->size };
	maple_ring_put(kind, &acc, 0, 0, aux,
		       (uint64_t)__builtin_frame_address(0));
}

/* What who decides stands before; NULL: it has the CPU without being chosen. */
static const struct maple_policy_op *decides_at;

static void follows(uint32_t at, uint32_t thread, uint32_t next)
{
	say(MAPLE_EV_NEXT, decides_at, at);
	maple_debugged_follows(at, thread, next);
}

static bool outside(void)
{
	return !maple_time_stands(is_parked);
}

/* maple_control_start - the policy of this run, before its first thread */
void maple_control_start(void)
{
	static const struct maple_policy_ops ops = {
		.enabled = maple_peek_enabled,
		.value = maple_peek_value,
		.outside = outside,
		.memory = maple_lock_memory,
		.follows = follows,
	};
	struct maple_shm_control *c = &maple_shm->control;
	const struct maple_policy_setup setup = {
		.order = &c->order,
		.name = c->name,
		.nnames = c->nnames,
		.weight = c->nweights ? c->weight : NULL,
		.list = c->list,
		.nlist = c->nlist,
		.log = c->decided,
		.nlog = &c->ndecided,
		.counts = &c->counts,
		.ops = &ops,
	};

	if (!policy)
		maple_control_ahead();
	if (!policy)
		return;
	top = MID;
	maple_turn_start();
	maple_peek_start();
	maple_policy_start(policy, &setup);
	maple_time_start(policy);
	maple_agent_controls = true;
	maple_interest_leave();
	maple_control_values = c->values;
	reads = c->reads;
}

/* maple_control_born - the caller is about to create thread @number */
void maple_control_born(uint32_t number)
{
	maple_turn_take();
	stands[number] = false;
	maple_policy_born(policy, number, maple_shm->thread[number].name,
			  maple_self.number);
	maple_turn_stir();
	maple_turn_give();
}

/* With priorities a new thread goes first by itself (rule 1). */
void maple_agent_thread_first(uint32_t number)
{
	if (!maple_agent_controls || !maple_turn_sleeps || !maple_agent_on())
		return;
	maple_agent_enter();
	maple_turn_await(is_parked, number);
	maple_agent_leave();
}

void maple_control_exit(uint32_t number)
{
	maple_turn_take();
	maple_policy_exit(policy, number);
	if (maple_turn_sleeps)
		maple_turn_look();
	maple_turn_give();
}

/* The caller's own. */
static void take_level(unsigned int prio)
{
	maple_shm->thread[maple_self.number].prio = prio;
	if (!maple_turn_sleeps)
		maple_sched_settle();
}

/* Somebody else's. Without priorities all that counts is that it is chosen. */
static void set_level(uint32_t thread, unsigned int prio)
{
	if (!maple_turn_sleeps)
		maple_sched_level(thread, prio);
	else if (prio == MID)
		maple_turn_wake(thread);
}

/*
 * The level of @next, who is chosen: above all who stand, the caller too. When
 * there is none left, these go down, but for the caller, which has the CPU.
 */
static unsigned int level_of(uint32_t next)
{
	if (maple_turn_sleeps)
		return MID;
	if (top < TOP)
		return ++top;
	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS; i++)
		if (i != maple_self.number && i != next && is_parked(i) &&
		    maple_shm->thread[i].prio > LOW)
			set_level(i, LOW);
	return top = MID;
}

/* The former chosen one is asleep, or never came to run (rules 5, 10). */
static void set_aside(uint32_t was)
{
	if (maple_policy_is_parked(policy, was) || !maple_shm->thread[was].alive)
		return;
	if (stands[was]) {
		set_level(was, LOW);
		maple_policy_park(policy, was);
	} else {
		set_level(was, HIGH);
	}
}

/* Whether the caller was only to run its handlers, which it has. */
static bool has_handled(uint32_t self)
{
	if (!handles[self])
		return false;
	handles[self] = false;
	take_level(LOW);
	return true;
}

/* The chosen one has blocked or ended: the caller chooses who goes on. */
static void choose(uint32_t self)
{
	uint32_t was = maple_policy_chosen(policy), next = was;

	if (was != self) {
		if (was != MAPLE_POLICY_NOBODY)
			set_aside(was);
		decides_at = NULL;
		next = maple_policy_fall(policy);
		level_of(next);
	}
	if (next != self)
		set_level(next, top);
	take_level(next == self ? top : LOW);
}

/*
 * We have the CPU without being chosen: nobody above LOW can run. Unless the
 * kernel or a debugger holds them, or has just let them go.
 */
static void fall_through(uint32_t self)
{
	if (has_handled(self) || maple_detained_await(is_parked))
		return;
	if (!maple_debugged_claim(is_parked)) {
		take_level(LOW);
		maple_debugged_nap();
		return;
	}
	if (maple_policy_waits(policy, MAPLE_POLICY_NOBODY)) {
		if (maple_debugged_disclaim())
			take_level(LOW);
		maple_time_go_by();
		return;
	}
	maple_sched_set(0, MAPLE_PRIO_HOOK);
	if (!maple_control_decides()) {
		take_level(LOW);
	} else if (!has_handled(self)) {
		choose(self);
	}
	maple_debugged_disclaim();
}

/* The same without priorities: asleep, with a look now and then. */
static void lie(uint32_t self, uint32_t *us)
{
	if (!maple_turn_sleep(is_parked, us) || !maple_control_decides())
		return;
	if (!maple_policy_waits(policy, MAPLE_POLICY_NOBODY)) {
		choose(self);
		return;
	}
	maple_turn_give();
	maple_time_go_by();
	maple_turn_take();
}

/* The CPU goes with the last call, and comes back as somebody else chooses. */
static void hand_over(uint32_t self, uint32_t next)
{
	unsigned int level = level_of(next);
	bool above = maple_shm->thread[self].prio >= level;

	set_level(next, level);
	if (above)
		take_level(LOW);
}

/*
 * Returns when the caller, which is parked or chosen again, and stands before
 * @op, is to go on.
 * @next: it was chosen by the caller, and has the CPU from here on; or NOBODY
 */
static void stand(uint32_t self, const struct maple_policy_op *op, uint32_t next)
{
	uint32_t us = 0;

	say(MAPLE_EV_HOLD, op, op->kind);
	stands[self] = true;
	if (next == MAPLE_POLICY_NOBODY)
		take_level(LOW);
	else
		hand_over(self, next);
	if (maple_turn_sleeps)
		maple_turn_stand();
	while (maple_policy_chosen(policy) != self && !maple_agent_sealed &&
	       maple_control_decides()) {
		if (maple_turn_sleeps)
			lie(self, &us);
		else
			fall_through(self);
	}
	if (maple_turn_sleeps)
		maple_turn_leave(is_parked);
	stands[self] = false;
	say(MAPLE_EV_RELEASE, op, 0);
}

void maple_agent_let_handle(uint32_t thread)
{
	/* Who sleeps has them run by the kernel. */
	if (!maple_agent_on() || thread == maple_self.number ||
	    maple_turn_sleeps || !maple_policy_is_parked(policy, thread))
		return;
	maple_agent_enter();
	handles[thread] = true;
	maple_sched_level(thread, HIGH);
	maple_agent_leave();
}

/*
 * Returns when what the caller waits for at @op is there, or its time is over;
 * who waits for a signal may be cancelled, and is to see to that now and then.
 */
static void wait_natively(uint32_t self, const struct maple_policy_op *op)
{
	uint32_t naps = 0;

	while (!(op->peek && maple_peek_enabled(self, op)) &&
	       !(op->until && op->until <= maple_policy_now(policy)) &&
	       !maple_agent_sealed &&
	       (op->peek != MAPLE_PEEK_WAITER || naps++ < NAPS))
		maple_time_go_by();
}

/* The chosen one returns when it may decide. */
static void settle(void)
{
	if (maple_turn_sleeps)
		maple_turn_settle(is_parked);
	else
		maple_debugged_settle(is_parked);
}

/* The calling thread stands before @op; returns when it goes on. */
static void point(const struct maple_policy_op *op)
{
	uint32_t self = maple_self.number, next;

	maple_agent_gets_on();
	if (maple_policy_alone(policy) || !maple_control_decides()) {
		maple_policy_count(policy, self, op->site);
		return;
	}
	maple_turn_take();
	maple_policy_announce(policy, self, op);
	if (maple_policy_chosen(policy) == self)
		settle();
	if (maple_policy_chosen(policy) != self) {
		maple_policy_arrive(policy, self);
		stand(self, op, MAPLE_POLICY_NOBODY);
	} else if (maple_policy_waits(policy, self)) {
		maple_policy_rest(policy, self);
		stand(self, op, MAPLE_POLICY_NOBODY);
	} else {
		decides_at = op;
		next = maple_policy_decide(policy, self);
		if (next != self)
			stand(self, op, next);
	}
	if (maple_control_decides())
		maple_policy_execute(policy, self);
	if (maple_event_is_memory(op->kind))
		maple_turn_access();
	else
		maple_turn_stir();
	maple_turn_give();
}

/*
 * Whether a schedule can name @site: a call from code of no known image, as the
 * unwinder that libc loads when a thread is cancelled, is elsewhere in each
 * process.
 */
static bool has_name(uint32_t site)
{
	return site == MAPLE_SITE_NONE || !(site & MAPLE_SITE_CALL) ||
	       maple_shm->call[site & ~MAPLE_SITE_CALL].image != ~0u;
}

/* maple_control_access - the caller, inside, is about to do @acc */
void maple_control_access(const struct maple_access *acc, unsigned int flags)
{
	struct maple_policy_op op = {
		.site = acc->site,
		.kind = acc->kind,
		.addr = acc->addr,
		.size = acc->size,
		.peek = (uint8_t)(flags >> MAPLE_PEEK_SHIFT),
	};

	if (flags & MAPLE_AGENT_CAME)
		return;
	/* A release commutes with all that comes before the next point. */
	if (acc->kind == MAPLE_EV_UNLOCK)
		maple_turn_stir();
	else if (has_name(acc->site))
		point(&op);
}

void maple_agent_point(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek)
{
	struct maple_policy_op op = {
		.site = site,
		.kind = kind,
		.addr = (uint64_t)addr,
		.size = 1,
		.peek = peek,
	};

	if (!maple_agent_controls || !maple_agent_on() || !has_name(site))
		return;
	maple_agent_enter();
	point(&op);
	maple_agent_leave();
}

bool maple_agent_await(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek, uint64_t until)
{
	struct maple_policy_op op = {
		.site = has_name(site) ? site : MAPLE_SITE_NONE,
		.kind = kind,
		.addr = (uint64_t)addr,
		.size = 1,
		.peek = peek,
		.event = true,
		.until = until,
		.patient = peek == MAPLE_PEEK_DEATH,
	};
	uint32_t self = maple_self.number;
	bool there;

	maple_agent_enter();
	point(&op);
	if (!maple_control_decides())
		wait_natively(self, &op);
	there = peek && maple_peek_enabled(self, &op);
	if (!there && until) {
		maple_turn_take();
		maple_policy_expire(policy, self, until);
		maple_turn_give();
	}
	maple_agent_leave();
	return there;
}

/* maple_control_yield - the program gives way */
void maple_control_yield(void)
{
	maple_agent_point(MAPLE_SITE_NONE, MAPLE_EV_NONE, NULL, MAPLE_PEEK_NONE);
}

void maple_agent_above(void)
{
	if (!maple_agent_on())
		return;
	maple_agent_enter();
	take_level(MAPLE_PRIO_HOOK);
	maple_agent_leave();
}

void maple_agent_back(void)
{
	if (!maple_agent_on())
		return;
	maple_agent_enter();
	take_level(maple_policy_chosen(policy) == maple_self.number ? top
								    : HIGH);
	maple_agent_leave();
}

/*
 * maple_control_unknown - the caller, inside, has done @acc, which no hook
 *                         announced; @value stands there now, @was before
 * @before: how often it has done so there before
 *
 * The point is after the access. So the place where its thread can stand before
 * it is the point after the one before, and that is the hit that is recorded.
 */
void maple_control_unknown(const struct maple_access *acc, uint64_t value,
			   uint64_t was, uint32_t before, uint64_t sp)
{
	struct maple_access none = { MAPLE_SITE_NONE, 0, 0, 0 };
	unsigned int flags = MAPLE_EVF_EXACT;
	struct maple_policy_op op = {
		.site = acc->site,
		.kind = acc->kind,
		.addr = acc->addr,
		.size = acc->size,
	};

	if (maple_control_values || (reads && acc->kind == MAPLE_EV_READ))
		flags |= MAPLE_EVF_VALUED;
	if (maple_control_values ||
	    maple_interest_logs(acc->site, acc->kind, before))
		maple_ring_put(acc->kind, acc, value, flags, before, sp);
	if (maple_control_values)
		maple_ring_put(MAPLE_EV_STEP, &none, was, 0, 0, sp);
	point(&op);
}

/*
 * Into the ring, with what it reads: the caller was chosen, and comes to its
 * access next.
 */
static void record(const struct maple_access *acc, unsigned int flags,
		   uint64_t sp)
{
	uint64_t value = 0;

	if (reads && acc->kind != MAPLE_EV_WRITE && acc->size <= sizeof(value)) {
		value = maple_peek_memory(acc->addr, acc->size);
		flags |= MAPLE_EVF_VALUED;
	}
	maple_ring_put(acc->kind, acc, value, flags,
		       maple_control_hits(acc->site), sp);
}

/*
 * maple_hook_point - called by a slot before its instruction, in a controlled
 *                    run; as maple_hook_before()
 */
void maple_hook_point(uint64_t addr, struct maple_agent_site *site,
		      const struct maple_agent_frame *frame)
{
	enum maple_interest_answer answer;
	struct maple_access acc;

	if (!maple_agent_controls || !maple_hook_begin(site, frame, addr, &acc))
		return;
	answer = maple_interest_hit(site);
	if (answer == MAPLE_INTEREST_UNPATCH) {
		maple_retire_site(site);
	} else if (answer == MAPLE_INTEREST_STAND) {
		if (!maple_control_values || site->interest.wanted)
			maple_control_access(&acc, 0);
		if (maple_control_values)
			maple_agent_open(&acc);
		else if (maple_interest_logs(site->number, acc.kind,
					     site->interest.count++))
			record(&acc, site->event_flags, (uint64_t)(frame + 1));
	}
	maple_hook_end();
}
