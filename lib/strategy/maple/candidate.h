/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_CANDIDATE_H
#define MAPLE_STRATEGY_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>
#include <maple/campaign.h>
#include <maple/iroot.h>
#include "../../image/registry.h"
#include "../../plan/plan.h"
#include "../../predict/predict.h"
#include "../goal.h"
#include "callers.h"

#define MAPLE_CANDIDATE_GUARDS 64

/*
 * An iRoot that some run predicted or exposed, and what is known of it. Before
 * each run all are gone through: what that takes comes first.
 */
struct maple_candidate {
	struct maple_iroot iroot; /* the key */
	bool predicted, exposed;
	bool broke; /* a run failed of it, in an earlier campaign */
	bool facts_known;
	bool busy;	       /* a try of it is under way */
	bool ends, gated;      /* the facts: memory's end, some gate */
	bool application;      /* both ends in the program itself */
	unsigned int rides;    /* in runs of others */
	unsigned int attempts; /* with this input */
	unsigned int looks;    /* ... once it had been exposed */
	bool missed;	       /* the last look was none, and comes again */
	unsigned int failed;   /* tries that failed, over all inputs */
	int score;
	unsigned int order;	/* in which it was found */
	struct maple_goal goal; /* whose first fields are asked for as well */
	UT_hash_handle hh;
	/* its dependencies, when there were so many candidates; choice.c */
	const struct maple_candidate *part[2];
	unsigned int linked;

	struct maple_callers callers;
	struct maple_predict_facts facts;
	bool guarded; /* guards and covers were asked for */
	bool told;    /* the memo will be told of it, and of goal.marks */
	char name[MAPLE_IROOT_EVENTS][MAPLE_PLAN_NAME]; /* threads */
	uint32_t nguards;
	uint32_t guard[MAPLE_CANDIDATE_GUARDS];
	uint32_t ncovers;
	uint32_t cover[MAPLE_PLAN_COVERS];
};

/* A site that some exposed iRoot has. */
struct maple_exposed_site {
	uint32_t site;
	UT_hash_handle hh;
};

#define MAPLE_ODDS_CLASSES 24 /* of each idiom */

/* Candidates tried, and of these exposed. */
struct maple_odds_count {
	unsigned int tried, exposed;
};

struct maple_odds_site {
	struct maple_odds_key {
		uint32_t site, idiom, event;
	} key;
	struct maple_odds_count count;
	UT_hash_handle hh;
};

/* How candidates fared so far, in this campaign. */
struct maple_odds {
	struct maple_odds_count class[MAPLE_IDIOMS][MAPLE_ODDS_CLASSES];
	struct maple_odds_site *sites;
};

struct maple_candidates {
	struct maple_candidate *table;
	struct maple_exposed_site *sites;
	struct maple_odds odds;
	unsigned int n;
	double now; /* when the next run was last asked for */
	unsigned int served[MAPLE_IDIOMS]; /* round-robin over idioms */
};

struct maple_candidate *maple_candidate_get(struct maple_candidates *all,
					    const struct maple_iroot *iroot);
struct maple_candidate *maple_candidate_of(struct maple_goal *goal);
void maple_candidate_exposed(struct maple_candidates *all,
			     struct maple_candidate *c);
void maple_candidate_know(struct maple_candidate *c,
			  const struct maple_predict_facts *facts);
bool maple_candidate_site_exposed(const struct maple_candidates *all,
				  uint32_t site);
int maple_candidate_plan(const struct maple_candidate *c, unsigned int attempt,
			 bool paper, uint64_t seed, struct maple_plan *plan);
void maple_candidate_destroy(struct maple_candidates *all);

#endif
