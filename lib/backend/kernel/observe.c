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
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "../../image/image.h"
#include "attach.h"
#include "events.h"
#include "observe.skel.h"

#define PROBES_SIZE (MAPLE_OBSERVE_PROBES * sizeof(struct maple_uapi_probe))
#define DRAIN_MOST  65536 /* records at a time */

/* An image of the run that has been looked at. */
struct placed {
	uint32_t index; /* in the registry, or MAPLE_REGISTRY_NONE */
	struct maple_mapped mapped;
};

struct maple_ebpf {
	struct maple_backend base;
	struct observe_bpf *bpf;
	struct bpf_link *link[3]; /* of threads: fork, exit, exec */
	struct ring_buffer *ring;
	struct maple_uapi_probe *probe; /* the map, as memory */
	uint32_t nprobes;
	struct maple_attachments attached;
	struct maple_mappings mappings;
	struct maple_kernel_events events;
	struct placed *placed;
	unsigned int nplaced;
	bool taken[MAPLE_OBSERVE_FUNCTIONS]; /* the agent has this one */
	struct maple_run_sink sink, watch;
	uint32_t hit[MAPLE_RUN_CHANGES];
	uint32_t changed;  /* change points that were reached */
	unsigned int left; /* records to take before the next pause */
	uint64_t unfit;	   /* sites that no probe can be made for */
	bool limited;	   /* that there are too many was said */
	bool released;
	pid_t pid;
};

static struct maple_ebpf *ebpf_of(struct maple_backend *b)
{
	return (struct maple_ebpf *)b;
}

static struct maple_observe_session *session(struct maple_ebpf *o)
{
	return &o->bpf->bss->session;
}

/* Below all that have not met a change point, and those that met it before. */
static void lower(struct maple_ebpf *o, int tid)
{
	uint32_t n = o->base.order->nchanges, met = o->changed++;
	struct sched_param param = { .sched_priority = met < n ? n - met : 1 };

	if (tid <= 0 || o->released)
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
	ring_buffer__consume(o->ring);
}

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);

	o->pid = 0;
	o->released = o->limited = false;
	o->changed = o->nprobes = o->nplaced = 0;
	o->unfit = 0;
	memset(o->hit, 0, sizeof(o->hit));
	memset(o->taken, 0, sizeof(o->taken));
	return 0;
}

static void clear_map(struct bpf_map *map)
{
	uint64_t key = 0; /* no key of ours is larger */
	int fd = bpf_map__fd(map);

	while (!bpf_map_get_next_key(fd, NULL, &key))
		bpf_map_delete_elem(fd, &key);
}

/* What the last run left behind, and the order of this one. */
static int reset(struct maple_ebpf *o, pid_t pid, struct maple_error *err)
{
	const struct maple_run_order *order = o->base.order;
	struct maple_observe_session *s = session(o);
	uint32_t epoch = s->epoch, i;
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return maple_error_set(err, errno, "/proc/self/ns/pid: %m");
	/* Nobody's for as long as it is not whole. */
	s->pid = 0;
	clear_map(o->bpf->maps.threads);
	memset(s, 0, sizeof(*s));
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->epoch = epoch + 1;
	s->budget = order->budget;
	s->is_static = o->mappings.is_static;
	for (i = 0; i < o->mappings.n; i++)
		if (o->mappings.image[i].is_runtime &&
		    s->runtimes < MAPLE_OBSERVE_RUNTIMES)
			s->runtime[s->runtimes++] = (struct maple_observe_range){
				o->mappings.image[i].lo, o->mappings.image[i].hi
			};
	o->events.registry = o->base.options.registry;
	o->events.mappings = &o->mappings;
	o->events.probe = o->probe;
	o->events.pinned = order->schedule != MAPLE_SCHEDULE_NATIVE &&
			   order->schedule != MAPLE_SCHEDULE_RANDDELAY;
	maple_kernel_events_start(&o->events);
	o->left = ~0u;
	ring_buffer__consume(o->ring);
	maple_kernel_events_start(&o->events);
	s->pid = pid;
	return 0;
}

/* Where what is mapped can be opened. */
static const char *path_of(const struct maple_mapped *mapped)
{
	return mapped->open[0] ? mapped->open : mapped->path;
}

static int attach_functions(struct maple_ebpf *o,
			    const struct maple_mapped *mapped,
			    struct maple_error *err)
{
	const struct maple_function *table =
		maple_functions(&(unsigned int){ 0 });
	struct maple_function_at *at = NULL;
	struct maple_places entry = { .path = path_of(mapped), .pid = o->pid };
	struct maple_places back;
	uint64_t *offset, *cookie;
	unsigned int n = 0, i;
	int e;

	e = maple_functions_find(entry.path, &at, &n, err);
	offset = calloc(4 * (n + 1), sizeof(*offset));
	cookie = offset ? offset + 2 * (n + 1) : NULL;
	if (e || !offset) {
		free(at);
		free(offset);
		return e ? e : maple_error_set(err, ENOMEM, "out of memory");
	}
	back = entry;
	back.at_return = true;
	back.offset = offset + n + 1;
	back.cookie = cookie + n + 1;
	entry.offset = offset;
	entry.cookie = cookie;
	entry.program = bpf_program__fd(o->bpf->progs.observe_entry);
	back.program = bpf_program__fd(o->bpf->progs.observe_return);
	for (i = 0; i < n; i++) {
		if (o->taken[at[i].function - table])
			continue;
		offset[entry.n] = at[i].offset;
		cookie[entry.n++] = at[i].function - table;
		if (!(at[i].function->flags & MAPLE_PROBE_RETURN))
			continue;
		offset[n + 1 + back.n] = at[i].offset;
		cookie[n + 1 + back.n++] = at[i].function - table;
	}
	e = maple_attach(&o->attached, &entry, err);
	if (!e)
		e = maple_attach(&o->attached, &back, err);
	for (i = 0; mapped->is_agent && i < n; i++)
		o->taken[at[i].function - table] = true;
	free(at);
	free(offset);
	return e;
}

/* What an access behind the probe comes before, and one ahead after. */
static int rank(const struct maple_uapi_probe *p)
{
	return p->flags & MAPLE_PROBE_BEHIND  ? 0
	       : p->flags & MAPLE_PROBE_AHEAD ? 2
					      : 1;
}

static int compare_probes(const void *a, const void *b)
{
	const struct maple_uapi_probe *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The probes of an image's sites into the map, those of one offset chained. */
static int make_probes(struct maple_ebpf *o, uint32_t index,
		       struct maple_error *err)
{
	const struct maple_run_order *order = o->base.order;
	struct maple_registry *reg = o->base.options.registry;
	struct maple_image *image = maple_registry_image(reg, index);
	uint32_t base = maple_registry_base(reg, index), first = o->nprobes;
	struct maple_uapi_probe probe;
	struct maple_probe_maker *maker;
	uint32_t n, i;
	int e;

	e = maple_probe_maker_create(image, &maker, err);
	if (e)
		return e;
	maple_image_sites(image, &n);
	for (i = 0; i < n; i++) {
		if (base + i < order->nalone && order->alone[base + i])
			continue;
		if (o->nprobes == MAPLE_OBSERVE_PROBES ||
		    maple_probe_make(maker, i, base + i, &probe)) {
			o->unfit++;
			continue;
		}
		probe.aux = 0;
		o->probe[o->nprobes++] = probe;
	}
	maple_probe_maker_destroy(maker);
	o->events.nprobes = o->nprobes;
	qsort(o->probe + first, o->nprobes - first, sizeof(*o->probe),
	      compare_probes);
	for (i = first; i + 1 < o->nprobes; i++)
		if (o->probe[i].offset == o->probe[i + 1].offset)
			o->probe[i].aux = MAPLE_OBSERVE_MORE;
	return 0;
}

static int attach_sites(struct maple_ebpf *o, const struct maple_mapped *mapped,
			uint32_t index, struct maple_error *err)
{
	struct maple_places places = {
		.program = bpf_program__fd(o->bpf->progs.observe_access),
		.path = path_of(mapped),
		.pid = o->pid,
	};
	uint32_t first = o->nprobes, i;
	uint64_t *offset;
	int e;

	e = make_probes(o, index, err);
	if (e || first == o->nprobes)
		return e;
	offset = calloc(2 * (o->nprobes - first), sizeof(*offset));
	if (!offset)
		return maple_error_set(err, ENOMEM, "out of memory");
	places.offset = offset;
	places.cookie = offset + (o->nprobes - first);
	for (i = first; i < o->nprobes; i++) {
		if (i > first && o->probe[i - 1].aux)
			continue;
		offset[places.n] = o->probe[i].offset;
		offset[o->nprobes - first + places.n++] = i;
	}
	e = maple_attach(&o->attached, &places, err);
	free(offset);
	return e;
}

/* An image that cannot be decoded is left out, and that is said. */
static int attach_image(struct maple_ebpf *o, const struct maple_mapped *mapped,
			struct maple_error *err)
{
	const struct maple_backend_options *options = &o->base.options;
	char text[MAPLE_MAPPED_PATH + MAPLE_ERROR_MAX + 32];
	struct placed *placed = &o->placed[o->nplaced];
	bool wanted = maple_image_wanted(mapped->path, mapped->is_main,
					 options->include, options->exclude);
	struct maple_error why;
	int e = 0;

	placed->index = MAPLE_REGISTRY_NONE;
	placed->mapped = *mapped;
	o->nplaced++;
	if ((mapped->is_runtime && !mapped->is_loader) ||
	    (mapped->is_main && o->mappings.is_static))
		e = attach_functions(o, mapped, err);
	if (e || (!wanted && !mapped->is_main))
		return e;
	/* The program has an identity even if it is left out. */
	if (maple_registry_add(options->registry, mapped->path, &placed->index,
			       &why)) {
		placed->index = MAPLE_REGISTRY_NONE;
		snprintf(text, sizeof(text), "%s is not observed: %s",
			 mapped->path, why.text);
		options->notice(options->ctx, text);
		return 0;
	}
	return wanted ? attach_sites(o, mapped, placed->index, err) : 0;
}

static bool is_placed(const struct maple_ebpf *o,
		      const struct maple_mapped *mapped)
{
	for (unsigned int i = 0; i < o->nplaced; i++)
		if (!strcmp(o->placed[i].mapped.path, mapped->path))
			return true;
	return false;
}

/* All images that are mapped now and were not before. */
static int attach_images(struct maple_ebpf *o, struct maple_error *err)
{
	const struct maple_mapped *mapped = o->mappings.image;
	struct placed *grown;
	char text[160];
	int e = 0;

	grown = reallocarray(o->placed, o->nplaced + o->mappings.n,
			     sizeof(*grown));
	if (!grown)
		return maple_error_set(err, ENOMEM, "out of memory");
	o->placed = grown;
	/* What the agent defines is called there, wherever it is as well. */
	for (unsigned int i = 0; !e && i < o->mappings.n; i++)
		if (mapped[i].is_agent && !is_placed(o, &mapped[i]))
			e = attach_image(o, &mapped[i], err);
	for (unsigned int i = 0; !e && i < o->mappings.n; i++)
		if (!is_placed(o, &mapped[i]))
			e = attach_image(o, &mapped[i], err);
	if (!e && o->attached.unreached && !o->limited) {
		o->limited = true;
		snprintf(text, sizeof(text),
			 "%llu places are not observed: this kernel needs an "
			 "open file for each, and %u may be open",
			 (unsigned long long)o->attached.unreached,
			 maple_attach_limit());
		o->base.options.notice(o->base.options.ctx, text);
	}
	return e;
}

static int attach(struct maple_backend *b, pid_t pid, struct maple_error *err)
{
	struct maple_ebpf *o = ebpf_of(b);
	int e;

	maple_mappings_deinit(&o->mappings);
	e = maple_mappings_read(pid, &o->mappings, err);
	if (!e)
		e = reset(o, pid, err);
	o->pid = pid;
	if (!e)
		e = attach_images(o, err);
	if (e)
		maple_attachments_undo(&o->attached);
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

	if (!o->events.loaded)
		return;
	o->events.loaded = false;
	if (maple_mappings_read(o->pid, &now, &err)) {
		maple_mappings_deinit(&now);
		return;
	}
	now.is_static = o->mappings.is_static;
	maple_mappings_deinit(&o->mappings);
	o->mappings = now;
	maple_kernel_events_moved(&o->events);
	if (attach_images(o, &err))
		o->base.options.notice(o->base.options.ctx, err.text);
}

static pid_t serve(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_ebpf *o = ebpf_of(b);

	if (!o->pid)
		return 0;
	drain(o, sink, DRAIN_MOST);
	look_for_images(o);
	return o->pid;
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
	const struct placed *p;
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
	struct maple_observe_session *s = session(o);

	if (!o->pid)
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s did not come as far as its entry point",
			 o->base.options.argv[0]);
	else if (!s->hits && !s->calls)
		snprintf(run->why_not, sizeof(run->why_not),
			 "no access was observed: no site of the program was "
			 "reached");
	else
		run->delivered = true;
}

static void finish(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_ebpf *o = ebpf_of(b);
	struct maple_observe_session *s = session(o);

	drain(o, sink, ~0u);
	maple_kernel_events_end(&o->events);
	if (o->pid) {
		fill_threads(o, run);
		fill_images(o, run);
	}
	run->sites = o->attached.places;
	run->unreached = o->unfit + o->attached.refused + o->attached.unreached;
	run->hits[MAPLE_WAY_TRAP] = s->hits;
	run->calls = s->calls;
	run->lost = s->lost;
	judge_delivery(o, run);
	maple_attachments_undo(&o->attached);
	o->pid = 0;
	s->pid = 0;
}

static void release(struct maple_backend *b)
{
	ebpf_of(b)->released = true;
}

static void destroy(struct maple_backend *b)
{
	struct maple_ebpf *o = ebpf_of(b);

	maple_attachments_undo(&o->attached);
	maple_mappings_deinit(&o->mappings);
	maple_kernel_events_deinit(&o->events);
	for (unsigned int i = 0; i < sizeof(o->link) / sizeof(o->link[0]); i++)
		bpf_link__destroy(o->link[i]);
	ring_buffer__free(o->ring);
	if (o->probe)
		munmap(o->probe, PROBES_SIZE);
	observe_bpf__destroy(o->bpf);
	free(o->placed);
	free(o);
}

static const struct maple_backend_ops ebpf_ops = {
	.name = "ebpf",
	.prepare = prepare,
	.attach = attach,
	.serve = serve,
	.finish = finish,
	.release = release,
	.destroy = destroy,
};

static int silent(enum libbpf_print_level level, const char *format,
		  va_list args)
{
	return 0;
}

/* The program, loaded; *@multi says what it can be attached to. */
static struct observe_bpf *load(bool *multi)
{
	struct observe_bpf *bpf;
	int e;

	libbpf_set_print(silent);
	*multi = maple_attach_multi_works();
	bpf = observe_bpf__open();
	if (!bpf)
		return NULL;
	if (*multi) {
		bpf_program__set_expected_attach_type(bpf->progs.observe_access,
						      MAPLE_TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(bpf->progs.observe_entry,
						      MAPLE_TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(bpf->progs.observe_return,
						      MAPLE_TRACE_UPROBE_MULTI);
	}
	e = observe_bpf__load(bpf);
	if (!e)
		return bpf;
	observe_bpf__destroy(bpf);
	errno = -e;
	return NULL;
}

static int fill_functions(struct maple_ebpf *o)
{
	struct maple_observe_function value;
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);
	int fd = bpf_map__fd(o->bpf->maps.functions);

	for (uint32_t i = 0; i < n; i++) {
		maple_kernel_function(&f[i], &value);
		if (bpf_map_update_elem(fd, &i, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The end of a thread: before anybody can know of it, or soon after. */
static int attach_threads(struct maple_ebpf *o)
{
	o->link[0] = bpf_program__attach(o->bpf->progs.observe_fork);
	o->link[1] = bpf_program__attach(o->bpf->progs.observe_exit);
	if (!o->link[1])
		o->link[1] = bpf_program__attach(o->bpf->progs.observe_exited);
	o->link[2] = bpf_program__attach(o->bpf->progs.observe_exec);
	return o->link[0] && o->link[1] && o->link[2] ? 0 : -errno;
}

static int open_maps(struct maple_ebpf *o)
{
	o->probe = mmap(NULL, PROBES_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(o->bpf->maps.probes), 0);
	if (o->probe == MAP_FAILED) {
		o->probe = NULL;
		return -errno;
	}
	o->ring = ring_buffer__new(bpf_map__fd(o->bpf->maps.events), on_record,
				   o, NULL);
	return o->ring ? fill_functions(o) : -errno;
}

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
	o->bpf = load(&o->attached.multi);
	e = o->bpf ? open_maps(o) : -errno;
	if (!e)
		e = attach_threads(o);
	if (e) {
		if (o->bpf)
			destroy(&o->base);
		else
			free(o);
		return maple_error_set(err, -e, "no eBPF observer: %s",
				       strerror(-e));
	}
	if (!o->attached.multi)
		maple_attach_limit();
	*backend = &o->base;
	return 0;
}

/* maple_ebpf_probe - whether the observer can be loaded here */
void maple_ebpf_probe(struct maple_ability *ability)
{
	struct observe_bpf *bpf;
	bool multi;
	int e;

	memset(ability, 0, sizeof(*ability));
	bpf = load(&multi);
	e = errno;
	if (bpf) {
		observe_bpf__destroy(bpf);
		snprintf(ability->text, sizeof(ability->text),
			 "the observer can be loaded; %s",
			 multi ? "all sites at once"
			       : "each site takes an open file");
		return;
	}
	ability->error = -e;
	if (e == EPERM || e == EACCES) {
		snprintf(ability->text, sizeof(ability->text),
			 "eBPF is not permitted (CAP_BPF and CAP_PERFMON)");
		snprintf(ability->mend, sizeof(ability->mend),
			 "run mapletest as root");
	} else if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		snprintf(ability->text, sizeof(ability->text),
			 "this kernel has no type information "
			 "(CONFIG_DEBUG_INFO_BTF)");
	} else {
		snprintf(ability->text, sizeof(ability->text),
			 "the kernel refuses the observer: %s", strerror(e));
	}
}
