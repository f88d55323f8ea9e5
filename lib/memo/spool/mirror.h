/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A mirror: beside the server's memo, what this process has written there and
 * what it relies on, in SQLite, with the server's numbers. It is in memory
 * while the server is there, and answers what never changes in its place. When
 * the server is lost the mirror becomes a file, the spool, and from then on it
 * is the memo; spool.c brings it to the server later.
 *
 * Without a mirror each of these does nothing.
 */
#ifndef MAPLE_MEMO_MIRROR_H
#define MAPLE_MEMO_MIRROR_H

#include "memo/sql.h"

/* What is dropped when the server has it. */
enum maple_mirror_kept {
	KEPT_MARKS,
	KEPT_FORGOTTEN,
	KEPT_SAMPLES,
	KEPT_RUNS,
	KEPT_FINDINGS,
	KEPT_CORPUS,
	KEPT_MAX,
};

struct maple_mirror {
	struct maple_memo *memo; /* the mirror; ours even when its db is not */
	struct maple_query *mark, *forget, *state, *drop[KEPT_MAX];
	unsigned int told; /* a bit for each of KEPT_* that there is */
	unsigned int runs; /* that began since runs were dropped */
	char *folder;
	void (*notice)(void *ctx, const char *text);
	void *ctx;
	bool found;

	bool left; /* then these are what is left of the server */
	struct maple_memo former;
	int lock;     /* of the spool: it is being written */
	bool strange; /* the campaign, or its program, began without a server */
	double next, pause;  /* when the server is looked for, and how often */
	unsigned int spools; /* that came after the first one */
};

/* maple_mirror_leaves - whether @ret, of the server, is a reason to leave it */
bool maple_mirror_leaves(const struct maple_memo *memo, int ret);
/*
 * maple_mirror_leave - the memo is the spool from now on, at the point where it
 * was with the server; @err says why, and, if that fails, what stops us
 */
int maple_mirror_leave(struct maple_memo *memo, struct maple_error *err);
bool maple_mirror_is_left(const struct maple_memo *memo);

/*
 * maple_mirror_tell - statement @which was done, with that answer
 * maple_mirror_state - what the server knows of @goal
 * maple_mirror_kept, maple_mirror_lost - the transaction was; what was lost was
 * relied on, perhaps, so there is no mirror any more
 */
int maple_mirror_tell(struct maple_memo *memo, enum maple_statement which,
		      int64_t id, struct maple_error *err, const char *types,
		      va_list ap);
void maple_mirror_state(struct maple_memo *memo, int64_t program, int64_t goal,
			const struct maple_memo_state *state);
void maple_mirror_kept(struct maple_memo *memo);
void maple_mirror_lost(struct maple_memo *memo);

/*
 * maple_mirror_find - as maple_sql_number_of(), of what never changes; 0: ask
 * the server
 * maple_mirror_knows - whether the last one was found
 */
int maple_mirror_find(struct maple_memo *memo, enum maple_statement which,
		      int64_t *id, struct maple_error *err, const char *types,
		      va_list ap);
bool maple_mirror_knows(const struct maple_memo *memo);

int maple_mirror_prepare(struct maple_mirror *mirror, struct maple_memo *memo,
			 struct maple_error *err);
void maple_mirror_finish(struct maple_mirror *mirror);
void maple_mirror_close(struct maple_mirror *mirror);

/* ---- return.c ---- */

#define MAPLE_RETURN_FIRST 1.0 /* seconds until the server is looked for */

/*
 * maple_return_try - when the server is there again, what the spool has is
 * delivered, and the server is the memo; between transactions
 * @fresh: nobody knows numbers of a campaign, or of its goals and runs
 *
 * An error is the spool's own. Without a spool it does nothing.
 */
int maple_return_try(struct maple_memo *memo, bool fresh,
		     struct maple_error *err);

#endif
