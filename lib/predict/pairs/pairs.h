/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_PAIRS_H
#define MAPLE_PREDICT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include "predict/before/causes.h"
#include "predict/before/clock.h"
#include "predict/cells/history.h"
#include "predict/iroots.h"
#include "predict/late.h"
#include "predict/before/lockset.h"
#include "predict/store/pool.h"
#include "predict/predict.h"
#include "predict/store/quota.h"
#include "recent.h"
#include "predict/sites.h"
#include "predict/store/tally.h"

#define MAPLE_POINT_DIGESTS 4

struct maple_digest;

/* A dependency of idiom 1 that can happen, seen from one of its ends. */
struct maple_link {
	struct maple_digest *end; /* the other one */
	bool disjoint, ordered;
	uint8_t against; /* enum maple_against */
};

struct maple_edges {
	uint32_t n, room;
	struct maple_link *edge;
};

struct maple_spell {
	struct maple_epoch *epoch;
	uint32_t first_clock, last_clock;
};

/* A summary as local pairs need it: it outlives its cell's history. */
struct maple_digest {
	struct maple_digest *next; /* in its bucket */
	uint64_t location;
	const struct maple_annotated *annotated;
	uint32_t site;
	uint32_t occurrence, class; /* of its first access */
	uint16_t thread;
	uint8_t kind; /* never UPDATE */
	bool shared, update;
	uint32_t nstretches, room;
	struct maple_spell *stretches; /* ascending */
	struct maple_edges after, before;
};

/* Accesses of a thread to a cell that local pairs do not tell apart. */
struct maple_point {
	struct maple_point *next;  /* of all */
	struct maple_point *other; /* of the entry */
	struct maple_epoch *epoch;
	const struct maple_annotated *annotated; /* but for what is last */
	uint32_t site;
	uint32_t first_clock, last_clock;
	uint8_t kind;
	bool shared;
	uint8_t ndigests;
	struct maple_digest *digest[MAPLE_POINT_DIGESTS];
};

/* Local pairs, and what to correlate them with. */
struct maple_pairs {
	struct maple_slab *slab;
	struct maple_window *window;
	struct maple_annotations *annotations;
	struct maple_iroots *iroots;
	const struct maple_causes *causes;
	struct maple_predict_stats *stats;
	struct maple_late *late;
	unsigned int idioms;
	uint32_t max_pairs;
	uint32_t generation; /* what others point to is of this one */
	uint64_t steps;	     /* left for walks */
	bool resting;	     /* ... until there are many again */
	uint64_t since;	     /* event at which the generation began */
	struct maple_point *points;
	struct maple_pool point_pool, digest_pool;
	uint32_t npoints;
	struct maple_digest **digests;
	uint32_t ndigests;
	uint64_t nstretches, nedges;
	struct maple_tally pairs;   /* by points and held locks; rank */
	struct maple_quotas quotas; /* by sites and kinds: pairs kept */
};

void maple_pairs_init(struct maple_pairs *pairs, uint32_t max_pairs);
bool maple_pairs_wanted(struct maple_pairs *pairs,
			struct maple_executions *executed, bool novel,
			uint32_t *curious);
void maple_pairs_walked(struct maple_executions *executed, bool fresh);
int maple_pairs_access(struct maple_pairs *pairs, struct maple_entry *entry,
		       const struct maple_latest *access,
		       struct maple_point **point, bool *fresh);
int maple_pairs_fold(struct maple_pairs *pairs, struct maple_entry *entry,
		     struct maple_summary *summary);
bool maple_pairs_known(const struct maple_pairs *pairs,
		       const struct maple_dependency *dependency);
int maple_pairs_dependency(struct maple_pairs *pairs,
			   const struct maple_dependency *dependency);
int maple_pairs_flush(struct maple_pairs *pairs, bool last);
void maple_pairs_deinit(struct maple_pairs *pairs);

int maple_digest_of(struct maple_pairs *pairs, struct maple_summary *summary,
		    struct maple_digest **digest);
int maple_digest_extend(struct maple_pairs *pairs, struct maple_digest *digest,
			const struct maple_span *span);
bool maple_digest_connected(const struct maple_digest *from,
			    const struct maple_digest *to, bool ordered);
int maple_digest_connect(struct maple_pairs *pairs, struct maple_digest *from,
			 struct maple_digest *to,
			 const struct maple_dependency *d);
void maple_digests_free(struct maple_pairs *pairs);

int maple_pairs_correlate(struct maple_pairs *pairs);
int maple_pairs_deadlocks(struct maple_pairs *pairs);
void maple_pairs_predict(struct maple_pairs *pairs, enum maple_idiom idiom,
			 const struct maple_digest *const d[MAPLE_IROOT_EVENTS],
			 const struct maple_brief *how);

/* Whether some access in @span is an end of a local pair. */
static inline bool maple_pairs_end(const struct maple_pairs *pairs,
				   const struct maple_span *span)
{
	return span->point && span->generation == pairs->generation;
}

static inline const struct maple_point *
maple_pair_first(const struct maple_tally_item *pair)
{
	return (const struct maple_point *)(uintptr_t)pair->key[0];
}

static inline const struct maple_point *
maple_pair_last(const struct maple_tally_item *pair)
{
	return (const struct maple_point *)(uintptr_t)pair->key[1];
}

/* The locks held all the way; NULL: none. */
static inline const struct maple_annotated *
maple_pair_held(const struct maple_tally_item *pair)
{
	return (const struct maple_annotated *)(uintptr_t)pair->key[2];
}

#endif
