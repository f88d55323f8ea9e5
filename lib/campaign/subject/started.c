// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A program that we start, once for each run, and a server, which is started
 * as well, but driven by rounds of requests (round.c). Without a finding it is
 * clean when it was tested: conclude.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../image/image.h"
#include "campaign/internal.h"

/* What a run gets after its time limit, with native scheduling. */
#define GRACE_LEAST 2.0 /* seconds */
#define GRACE_TIMES 5.0 /* the baseline's duration */

/* ---- before the first run ---- */

static void pass_notice(void *ctx, const char *text)
{
	maple_campaign_notice(ctx, "%s", text);
}

/* What the campaign is to do that takes priorities; NULL: nothing. */
static const char *for_priorities(const struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;

	if (c->strategy->needs & MAPLE_NEEDS_PRIORITIES)
		return "this --strategy";
	if (o->between)
		return "--between";
	if (c->strategy->forces && o->order == MAPLE_ORDER_PAPER)
		return "--order paper";
	if (o->backend && strcmp(o->backend, "auto") &&
	    strcmp(o->backend, "agent"))
		return "this --backend";
	return NULL;
}

/*
 * Controlled runs do without real-time priorities. What needs them is refused
 * with what it takes to have them.
 */
static int ask_priorities(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	int e = o->no_priorities ? 0 : maple_realtime_probe(o->host, c->err);
	const char *what = for_priorities(c);

	if (!o->no_priorities && (e != -EPERM || what))
		return e;
	if (what)
		return maple_error_set(c->err, EINVAL,
				       "--no-priorities: %s takes them", what);
	c->sleeps = c->result->sleeps = true;
	maple_campaign_notice(
		c,
		"%sthreads are held asleep in controlled runs, and "
		"no order is forced%s",
		e ? "real-time priorities are refused: " : "",
		e ? "; mapletest doctor says what it takes" : "");
	return 0;
}

static int open_started(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	int e;

	if (!o->argv || !o->argv[0])
		return maple_error_set(c->err, EINVAL, "no program given");
	e = maple_campaign_find_program(o->argv[0], &c->program, c->err);
	if (!e)
		e = maple_campaign_check_program(c->program, o->exe, c->err);
	if (!e && o->expect_output && access(o->expect_output, R_OK))
		e = maple_error_set(c->err, EINVAL, "--expect-output %s: %m",
				    o->expect_output);
	if (e)
		return e;
	c->undefined = o->exe ||
		       maple_image_mentions(c->program, "__ubsan_handle_");
	c->agent = maple_campaign_find_agent(o->agent);
	c->cwd = get_current_dir_name();
	maple_registry_keep(c->registry);
	maple_registry_limit(c->registry, maple_campaign_enough, c);
	e = ask_priorities(c);
	return e ? e : maple_io_init(&c->io, pass_notice, c, c->err);
}

static int open_served(struct maple_campaign *c)
{
	c->requests = c->between = strdup(c->options->between);
	if (!c->between)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	return maple_round_check(c) ? -EINVAL : open_started(c);
}

static int choose(struct maple_campaign *c,
		  struct maple_backend_options *backend,
		  struct maple_pair_choice *choice)
{
	/* What changes priorities at accesses is the agent's alone. */
	bool needs_agent = c->sleeps ||
			   c->strategy->needs &
				   (MAPLE_NEEDS_CHANGES | MAPLE_NEEDS_CONTROL);
	const char *wanted = c->options->backend;
	int e;

	if ((needs_agent || c->between) && (!wanted || !strcmp(wanted, "auto")))
		wanted = "agent";
	e = maple_pair_choose(wanted, backend, choice, c->err);
	if (!e && needs_agent && choice->observe != MAPLE_HALF_AGENT)
		e = maple_error_set(c->err, EINVAL,
				    "--strategy %s needs --backend agent",
				    c->strategy->name);
	if (!e && c->options->sites != MAPLE_SITES_ALL &&
	    choice->observe != MAPLE_HALF_EBPF)
		e = maple_error_set(c->err, EINVAL,
				    "--sites is for probes from outside, and "
				    "here the agent observes: leave it out, "
				    "or give --backend kernel or ebpf+agent");
	return e;
}

/*
 * A script's program is known when it has run. If time is up while it is
 * decoded, so is the campaign, and says so.
 */
static int know_program(struct maple_campaign *c)
{
	char *path;
	uint32_t image;
	int e;

	if (c->options->exe)
		return 0;
	path = realpath(c->program, NULL);
	if (!path)
		return maple_error_set(c->err, errno, "%s: %m", c->program);
	e = maple_registry_add(c->registry, path, &image, c->err);
	free(path);
	if (e == -ECANCELED)
		return 0;
	return e ? e : maple_study_program(c, image);
}

static int begin(struct maple_campaign *c)
{
	int e = maple_baseline(c);

	return e ? e : know_program(c);
}

/* ---- a run ---- */

static bool stops(struct maple_campaign *c)
{
	return maple_interrupt_stops();
}

static int prepare(struct maple_campaign *c, struct maple_trial *trial,
		   struct maple_run_order *order)
{
	int e = maple_io_begin(&c->io, &trial->io, c->err);

	order->in = trial->io.in;
	order->out = trial->io.out;
	order->err = trial->io.err;
	order->timeout = c->timeout;
	order->grace = GRACE_LEAST + GRACE_TIMES * c->native_seconds;
	return e;
}

/* What ends because somebody ended it is no verdict. */
static void judge(struct maple_campaign *c, struct maple_trial *trial)
{
	assert(!trial->stopped); /* what --setup stops has no run */
	trial->stopped = trial->run.end == MAPLE_END_STOPPED ||
			 maple_interrupt_asked() ||
			 maple_lane_lost(c->lanes.turn);
	if (!trial->stopped)
		maple_judge(c, trial, &trial->io);
}

/* ---- when all are over ---- */

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

static const char *undelivered(struct maple_campaign *c,
			       const struct maple_standing *standing,
			       char *text, size_t size)
{
	const struct maple_campaign_result *r = c->result;

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

#define STARTED                                                                \
	.repeats = true, .from_start = true, .choose = choose, .begin = begin, \
	.stops = stops, .prepare = prepare, .judge = judge,                    \
	.undelivered = undelivered

const struct maple_subject maple_subject_started = {
	STARTED,
	.controls = true,
	.open = open_started,
};

/* A round's end is not the program's: no schedule has it. */
const struct maple_subject maple_subject_served = {
	STARTED,
	.open = open_served,
};

/* maple_subject_of - what a campaign with @options runs */
const struct maple_subject *
maple_subject_of(const struct maple_campaign_options *options)
{
	return options->between	   ? &maple_subject_served
	       : options->attached ? &maple_subject_joined
				   : &maple_subject_started;
}
