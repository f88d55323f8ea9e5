/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The corpus: what runs have shown so far, and how to get there again. */
#ifndef MAPLE_STRATEGY_CORPUS_H
#define MAPLE_STRATEGY_CORPUS_H

#include <uthash.h>
#include "../maple/profile.h"
#include "feature.h"
#include "trail.h"

#define MAPLE_CORPUS_PREFIXES 4 /* of a feature */

/* A run up to the step that showed a feature. */
struct maple_corpus_prefix {
	struct maple_trail *trail;
	uint32_t step;
};

struct maple_corpus_entry {
	struct maple_feature feature; /* the key */
	uint64_t hits;		      /* runs that showed it */
	uint64_t last;		      /* number of the last one */
	unsigned int n;
	struct maple_corpus_prefix prefix[MAPLE_CORPUS_PREFIXES];
	UT_hash_handle hh;
};

struct maple_corpus {
	struct maple_corpus_entry *table;
	struct maple_corpus_entry **all; /* for draws */
	uint32_t n, room;
	uint64_t runs;	/* that were learned from */
	uint64_t steps; /* that all trails have, about */
};

/*
 * maple_corpus_learn - @run did what is in @kept; @seed: for what is random
 * @news: how many features it showed first
 */
int maple_corpus_learn(struct maple_corpus *c, const struct maple_run *run,
		       const struct maple_kept *kept, uint64_t seed,
		       uint32_t *news);

/*
 * maple_corpus_draw - some prefix, cut, as @list; empty: the run is to have
 * none. @seed: all that is random follows from it. -ENOMEM, or 0
 */
int maple_corpus_draw(const struct maple_corpus *c, uint64_t seed,
		      struct maple_switches *list);

/*
 * maple_corpus_rarest - up to @most prefixes of the rarest features, each of
 * another one as far as there are so many, as @lists, the rarest first; to be
 * freed. Returns how many. What there is no memory for is left out.
 */
size_t maple_corpus_rarest(const struct maple_corpus *c,
			   struct maple_switches *lists, size_t most);

/* maple_corpus_forget - all of it */
void maple_corpus_forget(struct maple_corpus *c);

#endif
