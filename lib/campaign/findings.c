// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a campaign does with a failed run: tell it, compare it with what was
 * found already, suppress it or confirm it, keep it, and say whether the
 * campaign has what it was after.
 *
 * Two findings are one when their ids are, or when they fail alike and are
 * about one variable, or one has no order and they fail in one place. A finding
 * is settled when its order tells the failure from a pass: forced it fails,
 * reversed it does not. One that is not settled is no answer yet: the campaign
 * goes on for SEARCH_RUNS runs to find what differs; or to its end if the
 * program fails by itself, or if the failure came again in none of the runs
 * that were to confirm it: that is a run that failed, and nothing is known of
 * why. What it finds then takes the place of the first.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/which.h"
#include "internal.h"

#define SEARCH_RUNS 20

/* ---- which are one ---- */

/*
 * "list" of "list", "list+72", "list.head", "list[3]"; or who allocated it, but
 * not which block of those: that is another one in each run.
 */
static size_t base_of(const char *variable)
{
	const char *plus = strstr(variable, " + ");
	size_t size;

	if (maple_which(variable, &size))
		return (size_t)(maple_which(variable, &size) - variable);
	if (!strncmp(variable, "malloc", 6))
		return plus ? (size_t)(plus - variable) : strlen(variable);
	return strcspn(variable, "+.[-");
}

static bool one_variable(const char *a, const char *b)
{
	return a && b && base_of(a) == base_of(b) && !strncmp(a, b, base_of(a));
}

static bool about_one_variable(const struct maple_finding *a,
			       const struct maple_finding *b)
{
	unsigned int i, j;

	for (i = 0; i < a->nmoments; i++)
		for (j = 0; j < b->nmoments; j++)
			if (one_variable(a->moments[i].variable,
					 b->moments[j].variable))
				return true;
	return false;
}

static const struct maple_stack *failed_stack(const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nstacks; i++)
		if (f->stacks[i].failed)
			return &f->stacks[i];
	return NULL;
}

/* Whether the same calls, from the same functions, led to both failures. */
static bool fail_in_one_place(const struct maple_finding *a,
			      const struct maple_finding *b)
{
	const struct maple_stack *of = failed_stack(a), *to = failed_stack(b);
	unsigned int i = 0;

	if (!of || !to || !of->nframes || of->nframes != to->nframes)
		return false;
	while (i < of->nframes &&
	       of->frames[i].place.offset == to->frames[i].place.offset)
		i++;
	return i == of->nframes;
}

/* Where each failed is known, and it is not the same place. */
static bool fail_elsewhere(const struct maple_finding *a,
			   const struct maple_finding *b)
{
	const struct maple_stack *of = failed_stack(a), *to = failed_stack(b);

	return of && to && of->nframes && to->nframes &&
	       !fail_in_one_place(a, b);
}

/* It was run again, and passed each time. */
static bool never_again(const struct maple_finding *f)
{
	return f->forced_runs && !f->forced_fails;
}

/*
 * maple_findings_are_one - whether @b is @a once more
 *
 * What failed without an order may have failed of any: of the one that is
 * looked for, if it failed where that does. With --keep-going others are looked
 * for as well; and what is suppressed hides nothing but itself. What never
 * failed again has failed of what nobody knows: of this, unless it failed
 * elsewhere.
 */
bool maple_findings_are_one(const struct maple_campaign *c,
			    const struct maple_finding *a,
			    const struct maple_finding *b)
{
	if (a->id && b->id && !strcmp(a->id, b->id))
		return true;
	if (a->kind != b->kind || a->signo != b->signo || a->status != b->status)
		return false;
	if (a->native_fails || b->native_fails || about_one_variable(a, b))
		return true;
	if (never_again(a) && !a->known)
		return !fail_elsewhere(a, b);
	return !c->options->keep_going && !a->suppressed &&
	       (!a->class || !b->class) && fail_in_one_place(a, b);
}

static struct maple_finding **look_up(struct maple_campaign *c,
				      const struct maple_finding *f)
{
	struct maple_campaign_result *r = c->result;
	unsigned int i;

	for (i = 0; i < c->lanes.n; i++)
		if (c->lanes.lane[i].confirming &&
		    maple_findings_are_one(c, c->lanes.lane[i].confirming, f))
			return &c->lanes.lane[i].confirming;
	for (i = 0; i < r->nfindings; i++)
		if (maple_findings_are_one(c, r->findings[i], f))
			return &r->findings[i];
	for (i = 0; i < r->nsuppressed; i++)
		if (maple_findings_are_one(c, r->suppressed[i], f))
			return &r->suppressed[i];
	return NULL;
}

/* Whether @place, which look_up() gave, is one of those kept and told. */
static bool is_kept(const struct maple_campaign *c,
		    struct maple_finding *const *place)
{
	const struct maple_campaign_result *r = c->result;

	return place >= r->findings && place < r->findings + r->nfindings;
}

/* ---- whether it is the answer ---- */

/* Something that a control can leave out. */
static bool has_order(const struct maple_finding *f)
{
	return f->class || f->switches;
}

static bool tells_apart(const struct maple_finding *f)
{
	/* Of a meeting that fails now and then, the control never does. */
	if (maple_finding_meets(f))
		return f->flipped_runs && f->forced_fails && !f->flipped_fails;
	return has_order(f) && f->flipped_runs &&
	       f->forced_fails * 2 > f->forced_runs &&
	       maple_finding_is_cause(f);
}

static bool is_settled(const struct maple_campaign *c,
		       const struct maple_finding *f)
{
	if (f->known)
		return true;
	if (f->native_fails)
		return tells_apart(f);
	/* Random schedules alone have no order to look for. */
	if (never_again(f) && (has_order(f) || c->strategy->forces))
		return false;
	/* Without an order it answers nothing that was asked. */
	if (!has_order(f))
		return !c->search_until;
	/* Where there is no control, nothing can be asked of it. */
	return !f->flipped_runs || tells_apart(f);
}

static unsigned int runs_made(const struct maple_campaign *c)
{
	return maple_runs_made(&c->result->runs);
}

/* maple_findings_enough - whether the campaign may end with what it has */
bool maple_findings_enough(const struct maple_campaign *c)
{
	const struct maple_campaign_result *r = c->result;
	unsigned int i;

	if (c->options->keep_going)
		return false;
	for (i = 0; i < r->nfindings; i++)
		if (is_settled(c, r->findings[i]))
			return true;
	return r->nfindings && c->search_until &&
	       runs_made(c) >= c->search_until;
}

/* ---- keeping ---- */

/*
 * maple_findings_store - @finding goes into the memo; where that has no room
 * for it the user is told, and it is in the report alone
 */
int maple_findings_store(struct maple_campaign *c,
			 const struct maple_finding *finding)
{
	int e = maple_memo_finding_store(c->memo, c->memo_campaign, finding,
					 c->err);

	if (!e || !maple_memo_full(c->memo))
		return e;
	maple_campaign_notice(c,
			      "finding %s is in this report alone, and not "
			      "kept: %s",
			      finding->id, maple_memo_full(c->memo));
	return 0;
}

/* Takes @finding over, into the memo and to the end of @list. */
static int keep(struct maple_campaign *c, struct maple_finding *finding,
		struct maple_finding ***list, unsigned int *n)
{
	int e;

	assert(maple_lane_has_turn(c) && finding->id);
	for (unsigned int i = 0; i < *n; i++)
		assert((*list)[i] != finding);
	e = maple_findings_store(c, finding);
	if (!e && !maple_array_resize(*list, *n + 1))
		e = maple_error_set(c->err, ENOMEM, "out of memory");
	if (e) {
		maple_finding_destroy(finding);
		return e;
	}
	(*list)[(*n)++] = finding;
	return 0;
}

/* A finding that is known to the user is kept and counted, nothing more. */
static int suppress(struct maple_campaign *c, struct maple_finding *finding,
		    const char *by)
{
	struct maple_campaign_result *r = c->result;

	assert(!finding->suppressed && !finding->told);
	finding->suppressed = strdup(by);
	if (!finding->suppressed) {
		maple_finding_destroy(finding);
		return maple_error_set(c->err, ENOMEM, "out of memory");
	}
	maple_campaign_notice(c, "suppressed by %s: %s", by, finding->title);
	return keep(c, finding, &r->suppressed, &r->nsuppressed);
}

static void tell(struct maple_campaign *c, struct maple_finding *finding)
{
	assert(!finding->told && !finding->suppressed); /* once */
	finding->told = true;
	if (c->options->finding)
		c->options->finding(c->options->ctx, finding);
}

/* What is not settled is told when the search for what differs is over. */
static void settle(struct maple_campaign *c, struct maple_finding *finding)
{
	if (!is_settled(c, finding) && never_again(finding)) {
		maple_campaign_notice(c,
				      "%s: it did not fail again in %u runs; "
				      "looking for an order that does",
				      finding->title, finding->forced_runs);
		return;
	}
	if (is_settled(c, finding) || c->options->keep_going) {
		if (!c->options->keep_going)
			maple_lane_win(c);
		tell(c, finding);
		return;
	}
	if (finding->native_fails || c->search_until)
		return;
	c->search_until = runs_made(c) + SEARCH_RUNS;
	maple_campaign_notice(c,
			      "the reversed order fails as well: looking for "
			      "what differs, in up to %d more runs",
			      SEARCH_RUNS);
}

/* maple_findings_tell - what has not been told yet, at the campaign's end */
void maple_findings_tell(struct maple_campaign *c)
{
	struct maple_campaign_result *r = c->result;
	unsigned int i;

	for (i = 0; i < r->nfindings; i++)
		if (!r->findings[i]->told)
			tell(c, r->findings[i]);
}

/* Whoever wants no control wants to know all the same that it was no accident. */
static bool may_confirm(const struct maple_campaign *c,
			const struct maple_trial *trial)
{
	bool wanted = !c->options->no_confirm || maple_confirm_is_needed(trial);

	return wanted && c->subject->repeats &&
	       trial->job.kind != MAPLE_RUN_NATIVE;
}

/* Whether its orders are to be tried again in this campaign: not, if @found. */
static void put_aside(const struct maple_trial *trial, bool found)
{
	unsigned int i;

	if (trial->job.goal)
		trial->job.goal->found = found;
	for (i = 0; i < trial->job.nthen; i++)
		if (trial->job.beside[i] && trial->run.begun >> i & 1)
			trial->job.beside[i]->found = found;
}

/* The control of @finding; *@refuted: it was none. */
static int confirm(struct maple_campaign *c, struct maple_finding *finding,
		   struct maple_trial *trial, bool *refuted)
{
	struct maple_lane *lane = c->lanes.turn;
	enum maple_phase phase = c->phase;
	int e;

	*refuted = false;
	if (!may_confirm(c, trial))
		return 0;
	assert(maple_lane_has_turn(c) && !lane->confirming);
	maple_campaign_enter(c, MAPLE_PHASE_CONFIRM);
	lane->confirming = finding;
	if (!c->options->keep_going)
		maple_lane_hold(c, lane);
	e = maple_confirm(c, finding, trial);
	assert(lane == c->lanes.turn && lane->confirming == finding);
	assert(finding->forced_fails <= finding->forced_runs &&
	       finding->flipped_fails <= finding->flipped_runs &&
	       finding->serial_fails <= finding->serial_runs);
	if (!e && never_again(finding)) /* in another way, it may */
		put_aside(trial, false);
	if (!e)
		e = maple_disturbed_control(c, finding, trial, refuted);
	if (!e && !*refuted && is_settled(c, finding) &&
	    !c->options->keep_going &&
	    !maple_suppressions_match(c->options->suppressions, finding))
		maple_lane_win(c);
	maple_lane_hold(c, NULL);
	lane->confirming = NULL;
	c->phase = phase;
	return e;
}

/* What is stored now survives us; the control is added later. */
static int announce(struct maple_campaign *c, struct maple_finding *finding,
		    const struct maple_trial *trial)
{
	struct maple_campaign_result *r = c->result;

	if (!r->first_finding_runs && !finding->known) {
		r->first_finding_runs = runs_made(c);
		r->first_finding_seconds = maple_clock_now() - c->began;
	}
	if (trial->part && !finding->known)
		trial->part->findings++;
	return maple_findings_store(c, finding);
}

/*
 * maple_findings_keep - confirms @finding, which @trial found, and keeps it
 * unless that shows that it is none; takes it over
 */
int maple_findings_keep(struct maple_campaign *c, struct maple_finding *finding,
			struct maple_trial *trial)
{
	struct maple_campaign_result *r = c->result;
	struct maple_lane *lane = c->lanes.turn;
	/* A hang may be the machine's: that shows when it is run again. */
	bool waits = finding->kind == MAPLE_FAILURE_HANG &&
		     may_confirm(c, trial);
	bool refuted;
	int e;

	/* Of other lanes' findings, it may be one again. */
	assert(!lane->confirming);
	lane->confirming = finding;
	e = maple_disturbed(c, finding, trial, &refuted);
	lane->confirming = NULL;
	if (!e && !refuted && !waits)
		e = announce(c, finding, trial);
	if (!e && !refuted)
		e = confirm(c, finding, trial, &refuted);
	if (!e && !refuted && waits)
		e = announce(c, finding, trial);
	if (e || refuted) {
		maple_finding_destroy(finding);
		return e;
	}
	maple_unjudged_not(c);
	e = keep(c, finding, &r->findings, &r->nfindings);
	if (!e)
		settle(c, finding);
	return e;
}

/* Whether memory was enough. */
static bool put(char **to, const char *from)
{
	char *text = from ? strdup(from) : NULL;

	if (from && !text)
		return false;
	free(*to);
	*to = text;
	return true;
}

/* maple_findings_replace - @finding is @of, told anew, from now on */
int maple_findings_replace(struct maple_finding *finding,
			   const struct maple_finding *of,
			   struct maple_error *err)
{
	assert(finding != of);
	if (!put(&finding->id, of->id) ||
	    !put(&finding->strategy, of->strategy) ||
	    !put(&finding->machine, of->machine) ||
	    !put(&finding->cpu, of->cpu) || !put(&finding->kernel, of->kernel) ||
	    !put(&finding->first_backend, of->first_backend) ||
	    maple_finding_line(finding))
		return maple_error_set(err, ENOMEM, "out of memory");
	finding->found_at = of->found_at;
	finding->times_seen = of->times_seen;
	finding->native_fails = of->native_fails;
	finding->native_runs = of->native_runs;
	finding->known = of->known;
	return 0;
}

/* What it is about is known only now. */
static int suppress_kept(struct maple_campaign *c, struct maple_finding **place,
			 const char *by)
{
	struct maple_campaign_result *r = c->result;
	struct maple_finding *finding = *place;

	assert(is_kept(c, place));
	memmove(place, place + 1,
		(char *)(r->findings + --r->nfindings) - (char *)place);
	return suppress(c, finding, by);
}

/* Whether @finding, which was confirmed, says more than @first. */
static bool is_better(const struct maple_finding *finding,
		      const struct maple_finding *first)
{
	return tells_apart(finding) ||
	       (never_again(first) && !never_again(finding));
}

/* Another failure of what was found: perhaps it is told better by this one. */
static int found_again(struct maple_campaign *c, struct maple_finding **place,
		       struct maple_finding *finding, struct maple_trial *trial)
{
	struct maple_finding *first = *place;
	const char *by;
	bool refuted;
	int e = 0;

	maple_unjudged_not(c);
	first->times_seen++;
	if (first->suppressed || first->told || is_settled(c, first) ||
	    (!has_order(finding) && !never_again(first)) ||
	    c->options->no_confirm)
		goto drop;
	e = maple_confirm_details(c, trial, &finding);
	if (!e)
		e = maple_findings_replace(finding, first, c->err);
	if (!e)
		e = confirm(c, finding, trial, &refuted);
	/*
	 * The turn was given away: the list may have moved, or the lane that
	 * confirms it is not done with it.
	 */
	place = look_up(c, first);
	if (e || !place || *place != first || !is_kept(c, place) ||
	    !is_better(finding, first))
		goto drop;
	e = maple_findings_store(c, finding);
	if (e)
		goto drop;
	*place = finding;
	maple_finding_destroy(first);
	by = maple_suppressions_match(c->options->suppressions, finding);
	if (by)
		return suppress_kept(c, place, by);
	settle(c, finding);
	return 0;
drop:
	maple_finding_destroy(finding);
	return e;
}

/* maple_findings_take - keeps @finding, which is new, unless it is suppressed */
int maple_findings_take(struct maple_campaign *c, struct maple_finding *finding,
			struct maple_trial *trial)
{
	const char *by =
		maple_suppressions_match(c->options->suppressions, finding);

	assert(finding->id && !finding->told && !finding->suppressed);
	return by ? suppress(c, finding, by)
		  : maple_findings_keep(c, finding, trial);
}

/* maple_findings_add - @trial has failed: what becomes of it */
int maple_findings_add(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_finding *finding, **again;
	int e;

	assert(trial->judgement.failure && !trial->judgement.unjudged);
	e = maple_confirm_attribute(c, trial);
	if (e || maple_lane_lost(c->lanes.turn))
		return e;
	put_aside(trial, true);
	finding = maple_story_tell(c, trial);
	if (!finding)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	again = look_up(c, finding);
	if (again)
		return found_again(c, again, finding, trial);
	e = maple_confirm_details(c, trial, &finding);
	/* Another lane's finding may have come first meanwhile. */
	if (e || maple_lane_lost(c->lanes.turn) || look_up(c, finding)) {
		maple_finding_destroy(finding);
		return e;
	}
	return maple_findings_take(c, finding, trial);
}
