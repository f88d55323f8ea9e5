// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A finding as a JSON object and back. Besides the fields of the tables there
 * are "iroot" and "confirm", which the schema wants in a form of their own;
 * "iroot" follows from the moments and is not read back.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <maple/report.h>
#include "base/bytes.h"
#include "report/codec.h"
#include "report/fields.h"

static const struct maple_field place_fields[] = {
	MAPLE_FIELD(maple_place, image, STRING),
	MAPLE_FIELD(maple_place, build_id, STRING),
	MAPLE_FIELD(maple_place, offset, HEX),
	MAPLE_FIELD(maple_place, function, STRING),
	MAPLE_FIELD(maple_place, file, STRING),
	MAPLE_FIELD(maple_place, line, UNSIGNED),
	MAPLE_FIELD(maple_place, signature, STRING),
	MAPLE_FIELD(maple_place, inlined, STRING),
	MAPLE_FIELD(maple_place, inlined_file, STRING),
	MAPLE_FIELD(maple_place, inlined_line, UNSIGNED),
	MAPLE_FIELD_END,
};

static const struct maple_field moment_fields[] = {
	MAPLE_FIELD(maple_moment, kind, LETTER),
	MAPLE_FIELD(maple_moment, role, UNSIGNED),
	MAPLE_FIELD(maple_moment, thread, STRING),
	MAPLE_FIELD(maple_moment, variable, STRING),
	MAPLE_FIELD(maple_moment, type, STRING),
	MAPLE_FIELD(maple_moment, origin, STRING),
	MAPLE_FIELD(maple_moment, address, HEX),
	MAPLE_FIELD(maple_moment, value, STRING),
	MAPLE_FIELD(maple_moment, was, STRING),
	MAPLE_FIELD(maple_moment, order, UNSIGNED),
	MAPLE_FIELD(maple_moment, event, UNSIGNED),
	MAPLE_FIELD(maple_moment, from, INTEGER),
	MAPLE_FIELD(maple_moment, half, FLAG),
	MAPLE_FIELD(maple_moment, frees, FLAG),
	MAPLE_FIELD_END,
};

static const struct maple_field frame_fields[] = {
	MAPLE_FIELD(maple_frame, pc, HEX),
	MAPLE_FIELD_END,
};

static const struct maple_field stack_fields[] = {
	MAPLE_FIELD(maple_stack, thread, STRING),
	MAPLE_FIELD(maple_stack, tid, INTEGER),
	MAPLE_FIELD(maple_stack, failed, FLAG),
	MAPLE_FIELD(maple_stack, state, STRING),
	MAPLE_FIELD(maple_stack, before, STRING),
	MAPLE_FIELD_END,
};

static const struct maple_field edge_fields[] = {
	MAPLE_FIELD(maple_edge, thread, STRING),
	MAPLE_FIELD(maple_edge, variable, STRING),
	MAPLE_FIELD(maple_edge, address, HEX),
	MAPLE_FIELD(maple_edge, holder, STRING),
	MAPLE_FIELD_END,
};

static const struct maple_field finding_fields[] = {
	MAPLE_FIELD(maple_finding, id, STRING),
	MAPLE_FIELD(maple_finding, title, STRING),
	MAPLE_FIELD(maple_finding, what, STRING),
	MAPLE_FIELD(maple_finding, signo, INTEGER),
	MAPLE_FIELD(maple_finding, status, INTEGER),
	MAPLE_FIELD(maple_finding, address, HEX),
	MAPLE_FIELD(maple_finding, idiom, UNSIGNED),
	MAPLE_FIELD(maple_finding, plan, STRING),
	MAPLE_FIELD(maple_finding, seed, HEX),
	MAPLE_FIELD(maple_finding, attempt, UNSIGNED),
	MAPLE_FIELD(maple_finding, cwd, STRING),
	MAPLE_FIELD(maple_finding, exe, STRING),
	MAPLE_FIELD(maple_finding, input, STRING),
	MAPLE_FIELD(maple_finding, backend, STRING),
	MAPLE_FIELD(maple_finding, output, STRING),
	MAPLE_FIELD(maple_finding, oracle, STRING),
	MAPLE_FIELD(maple_finding, report, STRING),
	MAPLE_FIELD(maple_finding, run, UNSIGNED),
	MAPLE_FIELD(maple_finding, found_at, NUMBER),
	MAPLE_FIELD(maple_finding, times_seen, UNSIGNED),
	MAPLE_FIELD(maple_finding, suppressed, STRING),
	MAPLE_FIELD(maple_finding, attached, FLAG),
	MAPLE_FIELD(maple_finding, native_fails, UNSIGNED),
	MAPLE_FIELD(maple_finding, native_runs, UNSIGNED),
	MAPLE_FIELD(maple_finding, known, FLAG),
	MAPLE_FIELD(maple_finding, fixed_at, NUMBER),
	MAPLE_FIELD_END,
};

static json_t *encode_moment(const struct maple_moment *moment)
{
	json_t *object = json_object();

	if (maple_fields_encode(object, moment_fields, moment) ||
	    maple_fields_encode(object, place_fields, &moment->place) ||
	    json_object_set_new(object, "reached",
				json_string(maple_reach_name(moment->reach)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *encode_stack(const struct maple_stack *stack)
{
	json_t *object = json_object(), *frames = json_array();

	for (unsigned int i = 0; i < stack->nframes; i++) {
		json_t *frame = json_object();

		if (maple_fields_encode(frame, frame_fields,
					&stack->frames[i]) ||
		    maple_fields_encode(frame, place_fields,
					&stack->frames[i].place) ||
		    json_array_append(frames, frame)) {
			json_decref(frame);
			goto fail;
		}
		json_decref(frame);
	}
	if (maple_fields_encode(object, stack_fields, stack) ||
	    json_object_set(object, "frames", frames))
		goto fail;
	json_decref(frames);
	return object;
fail:
	json_decref(frames);
	json_decref(object);
	return NULL;
}

static json_t *encode_edge(const struct maple_edge *edge)
{
	json_t *object = json_object(), *since = json_object();

	if (maple_fields_encode(object, edge_fields, edge) ||
	    maple_fields_encode(object, place_fields, &edge->place) ||
	    maple_fields_encode(since, place_fields, &edge->since) ||
	    json_object_set(object, "since", since)) {
		json_decref(since);
		json_decref(object);
		return NULL;
	}
	json_decref(since);
	return object;
}

/* "libfoo.so.1+0x1234": short, and still a site. */
static json_t *encode_site(const struct maple_place *place)
{
	const char *image = place->image ? place->image : "?";
	const char *slash = strrchr(image, '/');
	json_t *name = maple_bytes_encode(slash ? slash + 1 : image);
	json_t *site = json_sprintf("%s+0x%" PRIx64,
				    name ? json_string_value(name) : "?",
				    place->offset);

	json_decref(name);
	return site;
}

/* The iRoot's events in their own order, not in the executed one. */
/* NULL, which no object takes, where there was no such control. */
static json_t *encode_serial(const struct maple_finding *finding)
{
	return finding->serial_runs
		       ? json_pack("[i,i]", (int)finding->serial_fails,
				   (int)finding->serial_runs)
		       : NULL;
}

static json_t *encode_iroot(const struct maple_finding *finding)
{
	json_t *events = json_array();

	for (unsigned int e = 0; e < MAPLE_IROOT_EVENTS; e++) {
		const struct maple_moment *m = NULL;
		json_t *event;

		for (unsigned int i = 0; i < finding->nmoments && !m; i++)
			if (finding->moments[i].event == e &&
			    !finding->moments[i].order)
				m = &finding->moments[i];
		if (!m || !finding->idiom)
			continue;
		event = json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}", "site",
				  encode_site(&m->place), "kind",
				  json_stringn(&m->kind, m->kind ? 1 : 0),
				  "function",
				  maple_bytes_encode(m->place.function), "file",
				  maple_bytes_encode(m->place.file), "line",
				  (int)m->place.line, "thread",
				  maple_bytes_encode(m->thread));
		if (!event || json_array_append_new(events, event)) {
			json_decref(events);
			return NULL;
		}
	}
	return events;
}

static json_t *encode_argv(char *const *argv)
{
	json_t *array = json_array();

	for (; argv && *argv; argv++) {
		if (json_array_append_new(array, maple_bytes_encode(*argv))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* As it is kept and passed on: nothing that its reader makes of it. */
static json_t *encode_finding(const struct maple_finding *finding)
{
	json_t *object, *moments = json_array(), *stacks = json_array();
	json_t *cycle = json_array();
	int bad = 0;

	for (unsigned int i = 0; i < finding->nmoments; i++)
		bad |= json_array_append_new(
			moments, encode_moment(&finding->moments[i]));
	for (unsigned int i = 0; i < finding->nstacks; i++)
		bad |= json_array_append_new(stacks,
					     encode_stack(&finding->stacks[i]));
	for (unsigned int i = 0; i < finding->nedges; i++)
		bad |= json_array_append_new(cycle,
					     encode_edge(&finding->edges[i]));
	object = json_pack(
		"{s:s, s:o, s:{s:[i,i], s:[i,i], s:o*}, s:o, s:o, s:o, s:o}",
		"kind", maple_failure_name(finding->kind), "iroot",
		encode_iroot(finding), "confirm", "forced",
		(int)finding->forced_fails, (int)finding->forced_runs,
		"flipped", (int)finding->flipped_fails,
		(int)finding->flipped_runs, "serial", encode_serial(finding),
		"argv", encode_argv(finding->argv), "moments", moments,
		"stacks", stacks, "cycle", cycle);
	if (bad || !object ||
	    maple_fields_encode(object, finding_fields, finding)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/*
 * maple_codec_finding - @finding as reports have it, a JSON object; NULL: out
 * of memory
 */
json_t *maple_codec_finding(const struct maple_finding *finding)
{
	json_t *object = encode_finding(finding);

	if (object && finding->replay &&
	    json_object_set_new(object, "replay",
				maple_bytes_encode(finding->replay))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

char *maple_report_finding_encode(const struct maple_finding *finding)
{
	json_t *object = encode_finding(finding);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text;
}

/*
 * Findings of earlier versions have no "reached", and of a deadlock's order
 * the last two locks, which were never had.
 */
static int decode_reach(const json_t *object, const struct maple_finding *f,
			struct maple_moment *m)
{
	const json_t *name = json_object_get(object, "reached");

	if (!name && f->kind == MAPLE_FAILURE_DEADLOCK &&
	    f->idiom == MAPLE_IDIOM_DEADLOCK && m->event % 2)
		m->reach = MAPLE_REACH_NOW;
	if (!name)
		return 0;
	for (m->reach = 0; m->reach <= MAPLE_REACH_NOT; m->reach++)
		if (json_is_string(name) && !strcmp(json_string_value(name),
						    maple_reach_name(m->reach)))
			return 0;
	return -EBADMSG;
}

static int decode_moments(const json_t *array, struct maple_finding *finding)
{
	size_t n = json_array_size(array);
	int ret = 0;

	finding->moments = calloc(n + 1, sizeof(*finding->moments));
	if (!finding->moments)
		return -ENOMEM;
	finding->nmoments = (unsigned int)n;
	for (size_t i = 0; i < n && !ret; i++) {
		struct maple_moment *m = &finding->moments[i];
		const json_t *object = json_array_get(array, i);

		m->from = -1;
		ret = maple_fields_decode(object, moment_fields, m);
		if (!ret)
			ret = maple_fields_decode(object, place_fields,
						  &m->place);
		if (!ret)
			ret = decode_reach(object, finding, m);
		if (!ret && (m->role > 1 || m->from < -1 || m->from >= (int)n))
			ret = -EBADMSG;
	}
	return ret;
}

static int decode_frames(const json_t *array, struct maple_stack *stack)
{
	size_t n = json_array_size(array);
	int ret = 0;

	stack->frames = calloc(n + 1, sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	stack->nframes = (unsigned int)n;
	for (size_t i = 0; i < n && !ret; i++) {
		const json_t *object = json_array_get(array, i);

		ret = maple_fields_decode(object, frame_fields,
					  &stack->frames[i]);
		if (!ret)
			ret = maple_fields_decode(object, place_fields,
						  &stack->frames[i].place);
	}
	return ret;
}

static int decode_stacks(const json_t *array, struct maple_finding *finding)
{
	size_t n = json_array_size(array);
	int ret = 0;

	finding->stacks = calloc(n + 1, sizeof(*finding->stacks));
	if (!finding->stacks)
		return -ENOMEM;
	finding->nstacks = (unsigned int)n;
	for (size_t i = 0; i < n && !ret; i++) {
		const json_t *object = json_array_get(array, i);

		ret = maple_fields_decode(object, stack_fields,
					  &finding->stacks[i]);
		if (!ret)
			ret = decode_frames(json_object_get(object, "frames"),
					    &finding->stacks[i]);
	}
	return ret;
}

/* Findings of earlier versions have no cycle. */
static int decode_cycle(const json_t *array, struct maple_finding *finding)
{
	size_t n = json_array_size(array);
	int ret = 0;

	finding->edges = calloc(n + 1, sizeof(*finding->edges));
	if (!finding->edges)
		return -ENOMEM;
	finding->nedges = (unsigned int)n;
	for (size_t i = 0; i < n && !ret; i++) {
		struct maple_edge *edge = &finding->edges[i];
		const json_t *object = json_array_get(array, i);
		const json_t *since = json_object_get(object, "since");

		ret = maple_fields_decode(object, edge_fields, edge);
		if (!ret)
			ret = maple_fields_decode(object, place_fields,
						  &edge->place);
		if (!ret && since)
			ret = maple_fields_decode(since, place_fields,
						  &edge->since);
	}
	return ret;
}

static int decode_argv(const json_t *array, struct maple_finding *finding)
{
	size_t n = json_array_size(array);

	finding->argv = calloc(n + 1, sizeof(*finding->argv));
	if (!finding->argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		finding->argv[i] = maple_bytes_decode(json_array_get(array, i));
		if (!finding->argv[i])
			return -EBADMSG;
	}
	return 0;
}

static int decode_kind(const json_t *object, struct maple_finding *finding)
{
	const char *name = json_string_value(json_object_get(object, "kind"));

	for (unsigned int k = 0; name && k <= MAPLE_FAILURE_SANITIZER; k++) {
		if (!strcmp(name, maple_failure_name(k))) {
			finding->kind = k;
			return 0;
		}
	}
	return -EBADMSG;
}

static int decode_finding(json_t *object, struct maple_finding *finding)
{
	int ret = maple_fields_decode(object, finding_fields, finding);

	if (!ret)
		ret = decode_kind(object, finding);
	if (!ret && (!finding->id || !maple_finding_is_id(finding->id) ||
		     !finding->title))
		ret = -EBADMSG;
	if (!ret)
		ret = maple_finding_line(finding);
	if (!ret &&
	    json_unpack(object, "{s?{s:[ii], s:[ii], s?[ii]}}", "confirm",
			"forced", &finding->forced_fails, &finding->forced_runs,
			"flipped", &finding->flipped_fails,
			&finding->flipped_runs, "serial",
			&finding->serial_fails, &finding->serial_runs))
		ret = -EBADMSG;
	if (!ret)
		ret = decode_argv(json_object_get(object, "argv"), finding);
	if (!ret)
		ret = decode_moments(json_object_get(object, "moments"),
				     finding);
	if (!ret)
		ret = decode_stacks(json_object_get(object, "stacks"), finding);
	if (!ret)
		ret = decode_cycle(json_object_get(object, "cycle"), finding);
	return ret;
}

int maple_report_finding_decode(const char *json, struct maple_finding **finding,
				struct maple_error *err)
{
	struct maple_finding *f = calloc(1, sizeof(*f));
	json_error_t why = { 0 };
	json_t *object = json_loads(json, 0, &why);
	int ret = -EBADMSG;

	if (!f)
		ret = -ENOMEM;
	else if (object)
		ret = decode_finding(object, f);
	json_decref(object);
	if (ret) {
		maple_finding_destroy(f);
		if (ret == -ENOMEM)
			return maple_error_set(err, ENOMEM, "out of memory");
		return maple_error_set(err, EBADMSG, "not a finding%s%s",
				       *why.text ? ": " : "", why.text);
	}
	*finding = f;
	return 0;
}
