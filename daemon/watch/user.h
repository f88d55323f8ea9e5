/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Whose processes are watched. All that is read of a user, and all that is
 * begun for one, is done by a child that has become that user.
 */
#ifndef MAPLE_DAEMON_WATCH_USER_H
#define MAPLE_DAEMON_WATCH_USER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_watch_user {
	char name[64];
	uid_t uid;
	gid_t gid;
	char home[PATH_MAX];
	char place[PATH_MAX]; /* of what has no home; "": there is one */
};

/* Looks @name up; who has no home gets a place from root. */
int maple_watch_user_find(const char *name, struct maple_watch_user *user,
			  struct maple_error *err);

/* The calling process, a child, is @user from now on; -errno. */
int maple_watch_user_become(const struct maple_watch_user *user);

/*
 * Has a child that is @user do @work, which fills @size bytes at @answer
 *
 * Returns what @work has returned, or -errno: -EPERM we may not become that
 * user, -ETIMEDOUT it does not come to an end.
 */
int maple_watch_user_do(const struct maple_watch_user *user,
			int (*work)(const void *ctx, void *answer),
			const void *ctx, void *answer, size_t size);

#endif
