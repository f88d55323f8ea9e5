// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sessions with maple.ko for those who may not have them by themselves: on
 * their own processes, on the CPU that is lent to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <maple/module.h>
#include "access.h"
#include "journal.h"
#include "request.h"

static struct maple_client_session *find(struct maple_client *client,
					 int64_t name)
{
	for (int i = 0; i < MAPLE_SESSIONS; i++)
		if (client->session[i].module && client->session[i].name == name)
			return &client->session[i];
	return NULL;
}

static int hold_session(struct maple_client *client, unsigned int more,
			struct maple_error *err)
{
	unsigned int n = more;

	for (int i = 0; i < MAPLE_SESSIONS; i++)
		n += !!client->session[i].module;
	return maple_limit_hold(client, MAPLE_LIMIT_SESSIONS, n, err);
}

/* So many more, or fewer again. */
static int hold_sites(struct maple_client *client,
		      struct maple_client_session *session, int64_t more,
		      struct maple_error *err)
{
	uint64_t held = client->held[MAPLE_LIMIT_SITES] + (uint64_t)more;
	int e = maple_limit_hold(client, MAPLE_LIMIT_SITES, held, err);

	if (!e)
		session->sites += more;
	return e;
}

static int find_or_open(struct maple_client *client, int64_t name,
			struct maple_client_session **session,
			struct maple_error *err)
{
	int e;

	*session = find(client, name);
	for (int i = 0; i < MAPLE_SESSIONS && !*session; i++) {
		if (client->session[i].module)
			continue;
		e = hold_session(client, 1, err);
		if (!e)
			e = maple_module_open(&client->session[i].module, err);
		if (e) {
			hold_session(client, 0, NULL);
			return e;
		}
		client->session[i].name = name;
		*session = &client->session[i];
	}
	return *session ? 0
			: maple_error_set(err, EMFILE,
					  "%d sessions with maple.ko are the "
					  "most",
					  MAPLE_SESSIONS);
}

static void end(struct maple_client *client,
		struct maple_client_session *session)
{
	maple_module_close(session->module);
	hold_sites(client, session, -(int64_t)session->sites, NULL);
	memset(session, 0, sizeof(*session));
	hold_session(client, 0, NULL);
}

/* Whether it may last so long, with so many sites, which are taken. */
static int take(struct maple_client *client,
		struct maple_client_session *session,
		const struct maple_module_need *need, struct maple_error *err)
{
	int e = maple_limit_check(client, MAPLE_LIMIT_DEADLINE,
				  (need->deadline_ms + 999ull) / 1000, err);

	if (!e && need->unpinned && !client->is_root)
		e = maple_error_set(err, EACCES,
				    "real-time priorities go with a CPU: ask "
				    "for one, by LEASE");
	return e ? e : hold_sites(client, session, need->sites, err);
}

/* Of what the client may not touch, it may not see the hits either. */
static int check_file(struct maple_client *client, unsigned int command,
		      struct maple_error *err)
{
	struct statx st;

	if (command == MAPLE_CMD_START)
		return client->nfds
			       ? maple_access_process(client, client->fds[0],
						      MAPLE_ACCESS_TRACE, err)
			       : maple_error_set(err, EINVAL,
						 "START of no process");
	/* It may lie on a file system that does not answer. */
	if (client->nfds &&
	    (statx(client->fds[0], "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
		   STATX_TYPE, &st) ||
	     !S_ISREG(st.stx_mode)))
		return maple_error_set(err, EINVAL, "this is no file");
	return 0;
}

MAPLE_HANDLER(module)
{
	const struct maple_wire_module *m = &message->module;
	struct maple_module_request request = {
		.command = m->command,
		.attributes = m->attributes.data,
		.size = m->attributes.size,
		.fd = client->nfds ? client->fds[0] : -1,
		.cpu = client->lease.cpu,
		.strict = !client->is_root,
	};
	struct maple_wire_buffer attributes = { 0 };
	struct maple_client_session *session;
	struct maple_wire_answer answer = { 0 };
	struct maple_module_need need;
	struct maple_error why = { "" };
	int e;

	if (m->command == MAPLE_CMD_UNSPEC) {
		session = find(client, m->session);
		if (session)
			end(client, session);
		maple_client_say(client, MAPLE_WIRE_ANSWER, &answer,
				 client->serial, -1);
		return MAPLE_ANSWERED;
	}
	e = m->command > MAPLE_CMD_MAX
		    ? maple_error_set(err, EINVAL, "there is no command %u",
				      m->command)
		    : check_file(client, m->command, err);
	if (!e)
		e = maple_module_needs(&request, &need, err);
	if (!e)
		e = find_or_open(client, m->session, &session, err);
	if (!e)
		e = take(client, session, &need, err);
	if (e)
		return e;
	e = maple_module_ask(session->module, &request, &attributes, &why);
	if (e) {
		hold_sites(client, session, -(int64_t)need.sites, NULL);
	} else if (m->command == MAPLE_CMD_START &&
		   check_file(client, m->command, &why)) {
		/* It became another's before it was the session's. */
		end(client, session);
		e = -EPERM;
	}
	answer.error = (uint32_t)-e;
	answer.text = e ? why.text : NULL;
	answer.attributes = (struct maple_wire_bytes){
		attributes.data, (uint32_t)(e ? 0 : attributes.size)
	};
	e = maple_client_say(client, MAPLE_WIRE_ANSWER, &answer, client->serial,
			     -1);
	free(attributes.data);
	return e ? e : MAPLE_ANSWERED;
}

/* maple_module_forget - ends the sessions of @client */
void maple_module_forget(struct maple_client *client)
{
	for (int i = 0; i < MAPLE_SESSIONS; i++)
		if (client->session[i].module)
			end(client, &client->session[i]);
}
