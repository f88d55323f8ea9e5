// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What may last, or hang, is done aside, in a thread of the user's whose it is:
 * what only reads the memo, over a connection of its own to the database, and
 * the closing of descriptors that the user has opened. So a user waits for
 * himself alone. A few in all read at the same time.
 *
 * The thread knows its jobs, and nothing of clients. A job belongs to it until
 * it is done, and to the loop from then on. It is cancelled when its client is
 * gone, and after LAST_S seconds. A thread that hangs keeps what it has, and
 * the descriptors that its user hands over from then on; so they are counted.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "aside.h"
#include "journal.h"
#include "request.h"
#include "turns.h"

#define READERS	  4    /* of all users */
#define LAST_S	  300  /* that a job may take */
#define UNCLOSED  1024 /* descriptors of a user: STUCK, and all clients' */
#define STUCK	  64   /* ... with which no more are taken */
#define STACK	  (512u << 10)
#define NICENESS  10 /* below the loop */
#define PARTING_S 2

struct maple_aside_job {
	struct maple_aside_job *next;
	struct maple_client *client; /* the loop's; NULL: gone */
	struct maple_aside *aside;
	maple_reader read;
	struct maple_reply reply;
	unsigned int type;
	void *data; /* the request */
	size_t size;
	int pipe; /* what DUMP writes to; -1 */
	time_t until;
	atomic_bool cancelled;

	/* what came of it */
	int error;
	int64_t number;
	struct maple_error why;
};

struct maple_aside {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned int refs; /* the account, and the thread */
	bool ends;
	struct maple_aside_job *first, *last;
	struct maple_aside_job *now; /* that its memo is open for */
	int unclosed[UNCLOSED];
	unsigned int nunclosed;
};

/* For all users. */
static struct {
	pthread_once_t once;
	sem_t readers;
	pthread_mutex_t lock;
	struct maple_aside_job *done;
	int wake; /* the loop's */
	const char *database;
	unsigned int threads;
	pthread_cond_t ended;
} all = { .once = PTHREAD_ONCE_INIT,
	  .lock = PTHREAD_MUTEX_INITIALIZER,
	  .ended = PTHREAD_COND_INITIALIZER,
	  .wake = -1 };

static void prepare(void)
{
	sem_init(&all.readers, 0, READERS);
}

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

static void carry_out(struct maple_aside_job *job)
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
	const struct maple_aside_job *job = ctx;

	return atomic_load(&job->cancelled) || now_s() >= job->until;
}

static void set_now(struct maple_aside *a, struct maple_aside_job *job)
{
	pthread_mutex_lock(&a->lock);
	a->now = job;
	pthread_mutex_unlock(&a->lock);
}

static void read_memo(struct maple_aside *a, struct maple_aside_job *job)
{
	struct maple_reply *reply = &job->reply;

	job->error = maple_memo_open(all.database, MAPLE_MEMO_READONLY,
				     &reply->memo, &job->why);
	if (job->error)
		return;
	maple_memo_watch(reply->memo, is_over, job);
	set_now(a, job);
	if (job->pipe >= 0)
		reply->file = maple_pour_open(job->pipe, is_over, job);
	carry_out(job);
	if (reply->file)
		fclose(reply->file);
	set_now(a, NULL);
	maple_memo_close(reply->memo);
	if (job->error && is_over(job))
		job->error = maple_error_set(
			&job->why, ETIMEDOUT,
			"reading the memo took longer than %d s", LAST_S);
}

static void hand_back(struct maple_aside_job *job)
{
	uint64_t one = 1;

	pthread_mutex_lock(&all.lock);
	job->next = all.done;
	all.done = job;
	pthread_mutex_unlock(&all.lock);
	if (write(all.wake, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

static void do_job(struct maple_aside *a, struct maple_aside_job *job)
{
	while (sem_wait(&all.readers))
		;
	if (!atomic_load(&job->cancelled))
		read_memo(a, job);
	sem_post(&all.readers);
	if (job->pipe >= 0)
		close(job->pipe);
	job->pipe = -1;
	hand_back(job);
}

static void put(struct maple_aside *a)
{
	bool last;

	pthread_mutex_lock(&a->lock);
	last = !--a->refs;
	pthread_mutex_unlock(&a->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->wake);
	free(a);
}

/* One thing to do; false: there is none any more. */
static bool work(struct maple_aside *a)
{
	struct maple_aside_job *job = NULL;
	int fd = -1;

	pthread_mutex_lock(&a->lock);
	while (!a->first && !a->nunclosed && !a->ends)
		pthread_cond_wait(&a->wake, &a->lock);
	if (a->nunclosed) {
		fd = a->unclosed[a->nunclosed - 1];
	} else if (a->first) {
		job = a->first;
		a->first = job->next;
	}
	pthread_mutex_unlock(&a->lock);
	if (job)
		do_job(a, job);
	if (fd < 0)
		return job;
	close(fd);
	/* Counted until it is closed; those that came meanwhile lie above. */
	pthread_mutex_lock(&a->lock);
	for (unsigned int i = 0; i < a->nunclosed; i++)
		if (a->unclosed[i] == fd) {
			a->unclosed[i] = a->unclosed[--a->nunclosed];
			break;
		}
	pthread_mutex_unlock(&a->lock);
	return true;
}

static void *run(void *ctx)
{
	struct maple_aside *a = ctx;

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
	while (work(a))
		;
	put(a);
	pthread_mutex_lock(&all.lock);
	all.threads--;
	pthread_cond_broadcast(&all.ended);
	pthread_mutex_unlock(&all.lock);
	return NULL;
}

/* ---- in the loop ---- */

static int start(struct maple_aside *a)
{
	pthread_attr_t attr;
	pthread_t thread;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	a->refs++;
	pthread_mutex_lock(&all.lock);
	all.threads++;
	e = pthread_create(&thread, &attr, run, a);
	if (e)
		all.threads--;
	pthread_mutex_unlock(&all.lock);
	pthread_attr_destroy(&attr);
	if (e)
		a->refs--;
	return -e;
}

/* The thread of a user; NULL: there can be none now. */
static struct maple_aside *get(struct maple_account *account)
{
	struct maple_aside *a = account->aside;

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	pthread_once(&all.once, prepare);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	a->refs = 1;
	if (start(a)) {
		put(a);
		return NULL;
	}
	return account->aside = a;
}

static void free_job(struct maple_aside_job *job)
{
	if (job->pipe >= 0)
		close(job->pipe);
	free(job->reply.out.data);
	free(job->data);
	free(job);
}

/* What was said aside goes to the client, or why it cannot. */
static void answer(struct maple_client *c, struct maple_aside_job *job)
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

static int on_done(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct maple_aside_job *job, *next;
	uint64_t times;

	if (read(fd, &times, sizeof(times)) < 0)
		return 0;
	pthread_mutex_lock(&all.lock);
	job = all.done;
	all.done = NULL;
	pthread_mutex_unlock(&all.lock);
	for (; job; job = next) {
		next = job->next;
		if (job->client) {
			job->client->job = NULL;
			answer(job->client, job);
			maple_client_wake(job->client);
		}
		free_job(job);
	}
	return 0;
}

/* maple_aside_init - before the first client */
int maple_aside_init(struct maple_server *server, struct maple_error *err)
{
	const char *path = server->settings.database;
	int e;

	/* One that is in memory has one connection. */
	all.database = strcmp(path, ":memory:") ? path : NULL;
	all.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all.wake < 0)
		return maple_error_set(err, errno, "no eventfd: %m");
	e = sd_event_add_io(server->event, &server->aside, all.wake, EPOLLIN,
			    on_done, server);
	return e < 0 ? maple_error_set(err, -e, "no threads: %s", strerror(-e))
		     : 0;
}

/*
 * A dump goes through a pipe, of which the client gets one end: what it does
 * not read is not there twice, nor kept by us. @file: for what is done at once.
 */
static int open_dump(struct maple_client *client, struct maple_aside_job *job,
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
static int read_at_once(struct maple_client *client, struct maple_aside_job *job)
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
	free_job(job);
	return MAPLE_ANSWERED;
}

static void append(struct maple_aside *a, struct maple_aside_job *job)
{
	pthread_mutex_lock(&a->lock);
	job->next = NULL;
	*(a->first ? &a->last->next : &a->first) = job;
	a->last = job;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

/*
 * maple_aside_read - the request at hand is done by @read, when it can be
 * @data: the request, of @type; copied
 *
 * Returns MAPLE_ANSWERED, or -errno.
 */
int maple_aside_read(struct maple_client *client, maple_reader read,
		     unsigned int type, const void *data, size_t size,
		     struct maple_error *err)
{
	struct maple_aside_job *job = calloc(1, sizeof(*job));
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
	if (!all.database)
		return read_at_once(client, job);
	a = get(client->account);
	if (!a)
		e = maple_error_set(err, EAGAIN, "mapled has no thread for it");
	if (!e && type == MAPLE_WIRE_DUMP)
		e = open_dump(client, job, NULL, err);
	if (e) {
		free_job(job);
		return e;
	}
	job->aside = a;
	job->client = client;
	client->job = job;
	append(a, job);
	return MAPLE_ANSWERED;
}

/* maple_aside_cancel - nobody waits any more for what @client asked for */
void maple_aside_cancel(struct maple_client *client)
{
	struct maple_aside_job *job = client->job;
	struct maple_aside *a;

	if (!job)
		return;
	a = job->aside;
	client->job = NULL;
	job->client = NULL;
	pthread_mutex_lock(&a->lock);
	atomic_store(&job->cancelled, true);
	if (a->now == job)
		maple_memo_interrupt(job->reply.memo);
	pthread_mutex_unlock(&a->lock);
}

/* maple_aside_close - closes @fd, which the user has opened */
void maple_aside_close(struct maple_account *account, int fd)
{
	struct maple_aside *a = account ? get(account) : NULL;

	if (!a) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&a->lock);
	assert(a->nunclosed < UNCLOSED);
	a->unclosed[a->nunclosed++] = fd;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

static unsigned int unclosed(struct maple_aside *a)
{
	unsigned int n;

	if (!a)
		return 0;
	pthread_mutex_lock(&a->lock);
	n = a->nunclosed;
	pthread_mutex_unlock(&a->lock);
	return n;
}

/* maple_aside_is_stuck - with more than is to be taken from its user now */
bool maple_aside_is_stuck(struct maple_aside *aside)
{
	return unclosed(aside) >= STUCK;
}

/* maple_aside_is_idle - its user need not be known any more */
bool maple_aside_is_idle(struct maple_aside *aside)
{
	return !unclosed(aside);
}

/* maple_aside_end - its user is gone; takes NULL */
void maple_aside_end(struct maple_aside *aside)
{
	if (!aside)
		return;
	pthread_mutex_lock(&aside->lock);
	aside->ends = true;
	pthread_cond_signal(&aside->wake);
	pthread_mutex_unlock(&aside->lock);
	put(aside);
}

/* maple_aside_deinit - waits for the threads that do end */
void maple_aside_deinit(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PARTING_S;
	pthread_mutex_lock(&all.lock);
	while (all.threads &&
	       !pthread_cond_timedwait(&all.ended, &all.lock, &until))
		;
	pthread_mutex_unlock(&all.lock);
}
