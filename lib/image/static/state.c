// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where control comes together: what is known whichever way it came. Each
 * value can only become less, so to go through a function again has an end.
 */
#include <string.h>
#include "static.h"

static bool same(const struct maple_value *a, const struct maple_value *b)
{
	return a->kind == b->kind && a->loose == b->loose &&
	       a->lost == b->lost && a->type == b->type && a->at == b->at &&
	       a->from == b->from && !memcmp(&a->via, &b->via, sizeof(a->via));
}

/* maple_value_meet - what is true of both */
struct maple_value maple_value_meet(const struct maple_static *s,
				    const struct maple_value *a,
				    const struct maple_value *b)
{
	struct maple_value v = *a;
	const struct maple_name *x, *y;

	if (same(a, b))
		return v;
	if (a->kind != b->kind)
		return (struct maple_value){ 0 };
	v.loose |= b->loose;
	v.lost |= b->lost;
	if (a->from != b->from)
		v.from = 0;
	if (memcmp(&a->via, &b->via, sizeof(v.via)) != 0)
		memset(&v.via, 0, sizeof(v.via));
	switch (a->kind) {
	case MAPLE_VALUE_FRAME:
		v.lost |= a->at != b->at;
		v.at = v.lost ? 0 : a->at;
		return v;
	case MAPLE_VALUE_OBJECT:
		if (a->type == b->type) {
			/* Somewhere in it: that of one of the two. */
			v.loose |= a->at != b->at;
			v.at = a->at < b->at ? a->at : b->at;
			return v;
		}
		break;
	case MAPLE_VALUE_ADDRESS:
		if (a->at == b->at)
			return v;
		x = maple_names_object(s->names, a->at);
		y = maple_names_object(s->names, b->at);
		if (x && x == y) {
			v.loose = true;
			v.at = (int64_t)x->addr;
			return v;
		}
		break;
	}
	return (struct maple_value){ 0 };
}

/* maple_state_meet_locks - those that both have, with the earlier call */
void maple_state_meet_locks(struct maple_state *a, const struct maple_state *b)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < a->nheld; i++)
		for (unsigned int k = 0; k < b->nheld; k++) {
			if (a->held[i].lock != b->held[k].lock)
				continue;
			if (b->held[k].section < a->held[i].section)
				a->held[i].section = b->held[k].section;
			a->held[n++] = a->held[i];
			break;
		}
	a->nheld = n;
}

/* Of what both have saved in one place what is true of both. */
static bool meet_saved(const struct maple_static *s, struct maple_state *a,
		       const struct maple_state *b)
{
	unsigned int n = 0;
	bool other = false;

	for (unsigned int i = 0; i < a->nsaved; i++) {
		struct maple_value v = { 0 };

		for (unsigned int k = 0; k < b->nsaved; k++)
			if (b->saved[k].at == a->saved[i].at)
				v = maple_value_meet(s, &a->saved[i].value,
						     &b->saved[k].value);
		other |= !same(&v, &a->saved[i].value);
		a->saved[n].at = a->saved[i].at;
		a->saved[n].value = v;
		n += v.kind != MAPLE_VALUE_NONE;
	}
	a->nsaved = n;
	return other;
}

/* maple_state_meet - adds a way to come there; whether @to is another then */
bool maple_state_meet(const struct maple_static *s, struct maple_state *to,
		      const struct maple_state *from)
{
	struct maple_state was = *to;
	bool other;

	if (!from->live)
		return false;
	if (!to->live) {
		*to = *from;
		return true;
	}
	for (unsigned int i = 0; i < 16; i++)
		to->reg[i] = maple_value_meet(s, &was.reg[i], &from->reg[i]);
	maple_state_meet_locks(to, from);
	to->started |= from->started;
	other = meet_saved(s, to, from);
	other |= to->nheld != was.nheld || to->started != was.started;
	for (unsigned int i = 0; i < to->nheld; i++)
		other |= to->held[i].section != was.held[i].section;
	for (unsigned int i = 0; i < 16 && !other; i++)
		other = !same(&to->reg[i], &was.reg[i]);
	return other;
}
