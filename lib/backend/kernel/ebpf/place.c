// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer in the images of a process: at the functions of those that
 * stand between the program and the kernel, at the sites of those that are
 * wanted.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "image/image.h"
#include "ebpf.h"
#include "backend/kernel/images.h"

/* maple_ebpf_path - where what is mapped can be opened */
const char *maple_ebpf_path(const struct maple_mapped *mapped)
{
	return mapped->open[0] ? mapped->open : mapped->path;
}

/*
 * Where each probe is taken away alone and takes its time, a running program
 * gets only those on what its images import.
 */
static bool is_sparing(const struct maple_ebpf *o)
{
	return o->base.options.joined && !o->observer.multi &&
	       !o->mappings.is_static;
}

static int attach_functions(struct maple_ebpf *o,
			    const struct maple_mapped *mapped,
			    struct maple_error *err)
{
	const struct maple_function *table =
		maple_functions(&(unsigned int){ 0 });
	const char *path = maple_ebpf_path(mapped);
	struct maple_function_at *at = NULL;
	struct maple_probing_place *entry, *back;
	unsigned int n = 0, nentry = 0, nback = 0, i;
	int e;

	e = maple_functions_find(path, &at, &n, err);
	entry = calloc(2 * (n + 1), sizeof(*entry));
	back = entry ? entry + n + 1 : NULL;
	if (e || !entry) {
		free(at);
		free(entry);
		return e ? e : maple_error_set(err, ENOMEM, "out of memory");
	}
	if (is_sparing(o))
		maple_functions_mark(path, o->imported, at, n);
	for (i = 0; i < n; i++) {
		const struct maple_probing_place place = {
			at[i].offset, at[i].function - table
		};

		if (o->taken[at[i].function - table] ||
		    (is_sparing(o) && !at[i].imported))
			continue;
		entry[nentry++] = place;
		if (at[i].function->flags & MAPLE_PROBE_RETURN)
			back[nback++] = place;
	}
	assert(nback <= nentry && nentry <= n);
	if (nentry)
		e = maple_probing_attach(&o->observer, &o->functions,
					 MAPLE_PROBING_ENTRY, path, entry,
					 nentry, NULL, err);
	if (!e && nback)
		e = maple_probing_attach(&o->observer, &o->functions,
					 MAPLE_PROBING_BACK, path, back, nback,
					 NULL, err);
	for (i = 0; mapped->is_agent && i < n; i++)
		o->taken[at[i].function - table] = true;
	free(at);
	free(entry);
	return e;
}

/*
 * Of a static program its runtime is left out, as that of others is; calls
 * from there are not the program's doing either. It goes by libc's name.
 */
static void leave_runtime(struct maple_ebpf *o, struct maple_placed *placed)
{
	const struct maple_backend_options *options = &o->base.options;
	struct maple_probing_hearing *h = &o->hearing;
	uint64_t bias = placed->mapped.bias;
	char text[MAPLE_MAPPED_PATH + 128];

	if (maple_image_wanted(MAPLE_IMAGE_LIBC, false, options->include,
			       options->exclude))
		return;
	placed->stretch = maple_image_runtime(
		maple_registry_image(options->registry, placed->index),
		&placed->nstretches);
	for (unsigned int i = 0;
	     i < placed->nstretches && h->runtimes < MAPLE_OBSERVE_RUNTIMES; i++)
		h->runtime[h->runtimes++] = (struct maple_observe_range){
			placed->stretch[i].lo + bias,
			placed->stretch[i].hi + bias
		};
	if (placed->nstretches || o->nameless)
		return;
	o->nameless = true;
	snprintf(text, sizeof(text),
		 "%s has no symbols: its libc is observed as if it were the "
		 "program, and its locks are not seen",
		 placed->mapped.path);
	options->notice(options->ctx, text);
}

static int attach_image(struct maple_ebpf *o, const struct maple_mapped *mapped,
			struct maple_error *err)
{
	const struct maple_backend_options *options = &o->base.options;
	char text[MAPLE_MAPPED_PATH + 128];
	struct maple_placed *placed = &o->placed[o->nplaced];
	bool wanted = maple_image_wanted(mapped->path, mapped->is_main,
					 options->include, options->exclude);
	int e = 0;

	memset(placed, 0, sizeof(*placed));
	placed->index = MAPLE_REGISTRY_NONE;
	placed->mapped = *mapped;
	o->nplaced++;
	if ((mapped->is_runtime && !mapped->is_loader) ||
	    (mapped->is_main && o->mappings.is_static))
		e = attach_functions(o, mapped, err);
	if (!wanted || mapped->is_replaced)
		maple_registry_leave_out(options->registry, mapped->path,
					 mapped->is_main);
	if (e || (!wanted && !mapped->is_main))
		return e;
	/* Addresses of another file would be those of other instructions. */
	if (mapped->is_replaced) {
		snprintf(text, sizeof(text),
			 "%s is not observed: the file that is mapped was "
			 "replaced; restart the program",
			 mapped->path);
		options->notice(options->ctx, text);
		return 0;
	}
	/* The program has an identity even if it is left out. */
	placed->index = maple_kernel_image_register(options, mapped);
	if (placed->index == MAPLE_REGISTRY_NONE)
		return 0;
	if (mapped->is_main && o->mappings.is_static)
		leave_runtime(o, placed);
	return wanted ? maple_ebpf_sites(o, placed, err) : 0;
}

static bool is_placed(const struct maple_ebpf *o,
		      const struct maple_mapped *mapped)
{
	for (unsigned int i = 0; i < o->nplaced; i++)
		if (!strcmp(o->placed[i].mapped.path, mapped->path))
			return true;
	return false;
}

/* What cannot be reached is said once a run. */
static void say_limit(struct maple_ebpf *o)
{
	struct maple_probed sum = o->functions;
	char text[160];

	for (unsigned int i = 0; i < o->nplaced; i++)
		maple_ebpf_sites_sum(&o->placed[i], &sum);
	if (!sum.unreached || o->limited)
		return;
	o->limited = true;
	snprintf(text, sizeof(text),
		 "%llu places are not observed: this kernel needs an open file "
		 "for each, and %u may be open",
		 (unsigned long long)sum.unreached, maple_attach_limit());
	o->base.options.notice(o->base.options.ctx, text);
}

/*
 * maple_ebpf_place - puts the observer into all images of o->mappings that it
 * is not in yet
 */
int maple_ebpf_place(struct maple_ebpf *o, struct maple_error *err)
{
	const struct maple_mapped *mapped = o->mappings.image;
	int e = 0;

	if (!maple_array_resize(o->placed, o->nplaced + o->mappings.n))
		return maple_error_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; is_sparing(o) && i < o->mappings.n; i++)
		if (!mapped[i].is_runtime)
			maple_functions_imported(maple_ebpf_path(&mapped[i]),
						 o->imported);
	/* What the agent defines is called there, wherever it is as well. */
	for (unsigned int i = 0; !e && i < o->mappings.n; i++)
		if (mapped[i].is_agent && !is_placed(o, &mapped[i]))
			e = attach_image(o, &mapped[i], err);
	for (unsigned int i = 0; !e && i < o->mappings.n; i++)
		if (!is_placed(o, &mapped[i]))
			e = attach_image(o, &mapped[i], err);
	if (!e)
		say_limit(o);
	return e;
}

/* maple_ebpf_unplace - takes the observer out of all images */
void maple_ebpf_unplace(struct maple_ebpf *o)
{
	maple_probing_undo(&o->observer, &o->functions);
	while (o->nplaced)
		maple_ebpf_sites_deinit(o, &o->placed[--o->nplaced]);
	free(o->placed);
	o->placed = NULL;
	o->nprobes = o->events.nprobes = 0;
	o->unfit = o->apart = 0;
	memset(o->taken, 0, sizeof(o->taken));
	memset(o->imported, 0, sizeof(o->imported));
}
