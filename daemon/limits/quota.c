// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How much of the memo a user may fill. The database knows what each user's
 * campaigns, findings and corpora take; a campaign is charged with the size of
 * what it sends. The last tenth is for findings, and for the ends of what has
 * begun: runs and marks are refused before. So is the last tenth of the memo
 * itself.
 */
#include "limits.h"
#include "quota.h"

#define ROW	64 /* bytes, beside what the message has */
#define RESERVE 10 /* a part of so many */

static bool comes_last(unsigned int type)
{
	return type == MAPLE_WIRE_STORE || type == MAPLE_WIRE_RUN_END ||
	       type == MAPLE_WIRE_END;
}

/* maple_quota_cost - the bytes that such a request adds, about */
uint64_t maple_quota_cost(unsigned int type, size_t size)
{
	/* These are charged as they are stored: they may replace others. */
	return type == MAPLE_WIRE_STORE || type == MAPLE_WIRE_KEEP ? 0
								   : size + ROW;
}

/* Whether the memo has room for that, and for findings afterwards. */
static int check_all(const struct maple_server *server, size_t size,
		     struct maple_error *err)
{
	uint64_t most = maple_limit_of(server, MAPLE_LIMIT_ALL_MEMO);

	return maple_memo_room(server->memo, size + most / RESERVE, err);
}

/*
 * maple_quota_check - whether @client may add so much; -EDQUOT, or -ENOSPC
 * where nobody may
 */
int maple_quota_check(const struct maple_client *client, unsigned int type,
		      size_t size, struct maple_error *err)
{
	uint64_t most = maple_limit_of(client->server, MAPLE_LIMIT_MEMO);
	uint64_t used = 0;
	int e = comes_last(type) ? 0 : check_all(client->server, size, err);

	if (e || client->is_root)
		return e;
	e = maple_memo_usage(client->server->memo, client->peer.uid, &used, err);
	used += size;
	if (!comes_last(type))
		used += most / RESERVE;
	return e ? e : maple_limit_check(client, MAPLE_LIMIT_MEMO, used, err);
}
