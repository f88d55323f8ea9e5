// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What of types can be told once all of them are known: which is meant by one
 * that is only declared, and where their objects lie.
 *
 * Those that only ever lie on stacks are no thread's but one: there is a
 * variable of the type in some function, and no variable with an address, no
 * member of what may be elsewhere, and no pointer that is a variable leads to
 * one. That is va_list, of which parameters alone are pointers, and iterators.
 */
#include <stdlib.h>
#include "base/table.h"
#include "static.h"

#define DEPTH 64 /* of arrays and pointers in each other */

/* maple_static_object - what a type is made of, or points to; else NONE */
uint32_t maple_static_object(const struct maple_static_types *t, uint32_t type,
			     bool *pointer)
{
	const struct maple_static_type *at;

	for (unsigned int i = 0; i < DEPTH; i++) {
		at = maple_static_type_at(t, type);
		if (!at || at->kind == MAPLE_TYPE_SCALAR)
			return MAPLE_STATIC_NONE;
		if (at->kind == MAPLE_TYPE_OBJECT)
			return type;
		*pointer |= at->kind == MAPLE_TYPE_POINTER;
		type = at->inner;
	}
	return MAPLE_STATIC_NONE;
}

/* What one unit only declares is what another one says by that name. */
static void define(struct maple_static_types *t, uint32_t *type)
{
	const struct maple_static_type *at = maple_static_type_at(t, *type);

	if (at && at->kind == MAPLE_TYPE_OBJECT &&
	    at->inner != MAPLE_STATIC_NONE)
		*type = at->inner;
}

struct named {
	uint32_t name, type; /* name is the key */
	UT_hash_handle hh;
};

static void define_all(struct maple_static_types *t)
{
	struct named *all = NULL, *found;
	struct maple_static_type *type = t->types.at;
	struct maple_static_member *member = t->members.at;
	struct maple_static_variable *v = t->variables.at;
	struct maple_static_prototype *p = t->prototypes.at;

	for (uint32_t i = 0; i < t->types.n; i++) {
		if (type[i].kind != MAPLE_TYPE_OBJECT || !type[i].size ||
		    !type[i].named)
			continue;
		HASH_FIND(hh, all, &type[i].name, sizeof(uint32_t), found);
		if (found)
			continue;
		found = malloc(sizeof(*found));
		if (!found)
			break;
		*found = (struct named){ .name = type[i].name, .type = i };
		HASH_ADD(hh, all, name, sizeof(uint32_t), found);
	}
	for (uint32_t i = 0; i < t->types.n; i++) {
		if (type[i].kind != MAPLE_TYPE_OBJECT || type[i].size ||
		    !type[i].named)
			continue;
		HASH_FIND(hh, all, &type[i].name, sizeof(uint32_t), found);
		if (found)
			type[i].inner = found->type;
	}
	maple_table_clear(all);
	for (uint32_t i = 0; i < t->types.n; i++) {
		if (type[i].kind == MAPLE_TYPE_OBJECT &&
		    type[i].inner != MAPLE_STATIC_NONE)
			type[type[i].inner].elsewhere |= type[i].elsewhere;
		else
			define(t, &type[i].inner);
	}
	for (uint32_t i = 0; i < t->members.n; i++)
		define(t, &member[i].type);
	for (size_t i = 0; i < t->variables.n; i++)
		define(t, &v[i].type);
	for (size_t i = 0; i < t->prototypes.n; i++)
		define(t, &p[i].result);
}

/* What is on no stack may be anywhere, and so may what it has and points to. */
static void spread(struct maple_static_types *t)
{
	struct maple_static_type *type = t->types.at;
	const struct maple_static_member *member = t->members.at;
	struct maple_array todo = { 0 };
	uint32_t *slot, i, inner;

	for (i = 0; i < t->types.n; i++) {
		if (type[i].kind != MAPLE_TYPE_OBJECT)
			continue;
		type[i].elsewhere |= !type[i].lies;
		slot = type[i].elsewhere
			       ? maple_array_more(&todo, sizeof(*slot))
			       : NULL;
		if (slot)
			*slot = i;
	}
	while (todo.n) {
		i = ((uint32_t *)todo.at)[--todo.n];
		for (uint32_t m = 0; m < type[i].nmembers; m++) {
			bool pointer = false;

			inner = maple_static_object(
				t, member[type[i].member + m].type, &pointer);
			if (inner == MAPLE_STATIC_NONE || type[inner].elsewhere)
				continue;
			type[inner].elsewhere = true;
			slot = maple_array_more(&todo, sizeof(*slot));
			if (slot)
				*slot = inner;
		}
	}
	free(todo.at);
}

/* maple_static_settle - completes the types */
void maple_static_settle(struct maple_static_types *types)
{
	define_all(types);
	spread(types);
}
