// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Observer and predictor against a model that is slow and plain: it keeps
 * every event, looks at every byte by itself, closes happens-before over the
 * whole trace, and knows no clocks, cells, summaries or pruning. Random
 * programs with locks, read sides, semaphores, barriers, overlapping ranges
 * and memory that is freed, in random legal orders. Idiom 1 is compared;
 * for the others, which are on, see test_predict_compound.c.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "predict/predict.h"

#define EVENTS	96
#define THREADS 4
#define BYTES	24
#define LOCKS	3
#define SITES	14
#define ROUNDS	3000
#define DATA	0x1000fcull /* crosses a block of 256 bytes */
#define MUTEX	0x200000ull
#define OBJECT	0x300000ull

static uint64_t seed;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % n;
}

/* What may come of a trace: one bit per kind of iRoot and pair of sites. */
struct answers {
	uint8_t seen[2][6][6][SITES][SITES]; /* predicted, kinds, sites */
};

static struct maple_event event[EVENTS];
static unsigned int n;
static bool reach[EVENTS][EVENTS];
static struct answers want, got;

/* ---- random legal traces ---- */

struct sim {
	unsigned int left[THREADS];
	bool started[THREADS], joined[THREADS], done[THREADS], in[THREADS];
	int holds[THREADS][LOCKS]; /* depth */
	bool shared[THREADS][LOCKS];
	unsigned int posts, waiting;
	uint32_t clock[THREADS];
};

static struct maple_event *emit(struct sim *s, unsigned int t, uint8_t kind)
{
	struct maple_event *e = &event[n++];

	memset(e, 0, sizeof(*e));
	e->thread = (uint16_t)t;
	e->kind = kind;
	e->site = rnd(SITES);
	e->clock = ++s->clock[t];
	return e;
}

static bool lockable(const struct sim *s, unsigned int t, unsigned int lock,
		     bool shared)
{
	for (unsigned int u = 0; u < THREADS; u++)
		if (u != t && s->holds[u][lock] &&
		    !(shared && s->shared[u][lock]))
			return false;
	return !s->holds[t][lock] || shared == s->shared[t][lock];
}

static void lock_step(struct sim *s, unsigned int t)
{
	unsigned int lock = rnd(LOCKS);
	bool shared = lock == 2 && rnd(2), release = rnd(2);
	struct maple_event *e;

	if (release && s->holds[t][lock]) {
		e = emit(s, t, MAPLE_EV_UNLOCK);
		shared = s->shared[t][lock];
		s->holds[t][lock]--;
	} else if (lockable(s, t, lock, shared)) {
		e = emit(s, t, MAPLE_EV_LOCK);
		s->holds[t][lock]++;
		s->shared[t][lock] = shared;
	} else {
		return;
	}
	e->addr = MUTEX + 64 * lock;
	e->flags = shared ? MAPLE_EVF_SHARED : 0;
}

static void data_step(struct sim *s, unsigned int t, uint8_t kind)
{
	unsigned int offset = rnd(BYTES), size = 1u << rnd(4);
	struct maple_event *e = emit(s, t, kind);

	e->size = offset + size > BYTES ? BYTES - offset : size;
	e->addr = DATA + offset;
	e->value = e->size;
}

/* A barrier of all threads that run, main too; nobody waits while it holds. */
static void barrier_step(struct sim *s)
{
	unsigned int first = n;

	if (n + 2 * THREADS > EVENTS)
		return;
	for (unsigned int t = 0; t < THREADS; t++)
		if (s->started[t] && !s->done[t])
			emit(s, t, MAPLE_EV_BARRIER_IN)->addr = OBJECT;
	for (unsigned int i = first, end = n; i < end; i++)
		emit(s, event[i].thread, MAPLE_EV_BARRIER_OUT)->addr = OBJECT;
}

static void step(struct sim *s, unsigned int t)
{
	unsigned int what = rnd(32);

	if (what < 8) {
		lock_step(s, t);
	} else if (what == 8) {
		emit(s, t, MAPLE_EV_POST)->addr = OBJECT + 64;
		s->posts++;
	} else if (what == 9 && s->posts) {
		emit(s, t, MAPLE_EV_TAKE)->addr = OBJECT + 64;
		s->posts--;
	} else if (what == 10) {
		barrier_step(s);
	} else if (what == 11 && !rnd(3)) {
		data_step(s, t, MAPLE_EV_FREE);
	} else if (what < 14) {
		data_step(s, t, MAPLE_EV_UPDATE);
	} else if (what < 22) {
		data_step(s, t, MAPLE_EV_WRITE);
	} else {
		data_step(s, t, MAPLE_EV_READ);
	}
}

static void generate(void)
{
	struct sim s = { .started[0] = true };
	unsigned int threads = 2 + rnd(THREADS - 1), length = 8 + rnd(72);

	n = 0;
	while (n < length) {
		unsigned int t = rnd(threads);

		if (s.started[t] && !s.done[t]) {
			if (t && !rnd(24))
				s.done[t] = true;
			else
				step(&s, t);
		} else if (!s.started[t]) {
			emit(&s, 0, MAPLE_EV_CREATE)->aux = t;
			emit(&s, t, MAPLE_EV_START);
			s.started[t] = true;
		} else if (!s.joined[t] && !rnd(3)) {
			emit(&s, 0, MAPLE_EV_JOIN)->aux = t;
			s.joined[t] = true;
		}
	}
}

/* ---- the model ---- */

static void edges(void)
{
	unsigned int post = 0;

	memset(reach, 0, sizeof(reach));
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i + 1; j < n; j++) {
			const struct maple_event *a = &event[i], *b = &event[j];

			if (a->thread == b->thread ||
			    (a->kind == MAPLE_EV_CREATE && b->thread == a->aux) ||
			    (b->kind == MAPLE_EV_JOIN && a->thread == b->aux))
				reach[i][j] = true;
			if (a->kind == MAPLE_EV_BARRIER_IN &&
			    b->kind == MAPLE_EV_BARRIER_OUT)
				reach[i][j] = true;
		}
	for (unsigned int j = 0; j < n; j++)
		if (event[j].kind == MAPLE_EV_TAKE) {
			while (event[post].kind != MAPLE_EV_POST)
				post++;
			reach[post++][j] = true;
		}
	for (unsigned int k = 0; k < n; k++)
		for (unsigned int i = 0; i < n; i++)
			for (unsigned int j = 0; j < n; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
}

static unsigned int depth(unsigned int at, unsigned int t, uint64_t lock)
{
	unsigned int d = 0;

	for (unsigned int i = 0; i < at; i++)
		if (event[i].thread == t && event[i].addr == lock) {
			d += event[i].kind == MAPLE_EV_LOCK;
			d -= event[i].kind == MAPLE_EV_UNLOCK;
		}
	return d;
}

static bool touches(unsigned int i, uint64_t byte)
{
	const struct maple_event *e = &event[i];

	if (e->kind == MAPLE_EV_LOCK || e->kind == MAPLE_EV_UNLOCK)
		return e->addr == byte && depth(i, e->thread, byte) ==
						  (e->kind == MAPLE_EV_UNLOCK);
	return maple_event_is_memory(e->kind) && e->addr <= byte &&
	       byte < e->addr + e->size;
}

static bool freed(unsigned int i, unsigned int j, uint64_t byte)
{
	for (; i < j; i++)
		if (event[i].kind == MAPLE_EV_FREE && event[i].addr <= byte &&
		    byte < event[i].addr + event[i].size)
			return true;
	return false;
}

/* As in struct maple_predict_options. */
static bool reads_first;

/* Whether event @i is in a section of @lock; the section's ends. */
static bool section(unsigned int i, uint64_t lock, unsigned int *from,
		    unsigned int *to)
{
	unsigned int t = event[i].thread;

	if (event[i].addr == lock || !depth(i, t, lock))
		return false;
	for (*from = i; depth(*from, t, lock); --*from)
		;
	for (*to = i; *to < n && depth(*to, t, lock); ++*to)
		;
	return true;
}

/* Another access of @i's thread to @byte, or write, between the events given. */
static bool again(unsigned int i, uint64_t byte, unsigned int from,
		  unsigned int to, bool write)
{
	for (unsigned int j = from; j < to; j++)
		if (j != i && event[j].thread == event[i].thread &&
		    touches(j, byte) &&
		    (!write || event[j].kind & MAPLE_EV_WRITE) &&
		    !freed(i < j ? i : j, i < j ? j : i, byte))
			return true;
	return false;
}

static bool locks_allow(unsigned int i, unsigned int j, uint64_t byte)
{
	bool reads = reads_first && event[i].kind == MAPLE_EV_READ;

	for (unsigned int lock = 0; lock < LOCKS; lock++) {
		uint64_t at = MUTEX + 64 * lock;
		unsigned int a, b, c, d;

		if (!section(i, at, &a, &b) || !section(j, at, &c, &d))
			continue;
		if (event[a].flags & event[c].flags & MAPLE_EVF_SHARED)
			continue;
		if (again(i, byte, i, b, false) || again(j, byte, c, j, reads))
			return false;
	}
	return true;
}

static bool between(unsigned int i, unsigned int j, uint64_t byte)
{
	for (unsigned int k = 0; k < n; k++)
		if (touches(k, byte) && reach[i][k] && reach[k][j] &&
		    !freed(i, k, byte) && !freed(k, j, byte))
			return true;
	return false;
}

/* The kinds under which @j may depend on @i; false if they do not conflict. */
static bool kinds(const struct maple_event *i, const struct maple_event *j,
		  unsigned int *from, unsigned int *to)
{
	if (!maple_event_is_memory(i->kind)) {
		*from = MAPLE_EV_UNLOCK;
		*to = MAPLE_EV_LOCK;
		return i->kind == *from && j->kind == *to &&
		       !(i->flags & j->flags & MAPLE_EVF_SHARED);
	}
	*from = i->kind & MAPLE_EV_WRITE ? MAPLE_EV_WRITE : MAPLE_EV_READ;
	if (*from == MAPLE_EV_READ)
		*to = MAPLE_EV_WRITE;
	else
		*to = j->kind & MAPLE_EV_READ ? MAPLE_EV_READ : MAPLE_EV_WRITE;
	return j->kind & *to;
}

static void predict_byte(uint64_t byte)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < n; j++) {
			unsigned int from, to;

			if (event[i].thread == event[j].thread ||
			    !touches(i, byte) || !touches(j, byte) ||
			    freed(i < j ? i : j, i < j ? j : i, byte) ||
			    !kinds(&event[i], &event[j], &from, &to) ||
			    !locks_allow(i, j, byte) || reach[j][i])
				continue;
			if (!reach[i][j] || !between(i, j, byte))
				want.seen[1][from][to][event[i].site]
					 [event[j].site] = 1;
		}
}

/* Whether event @k is, for the order of accesses, a write of the byte. */
static bool writes(unsigned int k)
{
	if (maple_event_is_memory(event[k].kind))
		return event[k].kind & MAPLE_EV_WRITE;
	return !(event[k].flags & MAPLE_EVF_SHARED);
}

/*
 * Event @i is followed by @j with no conflicting access in between. Of two
 * reads by one thread after a write the first depends on it, and of two
 * before a write the last is what it depends on.
 */
static bool followed(unsigned int i, unsigned int j, uint64_t byte)
{
	for (unsigned int k = i + 1; k < j; k++) {
		if (!touches(k, byte))
			continue;
		if (writes(k) || (writes(i) && writes(j) &&
				  !(event[j].kind == MAPLE_EV_UPDATE)))
			return false;
		if (writes(i) && event[k].thread == event[j].thread)
			return false;
		if (!writes(i) && event[k].thread == event[i].thread)
			return false;
	}
	return true;
}

static void observe_byte(uint64_t byte)
{
	for (unsigned int j = 0; j < n; j++)
		for (unsigned int i = 0; i < j; i++) {
			unsigned int from, to;

			if (event[i].thread != event[j].thread &&
			    touches(i, byte) && touches(j, byte) &&
			    !freed(i, j, byte) &&
			    kinds(&event[i], &event[j], &from, &to) &&
			    followed(i, j, byte))
				want.seen[0][from][to][event[i].site]
					 [event[j].site] = 1;
		}
}

static void model(void)
{
	memset(&want, 0, sizeof(want));
	edges();
	for (unsigned int i = 0; i < BYTES; i++) {
		observe_byte(DATA + i);
		predict_byte(DATA + i);
	}
	for (unsigned int i = 0; i < LOCKS; i++) {
		observe_byte(MUTEX + 64 * i);
		predict_byte(MUTEX + 64 * i);
	}
}

/* ---- the comparison ---- */

static void note(bool predicted, const struct maple_iroot *iroot)
{
	uint8_t *at;

	if (iroot->idiom != MAPLE_IDIOM_1)
		return;
	at = &got.seen[predicted][iroot->e[0].kind][iroot->e[1].kind]
		      [iroot->e[0].site][iroot->e[1].site];

	assert_int_equal(*at, 0);
	*at = 1;
}

static void observed(void *ctx, const struct maple_iroot *iroot)
{
	note(false, iroot);
}

static void predicted(void *ctx, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts)
{
	note(true, iroot);
}

static uint64_t run(uint32_t collect)
{
	struct maple_predict_options options = { .collect = collect,
						 .reads_first = reads_first };
	struct maple_predict_sink sink = { observed, predicted, NULL };
	struct maple_predict_stats stats;
	struct maple_predict *p;

	memset(&got, 0, sizeof(got));
	assert_int_equal(maple_predict_create(&options, &sink, &p), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(maple_predict_event(p, &event[i]), 0);
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_stats(p, &stats);
	maple_predict_destroy(p);
	return stats.removed;
}

static void explain(uint64_t round)
{
	print_message("round %llu\n", (unsigned long long)round);
	for (unsigned int i = 0; i < n; i++)
		print_message("%u: T%u kind %u site %u addr %llx+%u flags %u\n",
			      i, event[i].thread, event[i].kind, event[i].site,
			      (unsigned long long)event[i].addr, event[i].size,
			      event[i].flags);
	for (unsigned int i = 0; i < sizeof(want); i++)
		if (((uint8_t *)&want)[i] != ((uint8_t *)&got)[i])
			print_message("%s %s: kinds %u %u, sites %u %u\n",
				      ((uint8_t *)&got)[i] ? "extra" : "missing",
				      i / (36 * SITES * SITES) ? "predicted"
							       : "observed",
				      i / (6 * SITES * SITES) % 6,
				      i / (SITES * SITES) % 6,
				      i / SITES % SITES, i % SITES);
}

static uint64_t count(void)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < sizeof(want); i++)
		all += ((uint8_t *)&want)[i];
	return all;
}

/* In every other round a section may have read before it writes. */
static void test_model(void **state)
{
	uint64_t removed = 0, answers = 0, more = 0;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		seed = round;
		generate();
		reads_first = false;
		model();
		more -= count();
		reads_first = round & 1;
		model();
		more += count();
		answers += count();
		run(0);
		if (memcmp(&want, &got, sizeof(want)))
			explain(round);
		assert_memory_equal(&want, &got, sizeof(want));
		removed += run(1);
		assert_memory_equal(&want, &got, sizeof(want));
	}
	/* The programs were not all trivial, and pruning did something. */
	assert_true(answers > 10 * ROUNDS);
	assert_true(more > ROUNDS / 300);
	assert_true(removed > ROUNDS / 10);
}

/* ---- pending accesses ---- */

static bool is_pending(unsigned int i)
{
	return maple_event_is_memory(event[i].kind) &&
	       (i + 1 == n || event[i + 1].thread != event[i].thread);
}

/* Moves each pending access to some place where it may have happened. */
static void displace(const struct maple_event *from, unsigned int count)
{
	unsigned int place[EVENTS];

	n = 0;
	for (unsigned int i = 0; i < count; i++) {
		unsigned int until = i + 1;

		place[i] = i;
		if (!(from[i].flags & MAPLE_EVF_PENDING))
			continue;
		while (until < count && from[until].thread != from[i].thread)
			until++;
		place[i] = i + rnd(until - i);
		if (until == count && !rnd(3))
			place[i] = EVENTS; /* it never came to it */
	}
	for (unsigned int at = 0; at < count; at++)
		for (unsigned int i = 0; i <= at; i++)
			if (place[i] == at)
				event[n++] = from[i];
}

/* What is observed must be so wherever the pending accesses took place. */
static void test_pending(void **state)
{
	struct maple_event recorded[EVENTS];
	uint64_t claims = 0, possible = 0;

	for (uint64_t round = 0; round < ROUNDS / 2; round++) {
		struct answers said;
		unsigned int count;

		seed = round + 1000000;
		generate();
		for (unsigned int i = 0; i < n; i++)
			if (is_pending(i))
				event[i].flags |= MAPLE_EVF_PENDING;
		run(0);
		said = got;
		count = n;
		memcpy(recorded, event, sizeof(recorded));
		for (unsigned int k = 0; k < 12; k++) {
			displace(recorded, count);
			memset(&want, 0, sizeof(want));
			for (unsigned int i = 0; i < BYTES; i++)
				observe_byte(DATA + i);
			for (unsigned int i = 0; i < LOCKS; i++)
				observe_byte(MUTEX + 64 * i);
			for (unsigned int i = 0; i < sizeof(want) / 2; i++) {
				claims += ((uint8_t *)&said)[i];
				possible += ((uint8_t *)&want)[i];
				if (((uint8_t *)&said)[i] >
				    ((uint8_t *)&want)[i]) {
					got = said;
					n = count;
					memcpy(event, recorded,
					       sizeof(recorded));
					explain(round);
					fail();
				}
			}
		}
	}
	/* It does not play safe by saying nothing. */
	assert_true(claims * 5 > possible);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
