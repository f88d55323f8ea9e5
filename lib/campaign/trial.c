// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A trial: one run with everything around it. Setup, the run itself with its
 * events going to the predictor or to the log, the judgement, the memo.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "internal.h"
#include "interrupt.h"

/* What a run gets after its time limit, with native scheduling. */
#define GRACE_LEAST 2.0 /* seconds */
#define GRACE_TIMES 5.0 /* the baseline's duration */

static int shell(struct maple_campaign *c, const char *option,
		 const char *command)
{
	int status = system(command);

	if (status == 0)
		return 0;
	return maple_error_set(
		c->err, ECANCELED, "%s '%s' failed (%s %d)", option, command,
		WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* ---- events of a profile run ---- */

static void on_event(void *ctx, const struct maple_event *event)
{
	struct maple_campaign *c = ctx;
	struct maple_trial *trial = c->trial;

	if (event->kind == MAPLE_EV_CREATE)
		c->threads_seen = true;
	maple_holding_event(&trial->holding, event);
	if (trial->kind == MAPLE_RUN_PROFILE) {
		maple_change_note(c, event);
		if (c->predict)
			maple_predict_event(c->predict, event);
		return;
	}
	if (trial->nlog == MAPLE_LOG_MAX)
		return;
	if (!trial->log)
		trial->log = malloc(MAPLE_LOG_MAX * sizeof(*trial->log));
	if (trial->log)
		trial->log[trial->nlog++] = *event;
}

static bool on_tick(void *ctx, pid_t pid)
{
	struct maple_campaign *c = ctx;

	maple_interrupt_forward(pid);
	maple_campaign_progress(c, false);
	return !maple_campaign_over(c);
}

/* ---- what the memo is told ---- */

static int memo_begin(struct maple_campaign *c, struct maple_trial *trial,
		      int64_t *row)
{
	char *plan = trial->kind == MAPLE_RUN_ENFORCE
			     ? maple_planfile_write(c, trial)
			     : NULL;
	struct maple_memo_run run = {
		.kind = trial->memo_kind,
		.iroot = trial->candidate ? trial->candidate->row : 0,
		.plan = plan,
		.seed = trial->seed,
		.attempt = trial->plan.attempt,
		.flip = trial->flip,
	};
	int e = maple_memo_run_begin(c->memo, c->memo_campaign, &run, row,
				     c->err);

	free(plan);
	return e;
}

static int memo_end(struct maple_campaign *c, struct maple_trial *trial,
		    int64_t row)
{
	struct maple_memo_run_end end = {
		.verdict = trial->stopped ? "stopped"
			   : trial->judgement.failure
				   ? maple_failure_name(trial->judgement.failure)
				   : "pass",
		.signo = trial->judgement.signo,
		.status = trial->judgement.status,
		.seconds = trial->run.seconds,
		.cpu_seconds = trial->run.cpu_seconds,
		.delivered = trial->run.delivered,
		.exposed = trial->exposed,
		.claimed = trial->claimed,
		.reason = trial->reason,
		.rested = trial->rested,
	};
	int e = maple_memo_run_end(c->memo, row, &end, c->err);

	maple_campaign_count(c);
	if (!e && c->memo_program && trial->kind != MAPLE_RUN_NATIVE)
		e = maple_memo_sample(c->memo, row, &c->result->coverage,
				      c->err);
	return e;
}

static void count_run(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_delivery *d = &c->result->delivery;
	const struct maple_run *run = &trial->run;
	unsigned int i;

	if (trial->kind == MAPLE_RUN_NATIVE)
		return;
	if (!run->delivered) {
		d->undelivered_runs++;
		memcpy(c->why_not, run->why_not, sizeof(c->why_not));
	} else if (trial->kind == MAPLE_RUN_PROFILE) {
		c->observed = true;
	} else {
		c->enforced = true;
	}
	if (run->sites > d->sites)
		d->sites = run->sites;
	if (run->unreached > d->unreached)
		d->unreached = run->unreached;
	d->lost += run->lost;
	for (i = 0; i < MAPLE_WAYS; i++)
		d->hits[i] += run->hits[i];
}

static int carry_out(struct maple_campaign *c, struct maple_trial *trial,
		     struct maple_io_run *io)
{
	struct maple_run_order order = {
		.kind = trial->kind,
		.schedule = trial->schedule,
		.plan = &trial->plan,
		.seed = trial->seed,
		.nchanges = trial->nchanges,
		.budget = MAPLE_BUDGET,
		.timeout = c->timeout,
		.grace = GRACE_LEAST + GRACE_TIMES * c->native_seconds,
		.in = io->in,
		.out = io->out,
		.err = io->err,
		.own_group = !isatty(STDIN_FILENO),
		.stacks = strcmp(trial->memo_kind, "confirm") != 0,
	};
	struct maple_run_sink sink = {
		.ctx = c,
		.event = on_event,
		.tick = on_tick,
	};

	memcpy(order.change, trial->change, sizeof(order.change));
	if (trial->kind == MAPLE_RUN_PROFILE)
		order.alone =
			maple_sharing_choose(c, trial->seed, &order.nalone);
	return maple_pair_run(c->pair, &order, &sink, &trial->run, c->err);
}

/*
 * maple_trial_run - carries out @trial and judges it
 *
 * Returns 0 when the program ran, whatever became of it. The caller frees
 * what is in @trial with maple_trial_deinit() in any case.
 */
int maple_trial_run(struct maple_campaign *c, struct maple_trial *trial)
{
	const struct maple_campaign_options *o = c->options;
	bool show = trial->kind == MAPLE_RUN_NATIVE && !o->quiet_target &&
		    c->result->runs.baseline == 0;
	struct maple_io_run io;
	int64_t row;
	int e;

	c->trial = trial;
	e = o->setup ? shell(c, "--setup", o->setup) : 0;
	if (!e)
		e = maple_io_begin(&c->io, !show, &io, c->err);
	if (e)
		return e;
	e = memo_begin(c, trial, &row);
	if (!e)
		e = carry_out(c, trial, &io);
	if (!e) {
		/* What ends because somebody ended it is no verdict. */
		trial->stopped = trial->run.end == MAPLE_END_STOPPED ||
				 maple_interrupt_asked();
		trial->output = maple_io_words(&io);
		count_run(c, trial);
		if (!trial->stopped)
			maple_judge(c, trial, &io);
		if (!trial->stopped && trial->settle)
			e = trial->settle(c, trial, trial->settle_ctx);
		if (!e)
			e = memo_end(c, trial, row);
	}
	maple_io_end(&io);
	if (o->teardown && !e)
		e = shell(c, "--teardown", o->teardown);
	return e;
}

/* maple_trial_deinit - frees what the trial holds */
void maple_trial_deinit(struct maple_trial *trial)
{
	maple_run_deinit(&trial->run);
	free(trial->output);
	free(trial->log);
	maple_holding_deinit(&trial->holding);
	memset(trial, 0, sizeof(*trial));
}
