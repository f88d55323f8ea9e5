// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which lines about a user's clients go to the journal. Whoever connects and is
 * refused, again and again, must not fill it, nor have journald drop what is
 * said of others. So a user has some lines at once, and then one in so much
 * time; of the others only their number is told. Warnings and news (campaigns,
 * findings, CPUs) are counted apart.
 *
 * One who has many uids has no more of it: there are only so many rows. Who
 * finds none is not told of by name until one is free again.
 *
 * Not for what root's clients do, nor for what mapled says of itself.
 */
#include <stddef.h>
#include "talk.h"

/* At once, and then one in so many microseconds. */
static const struct {
	uint64_t most, every;
} rates[MAPLE_TALK_KINDS] = {
	[MAPLE_TALK_WARNING] = { 5, 60000000 },
	[MAPLE_TALK_NEWS] = { 300, 1000000 },
};

static bool is_unused(const struct maple_talk_user *user, uint64_t now)
{
	for (int i = 0; i < MAPLE_TALK_KINDS; i++)
		if (user->free[i] > now)
			return false;
	return !user->missing;
}

/* The row of @uid, or one that says nothing of anybody; NULL: there is none. */
static struct maple_talk_user *row(struct maple_talk *talk, uid_t uid,
				   uint64_t now)
{
	struct maple_talk_user *u, *unused = NULL;

	for (u = talk->user; u < talk->user + MAPLE_TALK_USERS; u++) {
		if (!is_unused(u, now)) {
			if (u->uid == uid)
				return u;
		} else if (!unused) {
			unused = u;
		}
	}
	if (unused)
		*unused = (struct maple_talk_user){ .uid = uid };
	return unused;
}

/*
 * maple_talk_take - whether a line about @uid may be said
 * @now: microseconds, never less than before
 *
 * Each line takes its time, one after the other; all at once may be so much
 * ahead as lines may be said at once. Who is not told of is counted.
 */
bool maple_talk_take(struct maple_talk *talk, uid_t uid,
		     enum maple_talk_kind kind, uint64_t now)
{
	struct maple_talk_user *u = row(talk, uid, now);
	uint64_t every = rates[kind].every;

	if (!u) {
		talk->others++;
		return false;
	}
	if (u->free[kind] < now)
		u->free[kind] = now;
	if (u->free[kind] - now > (rates[kind].most - 1) * every) {
		u->missing++;
		return false;
	}
	u->free[kind] += every;
	return true;
}

/*
 * maple_talk_missing - how many lines were not said about one user, whose
 * number goes to @uid, or about all who had no row: MAPLE_TALK_UNKNOWN
 *
 * Each is told once; 0: there is no other.
 */
uint64_t maple_talk_missing(struct maple_talk *talk, uid_t *uid)
{
	struct maple_talk_user *u;
	uint64_t n;

	for (u = talk->user; u < talk->user + MAPLE_TALK_USERS; u++) {
		n = u->missing;
		if (!n)
			continue;
		u->missing = 0;
		*uid = u->uid;
		return n;
	}
	n = talk->others;
	talk->others = 0;
	*uid = MAPLE_TALK_UNKNOWN;
	return n;
}
