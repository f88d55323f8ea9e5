// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Enforced runs: one try of one candidate. The automaton says whether it
 * exposed the iRoot; the observer reads the log of the run and has the last
 * word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define SLICE_LEAST_MS	     10
#define ROUND_SLICE_LEAST_MS 1 /* start-up and end are no part of a round */

struct verdict {
	struct maple_campaign *c;
	struct maple_trial *trial;
	bool seen[1 + MAPLE_RUN_THEN]; /* by plan of the run */
	bool news;
};

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct verdict *v = ctx;
	struct maple_candidate *k;
	unsigned int i;

	for (i = 0; i <= v->trial->nthen; i++) {
		k = i ? v->trial->beside[i - 1] : v->trial->candidate;
		if (memcmp(iroot, &k->iroot, sizeof(*iroot)))
			continue;
		v->seen[i] = true;
		if (!i || v->trial->run.begun >> (i - 1) & 1)
			return;
		break; /* its plan never began: for free */
	}
	/* What a failing run did does no good. */
	if (v->trial->judgement.failure)
		return;
	/* Exposed on the way, for free. */
	HASH_FIND(hh, v->c->candidates.table, iroot, sizeof(*iroot), k);
	if (!k || k->exposed)
		return;
	maple_candidate_exposed(&v->c->candidates, k);
	maple_memo_mark(v->c->memo, v->c->memo_program, k->row,
			MAPLE_MEMO_OBSERVED, NULL);
	v->news = true;
}

static int read_log(struct maple_campaign *c, struct maple_trial *trial,
		    struct verdict *v)
{
	/* Between two events of the log, any number may be missing. */
	struct maple_predict_options options = {
		.no_predict = true,
		.no_observe = trial->run.lost > 0,
		.ends = true,
	};
	struct maple_predict_sink sink = { .observed = on_observed, .ctx = v };
	struct maple_predict *p;
	uint32_t i;
	int e = maple_predict_create(&options, &sink, &p);

	if (e)
		return maple_error_set(c->err, -e, "no observer: %s",
				       strerror(-e));
	for (i = 0; i < trial->nlog; i++)
		maple_predict_event(p, &trial->log[i]);
	maple_predict_finish(p);
	maple_prediction_add(&c->result->prediction, p);
	maple_predict_destroy(p);
	return 0;
}

/*
 * A deadlock that was forced leaves no dependency to observe: its last two
 * steps never happen. The kernel's word, every thread waiting, stands in.
 */
static bool confirmed(const struct maple_trial *trial, const struct verdict *v)
{
	if (trial->candidate->iroot.idiom == MAPLE_IDIOM_DEADLOCK)
		return trial->run.end == MAPLE_END_DEADLOCK;
	return v->seen[0];
}

/* Why the try came to what it did: the first cause that holds. */
static enum maple_memo_reason reason(const struct maple_trial *trial)
{
	const struct maple_auto_result *r = &trial->run.automaton;
	uint32_t all = (1u << trial->plan.nsteps) - 1;

	if (trial->exposed)
		return MAPLE_MEMO_REASON_EXPOSED;
	if (trial->refused)
		return MAPLE_MEMO_REASON_REFUSED;
	if (!trial->run.delivered)
		return MAPLE_MEMO_REASON_UNDELIVERED;
	if (trial->judgement.failure)
		return MAPLE_MEMO_REASON_FAILED;
	if (all & ~r->reached)
		return MAPLE_MEMO_REASON_UNREACHED;
	return r->attempts && r->steps ? MAPLE_MEMO_REASON_GAVE_UP
				       : MAPLE_MEMO_REASON_UNMET;
}

/*
 * The same of a plan that followed. It had its chance if a thread stood before
 * each of its steps while it was its turn; else much lay behind already, and
 * nobody has learned anything.
 */
static bool had_chance(const struct maple_trial *trial, unsigned int i)
{
	uint32_t all = (1u << trial->then[i].nsteps) - 1;

	return trial->run.begun >> i & 1 && !(all & ~trial->run.then[i].reached);
}

static int mark(struct maple_campaign *c, const struct maple_candidate *k,
		enum maple_memo_mark what)
{
	return maple_memo_mark(c->memo, c->memo_program, k->row, what, c->err);
}

static int record_next(struct maple_campaign *c, struct maple_trial *trial,
		       struct verdict *v, unsigned int i)
{
	struct maple_candidate *k = trial->beside[i];
	bool exposed = v->seen[1 + i] && trial->run.begun >> i & 1;
	int e;

	if (!exposed && !had_chance(trial, i))
		return 0;
	k->attempts++;
	maple_odds_tried(&c->candidates.odds, &k->iroot, &k->facts,
			 k->attempts == 1, exposed);
	if (exposed) {
		v->news |= !k->exposed;
		maple_candidate_exposed(&c->candidates, k);
	} else {
		k->failed++;
	}
	e = mark(c, k, MAPLE_MEMO_ATTEMPT);
	return e ? e
		 : mark(c, k, exposed ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_FAILED);
}

/*
 * The run has failed. Which of its orders did it is found out later; none of
 * them is taken for a harmless one, in this campaign or in a later one.
 */
static int record_broken(struct maple_campaign *c, struct maple_trial *trial)
{
	int e = mark(c, trial->candidate, MAPLE_MEMO_BROKE);

	for (unsigned int i = 0; i < trial->nthen && !e; i++)
		if (trial->run.begun >> i & 1)
			e = mark(c, trial->beside[i], MAPLE_MEMO_BROKE);
	return e;
}

static int record(struct maple_campaign *c, struct maple_trial *trial, void *ctx)
{
	struct maple_candidate *k = trial->candidate;
	struct verdict *v = ctx;
	unsigned int i;
	int e = read_log(c, trial, v);

	if (e)
		return e;
	trial->claimed = trial->run.automaton.exposed;
	trial->exposed = confirmed(trial, v);
	trial->refused = trial->claimed && !trial->exposed;
	trial->reason = reason(trial);
	if (!trial->again && (trial->exposed || trial->run.delivered))
		maple_odds_tried(&c->candidates.odds, &k->iroot, &k->facts,
				 k->attempts == 1, trial->exposed);
	if (trial->judgement.failure)
		return record_broken(c, trial);
	if (trial->again)
		return 0;
	if (trial->exposed) {
		v->news |= !k->exposed;
		maple_candidate_exposed(&c->candidates, k);
	} else if (trial->run.delivered) {
		k->failed++;
	} else {
		return 0; /* says nothing about the iRoot */
	}
	e = mark(c, k, trial->exposed ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_FAILED);
	for (i = 0; i < trial->nthen && !e; i++)
		e = record_next(c, trial, v, i);
	return e;
}

/*
 * A wait that ends by itself ends within the time that a native run takes, or
 * else nothing good comes of waiting for it: ten slices make a native run, or
 * a round of requests.
 */
static uint32_t slice_ms(const struct maple_campaign *c)
{
	double seconds = c->between ? c->round_seconds : c->native_seconds;
	double least = c->between ? ROUND_SLICE_LEAST_MS : SLICE_LEAST_MS;
	double ms = seconds * 1000 / 10;

	if (ms > MAPLE_PLAN_SLICE_MS)
		return MAPLE_PLAN_SLICE_MS;
	return ms < least ? least : (uint32_t)ms;
}

/* What may be tried in the same run, should its turn come. */
static int add_followers(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_candidate *chosen[1 + MAPLE_RUN_THEN] = {
		trial->candidate
	};
	unsigned int most = c->lanes.turn->pair->enforce->ops->follow;
	struct maple_candidate *k;
	struct maple_plan *plan;

	if (c->options->together && c->options->together - 1 < most)
		most = c->options->together - 1;
	while (trial->nthen < most) {
		k = maple_strategy_beside(c, chosen, 1 + trial->nthen);
		if (!k)
			break;
		maple_profile_guards(c, k);
		plan = &trial->then[trial->nthen];
		if (maple_candidate_plan(k, k->attempts + 1, false,
					 trial->seed + trial->nthen + 1, plan))
			return -EINVAL;
		plan->slice_ms = trial->plan.slice_ms;
		plan->flags |= MAPLE_PLAN_FOLLOWED;
		trial->beside[trial->nthen++] = k;
		chosen[trial->nthen] = k;
		k->busy = true;
		k->rides++;
	}
	if (!trial->nthen)
		return 0;
	trial->plan.flags |= MAPLE_PLAN_FOLLOWED;
	trial->then[trial->nthen - 1].flags &= ~MAPLE_PLAN_FOLLOWED;
	return 0;
}

/*
 * Of a program that was joined: which of its workers gets which request, and
 * how often it has done so, is another thing each time.
 */
static void forget_hints(struct maple_plan *plan)
{
	memset(plan->hint, 0, sizeof(plan->hint));
	for (uint32_t i = 0; i < plan->nsteps; i++)
		plan->step[i].occurrence = 0;
}

/*
 * Which try the next one of @k is. Of an order that was exposed, without hints
 * first: they have it come about as it did before.
 */
static unsigned int attempt_of(const struct maple_candidate *k)
{
	static const unsigned int plain[] = { 1, 2, 3, 4, 5 };
	static const unsigned int gated[] = { 1, 5, 2, 3, 4 };
	static const unsigned int again[] = { 3, 4, 2, 1, 5 };
	bool gates = k->gated;

	if (k->exposed)
		return again[k->looks % (MAPLE_PLAN_WAYS - !gates)];
	return (gates ? gated : plain)[k->attempts % MAPLE_PLAN_WAYS];
}

/*
 * Whether freed memory is filled in the next try of @k. What a block held may
 * itself make the program fail (a count that is zero is freed again), so other
 * orders are tried with memory as it is first.
 */
static bool fills(const struct maple_candidate *k)
{
	return k->ends || k->attempts || k->exposed;
}

/*
 * maple_enforce_run - the next try of @candidate
 * @news: an iRoot was exposed for the first time
 */
int maple_enforce_run(struct maple_campaign *c,
		      struct maple_candidate *candidate,
		      struct maple_trial *trial, bool *news)
{
	struct verdict v = { .c = c, .trial = trial };
	bool paper = c->options->order == MAPLE_ORDER_PAPER;
	unsigned int *count, i;
	int e;

	trial->kind = MAPLE_RUN_ENFORCE;
	trial->purpose = MAPLE_FOR_ENFORCED;
	trial->candidate = candidate;
	trial->rested = maple_strategy_rests(c, candidate);
	trial->settle = record;
	trial->settle_ctx = &v;
	trial->seed = maple_campaign_seed(c, ++c->run_number);
	maple_profile_guards(c, candidate);
	trial->again = candidate->exposed;
	trial->fill = !c->options->no_heap_fill && fills(candidate);
	if (maple_candidate_plan(candidate, attempt_of(candidate), paper,
				 trial->seed, &trial->plan))
		return maple_error_set(c->err, EINVAL, "no plan for idiom %u",
				       candidate->iroot.idiom);
	if (c->attached)
		forget_hints(&trial->plan);
	trial->plan.slice_ms = slice_ms(c);
	e = trial->again ? 0 : add_followers(c, trial);
	if (e)
		return maple_error_set(c->err, EINVAL, "no plan that follows");
	count = trial->again ? &candidate->looks : &candidate->attempts;
	++*count;
	trial->attempt = !trial->again;
	e = maple_trial_run(c, trial);
	*count -= trial->judgement.unjudged;
	for (i = 0; i < trial->nthen; i++)
		trial->beside[i]->busy = false;
	*news = v.news;
	return e;
}
