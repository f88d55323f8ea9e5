// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What only reads the memo is done in the thread of the user's whose it is,
 * over a connection of its own to the database. A few in all read at the same
 * time. Such a job is cancelled when its client is gone, and after LAST_S
 * seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "aside.h"
#include "../journal.h"
#include "reading.h"
#include "request.h"

#define READERS 4   /* of all users */
#define LAST_S	300 /* that a job may take */

struct maple_reading {
	struct maple_aside_job job;
	struct maple_client *client; /* the loop's; NULL: gone */
	maple_reader read;
	struct maple_reply reply;
	unsigned int type;
	void *data; /* the request */
	size_t size;
	int pipe; /* what DUMP writes to; -1 */
	time_t until;
	atomic_bool cancelled;
	bool open; /* its memo */

	/* what came of it */
	int error;
	int64_t number;
	struct maple_error why;
};

static sem_t readers;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER; /* of all */
static const char *database;

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---- the reply ---- */

/* maple_reply_say - a message; -EDQUOT when it is more than may be kept */
int maple_reply_say(struct maple_reply *reply, unsigned int type,
		    const void *message)
{
	size_t before = reply->out.size;
	int e = maple_wire_frame(&reply->out, type, message, reply->serial, 0,
				 NULL);

	if (e || reply->out.size <= reply->most)
		return e;
	reply->over = reply->out.size;
	reply->out.size = before;
	return -EDQUOT;
}

static void carry_out(struct maple_reading *job)
{
	union maple_wire_message message;

	/* It has been read once, and was good. */
	job->error = maple_wire_get(job->type, job->data, job->size, &message,
				    &job->why);
	if (!job->error)
		job->error = job->read(&job->reply, &message, &job->number,
				       &job->why);
}

/* ---- in the thread ---- */

static int is_over(void *ctx)
{
	const struct maple_reading *job = ctx;

	return atomic_load(&job->cancelled) || now_s() >= job->until;
}

static void set_open(struct maple_reading *r, bool open)
{
	pthread_mutex_lock(&open_lock);
	r->open = open;
	pthread_mutex_unlock(&open_lock);
}

static void read_memo(struct maple_reading *job)
{
	struct maple_reply *reply = &job->reply;

	job->error = maple_memo_open(database,
				     MAPLE_MEMO_READONLY | MAPLE_MEMO_FILE,
				     &reply->memo, &job->why);
	if (job->error)
		return;
	maple_memo_watch(reply->memo, is_over, job);
	set_open(job, true);
	if (job->pipe >= 0)
		reply->file = maple_pour_open(job->pipe, is_over, job);
	carry_out(job);
	if (reply->file)
		fclose(reply->file);
	set_open(job, false);
	maple_memo_close(reply->memo);
	if (job->error && is_over(job))
		job->error = maple_error_set(
			&job->why, ETIMEDOUT,
			"reading the memo took longer than %d s", LAST_S);
}

static void work(struct maple_aside_job *job)
{
	struct maple_reading *r = (struct maple_reading *)job;

	while (sem_wait(&readers))
		;
	if (!atomic_load(&r->cancelled))
		read_memo(r);
	sem_post(&readers);
	if (r->pipe >= 0)
		close(r->pipe);
	r->pipe = -1;
}

/* ---- in the loop ---- */

static void free_reading(struct maple_reading *job)
{
	if (job->pipe >= 0)
		close(job->pipe);
	free(job->reply.out.data);
	free(job->data);
	free(job);
}

/* What was said aside goes to the client, or why it cannot. */
static void answer(struct maple_client *c, struct maple_reading *job)
{
	const struct maple_wire_number done = { job->number };
	struct maple_reply *r = &job->reply;
	size_t more = r->over ? r->over : r->out.size;
	struct maple_error why = { "" };
	int e = maple_limit_hold(c, MAPLE_LIMIT_OUT,
				 c->out.size - c->said + more, &why);

	if (e)
		maple_journal(
			LOG_WARNING, c, "no answer to %s for process %d: %s",
			maple_wire_name(job->type), c->peer.pid, why.text);
	if (!e)
		e = maple_wire_append(&c->out, r->out.data, r->out.size);
	if (!e) {
		e = job->error;
		why = job->why;
	}
	if (!e)
		e = maple_client_say(c, MAPLE_WIRE_NUMBER, &done, r->serial, -1);
	if (e < 0)
		maple_client_refuse(c, r->serial, e,
				    *why.text ? why.text : strerror(-e));
}

static void done(struct maple_aside_job *job)
{
	struct maple_reading *r = (struct maple_reading *)job;

	if (r->client) {
		r->client->reading = NULL;
		answer(r->client, r);
		maple_client_wake(r->client);
	}
	free_reading(r);
}

/* maple_reading_init - before the first client */
void maple_reading_init(const struct maple_server *server)
{
	const char *path = server->settings.database;

	/* One that is in memory has one connection. */
	database = strcmp(path, ":memory:") ? path : NULL;
	sem_init(&readers, 0, READERS);
}

/*
 * A dump goes through a pipe, of which the client gets one end: what it does
 * not read is not there twice, nor kept by us. @file: for what is done at once.
 */
static int open_dump(struct maple_client *client, struct maple_reading *job,
		     FILE **file, struct maple_error *err)
{
	const struct maple_wire_number begun = { 0 };
	int end[2] = { -1, -1 }, e;

	if (!file && pipe2(end, O_CLOEXEC))
		return maple_error_set(err, errno, "no pipe: %m");
	if (file) {
		end[0] = memfd_create("maple-dump", MFD_CLOEXEC);
		*file = end[0] >= 0 ? fdopen(dup(end[0]), "w") : NULL;
		if (!*file) {
			if (end[0] >= 0)
				close(end[0]);
			return maple_error_set(err, errno, "no file: %m");
		}
	}
	e = maple_client_say(client, MAPLE_WIRE_NUMBER, &begun, client->serial,
			     end[0]);
	job->pipe = end[1];
	return e;
}

/* A memo that is in memory has one connection. */
static int read_at_once(struct maple_client *client, struct maple_reading *job)
{
	struct maple_reply *reply = &job->reply;

	reply->memo = client->server->memo;
	if (job->type == MAPLE_WIRE_DUMP)
		job->error = open_dump(client, job, &reply->file, &job->why);
	if (!job->error)
		carry_out(job);
	if (reply->file) {
		fflush(reply->file);
		lseek(fileno(reply->file), 0, SEEK_SET);
		fclose(reply->file);
	}
	answer(client, job);
	free_reading(job);
	return MAPLE_ANSWERED;
}

/*
 * maple_reading_begin - the request at hand is done by @read, when it can be
 * @data: the request, of @type; copied
 *
 * Returns MAPLE_ANSWERED, or -errno.
 */
int maple_reading_begin(struct maple_client *client, maple_reader read,
			unsigned int type, const void *data, size_t size,
			struct maple_error *err)
{
	struct maple_reading *job = calloc(1, sizeof(*job));
	struct maple_aside *a;
	int e = 0;

	if (job)
		job->data = malloc(size + 1);
	if (!job || !job->data) {
		free(job);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	memcpy(job->data, data, size);
	job->size = size;
	job->type = type;
	job->read = read;
	job->pipe = -1;
	job->until = now_s() + LAST_S;
	job->reply.serial = client->serial;
	job->reply.most = client->is_root ? SIZE_MAX
					  : maple_limit_of(client->server,
							   MAPLE_LIMIT_OUT);
	if (!database)
		return read_at_once(client, job);
	a = maple_aside_of(client->account);
	if (!a)
		e = maple_error_set(err, EAGAIN, "mapled has no thread for it");
	if (!e && type == MAPLE_WIRE_DUMP)
		e = open_dump(client, job, NULL, err);
	if (e) {
		free_reading(job);
		return e;
	}
	job->job.work = work;
	job->job.done = done;
	job->client = client;
	client->reading = job;
	maple_aside_do(a, &job->job);
	return MAPLE_ANSWERED;
}

/* maple_reading_cancel - nobody waits any more for what @client asked for */
void maple_reading_cancel(struct maple_client *client)
{
	struct maple_reading *r = client->reading;

	if (!r)
		return;
	client->reading = NULL;
	r->client = NULL;
	pthread_mutex_lock(&open_lock);
	atomic_store(&r->cancelled, true);
	if (r->open)
		maple_memo_interrupt(r->reply.memo);
	pthread_mutex_unlock(&open_lock);
}
