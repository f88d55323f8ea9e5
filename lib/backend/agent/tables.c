// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Answering the agent: it lists the images it sees, we decode those that are
 * wanted, once per campaign, and append their patch tables to the file that
 * the agent maps. All parsing of the user's files happens here, none there.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../../image/image.h"
#include "agent.h"

#define MORE 64 /* sites that a stem may have without a use */

static bool append(struct maple_agent_backend *a, const void *blob, size_t size,
		   uint64_t *at)
{
	uint64_t offset = (a->tables_size + 63) & ~63ull;
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = pwrite(a->tables_fd, (const char *)blob + done, size - done,
			   offset + done);
		if (n <= 0)
			return false;
		done += n;
	}
	*at = offset;
	a->tables_size = offset + size;
	return true;
}

static struct maple_table_site *sites_of(struct maple_table *t)
{
	return (void *)((char *)t + t->sites_at);
}

static bool is_alone(const struct maple_agent_backend *a, uint32_t number)
{
	assert(!a->nalone || a->alone);
	return number < a->nalone ? a->alone[number] & MAPLE_ALONE_SITE
				  : a->alone_rest;
}

/* Image @i's table has what this run leaves alone; false: it was not written. */
static bool mark_alone(struct maple_agent_backend *a, uint32_t i)
{
	struct maple_table *t = a->table[i];
	struct maple_table_site *site = sites_of(t);
	bool changed = false;
	uint8_t alone;
	uint32_t k;

	assert(i < MAPLE_SHM_IMAGES);
	for (k = 0; k < t->nsites; k++) {
		alone = is_alone(a, a->shm->image[i].site_base + k);
		changed |= site[k].alone != alone;
		site[k].alone = alone;
	}
	return !changed || pwrite(a->tables_fd, site, t->nsites * sizeof(*site),
				  a->shm->image[i].table_at + t->sites_at) >= 0;
}

static uint32_t answer_image(struct maple_agent_backend *a, uint32_t i)
{
	struct maple_shm_image *shared = &a->shm->image[i];
	const struct maple_backend_options *options = &a->base.options;
	struct maple_registry *reg = options->registry;
	struct maple_error err;
	char text[MAPLE_SHM_PATH + MAPLE_ERROR_MAX + 32];
	uint32_t index, nsites;
	uint64_t at;
	size_t size;
	void *blob;
	int e;

	assert(i < MAPLE_SHM_IMAGES);
	shared->path[MAPLE_SHM_PATH - 1] = '\0';
	a->registered[i] = MAPLE_REGISTRY_NONE;
	a->wanted[i] = maple_image_wanted(shared->path, shared->is_main,
					  options->include, options->exclude);
	if (!a->wanted[i]) {
		maple_registry_leave_out(reg, shared->path, shared->is_main);
		/* The program has an identity even if it is left out. */
		if (shared->is_main &&
		    !maple_registry_add(reg, shared->path, &index, &err))
			a->registered[i] = index;
		return MAPLE_IMAGE_LEFT;
	}
	e = maple_registry_add(reg, shared->path, &index, &err);
	if (e == -ECANCELED) /* time is up: so is the run, in a moment */
		return MAPLE_IMAGE_FAILED;
	if (e || maple_image_table(maple_registry_image(reg, index), &blob,
				   &size, &err)) {
		snprintf(text, sizeof(text), "%s is not observed: %s",
			 shared->path, err.text);
		options->notice(options->ctx, text);
		maple_registry_leave_out(reg, shared->path, shared->is_main);
		return MAPLE_IMAGE_FAILED;
	}
	a->registered[i] = index;
	shared->site_base = maple_registry_base(reg, index);
	maple_image_sites(maple_registry_image(reg, index), &nsites);
	shared->nsites = nsites;
	if (!append(a, blob, size, &at)) {
		free(blob);
		return MAPLE_IMAGE_FAILED;
	}
	/* As many as the agent is told of, or it would patch others. */
	assert(((struct maple_table *)blob)->nsites == nsites);
	a->table[i] = blob;
	shared->table_at = at;
	mark_alone(a, i);
	return MAPLE_IMAGE_READY;
}

/* maple_agent_tables_answer - answers the agent if it has asked */
void maple_agent_tables_answer(struct maple_agent_backend *a)
{
	struct maple_shm *shm = a->shm;
	uint32_t asks = __atomic_load_n(&shm->asks, __ATOMIC_ACQUIRE);
	uint32_t i, n;

	if (asks == shm->answers)
		return;
	n = __atomic_load_n(&shm->nimages, __ATOMIC_ACQUIRE);
	for (i = 0; i < n && i < MAPLE_SHM_IMAGES; i++)
		if (shm->image[i].state == MAPLE_IMAGE_NEW)
			__atomic_store_n(&shm->image[i].state,
					 answer_image(a, i), __ATOMIC_RELEASE);
	__atomic_store_n(&shm->answers, asks, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shm->answers, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The @i-th of the sites that @order is about alone; false: so many it has not. */
static bool named(const struct maple_run_order *order, uint32_t i,
		  uint32_t *site)
{
	if (order->kind == MAPLE_RUN_CONTROL && i < order->control->nlist)
		*site = order->control->list[i].site;
	else if (order->kind == MAPLE_RUN_PROFILE && i < order->nchanges)
		*site = order->change[i].site;
	else
		return false;
	return true;
}

/* All but those; false: there is no memory. */
static bool only_named(struct maple_agent_backend *a,
		       const struct maple_run_order *order)
{
	struct maple_site_info info;
	uint32_t site, n = 0;

	assert(!a->alone_own); /* that was another run's */
	for (uint32_t i = 0; named(order, i, &site); i++)
		if (!(site & MAPLE_SITE_CALL) && site >= n &&
		    !maple_registry_site(a->base.options.registry, site, &info))
			n = site + 1;
	a->alone_own = malloc(n + 1);
	if (!a->alone_own)
		return false;
	memset(a->alone_own, 1, n);
	for (uint32_t i = 0; named(order, i, &site); i++)
		if (site < n)
			a->alone_own[site] = 0;
	a->alone = a->alone_own;
	a->nalone = n;
	a->alone_rest = true;
	return true;
}

/* Whether what @order does not name is no business of its. */
static bool leaves_rest(const struct maple_run_order *order)
{
	const struct maple_run_control *control = order->control;

	return order->kind == MAPLE_RUN_CONTROL
		       ? control->order.policy == MAPLE_POLICY_LIST &&
				 !control->values && !control->log
		       : order->schedule == MAPLE_SCHEDULE_MEET;
}

/* Of the calls that the agent has met those that this run leaves alone. */
static void mark_calls(struct maple_agent_backend *a,
		       const struct maple_run_order *order)
{
	bool leaves = order->kind == MAPLE_RUN_CONTROL && order->alone;

	for (uint32_t k = 0; k < a->ncalls; k++) {
		uint32_t number = a->call[k] & ~MAPLE_SITE_CALL;

		a->shm->call[k].alone = leaves &&
					a->call[k] != MAPLE_SITE_NONE &&
					number < order->nalone &&
					order->alone[number] & MAPLE_ALONE_CALL;
	}
}

/*
 * maple_agent_tables_alone - marks what the next run leaves alone
 *
 * Sites that the tables of a former run left alone and this one does not are
 * observed again; a table is written only if something in it has changed.
 */
void maple_agent_tables_alone(struct maple_agent_backend *a,
			      const struct maple_run_order *order)
{
	uint32_t i;

	free(a->alone_own);
	a->alone_own = NULL;
	a->alone = order->alone;
	a->nalone = order->alone ? order->nalone : 0;
	a->alone_rest = false;
	mark_calls(a, order);
	if (leaves_rest(order))
		only_named(a, order); /* else more is patched than need be */
	for (i = 0; i < MAPLE_SHM_IMAGES; i++)
		if (a->table[i] && !mark_alone(a, i))
			return; /* then more is observed than need be */
}

/* maple_agent_tables_keep - a stem is made, which has the sites of this run */
void maple_agent_tables_keep(struct maple_agent_backend *a)
{
	struct maple_table_site *site;
	struct maple_table *t;
	uint32_t i, k;

	for (i = 0; i < MAPLE_SHM_IMAGES; i++) {
		t = a->table[i];
		site = t ? sites_of(t) : NULL;
		for (k = 0; t && k < t->nsites; k++)
			site[k].kept = !site[k].alone;
	}
}

/*
 * maple_agent_tables_kept - whether that stem has all sites of this run
 * @many_more: and more than twice as many
 */
bool maple_agent_tables_kept(struct maple_agent_backend *a, bool *many_more)
{
	const struct maple_table_site *site;
	uint64_t has = 0, needs = 0;
	struct maple_table *t;
	bool all = true;
	uint32_t i, k;

	for (i = 0; i < MAPLE_SHM_IMAGES; i++) {
		t = a->table[i];
		site = t ? sites_of(t) : NULL;
		for (k = 0; t && k < t->nsites; k++) {
			all &= site[k].kept || site[k].alone;
			has += site[k].kept;
			needs += !site[k].alone;
		}
	}
	*many_more = has > 2 * needs + MORE;
	return all;
}

/*
 * maple_agent_tables_calls - takes in the call sites that the agent has met
 *
 * Calls may come from images that are not observed, the C++ library say; they
 * are opened for their names alone.
 */
void maple_agent_tables_calls(struct maple_agent_backend *a)
{
	struct maple_registry *reg = a->base.options.registry;
	struct maple_shm_call *call;
	uint32_t n, image;

	assert(a->ncalls <= MAPLE_SHM_CALLS);
	n = __atomic_load_n(&a->shm->ncalls, __ATOMIC_ACQUIRE);
	for (; a->ncalls < n && a->ncalls < MAPLE_SHM_CALLS; a->ncalls++) {
		call = &a->shm->call[a->ncalls];
		image = MAPLE_REGISTRY_NONE;
		if (call->image < MAPLE_SHM_IMAGES) {
			image = a->registered[call->image];
			if (image == MAPLE_REGISTRY_NONE &&
			    !maple_registry_add_names(
				    reg, a->shm->image[call->image].path,
				    &image))
				a->registered[call->image] = image;
		}
		a->call[a->ncalls] =
			maple_registry_call(reg, image, call->offset);
	}
}

/* maple_agent_tables_contexts - takes in who called, as far as it is said */
void maple_agent_tables_contexts(struct maple_agent_backend *a)
{
	struct maple_registry *reg = a->base.options.registry;
	uint32_t calls[MAPLE_SHM_DEPTH], n, k;

	static_assert(MAPLE_SHM_DEPTH == MAPLE_REGISTRY_CALLERS, "all of them");
	for (uint32_t i = 0; i < MAPLE_SHM_CONTEXTS; i++) {
		const struct maple_shm_context *c = &a->shm->context[i];

		n = __atomic_load_n(&c->n, __ATOMIC_ACQUIRE);
		if (a->context[i] || !n || n > MAPLE_SHM_DEPTH)
			continue;
		for (k = 0; k < n && c->by[k].image < MAPLE_SHM_IMAGES; k++)
			calls[k] = maple_registry_call(
				reg, a->registered[c->by[k].image],
				c->by[k].offset);
		/* Without memory it stays unknown. */
		a->context[i] = k == n && !maple_registry_context(
						  reg, c->context, calls, n);
	}
}

/*
 * maple_agent_tables_number - the registry's number of what the agent calls
 * @site
 */
uint32_t maple_agent_tables_number(struct maple_agent_backend *a, uint32_t site)
{
	uint32_t k = site & ~MAPLE_SITE_CALL;

	if (!(site & MAPLE_SITE_CALL) || site == MAPLE_SITE_NONE)
		return site;
	if (k >= a->ncalls)
		maple_agent_tables_calls(a);
	return k < a->ncalls ? a->call[k] : MAPLE_SITE_NONE;
}

/* The shared image that is the registry's @index, made if it is new. */
static uint32_t share_image(struct maple_agent_backend *a, uint32_t index)
{
	struct maple_image *image =
		maple_registry_image(a->base.options.registry, index);
	const char *id = maple_image_build_id(image);
	struct maple_shm_image *shared;
	unsigned int byte;
	uint32_t i;

	/* The last target may have written anything there. */
	for (i = 0; i < a->shm->nimages && i < MAPLE_SHM_IMAGES; i++)
		if (a->registered[i] == index)
			return i;
	if (i == MAPLE_SHM_IMAGES)
		return MAPLE_REGISTRY_NONE;
	shared = &a->shm->image[i];
	memset(shared, 0, sizeof(*shared));
	snprintf(shared->path, sizeof(shared->path), "%s",
		 maple_image_path(image));
	while (shared->build_id_len < MAPLE_SHM_BUILD_ID &&
	       sscanf(id + 2 * shared->build_id_len, "%2x", &byte) == 1)
		shared->build_id[shared->build_id_len++] = byte;
	shared->state = MAPLE_IMAGE_NEW;
	a->registered[i] = MAPLE_REGISTRY_NONE;
	a->shm->nimages = i + 1;
	shared->state = answer_image(a, i);
	return i;
}

/* What the agent calls a call site; one that it has not met it is told of. */
static uint32_t call_inside(struct maple_agent_backend *a, uint32_t index,
			    uint64_t offset)
{
	uint32_t image = share_image(a, index), k;
	struct maple_shm_call *call;

	if (image == MAPLE_REGISTRY_NONE)
		return MAPLE_SITE_NONE;
	for (k = 0; k < a->shm->ncalls && k < MAPLE_SHM_CALLS; k++)
		if (a->shm->call[k].image == image &&
		    a->shm->call[k].offset == offset)
			return MAPLE_SITE_CALL | k;
	if (k == MAPLE_SHM_CALLS)
		return MAPLE_SITE_NONE;
	call = &a->shm->call[k];
	call->image = image;
	call->kind = MAPLE_EV_NONE;
	call->offset = offset;
	a->shm->ncalls = k + 1;
	maple_agent_tables_calls(a);
	return MAPLE_SITE_CALL | k;
}

/*
 * maple_agent_tables_inside - what the agent calls the site with the
 * registry's number @number, whoever has seen it; between two runs
 *
 * Errors: MAPLE_SITE_NONE when there is no room left.
 */
uint32_t maple_agent_tables_inside(struct maple_agent_backend *a,
				   uint32_t number)
{
	struct maple_site_info info;
	uint32_t k;

	if (!(number & MAPLE_SITE_CALL) || number == MAPLE_SITE_NONE)
		return number;
	for (k = 0; k < a->ncalls; k++)
		if (a->call[k] == number)
			return MAPLE_SITE_CALL | k;
	if (maple_registry_site(a->base.options.registry, number, &info) ||
	    info.image == MAPLE_REGISTRY_NONE)
		return MAPLE_SITE_NONE;
	return call_inside(a, info.image, info.offset);
}
