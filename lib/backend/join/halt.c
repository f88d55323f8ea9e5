// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * All threads of a process, stopped for a moment. Those that waited in a system
 * call wait on afterwards (backend/guard/restart.c).
 *
 * Context: the caller is the tracer, and has one thread.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "backend/guard/restart.h"
#include "backend/process.h"
#include "join.h"

#define STOP_WITHIN \
	5.0 /* seconds; who is in the kernel for longer is not had */

static struct maple_halted *find(struct maple_halt *stop, pid_t tid)
{
	for (unsigned int i = 0; i < stop->n; i++)
		if (stop->thread[i].tid == tid)
			return &stop->thread[i];
	return NULL;
}

static int refused(pid_t pid, int e, struct maple_error *err)
{
	return maple_error_set(err, e,
			       "process %d may not be traced: %s; run it as "
			       "root",
			       pid, strerror(e));
}

/* Of a process whose main thread has ended that one is still listed. */
static bool has_exited(pid_t pid, pid_t tid)
{
	char state = 'Z';
	uint64_t ns;

	return !maple_process_cpu(pid, tid, &ns, &state) || state == 'Z' ||
	       state == 'X';
}

static int seize(struct maple_halt *stop, pid_t tid, struct maple_error *err)
{
	int e;

	if (stop->n == MAPLE_THREADS)
		return maple_error_set(err, EMFILE,
				       "process %d has more than %d threads: "
				       "that is more than the agent counts",
				       stop->pid, MAPLE_THREADS);
	/* Who asked for it may write where this number comes from. */
	if (maple_memory_is_bound(stop->pid) ||
	    !maple_process_has(stop->pid, tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		e = errno;
		return e == ESRCH || has_exited(stop->pid, tid)
			       ? 0
			       : refused(stop->pid, e, err);
	}
	stop->thread[stop->n++] = (struct maple_halted){ .tid = tid };
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

/*
 * maple_halt_restarts - whether @t was called out of a wait in the kernel: with
 * the registers t->again it goes back into it
 */
bool maple_halt_restarts(struct maple_halted *t)
{
	if (!t->tid || !t->stopped || t->signo || t->group)
		return false;
	if (!t->asked)
		t->restarts = maple_restart(t->tid, &t->regs, &t->again);
	t->asked = true;
	return t->restarts;
}

/* It has stopped, or is gone. */
static void note(struct maple_halted *t, int status)
{
	assert(t->tid && !t->stopped);
	if (!WIFSTOPPED(status)) {
		t->tid = 0;
		return;
	}
	t->stopped = true;
	if (status >> 16 == PTRACE_EVENT_STOP)
		t->group = WSTOPSIG(status) != SIGTRAP;
	else
		t->signo = WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs)) {
		t->tid = 0;
		return;
	}
	/* Now, not when it is let go: whoever traces it may be killed meanwhile. */
	if ((long)t->regs.rax == -EINTR && maple_halt_restarts(t))
		ptrace(PTRACE_SETREGS, t->tid, NULL, &t->again);
}

/*
 * Looks whether @t has stopped or is gone. One that had stopped may be killed
 * since: until it is waited for, its process's main thread is not told of.
 */
static void look(struct maple_halted *t)
{
	int status, got = waitpid(t->tid, &status, __WALL | WNOHANG);

	if (got < 0 || (got == t->tid && !WIFSTOPPED(status)))
		t->tid = 0;
	else if (got == t->tid && !t->stopped)
		note(t, status);
}

static int await(struct maple_halt *stop, struct maple_error *err)
{
	double until = maple_clock_now() + STOP_WITHIN;
	const struct timespec pause = { 0, 200000 };
	pid_t left;

	for (;;) {
		left = 0;
		for (unsigned int i = 0; i < stop->n; i++) {
			struct maple_halted *t = &stop->thread[i];

			if (t->tid)
				look(t);
			if (t->tid && !t->stopped)
				left = t->tid;
		}
		if (!left)
			return 0;
		if (maple_clock_now() > until)
			return maple_error_set(err, EBUSY,
					       "thread %d of process %d does "
					       "not stop: it waits in the "
					       "kernel, for a disk say; try "
					       "again later",
					       left, stop->pid);
		nanosleep(&pause, NULL);
	}
}

/*
 * maple_halt_all - stops every thread of @pid
 *
 * Whatever it returns, maple_halt_go() is to follow.
 */
int maple_halt_all(struct maple_halt *stop, pid_t pid, struct maple_error *err)
{
	static pid_t tids[MAPLE_THREADS];
	unsigned int had;
	int n, e = 0;

	assert(pid > 0 && !stop->n);
	memset(stop, 0, sizeof(*stop));
	stop->pid = pid;
	do {
		had = stop->n;
		n = maple_process_threads(pid, tids, MAPLE_THREADS);
		for (int i = 0; i < n && !e; i++)
			if (!find(stop, tids[i]))
				e = seize(stop, tids[i], err);
		if (!e)
			e = await(stop, err);
	} while (!e && stop->n != had);
	if (!e && !stop->n)
		e = maple_error_set(err, ESRCH, "process %d has ended", pid);
	return e;
}

/* maple_halt_one - the same of one thread; stop->n is 0 if it has ended */
int maple_halt_one(struct maple_halt *stop, pid_t pid, pid_t tid,
		   struct maple_error *err)
{
	int e;

	assert(pid > 0 && tid > 0 && !stop->n);
	memset(stop, 0, sizeof(*stop));
	stop->pid = pid;
	e = seize(stop, tid, err);
	if (!e)
		e = await(stop, err);
	if (!e && stop->n && !stop->thread[0].tid)
		stop->n = 0;
	return e;
}

/* @t goes on, as if nothing had been; one that was killed is waited for later. */
static void let(struct maple_halted *t)
{
	if (!ptrace(PTRACE_DETACH, t->tid, NULL, (long)t->signo))
		t->tid = 0;
	else
		look(t);
}

/*
 * maple_halt_go - everyone goes on who was not let go already; who did not stop
 * in time is waited for: no tracer stays
 */
void maple_halt_go(struct maple_halt *stop)
{
	const struct timespec pause = { 0, 500000 };
	bool left = true;

	assert(stop->n <= MAPLE_THREADS);
	while (left) {
		left = false;
		for (unsigned int i = 0; i < stop->n; i++) {
			struct maple_halted *t = &stop->thread[i];

			if (t->tid && !t->stopped)
				look(t);
			if (t->tid && t->stopped)
				let(t);
			left |= t->tid != 0;
		}
		if (left)
			nanosleep(&pause, NULL);
	}
	stop->n = 0;
}
