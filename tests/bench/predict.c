// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * predict [EVENTS [IDIOMS]]: what observer and predictor cost. Feeds them a
 * made-up run of EVENTS events (10 million) and prints events a second, the
 * process's peak memory, and what was found and cut. IDIOMS is a mask, bit i
 * for idiom i; all unless given. The time to make up events is not counted.
 * Atomic sets, and the witness over violations, are fed the same and timed alone.
 *
 * The run: 8 threads on 100,000 locations. Of their steps, 69 % go to an own
 * region, in sweeps and in a hot set; 21 % read a shared table that is seldom
 * written; 5 % take one of 64 locks for up to three; 5 % are on data that
 * everybody uses without a lock. A step reads its location and may write it
 * and read it again. A thread runs for up to 200 steps before another does,
 * and all meet at a barrier now and then.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "predict/predict.h"
#include "predict/sets/sets.h"
#include "predict/sets/witness.h"

#define THREADS	 8
#define CHUNK	 65536
#define OWN	 10000 /* locations of a thread */
#define HOT	 64
#define TABLE	 16000
#define LOCKS	 64
#define PER_LOCK 16
#define OPEN	 2976
#define BARRIER	 500000 /* events between two */
#define DATA	 0x10000000ull
#define MUTEX	 0x20000000ull
#define OBJECT	 0x30000000ull

struct thread {
	uint32_t clock, cursor;
	unsigned int section; /* accesses left under the lock */
	unsigned int lock;
};

static struct maple_event chunk[CHUNK + 64];
static struct thread threads[THREADS];
static unsigned int filled, current, turn;
static uint64_t seed = 1, made;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) * n >> 31);
}

static void emit(unsigned int thread, uint8_t kind, uint32_t site,
		 uint64_t addr, uint32_t aux)
{
	chunk[filled++] = (struct maple_event){
		.thread = (uint16_t)thread,
		.kind = kind,
		.site = site,
		.addr = addr,
		.size = 8,
		.clock = ++threads[thread].clock,
		.sp = 0x70000 - 64 * (site / 4 % 8),
		.aux = aux,
	};
	made++;
}

/* What a piece of code does with a location: it looks, and may change it. */
static void touch(unsigned int t, uint32_t site, uint32_t location)
{
	uint64_t addr = DATA + 8ull * location;
	uint32_t h = site * 2654435761u >> 16;

	if (h % 10 == 0) {
		emit(t, MAPLE_EV_UPDATE, 4 * site, addr, 0);
		return;
	}
	emit(t, MAPLE_EV_READ, 4 * site, addr, 0);
	if (h % 10 < 6)
		emit(t, MAPLE_EV_WRITE, 4 * site + 1, addr, 0);
	if (h % 10 < 4)
		emit(t, MAPLE_EV_READ, 4 * site + 2, addr, 0);
}

static void locked(unsigned int t, struct thread *self)
{
	uint32_t base = THREADS * OWN + TABLE;

	touch(t, 1200 + 4 * (self->lock % 16) + self->section,
	      base + self->lock * PER_LOCK + rnd(PER_LOCK));
	if (!--self->section)
		emit(t, MAPLE_EV_UNLOCK,
		     MAPLE_SITE_CALL | (100 + self->lock % 16),
		     MUTEX + 64 * self->lock, 0);
}

static bool is_free(unsigned int lock)
{
	for (unsigned int i = 0; i < THREADS; i++)
		if (threads[i].section && threads[i].lock == lock)
			return false;
	return true;
}

static void step(unsigned int t)
{
	struct thread *self = &threads[t];
	unsigned int what = rnd(1000);

	if (self->section) {
		locked(t, self);
	} else if (what < 400) {
		uint32_t at = self->cursor++ % OWN;

		touch(t, at / HOT % 100 + 400 * (at % 2), t * OWN + at);
	} else if (what < 690) {
		uint32_t at = rnd(HOT);

		touch(t, 800 + at, t * OWN + at);
	} else if (what < 900) {
		uint32_t at = rnd(TABLE);

		emit(t, rnd(500) ? MAPLE_EV_READ : MAPLE_EV_WRITE,
		     4 * (900 + at / 256) + 3,
		     DATA + 8ull * (THREADS * OWN + at), 0);
	} else if (what < 950) {
		uint32_t at = rnd(OPEN);

		touch(t, 1000 + at % 50,
		      THREADS * OWN + TABLE + LOCKS * PER_LOCK + at);
	} else {
		self->lock = rnd(LOCKS);
		if (!is_free(self->lock))
			return;
		self->section = 1 + rnd(3);
		emit(t, MAPLE_EV_LOCK, MAPLE_SITE_CALL | self->lock % 16,
		     MUTEX + 64 * self->lock, 0);
	}
}

static void meet(void)
{
	for (unsigned int t = 0; t < THREADS; t++)
		emit(t, MAPLE_EV_BARRIER_IN, MAPLE_SITE_CALL | 200, OBJECT, 0);
	for (unsigned int t = 0; t < THREADS; t++)
		emit(t, MAPLE_EV_BARRIER_OUT, MAPLE_SITE_CALL | 200, OBJECT, 0);
}

static void fill(void)
{
	filled = 0;
	if (!made)
		for (unsigned int t = 1; t < THREADS; t++) {
			emit(0, MAPLE_EV_CREATE, MAPLE_SITE_CALL | 201, 0, t);
			emit(t, MAPLE_EV_START, MAPLE_SITE_NONE, 0, 0);
		}
	while (filled < CHUNK) {
		if (!turn--) {
			current = rnd(THREADS);
			turn = 1 + rnd(200);
		}
		step(current);
		if (made % BARRIER < 2)
			meet();
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_stats(const struct maple_predict *p)
{
	struct maple_predict_stats s;

	maple_predict_stats(p, &s);
#define SAY(field) printf("%-17s %llu\n", #field, (unsigned long long)s.field)
	SAY(events);
	SAY(locations);
	SAY(observed);
	SAY(predicted);
	SAY(searches);
	SAY(removed);
	SAY(cut_locations);
	SAY(cut_summaries);
	SAY(cut_spans);
	SAY(cut_iroots);
	SAY(cut_recent);
	SAY(cut_walks);
	SAY(cut_pairs);
	SAY(cut_stretches);
	SAY(cut_edges);
	SAY(cut_correlations);
	SAY(cut_sequences);
	SAY(no_memory);
#undef SAY
}

/* What atomic sets cost, beside the predictor. */
struct beside {
	struct maple_sets *sets;
	struct maple_witness *witness;
	double predicted, watched; /* seconds */
};

static bool begin_beside(struct beside *b)
{
	b->sets = maple_sets_create(&(struct maple_predict_sink){ 0 });
	b->witness = maple_witness_create(NULL, 0, false);
	return b->sets && b->witness;
}

static void feed_beside(struct beside *b)
{
	double start = now();

	for (unsigned int i = 0; i < filled; i++)
		maple_sets_event(b->sets, &chunk[i]);
	b->predicted += now() - start;
	start = now();
	for (unsigned int i = 0; i < filled; i++)
		maple_witness_event(b->witness, &chunk[i]);
	b->watched += now() - start;
}

static void end_beside(struct beside *b, double spent, uint64_t events)
{
	struct maple_sets_stats sets;
	struct maple_witness_stats witness;

	maple_sets_finish(b->sets);
	maple_witness_finish(b->witness);
	maple_sets_stats(b->sets, &sets);
	maple_witness_stats(b->witness, &witness);
	printf("sets: %llu, %llu units, %llu shapes, %llu predicted; %.2f "
	       "million events a second, %.2f with the predictor\n",
	       (unsigned long long)sets.sets, (unsigned long long)sets.units,
	       (unsigned long long)sets.shapes,
	       (unsigned long long)sets.predicted,
	       (double)events / b->predicted / 1e6,
	       (double)events / (spent + b->predicted) / 1e6);
	printf("violations: %u kinds; %.2f million events a second\n",
	       HASH_COUNT(maple_witness_found(b->witness)),
	       (double)events / b->watched / 1e6);
	maple_sets_destroy(b->sets);
	maple_witness_destroy(b->witness);
}

int main(int argc, char **argv)
{
	uint64_t want = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000;
	struct maple_predict_options options = {
		.idioms = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 0,
	};
	double spent = 0, start, fed;
	struct maple_predict *p;
	struct rusage usage;
	uint64_t events = 0;
	struct beside beside = { 0 };
	int ret = maple_predict_create(&options, NULL, &p);

	if (!ret && !begin_beside(&beside))
		ret = -ENOMEM;

	while (!ret && events < want) {
		fill();
		start = now();
		for (unsigned int i = 0; i < filled && !ret; i++)
			ret = maple_predict_event(p, &chunk[i]);
		spent += now() - start;
		feed_beside(&beside);
		events += filled;
	}
	fed = spent;
	start = now();
	if (!ret)
		ret = maple_predict_finish(p);
	spent += now() - start;
	if (ret) {
		fprintf(stderr, "predict: %s\n", strerror(-ret));
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	print_stats(p);
	printf("%.2f s, %.2f of them to finish\n", spent, spent - fed);
	printf("%.2f million events a second\n", (double)events / spent / 1e6);
	end_beside(&beside, spent, events);
	printf("%ld MiB at most\n", usage.ru_maxrss / 1024);
	maple_predict_destroy(p);
	return 0;
}
