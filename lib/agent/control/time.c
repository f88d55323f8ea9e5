// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The time of a controlled run (algorithms.md 10): clocks tell the policy's,
 * which stands still while threads run, goes on a little whenever it is asked
 * for, and jumps to the end of a wait where all wait.
 *
 * It is the run's own as long as nobody outside knows better. From the first
 * socket, or child process, on, clocks go on with the machine's from where they
 * are, and the kernel ends waits.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define CLOCKS	 12
#define NSEC	 1000000000ll
#define SLICE_NS 200000
/* What an answer costs, and more and more for who waits by asking. */
#define ASK_NS	  1000
#define ASK_OFTEN 1000

static enum { NOBODYS, OWN, MACHINES } whose;
/* OWN: what each clock said at time 0; MACHINES: by how much it is ahead. */
static int64_t offset[CLOCKS];
static struct maple_policy *policy;
static uint64_t asked;
static uint64_t passed; /* raw_now() up to which time has gone by */

static int64_t in_ns(const struct timespec *t)
{
	return t->tv_sec * NSEC + t->tv_nsec;
}

static int64_t machine(int clock)
{
	struct timespec t = { 0, 0 };

	raw2(SYS_clock_gettime, clock, &t);
	return in_ns(&t);
}

/* CPU time is the machine's. */
static bool is_ours(int clock)
{
	return clock >= 0 && clock < CLOCKS &&
	       clock != CLOCK_PROCESS_CPUTIME_ID &&
	       clock != CLOCK_THREAD_CPUTIME_ID;
}

/* maple_time_start - time is @p's from here on, if the run's is its own */
void maple_time_start(struct maple_policy *p)
{
	policy = p;
	if (maple_shm->control.order.real_time)
		return;
	for (int i = 0; i < CLOCKS; i++)
		offset[i] = machine(i) - (int64_t)maple_policy_now(p);
	whose = OWN;
}

bool maple_time_own(void)
{
	return whose == OWN && maple_agent_on() && !maple_agent_sealed;
}

void maple_time_machine(void)
{
	int64_t now;

	if (whose != OWN)
		return;
	maple_timers_machine();
	now = maple_policy_now(policy);
	for (int i = 0; i < CLOCKS; i++)
		offset[i] += now - machine(i);
	whose = MACHINES;
}

bool maple_time_ask(int clock, struct timespec *t)
{
	int64_t now;

	if (whose == NOBODYS || !is_ours(clock))
		return false;
	if (whose == OWN) {
		asked++;
		maple_policy_pass(policy, ASK_NS * (1 + asked / ASK_OFTEN));
		now = offset[clock] + (int64_t)maple_policy_now(policy);
	} else {
		now = offset[clock] + machine(clock);
	}
	t->tv_sec = now / NSEC;
	t->tv_nsec = now % NSEC;
	return true;
}

uint64_t maple_time_in(uint64_t ns)
{
	return maple_policy_now(policy) + ns;
}

uint64_t maple_time_at(int clock, const struct timespec *t)
{
	int64_t at = in_ns(t) - (is_ours(clock) ? offset[clock] : 0);

	return at > 1 ? at : 1;
}

uint64_t maple_time_until(int clock, const struct timespec *t)
{
	return maple_time_own() && t && t->tv_nsec >= 0 && t->tv_nsec < NSEC
		       ? maple_time_at(clock, t)
		       : 0;
}

uint64_t maple_time_left(uint64_t until)
{
	uint64_t now;

	maple_policy_pass(policy, ASK_NS);
	now = maple_policy_now(policy);
	return until > now ? until - now : 0;
}

const struct timespec *maple_time_real(int clock, const struct timespec *t,
				       struct timespec *room)
{
	int64_t at;

	if (whose == NOBODYS || !t || !is_ours(clock) || t->tv_nsec < 0 ||
	    t->tv_nsec >= NSEC)
		return t;
	at = in_ns(t) - offset[clock];
	if (whose == OWN)
		at += machine(clock) - (int64_t)maple_policy_now(policy);
	room->tv_sec = at > 0 ? at / NSEC : 0;
	room->tv_nsec = at > 0 ? at % NSEC : 0;
	return room;
}

/*
 * maple_time_stands - whether time may jump: the threads that are not @parked
 * wait for each other, and for nothing outside
 */
bool maple_time_stands(bool (*parked)(uint32_t thread))
{
	return whose == OWN && !maple_waits_outside(maple_shm, parked);
}

/* maple_time_go_by - as the machine's does, for a moment */
void maple_time_go_by(void)
{
	struct timespec slice = { 0, SLICE_NS };
	uint64_t from = raw_now(), to;

	raw2(SYS_nanosleep, &slice, NULL);
	to = raw_now();
	if (from < passed)
		from = passed;
	if (to <= from)
		return;
	passed = to;
	maple_policy_pass(policy, to - from);
}
