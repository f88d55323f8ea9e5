// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Schedules that outlive the run that had them, and which of their switches a
 * failure takes (algorithms.md 10).
 *
 * An entry names no global time, so one that is taken away moves no other. So
 * halves are taken away, then quarters, down to single entries, and what still
 * fails alike is kept (delta debugging, complements only). What is left may
 * have detours: a thread goes on, only to make room for a third one. So of two
 * entries the first one is tried with the second one's thread, without what
 * stands between them; then halves once more. And threads that do the same may
 * have changed places: an entry says that another one goes first, where all
 * would be the same with their names exchanged in all other entries.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "switches.h"

#define DETOURS 12 /* entries, or threads, that are gone through in pairs */

/* maple_switches_copy - @to, which is empty, becomes the same; -ENOMEM or 0 */
int maple_switches_copy(struct maple_switches *to,
			const struct maple_switches *from)
{
	*to = (struct maple_switches){
		.entry = malloc((from->n + 1) * sizeof(*to->entry)),
		.name = malloc((from->nnames + 1) * sizeof(*to->name)),
	};
	if (!to->entry || !to->name) {
		maple_switches_deinit(to);
		return -ENOMEM;
	}
	to->n = from->n;
	to->nnames = from->nnames;
	if (from->n)
		memcpy(to->entry, from->entry, from->n * sizeof(*to->entry));
	if (from->nnames)
		memcpy(to->name, from->name, from->nnames * sizeof(*to->name));
	return 0;
}

/* maple_switches_deinit - frees what it is made of */
void maple_switches_deinit(struct maple_switches *s)
{
	free(s->entry);
	free(s->name);
	*s = (struct maple_switches){ 0 };
}

/* maple_switches_chose - whether @entry is a choice, and no arrival */
bool maple_switches_chose(const struct maple_policy_switch *entry)
{
	return entry->what != MAPLE_POLICY_ARRIVED;
}

static void cut(struct maple_switches *s, uint32_t at, uint32_t n)
{
	assert(at <= s->n);
	if (n > s->n - at)
		n = s->n - at;
	memmove(s->entry + at, s->entry + at + n,
		(s->n - at - n) * sizeof(*s->entry));
	s->n -= n;
}

/*
 * maple_switches_drop_last - without its last preemption or, if it has none,
 * without the last choice where a thread waits or ends: of several who could
 * go on there, another one may do the same
 */
void maple_switches_drop_last(struct maple_switches *s)
{
	uint32_t last = s->n;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->entry[i].what == MAPLE_POLICY_AT ||
		    (maple_switches_chose(&s->entry[i]) &&
		     (last == s->n || s->entry[last].what != MAPLE_POLICY_AT)))
			last = i;
	if (last < s->n)
		cut(s, last, 1);
}

/* ---- shortening ---- */

struct shortening {
	struct maple_switches *now; /* fails */
	bool (*fails)(void *ctx, const struct maple_switches *list);
	bool (*may_go_on)(void *ctx);
	void *ctx;
	int error;
};

static bool may_go_on(const struct shortening *s)
{
	return !s->error && s->may_go_on(s->ctx);
}

/* Whether it fails by @list, which is taken over, and then is the one to go by. */
static bool fails_by(struct shortening *s, struct maple_switches *list)
{
	bool fails = s->fails(s->ctx, list);

	if (fails) {
		maple_switches_deinit(s->now);
		*s->now = *list;
	} else {
		maple_switches_deinit(list);
	}
	return fails;
}

/*
 * Whether it fails without @n entries from @at, the one before them with @next,
 * if given; then it is without them from now on.
 */
static bool fails_without(struct shortening *s, uint32_t at, uint32_t n,
			  const uint16_t *next)
{
	struct maple_switches list;

	assert(!next || at);
	s->error = maple_switches_copy(&list, s->now);
	if (s->error)
		return false;
	if (next)
		list.entry[at - 1].next = *next;
	cut(&list, at, n);
	return fails_by(s, &list);
}

/* One pass over all parts of @size; whether any could go. */
static bool pass(struct shortening *s, uint32_t size)
{
	bool less = false;
	uint32_t at = 0;

	while (at < s->now->n && may_go_on(s)) {
		if (fails_without(s, at, size, NULL))
			less = true;
		else
			at += size;
	}
	return less;
}

static void halve(struct shortening *s)
{
	uint32_t size = (s->now->n + 1) / 2;

	for (; size > 1 && may_go_on(s); size = (size + 1) / 2)
		pass(s, size);
	while (may_go_on(s) && pass(s, 1))
		;
}

/* Whether some detour could go. */
static bool straighten(struct shortening *s)
{
	const struct maple_policy_switch *e;
	uint16_t next;

	for (uint32_t i = 0; i + 1 < s->now->n; i++)
		for (uint32_t j = i + 1; j < s->now->n; j++) {
			e = s->now->entry;
			if (!maple_switches_chose(&e[i]) ||
			    !maple_switches_chose(&e[j]) ||
			    e[i].thread == e[j].next)
				continue;
			if (!may_go_on(s))
				return false;
			next = e[j].next;
			if (fails_without(s, i + 1, j - i, &next))
				return true;
		}
	return false;
}

static void exchange(struct maple_switches *s, uint16_t a, uint16_t b)
{
	struct maple_policy_switch *e = s->entry;

	for (uint32_t i = 0; i < s->n; i++, e++) {
		e->thread = e->thread == a ? b : e->thread == b ? a : e->thread;
		e->next = e->next == a ? b : e->next == b ? a : e->next;
	}
}

/* Whether some thread could change places with the one that an entry names. */
static bool exchange_some(struct shortening *s)
{
	struct maple_switches list;

	for (uint32_t i = 0; i < s->now->n; i++)
		for (uint32_t k = 0;
		     k < s->now->nnames && k < DETOURS && may_go_on(s); k++) {
			const struct maple_policy_switch *e = &s->now->entry[i];

			if (e->what != MAPLE_POLICY_BLOCKED || k == e->next ||
			    k == e->thread)
				continue;
			s->error = maple_switches_copy(&list, s->now);
			if (s->error)
				return false;
			cut(&list, i, 1);
			exchange(&list, e->next, (uint16_t)k);
			if (fails_by(s, &list))
				return true;
		}
	return false;
}

/*
 * maple_switches_shorten - takes out of @s, which fails, what its failure does
 * not take, as long as @may_go_on(); @fails: whether a run by a list fails alike
 *
 * Returns 0, or -ENOMEM; @s fails in any case.
 */
int maple_switches_shorten(struct maple_switches *s,
			   bool (*fails)(void *ctx,
					 const struct maple_switches *list),
			   bool (*may_go_on)(void *ctx), void *ctx)
{
	struct shortening work = { s, fails, may_go_on, ctx, 0 };

	halve(&work);
	if (s->n <= DETOURS)
		while (may_go_on(ctx) && !work.error &&
		       (straighten(&work) || exchange_some(&work)))
			halve(&work);
	return work.error;
}
