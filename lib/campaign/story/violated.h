/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_VIOLATED_H
#define MAPLE_CAMPAIGN_VIOLATED_H

#include <maple/event.h>
#include "predict/sets/witness.h"

struct maple_campaign;
struct maple_finding;
struct maple_trial;

/* One that is told. */
struct maple_told {
	struct maple_iroot iroot;      /* the key */
	struct maple_finding *finding; /* the result's; NULL: not told at all */
	struct maple_told_written {    /* what the memo has of it */
		unsigned int runs, failed_runs, forced_runs;
		bool plan;
	} written;
	UT_hash_handle hh;
};

/* What is known of violations over all runs; the campaign's. */
struct maple_violated_sum {
	struct maple_mates mates;
	struct maple_told *told; /* a table, by iRoot */
	double counted;		 /* when all of their runs went into the memo */
};

void maple_violated_begin(struct maple_campaign *c, struct maple_trial *trial);
void maple_violated_judge(struct maple_campaign *c, struct maple_trial *trial);
void maple_violated_ended(struct maple_campaign *c, struct maple_trial *trial);
bool maple_violated_again(struct maple_campaign *c,
			  const struct maple_finding *finding,
			  const struct maple_trial *order,
			  const struct maple_trial *trial);
/* violations.c */
int maple_violations_keep(struct maple_campaign *c, bool over);
int maple_violations_end(struct maple_campaign *c);

void maple_violated_deinit(struct maple_campaign *c);

#endif
