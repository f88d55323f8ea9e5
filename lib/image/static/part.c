// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Which member of a type is so far behind its beginning. */
#include <string.h>
#include "static.h"

#define DEPTH 64 /* of objects in each other */

/* maple_static_is_lock - whether it is a lock, whose inside is nobody's */
bool maple_static_is_lock(const struct maple_static *s,
			  const struct maple_static_type *type)
{
	static const char *const names[] = {
		"pthread_mutex_t",
		"pthread_rwlock_t",
		"pthread_spinlock_t",
		"mtx_t",
		"mutex",
		"recursive_mutex",
		"shared_mutex",
		"timed_mutex",
		"__mutex_base",
	};
	const char *name = (const char *)s->text.text.at + type->name;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* How well @size bytes at @at of a member may be what is meant; 0: not. */
static int fit(const struct maple_static_type *t, uint64_t at, uint64_t size)
{
	/* An array without an end has what is behind it; nobody an empty base. */
	if ((t->size && at >= t->size) ||
	    (t->kind == MAPLE_TYPE_OBJECT && !t->nmembers && t->size == 1))
		return 0;
	if (t->size == size && !at)
		return 3;
	return !t->size || size <= t->size - at ? 2 : 1;
}

/* The member of an object that has @at; of a union there may be several. */
static const struct maple_static_member *
member_at(const struct maple_static *s, const struct maple_static_type *type,
	  uint64_t at, uint64_t size)
{
	const struct maple_static_member *m = s->types.members.at,
					 *found = NULL;
	const struct maple_static_type *t;
	int best = 0, fits;

	if (!type->nmembers)
		return NULL;
	m += type->member;
	for (uint32_t i = 0; i < type->nmembers; i++) {
		t = maple_static_type_at(&s->types, m[i].type);
		fits = t && m[i].at <= at ? fit(t, at - m[i].at, size) : 0;
		if (fits > best) {
			best = fits;
			found = m + i;
		}
	}
	return found;
}

/*
 * maple_static_part - what is @at bytes behind the beginning of a @type
 * @loose: something unknown was added: of arrays it is some element
 * @lock: a lock is meant, whose inside is nobody's business
 *
 * It is told by the innermost object with a name, since that is what its
 * address may be handed on as. Returns false if it is in no object.
 */
bool maple_static_part(const struct maple_static *s, uint32_t type, uint64_t at,
		       uint64_t size, bool loose, bool lock,
		       struct maple_static_part *part)
{
	const struct maple_static_member *m;
	const struct maple_static_type *t;
	uint64_t begin = 0; /* of what @type is, in part->type */
	bool any = false;

	*part = (struct maple_static_part){ .type = MAPLE_STATIC_NONE,
					    .size = size };
	for (unsigned int depth = 0; depth < DEPTH; depth++) {
		t = maple_static_type_at(&s->types, type);
		part->leaf = type;
		if (!t)
			break;
		if (t->kind == MAPLE_TYPE_ARRAY) {
			const struct maple_static_type *e =
				maple_static_type_at(&s->types, t->inner);

			if (!e || !e->size)
				break;
			/* Objects of one array are not told apart. */
			if (e->kind != MAPLE_TYPE_OBJECT && !loose) {
				begin += at - at % e->size;
			} else if (e->kind != MAPLE_TYPE_OBJECT) {
				any = true;
				part->size = t->size ? t->size : UINT16_MAX;
				at = 0;
			}
			at %= e->size;
			type = t->inner;
			continue;
		}
		if (t->kind != MAPLE_TYPE_OBJECT)
			break;
		if (t->named || part->type == MAPLE_STATIC_NONE) {
			part->type = type;
			begin = 0;
		}
		m = member_at(s, t, at, size);
		part->leaf = MAPLE_STATIC_NONE;
		if (!m || (t->joint && t->named))
			break;
		if (t->named || !part->name)
			part->name = m->name;
		at -= m->at;
		begin += m->at;
		type = m->type;
		if (lock && maple_static_is_lock(
				    s, maple_static_type_at(&s->types, type)))
			break;
	}
	part->at = begin + (any ? 0 : at);
	part->any = any;
	return part->type != MAPLE_STATIC_NONE;
}
