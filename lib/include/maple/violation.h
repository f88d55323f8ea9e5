/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A violation of an atomic set: two units of two threads on memory that
 * belongs together came in an order that no serial one has. That alone is no
 * bug: a violation is below a finding, and changes no verdict. It is told, kept
 * and replayed as a struct maple_finding of kind MAPLE_FAILURE_VIOLATION, whose
 * moments are its accesses as they happened: role 0 is P, 1 is Q.
 *
 * Ownership: it owns every pointer in it; unset strings are NULL.
 */
#ifndef MAPLE_VIOLATION_H
#define MAPLE_VIOLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maple_finding;

#define MAPLE_VIOLATIONS_MOST 1000u /* told of a campaign */

/* What such a finding has besides. Of stored ones the runs are all campaigns'. */
struct maple_violation {
	char *set;	      /* its name, or what its variables are called */
	bool declared;	      /* by --atomic-sets */
	unsigned int pattern; /* 1 to 12 */
	unsigned int runs;    /* that had it, */
	unsigned int failed_runs; /* ... of which so many failed */
	/*
	 * ... and in so many it had been foreseen and was forced, by the order
	 * that the finding's plan has. 0: there is no plan, and no replay.
	 */
	unsigned int forced_runs;
};

/* What a campaign's watch over atomic sets came to, or what a memo has of it. */
struct maple_violations {
	bool asked;		   /* somebody wants to know */
	unsigned int n;		   /* told, suppressed ones among them */
	struct maple_finding **at; /* owned */
	bool strict;		   /* of declared sets they are failures, */
	unsigned int failures;	   /* ... so many */
	uint64_t more;		   /* beyond MAPLE_VIOLATIONS_MOST */
	uint64_t runs, units;	   /* that were looked at */
	uint64_t unsure;	   /* orders of which it is not certain */
	uint64_t cut;		   /* what a cap cut away */
};

#define MAPLE_SET_PATTERNS 12u

/* How many there are; a violation may count in several. */
struct maple_violation_counts {
	unsigned int kept, suppressed;
	unsigned int forced;			 /* foreseen, and then forced */
	unsigned int failed;			 /* a run that had it failed */
	unsigned int of[MAPLE_SET_PATTERNS + 1]; /* by pattern, from 1 */
	unsigned int forced_of[MAPLE_SET_PATTERNS + 1];
};

/* maple_violation_words - what is wrong with @pattern: "a stale update" */
const char *maple_violation_words(unsigned int pattern);

/* maple_violations_count - what @violations add up to */
void maple_violations_count(const struct maple_violations *violations,
			    struct maple_violation_counts *counts);

/* maple_violations_deinit - frees what it owns, not @violations */
void maple_violations_deinit(struct maple_violations *violations);

/*
 * maple_violations_part - puts violations behind what is a finding
 *
 * Both keep their order. Returns how many of the @n are findings.
 */
size_t maple_violations_part(struct maple_finding **findings, size_t n);

#endif
