// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How far a campaign is, whether it may go on, and what the caller hears. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"
#include "base/mix.h"
#include "campaign/subject/interrupt.h"
#include "host/host.h"

#define PROGRESS_EVERY 0.25 /* seconds between two signs of life */

/* maple_campaign_notice - one sentence for the user */
void maple_campaign_notice(struct maple_campaign *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	assert(maple_lane_has_turn(c));
	if (!c->options->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->options->notice(c->options->ctx, text);
}

/* maple_campaign_ready - tells once that all which can be refused was not */
void maple_campaign_ready(struct maple_campaign *c)
{
	assert(maple_lane_has_turn(c));
	if (!c->is_ready && c->options->ready)
		c->options->ready(c->options->ctx);
	c->is_ready = true;
}

/* maple_campaign_seed - a number that follows from the seed and @salt */
uint64_t maple_campaign_seed(const struct maple_campaign *c, uint64_t salt)
{
	return maple_mixed(c->seed + salt * 0x9e3779b97f4a7c15ull);
}

/* maple_campaign_count - brings the result's coverage up to date */
void maple_campaign_count(struct maple_campaign *c)
{
	assert(maple_lane_has_turn(c) && c->system);
	c->strategy->count(c->system, &c->result->coverage);
}

/* A campaign that nobody watches says what it lived through. */
static void tell_return(struct maple_campaign *c)
{
	const struct maple_host *host = c->options->host;

	if (!host || host->returns == c->returns)
		return;
	c->returns = host->returns;
	maple_campaign_notice(c, "mapled was gone and is back: the campaign "
				 "goes on");
}

/* maple_campaign_progress - tells the caller how far we are */
void maple_campaign_progress(struct maple_campaign *c, bool run_ended)
{
	const struct maple_campaign_options *o = c->options;
	double at = maple_clock_now();
	struct maple_progress p = {
		.phase = c->phase,
		.run_ended = run_ended,
		.runs = c->result->runs,
		.seconds = at - c->began,
		.seconds_left = c->deadline > 0 ? c->deadline - at : -1,
		.findings = c->result->nfindings,
		.dry_runs = c->dry_runs,
	};

	assert(maple_lane_has_turn(c));
	if (run_ended)
		tell_return(c);
	if (!o->progress ||
	    (!run_ended && at - c->last_progress < PROGRESS_EVERY))
		return;
	c->last_progress = at;
	p.coverage = c->result->coverage;
	p.candidates = maple_coverage_sum(&p.coverage).left;
	o->progress(o->ctx, &p);
}

/* maple_campaign_enter - a new phase begins */
void maple_campaign_enter(struct maple_campaign *c, enum maple_phase phase)
{
	assert(maple_lane_has_turn(c));
	c->phase = phase;
	c->last_progress = 0;
	maple_campaign_progress(c, false);
}

/* maple_campaign_time_left - seconds, 0 when time is up; -1: no limit */
double maple_campaign_time_left(const struct maple_campaign *c)
{
	double left = c->deadline - maple_clock_now();

	if (c->deadline <= 0)
		return -1;
	return left > 0 ? left : 0;
}

/*
 * maple_campaign_over - whether time is up: a run under way ends as well, and
 * so does whatever else takes its time
 */
bool maple_campaign_over(struct maple_campaign *c)
{
	return maple_campaign_gave_up(c) || c->subject->stops(c) ||
	       (c->deadline > 0 && maple_clock_now() > c->deadline);
}

/*
 * maple_campaign_enough - the same, for what takes its time below: what a run
 * would have taught nobody tries any more
 */
bool maple_campaign_enough(void *ctx)
{
	return maple_campaign_over(ctx);
}

/* maple_campaign_may_go_on - whether another run may begin */
bool maple_campaign_may_go_on(struct maple_campaign *c)
{
	if (maple_interrupt_asked() || c->subject->stops(c))
		c->result->interrupted = true;
	return !c->result->interrupted && !maple_campaign_over(c);
}
