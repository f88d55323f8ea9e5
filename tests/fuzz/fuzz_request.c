// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled's side: requests, one after the other, of several clients, each of
 * which has got so far: no HELLO yet, HELLO, a campaign and a program. They are
 * two users', neither of them root, and one who is. Each request is a byte for
 * its type, a byte for who asks and with which descriptors, two for its size,
 * and the message. It lends no CPU here, so that no other campaign misses one.
 */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "daemon/client.h"
#include "daemon/queue.h"
#include "daemon/request.h"
#include "daemon/target.h"

#define CLIENTS 5

static struct maple_server server;
static int living, ended, memory; /* two pidfds, a file */

static struct maple_client *make_client(uid_t uid, int *other)
{
	struct maple_error err = { "" };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) ||
	    maple_client_create(&server, pair[0], &err))
		abort();
	*other = pair[1];
	server.clients->peer.uid = uid;
	server.clients->is_root = !uid;
	server.clients->may_use = true;
	return server.clients;
}

/* Some of what may come with a request; the handler's to close, or ours. */
static void give_fds(struct maple_client *client, unsigned int type,
		     unsigned int which)
{
	const int fds[] = { -1, living, ended, memory };

	for (; which && client->nfds < maple_wire_fds(type); which >>= 2)
		if (which & 3)
			client->fds[client->nfds++] = dup(fds[which & 3]);
}

static void request(struct maple_client *client, unsigned int type,
		    unsigned int fds, const void *data, size_t size)
{
	struct maple_error err = { "" };
	int e;

	if (!type || type >= MAPLE_WIRE_TYPES ||
	    maple_wire_kind(type) == MAPLE_WIRE_SAY ||
	    maple_wire_kind(type) == MAPLE_WIRE_PART)
		return;
	client->serial++;
	give_fds(client, type, fds);
	e = maple_request(client, type, data, size, &err);
	/* Either it is none, or it has been answered. */
	assert(e ? !!*err.text : client->out.size > 0);
	client->out.size = client->said = 0;
	if (client->out_fd >= 0)
		close(client->out_fd);
	client->out_fd = -1;
	while (client->nfds)
		close(client->fds[--client->nfds]);
}

static void begin_campaign(struct maple_client *client, const char *name)
{
	const struct maple_wire_campaign campaign = {
		.name = name,
		.argv = { "prog", 5 },
	};
	const struct maple_wire_program program = { 1, "aa", "/bin/prog" };
	struct maple_wire_buffer b = { 0 };

	client->greeted = true;
	maple_wire_put(&b, MAPLE_WIRE_CAMPAIGN, &campaign, NULL);
	request(client, MAPLE_WIRE_CAMPAIGN, 0, b.data, b.size);
	b.size = 0;
	maple_wire_put(&b, MAPLE_WIRE_PROGRAM, &program, NULL);
	request(client, MAPLE_WIRE_PROGRAM, 0, b.data, b.size);
	free(b.data);
}

/* Of a process that ends with us, or of one that has ended. */
static int make_process(bool lives)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (lives)
			pause();
		_exit(0);
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 || (!lives && waitpid(pid, NULL, 0) != pid))
		abort();
	return fd;
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
	living = make_process(true);
	ended = make_process(false);
	memory = memfd_create("fuzz", MFD_CLOEXEC);
}

/* What is left of a client's targets is killed; another one lives then. */
static void end_leftovers(void)
{
	if (!server.leftovers)
		return;
	maple_target_close(&server);
	waitid(P_PIDFD, (id_t)living, NULL, WEXITED);
	close(living);
	living = make_process(true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uid_t uids[CLIENTS] = { 1001, 1001, 1001, 1002, 0 };
	struct maple_client *client[CLIENTS];
	int other[CLIENTS];
	uint16_t length;

	open_server();
	for (unsigned int i = 0; i < CLIENTS; i++)
		client[i] = make_client(uids[i], &other[i]);
	for (unsigned int i = 1; i < CLIENTS; i++)
		client[i]->greeted = true;
	begin_campaign(client[2], "0123456789abcdef");
	begin_campaign(client[3], "fedcba9876543210");
	while (size >= 4) {
		memcpy(&length, data + 2, sizeof(length));
		if (length > size - 4)
			length = (uint16_t)(size - 4);
		request(client[(data[1] + 2) % CLIENTS], *data, data[1] >> 4,
			data + 4, length);
		data += 4 + length;
		size -= 4 + length;
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		maple_client_destroy(client[i]);
		close(other[i]);
	}
	end_leftovers();
	/* Nothing is left of them but the memo, which is whole. */
	assert(!server.clients && !server.nclients && !server.leased);
	return 0;
}
