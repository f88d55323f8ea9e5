// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The campaign as its strategy sees it: what the strategy may ask, and the way
 * of a job from it and back to it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define SLICE_LEAST_MS	     10
#define ROUND_SLICE_LEAST_MS 1 /* start-up and end are no part of a round */

/* ---- what it may ask ---- */

static uint64_t random_of(const struct maple_study *study, uint64_t salt)
{
	return maple_campaign_seed(study->ctx, salt);
}

static int learn(struct maple_study *study, struct maple_goal *const *goals,
		 size_t n, struct maple_error *err)
{
	return maple_campaign_learn(study->ctx, goals, n);
}

static int claim(struct maple_study *study, struct maple_goal *const *goals,
		 size_t n, struct maple_error *err)
{
	return maple_campaign_claim(study->ctx, goals, n);
}

static int release(struct maple_study *study, struct maple_goal *const *goals,
		   size_t n, struct maple_error *err)
{
	return maple_campaign_release(study->ctx, goals, n);
}

static int mark(struct maple_study *study, const struct maple_goal *goal,
		enum maple_memo_mark mark, struct maple_error *err)
{
	struct maple_campaign *c = study->ctx;

	/* A strategy marks what it exposes once. */
	if (mark == MAPLE_MEMO_EXPOSED || mark == MAPLE_MEMO_OBSERVED)
		c->news += !goal->known.exposed;
	return maple_memo_mark(c->memo, c->memo_program, goal->row, mark, err);
}

/* That something is not kept, or not recalled, is no failure of a campaign. */
static void keep(struct maple_study *study, const char *name,
		 const struct maple_switches *lists, size_t n)
{
	struct maple_campaign *c = study->ctx;
	struct maple_error why = { "" };
	const char *refused = NULL;
	char *text;

	if (!c->memo_program || maple_memo_full(c->memo))
		return;
	text = maple_planfile_write_lists(c, lists, n, MAPLE_MEMO_CORPUS_TEXT);
	if (text &&
	    maple_memo_corpus_keep(c->memo, c->memo_campaign, name, text, &why))
		refused = why.text;
	else
		refused = maple_memo_full(c->memo);
	if (refused)
		maple_campaign_notice(c,
				      "the schedules that %s would go on with "
				      "are not kept: %s",
				      name, refused);
	free(text);
}

static size_t recall(struct maple_study *study, const char *name,
		     struct maple_switches **lists)
{
	struct maple_campaign *c = study->ctx;
	struct maple_error why = { "" };
	size_t n = 0, left_out = 0;
	char *text = NULL;

	*lists = NULL;
	if (!c->memo_program || c->options->fresh)
		return 0;
	if (maple_memo_corpus_recall(c->memo, c->memo_campaign, name, &text,
				     &why))
		maple_campaign_notice(c, "%s begins anew: %s", name, why.text);
	else if (text)
		n = maple_planfile_read_lists(c, text, lists, &left_out);
	free(text);
	if (n)
		maple_campaign_notice(
			c,
			"%s goes on with %zu schedule%s of an earlier campaign",
			name, n, n == 1 ? "" : "s");
	else if (left_out)
		maple_campaign_notice(c,
				      "%s begins anew: what an earlier "
				      "campaign kept is of another build",
				      name);
	return n;
}

/* Who may ask for runs: the strategy, or each of its parts. */
static int name_parts(struct maple_campaign *c)
{
	const char *const *parts = c->strategy->parts;
	struct maple_campaign_result *r = c->result;
	unsigned int n = 1;

	while (parts && parts[n])
		n++;
	assert(!r->parts && !r->nparts);
	r->parts = calloc(n, sizeof(*r->parts));
	if (!r->parts)
		return -ENOMEM;
	r->nparts = n;
	for (unsigned int i = 0; i < r->nparts; i++)
		r->parts[i].name = parts ? parts[i] : c->strategy->name;
	return 0;
}

/* maple_study_open - the strategy begins; the lanes have their backends */
int maple_study_open(struct maple_campaign *c)
{
	const struct maple_pair *pair = c->lanes.lane[0].pair;
	const struct maple_backend_ops *enforce =
		pair->enforce ? pair->enforce->ops : NULL;

	assert(!c->system && c->lanes.n);
	c->study.registry = c->registry;
	c->study.lanes = c->lanes.n;
	c->study.shared = maple_memo_shares(c->memo);
	c->study.alone = !enforce || c->sleeps;
	c->study.turns = enforce && maple_pair_turns(pair);
	c->study.once = !c->subject->repeats;
	c->study.controls = enforce && c->subject->controls &&
			    maple_pair_controls(pair);
	c->study.meets = c->study.controls && CPU_COUNT(&pair->cpu.before) > 1;
	if (enforce) {
		c->study.splits = enforce->splits;
		c->study.callers = enforce->callers;
		c->study.conditions = enforce->conditions;
		c->study.ends = enforce->ends;
		c->study.most = enforce->follow;
	}
	if (name_parts(c) ||
	    maple_coverage_init(&c->result->coverage, c->strategy->classes))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	/* Without priorities nothing else is left of a strategy that forces. */
	if ((c->strategy->needs & MAPLE_NEEDS_CONTROL ||
	     (c->sleeps && c->strategy->forces)) &&
	    !c->study.controls)
		return maple_error_set(
			c->err, EBUSY,
			"--strategy %s needs a CPU that no other "
			"campaign has, and no --between: wait for "
			"it, or end that one",
			c->strategy->name);
	return c->strategy->open(c->strategy, &c->study, &c->system, c->err);
}

/* maple_study_init - what it may ask before anything is open */
void maple_study_init(struct maple_campaign *c)
{
	c->study = (struct maple_study){
		.options = c->options,
		.main_image = MAPLE_REGISTRY_NONE,
		.prediction = &c->result->prediction,
		.ctx = c,
		.random = random_of,
		.over = maple_campaign_enough,
		.learn = learn,
		.claim = claim,
		.release = release,
		.mark = mark,
		.keep = keep,
		.recall = recall,
	};
}

/* maple_study_leave - the campaign is over, its memo still open */
void maple_study_leave(struct maple_campaign *c)
{
	if (c->system && c->strategy->leave)
		c->strategy->leave(c->system);
}

/* maple_study_close - the strategy ends, if it ever began */
void maple_study_close(struct maple_campaign *c)
{
	if (c->system)
		c->strategy->close(c->system);
	c->system = NULL;
}

/* ---- a job's way ---- */

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

/* maple_study_take - @trial has a job of the strategy's: what else it needs */
void maple_study_take(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_job *job = &trial->job;

	assert(!trial->studied && job->part < c->result->nparts);
	assert(job->nthen <= c->study.most);
	trial->studied = true;
	trial->campaign = c;
	trial->part = &c->result->parts[job->part];
	trial->early.tell = maple_study_event;
	trial->early.ctx = trial;
	trial->purpose = job->kind == MAPLE_RUN_PROFILE	  ? MAPLE_FOR_PROFILE
			 : job->kind == MAPLE_RUN_CONTROL ? MAPLE_FOR_CONTROLLED
							  : MAPLE_FOR_ENFORCED;
	job->plan.slice_ms = slice_ms(c);
	for (unsigned int i = 0; i < job->nthen; i++)
		job->then[i].slice_ms = job->plan.slice_ms;
}

/* maple_study_next - what is run next, as @trial, which is to be freed */
int maple_study_next(struct maple_campaign *c, struct maple_trial *trial,
		     enum maple_next *next)
{
	int e = 0;

	assert(maple_lane_has_turn(c) && c->system);
	memset(trial, 0, sizeof(*trial));
	c->study.belonging = c->belongs.at;
	c->study.nbelonging = c->belongs.n;
	c->study.searching = c->search_until > 0;
	c->study.native = c->native_seconds;
	c->study.native_cpu = c->native_cpu;
	c->study.lane = (unsigned int)(c->lanes.turn - c->lanes.lane);
	assert(c->study.lane < c->lanes.n);
	trial->job.seed = maple_campaign_seed(c, c->run_number + 1);
	*next = c->strategy->next(c->system, &trial->job, c->err, &e);
	if (e || *next != MAPLE_NEXT_RUN)
		return e;
	c->run_number++;
	maple_study_take(c, trial);
	return 0;
}

/* maple_study_event - one of the run of @ctx, a studied trial, which lasts */
void maple_study_event(void *ctx, const struct maple_event *event)
{
	struct maple_trial *trial = ctx;
	struct maple_campaign *c = trial->campaign;

	c->strategy->event(c->system, &trial->job, event);
}

/*
 * maple_study_program - @image is the program under test: its build-id says
 * which one this is
 */
int maple_study_program(struct maple_campaign *c, uint32_t image)
{
	struct maple_image *program = maple_registry_image(c->registry, image);
	int e;

	assert(maple_lane_has_turn(c) && !c->memo_program);
	c->study.main_image = image;
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
			e = maple_study_program(c, run->images[i].index);
	return e;
}

/* Before the strategy hears of it: whose run it was, and all of its events. */
static int know_run(struct maple_campaign *c, struct maple_trial *trial)
{
	int e = know_program(c, &trial->run);

	if (e || !c->memo_program)
		return e;
	maple_early_tell(&trial->early);
	return maple_campaign_carry(c);
}

/* maple_study_ended - the strategy hears what came of @trial, judged */
int maple_study_ended(struct maple_campaign *c, struct maple_trial *trial)
{
	bool profile = trial->job.kind != MAPLE_RUN_ENFORCE;
	struct maple_job_end end = {
		.run = &trial->run,
		.failed = trial->judgement.failure != MAPLE_FAILURE_NONE,
		.log = trial->log,
		.nlog = trial->nlog,
	};
	int e = profile ? know_run(c, trial) : 0;

	if (e)
		return e;
	assert(maple_lane_has_turn(c) && trial->studied && !trial->told);
	assert(!trial->stopped); /* of those it is told that they were dropped */
	end.absent = !c->memo_program;
	trial->told = true;
	c->study.lane = (unsigned int)(c->lanes.turn - c->lanes.lane);
	e = c->strategy->ended(c->system, &trial->job, &end, c->err);
	if (e || !profile || end.absent || maple_campaign_over(c))
		return e;
	return maple_unseen_learn(c, trial);
}

/* What came of it is kept: others may try its goals. */
static void release_goals(struct maple_campaign *c, const struct maple_job *job)
{
	struct maple_goal *goals[1 + MAPLE_RUN_THEN] = { job->goal };

	assert(job->nthen <= MAPLE_RUN_THEN);
	for (unsigned int i = 0; i < job->nthen; i++)
		goals[1 + i] = job->beside[i];
	/* What cannot be released is so when the memo is closed. */
	maple_campaign_release(c, goals, 1 + job->nthen);
}

/* maple_study_alone - @trial is about its first goal, since no other began */
void maple_study_alone(struct maple_campaign *c, struct maple_trial *trial)
{
	if (trial->studied && trial->job.attempt)
		maple_campaign_release(c, trial->job.beside, trial->job.nthen);
	trial->job.nthen = 0;
}

/*
 * maple_study_drop - @trial is over: the strategy hears that nothing came of
 * it, if it has not heard anything
 */
void maple_study_drop(struct maple_campaign *c, struct maple_trial *trial)
{
	assert(trial->campaign == c && maple_lane_has_turn(c));
	if (trial->studied && !trial->told)
		c->strategy->drop(c->system, &trial->job);
	trial->told = true;
	if (trial->studied && trial->job.attempt)
		release_goals(c, &trial->job);
}
