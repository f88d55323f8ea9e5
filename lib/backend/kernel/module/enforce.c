// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module backend: maple.ko enforces plans, and sets the priorities of
 * profile runs that eBPF observes. A session per run; it begins while the
 * program stands at its entry point and ends when the program is gone, or
 * with us.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/stack.h"
#include "control.h"
#include "backend/kernel/ebpf/events.h"
#include "backend/kernel/images.h"
#include "placing.h"

#define MARGIN \
	5.0 /* seconds after which the watchdog does what run.c did not */
#define MARGIN_JOINED 1.0   /* ... where others wait for the target */
#define DRAIN_MOST    65536 /* entries at a time, or nobody looks at the clock */
#define STARTS	      5	    /* of a session that goes before it stands */

static_assert((int)MAPLE_SCHEDULE_OLDER == MAPLE_UAPI_OLDER &&
		      (int)MAPLE_SCHEDULE_YOUNGER == MAPLE_UAPI_YOUNGER &&
		      (int)MAPLE_SCHEDULE_PCT == MAPLE_UAPI_PCT &&
		      (int)MAPLE_SCHEDULE_PCTLARGE == MAPLE_UAPI_PCTLARGE &&
		      (int)MAPLE_SCHEDULE_NATIVE == MAPLE_UAPI_NATIVE,
	      "one order, two names");

struct module_backend {
	struct maple_backend base;
	struct maple_control *control;
	const struct maple_run_order *order; /* from prepare() on */
	struct maple_placing placing;

	/* The run. */
	pid_t pid; /* 0: not attached */
	struct maple_kernel_images images;
	struct maple_kernel_events *calls; /* only numbers call sites */
	struct maple_control_status last;
	bool looked; /* a call came from where nothing was mapped: read again */
	bool crash_seen;
	bool gone; /* the session, in the midst of the run, with mapled */
	bool late; /* the session was over before its probes stood */
};

static struct module_backend *module_of(struct maple_backend *b)
{
	return (struct module_backend *)b;
}

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct module_backend *m = module_of(b);

	if (order->kind == MAPLE_RUN_SCHEDULE &&
	    order->schedule > MAPLE_SCHEDULE_PCTLARGE)
		return maple_error_set(err, ENOTSUP,
				       "nothing outside a program delays it: "
				       "choose --backend agent for this "
				       "strategy");
	maple_kernel_images_deinit(&m->images);
	free(m->last.threads);
	memset(&m->last, 0, sizeof(m->last));
	maple_kernel_events_start(m->calls);
	m->order = order;
	m->pid = 0;
	m->looked = m->crash_seen = m->gone = m->late = false;
	return 0;
}

static int read_images(struct module_backend *m, pid_t pid,
		       struct maple_error *err)
{
	int e = maple_kernel_images_read(&m->images, &m->base.options, pid, err);

	m->calls->registry = m->base.options.registry;
	m->calls->mappings = &m->images.mappings;
	return e;
}

/* ---- the session ---- */

static uint32_t deadline(const struct module_backend *m)
{
	const struct maple_run_order *order = m->order;
	double margin = m->base.options.joined ? MARGIN_JOINED : MARGIN;
	double ms = (order->timeout + order->grace + margin) * 1000;

	return order->timeout > 0 && ms < MAPLE_DEADLINE_MAX
		       ? (uint32_t)ms
		       : MAPLE_DEADLINE_MAX;
}

static int start_session(struct module_backend *m, pid_t pid,
			 struct maple_error *err)
{
	bool enforces = m->order->kind == MAPLE_RUN_ENFORCE;
	struct maple_control_order order = {
		.cpu = m->base.options.cpu->number,
		.sched = enforces ? MAPLE_UAPI_PLAN
				  : (uint32_t)m->order->schedule,
		.seed = m->order->seed,
		.changes = m->order->nchanges,
		.deadline_ms = deadline(m),
		.plan = enforces ? m->order->plan : NULL,
	};
	int e;

	order.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (order.pidfd < 0)
		return maple_error_set(err, errno, "process %d: %m", pid);
	e = maple_control_start(m->control, &order, err);
	close(order.pidfd);
	return e;
}

/*
 * A session of mapled's goes with it; the one that came back knows of none,
 * and nothing has been done yet: once more.
 */
static int attach(struct maple_backend *b, pid_t pid, struct maple_error *err)
{
	struct module_backend *m = module_of(b);
	int e, tries = STARTS;

	assert(m->order && !m->pid); /* a session a run */
	e = read_images(m, pid, err);
	if (e)
		return e;
	do {
		e = start_session(m, pid, err);
		m->pid = e ? 0 : pid;
		if (!e && m->order->kind == MAPLE_RUN_ENFORCE)
			e = maple_placing_put(&m->placing, &m->images,
					      m->order->plan, m->control, err);
	} while (e == -ENOTCONN && --tries);
	/* Its deadline has passed, or the target has got other rights. */
	m->late = e == -ESHUTDOWN;
	return m->late ? 0 : e;
}

/* ---- the log ---- */

/* An image may have been loaded since; it is looked for once a drain. */
static void look_again(struct module_backend *m)
{
	struct maple_error err;

	if (m->looked)
		return;
	m->looked = true;
	assert(m->pid); /* or there would be no log */
	if (!read_images(m, m->pid, &err))
		maple_kernel_events_start(m->calls);
}

static void hand_out(struct module_backend *m, const struct maple_run_sink *sink,
		     const struct maple_log_entry *entry)
{
	struct maple_event event = entry->event;

	if (event.thread >= MAPLE_THREADS)
		return;
	if (event.site == MAPLE_SITE_NONE && entry->caller) {
		if (!maple_mappings_find(&m->images.mappings, entry->caller))
			look_again(m);
		event.site = maple_kernel_call_site(m->calls, entry->caller);
	}
	if (sink->event)
		sink->event(sink->ctx, &event);
}

static void drain(struct module_backend *m, const struct maple_run_sink *sink,
		  uint64_t most)
{
	struct maple_log_entry entry[MAPLE_PER_MESSAGE];
	struct maple_error err;
	uint64_t done = 0;
	int i, n;

	m->looked = false;
	while (done < most) {
		n = maple_control_log(m->control, entry, &err);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			hand_out(m, sink, &entry[i]);
		done += n;
	}
}

/* ---- a run's course ---- */

static uint64_t return_of(struct maple_backend *b, uint64_t slot)
{
	struct maple_uapi_return returns[MAPLE_PER_MESSAGE];
	struct module_backend *m = module_of(b);
	struct maple_control_status *last = &m->last;
	uint32_t t;
	int i, n;

	for (t = 0; m->pid && t < last->nthreads; t++) {
		n = maple_control_returns(m->control, t, returns, NULL);
		for (i = 0; i < n; i++)
			if (returns[i].slot == slot)
				return returns[i].caller;
	}
	return 0;
}

static uint64_t find_return(void *ctx, uint64_t slot)
{
	return return_of(ctx, slot);
}

/* The module keeps the crashed program standing until we have looked. */
static void look_at_crash(struct module_backend *m, struct maple_run *run)
{
	const struct maple_stack_returns returns = { m, find_return };
	const struct maple_uapi_crash *crash = &m->last.crash;

	if (!m->last.crashed || m->crash_seen)
		return;
	assert(m->pid);
	m->crash_seen = true;
	run->signo = crash->signo;
	run->failed_tid = crash->tid;
	run->fault = crash->address;
	run->pc = crash->pc;
	if (!crash->standing && m->order->stacks)
		snprintf(run->no_stacks, sizeof(run->no_stacks),
			 "the crashed thread stood no longer when we came");
	if (!crash->standing)
		return;
	maple_run_stacks(run, m->order, m->pid, &returns);
	maple_control_resume(m->control, NULL);
}

/* The last word counts: a session does not come back. */
static void ask(struct module_backend *m, bool threads)
{
	struct maple_control_status now;
	int e = maple_control_status(m->control, threads, &now, NULL);

	m->gone |= e == -ENOTCONN;
	if (e)
		return;
	free(m->last.threads);
	m->last = now;
}

static pid_t serve(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct module_backend *m = module_of(b);

	if (!m->pid)
		return 0;
	drain(m, sink, DRAIN_MOST);
	ask(m, false);
	look_at_crash(m, run);
	return m->last.state == MAPLE_SESSION_CRASHED ||
			       m->last.state == MAPLE_SESSION_GONE ||
			       m->last.state == MAPLE_SESSION_BARRED
		       ? 0
		       : m->pid;
}

static bool done(struct maple_backend *b)
{
	struct module_backend *m = module_of(b);

	return m->order->kind == MAPLE_RUN_ENFORCE && m->last.result.exposed;
}

static void release(struct maple_backend *b)
{
	struct module_backend *m = module_of(b);

	if (m->pid)
		maple_control_release(m->control, NULL);
}

/* ---- what it came to ---- */

static void fill_threads(struct module_backend *m, struct maple_run *run)
{
	const struct maple_uapi_thread *t = m->last.threads;
	struct maple_run_thread *to;
	uint32_t i;

	run->threads = calloc(m->last.nthreads + 1, sizeof(*run->threads));
	for (i = 0; run->threads && i < m->last.nthreads; i++, t++) {
		to = &run->threads[i];
		memcpy(to->name, t->name, sizeof(to->name));
		to->name[sizeof(to->name) - 1] = '\0';
		to->tid = t->tid;
		to->pthread = t->pthread;
		to->at = t->at;
		run->nthreads = i + 1;
	}
}

/* Whether the run may count; says the cause and the mend if not. */
static void judge_delivery(struct module_backend *m, struct maple_run *run)
{
	const struct maple_counters *c = &m->last.counters;
	bool enforces = m->order->kind == MAPLE_RUN_ENFORCE;

	if (!m->pid)
		snprintf(run->why_not, sizeof(run->why_not),
			 "maple.ko was not attached to %s",
			 m->base.options.argv[0]);
	else if (m->gone)
		snprintf(run->why_not, sizeof(run->why_not),
			 "mapled went away in the midst of the run, and maple.ko's "
			 "session with it");
	else if (m->last.state == MAPLE_SESSION_BARRED)
		snprintf(run->why_not, sizeof(run->why_not),
			 "the program runs with other rights than at its "
			 "start: %.190s",
			 m->last.reason);
	else if (m->late)
		snprintf(run->why_not, sizeof(run->why_not),
			 "maple.ko's session was over before its probes stood: "
			 "the machine is very busy; --timeout gives more time");
	else if (!c->priorities && (enforces || m->order->schedule))
		snprintf(run->why_not, sizeof(run->why_not),
			 "maple.ko set no priority: %s ended before its first "
			 "instruction",
			 m->base.options.argv[0]);
	else if (m->last.state == MAPLE_SESSION_STARVED &&
		 !m->last.result.exposed)
		snprintf(run->why_not, sizeof(run->why_not),
			 "maple.ko gave up the schedule, which starved CPU %d: "
			 "is something else real-time there?",
			 m->base.options.cpu->number);
	else if (enforces && !c->hits && !c->calls)
		snprintf(run->why_not, sizeof(run->why_not),
			 "no access was enforced: no site of the plan was "
			 "reached");
	else
		run->delivered = true;
}

static void finish(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct module_backend *m = module_of(b);
	const struct maple_counters *c = &m->last.counters;

	if (m->pid) {
		drain(m, sink, UINT64_MAX);
		ask(m, true);
		/* One that was not there long enough to be looked at. */
		look_at_crash(m, run);
		maple_control_stop(m->control, NULL);
	}
	run->automaton = m->last.result;
	fill_threads(m, run);
	maple_kernel_images_fill(&m->images, run);
	run->hits[MAPLE_WAY_TRAP] = c->hits;
	run->calls = c->calls;
	run->lost = c->lost;
	run->threads_over = c->threads_over;
	run->unreached = c->unreached + m->placing.unreached;
	run->spins = c->spins;
	judge_delivery(m, run);
}

static void destroy(struct maple_backend *b)
{
	struct module_backend *m = module_of(b);

	maple_control_close(m->control);
	maple_placing_deinit(&m->placing);
	maple_kernel_images_deinit(&m->images);
	if (m->calls)
		maple_kernel_events_deinit(m->calls);
	free(m->calls);
	free(m->last.threads);
	free(m);
}

static const struct maple_backend_ops module_ops = {
	.name = "module",
	.keeps_crashed = true,
	.ends = true,
	.schedules = true,
	.prepare = prepare,
	.attach = attach,
	.serve = serve,
	.finish = finish,
	.return_of = return_of,
	.done = done,
	.release = release,
	.destroy = destroy,
};

/*
 * maple_backend_module_create - maple.ko, for the program in @options
 *
 * What @options points to must outlive the backend. Errors: -ENOENT when the
 * module is not there, -EPROTO when it is of another version.
 */
int maple_backend_module_create(const struct maple_backend_options *options,
				struct maple_backend **backend,
				struct maple_error *err)
{
	struct module_backend *m = calloc(1, sizeof(*m));
	struct maple_control_info info;
	int e;

	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	m->base.ops = &module_ops;
	m->base.options = *options;
	m->calls = calloc(1, sizeof(*m->calls));
	e = m->calls ? maple_control_open_by(options->host, &m->control, err)
		     : maple_error_set(err, ENOMEM, "out of memory");
	if (!e)
		e = maple_control_info(m->control, &info, err);
	if (e) {
		destroy(&m->base);
		return e;
	}
	*backend = &m->base;
	return 0;
}
