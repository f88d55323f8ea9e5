// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The orders of two sites that exposed goals and findings tell: each dependency
 * of an iRoot or pattern is one of them. What else stands in a goal is no
 * order: its other steps are one thread's, or of two variables, or may come
 * either way round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/goal.h>
#include <maple/iroot.h>
#include "base/array.h"
#include "order/order.h"
#include "strategy/pcr/patterns.h"
#include "orders.h"

#define STEPS	4
#define MOMENTS 64 /* of a finding */

/* The place and the thread of a goal's steps. */
struct shape {
	unsigned int n;
	struct {
		uint8_t place, other;
	} step[STEPS];
};

/* As the table of idioms in docs/algorithms.md; idiom 3 is of one place. */
static const struct shape idioms[] = {
	[MAPLE_IDIOM_1] = { 2, { { 0, 0 }, { 0, 1 } } },
	[MAPLE_IDIOM_2] = { 3, { { 0, 0 }, { 0, 1 }, { 0, 0 } } },
	[MAPLE_IDIOM_3] = { 4, { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 0 } } },
	[MAPLE_IDIOM_4] = { 4, { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 0 } } },
	[MAPLE_IDIOM_5] = { 4, { { 0, 0 }, { 0, 1 }, { 1, 1 }, { 1, 0 } } },
	[MAPLE_IDIOM_6] = { 4, { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } } },
};

static bool shape_of(const char *class, struct shape *shape)
{
	unsigned int number = maple_class_number(class);

	if (number && number < MAPLE_IDIOM_DEADLOCK) {
		*shape = idioms[number];
		return true;
	}
	for (number = 1; maple_pattern_classes[number - 1]; number++)
		if (class && !strcmp(class, maple_pattern_classes[number - 1]))
			break;
	if (!maple_pattern_classes[number - 1])
		return false;
	shape->n = maple_pattern_steps(number);
	for (unsigned int i = 0; i < shape->n; i++) {
		const struct maple_pattern_step step =
			maple_pattern_step(number, i);

		shape->step[i].place = step.place;
		shape->step[i].other = step.other;
	}
	return true;
}

/* The step that step @k comes right after; itself: there is none. */
static unsigned int before(const struct shape *shape, unsigned int k)
{
	for (unsigned int i = k; i-- > 0;)
		if (shape->step[i].place == shape->step[k].place)
			return shape->step[i].other != shape->step[k].other ? i
									    : k;
	return k;
}

static int add(struct maple_orders *o, json_int_t first, json_int_t second)
{
	if (first < 0 || second < 0)
		return 0;
	if (!maple_array_reserve(o->at, o->n, o->room))
		return -ENOMEM;
	o->at[o->n++] =
		(struct maple_ordered){ (uint32_t)first, (uint32_t)second };
	return 0;
}

static int add_executed(struct maple_orders *o, json_int_t at)
{
	if (at < 0)
		return 0;
	if (!maple_array_reserve(o->executed, o->nexecuted, o->executed_room))
		return -ENOMEM;
	o->executed[o->nexecuted++] = (uint32_t)at;
	return 0;
}

static int take_goal(struct maple_orders *o, const struct shape *shape,
		     const json_t *sites)
{
	json_int_t at[STEPS] = { 0 };
	int e = 0;

	for (unsigned int i = 0; i < shape->n && !e; i++) {
		at[i] = json_integer_value(json_array_get(sites, i));
		if (at[i] > UINT32_MAX)
			at[i] = -1;
		e = add_executed(o, at[i]);
	}
	for (unsigned int k = 1; k < shape->n && !e; k++) {
		unsigned int i = before(shape, k);

		if (i != k)
			e = add(o, at[i], at[k]);
	}
	return e;
}

/* Where a moment was, of which it is told "0x11c0"; -1: not in the program. */
static json_int_t offset_of(const json_t *moment)
{
	const char *text = json_string_value(json_array_get(moment, 2));
	char *end;
	unsigned long long at;

	if (!text)
		return -1;
	at = strtoull(text, &end, 0);
	return end == text || *end || at > UINT32_MAX ? -1 : (json_int_t)at;
}

static int take_found(struct maple_orders *o, const json_t *moments)
{
	const json_t *moment, *other;
	size_t i, k;
	int e = 0;

	if (json_array_size(moments) > MOMENTS)
		return 0;
	json_array_foreach (moments, i, moment) {
		const json_t *from = json_array_get(moment, 1);

		e = add_executed(o, offset_of(moment));
		json_array_foreach (moments, k, other) {
			if (!e && json_is_integer(from) &&
			    json_equal(json_array_get(other, 0), from))
				e = add(o, offset_of(other), offset_of(moment));
		}
		if (e)
			break;
	}
	return e;
}

int maple_orders_take(struct maple_orders *o, const json_t *told)
{
	const json_t *sites = json_object_get(told, "forced");
	struct shape shape = { 0 };

	if (!sites)
		return take_found(o, json_object_get(told, "found"));
	if (!shape_of(json_string_value(json_object_get(told, "class")),
		      &shape) ||
	    json_array_size(sites) != shape.n)
		return 0;
	return take_goal(o, &shape, sites);
}

static int compare(const void *a, const void *b)
{
	const struct maple_ordered *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->second < y->second ? -1 : x->second > y->second;
}

void maple_orders_sort(struct maple_orders *o)
{
	if (o->n)
		qsort(o->at, o->n, sizeof(*o->at), compare);
}

static bool has(const struct maple_orders *o, uint32_t first, uint32_t second)
{
	const struct maple_ordered key = { first, second };

	return o->n && bsearch(&key, o->at, o->n, sizeof(key), compare);
}

unsigned int maple_orders_seen(const struct maple_orders *o, uint32_t a,
			       uint32_t b)
{
	return (has(o, a, b) ? MAPLE_ORDERS_FORWARD : 0) |
	       (has(o, b, a) ? MAPLE_ORDERS_BACKWARD : 0);
}

void maple_orders_deinit(struct maple_orders *o)
{
	free(o->at);
	free(o->executed);
	*o = (struct maple_orders){ 0 };
}
