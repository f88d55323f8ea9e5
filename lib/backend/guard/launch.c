// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Starting a program so that nothing of it can be left behind: under a guard,
 * guard.c, of which this is the maker's side. Should the guard itself be
 * killed, the program follows by its parent-death signal, and the rest falls
 * to us, who are a subreaper as well.
 *
 * A guard that stays when its run is over rests until something is started by
 * the same order: to fork one copies all that we have, and makes us copy what
 * we write next.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/wire.h>
#include "abi/shm.h"
#include "base/clock.h"
#include "guard.h"
#include "launch.h"
#include "backend/process.h"

#define ANSWER_WITHIN 5.0 /* seconds: a stem has nothing else to do */

/* Every launch of this process that has a guard. */
static struct maple_launch *guarded;
static pthread_mutex_t guarded_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static void put_first(struct maple_launch *launch)
{
	assert(guarded != launch);
	launch->next = guarded;
	guarded = launch;
}

/* Under the lock. */
static void take_out(struct maple_launch *launch)
{
	struct maple_launch **at = &guarded;

	while (*at && *at != launch)
		at = &(*at)->next;
	if (*at)
		*at = launch->next;
	launch->next = NULL;
}

static void strike_off(struct maple_launch *launch)
{
	pthread_mutex_lock(&guarded_lock);
	take_out(launch);
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
 * Kills and reaps what has come to us because a guard was killed: all of our
 * children but the other guards, which are at work.
 */
static void reap_orphans(void)
{
	struct sched_param before = { 0 }, none = { 0 };
	int policy = sched_getscheduler(0);
	double until = maple_clock_now() + MAPLE_REAP_WITHIN;
	pid_t pids[MAPLE_PROCESS_CHILDREN];
	unsigned int n, left = 1;

	/* Not from above the threads that are still dying: process.c. */
	sched_getparam(0, &before);
	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	while (left && maple_clock_now() < until) {
		n = maple_process_children(getpid(), getpid(), pids,
					   MAPLE_PROCESS_CHILDREN);
		for (left = 0; n--;) {
			if (is_guard(pids[n]))
				continue;
			kill(pids[n], SIGKILL);
			waitpid(pids[n], NULL, WNOHANG);
			/* Its own children have come to us since we looked. */
			left++;
		}
		if (left)
			usleep(1000);
	}
	sched_setscheduler(0, policy, &before);
}

/* What counts of @order, but its files, to be compared; NULL: no guard stays. */
static char *key_of(const struct maple_launch_order *order, size_t *size)
{
	const bool is[] = { order->own_group, order->realtime, order->linger,
			    order->cpus };
	char *const *const lists[] = { order->argv, order->envp };
	char *key = NULL;
	FILE *out;

	if (!maple_guard_stays(order))
		return NULL;
	out = open_memstream(&key, size);
	if (!out)
		return NULL;
	fwrite(is, sizeof(is), 1, out);
	if (order->cpus)
		fwrite(order->cpus, sizeof(*order->cpus), 1, out);
	fwrite(&order->cpu, sizeof(order->cpu), 1, out);
	fwrite(order->path, strlen(order->path) + 1, 1, out);
	for (unsigned int i = 0; i < 2; i++) {
		for (char *const *at = lists[i]; *at; at++)
			fwrite(*at, strlen(*at) + 1, 1, out);
		fputc(0, out);
	}
	if (!fclose(out))
		return key;
	free(key);
	return NULL;
}

/* The resting guard with @launch's key becomes @launch's. */
static bool find_resting(struct maple_launch *launch)
{
	struct maple_launch **at = &guarded, *found;

	pthread_mutex_lock(&guarded_lock);
	while (*at && !((*at)->resting && (*at)->key_size == launch->key_size &&
			!memcmp((*at)->key, launch->key, launch->key_size)))
		at = &(*at)->next;
	found = *at;
	if (found) {
		/* It has told all of its last run, and nothing of another. */
		assert(found->guard > 0 && found->control >= 0 &&
		       found->news >= 0 && found->orders < 0);
		assert(!found->stem && found->cleared);
		*at = found->next;
		launch->guard = found->guard;
		launch->control = found->control;
		launch->news = found->news;
		put_first(launch);
	}
	pthread_mutex_unlock(&guarded_lock);
	if (found)
		free(found->key);
	free(found);
	return found;
}

static void close_orders(struct maple_launch *launch)
{
	if (launch->orders >= 0)
		close(launch->orders);
	launch->orders = -1;
}

/* Whether @launch's guard now waits for another launch. */
static bool rest(struct maple_launch *launch)
{
	struct maple_launch *resting = malloc(sizeof(*resting));

	assert(launch->key && launch->guard > 0 && launch->cleared);
	assert(!launch->stem && !launch->resting && !launch->orphaned);
	if (!resting)
		return false;
	close_orders(launch);
	/* Other lanes never see the guard without a launch. */
	pthread_mutex_lock(&guarded_lock);
	take_out(launch);
	*resting = *launch;
	resting->resting = true;
	put_first(resting);
	launch->key = NULL;
	launch->guard = 0;
	launch->control = launch->news = -1;
	pthread_mutex_unlock(&guarded_lock);
	return true;
}

/* Returns 1 for news, 0 for none yet, -1 when the guard died silently. */
static int read_news(int fd, struct maple_news *news, bool wait)
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

/* Its guard goes home, and takes down what there is. */
static void end(struct maple_launch *launch)
{
	if (launch->control >= 0)
		close(launch->control);
	close_orders(launch);
	if (launch->guard > 0)
		while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
			;
	if (launch->news >= 0)
		close(launch->news);
	launch->control = launch->news = -1;
	strike_off(launch);
	launch->guard = 0;
	if (launch->orphaned)
		reap_orphans();
	launch->orphaned = false;
	free(launch->key);
	launch->key = NULL;
}

/* Says @what, with the files of @order. */
static bool send_files(int socket, void *what, size_t size,
		       const struct maple_launch_order *order)
{
	const int fds[3] = { order->in, order->out, order->err };

	return maple_wire_send(socket, what, size, fds, 3) == (ssize_t)size;
}

/* Forks a guard that starts the program; -errno and a message, or 0. */
static int fork_guard(struct maple_launch *launch,
		      const struct maple_launch_order *order,
		      struct maple_error *err)
{
	int control[2], news[2], orders[2] = { -1, -1 };
	int e;

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
	/* Whoever reaps orphans meanwhile must not take it for one. */
	pthread_mutex_lock(&guarded_lock);
	launch->guard = fork();
	if (launch->guard == 0)
		maple_guard_run(order, control[0], news[1], orders[0]);
	e = errno;
	put_first(launch);
	pthread_mutex_unlock(&guarded_lock);
	close(control[0]);
	close(news[1]);
	if (order->stem)
		close(orders[0]);
	launch->control = control[1];
	launch->news = news[0];
	launch->orders = orders[1];
	if (launch->guard < 0) {
		launch->guard = 0;
		return maple_error_set(err, e, "cannot fork: %s", strerror(e));
	}
	return 0;
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
	struct maple_news first = { .kind = MAPLE_NEWS_ENDED };
	char again = MAPLE_SAY_AGAIN;
	bool rested;
	int e = 0;

	memset(launch, 0, sizeof(*launch));
	launch->control = launch->news = launch->orders = launch->call = -1;
	launch->spare = order->stem ? order->spare : NULL;
	launch->key = key_of(order, &launch->key_size);
	rested = launch->key && find_resting(launch);
	if (rested)
		send_files(launch->control, &again, 1, order);
	else
		e = fork_guard(launch, order, err);
	if (e) {
		end(launch);
		return e;
	}
	if (read_news(launch->news, &first, true) < 0 ||
	    first.kind != MAPLE_NEWS_STARTED) {
		end(launch);
		/* Killed while it rested: there are others. */
		if (rested && first.kind == MAPLE_NEWS_ENDED)
			return maple_launch_start(launch, order, err);
		e = first.kind <= MAPLE_NEWS_UNTRACED ? first.value : ECHILD;
		if (first.kind == MAPLE_NEWS_UNTRACED)
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
	assert(launch->guard > 0);
	strike_off(launch);
	while (waitpid(launch->guard, NULL, 0) < 0 && errno == EINTR)
		;
	launch->guard = 0;
	launch->orphaned = true;
	if (!launch->ended)
		launch->status = SIGKILL;
	launch->ended = launch->gone = launch->cleared = true;
}

static void take_in(struct maple_launch *launch, const struct maple_news *news)
{
	switch (news->kind) {
	case MAPLE_NEWS_STOPPED:
		launch->stopped = news->value;
		break;
	case MAPLE_NEWS_CALL:
		launch->call = news->value;
		break;
	case MAPLE_NEWS_CRASHED:
		launch->crashed = true;
		launch->crash = news->crash;
		break;
	case MAPLE_NEWS_CHILD:
		/* Of a run that has ended there may be others. */
		launch->left = news->left;
		if (news->pid != launch->pid)
			break;
		launch->ended = true;
		launch->status = news->value;
		launch->usage = news->usage;
		launch->at = news->at;
		break;
	case MAPLE_NEWS_CLEARED:
		launch->cleared = true;
		launch->left = false;
		break;
	default:
		assert(news->kind == MAPLE_NEWS_ENDED);
		launch->gone = true;
		if (launch->stem)
			break;
		launch->stopped = 0;
		launch->crashed = false;
		launch->ended = true;
		launch->status = news->value;
		launch->usage = news->usage;
		launch->at = news->at;
	}
}

/* Takes in what the guard has said meanwhile. */
static void look(struct maple_launch *launch)
{
	struct maple_news news;
	int got;

	while (launch->guard > 0 && (launch->stem || !launch->cleared) &&
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
		say(launch, MAPLE_SAY_GO);
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
		say(launch, MAPLE_SAY_LET_DIE);
	launch->crashed = false;
}

/*
 * maple_launch_left - after the end of a program that may linger: whether
 * something that it has started is still there
 */
bool maple_launch_left(struct maple_launch *launch)
{
	look(launch);
	return launch->stem ? launch->guard && launch->left : !launch->cleared;
}

static void clear(struct maple_launch *launch)
{
	struct pollfd pfd = { .fd = launch->news, .events = POLLIN };

	say(launch, MAPLE_SAY_CLEAR);
	while (!launch->cleared) {
		assert(launch->guard > 0); /* or nobody would ever say it */
		poll(&pfd, 1, -1);
		look(launch);
	}
}

/* maple_launch_finish - takes down what is left, waits until it is gone */
void maple_launch_finish(struct maple_launch *launch)
{
	if (launch->key) {
		look(launch);
		if (!launch->cleared)
			clear(launch);
		if (launch->guard > 0 && rest(launch))
			return;
	}
	end(launch);
}

/* maple_launch_dismiss - sends home the guards that rest */
void maple_launch_dismiss(void)
{
	struct maple_launch *l;

	do {
		pthread_mutex_lock(&guarded_lock);
		for (l = guarded; l && !l->resting; l = l->next)
			;
		if (l)
			l->resting = false;
		pthread_mutex_unlock(&guarded_lock);
		if (l)
			end(l);
		free(l);
	} while (l);
}

/*
 * maple_launch_ahead - starts the program for a run to come: its agent waits
 * for maple_launch_take() as soon as it is loaded
 * @said: file for what is written before that
 *
 * Returns as maple_launch_start() does.
 */
int maple_launch_ahead(struct maple_launch *launch,
		       const struct maple_launch_order *order, int said,
		       struct maple_error *err)
{
	struct maple_launch_order ahead = *order;
	int orders[2], e;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders))
		return maple_error_set(err, errno, "no socket: %m");
	ahead.in = orders[0];
	ahead.out = ahead.err = said;
	e = maple_launch_start(launch, &ahead, err);
	close(orders[0]);
	if (e)
		close(orders[1]);
	else
		launch->orders = orders[1];
	return e;
}

/*
 * maple_launch_take - what was started ahead, and has said that it is READY,
 * becomes the run of @order, of which the files count; false if it has died
 *
 * End it with maple_launch_finish() in either case.
 */
bool maple_launch_take(struct maple_launch *launch,
		       const struct maple_launch_order *order)
{
	struct maple_stem_order say = { order->own_group };
	bool taken;

	assert(launch->orders >= 0 && !launch->stem);
	look(launch);
	taken = !launch->ended &&
		send_files(launch->orders, &say, sizeof(say), order);
	close_orders(launch);
	return taken;
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
	struct maple_stem_order say = { order->own_group };
	int32_t pid;

	assert(launch->stem > 0 && launch->orders >= 0);
	assert(!launch->pid); /* the run before was cleared */
	launch->pid = 0;
	look(launch);
	launch->ended = launch->left = launch->cleared = false;
	memset(&launch->usage, 0, sizeof(launch->usage));
	launch->at = 0;
	if (launch->gone ||
	    !send_files(launch->orders, &say, sizeof(say), order) ||
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
	assert(launch->stem > 0);
	look(launch);
	if (!launch->ended || launch->left)
		clear(launch);
	launch->pid = 0;
	if (launch->orphaned)
		reap_orphans();
	launch->orphaned = false;
}
