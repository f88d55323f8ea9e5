// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The rolling window over one thread's accesses (Maple, 3.6.1): a ring of
 * records in program order. Two lists run through it, both ascending by
 * index: the latest record on each location, which is where local pairs of
 * the next access begin, and the records on which another thread's access
 * depended, which is where exposed idioms begin.
 *
 * The ring grows up to MAPLE_RECENT_MAX records. A record that falls out
 * while still in the vulnerability window is counted: it takes accesses of
 * many cells each for that.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "recent.h"

#define SIZE_MIN       64
#define SUCCESSORS_MAX 64

static void unlink_latest(struct maple_recent *recent,
			  struct maple_record *record)
{
	if (!record->latest)
		return;
	assert((recent->newest == record->index) == !record->newer);
	if (record->newer)
		maple_recent_at(recent, record->newer)->older = record->older;
	else
		recent->newest = record->older;
	if (record->older)
		maple_recent_at(recent, record->older)->newer = record->newer;
	record->latest = false;
}

static void unlink_source(struct maple_recent *recent,
			  struct maple_record *record)
{
	if (!record->nsuccessors)
		return;
	assert((recent->sources == record->index) == !record->later);
	if (record->later)
		maple_recent_at(recent, record->later)->sooner = record->sooner;
	else
		recent->sources = record->sooner;
	if (record->sooner)
		maple_recent_at(recent, record->sooner)->later = record->later;
	record->nsuccessors = 0;
}

static int grow(struct maple_recent *recent)
{
	uint32_t size = recent->size ? recent->size * 2 : SIZE_MIN;
	struct maple_record *slot = calloc(size, sizeof(*slot));

	assert(size <= MAPLE_RECENT_MAX);
	if (!slot)
		return -ENOMEM;
	for (uint64_t i = recent->first; recent->size && i <= recent->last; i++)
		slot[i & (size - 1)] = *maple_recent_at(recent, i);
	free(recent->slot);
	recent->slot = slot;
	recent->size = size;
	return 0;
}

static void drop_oldest(struct maple_recent *recent)
{
	struct maple_record *oldest = maple_recent_at(recent, recent->first);

	unlink_latest(recent, oldest);
	unlink_source(recent, oldest);
	recent->first++;
}

/* Makes room for one more record; the ring is full. */
static int make_room(struct maple_recent *recent, uint32_t window,
		     uint32_t clock, struct maple_predict_stats *stats)
{
	bool inside = recent->size &&
		      clock - maple_recent_at(recent, recent->first)->clock <
			      window;

	if (!recent->size || (inside && recent->size < MAPLE_RECENT_MAX))
		return grow(recent);
	stats->cut_recent += inside;
	drop_oldest(recent);
	return 0;
}

/*
 * The thread's next record.
 * @record: its location, access (0: its own), before, site, clock and kind
 *
 * Returns 0 with its index in *@index, or -ENOMEM.
 */
static int push(struct maple_recent *recent, uint32_t window,
		const struct maple_record *record, uint64_t *index,
		struct maple_predict_stats *stats)
{
	struct maple_record *slot, *before;
	struct maple_successor *successors;
	uint32_t room;

	if (!recent->first)
		recent->first = 1;
	if (recent->last - recent->first + 1 == recent->size) {
		int ret = make_room(recent, window, record->clock, stats);

		if (ret)
			return ret;
	}
	before = maple_recent_find(recent, record->before);
	*index = ++recent->last;
	assert(recent->last - recent->first < recent->size);
	if (before && before->location == record->location) {
		assert(before->latest && !before->after);
		before->after = *index;
		before->entry = NULL;
		unlink_latest(recent, before);
	}
	slot = maple_recent_at(recent, *index);
	successors = slot->successors;
	room = slot->room;
	*slot = *record;
	slot->index = *index;
	slot->successors = successors;
	slot->room = room;
	if (!slot->access)
		slot->access = *index;
	slot->latest = true;
	slot->older = recent->newest;
	if (recent->newest)
		maple_recent_at(recent, recent->newest)->newer = *index;
	recent->newest = *index;
	return 0;
}

static void link_source(struct maple_recent *recent, struct maple_record *record)
{
	uint64_t later = 0, sooner = recent->sources;

	while (sooner > record->index) {
		later = sooner;
		sooner = maple_recent_at(recent, sooner)->sooner;
	}
	assert(record->index > sooner && (!later || record->index < later));
	record->later = later;
	record->sooner = sooner;
	if (later)
		maple_recent_at(recent, later)->sooner = record->index;
	else
		recent->sources = record->index;
	if (sooner)
		maple_recent_at(recent, sooner)->later = record->index;
}

/*
 * maple_recent_succeed - @successor depends on @record
 *
 * Returns false if it could not be kept.
 */
bool maple_recent_succeed(struct maple_recent *recent,
			  struct maple_record *record,
			  const struct maple_successor *successor)
{
	if (record->nsuccessors == SUCCESSORS_MAX ||
	    !maple_array_reserve(record->successors, record->nsuccessors,
				 record->room))
		return false;
	if (!record->nsuccessors)
		link_source(recent, record);
	assert(record->nsuccessors < record->room);
	record->successors[record->nsuccessors++] = *successor;
	return true;
}

static void recent_deinit(struct maple_recent *recent)
{
	while (recent->size && recent->first <= recent->last)
		drop_oldest(recent);
	for (uint32_t i = 0; i < recent->size; i++)
		free(recent->slot[i].successors);
	free(recent->slot);
	memset(recent, 0, sizeof(*recent));
}

/* maple_window_push - the next record of @thread, as push() has it */
int maple_window_push(struct maple_window *window, uint32_t thread,
		      const struct maple_record *record, uint64_t *index)
{
	struct maple_recent **recent = &window->thread[thread];

	if (!*recent)
		*recent = calloc(1, sizeof(**recent));
	if (!*recent)
		return -ENOMEM;
	return push(*recent, window->events, record, index, window->stats);
}

/* maple_window_leave - @thread has done its last access */
void maple_window_leave(struct maple_window *window, uint32_t thread)
{
	if (!window->thread[thread])
		return;
	recent_deinit(window->thread[thread]);
	free(window->thread[thread]);
	window->thread[thread] = NULL;
}

void maple_window_deinit(struct maple_window *window)
{
	for (uint32_t i = 0; i < MAPLE_THREADS; i++)
		maple_window_leave(window, i);
}
