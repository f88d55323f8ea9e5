/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A violation of an atomic set: two units of two threads on memory that
 * belongs together came in an order that no serial one has. That alone is no
 * bug: a violation is below a finding, and changes no verdict.
 *
 * Ownership: it owns every pointer in it; unset strings are NULL.
 */
#ifndef MAPLE_VIOLATION_H
#define MAPLE_VIOLATION_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/finding.h>

#define MAPLE_VIOLATIONS_MOST 1000u /* told of a campaign */

struct maple_violation {
	char *set;	      /* its name, or what its variables are called */
	bool declared;	      /* by --atomic-sets */
	const char *class;    /* "set 1" to "set 4"; static */
	unsigned int pattern; /* 1 to 12 */
	unsigned int runs;    /* that had it, */
	unsigned int failed_runs; /* ... and failed */
	unsigned int first_run;	  /* from 1 */
	/* In the order in which they happened; role 0 is P, 1 is Q. */
	unsigned int nmoments;
	struct maple_moment *moments;
};

/* What a campaign's watch over atomic sets came to. */
struct maple_violations {
	bool asked;		     /* somebody wants to know */
	unsigned int n;		     /* told */
	struct maple_violation **at; /* owned */
	bool strict;		     /* of declared sets they are failures, */
	unsigned int failures;	     /* ... so many */
	uint64_t more;		     /* beyond MAPLE_VIOLATIONS_MOST */
	uint64_t runs, units;	     /* that were looked at */
	uint64_t unsure;	     /* orders of which it is not certain */
	uint64_t cut;		     /* what a cap cut away */
};

/* maple_violation_words - what is wrong with @pattern: "a stale update" */
const char *maple_violation_words(unsigned int pattern);
void maple_violation_destroy(struct maple_violation *violation);

#endif
