/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Spools: what campaigns have kept locally since their server was lost; see
 * mirror.h. Each is a memo in a file of its own, with some tables more, in one
 * folder. While a campaign writes it, it is locked.
 */
#ifndef MAPLE_MEMO_SPOOL_H
#define MAPLE_MEMO_SPOOL_H

#include <maple/memo.h>

/*
 * maple_spool_make - an empty file, ours alone, for @client
 * @path: to be freed; @lock: to be closed after all else that has the file open
 */
int maple_spool_make(const char *folder, const char *client, char **path,
		     int *lock, struct maple_error *err);

/*
 * maple_spool_deliver - the spool @path to @memo, at its server, all or nothing
 * @what: MAPLE_SPOOL_DELIVERED, ...
 */
enum maple_spool_end {
	MAPLE_SPOOL_DELIVERED,
	MAPLE_SPOOL_BEFORE, /* that was done already: now nothing was */
	MAPLE_SPOOL_OTHER,  /* another server's */
};

/*
 * @going_on: the campaign that has written it ends the runs under way by itself
 */
int maple_spool_deliver(struct maple_memo *memo, const char *path,
			bool going_on, enum maple_spool_end *what,
			int64_t *runs, struct maple_error *err);

/*
 * maple_spool_deliver_others - as maple_memo_deliver(), but for the spool @not,
 * which is our own
 * maple_spool_drop - the spool at @path is gone
 */
int maple_spool_deliver_others(struct maple_memo *memo, const char *folder,
			       const char * not, struct maple_error *err);
void maple_spool_drop(const char *path);

#endif
