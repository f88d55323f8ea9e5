// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a campaign came to: freed, and added up. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "internal.h"
#include "result.h"

/* maple_campaign_result_destroy - see maple/campaign.h */
void maple_campaign_result_destroy(struct maple_campaign_result *result)
{
	unsigned int i;

	if (!result)
		return;
	for (i = 0; i < result->nfindings; i++)
		maple_finding_destroy(result->findings[i]);
	for (i = 0; i < result->nsuppressed; i++)
		maple_finding_destroy(result->suppressed[i]);
	for (i = 0; i < result->nfixed; i++)
		maple_finding_destroy(result->fixed[i]);
	maple_violations_deinit(&result->violations);
	free(result->findings);
	free(result->suppressed);
	free(result->fixed);
	free(result->unseen);
	free(result->unobserved);
	free(result->cut_short);
	free(result->delivery.left_out);
	free(result->undelivered);
	free(result->parts);
	maple_coverage_deinit(&result->coverage);
	free(result);
}

/* Moves the findings of @more, that are not there yet, to the end of @list. */
static int add_findings(struct maple_finding ***list, unsigned int *n,
			struct maple_finding **more, unsigned int m)
{
	struct maple_finding **grown =
		reallocarray(*list, *n + m + 1, sizeof(*grown));
	unsigned int had = *n, i, k;

	if (!grown)
		return -ENOMEM;
	*list = grown;
	for (i = 0; i < m; i++) {
		for (k = 0; k < had; k++)
			if (!strcmp(grown[k]->id, more[i]->id))
				break;
		if (k < had) {
			grown[k]->times_seen++;
			continue;
		}
		grown[(*n)++] = more[i];
		more[i] = NULL;
	}
	return 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What is left, the later one has to say, if @last; -ENOMEM, or 0. */
static int add_coverage(struct maple_coverage *coverage,
			const struct maple_coverage *later, bool last)
{
	for (unsigned int i = 0; i < later->nclasses; i++) {
		const struct maple_class_count *l = &later->class[i];
		struct maple_class_count *c =
			maple_coverage_class(coverage, l->name);

		if (!c)
			return -ENOMEM;
		/* It met much of what the first one has met. */
		c->predicted = more(c->predicted, l->predicted);
		c->exposed = more(c->exposed, l->exposed);
		c->failed = more(c->failed, l->failed);
		if (last) {
			c->left = l->left;
			c->barred = l->barred;
		}
	}
	return 0;
}

/* What the later one has to say, if anything. */
static void take_text(char **text, char **later)
{
	char *before = *text;

	if (!*later)
		return;
	*text = *later;
	*later = before;
}

static void add_delivery(struct maple_delivery *d, struct maple_delivery *later)
{
	for (unsigned int i = 0; i < 4; i++)
		d->hits[i] += later->hits[i];
	maple_delivery_raise(d, later);
	d->lost += later->lost;
	d->undelivered_runs += later->undelivered_runs;
	d->let_go += later->let_go;
	d->control.runs += later->control.runs;
	d->control.points += later->control.points;
	d->control.open += later->control.open;
	d->control.switches += later->control.switches;
	d->control.seconds += later->control.seconds;
	for (unsigned int i = 0; i < MAPLE_UNJUDGEDS; i++)
		d->unjudged[i] += later->unjudged[i];
	take_text(&d->left_out, &later->left_out);
}

/*
 * Each of @later's counts as a new one: an order of one test's is not that of
 * another one. They move, as far as there is room.
 */
static int add_violations(struct maple_violations *v,
			  struct maple_violations *later)
{
	struct maple_finding **grown =
		reallocarray(v->at, v->n + later->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	v->at = grown;
	if (later->n)
		memcpy(v->at + v->n, later->at, later->n * sizeof(*grown));
	v->n += later->n;
	later->n = 0;
	v->asked |= later->asked;
	v->strict |= later->strict;
	v->failures += later->failures;
	v->more += later->more;
	v->runs += later->runs;
	v->units += later->units;
	v->unsure += later->unsure;
	v->cut += later->cut;
	return 0;
}

/* Of one strategy, so they have the same parts, but for a result of none. */
static void add_parts(struct maple_campaign_result *r,
		      struct maple_campaign_result *later)
{
	if (!r->nparts) {
		r->parts = later->parts;
		r->nparts = later->nparts;
		later->parts = NULL;
		later->nparts = 0;
	}
	assert(r->nparts >= later->nparts);
	for (unsigned int i = 0; i < later->nparts; i++) {
		r->parts[i].runs += later->parts[i].runs;
		r->parts[i].news += later->parts[i].news;
		r->parts[i].findings += later->parts[i].findings;
		r->parts[i].seconds += later->parts[i].seconds;
	}
}

static void add_runs(struct maple_campaign_result *r,
		     const struct maple_campaign_result *later)
{
	unsigned int before = maple_runs_made(&r->runs);
	unsigned int more = maple_runs_made(&later->runs);

	if (!r->nfindings && later->nfindings) {
		r->first_finding_runs = before + later->first_finding_runs;
		r->first_finding_seconds =
			r->seconds + later->first_finding_seconds;
	}
	r->dry_runs = later->dry_runs < more ? later->dry_runs
					     : r->dry_runs + more;
	r->runs.baseline += later->runs.baseline;
	r->runs.profile += later->runs.profile;
	r->runs.enforced += later->runs.enforced;
	r->runs.controlled += later->runs.controlled;
	r->runs.again += later->runs.again;
	r->runs.confirm += later->runs.confirm;
	r->seconds += later->seconds;
}

/*
 * maple_campaign_result_add - @later went on where @result had ended
 *
 * Findings move from @later, which is to be destroyed all the same; pointers
 * to them stay valid. What was tested once has been tested, whatever later
 * did not come to pass. Returns -ENOMEM or 0.
 */
int maple_campaign_result_add(struct maple_campaign_result *r,
			      struct maple_campaign_result *later)
{
	static const int rank[] = {
		[MAPLE_UNDELIVERED] = 0, [MAPLE_CLEAN] = 1, [MAPLE_FOUND] = 2
	};
	char *why = r->undelivered, *unseen = r->unseen;
	int e;

	add_runs(r, later);
	add_parts(r, later);
	e = add_findings(&r->findings, &r->nfindings, later->findings,
			 later->nfindings);
	if (!e)
		e = add_findings(&r->suppressed, &r->nsuppressed,
				 later->suppressed, later->nsuppressed);
	if (!e)
		e = add_findings(&r->fixed, &r->nfixed, later->fixed,
				 later->nfixed);
	if (!e)
		e = add_coverage(&r->coverage, &later->coverage,
				 rank[later->outcome] >= rank[r->outcome]);
	if (!e)
		e = add_violations(&r->violations, &later->violations);
	if (e)
		return e;
	add_delivery(&r->delivery, &later->delivery);
	r->prediction.events += later->prediction.events;
	for (unsigned int i = 0; i < MAPLE_CUTS; i++)
		r->prediction.cut[i] += later->prediction.cut[i];
	take_text(&r->unobserved, &later->unobserved);
	take_text(&r->cut_short, &later->cut_short);
	r->interrupted |= later->interrupted;
	r->shared_cpu |= later->shared_cpu;
	r->sleeps |= later->sleeps;
	if (rank[later->outcome] < rank[r->outcome])
		return 0;
	r->outcome = later->outcome;
	r->undelivered = later->undelivered;
	later->undelivered = why;
	r->single_threaded = later->single_threaded;
	r->candidates_left = later->candidates_left;
	r->candidates_resting = later->candidates_resting;
	r->stop = later->stop;
	r->exhausted = later->exhausted;
	r->bound = later->bound;
	r->unseen = later->unseen;
	later->unseen = unseen;
	r->backends = later->backends;
	return 0;
}

/* maple_campaign_parts - see maple/campaign.h */
char *maple_campaign_parts(const struct maple_campaign_result *result)
{
	json_t *array = json_array();
	char *text;

	for (unsigned int i = 0; i < result->nparts; i++) {
		const struct maple_part_runs *p = &result->parts[i];

		json_array_append_new(
			array,
			json_pack("{s:s, s:i, s:i, s:i, s:f}", "name", p->name,
				  "runs", (int)p->runs, "news", (int)p->news,
				  "findings", (int)p->findings, "seconds",
				  p->seconds));
	}
	text = json_dumps(array, JSON_COMPACT);
	json_decref(array);
	return text;
}
