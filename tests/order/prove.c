// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The same question, asked of Z3: for each event of a run whether it happens,
 * and when. Which events there have to be is left to Z3 as well.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <z3.h>
#include "order.h"

struct prover {
	Z3_context c;
	Z3_solver s;
	Z3_ast in[EVENTS], at[EVENTS];
	const struct paper *p;
};

struct prover *prover_create(void)
{
	struct prover *z = calloc(1, sizeof(*z));
	Z3_config config = Z3_mk_config();
	char name[16];

	assert(z);
	z->c = Z3_mk_context(config);
	Z3_del_config(config);
	z->s = Z3_mk_simple_solver(z->c);
	Z3_solver_inc_ref(z->c, z->s);
	for (uint32_t i = 0; i < EVENTS; i++) {
		snprintf(name, sizeof(name), "in%u", i);
		z->in[i] = Z3_mk_const(z->c, Z3_mk_string_symbol(z->c, name),
				       Z3_mk_bool_sort(z->c));
		snprintf(name, sizeof(name), "at%u", i);
		z->at[i] = Z3_mk_const(z->c, Z3_mk_string_symbol(z->c, name),
				       Z3_mk_int_sort(z->c));
	}
	return z;
}

void prover_destroy(struct prover *z)
{
	Z3_solver_dec_ref(z->c, z->s);
	Z3_del_context(z->c);
	free(z);
}

static Z3_ast before(const struct prover *z, uint32_t a, uint32_t b)
{
	return Z3_mk_lt(z->c, z->at[a], z->at[b]);
}

static Z3_ast and (const struct prover *z, Z3_ast a, Z3_ast b)
{
	return Z3_mk_and(z->c, 2, (Z3_ast[]){ a, b });
}

static Z3_ast or (const struct prover *z, Z3_ast a, Z3_ast b)
{
	return Z3_mk_or(z->c, 2, (Z3_ast[]){ a, b });
}

static Z3_ast not(const struct prover *z, Z3_ast a)
{
	return Z3_mk_not(z->c, a);
}

static void claim(const struct prover *z, Z3_ast a)
{
	Z3_solver_assert(z->c, z->s, a);
}

static void claim_if(const struct prover *z, Z3_ast when, Z3_ast a)
{
	claim(z, Z3_mk_implies(z->c, when, a));
}

/* @b happens only behind @a. */
static void claim_need(const struct prover *z, uint32_t a, uint32_t b)
{
	claim_if(z, z->in[b], and(z, z->in[a], before(z, a, b)));
}

/* Of two sections that exclude each other one ends before the other begins. */
static void claim_sections(const struct prover *z, uint32_t a, uint32_t b)
{
	uint32_t a_end = z->p->truth[a].end, b_end = z->p->truth[b].end;
	Z3_ast no = Z3_mk_false(z->c), first = no, then = no;

	if (a_end != NONE)
		first = and(z, z->in[a_end], before(z, a_end, b));
	if (b_end != NONE)
		then = and(z, z->in[b_end], before(z, b_end, a));
	claim_if(z, and(z, z->in[a], z->in[b]), or (z, first, then));
}

static void claim_event(const struct prover *z, uint32_t e)
{
	const struct paper *p = z->p;
	const struct maple_event *event = &p->event[e];
	const struct truth *truth = &p->truth[e];

	for (uint32_t i = e; i-- > 0;)
		if (p->event[i].thread == event->thread &&
		    p->truth[i].in_model != NONE) {
			claim_need(z, i, e);
			break;
		}
	if (truth->need != NONE)
		claim_need(z, truth->need, e);
	if (event->kind == MAPLE_EV_WAKE && truth->need != NONE)
		claim_if(z, z->in[e], before(z, truth->wait, truth->need));
	for (uint32_t i = 0; i < e && event->kind == MAPLE_EV_LOCK; i++) {
		const struct maple_event *other = &p->event[i];

		if (other->kind == MAPLE_EV_LOCK && other->addr == event->addr &&
		    other->thread != event->thread &&
		    !(other->flags & event->flags & MAPLE_EVF_SHARED))
			claim_sections(z, i, e);
	}
}

void prover_begin(struct prover *z, const struct paper *p)
{
	z->p = p;
	Z3_solver_push(z->c, z->s);
	for (uint32_t e = 0; e < p->n; e++)
		if (p->truth[e].in_model != NONE)
			claim_event(z, e);
}

void prover_end(struct prover *z)
{
	Z3_solver_pop(z->c, z->s, 1);
}

/* @e reads of the byte at @at what @writer wrote. */
static void claim_read(const struct prover *z, uint32_t e, uint64_t at,
		       uint32_t writer)
{
	const struct paper *p = z->p;

	if (writer != NONE)
		claim_need(z, writer, e);
	for (uint32_t w = 0; w < p->n; w++) {
		Z3_ast fine = before(z, e, w);

		if (w == e || w == writer || !writes(&p->event[w]) ||
		    !touches(&p->event[w], at))
			continue;
		if (writer != NONE)
			fine = or (z, fine, before(z, w, writer));
		claim_if(z, and(z, z->in[e], z->in[w]), fine);
	}
}

static void claim_reads(const struct prover *z, uint32_t changed)
{
	const struct paper *p = z->p;

	for (uint32_t e = 0; e < p->n; e++) {
		const struct maple_event *event = &p->event[e];

		if (!reads(event) || e == changed ||
		    p->truth[e].in_model == NONE)
			continue;
		for (uint32_t k = 0; k < event->size; k++)
			claim_read(z, e, event->addr + k, p->truth[e].writer[k]);
	}
	if (changed == NONE)
		return;
	/* Nobody knows what its thread does behind it. */
	for (uint32_t e = changed + 1; e < p->n; e++)
		if (p->event[e].thread == p->event[changed].thread)
			claim(z, not(z, z->in[e]));
}

static void claim_goal(const struct prover *z,
		       const struct maple_order_goal *goal, unsigned int sure)
{
	const struct paper *p = z->p;
	struct link link[MAPLE_PATTERN_STEPS];
	unsigned int n = paper_links(goal, sure, link);

	for (unsigned int i = 0; i < maple_pattern_steps(goal->pattern.number);
	     i++) {
		uint32_t e = p->of_model[goal->event[i]];

		claim(z, i < sure ? z->in[e] : not(z, z->in[e]));
		if (i && i < sure)
			claim(z, before(z, p->of_model[goal->event[i - 1]], e));
	}
	for (unsigned int i = 0; i < n; i++) {
		uint32_t from = p->of_model[goal->event[link[i].from]];
		uint32_t to = p->of_model[goal->event[link[i].to]];

		for (uint32_t w = 0; w < p->n; w++)
			if (paper_breaks(p, goal, &link[i], w))
				claim_if(z, z->in[w], or (z, before(z, w, from),
							  before(z, to, w)));
	}
}

int prover_ask(struct prover *z, const struct maple_order_goal *goal,
	       unsigned int sure, uint32_t changed)
{
	int answer;

	Z3_solver_push(z->c, z->s);
	claim_reads(z, changed);
	claim_goal(z, goal, sure);
	answer = Z3_solver_check(z->c, z->s);
	Z3_solver_pop(z->c, z->s, 1);
	return answer == Z3_L_TRUE ? 1 : answer == Z3_L_FALSE ? 0 : -1;
}
