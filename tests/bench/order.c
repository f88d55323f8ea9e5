// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * order [EVENTS...]: what an order costs. For runs of so many events in the
 * model (100, 1,000 and 10,000) prints the time of the model, of what was shown
 * and what is wanted, and the time of a query: its cone, and its order.
 *
 * The run: 4 threads in stretches of up to 20 events on 64 variables. Each
 * variable has one of 8 locks; three of four accesses are under it, in sections
 * of up to 4; the others are not. Queries are goals that are wanted, spread
 * over all that there are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "order/order.h"

#define THREADS	  4
#define VARIABLES 64
#define LOCKS	  8
#define QUERIES	  500
#define GOALS	  20000

static struct maple_event *event;
static uint32_t n;
static uint64_t seed = 1;

static uint32_t rnd(uint32_t most)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) * most >> 31);
}

static void emit(uint32_t thread, uint8_t kind, uint32_t site, uint64_t addr)
{
	event[n++] = (struct maple_event){ .thread = (uint16_t)thread,
					   .kind = kind,
					   .site = site,
					   .addr = addr,
					   .size = 8,
					   .aux = 1 };
}

static void touch(uint32_t thread, uint32_t variable)
{
	static const uint8_t kinds[] = { MAPLE_EV_READ, MAPLE_EV_READ,
					 MAPLE_EV_WRITE, MAPLE_EV_UPDATE };
	uint32_t kind = rnd(4);

	emit(thread, kinds[kind], 16 * variable + 4 * rnd(4) + kind,
	     0x1000 + 8ull * variable);
}

/* One section, or some accesses without: no thread stops inside. */
static void work(uint32_t thread)
{
	uint32_t lock = rnd(LOCKS), some = 1 + rnd(4);
	bool locked = rnd(4) != 0;

	if (locked)
		emit(thread, MAPLE_EV_LOCK, 5000 + lock, 0x8000 + 64 * lock);
	for (uint32_t i = 0; i < some; i++)
		touch(thread, rnd(VARIABLES / LOCKS) * LOCKS + lock);
	if (locked)
		emit(thread, MAPLE_EV_UNLOCK, 5100 + lock, 0x8000 + 64 * lock);
}

static void make_run(uint32_t events)
{
	uint32_t thread = 0;

	n = 0;
	for (uint32_t t = 1; t < THREADS; t++) {
		emit(0, MAPLE_EV_CREATE, 6000, 0);
		event[n - 1].aux = t;
		emit(t, MAPLE_EV_START, MAPLE_SITE_NONE, 0);
	}
	while (n < events) {
		if (rnd(5) == 0)
			thread = rnd(THREADS);
		work(thread);
	}
}

struct goals {
	struct maple_order_goal goal[GOALS];
	uint32_t n;
};

static struct goals goals;

static bool keep(void *ctx, const struct maple_order_goal *goal)
{
	goals.goal[goals.n++] = *goal;
	return goals.n < GOALS;
}

static bool count(void *ctx, const struct maple_order_goal *goal)
{
	++*(uint32_t *)ctx;
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void ask(const struct maple_order_model *model)
{
	uint32_t answers[3] = { 0 }, queries = 0;
	uint32_t by = goals.n > QUERIES ? goals.n / QUERIES : 1;
	double spent = 0, worst = 0, from, took;
	uint64_t events = 0;

	for (uint32_t i = 0; i < goals.n; i += by) {
		struct maple_order_found order;

		from = now();
		answers[maple_order_solve(model, &goals.goal[i], &order)]++;
		took = now() - from;
		events += order.n;
		maple_order_deinit(&order);
		spent += took;
		worst = took > worst ? took : worst;
		queries++;
	}
	if (!queries)
		return;
	printf("  %u queries: %.4f ms each, %.2f ms at most; %u found, of %llu "
	       "events each, %u refuted, %u given up\n",
	       queries, spent / queries, worst, answers[MAPLE_ORDER_FOUND],
	       (unsigned long long)(answers[0] ? events / answers[0] : 0),
	       answers[MAPLE_ORDER_REFUTED], answers[MAPLE_ORDER_UNKNOWN]);
}

static void measure(uint32_t events)
{
	struct maple_order_model *model;
	uint32_t shown = 0;
	double start, built, seen, wanted;

	event = reallocarray(event, events + 64, sizeof(*event));
	if (!event)
		exit(1);
	make_run(events);
	start = now();
	if (maple_order_model_build(event, n, false, &model))
		exit(1);
	built = now();
	maple_order_shown(model, count, &shown);
	seen = now();
	goals.n = 0;
	maple_order_wanted(model, keep, NULL);
	wanted = now();
	printf("%u events: model %.2f ms, %u shown in %.2f ms, %u wanted in "
	       "%.2f ms\n",
	       n, built - start, shown, seen - built, goals.n, wanted - seen);
	ask(model);
	maple_order_model_free(model);
}

int main(int argc, char **argv)
{
	if (argc == 1)
		for (uint32_t events = 100; events <= 10000; events *= 10)
			measure(events);
	for (int i = 1; i < argc; i++)
		measure((uint32_t)strtoul(argv[i], NULL, 0));
	free(event);
	return 0;
}
