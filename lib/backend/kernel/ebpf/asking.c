// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Asking a session of the eBPF observer: one in this process, if we may load
 * it, else one of the observer's service. The same questions either way.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <maple/wire.h>
#include "image/image.h"
#include "observing.h"

#define PACKET (sizeof(struct maple_probing_answer) + MAPLE_PROBING_MOST)

/* A connection for whoever opens next: from a sandbox nobody connects. */
static struct {
	pthread_mutex_t lock;
	int sock[MAPLE_PROBING_CHANNELS];
} early = { .lock = PTHREAD_MUTEX_INITIALIZER, .sock = { -1, -1 } };

/* ---- one question ---- */

static ssize_t exchange(struct maple_probing_way *way,
			const struct maple_probing_question *question,
			const void *bytes, int fd, int *got)
{
	size_t size = sizeof(*question) + question->size;
	unsigned char *out = way->packet;
	unsigned int ngot = 0;
	ssize_t n;

	memcpy(out, question, sizeof(*question));
	if (question->size)
		memcpy(out + sizeof(*question), bytes, question->size);
	n = maple_wire_send(way->sock, out, size, &fd, fd >= 0);
	if (n < 0)
		return n;
	n = maple_wire_receive(way->sock, way->packet, PACKET, got, &ngot, 1);
	return n ? n : -ECONNRESET;
}

/* Over the socket: what comes is as little to be trusted as that it comes. */
static int ask_service(struct maple_probing_way *way,
		       const struct maple_probing_question *question,
		       const void *bytes, int fd, int *got)
{
	struct maple_probing_answer *answer = way->packet;
	ssize_t n = -ECONNRESET;

	if (way->sock >= 0)
		n = exchange(way, question, bytes, fd, got);
	if (n >= (ssize_t)sizeof(*answer) && answer->size == n - sizeof(*answer))
		return 0;
	if (way->sock >= 0)
		close(way->sock);
	way->sock = -1;
	memset(answer, 0, sizeof(*answer));
	answer->error = -ECONNRESET;
	strcpy(answer->text, "the observer's service has ended the session");
	return -ECONNRESET;
}

static const enum maple_probing_channel channel_of[MAPLE_PROBING_OPS] = {
	[MAPLE_PROBING_READ] = MAPLE_PROBING_DATA,
	[MAPLE_PROBING_STATE] = MAPLE_PROBING_DATA,
	[MAPLE_PROBING_RETURN] = MAPLE_PROBING_DATA,
	[MAPLE_PROBING_DEAF] = MAPLE_PROBING_DATA,
};

/*
 * Asks; to be followed by done(), until when *@answer, and what is behind it,
 * is the caller's. @got: the file that came with it, or NULL.
 */
static struct maple_probing_answer *
ask(struct maple_probing *o, const struct maple_probing_question *question,
    const void *bytes, int fd, int *got)
{
	struct maple_probing_way *way = &o->way[channel_of[question->op]];
	struct maple_probing_answer *answer = way->packet;
	int file = -1;

	assert(question->op && question->op < MAPLE_PROBING_OPS);
	assert(question->size <= MAPLE_PROBING_MOST);
	pthread_mutex_lock(&way->lock);
	if (o->here)
		maple_observing_answer(o->here, question, bytes, fd, answer,
				       answer + 1);
	else
		ask_service(way, question, bytes, fd, &file);
	if (got)
		*got = file;
	else if (file >= 0)
		close(file);
	return answer;
}

static void done(struct maple_probing *o, uint32_t op)
{
	pthread_mutex_unlock(&o->way[channel_of[op]].lock);
}

static int error_of(const struct maple_probing_answer *answer,
		    struct maple_error *err)
{
	if (!answer->error)
		return 0;
	if (*answer->text)
		return maple_error_set(err, -answer->error, "%.*s",
				       (int)sizeof(answer->text) - 1,
				       answer->text);
	return maple_error_set(err, -answer->error, "the observer says: %s",
			       strerror(-answer->error));
}

/* One of which nothing comes but whether it was done. */
static int tell(struct maple_probing *o,
		const struct maple_probing_question *question,
		const void *bytes, int fd, struct maple_error *err)
{
	int e = error_of(ask(o, question, bytes, fd, NULL), err);

	done(o, question->op);
	return e;
}

/* What an answer brings is as much as was asked for, or there is none. */
static int bring(struct maple_probing *o,
		 const struct maple_probing_question *question, void *to,
		 size_t size, uint64_t *value)
{
	const struct maple_probing_answer *answer =
		ask(o, question, NULL, -1, NULL);
	int e = answer->error;

	if (!e && answer->size != size)
		e = -EPROTO;
	if (!e && size)
		memcpy(to, answer + 1, size);
	if (!e && value)
		*value = answer->value;
	done(o, question->op);
	return e;
}

/* ---- opening ---- */

static int connect_to(const char *service, struct maple_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock, e;

	if (strlen(service) >= sizeof(addr.sun_path))
		return maple_error_set(err, ENAMETOOLONG, "%s is too long",
				       service);
	strcpy(addr.sun_path, service);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock >= 0 && !connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		return sock;
	e = errno;
	if (sock >= 0)
		close(sock);
	return maple_error_set(err, e, "no observer at %s: %s", service,
			       strerror(e));
}

static void take_early(struct maple_probing *o)
{
	pthread_mutex_lock(&early.lock);
	for (unsigned int i = 0; i < MAPLE_PROBING_CHANNELS; i++) {
		o->way[i].sock = early.sock[i];
		early.sock[i] = -1;
	}
	pthread_mutex_unlock(&early.lock);
}

/* There is one at most; @sock: by channel, and the caller's no more. */
static void keep_early(const int sock[MAPLE_PROBING_CHANNELS])
{
	int before[MAPLE_PROBING_CHANNELS];

	pthread_mutex_lock(&early.lock);
	memcpy(before, early.sock, sizeof(before));
	memcpy(early.sock, sock, sizeof(before));
	pthread_mutex_unlock(&early.lock);
	for (unsigned int i = 0; i < MAPLE_PROBING_CHANNELS; i++)
		if (before[i] >= 0)
			close(before[i]);
}

/*
 * maple_probing_connect_early - connects to @service; it is used by whoever
 * opens an observer next, whatever may be connected to then
 */
int maple_probing_connect_early(const char *service, struct maple_error *err)
{
	int sock[MAPLE_PROBING_CHANNELS] = { connect_to(service, err), -1 };

	if (sock[0] < 0)
		return sock[0];
	keep_early(sock);
	return 0;
}

static int hello(struct maple_probing *o, struct maple_error *err)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_HELLO,
		.value = MAPLE_PROBING_VERSION,
	};
	int *other = &o->way[MAPLE_PROBING_DATA].sock;
	/* A session that has been greeted before has two channels. */
	const struct maple_probing_answer *answer =
		ask(o, &question, NULL, -1, *other < 0 ? other : NULL);
	int e = error_of(answer, err);

	o->multi = answer->value;
	done(o, MAPLE_PROBING_HELLO);
	if (!e && !o->here && *other < 0)
		e = maple_error_set(err, EPROTO,
				    "the observer has one channel only");
	return e;
}

static int open_service(struct maple_probing *o, const char *service,
			struct maple_error *err)
{
	int *sock = &o->way[MAPLE_PROBING_WORK].sock;

	assert(!o->here); /* one or the other */
	take_early(o);
	if (*sock < 0)
		*sock = connect_to(service, err);
	return *sock < 0 ? *sock : hello(o, err);
}

/*
 * Ours, or, where we may not, the service's; what is missing without one is
 * told by our own way.
 */
static int open_either(struct maple_probing *o, const char *service,
		       struct maple_error *err)
{
	int e = maple_observing_create(NULL, &o->here, err);

	if (!e)
		return hello(o, err);
	if (!service || (e != -EPERM && e != -EACCES))
		return e;
	return open_service(o, service, err);
}

static int init(struct maple_probing *o, struct maple_error *err)
{
	bool room = true;

	memset(o, 0, sizeof(*o));
	for (unsigned int i = 0; i < MAPLE_PROBING_CHANNELS; i++) {
		o->way[i].sock = -1;
		pthread_mutex_init(&o->way[i].lock, NULL);
		o->way[i].packet = malloc(PACKET);
		room &= o->way[i].packet != NULL;
	}
	o->probe = calloc(MAPLE_OBSERVE_PROBES, sizeof(*o->probe));
	o->count = calloc(MAPLE_OBSERVE_PROBES, sizeof(*o->count));
	return room && o->probe && o->count
		       ? 0
		       : maple_error_set(err, ENOMEM, "out of memory");
}

/*
 * maple_probing_open - a session, of nobody yet
 * @service: where the observer's service listens; NULL: we ask none
 *
 * To be closed with maple_probing_close(), also after an error.
 */
int maple_probing_open(struct maple_probing *o, const char *service,
		       struct maple_error *err)
{
	int e = init(o, err);

	return e ? e : open_either(o, service, err);
}

/*
 * maple_probing_try - whether @service gives us a session
 *
 * If so, that session is the one that is opened next.
 */
int maple_probing_try(const char *service, struct maple_error *err)
{
	int sock[MAPLE_PROBING_CHANNELS];
	struct maple_probing o;
	int e = init(&o, err);

	if (!e)
		e = open_service(&o, service, err);
	for (unsigned int i = 0; i < MAPLE_PROBING_CHANNELS && !e; i++) {
		sock[i] = o.way[i].sock;
		o.way[i].sock = -1;
	}
	if (!e)
		keep_early(sock);
	maple_probing_close(&o);
	return e;
}

void maple_probing_close(struct maple_probing *o)
{
	for (unsigned int i = 0; i < MAPLE_PROBING_CHANNELS; i++) {
		if (o->way[i].packet && o->way[i].sock >= 0)
			close(o->way[i].sock);
		free(o->way[i].packet);
	}
	maple_observing_destroy(o->here);
	free(o->probe);
	free(o->count);
	memset(o, 0, sizeof(*o));
}

/* ---- what is asked ---- */

/*
 * maple_probing_target - the session is on process @pid from now on
 * @pidfd: of it
 *
 * Errors: -EPERM it is not ours to observe; -ESRCH; -ECONNRESET the service is
 * gone.
 */
int maple_probing_target(struct maple_probing *o, pid_t pid, int pidfd,
			 struct maple_error *err)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_TARGET,
		.value = pid,
	};

	memset(&o->state, 0, sizeof(o->state));
	return tell(o, &question, NULL, pidfd, err);
}

/* maple_probing_probes - o->probe has changed there */
int maple_probing_probes(struct maple_probing *o, uint32_t first, uint32_t n,
			 struct maple_error *err)
{
	const uint32_t most = MAPLE_PROBING_MOST / sizeof(*o->probe);
	struct maple_probing_question question = { MAPLE_PROBING_PROBES };
	uint32_t some;
	int e = 0;

	assert(first <= MAPLE_OBSERVE_PROBES &&
	       n <= MAPLE_OBSERVE_PROBES - first);
	for (; n && !e; n -= some, first += some) {
		some = n < most ? n : most;
		question.first = first;
		question.size = some * sizeof(*o->probe);
		e = tell(o, &question, o->probe + first, -1, err);
	}
	return e;
}

static void take_set(struct maple_probed *set,
		     const struct maple_probing_answer *answer)
{
	set->places = answer->places;
	set->refused = answer->refused;
	set->unreached = answer->unreached;
}

/*
 * maple_probing_attach - probes at @n more places of the file @path
 * @refused: set where the kernel can probe nothing; or NULL
 *
 * Errors: -EPERM, -ESRCH, -ENOENT, -ENOMEM; what is in place already stays.
 */
int maple_probing_attach(struct maple_probing *o, struct maple_probed *set,
			 enum maple_probing_what what, const char *path,
			 const struct maple_probing_place *place,
			 unsigned int n, bool *refused, struct maple_error *err)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_ATTACH,
		.id = set->id,
		.what = what,
		.size = n * sizeof(*place),
	};
	const struct maple_probing_answer *answer;
	struct maple_error why = { "" };
	int fd = maple_image_file(path), e;

	assert(n && n <= MAPLE_PROBING_PLACES);
	if (fd < 0)
		return maple_error_set(err, -fd,
				       "no probe can be put into %s: %s", path,
				       strerror(-fd));
	answer = ask(o, &question, place, fd, NULL);
	e = error_of(answer, &why);
	if (!e && answer->size != n * sizeof(*refused))
		e = maple_error_set(&why, EPROTO,
				    "the observer's answer is short");
	if (!e) {
		set->id = answer->id;
		take_set(set, answer);
		if (refused)
			memcpy(refused, answer + 1, answer->size);
	}
	done(o, question.op);
	close(fd);
	return e ? maple_error_set(err, -e,
				   "no probe can be put into %s: %.200s", path,
				   why.text)
		 : 0;
}

static void change(struct maple_probing *o,
		   const struct maple_probing_question *question,
		   struct maple_probed *set, const void *place, int fd)
{
	const struct maple_probing_answer *answer =
		ask(o, question, place, fd, NULL);

	if (!answer->error)
		take_set(set, answer);
	done(o, question->op);
}

/* maple_probing_drop - the probe at place @at of @set goes; not with multi */
void maple_probing_drop(struct maple_probing *o, struct maple_probed *set,
			unsigned int at)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_DROP,
		.id = set->id,
		.first = at,
	};

	assert(!o->multi);
	change(o, &question, set, NULL, -1);
}

/* maple_probing_again - ... and comes back */
void maple_probing_again(struct maple_probing *o, struct maple_probed *set,
			 const char *path, unsigned int at,
			 const struct maple_probing_place *place)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_AGAIN,
		.id = set->id,
		.what = MAPLE_PROBING_ACCESS,
		.first = at,
		.size = sizeof(*place),
	};
	int fd = maple_image_file(path);

	assert(!o->multi);
	if (fd < 0)
		return;
	change(o, &question, set, place, fd);
	close(fd);
}

/* maple_probing_undo - all probes of @set go */
void maple_probing_undo(struct maple_probing *o, struct maple_probed *set)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_UNDO,
		.id = set->id,
	};

	if (set->id)
		tell(o, &question, NULL, -1, NULL);
	memset(set, 0, sizeof(*set));
}

/* maple_probing_hear - from now on there are records */
int maple_probing_hear(struct maple_probing *o,
		       const struct maple_probing_hearing *hearing,
		       struct maple_error *err)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_HEAR,
		.size = sizeof(*hearing),
	};

	return tell(o, &question, hearing, -1, err);
}

/* maple_probing_generation - of the probes of @batch those of this one count */
int maple_probing_generation(struct maple_probing *o, uint32_t batch,
			     uint32_t generation)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_GENERATION,
		.first = batch,
		.value = generation,
	};

	return tell(o, &question, NULL, -1, NULL);
}

/* maple_probing_counts - fills o->count there, and o->epoch */
int maple_probing_counts(struct maple_probing *o, uint32_t first, uint32_t n)
{
	const uint32_t most = MAPLE_PROBING_MOST / sizeof(*o->count);
	struct maple_probing_question question = { MAPLE_PROBING_COUNTS };
	uint64_t epoch = o->epoch;
	int e = 0;

	assert(first <= MAPLE_OBSERVE_PROBES &&
	       n <= MAPLE_OBSERVE_PROBES - first);
	for (; n && !e; n -= question.n, first += question.n) {
		question.first = first;
		question.n = n < most ? n : most;
		e = bring(o, &question, o->count + first,
			  question.n * sizeof(*o->count), &epoch);
	}
	o->epoch = (uint32_t)epoch;
	return e;
}

/*
 * maple_probing_read - hands out the records that there are, at most @most
 *
 * @take must not read. Errors: -ECONNRESET the service is gone.
 */
int maple_probing_read(struct maple_probing *o, unsigned int most,
		       void (*take)(void *ctx,
				    const struct maple_observe_record *record),
		       void *ctx)
{
	struct maple_probing_question question = { MAPLE_PROBING_READ };
	const struct maple_probing_answer *answer;
	const struct maple_observe_record *record;
	unsigned int n;
	int e;

	do {
		question.n = most;
		answer = ask(o, &question, NULL, -1, NULL);
		record = (const struct maple_observe_record *)(answer + 1);
		e = answer->error;
		n = e ? 0 : answer->size / sizeof(*record);
		for (unsigned int i = 0; i < n; i++)
			take(ctx, &record[i]);
		done(o, question.op);
		most -= n < most ? n : most;
	} while (n && most);
	return e;
}

/* maple_probing_state - fills o->state */
int maple_probing_state(struct maple_probing *o)
{
	const struct maple_probing_question question = { MAPLE_PROBING_STATE };

	return bring(o, &question, &o->state, sizeof(o->state), NULL);
}

/* maple_probing_return - which return address stood at @slot; 0: not known */
uint64_t maple_probing_return(struct maple_probing *o, uint64_t slot)
{
	const struct maple_probing_question question = {
		.op = MAPLE_PROBING_RETURN,
		.value = slot,
	};
	uint64_t caller = 0;

	return bring(o, &question, NULL, 0, &caller) ? 0 : caller;
}

/* maple_probing_deaf - who goes on running is heard no more */
void maple_probing_deaf(struct maple_probing *o)
{
	const struct maple_probing_question question = { MAPLE_PROBING_DEAF };

	tell(o, &question, NULL, -1, NULL);
}

/* maple_probing_forget - the session is nobody's; budgets are whole */
void maple_probing_forget(struct maple_probing *o)
{
	const struct maple_probing_question question = { MAPLE_PROBING_FORGET };

	tell(o, &question, NULL, -1, NULL);
}
