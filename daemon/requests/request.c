// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From a frame to its handler: who may, in which order, and once only.
 *
 * What changes a campaign and is not done twice (MAPLE_WIRE_ONCE) runs in a
 * transaction that also notes the request's number and answer. A client that
 * lost us before it was answered asks again with that number, and gets the
 * answer of the first time. What it adds is charged there as well.
 */
#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <maple/version.h>
#include "../access.h"
#include "../journal.h"
#include "../limits/quota.h"
#include "request.h"

static const maple_handler handlers[MAPLE_WIRE_TYPES] = {
	[MAPLE_WIRE_HELLO] = maple_handle_hello,
	[MAPLE_WIRE_REALTIME] = maple_handle_realtime,
	[MAPLE_WIRE_LEASE] = maple_handle_lease,
	[MAPLE_WIRE_GIVE_BACK] = maple_handle_give_back,
	[MAPLE_WIRE_JOB] = maple_handle_job,
	[MAPLE_WIRE_TARGET] = maple_handle_target,
	[MAPLE_WIRE_JOINED] = maple_handle_joined,
	[MAPLE_WIRE_MODULE] = maple_handle_module,
	[MAPLE_WIRE_CAMPAIGN] = maple_handle_campaign,
	[MAPLE_WIRE_RESUME] = maple_handle_resume,
	[MAPLE_WIRE_END] = maple_handle_end,
	[MAPLE_WIRE_PROGRAM] = maple_handle_program,
	[MAPLE_WIRE_LEARN] = maple_handle_learn,
	[MAPLE_WIRE_MARK] = maple_handle_mark,
	[MAPLE_WIRE_RUN] = maple_handle_run,
	[MAPLE_WIRE_RUN_END] = maple_handle_run_end,
	[MAPLE_WIRE_SAMPLE] = maple_handle_sample,
	[MAPLE_WIRE_STORE] = maple_handle_store,
	[MAPLE_WIRE_KEEP] = maple_handle_keep,
	[MAPLE_WIRE_RECALL] = maple_handle_recall,
	[MAPLE_WIRE_OLDER] = maple_handle_older,
	[MAPLE_WIRE_CARRY] = maple_handle_carry,
	[MAPLE_WIRE_FORGET] = maple_handle_forget,
	[MAPLE_WIRE_FORGET_FINDING] = maple_handle_forget_finding,
	[MAPLE_WIRE_FORGET_ALL] = maple_handle_forget_all,
};

static const maple_reader readers[MAPLE_WIRE_TYPES] = {
	[MAPLE_WIRE_PROGRAMS] = maple_read_programs,
	[MAPLE_WIRE_MACHINES] = maple_read_machines,
	[MAPLE_WIRE_HOURS] = maple_read_hours,
	[MAPLE_WIRE_FINDINGS] = maple_read_findings,
	[MAPLE_WIRE_LOAD] = maple_read_load,
	[MAPLE_WIRE_SAMPLES] = maple_read_samples,
	[MAPLE_WIRE_COVERAGE] = maple_read_coverage,
	[MAPLE_WIRE_REACHED] = maple_read_reached,
	[MAPLE_WIRE_SUCCESS] = maple_read_success,
	[MAPLE_WIRE_CHECK] = maple_read_check,
	[MAPLE_WIRE_DUMP] = maple_read_dump,
};

/* ---- who is there ---- */

static int refuse_user(const struct maple_client *client,
		       struct maple_error *err)
{
	const struct passwd *user = getpwuid(client->peer.uid);
	const char *group = client->server->settings.group;

	if (!user)
		return maple_error_set(err, EACCES,
				       "user %d is not in group %s, and may not "
				       "use mapled",
				       (int)client->peer.uid, group);
	return maple_error_set(err, EACCES,
			       "only group %s may use mapled: sudo usermod -aG "
			       "%s %s, then log in again",
			       group, group, user->pw_name);
}

static void welcome(struct maple_client *client)
{
	const struct maple_server *s = client->server;
	const struct maple_wire_welcome w = {
		.version = MAPLE_WIRE_VERSION,
		.release = MAPLE_VERSION,
		.is_root = client->is_root,
		.database = s->settings.database,
		.cpus = (uint32_t)CPU_COUNT(&s->settings.cpus),
		.leased = s->leased,
		.waiting = s->waiting,
		.clients = s->nclients,
	};

	maple_client_say(client, MAPLE_WIRE_WELCOME, &w, client->serial, -1);
}

MAPLE_HANDLER(hello)
{
	const struct maple_wire_hello *hello = &message->hello;
	int e;

	if (hello->version != MAPLE_WIRE_VERSION) {
		client->closing = true;
		return maple_error_set(
			err, EPROTO,
			"mapled %s speaks version %u of the protocol, mapletest "
			"%.60s version %u: install both from one release",
			MAPLE_VERSION, MAPLE_WIRE_VERSION,
			hello->release ? hello->release : "?", hello->version);
	}
	if (!client->may_use)
		return refuse_user(client, err);
	if (client->greeted || client->nfds != 1)
		return maple_error_set(err, EINVAL, "one HELLO, with one pidfd");
	e = maple_access_self(client, client->fds[0], err);
	if (e)
		return e;
	client->process = client->fds[0];
	client->nfds = 0;
	client->greeted = true;
	welcome(client);
	return MAPLE_ANSWERED;
}

/* ---- every request ---- */

static int may(const struct maple_client *client, unsigned int type,
	       struct maple_error *err)
{
	enum maple_wire_kind kind = maple_wire_kind(type);

	if (kind == MAPLE_WIRE_ASK)
		return 0;
	if (!client->may_use)
		return refuse_user(client, err);
	if (!client->greeted)
		return maple_error_set(err, EPROTO, "%s before HELLO",
				       maple_wire_name(type));
	if (kind == MAPLE_WIRE_ROOT && !client->is_root)
		return maple_error_set(err, EPERM, "that takes root: sudo");
	if (kind == MAPLE_WIRE_ONCE && !client->campaign)
		return maple_error_set(err, EINVAL, "%s outside of a campaign",
				       maple_wire_name(type));
	return 0;
}

static int in_transaction(struct maple_client *client, unsigned int type,
			  size_t size, const union maple_wire_message *message,
			  int64_t *number, struct maple_error *err)
{
	struct maple_memo *memo = client->server->memo;
	int64_t campaign = client->campaign;
	int e = maple_quota_check(client, type, size, err);

	if (!e)
		e = handlers[type](client, message, number, err);
	assert(e <= 0);
	if (!e)
		e = maple_memo_note(memo, campaign, client->serial, *number,
				    maple_quota_cost(type, size), err);
	if (!e)
		e = maple_memo_commit(memo, err);
	if (e)
		maple_memo_rollback(memo);
	return e;
}

static int once(struct maple_client *client, unsigned int type, size_t size,
		const union maple_wire_message *message, int64_t *number,
		struct maple_error *err)
{
	struct maple_memo *memo = client->server->memo;
	int e = maple_memo_begin(memo, err);

	if (e)
		return e;
	e = maple_memo_done(memo, client->campaign, client->serial, number, err);
	if (!e)
		return in_transaction(client, type, size, message, number, err);
	maple_memo_rollback(memo);
	return e < 0 ? e : 0;
}

/*
 * maple_request - carries out a request of @type, and answers it
 *
 * Returns 0, or -EPROTO when it is none: then nothing more is to be heard from
 * this client.
 */
int maple_request(struct maple_client *client, unsigned int type,
		  const void *data, size_t size, struct maple_error *err)
{
	struct maple_error why = { "" };
	struct maple_wire_number done = { 0 };
	union maple_wire_message message;
	int e = maple_wire_get(type, data, size, &message, err);

	if (e)
		return e;
	assert(!handlers[type] != !readers[type]);
	*client->unsaid.text = 0;
	e = may(client, type, &why);
	if (!e && readers[type])
		e = maple_reading_begin(client, readers[type], type, data, size,
					&why);
	else if (!e && maple_wire_kind(type) == MAPLE_WIRE_ONCE)
		e = once(client, type, size, &message, &done.number, &why);
	else if (!e)
		e = handlers[type](client, &message, &done.number, &why);
	if (e == MAPLE_ANSWERED)
		return 0;
	if (!e)
		e = maple_client_say(client, MAPLE_WIRE_NUMBER, &done,
				     client->serial, -1);
	if (e)
		maple_client_refuse(client, client->serial, e,
				    *why.text		   ? why.text
				    : *client->unsaid.text ? client->unsaid.text
							   : strerror(-e));
	return 0;
}
