// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * startup_costs FOLDER ROUNDS PROGRAM [ARGUMENT...]: what comes before main().
 * Prints, of each the least of ROUNDS:
 *
 *	sites of the program and its libraries that are observed
 *	processor ms to decode them, with nothing kept in FOLDER
 *	... when that was kept there
 *	ms from the start to main() with the agent, and nothing patched
 *	processor ms that a run takes more when every site is patched
 *	... and when the sites of a plan are
 *
 * Each run is executed: one that is forked has this behind it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "alone.h"
#include "base/clock.h"
#include "image/image.h"
#include "plan/plan.h"

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* Decodes all of @reg's images once more, @folder being used if it is there. */
static double decode(const struct maple_registry *reg, const char *folder,
		     const bool *observed)
{
	double began = cpu_ms();
	struct maple_image *image;
	struct maple_error err;

	for (uint32_t i = 0; i < maple_registry_images(reg); i++) {
		if (!observed[i])
			continue;
		if (maple_image_open_by(
			    maple_image_path(maple_registry_image(reg, i)),
			    &(struct maple_image_way){ .kept = folder }, &image,
			    &err))
			die("decoding", err.text);
		maple_image_destroy(image);
	}
	return cpu_ms() - began;
}

/* Processor ms; *@ready: ms from the start to main(), if that is less. */
static double run(struct maple_backend *b, enum maple_run_kind kind,
		  const struct maple_plan *plan, struct maple_run *out,
		  double *ready)
{
	struct maple_run_order order = {
		.kind = kind,
		.schedule = MAPLE_SCHEDULE_OLDER,
		.plan = plan,
		.budget = 1,
		.timeout = 60,
		.fresh = true,
		.in = open("/dev/null", O_RDWR),
	};
	const struct maple_run_sink sink = { 0 };
	double began = maple_clock_now();
	struct maple_error err;

	order.out = order.err = order.in;
	if (maple_backend_run(b, NULL, &order, &sink, out, &err))
		die("run", err.text);
	close(order.in);
	if (out->end != MAPLE_END_ITSELF || !out->entered)
		die("run", "it did not get to main()");
	began = 1e3 * (out->entered - began);
	if (began < *ready)
		*ready = began;
	return 1e3 * out->cpu_seconds;
}

static double least(double a, double b)
{
	return b < a ? b : a;
}

/* Two sites in the middle of the largest image. */
static struct maple_plan plan_of(const struct maple_registry *reg,
				 uint32_t sites)
{
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	struct maple_plan plan;

	iroot.e[0].site = sites / 2;
	iroot.e[0].kind = MAPLE_EV_WRITE;
	iroot.e[1].site = sites / 2 + 1;
	iroot.e[1].kind = MAPLE_EV_READ;
	if (maple_plan_init(&plan, &iroot, 1, 0, 1))
		die("plan", "it is none");
	return plan;
}

int main(int argc, char **argv)
{
	struct alone alone;
	double cold = 1e9, warm = 1e9, bare = 1e9, all = 1e9, few = 1e9;
	double ready = 1e9, any = 1e9;
	int rounds = argc > 3 ? atoi(argv[2]) : 0;
	bool observed[256] = { false };
	struct maple_backend *b;
	struct maple_plan plan;
	struct maple_run r;
	uint64_t sites;

	if (rounds < 1) {
		fprintf(stderr, "usage: startup_costs FOLDER ROUNDS PROG...\n");
		return 2;
	}
	alone_open(&alone, argv + 3);
	b = alone.backend;
	run(b, MAPLE_RUN_PROFILE, NULL, &r, &any);
	sites = r.sites;
	for (unsigned int i = 0; i < r.nimages; i++)
		if (r.images[i].index < 256)
			observed[r.images[i].index] = true;
	maple_run_deinit(&r);
	plan = plan_of(alone.options.registry, (uint32_t)sites);
	for (int i = 0; i < rounds; i++) {
		bare = least(bare, run(b, MAPLE_RUN_SCHEDULE, NULL, &r, &ready));
		maple_run_deinit(&r);
		all = least(all, run(b, MAPLE_RUN_PROFILE, NULL, &r, &any));
		maple_run_deinit(&r);
		few = least(few, run(b, MAPLE_RUN_ENFORCE, &plan, &r, &any));
		maple_run_deinit(&r);
		cold = least(cold,
			     decode(alone.options.registry, NULL, observed));
		decode(alone.options.registry, argv[1], observed);
		warm = least(warm,
			     decode(alone.options.registry, argv[1], observed));
	}
	printf("%llu %.2f %.2f %.2f %.2f %.2f\n", (unsigned long long)sites,
	       cold, warm, ready, all - bare, few - bare);
	alone_close(&alone);
	return 0;
}
