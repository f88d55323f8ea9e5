// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer of bpf/, loaded: once per campaign, and at work from then on,
 * for nobody until its session names a process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "backend/guard/door.h"
#include "ebpf.h"
#include "observe.skel.h"
#include "uprobe.h"

#define PROBES_SIZE (MAPLE_OBSERVE_PROBES * sizeof(struct maple_uapi_probe))
#define COUNTS_SIZE (MAPLE_OBSERVE_PROBES * sizeof(struct maple_observe_count))

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

static int fill_functions(struct observe_bpf *bpf)
{
	struct maple_observe_function value;
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);
	int fd = bpf_map__fd(bpf->maps.functions);

	for (uint32_t i = 0; i < n; i++) {
		maple_kernel_function(&f[i], &value);
		if (bpf_map_update_elem(fd, &i, &value, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The end of a thread: before anybody can know of it, or soon after. */
static int watch_threads(struct maple_bpf *o)
{
	o->link[0] = bpf_program__attach(o->bpf->progs.observe_fork);
	o->link[1] = bpf_program__attach(o->bpf->progs.observe_exit);
	if (!o->link[1])
		o->link[1] = bpf_program__attach(o->bpf->progs.observe_exited);
	o->link[2] = bpf_program__attach(o->bpf->progs.observe_exec);
	return o->link[0] && o->link[1] && o->link[2] ? 0 : -errno;
}

static void *map_memory(const struct bpf_map *map, size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

static int open_maps(struct maple_bpf *o,
		     int (*take)(void *ctx, void *record, size_t size),
		     void *ctx)
{
	o->probe = map_memory(o->bpf->maps.probes, PROBES_SIZE,
			      PROT_READ | PROT_WRITE);
	o->count = map_memory(o->bpf->maps.counts, COUNTS_SIZE, PROT_READ);
	o->ring = ring_buffer__new(bpf_map__fd(o->bpf->maps.events), take, ctx,
				   NULL);
	return o->probe && o->count && o->ring ? 0 : -errno;
}

/*
 * maple_bpf_open - loads the observer
 * @take: called by maple_bpf_read() for each record; nonzero ends that
 *
 * To be closed with maple_bpf_close(), also after an error.
 */
int maple_bpf_open(struct maple_bpf *o,
		   int (*take)(void *ctx, void *record, size_t size), void *ctx,
		   struct maple_error *err)
{
	int e;

	memset(o, 0, sizeof(*o));
	o->bpf = load(&o->multi);
	if (!o->bpf)
		return maple_error_set(err, errno, "no eBPF observer: %m");
	o->session = &o->bpf->bss->session;
	o->end = &o->bpf->bss->end;
	o->access = bpf_program__fd(o->bpf->progs.observe_access);
	o->entry = bpf_program__fd(o->bpf->progs.observe_entry);
	o->back = bpf_program__fd(o->bpf->progs.observe_return);
	if (!o->multi)
		maple_attach_limit();
	e = open_maps(o, take, ctx);
	if (!e)
		e = fill_functions(o->bpf);
	if (!e)
		e = watch_threads(o);
	return e ? maple_error_set(err, -e, "no eBPF observer: %s", strerror(-e))
		 : 0;
}

static void empty(const struct bpf_map *map)
{
	int fd = bpf_map__fd(map);
	uint32_t tid;

	while (!bpf_map_get_next_key(fd, NULL, &tid))
		bpf_map_delete_elem(fd, &tid);
}

/*
 * maple_bpf_forget - an empty session, for nobody; budgets are whole
 */
void maple_bpf_forget(struct maple_bpf *o)
{
	uint32_t epoch = o->session->epoch;

	o->session->pid = o->session->kernel_pid = 0;
	o->session->gone = 1;
	empty(o->bpf->maps.threads);
	empty(o->bpf->maps.numberless);
	memset(o->session, 0, sizeof(*o->session));
	o->session->epoch = epoch + 1;
}

/* maple_bpf_return - which return address stood at @slot; 0 if not known */
uint64_t maple_bpf_return(const struct maple_bpf *o, uint64_t slot)
{
	uint64_t caller;

	return bpf_map_lookup_elem(bpf_map__fd(o->bpf->maps.returns), &slot,
				   &caller)
		       ? 0
		       : caller;
}

/* maple_bpf_read - hands out the records that there are */
void maple_bpf_read(struct maple_bpf *o)
{
	ring_buffer__consume(o->ring);
}

void maple_bpf_close(struct maple_bpf *o)
{
	for (unsigned int i = 0; i < sizeof(o->link) / sizeof(o->link[0]); i++)
		bpf_link__destroy(o->link[i]);
	ring_buffer__free(o->ring);
	if (o->probe)
		munmap(o->probe, PROBES_SIZE);
	if (o->count)
		munmap((void *)o->count, COUNTS_SIZE);
	observe_bpf__destroy(o->bpf);
	memset(o, 0, sizeof(*o));
}

/* Whether the observer's service has a session for us; its words if not. */
static bool ask_service(const char *service, struct maple_ability *ability)
{
	struct maple_error err = { "" };

	if (!service)
		return false;
	if (!maple_probing_try(service, &err)) {
		ability->error = 0;
		snprintf(ability->text, sizeof(ability->text),
			 "by the service at %.100s, since eBPF is not "
			 "permitted to us; all sites at once",
			 service);
		return true;
	}
	snprintf(ability->text, sizeof(ability->text),
		 "eBPF is not permitted (CAP_BPF and CAP_PERFMON), and %.140s",
		 err.text);
	snprintf(ability->mend, sizeof(ability->mend),
		 "sudo systemctl enable --now mapled-observer.socket, and be in "
		 "the group maple; or run mapletest as root");
	return true;
}

/*
 * maple_ebpf_probe - whether the observer can be loaded here, or its service
 * asked
 */
void maple_ebpf_probe(const struct maple_backend_options *options,
		      struct maple_ability *ability)
{
	struct observe_bpf *bpf;
	bool multi;
	int e;

	memset(ability, 0, sizeof(*ability));
	bpf = load(&multi);
	e = errno;
	if (bpf) {
		observe_bpf__destroy(bpf);
		/* a warden has them made, with rights that we have given up */
		e = multi || maple_door_is_roots() ? 0 : maple_uprobe_try();
		if (e) {
			ability->error = e;
			snprintf(ability->text, sizeof(ability->text),
				 "eBPF may be loaded, but not probe a program: "
				 "%s",
				 strerror(-e));
			snprintf(ability->mend, sizeof(ability->mend),
				 "run mapletest as root");
			return;
		}
		snprintf(ability->text, sizeof(ability->text),
			 "the observer can be loaded; %s",
			 multi ? "all sites at once"
			       : "each site takes an open file");
		return;
	}
	ability->error = -e;
	if (e == EPERM || e == EACCES) {
		if (ask_service(options->observer, ability))
			return;
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
