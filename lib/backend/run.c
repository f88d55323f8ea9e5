// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One run, from start to end: the part that every backend shares. We sleep
 * most of the time, serve the backend a few hundred times a second, and judge
 * deadlock and hang.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../clock.h"
#include "backend.h"
#include "launch.h"
#include "process.h"
#include "stack.h"

#define STUCK_EVERY 0.2 /* seconds between two looks; stuck in both: dead */

struct watch {
	struct maple_launch launch;
	double began;
	double ended;  /* when the program did; 0 before */
	double looked; /* when stuckness was last looked at */
	bool stuck;
	bool released;
	uint64_t stamp;
};

/* Twice stuck and nothing has run in between. */
static bool deadlocked(struct watch *w, pid_t pid, double at)
{
	bool was = w->stuck;
	uint64_t stamp = w->stamp;

	if (!pid || at - w->looked < STUCK_EVERY)
		return false;
	w->looked = at;
	w->stuck = maple_process_stuck(pid, &w->stamp);
	return was && w->stuck && stamp == w->stamp;
}

/* Whether nothing of the run is left to watch. */
static bool over(struct maple_backend *b, struct watch *w,
		 const struct maple_run_order *order, double at)
{
	if (!maple_launch_ended(&w->launch))
		return false;
	if (!w->ended)
		w->ended = at;
	return order->kind == MAPLE_RUN_NATIVE ||
	       !maple_launch_left(&w->launch) ||
	       !b->ops->lingers(b, at - w->ended);
}

/* Short sleeps at first, when the agent has questions; longer ones later. */
static int nap(double elapsed)
{
	if (elapsed < 0.05)
		return 1;
	return elapsed < 1 ? 2 : 5;
}

/*
 * Over the limit: is it the program that hangs, or does our schedule starve a
 * thread that another one spins for? With native scheduling the latter ends.
 */
static bool hangs(struct maple_backend *b, struct watch *w,
		  const struct maple_run_order *order, double elapsed)
{
	if (order->timeout <= 0 || elapsed <= order->timeout)
		return false;
	if (order->kind == MAPLE_RUN_NATIVE)
		return true;
	b->ops->release(b);
	w->released = true;
	return elapsed > order->timeout + order->grace;
}

/* Before the stacks: to look at those wakes the threads for a moment. */
static void collect_waits(struct maple_run *run, pid_t pid)
{
	pid_t tids[MAPLE_THREADS];
	int i, n = maple_process_threads(pid, tids, MAPLE_THREADS);
	uint64_t futex;

	run->waits = calloc(n + 1, sizeof(*run->waits));
	for (i = 0; run->waits && i < n; i++)
		if (maple_process_wait(pid, tids[i], &futex) ==
		    MAPLE_WAIT_FOREVER)
			run->waits[run->nwaits++] =
				(struct maple_run_wait){ tids[i], futex };
}

static void collect_stacks(struct maple_run *run,
			   const struct maple_run_order *order, pid_t pid)
{
	if (!pid || !order->stacks || run->stacks)
		return;
	collect_waits(run, pid);
	maple_stack_collect(pid, &run->stacks, &run->nstacks, NULL);
}

static enum maple_end watch_over(struct maple_backend *b, struct watch *w,
				 const struct maple_run_order *order,
				 const struct maple_run_sink *sink,
				 struct maple_run *run)
{
	struct pollfd pfd = { .fd = w->launch.news, .events = POLLIN };
	double elapsed;
	pid_t pid;

	while (!over(b, w, order, maple_clock_now())) {
		elapsed = maple_clock_now() - w->began;
		pid = order->kind == MAPLE_RUN_NATIVE
			      ? (b->options.exe ? 0 : w->launch.pid)
			      : b->ops->serve(b, sink, run);
		if (hangs(b, w, order, elapsed)) {
			collect_stacks(run, order, pid ? pid : w->launch.pid);
			return MAPLE_END_HANG;
		}
		if (deadlocked(w, pid, maple_clock_now())) {
			collect_stacks(run, order, pid);
			return MAPLE_END_DEADLOCK;
		}
		if (sink->tick && !sink->tick(sink->ctx, w->launch.pid))
			return MAPLE_END_STOPPED;
		poll(&pfd, 1, nap(elapsed));
	}
	return MAPLE_END_ITSELF;
}

/*
 * maple_backend_run - carries out @order on the backend's program
 * @run: zeroed by us; free with maple_run_deinit()
 *
 * Returns 0 when the program was started, whatever became of it.
 */
int maple_backend_run(struct maple_backend *b,
		      const struct maple_run_order *order,
		      const struct maple_run_sink *sink, struct maple_run *run,
		      struct maple_error *err)
{
	bool native = order->kind == MAPLE_RUN_NATIVE;
	struct maple_launch_order start = {
		.path = b->options.program,
		.argv = b->options.argv,
		.envp = environ,
		.in = order->in,
		.out = order->out,
		.err = order->err,
		.own_group = order->own_group,
		.realtime = !native,
		.linger = !native,
		.cpus = &b->cpu.before,
	};
	struct watch w = { .began = maple_clock_now() };
	char **envp = NULL;
	int e;

	memset(run, 0, sizeof(*run));
	if (!native) {
		e = b->ops->prepare(b, order, &envp, err);
		if (e)
			return e;
		start.envp = envp;
	}
	b->order = order;
	w.began = w.looked = maple_clock_now();
	e = maple_launch_start(&w.launch, &start, err);
	if (!e) {
		run->end = watch_over(b, &w, order, sink, run);
		run->seconds = maple_clock_now() - w.began;
		run->released = w.released;
		maple_launch_finish(&w.launch);
		run->status = w.launch.status;
		run->cpu_seconds = w.launch.usage.ru_utime.tv_sec +
				   w.launch.usage.ru_stime.tv_sec +
				   (w.launch.usage.ru_utime.tv_usec +
				    w.launch.usage.ru_stime.tv_usec) *
					   1e-6;
	}
	if (native)
		run->delivered = true;
	else
		b->ops->finish(b, sink, run);
	b->order = NULL;
	free(envp);
	return e;
}

/* maple_run_deinit - frees what a run owns */
void maple_run_deinit(struct maple_run *run)
{
	maple_stack_destroy(run->stacks, run->nstacks);
	free(run->threads);
	free(run->waits);
	free(run->images);
	memset(run, 0, sizeof(*run));
}

/*
 * maple_backend_call - the number of the call site at @offset of the
 * registry's image @image, for a plan that was made in another campaign
 */
uint32_t maple_backend_call(struct maple_backend *b, uint32_t image,
			    uint64_t offset)
{
	return b->ops->call(b, image, offset);
}

/* maple_backend_destroy - frees the backend and gives back its CPU */
void maple_backend_destroy(struct maple_backend *b)
{
	if (b)
		b->ops->destroy(b);
}
