/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How many lines of the journal a user may cause; see talk.c. */
#ifndef MAPLE_DAEMON_TALK_H
#define MAPLE_DAEMON_TALK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAPLE_TALK_USERS   64 /* at once */
#define MAPLE_TALK_UNKNOWN ((uid_t)-1)

enum maple_talk_kind { MAPLE_TALK_WARNING, MAPLE_TALK_NEWS, MAPLE_TALK_KINDS };

struct maple_talk {
	struct maple_talk_user {
		uid_t uid;
		uint64_t free[MAPLE_TALK_KINDS]; /* microseconds */
		uint64_t missing;
	} user[MAPLE_TALK_USERS];
	uint64_t others; /* lines missing, of users without a row */
};

bool maple_talk_take(struct maple_talk *talk, uid_t uid,
		     enum maple_talk_kind kind, uint64_t now);
uint64_t maple_talk_missing(struct maple_talk *talk, uid_t *uid);

#endif
