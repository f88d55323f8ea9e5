// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers: timerfd, and the process's alarm. In a controlled run that has a time
 * of its own, one that is set is a thread of the agent's, called "0.t1", which
 * sleeps until then and does what the kernel would do: a point and a choice like
 * any other sleep. The kernel's own timer is off meanwhile.
 *
 * They are the kernel's again when time is the machine's. One that went off over
 * and over because nobody else could go on is so as well: else nobody would see
 * that all others wait for each other.
 *
 * CPU time (ITIMER_VIRTUAL, ITIMER_PROF), and timer_create(), are the machine's.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "intercept.h"
#include "agent/raw.h"

#define TIMERS	  16
#define NSEC	  1000000000ull
#define IN_VAIN	  1000 /* so often all others waited for timers */

#define SET_TICKS _IOW('T', 0, uint64_t) /* <linux/timerfd.h> */

static struct timer {
	uint64_t due;	/* in the run's time; 0: it is not set */
	uint64_t every; /* 0: once */
	uint32_t word;	/* changes when it is set */
	uint32_t site;	/* where it was set */
	uint32_t thread;
	bool used;
	bool begun;  /* it has its thread */
	bool kernel; /* it is the kernel's, from now on */
	int fd;
	int clock;
	uint64_t jumps; /* of the run's time, when it went off last */
	uint32_t in_vain;
} timers[TIMERS + 1];

static struct timer *const process_alarm = &timers[TIMERS];
static uint32_t nbegun;

MAPLE_REAL(timerfd_create);
MAPLE_REAL(timerfd_settime);
MAPLE_REAL(timerfd_gettime);
MAPLE_REAL(setitimer);
MAPLE_REAL(getitimer);
MAPLE_REAL(alarm);

static struct timespec spec_of(uint64_t ns)
{
	return (struct timespec){ ns / NSEC, ns % NSEC };
}

/* The kernel's own timer: off in @ns, and then @every; 0, 0: off. */
static void set_kernels(const struct timer *t, uint64_t ns, uint64_t every)
{
	struct itimerspec spec = { spec_of(every), spec_of(ns) };
	struct itimerval val = { { every / NSEC, every % NSEC / 1000 },
				 { ns / NSEC, ns % NSEC / 1000 } };

	if (t != process_alarm)
		raw4(SYS_timerfd_settime, t->fd, 0, &spec, NULL);
	else
		raw3(SYS_setitimer, ITIMER_REAL, &val, NULL);
}

static void hand_over(struct timer *t)
{
	uint64_t due = t->due;

	t->kernel = true;
	t->due = 0;
	if (due)
		set_kernels(t, maple_time_left(due) + 1000, t->every);
}

static void wake(struct timer *t)
{
	__atomic_fetch_add(&t->word, 1, __ATOMIC_RELEASE);
	raw_futex_wake(&t->word);
}

void maple_timers_machine(void)
{
	for (uint32_t i = 0; i <= TIMERS; i++)
		if (timers[i].begun && !timers[i].kernel)
			hand_over(&timers[i]);
}

bool maple_timers_has(int fd)
{
	for (uint32_t i = 0; i < TIMERS; i++)
		if (timers[i].used && timers[i].fd == fd && timers[i].due)
			return true;
	return false;
}

bool maple_timers_ring(void)
{
	return process_alarm->due;
}

/* ---- A timer's thread. ---- */

static bool is_timer(uint32_t thread)
{
	for (uint32_t i = 0; i <= TIMERS; i++)
		if (timers[i].begun && timers[i].thread == thread)
			return true;
	return false;
}

/* All threads of the program have ended. */
static bool is_over(void)
{
	for (uint32_t i = 0; i < maple_shm->nthreads; i++)
		if (maple_shm->thread[i].alive && !is_timer(i))
			return false;
	return true;
}

/* The last thread takes those of timers with it. */
void maple_timers_end(void)
{
	if (!nbegun || !is_over())
		return;
	for (uint32_t i = 0; i <= TIMERS; i++)
		if (timers[i].begun)
			wake(&timers[i]);
}

static void ring(void)
{
	long pid = raw0(SYS_getpid), tid;

	__atomic_fetch_or(&maple_shm->sent, 1ull << (SIGALRM - 1),
			  __ATOMIC_RELAXED);
	tid = maple_sleepers_wake(MAPLE_THREAD_NONE, SIGALRM);
	if (tid) {
		raw3(SYS_tgkill, pid, tid, SIGALRM);
		return;
	}
	raw2(SYS_kill, pid, SIGALRM);
	maple_agent_let_handle(0);
}

/* @n more times than its reader has been told of. */
static void tick(struct timer *t, uint64_t n)
{
	struct pollfd fd = { t->fd, POLLIN, 0 };
	uint64_t had = 0;

	if (raw3(SYS_poll, &fd, 1, 0) == 1 &&
	    raw3(SYS_read, t->fd, &had, sizeof(had)) == sizeof(had))
		n += had;
	if (!raw_failed(raw3(SYS_ioctl, t->fd, SET_TICKS, &n)))
		return;
	/* A kernel that cannot be told: at once. */
	set_kernels(t, 1, 0);
	raw3(SYS_poll, &fd, 1, 1);
}

static void expire(struct timer *t, uint64_t due)
{
	uint64_t jumps = maple_shm->control.counts.jumps, n = 1;

	if (t->every) {
		n += (maple_time_in(0) - due) / t->every;
		t->due = due + n * t->every;
	} else {
		t->due = 0;
	}
	/* Another wait has ended by time as well: that is progress. */
	if (jumps - t->jumps > nbegun)
		t->in_vain = 0;
	else
		t->in_vain += jumps != t->jumps;
	t->jumps = jumps;
	if (t->in_vain >= IN_VAIN)
		hand_over(t);
	if (t == process_alarm)
		ring();
	else
		tick(t, n);
}

static enum maple_agent_peek peek(const struct timer *t)
{
	return t == process_alarm && !maple_sleepers_handled(SIGALRM)
		       ? MAPLE_PEEK_DEATH
		       : MAPLE_PEEK_TIMER;
}

static void *run(void *arg)
{
	struct timer *t = arg;
	uint32_t word;
	uint64_t due;

	t->thread = maple_self.number;
	for (;;) {
		word = __atomic_load_n(&t->word, __ATOMIC_ACQUIRE);
		due = t->due;
		if (is_over())
			return NULL;
		if (!due)
			raw_futex_wait(&t->word, word, 0);
		else if (!maple_agent_await(t->site, MAPLE_EV_BLOCK, &t->due,
					    peek(t), due) &&
			 !is_over())
			expire(t, due);
	}
}

/* ---- The program's calls. ---- */

/* Whether it is ours: from when it is set first, even in a signal's handler. */
static bool is_ours(const struct timer *t)
{
	return t && !t->kernel && (t->begun || maple_time_own());
}

/* It goes off at @due, in the run's time, and then @every; 0: not at all. */
static void set(struct timer *t, uint64_t due, uint64_t every,
		const void *caller)
{
	if (maple_agent_on())
		t->site = maple_agent_call(caller, MAPLE_EV_BLOCK);
	t->every = every;
	t->due = due;
	t->in_vain = 0;
	if (t->begun) {
		wake(t);
	} else if (due) {
		t->begun = true;
		nbegun++;
		t->thread = MAPLE_THREAD_NONE;
		if (!maple_thread_helper(t->site, run, t))
			hand_over(t);
	}
}

static struct timer *timer_of(int fd)
{
	for (uint32_t i = 0; i < TIMERS; i++)
		if (timers[i].used && timers[i].fd == fd)
			return &timers[i];
	return NULL;
}

static struct timer *unused(void)
{
	for (uint32_t i = 0; i < TIMERS; i++)
		if (!timers[i].used)
			return &timers[i];
	return NULL;
}

MAPLE_EXPORT int timerfd_create(clockid_t clock, int flags)
{
	int fd = REAL(timerfd_create)(clock, flags);
	struct timer *t;

	if (fd < 0)
		return fd;
	/* Nobody has said that the one before was closed. */
	t = timer_of(fd);
	if (t && t->due)
		set(t, 0, 0, CALLER);
	if (!t && maple_time_own())
		t = unused();
	if (t && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
		  clock == CLOCK_BOOTTIME)) {
		t->used = true;
		t->fd = fd;
		t->clock = clock;
	} else if (t) {
		t->fd = -1;
	}
	return fd;
}

static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * NSEC + t->tv_nsec;
}

static bool is_time(const struct timespec *t)
{
	return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < (long)NSEC;
}

static struct itimerspec told(const struct timer *t)
{
	return (struct itimerspec){
		spec_of(t->every), spec_of(t->due ? maple_time_left(t->due) : 0)
	};
}

MAPLE_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *new,
				 struct itimerspec *old)
{
	struct timer *t = timer_of(fd);
	uint64_t due = 0;

	if (!is_ours(t) || flags & ~TFD_TIMER_ABSTIME || !new ||
	    !is_time(&new->it_value) || !is_time(&new->it_interval))
		return REAL(timerfd_settime)(fd, flags, new, old);
	if (old)
		*old = told(t);
	set_kernels(t, 0, 0);
	if (ns_of(&new->it_value))
		due = flags & TFD_TIMER_ABSTIME
			      ? maple_time_at(t->clock, &new->it_value)
			      : maple_time_in(ns_of(&new->it_value));
	set(t, due, ns_of(&new->it_interval), CALLER);
	return 0;
}

MAPLE_EXPORT int timerfd_gettime(int fd, struct itimerspec *now)
{
	struct timer *t = timer_of(fd);

	if (!is_ours(t))
		return REAL(timerfd_gettime)(fd, now);
	*now = told(t);
	return 0;
}

/* Sets the alarm; what was left of the one before. */
static struct itimerspec set_alarm(uint64_t ns, uint64_t every,
				   const void *caller)
{
	struct itimerspec old = told(process_alarm);

	if (!process_alarm->begun)
		set_kernels(process_alarm, 0, 0);
	set(process_alarm, ns ? maple_time_in(ns) : 0, every, caller);
	return old;
}

static struct timeval val_of(struct timespec t)
{
	return (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
}

static struct timespec in_spec(const struct timeval *t)
{
	return (struct timespec){ t->tv_sec, t->tv_usec * 1000 };
}

MAPLE_EXPORT int setitimer(__itimer_which_t which, const struct itimerval *new,
			   struct itimerval *old)
{
	struct timespec value, interval;
	struct itimerspec was;

	if (which != ITIMER_REAL || !new || !is_ours(process_alarm))
		return REAL(setitimer)(which, new, old);
	value = in_spec(&new->it_value);
	interval = in_spec(&new->it_interval);
	if (!is_time(&value) || !is_time(&interval))
		return REAL(setitimer)(which, new, old);
	was = set_alarm(ns_of(&value), ns_of(&interval), CALLER);
	if (old)
		*old = (struct itimerval){ val_of(was.it_interval),
					   val_of(was.it_value) };
	return 0;
}

MAPLE_EXPORT int getitimer(__itimer_which_t which, struct itimerval *now)
{
	struct itimerspec is;

	if (which != ITIMER_REAL || !process_alarm->begun ||
	    !is_ours(process_alarm))
		return REAL(getitimer)(which, now);
	is = told(process_alarm);
	*now = (struct itimerval){ val_of(is.it_interval), val_of(is.it_value) };
	return 0;
}

MAPLE_EXPORT unsigned int alarm(unsigned int seconds)
{
	struct itimerspec was;

	if (!is_ours(process_alarm))
		return REAL(alarm)(seconds);
	was = set_alarm(seconds * NSEC, 0, CALLER);
	return was.it_value.tv_sec + (was.it_value.tv_nsec > 0);
}
