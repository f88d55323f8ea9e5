// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The verdict on one run (algorithms.md 8, 4): a sanitizer's report, death by a
 * signal, an exit status other than the baseline's, deadlock, hang, the
 * oracle's word, the expected output. What says nothing of the program gets no
 * verdict at all, unjudged.c; what says more of maple than of the program is
 * told apart when a finding would be made of it, disturbed.c. A verdict never
 * rests on silence: whether the run was delivered at all is said beside it, by
 * the backend.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "campaign/internal.h"
#include "sanitizer.h"

#define ORACLE_GRACE 1.0 /* seconds, when the campaign is over */

static void fail(struct maple_judgement *j, enum maple_failure failure)
{
	j->failure = failure;
}

/*
 * maple_judge_oracle - has --oracle judge, and returns its exit status, or
 *                      MAPLE_SHELL_STOPPED: there is no judgement
 * @more: @n settings, NAME=VALUE, for its environment
 * @words: what it printed if the status is not 0, to be freed; may be NULL
 */
int maple_judge_oracle(struct maple_campaign *c, char *const *more,
		       unsigned int n, char **words)
{
	int out = memfd_create("maple-oracle", MFD_CLOEXEC), status;
	const struct maple_shell_command command = {
		.option = "--oracle",
		.text = c->options->oracle,
		.more = more,
		.nmore = n,
		.words = out,
		.grace = ORACLE_GRACE,
	};

	status = maple_shell(c, &command);
	if (status && words && out >= 0)
		*words = maple_io_tail(out);
	if (out >= 0)
		close(out);
	if (status == MAPLE_SHELL_STOPPED)
		return status;
	if (status == -1)
		return 127;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* The oracle sees the run in its environment: status, output, errors. */
static int ask_oracle(struct maple_campaign *c, struct maple_trial *trial,
		      const struct maple_io_run *io)
{
	char how[64], out[64], errors[64];
	char *const more[] = { how, out, errors };
	int status = trial->run.status;

	snprintf(how, sizeof(how), "MAPLE_STATUS=%d",
		 WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				     : WEXITSTATUS(status));
	snprintf(out, sizeof(out), "MAPLE_STDOUT=/proc/%d/fd/%d", getpid(),
		 io->out);
	snprintf(errors, sizeof(errors), "MAPLE_STDERR=/proc/%d/fd/%d",
		 getpid(), io->err);
	return maple_judge_oracle(c, more, 3, &trial->oracle);
}

/*
 * maple_judge_death - the process under test died by a signal; it need not be
 * the one whose status we have
 */
void maple_judge_death(const struct maple_run *run, struct maple_judgement *j)
{
	int signo = WIFSIGNALED(run->status) ? WTERMSIG(run->status)
					     : run->signo;
	const char *name = sigabbrev_np(signo);

	assert(signo); /* its own, or that of a process that it had */
	fail(j, MAPLE_FAILURE_SIGNAL);
	j->signo = signo;
	if (run->signo == j->signo &&
	    (j->signo == SIGSEGV || j->signo == SIGBUS))
		snprintf(j->what, sizeof(j->what),
			 "signal %d (SIG%s), address 0x%llx", j->signo,
			 name ? name : "?", (unsigned long long)run->fault);
	else
		snprintf(j->what, sizeof(j->what), "signal %d (SIG%s)",
			 j->signo, name ? name : "?");
}

/* maple_judge_status - the program ended by itself: as it should? */
void maple_judge_status(const struct maple_campaign *c,
			struct maple_trial *trial)
{
	struct maple_judgement *j = &trial->judgement;
	int status = WEXITSTATUS(trial->run.status);

	assert(c->expected >= 0 && WIFEXITED(trial->run.status));
	if (status == c->expected)
		return;
	fail(j, MAPLE_FAILURE_EXIT);
	j->status = status;
	snprintf(j->what, sizeof(j->what), "exit status %d instead of %d",
		 status, c->expected);
}

static void judge_words(struct maple_campaign *c, struct maple_trial *trial,
			const struct maple_io_run *io)
{
	const struct maple_campaign_options *o = c->options;
	struct maple_judgement *j = &trial->judgement;
	int answer;

	if (o->expect_output && maple_io_same(io, o->expect_output, NULL) == 0) {
		fail(j, MAPLE_FAILURE_OUTPUT);
		snprintf(j->what, sizeof(j->what), "output differs from %s",
			 o->expect_output);
		return;
	}
	if (!o->oracle)
		return;
	answer = ask_oracle(c, trial, io);
	trial->stopped |= answer == MAPLE_SHELL_STOPPED;
	if (!answer || trial->stopped)
		return;
	if (maple_unjudged_says(answer)) {
		maple_unjudged(j, MAPLE_UNJUDGED_SAID,
			       "the oracle has status %d", answer);
		return;
	}
	fail(j, MAPLE_FAILURE_ORACLE);
	j->status = answer;
	snprintf(j->what, sizeof(j->what), "the oracle says so: status %d",
		 answer);
}

/*
 * Whether somebody else has killed it. What is killed in each of its native
 * runs is so for --baseline-fails.
 */
static bool is_killed(const struct maple_campaign *c,
		      const struct maple_trial *trial)
{
	return trial->run.outside && (trial->job.kind != MAPLE_RUN_NATIVE ||
				      !c->options->baseline_fails);
}

/* A sanitizer that ends the program does so by exit() or by one of these. */
static bool sanitizers_end(const struct maple_run *run)
{
	int signo = WIFSIGNALED(run->status) ? WTERMSIG(run->status)
					     : run->signo;

	return !signo || signo == SIGABRT || signo == SIGTRAP ||
	       signo == SIGILL;
}

/* Says more than the status that came of it, and counts without one. */
static bool judge_report(struct maple_campaign *c, struct maple_trial *trial,
			 const struct maple_io_run *io)
{
	struct maple_judgement *j = &trial->judgement;
	struct maple_sanitizer report;
	char *errors = sanitizers_end(&trial->run) ? maple_io_errors(io) : NULL;
	bool found = errors &&
		     maple_sanitizer_read(errors, c->undefined, &report);

	free(errors);
	if (!found)
		return false;
	assert(!trial->report); /* one run, one report */
	fail(j, MAPLE_FAILURE_SANITIZER);
	j->status = WIFEXITED(trial->run.status)
			    ? WEXITSTATUS(trial->run.status)
			    : 0;
	snprintf(j->what, sizeof(j->what), "%s", report.title);
	trial->report = report.text;
	return true;
}

/* maple_judge - fills in @trial's judgement */
void maple_judge(struct maple_campaign *c, struct maple_trial *trial,
		 const struct maple_io_run *io)
{
	const struct maple_run *run = &trial->run;
	struct maple_judgement *j = &trial->judgement;

	assert(!j->failure && !j->unjudged);
	switch (run->end) {
	case MAPLE_END_DEADLOCK:
		fail(j, MAPLE_FAILURE_DEADLOCK);
		snprintf(j->what, sizeof(j->what),
			 "deadlock: every thread waits for another");
		return;
	case MAPLE_END_HANG:
		fail(j, MAPLE_FAILURE_HANG);
		snprintf(j->what, sizeof(j->what),
			 "hang: not over after %.1f s", c->timeout);
		return;
	case MAPLE_END_STARVED:
		maple_unjudged(j, MAPLE_UNJUDGED_STARVED,
			       "it had no CPU to itself for %.1f s, others "
			       "have it",
			       run->seconds);
		return;
	case MAPLE_END_STOPPED:
	case MAPLE_END_SLOW:
	case MAPLE_END_LEFT:
		return;
	case MAPLE_END_ENOUGH:
		assert(c->between && !trial->round.job);
		maple_round_judge(c, trial);
		trial->run.status = W_EXITCODE(trial->round.status, 0);
		if (!j->failure && !j->unjudged && !trial->stopped)
			judge_words(c, trial, io);
		return;
	case MAPLE_END_ITSELF:
		break;
	}
	if (is_killed(c, trial)) {
		maple_unjudged_death(run, j);
		return;
	}
	if (judge_report(c, trial, io))
		return;
	if (WIFSIGNALED(run->status) || run->signo) {
		maple_judge_death(run, j);
		return;
	}
	if (c->between) {
		maple_round_left(trial);
		return;
	}
	if (maple_unjudged_says(WEXITSTATUS(run->status)) &&
	    WEXITSTATUS(run->status) != c->expected) {
		maple_unjudged(j, MAPLE_UNJUDGED_SAID,
			       "it has status %d, which is no verdict unless "
			       "--expect-exit says so",
			       WEXITSTATUS(run->status));
		return;
	}
	/* The native runs together say what is right. */
	if (c->expected >= 0)
		maple_judge_status(c, trial);
	if (!j->failure)
		judge_words(c, trial, io);
}
