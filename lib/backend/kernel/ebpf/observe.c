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
#include <sys/stat.h>
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

static int on_record(void *ctx, void *data, size_t size)
{
	struct maple_ebpf *o = ctx;

	assert(o->left);
	if (size < sizeof(struct maple_observe_record))
		o->events.bad++;
	else
		maple_kernel_events_take(&o->events, data);
	/* While the target runs it may record as fast as we read. */
	return --o->left ? 0 : -EAGAIN;
}

static void drain(struct maple_ebpf *o, const struct maple_run_sink *sink,
		  unsigned int most)
{
	o->events.sink = watched(o, sink);
	o->left = most;
	maple_bpf_read(&o->observer);
}

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);

	assert(order->nchanges <= MAPLE_RUN_CHANGES && !o->nplaced);
	o->pid = 0;
	o->released = o->limited = false;
	o->changed = 0;
	memset(o->hit, 0, sizeof(o->hit));
	return 0;
}

/* What the last run left behind, and the order of this one. */
static int reset(struct maple_ebpf *o, pid_t pid, struct maple_error *err)
{
	const struct maple_run_order *order = o->base.order;
	struct maple_observe_session *s = o->observer.session;
	uint32_t i;
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return maple_error_set(err, errno, "/proc/self/ns/pid: %m");
	maple_bpf_forget(&o->observer);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->budget = order->budget;
	s->joined = o->base.options.joined != NULL;
	s->is_static = o->mappings.is_static;
	for (i = 0; i < o->mappings.n; i++)
		if (o->mappings.image[i].is_runtime &&
		    s->runtimes < MAPLE_OBSERVE_RUNTIMES)
			s->runtime[s->runtimes++] = (struct maple_observe_range){
				o->mappings.image[i].lo, o->mappings.image[i].hi
			};
	o->events.registry = o->base.options.registry;
	o->events.mappings = &o->mappings;
	o->events.probe = o->observer.probe;
	/* Of what runs on all CPUs no more is claimed than is certain. */
	o->events.pinned = o->base.options.joined ||
			   !maple_schedule_is_free(order->schedule);
	maple_kernel_events_start(&o->events);
	o->left = ~0u;
	maple_bpf_read(&o->observer);
	maple_kernel_events_start(&o->events);
	return 0;
}

/*
 * Who runs is heard once all probes are in place: before, it would seem to do
 * without its locks what it does under them.
 */
static void listen(struct maple_ebpf *o)
{
	struct maple_observe_session *s = o->observer.session;
	struct maple_observe_end *end = o->observer.end;

	if (o->base.options.joined) {
		o->events.before = o->before;
		o->events.nbefore =
			maple_process_threads(o->pid, o->before, MAPLE_THREADS);
		end->dev = s->dev;
		end->ino = s->ino;
		__atomic_store_n(&end->pid, o->pid, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&s->pid, o->pid, __ATOMIC_RELEASE);
}

static int attach(struct maple_backend *b, pid_t pid, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);
	int e;

	assert(!o->pid); /* it is heard in one process at a time */
	maple_mappings_deinit(&o->mappings);
	e = maple_mappings_read(pid, &o->mappings, err);
	if (!e)
		e = reset(o, pid, err);
	o->pid = pid;
	if (!e)
		e = maple_ebpf_place(o, err);
	if (!e && maple_ebpf_keep(o))
		e = maple_error_set(err, EAGAIN, "no thread to keep probes");
	if (e)
		maple_ebpf_unplace(o);
	else
		listen(o);
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

	return o->pid ? maple_bpf_return(&o->observer, slot) : 0;
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
	struct maple_observe_session *s = o->observer.session;

	if (!o->pid)
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s did not come as far as its entry point",
			 o->base.options.argv[0]);
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
	struct maple_observe_session *s = o->observer.session;
	struct maple_attachments sum = { .unreached = o->functions.unreached };

	/* Who goes on running is not heard any more. */
	if (o->base.options.joined)
		__atomic_store_n(&s->gone, 1, __ATOMIC_RELEASE);
	maple_ebpf_end_keeping(o);
	drain(o, sink, ~0u);
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
	judge_delivery(o, run);
	maple_ebpf_unplace(o);
	o->pid = 0;
	maple_bpf_forget(&o->observer);
}

static bool ended(struct maple_backend *b, int *status)
{
	struct maple_ebpf *o = ebpf_of(b);

	if (!o->base.options.joined || !o->observer.end->seen)
		return false;
	*status = o->observer.end->status;
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
	maple_bpf_close(&o->observer);
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
	e = maple_bpf_open(&o->observer, on_record, o, err);
	if (e) {
		destroy(&o->base);
		return e;
	}
	o->functions.multi = o->observer.multi;
	*backend = &o->base;
	return 0;
}
