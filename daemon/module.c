// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sessions with maple.ko for those who may not have them by themselves: on
 * their own processes, on the CPU that is lent to them.
 */
#include <errno.h>
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

static int find_or_open(struct maple_client *client, int64_t name,
			struct maple_client_session **session,
			struct maple_error *err)
{
	int e;

	*session = find(client, name);
	for (int i = 0; i < MAPLE_SESSIONS && !*session; i++) {
		if (client->session[i].module)
			continue;
		e = maple_module_open(&client->session[i].module, err);
		if (e)
			return e;
		client->session[i].name = name;
		*session = &client->session[i];
	}
	return *session ? 0
			: maple_error_set(err, EMFILE,
					  "%d sessions with maple.ko are the "
					  "most",
					  MAPLE_SESSIONS);
}

static void end(struct maple_client_session *session)
{
	maple_module_close(session->module);
	memset(session, 0, sizeof(*session));
}

/* Of what the client may not touch, it may not see the hits either. */
static int check_file(struct maple_client *client, unsigned int command,
		      struct maple_error *err)
{
	struct stat st;

	if (command == MAPLE_CMD_START)
		return client->nfds
			       ? maple_access_process(client, client->fds[0],
						      false, err)
			       : maple_error_set(err, EINVAL,
						 "START of no process");
	if (client->nfds && (fstat(client->fds[0], &st) || !S_ISREG(st.st_mode)))
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
		.cpu = client->cpu,
	};
	struct maple_wire_buffer attributes = { 0 };
	struct maple_client_session *session;
	struct maple_wire_answer answer = { 0 };
	struct maple_error why = { "" };
	int e;

	if (m->command == MAPLE_CMD_UNSPEC) {
		session = find(client, m->session);
		if (session)
			end(session);
		maple_client_say(client, MAPLE_WIRE_ANSWER, &answer,
				 client->serial, -1);
		return MAPLE_ANSWERED;
	}
	e = m->command > MAPLE_CMD_MAX
		    ? maple_error_set(err, EINVAL, "there is no command %u",
				      m->command)
		    : check_file(client, m->command, err);
	if (!e)
		e = find_or_open(client, m->session, &session, err);
	if (e)
		return e;
	e = maple_module_ask(session->module, &request, &attributes, &why);
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
			end(&client->session[i]);
}
