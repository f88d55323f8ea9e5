// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The control: a finding is run again as often as asked, and as often with
 * its first dependency reversed. 5/5 against 0/5 says that the order is the
 * cause; what else comes out is reported as it is. Where the reversed order
 * fails as well, so many runs have one thread after the other: they tell
 * whether threads have to come in between each other for it to fail.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/internal.h"
#include "campaign/subject/interrupt.h"
#include "campaign/story/past.h"

#define CONFIRM_DEFAULT 5
#define MEETINGS	4 /* times as many, of two threads at the same moment */
#define TRIES		3

/* maple_confirm_same - whether @trial failed the way @finding did */
bool maple_confirm_same(const struct maple_finding *finding,
			const struct maple_trial *trial)
{
	const struct maple_judgement *j = &trial->judgement;

	if (j->failure != finding->kind)
		return false;
	if (j->failure == MAPLE_FAILURE_SIGNAL)
		return j->signo == finding->signo;
	if (j->failure == MAPLE_FAILURE_SANITIZER)
		return finding->what && !strcmp(j->what, finding->what);
	return true;
}

/* What a policy was told of the run, it is told again. */
static int copy_expected(struct maple_campaign *c, struct maple_expected *to,
			 const struct maple_expected *from)
{
	if (!from->weight)
		return 0;
	to->name = malloc((from->n + 1) * sizeof(*to->name));
	to->weight = malloc((from->n + 1) * sizeof(*to->weight));
	if (!to->name || !to->weight)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	to->n = from->n;
	memcpy(to->name, from->name, to->n * sizeof(*to->name));
	memcpy(to->weight, from->weight, to->n * sizeof(*to->weight));
	return 0;
}

/*
 * A controlled run is done again by the schedule that it had; its control is
 * that with one left out, see maple_switches_drop_last().
 */
static int copy_schedule(struct maple_campaign *c, struct maple_job *to,
			 const struct maple_trial *from, bool flip)
{
	struct maple_switches was = maple_trial_switches(from);

	to->policy = from->job.policy;
	/* Too long to be kept: the same choices come of the same seed. */
	if (!was.nnames && from->job.switches.nnames)
		was = from->job.switches;
	else if (!was.nnames)
		return copy_expected(c, &to->expected, &from->job.expected);
	else /* the log says all of it */
		to->policy.behind = to->policy.base = 0;
	to->policy.policy = MAPLE_POLICY_LIST;
	if (maple_switches_copy(&to->switches, &was))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	if (flip)
		maple_switches_drop_last(&to->switches);
	return 0;
}

static void flip_plan(struct maple_plan *plan)
{
	assert(plan->nsteps >= 2);
	maple_plan_flip(plan);
	assert(maple_plan_valid(plan));
}

static int copy_order(struct maple_campaign *c, struct maple_trial *to,
		      const struct maple_trial *from, bool flip)
{
	unsigned int i;

	memset(to, 0, sizeof(*to));
	to->part = from->part;
	to->job.kind = from->job.kind;
	to->purpose = MAPLE_FOR_CONFIRM;
	to->job.schedule = from->job.schedule;
	to->job.nchanges = from->job.nchanges;
	memcpy(to->job.change, from->job.change, sizeof(to->job.change));
	to->job.plan = from->job.plan;
	to->job.nthen = from->job.nthen;
	memcpy(to->job.then, from->job.then, sizeof(to->job.then));
	to->job.seed = from->job.seed;
	to->job.fill = from->job.fill;
	/* A change point is where it was if the same sites are looked at. */
	(void)maple_job_leave(&to->job, from->job.alone, from->job.nalone);
	to->rounds = from->rounds;
	to->flip = flip;
	for (i = 0; flip && i < to->job.nthen; i++)
		flip_plan(&to->job.then[i]);
	if (flip && to->job.kind == MAPLE_RUN_ENFORCE)
		flip_plan(&to->job.plan);
	/* The control of a meeting: one comes later, see agent/force/meet.c. */
	if (flip && to->job.schedule == MAPLE_SCHEDULE_MEET)
		to->job.change[0].hit = 1;
	return from->job.kind == MAPLE_RUN_CONTROL
		       ? copy_schedule(c, &to->job, from, flip)
		       : 0;
}

/* ---- which of a run's plans it was ---- */

/* Plan @i of @from alone, as it would have been ordered, in so many rounds. */
static void order_alone(struct maple_campaign *c, struct maple_trial *to,
			const struct maple_trial *from, unsigned int i,
			unsigned int rounds)
{
	assert(from->job.kind == MAPLE_RUN_ENFORCE && i <= from->job.nthen);
	copy_order(c, to, from, false);
	to->rounds = rounds;
	to->purpose = MAPLE_FOR_ATTRIBUTE;
	to->names = true;
	to->job.nthen = 0;
	to->job.goal = i ? from->job.beside[i - 1] : from->job.goal;
	if (i)
		to->job.plan = from->job.then[i - 1];
	to->job.plan.flags &= ~MAPLE_PLAN_FOLLOWED;
	to->job.seed = to->job.plan.seed;
}

static bool fails_alike(const struct maple_trial *a, const struct maple_trial *b)
{
	return a->judgement.failure == b->judgement.failure &&
	       a->judgement.signo == b->judgement.signo;
}

static bool had_its_turn(const struct maple_trial *trial, unsigned int i)
{
	return !i || trial->run.begun >> (i - 1) & 1;
}

static bool was_exposed(const struct maple_trial *trial, unsigned int i)
{
	assert(i <= trial->job.nthen);
	return i ? trial->run.then[i - 1].exposed
		 : trial->run.automaton.exposed;
}

/*
 * Runs the plans of @trial one by one, first those that it exposed; *@alone
 * becomes the first run that fails as @trial did.
 */
static int try_each(struct maple_campaign *c, const struct maple_trial *trial,
		    unsigned int rounds, struct maple_trial *alone)
{
	unsigned int i, round;
	int e;

	for (round = 0; round < 2; round++)
		for (i = trial->job.nthen + 1; i-- > 0;) {
			if (!had_its_turn(trial, i) ||
			    was_exposed(trial, i) == (round > 0))
				continue;
			if (maple_campaign_over(c) || maple_interrupt_asked())
				return 0;
			order_alone(c, alone, trial, i, rounds);
			e = maple_trial_run(c, alone);
			if (e)
				return e;
			c->result->runs.confirm += !alone->stopped;
			if (fails_alike(trial, alone))
				return 0;
			maple_trial_deinit(alone);
		}
	return 0;
}

/*
 * maple_confirm_attribute - a run that forced several plans, or several rounds
 * of a server, has failed: which plan was it, and does one round do? Of a
 * controlled one: which switches were it?
 *
 * *@trial becomes a run of that one alone that failed in the same way. If
 * there is none, it stays: then it takes all of its plans and rounds.
 */
int maple_confirm_attribute(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_trial alone = { 0 };
	int e = 0;

	if (trial->job.kind == MAPLE_RUN_CONTROL)
		return maple_shorten(c, trial);
	if (trial->job.kind != MAPLE_RUN_ENFORCE)
		return 0;
	if (!trial->run.begun) { /* the others were not there */
		maple_study_alone(c, trial);
		trial->job.plan.flags &= ~MAPLE_PLAN_FOLLOWED;
	}
	if (trial->rounds > 1)
		e = try_each(c, trial, 1, &alone);
	if (!e && !alone.judgement.failure && trial->job.nthen)
		e = try_each(c, trial, trial->rounds, &alone);
	/* What it becomes is nobody's job any more. */
	assert(!alone.studied && (!trial->studied || trial->told));
	if (!e && alone.judgement.failure) {
		maple_trial_deinit(trial);
		*trial = alone;
	} else {
		maple_trial_deinit(&alone);
	}
	return e;
}

/* ---- what the log did not have ---- */

/* The same order once more, with a log that has more. */
static int order_again(struct maple_campaign *c, struct maple_trial *to,
		       const struct maple_trial *from)
{
	int e = copy_order(c, to, from, false);

	to->purpose = MAPLE_FOR_ATTRIBUTE;
	to->names = true;
	to->values = from->job.kind == MAPLE_RUN_CONTROL;
	return e;
}

/* What @again tells of *@finding, if it is the same one. */
static void take_over(struct maple_campaign *c, struct maple_finding **finding,
		      struct maple_trial *again)
{
	struct maple_finding *told = maple_story_tell(c, again);
	char *plan;

	if (!told || strcmp(told->id, (*finding)->id)) {
		maple_finding_destroy(told);
		return;
	}
	/* The order is what was found, not what was watched besides. */
	plan = told->plan;
	told->plan = (*finding)->plan;
	(*finding)->plan = plan;
	told->run = (*finding)->run;
	assert(!(*finding)->told); /* nobody has it yet */
	maple_finding_destroy(*finding);
	*finding = told;
}

/*
 * maple_confirm_details - runs @trial's order again if its *@finding is about
 * what only logs of such runs tell, since that takes time: where memory came
 * from, what a thread had read before it waited, and, by switches, what was
 * read and written across them
 *
 * *@finding becomes the same one as told from a run that failed alike. If
 * there is none, it stays: then it has addresses instead of names.
 */
int maple_confirm_details(struct maple_campaign *c,
			  const struct maple_trial *trial,
			  struct maple_finding **finding)
{
	bool names = trial->unnamed && !trial->names;
	bool past = trial->job.kind == MAPLE_RUN_ENFORCE &&
		    maple_confirm_is_possible(c) && maple_past_wanted(*finding);
	bool values = trial->job.kind == MAPLE_RUN_CONTROL && !trial->values &&
		      maple_confirm_is_possible(c) &&
		      maple_trial_switches(trial).n;
	/* A hang takes all its time again; so may who is watched everywhere. */
	bool slow = trial->run.end == MAPLE_END_HANG ||
		    (values && !trial->job.alone);
	unsigned int tries = slow ? 1 : TRIES;
	struct maple_finding *first = *finding;
	struct maple_trial again;
	int e = 0;

	if (!names && !past && !values)
		return 0;
	for (unsigned int i = 0; i < tries && *finding == first && !e; i++) {
		if (maple_campaign_over(c) || maple_interrupt_asked())
			break;
		e = order_again(c, &again, trial);
		if (past)
			maple_past_watch(c, first, &again.job.plan);
		if (!e)
			e = maple_trial_run(c, &again);
		c->result->runs.confirm += !e && !again.stopped;
		if (!e && fails_alike(trial, &again))
			take_over(c, finding, &again);
		maple_trial_deinit(&again);
	}
	return e;
}

/* ---- the control ---- */

/* maple_confirm_times - how often a finding is replayed */
unsigned int maple_confirm_times(const struct maple_campaign *c)
{
	return c->options->confirm ? c->options->confirm : CONFIRM_DEFAULT;
}

/*
 * maple_confirm_is_possible - whether a run that has failed may be made again,
 * for what more there is to know of it
 */
bool maple_confirm_is_possible(const struct maple_campaign *c)
{
	return !c->options->no_confirm && c->subject->repeats;
}

/*
 * maple_confirm_is_needed - whether @trial's failure counts only if it comes
 * again: under control a program may be slow rather than stuck
 */
bool maple_confirm_is_needed(const struct maple_trial *trial)
{
	return trial->judgement.failure == MAPLE_FAILURE_HANG &&
	       trial->job.kind == MAPLE_RUN_CONTROL;
}

/*
 * maple_confirm_again - one more run of @order, in @trial, which is to be
 * freed in any case
 */
int maple_confirm_again(struct maple_campaign *c,
			const struct maple_trial *order,
			struct maple_trial *trial)
{
	int e = copy_order(c, trial, order, false);

	trial->purpose = MAPLE_FOR_KNOWN;
	trial->names = true;
	if (!e)
		e = maple_trial_run(c, trial);
	c->result->runs.confirm += !e && !trial->stopped;
	return e;
}

enum control { FORCED, FLIPPED, SERIAL };

/* Each thread runs until it waits or is through, the older ones first. */
static void order_serial(struct maple_campaign *c,
			 const struct maple_trial *order, struct maple_trial *to)
{
	*to = (struct maple_trial){
		.job.kind = MAPLE_RUN_PROFILE,
		.job.schedule = MAPLE_SCHEDULE_OLDER,
		.job.seed = maple_campaign_seed(c, ++c->run_number),
		.purpose = MAPLE_FOR_CONFIRM,
		.rounds = order->rounds,
	};
}

/* Whether there is an order to reverse, a switch to leave out, or a meeting. */
static bool has_control(const struct maple_trial *order)
{
	return order->job.kind == MAPLE_RUN_ENFORCE ||
	       order->job.schedule == MAPLE_SCHEDULE_MEET ||
	       (order->job.kind == MAPLE_RUN_CONTROL &&
		maple_trial_switches(order).n);
}

/* Of a violation what counts is that it has the order. */
static bool counts(struct maple_campaign *c, const struct maple_finding *finding,
		   const struct maple_trial *order, enum control control,
		   const struct maple_trial *trial)
{
	if (finding->kind == MAPLE_FAILURE_VIOLATION)
		return maple_violated_again(c, finding, order, trial);
	return control ? trial->judgement.failure != MAPLE_FAILURE_NONE
		       : maple_confirm_same(finding, trial);
}

/*
 * Runs @order @times times, or its @control. Of a control any failure counts,
 * not just the same: one that fails in another way has not passed.
 */
static int repeat(struct maple_campaign *c, const struct maple_finding *finding,
		  const struct maple_trial *order, unsigned int times,
		  enum control control, unsigned int *fails, unsigned int *runs)
{
	struct maple_trial trial;
	unsigned int i;
	int e = 0;

	assert(control != FLIPPED || has_control(order));
	*fails = *runs = 0;
	for (i = 0; i < times && !e; i++) {
		if (maple_campaign_over(c) || maple_interrupt_asked())
			break;
		if (control == SERIAL)
			order_serial(c, order, &trial);
		else
			e = copy_order(c, &trial, order, control == FLIPPED);
		if (!e)
			e = maple_trial_run(c, &trial);
		/* Once more; how often is bounded. */
		if (trial.judgement.unjudged && !c->options->under)
			i--;
		else if (trial.judgement.unjudged)
			e = maple_error_set(c->err, ECANCELED,
					    "the program did not come to its "
					    "end under the debugger");
		if (!e && !trial.stopped) {
			c->result->runs.confirm++;
			*runs += 1;
			*fails += counts(c, finding, order, control, &trial);
			maple_campaign_progress(c, true);
		}
		maple_trial_deinit(&trial);
	}
	assert(*fails <= *runs && *runs <= times);
	return e;
}

/* maple_confirm - fills in the control of @finding, which @trial found */
int maple_confirm(struct maple_campaign *c, struct maple_finding *finding,
		  struct maple_trial *trial)
{
	unsigned int times = c->options->no_confirm ? 1
						    : maple_confirm_times(c);
	int e;

	/* What it was when an earlier campaign found it says nothing now. */
	assert(!finding->forced_runs && !finding->flipped_runs &&
	       !finding->serial_runs);
	/* It is a matter of nanoseconds, so not each of them fails. */
	if (trial->job.schedule == MAPLE_SCHEDULE_MEET && times > 1)
		times *= MEETINGS;
	e = repeat(c, finding, trial, times, FORCED, &finding->forced_fails,
		   &finding->forced_runs);

	if (c->options->no_confirm)
		return e;
	if (!e && has_control(trial))
		e = repeat(c, finding, trial, times, FLIPPED,
			   &finding->flipped_fails, &finding->flipped_runs);
	if (!e && trial->job.kind == MAPLE_RUN_ENFORCE &&
	    finding->flipped_runs && !maple_finding_is_cause(finding))
		e = repeat(c, finding, trial, times, SERIAL,
			   &finding->serial_fails, &finding->serial_runs);
	return e;
}

static int replay_order(struct maple_campaign *c,
			const struct maple_finding *finding,
			const struct maple_trial *order, unsigned int times,
			bool flip, unsigned int *fails)
{
	unsigned int runs;
	int e;

	if (flip && !has_control(order))
		return maple_error_set(c->err, EINVAL,
				       "this finding has no order to flip: it "
				       "came up in a profile run");
	if (maple_campaign_lacks(c, order) && c->options->no_priorities)
		return maple_error_set(c->err, EINVAL,
				       "--no-priorities: this finding's order "
				       "takes them");
	if (maple_campaign_lacks(c, order))
		return maple_realtime_probe(c->options->host, c->err);
	e = c->options->under ? maple_under_check(c, order) : 0;
	if (!e)
		e = repeat(c, finding, order, times, flip ? FLIPPED : FORCED,
			   fails, &runs);
	if (!e && maple_campaign_gave_up(c))
		e = maple_error_set(c->err, ECANCELED, "%s", c->given_up);
	if (!e && runs < times)
		e = maple_error_set(c->err, EINTR,
				    "interrupted after %u of %u runs", runs,
				    times);
	if (!e && !c->delivered)
		e = maple_error_set(c->err, ENODATA, "nothing was replayed: %s",
				    c->why_not);
	return e;
}

static int replay(struct maple_campaign *c, const struct maple_finding *finding,
		  unsigned int times, bool flip, unsigned int *fails)
{
	struct maple_trial order = { 0 };
	struct maple_planfile file;
	int e = maple_planfile_read(c, finding->plan, &order, &file);

	if (!e) {
		c->expected = file.expected;
		c->timeout = file.timeout;
		if (file.refound)
			maple_campaign_notice(
				c,
				"the program was rebuilt since: %u places of "
				"the order were found again in functions that "
				"are the same",
				file.refound);
		e = replay_order(c, finding, &order, times, flip, fails);
	}
	maple_trial_deinit(&order);
	return e;
}

/* maple_campaign_replay - see maple/campaign.h */
int maple_campaign_replay(const struct maple_campaign_options *options,
			  const struct maple_finding *finding,
			  unsigned int times, bool flip, unsigned int *fails,
			  struct maple_error *err)
{
	struct maple_campaign_options with = *options;
	struct maple_campaign_result result = { 0 };
	struct maple_error unused;
	char *between;
	struct maple_campaign c = {
		.options = &with,
		.result = &result,
		.err = err ? err : &unused,
		.began = maple_clock_now(),
	};
	int e;

	*fails = 0;
	if (!finding->plan && finding->kind == MAPLE_FAILURE_VIOLATION)
		return maple_error_set(err, ENODATA,
				       "violation %s was never forced, so there "
				       "is no order to replay; more runs with "
				       "--violations may force it",
				       finding->id);
	if (!finding->plan)
		return maple_error_set(err, ENODATA,
				       "finding %s has no plan to replay",
				       finding->id);
	with.argv = finding->argv;
	with.exe = finding->exe;
	with.input = finding->input;
	/* Those that are older than the choice are the agent's. */
	if (!with.backend)
		with.backend = finding->backend ? finding->backend : "agent";
	with.quiet_target = true;
	if (finding->cwd && chdir(finding->cwd))
		return maple_error_set(err, errno, "cannot go to %s: %m",
				       finding->cwd);
	e = maple_memo_open(":memory:", 0, &c.memo, err);
	if (e)
		return e;
	between = maple_planfile_between(finding->plan);
	if (!with.between)
		with.between = between;
	maple_interrupt_begin();
	if (with.under)
		maple_interrupt_leave_keys();
	e = maple_campaign_open(&c);
	if (!e)
		e = replay(&c, finding, times, flip, fails);
	maple_campaign_close(&c);
	maple_coverage_deinit(&result.coverage);
	maple_interrupt_end();
	maple_memo_close(c.memo);
	free(between);
	return e;
}
