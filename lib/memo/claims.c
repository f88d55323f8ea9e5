// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Claims: of campaigns that share a memo, which one tries a goal. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memo/spool/mirror.h"
#include "memo/sql.h"

#define DIGITS 21 /* of a number, with what stands before it */

/* maple_memo_shares - see maple/memo.h */
bool maple_memo_shares(const struct maple_memo *memo)
{
	return !memo->host && memo->driver->claim;
}

/* What is known of those that are ours, by now. */
static int look(struct maple_memo *memo, int64_t program,
		struct maple_memo_claim *claims, size_t n,
		struct maple_error *err)
{
	struct maple_memo_state *states = calloc(n, sizeof(*states));
	char *list = calloc(n + 1, DIGITS);
	size_t at = 0, ours = 0;
	int64_t last = 0;
	int ret = 0;

	if (!states || !list)
		ret = maple_error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !ret; i++) {
		if (claims[i].taken)
			continue;
		last = claims[i].goal;
		at += (size_t)sprintf(list + at, "%c%" PRId64,
				      ours++ ? ',' : '[',
				      maple_numbers_now(&memo->goals, last));
	}
	if (!ret && ours) {
		sprintf(list + at, "]");
		ret = ours == 1 ? maple_memo_state(memo, program, last, states,
						   err)
				: maple_marks_states(memo, program, list,
						     states, ours, err);
	}
	for (size_t i = 0, s = 0; i < n && !ret; i++) {
		if (claims[i].taken)
			continue;
		claims[i].state = states[s++];
		maple_mirror_state(memo, program, claims[i].goal,
				   &claims[i].state);
	}
	free(states);
	free(list);
	return ret;
}

/* maple_memo_claim - see maple/memo.h */
int maple_memo_claim(struct maple_memo *memo, int64_t program,
		     struct maple_memo_claim *claims, size_t n,
		     struct maple_error *err)
{
	int64_t goals[n + 1];
	bool taken[n + 1];
	int ret;

	assert(maple_memo_shares(memo) && !memo->driver->in_transaction(memo));
	for (size_t i = 0; i < n; i++)
		goals[i] = maple_numbers_now(&memo->goals, claims[i].goal);
	ret = n ? memo->driver->claim(memo, program, goals, n, taken, err) : 0;
	if (maple_mirror_leaves(memo, ret)) {
		/* Nobody else is seen from here. */
		ret = maple_mirror_leave(memo, err);
		memset(taken, 0, sizeof(taken));
	}
	for (size_t i = 0; i < n && !ret; i++)
		claims[i].taken = taken[i];
	/* A statement of its own: it sees what came before the claim. */
	return ret || !n ? ret : look(memo, program, claims, n, err);
}

/* maple_memo_release - see maple/memo.h */
int maple_memo_release(struct maple_memo *memo, int64_t program,
		       const int64_t *goals, size_t n, struct maple_error *err)
{
	int64_t rows[n + 1];

	/* Whoever has left the server has no claims there. */
	if (maple_mirror_is_left(memo))
		return 0;
	assert(maple_memo_shares(memo) && !memo->driver->in_transaction(memo));
	for (size_t i = 0; i < n; i++)
		rows[i] = maple_numbers_now(&memo->goals, goals[i]);
	return n ? memo->driver->release(memo, program, rows, n, err) : 0;
}
