// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Strategies: what the next run is. A strategy is a row of the table below,
 * and nothing outside this file asks which one it is, so all of them go
 * through the same observer, the same verdicts and the same control.
 *
 * maple predicts and enforces; profile runs and enforced runs take turns. The
 * others are what the paper compares it with (6.1, 6.2.1): they only run the
 * program again and again, each time in a schedule of their own, and observe
 * which iRoots that exposed. What the predictor says is not listened to, but
 * it runs: its history tells the observer what is certain where sites went
 * quiet.
 *
 *   native     left alone: no priorities, no CPU of ours
 * The profile runs of maple see different things: on one CPU the first of
 * several workers serves every request, unless threads take turns.
 *
 *   pct        random strict priorities, depth - 1 change points that drop
 *              the thread which meets them
 *   pctlarge   the same with nice values
 *   randdelay  left alone, but each change point sleeps for a random time
 *
 * Change points come from the run before, so the first run has none.
 */
#include "choice.h"
#include "internal.h"

#define DEPTH_DEFAULT 3	    /* the paper's choice */
#define SCHEDULES     3	    /* of profile runs after the first */
#define LOOKS	      4	    /* at exposed orders, after each profile run */
#define QUIET_LEAST   1.0   /* seconds without news before a campaign ends, */
#define QUIET_UNSEEN  10.0  /* ... where some thread has never run */
#define DELAY_EVERY   50000 /* RandDelay: events between two sleeps ... */
#define DELAYS_LEAST  3	    /* ... of which a run has so many at least */

struct strategy {
	const char *name;
	bool enforces;
	enum maple_schedule first, then[SCHEDULES]; /* these take turns */
	unsigned int (*changes)(const struct maple_campaign *c);
};

static unsigned int no_changes(const struct maple_campaign *c)
{
	return 0;
}

static unsigned int depth_changes(const struct maple_campaign *c)
{
	return (c->options->depth ? c->options->depth : DEPTH_DEFAULT) - 1;
}

static unsigned int delay_changes(const struct maple_campaign *c)
{
	uint64_t n = c->sample.seen / DELAY_EVERY + 1;

	if (n > MAPLE_RUN_CHANGES)
		n = MAPLE_RUN_CHANGES;
	return n < DELAYS_LEAST ? DELAYS_LEAST : n;
}

static const struct strategy table[] = {
	[MAPLE_STRATEGY_MAPLE] = {
		"maple", true, MAPLE_SCHEDULE_OLDER,
		{ MAPLE_SCHEDULE_TURNS, MAPLE_SCHEDULE_PCT,
		  MAPLE_SCHEDULE_PCTLARGE },
		depth_changes,
	},
	[MAPLE_STRATEGY_NATIVE] = {
		"native", false, MAPLE_SCHEDULE_NATIVE,
		{ MAPLE_SCHEDULE_NATIVE, MAPLE_SCHEDULE_NATIVE, MAPLE_SCHEDULE_NATIVE }, no_changes,
	},
	[MAPLE_STRATEGY_PCT] = {
		"pct", false, MAPLE_SCHEDULE_PCT,
		{ MAPLE_SCHEDULE_PCT, MAPLE_SCHEDULE_PCT, MAPLE_SCHEDULE_PCT }, depth_changes,
	},
	[MAPLE_STRATEGY_PCTLARGE] = {
		"pctlarge", false, MAPLE_SCHEDULE_PCTLARGE,
		{ MAPLE_SCHEDULE_PCTLARGE, MAPLE_SCHEDULE_PCTLARGE, MAPLE_SCHEDULE_PCTLARGE },
		depth_changes,
	},
	[MAPLE_STRATEGY_RANDDELAY] = {
		"randdelay", false, MAPLE_SCHEDULE_RANDDELAY,
		{ MAPLE_SCHEDULE_RANDDELAY, MAPLE_SCHEDULE_RANDDELAY, MAPLE_SCHEDULE_RANDDELAY },
		delay_changes,
	},
};

#define STRATEGIES (sizeof(table) / sizeof(*table))

static const struct strategy *strategy_of(const struct maple_campaign *c)
{
	return &table[c->options->strategy];
}

/* maple_strategy_name - see maple/campaign.h */
const char *maple_strategy_name(enum maple_strategy strategy)
{
	return strategy < STRATEGIES ? table[strategy].name : NULL;
}

/* maple_strategy_enforces - whether predictions are listened to */
bool maple_strategy_enforces(const struct maple_campaign *c)
{
	return strategy_of(c)->enforces;
}

/* How often a candidate is tried with one input. */
static unsigned int attempts_of(const struct maple_campaign *c)
{
	if (c->options->attempts)
		return c->options->attempts;
	return c->options->order == MAPLE_ORDER_PAPER ? 2 : MAPLE_PLAN_WAYS;
}

static struct maple_choice_limits limits_of(const struct maple_campaign *c)
{
	return (struct maple_choice_limits){
		.order = c->options->order,
		.attempts = attempts_of(c),
		.failures = MAPLE_FAIL_LIMIT,
	};
}

/* maple_strategy_count - what became of the candidates so far */
void maple_strategy_count(const struct maple_campaign *c,
			  struct maple_coverage *coverage)
{
	struct maple_choice_limits limits = limits_of(c);

	maple_choice_count(&c->candidates, &limits, coverage);
}

/* maple_strategy_resting - candidates that come last, as unlikely */
uint64_t maple_strategy_resting(const struct maple_campaign *c)
{
	struct maple_choice_limits limits = limits_of(c);

	return maple_choice_resting(&c->candidates, &limits);
}

/* maple_strategy_rests - whether @k has been put to rest */
bool maple_strategy_rests(const struct maple_campaign *c,
			  const struct maple_candidate *k)
{
	struct maple_choice_limits limits = limits_of(c);

	return maple_choice_rests(&c->candidates, k, &limits);
}

/* maple_strategy_eligible - whether @k may be tried now */
bool maple_strategy_eligible(const struct maple_campaign *c,
			     struct maple_candidate *k)
{
	struct maple_choice_limits limits = limits_of(c);

	return maple_choice_allows(&c->candidates, k, &limits);
}

/*
 * What was exposed and is forced once more now; NULL: nothing. What a finding
 * differs by is looked for among orders that say more than one of its parts.
 * Of orders that have come again in each way, one between two profile runs:
 * another schedule is more likely to bring news.
 */
static struct maple_candidate *look_next(const struct maple_campaign *c)
{
	struct maple_candidate *k;

	if (c->options->order == MAPLE_ORDER_PAPER || c->attached ||
	    c->search_until || c->looks >= LOOKS)
		return NULL;
	k = maple_choice_again(&c->candidates);
	return k && c->looks && k->looks >= MAPLE_PLAN_WAYS ? NULL : k;
}

/* Whether it is the turn of a profile run, though there may be candidates. */
static bool profile_next(const struct maple_campaign *c)
{
	struct maple_choice_limits limits = limits_of(c);

	if (!c->profile_runs || !strategy_of(c)->enforces)
		return true;
	if (c->dry_profiles >= MAPLE_DRY_PROFILES)
		return false;
	if (c->options->order == MAPLE_ORDER_PAPER)
		return true;
	if (!maple_choice_fresh(&c->candidates, &limits))
		return !look_next(c);
	return c->since_profile >= MAPLE_ENFORCE_BATCH && !c->lanes.profiles;
}

/*
 * Whether nothing new can be expected. A few dry profile runs say little:
 * what is rare comes up in another schedule. So half of the campaign has to
 * have passed without news. Of a thread that has never run nothing is known:
 * it gets longer to do so.
 */
static bool saturated(const struct maple_campaign *c)
{
	double now = maple_clock_now(), dry = now - c->last_news;
	double least = maple_unseen_any(c) ? QUIET_UNSEEN : QUIET_LEAST;

	return c->dry_profiles >= MAPLE_DRY_PROFILES && dry >= least &&
	       dry >= (now - c->explored) / 2;
}

/*
 * maple_strategy_next - PROFILE, or ENFORCE of @candidate, or DONE when there
 * is nothing left to try, and nothing new has come for long
 */
enum maple_phase maple_strategy_next(struct maple_campaign *c,
				     struct maple_candidate **candidate)
{
	struct maple_choice_limits limits = limits_of(c);

	*candidate = NULL;
	if (c->alone || profile_next(c))
		return MAPLE_PHASE_PROFILE;
	/* What rests comes after the dry profile runs, looks between these. */
	if (c->dry_profiles >= MAPLE_DRY_PROFILES ||
	    maple_choice_fresh(&c->candidates, &limits))
		*candidate = maple_choice_next(&c->candidates, &limits);
	if (*candidate)
		return MAPLE_PHASE_ENFORCE;
	/* Whose load goes on may do something new. */
	if (!c->attached && saturated(c))
		return MAPLE_PHASE_DONE;
	*candidate = look_next(c);
	c->looks += *candidate != NULL;
	return *candidate ? MAPLE_PHASE_ENFORCE : MAPLE_PHASE_PROFILE;
}

/*
 * maple_strategy_beside - what is tried in the same run as the @n @chosen
 * ones, or NULL
 */
struct maple_candidate *
maple_strategy_beside(const struct maple_campaign *c,
		      struct maple_candidate *const *chosen, unsigned int n)
{
	struct maple_choice_limits limits = limits_of(c);

	return c->options->order == MAPLE_ORDER_PAPER
		       ? NULL
		       : maple_choice_beside(&c->candidates, &limits, chosen, n);
}

/* maple_strategy_schedule - how the threads of a profile run are scheduled */
void maple_strategy_schedule(struct maple_campaign *c, struct maple_trial *trial)
{
	const struct strategy *s = strategy_of(c);

	unsigned int before = c->profile_runs + c->lanes.profiles;

	if (c->attached) {
		trial->schedule = MAPLE_SCHEDULE_NATIVE;
		return;
	}
	if (!before) {
		trial->schedule = s->first;
		return;
	}
	trial->schedule = s->then[(before - 1) % SCHEDULES];
	if (trial->schedule == MAPLE_SCHEDULE_TURNS &&
	    !maple_pair_turns(c->lanes.turn->pair))
		trial->schedule = MAPLE_SCHEDULE_PCT;
	maple_change_draw(c, trial, s->changes(c));
}
