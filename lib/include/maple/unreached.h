/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The map: which accesses of a program may meet in two threads, as far as its
 * binary tells, and what of that runs have reached. It says what tests to
 * write. The pairs in it are no races: objects of one type are not told apart,
 * and neither are their locks.
 */
#ifndef MAPLE_UNREACHED_H
#define MAPLE_UNREACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/error.h>
#include <maple/memo.h>

/* What runs have made of a pair, with whatever input; what is less first. */
enum maple_met {
	MAPLE_MET_UNEXECUTED, /* an end was executed by none */
	MAPLE_MET_NEVER, /* both were, but never one right after the other */
	MAPLE_MET_ONE_ORDER, /* ... one of them has always been first */
	MAPLE_MET_BOTH_ORDERS,
	MAPLE_METS
};

/*
 * maple_met_name - "unexecuted", "never", "one order", "both orders", as the
 * forms of report have it
 */
const char *maple_met_name(enum maple_met met);

/*
 * Two places in the source that access one thing; one of them writes it. One
 * place with itself is in both orders once it was in any.
 */
struct maple_static_place_pair {
	char *function[2]; /* NULL: not known; so is file, with line 0 */
	char *file[2];
	unsigned int line[2];
	char *variable;	  /* "queue", "conn.state"; NULL: it has no name */
	bool executed[2]; /* by some run, with whatever input */
	bool sections;	  /* under one lock, in two sections of a function */
	enum maple_met seen;
	unsigned int later; /* of ONE_ORDER: the end that came second; 0, 1 */
};

struct maple_unreached {
	uint64_t met[MAPLE_METS]; /* pairs of places that may meet */
	bool observed;		  /* something is known of what runs executed */
	bool debug;		  /* the program has debug information */
	bool cut;		  /* it is too large, and there are more */
	/* All of them: by what runs made of them, by functions, by variable. */
	struct maple_static_place_pair *pair;
	size_t n, room;
};

/*
 * maple_unreached_find - the map of @program, by what @memo has of its runs
 * @unreached: free with maple_unreached_deinit()
 *
 * Reads the program's file at its path, and keeps what it finds in the user's
 * cache. Context: any thread, the caller's rights.
 * Errors: -ENOENT no file is there; -ESTALE it is another build; -ENODATA it
 * has no main(); -ENOMEM, and those of maple_memo_reached().
 */
int maple_unreached_find(struct maple_memo *memo,
			 const struct maple_memo_program_info *program,
			 struct maple_unreached *unreached,
			 struct maple_error *err);
void maple_unreached_deinit(struct maple_unreached *unreached);

#endif
