// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Counts by class, as parts of messages. */
#include <errno.h>
#include <stdlib.h>
#include <maple/wire.h>

int maple_wire_put_coverage(struct maple_wire_buffer *buffer,
			    const struct maple_coverage *coverage,
			    struct maple_error *err)
{
	int e = 0;

	for (unsigned int i = 0; i < coverage->nclasses && !e; i++) {
		const struct maple_class_count *c = &coverage->class[i];
		const struct maple_wire_class m = { c->name,	c->predicted,
						    c->exposed, c->failed,
						    c->left,	c->barred };

		e = maple_wire_put(buffer, MAPLE_WIRE_CLASS, &m, err);
	}
	return e;
}

int maple_wire_get_coverage(struct maple_wire_bytes classes,
			    struct maple_coverage *coverage,
			    struct maple_error *err)
{
	struct maple_class_count *c;
	struct maple_wire_class m;
	int got;

	*coverage = (struct maple_coverage){ 0 };
	while ((got = maple_wire_part(&classes, MAPLE_WIRE_CLASS, &m, err)) >
	       0) {
		c = m.name ? maple_coverage_class(coverage, m.name) : NULL;
		if (!c) {
			got = maple_error_set(err, EPROTO,
					      "there is no class '%s', or too "
					      "many",
					      m.name ? m.name : "");
			break;
		}
		c->predicted = m.predicted;
		c->exposed = m.exposed;
		c->failed = m.failed;
		c->left = m.left;
		c->barred = m.barred;
	}
	if (got)
		maple_coverage_deinit(coverage);
	return got;
}

static int put_tries(struct maple_wire_buffer *buffer,
		     const struct maple_class_tries *t, struct maple_error *err)
{
	struct maple_wire_tries m = { .name = t->name,
				      .attempted = t->attempted,
				      .forced = t->forced,
				      .rested = t->rested,
				      .rested_forced = t->rested_forced };
	struct maple_wire_buffer failures = { 0 };
	int e = 0;

	for (unsigned int r = 0; r < MAPLE_MEMO_REASONS && !e; r++) {
		const struct maple_wire_failures f = { r, t->failures[r] };

		if (f.number)
			e = maple_wire_put(&failures, MAPLE_WIRE_FAILURES, &f,
					   err);
	}
	m.failures = (struct maple_wire_bytes){ failures.data,
						(uint32_t)failures.size };
	if (!e)
		e = maple_wire_put(buffer, MAPLE_WIRE_TRIES, &m, err);
	free(failures.data);
	return e;
}

int maple_wire_put_success(struct maple_wire_buffer *buffer,
			   const struct maple_memo_success *success,
			   struct maple_wire_tried *tried,
			   struct maple_error *err)
{
	int e = 0;

	for (unsigned int i = 0; i < success->nclasses && !e; i++)
		e = put_tries(buffer, &success->class[i], err);
	*tried = (struct maple_wire_tried){
		.tries = { buffer->data, (uint32_t)buffer->size },
		.claims = success->claims,
		.refused = success->refused,
	};
	return e;
}

static int get_tries(const struct maple_wire_tries *m,
		     struct maple_memo_success *success, struct maple_error *err)
{
	struct maple_class_tries *t =
		m->name ? maple_memo_tries(success, m->name) : NULL;
	struct maple_wire_bytes failures = m->failures;
	struct maple_wire_failures f;
	int got;

	if (!t)
		return maple_error_set(err, EPROTO,
				       "there is no class '%s', or too many",
				       m->name ? m->name : "");
	t->attempted = m->attempted;
	t->forced = m->forced;
	t->rested = m->rested;
	t->rested_forced = m->rested_forced;
	while ((got = maple_wire_part(&failures, MAPLE_WIRE_FAILURES, &f,
				      err)) > 0) {
		if (f.reason >= MAPLE_MEMO_REASONS)
			return maple_error_set(
				err, EPROTO, "there is no reason %u", f.reason);
		t->failures[f.reason] = f.number;
	}
	return got;
}

int maple_wire_get_success(const struct maple_wire_tried *tried,
			   struct maple_memo_success *success,
			   struct maple_error *err)
{
	struct maple_wire_bytes tries = tried->tries;
	struct maple_wire_tries m;
	int got, e = 0;

	*success = (struct maple_memo_success){ .claims = tried->claims,
						.refused = tried->refused };
	while (!e &&
	       (got = maple_wire_part(&tries, MAPLE_WIRE_TRIES, &m, err)) > 0)
		e = get_tries(&m, success, err);
	e = e ? e : got;
	if (e)
		maple_memo_success_deinit(success);
	return e;
}
