// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Is it the program that fails, or is it we who disturb it? The question is
 * asked of failures that no forced order explains, before they become findings:
 * the program is run again with less and less of us in it.
 *
 *   natively            nothing of ours is in it
 *   idle                the agent is loaded; nothing is patched, observed or
 *                       forced, the scheduling is the kernel's
 *   patched             as in a profile run, in three schedules
 *
 * What comes again in most idle runs, and never natively, is disturbed by the
 * agent's presence: by the calls it makes, the memory it takes, or because the
 * program looks for it. (A call that a seccomp filter kills for may also be one
 * that is made for priorities, or to observe.) With as many native runs that
 * pass as there are, and those of the baseline, three of five are no chance
 * (below 5 %), whatever the rate at which the program fails by itself. But
 * loaded with us its threads start later and meet elsewhere, and the rate may
 * be another one. So it is asked once more on one CPU, where threads hardly
 * meet: what comes again there is no matter of when they do.
 *
 * What runs into instructions that nobody has written (SIGTRAP, SIGILL), when
 * patched, in every schedule, and never when idle or natively, has been patched
 * where there was no code. Which image it is shows when they are patched by
 * halves. No other failure is told from one that the slower program has of its
 * own: such is a finding.
 *
 * So is what fails natively as well, and what only our priorities bring about:
 * they are an order of the threads that any kernel may choose.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "backend/calls.h"
#include "image/image.h"
#include "campaign/internal.h"
#include "campaign/subject/interrupt.h"

#define RUNS  5 /* of each kind */
#define MOST  3 /* of them, to be no chance */
#define TIMES 2 /* ... when only certainty counts */
#define NONE  0
#define MB    (1024 * 1024)

/* How the program is run, and what came of it. */
struct control {
	enum maple_run_kind kind;
	enum maple_schedule schedule;
	const uint8_t *alone; /* sites that are not patched, by number */
	uint32_t nalone;
	unsigned int rounds; /* of requests, as in the run that failed */
	unsigned int runs, fails;
	uint64_t space; /* its RLIMIT_AS */
	bool narrow;	/* on one CPU */
	bool ask_call;
	int call; /* that it was killed for */
};

static int run_once(struct maple_campaign *c, struct control *how)
{
	struct maple_trial trial = {
		.job.kind = how->kind,
		.job.schedule = how->schedule,
		.job.seed = maple_campaign_seed(c, ++c->run_number),
		.purpose = MAPLE_FOR_CONFIRM,
		.space = how->space,
		.narrow = how->narrow,
		.ask_call = how->ask_call,
		.rounds = how->rounds,
	};
	int e;

	if (maple_job_leave(&trial.job, how->alone, how->nalone))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	e = maple_trial_run(c, &trial);
	if (!e && !trial.stopped) {
		c->result->runs.confirm++;
		how->runs++;
		how->fails += trial.judgement.failure != MAPLE_FAILURE_NONE;
		how->space = trial.space;
		how->call = trial.run.call;
		maple_campaign_progress(c, true);
	}
	maple_trial_deinit(&trial);
	return e;
}

/*
 * Runs it @times times, or until more than @passes runs have passed or more
 * than @fails have failed; *@done: it came to that.
 */
static int run_as(struct maple_campaign *c, struct control *how,
		  unsigned int times, unsigned int passes, unsigned int fails,
		  bool *done)
{
	int e = 0;

	how->runs = how->fails = 0;
	for (;;) {
		assert(how->fails <= how->runs && how->runs <= times);
		*done = how->runs == times || how->fails > fails ||
			how->runs - how->fails > passes;
		if (e || *done || maple_campaign_over(c) ||
		    maple_interrupt_asked() || maple_lane_lost(c->lanes.turn))
			return e;
		e = run_once(c, how);
	}
}

/* Never without us? */
static int passes_natively(struct maple_campaign *c,
			   const struct maple_trial *trial, bool narrow,
			   bool *passes)
{
	struct control native = { .kind = MAPLE_RUN_NATIVE,
				  .narrow = narrow,
				  .rounds = trial->rounds };
	bool done;
	int e = run_as(c, &native, RUNS, RUNS, NONE, &done);

	*passes = !e && done && !native.fails;
	return e;
}

/* ---- by our presence ---- */

/* The call that it is killed for, run as @how says; NULL: it does not show. */
static const char *forbidden_call(struct maple_campaign *c,
				  const struct control *how)
{
	struct control asked = *how;

	asked.ask_call = true;
	asked.call = -1;
	/* Only the name is missing without it. */
	if (run_once(c, &asked))
		return NULL;
	return asked.call < 0 ? NULL : maple_call_name((unsigned)asked.call);
}

/* What it was traced to, and the way around it. */
static void say_cause(struct maple_campaign *c, const struct maple_trial *trial,
		      const struct control *how, char *text, size_t size)
{
	const struct maple_pair *pair = c->lanes.turn->pair;
	bool agent = pair->observe->ops->inside || pair->enforce->ops->inside;
	const char *call = trial->judgement.signo == SIGSYS
				   ? forbidden_call(c, how)
				   : NULL;

	if (trial->judgement.signo == SIGSYS)
		snprintf(text, size,
			 "traced to a system call of the agent's, %.40s, that "
			 "the program forbids itself (seccomp): allow it, or "
			 "take --backend kernel, which puts nothing into it",
			 call ?: "of which no name is known");
	else if (how->space != RLIM_INFINITY)
		snprintf(text, size,
			 "traced to the limit of its address space, RLIMIT_AS, "
			 "which is %llu MB: the agent needs more, raise it "
			 "(ulimit -v unlimited)",
			 (unsigned long long)how->space / MB);
	else if (agent)
		snprintf(text, size,
			 "traced to libmaple-agent.so, which is loaded into it "
			 "(LD_PRELOAD): take --backend kernel, which puts "
			 "nothing into it");
	else
		snprintf(text, size,
			 "traced to backend %s: take another one, "
			 "see --backend",
			 c->backend);
}

/*
 * More and more of us. A system call that the program forbids itself is no
 * matter of order: all of them are for that. Anything else that comes with our
 * priorities, or with observing, may be.
 */
static const struct {
	enum maple_run_kind kind;
	enum maple_schedule schedule;
	const char *with;
} presence[] = {
	{ MAPLE_RUN_SCHEDULE, MAPLE_SCHEDULE_NATIVE,
	  "nothing observed and nothing forced" },
	{ MAPLE_RUN_SCHEDULE, MAPLE_SCHEDULE_OLDER,
	  "nothing observed, and priorities alone" },
	{ MAPLE_RUN_PROFILE, MAPLE_SCHEDULE_NATIVE, "nothing forced" },
};

/* On one CPU as well, where it passes without us. */
static int fails_alone(struct maple_campaign *c, const struct maple_trial *trial,
		       const struct control *idle, bool *is)
{
	struct control narrow = *idle;
	bool done;
	int e;

	narrow.narrow = true;
	e = run_as(c, &narrow, RUNS, RUNS - MOST, RUNS, &done);
	*is = !e && done && narrow.fails >= MOST;
	return e || !*is ? e : passes_natively(c, trial, true, is);
}

/* @level of the table. */
static int by_presence(struct maple_campaign *c, const struct maple_trial *trial,
		       unsigned int level, bool *is, bool *idles)
{
	struct control idle = { .kind = presence[level].kind,
				.schedule = presence[level].schedule,
				.rounds = trial->rounds,
				.space = RLIM_INFINITY };
	char cause[256];
	bool done;
	int e;

	assert(level < sizeof(presence) / sizeof(*presence));
	e = run_as(c, &idle, RUNS, RUNS - MOST, RUNS, &done);
	*idles = !e && done && !idle.fails;
	if (e || !done || idle.fails < MOST)
		return e;
	e = passes_natively(c, trial, false, is);
	if (!e && *is)
		e = fails_alone(c, trial, &idle, is);
	if (e || !*is)
		return e;
	say_cause(c, trial, &idle, cause, sizeof(cause));
	maple_campaign_give_up(
		c,
		"maple disturbs this program: %.120s, in %u of %u runs with "
		"%s, and in none of %d without maple; %s",
		trial->judgement.what, idle.fails, idle.runs,
		presence[level].with, RUNS, cause);
	return 0;
}

/* ---- by a patch ---- */

static bool runs_into_a_patch(const struct maple_trial *trial)
{
	return trial->judgement.failure == MAPLE_FAILURE_SIGNAL &&
	       (trial->judgement.signo == SIGTRAP ||
		trial->judgement.signo == SIGILL);
}

/* Whether it fails in each run whatever the schedule. */
static int fails_patched(struct maple_campaign *c, unsigned int rounds,
			 const uint8_t *alone, uint32_t nalone, bool *fails)
{
	static const enum maple_schedule schedules[] = {
		MAPLE_SCHEDULE_NATIVE, MAPLE_SCHEDULE_OLDER,
		MAPLE_SCHEDULE_YOUNGER
	};
	struct control patched = { .kind = MAPLE_RUN_PROFILE,
				   .rounds = rounds,
				   .alone = alone,
				   .nalone = nalone };
	bool done = true;
	int e = 0;

	*fails = true;
	for (unsigned int i = 0; i < 3 && !e && *fails; i++) {
		patched.schedule = schedules[i];
		e = run_as(c, &patched, TIMES, NONE, TIMES, &done);
		*fails = !e && done && patched.fails == TIMES;
	}
	return e;
}

/* Images @from to @to of @run, and what is to be left alone for the others. */
static uint32_t leave_others(const struct maple_campaign *c,
			     const struct maple_run *run, unsigned int from,
			     unsigned int to, uint8_t **alone)
{
	uint32_t base, sites, most = 0;
	struct maple_image *image;

	*alone = NULL;
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < run->nimages; i++) {
			image = maple_registry_image(c->registry,
						     run->images[i].index);
			base = maple_registry_base(c->registry,
						   run->images[i].index);
			maple_image_sites(image, &sites);
			if (!sites) /* it has no numbers, either */
				continue;
			if (round && i >= from && i < to)
				memset(*alone + base, 0, sites);
			else if (!round && base + sites > most)
				most = base + sites;
		}
		if (!round) {
			*alone = malloc(most + 1);
			if (!*alone)
				return 0;
			memset(*alone, 1, most);
		}
	}
	return most;
}

/*
 * The one image of @trial's run that is patched whenever it fails; NULL if it
 * takes several.
 */
static int find_image(struct maple_campaign *c, const struct maple_trial *trial,
		      const char **name)
{
	const struct maple_run *run = &trial->run;
	unsigned int from = 0, to = run->nimages, half, tries;
	const char *path;
	uint8_t *alone;
	bool fails;
	uint32_t n;
	int e;

	*name = NULL;
	while (to - from > 1) {
		half = (from + to) / 2;
		for (tries = 0, fails = false; tries < 2 && !fails; tries++) {
			n = leave_others(c, run, tries ? half : from,
					 tries ? to : half, &alone);
			if (!alone)
				return maple_error_set(c->err, ENOMEM,
						       "out of memory");
			e = fails_patched(c, trial->rounds, alone, n, &fails);
			free(alone);
			if (e)
				return e;
		}
		if (!fails)
			return 0;
		if (tries == 1)
			to = half;
		else
			from = half;
	}
	if (to == from)
		return 0;
	path = maple_image_path(
		maple_registry_image(c->registry, run->images[from].index));
	*name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	return 0;
}

static int by_patch(struct maple_campaign *c, const struct maple_trial *trial,
		    bool *is)
{
	const char *image;
	bool fails;
	int e = fails_patched(c, trial->rounds, NULL, 0, &fails);

	if (!e && fails)
		e = passes_natively(c, trial, false, is);
	if (e || !*is)
		return e;
	e = find_image(c, trial, &image);
	if (e)
		return e;
	maple_campaign_give_up(
		c,
		"maple disturbs this program: %.120s, in every schedule where "
		"it is patched to be observed, and in none of %d runs without "
		"maple; %s%.120s%s%.120s",
		trial->judgement.what, RUNS, image ? "traced to " : "",
		image ?: "traced to several images at once",
		image ? ", leave it out: --exclude " : ", see --exclude",
		image ?: "");
	return 0;
}

/* ---- the question ---- */

/* Nothing that it was told to do was done. */
static bool is_unforced(const struct maple_trial *trial)
{
	uint32_t steps = trial->run.automaton.steps;

	if (trial->job.kind != MAPLE_RUN_ENFORCE)
		return trial->job.kind != MAPLE_RUN_NATIVE;
	for (unsigned int i = 0; i < trial->job.nthen; i++)
		if (trial->run.begun >> i & 1)
			steps |= trial->run.then[i].steps;
	return !steps;
}

static int examine(struct maple_campaign *c, const struct maple_trial *trial,
		   bool *is)
{
	struct maple_campaign_result *r = c->result;
	enum maple_phase phase = c->phase;
	unsigned int level = 0, levels = 1;
	bool idles;
	int e;

	if (trial->judgement.signo == SIGSYS)
		levels = sizeof(presence) / sizeof(*presence);
	maple_campaign_enter(c, MAPLE_PHASE_CONFIRM);
	do
		e = by_presence(c, trial, level, is, &idles);
	while (!e && !*is && idles && ++level < levels);
	if (!e && idles && runs_into_a_patch(trial))
		e = by_patch(c, trial, is);
	c->phase = phase;
	c->unsupported &= !*is;
	if (*is && !r->nfindings) {
		r->first_finding_runs = 0;
		r->first_finding_seconds = 0;
	}
	return e;
}

/*
 * Stuck, or slow, since each access is a point? Where there were more switches
 * than are kept, to do it again takes as long again, and tells nothing.
 */
static bool may_be_slow(const struct maple_trial *trial)
{
	return maple_confirm_is_needed(trial) &&
	       !maple_trial_switches(trial).nnames;
}

/*
 * maple_disturbed - whether @trial, which @finding tells of, failed because of
 * us
 *
 * Then the campaign gives up, and says why; the finding is none, and if the
 * memo knows it, it does not any more. What may only be slow has no verdict.
 */
int maple_disturbed(struct maple_campaign *c,
		    const struct maple_finding *finding,
		    const struct maple_trial *trial, bool *is)
{
	int e = 0;

	*is = may_be_slow(trial);
	if (*is) {
		maple_unjudged_hang(c, finding,
				    "may be slow under control rather than "
				    "stuck: see --timeout");
		return 0;
	}
	if (c->subject->repeats && is_unforced(trial))
		e = examine(c, trial, is);
	if (!e && *is && finding->known)
		e = maple_memo_forget_finding(c->memo, finding->id, geteuid(),
					      c->err);
	return e;
}

/*
 * maple_disturbed_control - what @finding's control says of it, which @trial
 * found and which has been run
 * @refuted: it is none
 *
 * A hang that does not come again has been one of the machine's. One under
 * control may be slow as well, so it has no verdict where there was no time to
 * see it again. Where the reversed order fails each time as well, no order
 * explains it.
 */
int maple_disturbed_control(struct maple_campaign *c,
			    const struct maple_finding *f,
			    const struct maple_trial *trial, bool *refuted)
{
	bool hung = f->kind == MAPLE_FAILURE_HANG && !f->forced_fails;
	bool asked = f->forced_runs && !maple_campaign_over(c) &&
		     !maple_interrupt_asked();
	char why[64];
	int e = 0;

	*refuted = hung && (asked || trial->job.kind == MAPLE_RUN_CONTROL);
	if (*refuted) {
		snprintf(why, sizeof(why), "in none of %u more of its order",
			 f->forced_runs);
		maple_unjudged_hang(c, f,
				    f->forced_runs ? why
						   : "the time was over before "
						     "it could come again");
	} else if (trial->job.kind == MAPLE_RUN_ENFORCE && !is_unforced(trial) &&
		   f->flipped_runs && f->flipped_fails == f->flipped_runs) {
		e = examine(c, trial, refuted);
		if (!e && *refuted)
			e = maple_memo_forget_finding(c->memo, f->id, geteuid(),
						      c->err);
	}
	return e;
}
