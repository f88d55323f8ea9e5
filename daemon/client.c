// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A connection: frames in, frames out. A client that does not read what it is
 * told is not listened to until it does.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "access.h"
#include "client.h"
#include "journal.h"
#include "places.h"
#include "queue.h"
#include "request.h"
#include "target.h"

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
	maple_limit_hold(c, MAPLE_LIMIT_OUT, c->out.size - c->said, NULL);
	return sd_event_source_set_io_events(
		c->source, c->said < c->out.size ? EPOLLOUT : EPOLLIN);
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

static void drop_fds(int *fds, unsigned int *n)
{
	while (*n)
		close(fds[--*n]);
}

/* The frame at @at of the input; 0: not all of it is there yet. */
static ssize_t one_frame(struct maple_client *c, size_t at,
			 struct maple_error *err)
{
	struct maple_wire_head head;
	size_t left = c->in.size - at;
	int e;

	if (left < sizeof(head))
		return 0;
	memcpy(&head, c->in.data + at, sizeof(head));
	e = maple_wire_head_check(&head, true, err);
	c->serial = head.serial;
	if (e)
		return e;
	if (left - sizeof(head) < head.size)
		return 0;
	if (head.fds > c->nin_fds)
		return maple_error_set(err, EPROTO,
				       "a file descriptor is missing");
	c->nfds = head.fds;
	memcpy(c->fds, c->in_fds, head.fds * sizeof(int));
	c->nin_fds -= head.fds;
	memmove(c->in_fds, c->in_fds + head.fds, c->nin_fds * sizeof(int));
	e = maple_request(c, head.type, c->in.data + at + sizeof(head),
			  head.size, err);
	drop_fds(c->fds, &c->nfds);
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

/* All that is there, unless the client has to read first. */
static int all_frames(struct maple_client *c)
{
	struct maple_error err = { "" };
	size_t at = 0;
	ssize_t n = 1;

	while (n > 0 && !c->closing && !c->out.size) {
		n = one_frame(c, at, &err);
		if (n > 0)
			at += n;
		if (n > 0 && flush(c))
			return -EPIPE;
	}
	if (at) {
		memmove(c->in.data, c->in.data + at, c->in.size - at);
		c->in.size -= at;
		give_up(&c->in);
		maple_limit_hold(c, MAPLE_LIMIT_IN, c->in.size, NULL);
	}
	if (n >= 0)
		return 0;
	send_away(c, (int)n, &err);
	return 0;
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
	e = maple_limit_hold(c, MAPLE_LIMIT_IN, c->in.size + n, &err);
	if (e) {
		send_away(c, e, &err);
		return 0;
	}
	return maple_wire_append(&c->in, data, n);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct maple_client *c = ctx;
	int e = 0;

	if (events & EPOLLIN && !c->closing)
		e = hear(c);
	else if (events & (EPOLLHUP | EPOLLERR))
		e = -EPIPE;
	if (!e)
		e = flush(c);
	if (!e)
		e = all_frames(c);
	if (!e)
		e = flush(c);
	if (e || (c->closing && !c->out.size))
		maple_client_destroy(c);
	else
		maple_places_watch(c);
	return 0;
}

/* ---- life ---- */

/* maple_client_create - takes @sock over, whatever comes of it */
int maple_client_create(struct maple_server *server, int sock,
			struct maple_error *err)
{
	struct maple_client *c = calloc(1, sizeof(*c));
	int e;

	if (!c) {
		close(sock);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	c->server = server;
	c->sock = sock;
	c->process = c->out_fd = -1;
	c->lease = MAPLE_LEASE_NONE;
	c->next = server->clients;
	if (c->next)
		c->next->before = c;
	server->clients = c;
	server->nclients++;
	e = maple_access_peer(c, err);
	if (!e)
		e = maple_limits_join(c, err);
	if (!e) {
		e = sd_event_add_io(server->event, &c->source, sock, EPOLLIN,
				    on_io, c);
		if (e < 0)
			maple_error_set(err, -e, "a client is not heard: %s",
					strerror(-e));
	}
	if (e >= 0) {
		e = maple_places_begin(c, err);
		if (e >= 0)
			e = maple_places_take(c, err);
		if (e < 0) {
			maple_client_refuse(c, 0, e, err->text);
			flush(c);
		}
	}
	if (e < 0)
		maple_client_destroy(c);
	return e < 0 ? e : 0;
}

/*
 * maple_client_destroy - the connection is over: what was lent comes back
 *
 * What it says of its targets goes to target.c, which keeps the CPU as long as
 * one of them is there.
 */
void maple_client_destroy(struct maple_client *client)
{
	struct maple_server *server = client->server;

	sd_event_source_disable_unref(client->source);
	sd_event_source_disable_unref(client->silence);
	if (client->before)
		client->before->next = client->next;
	else
		server->clients = client->next;
	if (client->next)
		client->next->before = client->before;
	server->nclients--;
	maple_request_forget(client);
	if (!server->closing)
		maple_lending_end(client);
	maple_target_leave(client);
	maple_queue_leave(client);
	drop_fds(client->in_fds, &client->nin_fds);
	drop_fds(client->fds, &client->nfds);
	if (client->out_fd >= 0)
		close(client->out_fd);
	if (client->process >= 0)
		close(client->process);
	close(client->sock);
	free(client->in.data);
	free(client->out.data);
	maple_limits_part(client);
	free(client);
}
