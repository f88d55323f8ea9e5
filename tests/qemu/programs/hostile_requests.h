/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The requests of hostile.c, and clients that do not behave. */
#ifndef MAPLE_TESTS_HOSTILE_REQUESTS_H
#define MAPLE_TESTS_HOSTILE_REQUESTS_H

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>
#include "hostile_files.h"
#include "hostile_wire.h"

#define ANSWERS 20000 /* ms */

static const char *socket_path;

/* Whether no more of the answer is to come. */
static bool is_last(unsigned int asked, unsigned int type)
{
	switch (type) {
	case MAPLE_WIRE_FOUND:
		return asked == MAPLE_WIRE_LOAD;
	case MAPLE_WIRE_INFO:
		return false;
	default:
		return true;
	}
}

static void take_answers(struct actor *a, unsigned int asked)
{
	struct maple_host_answer answer;
	struct maple_error err = { "" };

	do {
		if (maple_host_receive(a->host, ANSWERS, &answer, &err)) {
			count(UNANSWERED);
			return;
		}
		if (answer.fd >= 0)
			keep(a, answer.fd);
	} while (answer.head.serial != a->host->serial ||
		 !is_last(asked, answer.head.type));
	count(answer.head.type == MAPLE_WIRE_REFUSED ? REFUSED : ANSWERED);
	if (answer.head.type == MAPLE_WIRE_LEASED) {
		a->cpu = (int)answer.message.leased.cpu;
		count(LEASED);
	}
	if (answer.head.type != MAPLE_WIRE_NUMBER)
		return;
	if (asked == MAPLE_WIRE_STORE)
		count(STORED);
	if (asked == MAPLE_WIRE_GIVE_BACK)
		a->cpu = -1;
	if (maple_wire_kind(asked) == MAPLE_WIRE_ROOT)
		wrong("%s, which is root's", maple_wire_name(asked));
}

static void send_request(struct actor *a, unsigned int type,
			 const union maple_wire_message *message)
{
	unsigned int most = maple_wire_fds(type), n = 0;
	struct maple_error err = { "" };
	int fds[MAPLE_WIRE_FDS];

	if (maple_host_return(a->host, &err))
		return;
	while (n < most && !chance(3)) {
		fds[n] = any_file(a);
		if (fds[n] < 0)
			break;
		n++;
	}
	if (!chance(20)) /* else once more under the same number */
		a->host->serial++;
	if (!maple_host_send(a->host, type, message, fds, n, &err))
		take_answers(a, type);
	while (n)
		close(fds[--n]);
}

static void any_request(struct actor *a)
{
	union maple_wire_message message;
	unsigned int type = wire_request(&message);

	send_request(a, type, &message);
}

/* A campaign, and findings in it, which others may have by that name. */
static void store(struct actor *a)
{
	static const unsigned int types[] = {
		MAPLE_WIRE_CAMPAIGN, MAPLE_WIRE_PROGRAM, MAPLE_WIRE_LEARN,
		MAPLE_WIRE_RUN,	     MAPLE_WIRE_STORE,	 MAPLE_WIRE_STORE,
		MAPLE_WIRE_RUN_END,  MAPLE_WIRE_FORGET,
	};
	union maple_wire_message message;
	int64_t campaign = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		struct maple_error err = { "" };

		wire_forget();
		wire_fill(types[i], &message);
		if (types[i] == MAPLE_WIRE_CAMPAIGN) {
			char name[40];

			snprintf(name, sizeof(name), "%016llx%016llx",
				 (unsigned long long)draw(1ull << 40),
				 (unsigned long long)draw(1ull << 40));
			message.campaign.name = name;
			if (maple_host_number(a->host, types[i], &message,
					      &campaign, &err))
				return;
			continue;
		}
		if (types[i] == MAPLE_WIRE_PROGRAM)
			message.program.campaign = campaign;
		if (types[i] == MAPLE_WIRE_RUN)
			message.run.campaign = campaign;
		if (types[i] == MAPLE_WIRE_STORE)
			message.store.campaign = campaign;
		send_request(a, types[i], &message);
	}
}

static void lease(struct actor *a)
{
	union maple_wire_message message = { .lease.held = -1 };
	struct pollfd pfd = { .events = POLLIN };
	struct maple_host_answer answer;
	struct maple_error err = { "" };
	cpu_set_t cpus;

	memset(&cpus, 0xff, sizeof(cpus));
	message.lease.cpus = (struct maple_wire_bytes){ &cpus, sizeof(cpus) };
	if (chance(4))
		message.lease.held = (int64_t)draw(3);
	send_request(a, MAPLE_WIRE_LEASE, &message);
	pfd.fd = a->host->sock;
	/* It may be told its place, again and again, and its CPU at last. */
	while (a->cpu < 0 && pfd.fd >= 0 &&
	       poll(&pfd, 1, (int)(slow * 300)) > 0) {
		if (maple_host_receive(a->host, (int)(slow * 1000), &answer,
				       &err))
			return;
		if (answer.fd >= 0)
			keep(a, answer.fd);
		if (answer.head.type != MAPLE_WIRE_LEASED)
			continue;
		a->cpu = (int)answer.message.leased.cpu;
		count(LEASED);
	}
	if (a->cpu < 0) /* leaves the queue */
		send_request(a, MAPLE_WIRE_GIVE_BACK, &message);
}

/* Takes the name that a claim on a CPU would have, if it is free. */
static void take_name(struct actor *a)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, chance(2) ? SOCK_STREAM : SOCK_DGRAM, 0), n;

	n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		     "maple-cpu-%d", (int)draw(2));
	if (fd >= 0)
		bind(fd, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				 (size_t)n));
	keep(a, fd);
}

/* ---- clients that do not behave ---- */

/* A client that says nothing, or stops in the midst of a word. */
static void be_silent(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct maple_wire_head head = { .size = 100, .type = MAPLE_WIRE_HELLO };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	for (int i = 0; i < 16; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (fd < 0 ||
		    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			break;
		if (chance(2) && write(fd, &head, 1 + draw(sizeof(head))) < 0)
			break;
	}
	target_nap(2000000);
}

/* A client that asks, and does not listen. */
static void be_deaf(struct actor *a)
{
	static const unsigned int types[] = { MAPLE_WIRE_DUMP, MAPLE_WIRE_CHECK,
					      MAPLE_WIRE_PROGRAMS,
					      MAPLE_WIRE_FINDINGS };
	union maple_wire_message message = { 0 };
	struct maple_error err = { "" };
	struct pollfd pfd;

	for (int i = 0; i < 1000; i++) {
		pfd = (struct pollfd){ a->host->sock, POLLOUT, 0 };
		if (poll(&pfd, 1, 100) <= 0)
			break;
		a->host->serial++;
		if (maple_host_send(a->host, types[draw(4)], &message, NULL, 0,
				    &err))
			return;
	}
	target_nap(1000000);
}

/* As much as one finding may be, under ever other names. */
static void store_much(struct actor *a, int64_t campaign)
{
	struct maple_wire_store store = { .campaign = campaign };
	size_t size = (2u << 20) - 1;
	char *text = malloc(size);
	int n;

	if (!text)
		return;
	memset(text, 'x', size);
	n = snprintf(text, size,
		     "{\"id\": \"%llx\", \"kind\": \"signal\", \"title\": "
		     "\"much\", \"output\": \"",
		     (unsigned long long)draw(1ull << 40));
	text[n] = 'x';
	memcpy(text + size - 3, "\"}", 3);
	store.finding = text;
	send_request(a, MAPLE_WIRE_STORE, (void *)&store);
	free(text);
}

/* A client that asks for what takes long, and for nothing else. */
static void be_busy(struct actor *a)
{
	static const unsigned int types[] = {
		MAPLE_WIRE_CHECK, MAPLE_WIRE_DUMP,     MAPLE_WIRE_PROGRAMS,
		MAPLE_WIRE_LEARN, MAPLE_WIRE_FINDINGS, MAPLE_WIRE_SAMPLES,
	};
	union maple_wire_message message = {
		.campaign = { .name = NULL, .argv = wire_list() },
	};
	struct maple_error err = { "" };
	int64_t campaign = 0;
	char name[40];

	snprintf(name, sizeof(name), "%032llx",
		 (unsigned long long)draw(1ull << 40));
	message.campaign.name = name;
	maple_host_number(a->host, MAPLE_WIRE_CAMPAIGN, &message, &campaign,
			  &err);
	for (int i = 0; i < 8; i++)
		store_much(a, campaign);
	for (int i = 0; i < 1000; i++) {
		unsigned int type = types[draw(sizeof(types) / sizeof(*types))];

		wire_forget();
		wire_fill(type, &message);
		send_request(a, type, &message);
	}
}

#endif
