// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * runs PROGRAM AGENT ROUNDS: runs a second of PROGRAM, by turns in one
 * process: started by posix_spawn() and waited for, nothing more; enforced
 * runs of a campaign that forks them; such that it executes. Prints the three
 * numbers, of the tenth of the rounds that was disturbed least.
 *
 * An enforced run is all that it is in a campaign: plan, automaton, log,
 * observer, verdict, and the memo, in the database that MEMO names.
 */
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "campaign/internal.h"
#include "strategy/maple/maple.h"

#define RUNS	   10 /* of each kind, in a round */
#define ROUNDS_MAX 1000

enum way { NATIVE, FORKED, EXECUTED, WAYS };

static double seconds[WAYS][ROUNDS_MAX];

static void die(const char *what, const char *why)
{
	fprintf(stderr, "runs: %s: %s\n", what, why);
	exit(2);
}

static void on_notice(void *ctx, const char *text)
{
	fprintf(stderr, "runs: %s\n", text);
}

/* As anybody would run it: on every CPU that there is. */
static void spawn(struct maple_campaign *c)
{
	char *const argv[] = { c->program, NULL };
	posix_spawn_file_actions_t files;
	cpu_set_t ours;
	int status;
	pid_t pid;

	sched_getaffinity(0, sizeof(ours), &ours);
	sched_setaffinity(0, sizeof(c->lanes.lane[0].pair->cpu.before),
			  &c->lanes.lane[0].pair->cpu.before);
	posix_spawn_file_actions_init(&files);
	if (posix_spawn(&pid, c->program, &files, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		die(c->program, "does not run");
	posix_spawn_file_actions_destroy(&files);
	sched_setaffinity(0, sizeof(ours), &ours);
}

/* The first try of @k, each time. */
static bool exposes(struct maple_campaign *c, struct maple_candidate *k)
{
	struct maple_search *m = c->system;
	struct maple_trial trial = { .job.seed = 1 };
	bool exposed;

	k->attempts = 0;
	k->exposed = false;
	if (maple_enforce_begin(&m->profiling, &trial.job, k, 0, c->err))
		die("an enforced run", c->err->text);
	maple_study_take(c, &trial);
	if (maple_trial_run(c, &trial))
		die("an enforced run", c->err->text);
	if (!trial.run.delivered)
		die("an enforced run", trial.run.why_not);
	exposed = trial.job.exposed && !trial.judgement.failure;
	maple_trial_deinit(&trial);
	return exposed;
}

static void enforce(struct maple_campaign *c, struct maple_candidate *k)
{
	if (!exposes(c, k))
		die("an enforced run", "it did not expose what it should");
}

static void profile(struct maple_campaign *c)
{
	struct maple_trial trial;
	enum maple_next next;

	if (maple_study_next(c, &trial, &next) || maple_trial_run(c, &trial))
		die("a profile run", c->err->text);
	maple_trial_deinit(&trial);
}

static double measure(struct maple_campaign *c, struct maple_candidate *k,
		      enum way way)
{
	double began;
	int i;

	c->lanes.lane[0].pair->enforce->options.exec = way == EXECUTED;
	began = maple_clock_now();
	for (i = 0; i < RUNS; i++)
		if (way == NATIVE)
			spawn(c);
		else
			enforce(c, k);
	return maple_clock_now() - began;
}

/* The first candidate that can be forced. */
static struct maple_candidate *choose(struct maple_campaign *c)
{
	struct maple_search *m = c->system;
	struct maple_candidate *k, *next;

	HASH_ITER (hh, m->profiling.candidates.table, k, next)
		if (k->predicted && exposes(c, k))
			return k;
	die("a campaign", "nothing can be enforced");
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	struct maple_campaign_options options = { .seed = 1,
						  .quiet_target = true,
						  .backend = "agent",
						  .together = 1,
						  .notice = on_notice };
	struct maple_campaign_result result = { 0 };
	struct maple_error err = { 0 };
	struct maple_campaign c = { .options = &options,
				    .result = &result,
				    .err = &err };
	const char *memo = getenv("MEMO");
	struct maple_candidate *k;
	int i, way, rounds;

	rounds = argc == 4 ? atoi(argv[3]) : 0;
	if (rounds < 1 || rounds > ROUNDS_MAX)
		die("usage", "runs PROGRAM AGENT ROUNDS");
	options.argv = (char *[]){ argv[1], NULL };
	options.agent = argv[2];
	c.began = maple_clock_now();
	if (maple_memo_open(memo ? memo : ":memory:", 0, &c.memo, &err) ||
	    maple_campaign_open(&c) || maple_baseline(&c))
		die(argv[1], err.text);
	profile(&c);
	k = choose(&c);
	for (i = 0; i < rounds; i++)
		for (way = 0; way < WAYS; way++)
			seconds[way][i] = measure(&c, k, way);
	for (way = 0; way < WAYS; way++) {
		qsort(seconds[way], rounds, sizeof(double), by_size);
		printf("%.1f%c", RUNS / seconds[way][rounds / 10],
		       way == WAYS - 1 ? '\n' : ' ');
	}
	maple_campaign_close(&c);
	maple_memo_close(c.memo);
	return 0;
}
