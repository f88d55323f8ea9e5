// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The eBPF backend: observes from outside, enforces nothing, and sets no
 * priorities (the half that enforces does, beside it). The program itself is
 * bpf/observe.bpf.c; it is loaded once per campaign, and attached anew to the
 * process of each run while that stands at its entry point.
 *
 * Change points lower the priority of a thread after the access that they
 * stand at has been told of here, so some accesses later than the order says:
 * from outside there is no better.
 */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/process.h"
#include "ebpf.h"

#define DRAIN_MOST 65536 /* records at a time */

static struct maple_ebpf *ebpf_of(struct maple_backend *b)
{
	return (struct maple_ebpf *)b;
}

/* Below all that have not met a change point, and those that met it before. */
static void lower(struct maple_ebpf *o, int tid)
{
	uint32_t n = o->base.order->nchanges, met = o->changed++;
	struct sched_param param = { .sched_priority = met < n ? n - met : 1 };

	/* A thread that has ended leaves its number to others. */
	if (tid <= 0 || o->released || !maple_process_has(o->pid, tid))
		return;
	if (o->base.order->schedule == MAPLE_SCHEDULE_PCT)
		sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK,
				   &param);
	else if (o->base.order->schedule == MAPLE_SCHEDULE_PCTLARGE)
		setpriority(PRIO_PROCESS, tid,
			    param.sched_priority >= 2 ? 18 : 19);
}

static void on_event(void *ctx, const struct maple_event *event)
{
	struct maple_ebpf *o = ctx;
	const struct maple_run_order *order = o->base.order;

	for (uint32_t i = 0; order && i < order->nchanges; i++)
		if (event->site == order->change[i].site &&
		    maple_event_is_access(event->kind) &&
		    ++o->hit[i] == order->change[i].hit)
			lower(o, o->events.thread[event->thread].tid);
	if (o->sink.event)
		o->sink.event(o->sink.ctx, event);
}

static const struct maple_run_sink *watched(struct maple_ebpf *o,
					    const struct maple_run_sink *sink)
{
	o->sink = *sink;
	o->watch = (struct maple_run_sink){ .ctx = o, .event = on_event };
	return &o->watch;
}

static void on_record(void *ctx, const struct maple_observe_record *record)
{
	struct maple_ebpf *o = ctx;

	maple_kernel_events_take(&o->events, record);
}

/* While the target runs it may record as fast as we read. */
static void drain(struct maple_ebpf *o, const struct maple_run_sink *sink,
		  unsigned int most)
{
	int e;

	o->events.sink = watched(o, sink);
	e = maple_probing_read(&o->observer, most, on_record, o);
	o->lost = o->lost ? o->lost : e;
}

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);

	assert(order->nchanges <= MAPLE_RUN_CHANGES && !o->nplaced);
	o->pid = 0;
	o->released = o->limited = false;
	o->lost = 0;
	o->changed = 0;
	memset(o->hit, 0, sizeof(o->hit));
	return 0;
}

/* The order of this run, and of what the process is made. */
static void reset(struct maple_ebpf *o)
{
	const struct maple_run_order *order = o->base.order;
	struct maple_probing_hearing *h = &o->hearing;
	const struct maple_mapped *image = o->mappings.image;

	assert(!o->nplaced); /* its runtimes are not known twice */
	*h = (struct maple_probing_hearing){
		.budget = order->budget,
		.joined = o->base.options.joined != NULL,
		.is_static = o->mappings.is_static,
	};
	for (unsigned int i = 0; i < o->mappings.n; i++)
		if (image[i].is_runtime && h->runtimes < MAPLE_OBSERVE_RUNTIMES)
			h->runtime[h->runtimes++] =
				(struct maple_observe_range){ image[i].lo,
							      image[i].hi };
	o->events.registry = o->base.options.registry;
	o->events.mappings = &o->mappings;
	o->events.probe = o->observer.probe;
	/* Of what runs on all CPUs no more is claimed than is certain. */
	o->events.pinned = o->base.options.joined ||
			   !maple_schedule_is_free(order->schedule);
	maple_kernel_events_start(&o->events);
}

/* The observer's service may have been started again since the last run. */
static int take_up(struct maple_ebpf *o, pid_t pid, struct maple_error *err)
{
	const struct maple_joined *joined = o->base.options.joined;
	int fd = joined ? joined->pidfd : (int)syscall(SYS_pidfd_open, pid, 0);
	int e;

	if (fd < 0)
		return maple_error_set(err, errno, "no pidfd of %d: %m", pid);
	e = maple_probing_target(&o->observer, pid, fd, err);
	if (e == -ECONNRESET) {
		maple_probing_close(&o->observer);
		e = maple_probing_open(&o->observer, o->base.options.observer,
				       err);
		if (!e)
			e = maple_probing_target(&o->observer, pid, fd, err);
	}
	if (!joined)
		close(fd);
	return e;
}

/* All probes are in place. */
static int listen(struct maple_ebpf *o, struct maple_error *err)
{
	if (o->base.options.joined) {
		o->events.before = o->before;
		o->events.nbefore =
			maple_process_threads(o->pid, o->before, MAPLE_THREADS);
	}
	return maple_probing_hear(&o->observer, &o->hearing, err);
}

static int attach(struct maple_backend *b, pid_t pid, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);
	int e;

	assert(!o->pid); /* it is heard in one process at a time */
	maple_mappings_deinit(&o->mappings);
	e = maple_mappings_read(pid, &o->mappings, err);
	if (!e)
		e = take_up(o, pid, err);
	if (!e)
		reset(o);
	o->pid = pid;
	if (!e)
		e = maple_ebpf_place(o, err);
	if (!e)
		e = listen(o, err);
	if (!e && maple_ebpf_keep(o))
		e = maple_error_set(err, EAGAIN, "no thread to keep probes");
	if (e)
		maple_ebpf_unplace(o);
	return e;
}

/*
 * A library was loaded: it is observed from now on. The target runs on
 * meanwhile, so what its constructors do is missed.
 */
static void look_for_images(struct maple_ebpf *o)
{
	struct maple_mappings now;
	struct maple_error err;

	/* While the keeper is at work there will be another time. */
	if (!o->events.loaded || (o->kept && pthread_mutex_trylock(&o->lock)))
		return;
	o->events.loaded = false;
	if (maple_mappings_read(o->pid, &now, &err)) {
		maple_mappings_deinit(&now);
	} else {
		now.is_static = o->mappings.is_static;
		maple_mappings_deinit(&o->mappings);
		o->mappings = now;
		maple_kernel_events_moved(&o->events);
		if (maple_ebpf_place(o, &err))
			o->base.options.notice(o->base.options.ctx, err.text);
	}
	if (o->kept)
		pthread_mutex_unlock(&o->lock);
}

static pid_t serve(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_ebpf *o = ebpf_of(b);

	if (!o->pid)
		return 0;
	drain(o, sink, DRAIN_MOST);
	if (o->events.renewed)
		maple_ebpf_renew(o);
	o->events.renewed = false;
	look_for_images(o);
	return o->pid;
}

static uint64_t return_of(struct maple_backend *b, uint64_t slot)
{
	struct maple_ebpf *o = ebpf_of(b);

	return o->pid ? maple_probing_return(&o->observer, slot) : 0;
}

static void fill_threads(struct maple_ebpf *o, struct maple_run *run)
{
	const struct maple_kernel_thread *t = o->events.thread;
	uint32_t n = o->events.nthreads;

	run->threads = calloc(n + 1, sizeof(*run->threads));
	for (uint32_t i = 0; run->threads && i < n; i++) {
		memcpy(run->threads[i].name, t[i].name, sizeof(t[i].name));
		run->threads[i].tid = t[i].tid;
		run->threads[i].pthread = t[i].pthread;
		run->nthreads = i + 1;
	}
}

static void fill_images(struct maple_ebpf *o, struct maple_run *run)
{
	const struct maple_placed *p;
	struct maple_run_image *out;

	run->images = calloc(o->nplaced + 1, sizeof(*run->images));
	for (unsigned int i = 0; run->images && i < o->nplaced; i++) {
		p = &o->placed[i];
		if (p->index == MAPLE_REGISTRY_NONE)
			continue;
		out = &run->images[run->nimages++];
		out->index = p->index;
		out->is_main = p->mapped.is_main;
		out->bias = p->mapped.bias;
		out->lo = p->mapped.lo;
		out->hi = p->mapped.hi;
	}
}

/* Whether the run may count; says the cause and the mend if not. */
static void judge_delivery(struct maple_ebpf *o, struct maple_run *run)
{
	const struct maple_observe_session *s = &o->observer.state.session;

	if (!o->pid)
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s did not come as far as its entry point",
			 o->base.options.argv[0]);
	else if (o->lost)
		snprintf(run->why_not, sizeof(run->why_not),
			 "the observer's service ended during the run: "
			 "journalctl -u mapled-observer");
	else if (!s->hits && (!s->calls || o->apart))
		snprintf(run->why_not, sizeof(run->why_not),
			 "no access was observed: no site of the program was "
			 "reached%s",
			 o->apart ? "; --sites all has probes at more of them"
				  : "");
	else
		run->delivered = true;
}

static void finish(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_ebpf *o = ebpf_of(b);
	const struct maple_observe_session *s = &o->observer.state.session;
	struct maple_probed sum = { .unreached = o->functions.unreached };
	int e;

	if (o->base.options.joined)
		maple_probing_deaf(&o->observer);
	maple_ebpf_end_keeping(o);
	drain(o, sink, ~0u);
	e = maple_probing_state(&o->observer);
	o->lost = o->lost ? o->lost : e;
	maple_kernel_events_end(&o->events);
	if (o->pid) {
		fill_threads(o, run);
		fill_images(o, run);
	}
	for (unsigned int i = 0; i < o->nplaced; i++)
		maple_ebpf_sites_sum(&o->placed[i], &sum);
	run->sites = sum.places;
	run->unreached = o->unfit + sum.refused + sum.unreached;
	run->apart = o->apart;
	run->hits[MAPLE_WAY_TRAP] = s->hits;
	run->calls = s->calls;
	run->lost = s->lost;
	run->threads_over = s->threads_over;
	judge_delivery(o, run);
	maple_ebpf_unplace(o);
	o->pid = 0;
	maple_probing_forget(&o->observer);
}

static bool ended(struct maple_backend *b, int *status)
{
	struct maple_ebpf *o = ebpf_of(b);

	if (!o->base.options.joined || maple_probing_state(&o->observer) ||
	    !o->observer.state.end.seen)
		return false;
	*status = o->observer.state.end.status;
	return true;
}

static void release(struct maple_backend *b)
{
	ebpf_of(b)->released = true;
}

static void destroy(struct maple_backend *b)
{
	struct maple_ebpf *o = ebpf_of(b);

	maple_ebpf_unplace(o);
	maple_mappings_deinit(&o->mappings);
	maple_kernel_events_deinit(&o->events);
	maple_probing_close(&o->observer);
	free(o);
}

static const struct maple_backend_ops ebpf_ops = {
	.name = "ebpf",
	.prepare = prepare,
	.attach = attach,
	.serve = serve,
	.finish = finish,
	.return_of = return_of,
	.ended = ended,
	.release = release,
	.destroy = destroy,
};

/*
 * maple_backend_ebpf_create - a backend that observes the program in @options
 *
 * What @options points to must outlive the backend.
 */
int maple_backend_ebpf_create(const struct maple_backend_options *options,
			      struct maple_backend **backend,
			      struct maple_error *err)
{
	struct maple_ebpf *o = calloc(1, sizeof(*o));
	int e;

	if (!o)
		return maple_error_set(err, ENOMEM, "out of memory");
	o->base.ops = &ebpf_ops;
	o->base.options = *options;
	e = maple_probing_open(&o->observer, options->observer, err);
	if (e) {
		destroy(&o->base);
		return e;
	}
	*backend = &o->base;
	return 0;
}
