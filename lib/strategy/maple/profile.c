// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Profile runs: what did this order expose, and what could another one? How
 * their threads are scheduled is for whoever asks for one to say.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "predict/sets/sets.h"
#include "estimate.h"
#include "profile.h"

#define GUARDS_ASKED 500	/* candidates, after one profile run */
#define KEPT_MOST    (1u << 20) /* events of a run */
#define SETS_MOST    256	/* candidates by sets, of one run */

/* Seen during the run, before the program is known: noted at its end. */
struct seen {
	struct maple_iroot *iroots;
	size_t n, size;
};

/*
 * A profile run. What its predictor says is kept until the run's threads are
 * known. What the memo is to be told of it is collected, and told at the end.
 */
struct profile {
	struct maple_profiling *p;
	struct maple_predict *predict;
	struct maple_races *races;     /* beside it, */
	struct maple_crossed *crossed; /* ... as well; NULL: nobody asks */
	struct maple_sets *sets;       /* ... as well */
	unsigned int nsets;	       /* candidates that it brought */
	struct maple_sample sample;
	bool controlled, keeps;
	uint8_t caught; /* bit i: the job's net[i] saw something */
	struct maple_variables variables; /* CONTROL */
	struct maple_kept kept;		  /* ... if they are kept */
	struct seen seen;
	/* At its end: */
	const struct maple_run *run;
	struct maple_error *err;
	struct maple_candidate **told;
	size_t n, room;
	uint64_t not_split; /* left alone, see needs_split() */
	unsigned int fresh; /* candidates that are new */
	bool news;
	int error;
};

static int no_memory(struct profile *h)
{
	return h->error = maple_error_set(h->err, ENOMEM, "out of memory");
}

static bool will_tell(struct profile *h, struct maple_candidate *k)
{
	assert(!k->told);
	if (!maple_array_reserve(h->told, h->n, h->room)) {
		no_memory(h);
		return false;
	}
	h->told[h->n++] = k;
	k->told = true;
	return true;
}

static struct maple_candidate *take(struct profile *h,
				    const struct maple_iroot *iroot)
{
	struct maple_candidate *k =
		maple_candidate_get(&h->p->candidates, iroot);

	if (!k) {
		no_memory(h);
		return NULL;
	}
	if (!k->goal.row && !k->told && !will_tell(h, k))
		return NULL;
	return h->error ? NULL : k;
}

static void mark(struct profile *h, struct maple_candidate *k,
		 enum maple_memo_mark mark)
{
	if (!h->error && (k->told || will_tell(h, k)))
		k->goal.marks |= 1u << mark;
}

static bool can_split(void *ctx, uint32_t site)
{
	const struct maple_study *study = ctx;
	struct maple_site_info info;

	return !maple_registry_site(study->registry, site, &info) && info.splits;
}

/* What only a split instruction exposes, and nobody here can split one. */
static bool needs_split(const struct maple_study *study,
			const struct maple_iroot *iroot)
{
	struct maple_plan plan;

	return !study->splits && !maple_plan_init(&plan, iroot, 1, 0, 0) &&
	       maple_plan_splits(&plan, iroot->e[0].site);
}

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	struct profile *h = ctx;
	struct maple_candidate *k;
	const struct maple_run *run = h->run;
	uint8_t against = facts->against;
	bool startup = facts->startup;
	unsigned int i;

	if (needs_split(h->p->study, iroot)) {
		h->not_split++;
		return;
	}
	k = take(h, iroot);
	if (!k)
		return;
	if (k->facts_known && k->facts.against < against)
		against = k->facts.against;		/* once open, open */
	startup &= !k->facts_known || k->facts.startup; /* served once */
	k->facts.against = against;
	k->facts.startup = startup;
	if (!k->predicted) {
		k->predicted = true;
		mark(h, k, MAPLE_MEMO_PREDICTED);
		h->news = true;
	}
	if (k->facts_known && (k->facts.disjoint || !facts->disjoint))
		return;
	maple_candidate_know(k, facts);
	k->facts.against = against;
	k->facts.startup = startup;
	for (i = 0; i < MAPLE_IROOT_EVENTS; i++)
		if (facts->e[i].thread < run->nthreads)
			memcpy(k->name[i], run->threads[facts->e[i].thread].name,
			       MAPLE_PLAN_NAME);
}

/*
 * An order of two units. One that an iRoot of some idiom has as well is tried
 * as that: what no iRoot has is why sets are looked at.
 */
static void on_set(void *ctx, const struct maple_iroot *iroot,
		   const struct maple_predict_facts *facts)
{
	struct profile *h = ctx;
	struct maple_iroot plain = *iroot;
	struct maple_candidate *k;

	plain.idiom = maple_sets_plain(iroot->idiom);
	HASH_FIND(hh, h->p->candidates.table, &plain, sizeof(plain), k);
	if (k && k->predicted)
		return;
	HASH_FIND(hh, h->p->candidates.table, iroot, sizeof(*iroot), k);
	if (!k && h->nsets == SETS_MOST)
		return;
	h->nsets += !k;
	on_predicted(ctx, iroot, facts);
}

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct seen *seen = &((struct profile *)ctx)->seen;

	if (maple_array_reserve(seen->iroots, seen->n, seen->size))
		seen->iroots[seen->n++] = *iroot;
}

static void harvest_observed(struct profile *h)
{
	struct maple_candidate *k;
	size_t i;

	for (i = 0; i < h->seen.n; i++) {
		k = take(h, &h->seen.iroots[i]);
		if (!k)
			return;
		if (k->exposed)
			continue;
		maple_candidate_exposed(&h->p->candidates, k);
		mark(h, k, MAPLE_MEMO_OBSERVED);
	}
}

/* Adds to *@count sites at @list what is new in @sites, as far as it fits. */
static void merge(uint32_t *list, uint32_t *count, uint32_t max,
		  const uint32_t *sites, unsigned int n)
{
	unsigned int i, j;

	assert(*count <= max);
	for (i = 0; i < n && *count < max; i++) {
		for (j = 0; j < *count; j++)
			if (list[j] == sites[i])
				break;
		if (j == *count)
			list[(*count)++] = sites[i];
	}
}

/*
 * maple_profiling_guards - adds to @k what the last profile run saw around its
 * locations, for its plans
 */
void maple_profiling_guards(const struct maple_profiling *p,
			    struct maple_candidate *k)
{
	uint32_t guards[MAPLE_CANDIDATE_GUARDS], covers[MAPLE_PLAN_COVERS];
	unsigned int n;

	if (!p->predict || k->iroot.idiom >= MAPLE_SET_1)
		return; /* of sets nothing is guarded: it is order alone */
	n = maple_predict_guards(p->predict, &k->iroot, guards,
				 MAPLE_CANDIDATE_GUARDS);
	merge(k->guard, &k->nguards, MAPLE_CANDIDATE_GUARDS, guards, n);
	n = maple_predict_covers(p->predict, &k->iroot, covers,
				 MAPLE_PLAN_COVERS);
	merge(k->cover, &k->ncovers, MAPLE_PLAN_COVERS, covers, n);
}

/*
 * maple_profiling_around - the sites on the memory that @site was seen on,
 * @site first, up to @most; 0: no other thread was seen there
 */
unsigned int maple_profiling_around(const struct maple_profiling *p,
				    uint32_t site, uint32_t *sites,
				    unsigned int most)
{
	struct maple_iroot same = { MAPLE_IDIOM_1,
				    { { site, MAPLE_EV_READ },
				      { site, MAPLE_EV_WRITE } } };

	if (!most || !maple_sharing_is_shared(&p->sharing, site))
		return 0;
	sites[0] = site;
	if (most == 1 || !p->predict)
		return 1;
	return 1 + maple_predict_guards(p->predict, &same, sites + 1, most - 1);
}

/*
 * There can be tens of thousands of candidates, and the question costs a
 * search. So only some are asked about after each run, in case that no later
 * one meets their sites; all are once more when their turn comes.
 */
static void harvest_guards(struct maple_profiling *p)
{
	struct maple_candidate *k, *next;
	unsigned int asked = 0;

	HASH_ITER (hh, p->candidates.table, k, next) {
		if ((k->guarded && !k->attempts) || asked == GUARDS_ASKED ||
		    !maple_choice_allows(&p->candidates, k, &p->limits))
			continue;
		asked++;
		k->guarded = true;
		maple_profiling_guards(p, k);
	}
}

/* What the memo knew of @k before is taken over. */
static void take_over(struct maple_profiling *p, struct maple_candidate *k)
{
	const struct maple_memo_state *known = &k->goal.known;

	k->broke = known->broke;
	/* What broke a run is worth all its tries anew. */
	k->attempts = k->broke ? 0 : known->attempts;
	k->failed = k->broke ? 0 : known->failed;
	if (known->exposed)
		maple_candidate_exposed(&p->candidates, k);
}

static int tell(struct profile *h)
{
	struct maple_study *study = h->p->study;
	struct maple_goal **goals = calloc(h->n + 1, sizeof(*goals));
	struct maple_candidate *k;
	bool *fresh = calloc(h->n + 1, sizeof(*fresh));
	size_t i;
	int e;

	if (!goals || !fresh) {
		free(goals);
		free(fresh);
		return no_memory(h);
	}
	for (i = 0; i < h->n; i++) {
		assert(h->told[i]->told);
		goals[i] = &h->told[i]->goal;
		fresh[i] = !goals[i]->row;
	}
	e = study->learn(study, goals, h->n, h->err);
	/* Now it is known what was exposed long ago. */
	for (i = 0; i < h->n; i++) {
		k = h->told[i];
		if (fresh[i] && k->goal.row)
			take_over(h->p, k);
		if (k->goal.marks & 1u << MAPLE_MEMO_PREDICTED && !k->exposed)
			h->fresh++;
		/* An exposure that the memo knew of is no news. */
		if (k->goal.marks & 1u << MAPLE_MEMO_OBSERVED &&
		    !k->goal.known.exposed)
			h->news = true;
		k->goal.marks = 0;
		k->told = false;
	}
	free(goals);
	free(fresh);
	return e;
}

static int harvest(struct profile *h, const struct maple_job_end *end)
{
	struct maple_profiling *p = h->p;
	struct maple_candidate *k, *next;
	/* What a failing run did is not taken for harmless. */
	bool whole = !end->run->lost && !end->failed;
	int e;

	/* What is predicted has the names of the run's threads. */
	assert(p->predict && h->run == end->run);
	if (whole)
		harvest_observed(h);
	if (maple_predict_finish(p->predict) && !h->error)
		no_memory(h);
	if (h->sets)
		maple_sets_finish(h->sets);
	maple_prediction_add(p->study->prediction, p->predict);
	/* Some exposures are certain only now; without all events, none is. */
	if (whole)
		harvest_observed(h);
	if (h->error)
		return h->error;
	/* Most are predicted again by each run. */
	if (h->not_split > p->not_split)
		p->not_split = h->not_split;
	e = tell(h);
	if (e || !p->listens || p->study->over(p->study->ctx))
		return e;
	harvest_guards(p);
	/* Who is let go tells nothing more. */
	maple_sharing_learn(&p->sharing, &p->sample, p->predict,
			    end->run->lost || end->run->released ? NULL
								 : h->races);
	HASH_ITER (hh, p->candidates.table, k, next)
		maple_estimate_score(&p->candidates, k, p->study->registry,
				     p->study->main_image);
	return 0;
}

/* What the last profile run saw is not asked any more. */
static void forget(struct maple_profiling *p)
{
	maple_predict_destroy(p->predict);
	maple_crossed_destroy(p->crossed);
	p->predict = NULL;
	p->crossed = NULL;
}

/*
 * What controlled runs are to expect. A run that failed, or was not seen whole,
 * says too little. Until there is one, a profile run's accesses are about its
 * points.
 */
static void learn_expected(struct maple_profiling *p, struct profile *h,
			   const struct maple_job_end *end)
{
	if (end->absent || end->failed || end->run->lost)
		return;
	if (h->controlled)
		maple_net_learn(&p->net, p->study->registry, &h->variables,
				end->run);
	if (h->controlled)
		maple_expect_learn(&p->expect, &h->variables, end->run,
				   p->study->lane);
	else if (!p->expect.controlled)
		p->expect.points = p->sample.seen;
}

/*
 * maple_profiling_ended - the run of @job is over: its predictions become
 * candidates, and what it brought is @p's from here on
 */
int maple_profiling_ended(struct maple_profiling *p, struct maple_job *job,
			  const struct maple_job_end *end,
			  struct maple_error *err)
{
	struct profile *h = job->own;
	int e;

	assert(job->nnet <= MAPLE_RUN_NET);
	for (uint32_t i = 0; i < job->nnet; i++)
		if (h->caught >> i & 1)
			maple_net_tell(&p->net, job->net[i]);
	free(p->kept.event);
	p->kept = h->kept;
	memset(&h->kept, 0, sizeof(h->kept));
	if (!h->predict) {
		maple_profiling_drop(p, job);
		return 0;
	}
	forget(p);
	p->predict = h->predict;
	p->crossed = h->crossed;
	h->predict = NULL;
	h->crossed = NULL;
	maple_change_deinit(&p->sample);
	p->sample = h->sample;
	memset(&h->sample, 0, sizeof(h->sample));
	h->run = end->run;
	h->err = err;
	p->runs += !h->controlled;
	p->seen |= !end->absent && !end->run->lost && !end->run->released;
	learn_expected(p, h, end);
	e = end->absent ? 0 : harvest(h, end);
	if (e || end->absent)
		forget(p); /* it knows nothing yet */
	/* Few controlled runs bring candidates: that says nothing. */
	p->dry = h->fresh ? 0 : p->dry + !h->controlled;
	job->news = h->news;
	maple_profiling_drop(p, job);
	return e;
}

/* maple_profiling_drop - the run of @job, if any, says nothing */
void maple_profiling_drop(struct maple_profiling *p, struct maple_job *job)
{
	struct profile *h = job->own;

	if (!h)
		return;
	assert(p->underway && h->p == p);
	p->underway--;
	maple_predict_destroy(h->predict);
	maple_crossed_destroy(h->crossed);
	maple_races_destroy(h->races);
	maple_sets_destroy(h->sets);
	maple_change_deinit(&h->sample);
	maple_variables_deinit(&h->variables);
	free(h->kept.event);
	free(h->seen.iroots);
	free(h->told);
	free(h);
	job->own = NULL;
}

static void keep(struct maple_kept *kept, const struct maple_event *event)
{
	kept->cut |= kept->n == KEPT_MOST ||
		     !maple_array_reserve(kept->event, kept->n, kept->room);
	assert(kept->n <= KEPT_MOST);
	if (!kept->cut)
		kept->event[kept->n++] = *event;
}

/* maple_profiling_event - while the run of @job lasts */
void maple_profiling_event(struct maple_job *job,
			   const struct maple_event *event)
{
	struct profile *h = job->own;

	if (!h)
		return;
	for (uint32_t i = 0; i < job->nnet; i++)
		h->caught |= (event->site == job->net[i]) << i;
	if (h->keeps)
		keep(&h->kept, event);
	if (!h->predict)
		return;
	maple_change_note(h->p->study, &h->sample, event);
	if (h->controlled)
		maple_variables_note(&h->variables, event);
	maple_predict_event(h->predict, event);
	maple_races_event(h->races, event);
	if (h->sets)
		maple_sets_event(h->sets, event);
	if (h->crossed)
		maple_crossed_event(h->crossed, event);
}

/* One that never raced is none; of the first run, nobody knows yet. */
static enum maple_cross may_cross(void *ctx, uint32_t site, bool writes)
{
	const struct maple_profiling *p = ctx;
	struct maple_site_info info;

	if (!maple_sharing_raced(&p->sharing, site))
		return MAPLE_CROSS_NOT;
	if (maple_registry_site(p->study->registry, site, &info))
		return MAPLE_CROSS_MAY;
	return (writes ? info.fence_after : info.fence_before)
		       ? MAPLE_CROSS_FENCED
		       : MAPLE_CROSS_MAY;
}

/* Who asks for some idioms, or for the paper's order, has these alone. */
static bool wants_sets(const struct maple_profiling *p)
{
	return p->listens && !p->study->options->classes &&
	       p->limits.order != MAPLE_ORDER_PAPER;
}

static struct maple_sets *create_sets(const struct maple_study *study,
				      const struct maple_predict_sink *sink)
{
	struct maple_sets *sets = maple_sets_create(sink);

	if (sets && maple_sets_belong(sets, study->belonging, study->nbelonging))
		return sets;
	maple_sets_destroy(sets);
	return NULL;
}

/* @how: NULL: it is a profile run */
static int begin(struct maple_profiling *p, struct maple_job *job,
		 const struct maple_controlled *how, struct maple_error *err)
{
	struct maple_study *study = p->study;
	struct maple_predict_options options = {
		.idioms = study->options->classes,
		.over = study->over,
		.ctx = study->ctx,
		.splits = can_split,
		.splits_ctx = study,
		.no_conditions = !study->conditions,
		.ends = study->ends,
		.reads_first = study->options->order != MAPLE_ORDER_PAPER,
	};
	struct profile *h = calloc(1, sizeof(*h));
	struct maple_predict_sink sink = {
		.observed = on_observed,
		.predicted = p->listens ? on_predicted : NULL,
		.ctx = h,
	};
	struct maple_predict_sink sets = { .predicted = on_set, .ctx = h };
	bool lean = how && how->lean;
	int e;

	if (!h)
		return maple_error_set(err, ENOMEM, "out of memory");
	assert(!job->own); /* it is nobody's yet */
	h->p = p;
	h->controlled = how != NULL;
	h->keeps = how && how->keeps;
	if (study->lanes == 1 && !lean)
		forget(p); /* two of them take much memory */
	e = lean ? 0 : maple_predict_create(&options, &sink, &h->predict);
	if (!e && !lean) {
		h->races = maple_races_create();
		h->crossed =
			h->races && p->crosses
				? maple_crossed_create(h->races, may_cross, p)
				: NULL;
		if (wants_sets(p))
			h->sets = create_sets(study, &sets);
		e = h->races && (h->crossed || !p->crosses) &&
				    (h->sets || !wants_sets(p))
			    ? 0
			    : -ENOMEM;
	}
	if (e) {
		maple_races_destroy(h->races);
		maple_sets_destroy(h->sets);
		maple_predict_destroy(h->predict);
		free(h);
		return maple_error_set(err, -e, "no predictor: %s",
				       strerror(-e));
	}
	p->underway++;
	job->kind = MAPLE_RUN_PROFILE;
	job->own = h;
	job->dry = p->dry;
	job->alone = maple_sharing_choose(
		&p->sharing, study, job->seed, how != NULL,
		how ? how->leaves : MAPLE_LEAVES_LONE, &job->nalone);
	if (how)
		maple_net_order(&p->net, job);
	return 0;
}

/*
 * maple_profiling_begin - @job is to be a profile run, whose schedule is the
 * caller's to say; to be ended or dropped
 */
int maple_profiling_begin(struct maple_profiling *p, struct maple_job *job,
			  struct maple_error *err)
{
	return begin(p, job, NULL, err);
}

/*
 * maple_profiling_control - the same, with each choice of the schedule made by
 * @policy
 */
int maple_profiling_control(struct maple_profiling *p, struct maple_job *job,
			    const struct maple_controlled *how,
			    enum maple_policy_kind policy,
			    struct maple_error *err)
{
	int e = begin(p, job, how, err);

	if (e)
		return e;
	if (!maple_expect_order(&p->expect, p->study, job, policy,
				maple_change_depth(p->study), how->bound))
		return 0;
	maple_profiling_drop(p, job);
	return maple_error_set(err, ENOMEM, "out of memory");
}

/*
 * maple_profiling_follow - the same, by @list, which becomes @job's; whatever
 * comes of it. Its sites are points, shared or not
 */
int maple_profiling_follow(struct maple_profiling *p, struct maple_job *job,
			   const struct maple_controlled *how,
			   struct maple_switches *list, struct maple_error *err)
{
	int e = begin(p, job, how, err);

	for (uint32_t i = 0; i < list->n; i++)
		maple_job_keep(job, list->entry[i].site);
	job->kind = MAPLE_RUN_CONTROL;
	job->policy = (struct maple_policy_order){
		.policy = MAPLE_POLICY_LIST,
		.seed = job->seed,
		.real_time = p->study->options->real_time,
	};
	job->switches = *list;
	*list = (struct maple_switches){ 0 };
	return e;
}

/* maple_profiling_init - for as long as @study is there */
void maple_profiling_init(struct maple_profiling *p, struct maple_study *study,
			  bool listens)
{
	*p = (struct maple_profiling){ .study = study, .listens = listens };
	p->limits = maple_choice_limits_of(study->options);
}

/* maple_profiling_deinit - no job of it is under way any more */
void maple_profiling_deinit(struct maple_profiling *p)
{
	forget(p);
	maple_candidate_destroy(&p->candidates);
	maple_sharing_deinit(&p->sharing);
	maple_expect_deinit(&p->expect);
	maple_net_deinit(&p->net);
	maple_change_deinit(&p->sample);
	free(p->kept.event);
}
