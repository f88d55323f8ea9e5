// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Violations of atomic sets, over all runs of a campaign: which there were, in
 * how many runs, and how many of these failed (algorithms.md 17). They are
 * below findings: nothing here changes what is run next.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/atomic_sets.h>
#include "story.h"

/* One that is told. */
struct maple_told {
	struct maple_iroot iroot;
	struct maple_violation *violation; /* the result's */
	UT_hash_handle hh;
};

static bool together(void *ctx, uint32_t a, uint32_t b)
{
	return maple_registry_together(ctx, a, b);
}

static bool is_whole(const struct maple_trial *trial)
{
	return trial->job.kind == MAPLE_RUN_PROFILE ||
	       trial->job.kind == MAPLE_RUN_CONTROL;
}

/* maple_violated_begin - before @trial's run: it is watched, if anybody asks */
void maple_violated_begin(struct maple_campaign *c, struct maple_trial *trial)
{
	assert(!trial->witness);
	if (!c->result->violations.asked ||
	    (!is_whole(trial) && trial->job.kind != MAPLE_RUN_ENFORCE))
		return;
	trial->witness = maple_witness_create(c->belongs.at, c->belongs.n,
					      c->options->atomic_sets);
}

/* maple_violated_judge - after it: which violations it had */
void maple_violated_judge(struct maple_campaign *c, struct maple_trial *trial)
{
	/* Between two events of the log, any number may be missing. */
	if (!trial->witness || trial->run.lost)
		return;
	if (is_whole(trial))
		maple_witness_finish(trial->witness);
	else
		maple_witness_forced(trial->witness, trial->log, trial->nlog,
				     &c->violated.mates, together, c->registry);
}

static void tell_moment(struct maple_campaign *c, struct maple_trial *trial,
			const struct maple_violated *v, unsigned int event,
			struct maple_moment *moment)
{
	const struct maple_violated_end *e = &v->e[event];
	uint32_t site = v->iroot.e[event].site;
	struct maple_asked asked = { .addr = e->addr,
				     .size = e->size,
				     .site = site };
	bool unnamed = trial->unnamed;
	struct maple_naming n;

	if (trial->nlog)
		asked.until = trial->log + trial->nlog;
	maple_registry_place(c->registry, site, &moment->place);
	maple_story_name(c, trial, &asked, &n);
	trial->unnamed = unnamed; /* of the failure alone that is asked */
	moment->kind = maple_story_letter[v->iroot.e[event].kind];
	moment->role = v->q >> event & 1;
	moment->event = event;
	moment->from = -1;
	moment->address = e->addr;
	moment->variable = n.name;
	moment->origin = n.origin;
	if (n.typed)
		moment->type = strdup(n.variable.type);
	if (e->thread < trial->run.nthreads)
		moment->thread = strdup(trial->run.threads[e->thread].name);
	if (trial->job.kind == MAPLE_RUN_ENFORCE)
		moment->callers = maple_story_callers(c, e->context);
	n.name = n.origin = NULL;
	maple_naming_deinit(&n);
}

/* "balance", or "head and tail": of the variables that it is about. */
static char *name_set(const struct maple_violation *v)
{
	const char *first = NULL, *second = NULL;
	char *text;

	for (unsigned int i = 0; i < v->nmoments; i++) {
		const char *name = v->moments[i].variable;

		if (!name)
			continue;
		if (!first)
			first = name;
		else if (!second && strcmp(first, name))
			second = name;
	}
	if (!first)
		return NULL;
	if (asprintf(&text, "%s%s%s", first, second ? " and " : "",
		     second ? second : "") < 0)
		return NULL;
	return text;
}

static struct maple_violation *tell(struct maple_campaign *c,
				    struct maple_trial *trial,
				    const struct maple_violated *seen)
{
	static const char *const classes[] = {
		[MAPLE_SET_1] = "set 1",
		[MAPLE_SET_2] = "set 2",
		[MAPLE_SET_3] = "set 3",
		[MAPLE_SET_4] = "set 4",
	};
	struct maple_violation *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->moments = calloc(seen->n, sizeof(*v->moments));
	if (!v->moments) {
		free(v);
		return NULL;
	}
	v->class = classes[seen->iroot.idiom];
	v->pattern = seen->pattern;
	v->first_run = c->run_number;
	v->nmoments = seen->n;
	for (unsigned int i = 0; i < seen->n; i++)
		tell_moment(c, trial, seen, seen->order[i], &v->moments[i]);
	maple_story_share_names(v->moments, v->nmoments, NULL);
	v->declared = seen->set;
	v->set =
		seen->set
			? strdup(c->options->atomic_sets->set[seen->set - 1].name)
			: name_set(v);
	return v;
}

/* The one that is told of @seen, which is new or not; NULL: no room. */
static struct maple_violation *told(struct maple_campaign *c,
				    struct maple_trial *trial,
				    const struct maple_violated *seen)
{
	struct maple_violations *all = &c->result->violations;
	struct maple_told *t;

	HASH_FIND(hh, c->violated.told, &seen->iroot, sizeof(seen->iroot), t);
	if (t)
		return t->violation;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->iroot = seen->iroot;
	HASH_ADD(hh, c->violated.told, iroot, sizeof(t->iroot), t);
	if (!t->hh.tbl) {
		free(t);
		return NULL;
	}
	if (all->n == MAPLE_VIOLATIONS_MOST) {
		all->more++;
		return NULL;
	}
	t->violation = tell(c, trial, seen);
	if (t->violation)
		all->at[all->n++] = t->violation;
	all->failures += all->strict && t->violation && t->violation->declared;
	return t->violation;
}

/* maple_violated_ended - @trial is judged, and its strategy has heard of it */
void maple_violated_ended(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_violations *all = &c->result->violations;
	struct maple_witness_stats stats;
	struct maple_violated *seen;

	assert(maple_lane_has_turn(c));
	if (!trial->witness || trial->run.lost || !trial->studied)
		return;
	if (c->options->atomic_sets && is_whole(trial))
		maple_belongs_learn(c, trial->witness);
	if (!all->at)
		all->at = calloc(MAPLE_VIOLATIONS_MOST, sizeof(*all->at));
	if (!all->at)
		return;
	for (seen = maple_witness_found(trial->witness); seen;
	     seen = seen->hh.next) {
		struct maple_violation *v = told(c, trial, seen);

		if (!v)
			continue;
		v->runs++;
		v->failed_runs += trial->judgement.failure != 0;
	}
	maple_witness_stats(trial->witness, &stats);
	all->runs++;
	all->units += stats.units;
	all->unsure += stats.unsure;
	all->cut += stats.cut;
	/* What a failing run did in one unit is no other than what it is. */
	if (!maple_mates_join(&c->violated.mates,
			      maple_witness_mates(trial->witness)))
		all->cut++;
}

/* maple_violated_deinit - what is told stays the result's */
void maple_violated_deinit(struct maple_campaign *c)
{
	struct maple_told *t, *next;

	HASH_ITER (hh, c->violated.told, t, next) {
		HASH_DEL(c->violated.told, t);
		free(t);
	}
	maple_mates_deinit(&c->violated.mates);
}
