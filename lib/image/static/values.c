// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a register has at an instruction: what the instructions before it left
 * there, and where they say nothing, what the debug information says.
 */
#include <string.h>
#include "base/array.h"
#include "flow.h"

/* ---- what the debug information adds ---- */

void maple_static_flow_begin(struct maple_static_flow *w)
{
	const struct maple_static_variable *v = w->s->types.variables.at;
	size_t n = w->s->types.variables.n;
	uint32_t range = w->code->range;

	for (unsigned int reg = 0; reg < 18; reg++)
		w->first[reg] = maple_array_lead(
			n, i,
			v[i].range < range ||
				(v[i].range == range && v[i].reg < reg));
}

/* Where from the CFA a variable is, that has a place in the frame. */
static bool slot_of(const struct maple_static_flow *w,
		    const struct maple_static_variable *v, int64_t *at)
{
	const struct maple_value *base = &w->now.reg[RSP];

	*at = v->off;
	if (v->where == MAPLE_WHERE_CFA)
		return true;
	if (v->where == MAPLE_WHERE_RBP)
		base = &w->now.reg[RBP];
	*at += base->at;
	return base->kind == MAPLE_VALUE_FRAME && !base->lost;
}

/* How much is said of memory by a pointer to this. */
static uint64_t weight(const struct maple_static_flow *w, uint32_t type)
{
	const struct maple_static_type *t =
		maple_static_type_at(&w->s->types, type);

	return t && t->kind == MAPLE_TYPE_OBJECT ? t->size + 1 : 0;
}

/*
 * The source's pointer that is in a register, or slot. Of several, as in
 * functions that were put there, the one that leads to the most.
 */
static const struct maple_static_variable *
find_variable(const struct maple_static_flow *w, unsigned int reg, int64_t slot,
	      uint32_t pc)
{
	const struct maple_static_variable *v = w->s->types.variables.at,
					   *found = NULL;
	int64_t at;

	for (size_t i = w->first[reg]; i < w->first[reg + 1] && v[i].lo <= pc;
	     i++) {
		if (!maple_static_spend(w->s, 1))
			return NULL;
		if (pc >= v[i].hi ||
		    (reg == 16 && (!slot_of(w, &v[i], &at) || at != slot)))
			continue;
		if (!found || weight(w, v[i].type) >= weight(w, found->type))
			found = &v[i];
	}
	return found;
}

struct maple_value maple_static_flow_value(const struct maple_static_flow *w,
					   unsigned int reg, uint32_t pc)
{
	const struct maple_static_variable *v;
	struct maple_value known = { 0 };

	if (reg >= 16)
		return known;
	if (w->now.reg[reg].kind != MAPLE_VALUE_NUMBER)
		known = w->now.reg[reg];
	/* A pointer to bytes was cast, if the source has a better one there. */
	if (known.kind != MAPLE_VALUE_NONE &&
	    (known.kind != MAPLE_VALUE_OBJECT || weight(w, known.type)))
		return known;
	v = find_variable(w, reg, 0, pc);
	if (!v || (known.kind != MAPLE_VALUE_NONE && !weight(w, v->type)))
		return known;
	return (struct maple_value){ .kind = MAPLE_VALUE_OBJECT,
				     .type = v->type,
				     .at = -(int64_t)v->off };
}

/* What was added to a number; gcc folds where an array begins into that. */
int64_t maple_static_flow_added(const struct maple_static_flow *w,
				unsigned int reg)
{
	return reg < 16 && w->now.reg[reg].kind == MAPLE_VALUE_NUMBER
		       ? w->now.reg[reg].at
		       : 0;
}

void maple_static_flow_count_on(struct maple_static_flow *w, unsigned int reg,
				int64_t by)
{
	int64_t at = maple_static_flow_added(w, reg) + by;

	w->now.reg[reg] = (struct maple_value){ 0 };
	if (at && at > INT32_MIN && at < INT32_MAX)
		w->now.reg[reg] =
			(struct maple_value){ .kind = MAPLE_VALUE_NUMBER,
					      .at = at };
}

/* What the function has stored at @at, from the CFA. */
static struct maple_static_saved *find_saved(struct maple_static_flow *w,
					     int64_t at)
{
	for (unsigned int i = 0; i < w->now.nsaved; i++)
		if (w->now.saved[i].at == at)
			return &w->now.saved[i];
	return NULL;
}

/* The oldest makes room. */
static void save(struct maple_static_flow *w, int64_t at, struct maple_value v)
{
	struct maple_static_saved *slot = find_saved(w, at);

	if (slot) {
		slot->value = v;
	} else if (v.kind != MAPLE_VALUE_NONE) {
		if (w->now.nsaved == MAPLE_STATIC_SAVED) {
			memmove(w->now.saved, w->now.saved + 1,
				(MAPLE_STATIC_SAVED - 1) *
					sizeof(*w->now.saved));
			w->now.nsaved--;
		}
		w->now.saved[w->now.nsaved++] =
			(struct maple_static_saved){ at, v };
	}
}

/* ---- instructions ---- */

void maple_static_flow_store(struct maple_static_flow *w,
			     const struct maple_effect *e)
{
	struct maple_value base;

	if (e->base == NO_REG || e->index != NO_REG)
		return;
	base = maple_static_flow_value(w, e->base, e->offset);
	if (base.kind == MAPLE_VALUE_FRAME && !base.lost)
		save(w, base.at + e->disp,
		     maple_static_flow_value(w, e->src, e->offset));
}

struct maple_value maple_static_flow_load(struct maple_static_flow *w,
					  const struct maple_effect *e)
{
	const struct maple_static_variable *v;
	const struct maple_static_saved *saved;
	struct maple_value base = maple_static_flow_value(w, e->base, e->offset);

	if (e->base == NO_REG)
		return maple_static_load(w->s, NULL, e->disp,
					 e->index != NO_REG);
	/* Which of the two is the pointer has no matter. */
	if (base.kind == MAPLE_VALUE_NONE && e->scale == 1)
		base = maple_static_flow_value(w, e->index, e->offset);
	if (base.kind != MAPLE_VALUE_FRAME)
		return base.kind == MAPLE_VALUE_NONE
			       ? base
			       : maple_static_load(w->s, &base, e->disp,
						   e->index != NO_REG);
	if (base.lost || e->index != NO_REG)
		return (struct maple_value){ 0 };
	saved = find_saved(w, base.at + e->disp);
	if (saved && saved->value.kind != MAPLE_VALUE_NONE)
		return saved->value;
	v = find_variable(w, 16, base.at + e->disp, e->offset);
	if (!v)
		return (struct maple_value){ 0 };
	return (struct maple_value){ .kind = MAPLE_VALUE_OBJECT,
				     .type = v->type };
}

/* At the end of an object in an array the next one begins. */
void maple_static_flow_move_on(struct maple_static_flow *w,
			       struct maple_value *v, int64_t by)
{
	const struct maple_static_type *t;

	v->at += by;
	if (v->kind != MAPLE_VALUE_OBJECT)
		return;
	t = maple_static_type_at(&w->s->types, v->type);
	if (t && t->size && t->size < INT32_MAX &&
	    (v->at == (int64_t)t->size || v->at == -(int64_t)t->size))
		v->at = 0;
}

struct maple_value maple_static_flow_address(struct maple_static_flow *w,
					     const struct maple_effect *e)
{
	struct maple_value v = maple_static_flow_value(w, e->base, e->offset);
	struct maple_value more = { 0 };

	if (e->scale == 1)
		more = maple_static_flow_value(w, e->index, e->offset);
	if (e->base == NO_REG) {
		v = (struct maple_value){ .kind = MAPLE_VALUE_ADDRESS,
					  .at = e->disp,
					  .from = e->offset };
	} else if (v.kind == MAPLE_VALUE_NONE) {
		if (more.kind == MAPLE_VALUE_NONE)
			return v;
		v = more;
		v.loose = true;
		maple_static_flow_move_on(w, &v, e->disp);
		return v;
	} else {
		maple_static_flow_move_on(w, &v, e->disp);
	}
	if (e->index != NO_REG) {
		v.loose = true;
		v.lost |= v.kind == MAPLE_VALUE_FRAME;
	}
	return v;
}

struct maple_value maple_static_flow_sum(struct maple_static_flow *w,
					 const struct maple_effect *e)
{
	struct maple_value a = maple_static_flow_value(w, e->dst, e->offset);
	struct maple_value b = maple_static_flow_value(w, e->src, e->offset);

	if (a.kind != MAPLE_VALUE_NONE && b.kind != MAPLE_VALUE_NONE)
		return (struct maple_value){ 0 };
	if (a.kind == MAPLE_VALUE_NONE)
		a = b;
	a.loose = true;
	a.lost |= a.kind == MAPLE_VALUE_FRAME;
	return a;
}

void maple_static_flow_set(struct maple_static_flow *w, unsigned int reg,
			   struct maple_value v)
{
	if (reg >= 16)
		return;
	if (reg == RSP && v.kind != MAPLE_VALUE_FRAME)
		v = (struct maple_value){ .kind = MAPLE_VALUE_FRAME,
					  .lost = true };
	w->now.reg[reg] = v;
	if (reg == RBP && v.kind == MAPLE_VALUE_FRAME)
		w->bp = v;
}

void maple_static_flow_shift(struct maple_static_flow *w, int64_t by)
{
	struct maple_value *sp = &w->now.reg[RSP];

	sp->at += sp->lost ? 0 : by;
}
