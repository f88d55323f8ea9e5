// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How the time is shared among the cases. In a round each case that is not
 * done has a campaign for a slice of the time. A slice that goes on with a
 * case takes up what the memo knows of it. The first round has half of the
 * time, the second one half of what is left then, and so on, until a slice
 * would be too short to be worth a campaign; that round is the last. What a
 * case does not use is the others'.
 *
 * A case is done when its campaign ends for another reason than that its slice
 * is over: it has a finding, nothing to try any more, or as many runs as are
 * allowed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/suite.h>
#include "campaign/result.h"
#include "base/clock.h"

#define LEAST	 2.0 /* seconds: in shorter slices little more than starts */
#define TOO_LATE 0.05

/* Shares of a round's time. */
enum { WEIGHT_DRY = 1, WEIGHT_NEWS = 2, WEIGHT_UNTESTED = 4 };

struct turn {
	bool done;
	unsigned int weight;
};

struct sharing {
	struct maple_suite *suite;
	const struct maple_campaign_options *options;
	struct maple_memo *memo;
	void (*begin)(void *ctx, const struct maple_campaign_options *options,
		      const struct maple_suite_case *c);
	struct turn *turn; /* of each case */
	double until;	   /* 0: no limit */
	bool known;	   /* some campaign has got as far as the memo */
	bool interrupted;
	struct maple_error *err;
};

/* What its next slice should be, seen from @r, what it just had. */
static unsigned int weigh(const struct maple_suite_case *c,
			  const struct maple_campaign_result *r)
{
	if (maple_suite_judge(c) == MAPLE_SUITE_UNTESTED)
		return WEIGHT_UNTESTED;
	return r->dry_runs < maple_runs_made(&r->runs) ? WEIGHT_NEWS
						       : WEIGHT_DRY;
}

static bool runs_used_up(const struct sharing *s,
			 const struct maple_suite_case *c)
{
	const struct maple_runs *runs = &c->result->runs;

	return s->options->max_runs &&
	       maple_runs_made(runs) >= s->options->max_runs;
}

static int take_over(struct sharing *s, unsigned int i,
		     struct maple_campaign_result *r)
{
	struct maple_suite_case *c = &s->suite->cases[i];
	s->known |= r->runs.profile > 0;
	s->interrupted |= r->interrupted;
	if (c->result) {
		int e = maple_campaign_result_add(c->result, r);

		if (e) {
			maple_campaign_result_destroy(r);
			return maple_error_set(s->err, -e, "out of memory");
		}
	} else {
		c->result = r;
	}
	s->turn[i].done = r->stop != MAPLE_STOP_TIME || runs_used_up(s, c) ||
			  maple_suite_judge(c) == MAPLE_SUITE_SINGLE ||
			  (r->outcome == MAPLE_FOUND && !s->options->keep_going);
	s->turn[i].weight = weigh(c, r);
	if (c->result != r)
		maple_campaign_result_destroy(r);
	return 0;
}

/* @slice: seconds; 0: as long as it takes */
static int test(struct sharing *s, unsigned int i, double slice)
{
	struct maple_suite_case *c = &s->suite->cases[i];
	struct maple_campaign_options options = *s->options;
	struct maple_campaign_result *r;
	char *input = NULL; /* the case is in the arguments */
	int e;

	if (options.input &&
	    asprintf(&input, "%s %s", options.input, c->name) < 0)
		return maple_error_set(s->err, ENOMEM, "out of memory");
	options.argv = c->argv;
	options.input = input;
	options.apart = true;
	options.max_time = slice;
	options.patience = s->until - maple_clock_now();
	if (options.max_runs && c->result)
		options.max_runs -= maple_runs_made(&c->result->runs);
	/* It is the whole program that is forgotten. */
	options.fresh = s->options->fresh && !s->known;
	if (s->begin)
		s->begin(options.ctx, &options, c);
	e = maple_campaign_run(&options, s->memo, &r, s->err);
	free(input);
	if (!e)
		return take_over(s, i, r);
	/* The other cases may do better. */
	if (e != -EBADE)
		return e;
	s->turn[i].done = true;
	c->error = strdup(s->err->text);
	return c->error ? 0 : maple_error_set(s->err, ENOMEM, "out of memory");
}

/* The sum of the shares of all from case @i on. */
static unsigned int shares(const struct sharing *s, unsigned int i)
{
	unsigned int sum = 0;

	for (; i < s->suite->n; i++)
		if (!s->turn[i].done)
			sum += s->turn[i].weight;
	return sum;
}

static bool late(const struct sharing *s)
{
	return s->interrupted ||
	       (s->until > 0 && s->until - maple_clock_now() < TOO_LATE);
}

/* Returns whether another one is worth while; see *@error. */
static bool round_of(struct sharing *s, int *error)
{
	double at = maple_clock_now(), left = s->until - at, end = s->until;
	unsigned int active = 0;
	bool last;

	for (unsigned int i = 0; i < s->suite->n; i++)
		active += !s->turn[i].done;
	last = s->until <= 0 || left / 2 < active * LEAST;
	if (!last)
		end = at + left / 2;
	for (unsigned int i = 0; i < s->suite->n && !*error && !late(s); i++) {
		double slice = 0;

		if (s->turn[i].done)
			continue;
		if (s->until > 0) {
			slice = (end - maple_clock_now()) * s->turn[i].weight /
				shares(s, i);
			/* Waiting for the CPU may have used it up. */
			if (slice < TOO_LATE)
				continue;
		}
		*error = test(s, i, slice);
	}
	return active && !last && !*error && !late(s);
}

/* maple_suite_run - see maple/suite.h */
int maple_suite_run(struct maple_suite *suite,
		    const struct maple_campaign_options *options,
		    struct maple_memo *memo,
		    void (*begin)(void *ctx,
				  const struct maple_campaign_options *options,
				  const struct maple_suite_case *c),
		    struct maple_error *err)
{
	double began = maple_clock_now();
	struct maple_error own = { "" };
	struct sharing s = {
		.suite = suite,
		.options = options,
		.memo = memo,
		.begin = begin,
		.turn = calloc(suite->n + 1, sizeof(*s.turn)),
		.until = options->max_time > 0 ? began + options->max_time : 0,
		.err = err ? err : &own,
	};
	int e = 0;

	if (!s.turn)
		return maple_error_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < suite->n; i++)
		s.turn[i] = (struct turn){ suite->cases[i].error != NULL,
					   WEIGHT_UNTESTED };
	while (round_of(&s, &e))
		;
	suite->seconds = maple_clock_now() - began;
	free(s.turn);
	return e;
}
