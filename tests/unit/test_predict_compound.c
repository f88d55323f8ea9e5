// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compound idioms against their definition (algorithms.md 2), slowly and
 * plainly: all pairs of dependencies of a random trace are looked at.
 *
 * Observed must be the same, line by line. Predicted must be sound: every
 * dependency of it one that idiom 1's rules allow, between accesses of two
 * threads that stand in the order that the idiom asks, in a local pair that
 * the trace has, and not against happens-before.
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

#define EVENTS	80
#define THREADS 4
#define CELLS	3
#define LOCKS	2
#define ROUNDS	10000
#define MANY	65536
#define DATA	0x100000ull
#define MUTEX	0x200000ull
#define OBJECT	0x300000ull
#define WINDOW	24

static uint64_t seed;
static struct maple_event event[EVENTS];
static unsigned int n;
static bool reach[EVENTS][EVENTS];

struct list {
	struct maple_iroot iroot[MANY];
	unsigned int n;
};

static struct list want, got, predictions;

static unsigned int rnd(unsigned int k)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(seed >> 33) % k;
}

static void add(struct list *list, unsigned int idiom,
		const struct maple_iroot_event *e)
{
	struct maple_iroot iroot = { .idiom = idiom };

	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++)
		iroot.e[i] = e[i];
	for (unsigned int i = 0; i < list->n; i++)
		if (!memcmp(&list->iroot[i], &iroot, sizeof(iroot)))
			return;
	assert_true(list->n < MANY);
	list->iroot[list->n++] = iroot;
}

/* ---- random legal traces; sites say thread, code, never more ---- */

struct sim {
	bool started[THREADS], joined[THREADS], done[THREADS];
	int holder[LOCKS];
	uint32_t clock[THREADS];
	unsigned int sites; /* 0: each is executed once */
};

static struct maple_event *emit(struct sim *s, unsigned int t, uint8_t kind)
{
	struct maple_event *e = &event[n];

	memset(e, 0, sizeof(*e));
	e->thread = (uint16_t)t;
	e->kind = kind;
	e->site = s->sites ? 16 * t + rnd(s->sites) : n;
	s->clock[t] += 1 + (rnd(16) ? 0 : rnd(WINDOW));
	e->clock = s->clock[t];
	n++;
	return e;
}

static void step(struct sim *s, unsigned int t)
{
	unsigned int what = rnd(16), lock = rnd(LOCKS);
	unsigned int first = n;

	if (what < 5) {
		if (s->holder[lock] == (int)t) {
			emit(s, t, MAPLE_EV_UNLOCK)->addr = MUTEX + 64 * lock;
			s->holder[lock] = -1;
		} else if (s->holder[lock] < 0) {
			emit(s, t, MAPLE_EV_LOCK)->addr = MUTEX + 64 * lock;
			s->holder[lock] = (int)t;
		}
	} else if (what == 5 && !rnd(4) && n + 2 * THREADS < EVENTS) {
		for (unsigned int u = 0; u < THREADS; u++)
			if (s->started[u] && !s->done[u])
				emit(s, u, MAPLE_EV_BARRIER_IN)->addr = OBJECT;
		for (unsigned int i = first, end = n; i < end; i++)
			emit(s, event[i].thread, MAPLE_EV_BARRIER_OUT)->addr =
				OBJECT;
	} else {
		struct maple_event *e = emit(s, t,
					     what == 6	 ? MAPLE_EV_UPDATE
					     : what < 11 ? MAPLE_EV_WRITE
							 : MAPLE_EV_READ);

		e->addr = DATA + 8 * rnd(CELLS);
		e->size = 8;
	}
}

static void generate(bool once)
{
	struct sim s = { .started[0] = true, .sites = once ? 0 : 12 };
	unsigned int threads = 2 + rnd(THREADS - 1), length = 10 + rnd(50);

	memset(s.holder, -1, sizeof(s.holder));
	n = 0;
	while (n < length) {
		unsigned int t = rnd(threads);

		if (s.started[t] && !s.done[t]) {
			if (t && !rnd(30))
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

/* ---- what the words mean ---- */

static bool is_access(unsigned int i)
{
	return maple_event_is_access(event[i].kind);
}

static bool is_memory(unsigned int i)
{
	return maple_event_is_memory(event[i].kind);
}

static bool writes(unsigned int i)
{
	return event[i].kind != MAPLE_EV_READ;
}

static bool on(unsigned int i, uint64_t location)
{
	return is_access(i) && event[i].addr == location;
}

static bool same(unsigned int i, unsigned int j)
{
	return event[i].addr == event[j].addr;
}

/* As what @j depends on @i: the kinds; false if they do not conflict. */
static bool kinds(unsigned int i, unsigned int j, uint32_t *from, uint32_t *to)
{
	if (!is_memory(i)) {
		*from = MAPLE_EV_UNLOCK;
		*to = MAPLE_EV_LOCK;
		return event[i].kind == *from && event[j].kind == *to;
	}
	*from = event[i].kind & MAPLE_EV_WRITE ? MAPLE_EV_WRITE : MAPLE_EV_READ;
	*to = *from == MAPLE_EV_READ	      ? MAPLE_EV_WRITE
	      : event[j].kind & MAPLE_EV_READ ? MAPLE_EV_READ
					      : MAPLE_EV_WRITE;
	return event[j].kind & *to;
}

/* In this very order, with nothing in between that conflicts (see model). */
static bool depends(unsigned int i, unsigned int j, uint32_t *from, uint32_t *to)
{
	if (i >= j || event[i].thread == event[j].thread || !is_access(i) ||
	    !is_access(j) || !same(i, j) || !kinds(i, j, from, to))
		return false;
	for (unsigned int k = i + 1; k < j; k++) {
		if (!on(k, event[i].addr))
			continue;
		if (writes(k) || (writes(i) && writes(j) &&
				  event[j].kind != MAPLE_EV_UPDATE))
			return false;
		if (event[k].thread == event[writes(i) ? j : i].thread)
			return false;
	}
	return true;
}

/* A local pair: near, of one sort, and neither's location in between. */
static bool pair(unsigned int i, unsigned int j)
{
	if (i >= j || event[i].thread != event[j].thread || !is_access(i) ||
	    !is_access(j) || is_memory(i) != is_memory(j) ||
	    event[j].clock - event[i].clock >= WINDOW)
		return false;
	for (unsigned int k = i + 1; k < j; k++)
		if (event[k].thread == event[i].thread &&
		    (on(k, event[i].addr) || on(k, event[j].addr)))
			return false;
	return true;
}

/* ---- observed ---- */

struct dependency {
	unsigned int from, to;
	uint32_t from_kind, to_kind;
};

static void combine(const struct dependency *a, const struct dependency *b)
{
	unsigned int p = a->from, s = a->to, q = b->from, c = b->to;
	struct maple_iroot_event e[] = {
		{ event[p].site, a->from_kind },
		{ event[s].site, a->to_kind },
		{ event[q].site, b->from_kind },
		{ event[c].site, b->to_kind },
	};

	if (event[p].thread == event[c].thread &&
	    event[s].thread == event[q].thread && pair(p, c)) {
		if (s == q && same(p, c)) {
			struct maple_iroot_event three[] = { e[0], e[2], e[3] };

			add(&want, MAPLE_IDIOM_2, three);
		} else if (s < q) {
			add(&want, same(p, c) ? MAPLE_IDIOM_3 : MAPLE_IDIOM_4,
			    e);
		} else if (s > q && !same(p, c) && pair(q, s)) {
			add(&want, MAPLE_IDIOM_5, e);
		}
	}
	if (event[p].thread == event[q].thread &&
	    event[s].thread == event[c].thread && pair(p, q) && !same(p, q) &&
	    s < c)
		add(&want, MAPLE_IDIOM_6, e);
}

static void observe(void)
{
	static struct dependency all[EVENTS * EVENTS];
	unsigned int count = 0;

	want.n = 0;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i + 1; j < n; j++)
			if (depends(i, j, &all[count].from_kind,
				    &all[count].to_kind)) {
				struct maple_iroot_event e[] = {
					{ event[i].site, all[count].from_kind },
					{ event[j].site, all[count].to_kind },
				};

				all[count].from = i;
				all[count++].to = j;
				add(&want, MAPLE_IDIOM_1, e);
			}
	for (unsigned int i = 0; i < count; i++)
		for (unsigned int j = 0; j < count; j++)
			combine(&all[i], &all[j]);
}

/* ---- predicted ---- */

static void edges(void)
{
	memset(reach, 0, sizeof(reach));
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = i + 1; j < n; j++) {
			const struct maple_event *a = &event[i], *b = &event[j];

			reach[i][j] = a->thread == b->thread ||
				      (a->kind == MAPLE_EV_CREATE &&
				       b->thread == a->aux) ||
				      (b->kind == MAPLE_EV_JOIN &&
				       a->thread == b->aux) ||
				      (a->kind == MAPLE_EV_BARRIER_IN &&
				       b->kind == MAPLE_EV_BARRIER_OUT);
		}
	for (unsigned int k = 0; k < n; k++)
		for (unsigned int i = 0; i < n; i++)
			for (unsigned int j = 0; j < n; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
}

/* The critical section of @lock that @i is in: its ends. */
static bool section(unsigned int i, uint64_t lock, unsigned int *from,
		    unsigned int *to)
{
	unsigned int t = event[i].thread;
	bool held = false;

	if (event[i].addr == lock)
		return false;
	for (unsigned int k = 0; k < i; k++)
		if (event[k].thread == t && event[k].addr == lock) {
			held = event[k].kind == MAPLE_EV_LOCK;
			*from = k;
		}
	for (*to = i;
	     *to < n && !(event[*to].thread == t && event[*to].addr == lock);
	     ++*to)
		;
	return held;
}

static bool again(unsigned int i, unsigned int from, unsigned int to)
{
	for (unsigned int k = from; k < to; k++)
		if (k != i && event[k].thread == event[i].thread &&
		    on(k, event[i].addr))
			return true;
	return false;
}

/* Whether @j can depend on @i as far as idiom 1's rules go. */
static bool can(unsigned int i, unsigned int j, uint32_t from, uint32_t to)
{
	uint32_t f, t;

	if (event[i].thread == event[j].thread || !is_access(i) ||
	    !is_access(j) || !same(i, j) || !kinds(i, j, &f, &t) || f != from ||
	    t != to || reach[j][i])
		return false;
	for (unsigned int lock = 0; lock < LOCKS; lock++) {
		unsigned int a, b, c, d;

		if (section(i, MUTEX + 64 * lock, &a, &b) &&
		    section(j, MUTEX + 64 * lock, &c, &d) &&
		    (again(i, i, b) || again(j, c, j)))
			return false;
	}
	for (unsigned int k = 0; k < n; k++)
		if (on(k, event[i].addr) && reach[i][k] && reach[k][j])
			return false;
	return true;
}

/* A lock that P holds from @p to @c, and @s needs. */
static bool shut_out(unsigned int p, unsigned int c, unsigned int s)
{
	for (unsigned int lock = 0; lock < LOCKS; lock++) {
		unsigned int a, b, x, d;

		if (section(p, MUTEX + 64 * lock, &a, &b) &&
		    section(c, MUTEX + 64 * lock, &x, &d) && a == x &&
		    section(s, MUTEX + 64 * lock, &x, &d))
			return true;
	}
	return false;
}

static bool is(unsigned int i, const struct maple_iroot_event *e)
{
	return event[i].site == e->site &&
	       (event[i].kind == e->kind ||
		(event[i].kind == MAPLE_EV_UPDATE && e->kind <= 2));
}

/* As the kind of e's event, in a dependency with another of the pair. */
static bool edge(unsigned int i, unsigned int j, const struct maple_iroot *r,
		 unsigned int from, unsigned int to)
{
	uint32_t kind = r->e[to].kind;

	/* In the middle of idiom 2, an UPDATE goes by its write. */
	if (r->idiom == MAPLE_IDIOM_2 && to == 1 &&
	    event[j].kind == MAPLE_EV_UPDATE && kind == MAPLE_EV_WRITE &&
	    can(i, j, r->e[from].kind, MAPLE_EV_READ))
		return true;
	return can(i, j, r->e[from].kind, kind);
}

/* Whether idiom's rules allow the iRoot on these very accesses. */
static bool allowed(const struct maple_iroot *r, unsigned int p, unsigned int s,
		    unsigned int q, unsigned int c)
{
	switch (r->idiom) {
	case MAPLE_IDIOM_2:
		return s == q && same(p, c) && pair(p, c) &&
		       edge(p, s, r, 0, 1) && edge(q, c, r, 1, 2);
	case MAPLE_IDIOM_3:
		return s < q && same(p, c) && pair(p, c) &&
		       edge(p, s, r, 0, 1) && edge(q, c, r, 2, 3);
	case MAPLE_IDIOM_4:
		return s < q && !same(p, c) && pair(p, c) &&
		       edge(p, s, r, 0, 1) && edge(q, c, r, 2, 3) &&
		       !shut_out(p, c, s) && !shut_out(p, c, q);
	case MAPLE_IDIOM_5:
		return !same(p, c) && pair(p, c) && pair(q, s) &&
		       edge(p, s, r, 0, 1) && edge(q, c, r, 2, 3);
	case MAPLE_IDIOM_6:
		return s < c && !same(p, q) && pair(p, q) &&
		       edge(p, s, r, 0, 1) && edge(q, c, r, 2, 3);
	default:
		return !same(p, c) && pair(p, c) && pair(q, s) && same(p, s) &&
		       same(q, c) && event[p].thread != event[q].thread &&
		       !reach[s][p] && !reach[c][q];
	}
}

static bool sound(const struct maple_iroot *r)
{
	const struct maple_iroot_event *last = &r->e[3], *third = &r->e[2];

	if (r->idiom == MAPLE_IDIOM_2) {
		third = &r->e[1];
		last = &r->e[2];
	}
	for (unsigned int p = 0; p < n; p++) {
		if (!is(p, &r->e[0]))
			continue;
		for (unsigned int s = 0; s < n; s++) {
			if (!is(s, &r->e[1]) ||
			    event[s].thread == event[p].thread)
				continue;
			if (r->idiom == MAPLE_IDIOM_1) {
				if (edge(p, s, r, 0, 1))
					return true;
				continue;
			}
			for (unsigned int q = 0; q < n; q++) {
				if (!is(q, third))
					continue;
				for (unsigned int c = 0; c < n; c++)
					if (is(c, last) &&
					    event[q].thread != event[c].thread &&
					    allowed(r, p, s, q, c))
						return true;
			}
		}
	}
	return false;
}

/* ---- the comparison ---- */

static void observed(void *ctx, const struct maple_iroot *iroot)
{
	got.iroot[got.n++] = *iroot;
}

static void predicted(void *ctx, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts)
{
	assert_true(predictions.n < MANY);
	predictions.iroot[predictions.n++] = *iroot;
	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++)
		assert_true(facts->e[i].nclasses >= 1);
}

static void run(uint32_t collect)
{
	struct maple_predict_options options = {
		.collect = collect,
		.window = WINDOW,
	};
	struct maple_predict_sink sink = { observed, predicted, NULL };
	struct maple_predict *p;

	got.n = predictions.n = 0;
	assert_int_equal(maple_predict_create(&options, &sink, &p), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(maple_predict_event(p, &event[i]), 0);
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_destroy(p);
}

static int order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct maple_iroot));
}

static void print(const char *what, const struct maple_iroot *r)
{
	static const char letters[] = "?RW?LU";

	print_message("%s %u", what, r->idiom);
	for (unsigned int i = 0; i < maple_iroot_events(r->idiom); i++)
		print_message(" %c%u", letters[r->e[i].kind], r->e[i].site);
	print_message("\n");
}

static void explain(unsigned int round)
{
	print_message("round %u\n", round);
	for (unsigned int i = 0; i < n; i++)
		print_message("%u: T%u kind %u site %u addr %llx clock %u\n", i,
			      event[i].thread, event[i].kind, event[i].site,
			      (unsigned long long)event[i].addr, event[i].clock);
}

static void compare(unsigned int round)
{
	unsigned int i = 0, j = 0;
	bool agree = true;

	qsort(want.iroot, want.n, sizeof(want.iroot[0]), order);
	qsort(got.iroot, got.n, sizeof(got.iroot[0]), order);
	while (i < want.n || j < got.n) {
		int cmp = i == want.n  ? 1
			  : j == got.n ? -1
				       : order(&want.iroot[i], &got.iroot[j]);

		if (cmp < 0)
			print("missing: observed", &want.iroot[i++]);
		else if (cmp > 0)
			print("extra: observed", &got.iroot[j++]);
		else
			i++, j++;
		agree &= !cmp;
	}
	if (!agree)
		explain(round);
	assert_true(agree);
}

static void test_observed(void **state)
{
	unsigned int seen[MAPLE_IDIOMS] = { 0 };

	for (unsigned int round = 0; round < ROUNDS; round++) {
		seed = round;
		generate(round % 2);
		observe();
		run(0);
		compare(round);
		for (unsigned int i = 0; i < got.n; i++)
			seen[got.iroot[i].idiom]++;
	}
	for (unsigned int i = MAPLE_IDIOM_1; i <= MAPLE_IDIOM_6; i++)
		assert_true(seen[i] > ROUNDS / 20);
	assert_int_equal(seen[MAPLE_IDIOM_DEADLOCK], 0);
}

/*
 * Each site is executed once: what a prediction says of sites it says of
 * accesses.
 */
static void test_predicted(void **state)
{
	unsigned int seen[MAPLE_IDIOMS] = { 0 };

	for (unsigned int round = 0; round < ROUNDS; round++) {
		seed = round + 1000000;
		generate(true);
		edges();
		run(round % 3 ? 0 : 1);
		for (unsigned int i = 0; i < predictions.n; i++) {
			seen[predictions.iroot[i].idiom]++;
			if (sound(&predictions.iroot[i]))
				continue;
			print("unsound: predicted", &predictions.iroot[i]);
			explain(round);
			fail();
		}
	}
	for (unsigned int i = MAPLE_IDIOM_1; i < MAPLE_SET_1; i++)
		assert_true(seen[i] > ROUNDS / 100);
}

static bool is_predicted(const struct maple_iroot *iroot)
{
	for (unsigned int i = 0; i < predictions.n; i++)
		if (!order(iroot, &predictions.iroot[i]))
			return true;
	return false;
}

/* Whether all dependencies of @r are predicted by themselves. */
static bool parts_predicted(const struct maple_iroot *r)
{
	unsigned int second = r->idiom == MAPLE_IDIOM_2 ? 1 : 2;
	struct maple_iroot a = { .idiom = MAPLE_IDIOM_1,
				 .e = { r->e[0], r->e[1] } };
	struct maple_iroot b = { .idiom = MAPLE_IDIOM_1,
				 .e = { r->e[second], r->e[second + 1] } };

	return is_predicted(&a) && is_predicted(&b);
}

/* What happened can happen, if idiom 1 says so of its parts. */
static void test_observed_is_predicted(void **state)
{
	unsigned int checked = 0;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		seed = round + 2000000;
		generate(true);
		run(round % 3 ? 0 : 1);
		for (unsigned int i = 0; i < got.n; i++) {
			if (got.iroot[i].idiom == MAPLE_IDIOM_1 ||
			    !parts_predicted(&got.iroot[i]))
				continue;
			checked++;
			if (is_predicted(&got.iroot[i]))
				continue;
			print("not predicted", &got.iroot[i]);
			explain(round);
			fail();
		}
	}
	assert_true(checked > ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observed),
		cmocka_unit_test(test_predicted),
		cmocka_unit_test(test_observed_is_predicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
