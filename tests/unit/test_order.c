// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Orders, on traces made by hand: the model of a run, the patterns that it
 * showed and those that are wanted, orders that show them, their schedules.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "order/model.h"
#include "order/order.h"

#define X     0x1000
#define Y     0x1010
#define L     0x2000
#define M     0x2040
#define G     0x2080
#define C     0x3000
#define LARGE 64

static struct maple_event event[LARGE];
static uint32_t n;
static struct maple_order_model *model;

/* Each event has a site of its own, 10 x its number, and is its first hit. */
static struct maple_event *put(uint16_t thread, uint8_t kind, uint64_t addr)
{
	assert_true(n < LARGE);
	event[n] = (struct maple_event){ .thread = thread,
					 .kind = kind,
					 .addr = addr,
					 .size = maple_event_is_memory(kind) ? 4
									     : 0,
					 .site = 10 * n,
					 .aux = 1 };
	return &event[n++];
}

/*
 * "0Rx 1Wy 0LL 0UL": thread, what, where. R W U(pdate): accesses of x or y; L, u:
 * lock and unlock of L, M or G; l, v: the read side; w, k, s: of a condition.
 */
static void put_text(const char *text)
{
	static const struct {
		char name;
		uint8_t kind, flags;
	} kinds[] = {
		{ 'R', MAPLE_EV_READ, 0 },
		{ 'W', MAPLE_EV_WRITE, 0 },
		{ 'U', MAPLE_EV_UPDATE, 0 },
		{ 'L', MAPLE_EV_LOCK, 0 },
		{ 'u', MAPLE_EV_UNLOCK, 0 },
		{ 'l', MAPLE_EV_LOCK, MAPLE_EVF_SHARED },
		{ 'v', MAPLE_EV_UNLOCK, MAPLE_EVF_SHARED },
		{ 's', MAPLE_EV_SIGNAL, 0 },
		{ 'w', MAPLE_EV_WAIT, 0 },
		{ 'k', MAPLE_EV_WAKE, 0 },
		{ 'p', MAPLE_EV_POST, 0 },
		{ 't', MAPLE_EV_TAKE, 0 },
		{ 'i', MAPLE_EV_BARRIER_IN, 0 },
		{ 'o', MAPLE_EV_BARRIER_OUT, 0 },
		{ 'S', MAPLE_EV_START, 0 },
		{ 'E', MAPLE_EV_EXIT, 0 },
		{ 'c', MAPLE_EV_CREATE, 0 },
		{ 'j', MAPLE_EV_JOIN, 0 },
	};
	static const char places[] = "xyLMGC";
	static const uint64_t addr[] = { X, Y, L, M, G, C };

	for (; *text; text += text[3] ? 4 : 3) {
		const char *place = strchr(places, text[2]);
		struct maple_event *e = NULL;

		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (kinds[i].name == text[1]) {
				e = put((uint16_t)(text[0] - '0'), kinds[i].kind,
					place ? addr[place - places] : 0);
				e->flags = kinds[i].flags;
			}
		assert_non_null(e);
		if (e->kind == MAPLE_EV_CREATE || e->kind == MAPLE_EV_JOIN)
			e->aux = (uint32_t)(text[2] - '0');
	}
}

static void build(void)
{
	maple_order_model_free(model);
	assert_int_equal(maple_order_model_build(event, n, false, &model), 0);
}

static void trace(const char *text)
{
	n = 0;
	put_text(text);
	build();
}

static int teardown(void **state)
{
	maple_order_model_free(model);
	model = NULL;
	return 0;
}

static const struct maple_order_event *at(uint32_t i)
{
	assert_true(i < model->n);
	return &model->event[i];
}

static void assert_needs(uint32_t i, uint32_t before)
{
	assert_int_equal(at(i)->nneed, 1);
	assert_int_equal(model->need[at(i)->need], before);
}

/* ---- The model. ---- */

static void test_reads(void **state)
{
	trace("0Rx 1Wx 0Rx 1Ux 0Ux 1Rx");
	assert_int_equal(at(0)->writer, MAPLE_ORDER_INITIAL);
	assert_int_equal(at(2)->writer, 1);
	assert_int_equal(at(3)->writer, 1);
	assert_int_equal(at(4)->writer, 3);
	assert_int_equal(at(5)->writer, 4);
	/* Of what one thread alone has, and nobody writes, nothing is kept. */
	trace("0Wx 1Ry 0Wx 0Ry");
	assert_int_equal(model->n, 0);
}

static void test_partial_overlap(void **state)
{
	n = 0;
	put(0, MAPLE_EV_WRITE, X);
	put(1, MAPLE_EV_WRITE, X + 2)->size = 2;
	put(0, MAPLE_EV_READ, X);
	put(0, MAPLE_EV_READ, X + 2)->size = 2;
	put(1, MAPLE_EV_READ, X)->size = 2;
	build();
	assert_int_equal(at(2)->writer, MAPLE_ORDER_UNSURE);
	assert_int_equal(at(3)->writer, 1);
	assert_int_equal(at(4)->writer, 0);
	assert_true(maple_order_overlap(model, 0, 3));
	assert_false(maple_order_overlap(model, 3, 4));
	assert_true(maple_order_meets(model, 2, 0, 3));
	assert_false(maple_order_meets(model, 2, 3, 4));
}

static void test_end_of_memory(void **state)
{
	trace("0Wx 1Rx");
	put(0, MAPLE_EV_FREE, X)->value = 16;
	put_text("0Rx 1Wx");
	build();
	assert_int_equal(model->n, 5);
	assert_int_equal(at(2)->kind, MAPLE_EV_WRITE);
	assert_true(maple_order_overlap(model, 1, 2));
	/* Other words: nothing of them is the same, but they come later. */
	assert_int_equal(at(3)->writer, MAPLE_ORDER_INITIAL);
	assert_false(maple_order_overlap(model, 2, 3));
	assert_needs(4, 2);
}

static void test_sections(void **state)
{
	trace("0LL 0LL 0uL 0LM 0uL 0uM 1lL 1vL 1LM");
	assert_int_equal(at(0)->mate, 4);
	assert_int_equal(at(1)->mate, 2);
	assert_int_equal(at(3)->mate, 5);
	assert_int_equal(at(8)->mate, MAPLE_ORDER_NONE);
	assert_true(at(6)->shared_lock);
	assert_int_equal(maple_order_section(model, 3, MAPLE_ORDER_NONE), 3);
	assert_int_equal(maple_order_section(model, 3, 3), 0);
	assert_int_equal(maple_order_section(model, 3, 0), MAPLE_ORDER_NONE);
	assert_int_equal(maple_order_section(model, 5, MAPLE_ORDER_NONE), 3);
	assert_true(maple_order_excludes(at(0), at(6)));
	assert_false(maple_order_excludes(at(6), at(6)));
}

static void test_needs(void **state)
{
	trace("0c1 1S_ 1E_ 0j1");
	assert_needs(1, 0);
	assert_needs(3, 2);
	trace("0wC 1sC 0kC 1sC 0wC 0kC");
	assert_needs(2, 1);
	assert_int_equal(at(2)->mate, 0);
	assert_int_equal(at(5)->nneed, 0); /* it was sent before */
	trace("0pC 0pC 1tC 1tC");
	assert_needs(2, 0);
	assert_needs(3, 1);
	trace("0iC 1iC 1oC 0oC 1iC 0iC 0oC");
	assert_needs(2, 0);
	assert_needs(3, 1);
	assert_needs(6, 4);
}

static void test_quiet(void **state)
{
	trace("0Wx 1Rx 0Wy 1Ry");
	put(0, MAPLE_EV_QUIET, 0)->site = event[0].site;
	build();
	assert_int_equal(at(1)->writer, MAPLE_ORDER_UNSURE);
	assert_int_equal(at(3)->writer, 2);
	put(0, MAPLE_EV_QUIET, 0)->site = event[2].site;
	put(0, MAPLE_EV_QUIET, 0)->site = event[1].site;
	build();
	assert_int_equal(at(3)->writer, MAPLE_ORDER_UNSURE);
}

/* ---- Patterns. ---- */

struct asked {
	uint32_t number;
	const uint32_t *event;
	bool met;
};

static bool meets(void *ctx, const struct maple_order_goal *goal)
{
	struct asked *a = ctx;

	a->met |= goal->pattern.number == a->number &&
		  !memcmp(goal->event, a->event,
			  maple_pattern_steps(a->number) * sizeof(*a->event));
	return true;
}

static bool is_shown(uint32_t number, const uint32_t *events)
{
	struct asked a = { number, events };

	maple_order_shown(model, meets, &a);
	return a.met;
}

static bool is_wanted(uint32_t number, const uint32_t *events)
{
	struct asked a = { number, events };

	maple_order_wanted(model, meets, &a);
	return a.met;
}

/* The steps of @number as a trace, with @between before its last. */
static void trace_of(uint32_t number, const char *between)
{
	unsigned int steps = maple_pattern_steps(number);

	n = 0;
	for (unsigned int i = 0; i < steps; i++) {
		struct maple_pattern_step s = maple_pattern_step(number, i);

		if (i + 1 == steps)
			put_text(between);
		put(s.other, s.kind, s.place ? Y : X);
	}
	/* All is shared, and written to, whatever the pattern is. */
	put_text("2Wx 2Wy");
	build();
}

static void test_shown(void **state)
{
	for (uint32_t p = 1; p <= 17; p++) {
		unsigned int steps = maple_pattern_steps(p);
		uint32_t events[] = { 0, 1, 2, 3 };

		trace_of(p, "");
		assert_true(is_shown(p, events));
		/* Another one's accesses come in between. */
		trace_of(p, "2Wx 2Wy");
		events[steps - 1] += 2;
		assert_false(is_shown(p, events));
	}
}

static void test_shown_by_bytes(void **state)
{
	trace("0Wx");
	put(1, MAPLE_EV_WRITE, X + 4);
	put_text("1Rx 0Ux 1Ux");
	build();
	assert_false(is_shown(3, (uint32_t[]){ 0, 1 }));
	assert_true(is_shown(2, (uint32_t[]){ 0, 2 }));
	/* What an update reads itself is not in between. */
	assert_true(is_shown(3, (uint32_t[]){ 3, 4 }));
	assert_false(is_wanted(3, (uint32_t[]){ 1, 0 }));
}

static void test_shown_past_a_read(void **state)
{
	trace("0Wx 1Rx 1Wx 0Rx 0Rx 1Wx");
	assert_false(is_shown(3, (uint32_t[]){ 0, 2 }));
	assert_false(is_shown(1, (uint32_t[]){ 3, 5 }));
	assert_true(is_shown(1, (uint32_t[]){ 4, 5 }));
	assert_false(is_shown(2, (uint32_t[]){ 2, 4 }));
}

static void test_late_wait(void **state)
{
	trace("0sC 1wC");
	assert_true(is_shown(19, (uint32_t[]){ 0, 1 }));
	trace("0sC 1sC 1wC");
	assert_false(is_shown(19, (uint32_t[]){ 0, 2 }));
}

static enum maple_order_answer solve(uint32_t number, const uint32_t *events,
				     struct maple_order_found *order)
{
	struct maple_order_goal goal = { .pattern.number = number };

	memcpy(goal.event, events,
	       maple_pattern_steps(number) * sizeof(*events));
	return maple_order_solve(model, &goal, order);
}

static void assert_refuted(uint32_t number, const uint32_t *events)
{
	struct maple_order_found order;

	assert_int_equal(solve(number, events, &order), MAPLE_ORDER_REFUTED);
}

static void assert_found(uint32_t number, const uint32_t *events,
			 const uint32_t *as, uint32_t many, unsigned int sure)
{
	struct maple_order_found order;

	assert_int_equal(solve(number, events, &order), MAPLE_ORDER_FOUND);
	assert_int_equal(order.n, many);
	assert_memory_equal(order.event, as, many * sizeof(*as));
	assert_int_equal(order.sure, sure);
	maple_order_deinit(&order);
}

/* From a run of one thread behind the other. */
static void test_wanted(void **state)
{
	for (uint32_t p = 1; p <= 17; p++) {
		unsigned int steps = maple_pattern_steps(p), at = 0;
		struct maple_order_found order;
		uint32_t events[4];

		n = 0;
		for (unsigned int other = 2; other-- > 0;)
			for (unsigned int i = 0; i < steps; i++) {
				struct maple_pattern_step s =
					maple_pattern_step(p, i);

				if (s.other != other)
					continue;
				events[i] = at++;
				put(s.other, s.kind, s.place ? Y : X);
			}
		put_text("2Wx 2Wy");
		build();
		assert_false(is_shown(p, events));
		assert_true(is_wanted(p, events));
		assert_int_equal(solve(p, events, &order), MAPLE_ORDER_FOUND);
		assert_true(order.sure >= 1);
		for (unsigned int i = 0; i < order.sure && p <= 3; i++)
			assert_int_equal(order.event[i], events[i]);
		maple_order_deinit(&order);
	}
}

struct patience {
	unsigned int told, most;
};

static bool tell_some(void *ctx, const struct maple_order_goal *goal)
{
	struct patience *p = ctx;

	return ++p->told < p->most;
}

/* Who wants no more is told no more. */
static void test_wanted_no_more(void **state)
{
	struct patience p = { 0, ~0u };
	unsigned int all;

	trace("0Wx 0Rx 1Wx 1Rx 1Wx 1Rx 1Wx 0Rx 0Wx 2Wx 2Wx 2Rx 2Wx 1Rx");
	for (uint32_t i = 0; i < n; i++)
		event[i].site = event[i].kind; /* in loops */
	build();
	assert_true(maple_order_wanted(model, tell_some, &p));
	all = p.told;
	assert_true(all > 20);
	for (unsigned int most = 1; most < all; most++) {
		p = (struct patience){ 0, most };
		assert_false(maple_order_wanted(model, tell_some, &p));
		assert_int_equal(p.told, most);
	}
}

/* The goals of two threads that read and write @size bytes, at X and at @y. */
static unsigned int goals_of(uint32_t size, uint64_t y)
{
	struct patience p = { 0, ~0u };

	trace("0Wx 0Wx 0Rx 1Wx 1Wx 1Rx 0Wx 1Rx");
	for (uint32_t i = 0; i < n; i++) {
		event[i].size = size;
		event[i].addr = i % 3 == 1 ? y : X;
	}
	build();
	assert_true(maple_order_wanted(model, tell_some, &p));
	return p.told;
}

/* Memory that is accessed as a whole is one place, however large it is. */
static void test_wanted_of_blocks(void **state)
{
	unsigned int few = goals_of(8, X + 4096);

	assert_true(few > 8);
	assert_int_equal(goals_of(2048, X + 4096), few);
	assert_int_equal(goals_of(2048, X + 2048), few);
	assert_int_equal(goals_of(8, X), goals_of(2048, X));
	assert_true(goals_of(8, X) != few);
	/* In part the same: each part is a place. */
	assert_true(goals_of(2048, X + 1024) > few);
}

/* Words are numbered as they are come to, here from above. */
static void test_overlap_of_blocks(void **state)
{
	n = 0;
	for (uint64_t i = 8; i-- > 0;)
		put(i % 2, MAPLE_EV_WRITE, X + 8 * i)->size = 8;
	for (uint16_t t = 0; t < 2; t++)
		put(t, MAPLE_EV_WRITE, X)->size = 64;
	put(0, MAPLE_EV_WRITE, X + 20)->size = 24;
	put(1, MAPLE_EV_WRITE, X + 44)->size = 20;
	put(1, MAPLE_EV_WRITE, X + 64)->size = 8;
	put(0, MAPLE_EV_WRITE, X + 64)->size = 8;
	build();
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t addr = event[i].addr;

		assert_true(maple_order_overlap(model, i, 8));
		assert_true(maple_order_overlap(model, 9, i));
		assert_int_equal(maple_order_overlap(model, i, 10),
				 addr + 8 > X + 20 && addr < X + 44);
		assert_int_equal(maple_order_meets(model, 8, i, 11),
				 addr + 8 > X + 44);
		assert_false(maple_order_overlap(model, i, 12));
	}
	assert_true(maple_order_meets(model, 8, 9, 10));
	assert_false(maple_order_overlap(model, 10, 11));
	assert_false(maple_order_overlap(model, 9, 12));
	assert_true(maple_order_overlap(model, 13, 12));
}

static void test_lost_update(void **state)
{
	/* a reads, b reads; what b then reads is as it was: only x's order. */
	trace("0Rx 0Wx 1Rx 1Wx");
	assert_true(is_wanted(7, (uint32_t[]){ 0, 3, 1 }));
	assert_refuted(7, (uint32_t[]){ 0, 3, 1 }); /* 2 has read 1 */
	assert_true(is_wanted(1, (uint32_t[]){ 2, 1 }));
	/* What is read anew is the last that is sure. */
	assert_found(1, (uint32_t[]){ 2, 1 }, (uint32_t[]){ 2 }, 1, 1);
}

static void test_program_order(void **state)
{
	trace("0c1 1S_ 1Wx 1E_ 0j1 0Wx");
	assert_refuted(3, (uint32_t[]){ 5, 2 });
	trace("0Wx 0c1 1S_ 1Wx");
	assert_refuted(3, (uint32_t[]){ 3, 0 });
}

static void test_kept_read(void **state)
{
	/* 1 reads y, which 0 wrote behind its x. */
	trace("0Wx 0Wy 1Ry 1Wx");
	assert_refuted(3, (uint32_t[]){ 3, 0 });
	/* A third write must not take the place of what was read. */
	trace("0Wx 1WG 1Rx 1Wy 2Wx 2WG 2Wy");
	assert_found(9, (uint32_t[]){ 5, 1, 3, 6 },
		     (uint32_t[]){ 4, 5, 0, 1, 2, 3, 6 }, 7, 4);
}

static void test_immediate(void **state)
{
	/* 1 goes on behind 2's y, so 2's x comes before both steps. */
	trace("0Wx 2Wx 2Wy 1Ry 1Wx");
	assert_found(3, (uint32_t[]){ 0, 4 }, (uint32_t[]){ 1, 2, 0, 3, 4 }, 5,
		     2);
}

static void test_locks(void **state)
{
	/* Neither can be inside the other's section. */
	trace("0LL 0Wx 0Wx 0uL 1LL 1Wx 1uL");
	assert_refuted(8, (uint32_t[]){ 1, 5, 2 });
	assert_found(3, (uint32_t[]){ 5, 1 }, (uint32_t[]){ 4, 5, 6, 0, 1 }, 5,
		     2);
	/* Two readers can. */
	trace("0lL 0Wx 0Wx 0vL 1lL 1Wx 1vL");
	assert_found(8, (uint32_t[]){ 1, 5, 2 }, (uint32_t[]){ 0, 1, 4, 5, 2 },
		     5, 3);
	/* Taken twice: it is free when it was given back twice. */
	trace("0LL 0LL 0uL 0c1 0Wx 0Wx 0uL 1S_ 1LL 1uL 1Wx");
	assert_refuted(8, (uint32_t[]){ 4, 10, 5 });
}

static void test_open_sections(void **state)
{
	/* 0 has L for ever: it comes last. */
	trace("1LL 1Wx 1uL 0LL 0Wx");
	assert_refuted(3, (uint32_t[]){ 4, 1 });
	/* An end that no step asks for: 2 has L, and creates 1 there. */
	trace("2LL 2c1 2uL 0LL 0Wx 0uL 1S_ 1Wx");
	assert_found(3, (uint32_t[]){ 7, 4 },
		     (uint32_t[]){ 0, 1, 2, 3, 6, 7, 4 }, 7, 2);
}

static void test_crossed_locks(void **state)
{
	trace("0LL 0LM 0uM 0uL 1LM 1LL 1uL 1uM");
	assert_true(is_wanted(18, (uint32_t[]){ 0, 4, 1, 5 }));
	assert_found(18, (uint32_t[]){ 0, 4, 1, 5 }, (uint32_t[]){ 0, 4 }, 2, 2);
	trace("0LG 0LL 0LM 0uM 0uL 0uG 1LG 1LM 1LL 1uL 1uM 1uG");
	assert_true(is_wanted(18, (uint32_t[]){ 1, 7, 2, 8 }));
	assert_refuted(18, (uint32_t[]){ 1, 7, 2, 8 });
}

static void test_lost_signal(void **state)
{
	trace("0wC 1Wx 1sC 0kC 0Rx");
	assert_true(is_wanted(19, (uint32_t[]){ 2, 0 }));
	assert_found(19, (uint32_t[]){ 2, 0 }, (uint32_t[]){ 1, 2 }, 2, 1);
	/* A wait that ended by a signal has to begin before it. */
	trace("0Wx 0wC 1sC 1Wx 0kC 0Wy 1Wy");
	assert_refuted(9, (uint32_t[]){ 3, 0, 5, 6 });
}

/* ---- Schedules. ---- */

static void test_schedule(void **state)
{
	struct maple_order_goal goal = { { 3 }, { 4, 1 } };
	struct maple_order_found order;
	struct maple_policy_switch list[8];

	trace("0LL 0Wx 0uL 1LL 1Wx 1uL");
	assert_int_equal(maple_order_solve(model, &goal, &order),
			 MAPLE_ORDER_FOUND);
	assert_int_equal(maple_order_schedule(model, &goal, &order, list, 8), 2);
	/* Main is the first to go on, so it gives way at once. */
	assert_int_equal(list[0].thread, 0);
	assert_int_equal(list[0].next, 1);
	assert_int_equal(list[0].what, MAPLE_POLICY_AFTER);
	assert_int_equal(list[0].site, MAPLE_SITE_NONE);
	assert_int_equal(list[0].hit, 0);
	assert_int_equal(list[1].thread, 1);
	assert_int_equal(list[1].next, 0);
	assert_int_equal(list[1].site, event[5].site);
	assert_int_equal(list[1].hit, 1);
	assert_int_equal(maple_order_schedule(model, &goal, &order, list, 1), 0);
	maple_order_deinit(&order);
}

static void test_between_points(void **state)
{
	struct maple_order_goal goal = { { 3 }, { 1, 2 } };
	uint32_t as[] = { 0, 2, 1 };
	struct maple_order_found order = { 3, as, 2, 0 };
	struct maple_policy_switch list[8];

	/* The unlock is no point: it is done with what was before it. */
	trace("0Wx 0uL 1Wx");
	event[1].aux = 0;
	build();
	assert_int_equal(at(1)->place, event[0].site);
	assert_int_equal(maple_order_schedule(model, &goal, &order, list, 8), 1);
	assert_int_equal(list[0].site, event[0].site);
}

static void assert_turns(const char *text, bool back, const uint32_t *wanted)
{
	uint32_t order[LARGE];

	trace(text);
	assert_true(maple_order_foresee_turns(model, back, order));
	assert_memory_equal(order, wanted, model->n * sizeof(*wanted));
}

/* Point by point, but for who has to wait for a lock or for its creation. */
static void test_turns(void **state)
{
	static const char free_[] = "1Rx 1Wx 2Rx 2Wx 3Rx 3Wx",
			  locked[] = "1LL 1Rx 1uL 2LL 2Wx 2uL",
			  born[] = "1Wx 1c2 1Wx 2S  2Rx 2Rx";

	assert_turns(free_, false, (uint32_t[]){ 0, 2, 4, 1, 3, 5 });
	assert_turns(free_, true, (uint32_t[]){ 4, 2, 0, 5, 3, 1 });
	assert_turns(locked, false, (uint32_t[]){ 0, 1, 2, 3, 4, 5 });
	assert_turns(locked, true, (uint32_t[]){ 3, 4, 5, 0, 1, 2 });
	assert_turns(born, true, (uint32_t[]){ 0, 1, 3, 4, 2, 5 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_reads, teardown),
		cmocka_unit_test_teardown(test_partial_overlap, teardown),
		cmocka_unit_test_teardown(test_end_of_memory, teardown),
		cmocka_unit_test_teardown(test_sections, teardown),
		cmocka_unit_test_teardown(test_needs, teardown),
		cmocka_unit_test_teardown(test_quiet, teardown),
		cmocka_unit_test_teardown(test_shown, teardown),
		cmocka_unit_test_teardown(test_shown_by_bytes, teardown),
		cmocka_unit_test_teardown(test_shown_past_a_read, teardown),
		cmocka_unit_test_teardown(test_late_wait, teardown),
		cmocka_unit_test_teardown(test_wanted, teardown),
		cmocka_unit_test_teardown(test_wanted_no_more, teardown),
		cmocka_unit_test_teardown(test_wanted_of_blocks, teardown),
		cmocka_unit_test_teardown(test_overlap_of_blocks, teardown),
		cmocka_unit_test_teardown(test_lost_update, teardown),
		cmocka_unit_test_teardown(test_program_order, teardown),
		cmocka_unit_test_teardown(test_kept_read, teardown),
		cmocka_unit_test_teardown(test_immediate, teardown),
		cmocka_unit_test_teardown(test_locks, teardown),
		cmocka_unit_test_teardown(test_open_sections, teardown),
		cmocka_unit_test_teardown(test_crossed_locks, teardown),
		cmocka_unit_test_teardown(test_lost_signal, teardown),
		cmocka_unit_test_teardown(test_schedule, teardown),
		cmocka_unit_test_teardown(test_between_points, teardown),
		cmocka_unit_test_teardown(test_turns, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
