// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a campaign amounts to. Without a finding it is clean only if it has
 * tested something: threads were seen and observed, and either nothing is left
 * to try, and nothing new has come for long, or the user's own limit was
 * reached after at least one order was forced. All else is "undelivered", with
 * what it would take.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

/* maple_stop_name - see maple/campaign.h */
const char *maple_stop_name(enum maple_stop stop)
{
	static const char *const names[] = {
		[MAPLE_STOP_SATURATED] = "saturated",
		[MAPLE_STOP_FOUND] = "finding",
		[MAPLE_STOP_TIME] = "time limit",
		[MAPLE_STOP_RUNS] = "run limit",
		[MAPLE_STOP_ASKED] = "interrupted",
		[MAPLE_STOP_GONE] = "ended",
		[MAPLE_STOP_GAVE_UP] = "gave up",
	};

	return (unsigned int)stop < sizeof(names) / sizeof(*names) ? names[stop]
								   : "unknown";
}

/*
 * maple_campaign_untried - whether there were no priorities to force an order
 * by, and no schedule has been controlled either
 */
bool maple_campaign_untried(const struct maple_campaign *c)
{
	return c->sleeps && c->strategy->forces && !c->controlled;
}

/* No order was forced before the limit. */
static const char *not_forced(const struct maple_campaign *c, char *text,
			      size_t size)
{
	const struct maple_campaign_result *r = c->result;
	unsigned int runs = r->runs.profile ? r->runs.profile : 1;
	bool time = r->stop == MAPLE_STOP_TIME;

	snprintf(text, size,
		 "no order was forced before the %s was reached, %llu "
		 "candidates are left; a run took %.1f s: raise %s",
		 maple_stop_name(r->stop),
		 (unsigned long long)r->candidates_left,
		 (r->seconds - (c->explored - c->began)) / runs,
		 time ? "--max-time" : "--max-runs");
	return text;
}

/* Its threads may be those of a program that it has started. */
static const char *single(const struct maple_campaign *c, char *text,
			  size_t size)
{
	const char *slash = strrchr(c->stranger, '/');

	if (!*c->stranger)
		return "the program never had a second thread: there is no "
		       "interleaving to test";
	snprintf(text, size,
		 "the program never had a second thread, but %s, which it "
		 "started, had: to test that one, --exe %s",
		 c->stranger, slash ? slash + 1 : c->stranger);
	return text;
}

/* A thread that never ran leaves its part of the program untested. */
static const char *not_run(const struct maple_campaign *c, char *text,
			   size_t size)
{
	const struct maple_campaign_result *r = c->result;

	snprintf(text, size,
		 "never ran in %u profile runs, though created: thread%s %s; "
		 "does main() end without waiting for it?",
		 r->runs.profile, strchr(r->unseen, ',') ? "s" : "", r->unseen);
	return text;
}

/* What was asked for is a statement about all schedules within bounds. */
static const char *not_exhausted(const struct maple_campaign *c, char *text,
				 size_t size)
{
	const struct maple_campaign_result *r = c->result;
	const struct maple_bound *b = &r->bound;

	if (r->exhausted && b->dropped)
		snprintf(text, size,
			 "there was no room for %llu schedules: ask for fewer "
			 "--preemptions (%u) or --variables",
			 (unsigned long long)b->dropped, b->bounds.preemptions);
	else if (r->exhausted)
		snprintf(text, size,
			 "%llu of %llu schedules did not do what they say, or "
			 "were not seen to their end: what this program does is "
			 "not its schedule's alone",
			 (unsigned long long)b->unsure,
			 (unsigned long long)b->schedules);
	else
		snprintf(text, size,
			 "%s: not all schedules were run; raise --max-time and "
			 "--max-runs, or ask for fewer --preemptions (%u) or "
			 "--variables",
			 maple_stop_name(r->stop), b->bounds.preemptions);
	return text;
}

static const char *why_undelivered(struct maple_campaign *c,
				   const struct maple_standing *standing,
				   char *text, size_t size)
{
	const struct maple_campaign_result *r = c->result;

	if (maple_campaign_gave_up(c))
		return c->given_up;
	if (c->attached)
		return maple_stretch_undelivered(c);
	if (!r->runs.profile && !r->runs.controlled)
		return r->interrupted ? "interrupted before the first run"
				      : "the time was over before the first "
					"run after the baseline: raise "
					"--max-time";
	if (r->interrupted) {
		snprintf(text, size,
			 "interrupted after %u profile, %u enforced and %u "
			 "controlled runs",
			 r->runs.profile, r->runs.enforced, r->runs.controlled);
		return text;
	}
	if (!c->observed)
		return c->why_not;
	if (!c->threads_seen)
		return single(c, text, size);
	if (r->runs.enforced && !c->enforced)
		return c->why_not;
	if (c->options->exhaust && !r->bound.exhausted)
		return not_exhausted(c, text, size);
	if (!c->strategy->forces)
		return standing->nothing;
	if (maple_campaign_untried(c))
		return "there were no real-time priorities to force an order "
		       "by, and no controlled run came before the end: raise "
		       "--max-time or --max-runs";
	if (r->stop == MAPLE_STOP_SATURATED)
		return r->unseen ? not_run(c, text, size) : NULL;
	/* A limit that came when there was nothing to try is none. */
	if ((r->stop == MAPLE_STOP_TIME || r->stop == MAPLE_STOP_RUNS) &&
	    !c->enforced && (r->candidates_left || standing->untried) &&
	    !c->sleeps)
		return not_forced(c, text, size);
	return NULL;
}

/*
 * What the campaign says nothing about, to be freed; NULL: all of the program
 * was observed, but for the runtime that every program shares.
 */
static char *unobserved(const struct maple_campaign *c)
{
	const struct maple_delivery *d = &c->result->delivery;
	const char *slash = strrchr(c->stranger, '/'), *name;
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; c->registry; i++) {
		name = maple_registry_left_out(c->registry, i);
		if (!name)
			break;
		fprintf(out, ", %s", name);
	}
	if (*c->stranger)
		fprintf(out, ", threads of %s, which it started (--exe %s)",
			c->stranger, slash ? slash + 1 : c->stranger);
	if (d->lost)
		fprintf(out, ", %llu events that were lost",
			(unsigned long long)d->lost);
	if (d->unreached)
		fprintf(out, ", %llu sites that no jump reaches",
			(unsigned long long)d->unreached);
	if (fclose(out) || !size) {
		free(text);
		return NULL;
	}
	memmove(text, text + 2, size - 1);
	return text;
}

/* maple_conclude - fills in the result, when all runs are over */
int maple_conclude(struct maple_campaign *c)
{
	struct maple_campaign_result *r = c->result;
	struct maple_standing standing;
	const char *why;
	char text[768];

	assert(maple_lane_has_turn(c) && c->phase == MAPLE_PHASE_DONE);
	r->seconds = maple_clock_now() - c->began;
	r->dry_runs = c->dry_runs;
	maple_campaign_count(c);
	r->candidates_left = maple_coverage_sum(&r->coverage).left;
	c->strategy->standing(c->system, &standing);
	r->candidates_resting = standing.resting;
	r->delivery.startup = standing.startup;
	r->delivery.not_split = standing.not_split;
	r->exhausted = r->stop == MAPLE_STOP_SATURATED;
	r->bound = standing.bound;
	r->bound.exhausted = c->options->exhaust && r->exhausted &&
			     !r->bound.unsure && !r->bound.dropped;
	r->unseen = maple_unseen_names(c);
	r->unobserved = unobserved(c);
	r->delivery.left_out = maple_delivery_left_out(c, standing.unshared);
	maple_delivery_splits(c, &r->delivery);
	maple_findings_tell(c);
	/* Each was found in some run, and told. */
	for (unsigned int i = 0; i < r->nfindings; i++)
		assert(r->findings[i]->told);
	if (r->nfindings) {
		r->outcome = MAPLE_FOUND;
		return 0;
	}
	why = why_undelivered(c, &standing, text, sizeof(text));
	r->outcome = why ? MAPLE_UNDELIVERED : MAPLE_CLEAN;
	r->single_threaded = why && c->observed && !c->threads_seen &&
			     !r->interrupted;
	r->undelivered = why ? strdup(why) : NULL;
	r->unsupported = (why == c->given_up || why == c->why_not) &&
			 c->unsupported;
	assert(r->outcome != MAPLE_CLEAN || c->observed || c->attached);
	if (why && !r->undelivered)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	return why ? 0 : maple_known_mended(c);
}
