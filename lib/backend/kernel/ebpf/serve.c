// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The observer's service: a session of observing.c for somebody who asks by a
 * socket. Two channels, a thread for each, and one who looks whether the asker
 * and the target are still there. It is a process of its own, so whatever hangs
 * in here is the asker's alone, and its end takes all probes along.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <maple/wire.h>
#include "observing.h"

#define LOOK_EVERY 100 /* ms */
#define PATIENCE   5   /* seconds for a question that is under way at the end */

struct packet {
	struct maple_probing_question question;
	unsigned char bytes[MAPLE_PROBING_MOST];
};

struct reply {
	struct maple_probing_answer answer;
	unsigned char bytes[MAPLE_PROBING_MOST];
};

struct service;

struct channel {
	struct service *service;
	int sock;
	bool first;
	pthread_t thread;
	struct packet packet;
	struct reply reply;
};

struct service {
	struct maple_observing *observing;
	const struct maple_observer_rules *rules;
	int over;  /* an eventfd: somebody asks no more */
	int other; /* the asker's end of the second channel, or -1 */
	struct channel channel[MAPLE_PROBING_CHANNELS];
};

/* The socket that goes with the answer, or -1; once. */
static int second_channel(struct channel *c)
{
	int fd = c->service->other;

	if (!c->first || c->packet.question.op != MAPLE_PROBING_HELLO ||
	    c->reply.answer.error)
		return -1;
	c->service->other = -1;
	return fd;
}

static bool say(struct channel *c, int fd)
{
	size_t size = sizeof(c->reply.answer) + c->reply.answer.size;
	bool said = maple_wire_send(c->sock, &c->reply, size, &fd, fd >= 0) ==
		    (ssize_t)size;

	if (fd >= 0)
		close(fd);
	return said;
}

/* What is wrong with a packet of @n bytes; NULL: nothing. */
static const char *fault(const struct packet *p, ssize_t n)
{
	if (n == -EPROTO)
		return "more files than one came with it";
	if (n < (ssize_t)sizeof(p->question) ||
	    p->question.size != n - sizeof(p->question))
		return "a question has a head, and as many bytes as that says";
	return NULL;
}

/* One question; false: there will be no other. */
static bool serve_one(struct channel *c)
{
	struct maple_probing_answer *answer = &c->reply.answer;
	unsigned int nfds = 0;
	int fd = -1;
	ssize_t n = maple_wire_receive(c->sock, &c->packet, sizeof(c->packet),
				       &fd, &nfds, 1);
	const char *why = fault(&c->packet, n);

	/* An empty packet and the end look the same. */
	if (n <= 0 && n != -EPROTO)
		return false;
	if (why) {
		memset(answer, 0, sizeof(*answer));
		answer->error = -EINVAL;
		strcpy(answer->text, why);
	} else {
		maple_observing_answer(c->service->observing,
				       &c->packet.question, c->packet.bytes, fd,
				       answer, c->reply.bytes);
	}
	if (nfds)
		close(fd);
	return say(c, why ? -1 : second_channel(c));
}

static void *serve(void *ctx)
{
	struct channel *c = ctx;

	while (serve_one(c))
		;
	eventfd_write(c->service->over, 1);
	return NULL;
}

static void watch(struct service *s)
{
	struct pollfd pfd[] = { { .fd = s->over, .events = POLLIN },
				{ .fd = s->rules->asker, .events = POLLIN } };

	int n;

	assert(s->observing && s->rules->asker >= 0);
	do {
		n = poll(pfd, 2, LOOK_EVERY);
		if (!n)
			maple_observing_look(s->observing);
	} while (!n || (n < 0 && errno == EINTR));
}

/* A thread that does not come back is the kernel's to end, with the process. */
static void stop(struct service *s, unsigned int running)
{
	struct timespec until;

	for (unsigned int i = 0; i < running; i++)
		shutdown(s->channel[i].sock, SHUT_RDWR);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	for (unsigned int i = 0; i < running; i++)
		if (pthread_timedjoin_np(s->channel[i].thread, NULL, &until))
			_exit(0);
}

static int run(struct service *s, int sock, struct maple_error *err)
{
	unsigned int i, running = 0;
	int pair[2], e = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return maple_error_set(err, errno, "no socket: %m");
	s->other = pair[1];
	for (i = 0; i < MAPLE_PROBING_CHANNELS && !e; i++) {
		s->channel[i].service = s;
		s->channel[i].sock = i ? pair[0] : sock;
		s->channel[i].first = !i;
		e = pthread_create(&s->channel[i].thread, NULL, serve,
				   &s->channel[i]);
		running += !e;
	}
	if (!e)
		watch(s);
	stop(s, running);
	close(pair[0]);
	if (s->other >= 0)
		close(s->other);
	return e ? maple_error_set(err, e, "no thread: %s", strerror(e)) : 0;
}

/* maple_observer_refuse - see maple/observer.h */
void maple_observer_refuse(int sock, int error, const char *text)
{
	struct maple_probing_answer answer = { .error = error };

	strncpy(answer.text, text, sizeof(answer.text) - 1);
	send(sock, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The first question is answered by why there is no session. */
static void decline(struct service *s, int sock, int e, const char *text)
{
	struct channel *c = &s->channel[0];
	struct maple_probing_answer *answer = &c->reply.answer;
	unsigned int nfds = 0;
	int fd = -1;

	c->sock = sock;
	if (maple_wire_receive(sock, &c->packet, sizeof(c->packet), &fd, &nfds,
			       1) <= 0)
		return;
	if (nfds)
		close(fd);
	answer->error = e;
	memcpy(answer->text, text, sizeof(answer->text));
	say(c, -1);
}

/* maple_observer_serve - see maple/observer.h */
int maple_observer_serve(int sock, const struct maple_observer_rules *rules,
			 struct maple_error *err)
{
	struct service *s = calloc(1, sizeof(*s));
	int e;

	if (!s)
		return maple_error_set(err, ENOMEM, "out of memory");
	s->rules = rules;
	s->over = eventfd(0, EFD_CLOEXEC);
	e = s->over < 0 ? maple_error_set(err, errno, "no eventfd: %m")
			: maple_observing_create(rules, &s->observing, err);
	if (e)
		decline(s, sock, e, err->text);
	else
		e = run(s, sock, err);
	maple_observing_destroy(s->observing);
	if (s->over >= 0)
		close(s->over);
	free(s);
	return e;
}
