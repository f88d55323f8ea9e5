// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What maple.ko has to know of the target's files to enforce a plan:
 *
 * - probes at the memory accesses that the plan names, its guards among them;
 * - probes at the functions that order threads, whether the plan names a call
 *   of them or not: what they do tells the observer what happened before
 *   what, and a deadlock is told from the locks that are held;
 * - probes at functions on memory only if the plan names a call of one, since
 *   a program calls them all the time;
 * - the numbers of the call sites that the plan names.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "placing.h"

#define NAMED_MAX                                                        \
	(MAPLE_PLAN_STEPS * (1 + MAPLE_PLAN_GATES) + MAPLE_PLAN_GUARDS + \
	 MAPLE_PLAN_COVERS)

/* The sites that a plan names, in ascending order, each once. */
struct named {
	uint32_t n;
	uint32_t site[NAMED_MAX];
	bool memory_calls; /* some call of a function on memory, it may be */
};

/* What goes into one file. */
struct parcel {
	struct maple_uapi_probe *probe;
	size_t nprobes, room;
	struct maple_uapi_site site[NAMED_MAX];
	size_t nsites;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void add_all(struct named *named, const uint32_t *site, uint32_t n)
{
	assert(named->n + n <= NAMED_MAX);
	if (n)
		memcpy(named->site + named->n, site, n * sizeof(*site));
	named->n += n;
}

static void name_all(struct named *named, const struct maple_plan *plan)
{
	bool locks = true;
	uint32_t i, kept = 0;

	memset(named, 0, sizeof(*named));
	for (i = 0; i < plan->nsteps; i++) {
		locks &= !maple_event_is_memory(plan->step[i].kind);
		add_all(named, &plan->step[i].site, 1);
		add_all(named, plan->step[i].gate, plan->step[i].ngates);
		if (maple_event_is_memory(plan->step[i].kind) &&
		    plan->step[i].site & MAPLE_SITE_CALL)
			named->memory_calls = true;
	}
	add_all(named, plan->guard, plan->nguards);
	add_all(named, plan->cover, plan->ncovers);
	/* A guard that is a call touches memory, unless all is about locks. */
	for (i = 0; i < plan->nguards && !locks; i++)
		if (plan->guard[i] & MAPLE_SITE_CALL)
			named->memory_calls = true;
	qsort(named->site, named->n, sizeof(*named->site), by_number);
	for (i = 0; i < named->n; i++)
		if (!kept || named->site[kept - 1] != named->site[i])
			named->site[kept++] = named->site[i];
	named->n = kept;
}

static struct maple_probe_maker *maker_of(struct maple_placing *p,
					  uint32_t index)
{
	if (index >= p->nmakers) {
		if (!maple_array_extend(p->maker, p->nmakers, index + 1))
			return NULL;
		p->nmakers = index + 1;
	}
	assert(index < p->nmakers);
	if (!p->maker[index])
		maple_probe_maker_create(
			maple_registry_image(p->images->registry, index),
			&p->maker[index], NULL);
	return p->maker[index];
}

/*
 * Behind what is at the same offset already: those of one offset stand side
 * by side, in the order in which they came.
 */
static int add_probe(struct parcel *parcel, const struct maple_uapi_probe *probe)
{
	size_t at = parcel->nprobes;

	if (!maple_array_reserve(parcel->probe, at, parcel->room))
		return -ENOMEM;
	while (at > 0 && parcel->probe[at - 1].offset > probe->offset)
		at--;
	memmove(parcel->probe + at + 1, parcel->probe + at,
		(parcel->nprobes - at) * sizeof(*probe));
	parcel->probe[at] = *probe;
	parcel->nprobes++;
	/* Ascending, as the module wants them. */
	assert(!at || parcel->probe[at - 1].offset <= probe->offset);
	return 0;
}

/* The accesses and the call sites of image @index that are named. */
static int add_named(struct maple_placing *p, struct parcel *parcel,
		     uint32_t index, const struct named *named)
{
	uint32_t base = maple_registry_base(p->images->registry, index), i;
	struct maple_probe_maker *maker = NULL;
	struct maple_uapi_probe probe;
	struct maple_site_info info;
	uint64_t offset;
	int e = 0;

	for (i = 0; i < named->n && !e; i++) {
		if (maple_registry_site(p->images->registry, named->site[i],
					&info) ||
		    info.image != index)
			continue;
		maker = maker ?: maker_of(p, index);
		if (!maker)
			return -ENOMEM;
		if (info.is_call) {
			assert(parcel->nsites < NAMED_MAX);
			if (maple_probe_offset(maker, info.offset, &offset))
				parcel->site[parcel->nsites++] =
					(struct maple_uapi_site){
						offset, named->site[i], 0
					};
			else
				p->unreached++;
			continue;
		}
		assert(named->site[i] >= base);
		if (maple_probe_make(maker, named->site[i] - base,
				     named->site[i], &probe)) {
			p->unreached++;
			continue;
		}
		probe.flags |= MAPLE_PROBE_WANTED;
		e = add_probe(parcel, &probe);
	}
	return e;
}

static bool is_memory(const struct maple_function *function)
{
	return function->form >= MAPLE_FN_COPY;
}

static int add_functions(struct parcel *parcel, const struct maple_mapped *image,
			 bool memory, struct maple_error *err)
{
	struct maple_function_at *found;
	struct maple_uapi_probe probe[2];
	unsigned int n, i, k, of;
	int e;

	e = maple_functions_find(*image->open ? image->open : image->path,
				 &found, &n, err);
	if (e)
		return e;
	for (i = 0; i < n && !e; i++) {
		if (is_memory(found[i].function) && !memory)
			continue;
		of = maple_function_probes(found[i].function, found[i].offset,
					   probe);
		for (k = 0; k < of && !e; k++) {
			/* As a step of a plan it is over when it returns. */
			if (memory && probe[k].kind == MAPLE_EV_FREE)
				probe[k].flags |= MAPLE_PROBE_RETURN;
			e = add_probe(parcel, &probe[k]);
		}
	}
	free(found);
	return e ? maple_error_set(err, -e, "out of memory") : 0;
}

static int hand_over(struct parcel *parcel, const struct maple_mapped *image,
		     struct maple_control *control, struct maple_error *err)
{
	int fd, e;

	if (!parcel->nprobes && !parcel->nsites)
		return 0;
	fd = maple_image_file(*image->open ? image->open : image->path);
	if (fd < 0)
		return maple_error_set(err, -fd, "%s: cannot open: %s",
				       image->path, strerror(-fd));
	e = maple_control_sites(control, fd, parcel->site, parcel->nsites, err);
	if (!e)
		e = maple_control_probes(control, fd, parcel->probe,
					 parcel->nprobes, err);
	close(fd);
	return e;
}

static int put_image(struct maple_placing *p, unsigned int k,
		     const struct named *named, struct maple_control *control,
		     struct maple_error *err)
{
	const struct maple_mapped *image = &p->images->mappings.image[k];
	struct parcel *parcel = calloc(1, sizeof(*parcel));
	int e = 0;

	if (!parcel)
		return maple_error_set(err, ENOMEM, "out of memory");
	if (p->images->index[k] != MAPLE_REGISTRY_NONE &&
	    add_named(p, parcel, p->images->index[k], named))
		e = maple_error_set(err, ENOMEM, "out of memory");
	if (!e && (image->is_runtime ||
		   (image->is_main && p->images->mappings.is_static)))
		e = add_functions(parcel, image, named->memory_calls, err);
	if (!e)
		e = hand_over(parcel, image, control, err);
	p->probes += parcel->nprobes;
	free(parcel->probe);
	free(parcel);
	return e;
}

/*
 * maple_placing_put - tells @control's session what @plan takes
 *
 * Errors: as the module says, or -ENOMEM; then not all is in place.
 */
int maple_placing_put(struct maple_placing *p,
		      const struct maple_kernel_images *images,
		      const struct maple_plan *plan,
		      struct maple_control *control, struct maple_error *err)
{
	struct named named;
	unsigned int k;
	int e = 0;

	p->images = images;
	p->probes = p->unreached = 0;
	name_all(&named, plan);
	for (k = 0; k < p->images->mappings.n && !e; k++)
		e = put_image(p, k, &named, control, err);
	return e;
}

/* maple_placing_deinit - frees the makers */
void maple_placing_deinit(struct maple_placing *p)
{
	for (uint32_t i = 0; i < p->nmakers; i++)
		maple_probe_maker_destroy(p->maker[i]);
	free(p->maker);
	p->maker = NULL;
	p->nmakers = 0;
}
