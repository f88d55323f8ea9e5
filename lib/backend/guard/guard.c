// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The guard: a fork of ours that does nothing but hold a program and whatever
 * it starts together.
 *
 *   mapletest --- guard --- the program --- its children ...
 *
 * It is the subreaper, so that whatever the program forks off stays below it,
 * and it takes everything down when the program has ended (unless that may
 * linger), when it is told to, or when the other end of its control pipe
 * closes because mapletest died.
 *
 * When nothing of the run is left, it waits for the next of the same order, so
 * that not each costs a copy of mapletest. Where the order says so, it is a
 * tracer too, tracer.c, and then one of one run.
 *
 * Where the order says so, the program is a stem (lib/agent/life/stem.c): it
 * never comes to main(), and runs are forked from it that are children of the
 * guard. The guard then tells the end of each of its children, and takes down
 * all but the stem when it is told to.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/wire.h>
#include "abi/shm.h"
#include "base/clock.h"
#include "backend/backend.h"
#include "guard.h"
#include "backend/process.h"
#include "tracer.h"

static void tell_all(int fd, const struct maple_news *news)
{
	/* Shorter than PIPE_BUF: all or nothing; nobody left: nothing to do. */
	while (write(fd, news, sizeof(*news)) < 0 && errno == EINTR)
		;
}

static void tell(int fd, enum maple_news_kind kind, int value)
{
	const struct maple_news news = { .kind = kind, .value = value };

	tell_all(fd, &news);
}

/*
 * Kills and reaps until no descendant is left: each death hands its children
 * to us, the subreaper. That takes as long as they take to die, on a CPU that
 * others have.
 */
static void reap_all(void)
{
	double until = maple_clock_now() + MAPLE_REAP_WITHIN;
	pid_t pids[MAPLE_PROCESS_CHILDREN];
	unsigned int n;

	while (maple_clock_now() < until) {
		n = maple_process_children(getpid(), getpid(), pids,
					   MAPLE_PROCESS_CHILDREN);
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

/*
 * Its CPUs are all that the order gives it, but it begins on the one that will
 * be its own, rather than wait here for whoever has started it.
 */
static void place(const struct maple_launch_order *order)
{
	cpu_set_t own;

	if (!order->cpus)
		return;
	CPU_ZERO(&own);
	if (order->realtime && order->cpu >= 0)
		CPU_SET(order->cpu, &own);
	CPU_AND(&own, &own, order->cpus);
	if (CPU_COUNT(&own))
		sched_setaffinity(0, sizeof(own), &own);
	sched_setaffinity(0, sizeof(*order->cpus), order->cpus);
}

/* In the guard's fork: becomes the program; @failed is told why not. */
static _Noreturn void program(const struct maple_launch_order *order,
			      int failed, int held, int orders,
			      const sigset_t *mask, pid_t guard)
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
	place(order);
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
	struct maple_launch_order order;
	int control, news, signals;
	sigset_t mask; /* the program's */
	pid_t pid;     /* 0: it rests */
	struct maple_tracer tracer;
};

/* Whether the guard is a tracer as well. */
static bool traces(const struct maple_launch_order *order)
{
	return order->stop_at_entry || order->ask_call;
}

/* maple_guard_stays - whether it is there for other runs of @order as well */
bool maple_guard_stays(const struct maple_launch_order *order)
{
	return !order->stem && !traces(order);
}

static void tell_crash(struct guard *g)
{
	const struct maple_news news = { .kind = MAPLE_NEWS_CRASHED,
					 .crash = g->tracer.crash };

	tell_all(g->news, &news);
}

/*
 * What the stem has forked ahead, which is not part of any run; 0: nothing.
 * To be asked for after the list of children was made.
 */
static pid_t spare_of(const struct guard *g)
{
	const int32_t *spare = g->order.spare;
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
	unsigned int i, n, k = 0;
	pid_t spare;

	n = maple_process_children(getpid(), getpid(), pids, max);
	spare = spare_of(g);
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
	const struct maple_news news = { .kind = MAPLE_NEWS_CHILD,
					 .value = status,
					 .pid = pid,
					 .left = others_left(g),
					 .at = maple_clock_now(),
					 .usage = *usage };

	tell_all(g->news, &news);
}

/* As reap_all(), but the stem and its spare stay. */
static void guard_clear(struct guard *g)
{
	pid_t pids[MAPLE_PROCESS_CHILDREN], pid;
	struct rusage usage;
	double until = maple_clock_now() + MAPLE_REAP_WITHIN;
	unsigned int n;
	int status;

	assert(g->order.stem);
	while (others_left(g) && maple_clock_now() < until) {
		n = others(g, pids, MAPLE_PROCESS_CHILDREN);
		while (n)
			kill(pids[--n], SIGKILL);
		usleep(200);
		while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
			if (pid == g->pid)
				tell(g->news, MAPLE_NEWS_ENDED, status);
			else
				tell_child(g, pid, status, &usage);
	}
	tell(g->news, MAPLE_NEWS_CLEARED, 0);
}

static _Noreturn void guard_fail(struct guard *g, enum maple_news_kind kind,
				 int e)
{
	reap_all();
	tell(g->news, kind, e);
	_exit(1);
}

/* Attaches to the program before it is executed, and sees it through that. */
static void guard_trace(struct guard *g, int held)
{
	int status, e = maple_tracer_begin(&g->tracer, &g->order, g->pid);
	siginfo_t info;

	if (e)
		guard_fail(g, MAPLE_NEWS_UNTRACED, -e);
	if (write(held, "", 1) != 1)
		guard_fail(g, MAPLE_NEWS_FAILED, errno);
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

/* Starts the program, or tells why not, which is the end. */
static void begin(struct guard *g, int orders)
{
	const struct maple_launch_order *order = &g->order;
	int failed[2], held[2] = { -1, -1 }, e = 0;
	pid_t self = getpid(), pid;
	ssize_t n;

	assert(!g->pid); /* it rests, or has just come */
	if (pipe2(failed, O_CLOEXEC) ||
	    (traces(order) && pipe2(held, O_CLOEXEC)))
		guard_fail(g, MAPLE_NEWS_FAILED, errno);
	/* What we need not attach to meanwhile may do without a copy of us. */
	pid = traces(order) ? fork() : vfork();
	if (pid == 0)
		program(order, failed[1], held[0], orders, &g->mask, self);
	e = errno;
	g->pid = pid;
	close(failed[1]);
	if (orders >= 0)
		close(orders);
	if (g->pid < 0)
		guard_fail(g, MAPLE_NEWS_FAILED, e);
	if (traces(order))
		guard_trace(g, held[1]);
	do
		n = read(failed[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(failed[0]);
	if (n == sizeof(e))
		guard_fail(g, MAPLE_NEWS_FAILED, e);
	tell(g->news, MAPLE_NEWS_STARTED, g->pid);
	/* The program's files must not stay open on our account. */
	close(order->in);
	close(order->out);
	close(order->err);
}

/* Nothing of the run is left; whether there may be another. */
static bool rest(struct guard *g)
{
	assert(g->pid >= 0);
	if (g->pid)
		tell(g->news, MAPLE_NEWS_CLEARED, 0);
	g->pid = 0;
	return maple_guard_stays(&g->order);
}

/* Takes in who has died or stopped; false when the guard has done its work. */
static bool guard_reap(struct guard *g)
{
	struct maple_news end = { .kind = MAPLE_NEWS_ENDED };
	enum maple_tracer_phase before;
	int status, call;
	pid_t got;

	while ((got = wait4(-1, &status, WNOHANG | __WALL, &end.usage)) > 0) {
		if (WIFSTOPPED(status)) {
			before = g->tracer.phase;
			call = g->tracer.call;
			maple_tracer_stop(&g->tracer, got, status);
			if (before != g->tracer.phase &&
			    g->tracer.phase == MAPLE_TRACER_STANDS)
				tell(g->news, MAPLE_NEWS_STOPPED,
				     g->tracer.target);
			if (g->tracer.call != call)
				tell(g->news, MAPLE_NEWS_CALL, g->tracer.call);
			continue;
		}
		if (got != g->pid) {
			if (g->order.stem)
				tell_child(g, got, status, &end.usage);
			continue;
		}
		end.at = maple_clock_now();
		if (!g->order.linger)
			reap_all();
		end.value = status;
		tell_all(g->news, &end);
	}
	return got == 0 || rest(g);
}

/* What our maker says, and the files that come with it; 0: he is gone. */
static char listen_to(struct guard *g)
{
	unsigned int nfiles = 0;
	int files[3];
	char say = 0;

	if (maple_wire_receive(g->control, &say, 1, files, &nfiles, 3) != 1)
		return 0;
	if (say != MAPLE_SAY_AGAIN)
		return say;
	if (nfiles != 3)
		return 0;
	g->order.in = files[0];
	g->order.out = files[1];
	g->order.err = files[2];
	return say;
}

/* Does what our maker says; false when he is gone or wants an end. */
static bool guard_obey(struct guard *g)
{
	switch (listen_to(g)) {
	case 0:
		return false;
	case MAPLE_SAY_GO:
		maple_tracer_go(&g->tracer);
		break;
	case MAPLE_SAY_LET_DIE:
		maple_tracer_let_die(&g->tracer);
		break;
	case MAPLE_SAY_CLEAR:
		if (g->order.stem) {
			guard_clear(g);
			break;
		}
		reap_all();
		return rest(g);
	case MAPLE_SAY_AGAIN:
		begin(g, -1);
		break;
	}
	return true;
}

/* Waits for the program or for our maker's end. */
static _Noreturn void guard_wait(struct guard *g)
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

/*
 * maple_guard_run - in a fork: starts @order's program and is its guard from
 * then on; its first news are STARTED, or why not
 * @control: says are read here; the end of the file is the end of everything
 * @news: told here, a struct maple_news each
 * @orders: the stem's end of its socket, or -1
 */
_Noreturn void maple_guard_run(const struct maple_launch_order *order,
			       int control, int news, int orders)
{
	struct guard g = { .order = *order, .control = control, .news = news };
	int keep[] = {
		control, news, order->in, order->out, order->err, orders
	};
	sigset_t all;

	close_others(keep, sizeof(keep) / sizeof(keep[0]));
	/* Ctrl-C is for the program and for our maker, not for us. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &g.mask);
	sigdelset(&g.mask, SIGINT);
	sigdelset(&g.mask, SIGTERM);
	sigdelset(&g.mask, SIGHUP);
	sigdelset(&g.mask, SIGCHLD);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "maple-guard");
	g.signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (g.signals < 0)
		guard_fail(&g, MAPLE_NEWS_FAILED, errno);
	begin(&g, orders);
	close(0);
	close(1);
	close(2);
	guard_wait(&g);
}
