// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who calls: where several functions call the one that makes an access, an
 * iRoot is exposed by the first of them that it does no harm in, and says
 * nothing of the others (algorithms.md 6).
 *
 * The log of an enforced run has, with each access, who called. It is gone
 * through once more, with sites that are told apart by their callers: then the
 * predictor says which callers could make the same order. Those that did so, in
 * a run that did not fail, are harmless. The others are variants of the iRoot.
 * They are tried once it was exposed, the rarest first: what is executed often
 * in a run has been in more orders already than what is executed once.
 *
 * Not decided here: what an iRoot is tried for, and by which of its plans
 * (choice.c, candidate.c). Nothing of this is kept for other campaigns.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/array.h"
#include "base/table.h"
#include "maple.h"

#define PLACES (1u << 16) /* of one log */
#define TRIES  2	  /* of a variant, by different ways */

struct place_key {
	uint32_t site, context;
};

/* A site and its callers: a site of its own while one log is looked at. */
struct place {
	struct place_key key;
	uint32_t number, seen;
	UT_hash_handle hh, of_site; /* of_site: the first of its site */
};

struct learning {
	struct maple_profiling *p;
	const struct maple_job_end *end;
	struct place *places, *sites;
	struct place **by_number;
	uint32_t n, room;
	bool several; /* some site has more callers than one */
	bool news, no_memory;
};

static struct place *place_of(struct learning *l, uint32_t site,
			      uint32_t context)
{
	struct place_key key = { site, context };
	struct place *place, *first;

	HASH_FIND(hh, l->places, &key, sizeof(key), place);
	if (place || l->n == PLACES)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place || !maple_array_reserve(l->by_number, l->n, l->room)) {
		free(place);
		l->no_memory = true;
		return NULL;
	}
	place->key = key;
	place->number = l->n;
	l->by_number[l->n++] = place;
	HASH_ADD(hh, l->places, key, sizeof(place->key), place);
	HASH_FIND(of_site, l->sites, &site, sizeof(site), first);
	if (first)
		l->several = true;
	else
		HASH_ADD(of_site, l->sites, key.site, sizeof(site), place);
	return place;
}

static bool has_callers(const struct maple_event *event)
{
	return maple_event_is_memory(event->kind);
}

/* All places of the log, so that it is known whether they say anything. */
static void find_places(struct learning *l)
{
	struct place *place;

	for (uint32_t i = 0; i < l->end->nlog; i++) {
		const struct maple_event *event = &l->end->log[i];

		if (!has_callers(event))
			continue;
		place = place_of(l, event->site, event->aux);
		if (place)
			place->seen++;
	}
}

/* The iRoot without callers, and who they are; @seen: its events' executions. */
static bool plain(const struct learning *l, const struct maple_iroot *from,
		  struct maple_iroot *iroot, uint32_t *context, uint32_t *seen)
{
	bool called = false;

	*iroot = *from;
	*seen = 0;
	memset(context, 0, MAPLE_IROOT_EVENTS * sizeof(*context));
	for (unsigned int i = 0; i < maple_iroot_events(from->idiom); i++) {
		const struct place *place;

		if (from->e[i].site & MAPLE_SITE_CALL)
			continue;
		if (from->e[i].site >= l->n)
			return false;
		place = l->by_number[from->e[i].site];
		iroot->e[i].site = place->key.site;
		context[i] = place->key.context;
		called |= context[i] != MAPLE_CONTEXT_NONE;
		*seen += place->seen;
	}
	return called;
}

/*
 * How far apart in calls the accesses of one thread are: what belongs together
 * is in one function, more often than not. No function may have made both, or
 * the same call in two rounds of a loop has; that is far.
 */
static unsigned int apart(const struct learning *l,
			  const struct maple_iroot *iroot,
			  const uint32_t *context)
{
	const struct maple_registry *reg = l->p->study->registry;
	struct maple_plan plan;
	unsigned int most = 0, calls;

	if (maple_plan_init(&plan, iroot, 1, false, 0))
		return 0;
	for (unsigned int i = 0; i < plan.nsteps; i++)
		for (unsigned int k = 0; k < i; k++) {
			if (plan.step[k].role != plan.step[i].role)
				continue;
			calls = maple_registry_apart(
				reg, context[plan.step[k].event],
				context[plan.step[i].event]);
			if (!calls)
				calls = MAPLE_REGISTRY_CALLERS + 1;
			if (calls > most)
				most = calls;
		}
	return most;
}

/* The variant of @from, made if it is new; NULL: there is none, or no room. */
static struct maple_variant *variant_of(struct learning *l,
					const struct maple_iroot *from,
					struct maple_candidate **of)
{
	uint32_t context[MAPLE_IROOT_EVENTS], seen;
	struct maple_callers *callers;
	struct maple_candidate *k;
	struct maple_iroot iroot;

	if (!plain(l, from, &iroot, context, &seen))
		return NULL;
	HASH_FIND(hh, l->p->candidates.table, &iroot, sizeof(iroot), k);
	if (!k)
		return NULL;
	*of = k;
	callers = &k->callers;
	for (uint32_t i = 0; i < callers->n; i++)
		if (!memcmp(callers->variant[i].context, context,
			    sizeof(context)))
			return &callers->variant[i];
	if (callers->n == MAPLE_CALLERS_KNOWN)
		return NULL;
	if (!maple_array_reserve(callers->variant, callers->n, callers->room)) {
		l->no_memory = true;
		return NULL;
	}
	callers->variant[callers->n] = (struct maple_variant){
		.seen = seen,
		.apart = apart(l, &iroot, context),
	};
	memcpy(callers->variant[callers->n].context, context, sizeof(context));
	return &callers->variant[callers->n++];
}

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct maple_candidate *k;
	struct maple_variant *v = variant_of(ctx, iroot, &k);

	if (v)
		v->exposed = true;
}

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	struct learning *l = ctx;
	const struct maple_run *run = l->end->run;
	struct maple_candidate *k;
	struct maple_variant *v = variant_of(l, iroot, &k);

	if (!v || v->predicted)
		return;
	v->predicted = true;
	v->facts = *facts;
	for (unsigned int i = 0; i < MAPLE_IROOT_EVENTS; i++)
		if (facts->e[i].thread < run->nthreads)
			memcpy(v->name[i], run->threads[facts->e[i].thread].name,
			       MAPLE_PLAN_NAME);
	l->news |= k->callers.n > 1 && !v->exposed;
}

/* Whether the halves of what is at a place can be told apart. */
static bool splits(void *ctx, uint32_t number)
{
	const struct learning *l = ctx;
	struct maple_site_info info;

	return number < l->n &&
	       !maple_registry_site(l->p->study->registry,
				    l->by_number[number]->key.site, &info) &&
	       info.splits;
}

static int predict(struct learning *l)
{
	const struct maple_study *study = l->p->study;
	struct maple_predict_options options = {
		.idioms = study->options->classes,
		.over = study->over,
		.ctx = study->ctx,
		.splits = splits,
		.splits_ctx = l,
		.no_conditions = !study->conditions,
		.ends = study->ends,
		.reads_first = true,
	};
	struct maple_predict_sink sink = { .observed = on_observed,
					   .predicted = on_predicted,
					   .ctx = l };
	struct maple_predict *predict;
	int e = maple_predict_create(&options, &sink, &predict);

	if (e)
		return e;
	for (uint32_t i = 0; i < l->end->nlog; i++) {
		struct maple_event event = l->end->log[i];

		if (has_callers(&event)) {
			struct place *place = place_of(l, event.site, event.aux);

			if (!place)
				continue;
			event.site = place->number;
		}
		maple_predict_event(predict, &event);
	}
	e = maple_predict_finish(predict);
	maple_predict_destroy(predict);
	return e;
}

/*
 * maple_callers_learn - what the log of an enforced run that did not fail tells
 *                       of who calls; *@news: something new
 */
int maple_callers_learn(struct maple_profiling *p,
			const struct maple_job_end *end, bool *news,
			struct maple_error *err)
{
	struct learning l = { .p = p, .end = end };
	int e = 0;

	if (p->limits.order == MAPLE_ORDER_PAPER || !p->study->callers ||
	    end->failed || end->run->lost)
		return 0;
	find_places(&l);
	if (l.several && !l.no_memory)
		e = predict(&l);
	*news |= l.news;
	HASH_CLEAR(of_site, l.sites);
	maple_table_clear(l.places);
	free(l.by_number);
	return e || l.no_memory ? maple_error_set(err, ENOMEM, "out of memory")
				: 0;
}

/* ---- which one is next ---- */

/* Less than 0: @a is tried before @b, as far as they alone say. */
static int compare(const struct maple_variant *a, const struct maple_variant *b)
{
	if (a->tries != b->tries)
		return a->tries < b->tries ? -1 : 1;
	if (a->apart != b->apart)
		return a->apart < b->apart ? -1 : 1;
	return (a->seen > b->seen) - (a->seen < b->seen);
}

/*
 * maple_callers_tried - @v was, and the run did not fail
 * @missed: as of maple_choice_looked(), for the same reason
 */
void maple_callers_tried(struct maple_variant *v, bool missed)
{
	v->missed = missed && !v->missed;
	assert(v->tries);
	v->tries -= v->missed;
}

/* The one of @c that is tried next, from 1; 0: there is none. */
static uint32_t next_of(const struct maple_candidate *c)
{
	const struct maple_callers *callers = &c->callers;
	const struct maple_variant *best = NULL, *v;
	uint32_t tried = 0;

	for (uint32_t i = 0; i < callers->n; i++)
		tried += callers->variant[i].tries != 0;
	/* Of one alone nothing more is known than of the iRoot. */
	for (uint32_t i = 0; i < callers->n && callers->n > 1; i++) {
		v = &callers->variant[i];
		if (!v->predicted || v->exposed || v->tries >= TRIES ||
		    (!v->tries && tried >= MAPLE_CALLERS_TRIED))
			continue;
		if (!best || compare(v, best) < 0)
			best = v;
	}
	return best ? (uint32_t)(best - callers->variant) + 1 : 0;
}

/*
 * maple_callers_next - the exposed one of which variant *@which, from 1, is
 *                      tried next; NULL if there is none
 */
struct maple_candidate *
maple_callers_next(const struct maple_candidates *all,
		   const struct maple_choice_limits *limits, uint32_t *which)
{
	struct maple_candidate *best = NULL, *c, *next;
	const struct maple_variant *v, *was = NULL;
	uint32_t i;

	HASH_ITER (hh, all->table, c, next) {
		if (!c->exposed || c->goal.found || c->busy || !c->goal.row ||
		    !c->callers.n || (limits->serving && c->facts.startup))
			continue;
		i = next_of(c);
		if (!i)
			continue;
		v = &c->callers.variant[i - 1];
		if (was && v->tries == was->tries && c->score != best->score
			    ? c->score < best->score
			    : was && compare(v, was) >= 0)
			continue;
		best = c;
		was = v;
		*which = i;
	}
	return best;
}

/* maple_callers_plan - the plan for variant @which, from 1, of @c */
int maple_callers_plan(const struct maple_candidate *c, uint32_t which,
		       uint64_t seed, struct maple_plan *plan)
{
	static const unsigned int plain[TRIES] = { 1, 2 },
				  gated[TRIES] = { 1, 5 };
	const struct maple_variant *v = &c->callers.variant[which - 1];
	struct maple_candidate own = *c;

	assert(which && which <= c->callers.n && v->predicted);
	maple_candidate_know(&own, &v->facts);
	memcpy(own.name, v->name, sizeof(own.name));
	if (maple_candidate_plan(&own,
				 (own.gated ? gated : plain)[v->tries % TRIES],
				 false, seed, plan))
		return -1;
	for (uint32_t i = 0; i < plan->nsteps; i++)
		plan->step[i].context = v->context[plan->step[i].event];
	return 0;
}

/* maple_callers_deinit - frees what it is made of */
void maple_callers_deinit(struct maple_callers *callers)
{
	free(callers->variant);
	*callers = (struct maple_callers){ 0 };
}
