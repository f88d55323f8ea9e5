// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Goals by the hundred, and what is carried over from older builds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../limits/quota.h"
#include "request.h"

/* A place in an image; its strings stay in the frame. */
static int take_event(struct maple_wire_bytes *parts,
		      struct maple_memo_event *event, int64_t *old,
		      struct maple_error *err)
{
	struct maple_wire_event m;
	int got = maple_wire_part(parts, MAPLE_WIRE_EVENT, &m, err);

	if (got <= 0)
		return got;
	if (!m.build_id || !*m.build_id)
		return maple_error_set(err, EINVAL, "an image has a build-id");
	*event = (struct maple_memo_event){
		.build_id = m.build_id,
		.image = m.image,
		.offset = m.offset,
		.call = m.call,
		.kind = (char)m.kind,
		.function = m.function,
		.file = m.file,
		.line = m.line,
		.fingerprint = m.fingerprint,
		.context = m.context,
	};
	*old = m.old;
	return 1;
}

static int take_lesson(const struct maple_wire_lesson *m,
		       struct maple_memo_lesson *lesson, struct maple_error *err)
{
	struct maple_memo_goal_key *key = &lesson->key;
	struct maple_wire_bytes events = m->events;
	struct maple_memo_event *use;
	int64_t old;
	int got = 1;

	if (!maple_class_is_name(m->class) || m->marks >> MAPLE_MEMO_MARKS)
		return maple_error_set(err, EINVAL,
				       "no class '%s', or marks %#x",
				       m->class ? m->class : "", m->marks);
	memset(lesson, 0, sizeof(*lesson));
	key->class = m->class;
	lesson->marks = m->marks;
	while (events.size && key->n < MAPLE_GOAL_USES && got > 0) {
		use = &key->use[key->n++];
		got = take_event(&events, use, &old, err);
		if (got > 0 && (!use->kind || !strchr("RWLUSC", use->kind)))
			got = 0;
	}
	if (got > 0 && key->n && !events.size)
		return 0;
	return got < 0 ? got
		       : maple_error_set(err, EINVAL,
					 "a goal uses 1 to %d sites of a kind",
					 MAPLE_GOAL_USES);
}

static int take_lessons(struct maple_wire_bytes parts,
			struct maple_memo_lesson **lessons, size_t *n,
			struct maple_error *err)
{
	struct maple_memo_lesson *grown;
	struct maple_wire_lesson m;
	size_t room = 0;
	int got, e = 0;

	while (!e && (got = maple_wire_part(&parts, MAPLE_WIRE_LESSON, &m,
					    err)) > 0) {
		if (*n == room) {
			room = 2 * room + 64;
			grown = reallocarray(*lessons, room, sizeof(*grown));
			if (!grown)
				return maple_error_set(err, ENOMEM,
						       "out of memory");
			*lessons = grown;
		}
		e = take_lesson(&m, &(*lessons)[*n], err);
		*n += !e;
	}
	return e ? e : got;
}

static int say_known(struct maple_client *client,
		     const struct maple_memo_lesson *lessons, size_t n)
{
	struct maple_wire_buffer known = { 0 };
	struct maple_wire_learnt learnt;
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		const struct maple_wire_known k = {
			.goal = lessons[i].goal,
			.predicted = lessons[i].state.predicted,
			.exposed = lessons[i].state.exposed,
			.broke = lessons[i].state.broke,
			.failed = lessons[i].state.failed,
			.attempts = lessons[i].state.attempts,
		};

		e = maple_wire_put(&known, MAPLE_WIRE_KNOWN, &k, NULL);
	}
	learnt.known =
		(struct maple_wire_bytes){ known.data, (uint32_t)known.size };
	if (!e)
		e = maple_client_say(client, MAPLE_WIRE_LEARNT, &learnt,
				     client->serial, -1);
	free(known.data);
	return e;
}

/* So much of @size as is about goals that the program did not have. */
static uint64_t share_of_new(const struct maple_memo_lesson *lessons, size_t n,
			     size_t size)
{
	size_t new = 0;

	for (size_t i = 0; i < n; i++)
		new += !lessons[i].state.predicted && !lessons[i].state.attempts;
	return n ? (uint64_t)size * new / n : 0;
}

MAPLE_HANDLER(learn)
{
	const struct maple_wire_learn *m = &message->learn;
	struct maple_memo_lesson *lessons = NULL;
	size_t n = 0;
	int e;

	if (!m->program || m->program != client->program)
		return maple_error_set(err, EPERM,
				       "you do not test program %lld",
				       (long long)m->program);
	e = maple_quota_check(client, MAPLE_WIRE_LEARN, m->lessons.size, err);
	if (!e)
		e = take_lessons(m->lessons, &lessons, &n, err);
	if (!e)
		e = maple_memo_learn(client->server->memo, m->program, lessons,
				     n, err);
	if (!e)
		maple_lines_learnt(client, lessons, n);
	if (!e)
		e = maple_memo_charge(client->server->memo, client->campaign,
				      share_of_new(lessons, n, m->lessons.size),
				      err);
	if (!e)
		e = say_known(client, lessons, n);
	free(lessons);
	return e ? e : MAPLE_ANSWERED;
}

/* ---- older builds ---- */

static int say_old(struct maple_client *client, const struct maple_memo_old *old)
{
	struct maple_wire_buffer prints = { 0 };
	struct maple_wire_old m = { .image = old->image,
				    .by_name = old->by_name };
	int e = 0;

	/* What does not fit is not found again. */
	for (size_t i = 0;
	     i < old->n && !e && prints.size < MAPLE_WIRE_MAX - 4096; i++) {
		const struct maple_wire_print p = { old->prints[i].site,
						    old->prints[i].call,
						    old->prints[i].fingerprint };

		e = maple_wire_put(&prints, MAPLE_WIRE_PRINT, &p, NULL);
	}
	m.prints =
		(struct maple_wire_bytes){ prints.data, (uint32_t)prints.size };
	if (!e)
		e = maple_client_say(client, MAPLE_WIRE_OLD, &m, client->serial,
				     -1);
	free(prints.data);
	return e;
}

MAPLE_HANDLER(older)
{
	const struct maple_wire_older *m = &message->older;
	struct maple_memo_old old;
	int e;

	if (!client->campaign || !m->build_id || !m->path)
		return maple_error_set(err, EINVAL,
				       "an image of a campaign has build-id "
				       "and path");
	e = maple_memo_older(client->server->memo, m->build_id, m->path, &old,
			     err);
	if (e)
		return e;
	e = say_old(client, &old);
	maple_memo_old_deinit(&old);
	return e ? e : MAPLE_ANSWERED;
}

struct found {
	size_t n, room;
	int64_t *site;
	struct maple_memo_event *event;
};

static int grow(struct found *f)
{
	size_t room = 2 * f->room + 64;
	struct maple_memo_event *event =
		reallocarray(f->event, room, sizeof(*event));
	int64_t *site;

	if (!event)
		return -ENOMEM;
	f->event = event;
	site = reallocarray(f->site, room, sizeof(*site));
	if (!site)
		return -ENOMEM;
	f->site = site;
	f->room = room;
	return 0;
}

static int take_found(struct maple_wire_bytes parts, struct found *f,
		      struct maple_error *err)
{
	int got;

	do {
		if (f->n == f->room && grow(f))
			return maple_error_set(err, ENOMEM, "out of memory");
		got = take_event(&parts, &f->event[f->n], &f->site[f->n], err);
		f->n += got > 0;
	} while (got > 0);
	return got;
}

MAPLE_HANDLER(carry)
{
	const struct maple_wire_carry *m = &message->carry;
	struct maple_memo_carried carried = { .image = m->image,
					      .by_name = m->by_name,
					      .of = m->of };
	struct found f = { 0 };
	unsigned int count = 0;
	int e = 0;

	if (!m->build_id || !m->path || !m->image)
		e = maple_error_set(err, EINVAL,
				    "an image has build-id and path");
	if (!e)
		e = take_found(m->found, &f, err);
	carried.n = f.n;
	carried.site = f.site;
	carried.found = f.event;
	if (!e)
		e = maple_memo_carried(client->server->memo, m->build_id,
				       m->path, &carried, &count, err);
	*number = count;
	free(f.site);
	free(f.event);
	return e;
}
