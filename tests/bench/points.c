// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * points PROGRAM RUNS: what a controlled run pays for its choices, as lines
 *"NAME VALUE", by runs of tests/bench/many_points. Of each kind the least of
 *RUNS, of rates the highest: other load only adds.
 *
 *	beside_1, beside_15	ns a point, without a hand-over, while so many
 *				others stand: by a list that says nothing, so
 *each goes on as long as it can handover		us a hand-over: rw, less
 *what its points take
 *	runs			runs a second: two threads of 300 points by pos
 */
#include <assert.h>
#include <fcntl.h>
#include "alone.h"
#include "base/clock.h"

#define POINTS 200000
#define SWITCH 20000 /* points of a run that hands over */
#define BLOCK  100   /* runs */
#define SITES  16
#define NEVER  4000000000u /* hits */

static char file[64]; /* which the program writes to */
static int runs;      /* of each kind */

struct cost {
	double ns;     /* that the first thread took */
	double points; /* of the run */
	double switches;
};

/* @keep: becomes the run, to be freed; or NULL */
static void run(struct alone *a, const struct maple_run_control *c,
		struct cost *cost, struct maple_run *keep)
{
	const struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = c,
		.budget = 4,
		.timeout = 60,
		.in = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	struct maple_run run = { 0 };
	struct maple_error err;
	FILE *f;

	order.out = order.err = order.in;
	if (maple_backend_run(a->backend, NULL, &order, &sink, &run, &err))
		die("a run", err.text);
	close(order.in);
	if (!run.delivered || run.end != MAPLE_END_ITSELF || run.status)
		die("a run", run.delivered ? "it failed" : run.why_not);
	cost->points = run.counts.points;
	cost->switches = run.counts.switches;
	if (keep)
		*keep = run;
	else
		maple_run_deinit(&run);
	f = fopen(file, "re");
	if (f && fscanf(f, "%lf", &cost->ns) != 1)
		die(file, "there is no number");
	if (f)
		fclose(f);
}

static struct alone open_by(char *program, const char *threads, long rounds)
{
	static char count[32];
	static char *argv[5];
	struct alone a;

	snprintf(count, sizeof(count), "%ld", rounds);
	argv[0] = program;
	argv[1] = (char *)threads;
	argv[2] = count;
	argv[3] = file;
	alone_open(&a, argv);
	return a;
}

/* A list that says nothing, at all sites that @was has switched at. */
static uint32_t say_nothing(const struct maple_run *was,
			    struct maple_policy_switch *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < was->ndecided && n < SITES; i++) {
		const struct maple_policy_switch *e = &was->decided[i];
		uint32_t k = 0;

		while (k < n && list[k].site != e->site)
			k++;
		if (k == n && e->site != MAPLE_SITE_NONE)
			list[n++] = (struct maple_policy_switch){
				.thread = 1,
				.next = 1,
				.what = MAPLE_POLICY_AT,
				.site = e->site,
				.hit = NEVER,
			};
	}
	return n;
}

/* ns; the first thread goes on to its end, while the others stand */
static double point_by(char *program, const char *threads)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_RW };
	struct alone a = open_by(program, threads, POINTS / 2);
	struct maple_policy_switch list[SITES];
	struct maple_run was;
	struct cost cost;
	double least = 0;

	run(&a, &c, &cost, &was);
	c = (struct maple_run_control){
		.order.policy = MAPLE_POLICY_LIST,
		.list = list,
		.nlist = say_nothing(&was, list),
		.names = was.names,
		.nnames = was.nnames,
	};
	for (int i = 0; i < runs; i++) {
		run(&a, &c, &cost, NULL);
		assert(cost.points >= POINTS && cost.switches == 0);
		if (!least || cost.ns / POINTS < least)
			least = cost.ns / POINTS;
	}
	maple_run_deinit(&was);
	alone_close(&a);
	return least;
}

/* us; the first thread is there nearly to the end */
static double handover_by(char *program, double point)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_RW };
	struct alone a = open_by(program, "2", SWITCH / 4);
	struct cost cost;
	double least = 0, us;

	for (int i = 0; i < runs; i++) {
		c.order.seed = i;
		run(&a, &c, &cost, NULL);
		assert(cost.switches > SWITCH / 8.0);
		us = (cost.ns - point * cost.points) / cost.switches / 1000;
		if (!least || us < least)
			least = us;
	}
	alone_close(&a);
	return least;
}

static double runs_by(char *program)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_POS };
	struct alone a = open_by(program, "2", 75);
	double most = 0, began;
	struct cost cost;

	for (int i = 0; i < (runs + 2) / 3; i++) {
		began = maple_clock_now();
		for (int k = 0; k < BLOCK; k++) {
			c.order.seed = i * BLOCK + k;
			run(&a, &c, &cost, NULL);
		}
		if (BLOCK / (maple_clock_now() - began) > most)
			most = BLOCK / (maple_clock_now() - began);
	}
	alone_close(&a);
	return most;
}

int main(int argc, char **argv)
{
	double point;

	runs = argc == 3 ? atoi(argv[2]) : 0;
	if (runs < 1)
		die("usage", "points PROGRAM RUNS");
	snprintf(file, sizeof(file), "/tmp/maple-points-%d", getpid());
	point = point_by(argv[1], "2");
	printf("beside_1 %.1f\n", point);
	printf("beside_15 %.1f\n", point_by(argv[1], "16"));
	printf("handover %.2f\n", handover_by(argv[1], point));
	printf("runs %.0f\n", runs_by(argv[1]));
	unlink(file);
	return 0;
}
