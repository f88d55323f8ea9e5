// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The control: a finding is run again as often as asked, and as often with
 * its first dependency reversed. 5/5 against 0/5 says that the order is the
 * cause; what else comes out is reported as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "internal.h"
#include "interrupt.h"

#define CONFIRM_DEFAULT 5

/* maple_confirm_same - whether @trial failed the way @finding did */
bool maple_confirm_same(const struct maple_finding *finding,
			const struct maple_trial *trial)
{
	const struct maple_judgement *j = &trial->judgement;

	if (j->failure != finding->kind)
		return false;
	if (j->failure == MAPLE_FAILURE_SIGNAL)
		return j->signo == finding->signo;
	return true;
}

static void copy_order(struct maple_trial *to, const struct maple_trial *from,
		       bool flip)
{
	memset(to, 0, sizeof(*to));
	to->kind = from->kind;
	to->memo_kind = "confirm";
	to->schedule = from->schedule;
	to->nchanges = from->nchanges;
	memcpy(to->change, from->change, sizeof(to->change));
	to->plan = from->plan;
	to->seed = from->seed;
	to->flip = flip;
	if (flip)
		maple_plan_flip(&to->plan);
}

/*
 * Runs @order @times times. With @flip any failure counts, not just the same:
 * a control that fails in another way has not passed.
 */
static int repeat(struct maple_campaign *c, const struct maple_finding *finding,
		  const struct maple_trial *order, unsigned int times,
		  bool flip, unsigned int *fails, unsigned int *runs)
{
	struct maple_trial trial;
	unsigned int i;
	int e = 0;

	*fails = *runs = 0;
	for (i = 0; i < times && !e; i++) {
		if (maple_campaign_over(c) || maple_interrupt_asked())
			break;
		copy_order(&trial, order, flip);
		e = maple_trial_run(c, &trial);
		if (!e && !trial.stopped) {
			c->result->runs.confirm++;
			*runs += 1;
			*fails += flip ? trial.judgement.failure !=
						  MAPLE_FAILURE_NONE
				       : maple_confirm_same(finding, &trial);
			maple_campaign_progress(c, true);
		}
		maple_trial_deinit(&trial);
	}
	return e;
}

/* maple_confirm - fills in the control of @finding, which @trial found */
int maple_confirm(struct maple_campaign *c, struct maple_finding *finding,
		  struct maple_trial *trial)
{
	unsigned int times = c->options->confirm ? c->options->confirm
						 : CONFIRM_DEFAULT;
	int e = repeat(c, finding, trial, times, false, &finding->forced_fails,
		       &finding->forced_runs);

	if (!e && trial->kind == MAPLE_RUN_ENFORCE)
		e = repeat(c, finding, trial, times, true,
			   &finding->flipped_fails, &finding->flipped_runs);
	return e;
}

static int replay(struct maple_campaign *c, const struct maple_finding *finding,
		  unsigned int times, bool flip, unsigned int *fails)
{
	struct maple_trial order = { 0 };
	unsigned int runs;
	int e = maple_planfile_read(c, finding->plan, &order);

	if (e)
		return e;
	if (flip && order.kind != MAPLE_RUN_ENFORCE)
		return maple_error_set(c->err, EINVAL,
				       "this finding has no order to flip: it "
				       "came up in a profile run");
	e = repeat(c, finding, &order, times, flip, fails, &runs);
	if (!e && runs < times)
		e = maple_error_set(c->err, EINTR,
				    "interrupted after %u of %u runs", runs,
				    times);
	if (!e && !c->observed && !c->enforced)
		e = maple_error_set(c->err, ENODATA, "nothing was replayed: %s",
				    c->why_not);
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
	struct maple_campaign c = {
		.options = &with,
		.result = &result,
		.err = err ? err : &unused,
		.began = maple_clock_now(),
	};
	int e;

	*fails = 0;
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
	maple_interrupt_begin();
	e = maple_campaign_open(&c);
	if (!e)
		e = replay(&c, finding, times, flip, fails);
	maple_campaign_close(&c);
	maple_interrupt_end();
	maple_memo_close(c.memo);
	return e;
}
