// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may stay, as there are only max-clients places. A user may have as many
 * as are then still free, so that whatever one does, and then another, there
 * is a place left for the next. Whoever connects and says nothing has no place
 * for long, and makes room for somebody else at once; nor has who stops in the
 * middle of a request or an answer, or has had nothing to say for long.
 */
#include <errno.h>
#include <string.h>
#include "../journal.h"
#include "places.h"

#define SILENCE_US 10000000  /* until HELLO */
#define HALFWAY_US 30000000  /* with half a request, or half an answer */
#define IDLE_US	   600000000 /* with no campaign, and nothing that is lent */

static unsigned int of_user(const struct maple_server *server, uid_t uid)
{
	unsigned int n = 0;

	for (struct maple_client *c = server->clients; c; c = c->next)
		n += c->peer.uid == uid;
	return n;
}

/* Whether @client, who is counted already, may stay. */
static bool fits(const struct maple_client *client)
{
	const struct maple_server *s = client->server;
	unsigned int most = s->settings.max_clients;
	unsigned int theirs = of_user(s, client->peer.uid);

	if (s->nclients > most)
		return false;
	/* The first of each, as long as there is one. */
	return client->is_root || theirs == 1 || theirs <= most - s->nclients;
}

/* The one that has been silent for longest, of @uid or, with NULL, of all. */
static struct maple_client *silent(const struct maple_client *but,
				   const uid_t *uid)
{
	struct maple_client *oldest = NULL, *c;

	for (c = but->server->clients; c; c = c->next)
		if (c != but && !c->greeted && (!uid || c->peer.uid == *uid))
			oldest = c;
	return oldest;
}

/*
 * maple_places_take - a place for @client, who has just come
 *
 * Others that are silent go for it. Errors: -EUSERS, there is none.
 */
int maple_places_take(struct maple_client *client, struct maple_error *err)
{
	const struct maple_server *s = client->server;
	struct maple_client *other;

	while (!fits(client)) {
		other = silent(client, &client->peer.uid);
		if (!other && s->nclients > s->settings.max_clients)
			other = silent(client, NULL);
		if (!other)
			return maple_error_set(
				err, EUSERS,
				"%u of the %u connections that there may be "
				"are user %d's: see max-clients in mapled.conf",
				of_user(s, client->peer.uid) - 1,
				s->settings.max_clients, (int)client->peer.uid);
		maple_client_destroy(other);
	}
	return 0;
}

static bool is_idle(const struct maple_client *client)
{
	return !client->campaign && client->lease.cpu < 0 && !client->waits &&
	       !client->ntargets && !client->held[MAPLE_LIMIT_SESSIONS];
}

static int on_silence(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct maple_client *client = ctx;

	maple_journal(LOG_WARNING, client,
		      "process %d of user %d %s: it is sent away",
		      client->peer.pid, (int)client->peer.uid,
		      !client->greeted	 ? "said nothing"
		      : client->out.size ? "does not read its answer"
		      : maple_client_is_halfway(client)
			      ? "sent half a request"
			      : "has been idle for long");
	maple_client_destroy(client);
	return 0;
}

/* maple_places_begin - @client has some time to say HELLO */
int maple_places_begin(struct maple_client *client, struct maple_error *err)
{
	int e;

	if (maple_limit_hold(client, MAPLE_LIMIT_CLIENTS, 1, err))
		return -EDQUOT;
	e = sd_event_add_time_relative(client->server->event, &client->silence,
				       CLOCK_MONOTONIC, SILENCE_US, 0,
				       on_silence, client);

	return e < 0 ? maple_error_set(err, -e, "no timer: %s", strerror(-e))
		     : 0;
}

/* maple_places_watch - @client got on: how long it may be silent now */
void maple_places_watch(struct maple_client *client)
{
	uint64_t most = maple_client_is_halfway(client) ? HALFWAY_US : IDLE_US;

	if (!client->greeted)
		return;
	if (maple_client_is_served(client) ||
	    (!maple_client_is_halfway(client) && !is_idle(client))) {
		sd_event_source_set_enabled(client->silence, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(client->silence, most);
	sd_event_source_set_enabled(client->silence, SD_EVENT_ONESHOT);
}
