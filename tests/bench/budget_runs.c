// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * budget_runs SEEDS PROGRAM [ARGUMENT...]: what the predictions lose when sites
 * have a budget. Makes SEEDS profile runs of the program with no limit, where
 * it waits for the predictor so that no event is lost; then the same runs, in
 * the same schedules, once more, and with each of several budgets. Prints for
 * each a line, with tabs:
 *
 *	budget, or "all" and "again"
 *	candidates of all runs together
 *	... that those of "all" have and these have not, of these two kinds:
 *	    single dependencies (idiom 1); the others
 *	... that these have, and "all" have not
 *	candidates of idiom 1 in "all"
 *	events of all runs together
 *	processor seconds of the program, all runs together
 *
 * "again" tells what the schedules' own chance is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include "alone.h"
#include "predict/predict.h"

#define LIMIT 280 /* seconds for a run */

static const struct setting {
	const char *name;
	uint32_t budget;
} settings[] = {
	{ "all", 0 },	{ "again", 0 }, { "1000", 1000 },
	{ "300", 300 }, { "100", 100 }, { "30", 30 },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Which settings have predicted an iRoot. */
struct known {
	struct maple_iroot iroot;
	bool by[SETTINGS];
	UT_hash_handle hh;
};

static struct known *known;
static struct {
	uint64_t events;
	double seconds;
} cost[SETTINGS];

/* What one run is about. */
struct one {
	unsigned int setting;
	struct maple_predict *predict;
};

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	struct one *one = ctx;
	struct maple_iroot key;
	struct known *k;

	/* Padding is no part of it. */
	memset(&key, 0, sizeof(key));
	key.idiom = iroot->idiom;
	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		key.e[i].site = iroot->e[i].site;
		key.e[i].kind = iroot->e[i].kind;
	}
	HASH_FIND(hh, known, &key, sizeof(key), k);
	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			die("candidates", "out of memory");
		k->iroot = key;
		HASH_ADD(hh, known, iroot, sizeof(key), k);
	}
	k->by[one->setting] = true;
}

static void on_event(void *ctx, const struct maple_event *event)
{
	struct one *one = ctx;

	cost[one->setting].events++;
	if (maple_predict_event(one->predict, event))
		die("predictor", "out of memory");
}

/* The first is a campaign's first profile run, then those take turns. */
static enum maple_schedule schedule_of(unsigned int seed)
{
	return seed == 1  ? MAPLE_SCHEDULE_OLDER
	       : seed % 2 ? MAPLE_SCHEDULE_PCTLARGE
			  : MAPLE_SCHEDULE_PCT;
}

static void run(struct maple_backend *b, unsigned int setting, unsigned int seed)
{
	struct one one = { .setting = setting };
	const struct maple_predict_sink said = { .predicted = on_predicted,
						 .ctx = &one };
	const struct maple_run_sink sink = { .event = on_event, .ctx = &one };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_PROFILE,
		.schedule = schedule_of(seed),
		.seed = seed,
		.budget = settings[setting].budget,
		.lossless = true,
		.timeout = LIMIT,
		.in = open("/dev/null", O_RDWR),
	};
	struct maple_error err;
	struct maple_run run;

	order.out = order.err = order.in;
	if (maple_predict_create(NULL, &said, &one.predict))
		die("predictor", "out of memory");
	if (maple_backend_run(b, NULL, &order, &sink, &run, &err))
		die("run", err.text);
	if (!run.delivered)
		die("run", run.why_not);
	if (run.end != MAPLE_END_ITSELF && run.end != MAPLE_END_DEADLOCK)
		die("run", "it did not end by itself");
	if (run.lost)
		fprintf(stderr, "budget_runs: %s: %llu events lost\n",
			settings[setting].name, (unsigned long long)run.lost);
	if (maple_predict_finish(one.predict))
		die("predictor", "out of memory");
	cost[setting].seconds += run.cpu_seconds;
	maple_predict_destroy(one.predict);
	maple_run_deinit(&run);
	close(order.in);
}

static void say(unsigned int setting)
{
	unsigned int all = 0, first = 0, lost_first = 0, lost_more = 0;
	unsigned int more = 0;
	struct known *k, *next;

	HASH_ITER (hh, known, k, next) {
		bool single = k->iroot.idiom == MAPLE_IDIOM_1;

		all += k->by[setting];
		first += single && k->by[0];
		lost_first += single && k->by[0] && !k->by[setting];
		lost_more += !single && k->by[0] && !k->by[setting];
		more += !k->by[0] && k->by[setting];
	}
	printf("%s\t%u\t%u\t%u\t%u\t%u\t%llu\t%.3f\n", settings[setting].name,
	       all, lost_first, lost_more, more, first,
	       (unsigned long long)cost[setting].events, cost[setting].seconds);
}

int main(int argc, char **argv)
{
	unsigned int seeds = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	struct alone alone;
	struct maple_backend *b;

	if (!seeds) {
		fprintf(stderr, "usage: budget_runs SEEDS PROGRAM...\n");
		return 2;
	}
	alone_open(&alone, argv + 2);
	b = alone.backend;
	for (unsigned int i = 0; i < SETTINGS; i++)
		for (unsigned int seed = 1; seed <= seeds; seed++)
			run(b, i, seed);
	for (unsigned int i = 0; i < SETTINGS; i++)
		say(i);
	alone_close(&alone);
	return 0;
}
