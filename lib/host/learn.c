// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Goals go to mapled's memo many at a time: a word a message would cost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "host/host.h"

#define PARCEL (8u << 10) /* bytes, about; others wait for one at a time */

static int put_event(struct maple_wire_buffer *to,
		     const struct maple_memo_event *event, int64_t old,
		     struct maple_error *err)
{
	const struct maple_wire_event m = {
		.build_id = event->build_id,
		.image = event->image,
		.offset = event->offset,
		.call = event->call,
		.kind = (unsigned char)event->kind,
		.function = event->function,
		.file = event->file,
		.line = event->line,
		.fingerprint = event->fingerprint,
		.context = event->context,
		.old = old,
	};

	return maple_wire_put(to, MAPLE_WIRE_EVENT, &m, err);
}

static int put_lesson(struct maple_wire_buffer *to,
		      const struct maple_memo_lesson *lesson,
		      struct maple_error *err)
{
	struct maple_wire_lesson m = { .class = lesson->key.class,
				       .marks = lesson->marks };
	struct maple_wire_buffer events = { 0 };
	int e = 0;

	for (unsigned int i = 0; i < lesson->key.n && !e; i++)
		e = put_event(&events, &lesson->key.use[i], 0, err);
	m.events =
		(struct maple_wire_bytes){ events.data, (uint32_t)events.size };
	if (!e)
		e = maple_wire_put(to, MAPLE_WIRE_LESSON, &m, err);
	free(events.data);
	return e;
}

static int take_known(struct maple_wire_bytes known,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err)
{
	struct maple_wire_known k;

	for (size_t i = 0; i < n; i++) {
		if (maple_wire_part(&known, MAPLE_WIRE_KNOWN, &k, err) != 1)
			return maple_error_set(err, EPROTO,
					       "mapled learnt too little");
		lessons[i].goal = k.goal;
		lessons[i].state = (struct maple_memo_state){
			.predicted = k.predicted,
			.exposed = k.exposed,
			.broke = k.broke,
			.failed = k.failed,
			.attempts = k.attempts,
		};
	}
	return 0;
}

int maple_host_learn(struct maple_host *host, int64_t program,
		     struct maple_memo_lesson *lessons, size_t n,
		     struct maple_error *err)
{
	struct maple_wire_learn m = { .program = program };
	struct maple_wire_buffer parcel = { 0 };
	struct maple_host_answer answer;
	struct maple_error why = { "" };
	size_t first, i;
	int e = 0;

	for (first = i = 0; first < n && !e; first = i) {
		if (*host->full.text || program == MAPLE_MEMO_UNKEPT)
			break;
		parcel.size = 0;
		while (i < n && !e && parcel.size < PARCEL)
			e = put_lesson(&parcel, &lessons[i++], err);
		m.lessons = (struct maple_wire_bytes){ parcel.data,
						       (uint32_t)parcel.size };
		if (!e)
			e = maple_host_ask(host, MAPLE_WIRE_LEARN, &m,
					   MAPLE_WIRE_LEARNT, &answer, &why);
		if (maple_host_is_full(host, e, &why)) {
			e = 0;
			break;
		}
		if (e)
			maple_error_set(err, -e, "%s", why.text);
		if (!e)
			e = take_known(answer.message.learnt.known,
				       lessons + first, i - first, err);
	}
	for (; first < n && !e; first++) {
		lessons[first].goal = MAPLE_MEMO_UNKEPT;
		lessons[first].state = (struct maple_memo_state){ 0 };
	}
	free(parcel.data);
	return e;
}

/* ---- older builds ---- */

static int take_prints(struct maple_wire_bytes prints,
		       struct maple_memo_old *old, struct maple_error *err)
{
	struct maple_memo_print *print;
	struct maple_wire_print p;
	int got;

	while ((got = maple_wire_part(&prints, MAPLE_WIRE_PRINT, &p, err)) > 0) {
		if (!p.fingerprint)
			continue;
		if (!maple_array_resize(old->prints, old->n + 1))
			return maple_error_set(err, ENOMEM, "out of memory");
		print = &old->prints[old->n];
		*print = (struct maple_memo_print){ p.site, p.call,
						    strdup(p.fingerprint) };
		if (!print->fingerprint)
			return maple_error_set(err, ENOMEM, "out of memory");
		old->n++;
	}
	return got;
}

int maple_host_older(struct maple_host *host, const char *build_id,
		     const char *path, struct maple_memo_old *old,
		     struct maple_error *err)
{
	const struct maple_wire_older m = { build_id, path };
	struct maple_host_answer answer;
	struct maple_error why = { "" };
	int e;

	memset(old, 0, sizeof(*old));
	if (*host->full.text)
		return 0;
	e = maple_host_ask(host, MAPLE_WIRE_OLDER, &m, MAPLE_WIRE_OLD, &answer,
			   &why);
	if (maple_host_is_full(host, e, &why))
		return 0;
	if (e)
		maple_error_set(err, -e, "%s", why.text);
	if (e)
		return e;
	old->image = answer.message.old.image;
	old->by_name = answer.message.old.by_name;
	e = take_prints(answer.message.old.prints, old, err);
	if (e)
		maple_memo_old_deinit(old);
	return e;
}

int maple_host_carried(struct maple_host *host, const char *build_id,
		       const char *path,
		       const struct maple_memo_carried *carried,
		       unsigned int *count, struct maple_error *err)
{
	struct maple_wire_carry m = { .image = carried->image,
				      .by_name = carried->by_name,
				      .of = (uint32_t)carried->of,
				      .build_id = build_id,
				      .path = path };
	struct maple_wire_buffer found = { 0 };
	int64_t number = 0;
	int e = 0;

	/* What does not fit counts as not found. */
	for (size_t i = 0;
	     i < carried->n && !e && found.size < MAPLE_WIRE_MAX - (64u << 10);
	     i++)
		e = put_event(&found, &carried->found[i], carried->site[i], err);
	m.found = (struct maple_wire_bytes){ found.data, (uint32_t)found.size };
	if (!e)
		e = maple_host_keep(host, MAPLE_WIRE_CARRY, &m, 0, &number, err);
	*count = number > 0 ? (unsigned int)number : 0;
	free(found.data);
	return e;
}
