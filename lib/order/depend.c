// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Immediate dependencies. Two accesses of different threads depend on each
 * other immediately if one reads what the other wrote, for the first time in
 * its thread, or writes over what the other read or, if nobody did, wrote.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model.h"

struct reader {
	uint32_t thread, event;
};

struct place {
	uint32_t writer;
	uint32_t n, room;
	struct reader *reader; /* since then, the last of each thread */
};

struct depending {
	const struct maple_order_model *m;
	struct place *place; /* by word and byte */
	struct maple_order_dependencies *d;
};

static bool depend(struct depending *s, uint32_t from, uint8_t from_kind,
		   uint32_t to, uint8_t to_kind)
{
	struct maple_order_dependencies *d = s->d;

	for (uint32_t i = d->first[to]; i < d->n; i++)
		if (d->on[i].from == from && d->on[i].from_kind == from_kind &&
		    d->on[i].to_kind == to_kind)
			return true;
	if (!maple_array_reserve(d->on, d->n, d->room))
		return false;
	d->on[d->n++] =
		(struct maple_order_dependency){ from, to, from_kind, to_kind };
	return true;
}

static bool read_by(struct depending *s, struct place *p, uint32_t e)
{
	const struct maple_order_model *m = s->m;
	uint32_t thread = m->event[e].thread, i = 0;

	while (i < p->n && p->reader[i].thread != thread)
		i++;
	if (i < p->n) {
		p->reader[i].event = e;
		return true;
	}
	if (!maple_array_reserve(p->reader, p->n, p->room))
		return false;
	p->reader[p->n++] = (struct reader){ thread, e };
	return p->writer == MAPLE_ORDER_NONE ||
	       m->event[p->writer].thread == thread ||
	       depend(s, p->writer, MAPLE_EV_WRITE, e, MAPLE_EV_READ);
}

/* What an update reads itself is not in between. */
static bool writes_over(struct depending *s, const struct place *p, uint32_t e)
{
	const struct maple_order_model *m = s->m;
	uint32_t thread = m->event[e].thread;
	bool ok = true;

	for (uint32_t i = 0; i < p->n && ok; i++)
		if (p->reader[i].thread != thread)
			ok = depend(s, p->reader[i].event, MAPLE_EV_READ, e,
				    MAPLE_EV_WRITE);
	if (ok && !p->n && p->writer != MAPLE_ORDER_NONE &&
	    m->event[p->writer].thread != thread)
		ok = depend(s, p->writer, MAPLE_EV_WRITE, e, MAPLE_EV_WRITE);
	return ok;
}

static bool meet(struct depending *s, struct place *p, uint32_t e)
{
	const struct maple_order_event *event = &s->m->event[e];
	bool ok = true;

	if (maple_order_writes(event))
		ok = writes_over(s, p, e);
	if (ok && maple_order_reads(event))
		ok = read_by(s, p, e);
	if (maple_order_writes(event)) {
		p->n = 0;
		p->writer = e;
	}
	return ok;
}

static bool meet_all(struct depending *s, uint32_t e)
{
	const struct maple_order_event *event = &s->m->event[e];
	bool ok = true;

	for (uint32_t i = 0; i < event->ntouch; i++) {
		const struct maple_order_touch *t =
			&s->m->touch[event->touch + i];

		for (uint32_t k = 0; k < 8 && ok; k++)
			if (t->bytes >> k & 1)
				ok = meet(s, &s->place[8 * t->word + k], e);
	}
	return ok;
}

int maple_order_depend(const struct maple_order_model *model,
		       struct maple_order_dependencies *d)
{
	struct depending s = { .m = model, .d = d };
	bool ok;

	*d = (struct maple_order_dependencies){
		.first = calloc(model->n + 2u, sizeof(*d->first))
	};
	s.place = calloc(8 * (size_t)model->nwords + 1, sizeof(*s.place));
	ok = s.place && d->first;
	for (uint32_t w = 0; w < 8 * model->nwords && ok; w++)
		s.place[w].writer = MAPLE_ORDER_NONE;
	for (uint32_t e = 0; e < model->n && ok; e++) {
		d->first[e] = d->n;
		ok = meet_all(&s, e);
		d->first[e + 1] = d->n;
	}
	for (uint32_t w = 0; w < 8 * model->nwords && s.place; w++)
		free(s.place[w].reader);
	free(s.place);
	return ok ? 0 : -ENOMEM;
}

void maple_order_depend_deinit(struct maple_order_dependencies *d)
{
	free(d->on);
	free(d->first);
	*d = (struct maple_order_dependencies){ 0 };
}
