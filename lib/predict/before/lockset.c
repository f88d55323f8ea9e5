// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which locks an access is under, and whether two accesses' locks let one
 * follow the other immediately (Maple, 3.4): for each lock that both hold,
 * the first access must be the last to its location in its critical section
 * and the second the first in its own. Two read sides of a rwlock exclude
 * nothing. Of a read and a write [+], the write's own section may have read
 * before, as who counts does: that is no conflict with the other's read.
 *
 * A lock taken again by its holder (recursive mutex, second read side) is one
 * critical section from the first acquisition to the last release.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/table.h"
#include "lockset.h"
#include "predict/store/table.h"

struct maple_annotated {
	UT_hash_handle hh;
	uint32_t n;
	struct maple_annotated_lock lock[];
};

static struct maple_lockset *lockset_get(struct maple_lockset *set)
{
	assert(set->refs);
	set->refs++;
	return set;
}

/* Ascending, none twice: what looks through two of them relies on it. */
static bool is_sound(const struct maple_lockset *set)
{
	for (uint32_t i = 1; i < set->n; i++)
		if (set->held[i - 1].lock >= set->held[i].lock)
			return false;
	return set->refs && set->n <= MAPLE_LOCKS_HELD;
}

static void changed(struct maple_locks *locks)
{
	maple_lockset_put(locks->set);
	locks->set = NULL;
}

/*
 * maple_locks_acquire - the thread has acquired event->addr
 * @section: a number that no other critical section has
 *
 * Returns false if it held the lock before.
 */
bool maple_locks_acquire(struct maple_locks *locks,
			 const struct maple_event *event, uint64_t section)
{
	unsigned int i;

	for (i = 0; i < locks->nheld; i++)
		if (locks->held[i].lock == event->addr) {
			locks->held[i].depth++;
			return false;
		}
	if (!locks->nheld)
		locks->outermost = event->site;
	if (i == MAPLE_LOCKS_HELD)
		return true;
	locks->held[i].lock = event->addr;
	locks->held[i].section = section;
	locks->held[i].depth = 1;
	locks->held[i].clock = event->clock;
	locks->held[i].shared = event->flags & MAPLE_EVF_SHARED;
	locks->nheld++;
	changed(locks);
	return true;
}

/*
 * maple_locks_release - the thread is about to release event->addr
 *
 * Returns false if it will still hold the lock then. The release of a lock
 * whose acquisition was not seen is one.
 */
bool maple_locks_release(struct maple_locks *locks,
			 const struct maple_event *event)
{
	for (unsigned int i = 0; i < locks->nheld; i++) {
		if (locks->held[i].lock != event->addr)
			continue;
		assert(locks->held[i].depth);
		if (--locks->held[i].depth)
			return false;
		locks->nheld--;
		memmove(&locks->held[i], &locks->held[i + 1],
			(locks->nheld - i) * sizeof(locks->held[0]));
		changed(locks);
		return true;
	}
	return true;
}

/*
 * maple_locks_holds - whether the thread holds @lock
 * @since: the thread's clock when it acquired it
 */
bool maple_locks_holds(const struct maple_locks *locks, uint64_t lock,
		       uint32_t *since)
{
	for (unsigned int i = 0; i < locks->nheld; i++) {
		if (locks->held[i].lock != lock)
			continue;
		*since = locks->held[i].clock;
		return true;
	}
	return false;
}

void maple_locks_deinit(struct maple_locks *locks)
{
	changed(locks);
	maple_lockset_put(locks->none);
}

/*
 * maple_locks_set - what is held now; a reference of the caller's own, NULL
 *                   without memory
 */
struct maple_lockset *maple_locks_set(struct maple_locks *locks)
{
	struct maple_lockset *set = locks->set;
	unsigned int at;

	if (!set && !locks->nheld && locks->none)
		set = locks->set = lockset_get(locks->none);
	/* Or else held has changed without changed(). */
	assert(!set || set->n == locks->nheld);
	if (set)
		return lockset_get(set);
	set = calloc(1, sizeof(*set) + locks->nheld * sizeof(set->held[0]));
	if (!set)
		return NULL;
	set->refs = 1;
	for (unsigned int i = 0; i < locks->nheld; i++) {
		for (at = set->n; at; at--) {
			if (set->held[at - 1].lock < locks->held[i].lock)
				break;
			set->held[at] = set->held[at - 1];
		}
		set->held[at].lock = locks->held[i].lock;
		set->held[at].section = locks->held[i].section;
		set->held[at].shared = locks->held[i].shared;
		set->n++;
	}
	assert(is_sound(set));
	locks->set = set;
	if (!locks->nheld)
		locks->none = lockset_get(set);
	return lockset_get(set);
}

/*
 * maple_lockset_outside - the critical sections of @set that @other is not
 *                         in, as bits by index in @set; @other may be NULL
 */
uint64_t maple_lockset_outside(const struct maple_lockset *set,
			       const struct maple_lockset *other)
{
	uint64_t bits = 0;
	uint32_t i, j = 0;

	if (set == other)
		return 0;
	for (i = 0; i < set->n; i++) {
		while (other && j < other->n &&
		       other->held[j].lock < set->held[i].lock)
			j++;
		if (!other || j == other->n ||
		    other->held[j].section != set->held[i].section)
			bits |= 1ull << i;
	}
	return bits;
}

/*
 * maple_lockset_inside - the critical sections of @set that @other, which may
 *                        be NULL, is in as well, as far as @bits, by index in
 *                        @other, has them; by index in @set
 */
uint64_t maple_lockset_inside(const struct maple_lockset *set,
			      const struct maple_lockset *other, uint64_t bits)
{
	uint64_t inside = 0;
	uint32_t i, j = 0;

	if (set == other)
		return bits;
	for (i = 0; i < set->n && other && bits; i++) {
		while (j < other->n && other->held[j].lock < set->held[i].lock)
			j++;
		if (j < other->n && bits >> j & 1 &&
		    other->held[j].section == set->held[i].section)
			inside |= 1ull << i;
	}
	return inside;
}

static struct maple_annotated *find(struct maple_annotations *annotations,
				    const struct maple_annotated_lock *lock,
				    uint32_t n)
{
	struct maple_annotated *annotated;
	size_t size = n * sizeof(*lock);

	HASH_FIND(hh, annotations->table, lock, size, annotated);
	if (annotated)
		return annotated;
	annotated = calloc(1, sizeof(*annotated) + size);
	if (!annotated)
		return NULL;
	annotated->n = n;
	memcpy(annotated->lock, lock, size);
	for (uint32_t i = 1; i < n; i++)
		assert(lock[i - 1].lock < lock[i].lock);
	HASH_ADD_KEYPTR(hh, annotations->table, annotated->lock, size,
			annotated);
	if (annotated->hh.tbl)
		return annotated;
	free(annotated);
	return NULL;
}

/*
 * maple_annotations_get - @set annotated
 *
 * The same content gives the same address. It lives as long as @annotations;
 * NULL without memory.
 */
const struct maple_annotated *
maple_annotations_get(struct maple_annotations *annotations,
		      struct maple_lockset *set,
		      const struct maple_lock_place *place)
{
	uint64_t first = place->first, last = place->last, read = place->read;
	uint64_t all = set->n < 64 ? (1ull << set->n) - 1 : ~0ull;
	struct maple_annotated_lock lock[MAPLE_LOCKS_HELD];
	struct maple_annotated **cached = NULL, *annotated;

	assert(set->n <= MAPLE_LOCKS_HELD && !((first | last | read) & ~all));
	assert(!(first & read));
	if ((first == all || !first) && (last == all || !last) &&
	    (read == all || !read))
		cached = &set->annotated[!!first + 2 * !!last + 4 * !!read];
	if (cached && *cached)
		return *cached;
	lock[0] = (struct maple_annotated_lock){ 0 };
	for (uint32_t i = 0; i < set->n; i++) {
		lock[i].lock = set->held[i].lock;
		lock[i].flags = (first >> i & 1 ? MAPLE_LOCK_FIRST : 0) |
				(last >> i & 1 ? MAPLE_LOCK_LAST : 0) |
				(read >> i & 1 ? MAPLE_LOCK_READ : 0) |
				(set->held[i].shared ? MAPLE_LOCK_SHARED : 0);
	}
	annotated = find(annotations, lock, set->n);
	if (cached)
		*cached = annotated;
	return annotated;
}

/*
 * maple_annotations_common - the locks of critical sections that @a and @b
 *                            are both in, in *@common; NULL if there are none
 *
 * Returns 0 or -ENOMEM.
 */
int maple_annotations_common(struct maple_annotations *annotations,
			     const struct maple_lockset *a,
			     const struct maple_lockset *b,
			     const struct maple_annotated **common)
{
	uint64_t outside = maple_lockset_outside(a, b);
	struct maple_annotated_lock lock[MAPLE_LOCKS_HELD];
	uint32_t n = 0;

	*common = NULL;
	for (uint32_t i = 0; i < a->n; i++) {
		if (outside >> i & 1)
			continue;
		lock[n].lock = a->held[i].lock;
		lock[n++].flags = a->held[i].shared ? MAPLE_LOCK_SHARED : 0;
	}
	if (!n)
		return 0;
	*common = find(annotations, lock, n);
	return *common ? 0 : -ENOMEM;
}

/* maple_annotated_exclude - whether some lock cannot be held for both */
bool maple_annotated_exclude(const struct maple_annotated *a,
			     const struct maple_annotated *b)
{
	uint32_t i = 0, j = 0;

	while (i < a->n && j < b->n) {
		if (a->lock[i].lock < b->lock[j].lock)
			i++;
		else if (a->lock[i].lock > b->lock[j].lock)
			j++;
		else if (!(a->lock[i++].flags & b->lock[j++].flags &
			   MAPLE_LOCK_SHARED))
			return true;
	}
	return false;
}

void maple_annotations_deinit(struct maple_annotations *annotations)
{
	maple_table_clear(annotations->table);
}

/*
 * maple_annotated_feasible - whether an access under @to can immediately
 *                            follow one under @from
 * @reads: the one under @from reads, the one under @to writes
 * @disjoint: set to whether no lock excludes the two
 */
bool maple_annotated_feasible(const struct maple_annotated *from,
			      const struct maple_annotated *to, bool reads,
			      bool *disjoint)
{
	uint64_t fit = MAPLE_LOCK_FIRST | (reads ? MAPLE_LOCK_READ : 0);
	uint32_t i = 0, j = 0;

	*disjoint = true;
	while (i < from->n && j < to->n) {
		uint64_t a = from->lock[i].flags, b = to->lock[j].flags;

		if (from->lock[i].lock < to->lock[j].lock) {
			i++;
		} else if (from->lock[i].lock > to->lock[j].lock) {
			j++;
		} else {
			i++;
			j++;
			if (a & b & MAPLE_LOCK_SHARED)
				continue;
			*disjoint = false;
			if (!(a & MAPLE_LOCK_LAST) || !(b & fit))
				return false;
		}
	}
	return true;
}
