/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Violations of atomic sets: which orders of two units, that no serial one has,
 * a run had (algorithms.md 17). A witness is of one run, told of its events in
 * order, by one thread at a time. It says only what is certain.
 */
#ifndef MAPLE_PREDICT_SETS_WITNESS_H
#define MAPLE_PREDICT_SETS_WITNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include <maple/event.h>
#include <maple/iroot.h>
#include "sets.h"

/* Pairs of sites, and how far apart, that one unit had: sorted by nothing. */
struct maple_mates {
	uint64_t *key; /* 0: free */
	size_t n, room;
};

#define MAPLE_MATES_MOST (1u << 18)

bool maple_mates_join(struct maple_mates *mates, const struct maple_mates *more);
void maple_mates_deinit(struct maple_mates *mates);

/* One of its events. */
struct maple_violated_end {
	uint64_t addr;
	uint32_t size, context;
	uint16_t thread;
};

/* A violation: an iRoot of a set, and where it was first. */
struct maple_violated {
	struct maple_iroot iroot; /* the key */
	unsigned int pattern;	  /* 1 to 12 */
	uint32_t set;		  /* number of the declared one; or 0 */
	unsigned int n;		  /* events */
	uint8_t order[MAPLE_IROOT_EVENTS]; /* as they happened */
	uint8_t q;			   /* bit i: event i is Q's */
	struct maple_violated_end e[MAPLE_IROOT_EVENTS];
	UT_hash_handle hh;
};

struct maple_witness_stats {
	uint64_t units;
	uint64_t unsure; /* orders that may have been another one's */
	uint64_t cut;	 /* what a cap cut away */
};

struct maple_witness;

/*
 * maple_witness_create - for one run
 * @belonging: of @n sites; see maple_sets_belong()
 * @asks: sites that are not among these are to be kept
 *
 * NULL: no memory
 */
struct maple_witness *
maple_witness_create(const struct maple_belonging *belonging, size_t n,
		     bool asks);
void maple_witness_destroy(struct maple_witness *witness);

/* maple_witness_event - of a run that is seen whole */
void maple_witness_event(struct maple_witness *witness,
			 const struct maple_event *event);
void maple_witness_finish(struct maple_witness *witness);

/*
 * maple_witness_forced - instead: the @n events at @log, of a run that was forced
 * @mates: what other runs had in one unit
 * @together: whether one call of some function may have made two accesses, by
 *            their contexts; NULL: nobody knows
 */
void maple_witness_forced(struct maple_witness *witness,
			  const struct maple_event *log, uint32_t n,
			  const struct maple_mates *mates,
			  bool (*together)(void *ctx, uint32_t a, uint32_t b),
			  void *ctx);

/* maple_witness_found - a table, each once; the witness's */
struct maple_violated *maple_witness_found(const struct maple_witness *witness);

/* maple_witness_mates - what the run had in one unit; the witness's */
const struct maple_mates *
maple_witness_mates(const struct maple_witness *witness);

/* maple_witness_fresh - sites that nothing was known of, plus one, as keys */
const struct maple_mates *
maple_witness_fresh(const struct maple_witness *witness);
void maple_witness_stats(const struct maple_witness *witness,
			 struct maple_witness_stats *stats);

#endif
