// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Statements on their way together: within a transaction that writes, what has
 * no answer waits until something that has one is asked, or for the COMMIT, and
 * goes with it. So a run costs a few ways to the server and back, and others
 * wait less long for the transaction's end.
 *
 * Each is called by the name under which the server has it prepared. An error
 * of any is that of the one that it was sent with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "memo/postgres/connection.h"

static bool put(struct maple_pg *c, const char *text, size_t n)
{
	while (c->nwaiting + n + 1 > c->waiting_room) {
		size_t room = c->waiting_room ? 2 * c->waiting_room : 1024;
		char *grown = realloc(c->waiting, room);

		if (!grown)
			return false;
		c->waiting = grown;
		c->waiting_room = room;
	}
	memcpy(c->waiting + c->nwaiting, text, n);
	c->nwaiting += n;
	c->waiting[c->nwaiting] = '\0';
	return true;
}

static bool put_text(struct maple_pg *c, const char *text)
{
	return put(c, text, strlen(text));
}

/* As a constant, which becomes what the statement takes. */
static bool put_value(struct maple_pg *c, const char *value)
{
	bool all = value ? put_text(c, "'") : put_text(c, "NULL");

	while (value && all) {
		size_t n = strcspn(value, "'");

		all = put(c, value, n) && put_text(c, value[n] ? "''" : "'");
		value = value[n] ? value + n + 1 : NULL;
	}
	return all;
}

/* maple_pg_wait - @sql goes with the next one */
int maple_pg_wait(struct maple_pg *c, const char *sql, struct maple_error *err)
{
	return put_text(c, sql) && put_text(c, ";")
		       ? 0
		       : maple_error_set(err, ENOMEM, "out of memory");
}

/* maple_pg_can_wait - whether the connection knows @call by its name */
bool maple_pg_can_wait(const struct maple_pg *c,
		       const struct maple_pg_call *call)
{
	return c->conn && call->types && call->prepared &&
	       call->generation == c->generation;
}

/* maple_pg_says_nothing - nobody needs its answer to go on */
bool maple_pg_says_nothing(const struct maple_pg_call *call)
{
	return strncmp(call->sql, "SELECT", 6) &&
	       !strstr(call->sql, " RETURNING ");
}

/* maple_pg_wait_call - the same, of what can wait */
int maple_pg_wait_call(struct maple_pg *c, const struct maple_pg_call *call,
		       struct maple_error *err)
{
	bool all = put_text(c, "EXECUTE ") && put_text(c, call->prepared);

	for (size_t i = 0; call->types[i] && all; i++)
		all = put_text(c, i ? "," : "(") &&
		      put_value(c, call->values[i]);
	if (all && *call->types)
		all = put_text(c, ")");
	return all && put_text(c, ";")
		       ? 0
		       : maple_error_set(err, ENOMEM, "out of memory");
}

/* maple_pg_send - all that waits; @result: the last one's */
int maple_pg_send(struct maple_pg *c, PGresult **result, struct maple_error *err)
{
	struct maple_pg_call call = { .sql = c->waiting, .bounded = true };
	int ret;

	if (!c->nwaiting)
		return 0;
	ret = maple_pg_call(c, &call, result, err);
	maple_pg_drop(c);
	return ret;
}

/* maple_pg_drop - nothing waits any more */
void maple_pg_drop(struct maple_pg *c)
{
	c->nwaiting = 0;
}
