// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Enforced runs: one try of one candidate. The automaton says whether it
 * exposed the iRoot; the observer reads the log of the run and has the last
 * word.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "predict/sets/sets.h"
#include "estimate.h"
#include "maple.h"

struct verdict {
	struct maple_profiling *p;
	struct maple_job *job;
	const struct maple_job_end *end;
	struct maple_error *err;
	bool seen[1 + MAPLE_RUN_THEN]; /* by plan of the run */
};

static struct maple_candidate *of(const struct maple_job *job, unsigned int i)
{
	assert(i <= job->nthen);
	return maple_candidate_of(i ? job->beside[i - 1] : job->goal);
}

static struct maple_variant *variant_of(const struct maple_job *job)
{
	assert(job->variant && job->variant <= of(job, 0)->callers.n);
	return &of(job, 0)->callers.variant[job->variant - 1];
}

static bool begun(const struct verdict *v, unsigned int i)
{
	return !i || v->end->run->begun >> (i - 1) & 1;
}

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct verdict *v = ctx;
	struct maple_study *study = v->p->study;
	struct maple_candidate *k;
	unsigned int i;

	for (i = 0; i <= v->job->nthen; i++) {
		if (memcmp(iroot, &of(v->job, i)->iroot, sizeof(*iroot)))
			continue;
		v->seen[i] = true;
		if (begun(v, i))
			return;
		break; /* its plan never began: for free */
	}
	/* What a failing run did does no good. */
	if (v->end->failed)
		return;
	/* Exposed on the way, for free. */
	HASH_FIND(hh, v->p->candidates.table, iroot, sizeof(*iroot), k);
	if (!k || k->exposed)
		return;
	maple_candidate_exposed(&v->p->candidates, k);
	study->mark(study, &k->goal, MAPLE_MEMO_OBSERVED, NULL);
	v->job->news = true;
}

static bool together(void *ctx, uint32_t a, uint32_t b)
{
	return maple_registry_together(ctx, a, b);
}

/* What no idiom has the predictor does not see: it is asked of the log. */
static void look_for_sets(struct verdict *v)
{
	const struct maple_run *run = v->end->run;

	for (unsigned int i = 0; i <= v->job->nthen && !run->lost; i++) {
		bool claimed = i ? run->then[i - 1].exposed
				 : run->automaton.exposed;

		if (of(v->job, i)->iroot.idiom >= MAPLE_SET_1 && claimed &&
		    begun(v, i))
			v->seen[i] = maple_sets_happened(
				v->end->log, v->end->nlog, &of(v->job, i)->iroot,
				together, v->p->study->registry);
	}
}

static int read_log(struct verdict *v)
{
	/* Between two events of the log, any number may be missing. */
	struct maple_predict_options options = {
		.no_predict = true,
		.no_observe = v->end->run->lost > 0,
		.ends = true,
	};
	struct maple_predict_sink sink = { .observed = on_observed, .ctx = v };
	struct maple_predict *p;
	uint32_t i;
	int e = maple_predict_create(&options, &sink, &p);

	if (e)
		return maple_error_set(v->err, -e, "no observer: %s",
				       strerror(-e));
	for (i = 0; i < v->end->nlog; i++)
		maple_predict_event(p, &v->end->log[i]);
	maple_predict_finish(p);
	look_for_sets(v);
	maple_prediction_add(v->p->study->prediction, p);
	maple_predict_destroy(p);
	return 0;
}

/*
 * A deadlock that was forced leaves no dependency to observe: its last two
 * steps never happen. The kernel's word, every thread waiting, stands in.
 */
static bool confirmed(const struct verdict *v)
{
	if (of(v->job, 0)->iroot.idiom == MAPLE_IDIOM_DEADLOCK)
		return v->end->run->end == MAPLE_END_DEADLOCK;
	return v->seen[0];
}

/* Why the try came to what it did: the first cause that holds. */
static enum maple_memo_reason reason(const struct verdict *v)
{
	const struct maple_auto_result *r = &v->end->run->automaton;
	uint32_t all = (1u << v->job->plan.nsteps) - 1;

	if (v->job->exposed)
		return MAPLE_MEMO_REASON_EXPOSED;
	if (v->job->refused)
		return MAPLE_MEMO_REASON_REFUSED;
	if (!v->end->run->delivered)
		return MAPLE_MEMO_REASON_UNDELIVERED;
	if (v->end->failed)
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
static bool had_chance(const struct verdict *v, unsigned int i)
{
	uint32_t all = (1u << v->job->then[i].nsteps) - 1;

	assert(i < v->job->nthen);
	return begun(v, 1 + i) && !(all & ~v->end->run->then[i].reached);
}

static int mark(struct verdict *v, const struct maple_candidate *k,
		enum maple_memo_mark what)
{
	struct maple_study *study = v->p->study;

	return study->mark(study, &k->goal, what, v->err);
}

static void exposed(struct verdict *v, struct maple_candidate *k)
{
	v->job->news |= !k->exposed;
	maple_candidate_exposed(&v->p->candidates, k);
}

static int record_next(struct verdict *v, unsigned int i)
{
	struct maple_candidate *k = of(v->job, 1 + i);
	bool done = v->seen[1 + i] && begun(v, 1 + i);
	int e;

	if (!done && !had_chance(v, i))
		return 0;
	k->attempts++;
	maple_estimate_tried(&v->p->candidates, k, k->attempts == 1, done);
	if (done)
		exposed(v, k);
	else
		k->failed++;
	e = mark(v, k, MAPLE_MEMO_ATTEMPT);
	return e ? e
		 : mark(v, k, done ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_FAILED);
}

/*
 * The run has failed. Which of its orders did it is found out later; none of
 * them is taken for a harmless one, in this campaign or in a later one.
 */
static int record_broken(struct verdict *v)
{
	int e = 0;

	for (unsigned int i = 0; i <= v->job->nthen && !e; i++)
		if (begun(v, i))
			e = mark(v, of(v->job, i), MAPLE_MEMO_BROKE);
	return e;
}

static int record(struct verdict *v)
{
	struct maple_job *job = v->job;
	struct maple_candidate *k = of(job, 0);
	unsigned int i;
	int e = read_log(v);

	if (e)
		return e;
	job->claimed = v->end->run->automaton.exposed;
	job->exposed = confirmed(v);
	job->refused = job->claimed && !job->exposed;
	job->reason = reason(v);
	if (!job->again && (job->exposed || v->end->run->delivered))
		maple_estimate_tried(&v->p->candidates, k, k->attempts == 1,
				     job->exposed);
	if (v->end->failed)
		return record_broken(v);
	e = maple_callers_learn(v->p, v->end, &job->news, v->err);
	if (e)
		return e;
	if (job->variant) {
		maple_callers_tried(variant_of(job),
				    job->exposed && !job->claimed);
		variant_of(job)->exposed |= job->exposed && job->claimed;
		job->news |= job->exposed && job->claimed;
		return 0;
	}
	if (job->again) {
		maple_choice_looked(k, job->exposed && !job->claimed);
		return 0;
	}
	if (job->exposed)
		exposed(v, k);
	else if (v->end->run->delivered)
		k->failed++;
	else
		return 0; /* says nothing about the iRoot */
	e = mark(v, k, job->exposed ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_FAILED);
	for (i = 0; i < job->nthen && !e; i++)
		e = record_next(v, i);
	return e;
}

/* Nothing of @job is under way any more. */
static void leave(struct maple_job *job)
{
	for (unsigned int i = 0; i <= job->nthen; i++) {
		assert(of(job, i)->busy);
		of(job, i)->busy = false;
	}
}

/* maple_enforce_ended - what the run of @job says about its orders */
int maple_enforce_ended(struct maple_profiling *p, struct maple_job *job,
			const struct maple_job_end *end, struct maple_error *err)
{
	struct verdict v = { .p = p, .job = job, .end = end, .err = err };

	leave(job);
	return record(&v);
}

/* maple_enforce_drop - the run of @job says nothing: it was no try */
void maple_enforce_drop(struct maple_job *job)
{
	struct maple_candidate *k = of(job, 0);

	leave(job);
	if (job->variant)
		variant_of(job)->tries--;
	else
		--*(job->again ? &k->looks : &k->attempts);
}

/*
 * What may be tried in the same run as the first that is @chosen, should its
 * turn come, behind it. Returns how many there are then.
 */
static unsigned int choose_followers(struct maple_profiling *p,
				     struct maple_candidate **chosen)
{
	const struct maple_study *study = p->study;
	unsigned int most = study->most, together = study->options->together;
	unsigned int n = 1;

	assert(most <= MAPLE_RUN_THEN);
	if (p->limits.order == MAPLE_ORDER_PAPER)
		return n;
	if (together && together - 1 < most)
		most = together - 1;
	while (n <= most && (chosen[n] = maple_choice_beside(
				     &p->candidates, &p->limits, chosen, n)))
		n++;
	return n;
}

/* The @n candidates @k come behind the one of @job. */
static int add_followers(struct maple_profiling *p, struct maple_job *job,
			 struct maple_candidate *const *k, unsigned int n)
{
	struct maple_plan *plan = &job->plan;

	assert(!job->nthen && n <= MAPLE_RUN_THEN);
	for (unsigned int i = 0; i < n; i++) {
		assert(!k[i]->busy);
		plan->flags |= MAPLE_PLAN_FOLLOWED;
		maple_profiling_guards(p, k[i]);
		plan = &job->then[i];
		if (maple_candidate_plan(k[i], k[i]->attempts + 1, false,
					 job->seed + i + 1, plan))
			return -EINVAL;
		job->beside[job->nthen++] = &k[i]->goal;
		k[i]->busy = true;
		k[i]->rides++;
	}
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
 * maple_enforce_begin - @job is the next try of @candidate, or of its variant
 * @which, from 1; to be ended or dropped
 *
 * Where others share the memo it may be another candidate that was to be tried
 * beside it, or none: then the job has no goal, and another one is to be chosen.
 */
int maple_enforce_begin(struct maple_profiling *p, struct maple_job *job,
			struct maple_candidate *candidate, uint32_t which,
			struct maple_error *err)
{
	const struct maple_campaign_options *options = p->study->options;
	struct maple_candidate *chosen[1 + MAPLE_RUN_THEN + 1] = { candidate };
	bool paper = options->order == MAPLE_ORDER_PAPER;
	unsigned int n = 1;
	int e = 0;

	assert(!candidate->busy && !job->goal);
	job->again = candidate->exposed;
	assert(!which || job->again); /* of what was exposed alone */
	if (!job->again) {
		n = choose_followers(p, chosen);
		e = maple_candidates_claim(p, chosen, &n, err);
	}
	if (e || !n)
		return e;
	candidate = chosen[0];
	job->kind = MAPLE_RUN_ENFORCE;
	job->goal = &candidate->goal;
	job->variant = which;
	job->rested = maple_estimate_rests(&p->candidates, candidate,
					   p->limits.order);
	maple_profiling_guards(p, candidate);
	job->fill = !options->no_heap_fill && fills(candidate);
	if (which ? maple_callers_plan(candidate, which, job->seed, &job->plan)
		  : maple_candidate_plan(candidate, attempt_of(candidate),
					 paper, job->seed, &job->plan))
		return maple_error_set(err, EINVAL, "no plan for idiom %u",
				       candidate->iroot.idiom);
	if (p->study->once)
		forget_hints(&job->plan);
	candidate->busy = true;
	if (which)
		variant_of(job)->tries++;
	else if (job->again)
		candidate->looks++;
	else
		job->attempt = ++candidate->attempts;
	if (!add_followers(p, job, chosen + 1, n - 1))
		return 0;
	maple_enforce_drop(job);
	return maple_error_set(err, EINVAL, "no plan that follows");
}
