// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The beginning and the end of a run in a process that was joined: what is done
 * while all of its threads are stopped.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>
#include "abi/shm.h"
#include "base/clock.h"
#include "backend/process.h"
#include "inside.h"

#define STOP_FOR  15.0 /* seconds in which some thread is to wait somewhere */
#define EMPTY_FOR 5.0  /* ... until nobody is in the agent any more */
#define SIGNAL_PC 176  /* of a signal's frame: from its return address on */
#define SCANNED	  65536

static void nap(long ms)
{
	const struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/* maple_inside_function - where the agent's @name is in the process */
uint64_t maple_inside_function(const struct maple_inside *in, const char *name)
{
	return in->state->base + maple_memory_symbol(in->agent, name);
}

/* The thread that can make a call while all others stand. */
static struct maple_halted *caller(struct maple_inside *in)
{
	for (unsigned int i = 0; i < in->stop.n; i++)
		if (maple_halt_restarts(&in->stop.thread[i]))
			return &in->stop.thread[i];
	return NULL;
}

/* Nobody is on the way back from a call: its code may be written anew. */
static bool is_settled(struct maple_inside *in)
{
	for (unsigned int i = 0; i < in->stop.n; i++)
		if (in->stop.thread[i].tid &&
		    maple_call_is_in(&in->state->call,
				     in->stop.thread[i].regs.rip))
			return false;
	return maple_call_is_back(&in->state->call);
}

/* All stand, and one of them waits, so that it can call for us. */
static int stop_for_call(struct maple_inside *in, struct maple_halted **t,
			 struct maple_error *err)
{
	double until = maple_clock_now() + STOP_FOR;
	pid_t pid = in->pid;
	int e;

	for (;;) {
		e = maple_halt_all(&in->stop, pid, err);
		if (!e) {
			*t = is_settled(in) ? caller(in) : NULL;
			if (*t)
				return 0;
			e = maple_error_set(err, EAGAIN,
					    "no thread of process %d waits for "
					    "anything: try again when it has "
					    "less to do",
					    pid);
		}
		maple_halt_go(&in->stop);
		if (e != -EAGAIN && e != -EBUSY)
			return e;
		if (maple_clock_now() > until)
			return e;
		nap(5);
	}
}

/* A function of the agent's, without arguments, while all others stand. */
static int call(struct maple_inside *in, struct maple_halted *t,
		uint64_t function, const char *name, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	const struct maple_called what = { .function = function };
	uint64_t result = 0;
	int e;

	e = maple_call_begin(&s->call, t, &what, err);
	if (!e)
		e = maple_call_end(&s->call, &result, err);
	if (!e && (int)result)
		e = maple_error_set(err, -(int)result, "%s: %s", name,
				    strerror(-(int)result));
	return e;
}

/* Where each thread stands, for the agent; @t's own is where it goes back to. */
static void tell_threads(struct maple_inside *in)
{
	struct maple_shm_joined *j = &in->shm->joined;
	uint32_t n = 0;

	/* The main thread is the first, as in all runs. */
	for (int main = 1; main >= 0; main--) {
		for (unsigned int i = 0; i < in->stop.n; i++) {
			const struct maple_halted *t = &in->stop.thread[i];

			if (!t->tid || (t->tid == in->pid) != main)
				continue;
			j->thread[n].tid = t->tid;
			j->thread[n].pointer = t->regs.fs_base;
			j->thread[n++].pc = t->regs.rip;
		}
	}
	assert(n <= MAPLE_THREADS);
	j->n = n;
}

/* Whose code was moved away goes on where it is now. */
static void move_threads(struct maple_inside *in)
{
	const struct maple_shm_joined *j = &in->shm->joined;

	for (unsigned int i = 0; i < in->stop.n; i++) {
		struct maple_halted *t = &in->stop.thread[i];

		for (uint32_t k = 0; t->tid && k < j->n; k++) {
			if (j->thread[k].tid != t->tid ||
			    j->thread[k].pc == t->regs.rip ||
			    /* begins its call anew: then it comes to a jump */
			    (long)t->regs.orig_rax >= 0)
				continue;
			t->regs.rip = j->thread[k].pc;
			ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
		}
	}
}

/* maple_inside_enter - the run that the shared memory orders begins */
int maple_inside_enter(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	struct maple_error left;
	struct maple_halted *t;
	int e;

	assert(s->handle && s->size && !s->entered);
	assert(s->call.pid == in->pid && in->shm->pid == in->pid);
	e = stop_for_call(in, &t, err);
	if (e)
		return e;
	maple_levels_keep(&s->levels, in->pid);
	tell_threads(in);
	in->shm->joined.pinned = s->cpu >= 0;
	s->entered = true;
	maple_will_enter(in, true);
	e = s->forces ? maple_levels_allow(&s->levels, in->pid) : 0;
	maple_will_enter(in, true);
	e = e ? maple_error_set(err, -e,
				"process %d may have no real-time "
				"priorities: %s",
				in->pid, strerror(-e))
	      : call(in, t, maple_inside_function(in, "maple_joined_enter"),
		     "the agent does not begin", err);
	if (!e)
		move_threads(in);
	if (!e && s->cpu >= 0 && !maple_levels_pin(&s->levels, s->cpu))
		e = maple_error_set(err, errno,
				    "process %d may not run on CPU %d: %m",
				    in->pid, s->cpu);
	maple_halt_go(&in->stop);
	if (e)
		maple_inside_leave(in, &left);
	return e;
}

/* Whether [@pc] is code that will be unmapped. */
static bool is_ours(const struct maple_inside *in, uint64_t pc)
{
	const struct maple_join_state *s = in->state;
	const struct maple_shm_joined *j = &in->shm->joined;
	uint32_t n = j->nmaps < MAPLE_SHM_MAPS ? j->nmaps : MAPLE_SHM_MAPS;

	if (pc >= s->base && pc < s->base + s->size)
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (pc >= j->map[i].at && pc < j->map[i].at + j->map[i].size)
			return true;
	return false;
}

/*
 * Whether a handler of a signal on @t's stack returns to code of ours. What
 * looks like its frame may be one that is no more: then we wait in vain.
 */
static bool is_below_handler(const struct maple_inside *in,
			     const struct maple_halted *t)
{
	static uint64_t word[SCANNED / 8 + SIGNAL_PC / 8];
	size_t n = sizeof(word);

	while (n > 4096 && !maple_memory_read(in->pid, t->regs.rsp, word, n))
		n -= 4096;
	n /= 8;
	for (size_t i = 0; i + SIGNAL_PC / 8 < n; i++)
		if (word[i] == in->shm->joined.restorer &&
		    is_ours(in, word[i + SIGNAL_PC / 8]))
			return true;
	return false;
}

/* How the agent's struct maple_agent_thread begins. */
struct self {
	uint32_t number;
	uint16_t inside;
};

static bool is_empty(struct maple_inside *in)
{
	struct self self;

	maple_will_look(in);
	if (in->shm->joined.handlers)
		return false;
	for (unsigned int i = 0; i < in->stop.n; i++) {
		const struct maple_halted *t = &in->stop.thread[i];

		if (!t->tid)
			continue;
		if (is_ours(in, t->regs.rip) || is_below_handler(in, t))
			return false;
		if (maple_memory_read(in->pid,
				      t->regs.fs_base + in->shm->joined.self,
				      &self, sizeof(self)) &&
		    self.inside)
			return false;
	}
	return true;
}

/* Once nobody is in what the agent has mapped, that goes. */
static int clear(struct maple_inside *in, bool *cleared, struct maple_error *err)
{
	double until = maple_clock_now() + EMPTY_FOR;
	struct maple_halted *t;
	int e;

	*cleared = false;
	do {
		e = stop_for_call(in, &t, err);
		if (e)
			return e;
		*cleared = is_empty(in);
		if (*cleared)
			e = call(in, t, in->state->close,
				 "the agent does not close", err);
		maple_halt_go(&in->stop);
		if (!*cleared)
			nap(10);
	} while (!e && !*cleared && maple_clock_now() < until);
	return e;
}

static int take_out(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	struct maple_halted *t;
	int e = stop_for_call(in, &t, err);

	if (e)
		return e;
	e = call(in, t, s->leave, "the agent does not leave", err);
	if (s->entered)
		maple_levels_back(&s->levels, in->pid, s->cpu);
	if (!e)
		s->entered = false;
	maple_halt_go(&in->stop);
	return e;
}

/*
 * What a joiner was doing when it was killed has come to its end, and what it
 * did not get to know is known: a copy may have been loaded, or be gone.
 */
static int find(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	int e = 0;

	if (s->entered)
		return 0;
	if (*s->loading && !s->handle)
		return maple_inside_find(in, err);
	*s->loading = '\0';
	e = maple_inside_settle(in, err);
	if (!e && !maple_inside_is_there(in))
		s->handle = 0;
	return e;
}

/*
 * maple_inside_leave - the process is as it was before the agent came; if some
 * thread does not come out of it, the agent stays, asleep, and is forgotten
 */
int maple_inside_leave(struct maple_inside *in, struct maple_error *err)
{
	struct maple_join_state *s = in->state;
	bool entered = s->entered, cleared = false;
	int e;

	if (!maple_process_has(in->pid, in->pid)) {
		s->entered = false;
		s->handle = 0;
		*s->loading = '\0';
		return 0;
	}
	e = find(in, err);
	if (e || !s->handle)
		return e;
	e = take_out(in, err);
	if (!e)
		e = clear(in, &cleared, err);
	/* Who was about to change its own level has done so by now. */
	if (entered)
		maple_levels_back(&s->levels, in->pid, s->cpu);
	maple_will_enter(in, s->entered);
	if (!e && cleared)
		e = maple_inside_unload(in, err);
	if (s->handle && !s->entered) {
		s->kept++;
		s->handle = 0;
		maple_will_write(in);
	}
	return e;
}
