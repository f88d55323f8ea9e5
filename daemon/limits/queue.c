// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * CPUs are lent in the order of asking; who can use none that is free lets
 * those behind it go ahead. Whoever has had one for long loses it to them.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include "../journal.h"
#include "queue.h"

/* Campaigns without us come and go unseen. */
#define RETRY_US 20000

/* ---- who waits ---- */

static void unlink_waiting(struct maple_client *client)
{
	struct maple_server *s = client->server;
	struct maple_client **at, *last = NULL;

	for (at = &s->first; *at != client; at = &(*at)->next_waiting)
		last = *at;
	*at = client->next_waiting;
	if (s->last == client)
		s->last = last;
	client->next_waiting = NULL;
	client->waits = false;
	s->waiting--;
}

static void lend(struct maple_client *client, const struct maple_lease *lease)
{
	const struct maple_wire_leased leased = { (uint32_t)lease->cpu };
	int theirs = fcntl(lease->lock, F_DUPFD_CLOEXEC, 3);

	unlink_waiting(client);
	client->lease = *lease;
	maple_journal(LOG_INFO, client, "CPU %d is lent to process %d",
		      lease->cpu, client->peer.pid);
	if (theirs < 0)
		maple_client_refuse(client, client->lease_serial, EMFILE,
				    "mapled has too many files open");
	else
		maple_client_say(client, MAPLE_WIRE_LEASED, &leased,
				 client->lease_serial, theirs);
	maple_client_wake(client);
}

static bool try_lend(struct maple_client *client)
{
	struct maple_lease best = MAPLE_LEASE_NONE, lease;

	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && best.sign < 0; cpu--) {
		if (!CPU_ISSET(cpu, &client->wanted) ||
		    maple_lease_take(client->server, cpu, &client->peer, &lease))
			continue;
		if (best.cpu >= 0 && lease.sign < 0) {
			maple_lease_end(client->server, &lease);
			continue;
		}
		maple_lease_end(client->server, &best);
		best = lease;
	}
	if (best.cpu >= 0)
		lend(client, &best);
	return best.cpu >= 0;
}

static void tell_places(struct maple_server *server)
{
	unsigned int place = 0;

	for (struct maple_client *c = server->first; c; c = c->next_waiting) {
		const struct maple_wire_queued queued = { ++place };

		if (c->place == place)
			continue;
		c->place = place;
		maple_client_say(c, MAPLE_WIRE_QUEUED, &queued, c->lease_serial,
				 -1);
		maple_client_wake(c);
	}
}

/* maple_queue_serve - lends what is free, and tells the rest their places */
void maple_queue_serve(struct maple_server *server)
{
	struct maple_client *c, *next;
	uint64_t at = 0;

	for (c = server->first; c; c = next) {
		next = c->next_waiting;
		try_lend(c);
	}
	tell_places(server);
	if (!server->first ||
	    sd_event_now(server->event, CLOCK_MONOTONIC, &at)) {
		sd_event_source_set_enabled(server->retry, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(server->retry, at + RETRY_US);
	sd_event_source_set_enabled(server->retry, SD_EVENT_ONESHOT);
}

/* Who has had, for too long, a CPU that somebody waits for. */
static struct maple_client *overdue(const struct maple_server *s)
{
	uint64_t now = maple_lease_now();
	struct maple_client *c, *w;

	for (c = s->clients; c; c = c->next) {
		if (c->lease.cpu < 0 || c->is_root ||
		    now - c->lease.since <= maple_limit_of(s, MAPLE_LIMIT_LEASE))
			continue;
		for (w = s->first; w; w = w->next_waiting)
			if (CPU_ISSET(c->lease.cpu, &w->wanted))
				return c;
	}
	return NULL;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct maple_server *s = ctx;
	struct maple_client *late = overdue(s);

	if (late) {
		maple_journal(LOG_WARNING, late,
			      "process %d of user %d has had CPU %d for longer "
			      "than lease-time in mapled.conf(5), and others "
			      "wait: taken back",
			      late->peer.pid, (int)late->peer.uid,
			      late->lease.cpu);
		maple_client_destroy(late);
	}
	maple_queue_serve(s);
	return 0;
}

/* maple_queue_init - before the first client */
int maple_queue_init(struct maple_server *server, struct maple_error *err)
{
	int e = sd_event_add_time(server->event, &server->retry,
				  CLOCK_MONOTONIC, 0, 0, on_retry, server);

	if (e < 0)
		return maple_error_set(err, -e, "no timer: %s", strerror(-e));
	sd_event_source_set_enabled(server->retry, SD_EVENT_OFF);
	return 0;
}

/*
 * maple_queue_join - @client wants one of @cpus, a cpu_set_t or a part of it
 *
 * It is told its place, and its CPU when it is its turn.
 */
int maple_queue_join(struct maple_client *client, const void *cpus, size_t size,
		     struct maple_error *err)
{
	struct maple_server *s = client->server;

	if (client->waits || client->lease.cpu >= 0)
		return maple_error_set(err, EBUSY,
				       "you have a CPU, or wait for one");
	CPU_ZERO(&client->wanted);
	if (size)
		memcpy(&client->wanted, cpus,
		       size < sizeof(cpu_set_t) ? size : sizeof(cpu_set_t));
	CPU_AND(&client->wanted, &client->wanted, &s->settings.cpus);
	if (!CPU_COUNT(&client->wanted))
		return maple_error_set(err, EINVAL,
				       "mapled lends none of the CPUs that you "
				       "may use: see 'cpus' in mapled.conf, and "
				       "taskset");
	client->lease_serial = client->serial;
	client->place = 0;
	client->waits = true;
	if (s->last)
		s->last->next_waiting = client;
	else
		s->first = client;
	s->last = client;
	s->waiting++;
	maple_queue_serve(s);
	return 0;
}

/*
 * maple_queue_hold - @client had @cpu from a mapled before us, and @lock is
 * the claim; takes a copy
 */
int maple_queue_hold(struct maple_client *client, int cpu, int lock,
		     struct maple_error *err)
{
	if (client->waits || client->lease.cpu >= 0 || cpu < 0 ||
	    cpu >= CPU_SETSIZE ||
	    !CPU_ISSET(cpu, &client->server->settings.cpus))
		return maple_error_set(err, EINVAL, "CPU %d is not lent", cpu);
	return maple_lease_prove(client->server, cpu, lock, &client->peer,
				 &client->lease, err);
}

/* maple_queue_cancel - @client waits no more */
void maple_queue_cancel(struct maple_client *client)
{
	if (client->waits)
		unlink_waiting(client);
}

/* maple_queue_leave - @client waits no more, and gives back what it has */
void maple_queue_leave(struct maple_client *client)
{
	maple_queue_cancel(client);
	maple_lease_end(client->server, &client->lease);
	maple_queue_serve(client->server);
}
