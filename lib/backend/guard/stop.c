// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Stopping all threads of a process, as a tracer, to read what they were about.
 *
 * All threads are told to stop before the first is waited for: they share one
 * CPU, and each stops only once it gets it, so the crashed thread, which
 * spins above the others, has to stop first.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend/process.h"
#include "restart.h"
#include "stop.h"

#define STOP_MS 10000 /* for all threads to stop */

/* Asks the threads of @pid to stop; returns how many did not know of it yet. */
static int interrupt_all(pid_t pid, struct maple_stopped *at, int *kept)
{
	pid_t tids[MAPLE_STOP_MOST];
	int n = maple_process_threads(pid, tids, MAPLE_STOP_MOST), i,
	    before = *kept;

	/* Of one that is ours already, SEIZE is refused. */
	for (i = 0; i < n && *kept < MAPLE_STOP_MOST; i++)
		if (!ptrace(PTRACE_SEIZE, tids[i], NULL, NULL) &&
		    !ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL))
			at[(*kept)++] = (struct maple_stopped){ .tid = tids[i] };
	return *kept - before;
}

/*
 * Who was called out of a wait goes back to it from now on, also if we are killed;
 * @at keeps where it stood.
 */
static void read_registers(struct maple_stopped *at)
{
	struct user_regs_struct again;

	at->known = !ptrace(PTRACE_GETREGS, at->tid, NULL, &at->regs);
	if (at->known && !at->signo && (long)at->regs.rax == -EINTR &&
	    maple_restart(at->tid, &at->regs, &again))
		ptrace(PTRACE_SETREGS, at->tid, NULL, &again);
}

/* How many of the @n threads run yet. */
static int count_running(struct maple_stopped *at, int n)
{
	int running = 0, status, i;

	for (i = 0; i < n; i++) {
		if (at[i].done)
			continue;
		status = 0;
		at[i].done = waitpid(at[i].tid, &status, __WALL | WNOHANG) != 0;
		if (WIFSTOPPED(status) && !(status >> 16))
			at[i].signo = WSTOPSIG(status);
		if (WIFSTOPPED(status))
			read_registers(&at[i]);
		running += !at[i].done;
	}
	return running;
}

/*
 * maple_stop_all - stops the threads of @pid; returns how many of @at are ours
 * to read, or minus how many there are if they do not all stop
 * @at: room for MAPLE_STOP_MOST
 *
 * Each is waited for beside all others: a main thread that has ended is not
 * told of before the last of them has. Who is stopped starts no thread. They
 * are the calling thread's, and free when it ends.
 */
int maple_stop_all(pid_t pid, struct maple_stopped *at)
{
	int kept = 0, ms = 0;

	while (interrupt_all(pid, at, &kept) || count_running(at, kept)) {
		if (ms++ == STOP_MS)
			return -kept;
		usleep(1000);
	}
	return kept;
}

/* maple_stop_let_go - who has not stopped is let go when the caller ends */
void maple_stop_let_go(const struct maple_stopped *at, int n)
{
	for (int i = 0; i < n; i++)
		ptrace(PTRACE_DETACH, at[i].tid, NULL, at[i].signo);
}
