// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One run, from start to end: the part that every backend shares. We sleep
 * most of the time, serve the backend a few hundred times a second, and judge
 * deadlock and hang.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "../host/host.h"
#include "backend.h"
#include "backend/guard/debugger.h"
#include "halves.h"
#include "backend/guard/launch.h"
#include "process.h"
#include "stack.h"
#include "wakers.h"

#define STUCK_EVERY 0.2 /* seconds between two looks; stuck in both: dead */
/* The same of a controlled run, where whoever can go on does so at once. */
#define PARKED_EVERY  0.005
#define SLOW_TIMES    10   /* the time limit, while a slow observer is busy */
#define LEAST_CPU     0.25 /* of the limit: whoever wants more must have it */
#define STARVED_TIMES 3	   /* the time limit, for whoever has not had that */
#define AFTERMATH     0.5 /* seconds in which a forced order shows what it does */
#define HELD_MS	      20     /* between two looks at what a debugger holds */
#define LOOK_NS	      300000 /* ... of a sink that asks for the next one soon */

struct watch {
	struct maple_launch own, *launch;  /* the latter may be a stem's */
	const struct maple_joined *joined; /* instead of launch; or NULL */
	struct maple_halves halves;
	bool stops;	 /* some half is to be attached, */
	bool attached;	 /* ... and was */
	pid_t program;	 /* of a native run, where it is known, */
	const char *exe; /* ... else to be found by this; or NULL */
	double began;
	double served; /* when the halves were last asked */
	double ended;  /* when the program did; 0 before */
	double looked; /* when stuckness was last looked at */
	double heard;  /* when the last event from outside came */
	double done;   /* when the order was carried out; 0: not yet */
	bool stuck;
	bool released;
	uint64_t stamp;
	const struct maple_run_sink *sink; /* the caller's */
	struct maple_debugger debugger;
};

/* Locks that are held in a ring stay so; else somebody may come and help. */
static bool may_be_woken(const struct watch *w, pid_t pid, bool outsiders)
{
	struct maple_wakers wakers = { .outsiders = outsiders };
	uint64_t stamp;

	if (maple_process_cycle(pid, &stamp))
		return false;
	if (w->launch) {
		wakers.root = w->launch->guard;
		wakers.spares[0] = w->launch->stem;
		if (w->launch->spare)
			wakers.spares[1] = __atomic_load_n(w->launch->spare,
							   __ATOMIC_ACQUIRE);
	}
	return maple_wakers_exist(&wakers, pid);
}

/* Of a server, some threads always wait for the world outside. */
static bool stuck(struct watch *w, pid_t pid, bool server)
{
	return pid && (maple_process_stuck(pid, &w->stamp) ||
		       (server && maple_process_cycle(pid, &w->stamp)));
}

/*
 * Twice stuck, nothing has run in between, and nobody can help: nor has who
 * could, and has ended since.
 */
static bool deadlocked(struct watch *w, pid_t pid, double at,
		       const struct maple_run_order *order, bool server)
{
	double every = order->kind == MAPLE_RUN_CONTROL ? PARKED_EVERY
							: STUCK_EVERY;
	bool was = w->stuck;
	uint64_t stamp = w->stamp;

	if (at - w->looked < every)
		return false;
	w->looked = at;
	if (w->exe)
		w->program = maple_process_find(w->launch->guard, w->exe);
	w->stuck = stuck(w, pid, server);
	return was && w->stuck && stamp == w->stamp &&
	       !may_be_woken(w, pid, order->outsiders) &&
	       stuck(w, pid, server) && stamp == w->stamp;
}

static bool has_ended(const struct maple_joined *joined)
{
	struct pollfd pfd = { .fd = joined->pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* Whether nothing of the run is left to watch. */
static bool over(struct watch *w, double at)
{
	if (w->joined)
		return has_ended(w->joined);
	if (!maple_launch_ended(w->launch))
		return false;
	if (!w->ended)
		w->ended = at;
	return !maple_launch_left(w->launch) ||
	       !maple_halves_linger(&w->halves, at - w->ended);
}

/* Short sleeps at first, when the agent has questions; longer ones later. */
static int nap(double elapsed)
{
	if (elapsed < 0.05)
		return 1;
	return elapsed < 1 ? 2 : 5;
}

/* Until there is @news; not for long where only our next look can tell. */
static void rest(struct pollfd news[2], int ms, bool short_of_news)
{
	const struct timespec t = { 0, short_of_news ? LOOK_NS : ms * 1000000L };

	ppoll(news, 2, &t, NULL);
}

/* Whether a joined process has been observed, or forced, for long enough. */
static bool leaves(struct watch *w, const struct maple_run_order *order,
		   double at)
{
	struct maple_backend *b = w->halves.half[0];

	assert(w->joined); /* another one has its limit, exceeds() */
	if (!w->done && b->ops->done && b->ops->done(b))
		w->done = at;
	return at - w->began > order->timeout ||
	       (w->done && at - w->done > AFTERMATH);
}

/* Whether @pid wants a CPU, and has hardly had one: others have. */
static bool starves(const struct maple_run_order *order, pid_t pid)
{
	return pid && maple_process_wants_cpu(pid) &&
	       maple_process_used(pid) * 1e-9 < LEAST_CPU * order->timeout;
}

/*
 * Whether the schedule has had its time. Only in a controlled run nobody waits:
 * elsewhere what it takes is the time of the CPU.
 */
static bool is_held_long(const struct maple_run_order *order, pid_t pid,
			 double elapsed)
{
	if (order->hold <= 0 || elapsed <= order->hold)
		return false;
	return order->kind == MAPLE_RUN_CONTROL ||
	       maple_process_used(pid) * 1e-9 > order->hold;
}

/*
 * Over the limit: is it the program that hangs, or does our schedule starve a
 * thread that another one spins for? With native scheduling the latter ends.
 * Or is it we who are slow: whoever observes from outside may take thousands
 * of times as long as the access itself. While he still has something to
 * tell, that is no hang of the program's. Or did nobody give it a CPU? Then it
 * gets more time, and if that is of no use, no verdict.
 */
static bool exceeds(struct watch *w, const struct maple_run_order *order,
		    pid_t pid, double at, enum maple_end *end)
{
	double elapsed = at - w->began;

	if (order->timeout <= 0 ||
	    (elapsed <= order->timeout && !is_held_long(order, pid, elapsed)))
		return false;
	*end = MAPLE_END_HANG;
	if (w->halves.half[0]) {
		maple_halves_release(&w->halves);
		w->released = true;
		if (w->heard && at - w->heard < order->timeout) {
			*end = MAPLE_END_SLOW;
			return elapsed > SLOW_TIMES * order->timeout;
		}
		if (elapsed <= order->timeout + order->grace)
			return false;
	}
	if (!starves(order, pid))
		return true;
	*end = MAPLE_END_STARVED;
	return elapsed > STARVED_TIMES * order->timeout + order->grace;
}

/* What would end the run, its debugger is called for. */
static void call_debugger(struct watch *w, const struct maple_run_order *order,
			  pid_t pid, double at)
{
	char why[64];

	assert(w->debugger.pid);
	/* Let go of, nobody would take the signal away from it. */
	if (!pid || w->debugger.held || !maple_process_tracer(pid))
		return;
	if (deadlocked(w, pid, at, order, false)) {
		maple_debugger_call(&w->debugger, order->debugger,
				    "deadlock: every thread waits for another");
		w->stuck = false;
		w->looked = at + STUCK_EVERY;
	} else if (order->timeout > 0 && at - w->began > order->timeout) {
		snprintf(why, sizeof(why), "the program has run for %.1f s",
			 at - w->began);
		maple_debugger_call(&w->debugger, order->debugger, why);
		w->began = at;
	}
}

static void hear(void *ctx, const struct maple_event *event)
{
	struct watch *w = ctx;

	w->heard = w->served;
	if (w->sink->event)
		w->sink->event(w->sink->ctx, event);
}

static void collect_stacks(struct watch *w, struct maple_run *run,
			   const struct maple_run_order *order, pid_t pid)
{
	const struct maple_stack_returns returns =
		maple_halves_returns(&w->halves);

	if (!pid || !order->stacks || run->stacks)
		return;
	/* First: to look at the stacks wakes the threads for a moment. */
	maple_run_waits(run, pid);
	maple_run_stacks(run, order, pid, &returns);
}

/*
 * maple_backend_errno - what went wrong is the backend's: not to be taken for
 * a program that is not there or cannot be run
 */
int maple_backend_errno(int e)
{
	switch (e) {
	case -ENOENT:
	case -ENOEXEC:
		return -ENOTSUP;
	case -EACCES:
		return -EPERM;
	}
	return e;
}

/* It stands at its entry: everything in place, and off it goes. */
static int attach(struct watch *w, struct maple_error *err)
{
	pid_t pid = w->joined ? w->joined->pid
			      : maple_launch_stopped(w->launch);
	int e;

	if (!pid)
		return 0;
	assert(w->stops && !w->attached);
	e = maple_halves_attach(&w->halves, pid, err);
	w->attached = true;
	/* What all this took is not the program's. */
	w->began = w->looked = maple_clock_now();
	if (!e && !w->joined)
		maple_launch_go(w->launch);
	return maple_backend_errno(e);
}

/* Where no half does, the guard keeps the crashed program standing. */
static void look_at_crash(struct watch *w, const struct maple_run_order *order,
			  struct maple_run *run)
{
	const struct maple_stack_returns returns =
		maple_halves_returns(&w->halves);
	struct maple_crash crash;

	if (!w->stops || w->joined || !maple_launch_crashed(w->launch, &crash))
		return;
	run->signo = crash.signo;
	run->failed_tid = crash.tid;
	run->fault = crash.address;
	run->pc = crash.pc;
	maple_run_stacks(run, order, crash.pid, &returns);
	maple_launch_let_die(w->launch);
}

static pid_t serve(struct watch *w, const struct maple_run_order *order,
		   const struct maple_run_sink *sink, struct maple_run *run)
{
	const struct maple_run_sink heard = { .ctx = w, .event = hear };
	struct maple_backend *b = w->halves.half[0];
	bool outside = order->kind == MAPLE_RUN_PROFILE && b && b->ops->attach;

	if (!b)
		return w->program;
	w->sink = sink;
	return maple_halves_serve(&w->halves, outside ? &heard : sink, run);
}

static int watch_over(struct watch *w, const struct maple_run_order *order,
		      const struct maple_run_sink *sink, struct maple_run *run,
		      struct maple_error *err)
{
	struct pollfd news[2] = {
		{ w->joined ? w->joined->pidfd : w->launch->news, POLLIN, 0 },
		{ -1, POLLIN, 0 },
	};
	double at;
	pid_t pid;
	int e;

	assert(w->joined || w->launch->guard > 0 || w->launch->gone);
	run->end = MAPLE_END_ITSELF;
	while (!over(w, maple_clock_now())) {
		e = w->stops && !w->attached ? attach(w, err) : 0;
		if (e)
			return e;
		at = w->served = maple_clock_now();
		pid = serve(w, order, sink, run);
		look_at_crash(w, order, run);
		e = order->debugger ? maple_debugger_look(&w->debugger,
							  w->halves.half[0],
							  &w->began, err)
				    : 0;
		if (e)
			return e;
		if (w->debugger.pid) {
			call_debugger(w, order, pid, at);
		} else if (w->joined) {
			if (leaves(w, order, at)) {
				run->end = MAPLE_END_LEFT;
				break;
			}
		} else if (exceeds(w, order, pid ? pid : w->launch->pid, at,
				   &run->end)) {
			collect_stacks(w, run, order,
				       pid ? pid : w->launch->pid);
			break;
		}
		run->end = MAPLE_END_ITSELF;
		if (!w->debugger.pid &&
		    deadlocked(w, pid, maple_clock_now(), order,
			       w->joined || sink->enough)) {
			collect_stacks(w, run, order, pid);
			run->end = MAPLE_END_DEADLOCK;
			break;
		}
		if (sink->tick && !sink->tick(sink->ctx, w->launch->pid)) {
			run->end = MAPLE_END_STOPPED;
			break;
		}
		if (sink->enough &&
		    sink->enough(sink->ctx, w->launch->pid, &news[1].fd)) {
			run->end = MAPLE_END_ENOUGH;
			break;
		}
		rest(news,
		     w->debugger.held ? HELD_MS
		     : sink->enough   ? 1
				      : nap(at - w->began),
		     news[1].fd == MAPLE_RUN_SOON);
	}
	return 0;
}

/* A run that needs not be executed, but forked; else NULL. */
static struct maple_launch *branch_off(struct watch *w,
				       const struct maple_launch_order *order)
{
	struct maple_backend *b = w->halves.half[0];

	return b->ops->fork && !w->halves.half[1] ? b->ops->fork(b, order)
						  : NULL;
}

/* Nothing of the run is left after that. */
static void end(struct watch *w)
{
	assert(!w->joined); /* which nothing of ours takes down */
	if (w->launch->stem)
		maple_launch_clear(w->launch);
	else
		maple_launch_finish(w->launch);
}

static cpu_set_t only(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

static int start(struct watch *w, const struct maple_backend *b, char **envp,
		 const struct maple_run_order *order, struct maple_error *err)
{
	const cpu_set_t one = only(b->options.cpu->number);
	bool native = !w->halves.half[0], kept = false;
	struct maple_launch_order start = {
		.path = b->options.program,
		.argv = b->options.argv,
		.envp = envp ? envp : environ,
		.in = order->in,
		.out = order->out,
		.err = order->err,
		.own_group = order->own_group,
		.realtime = !native,
		.linger = !native,
		.cpus = order->narrow ? &one : &b->options.cpu->before,
		.exe = b->options.exe,
		.ask_call = order->ask_call,
		.cpu = maple_schedule_is_free(order->schedule) &&
				       order->kind != MAPLE_RUN_ENFORCE &&
				       order->kind != MAPLE_RUN_CONTROL
			       ? -1
			       : b->options.cpu->number,
	};
	unsigned int i;
	int e;

	for (i = 0; i < 2 && w->halves.half[i]; i++) {
		w->stops |= w->halves.half[i]->ops->attach != NULL;
		kept |= w->halves.half[i]->ops->keeps_crashed;
	}
	w->joined = b->options.joined;
	if (w->joined) {
		assert(w->stops);
		w->launch = &w->own;
		w->began = w->looked = maple_clock_now();
		return 0;
	}
	start.stop_at_entry = w->stops;
	start.keep_crashed = w->stops && !kept;
	w->launch = native || order->ask_call || order->narrow
			    ? NULL
			    : branch_off(w, &start);
	w->began = w->looked = maple_clock_now();
	if (w->launch) {
		e = 0;
	} else {
		w->launch = &w->own;
		e = maple_launch_start(w->launch, &start, err);
	}
	if (!b->options.exe)
		w->program = w->launch->pid;
	else if (native)
		w->exe = b->options.exe;
	if (!e && b->options.host) {
		const pid_t ours[] = { w->launch->guard, w->launch->pid };

		e = maple_host_target(b->options.host, ours, 2, err);
		if (e)
			end(w);
	}
	return e;
}

/* What is true of the run whoever watched it. */
static void conclude(struct watch *w, struct maple_run *run)
{
	const struct rusage *usage = &w->launch->usage;

	assert(!w->debugger.pid); /* it has ended before */
	run->seconds = maple_clock_now() - w->began;
	/* When we noticed is later, after whatever was left to be read. */
	run->ended = w->launch->at > w->began ? w->launch->at
		     : w->ended		      ? w->ended
					      : w->began + run->seconds;
	run->entered = w->attached ? w->began : 0;
	run->released = w->released;
	if (w->joined)
		return;
	end(w);
	run->status = w->launch->status;
	run->call = w->launch->call;
	run->cpu_seconds =
		usage->ru_utime.tv_sec + usage->ru_stime.tv_sec +
		(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

/* Whether the automaton has found one of its plans' states unsound. */
static bool is_broken(const struct maple_run *run)
{
	uint32_t broken = run->automaton.broken;

	for (unsigned int i = 0; i < MAPLE_RUN_THEN; i++)
		broken |= run->then[i].broken;
	return broken != 0;
}

/* What came of it, and whether it counts. */
static void finish(struct watch *w, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_backend *b = w->halves.half[0];

	assert(!run->delivered); /* nobody has said so yet */
	/* Without an agent in it nobody knows who sent what. */
	run->outside = !w->joined && run->end == MAPLE_END_ITSELF &&
		       (b ? maple_run_sent(run->status) == SIGKILL
			  : maple_run_sent(run->status) != 0);
	if (!b) {
		run->delivered = true;
		return;
	}
	maple_halves_finish(&w->halves, sink, run);
	if (is_broken(run)) {
		run->delivered = false;
		snprintf(run->why_not, sizeof(run->why_not),
			 "the automaton has contradicted itself, and let all "
			 "threads go: a bug of maple's; please report the "
			 "command");
	}
	if (run->end == MAPLE_END_SLOW) {
		run->delivered = false;
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s takes more than %.0f s when %s observes it: raise "
			 "--timeout, leave images out with --exclude, or take "
			 "--backend agent",
			 b->options.argv[0], run->seconds, b->ops->name);
	}
	if (!w->stops || w->attached)
		return;
	run->delivered = false;
	if (b->options.exe)
		snprintf(run->why_not, sizeof(run->why_not),
			 "no program that matches --exe %s was started",
			 b->options.exe);
	else
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s ended before its entry point: its libraries could "
			 "not be loaded",
			 b->options.argv[0]);
}

/* Why @b cannot carry out @order, which is a controlled run's. */
static int control_refused(const struct maple_backend *b,
			   const struct maple_run_order *order,
			   struct maple_error *err)
{
	const struct maple_run_control *control = order->control;

	if (!b->ops->controls)
		return maple_error_set(err, ENOTSUP,
				       "%s carries out no controlled runs: they "
				       "need --backend agent",
				       b->ops->name);
	if (b->options.cpu->shared)
		return maple_error_set(
			err, EBUSY,
			"no controlled runs on a CPU that another "
			"campaign has as well: its threads stall "
			"ours");
	if (!control || control->order.policy >= MAPLE_POLICIES ||
	    !maple_policy_is_base(control->order.policy, control->order.base) ||
	    !maple_policy_is_behind(control->order.behind) ||
	    control->order.nchanges > MAPLE_POLICY_CHANGES ||
	    control->nlist > MAPLE_POLICY_ENTRIES ||
	    control->nnames > MAPLE_THREADS)
		return maple_error_set(err, EINVAL,
				       "the schedule of a controlled run is not "
				       "well-formed");
	return 0;
}

/* @e: why the run had to end, or 0; returns the same, or the debugger's reason. */
static int end_debugger(struct watch *w, const struct maple_run_order *order,
			const struct maple_run_sink *sink,
			const struct maple_run *run, int e,
			struct maple_error *err)
{
	struct maple_error ours;
	bool now = e || run->end != MAPLE_END_ITSELF;
	int end = maple_debugger_end(&w->debugger, order->debugger, sink, now,
				     e ? &ours : err);

	return e ? e : end;
}

/*
 * maple_backend_run - carries out @order on the backend's program
 * @beside: sets the priorities of a profile run that @b only observes; or
 *          NULL
 * @run: zeroed by us; free with maple_run_deinit()
 *
 * Returns 0 when the program was started and, where that is needed, attached
 * to, whatever became of it.
 */
int maple_backend_run(struct maple_backend *b, struct maple_backend *beside,
		      const struct maple_run_order *order,
		      const struct maple_run_sink *sink, struct maple_run *run,
		      struct maple_error *err)
{
	bool native = order->kind == MAPLE_RUN_NATIVE;
	struct watch w = { .halves.half = { native ? NULL : b,
					    native ? NULL : beside } };
	char **envp = NULL;
	int e;

	assert(!beside || (beside != b && order->kind == MAPLE_RUN_PROFILE));
	assert(order->kind != MAPLE_RUN_ENFORCE || order->plan);
	assert(order->nthen <= MAPLE_RUN_THEN &&
	       order->nchanges <= MAPLE_RUN_CHANGES);
	memset(run, 0, sizeof(*run));
	e = order->kind == MAPLE_RUN_CONTROL ? control_refused(b, order, err)
					     : 0;
	if (e)
		return e;
	e = maple_halves_prepare(&w.halves, order, &envp, err);
	if (!e) {
		e = start(&w, b, envp, order, err);
		if (!e) {
			e = watch_over(&w, order, sink, run, err);
			e = end_debugger(&w, order, sink, run, e, err);
			conclude(&w, run);
		}
		finish(&w, sink, run);
		/* Nobody is left without a reason. */
		assert(run->delivered || *run->why_not);
	}
	assert(!b->order && (!beside || !beside->order));
	free(envp);
	return e;
}

/* maple_backend_destroy - frees the backend */
void maple_backend_destroy(struct maple_backend *b)
{
	if (b)
		b->ops->destroy(b);
}
