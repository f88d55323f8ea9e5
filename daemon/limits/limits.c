// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Limits per user: the table, the counting, the refusal. Each is an option of
 * mapled.conf, which the refusal names. Root has none.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../requests/aside.h"
#include "../client.h"
#include "limits.h"
#include "turns.h"

enum unit { COUNT, BYTES, SECONDS };

/* In the order of enum maple_limit. Text: what the refusal says of it. */
static const struct row {
	const char *name;
	enum unit unit;
	uint64_t usual, most;
	const char *text;
	const char *mend; /* what the user can do; NULL: nothing */
} rows[MAPLE_LIMITS] = {
	/* A campaign has one for itself and one for each of its jobs. */
	{ "user-clients", COUNT, 128, 4096, "connections" },
	{ "user-jobs", COUNT, 16, 4096, "jobs at once",
	  "end one with 'mapletest jobs --stop N'" },
	{ "user-sessions", COUNT, 64, 1024, "sessions of maple.ko" },
	{ "user-sites", COUNT, 32768, 1u << 22, "probed sites" },
	{ "user-in", BYTES, 64u << 20, 1u << 30,
	  "bytes in requests that are not all there" },
	{ "user-out", BYTES, 64u << 20, 1u << 30,
	  "bytes in answers that are not read" },
	{ "lease-time", SECONDS, 3600, 7 * 86400, "seconds with a CPU" },
	{ "deadline", SECONDS, 900, 86400, "seconds of a session" },
	{ "realtime", SECONDS, 600, 86400,
	  "seconds of real-time without a pause" },
	{ "user-memo", BYTES, 256u << 20, 1ull << 40,
	  "bytes in the memo, of which a tenth is kept for findings," },
	{ "max-memo", BYTES, 4ull << 30, 1ull << 44, "bytes of the memo" },
};

/* ---- settings ---- */

void maple_limits_init(uint64_t limit[MAPLE_LIMITS])
{
	for (int i = 0; i < MAPLE_LIMITS; i++)
		limit[i] = rows[i].usual;
}

/* 12, 12K, 12M, 12G */
static bool read_number(const char *value, const struct row *row, uint64_t *n)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*n = strtoull(value, &end, 10);
	unit = row->unit == BYTES && *end ? strchr(units, *end) : NULL;
	for (const char *u = units; unit && u <= unit; u++)
		*n = *n > row->most ? *n : *n << 10;
	return isdigit((unsigned char)*value) && !errno && !end[unit ? 1 : 0] &&
	       *n >= 1 && *n <= row->most;
}

/*
 * maple_limits_set - what the settings say of one
 * @expected: what its value has to be, when it is not
 *
 * Errors: -ENOENT no limit has this name, -EINVAL.
 */
int maple_limits_set(uint64_t limit[MAPLE_LIMITS], const char *name,
		     const char *value, const char **expected)
{
	static char text[96];
	uint64_t n;

	for (int i = 0; i < MAPLE_LIMITS; i++) {
		if (strcmp(name, rows[i].name) != 0)
			continue;
		if (read_number(value, &rows[i], &n)) {
			limit[i] = n;
			return 0;
		}
		snprintf(text, sizeof(text), "a number from 1 to %" PRIu64 "%s",
			 rows[i].most,
			 rows[i].unit == BYTES ? ", or with K, M or G" : "");
		*expected = text;
		return -EINVAL;
	}
	return -ENOENT;
}

/* ---- accounts ---- */

/* Those that nobody is behind any more, and nothing is owed by. */
static void sweep(struct maple_server *server, bool all)
{
	struct maple_account **at = &server->accounts, *a;

	while ((a = *at)) {
		if (!all && (a->clients || !maple_turns_settled(a) ||
			     !maple_aside_is_idle(a->aside))) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		maple_aside_end(a->aside);
		free(a);
	}
}

/* maple_limits_join - @client, whose user is known, gets its user's account */
int maple_limits_join(struct maple_client *client, struct maple_error *err)
{
	struct maple_server *s = client->server;
	struct maple_account *a;

	sweep(s, false);
	a = s->accounts;
	while (a && a->uid != client->peer.uid)
		a = a->next;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return maple_error_set(err, ENOMEM, "out of memory");
		a->uid = client->peer.uid;
		a->next = s->accounts;
		s->accounts = a;
	}
	a->clients++;
	client->account = a;
	return 0;
}

/* maple_limits_part - @client holds nothing any more */
void maple_limits_part(struct maple_client *client)
{
	struct maple_account *a = client->account;

	if (!a)
		return;
	for (int i = 0; i < MAPLE_LIMITS; i++)
		maple_limit_hold(client, i, 0, NULL);
	client->account = NULL;
	a->clients--;
}

/* maple_limits_close - no accounts any more; all clients are gone */
void maple_limits_close(struct maple_server *server)
{
	sweep(server, true);
	maple_aside_deinit();
}

uint64_t maple_limit_of(const struct maple_server *server,
			enum maple_limit which)
{
	return server->settings.limit[which];
}

static int refuse(const struct maple_client *client, enum maple_limit which,
		  uint64_t n, struct maple_error *err)
{
	const char *mend = rows[which].mend;

	return maple_error_set(
		err, EDQUOT,
		"%" PRIu64 " %s are too many for user %d: %" PRIu64
		" are the most; %s%ssee %s in mapled.conf(5)",
		n, rows[which].text, (int)client->peer.uid,
		maple_limit_of(client->server, which), mend ? mend : "",
		mend ? ", or " : "", rows[which].name);
}

/* maple_limit_check - whether @client's user may have @n; -EDQUOT */
int maple_limit_check(const struct maple_client *client, enum maple_limit which,
		      uint64_t n, struct maple_error *err)
{
	if (client->is_root || n <= maple_limit_of(client->server, which))
		return 0;
	return refuse(client, which, n, err);
}

/* maple_limit_keep - the same as maple_limit_hold() below; refused to nobody */
void maple_limit_keep(struct maple_client *client, enum maple_limit which,
		      uint64_t n)
{
	struct maple_account *a = client->account;

	assert(a->used[which] >= client->held[which]);
	a->used[which] += n - client->held[which];
	client->held[which] = n;
}

/*
 * maple_limit_hold - @client holds @n now, and its user so many more or less
 * than before; -EDQUOT, and it is as it was
 */
int maple_limit_hold(struct maple_client *client, enum maple_limit which,
		     uint64_t n, struct maple_error *err)
{
	struct maple_account *a = client->account;
	uint64_t others = a->used[which] - client->held[which];
	int e = 0;

	assert(a->used[which] >= client->held[which]);
	if (n > client->held[which])
		e = maple_limit_check(client, which, others + n, err);
	if (e)
		return e;
	maple_limit_keep(client, which, n);
	return 0;
}
