// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What mapled has to say: to the journal with fields to filter by, or, where
 * it was started by hand, to stderr. Of what a user causes, not all is said,
 * but then how much it was: talk.c.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <systemd/sd-journal.h>
#include <maple/report.h>
#include "client.h"
#include "journal.h"

#define TELL_US 60000000 /* how often what is missing is told */

#define FIELDS	16 /* of a line, at most */

struct line {
	struct iovec field[FIELDS];
	int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line,
						      const char *fmt, ...)
{
	char *text;
	va_list ap;
	int size;

	va_start(ap, fmt);
	size = vasprintf(&text, fmt, ap);
	va_end(ap);
	assert(line->n < FIELDS);
	if (size >= 0)
		line->field[line->n++] = (struct iovec){ text, size };
}

/* Whose it is, by what the kernel has said of it; the job is its own word. */
static void add_client(struct line *line, const struct maple_client *client)
{
	add(line, "MAPLE_PID=%d", (int)client->peer.pid);
	add(line, "MAPLE_UID=%d", (int)client->peer.uid);
	add(line, "MAPLE_CPU=%d", client->lease.cpu);
	if (client->campaign)
		add(line, "MAPLE_CAMPAIGN=%lld", (long long)client->campaign);
	if (!client->campaign || !client->job.number)
		return;
	add(line, "MAPLE_JOB=%" PRIu64, client->job.number);
	add(line, "MAPLE_JOB_USER=%d", (int)client->job.user);
}

static void say(int priority, const struct maple_client *client,
		const struct maple_journal_field *fields, const char *text)
{
	struct line line = { .n = 0 };
	struct timespec now;

	if (!getenv("JOURNAL_STREAM")) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		fprintf(stderr, "[%5lld.%06ld] mapled: ", (long long)now.tv_sec,
			now.tv_nsec / 1000);
		maple_report_clean(stderr, text);
		putc('\n', stderr);
		return;
	}
	add(&line, "MESSAGE=%s", text);
	add(&line, "PRIORITY=%d", priority);
	if (client)
		add_client(&line, client);
	for (; fields && fields->name; fields++)
		if (fields->value)
			add(&line, "%s=%s", fields->name, fields->value);
	sd_journal_sendv(line.field, line.n);
	while (line.n)
		free(line.field[--line.n].iov_base);
}

/* ---- what users cause ---- */

static void tell_missing(struct maple_server *server)
{
	uint64_t n;
	uid_t uid;

	while ((n = maple_talk_missing(&server->talk, &uid))) {
		if (uid == MAPLE_TALK_UNKNOWN)
			maple_journal(LOG_WARNING, NULL,
				      "%" PRIu64 " lines more about many other "
				      "users were left out",
				      n);
		else
			maple_journal(LOG_WARNING, NULL,
				      "%" PRIu64 " lines more about user %d "
				      "were left out",
				      n, (int)uid);
	}
}

static int on_missing(sd_event_source *source, uint64_t usec, void *ctx)
{
	tell_missing(ctx);
	return 0;
}

/* Whether a line about @client may be said; if not, it will be counted. */
static bool may_say(int priority, const struct maple_client *client)
{
	struct maple_server *s = client->server;
	struct timespec now;
	int enabled;

	if (client->is_root)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (maple_talk_take(&s->talk, client->peer.uid,
			    priority <= LOG_WARNING ? MAPLE_TALK_WARNING
						    : MAPLE_TALK_NEWS,
			    (uint64_t)now.tv_sec * 1000000 +
				    (uint64_t)now.tv_nsec / 1000))
		return true;
	if (sd_event_source_get_enabled(s->missing, &enabled) >= 0 &&
	    enabled == SD_EVENT_OFF) {
		sd_event_source_set_time_relative(s->missing, TELL_US);
		sd_event_source_set_enabled(s->missing, SD_EVENT_ONESHOT);
	}
	return false;
}

/* maple_journal_init - before the first client */
int maple_journal_init(struct maple_server *server, struct maple_error *err)
{
	int e = sd_event_add_time(server->event, &server->missing,
				  CLOCK_MONOTONIC, 0, 0, on_missing, server);

	if (e >= 0)
		e = sd_event_source_set_enabled(server->missing, SD_EVENT_OFF);
	return e < 0 ? maple_error_set(err, -e, "no timer: %s", strerror(-e))
		     : 0;
}

/* maple_journal_deinit - all clients are gone */
void maple_journal_deinit(struct maple_server *server)
{
	tell_missing(server);
	sd_event_source_disable_unref(server->missing);
}

static void say_as(int priority, const struct maple_client *client,
		   const struct maple_journal_field *fields, const char *fmt,
		   va_list ap)
{
	char text[1024];

	if (client && !may_say(priority, client))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	say(priority, client, fields, text);
}

/* maple_journal - one line, about @client or nobody */
void maple_journal(int priority, const struct maple_client *client,
		   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_as(priority, client, NULL, fmt, ap);
	va_end(ap);
}

/*
 * maple_journal_with - the same, with more fields; one without a value is left
 * out, one without a name is the end
 */
void maple_journal_with(int priority, const struct maple_client *client,
			const struct maple_journal_field *fields,
			const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_as(priority, client, fields, fmt, ap);
	va_end(ap);
}
