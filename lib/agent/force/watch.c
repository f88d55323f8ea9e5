// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Hardware watchpoints, the net below the hooks: between a step and the one
 * that depends on it, a write that no hook announced (a site that profiling
 * never saw, code inside libc) breaks the dependency, and the automaton is
 * told right after it.
 *
 * One perf event per thread, since an event that is inherited does not cover
 * threads that were there before; each is opened when first needed and moved
 * from range to range. SIGTRAP comes in the thread that wrote. Of the range,
 * the largest aligned part that a debug register holds is watched: what hits
 * is never a neighbour. Reads are not watched: the trap does not tell them
 * from writes.
 *
 * maple_watch_arm(), maple_watch_drop() and maple_watch_forget() are called
 * with the automaton's lock.
 */
#include "agent/core.h"
#include "agent/raw.h"
#include "watchpoint.h"

#define HITS_MAX 1000 /* of one run, 25 us each: then the net comes in */

static struct watcher {
	struct maple_watchpoint point;
	uint32_t armed; /* generation that it is armed for */
} watchers[WATCHED_THREADS];

static struct perf_event_attr attr;
static uint64_t addr; /* watched now; len is 0 if nothing is */
static uint64_t len;
static uint32_t generation; /* of addr and len */
static bool off;	    /* not permitted, or too expensive */
/* Whether a watchpoint sees anything here; found out once, forked runs know. */
static enum { UNTRIED, SEES, BLIND } sight;

/* On the current range; false if that is not to be had. */
static bool arm_one(struct watcher *w, int tid)
{
	const struct maple_watchpoint *point = &w->point;

	if (!maple_watchpoint_is_ours(point))
		return maple_watchpoint_open(&w->point, &attr, tid);
	return !raw_failed(raw3(SYS_ioctl, point->fd - 1,
				PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr)) &&
	       !raw_failed(raw3(SYS_ioctl, point->fd - 1, PERF_EVENT_IOC_ENABLE,
				0));
}

static void disarm_all(void)
{
	for (uint32_t i = 0; i < WATCHED_THREADS; i++) {
		if (watchers[i].armed &&
		    maple_watchpoint_is_ours(&watchers[i].point))
			raw3(SYS_ioctl, watchers[i].point.fd - 1,
			     PERF_EVENT_IOC_DISABLE, 0);
		watchers[i].armed = 0;
	}
}

static void arm_all(void)
{
	struct maple_shm *shm = maple_shm;

	maple_watchpoint_attr(&attr, HW_BREAKPOINT_W, addr, len, &attr);
	for (uint32_t i = 0; i < shm->nthreads && i < WATCHED_THREADS; i++) {
		if (!shm->thread[i].alive || watchers[i].armed == generation)
			continue;
		watchers[i].armed = generation;
		if (arm_one(&watchers[i], shm->thread[i].tid)) {
			shm->stats.watches++;
			continue;
		}
		shm->stats.watches_refused++;
		off = true;
	}
}

static bool sees(void)
{
	static volatile uint64_t word;
	struct perf_event_attr on_word = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(on_word),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)&word,
		.bp_len = sizeof(word),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	uint64_t count = 0;
	long fd = raw6(SYS_perf_event_open, &on_word, 0, -1, -1,
		       PERF_FLAG_FD_CLOEXEC, 0);

	if (raw_failed(fd))
		return false;
	word++;
	if (raw3(SYS_read, fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	raw1(SYS_close, fd);
	return count > 0;
}

/*
 * maple_watch_try - finds out whether watchpoints work; some virtual machines
 * hand them out, and never tell of a hit
 */
void maple_watch_try(void)
{
	if (sight == UNTRIED)
		sight = sees() ? SEES : BLIND;
}

/* maple_watch_sees - whether it was found out that they do */
bool maple_watch_sees(void)
{
	return sight == SEES;
}

/*
 * maple_watch_start - makes room for the descriptors, while there is one
 * thread: growing a table that threads share takes the kernel 10 ms and more
 */
void maple_watch_start(void)
{
	/* In a process that was joined no descriptor may appear. */
	if (maple_joined) {
		sight = BLIND;
		return;
	}
	maple_watch_try();
	for (int any = 0; any <= 2; any++) {
		long fd = raw3(SYS_fcntl, any, WATCHED_FD_DUP,
			       WATCHED_FD_FIRST + WATCHED_THREADS - 1);

		if (raw_failed(fd))
			continue;
		raw1(SYS_close, fd);
		return;
	}
}

/* The largest aligned part of [@at, @at + @size) that starts at @at. */
static uint64_t part_of(uint64_t at, uint64_t size)
{
	uint64_t n = 8;

	while (n > size || at % n)
		n /= 2;
	return n;
}

/* maple_watch_arm - from now on @size bytes at @at are watched; 0: none */
void maple_watch_arm(uint64_t at, uint64_t size)
{
	if (sight == BLIND) {
		maple_shm->stats.watches_refused += size > 0;
		return;
	}
	if (off && !len)
		return;
	if (off || maple_shm->stats.watch_hits > HITS_MAX)
		size = 0;
	if (!size) {
		if (len)
			disarm_all();
		len = 0;
		return;
	}
	if (!len || addr != at || len != part_of(at, size)) {
		if (len)
			disarm_all();
		addr = at;
		len = part_of(at, size);
		generation++;
	}
	arm_all();
}

/* maple_watch_drop - thread @number has ended */
void maple_watch_drop(uint32_t number)
{
	if (number >= WATCHED_THREADS)
		return;
	maple_watchpoint_close(&watchers[number].point);
	watchers[number].armed = 0;
}

/* maple_watch_forget - they belong to the threads of another process */
void maple_watch_forget(void)
{
	for (uint32_t i = 0; i < WATCHED_THREADS; i++)
		maple_watch_drop(i);
	len = 0;
}

/*
 * maple_watch_hit - whether a SIGTRAP is ours; if so, it is dealt with
 * @code, @at, @data: its si_code, si_addr and si_perf_data
 *
 * Context: signal handler of the thread that wrote, right after that.
 */
bool maple_watch_hit(int code, uint64_t at, uint64_t data)
{
	if (code != WATCHED_TRAP || data != (uint64_t)&attr)
		return false;
	if (!maple_shm)
		return true;
	maple_shm->stats.watch_hits++;
	/* Ours, or announced; or late, when the range is another. */
	if (!maple_agent_on() || !len || at != addr ||
	    maple_agent_is_open(at, len))
		return true;
	maple_agent_enter();
	maple_shm->stats.watch_told++;
	maple_enforce_unannounced(at, len);
	maple_agent_leave();
	return true;
}
