/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_HISTORY_H
#define MAPLE_PREDICT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include "predict/before/clock.h"
#include "location.h"
#include "predict/before/lockset.h"
#include "predict/predict.h"
#include "predict/store/slab.h"

struct maple_digest;
struct maple_point;

/* One access on its way into the history. */
struct maple_latest {
	struct maple_epoch *epoch; /* owned, as is set */
	struct maple_lockset *set;
	uint64_t first; /* by index in set: first of its section, */
	uint64_t read;	/* ... or all before it read */
	uint32_t site;
	uint32_t clock;
	uint32_t occurrence; /* how-manieth of the site by the thread */
	uint32_t class;	     /* site executed next; NONE: not known yet */
	uint8_t kind;	     /* UPDATE stands for a read and a write */
	uint8_t shared;
};

/* When accesses of one summary happened, as far as others can tell. */
struct maple_span {
	struct maple_epoch *epoch;
	uint32_t first_clock, last_clock;
	uint32_t occurrence, class; /* of its first access */
	uint32_t generation;	    /* of the point */
	struct maple_point *point;  /* for local pairs; NULL: none yet */
};

/*
 * Accesses that are identical but for the time (Maple, 3.5.2). What each
 * access and each search needs comes first: most summaries are not in the
 * CPU's cache when they are looked at.
 */
struct maple_summary {
	uint32_t site;
	uint16_t thread;
	uint8_t kind; /* never UPDATE */
	bool shared;
	bool update; /* one half of a read-modify-write */
	uint32_t nspans;
	const struct maple_annotated *annotated;
	struct maple_span latest;
	struct maple_digest *digest; /* for local pairs */
	uint32_t generation;	     /* ... of which this is */
	uint32_t older_room;
	struct maple_span *older; /* ascending; all but the latest */
	uint64_t location;	  /* its cell's serial */
};

/* An epoch in which the thread touched the cell: what came first and last. */
struct maple_group {
	struct maple_epoch *epoch;
	struct maple_summary *first, *last;
};

/* What one thread did to one cell. */
struct maple_entry {
	uint16_t thread;
	bool waiting; /* access is not yet in a summary */
	uint32_t nsummaries, summaries_room;
	uint32_t last_used;		  /* summary */
	struct maple_summary **summaries; /* at first, few */
	struct maple_summary *few[3];

	struct maple_latest access;  /* the latest one */
	struct maple_entry **recent; /* who will set access.class */
	uint64_t record;	     /* of the latest access, in the window */
	uint32_t nfolded;
	struct maple_summary *folded[2]; /* of the latest access, if any yet */
	uint32_t generation;		 /* of the points */
	uint32_t nsearched; /* groups whose predecessors are known */
	struct maple_point *points, *point; /* all; of the waiting access */
	uint32_t ngroups, older_room;
	struct maple_group latest;
	struct maple_group *older; /* ascending; all but the latest */
};

/* A dependency that can happen. */
struct maple_dependency {
	const struct maple_cell *cell;
	struct maple_summary *from, *to;
	const struct maple_span *from_span, *to_span;
	bool disjoint, ordered;
	uint8_t against; /* enum maple_against */
};

struct maple_history {
	struct maple_slab *slab;
	struct maple_clocks *clocks;
	struct maple_annotations annotations;
	struct maple_predict_stats *stats;
	uint32_t max_summaries, max_spans, collect;
	bool reads_first; /* as in struct maple_predict_options */
	/* The set that thread holds now, borrowed; NULL: none. */
	const struct maple_lockset *(*holds)(void *ctx, uint32_t thread);
	/* The entry's waiting access has entered the summary; may be NULL. */
	int (*folded)(void *ctx, struct maple_entry *entry,
		      struct maple_summary *summary);
	int (*found)(void *ctx, const struct maple_dependency *dependency);
	/* to, a write, can come between the halves of from; may be NULL */
	void (*between)(void *ctx, const struct maple_dependency *dependency);
	void *ctx;
};

/* The spans of a summary, and the groups of an entry, ascending. */
static inline struct maple_span *
maple_summary_span(const struct maple_summary *summary, uint32_t i)
{
	return i + 1 < summary->nspans ? &summary->older[i]
				       : (struct maple_span *)&summary->latest;
}

static inline struct maple_group *
maple_entry_group(const struct maple_entry *entry, uint32_t i)
{
	return i + 1 < entry->ngroups ? &entry->older[i]
				      : (struct maple_group *)&entry->latest;
}

int maple_history_access(struct maple_history *history, struct maple_cell *cell,
			 struct maple_entry *entry,
			 const struct maple_latest *access);
int maple_history_close(struct maple_history *history, struct maple_cell *cell);
int maple_history_settle(struct maple_history *history, struct maple_cell *cell,
			 struct maple_entry *entry,
			 const struct maple_lockset *now);
int maple_history_search(struct maple_history *history,
			 const struct maple_cell *cell,
			 struct maple_summary *summary,
			 const struct maple_span *span);
int maple_history_neighbours(struct maple_history *history,
			     struct maple_cell *cell);
int maple_history_collect(struct maple_history *history,
			  struct maple_cell *cell, struct maple_entry *entry);
struct maple_entry *maple_entry_to_front(struct maple_space *space,
					 struct maple_cell *cell,
					 uint32_t thread);
void maple_entry_drop(struct maple_slab *slab, struct maple_cell *cell,
		      struct maple_entry *entry, uint32_t ngroups,
		      uint32_t keep);
bool maple_cell_is_sound(const struct maple_cell *cell);
void maple_entries_destroy(struct maple_space *space, struct maple_cell *cell);
int maple_entries_clone(struct maple_space *space,
			const struct maple_cell *from, struct maple_cell *to);

/* maple_cell_visit - that @thread touched @cell, or NULL if it did not */
static inline struct maple_visit *
maple_cell_visit(const struct maple_cell *cell, uint32_t thread)
{
	for (uint32_t i = 0; i < cell->nvisits; i++)
		if (cell->visit[i].thread == thread)
			return &cell->visit[i];
	return NULL;
}

/*
 * maple_entry_of - @thread's entry in @cell, made if there is none
 *
 * Its visit is the cell's first then. Returns NULL, and counts it, if there
 * can be no more entries.
 */
static inline struct maple_entry *maple_entry_of(struct maple_space *space,
						 struct maple_cell *cell,
						 uint32_t thread)
{
	if (cell->nvisits && cell->visit[0].thread == thread)
		return cell->visit[0].entry;
	return maple_entry_to_front(space, cell, thread);
}

#endif
