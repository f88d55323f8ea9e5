// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Campaigns on a program that runs already: its runs are stretches of the
 * program's life, one after the other, each observed or forced.
 *
 * What a stretch costs its users: while it is observed, microseconds for each
 * access of a site that still has something to say; while an order is forced,
 * all threads share one CPU and some are held. So neither lasts long, and
 * when observing brings nothing new, more and more time passes until it is
 * done again.
 *
 * What is a failure: a signal that a thread brought on itself, threads that
 * wait for each other, the oracle's word, and an exit with a status other than
 * 0 right after a forced order. Any other end is its users' affair.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "backend/process.h"
#include "base/fault.h"
#include "campaign/internal.h"
#include "host/host.h"

#define OBSERVE	   2.0	/* seconds */
#define TRY	   3.0	/* ... unless --timeout says so */
#define LEAST	   0.1	/* ... before the time is over */
#define REST_FIRST 1.0	/* ... after a stretch without news, */
#define REST_MOST  30.0 /* ... and after many */
#define NATIVE	   0.5	/* slices of a wait are made for a run of so many */

/* @words: what it printed, if it has failed; may be NULL */
static int ask_oracle(struct maple_campaign *c, char **words)
{
	char pid[32];
	char *const more[] = { pid };

	snprintf(pid, sizeof(pid), "MAPLE_PID=%d", c->attached->joined.pid);
	return maple_judge_oracle(c, more, 1, words);
}

static int open(struct maple_campaign *c)
{
	c->requests = "attached";
	c->agent = maple_campaign_find_agent(c->options->agent);
	c->program = strdup(c->attached->exe);
	c->cwd = c->attached->cwd ? strdup(c->attached->cwd) : NULL;
	if (!c->program || (c->attached->cwd && !c->cwd))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	return 0;
}

/* Nobody is attached to it but us: what is in it was left there. */
static int mend(struct maple_campaign *c)
{
	pid_t pid = c->attached->joined.pid;
	bool mended;
	int e = maple_agent_joined_mend(pid, &mended, c->err);

	if (!e && mended)
		maple_campaign_notice(c,
				      "who had joined process %d was killed: "
				      "what was left in it has been taken out",
				      pid);
	return e;
}

static int choose(struct maple_campaign *c,
		  struct maple_backend_options *backend,
		  struct maple_pair_choice *choice)
{
	const char *wanted = c->options->backend;
	bool any = !wanted || !strcmp(wanted, "auto");
	int e = mend(c);

	if (e)
		return e;
	backend->joined = &c->attached->joined;
	/* What is left out by what the code tells are probes. */
	if (any && c->options->sites != MAPLE_SITES_ALL)
		wanted = "kernel";
	e = maple_pair_choose_joined(wanted, backend, choice, c->err);
	if (!e && c->options->observe) {
		choice->alone = true;
		snprintf(choice->why, sizeof(choice->why),
			 "nothing is forced, as asked for: what could be is "
			 "predicted");
	}
	if (e || choice->observe != MAPLE_HALF_AGENT)
		return e;
	if (c->options->sites != MAPLE_SITES_ALL)
		return maple_error_set(c->err, EINVAL,
				       "--sites is for probes from outside, and "
				       "here the agent observes: leave it out, "
				       "or give --backend kernel");
	maple_campaign_notice(c,
			      "the agent joins process %d, and sees what its "
			      "own code accesses, but no lock and no function "
			      "of libc: orders that a lock rules out are tried "
			      "in vain",
			      c->attached->joined.pid);
	return 0;
}

/*
 * What has a real-time priority of ours is reset on fork, and stays so without
 * CAP_SYS_NICE, which mapled has. What was so before is to be so after it.
 */
static void tell_host(struct maple_campaign *c)
{
	const struct maple_joined *joined = &c->attached->joined;
	uint32_t spared[MAPLE_HOST_SPARED];
	pid_t tids[MAPLE_HOST_SPARED];
	unsigned int nspared = 0;
	int n, policy;

	n = maple_process_threads(joined->pid, tids, MAPLE_HOST_SPARED);
	for (int i = 0; i < n; i++) {
		policy = sched_getscheduler(tids[i]);
		if (policy >= 0 && policy & SCHED_RESET_ON_FORK)
			spared[nspared++] = (uint32_t)tids[i];
	}
	/* Where it is refused, we are root's, and can do it ourselves. */
	maple_host_joined(c->options->host, joined->pidfd, spared, nspared,
			  NULL);
}

static int begin(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	unsigned int threads = maple_attached_threads(c->attached);
	int status = o->oracle ? ask_oracle(c, NULL) : 0;

	if (o->host)
		tell_host(c);
	c->timeout = o->timeout > 0 ? o->timeout : TRY;
	c->native_seconds = NATIVE;
	c->threads_seen = threads > 1;
	if (threads == 1)
		maple_campaign_notice(c,
				      "process %d has one thread: until it has "
				      "a second there is no order to force",
				      c->attached->joined.pid);
	if (status && status != MAPLE_SHELL_STOPPED)
		return maple_error_set(c->err, EBADE,
				       "--oracle '%.100s' has status %d before "
				       "anything was done: mend that first",
				       o->oracle, status);
	return 0;
}

/* How long the next stretch is to last. */
static double seconds_of(const struct maple_campaign *c,
			 enum maple_run_kind kind)
{
	double seconds = kind == MAPLE_RUN_ENFORCE ? c->timeout : OBSERVE;
	double left = maple_campaign_time_left(c);

	if (left >= 0 && left < seconds)
		seconds = left > LEAST ? left : LEAST;
	return seconds;
}

/* Before one that will hardly bring anything new, as the last @dry ones did not. */
static void rest(struct maple_campaign *c, unsigned int dry)
{
	struct pollfd pfd = { .fd = c->attached->joined.pidfd,
			      .events = POLLIN };
	double seconds = REST_FIRST, until;

	if (!dry)
		return;
	for (unsigned int i = 1; i < dry; i++)
		if (seconds < REST_MOST)
			seconds *= 2;
	until = maple_clock_now() + (seconds < REST_MOST ? seconds : REST_MOST);
	while (maple_clock_now() < until && maple_campaign_may_go_on(c) &&
	       !poll(&pfd, 1, 50))
		maple_campaign_progress(c, false);
}

static int prepare(struct maple_campaign *c, struct maple_trial *trial,
		   struct maple_run_order *order)
{
	if (trial->job.kind == MAPLE_RUN_PROFILE)
		rest(c, trial->job.dry);
	order->in = order->out = order->err = -1;
	order->timeout = seconds_of(c, trial->job.kind);
	return 0;
}

static bool stops(struct maple_campaign *c)
{
	return maple_interrupt_asked() || maple_detach_asked(c->attached);
}

static void add_past(const struct maple_campaign *c, struct maple_judgement *j)
{
	size_t used = strlen(j->what);

	if (c->exposed_before)
		snprintf(j->what + used, sizeof(j->what) - used,
			 "; %u order%s had been forced before",
			 c->exposed_before, c->exposed_before == 1 ? "" : "s");
}

static void judge_end(struct maple_campaign *c, struct maple_trial *trial)
{
	const struct maple_run *run = &trial->run;
	struct maple_judgement *j = &trial->judgement;
	int status = run->status;

	c->ended = true;
	if (run->signo ||
	    (WIFSIGNALED(status) && maple_fault_is(WTERMSIG(status)))) {
		maple_judge_death(run, j);
	} else if (run->unknown) {
		maple_campaign_notice(c, "process %d has ended",
				      c->attached->joined.pid);
	} else if (run->automaton.exposed && WIFEXITED(status) &&
		   WEXITSTATUS(status)) {
		j->failure = MAPLE_FAILURE_EXIT;
		j->status = WEXITSTATUS(status);
		snprintf(j->what, sizeof(j->what),
			 "it ended with status %d when the order was forced",
			 j->status);
	} else if (WIFSIGNALED(status)) {
		maple_campaign_notice(c, "process %d was ended by SIG%s",
				      c->attached->joined.pid,
				      sigabbrev_np(WTERMSIG(status)) ?: "?");
	} else {
		maple_campaign_notice(c, "process %d ended with status %d",
				      c->attached->joined.pid,
				      WEXITSTATUS(status));
	}
}

static void judge_life(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_judgement *j = &trial->judgement;
	int status = c->options->oracle && !maple_campaign_over(c)
			     ? ask_oracle(c, &trial->oracle)
			     : 0;

	trial->stopped |= status == MAPLE_SHELL_STOPPED;
	if (!status || trial->stopped)
		return;
	if (maple_unjudged_says(status)) {
		maple_unjudged(j, MAPLE_UNJUDGED_SAID,
			       "the oracle has status %d", status);
		return;
	}
	j->failure = MAPLE_FAILURE_ORACLE;
	j->status = status;
	snprintf(j->what, sizeof(j->what), "the oracle says so: status %d",
		 status);
}

static void judge(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_judgement *j = &trial->judgement;

	switch (trial->run.end) {
	case MAPLE_END_DEADLOCK:
		j->failure = MAPLE_FAILURE_DEADLOCK;
		snprintf(j->what, sizeof(j->what),
			 "deadlock: threads wait for each other");
		break;
	case MAPLE_END_ITSELF:
		judge_end(c, trial);
		break;
	default:
		/* It may have crashed while we left it. */
		if (trial->run.signo)
			judge_end(c, trial);
		else
			judge_life(c, trial);
	}
	if (j->failure && trial->job.kind == MAPLE_RUN_PROFILE)
		add_past(c, j);
	c->exposed_before += trial->run.automaton.exposed != 0;
	/* An order that had not been forced when we left was not tried. */
	trial->stopped |= trial->job.kind == MAPLE_RUN_ENFORCE &&
			  trial->run.end == MAPLE_END_STOPPED &&
			  !trial->run.automaton.exposed && !j->failure;
}

/* Whether there is nobody to be observed any more; @trial: how it ended. */
static bool is_over(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_backend *observer = c->lanes.turn->pair->observe;
	struct pollfd pfd = { .fd = c->attached->joined.pidfd,
			      .events = POLLIN };

	if (maple_attached_runs(c->attached))
		return false;
	if (!poll(&pfd, 1, 0)) {
		maple_campaign_notice(c,
				      "process %d has executed another program",
				      c->attached->joined.pid);
		return true;
	}
	/* A stretch in which it ended has been judged. */
	if (c->ended)
		return true;
	trial->job.kind = MAPLE_RUN_PROFILE;
	trial->purpose = MAPLE_FOR_PROFILE;
	trial->run.unknown = !observer->ops->ended ||
			     !observer->ops->ended(observer, &trial->run.status);
	judge(c, trial);
	return true;
}

static bool gone(struct maple_campaign *c, int *error)
{
	struct maple_trial trial;
	bool over;

	memset(&trial, 0, sizeof(trial));
	over = is_over(c, &trial);
	if (over && trial.judgement.failure)
		*error = maple_findings_add(c, &trial);
	maple_trial_deinit(&trial);
	return over;
}

static const char *undelivered(struct maple_campaign *c,
			       const struct maple_standing *standing,
			       char *unused, size_t size)
{
	const struct maple_campaign_result *r = c->result;
	unsigned long long predicted =
		maple_coverage_sum(&r->coverage).predicted;
	char text[sizeof(c->why_not)];

	if (!r->runs.profile)
		return "it was left before it had been observed";
	if (!c->observed)
		return c->why_not;
	if (!c->threads_seen)
		return "the program never had a second thread: there is no "
		       "interleaving to test";
	if (c->enforced || c->options->observe)
		return NULL;
	if (r->runs.enforced)
		return c->why_not;
	snprintf(text, sizeof(text), "%s",
		 c->study.alone
			 ? r->backends.why
			 : "no order was forced: there was nothing to try, or "
			   "no time for it");
	c->unsupported = c->study.alone;
	snprintf(c->why_not, sizeof(c->why_not),
		 "observed only, %llu iRoots predicted; %.200s", predicted,
		 text);
	return c->why_not;
}

const struct maple_subject maple_subject_joined = {
	.endless = true,
	.open = open,
	.choose = choose,
	.begin = begin,
	.gone = gone,
	.stops = stops,
	.prepare = prepare,
	.judge = judge,
	.undelivered = undelivered,
};
