// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plans: from an iRoot to the steps that the automaton forces, by one table.
 * The preferred order of the steps is the executed order of algorithms.md 2;
 * what really must hold is dep (immediate dependencies), pair (local pairs)
 * and pre (what has to be done before). Freestanding.
 */
#include "plan.h"

enum { P, Q };
enum { X, Y };
#define NONE (-1)

struct form_step {
	uint8_t event, role, var;
	int8_t dep, pair;
};

struct form {
	unsigned int nsteps;
	struct form_step step[MAPLE_IROOT_EVENTS];
};

/*
 * event of the iRoot, role, variable, dep, pair; dep and pair are steps.
 * Idiom 5 neither orders e0 and e2 nor e1 and e3; even tries take them the
 * other way round.
 */
static const struct form forms[MAPLE_IDIOMS] = {
	[MAPLE_IDIOM_1] = { 2,
			    { { 0, P, X, NONE, NONE }, { 1, Q, X, 0, NONE } } },
	[MAPLE_IDIOM_2] = { 3,
			    { { 0, P, X, NONE, NONE },
			      { 1, Q, X, 0, NONE },
			      { 2, P, X, 1, 0 } } },
	[MAPLE_IDIOM_3] = { 4,
			    { { 0, P, X, NONE, NONE },
			      { 1, Q, X, 0, NONE },
			      { 2, Q, X, NONE, NONE },
			      { 3, P, X, 2, 0 } } },
	[MAPLE_IDIOM_4] = { 4,
			    { { 0, P, X, NONE, NONE },
			      { 1, Q, X, 0, NONE },
			      { 2, Q, Y, NONE, NONE },
			      { 3, P, Y, 2, 0 } } },
	[MAPLE_IDIOM_5] = { 4,
			    { { 0, P, X, NONE, NONE },
			      { 2, Q, Y, NONE, NONE },
			      { 1, Q, X, 0, 1 },
			      { 3, P, Y, 1, 0 } } },
	[MAPLE_IDIOM_6] = { 4,
			    { { 0, P, X, NONE, NONE },
			      { 1, Q, X, 0, NONE },
			      { 2, P, Y, NONE, 0 },
			      { 3, Q, Y, 2, NONE } } },
	[MAPLE_IDIOM_DEADLOCK] = { 4,
				   { { 0, P, X, NONE, NONE },
				     { 2, Q, Y, NONE, NONE },
				     { 1, Q, X, 0, 1 },
				     { 3, P, Y, 1, 0 } } },
	/* Order alone: what else the threads do in between is theirs. */
	[MAPLE_SET_1] = { 3,
			  { { 0, P, X, NONE, NONE },
			    { 1, Q, X, NONE, NONE },
			    { 2, P, X, NONE, NONE } } },
	[MAPLE_SET_2] = { 4,
			  { { 0, P, X, NONE, NONE },
			    { 1, Q, X, NONE, NONE },
			    { 2, Q, Y, NONE, NONE },
			    { 3, P, Y, NONE, NONE } } },
	[MAPLE_SET_3] = { 4,
			  { { 0, P, X, NONE, NONE },
			    { 2, Q, Y, NONE, NONE },
			    { 1, Q, X, NONE, NONE },
			    { 3, P, Y, NONE, NONE } } },
	[MAPLE_SET_4] = { 4,
			  { { 0, P, X, NONE, NONE },
			    { 2, Q, Y, NONE, NONE },
			    { 3, P, Y, NONE, NONE },
			    { 1, Q, X, NONE, NONE } } },
};

static const struct form form_rotated = { 4,
					  { { 2, Q, Y, NONE, NONE },
					    { 0, P, X, NONE, NONE },
					    { 3, P, Y, 0, 1 },
					    { 1, Q, X, 1, 0 } } };

/*
 * Tries 1 to 5 (rule 7); the paper's two are the third and the fourth. Where
 * there is no gate the last is the first once more: it is for the thread that
 * has to pass its gate for the other to come to its step at all.
 */
static const uint32_t try_flags[MAPLE_PLAN_WAYS] = {
	MAPLE_PLAN_HINTED | MAPLE_PLAN_Q_FIRST | MAPLE_PLAN_GATED,
	MAPLE_PLAN_HINTED,
	0,
	MAPLE_PLAN_YOUNGER | MAPLE_PLAN_GATED,
	MAPLE_PLAN_HINTED | MAPLE_PLAN_Q_FIRST,
};

/* Conditions have events in idiom 1 alone; sets are of memory. */
static int kind_is_event(unsigned int kind, uint32_t idiom)
{
	if (idiom >= MAPLE_SET_1)
		return kind == MAPLE_EV_READ || kind == MAPLE_EV_WRITE;
	if (maple_event_is_condition(kind))
		return idiom == MAPLE_IDIOM_1;
	return kind != MAPLE_EV_UPDATE && maple_event_is_access(kind);
}

/* A step must come after its dependency and after its role's previous one. */
static uint16_t form_pre(const struct form *form, unsigned int i, uint32_t idiom)
{
	const struct form_step *step = form->step;
	uint16_t pre = 0;

	if (idiom == MAPLE_IDIOM_DEADLOCK && i >= 2)
		return 3;
	if (idiom >= MAPLE_SET_1)
		return (uint16_t)((1u << i) - 1);
	if (step[i].dep != NONE)
		pre |= 1u << step[i].dep;
	for (unsigned int j = i; j-- > 0;) {
		if (step[j].role == step[i].role) {
			pre |= 1u << j;
			break;
		}
	}
	return pre;
}

static const struct form *form_of(uint32_t idiom, uint32_t flags)
{
	if (idiom == MAPLE_IDIOM_5 && (flags & MAPLE_PLAN_ROTATED))
		return &form_rotated;
	return &forms[idiom];
}

static void plan_clear(struct maple_plan *plan)
{
	unsigned char *byte = (unsigned char *)plan;

	for (unsigned long i = 0; i < sizeof(*plan); i++) {
		byte[i] = 0;
		/* Or else the compiler calls memset. */
		__asm__ volatile("" : : : "memory");
	}
}

uint32_t maple_plan_way(unsigned int attempt)
{
	return try_flags[(attempt - 1) % MAPLE_PLAN_WAYS];
}

int maple_plan_init(struct maple_plan *plan, const struct maple_iroot *iroot,
		    unsigned int attempt, int paper, uint64_t seed)
{
	unsigned int nevents = maple_iroot_events(iroot->idiom);
	unsigned int turn = attempt ? (attempt - 1) % MAPLE_PLAN_WAYS : 0;
	const struct form *form;

	if (!nevents)
		return -1;
	for (unsigned int i = 0; i < nevents; i++) {
		if (!kind_is_event(iroot->e[i].kind, iroot->idiom))
			return -1;
	}
	if (paper)
		turn = 2 + (attempt ? (attempt - 1) & 1 : 0);

	plan_clear(plan);
	plan->idiom = iroot->idiom;
	plan->attempt = attempt;
	plan->slice_ms = MAPLE_PLAN_SLICE_MS;
	plan->seed = seed;
	plan->flags = try_flags[turn];
	if (!paper)
		plan->flags |= MAPLE_PLAN_TURNING;
	if (iroot->idiom == MAPLE_IDIOM_5 && (turn & 1))
		plan->flags |= MAPLE_PLAN_ROTATED;

	form = form_of(plan->idiom, plan->flags);
	plan->nsteps = form->nsteps;
	for (unsigned int i = 0; i < form->nsteps; i++) {
		struct maple_plan_step *step = &plan->step[i];
		const struct form_step *from = &form->step[i];

		step->event = from->event;
		step->site = iroot->e[from->event].site;
		step->kind = iroot->e[from->event].kind;
		step->role = from->role;
		step->var = from->var;
		step->dep = from->dep;
		step->pair = from->pair;
		step->pre = form_pre(form, i, plan->idiom);
	}
	return 0;
}

static unsigned int step_of_event(const struct maple_plan *plan,
				  unsigned int event)
{
	unsigned int i = 0;

	while (i + 1 < plan->nsteps && plan->step[i].event != event)
		i++;
	return i;
}

/*
 * The roles stay, so that the hints still mean the same threads. Locks are
 * only ordered, without immediacy: whoever locks also unlocks in between. So
 * are a wait and the signal that ends it.
 */
void maple_plan_flip(struct maple_plan *plan)
{
	struct maple_plan_step first = plan->step[step_of_event(plan, 1)];
	struct maple_plan_step second = plan->step[step_of_event(plan, 0)];

	first.dep = NONE;
	first.pair = NONE;
	first.pre = 0;
	second.dep = maple_event_is_memory(second.kind) ? 0 : NONE;
	second.pair = NONE;
	second.pre = 1;
	plan->step[0] = first;
	plan->step[1] = second;
	plan->nsteps = 2;
	plan->flags |= MAPLE_PLAN_FLIPPED;
	plan->flags &= ~MAPLE_PLAN_TURNING;
}

unsigned int maple_plan_roles(const struct maple_plan *plan, const char *name)
{
	unsigned int roles = 0, i;

	for (unsigned int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		const char *hint = plan->hint[r];

		for (i = 0; hint[i] && hint[i] == name[i]; i++)
			;
		if (i && hint[i] == name[i])
			roles |= 1u << r;
	}
	return roles;
}

int maple_plan_begins(const struct maple_plan *plan, uint32_t site)
{
	int seen[MAPLE_PLAN_ROLES] = { 0 };

	for (unsigned int i = 0; i < plan->nsteps; i++) {
		const struct maple_plan_step *step = &plan->step[i];

		if (seen[step->role])
			continue;
		seen[step->role] = 1;
		if (step->site == site)
			return 1;
		if (!(plan->flags & MAPLE_PLAN_GATED))
			continue;
		for (unsigned int g = 0; g < step->ngates; g++) {
			if (step->gate[g] == site)
				return 1;
		}
	}
	return 0;
}

/* One role reads there, and its local pair ends in writing there. */
int maple_plan_splits(const struct maple_plan *plan, uint32_t site)
{
	for (unsigned int i = 0; i < plan->nsteps; i++) {
		const struct maple_plan_step *last = &plan->step[i];
		const struct maple_plan_step *first;

		if (last->pair == NONE || last->site != site)
			continue;
		first = &plan->step[(unsigned int)last->pair];
		if (first->site == site && first->kind == MAPLE_EV_READ &&
		    last->kind == MAPLE_EV_WRITE && first->var == last->var)
			return !(site & MAPLE_SITE_CALL);
	}
	return 0;
}

static int step_equal(const struct maple_plan_step *a,
		      const struct maple_plan_step *b)
{
	return a->event == b->event && a->role == b->role && a->var == b->var &&
	       a->dep == b->dep && a->pair == b->pair && a->pre == b->pre;
}

/* Whether @plan has the steps that its idiom and its kinds give. */
static int has_form(const struct maple_plan *plan)
{
	const struct form *form = form_of(plan->idiom, plan->flags);
	int flipped = !!(plan->flags & MAPLE_PLAN_FLIPPED);

	if ((plan->flags & MAPLE_PLAN_ROTATED) && plan->idiom != MAPLE_IDIOM_5)
		return 0;
	if (plan->nsteps != (flipped ? 2 : form->nsteps))
		return 0;
	for (unsigned int i = 0; i < plan->nsteps; i++) {
		const struct maple_plan_step *step = &plan->step[i];
		struct maple_plan_step want = {
			.event = form->step[i].event,
			.role = form->step[i].role,
			.var = form->step[i].var,
			.dep = form->step[i].dep,
			.pair = form->step[i].pair,
			.pre = form_pre(form, i, plan->idiom),
		};

		if (flipped) {
			want.event = !i;
			want.role = i ? P : Q;
			want.var = X;
			want.dep = i && maple_event_is_memory(step->kind)
					   ? 0
					   : NONE;
			want.pair = NONE;
			want.pre = i;
		}
		if (!step_equal(step, &want) ||
		    !kind_is_event(step->kind, plan->idiom))
			return 0;
	}
	return 1;
}

int maple_plan_iroot(const struct maple_plan *plan, struct maple_iroot *iroot)
{
	uint32_t i;

	if (!maple_iroot_events(plan->idiom) || !has_form(plan))
		return -1;
	*iroot = (struct maple_iroot){ .idiom = plan->idiom };
	for (i = 0; i < plan->nsteps; i++) {
		iroot->e[plan->step[i].event].site = plan->step[i].site;
		iroot->e[plan->step[i].event].kind = plan->step[i].kind;
	}
	return 0;
}
