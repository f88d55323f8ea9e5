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
#include <xxhash.h>
#include <maple/atomic_sets.h>
#include <maple/suppressions.h>
#include "story.h"

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
static char *name_set(const struct maple_finding *f)
{
	const char *first = NULL, *second = NULL;
	char *text;

	for (unsigned int i = 0; i < f->nmoments; i++) {
		const char *name = f->moments[i].variable;

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

static const char *class_of(uint32_t idiom)
{
	static const char *const classes[] = {
		[MAPLE_SET_1] = "set 1",
		[MAPLE_SET_2] = "set 2",
		[MAPLE_SET_3] = "set 3",
		[MAPLE_SET_4] = "set 4",
	};

	return classes[idiom];
}

/* Stable over runs, address layouts and rebuilds, as that of a finding is. */
static char *identify(struct maple_campaign *c, const struct maple_finding *f,
		      const struct maple_violated *v)
{
	XXH64_state_t *state = XXH64_createState();
	char *id;

	if (!state)
		return NULL;
	XXH64_reset(state, v->pattern);
	XXH64_update(state, f->class, strlen(f->class));
	XXH64_update(state, basename(c->program), strlen(basename(c->program)));
	if (c->options->input || c->options->argv[1] || c->between)
		XXH64_update(state, c->input, strlen(c->input));
	for (unsigned int i = 0; i < v->n; i++) {
		const struct maple_iroot_event *e = &v->iroot.e[i];
		char *print = maple_story_print(c, e->site, e->kind);

		if (print)
			XXH64_update(state, print, strlen(print));
		free(print);
	}
	if (asprintf(&id, "%012llx",
		     (unsigned long long)XXH64_digest(state) >> 16) < 0)
		id = NULL;
	XXH64_freeState(state);
	return id;
}

/* Whether the @order that was forced has the events of @v, in its order. */
static bool is_of(const struct maple_plan *order, const struct maple_violated *v)
{
	struct maple_iroot iroot;

	if (maple_plan_iroot(order, &iroot) ||
	    (iroot.idiom != v->iroot.idiom &&
	     iroot.idiom != maple_sets_plain(v->iroot.idiom)))
		return false;
	return !memcmp(iroot.e, v->iroot.e, sizeof(iroot.e));
}

/* The plan that was to have @v in @trial's run; NULL: none was. */
static const struct maple_plan *plan_of(const struct maple_trial *trial,
					const struct maple_violated *v)
{
	if (trial->job.kind != MAPLE_RUN_ENFORCE)
		return NULL;
	if (is_of(&trial->job.plan, v))
		return &trial->job.plan;
	for (unsigned int i = 0; i < trial->job.nthen; i++)
		if (trial->run.begun >> i & 1 && is_of(&trial->job.then[i], v))
			return &trial->job.then[i];
	return NULL;
}

/* It was foreseen, and the run that was to have it had it. */
static void confirm(struct maple_campaign *c, struct maple_finding *f,
		    const struct maple_trial *trial,
		    const struct maple_plan *plan)
{
	struct maple_trial alone = *trial;

	f->violation.forced_runs++;
	if (f->plan)
		return;
	alone.job.plan = *plan;
	alone.job.plan.flags &= ~MAPLE_PLAN_FOLLOWED;
	alone.job.nthen = 0;
	f->seed = alone.job.seed = plan->seed;
	f->attempt = plan->attempt;
	f->plan = maple_planfile_write(c, &alone, true);
	(void)maple_finding_line(f);
}

static bool describe(struct maple_campaign *c, struct maple_finding *f,
		     struct maple_trial *trial,
		     const struct maple_violated *seen)
{
	const struct maple_atomic_sets *sets = c->options->atomic_sets;
	struct maple_violation *v = &f->violation;

	f->class = strdup(class_of(seen->iroot.idiom));
	f->moments = calloc(seen->n, sizeof(*f->moments));
	if (!f->class || !f->moments)
		return false;
	v->pattern = seen->pattern;
	f->nmoments = seen->n;
	for (unsigned int i = 0; i < seen->n; i++)
		tell_moment(c, trial, seen, seen->order[i], &f->moments[i]);
	maple_story_share_names(f->moments, f->nmoments, NULL);
	v->declared = seen->set;
	v->set = seen->set ? strdup(sets->set[seen->set - 1].name)
			   : name_set(f);
	f->id = identify(c, f, seen);
	if (asprintf(&f->title, "%s: %s%s", maple_violation_words(v->pattern),
		     v->declared ? "set " : "", v->set ? v->set : "?") < 0)
		f->title = NULL;
	return f->id && f->title;
}

static struct maple_finding *tell(struct maple_campaign *c,
				  struct maple_trial *trial,
				  const struct maple_violated *seen)
{
	struct maple_finding *f = calloc(1, sizeof(*f));
	const char *by;

	if (!f)
		return NULL;
	f->kind = MAPLE_FAILURE_VIOLATION;
	maple_story_again(c, f, trial);
	if (!describe(c, f, trial, seen)) {
		maple_finding_destroy(f);
		return NULL;
	}
	by = maple_suppressions_match(c->options->suppressions, f);
	f->suppressed = by ? strdup(by) : NULL;
	return f;
}

/* The one that is told of @seen, which is new or not; NULL: no room. */
static struct maple_finding *told(struct maple_campaign *c,
				  struct maple_trial *trial,
				  const struct maple_violated *seen)
{
	struct maple_violations *all = &c->result->violations;
	struct maple_told *t;

	HASH_FIND(hh, c->violated.told, &seen->iroot, sizeof(seen->iroot), t);
	if (t)
		return t->finding;
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
	t->finding = tell(c, trial, seen);
	if (!t->finding)
		return NULL;
	all->at[all->n++] = t->finding;
	all->failures += all->strict && t->finding->violation.declared &&
			 !t->finding->suppressed;
	return t->finding;
}

static void count(struct maple_campaign *c, struct maple_trial *trial,
		  const struct maple_violated *seen)
{
	const struct maple_plan *plan = plan_of(trial, seen);
	struct maple_finding *f = told(c, trial, seen);

	if (!f)
		return;
	f->violation.runs++;
	f->violation.failed_runs += trial->judgement.failure != 0;
	if (plan)
		confirm(c, f, trial, plan);
	assert(f->violation.forced_runs <= f->violation.runs);
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
	     seen = seen->hh.next)
		count(c, trial, seen);
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

/* ---- one again ---- */

static uint32_t idiom_of(const char *class)
{
	uint32_t idiom = MAPLE_SET_1;

	while (idiom < MAPLE_SET_4 && strcmp(class_of(idiom), class))
		idiom++;
	return idiom;
}

/*
 * maple_violated_again - whether the run of @trial had the order of @finding,
 * which is a violation, and which @order forces
 */
bool maple_violated_again(struct maple_campaign *c,
			  const struct maple_finding *finding,
			  const struct maple_trial *order,
			  const struct maple_trial *trial)
{
	struct maple_iroot iroot;

	assert(finding->kind == MAPLE_FAILURE_VIOLATION);
	if (trial->run.lost || order->job.kind != MAPLE_RUN_ENFORCE ||
	    maple_plan_iroot(&order->job.plan, &iroot))
		return false;
	iroot.idiom = idiom_of(finding->class);
	return maple_sets_happened(trial->log, trial->nlog, &iroot, together,
				   c->registry);
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
