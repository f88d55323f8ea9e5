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
 *
 * Where the order says so, the guard is a tracer too, tracer.c.
 *
 * Where the order says so, the program is a stem (lib/agent/stem.c): it never
 * comes to main(), and runs are forked from it that are children of the guard.
 * The guard then tells the end of each of its children, and takes down all but
 * the stem when it is told to.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../agent/shm.h"
#include "backend.h"
#include "launch.h"
#include "tracer.h"

enum news_kind {
	NEWS_FAILED,
	NEWS_UNTRACED, /* may not be traced; killed */
	NEWS_STARTED,
	NEWS_STOPPED,
	NEWS_CRASHED,
	NEWS_ENDED,
	NEWS_CHILD,   /* of a stem's guard: has ended */
	NEWS_CLEARED, /* all but the stem */
};

/* What we tell the guard, a byte each. */
#define SAY_GO	      'g'
#define SAY_LET_DIE   'd'
#define SAY_CLEAR     'c'

#define ANSWER_WITHIN 5.0 /* seconds: a stem has nothing else to do */

struct news {
	enum news_kind kind;
	int value; /* errno, pid or wait status */
	pid_t pid; /* CHILD */
	bool left; /* CHILD: there are others */
	union {
		struct rusage usage;
		struct maple_crash crash;
	};
};

static void tell_all(int fd, const struct news *news)
{
	/* Shorter than PIPE_BUF: all or nothing; nobody left: nothing to do. */
	while (write(fd, news, sizeof(*news)) < 0 && errno == EINTR)
		;
}

static void tell(int fd, enum news_kind kind, int value)
{
	const struct news news = { .kind = kind, .value = value };

	tell_all(fd, &news);
}

/*
 * The children of the calling process, as many as fit: those that are left
 * show when some of these are gone.
 */
static unsigned int children(pid_t *pids, unsigned int max)
{
	char path[64], text[4096], *at = text, *end;
	unsigned int n = 0;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	/* A blank follows each, unless the last was cut. */
	while (n < max && (end = strchr(at, ' '))) {
		pids[n++] = atoi(at);
		at = end + 1;
	}
	return n;
}

#define CHILDREN 512

/*
 * Kills and reaps until no descendant is left: each death hands its children
 * to us, the subreaper. Bounded, because a process in uninterruptible sleep
 * cannot be helped.
 */
static void reap_all(void)
{
	pid_t pids[CHILDREN];
	unsigned int n, i;

	for (i = 0; i < 2000; i++) {
		n = children(pids, CHILDREN);
		while (n)
			kill(pids[--n], SIGKILL);
		/* Of what is traced, threads count as well. */
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD)
			return;
		usleep(1000);
	}
}

/* Every launch of this process that has a guard. */
static struct maple_launch *guarded;
static pthread_mutex_t guarded_lock = PTHREAD_MUTEX_INITIALIZER;

static void enlist(struct maple_launch *launch)
{
	pthread_mutex_lock(&guarded_lock);
	launch->next = guarded;
	guarded = launch;
	pthread_mutex_unlock(&guarded_lock);
}

static void strike_off(struct maple_launch *launch)
{
	struct maple_launch **at = &guarded;

	pthread_mutex_lock(&guarded_lock);
	while (*at && *at != launch)
		at = &(*at)->next;
	if (*at)
		*at = launch->next;
	pthread_mutex_unlock(&guarded_lock);
}

static bool is_guard(pid_t pid)
{
	const struct maple_launch *l;

	pthread_mutex_lock(&guarded_lock);
	for (l = guarded; l && l->guard != pid; l = l->next)
		;
	pthread_mutex_unlock(&guarded_lock);
	return l;
}

/*
 * The same in mapletest, of what has come to it because a guard was killed.
 * Other guards are at work.
 */
static void reap_orphans(void)
{
	unsigned int n, i, left = 1;
	pid_t pids[CHILDREN];

	for (i = 0; left && i < 2000; i++) {
		n = children(pids, CHILDREN);
		for (left = 0; n--;) {
			if (is_guard(pids[n]))
				continue;
			kill(pids[n], SIGKILL);
			left += waitpid(pids[n], NULL, WNOHANG) == 0;
		}
		if (left)
			usleep(1000);
	}
}

static void program(const struct maple_launch_order *order, int failed,
		    int held, int orders, const sigset_t *mask, pid_t guard)
{
	int fds[4] = { order->in, order->out, order->err, orders };
	int i, e, n = order->stem ? 4 : 3;
	char byte;

	static_assert(MAPLE_STEM_FD == 3, "next to the standard files");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != guard)
		_exit(127);
	/* Until the guard is attached. */
	if (held >= 0 && read(held, &byte, 1) != 1)
		_exit(127);
	if (order->own_group)
		setpgid(0, 0);
	if (order->cpus)
		sched_setaffinity(0, sizeof(*order->cpus), order->cpus);
	if (order->realtime)
		maple_realtime_allow();
	/* Lift them out of the way of each other, then put them in place. */
	i = fcntl(failed, F_DUPFD_CLOEXEC, 10);
	if (i < 0)
		goto fail;
	failed = i;
	for (i = 0; i < n; i++) {
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
		if (fds[i] < 0)
			goto fail;
	}
	for (i = 0; i < n; i++)
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

/* What the guard works with. */
struct guard {
	const struct maple_launch_order *order;
	int control, news, signals;
	pid_t pid;
	struct maple_tracer tracer;
};

static void tell_crash(struct guard *g)
{
	const struct news news = { .kind = NEWS_CRASHED,
				   .crash = g->tracer.crash };

	tell_all(g->news, &news);
}

/*
 * What the stem has forked ahead, which is not part of any run; 0: nothing.
 * To be asked for after the list of children was made.
 */
static pid_t spare_of(const struct guard *g)
{
	const int32_t *spare = g->order->spare;
	int32_t pid = spare ? __atomic_load_n(spare, __ATOMIC_ACQUIRE) : 0;
	unsigned int i;

	/* It is being forked: not for long, unless the stem is dead. */
	for (i = 0; pid < 0 && i < 1000; i++) {
		sched_yield();
		pid = __atomic_load_n(spare, __ATOMIC_ACQUIRE);
	}
	return pid > 0 ? pid : 0;
}

/* The guard's children that are neither the stem nor its spare. */
static unsigned int others(const struct guard *g, pid_t *pids, unsigned int max)
{
	unsigned int i, n = children(pids, max), k = 0;
	pid_t spare = spare_of(g);

	for (i = 0; i < n; i++)
		if (pids[i] != g->pid && pids[i] != spare)
			pids[k++] = pids[i];
	return k;
}

static bool others_left(const struct guard *g)
{
	pid_t pids[3];

	return others(g, pids, 3);
}

static void tell_child(const struct guard *g, pid_t pid, int status,
		       const struct rusage *usage)
{
	const struct news news = { .kind = NEWS_CHILD,
				   .value = status,
				   .pid = pid,
				   .left = others_left(g),
				   .usage = *usage };

	tell_all(g->news, &news);
}

/* As reap_all(), but the stem and its spare stay. */
static void guard_clear(struct guard *g)
{
	pid_t pids[CHILDREN], pid;
	struct rusage usage;
	unsigned int n, i;
	int status;

	for (i = 0; i < 2000 && others_left(g); i++) {
		n = others(g, pids, CHILDREN);
		while (n)
			kill(pids[--n], SIGKILL);
		usleep(200);
		while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
			if (pid == g->pid)
				tell(g->news, NEWS_ENDED, status);
			else
				tell_child(g, pid, status, &usage);
	}
	tell(g->news, NEWS_CLEARED, 0);
}

/* Takes in who has died or stopped; whether anybody is left. */
static bool guard_reap(struct guard *g)
{
	struct news end = { .kind = NEWS_ENDED };
	enum maple_tracer_phase before;
	bool linger = g->order->linger;
	int status;
	pid_t got;

	while ((got = wait4(-1, &status, WNOHANG | __WALL, &end.usage)) > 0) {
		if (WIFSTOPPED(status)) {
			before = g->tracer.phase;
			maple_tracer_stop(&g->tracer, got, status);
			if (before != g->tracer.phase &&
			    g->tracer.phase == MAPLE_TRACER_STANDS)
				tell(g->news, NEWS_STOPPED, g->tracer.target);
			continue;
		}
		if (got != g->pid) {
			if (g->order->stem)
				tell_child(g, got, status, &end.usage);
			continue;
		}
		if (!linger)
			reap_all();
		end.value = status;
		tell_all(g->news, &end);
		if (!linger)
			return false;
	}
	return got == 0;
}

/* Does what our maker says; false when he is gone or wants an end. */
static bool guard_obey(struct guard *g)
{
	ssize_t n;
	char say;

	do
		n = read(g->control, &say, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1 && say == SAY_GO)
		maple_tracer_go(&g->tracer);
	else if (n == 1 && say == SAY_LET_DIE)
		maple_tracer_let_die(&g->tracer);
	else if (n == 1 && say == SAY_CLEAR)
		guard_clear(g);
	return n == 1;
}

/* Waits for the program or for our maker's end; never returns. */
static void guard_wait(struct guard *g)
{
	struct pollfd fds[2] = { { .fd = g->control, .events = POLLIN },
				 { .fd = g->signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	bool freezes;

	for (;;) {
		freezes = g->tracer.phase == MAPLE_TRACER_FREEZES;
		if (poll(fds, 2, freezes ? 1 : -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && !guard_obey(g))
			break;
		if (fds[1].revents &&
		    read(g->signals, &info, sizeof(info)) < 0 && errno != EAGAIN)
			break;
		if (!guard_reap(g))
			_exit(0);
		if (maple_tracer_froze(&g->tracer))
			tell_crash(g);
	}
	reap_all();
	_exit(0);
}

/* The lowest of @keep that is not below @from; INT_MAX if there is none. */
static int next_kept(const int *keep, unsigned int n, int from)
{
	int next = INT_MAX;

	while (n--)
		if (keep[n] >= from && keep[n] < next)
			next = keep[n];
	return next;
}

/* Other runs' pipes must not be kept open by this guard. */
static void close_others(const int *keep, unsigned int n)
{
	int from = 3, next = next_kept(keep, n, from);

	for (; next != INT_MAX; next = next_kept(keep, n, from)) {
		if (next > from)
			close_range(from, next - 1, 0);
		from = next + 1;
	}
	close_range(from, ~0u, 0);
}

static _Noreturn void guard_fail(struct guard *g, enum news_kind kind, int e)
{
	reap_all();
	tell(g->news, kind, e);
	_exit(1);
}

/* Attaches to the program before it is executed, and sees it through that. */
static void guard_trace(struct guard *g, int held)
{
	int status, e = maple_tracer_begin(&g->tracer, g->order, g->pid);
	siginfo_t info;

	if (e)
		guard_fail(g, NEWS_UNTRACED, -e);
	if (write(held, "", 1) != 1)
		guard_fail(g, NEWS_FAILED, errno);
	/* It may be stopped by a signal before; if it dies, it says why. */
	while (!waitid(P_PID, g->pid, &info,
		       WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			return;
		if (waitpid(g->pid, &status, __WALL) != g->pid)
			return;
		maple_tracer_stop(&g->tracer, g->pid, status);
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return;
	}
}

static void guard(const struct maple_launch_order *order, int control, int news,
		  int orders)
{
	struct guard g = { .order = order, .control = control, .news = news };
	int keep[] = {
		control, news, order->in, order->out, order->err, orders
	};
	int failed[2], held[2] = { -1, -1 }, e = 0;
	pid_t self = getpid();
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
	g.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g.signals < 0 || pipe2(failed, O_CLOEXEC) ||
	    (order->stop_at_entry && pipe2(held, O_CLOEXEC)))
		guard_fail(&g, NEWS_FAILED, errno);
	g.pid = fork();
	if (g.pid == 0)
		program(order, failed[1], held[0], orders, &old, self);
	e = errno;
	close(failed[1]);
	if (orders >= 0)
		close(orders);
	if (g.pid < 0)
		guard_fail(&g, NEWS_FAILED, e);
	if (order->stop_at_entry)
		guard_trace(&g, held[1]);
	do
		n = read(failed[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (n == sizeof(e))
		guard_fail(&g, NEWS_FAILED, e);
	tell(news, NEWS_STARTED, g.pid);
	/* The program's files must not stay open on our account. */
	close(0);
	close(1);
	close(2);
	guard_wait(&g);
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
	int control[2], news[2], orders[2] = { -1, -1 };
	struct news first = { .kind = NEWS_ENDED };
	int e;

	memset(launch, 0, sizeof(*launch));
	launch->control = launch->news = launch->orders = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
		return maple_error_set(err, errno, "no socket: %m");
	if (pipe2(news, O_CLOEXEC)) {
		e = maple_error_set(err, errno, "no pipe: %m");
		close(control[0]);
		close(control[1]);
		return e;
	}
	if (order->stem &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders)) {
		e = maple_error_set(err, errno, "no socket: %m");
		close(control[0]);
		close(control[1]);
		close(news[0]);
		close(news[1]);
		return e;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch->guard = fork();
	if (launch->guard == 0) {
		guard(order, control[0], news[1], orders[0]);
		_exit(1);
	}
	e = errno;
	close(control[0]);
	close(news[1]);
	if (order->stem)
		close(orders[0]);
	launch->control = control[1];
	launch->news = news[0];
	launch->orders = orders[1];
	if (launch->guard < 0) {
		launch->guard = 0;
		maple_launch_finish(launch);
		return maple_error_set(err, e, "cannot fork: %s", strerror(e));
	}
	enlist(launch);
	if (read_news(launch->news, &first, true) < 0 ||
	    first.kind != NEWS_STARTED) {
		e = first.kind <= NEWS_UNTRACED ? first.value : ECHILD;
		maple_launch_finish(launch);
		if (first.kind == NEWS_UNTRACED)
			return maple_error_set(
				err, e,
				"%s cannot be traced (%s): sudo sysctl "
				"kernel.yama.ptrace_scope=1",
				order->path, strerror(e));
		return maple_error_set(err, e, "cannot run %s: %s", order->path,
				       strerror(e));
	}
	launch->pid = order->stem ? 0 : first.value;
	launch->stem = order->stem ? first.value : 0;
	return 0;
}

/* The guard was killed, and so the program is. */
static void lose_guard(struct maple_launch *launch)
{
	strike_off(launch);
	while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
		;
	launch->guard = 0;
	launch->orphaned = true;
	if (!launch->ended)
		launch->status = SIGKILL;
	launch->ended = launch->gone = launch->cleared = true;
}

static void take_in(struct maple_launch *launch, const struct news *news)
{
	switch (news->kind) {
	case NEWS_STOPPED:
		launch->stopped = news->value;
		break;
	case NEWS_CRASHED:
		launch->crashed = true;
		launch->crash = news->crash;
		break;
	case NEWS_CHILD:
		/* Of a run that has ended there may be others. */
		launch->left = news->left;
		if (news->pid != launch->pid)
			break;
		launch->ended = true;
		launch->status = news->value;
		launch->usage = news->usage;
		break;
	case NEWS_CLEARED:
		launch->cleared = true;
		launch->left = false;
		break;
	default:
		assert(news->kind == NEWS_ENDED);
		launch->gone = true;
		if (launch->stem)
			break;
		launch->stopped = 0;
		launch->crashed = false;
		launch->ended = true;
		launch->status = news->value;
		launch->usage = news->usage;
	}
}

/* Takes in what the guard has said meanwhile. */
static void look(struct maple_launch *launch)
{
	struct news news;
	int got;

	while ((launch->stem ? launch->guard > 0 : !launch->ended) &&
	       (got = read_news(launch->news, &news, false)))
		if (got < 0)
			lose_guard(launch);
		else
			take_in(launch, &news);
}

/* maple_launch_ended - whether the program is over; fills status and usage */
bool maple_launch_ended(struct maple_launch *launch)
{
	look(launch);
	return launch->ended;
}

/*
 * maple_launch_stopped - the process that stands at its entry point until
 * maple_launch_go(), or 0: not there yet, gone on, or ended
 *
 * With an order's exe, it need not be the process that was started.
 */
pid_t maple_launch_stopped(struct maple_launch *launch)
{
	look(launch);
	return launch->stopped;
}

static void say(struct maple_launch *launch, char what)
{
	/* The guard may have been killed: no reason for a SIGPIPE. */
	while (send(launch->control, &what, 1, MSG_NOSIGNAL) < 0 &&
	       errno == EINTR)
		;
}

/* maple_launch_go - the program that stands at its entry point may run */
void maple_launch_go(struct maple_launch *launch)
{
	if (launch->stopped)
		say(launch, SAY_GO);
	launch->stopped = 0;
}

/*
 * maple_launch_crashed - whether the program, of an order with keep_crashed,
 * is about to die of a fault or an abort
 *
 * All its threads are stopped, and nobody is attached to them, until
 * maple_launch_let_die().
 */
bool maple_launch_crashed(struct maple_launch *launch, struct maple_crash *crash)
{
	look(launch);
	*crash = launch->crash;
	return launch->crashed;
}

/* maple_launch_let_die - it has been looked at, and dies as it would have */
void maple_launch_let_die(struct maple_launch *launch)
{
	if (launch->crashed)
		say(launch, SAY_LET_DIE);
	launch->crashed = false;
}

/*
 * maple_launch_left - after the end of a program that may linger: whether
 * something that it has started is still there
 */
bool maple_launch_left(struct maple_launch *launch)
{
	struct pollfd pfd = { .fd = launch->news };

	look(launch);
	if (launch->stem)
		return launch->guard && launch->left;
	return launch->guard && poll(&pfd, 1, 0) == 0;
}

/* maple_launch_finish - takes down what is left, waits until it is gone */
void maple_launch_finish(struct maple_launch *launch)
{
	if (launch->control >= 0)
		close(launch->control);
	if (launch->orders >= 0)
		close(launch->orders);
	if (launch->guard > 0)
		while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
			;
	if (launch->news >= 0)
		close(launch->news);
	launch->control = launch->news = launch->orders = -1;
	strike_off(launch);
	launch->guard = 0;
	if (launch->orphaned)
		reap_orphans();
	launch->orphaned = false;
}

/*
 * maple_launch_answers - waits for what a stem has to say
 * @within: seconds
 */
bool maple_launch_answers(struct maple_launch *launch, double within,
			  int32_t *answer)
{
	struct pollfd pfd = { .fd = launch->orders, .events = POLLIN };
	struct maple_stem_answer got;

	if (poll(&pfd, 1, (int)(within * 1000)) != 1 ||
	    recv(launch->orders, &got, sizeof(got), MSG_DONTWAIT) != sizeof(got))
		return false;
	*answer = got.value;
	return true;
}

static bool send_order(struct maple_launch *launch,
		       const struct maple_launch_order *order)
{
	struct maple_stem_order say = { order->own_group };
	const int fds[3] = { order->in, order->out, order->err };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control = { 0 };
	struct iovec iov = { &say, sizeof(say) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	return sendmsg(launch->orders, &msg, MSG_NOSIGNAL) == sizeof(say);
}

/*
 * maple_launch_fork - has the stem, which has said that it is READY, fork the
 * run of @order: of that, the files and own_group count
 *
 * End it with maple_launch_clear() if this returned 0. Errors: -ECHILD, the
 * stem is dead or does not answer; what fork says.
 */
int maple_launch_fork(struct maple_launch *launch,
		      const struct maple_launch_order *order)
{
	int32_t pid;

	launch->pid = 0;
	look(launch);
	launch->ended = launch->left = launch->cleared = false;
	memset(&launch->usage, 0, sizeof(launch->usage));
	if (launch->gone || !send_order(launch, order) ||
	    !maple_launch_answers(launch, ANSWER_WITHIN, &pid))
		return -ECHILD;
	if (pid <= 0)
		return pid ? pid : -ECHILD;
	launch->pid = pid;
	return 0;
}

/* maple_launch_clear - takes down what is left of a stem's run */
void maple_launch_clear(struct maple_launch *launch)
{
	struct pollfd pfd = { .fd = launch->news, .events = POLLIN };

	look(launch);
	if (!launch->ended || launch->left) {
		say(launch, SAY_CLEAR);
		while (!launch->cleared) {
			poll(&pfd, 1, -1);
			look(launch);
		}
	}
	launch->pid = 0;
	if (launch->orphaned)
		reap_orphans();
	launch->orphaned = false;
}
