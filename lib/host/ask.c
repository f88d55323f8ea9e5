// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests, and what to do when mapled goes away in the middle of one: wait
 * for it, and ask again under the same number. What was done for that number
 * is not done a second time.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "host/host.h"

#define ANSWER_MS 60000 /* a database that others write to, and a slow disk */
#define RETURN_S  15.0	/* seconds that mapled has to come back */

/* Whether it is the connection that failed, not the request. */
static bool is_lost(int e)
{
	return e == -ECONNRESET || e == -ENOENT || e == -ECONNREFUSED ||
	       e == -EAGAIN;
}

/*
 * maple_host_return - waits for a mapled that has gone, if it has; one that did
 * not come back is waited for no more
 */
int maple_host_return(struct maple_host *host, struct maple_error *err)
{
	const struct timespec slice = { .tv_nsec = 100 * 1000 * 1000 };
	double until = maple_clock_now() + (host->away ? 0 : RETURN_S);
	struct maple_error why = { "" };
	int e;

	if (host->sock >= 0)
		return 0;
	while (is_lost(e = maple_host_connect(host, &why)) &&
	       maple_clock_now() < until)
		nanosleep(&slice, NULL);
	host->returns += !e;
	host->away = is_lost(e);
	if (!e)
		return 0;
	return maple_error_set(err, is_lost(e) ? ECONNRESET : -e,
			       "mapled has gone and %s: %.400s; what had ended "
			       "is kept",
			       is_lost(e) ? "did not come back"
					  : "came back another",
			       why.text);
}

static int check(struct maple_host *host,
		 const struct maple_host_answer *answer, struct maple_error *err)
{
	const struct maple_wire_refused *r = &answer->message.refused;

	if (answer->head.serial != host->serial) {
		maple_host_disconnect(host);
		return maple_error_set(err, EPROTO,
				       "mapled answers what was not asked");
	}
	if (answer->head.type != MAPLE_WIRE_REFUSED)
		return 0;
	return maple_error_set(
		err, r->error && r->error < 4096 ? (int)r->error : EIO, "%s",
		r->text ? r->text : "mapled refuses");
}

struct question {
	unsigned int type;
	const void *message;
	const int *fds;
	unsigned int nfds;
	unsigned int expected; /* type of the parts of the answer */
	maple_host_take take;  /* given each; NULL: one is all */
	void *ctx;
	unsigned int taken;
};

/* One attempt. */
static int attempt(struct maple_host *host, struct question *q,
		   struct maple_host_answer *answer, struct maple_error *err)
{
	int e = maple_host_send(host, q->type, q->message, q->fds, q->nfds, err);

	while (!e) {
		e = maple_host_receive(host, ANSWER_MS, answer, err);
		if (!e)
			e = check(host, answer, err);
		if (e)
			break;
		if (q->take && answer->head.type == MAPLE_WIRE_NUMBER)
			break;
		if (answer->head.type != q->expected) {
			maple_host_disconnect(host);
			return maple_error_set(
				err, EPROTO, "mapled answers %s with %s",
				maple_wire_name(q->type),
				maple_wire_name(answer->head.type));
		}
		if (!q->take)
			break;
		q->taken++;
		e = q->take(q->ctx, answer, err);
		/* The rest of it would be taken for the next answer. */
		if (e)
			maple_host_disconnect(host);
	}
	return e;
}

static int ask(struct maple_host *host, struct question *q,
	       struct maple_host_answer *answer, struct maple_error *err)
{
	int e, tries = 3;

	host->serial++;
	do {
		e = maple_host_return(host, err);
		if (e)
			return e;
		e = attempt(host, q, answer, err);
	} while (e == -ECONNRESET && !q->taken && --tries);
	return e;
}

/* maple_host_last - one more answer to the last request, of type @expected */
int maple_host_last(struct maple_host *host, unsigned int expected,
		    struct maple_host_answer *answer, struct maple_error *err)
{
	int e = maple_host_receive(host, ANSWER_MS, answer, err);

	if (!e)
		e = check(host, answer, err);
	if (!e && answer->head.type != expected) {
		maple_host_disconnect(host);
		e = maple_error_set(err, EPROTO, "mapled answers with %s",
				    maple_wire_name(answer->head.type));
	}
	return e;
}

/* maple_host_ask - a request with one answer, of type @expected */
int maple_host_ask(struct maple_host *host, unsigned int type,
		   const void *message, unsigned int expected,
		   struct maple_host_answer *answer, struct maple_error *err)
{
	return maple_host_ask_with(host, type, message, NULL, 0, expected,
				   answer, err);
}

/* maple_host_ask_with - the same, with file descriptors */
int maple_host_ask_with(struct maple_host *host, unsigned int type,
			const void *message, const int *fds, unsigned int nfds,
			unsigned int expected, struct maple_host_answer *answer,
			struct maple_error *err)
{
	struct question q = { .type = type,
			      .message = message,
			      .fds = fds,
			      .nfds = nfds,
			      .expected = expected };

	return ask(host, &q, answer, err);
}

/* maple_host_number - a request that is answered with a number; or NULL */
int maple_host_number(struct maple_host *host, unsigned int type,
		      const void *message, int64_t *number,
		      struct maple_error *err)
{
	struct maple_host_answer answer;
	int e = maple_host_ask(host, type, message, MAPLE_WIRE_NUMBER, &answer,
			       err);

	if (!e && answer.fd >= 0)
		close(answer.fd);
	if (!e && number)
		*number = answer.message.number.number;
	return e;
}

/* maple_host_ask_all - a request with any number of answers, for @take */
int maple_host_ask_all(struct maple_host *host, unsigned int type,
		       const void *message, unsigned int expected,
		       maple_host_take take, void *ctx, struct maple_error *err)
{
	struct question q = { .type = type,
			      .message = message,
			      .expected = expected,
			      .take = take,
			      .ctx = ctx };
	struct maple_host_answer answer;

	return ask(host, &q, &answer, err);
}
