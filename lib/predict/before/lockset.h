/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_LOCKSET_H
#define MAPLE_PREDICT_LOCKSET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <maple/event.h>
#include "predict/predict.h"

#define MAPLE_LOCKS_HELD 64 /* by one thread; more exclude nothing */

static_assert(MAPLE_LOCKS_HELD <= 64, "sets of them are bits of one word");

enum maple_lock_flag {
	MAPLE_LOCK_FIRST = 1,  /* first access to its location in the section */
	MAPLE_LOCK_LAST = 2,   /* last access ... */
	MAPLE_LOCK_SHARED = 4, /* the read side of a rwlock */
	MAPLE_LOCK_READ = 8,   /* not FIRST, but all before it read */
};

/* The locks of one access with its place in each critical section. */
struct maple_annotated_lock {
	uint64_t lock;
	uint64_t flags; /* enum maple_lock_flag */
};

/* Of one access, critical sections of its lockset, as bits by index in that. */
struct maple_lock_place {
	uint64_t first; /* in which it is the first to its location, */
	uint64_t last;	/* ... the last, */
	uint64_t read;	/* ... not the first, but all before it read */
};

struct maple_annotated; /* one per content: compared by address */

/* What a thread holds now. Shared by all accesses until that changes. */
struct maple_lockset {
	uint32_t refs;
	uint32_t n;
	struct maple_annotated *annotated[8]; /* all or none first, last, read */
	struct {
		uint64_t lock;
		uint64_t section; /* every acquisition opens a new one */
		bool shared;
	} held[]; /* by ascending lock */
};

/* A thread's locks in the order in which it took them. */
struct maple_locks {
	struct maple_lockset *set;  /* NULL: to be made from held */
	struct maple_lockset *none; /* while nothing is held: always this */
	unsigned int nheld;
	uint32_t outermost; /* call site of the first, while any is held */
	struct {
		uint64_t lock;
		uint64_t section;
		uint32_t depth;
		uint32_t clock; /* of its acquisition */
		bool shared;
	} held[MAPLE_LOCKS_HELD];
};

struct maple_annotations {
	struct maple_annotated *table;
};

bool maple_locks_acquire(struct maple_locks *locks,
			 const struct maple_event *event, uint64_t section);
bool maple_locks_release(struct maple_locks *locks,
			 const struct maple_event *event);
struct maple_lockset *maple_locks_set(struct maple_locks *locks);
bool maple_locks_holds(const struct maple_locks *locks, uint64_t lock,
		       uint32_t *since);
void maple_locks_deinit(struct maple_locks *locks);
uint64_t maple_lockset_outside(const struct maple_lockset *set,
			       const struct maple_lockset *other);
uint64_t maple_lockset_inside(const struct maple_lockset *set,
			      const struct maple_lockset *other, uint64_t bits);
const struct maple_annotated *
maple_annotations_get(struct maple_annotations *annotations,
		      struct maple_lockset *set,
		      const struct maple_lock_place *place);
int maple_annotations_common(struct maple_annotations *annotations,
			     const struct maple_lockset *a,
			     const struct maple_lockset *b,
			     const struct maple_annotated **common);
bool maple_annotated_exclude(const struct maple_annotated *a,
			     const struct maple_annotated *b);
void maple_annotations_deinit(struct maple_annotations *annotations);
bool maple_annotated_feasible(const struct maple_annotated *from,
			      const struct maple_annotated *to, bool reads,
			      bool *disjoint);

static inline void maple_lockset_put(struct maple_lockset *set)
{
	assert(!set || set->refs);
	if (set && !--set->refs)
		free(set);
}

#endif
