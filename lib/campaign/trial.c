// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A trial: one run with everything around it. Setup, the run itself with its
 * events going to the predictor or to the log, the judgement, the memo.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/array.h"
#include "internal.h"
#include "campaign/subject/interrupt.h"

/* What is left behind stays there: that gets longer. */
#define SETUP_GRACE    1.0  /* seconds */
#define TEARDOWN_GRACE 10.0 /* ... as containers get to stop */

#define LOG_FIRST      1024 /* events; doubled up to MAPLE_LOG_MAX */

static_assert(MAPLE_LOG_MAX % LOG_FIRST == 0, "all of it can be used");

static int failed(struct maple_campaign *c,
		  const struct maple_shell_command *command, int status)
{
	return maple_error_set(
		c->err, ECANCELED, "%s '%s' failed (%s %d)", command->option,
		command->text, WIFSIGNALED(status) ? "signal" : "status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Without a verdict, or in vain, if the command says so or is cut short. */
static int set_up(struct maple_campaign *c, struct maple_trial *trial)
{
	const struct maple_shell_command command = {
		.option = "--setup",
		.text = c->options->setup,
		.words = -1,
		.grace = SETUP_GRACE,
	};
	int status = command.text ? maple_shell(c, &command) : 0;

	if (status == 0)
		return 0;
	if (status == MAPLE_SHELL_STOPPED) {
		trial->stopped = true;
		return 0;
	}
	if (!WIFEXITED(status) || !maple_unjudged_says(WEXITSTATUS(status)))
		return failed(c, &command, status);
	maple_unjudged(&trial->judgement, MAPLE_UNJUDGED_SAID,
		       "%s '%.100s' has status %d", command.option,
		       command.text, WEXITSTATUS(status));
	maple_unjudged_take(c, trial);
	return 0;
}

static int tear_down(struct maple_campaign *c)
{
	const struct maple_shell_command command = {
		.option = "--teardown",
		.text = c->options->teardown,
		.words = -1,
		.grace = TEARDOWN_GRACE,
	};
	int status = command.text ? maple_shell(c, &command) : 0;

	return status == 0 || status == MAPLE_SHELL_STOPPED
		       ? 0
		       : failed(c, &command, status);
}

/* ---- what the memo is told ---- */

/* The transaction that maple_memo_begin() has opened; @e: what came of it. */
static int close_memo(struct maple_campaign *c, int e)
{
	if (!e)
		e = maple_memo_commit(c->memo, c->err);
	if (e)
		maple_memo_rollback(c->memo);
	return e;
}

static const char *const purposes[] = {
	[MAPLE_FOR_BASELINE] = "baseline",
	[MAPLE_FOR_PROFILE] = "profile",
	[MAPLE_FOR_ENFORCED] = "enforced",
	[MAPLE_FOR_CONFIRM] = "confirm",
	[MAPLE_FOR_CONTROLLED] = "controlled",
	[MAPLE_FOR_SHORTENED] = "shorten",
	[MAPLE_FOR_ATTRIBUTE] = "attribute",
	[MAPLE_FOR_KNOWN] = "known",
};

/*
 * As soon as the run has begun, and while it lasts: it needs not wait for
 * that. It counts from there on, so that a crash is no free try.
 */
static int memo_begin(struct maple_campaign *c, struct maple_trial *trial,
		      int64_t *row)
{
	char *plan = trial->job.kind == MAPLE_RUN_ENFORCE
			     ? maple_planfile_write(c, trial, false)
			     : NULL;
	struct maple_memo_run run = {
		.kind = purposes[trial->purpose],
		.goal = trial->job.goal ? trial->job.goal->row : 0,
		.plan = plan,
		.seed = trial->job.seed,
		.attempt = trial->job.attempt,
		.flip = trial->flip,
	};
	int e;

	assert(maple_lane_has_turn(c) && run.kind);
	e = maple_memo_begin(c->memo, c->err);
	if (!e && trial->job.attempt)
		e = maple_memo_mark(c->memo, c->memo_program,
				    trial->job.goal->row, MAPLE_MEMO_ATTEMPT,
				    c->err);
	if (!e)
		e = maple_memo_run_begin(c->memo, c->memo_campaign, &run, row,
					 c->err);
	free(plan);
	return close_memo(c, e);
}

/* ---- while a run lasts, which is nobody's turn ---- */

struct under_way {
	struct maple_lane *lane;
	struct maple_trial *trial;
	int64_t row; /* in the memo; 0: not told yet */
	int error;   /* of the memo */
};

/* Most logs are short: to map, touch and unmap much takes as long as a run. */
static bool grow_log(struct maple_trial *trial)
{
	uint32_t room = trial->log_room ? 2 * trial->log_room : LOG_FIRST;

	if (room > MAPLE_LOG_MAX || !maple_array_resize(trial->log, room))
		return false;
	trial->log_room = room;
	return true;
}

static void on_event(void *ctx, const struct maple_event *event)
{
	struct maple_lane *lane = ((struct under_way *)ctx)->lane;
	struct maple_trial *trial = ((struct under_way *)ctx)->trial;

	if (event->kind == MAPLE_EV_CREATE)
		trial->threads_seen = true;
	if (event->thread < MAPLE_THREADS)
		trial->ran[event->thread] = true;
	maple_holding_event(&trial->holding, event);
	maple_reached_event(&trial->reached, event);
	if (trial->witness && trial->job.kind != MAPLE_RUN_ENFORCE)
		maple_witness_event(trial->witness, event);
	if (trial->job.kind != MAPLE_RUN_ENFORCE) {
		if (trial->studied && lane->c->subject->from_start)
			maple_study_event(trial, event);
		else if (trial->studied)
			maple_early_event(&trial->early, event);
		if (!trial->values)
			return;
	}
	maple_round_event(&trial->round, event);
	assert(trial->nlog <= trial->log_room);
	if (trial->nlog < trial->log_room || grow_log(trial))
		trial->log[trial->nlog++] = *event;
}

static bool on_tick(void *ctx, pid_t pid)
{
	struct under_way *u = ctx;
	struct maple_lane *lane = u->lane;

	struct rlimit limit;

	/* 0: it is none of ours, nor are our signals for it. */
	if (pid > 0)
		maple_interrupt_forward(&lane->passed, pid);
	if (u->trial->space && pid > 0 && !prlimit(pid, RLIMIT_AS, NULL, &limit))
		u->trial->space = limit.rlim_cur;
	if (maple_lane_try(lane)) {
		if (!u->row && !u->error)
			u->error = memo_begin(lane->c, u->trial, &u->row);
		maple_campaign_progress(lane->c, false);
		maple_lane_leave(lane->c);
	}
	return !u->error && !maple_campaign_over(lane->c) &&
	       !maple_lane_lost(lane);
}

static bool on_enough(void *ctx, pid_t pid, int *news)
{
	struct maple_round *round = &((struct under_way *)ctx)->trial->round;
	bool over = maple_round_over(round, pid);

	/* Until the server is quiet, which nothing tells but a look. */
	*news = round->ended ? MAPLE_RUN_SOON : round->ends;
	return over;
}

/* ---- how it ended ---- */

/* Once: what is not kept changes no verdict, but the next campaign. */
static void tell_full(struct maple_campaign *c)
{
	if (c->told_full || !maple_memo_full(c->memo))
		return;
	c->told_full = true;
	maple_campaign_notice(c,
			      "the campaign goes on, but no more of it is kept: "
			      "%s",
			      maple_memo_full(c->memo));
}

static int memo_end(struct maple_campaign *c, struct maple_trial *trial,
		    int64_t row)
{
	struct maple_memo_run_end end = {
		.verdict = trial->judgement.unjudged ? "unjudged"
			   : trial->stopped	     ? "stopped"
			   : trial->judgement.failure
				   ? maple_failure_name(trial->judgement.failure)
				   : "pass",
		.signo = trial->judgement.signo,
		.status = trial->judgement.status,
		.seconds = trial->run.seconds,
		.cpu_seconds = trial->run.cpu_seconds,
		.delivered = trial->run.delivered,
		.exposed = trial->job.exposed,
		.claimed = trial->job.claimed,
		.reason = trial->job.reason,
		.rested = trial->job.rested,
		.news = c->news,
	};
	int e = maple_memo_run_end(c->memo, row, &end, c->err);

	c->news = 0;
	tell_full(c);
	maple_campaign_count(c);
	/* Runs that confirm something add nothing to it. */
	if (!e && c->memo_program && trial->studied)
		e = maple_memo_sample(c->memo, row, &c->result->coverage,
				      c->err);
	if (!e && trial->studied)
		e = maple_violations_keep(c, false);
	return e;
}

/* What the run means and that it has ended, together. */
static int settle(struct maple_campaign *c, struct maple_trial *trial,
		  int64_t row)
{
	/* What a profile run teaches takes longer than others should wait. */
	bool at_once = trial->job.kind == MAPLE_RUN_ENFORCE;
	int e = at_once ? maple_memo_begin(c->memo, c->err) : 0;

	if (!e && !trial->stopped && trial->studied)
		e = maple_study_ended(c, trial);
	if (!e && !trial->stopped && trial->studied)
		e = maple_belongs_check(c, &trial->run);
	if (!e && !trial->stopped)
		maple_violated_ended(c, trial);
	if (!at_once && !e)
		e = maple_memo_begin(c->memo, c->err);
	else if (!at_once)
		return e;
	if (!e)
		e = memo_end(c, trial, row);
	return close_memo(c, e);
}

/* That a strategy lets a run go sooner than --timeout says is its own affair. */
static void tell_let_go(struct maple_campaign *c,
			const struct maple_trial *trial)
{
	bool sooner = trial->job.hold > 0 && trial->job.hold < c->timeout;

	if (sooner || c->told_let_go)
		return;
	c->told_let_go = true;
	maple_campaign_notice(c,
			      "a run was not over after %.1f s, and was over "
			      "when it was let go: see --timeout",
			      c->timeout);
}

static void add_control(struct maple_control_sum *sum,
			const struct maple_run *run)
{
	sum->runs++;
	sum->points += run->counts.points;
	sum->open += run->counts.open;
	sum->switches += run->counts.switches;
	sum->seconds += run->ended - run->entered;
}

/* Called when it has been judged: what was cut short has delivered nothing. */
static void count_run(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_delivery *d = &c->result->delivery;
	const struct maple_run *run = &trial->run;
	const struct maple_delivery one = {
		.sites = run->sites,
		.unreached = run->unreached,
		.apart = run->apart,
		.threads_over = run->threads_over,
		.images_over = run->images_over,
		.calls_over = run->calls_over,
	};
	unsigned int i;

	assert(maple_lane_has_turn(c));
	c->threads_seen |= trial->threads_seen;
	if (*run->stranger)
		memcpy(c->stranger, run->stranger, sizeof(c->stranger));
	/* These neither observe nor force anything. */
	if (trial->job.kind == MAPLE_RUN_NATIVE ||
	    trial->job.kind == MAPLE_RUN_SCHEDULE)
		return;
	if (trial->stopped)
		return;
	if (!run->delivered) {
		d->undelivered_runs++;
		memcpy(c->why_not, run->why_not, sizeof(c->why_not));
		c->unsupported = run->unsupported;
	} else {
		c->delivered = true;
		c->observed |= trial->studied &&
			       trial->job.kind != MAPLE_RUN_ENFORCE;
		c->enforced |= trial->studied &&
			       trial->job.kind == MAPLE_RUN_ENFORCE;
		c->controlled |= trial->studied && !run->released &&
				 trial->job.kind == MAPLE_RUN_CONTROL;
	}
	if (run->released && run->end == MAPLE_END_ITSELF) {
		d->let_go++;
		tell_let_go(c, trial);
	}
	if (trial->job.kind == MAPLE_RUN_CONTROL && !run->released &&
	    run->entered > 0)
		add_control(&d->control, run);
	maple_delivery_raise(d, &one);
	d->lost += run->lost;
	for (i = 0; i < MAPLE_WAYS; i++)
		d->hits[i] += run->hits[i];
}

/* @order's run goes under @debugger, which has the terminal. */
static int put_under(struct maple_campaign *c, const struct maple_trial *trial,
		     struct maple_run_order *order,
		     struct maple_run_debugger *debugger)
{
	order->debugger = debugger;
	order->own_group = true;
	if (isatty(order->in))
		order->in = c->io.null;
	return maple_under_begin(c, trial, debugger);
}

static int carry_out(struct maple_campaign *c, struct maple_trial *trial,
		     int64_t *row)
{
	struct maple_run_order order = {
		.kind = trial->job.kind,
		.schedule = c->sleeps && !maple_schedule_is_free(
						 trial->job.schedule)
				    ? MAPLE_SCHEDULE_NATIVE
				    : trial->job.schedule,
		.plan = &trial->job.plan,
		.then = trial->job.then,
		.nthen = trial->job.nthen,
		.seed = trial->job.seed,
		.nchanges = trial->job.nchanges,
		.budget = trial->job.budget ? trial->job.budget : MAPLE_BUDGET,
		.lossless = trial->job.kind == MAPLE_RUN_PROFILE,
		.hold = trial->job.hold,
		.own_group = !isatty(STDIN_FILENO),
		.fresh = trial->purpose == MAPLE_FOR_CONFIRM ||
			 trial->purpose == MAPLE_FOR_KNOWN || trial->values,
		.stacks = trial->purpose != MAPLE_FOR_CONFIRM &&
			  trial->purpose != MAPLE_FOR_SHORTENED,
		.ask_call = trial->ask_call,
		.narrow = trial->narrow,
		.outsiders = c->options->setup != NULL,
	};
	struct maple_run_control control = {
		.order = trial->job.policy,
		.list = trial->job.switches.entry,
		.nlist = trial->job.switches.n,
		.names = trial->job.switches.name,
		.nnames = trial->job.switches.nnames,
		.weight = trial->job.expected.weight,
		.log = trial->studied,
		.values = trial->values,
		.reads = trial->job.reads,
		.net = trial->job.net,
		.nnet = trial->job.nnet,
	};
	struct under_way under_way = { .lane = c->lanes.turn, .trial = trial };
	struct maple_run_sink sink = {
		.ctx = &under_way,
		.event = on_event,
		.tick = on_tick,
		.enough = c->between ? on_enough : NULL,
	};
	struct maple_lane *lane = c->lanes.turn;
	struct maple_run_debugger debugger;
	int e;

	trial->names |= trial->job.kind != MAPLE_RUN_ENFORCE ||
			!lane->pair->enforce->ops->heeds_names ||
			!maple_confirm_is_possible(c);
	order.names = trial->names;
	order.fill = trial->job.fill;
	order.slice_us = maple_round_slice_us(c);
	memcpy(order.change, trial->job.change, sizeof(order.change));
	if (control.weight) {
		control.names = trial->job.expected.name;
		control.nnames = trial->job.expected.n;
	}
	if (trial->job.kind == MAPLE_RUN_CONTROL)
		order.control = &control;
	order.alone = trial->job.alone;
	order.nalone = trial->job.nalone;
	e = c->subject->prepare(c, trial, &order);
	if (!e && c->options->under)
		e = put_under(c, trial, &order, &debugger);
	if (e)
		return e;
	maple_violated_begin(c, trial);
	maple_round_begin(c, trial);
	maple_lane_leave(c);
	e = maple_pair_run(lane->pair, &order, &sink, &trial->run, lane->err);
	maple_round_end(&trial->round, &trial->oracle);
	trial->rounds = trial->round.number;
	maple_lane_enter(lane);
	maple_reached_join(&c->reached, &trial->reached);
	assert(!trial->round.job && trial->round.ends < 0);
	if (order.debugger)
		maple_under_end(&debugger);
	c->result->runs.rounds += trial->rounds;
	if (!e)
		e = under_way.error;
	if (!e && !under_way.row)
		e = memo_begin(c, trial, &under_way.row);
	*row = under_way.row;
	return e;
}

/*
 * maple_trial_switches - the schedule of a controlled run: the one that it was
 * told to follow, or had; @trial's. Empty: there was no room to keep all of it
 */
struct maple_switches maple_trial_switches(const struct maple_trial *trial)
{
	const struct maple_run *run = &trial->run;

	/* A strategy's own is what it wanted: other sites are points as well. */
	if (trial->job.switches.nnames && !trial->studied)
		return trial->job.switches;
	if (run->counts.over || run->counts.uncounted)
		return (struct maple_switches){ 0 };
	return (struct maple_switches){
		.n = run->ndecided,
		.nnames = run->nnames,
		.entry = run->decided,
		.name = run->names,
	};
}

/* maple_campaign_lacks - whether @order takes priorities, which are refused */
bool maple_campaign_lacks(const struct maple_campaign *c,
			  const struct maple_trial *order)
{
	return c->sleeps && (order->job.kind == MAPLE_RUN_ENFORCE ||
			     (order->job.kind == MAPLE_RUN_PROFILE &&
			      !maple_schedule_is_free(order->job.schedule)));
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
	bool show = trial->job.kind == MAPLE_RUN_NATIVE && !o->quiet_target &&
		    c->result->runs.baseline == 0;
	int64_t row;
	int e;

	assert(maple_lane_has_turn(c) && c->lanes.turn);
	assert(trial->job.nthen <= MAPLE_RUN_THEN &&
	       trial->job.nchanges <= MAPLE_RUN_CHANGES &&
	       trial->job.nnet <= MAPLE_RUN_NET);
	assert(!trial->log && !trial->run.threads); /* it has had no run yet */
	assert(!trial->stopped && !trial->judgement.failure);
	assert(trial->studied == (trial->campaign == c));
	trial->io = (struct maple_io_run){ .in = -1, .out = -1, .err = -1 };
	e = set_up(c, trial);
	if (trial->stopped) {
		/* Of what was not done not all can be undone. */
		(void)tear_down(c);
		return 0;
	}
	if (e)
		return e;
	e = carry_out(c, trial, &row);
	if (!e) {
		if (show)
			maple_io_show(&trial->io);
		trial->output = maple_io_words(&trial->io);
		maple_violated_judge(c, trial);
		c->subject->judge(c, trial);
		if (!trial->stopped)
			maple_unjudged_take(c, trial);
		assert(trial->stopped || !trial->judgement.unjudged);
		count_run(c, trial);
		e = settle(c, trial, row);
	}
	assert(maple_lane_has_turn(c));
	maple_io_end(&c->io, &trial->io);
	return e ? e : tear_down(c);
}

/* maple_trial_deinit - frees what the trial holds; it may never have run */
void maple_trial_deinit(struct maple_trial *trial)
{
	maple_run_deinit(&trial->run);
	if (trial->campaign)
		maple_study_drop(trial->campaign, trial);
	free(trial->job.alone);
	maple_switches_deinit(&trial->job.switches);
	free(trial->job.expected.name);
	free(trial->job.expected.weight);
	free(trial->output);
	free(trial->oracle);
	free(trial->report);
	free(trial->log);
	maple_holding_deinit(&trial->holding);
	maple_witness_destroy(trial->witness);
	maple_early_deinit(&trial->early);
	maple_reached_deinit(&trial->reached);
	memset(trial, 0, sizeof(*trial));
}
