// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Profile runs: what did this order expose, and what could another one? How
 * their threads are scheduled is the strategy's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "../image/image.h"
#include "internal.h"

#define GUARDS_ASKED 500 /* candidates, after one profile run */

/*
 * What a run's predictor said, kept until the run's threads are known. What
 * the memo is to be told of it is collected, and told at the end.
 */
struct harvest {
	struct maple_campaign *c;
	struct maple_trial *trial;
	struct maple_candidate **told;
	size_t n, room;
	uint64_t not_split; /* left alone, see needs_split() */
	bool news;
	int error;
};

static bool will_tell(struct harvest *h, struct maple_candidate *k)
{
	if (!maple_array_reserve(h->told, h->n, h->room)) {
		h->error = maple_error_set(h->c->err, ENOMEM, "out of memory");
		return false;
	}
	h->told[h->n++] = k;
	k->told = true;
	return true;
}

static struct maple_candidate *take(struct harvest *h,
				    const struct maple_iroot *iroot)
{
	struct maple_candidate *k =
		maple_candidate_get(&h->c->candidates, iroot);

	if (!k) {
		h->error = maple_error_set(h->c->err, ENOMEM, "out of memory");
		return NULL;
	}
	if (!k->row && !k->told && !will_tell(h, k))
		return NULL;
	return h->error ? NULL : k;
}

static void mark(struct harvest *h, struct maple_candidate *k,
		 enum maple_memo_mark mark)
{
	if (!h->error && (k->told || will_tell(h, k)))
		k->marks |= 1u << mark;
}

static bool can_split(void *ctx, uint32_t site)
{
	const struct maple_campaign *c = ctx;
	struct maple_site_info info;

	return !maple_registry_site(c->registry, site, &info) && info.splits;
}

/* What only a split instruction exposes, and nobody here can split one. */
static bool needs_split(const struct maple_campaign *c,
			const struct maple_iroot *iroot)
{
	struct maple_plan plan;

	return !maple_lane_splits(c) &&
	       !maple_plan_init(&plan, iroot, 1, 0, 0) &&
	       maple_plan_splits(&plan, iroot->e[0].site);
}

static void harvest_predicted(void *ctx, const struct maple_iroot *iroot,
			      const struct maple_predict_facts *facts)
{
	struct harvest *h = ctx;
	struct maple_candidate *k;
	const struct maple_run *run = &h->trial->run;
	uint8_t against = facts->against;
	unsigned int i;

	if (needs_split(h->c, iroot)) {
		h->not_split++;
		return;
	}
	k = take(h, iroot);
	if (!k)
		return;
	if (k->facts_known && k->facts.against < against)
		against = k->facts.against; /* once open, open */
	k->facts.against = against;
	if (!k->predicted) {
		k->predicted = true;
		mark(h, k, MAPLE_MEMO_PREDICTED);
		h->news = true;
	}
	if (k->facts_known && (k->facts.disjoint || !facts->disjoint))
		return;
	maple_candidate_know(k, facts);
	k->facts.against = against;
	for (i = 0; i < MAPLE_IROOT_EVENTS; i++)
		if (facts->e[i].thread < run->nthreads)
			memcpy(k->name[i], run->threads[facts->e[i].thread].name,
			       MAPLE_PLAN_NAME);
}

/* Seen during the run, before the program is known: noted by finish(). */
struct seen {
	struct maple_iroot *iroots;
	size_t n, size;
};

static void note_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct seen *seen = ctx;

	if (maple_array_reserve(seen->iroots, seen->n, seen->size))
		seen->iroots[seen->n++] = *iroot;
}

/* The predictor's sink changes its meaning: first seen, then harvest. */
struct sinks {
	struct seen seen;
	struct harvest harvest;
};

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	note_observed(&((struct sinks *)ctx)->seen, iroot);
}

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	harvest_predicted(&((struct sinks *)ctx)->harvest, iroot, facts);
}

static void harvest_observed(struct sinks *s)
{
	struct maple_candidate *k;
	size_t i;

	for (i = 0; i < s->seen.n; i++) {
		k = take(&s->harvest, &s->seen.iroots[i]);
		if (!k)
			return;
		if (k->exposed)
			continue;
		maple_candidate_exposed(&s->harvest.c->candidates, k);
		mark(&s->harvest, k, MAPLE_MEMO_OBSERVED);
	}
}

/* Adds to *@count sites at @list what is new in @sites, as far as it fits. */
static void merge(uint32_t *list, uint32_t *count, uint32_t max,
		  const uint32_t *sites, unsigned int n)
{
	unsigned int i, j;

	for (i = 0; i < n && *count < max; i++) {
		for (j = 0; j < *count; j++)
			if (list[j] == sites[i])
				break;
		if (j == *count)
			list[(*count)++] = sites[i];
	}
}

/*
 * maple_profile_guards - adds to @k what the last profile run saw around its
 * locations, for its plans
 */
void maple_profile_guards(const struct maple_campaign *c,
			  struct maple_candidate *k)
{
	uint32_t guards[MAPLE_CANDIDATE_GUARDS], covers[MAPLE_PLAN_COVERS];
	unsigned int n;

	if (!c->predict)
		return;
	n = maple_predict_guards(c->predict, &k->iroot, guards,
				 MAPLE_CANDIDATE_GUARDS);
	merge(k->guard, &k->nguards, MAPLE_CANDIDATE_GUARDS, guards, n);
	n = maple_predict_covers(c->predict, &k->iroot, covers,
				 MAPLE_PLAN_COVERS);
	merge(k->cover, &k->ncovers, MAPLE_PLAN_COVERS, covers, n);
}

/*
 * There can be tens of thousands of candidates, and the question costs a
 * search. So only some are asked about after each run, in case that no later
 * one meets their sites; all are once more when their turn comes.
 */
static void harvest_guards(struct maple_campaign *c)
{
	struct maple_candidate *k, *next;
	unsigned int asked = 0;

	HASH_ITER (hh, c->candidates.table, k, next) {
		if ((k->guarded && !k->attempts) || asked == GUARDS_ASKED ||
		    !maple_strategy_eligible(c, k))
			continue;
		asked++;
		k->guarded = true;
		maple_profile_guards(c, k);
	}
}

/*
 * maple_profile_program - @image is the program under test: its build-id says
 * which one this is
 */
int maple_profile_program(struct maple_campaign *c, uint32_t image)
{
	struct maple_image *program = maple_registry_image(c->registry, image);
	int e;

	c->main_image = image;
	e = maple_memo_program(
		c->memo, c->memo_campaign, maple_image_build_id(program),
		maple_image_path(program), &c->memo_program, c->err);
	if (!e && c->options->fresh)
		e = maple_memo_forget_program(c->memo, c->memo_program,
					      c->memo_campaign, c->err);
	return e;
}

static int know_program(struct maple_campaign *c, const struct maple_run *run)
{
	unsigned int i;
	int e = 0;

	for (i = 0; i < run->nimages && !c->memo_program && !e; i++)
		if (run->images[i].is_main)
			e = maple_profile_program(c, run->images[i].index);
	return e;
}

static int tell(struct maple_campaign *c, struct harvest *h)
{
	const struct maple_candidate *k;
	int e = maple_campaign_learn(c, h->told, h->n);

	/* Now it is known what was exposed long ago. */
	for (size_t i = 0; i < h->n; i++) {
		k = h->told[i];
		if (k->marks & 1u << MAPLE_MEMO_PREDICTED && !k->exposed)
			h->trial->new_candidates++;
		if (k->marks & 1u << MAPLE_MEMO_OBSERVED)
			h->news = true;
		h->told[i]->marks = 0;
		h->told[i]->told = false;
	}
	return e;
}

static int harvest(struct maple_campaign *c, struct maple_trial *trial,
		   void *ctx)
{
	struct maple_sample *sample = &c->lanes.turn->sample, last = c->sample;
	struct maple_candidate *k, *next;
	struct sinks *s = ctx;
	bool whole;
	int e;

	/* What the run brought is the campaign's from here on. */
	maple_profile_forget(c);
	c->predict = trial->predict;
	trial->predict = NULL;
	c->sample = *sample;
	*sample = last;
	e = know_program(c, &trial->run);
	if (e || !c->memo_program)
		return e;
	maple_early_tell(&trial->early, c->predict);
	e = maple_campaign_carry(c);
	if (e)
		return e;
	/* What a failing run did is not taken for harmless. */
	whole = !trial->run.lost && !trial->judgement.failure;
	if (whole)
		harvest_observed(s);
	if (maple_predict_finish(c->predict) && !s->harvest.error)
		s->harvest.error =
			maple_error_set(c->err, ENOMEM, "out of memory");
	maple_prediction_add(&c->result->prediction, c->predict);
	/* Some exposures are certain only now; without all events, none is. */
	if (whole)
		harvest_observed(s);
	if (s->harvest.error)
		return s->harvest.error;
	/* Most are predicted again by each run. */
	if (s->harvest.not_split > c->result->delivery.not_split)
		c->result->delivery.not_split = s->harvest.not_split;
	e = tell(c, &s->harvest);
	if (e || maple_campaign_over(c))
		return e;
	e = maple_unseen_learn(c, trial);
	if (e)
		return e;
	harvest_guards(c);
	maple_sharing_learn(c);
	HASH_ITER (hh, c->candidates.table, k, next)
		maple_candidate_rank(&c->candidates, k, c->registry,
				     c->main_image);
	return e;
}

/* maple_profile_forget - what the last profile run saw is not asked any more */
void maple_profile_forget(struct maple_campaign *c)
{
	maple_predict_destroy(c->predict);
	c->predict = NULL;
}

/*
 * maple_profile_run - one profile run; its predictions become candidates
 * @news: an iRoot was predicted or exposed for the first time
 */
int maple_profile_run(struct maple_campaign *c, struct maple_trial *trial,
		      bool *news)
{
	const struct maple_backend *enforce = c->lanes.turn->pair->enforce;
	struct sinks s = { .harvest = { .c = c, .trial = trial } };
	struct maple_predict_options options = {
		.idioms = c->options->idioms,
		.over = maple_campaign_enough,
		.ctx = c,
		.splits = can_split,
		.splits_ctx = c,
		.no_conditions = !enforce || !enforce->ops->conditions,
		.ends = enforce && enforce->ops->ends,
	};
	struct maple_predict_sink sink = {
		.observed = on_observed,
		.predicted = maple_strategy_enforces(c) ? on_predicted : NULL,
		.ctx = &s,
	};
	int e;

	trial->kind = MAPLE_RUN_PROFILE;
	trial->purpose = MAPLE_FOR_PROFILE;
	trial->settle = harvest;
	trial->settle_ctx = &s;
	trial->seed = maple_campaign_seed(c, ++c->run_number);
	maple_strategy_schedule(c, trial);
	if (c->lanes.n == 1)
		maple_profile_forget(c); /* two of them take much memory */
	e = maple_predict_create(&options, &sink, &trial->predict);
	if (e)
		return maple_error_set(c->err, -e, "no predictor: %s",
				       strerror(-e));
	maple_change_begin(&c->lanes.turn->sample);
	c->lanes.profiles++;
	e = maple_trial_run(c, trial);
	c->lanes.profiles--;
	if (!e && !trial->stopped)
		c->profile_runs++;
	if (e || !c->memo_program)
		maple_profile_forget(c); /* it knows nothing yet */
	free(s.seen.iroots);
	free(s.harvest.told);
	*news = s.harvest.news;
	return e;
}

/* maple_profile_splits - which instructions could be split, for @delivery */
void maple_profile_splits(const struct maple_campaign *c,
			  struct maple_delivery *delivery)
{
	uint32_t i, n = c->registry ? maple_registry_images(c->registry) : 0;
	const struct maple_image_stats *stats;

	for (i = 0; i < n; i++) {
		stats = maple_image_stats(maple_registry_image(c->registry, i));
		delivery->splits += stats->splits;
		delivery->whole += stats->whole;
	}
}

/*
 * maple_profile_left_out - what could not be observed, by reason, as text
 * to be freed; NULL if nothing was decoded
 */
char *maple_profile_left_out(const struct maple_campaign *c)
{
	uint32_t i, n = c->registry ? maple_registry_images(c->registry) : 0;
	const struct maple_image_stats *stats;
	uint64_t left[MAPLE_LEFT_REASONS] = { 0 };
	size_t size = 0;
	char *text = NULL;
	FILE *out;
	int r;

	if (!n)
		return NULL;
	for (i = 0; i < n; i++) {
		stats = maple_image_stats(maple_registry_image(c->registry, i));
		for (r = 0; r < MAPLE_LEFT_REASONS; r++)
			left[r] += stats->left[r];
	}
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (r = 0; r < MAPLE_LEFT_REASONS; r++)
		if (left[r])
			fprintf(out, "%s%s %llu", ftell(out) ? ", " : "",
				maple_left_out_name(r),
				(unsigned long long)left[r]);
	if (c->sharing.left)
		fprintf(out, "%snot shared so far %u", ftell(out) ? ", " : "",
			c->sharing.left);
	fclose(out);
	return text;
}
