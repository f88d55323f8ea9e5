// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A connection: frames in, frames out, a request each time that it has its
 * turn. A client that does not read what it is told is not listened to until
 * it does, nor one whose request is under way aside.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "access.h"
#include "requests/aside.h"
#include "client.h"
#include "journal.h"
#include "limits/places.h"
#include "limits/queue.h"
#include "requests/request.h"
#include "parting.h"
#include "target.h"
#include "limits/turns.h"

#define READ_AT_ONCE 65536
#define SPARE	     (4 * READ_AT_ONCE) /* bytes that a buffer may keep */

/* One long message is no reason to keep that much. */
static void give_up(struct maple_wire_buffer *buffer)
{
	if (buffer->size || buffer->room <= SPARE)
		return;
	free(buffer->data);
	*buffer = (struct maple_wire_buffer){ 0 };
}

/* ---- out ---- */

/* How much may go in one piece: a file descriptor begins another. */
static size_t piece(const struct maple_client *c, unsigned int *nfds)
{
	*nfds = c->out_fd >= 0 && c->said == c->out_fd_at;
	return c->out_fd >= 0 && c->said < c->out_fd_at ? c->out_fd_at - c->said
							: c->out.size - c->said;
}

static int flush(struct maple_client *c)
{
	unsigned int nfds;
	size_t size;
	ssize_t n;

	while (c->said < c->out.size) {
		size = piece(c, &nfds);
		n = maple_wire_send(c->sock, c->out.data + c->said, size,
				    &c->out_fd, nfds);
		if (n == -EAGAIN)
			break;
		if (n <= 0)
			return -EPIPE;
		c->said += n;
		if (nfds) {
			close(c->out_fd);
			c->out_fd = -1;
		}
	}
	if (c->said == c->out.size) {
		c->said = c->out.size = 0;
		give_up(&c->out);
	}
	return maple_limit_hold(c, MAPLE_LIMIT_OUT, c->out.size - c->said, NULL);
}

/*
 * maple_client_say - a message, as soon as the client takes it
 * @fd: goes along and is closed; -1: none
 *
 * Returns 0 or -errno, and the message is not said.
 */
int maple_client_say(struct maple_client *client, unsigned int type,
		     const void *message, uint32_t serial, int fd)
{
	size_t at = client->out.size;
	struct maple_error *err = &client->unsaid;
	int e = 0;

	if (fd >= 0 && client->out_fd >= 0)
		e = -EMSGSIZE;
	if (!e)
		e = maple_wire_frame(&client->out, type, message, serial,
				     fd >= 0, err);
	/* Why there is no answer is always told. */
	if (!e && type != MAPLE_WIRE_REFUSED) {
		e = maple_limit_hold(client, MAPLE_LIMIT_OUT,
				     client->out.size - client->said, err);
		if (e)
			client->out.size = at;
	}
	if (e) {
		if (fd >= 0)
			close(fd);
		maple_journal(LOG_WARNING, client, "no %s for process %d: %s",
			      maple_wire_name(type), client->peer.pid,
			      *err->text ? err->text : strerror(-e));
		return e;
	}
	if (fd >= 0) {
		client->out_fd = fd;
		client->out_fd_at = at;
	}
	return 0;
}

/* maple_client_refuse - says that the request was not done, and why */
void maple_client_refuse(struct maple_client *client, uint32_t serial, int e,
			 const char *text)
{
	const struct maple_wire_refused refused = { (uint32_t)(e < 0 ? -e : e),
						    text };

	maple_client_say(client, MAPLE_WIRE_REFUSED, &refused, serial, -1);
}

/* ---- in ---- */

/*
 * What somebody else has opened may take for ever to be closed, by a file
 * system that does not answer.
 */
static void drop_fds(struct maple_client *c, int *fds, unsigned int *n)
{
	while (*n)
		maple_aside_close(c->account, fds[--*n]);
}

static size_t unread(const struct maple_client *c)
{
	return c->in.size - c->done;
}

/* With a request that is under way aside. */
static bool is_busy(const struct maple_client *c)
{
	return c->reading || c->asks;
}

/* Whether there is a request, or what is none, in what has been read. */
static bool has_frame(const struct maple_client *c)
{
	struct maple_error err;
	struct maple_wire_head head;

	if (unread(c) < sizeof(head))
		return false;
	memcpy(&head, c->in.data + c->done, sizeof(head));
	return maple_wire_head_check(&head, true, &err) ||
	       unread(c) - sizeof(head) >= head.size;
}

/* maple_client_is_served - it waits for us, and not we for it */
bool maple_client_is_served(const struct maple_client *client)
{
	return is_busy(client) || (has_frame(client) && !client->out.size);
}

/* maple_client_is_halfway - with a request or with an answer */
bool maple_client_is_halfway(const struct maple_client *client)
{
	return unread(client) || client->out.size;
}

/* The next frame, of which all is there; returns its size. */
static ssize_t one_frame(struct maple_client *c, struct maple_error *err)
{
	struct maple_wire_head head;
	const unsigned char *at = c->in.data + c->done;
	int e;

	memcpy(&head, at, sizeof(head));
	e = maple_wire_head_check(&head, true, err);
	c->serial = head.serial;
	if (e)
		return e;
	if (head.fds > c->nin_fds)
		return maple_error_set(err, EPROTO,
				       "a file descriptor is missing");
	c->nfds = head.fds;
	memcpy(c->fds, c->in_fds, head.fds * sizeof(int));
	c->nin_fds -= head.fds;
	memmove(c->in_fds, c->in_fds + head.fds, c->nin_fds * sizeof(int));
	e = maple_request(c, head.type, at + sizeof(head), head.size, err);
	drop_fds(c, c->fds, &c->nfds);
	return e ? e : (ssize_t)(sizeof(head) + head.size);
}

/* Once it has heard why. */
static void send_away(struct maple_client *c, int e,
		      const struct maple_error *why)
{
	maple_journal(LOG_WARNING, c, "process %d of user %d: %s", c->peer.pid,
		      (int)c->peer.uid, why->text);
	maple_client_refuse(c, c->serial, e, why->text);
	c->closing = true;
}

/* What was done makes room. */
static void make_room(struct maple_client *c)
{
	if (unread(c) && c->done < READ_AT_ONCE)
		return;
	memmove(c->in.data, c->in.data + c->done, unread(c));
	c->in.size -= c->done;
	c->done = 0;
	give_up(&c->in);
}

/* A request, unless the client has to read first. */
static void next_frame(struct maple_client *c)
{
	struct maple_error err = { "" };
	ssize_t n;

	if (c->closing || is_busy(c) || c->out.size || !has_frame(c))
		return;
	n = one_frame(c, &err);
	if (n < 0) {
		send_away(c, (int)n, &err);
		return;
	}
	c->done += n;
	make_room(c);
	maple_limit_hold(c, MAPLE_LIMIT_IN, unread(c), NULL);
}

/* Descriptors that its user has handed over are not to be got rid of. */
static int check_stuck(const struct maple_client *c, struct maple_error *err)
{
	if (!maple_aside_is_stuck(c->account->aside))
		return 0;
	return maple_error_set(err, EDQUOT,
			       "files of user %d cannot be closed: the file "
			       "system they are on does not answer",
			       (int)c->peer.uid);
}

static int hear(struct maple_client *c)
{
	struct maple_error err = { "" };
	char data[READ_AT_ONCE];
	ssize_t n = maple_wire_receive(c->sock, data, sizeof(data), c->in_fds,
				       &c->nin_fds, 2 * MAPLE_WIRE_FDS);
	int e;

	if (n == -EAGAIN)
		return 0;
	if (n <= 0)
		return -EPIPE;
	e = maple_limit_hold(c, MAPLE_LIMIT_IN, unread(c) + n, &err);
	if (!e && c->nin_fds)
		e = check_stuck(c, &err);
	if (e) {
		send_away(c, e, &err);
		return 0;
	}
	return maple_wire_append(&c->in, data, n);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct maple_client *c = ctx;

	c->events |= events;
	maple_turns_ask(c);
	return 0;
}

/* For what is to come next. Its end is always heard of. */
static int listen_to(struct maple_client *c)
{
	uint32_t events = c->out.size ? EPOLLOUT : is_busy(c) ? 0 : EPOLLIN;
	int e = sd_event_source_set_io_events(c->source, events);

	return e < 0 ? e
		     : sd_event_source_set_enabled(c->source, SD_EVENT_ONESHOT);
}

static int take_turn(struct maple_client *c)
{
	bool hears = !c->closing && !is_busy(c) && !has_frame(c);
	uint32_t events = c->events;
	int e = 0;

	c->events = 0;
	if (events & EPOLLIN && hears)
		e = hear(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		e = -EPIPE;
	if (!e)
		e = flush(c);
	if (!e)
		next_frame(c);
	if (!e)
		e = flush(c);
	if (!e && c->closing && !c->out.size)
		e = -EPIPE;
	return e;
}

/* maple_client_turn - it is @client's turn; it may be gone then */
void maple_client_turn(struct maple_client *client)
{
	int e = take_turn(client);

	if (!e && !is_busy(client) && maple_client_is_served(client))
		maple_turns_ask(client);
	else if (!e)
		e = listen_to(client);
	if (e < 0)
		maple_client_destroy(client);
	else
		maple_places_watch(client);
}

/* maple_client_wake - there is something to say to it */
void maple_client_wake(struct maple_client *client)
{
	maple_turns_ask(client);
}

/* ---- life ---- */

static int begin(struct maple_client *c, struct maple_error *err)
{
	int e = maple_access_peer(c, err);

	if (!e)
		e = maple_limits_join(c, err);
	if (e)
		return e;
	e = sd_event_add_io(c->server->event, &c->source, c->sock, EPOLLIN,
			    on_io, c);
	if (e >= 0)
		e = listen_to(c);
	if (e < 0)
		return maple_error_set(err, -e, "a client is not heard: %s",
				       strerror(-e));
	/* However often it comes, nothing that it sends is taken. */
	e = check_stuck(c, err);
	if (!e)
		e = maple_places_begin(c, err);
	if (!e)
		e = maple_places_take(c, err);
	if (e) {
		maple_client_refuse(c, 0, e, err->text);
		flush(c);
	}
	return e;
}

/* maple_client_create - takes @sock over, whatever comes of it */
void maple_client_create(struct maple_server *server, int sock)
{
	struct maple_client *c = calloc(1, sizeof(*c));
	struct maple_error err = { "" };

	if (!c) {
		close(sock);
		maple_journal(LOG_WARNING, NULL, "out of memory");
		return;
	}
	c->server = server;
	c->sock = sock;
	c->process = c->out_fd = c->joined.pidfd = -1;
	c->lease = MAPLE_LEASE_NONE;
	c->next = server->clients;
	if (c->next)
		c->next->before = c;
	server->clients = c;
	server->nclients++;
	if (!begin(c, &err))
		return;
	maple_journal(LOG_WARNING, c, "process %d of user %d: %s", c->peer.pid,
		      (int)c->peer.uid, err.text);
	maple_client_destroy(c);
}

/*
 * Its sessions have ended. What it says of its targets goes to target.c, which
 * keeps the CPU as long as one of them is there.
 */
static void finish(struct maple_client *client)
{
	maple_module_deinit(client);
	maple_target_leave(client);
	maple_parting_leave(client);
	maple_queue_leave(client);
	maple_limits_part(client);
	free(client);
}

/*
 * maple_client_destroy - the connection is over: what was lent comes back
 *
 * From then on @client is no client, but may be there for some time, while its
 * sessions end.
 */
void maple_client_destroy(struct maple_client *client)
{
	struct maple_server *server = client->server;

	maple_reading_cancel(client);
	if (client->account)
		maple_turns_leave(client);
	sd_event_source_disable_unref(client->source);
	sd_event_source_disable_unref(client->silence);
	if (client->before)
		client->before->next = client->next;
	else
		server->clients = client->next;
	if (client->next)
		client->next->before = client->before;
	server->nclients--;
	if (!server->closing)
		maple_lending_end(client);
	maple_queue_cancel(client);
	drop_fds(client, client->in_fds, &client->nin_fds);
	drop_fds(client, client->fds, &client->nfds);
	if (client->out_fd >= 0)
		close(client->out_fd);
	if (client->process >= 0)
		close(client->process);
	close(client->sock);
	free(client->in.data);
	free(client->out.data);
	maple_module_end(client, finish);
}
