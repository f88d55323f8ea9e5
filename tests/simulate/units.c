// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether the order that was executed is one of two units on an atomic set
 * (algorithms.md 17): by two threads, each of the two in one call of a method.
 * Which call an access is in is known here; the product has to tell it from
 * sites that come again.
 */
#include "predict/sets/state.h"
#include "simulate.h"

static bool fits(const struct entry *e, const struct maple_iroot_event *event)
{
	return e->unit && e->site == event->site &&
	       (e->kind == event->kind || e->kind == MAPLE_EV_UPDATE);
}

/* The first @n events, in the order of @form, are @at; can @e be the next? */
static bool follows(const struct maple_set_form *form, const struct log *log,
		    const int *at, unsigned int n, const struct entry *e)
{
	unsigned int next = form->order[n];

	for (unsigned int i = 0; i < n; i++) {
		const struct entry *x = &log->e[at[i]];
		unsigned int was = form->order[i];
		bool mine = (form->q >> was & 1) == (form->q >> next & 1);
		bool there = (form->y >> was & 1) == (form->y >> next & 1);

		if ((x->thread == e->thread) != mine ||
		    (mine && x->unit != e->unit) ||
		    ranges_meet(x->addr, x->size, e->addr, e->size) != there)
			return false;
	}
	return true;
}

static bool search(const struct log *log, const struct maple_iroot *iroot,
		   const struct maple_set_form *form, int *at, unsigned int n)
{
	if (n == form->n)
		return true;
	for (at[n] = n ? at[n - 1] + 1 : 0; at[n] < log->n; at[n]++) {
		const struct entry *e = &log->e[at[n]];

		if (fits(e, &iroot->e[form->order[n]]) &&
		    follows(form, log, at, n, e) &&
		    search(log, iroot, form, at, n + 1))
			return true;
	}
	return false;
}

bool units_exposed(const struct log *log, const struct maple_iroot *iroot)
{
	int at[MAPLE_IROOT_EVENTS];

	return search(log, iroot, maple_set_form(iroot->idiom), at, 0);
}

static const struct self_test self_tests[] = {
	{ MAPLE_SET_1, "RWW", "p1Rx0 q1Wx1 p1Wx2", true },
	{ MAPLE_SET_1, "RWW", "p1Rx0 p1Wx9 q1Rx8 q1Wx1 p1Wx2", true },
	{ MAPLE_SET_1, "RWW", "p1Rx0 q1Wx1 p2Wx2", false },
	{ MAPLE_SET_1, "RWW", "p1Rx0 q1Wx1 p2Rx0 q1Wx1 p2Wx2", true },
	{ MAPLE_SET_1, "RWW", "p1Rx0 q1Wy1 p1Wx2", false },
	{ MAPLE_SET_1, "RWW", "q1Wx1 p1Rx0 p1Wx2", false },
	{ MAPLE_SET_1, "RWW", "p1Rx0 p1Wx1 p1Wx2", false },
	{ MAPLE_SET_2, "WRRW", "p1Wx0 q1Rx1 q1Ry2 p1Wy3", true },
	{ MAPLE_SET_2, "WRRW", "p1Wx0 q1Rx1 q2Ry2 p1Wy3", false },
	{ MAPLE_SET_2, "WRRW", "p1Wx0 q1Ry2 q1Rx1 p1Wy3", false },
	{ MAPLE_SET_3, "WRRW", "p1Wx0 q1Ry2 q1Rx1 p1Wy3", true },
	{ MAPLE_SET_3, "WRRW", "p1Wx0 q1Rx1 q1Ry2 p1Wy3", false },
	{ MAPLE_SET_3, "WRRW", "p1Wx0 q1Ry2 r1Rx1 p1Wy3", false },
	{ MAPLE_SET_4, "WRRW", "p1Wx0 q1Ry2 p1Wy3 q1Rx1", true },
	{ MAPLE_SET_4, "WRRW", "p1Wx0 q1Ry2 p1Wy3 q2Rx1", false },
	{ MAPLE_SET_4, "WRRW", "p1Wx0 q1Ry2 q1Rx1 p1Wy3", false },
};

int units_self_test(void)
{
	return self_test_with(units_exposed, self_tests,
			      sizeof(self_tests) / sizeof(*self_tests));
}

bool units_claimed(const struct log *log, const struct maple_iroot *iroot)
{
	static struct maple_event event[MAX_LOG];

	for (int i = 0; i < log->n; i++)
		event[i] = (struct maple_event){
			.thread = (uint16_t)log->e[i].thread,
			.kind = (uint8_t)log->e[i].kind,
			.site = log->e[i].site,
			.addr = log->e[i].addr,
			.size = log->e[i].size,
		};
	return maple_sets_happened(event, (uint32_t)log->n, iroot, NULL, NULL);
}
