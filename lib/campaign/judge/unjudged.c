// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs that get no verdict, since what became of them is nobody's fault or
 * somebody else's: they count neither as passed nor as failed, and whatever
 * was to be run is run again. They are counted, and the first of each kind is
 * told. Several in a row, and nothing can be said of the program here: that
 * ends the campaign without a verdict of its own.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "campaign/internal.h"

#define IN_A_ROW 5

/* What test runners and git bisect take for "skip" and for "cannot say". */
#define SKIPPED 77
#define UNKNOWN 125

/* maple_unjudged_name - see maple/campaign.h */
const char *maple_unjudged_name(enum maple_unjudged why)
{
	static const char *const names[MAPLE_UNJUDGEDS] = {
		[MAPLE_UNJUDGED_KILLED] = "killed",
		[MAPLE_UNJUDGED_SAID] = "said",
		[MAPLE_UNJUDGED_STARVED] = "starved",
		[MAPLE_UNJUDGED_HUNG] = "hung",
	};

	return why < MAPLE_UNJUDGEDS ? names[why] : NULL;
}

/* maple_unjudged_says - whether exit status @status declines a verdict */
bool maple_unjudged_says(int status)
{
	return status == SKIPPED || status == UNKNOWN;
}

/* maple_unjudged - @j: no verdict, because of what the rest says */
void maple_unjudged(struct maple_judgement *j, enum maple_unjudged why,
		    const char *fmt, ...)
{
	va_list ap;

	assert(why < MAPLE_UNJUDGEDS);
	assert(!j->failure); /* that would be a verdict */
	j->unjudged = true;
	j->why = why;
	va_start(ap, fmt);
	vsnprintf(j->what, sizeof(j->what), fmt, ap);
	va_end(ap);
}

/* maple_unjudged_death - the same of a run that somebody has killed */
void maple_unjudged_death(const struct maple_run *run, struct maple_judgement *j)
{
	int signo = run->signo		       ? run->signo
		    : WIFSIGNALED(run->status) ? WTERMSIG(run->status)
					       : WEXITSTATUS(run->status) - 128;

	maple_unjudged(j, MAPLE_UNJUDGED_KILLED,
		       "killed by SIG%s from outside%s",
		       sigabbrev_np(signo) ?: "?",
		       signo == SIGKILL ? ", out of memory?" : "");
}

static void count(struct maple_campaign *c, const struct maple_judgement *j)
{
	assert(maple_lane_has_turn(c) && j->unjudged);
	if (!c->result->delivery.unjudged[j->why]++)
		maple_campaign_notice(c, "a run is not judged: %s", j->what);
	if (++c->unjudged < IN_A_ROW)
		return;
	c->unsupported = j->why == MAPLE_UNJUDGED_SAID;
	maple_campaign_give_up(c, "%d runs in a row could not be judged: %s",
			       IN_A_ROW, j->what);
}

/* maple_unjudged_not - a run has a verdict, so those without are no row */
void maple_unjudged_not(struct maple_campaign *c)
{
	c->unjudged = 0;
}

/*
 * maple_unjudged_take - the campaign hears of @trial, judged and not stopped:
 * to be ignored if it has no verdict
 *
 * Whether a hang is one shows later. Who finds out says maple_unjudged_not(),
 * or maple_unjudged_hang().
 */
void maple_unjudged_take(struct maple_campaign *c, struct maple_trial *trial)
{
	const struct maple_judgement *j = &trial->judgement;

	assert(!trial->stopped);
	trial->stopped |= j->unjudged;
	if (j->unjudged)
		count(c, j);
	else if (j->failure != MAPLE_FAILURE_HANG)
		maple_unjudged_not(c);
}

/* maple_unjudged_hang - the run that @finding tells of has no verdict: @why */
void maple_unjudged_hang(struct maple_campaign *c,
			 const struct maple_finding *finding, const char *why)
{
	struct maple_judgement j = { 0 };

	assert(finding->kind == MAPLE_FAILURE_HANG);
	maple_unjudged(&j, MAPLE_UNJUDGED_HUNG, "%s, and %s", finding->what,
		       why);
	count(c, &j);
}

/* maple_campaign_give_up - no other run is to begin; the first reason stays */
void maple_campaign_give_up(struct maple_campaign *c, const char *fmt, ...)
{
	va_list ap;

	assert(maple_lane_has_turn(c));
	if (c->gave_up)
		return;
	va_start(ap, fmt);
	vsnprintf(c->given_up, sizeof(c->given_up), fmt, ap);
	va_end(ap);
	/* Lanes look without having the turn. */
	__atomic_store_n(&c->gave_up, true, __ATOMIC_RELEASE);
}

/* maple_campaign_gave_up - whether it has */
bool maple_campaign_gave_up(const struct maple_campaign *c)
{
	return __atomic_load_n(&c->gave_up, __ATOMIC_ACQUIRE);
}
