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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define TEXT_OF(word) #word
#define TEXT(macro)   TEXT_OF(macro)

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

/*
 * What the campaign says nothing about, to be freed; NULL: all of the program
 * was observed, but for the runtime that every program shares.
 */
static char *unobserved(const struct maple_campaign *c)
{
	const struct maple_delivery *d = &c->result->delivery;
	const struct {
		uint64_t n;
		const char *what;
	} missed[] = {
		{ d->lost, "events that were lost" },
		{ d->unreached, "sites that no jump reaches" },
		{ d->threads_over,
		  "threads of a run, beyond its first " TEXT(MAPLE_THREADS) },
		{ d->images_over, "libraries that there was no room for" },
		{ d->calls_over, "calls from places there was no room for" },
	};
	const char *slash = strrchr(c->stranger, '/'), *name;
	size_t i, size = 0;
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
	for (i = 0; i < sizeof(missed) / sizeof(*missed); i++)
		if (missed[i].n)
			fprintf(out, ", %" PRIu64 " %s", missed[i].n,
				missed[i].what);
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
	assert(!c->lanes.underway && !c->lanes.holder);
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
			     !r->bound.unsure && !r->bound.dropped &&
			     !r->delivery.threads_over &&
			     !r->delivery.images_over;
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
	why = maple_campaign_gave_up(c)
		      ? c->given_up
		      : c->subject->undelivered(c, &standing, text,
						sizeof(text));
	r->outcome = why ? MAPLE_UNDELIVERED : MAPLE_CLEAN;
	r->single_threaded = why && c->observed && !c->threads_seen &&
			     !r->interrupted;
	r->undelivered = why ? strdup(why) : NULL;
	r->unsupported = (why == c->given_up || why == c->why_not) &&
			 c->unsupported;
	assert(r->outcome != MAPLE_CLEAN || c->observed);
	if (why && !r->undelivered)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	/* Of declared sets, if the user has said that they are failures. */
	if (!why && r->violations.failures)
		r->outcome = MAPLE_FOUND;
	return why ? 0 : maple_known_mended(c);
}
