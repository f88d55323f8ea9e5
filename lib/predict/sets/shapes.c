// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Shapes: what units do, once for each that differs. A server does the same a
 * million times; only the first ones by each thread are kept, and compared with
 * those of other threads. Others say nothing new but where they were ordered
 * otherwise: so of one thread two are kept.
 */
#include <assert.h>
#include <string.h>
#include "state.h"

#define SHAPES (1u << 16) /* at a time */
#define INTO(h, v) \
	((h) = ((h) ^ (uint64_t)(v)) * 0x9e3779b97f4a7c15ull, (h) ^= (h) >> 29)

/* maple_touches_put - what they refer to */
void maple_touches_put(struct maple_touch *touch, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		maple_lockset_put(touch[i].locks);
		maple_epoch_put(touch[i].epoch);
	}
}

/* Which locks are held, and which are the same section as just before. */
static uint64_t add_locks(uint64_t h, const struct maple_lockset *set,
			  const struct maple_lockset *before)
{
	for (uint32_t i = 0; i < set->n; i++) {
		bool same = false;

		for (uint32_t k = 0; before && k < before->n; k++)
			same |= before->held[k].section == set->held[i].section;
		INTO(h, set->held[i].lock);
		INTO(h, same | set->held[i].shared << 1);
	}
	return h;
}

static uint64_t hash_of(const struct maple_open *unit)
{
	uint64_t h = unit->set->serial;

	for (uint32_t i = 0; i < unit->n; i++) {
		const struct maple_touch *touch = &unit->touch[i];

		INTO(h, touch->addr);
		INTO(h, touch->site | (uint64_t)touch->size << 32);
		INTO(h, touch->kinds);
		h = add_locks(h, touch->locks,
			      i ? unit->touch[i - 1].locks : NULL);
	}
	return h;
}

static struct maple_shape *shape_of(struct maple_sets *sets,
				    const struct maple_open *unit)
{
	uint64_t hash = hash_of(unit);
	struct maple_shape *shape;

	HASH_FIND(hh, sets->shapes, &hash, sizeof(hash), shape);
	if (shape)
		return shape;
	if (HASH_COUNT(sets->shapes) == SHAPES) {
		sets->stats.cut_shapes++;
		return NULL;
	}
	shape = calloc(1, sizeof(*shape));
	if (shape) {
		shape->hash = hash;
		HASH_ADD(hh, sets->shapes, hash, sizeof(hash), shape);
	}
	if (!shape || !shape->hh.tbl) {
		free(shape);
		sets->stats.no_memory++;
		return NULL;
	}
	shape->next = unit->set->shapes;
	unit->set->shapes = shape;
	sets->stats.shapes++;
	return shape;
}

/* Whether one more by @thread could say anything. */
static bool says_more(const struct maple_shape *shape, uint32_t thread,
		      const struct maple_open *unit)
{
	uint32_t own = 0;

	if (shape->n == MAPLE_SETS_INSTANCES)
		return false;
	for (uint32_t i = 0; i < shape->n; i++) {
		if (shape->done[i]->thread != thread)
			continue;
		if (shape->done[i]->touch[0].epoch == unit->touch[0].epoch)
			return false;
		own++;
	}
	return own < MAPLE_SETS_OF_THREAD;
}

static void compare(struct maple_sets *sets, const struct maple_set *set,
		    const struct maple_done *done)
{
	/* Most memory is one thread's alone. */
	if (set->doers == done->thread + 1u)
		return;
	for (struct maple_shape *s = set->shapes; s; s = s->next)
		for (uint32_t i = 0; i < s->n; i++) {
			if (s->done[i]->thread == done->thread)
				continue;
			maple_sets_match(sets, done, s->done[i],
					 set->given.number);
			maple_sets_match(sets, s->done[i], done,
					 set->given.number);
		}
}

/* maple_shapes_done - @unit has ended: what it refers to is taken over */
void maple_shapes_done(struct maple_sets *sets, struct maple_open *unit,
		       uint32_t thread)
{
	size_t size = unit->n * sizeof(unit->touch[0]);
	struct maple_shape *shape = unit->n ? shape_of(sets, unit) : NULL;
	struct maple_done *done = NULL;

	if (shape && says_more(shape, thread, unit)) {
		done = malloc(sizeof(*done) + size);
		sets->stats.no_memory += !done;
	}
	if (!done) {
		maple_touches_put(unit->touch, unit->n);
		return;
	}
	done->thread = (uint16_t)thread;
	done->n = unit->n;
	memcpy(done->touch, unit->touch, size);
	shape->done[shape->n++] = done;
	if (!unit->set->doers)
		unit->set->doers = thread + 1;
	else if (unit->set->doers != thread + 1)
		unit->set->doers = MAPLE_SETS_MANY;
	compare(sets, unit->set, done);
}

/* maple_shapes_drop - all of @set */
void maple_shapes_drop(struct maple_sets *sets, struct maple_set *set)
{
	struct maple_shape *shape;

	while ((shape = set->shapes)) {
		set->shapes = shape->next;
		assert(shape->n <= MAPLE_SETS_INSTANCES);
		for (uint32_t i = 0; i < shape->n; i++) {
			maple_touches_put(shape->done[i]->touch,
					  shape->done[i]->n);
			free(shape->done[i]);
		}
		HASH_DEL(sets->shapes, shape);
		free(shape);
	}
}
