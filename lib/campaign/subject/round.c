// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Rounds of a server (--between): the program is started, a command of the
 * user's drives one round of requests, which is over when the command has
 * ended and the server is quiet. Then the server is killed where it stands: no
 * shutdown is tested, and the next run has a fresh server, which the agent
 * forks from before main().
 *
 * To start a server takes longer than most rounds, and what one has left the
 * next may trip over. So a server gets two, and an enforced run, which has
 * several plans, one round after another as long as each makes some plan go on.
 * How many it bears by itself the native runs say, all but the worst. What a
 * server has had before a round that fails is part of the order: it is driven
 * as often when that is repeated.
 *
 * The server is ready when it listens at as many sockets as it had when the
 * command first succeeded. Until then, in the first native run, the command is
 * tried again.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend/process.h"
#include "campaign/internal.h"

#define READY_WITHIN 10.0  /* seconds, for the first success */
#define RETRY_AFTER  0.02  /* ... between two tries */
#define QUIET_WITHIN 0.2   /* ... for what the last request has left to do */
#define READY_AFTER  0.003 /* ... for the command to have begun */
#define DEATH_WITHIN 0.05  /* ... to be seen dead, when the command failed */
#define SLICES	     10	   /* that make a round, */
#define SLICE_LEAST  250   /* ... us each at least, */
#define SLICE_MOST   1000  /* ... and at most: there plans have ms */
#define ROUNDS_LEAST 2	   /* of one server, if it bears them, */
#define ROUNDS_MOST  16	   /* ... at most, */
#define ROUNDS_TIME  0.5   /* ... until they have taken so many seconds */

/* ---- the command ---- */

/*
 * To start a shell takes longer than a round's requests: it is done while a
 * server comes up, or serves, and has nothing for us to do.
 */
static void get_ready(struct maple_round *r)
{
	const struct maple_shell_command command = {
		.option = "--between",
		.text = r->text,
		.words = memfd_create("maple-between", MFD_CLOEXEC),
	};

	assert(!r->shell->pid); /* one waits at most */
	r->shell->words = command.words;
	if (maple_shell_ahead(&command, &r->shell->go, &r->shell->pid)) {
		r->shell->pid = 0;
		close(command.words);
	}
}

static void begin(struct maple_round *r, pid_t pid)
{
	assert(!r->job && r->ends < 0 && !r->ended);
	if (!r->shell->pid)
		get_ready(r);
	if (r->words >= 0)
		close(r->words);
	r->words = r->shell->pid ? r->shell->words : -1;
	r->moved = false;
	r->number++;
	r->driven = maple_clock_now();
	r->job = r->shell->pid;
	r->shell->pid = 0;
	if (!r->job) {
		r->status = 127;
		r->ended = maple_clock_now();
		return;
	}
	r->ends = (int)syscall(SYS_pidfd_open, r->job, 0);
	maple_shell_go(r->shell->go, pid);
}

/* The command is no more. */
static void forget(struct maple_round *r)
{
	r->job = 0;
	if (r->ends >= 0)
		close(r->ends);
	r->ends = -1;
}

/* Whether it has ended; then, how. */
static bool reap(struct maple_round *r)
{
	int status;

	if (!r->job)
		return r->ended != 0;
	if (waitpid(r->job, &status, WNOHANG) != r->job)
		return false;
	forget(r);
	r->ended = maple_clock_now();
	r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					: WEXITSTATUS(status);
	return true;
}

/* The first success says how many sockets there are when it is ready. */
static bool learns(struct maple_round *r, pid_t pid, double at)
{
	if (*r->listens)
		return true;
	if (!r->status) {
		*r->listens = maple_sockets_listening(pid);
		r->unready = !*r->listens;
		return true;
	}
	if (at - r->began < READY_WITHIN) {
		assert(r->number);
		r->ended = 0;
		r->number--;
		r->next = at + RETRY_AFTER;
		return false;
	}
	r->unready = true;
	return true;
}

static bool is_quiet(const struct maple_round *r, pid_t pid, double at)
{
	double since = at - r->ended;

	if (r->status && since < DEATH_WITHIN)
		return false;
	return since > QUIET_WITHIN || !maple_process_wants_cpu(pid);
}

/*
 * How many rounds a server bears. One native run that fails early does not say:
 * that may be the very bug which is looked for, and with fewer rounds nothing
 * would find it any more.
 */
static unsigned int bears(const struct maple_campaign *c)
{
	return c->borne[1] ? c->borne[1] : c->borne[0];
}

/* maple_round_begin - before a run of @trial: its server has had none */
void maple_round_begin(struct maple_campaign *c, struct maple_trial *trial)
{
	bool native = trial->job.kind == MAPLE_RUN_NATIVE;

	assert(!trial->round.job);
	trial->round = (struct maple_round){
		.text = c->between,
		.listens = &c->listens,
		.shell = &c->next_round,
		.words = -1,
		.ends = -1,
		.began = maple_clock_now(),
		.native = native,
		.exactly = trial->rounds,
		.most = native ? ROUNDS_MOST : bears(c),
	};
}

/* maple_round_event - what the log of the run says meanwhile */
void maple_round_event(struct maple_round *r, const struct maple_event *event)
{
	r->moved |= event->kind == MAPLE_EV_STEP ||
		    event->kind == MAPLE_EV_GIVEUP ||
		    event->kind == MAPLE_EV_EXPOSED ||
		    event->kind == MAPLE_EV_NEXT;
}

/* A round is over: whether the same server has another one. */
static bool another(struct maple_round *r, double at)
{
	double took = r->ended - r->driven;

	assert(!r->job && r->ended >= r->driven);
	r->spent += took;
	if (r->status || r->unready)
		return false;
	if (!r->fastest || took < r->fastest)
		r->fastest = took;
	if (r->exactly)
		return r->number < r->exactly;
	return r->number < r->most && r->spent < ROUNDS_TIME &&
	       (r->number < ROUNDS_LEAST || r->native || r->moved);
}

/* maple_round_over - drives them; whether that is done, server @pid alive */
bool maple_round_over(struct maple_round *r, pid_t pid)
{
	double at = maple_clock_now();

	if (!r->text || pid <= 0)
		return false;
	if (!r->job && !r->ended && at >= r->next &&
	    (!*r->listens || maple_sockets_listening(pid) >= *r->listens))
		begin(r, pid);
	if (!r->shell->pid && (!r->driven || at - r->driven > READY_AFTER))
		get_ready(r);
	if (!reap(r))
		return false;
	if (!r->done)
		r->done = learns(r, pid, at);
	if (!r->done || !is_quiet(r, pid, at))
		return false;
	assert(!r->job && r->ended);
	if (another(r, at)) {
		r->done = false;
		r->ended = 0;
		begin(r, pid);
		return false;
	}
	if (r->native && !r->exactly && r->status && r->number > 1) {
		r->spoilt = r->status;
		r->status = 0;
		r->number--;
	}
	return true;
}

/* maple_round_end - nothing of its command is left; @words: what it printed */
void maple_round_end(struct maple_round *r, char **words)
{
	if (r->job) {
		kill(-r->job, SIGKILL);
		while (waitpid(r->job, NULL, 0) < 0 && errno == EINTR)
			;
	}
	forget(r);
	if (r->words >= 0) {
		*words = r->status ? maple_io_tail(r->words) : NULL;
		close(r->words);
	}
	r->words = -1;
}

/* maple_round_close - no other round is to come */
void maple_round_close(struct maple_campaign *c)
{
	struct maple_round_next *shell = &c->next_round;

	if (!shell->pid)
		return;
	kill(-shell->pid, SIGKILL);
	while (waitpid(shell->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(shell->go);
	close(shell->words);
	shell->pid = 0;
}

/* ---- the verdict ---- */

/* What a native run says of those that come after it. */
static void learn(struct maple_campaign *c, const struct maple_round *r)
{
	assert(r->number); /* one that did not count, too */
	if (r->exactly)	   /* it confirms a finding */
		return;
	if (r->fastest && (!c->round_seconds || r->fastest < c->round_seconds))
		c->round_seconds = r->fastest;
	if (c->borne[0] && r->number >= c->borne[0]) {
		if (!c->borne[1] || r->number < c->borne[1])
			c->borne[1] = r->number;
		return;
	}
	c->borne[1] = c->borne[0];
	c->borne[0] = r->number;
	if (r->spoilt)
		maple_campaign_notice(
			c,
			"a second round on one server may fail by itself: "
			"number %u had status %d",
			r->number + 1, r->spoilt);
}

/*
 * maple_round_slice_us - how long a slice is in a run of rounds; 0: as its plan
 * says, which knows nothing below 1 ms
 */
uint32_t maple_round_slice_us(const struct maple_campaign *c)
{
	double us = c->round_seconds * 1e6 / SLICES;

	if (!c->between || us <= 0 || us >= SLICE_MOST)
		return 0;
	return us < SLICE_LEAST ? SLICE_LEAST : (uint32_t)us;
}

/* maple_round_judge - what the status of its command means for @trial */
void maple_round_judge(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_judgement *j = &trial->judgement;
	int status = trial->round.status;

	if (trial->job.kind == MAPLE_RUN_NATIVE)
		learn(c, &trial->round);
	if (trial->round.unready) {
		if (status)
			maple_campaign_give_up(
				c,
				"--between '%.200s' had status %d for %.0f s "
				"after the start: is the server there, and the "
				"command right?",
				c->between, status, READY_WITHIN);
		else
			maple_campaign_give_up(
				c,
				"the server listens at no socket when "
				"--between '%.200s' has succeeded: when it is "
				"ready cannot be told",
				c->between);
		trial->stopped = true;
		return;
	}
	if (!status)
		return;
	if (maple_unjudged_says(status)) {
		maple_unjudged(j, MAPLE_UNJUDGED_SAID,
			       "--between has status %d", status);
		return;
	}
	j->failure = MAPLE_FAILURE_ORACLE;
	j->status = status;
	snprintf(j->what, sizeof(j->what),
		 "the round of requests says so: status %d", status);
}

/* maple_round_left - the server of @trial has ended by itself, by exit() */
void maple_round_left(struct maple_trial *trial)
{
	struct maple_judgement *j = &trial->judgement;

	j->failure = MAPLE_FAILURE_EXIT;
	j->status = WEXITSTATUS(trial->run.status);
	snprintf(j->what, sizeof(j->what),
		 "the server ended before the round was over, with status %d",
		 j->status);
}

/* maple_round_check - whether the options that --between is beside fit */
int maple_round_check(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	struct maple_pair_choice pair;
	const char *with = o->attached	    ? "attach"
			   : o->jobs > 1    ? "--jobs: the servers would "
					      "have one port"
			   : o->exe	    ? "--exe"
			   : o->expect_exit ? "--expect-exit: a server does "
					      "not end"
					    : NULL;

	if (with)
		return maple_error_set(c->err, EINVAL,
				       "--between does not go with %s", with);
	if (o->backend && !maple_pair_parse(o->backend, &pair) &&
	    (pair.observe != MAPLE_HALF_AGENT ||
	     pair.enforce != MAPLE_HALF_AGENT))
		return maple_error_set(c->err, EINVAL,
				       "--between needs --backend agent");
	return 0;
}
