// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The debugger that a run is under: our child, on the user's terminal and in
 * our process group. It dies with us; a program that it held goes with its
 * guard. If it is killed, its breakpoints stay in the program, which is then
 * not worth going on with.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "debugger.h"
#include "backend/process.h"

#define KILL_AFTER 1.0 /* seconds from being asked to end */
#define LOOK_US	   10000
#define NOT_THERE  127 /* what a shell says of a command */

/* ---- the terminal ---- */

static void keep_terminal(struct maple_debugger *d)
{
	d->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (d->terminal < 0)
		return;
	d->group = tcgetpgrp(d->terminal);
	tcgetattr(d->terminal, &d->modes);
}

/* Whoever is not in the foreground may do this only with SIGTTOU blocked. */
static void restore_terminal(struct maple_debugger *d)
{
	sigset_t set, before;

	if (d->terminal < 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (tcgetpgrp(d->terminal) != d->group)
		tcsetpgrp(d->terminal, d->group);
	if (d->group == getpgrp())
		tcsetattr(d->terminal, TCSANOW, &d->modes);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(d->terminal);
	d->terminal = -1;
}

/* ---- the process ---- */

/* A standard input that is no terminal is the program's. */
static void take_terminal(void)
{
	int fd;

	if (isatty(STDIN_FILENO))
		return;
	fd = open("/dev/tty", O_RDWR);
	if (fd < 0)
		fd = open("/dev/null", O_RDWR);
	dup2(fd, STDIN_FILENO);
}

/* In our fork. */
static _Noreturn void become(const char *shell, int script, pid_t target,
			     pid_t parent)
{
	char file[32], pid[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(NOT_THERE);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	take_terminal();
	script = fcntl(script, F_DUPFD, 10);
	snprintf(file, sizeof(file), "/proc/self/fd/%d", script);
	snprintf(pid, sizeof(pid), "%d", target);
	setenv("MAPLE_PID", pid, true);
	execl("/bin/sh", "sh", "-c", shell, "sh", "-q", "-ix", file, NULL);
	_exit(NOT_THERE);
}

static int start(struct maple_debugger *d,
		 const struct maple_run_debugger *order, pid_t target,
		 struct maple_error *err)
{
	pid_t parent = getpid();
	char *shell;

	assert(!d->pid && target > 0); /* one a run */
	if (asprintf(&shell, "exec %s \"$@\"", order->command) < 0)
		return maple_error_set(err, ENOMEM, "out of memory");
	keep_terminal(d);
	fflush(NULL);
	d->pid = fork();
	if (d->pid == 0)
		become(shell, order->script, target, parent);
	free(shell);
	if (d->pid > 0)
		return 0;
	d->pid = 0;
	restore_terminal(d);
	return maple_error_set(err, errno, "cannot fork: %m");
}

/* What its end means: -errno and why, unless it was there and went by itself. */
static int judge(const struct maple_debugger *d, const char *command,
		 int status, struct maple_error *err)
{
	if (WIFEXITED(status) && d->came)
		return 0;
	if (WIFSIGNALED(status))
		return maple_error_set(
			err, ECANCELED, "the debugger '%s' was killed (SIG%s)",
			command, sigabbrev_np(WTERMSIG(status)) ?: "?");
	if (WEXITSTATUS(status) == NOT_THERE)
		return maple_error_set(err, ENOTSUP,
				       "the debugger '%s' cannot be run: sudo "
				       "apt install gdb",
				       command);
	return maple_error_set(err, ENOTSUP,
			       "the debugger '%s' ended, status %d, before it "
			       "had taken hold of the program: it has to be a "
			       "gdb with Python that may trace it",
			       command, WEXITSTATUS(status));
}

static bool has_ended(struct maple_debugger *d, int *status)
{
	assert(d->pid > 0); /* or it would be any child of ours */
	if (waitpid(d->pid, status, WNOHANG) != d->pid)
		return false;
	d->pid = 0;
	d->held = false;
	restore_terminal(d);
	return true;
}

/*
 * maple_debugger_look - starts the debugger of @b's order when the program
 * waits for it, lets that go when it is traced, and sees the debugger's end
 * @began: when the program did, for its time limit: moved on while it is held
 *
 * Returns 0, or why the run has to end.
 */
int maple_debugger_look(struct maple_debugger *d, struct maple_backend *b,
			double *began, struct maple_error *err)
{
	const struct maple_run_debugger *order = b->order->debugger;
	pid_t waits = b->ops->awaits(b);
	double at = maple_clock_now();
	bool held = d->held || !d->came;
	int status, e;

	if (waits && !d->program) {
		d->program = waits;
		e = start(d, order, waits, err);
		if (e)
			return e;
	}
	if (waits && maple_process_tracer(waits)) {
		d->came = true;
		b->ops->debugged(b, true);
	}
	if (d->pid && has_ended(d, &status)) {
		b->ops->debugged(b, false);
		*began = at;
		return judge(d, order->command, status, err);
	}
	d->held = d->pid && maple_process_held(d->program);
	if (held || d->held)
		*began += at - (d->seen ? d->seen : at);
	d->seen = at;
	return 0;
}

/* maple_debugger_call - has it hold the program, as if the user had said so */
void maple_debugger_call(const struct maple_debugger *d,
			 const struct maple_run_debugger *order, const char *why)
{
	assert(d->pid && d->program > 0);
	order->notice(order->ctx, why);
	kill(d->program, SIGINT);
}

/*
 * maple_debugger_end - returns when the debugger has ended, if there is one
 * @now: it is to; else that is the user's to say, or @sink's tick
 *
 * Returns 0, or why the run says nothing: the debugger was killed, and the
 * program may have ended by a breakpoint of its.
 */
int maple_debugger_end(struct maple_debugger *d,
		       const struct maple_run_debugger *order,
		       const struct maple_run_sink *sink, bool now,
		       struct maple_error *err)
{
	double asked = 0, at;
	int status;

	while (d->pid) {
		if (has_ended(d, &status))
			return asked ? 0
				     : judge(d, order->command, status, err);
		at = maple_clock_now();
		now |= !asked && sink->tick && !sink->tick(sink->ctx, 0);
		if (now && !asked) {
			kill(d->pid, SIGTERM);
			asked = at;
		} else if (asked && at - asked > KILL_AFTER) {
			kill(d->pid, SIGKILL);
		}
		usleep(LOOK_US);
	}
	return 0;
}
