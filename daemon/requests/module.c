// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sessions with maple.ko for those who may not have them by themselves: on
 * their own processes, on the CPU that is lent to them.
 *
 * Any command may wait in the kernel, for the memory of a process that hangs,
 * say. So a client has a thread for them, which does one at a time. Until it is
 * done the client is there, gone or not, with all that it holds: its sessions
 * count as its user's, and its CPU is nobody else's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <maple/module.h>
#include "../access.h"
#include "aside.h"
#include "request.h"

struct maple_module_command {
	struct maple_aside_job job;
	struct maple_aside *aside;
	struct maple_client *client;
	void (*then)(struct maple_client *client);
	void (*parting)(struct maple_client *client); /* ... if it is gone */

	/* what is asked */
	struct maple_client_session *session;
	struct maple_module_request request;
	void *attributes;
	uint32_t sites;

	bool ends[MAPLE_SESSIONS]; /* or which sessions are ended */

	/* what came of it */
	int error;
	struct maple_error why;
	struct maple_wire_buffer answer;
};

/* ---- what a client has ---- */

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
static int check_file(const struct maple_client *client, unsigned int command,
		      int fd, struct maple_error *err)
{
	struct statx st;

	if (command == MAPLE_CMD_START)
		return fd >= 0 ? maple_access_process(client, fd,
						      MAPLE_ACCESS_TRACE, err)
			       : maple_error_set(err, EINVAL,
						 "START of no process");
	/* It may lie on a file system that does not answer. */
	if (fd >= 0 && (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			      STATX_TYPE, &st) ||
			!S_ISREG(st.stx_mode)))
		return maple_error_set(err, EINVAL, "this is no file");
	return 0;
}

/* ---- aside ---- */

static void ask(struct maple_aside_job *job)
{
	struct maple_module_command *c = (struct maple_module_command *)job;

	c->error = maple_module_ask(c->session->module, &c->request, &c->answer,
				    &c->why);
}

static void end(struct maple_aside_job *job)
{
	struct maple_module_command *c = (struct maple_module_command *)job;

	for (int i = 0; i < MAPLE_SESSIONS; i++)
		if (c->ends[i])
			maple_module_close(c->client->session[i].module);
}

/* ---- in the loop ---- */

static void begin(struct maple_module_command *c,
		  void (*work)(struct maple_aside_job *job),
		  void (*done)(struct maple_aside_job *job))
{
	c->client->asks = true;
	c->job.work = work;
	c->job.done = done;
	maple_aside_do(c->aside, &c->job);
}

static void go_on(struct maple_module_command *c)
{
	void (*parting)(struct maple_client * client) = c->parting;

	c->client->asks = false;
	c->parting = NULL;
	if (parting)
		maple_module_end(c->client, parting);
	else
		c->then(c->client);
}

/* Those of c->ends count no more. */
static void forget(struct maple_module_command *c)
{
	struct maple_client *client = c->client;

	for (int i = 0; i < MAPLE_SESSIONS; i++) {
		struct maple_client_session *session = &client->session[i];

		if (!c->ends[i])
			continue;
		hold_sites(client, session, -(int64_t)session->sites, NULL);
		memset(session, 0, sizeof(*session));
		c->ends[i] = false;
	}
	hold_session(client, 0, NULL);
}

static void ended(struct maple_aside_job *job)
{
	struct maple_module_command *c = (struct maple_module_command *)job;

	forget(c);
	go_on(c);
}

static void end_one(struct maple_module_command *c,
		    const struct maple_client_session *session)
{
	c->ends[session - c->client->session] = true;
	begin(c, end, ended);
}

/*
 * maple_module_end - ends the sessions of @client, and goes on with @then, now
 * or later, from the loop
 *
 * While one of its commands is under way only who has lost @client asks for it.
 */
void maple_module_end(struct maple_client *client,
		      void (*then)(struct maple_client *client))
{
	struct maple_module_command *c = client->command;
	bool any = false;

	if (client->asks) {
		c->parting = then;
		return;
	}
	for (int i = 0; i < MAPLE_SESSIONS; i++)
		if (client->session[i].module)
			any = c->ends[i] = true;
	if (!any) {
		then(client);
		return;
	}
	c->then = then;
	if (!client->server->closing) {
		begin(c, end, ended);
		return;
	}
	/* There is no loop any more. */
	end(&c->job);
	ended(&c->job);
}

/* maple_module_deinit - @client has no sessions any more */
void maple_module_deinit(struct maple_client *client)
{
	struct maple_module_command *c = client->command;

	if (!c)
		return;
	maple_aside_end(c->aside);
	free(c->attributes);
	free(c->answer.data);
	free(c);
	client->command = NULL;
}

static void say(struct maple_client *client,
		const struct maple_wire_answer *answer)
{
	int e = maple_client_say(client, MAPLE_WIRE_ANSWER, answer,
				 client->serial, -1);

	if (e)
		maple_client_refuse(client, client->serial, e,
				    *client->unsaid.text ? client->unsaid.text
							 : strerror(-e));
	maple_client_wake(client);
}

static void answer(struct maple_client *client)
{
	struct maple_module_command *c = client->command;
	const struct maple_wire_answer answer = {
		.error = (uint32_t)-c->error,
		.text = c->error ? c->why.text : NULL,
		.attributes = { c->answer.data,
				(uint32_t)(c->error ? 0 : c->answer.size) },
	};

	say(client, &answer);
}

static void asked(struct maple_aside_job *job)
{
	struct maple_module_command *c = (struct maple_module_command *)job;
	struct maple_client *client = c->client;
	unsigned int command = c->request.command;
	int fd = c->request.fd;
	bool lost = !c->error && !c->parting && command == MAPLE_CMD_START &&
		    check_file(client, command, fd, &c->why);

	if (c->error)
		hold_sites(client, c->session, -(int64_t)c->sites, NULL);
	if (fd >= 0)
		maple_aside_close(client->account, fd);
	if (!lost) {
		go_on(c);
		return;
	}
	/* It became another's before it was the session's. */
	c->error = -EPERM;
	end_one(c, c->session);
}

/* The thread of a client. */
static int get_command(struct maple_client *client, struct maple_error *err)
{
	struct maple_module_command *c;

	if (client->command)
		return 0;
	c = calloc(1, sizeof(*c));
	if (c)
		c->aside = maple_aside_create(0);
	if (!c || !c->aside) {
		free(c);
		return maple_error_set(err, EAGAIN,
				       "mapled has no thread for it");
	}
	c->client = client;
	client->command = c;
	return 0;
}

/* What was asked before is forgotten. */
static int set_command(struct maple_module_command *c,
		       const struct maple_module_request *request,
		       struct maple_error *err)
{
	void *copy = realloc(c->attributes, request->size + 1);

	if (!copy)
		return maple_error_set(err, ENOMEM, "out of memory");
	memcpy(copy, request->attributes, request->size);
	c->attributes = copy;
	c->request = *request;
	c->request.attributes = copy;
	c->answer.size = 0;
	*c->why.text = '\0';
	c->error = 0;
	c->then = answer;
	return 0;
}

/* To be done aside; the file that came with it is the command's from then on. */
static int prepare(struct maple_client *client, int64_t name,
		   const struct maple_module_request *request,
		   struct maple_error *err)
{
	struct maple_module_need need;
	struct maple_module_command *c;
	int e = check_file(client, request->command, request->fd, err);

	if (!e)
		e = maple_module_needs(request, &need, err);
	if (!e)
		e = get_command(client, err);
	c = client->command;
	if (!e)
		e = set_command(c, request, err);
	if (!e)
		e = find_or_open(client, name, &c->session, err);
	if (!e)
		e = take(client, c->session, &need, err);
	if (!e)
		c->sites = need.sites;
	return e;
}

static int end_by_name(struct maple_client *client, int64_t name,
		       const struct maple_module_request *request,
		       struct maple_error *err)
{
	const struct maple_wire_answer nothing = { 0 };
	struct maple_client_session *session = find(client, name);
	int e = session ? set_command(client->command, request, err) : 0;

	if (e)
		return e;
	if (session)
		end_one(client->command, session);
	else
		say(client, &nothing);
	return MAPLE_ANSWERED;
}

MAPLE_HANDLER(module)
{
	const struct maple_wire_module *m = &message->module;
	const struct maple_module_request request = {
		.command = m->command,
		.attributes = m->attributes.data,
		.size = m->attributes.size,
		.fd = client->nfds ? client->fds[0] : -1,
		.cpu = client->lease.cpu,
		.strict = !client->is_root,
	};
	int e;

	if (m->command == MAPLE_CMD_UNSPEC)
		return end_by_name(client, m->session, &request, err);
	e = m->command > MAPLE_CMD_MAX
		    ? maple_error_set(err, EINVAL, "there is no command %u",
				      m->command)
		    : prepare(client, m->session, &request, err);
	if (e)
		return e;
	client->nfds = 0;
	begin(client->command, ask, asked);
	return MAPLE_ANSWERED;
}
