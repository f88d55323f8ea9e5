/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Atomic sets: what two threads do to memory that belongs together, and which
 * orders of it no serial order has (algorithms.md 17). Beside the predictor, by
 * the same events. One instance per run, one thread at a time.
 */
#ifndef MAPLE_PREDICT_SETS_H
#define MAPLE_PREDICT_SETS_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include <maple/iroot.h>
#include "predict/predict.h"

/* What was seen, and what a cap cut away. */
struct maple_sets_stats {
	uint64_t sets, units, shapes; /* so far */
	uint64_t predicted;	      /* iRoots */
	uint64_t steps;		      /* that matching took */
	uint64_t cut_sets;	      /* accesses to more sets than are kept */
	uint64_t cut_open;    /* units that more than 64 were open for */
	uint64_t cut_units;   /* with more accesses than are kept */
	uint64_t cut_shapes;  /* not kept: too many */
	uint64_t cut_matches; /* pairs of units that were not compared */
	uint64_t cut_iroots;  /* not kept */
	uint64_t no_memory;
};

struct maple_sets;

/* maple_sets_create - for one run; @sink is copied. NULL: no memory */
struct maple_sets *maple_sets_create(const struct maple_predict_sink *sink);
void maple_sets_destroy(struct maple_sets *sets);

/* What accesses at a site are to, by what the user has declared. */
struct maple_belonging {
	uint32_t site;
	uint32_t at;	 /* bytes behind the beginning of the object */
	uint32_t number; /* of the set, from 1; 0: none */
	bool one;	 /* there is one such set, wherever its bytes are */
};

/*
 * maple_sets_belong - before any event: what is known of sites; @belonging is
 * copied, and has @n, by ascending site. false: no memory
 */
bool maple_sets_belong(struct maple_sets *sets,
		       const struct maple_belonging *belonging, size_t n);

/* maple_sets_event - the run's events, in order */
void maple_sets_event(struct maple_sets *sets, const struct maple_event *event);

/*
 * maple_sets_finish - the run is over: sink.predicted() hears of each iRoot,
 * once, in the order in which they were found
 */
void maple_sets_finish(struct maple_sets *sets);
void maple_sets_stats(const struct maple_sets *sets,
		      struct maple_sets_stats *stats);

/*
 * maple_sets_plain - the idiom that has the same events as @idiom, which is of
 * a set, and more to ask of them
 */
uint32_t maple_sets_plain(uint32_t idiom);

/*
 * maple_sets_happened - whether the @n events at @log, of a run that was
 * forced, have the order of @iroot, which is of a set: by two threads, each of
 * the two in one unit
 * @together: whether two accesses of a thread, with contexts @a and @b, may be
 *            made by one call of some function; NULL: nobody knows
 */
bool maple_sets_happened(const struct maple_event *log, uint32_t n,
			 const struct maple_iroot *iroot,
			 bool (*together)(void *ctx, uint32_t a, uint32_t b),
			 void *ctx);

#endif
