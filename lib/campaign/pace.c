// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How far a campaign is, whether it may go on, and what the caller hears. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"
#include "interrupt.h"

#define PROGRESS_EVERY 0.25 /* seconds between two signs of life */

/* maple_campaign_notice - one sentence for the user */
void maple_campaign_notice(struct maple_campaign *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!c->options->notice)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->options->notice(c->options->ctx, text);
}

/* maple_campaign_seed - a number that follows from the seed and @salt */
uint64_t maple_campaign_seed(const struct maple_campaign *c, uint64_t salt)
{
	uint64_t z = c->seed + salt * 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* maple_campaign_count - brings the result's coverage up to date */
void maple_campaign_count(struct maple_campaign *c)
{
	maple_strategy_count(c, &c->result->coverage);
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
		.seconds_left = o->max_time > 0 ? o->max_time - (at - c->began)
						: -1,
		.findings = c->result->nfindings,
		.dry_runs = c->dry_runs,
	};

	if (!o->progress ||
	    (!run_ended && at - c->last_progress < PROGRESS_EVERY))
		return;
	c->last_progress = at;
	p.coverage = c->result->coverage;
	p.candidates = maple_iroot_total(p.coverage.left);
	o->progress(o->ctx, &p);
}

/* maple_campaign_enter - a new phase begins */
void maple_campaign_enter(struct maple_campaign *c, enum maple_phase phase)
{
	c->phase = phase;
	c->last_progress = 0;
	maple_campaign_progress(c, false);
}

/* maple_campaign_over - whether it is: a run under way ends as well */
bool maple_campaign_over(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;

	if (maple_campaign_gave_up(c))
		return true;
	if (c->attached &&
	    (maple_interrupt_asked() || maple_detach_asked(c->attached)))
		return true;
	return maple_interrupt_stops() ||
	       (o->max_time > 0 && maple_clock_now() - c->began > o->max_time);
}

/* maple_campaign_may_go_on - whether another run may begin */
bool maple_campaign_may_go_on(struct maple_campaign *c)
{
	if (maple_interrupt_asked() ||
	    (c->attached && maple_detach_asked(c->attached)))
		c->result->interrupted = true;
	return !c->result->interrupted && !maple_campaign_over(c);
}
