/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_IROOTS_H
#define MAPLE_PREDICT_IROOTS_H

#include <stdbool.h>
#include <stdint.h>
#include "predict.h"
#include "predict/store/tally.h"

/* What is known of an iRoot that this run exposed or predicted. */
struct maple_iroot_found;

/* Where an iRoot was predicted. */
struct maple_brief {
	struct {
		uint32_t thread, occurrence, class;
	} e[MAPLE_IROOT_EVENTS];
	bool disjoint, ordered;
	uint8_t against; /* enum maple_against; the least of all places */
};

struct maple_iroots {
	struct maple_tally tally; /* by iRoot */
	struct maple_iroot_found
		*found; /* ... as its items, if there are so many */
	uint32_t room;
	unsigned int idioms; /* wanted, as bits */
	bool quiet; /* some site has gone quiet: claims need a second look */
	const struct maple_predict_sink *sink;
	struct maple_predict_stats *stats;
	uint32_t npredicted[MAPLE_IDIOMS];
};

void maple_iroots_observed(struct maple_iroots *iroots,
			   const struct maple_iroot *iroot);
bool maple_iroots_enough(const struct maple_iroots *iroots,
			 const struct maple_iroot *iroot,
			 const struct maple_brief *brief);
bool maple_iroots_predicted(struct maple_iroots *iroots,
			    const struct maple_iroot *iroot,
			    const struct maple_brief *brief);
void maple_iroots_claims(struct maple_iroots *iroots,
			 bool (*certain)(void *ctx,
					 const struct maple_iroot *iroot,
					 uint64_t when),
			 void *ctx);
void maple_iroots_report(struct maple_iroots *iroots,
			 void (*complete)(void *ctx,
					  const struct maple_iroot *iroot,
					  const struct maple_brief *brief,
					  struct maple_predict_facts *facts),
			 void *ctx);
void maple_iroots_deinit(struct maple_iroots *iroots);

#endif
