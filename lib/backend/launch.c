// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Starting a program so that nothing of it can be left behind.
 *
 *   mapletest --- guard --- the program --- its children ...
 *
 * The guard is a fork of ours that does nothing but hold the tree together:
 * it is the subreaper, so that whatever the program forks off stays below it,
 * and it takes everything down when the program has ended (unless that may
 * linger), when we ask, or when our end of the control pipe closes because we
 * died. Should the guard
 * itself be killed, the program follows by its parent-death signal, and the
 * rest falls to us, who are a subreaper as well.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend.h"
#include "launch.h"

enum news_kind { NEWS_FAILED, NEWS_STARTED, NEWS_ENDED };

struct news {
	enum news_kind kind;
	int value; /* errno, pid or wait status */
	struct rusage usage;
};

static void tell(int fd, enum news_kind kind, int value,
		 const struct rusage *usage)
{
	struct news news = { .kind = kind, .value = value };

	if (usage)
		news.usage = *usage;
	/* Shorter than PIPE_BUF: all or nothing; nobody left: nothing to do. */
	while (write(fd, &news, sizeof(news)) < 0 && errno == EINTR)
		;
}

/* Kills every child of the calling process; returns how many there were. */
static unsigned int kill_children(void)
{
	char path[64];
	unsigned int n = 0;
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &pid) == 1) {
		kill(pid, SIGKILL);
		n++;
	}
	fclose(file);
	return n;
}

/*
 * Kills and reaps until no descendant is left: each death hands its children
 * to us, the subreaper. Bounded, because a process in uninterruptible sleep
 * cannot be helped.
 */
static void reap_all(void)
{
	int i;

	for (i = 0; i < 2000; i++) {
		kill_children();
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			return;
		usleep(1000);
	}
}

static void program(const struct maple_launch_order *order, int failed,
		    const sigset_t *mask, pid_t guard)
{
	int fds[3] = { order->in, order->out, order->err };
	int i, e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(127);
	if (order->own_group)
		setpgid(0, 0);
	if (order->cpus)
		sched_setaffinity(0, sizeof(*order->cpus), order->cpus);
	if (order->realtime)
		maple_realtime_allow();
	/* Lift them out of the way of each other, then put them in place. */
	for (i = 0; i < 3; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
		if (fds[i] < 0)
			goto fail;
	}
	for (i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			goto fail;
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* Not execvpe(): it would have a shell run what is no program. */
	execve(order->path, order->argv, order->envp);
fail:
	e = errno;
	while (write(failed, &e, sizeof(e)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* Takes in who has died; whether anybody is left. */
static bool guard_reap(pid_t pid, int news, bool linger)
{
	struct rusage usage;
	int status;
	pid_t got;

	while ((got = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (got != pid)
			continue;
		if (!linger)
			reap_all();
		tell(news, NEWS_ENDED, status, &usage);
		if (!linger)
			return false;
	}
	return got == 0;
}

/* Waits for the program or for our maker's end; never returns. */
static void guard_wait(pid_t pid, int control, int news, int signals,
		       bool linger)
{
	struct pollfd fds[2] = { { .fd = control, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		if (!fds[1].revents)
			continue;
		if (read(signals, &info, sizeof(info)) < 0 && errno != EAGAIN)
			break;
		if (!guard_reap(pid, news, linger))
			_exit(0);
	}
	reap_all();
	_exit(0);
}

/* Other runs' pipes must not be kept open by this guard. */
static void close_others(const int *keep, unsigned int n)
{
	int fd, max = (int)sysconf(_SC_OPEN_MAX);
	unsigned int i;

	if (max > 4096 || max < 0)
		max = 4096;
	for (fd = 3; fd < max; fd++) {
		for (i = 0; i < n && keep[i] != fd; i++)
			;
		if (i == n)
			close(fd);
	}
}

static void guard(const struct maple_launch_order *order, int control, int news)
{
	int keep[] = { control, news, order->in, order->out, order->err };
	int failed[2], signals, e = 0;
	pid_t pid, self = getpid();
	sigset_t all, old;
	ssize_t n;

	close_others(keep, sizeof(keep) / sizeof(keep[0]));
	/* Ctrl-C is for the program and for our maker, not for us. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	sigdelset(&old, SIGINT);
	sigdelset(&old, SIGTERM);
	sigdelset(&old, SIGHUP);
	sigdelset(&old, SIGCHLD);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "maple-guard");
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || pipe2(failed, O_CLOEXEC)) {
		tell(news, NEWS_FAILED, errno, NULL);
		_exit(1);
	}
	pid = fork();
	if (pid == 0)
		program(order, failed[1], &old, self);
	close(failed[1]);
	if (pid < 0) {
		tell(news, NEWS_FAILED, errno, NULL);
		_exit(1);
	}
	do
		n = read(failed[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (n == sizeof(e)) {
		reap_all();
		tell(news, NEWS_FAILED, e, NULL);
		_exit(1);
	}
	tell(news, NEWS_STARTED, pid, NULL);
	/* The program's files must not stay open on our account. */
	close(0);
	close(1);
	close(2);
	guard_wait(pid, control, news, signals, order->linger);
}

/* Returns 1 for news, 0 for none yet, -1 when the guard died silently. */
static int read_news(int fd, struct news *news, bool wait)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (!wait && poll(&pfd, 1, 0) <= 0)
		return 0;
	do
		n = read(fd, news, sizeof(*news));
	while (n < 0 && errno == EINTR);
	return n == sizeof(*news) ? 1 : -1;
}

/*
 * maple_launch_start - starts @order's program under a guard of its own
 *
 * Returns once the program has been executed, or -errno with the reason that
 * exec gave. End it with maple_launch_finish() in either case that returned 0.
 */
int maple_launch_start(struct maple_launch *launch,
		       const struct maple_launch_order *order,
		       struct maple_error *err)
{
	int control[2], news[2];
	struct news first = { .kind = NEWS_ENDED };
	int e;

	memset(launch, 0, sizeof(*launch));
	launch->control = launch->news = -1;
	if (pipe2(control, O_CLOEXEC))
		return maple_error_set(err, errno, "no pipe: %m");
	if (pipe2(news, O_CLOEXEC)) {
		e = maple_error_set(err, errno, "no pipe: %m");
		close(control[0]);
		close(control[1]);
		return e;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch->guard = fork();
	if (launch->guard == 0) {
		close(control[1]);
		close(news[0]);
		guard(order, control[0], news[1]);
		_exit(1);
	}
	e = errno;
	close(control[0]);
	close(news[1]);
	launch->control = control[1];
	launch->news = news[0];
	if (launch->guard < 0) {
		launch->guard = 0;
		maple_launch_finish(launch);
		return maple_error_set(err, e, "cannot fork: %s", strerror(e));
	}
	if (read_news(launch->news, &first, true) < 0 ||
	    first.kind != NEWS_STARTED) {
		e = first.kind == NEWS_FAILED ? first.value : ECHILD;
		maple_launch_finish(launch);
		return maple_error_set(err, e, "cannot run %s: %s", order->path,
				       strerror(e));
	}
	launch->pid = first.value;
	return 0;
}

/* maple_launch_ended - whether the program is over; fills status and usage */
bool maple_launch_ended(struct maple_launch *launch)
{
	struct news news;

	if (launch->ended)
		return true;
	switch (read_news(launch->news, &news, false)) {
	case 0:
		return false;
	case 1:
		assert(news.kind == NEWS_ENDED);
		launch->ended = true;
		launch->status = news.value;
		launch->usage = news.usage;
		return true;
	}
	/* The guard was killed, and so the program is. */
	while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
		;
	launch->guard = 0;
	launch->orphaned = true;
	launch->ended = true;
	launch->status = SIGKILL;
	return true;
}

/*
 * maple_launch_left - after the end of a program that may linger: whether
 * something that it has started is still there
 */
bool maple_launch_left(struct maple_launch *launch)
{
	struct pollfd pfd = { .fd = launch->news };

	return launch->guard && poll(&pfd, 1, 0) == 0;
}

/* maple_launch_finish - takes down what is left, waits until it is gone */
void maple_launch_finish(struct maple_launch *launch)
{
	if (launch->control >= 0)
		close(launch->control);
	if (launch->guard > 0)
		while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
			;
	if (launch->news >= 0)
		close(launch->news);
	launch->control = launch->news = -1;
	launch->guard = 0;
	if (launch->orphaned)
		reap_all();
	launch->orphaned = false;
}
