// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the automaton asks of the kernel: whether another thread of the target
 * is in a wait that ends by itself, and how much CPU time went by.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include "core.h"
#include "enforce.h"
#include "raw.h"

#define DAY    86400
#define SLICES 10 /* what the automaton sleeps for one step, at most */
/*
 * Slices slept in a run for what may never end: a request of somebody's, or
 * input. A server that serves natively for a second waits for nothing most of
 * the time, and would be held for five.
 */
#define PATIENCE 3

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	return at;
}

static void put_path(char *at, int tid)
{
	char digits[12];
	unsigned int n = 0;

	at = put_text(at, "/proc/self/task/");
	do {
		digits[n++] = '0' + tid % 10;
		tid /= 10;
	} while (tid);
	while (n)
		*at++ = digits[--n];
	at = put_text(at, "/syscall");
	*at = 0;
}

static const char *get_number(const char *at, uint64_t *number)
{
	unsigned int base = 10, digit;

	while (*at == ' ')
		at++;
	if (at[0] == '0' && at[1] == 'x') {
		base = 16;
		at += 2;
	}
	for (*number = 0;; at++) {
		digit = *at >= 'a' ? *at - 'a' + 10u : *at - (unsigned int)'0';
		if (digit >= base)
			return at;
		*number = *number * base + digit;
	}
}

enum end { NEVER, PERHAPS, SOON };

/* A wait for the time at @at, or until then. */
static enum end by_then(uint64_t at, bool absolute, long clock)
{
	uint64_t sec = maple_ring_peek(at, 8),
		 nsec = maple_ring_peek(at + 8, 8);
	struct timespec now = { 0, 0 };
	int64_t ms;

	if (absolute)
		raw2(SYS_clock_gettime, clock, &now);
	sec -= now.tv_sec;
	if ((int64_t)sec > DAY)
		return NEVER;
	ms = (int64_t)sec * 1000 + ((int64_t)nsec - now.tv_nsec) / 1000000;
	return ms > (int64_t)maple_shm->plan.slice_ms * SLICES ? NEVER : SOON;
}

static enum end futex_ends(const uint64_t *arg, const uint32_t *hold)
{
	int op = arg[1] & FUTEX_CMD_MASK;

	if (!arg[3] || arg[0] == (uint64_t)hold || op == FUTEX_WAKE)
		return NEVER;
	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET)
		return by_then(arg[3], op == FUTEX_WAIT_BITSET,
			       arg[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME
							     : CLOCK_MONOTONIC);
	return SOON;
}

/*
 * Whether a thread that blocks in this system call is woken by something
 * other than the target: everything but futexes and signals without a time.
 * It has to be so before a step's slices are over, or nobody need wait for it;
 * of what waits for the outside world, nobody knows.
 */
static enum end ends_itself(const char *line, const uint32_t *hold)
{
	uint64_t nr, arg[4];

	if (*line < '0' || *line > '9') /* "running", or a page is read in */
		return *line == '-' ? SOON : NEVER;
	line = get_number(line, &nr);
	for (int i = 0; i < 4; i++)
		line = get_number(line, &arg[i]);
	switch (nr) {
	case SYS_futex:
		return futex_ends(arg, hold);
	case SYS_nanosleep:
		return by_then(arg[0], false, 0);
	case SYS_clock_nanosleep:
		return by_then(arg[2], arg[1] & TIMER_ABSTIME, (long)arg[0]);
	case SYS_rt_sigtimedwait:
		return arg[2] ? by_then(arg[2], false, 0) : NEVER;
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_sched_yield:
	case SYS_sched_setscheduler:
		return NEVER;
	default:
		return PERHAPS;
	}
}

/*
 * maple_enforce_waits - whether another thread of ours is in such a wait
 * @hold: the futex that the automaton's own sleepers wait on
 */
bool maple_enforce_waits(const uint32_t *hold)
{
	const struct maple_shm *shm = maple_shm;
	static unsigned int patience = PATIENCE;
	char path[48], line[128];
	bool perhaps = false;
	enum end end;
	long fd, n;

	for (uint32_t i = 0; i < shm->nthreads; i++) {
		if (i == maple_self.number || !shm->thread[i].alive)
			continue;
		put_path(path, shm->thread[i].tid);
		fd = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
		if (raw_failed(fd))
			continue;
		n = raw3(SYS_read, fd, line, sizeof(line) - 1);
		raw1(SYS_close, fd);
		line[raw_failed(n) ? 0 : n] = 0;
		end = ends_itself(line, hold);
		if (end == SOON)
			return true;
		perhaps |= end == PERHAPS;
	}
	if (!perhaps || !patience)
		return false;
	patience--;
	return true;
}

/* maple_enforce_cpu_ms - CPU time of the target so far */
uint64_t maple_enforce_cpu_ms(void)
{
	struct timespec t = { 0, 0 };

	raw2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}
