// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Locks that threads held when we came. Without them, what a thread does in
 * the rest of that critical section would look unprotected, and orders would
 * be predicted that cannot be.
 *
 * That a thread held a lock is known when it lets go of it without having
 * taken it. So the events of a stretch are kept, and told to the strategy at
 * its end, with a LOCK before the first event of each thread for what it let
 * go of. A lock that is held throughout the stretch is not known; but then
 * nobody else was in its critical sections either. Threads that were born
 * meanwhile held nothing.
 */
#include <assert.h>
#include <stdlib.h>
#include "base/array.h"
#include "early.h"

#define EVENTS_MAX (1u << 20) /* 40 bytes each */

static struct maple_early_lock *lock_of(struct maple_early *early,
					const struct maple_event *event)
{
	struct maple_early_lock wanted = { .key = { event->addr,
						    event->thread } };
	struct maple_early_lock *lock;

	HASH_FIND(hh, early->locks, &wanted.key, sizeof(wanted.key), lock);
	if (lock)
		return lock;
	lock = calloc(1, sizeof(*lock));
	if (!lock)
		return NULL;
	lock->key = wanted.key;
	HASH_ADD(hh, early->locks, key, sizeof(lock->key), lock);
	return lock;
}

static void note(struct maple_early *early, const struct maple_event *event)
{
	struct maple_early_lock *lock;

	if (event->kind != MAPLE_EV_LOCK && event->kind != MAPLE_EV_UNLOCK)
		return;
	lock = lock_of(early, event);
	if (!lock)
		return;
	lock->depth += event->kind == MAPLE_EV_LOCK ? 1 : -1;
	if (lock->depth >= 0)
		return;
	assert(lock->depth == -1);
	lock->depth = 0;
	lock->early++;
	lock->flags = event->flags;
}

static bool has_room(struct maple_early *early)
{
	uint32_t size = early->size ? 2 * early->size : 4096;

	if (early->n < early->size)
		return true;
	if (size > EVENTS_MAX || !maple_array_resize(early->event, size))
		return false;
	early->size = size;
	return true;
}

/*
 * maple_early_event - the next event of a stretch
 *
 * When there are too many to be kept, they are told with what is known by
 * then.
 */
void maple_early_event(struct maple_early *early,
		       const struct maple_event *event)
{
	if (!early->full && !has_room(early)) {
		maple_early_tell(early);
		early->full = true;
	}
	if (early->full) {
		early->tell(early->ctx, event);
		return;
	}
	assert(early->n < early->size);
	early->event[early->n++] = *event;
	note(early, event);
}

/* What @thread held, before its first event. */
static void tell_held(struct maple_early *early, uint16_t thread)
{
	struct maple_early_lock *lock, *next;
	struct maple_event event;

	HASH_ITER (hh, early->locks, lock, next) {
		if (lock->key.thread != thread)
			continue;
		event = (struct maple_event){
			.addr = lock->key.lock,
			.site = MAPLE_SITE_NONE,
			.thread = thread,
			.kind = MAPLE_EV_LOCK,
			.flags = lock->flags & MAPLE_EVF_SHARED,
		};
		while (lock->early) {
			early->tell(early->ctx, &event);
			lock->early--;
		}
	}
}

/* maple_early_tell - tells what was kept; nothing is left */
void maple_early_tell(struct maple_early *early)
{
	bool seen[MAPLE_THREADS] = { false };

	for (uint32_t i = 0; i < early->n; i++) {
		const struct maple_event *event = &early->event[i];
		uint16_t thread = event->thread;

		if (event->kind == MAPLE_EV_CREATE && event->aux < MAPLE_THREADS)
			seen[event->aux] = true;
		/* START comes first, and says what stack is the thread's. */
		if (thread < MAPLE_THREADS && !seen[thread] &&
		    event->kind != MAPLE_EV_START) {
			seen[thread] = true;
			tell_held(early, thread);
		}
		early->tell(early->ctx, event);
	}
	early->n = 0;
}

/* maple_early_deinit - forgets all of it */
void maple_early_deinit(struct maple_early *early)
{
	struct maple_early_lock *lock, *next;

	HASH_ITER (hh, early->locks, lock, next) {
		HASH_DEL(early->locks, lock);
		free(lock);
	}
	free(early->event);
	*early = (struct maple_early){ 0 };
}
