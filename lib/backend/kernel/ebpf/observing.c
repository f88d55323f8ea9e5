// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A session of the eBPF observer, where it is loaded: it carries out what
 * observing.h lists.
 *
 * It may be somebody else's, with rules. Then nothing of what is asked is
 * trusted: the process has to be the asker's when it is named, and nothing is
 * heard of it from its next exec on, which the observer itself notes (it may
 * have other rights then). A probe is in that process alone, and what it reads
 * is that process's. Numbers are looked at before they are used, and what a
 * session can hold is counted.
 *
 * Context: two threads may ask at a time, of which one waits for the kernel to
 * take probes away while the other reads records.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <maple/version.h>
#include <maple/wire.h>
#include "base/array.h"
#include "backend/process.h"
#include "backend/kernel/ebpf/ebpf.h"

#define SETS 4096 /* of places that are changed together */
/* In place at a time: sites, and functions of some images, with returns. */
#define PLACES (MAPLE_OBSERVE_PROBES + 16 * MAPLE_OBSERVE_FUNCTIONS)

struct set {
	bool used;
	struct maple_attachments places;
};

struct maple_observing {
	struct maple_bpf bpf;
	struct maple_observer_rules rules; /* owns NULL: all is the caller's */
	pthread_mutex_t links; /* of what is below, and of the session's ends */
	int pidfd;	       /* the target's, or -1 */
	pid_t pid;
	unsigned int nsets;
	struct set *set;
	pthread_mutex_t reading; /* of the ring, and: */
	struct maple_observe_record *out;
	unsigned int nout, most;
};

/* One question, and what is to be answered. */
struct asked {
	const struct maple_probing_question *q;
	const void *bytes;
	int fd;
	struct maple_probing_answer *answer;
	void *room; /* MAPLE_PROBING_MOST bytes */
	struct maple_error err;
};

static int refuse(struct asked *a, const char *text)
{
	return maple_error_set(&a->err, EINVAL, "%s", text);
}

/* ---- records ---- */

static int take_record(void *ctx, void *record, size_t size)
{
	struct maple_observing *o = ctx;

	assert(o->most);
	if (o->out && size >= sizeof(*o->out))
		memcpy(&o->out[o->nout++], record, sizeof(*o->out));
	return --o->most ? 0 : -EAGAIN;
}

/* At most @most of them; @out NULL: they go. */
static unsigned int read_records(struct maple_observing *o,
				 struct maple_observe_record *out,
				 unsigned int most)
{
	unsigned int n;

	assert(!out || most <= MAPLE_PROBING_MOST / sizeof(*out));
	if (!most)
		return 0;
	pthread_mutex_lock(&o->reading);
	o->out = out;
	o->nout = 0;
	o->most = most;
	maple_bpf_read(&o->bpf);
	n = o->nout;
	pthread_mutex_unlock(&o->reading);
	return n;
}

static int answer_records(struct maple_observing *o, struct asked *a)
{
	unsigned int most =
		MAPLE_PROBING_MOST / sizeof(struct maple_observe_record);

	if (a->q->n < most)
		most = a->q->n;
	a->answer->size = read_records(o, a->room, most) *
			  sizeof(struct maple_observe_record);
	return 0;
}

/* ---- sets of places ---- */

static struct set *set_of(struct maple_observing *o, uint32_t id)
{
	return id && id <= o->nsets && o->set[id - 1].used ? &o->set[id - 1]
							   : NULL;
}

static uint32_t new_set(struct maple_observing *o)
{
	unsigned int i = 0;

	assert(o->nsets <= SETS);
	while (i < o->nsets && o->set[i].used)
		i++;
	if (i == SETS)
		return 0;
	if (i == o->nsets) {
		if (!maple_array_resize(o->set, i + 1))
			return 0;
		o->nsets++;
	}
	o->set[i] = (struct set){ true, { .multi = o->bpf.multi } };
	return i + 1;
}

static void undo_all(struct maple_observing *o)
{
	for (unsigned int i = 0; i < o->nsets; i++) {
		if (o->set[i].used)
			maple_attachments_undo(&o->set[i].places);
		o->set[i].used = false;
	}
}

static uint64_t places_in_all(const struct maple_observing *o)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < o->nsets; i++)
		if (o->set[i].used)
			n += o->set[i].places.places;
	return n;
}

static bool has_ended(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) != 0;
}

/* Whether there is a process to have probes in; of one's own, it is taken so. */
static int check_target(struct maple_observing *o, struct asked *a)
{
	if (o->pid &&
	    (!o->rules.owns || (!o->bpf.session->gone && !has_ended(o->pidfd))))
		return 0;
	return maple_error_set(&a->err, ESRCH,
			       "the process has ended, or is another program "
			       "by now");
}

static int program_of(const struct maple_observing *o, uint32_t what)
{
	return what == MAPLE_PROBING_ACCESS  ? o->bpf.access
	       : what == MAPLE_PROBING_ENTRY ? o->bpf.entry
					     : o->bpf.back;
}

/* @path: room for a name of the file. */
static void places_of(const struct maple_observing *o, const struct asked *a,
		      char path[32], uint64_t offset[], uint64_t cookie[],
		      bool *refused, struct maple_places *places)
{
	const struct maple_probing_place *place = a->bytes;
	unsigned int n = a->q->size / sizeof(*place);

	assert(a->fd >= 0 && n && n <= MAPLE_PROBING_PLACES);
	for (unsigned int i = 0; i < n; i++) {
		offset[i] = place[i].offset;
		cookie[i] = place[i].cookie;
		refused[i] = false;
	}
	snprintf(path, 32, "/proc/self/fd/%d", a->fd);
	*places = (struct maple_places){
		.program = program_of(o, a->q->what),
		.at_return = a->q->what == MAPLE_PROBING_BACK,
		.path = path,
		.pid = o->pid,
		.n = n,
		.offset = offset,
		.cookie = cookie,
		.refused = refused,
	};
}

static int check_places(struct maple_observing *o, struct asked *a,
			unsigned int most)
{
	const size_t size = sizeof(struct maple_probing_place);

	if (a->fd < 0 || !a->q->size || a->q->size % size ||
	    a->q->size / size > most || a->q->what >= MAPLE_PROBING_WHATS)
		return refuse(a, "no file, no places, or what else is asked");
	if (o->rules.owns && places_in_all(o) + a->q->size / size > PLACES)
		return maple_error_set(&a->err, ENOSPC,
				       "%u probes are enough for a session",
				       PLACES);
	return check_target(o, a);
}

static void tell_of(const struct set *set, struct maple_probing_answer *answer)
{
	answer->places = set->places.places;
	answer->refused = set->places.refused;
	answer->unreached = set->places.unreached;
}

static int attach(struct maple_observing *o, struct asked *a)
{
	uint64_t offset[MAPLE_PROBING_PLACES], cookie[MAPLE_PROBING_PLACES];
	uint32_t id = a->q->id;
	struct maple_places places;
	struct set *set;
	char path[32];
	int gone, e = check_places(o, a, MAPLE_PROBING_PLACES);

	if (e)
		return e;
	if (!id)
		id = new_set(o);
	set = set_of(o, id);
	if (!set)
		return refuse(a, "there is no such set, or no more");
	places_of(o, a, path, offset, cookie, a->room, &places);
	e = maple_attach(&set->places, &places, &a->err);
	/* Its number may have been another's meanwhile. */
	gone = check_target(o, a);
	if (gone || (e && !a->q->id)) {
		maple_attachments_undo(&set->places);
		set->used = false;
	}
	if (e || gone)
		return e ? e : gone;
	a->answer->id = id;
	a->answer->size = places.n * sizeof(*places.refused);
	tell_of(set, a->answer);
	return 0;
}

/* Where each place is a link: one goes, or comes back. */
static int change(struct maple_observing *o, struct asked *a)
{
	struct set *set = set_of(o, a->q->id);
	uint64_t offset, cookie;
	struct maple_places places;
	bool refused;
	char path[32];
	int e;

	if (!set || set->places.multi || a->q->first >= set->places.n)
		return refuse(a, "there is no such place");
	if (a->q->op == MAPLE_PROBING_DROP) {
		maple_attach_drop(&set->places, a->q->first);
	} else {
		e = check_places(o, a, 1);
		if (e)
			return e;
		if (set->places.fd[a->q->first] >= 0)
			return refuse(a, "it is there");
		places_of(o, a, path, &offset, &cookie, &refused, &places);
		e = maple_attach_again(&set->places, &places, a->q->first);
		if (e)
			return e;
	}
	tell_of(set, a->answer);
	return 0;
}

static int undo(struct maple_observing *o, struct asked *a)
{
	struct set *set = set_of(o, a->q->id);

	if (set) {
		maple_attachments_undo(&set->places);
		set->used = false;
	}
	return 0;
}

/* ---- the target ---- */

static void forget(struct maple_observing *o)
{
	undo_all(o);
	maple_bpf_forget(&o->bpf);
	if (o->pidfd >= 0)
		close(o->pidfd);
	o->pidfd = -1;
	o->pid = 0;
}

/*
 * Its exec is noted before it is asked whose it is: what it executes later ends
 * the session, what it has executed before is asked about.
 */
static int check_owner(struct maple_observing *o, struct asked *a)
{
	struct maple_observe_session *s = o->bpf.session;

	assert(o->pid > 0 && o->rules.owns);
	s->start = maple_process_since(o->pid);
	__atomic_store_n(&s->pid, o->pid, __ATOMIC_SEQ_CST);
	if (!s->start || has_ended(o->pidfd))
		return maple_error_set(&a->err, ESRCH, "the process is gone");
	return o->rules.owns(o->rules.ctx, o->pidfd, &a->err);
}

static int target(struct maple_observing *o, struct asked *a)
{
	struct maple_observe_session *s = o->bpf.session;
	struct stat st;
	pid_t pid;
	int e = 0;

	forget(o);
	assert(!o->pid && o->pidfd < 0);
	pid = a->fd < 0 ? 0 : maple_wire_process(a->fd);
	if (pid <= 0)
		return refuse(a, "the pidfd of a living process belongs to it");
	if ((uint64_t)pid != a->q->value)
		return maple_error_set(&a->err, EPERM,
				       "process %d is of another pid namespace",
				       (int)a->q->value);
	if (stat("/proc/self/ns/pid", &st))
		return maple_error_set(&a->err, errno, "/proc/self/ns/pid: %m");
	o->pidfd = dup(a->fd);
	if (o->pidfd < 0)
		return maple_error_set(&a->err, errno, "no pidfd: %m");
	o->pid = pid;
	read_records(o, NULL, ~0u);
	*o->bpf.end = (struct maple_observe_end){ 0 };
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	if (o->rules.owns)
		e = check_owner(o, a);
	else
		__atomic_store_n(&s->pid, pid, __ATOMIC_SEQ_CST);
	if (e)
		forget(o);
	return e;
}

/*
 * Who runs is heard once all probes are in place: before, it would seem to do
 * without its locks what it does under them.
 */
static int hear(struct maple_observing *o, struct asked *a)
{
	struct maple_observe_session *s = o->bpf.session;
	struct maple_observe_end *end = o->bpf.end;
	struct maple_probing_hearing h;
	int e;

	if (a->q->size != sizeof(h))
		return refuse(a, "how it is to be heard is not said");
	memcpy(&h, a->bytes, sizeof(h));
	if (h.runtimes > MAPLE_OBSERVE_RUNTIMES)
		return refuse(a, "there are too many runtimes");
	e = check_target(o, a);
	if (e)
		return e;
	s->budget = h.budget;
	s->joined = h.joined != 0;
	s->is_static = h.is_static != 0;
	memcpy(s->runtime, h.runtime, sizeof(s->runtime));
	s->runtimes = h.runtimes;
	if (h.joined) {
		end->dev = s->dev;
		end->ino = s->ino;
		end->start = s->start;
		__atomic_store_n(&end->pid, o->pid, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&s->heard, 1, __ATOMIC_RELEASE);
	return 0;
}

/* ---- numbers ---- */

static bool is_within(uint32_t first, size_t n)
{
	return first <= MAPLE_OBSERVE_PROBES &&
	       n <= MAPLE_OBSERVE_PROBES - first;
}

static int probes(struct maple_observing *o, struct asked *a)
{
	const size_t size = sizeof(*o->bpf.probe);

	if (a->q->size % size || !is_within(a->q->first, a->q->size / size))
		return refuse(a, "there are no such probes");
	if (a->q->size)
		memcpy(o->bpf.probe + a->q->first, a->bytes, a->q->size);
	return 0;
}

static int counts(struct maple_observing *o, struct asked *a)
{
	const size_t size = sizeof(*o->bpf.count);

	if (!is_within(a->q->first, a->q->n) ||
	    a->q->n > MAPLE_PROBING_MOST / size)
		return refuse(a, "there are no such probes");
	a->answer->size = a->q->n * size;
	memcpy(a->room, o->bpf.count + a->q->first, a->answer->size);
	a->answer->value = o->bpf.session->epoch;
	return 0;
}

static int generation(struct maple_observing *o, struct asked *a)
{
	if (a->q->first >= MAPLE_OBSERVE_BATCHES)
		return refuse(a, "there is no such batch");
	__atomic_store_n(&o->bpf.session->generation[a->q->first],
			 (uint32_t)a->q->value, __ATOMIC_RELEASE);
	return 0;
}

static int state(struct maple_observing *o, struct asked *a)
{
	const struct maple_probing_state now = { *o->bpf.session, *o->bpf.end };

	memcpy(a->room, &now, sizeof(now));
	a->answer->size = sizeof(now);
	return 0;
}

static int hello(struct maple_observing *o, struct asked *a)
{
	a->answer->value = o->bpf.multi;
	if (a->q->value == MAPLE_PROBING_VERSION)
		return 0;
	return maple_error_set(&a->err, EPROTO,
			       "the observer is of maple " MAPLE_VERSION
			       ", another one than is asking: restart "
			       "mapled-observer");
}

/* ---- the course of it ---- */

static int call_return(struct maple_observing *o, struct asked *a)
{
	a->answer->value = maple_bpf_return(&o->bpf, a->q->value);
	return 0;
}

static int deafen(struct maple_observing *o, struct asked *a)
{
	__atomic_store_n(&o->bpf.session->gone, 1, __ATOMIC_RELEASE);
	return 0;
}

static int forget_all(struct maple_observing *o, struct asked *a)
{
	forget(o);
	return 0;
}

/* @alone: one at a time. */
static const struct row {
	int (*carry_out)(struct maple_observing *o, struct asked *a);
	bool alone;
} rows[MAPLE_PROBING_OPS] = {
	[MAPLE_PROBING_HELLO] = { hello, false },
	[MAPLE_PROBING_TARGET] = { target, true },
	[MAPLE_PROBING_PROBES] = { probes, true },
	[MAPLE_PROBING_ATTACH] = { attach, true },
	[MAPLE_PROBING_DROP] = { change, true },
	[MAPLE_PROBING_AGAIN] = { change, true },
	[MAPLE_PROBING_UNDO] = { undo, true },
	[MAPLE_PROBING_HEAR] = { hear, true },
	[MAPLE_PROBING_GENERATION] = { generation, false },
	[MAPLE_PROBING_COUNTS] = { counts, false },
	[MAPLE_PROBING_READ] = { answer_records, false },
	[MAPLE_PROBING_STATE] = { state, false },
	[MAPLE_PROBING_RETURN] = { call_return, false },
	[MAPLE_PROBING_DEAF] = { deafen, false },
	[MAPLE_PROBING_FORGET] = { forget_all, true },
};

/*
 * maple_observing_answer - carries out one question
 * @bytes: question->size of them; @fd: the file that came with it, or -1
 * @room: for what the answer brings, MAPLE_PROBING_MOST bytes
 */
void maple_observing_answer(struct maple_observing *o,
			    const struct maple_probing_question *question,
			    const void *bytes, int fd,
			    struct maple_probing_answer *answer, void *room)
{
	struct asked a = { question, bytes, fd, answer, room, { "" } };
	const struct row *row =
		question->op < MAPLE_PROBING_OPS ? &rows[question->op] : NULL;

	assert(bytes || !question->size);
	memset(answer, 0, sizeof(*answer));
	if (!row || !row->carry_out) {
		answer->error = refuse(&a, "there is no such question");
	} else {
		if (row->alone)
			pthread_mutex_lock(&o->links);
		answer->error = row->carry_out(o, &a);
		if (row->alone)
			pthread_mutex_unlock(&o->links);
	}
	assert(answer->size <= MAPLE_PROBING_MOST);
	memcpy(answer->text, a.err.text, sizeof(answer->text));
}

/*
 * maple_observing_create - loads the observer
 * @rules: whose session it is; NULL: ours, and all is our own affair
 */
int maple_observing_create(const struct maple_observer_rules *rules,
			   struct maple_observing **made,
			   struct maple_error *err)
{
	struct maple_observing *o = calloc(1, sizeof(*o));
	int e;

	if (!o)
		return maple_error_set(err, ENOMEM, "out of memory");
	if (rules)
		o->rules = *rules;
	o->pidfd = -1;
	pthread_mutex_init(&o->links, NULL);
	pthread_mutex_init(&o->reading, NULL);
	e = maple_bpf_open(&o->bpf, take_record, o, err);
	/* Events of perf's, one for each place, take more rights. */
	if (!e && rules && !o->bpf.multi)
		e = maple_error_set(err, ENOTSUP,
				    "the observer takes a kernel whose links "
				    "have many uprobes, Linux 6.6: run "
				    "mapletest as root");
	if (e) {
		maple_observing_destroy(o);
		return e;
	}
	*made = o;
	return 0;
}

/*
 * maple_observing_look - now and then, where it is somebody else's: no probe
 * stays in what has ended or has become another program
 *
 * Returns false while it cannot be looked at.
 */
bool maple_observing_look(struct maple_observing *o)
{
	if (pthread_mutex_trylock(&o->links))
		return false;
	if (o->pid && (o->bpf.session->gone || has_ended(o->pidfd)))
		undo_all(o);
	pthread_mutex_unlock(&o->links);
	return true;
}

void maple_observing_destroy(struct maple_observing *o)
{
	if (!o)
		return;
	undo_all(o);
	free(o->set);
	if (o->pidfd >= 0)
		close(o->pidfd);
	maple_bpf_close(&o->bpf);
	pthread_mutex_destroy(&o->links);
	pthread_mutex_destroy(&o->reading);
	free(o);
}
