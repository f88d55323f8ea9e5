// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What may last, or hang, is done aside, in a thread that those alone wait for
 * whose it is. A user has one, which reads the memo (reading.c), and closes
 * descriptors that the user has opened; a client has one for its sessions of
 * maple.ko (module.c).
 *
 * The thread knows its jobs, and nothing of clients. A job belongs to it until
 * it is done, and to the loop from then on. A thread that hangs keeps what it
 * has, and the descriptors that its user hands over from then on; so they are
 * counted.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "aside.h"

#define STUCK	  64 /* descriptors of a user, with which no more are taken */
#define STACK	  (512u << 10)
#define NICENESS  10 /* below the loop */
#define PARTING_S 2

struct maple_aside {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	unsigned int refs; /* whose it is, and the thread */
	bool ends;
	int niceness;
	struct maple_aside_job *first, *last;
	int *unclosed; /* STUCK, and as many as all clients of a user had */
	unsigned int nunclosed, room;
};

/* For all users. */
static struct {
	pthread_mutex_t lock;
	struct maple_aside_job *done;
	int wake; /* the loop's */
	unsigned int threads;
	pthread_cond_t ended;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER,
	  .ended = PTHREAD_COND_INITIALIZER,
	  .wake = -1 };

/* ---- in the thread ---- */

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
	free(a->unclosed);
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
	if (job) {
		job->work(job);
		hand_back(job);
	}
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

	setpriority(PRIO_PROCESS, (id_t)gettid(), a->niceness);
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

/* maple_aside_create - a thread; NULL: there can be none now */
struct maple_aside *maple_aside_create(int niceness)
{
	struct maple_aside *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	a->niceness = niceness;
	a->refs = 1;
	if (!start(a))
		return a;
	put(a);
	return NULL;
}

/* maple_aside_of - the thread of a user; NULL: there can be none now */
struct maple_aside *maple_aside_of(struct maple_account *account)
{
	if (!account->aside)
		account->aside = maple_aside_create(NICENESS);
	return account->aside;
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
		job->done(job);
	}
	return 0;
}

/* maple_aside_init - before the first client */
int maple_aside_init(struct maple_server *server, struct maple_error *err)
{
	int e;

	all.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all.wake < 0)
		return maple_error_set(err, errno, "no eventfd: %m");
	e = sd_event_add_io(server->event, &server->aside, all.wake, EPOLLIN,
			    on_done, server);
	return e < 0 ? maple_error_set(err, -e, "no threads: %s", strerror(-e))
		     : 0;
}

/* maple_aside_do - @job, after those that came before */
void maple_aside_do(struct maple_aside *aside, struct maple_aside_job *job)
{
	pthread_mutex_lock(&aside->lock);
	job->next = NULL;
	*(aside->first ? &aside->last->next : &aside->first) = job;
	aside->last = job;
	pthread_cond_signal(&aside->wake);
	pthread_mutex_unlock(&aside->lock);
}

/* Room for one more; false: there is no memory. */
static bool reserve(struct maple_aside *a)
{
	unsigned int room = a->room ? 2 * a->room : STUCK;
	int *more;

	if (a->nunclosed < a->room)
		return true;
	more = reallocarray(a->unclosed, room, sizeof(*more));
	if (!more)
		return false;
	a->unclosed = more;
	a->room = room;
	return true;
}

/* maple_aside_close - closes @fd, which the user has opened */
void maple_aside_close(struct maple_account *account, int fd)
{
	struct maple_aside *a = account ? maple_aside_of(account) : NULL;
	bool taken = false;

	if (a) {
		pthread_mutex_lock(&a->lock);
		taken = reserve(a);
		if (taken)
			a->unclosed[a->nunclosed++] = fd;
		pthread_cond_signal(&a->wake);
		pthread_mutex_unlock(&a->lock);
	}
	if (!taken)
		close(fd);
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

/* maple_aside_end - whose it is is gone; takes NULL */
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
