// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an address is of: a variable and how far in it, or a field of a type.
 * An instance of a type is never told from another one.
 */
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "static.h"

#define LOCKS 4096 /* of an image */

/* The variable of the source's that has @addr, or NULL. */
static const struct maple_static_global *global_at(const struct maple_static *s,
						   uint64_t addr)
{
	const struct maple_static_global *g = s->types.globals.at;
	size_t n = maple_array_lead(s->types.globals.n, i, g[i].lo <= addr);

	return n && addr - g[n - 1].lo < g[n - 1].size ? &g[n - 1] : NULL;
}

static uint16_t small(uint64_t size)
{
	return size < UINT16_MAX ? size : UINT16_MAX;
}

/* Of a type: what is so far behind the beginning of one, or of several. */
static bool in_type(struct maple_static *s, uint32_t type, int64_t at,
		    uint64_t size, bool loose, struct maple_static_part *part)
{
	const struct maple_static_type *t =
		maple_static_type_at(&s->types, type);

	if (!t || at < 0 || at > INT32_MAX)
		return false;
	/* Behind its end another one begins. */
	if (t->kind == MAPLE_TYPE_OBJECT && t->size && at >= (int64_t)t->size)
		at %= (int64_t)t->size;
	return maple_static_part(s, type, at, size, loose, false, part) &&
	       part->at <= INT32_MAX;
}

static void take_part(const struct maple_static *s, struct maple_datum *datum,
		      const struct maple_static_part *part)
{
	const struct maple_static_type *t =
		maple_static_type_at(&s->types, part->type);

	datum->type = t->name;
	datum->at = (int32_t)part->at;
	if (t->lies && !t->elsewhere)
		datum->flags |= MAPLE_DATUM_ALONE;
}

/* "cache.size", or "cache+12" */
static uint32_t field_name(struct maple_static *s,
			   const struct maple_datum *datum, uint32_t member)
{
	const char *text = s->text.text.at;
	char name[256];

	if (member)
		snprintf(name, sizeof(name), "%s.%s", text + datum->type,
			 text + member);
	else
		snprintf(name, sizeof(name), "%s+%d", text + datum->type,
			 datum->at);
	return maple_static_name(&s->text, name);
}

static struct maple_datum of_global(struct maple_static *s, uint64_t addr,
				    bool loose, uint32_t size)
{
	const struct maple_static_global *g = global_at(s, addr);
	const struct maple_name *name = maple_names_object(s->names, addr);
	struct maple_datum datum = { .kind = MAPLE_DATUM_GLOBAL,
				     .size = small(size),
				     .off = (int32_t)addr };
	struct maple_static_part part;
	uint64_t lo = 0, all = 0;

	if (name) {
		lo = name->addr;
		all = name->size;
		datum.name = maple_static_name(&s->text, name->name);
		datum.off = (int32_t)(addr - lo);
	}
	if (g && maple_static_part(s, g->type, addr - g->lo, size, loose, false,
				   &part)) {
		take_part(s, &datum, &part);
		datum.flags &= ~MAPLE_DATUM_ALONE;
		/* It begins no later than what is accessed does. */
		if (loose && part.any)
			datum.size = small(part.size);
	}
	if (loose && name) {
		datum.flags |= MAPLE_DATUM_ANY;
		datum.off = 0;
		datum.size = small(all);
	}
	return datum;
}

/*
 * maple_static_datum - what is accessed @disp behind what @base is; NULL: the
 * address is @disp
 * @index: and some more
 */
struct maple_datum maple_static_datum(struct maple_static *s,
				      const struct maple_value *base,
				      int64_t disp, bool index, uint32_t size)
{
	struct maple_datum datum = { 0 };
	struct maple_static_part part;
	bool loose = index || (base && base->loose);
	int64_t at = disp + (base ? base->at : 0);

	if (!base || base->kind == MAPLE_VALUE_ADDRESS) {
		for (unsigned int i = 0; i < s->code->nsegs; i++)
			if ((uint64_t)at >= s->code->seg[i].lo &&
			    (uint64_t)at < s->code->seg[i].hi)
				return of_global(s, at, loose, size);
		return datum;
	}
	if (base->kind == MAPLE_VALUE_FRAME)
		datum.kind = MAPLE_DATUM_STACK;
	if (base->kind != MAPLE_VALUE_OBJECT ||
	    !in_type(s, base->type, at, size, loose, &part))
		return datum;
	datum.kind = MAPLE_DATUM_FIELD;
	datum.size = small(part.size);
	take_part(s, &datum, &part);
	datum.name = field_name(s, &datum, part.name);
	if (part.any)
		datum.flags |= MAPLE_DATUM_ANY;
	return datum;
}

/* maple_static_named - what a datum is called by: without its variable's name,
 * a field is one of its type's */
struct maple_static_lock maple_static_named(const struct maple_datum *datum)
{
	bool global = datum->kind == MAPLE_DATUM_GLOBAL;

	return (struct maple_static_lock){ global ? datum->name : 0, datum->type,
					   global ? datum->off : 0, datum->at };
}

/* What a pointer of the type @leaf points to, which was loaded from @at. */
static struct maple_value pointed(const struct maple_static *s, uint32_t leaf)
{
	const struct maple_static_type *t =
		maple_static_type_at(&s->types, leaf);

	if (!t || t->kind != MAPLE_TYPE_POINTER || t->inner == MAPLE_STATIC_NONE)
		return (struct maple_value){ 0 };
	return (struct maple_value){ .kind = MAPLE_VALUE_OBJECT,
				     .type = t->inner };
}

/*
 * maple_static_load - what eight bytes are that stand @disp behind @base, as in
 * maple_static_datum()
 */
struct maple_value maple_static_load(struct maple_static *s,
				     const struct maple_value *base,
				     int64_t disp, bool index)
{
	bool loose = index || (base && base->loose);
	int64_t at = disp + (base ? base->at : 0);
	const struct maple_static_global *g;
	const struct maple_static_type *t;
	struct maple_static_part part = { .leaf = MAPLE_STATIC_NONE };
	struct maple_value v = { 0 };
	struct maple_datum datum;

	if (!base || base->kind == MAPLE_VALUE_ADDRESS) {
		g = global_at(s, at);
		if (!g)
			return v;
		maple_static_part(s, g->type, at - g->lo, 8, loose, false,
				  &part);
	} else if (base->kind == MAPLE_VALUE_OBJECT) {
		t = maple_static_type_at(&s->types, base->type);
		/* A pointer to pointers: some element, wherever. */
		if (t && t->kind == MAPLE_TYPE_POINTER)
			part.leaf = base->type;
		else if (!in_type(s, base->type, at, 8, loose, &part))
			return v;
	}
	v = pointed(s, part.leaf);
	if (v.kind == MAPLE_VALUE_NONE)
		return v;
	datum = maple_static_datum(s, base, disp, index, 8);
	v.via = maple_static_named(&datum);
	return v;
}

/* The number of this lock; locks are few. */
static uint32_t find_lock(struct maple_static *s, struct maple_static_lock lock)
{
	struct maple_static_lock *at = s->locks.at;

	/* Number 0 is the one without a name. */
	if (!lock.name && !lock.type)
		return 0;
	if (!maple_static_spend(s, s->locks.n))
		return 0;
	for (uint32_t i = s->locks.n; i-- > 1;)
		if (!memcmp(&at[i], &lock, sizeof(lock)))
			return i;
	if (s->locks.n >= LOCKS) {
		s->stats.cut = true;
		return 0;
	}
	at = maple_array_more(&s->locks, sizeof(*at));
	if (!at)
		return 0;
	*at = lock;
	return s->locks.n - 1;
}

/*
 * maple_static_same_lock - whether two locks may be one: two variables are not;
 * a variable and what is behind a pointer are, if they are one field's
 */
bool maple_static_same_lock(const struct maple_static *s, uint32_t a, uint32_t b)
{
	const struct maple_static_lock *x = s->locks.at, *y = x + b;

	x += a;
	if (!a || !b)
		return false;
	if (x->name && y->name)
		return x->name == y->name && x->off == y->off;
	return x->type && x->type == y->type && x->at == y->at;
}

/*
 * maple_static_lock - the number of the lock at @v; 0: it has no name
 *
 * A lock is called by the variable, or the field, that it is; one that is
 * behind a pointer, as the pointer.
 */
uint32_t maple_static_lock(struct maple_static *s, const struct maple_value *v)
{
	const struct maple_static_global *g;
	const struct maple_static_type *t;
	struct maple_static_lock lock = { 0 };
	struct maple_static_part part;
	struct maple_datum datum;

	if (v->kind == MAPLE_VALUE_ADDRESS) {
		datum = of_global(s, v->at, v->loose, 1);
		g = global_at(s, v->at);
		lock.name = datum.name;
		lock.off = datum.off;
		if (!datum.name)
			lock.name = maple_static_name(&s->text, "(data)");
		if (g &&
		    maple_static_part(s, g->type, v->at - g->lo, 1, v->loose,
				      true, &part) &&
		    part.name) {
			lock.type =
				maple_static_type_at(&s->types, part.type)->name;
			lock.at = (int32_t)part.at;
		}
		return find_lock(s, lock);
	}
	if (v->kind != MAPLE_VALUE_OBJECT || v->at < 0)
		return 0;
	t = maple_static_type_at(&s->types, v->type);
	if (t && t->kind == MAPLE_TYPE_OBJECT && !maple_static_is_lock(s, t) &&
	    maple_static_part(s, v->type, v->at, 1, v->loose, true, &part)) {
		lock.type = maple_static_type_at(&s->types, part.type)->name;
		lock.at = (int32_t)part.at;
		return find_lock(s, lock);
	}
	return find_lock(s, v->via);
}
