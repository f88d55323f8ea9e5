// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled's side: requests, one after the other, from a client that has got as
 * far as it can. Each is a byte for its type, two for its size, and the
 * message. It lends no CPU here, so that no other campaign misses one.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "daemon/client.h"
#include "daemon/queue.h"
#include "daemon/request.h"

static struct maple_server server;

static struct maple_client *make_client(int *other)
{
	struct maple_error err = { "" };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) ||
	    maple_client_create(&server, pair[0], &err))
		abort();
	*other = pair[1];
	return server.clients;
}

static void request(struct maple_client *client, unsigned int type,
		    const void *data, size_t size)
{
	struct maple_error err = { "" };
	int e;

	if (!type || type >= MAPLE_WIRE_TYPES ||
	    maple_wire_kind(type) == MAPLE_WIRE_SAY ||
	    maple_wire_kind(type) == MAPLE_WIRE_PART)
		return;
	client->serial++;
	e = maple_request(client, type, data, size, &err);
	/* Either it is none, or it has been answered. */
	assert(e ? !!*err.text : client->out.size > 0);
	client->out.size = client->said = 0;
	if (client->out_fd >= 0)
		close(client->out_fd);
	client->out_fd = -1;
}

static void begin_campaign(struct maple_client *client)
{
	const struct maple_wire_campaign campaign = {
		.name = "0123456789abcdef",
		.argv = { "prog", 5 },
	};
	const struct maple_wire_program program = { 1, "aa", "/bin/prog" };
	struct maple_wire_buffer b = { 0 };

	client->greeted = true;
	maple_wire_put(&b, MAPLE_WIRE_CAMPAIGN, &campaign, NULL);
	request(client, MAPLE_WIRE_CAMPAIGN, b.data, b.size);
	b.size = 0;
	maple_wire_put(&b, MAPLE_WIRE_PROGRAM, &program, NULL);
	request(client, MAPLE_WIRE_PROGRAM, b.data, b.size);
	free(b.data);
}

static void open_server(void)
{
	struct maple_error err = { "" };

	if (server.memo)
		return;
	if (maple_settings_init(&server.settings) ||
	    sd_event_default(&server.event) < 0 ||
	    maple_memo_open(":memory:", 0, &server.memo, &err) ||
	    maple_queue_init(&server, &err))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maple_client *client;
	uint16_t length;
	int other;

	open_server();
	client = make_client(&other);
	begin_campaign(client);
	while (size >= 3) {
		memcpy(&length, data + 1, sizeof(length));
		if (length > size - 3)
			length = (uint16_t)(size - 3);
		request(client, *data, data + 3, length);
		data += 3 + length;
		size -= 3 + length;
	}
	maple_client_destroy(client);
	close(other);
	/* Nothing is left of it but the memo, which is whole. */
	assert(!server.clients && !server.nclients && !server.leased);
	return 0;
}
