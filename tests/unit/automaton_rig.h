/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A rig for the automaton's unit tests: threads are numbers, the i-th event of
 * the iRoot is at site 10 + i, and prio[] is what the caller was told. Each
 * call applies the level changes and checks their order.
 */
#ifndef AUTOMATON_RIG_H
#define AUTOMATON_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "hooked_site.h"
#include "plan/automaton_state.h"

enum {
	R = MAPLE_EV_READ,
	W = MAPLE_EV_WRITE,
	RW = MAPLE_EV_UPDATE,
	L = MAPLE_EV_LOCK,
	U = MAPLE_EV_UNLOCK,
};
enum { MIN = 1, LOW, NEXT, HIGH = MAPLE_PRIO_HIGH };
enum { E0 = 10, E1, E2, E3, GUARD = 20, GATE = 30 };
enum { X = 0x1000, Y = 0x2000, Z = 0x3000 };
enum { GO = MAPLE_GO, HELD = MAPLE_HELD, SLEEP = MAPLE_SLEEP };

static struct maple_plan plan;
static struct maple_auto *a;
static unsigned int prio[MAPLE_THREADS];

static inline void apply(unsigned int self)
{
	unsigned int t, p;
	int stage = 2; /* raises, others' lowering, self's lowering */

	while (maple_auto_change(a, self, &t, &p)) {
		int now = p > prio[t] ? 2 : t != self ? 1 : 0;

		assert_int_not_equal(p, prio[t]); /* only what differs */
		assert_true(now <= stage && stage > 0);
		stage = now;
		prio[t] = p;
	}
}

static inline void plan_for(uint32_t idiom, unsigned int k0, unsigned int k1,
			    unsigned int k2, unsigned int k3)
{
	struct maple_iroot iroot = {
		idiom, { { E0, k0 }, { E1, k1 }, { E2, k2 }, { E3, k3 } }
	};

	assert_int_equal(maple_plan_init(&plan, &iroot, 3, 0, 1), 0);
}

static inline void rig_done(void)
{
	free(a);
	a = NULL;
}

/* Begins to force `plan` on @n threads: 0 to n-1, older first. */
static inline void rig_start(unsigned int n)
{
	assert_true(maple_plan_valid(&plan));
	rig_done();
	a = malloc(maple_auto_size(MAPLE_THREADS));
	assert_non_null(a);
	/* init must not rely on zeroes */
	memset(a, 0xa5, maple_auto_size(MAPLE_THREADS));
	memset(prio, 0, sizeof(prio));
	maple_auto_init(a, &plan);
	for (unsigned int t = 0; t < n; t++) {
		maple_auto_start(a, t, 0);
		apply(t);
	}
}

static inline struct maple_access access_at(uint32_t site, uint32_t kind,
					    uint64_t addr)
{
	return (struct maple_access){ site, kind, addr, 8 };
}

static inline int before(unsigned int t, uint32_t site, uint32_t kind,
			 uint64_t addr)
{
	struct maple_access acc = access_at(site, kind, addr);
	int verdict = maple_auto_before(a, t, &acc);

	apply(t);
	return verdict;
}

static unsigned int waiting = 1; /* the thread whose wait resumed() tells */

static inline int resumed(unsigned int t, enum maple_wait_end wait)
{
	struct maple_waits waits = { 0 };
	int verdict;

	maple_waits_add(&waits, waiting, wait);
	verdict = maple_auto_resumed(a, t, &waits);

	apply(t);
	return verdict;
}

static inline void after(unsigned int t, uint32_t site, uint32_t kind,
			 uint64_t addr)
{
	struct maple_access acc = access_at(site, kind, addr);

	maple_auto_after(a, t, &acc, 1);
	apply(t);
}

static inline void fails(unsigned int t, uint32_t site, uint32_t kind,
			 uint64_t addr)
{
	struct maple_access acc = access_at(site, kind, addr);

	maple_auto_after(a, t, &acc, 0);
	apply(t);
}

static inline void watched(unsigned int t, uint32_t kind, uint64_t addr)
{
	struct maple_access acc = access_at(999, kind, addr);

	maple_auto_watch(a, t, &acc);
	apply(t);
}

/* The whole of an access that nothing holds. */
static inline void passes(unsigned int t, uint32_t site, uint32_t kind,
			  uint64_t addr)
{
	assert_int_equal(before(t, site, kind, addr), GO);
	assert_false(maple_auto_moved(a, t));
	after(t, site, kind, addr);
}

static inline struct maple_auto_result result(void)
{
	struct maple_auto_result r;

	maple_auto_result(a, &r);
	assert_int_equal(r.broken, 0);
	return r;
}

static inline unsigned int norm(unsigned int t)
{
	return a->thread[t].norm;
}

/* Thread 0 does e0 on X while thread 1 stands before e1: a guard is on. */
static inline void e0_done(unsigned int k0, unsigned int k1)
{
	assert_int_equal(before(1, E1, k1, X), HELD);
	assert_int_equal(before(0, E0, k0, X), GO);
	after(0, E0, k0, X);
}

#endif
