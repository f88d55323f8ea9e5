// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A finding as a JSON object and back. Besides the fields of the tables there
 * are "idiom", "iroot" and "confirm", which the schema wants in a form of their
 * own. "iroot" follows from the moments and is not read back, "idiom" from the
 * class.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <maple/goal.h>
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
	MAPLE_FIELD(maple_moment, from, INDEX),
	MAPLE_FIELD(maple_moment, half, FLAG),
	MAPLE_FIELD(maple_moment, frees, FLAG),
	MAPLE_FIELD(maple_moment, callers, STRING),
	MAPLE_FIELD_STRUCT(maple_moment, place, HERE, place_fields),
	MAPLE_FIELD_END,
};

static const struct maple_field frame_fields[] = {
	MAPLE_FIELD(maple_frame, pc, HEX),
	MAPLE_FIELD_STRUCT(maple_frame, place, HERE, place_fields),
	MAPLE_FIELD_END,
};

static const struct maple_field stack_fields[] = {
	MAPLE_FIELD(maple_stack, thread, STRING),
	MAPLE_FIELD(maple_stack, tid, INTEGER),
	MAPLE_FIELD(maple_stack, failed, FLAG),
	MAPLE_FIELD(maple_stack, state, STRING),
	MAPLE_FIELD(maple_stack, before, STRING),
	MAPLE_FIELD_STRUCTS(maple_stack, "frames", frames, frame_fields),
	MAPLE_FIELD_END,
};

static const struct maple_field edge_fields[] = {
	MAPLE_FIELD(maple_edge, thread, STRING),
	MAPLE_FIELD(maple_edge, variable, STRING),
	MAPLE_FIELD(maple_edge, address, HEX),
	MAPLE_FIELD(maple_edge, holder, STRING),
	MAPLE_FIELD_STRUCT(maple_edge, place, HERE, place_fields),
	MAPLE_FIELD_STRUCT(maple_edge, since, OBJECT, place_fields),
	MAPLE_FIELD_END,
};

static const struct maple_field finding_fields[] = {
	MAPLE_FIELD_STRUCTS(maple_finding, "moments", moments, moment_fields),
	MAPLE_FIELD_STRUCTS(maple_finding, "stacks", stacks, stack_fields),
	MAPLE_FIELD_STRUCTS(maple_finding, "cycle", edges, edge_fields),
	MAPLE_FIELD(maple_finding, id, STRING),
	MAPLE_FIELD(maple_finding, title, STRING),
	MAPLE_FIELD(maple_finding, what, STRING),
	MAPLE_FIELD(maple_finding, signo, INTEGER),
	MAPLE_FIELD(maple_finding, status, INTEGER),
	MAPLE_FIELD(maple_finding, address, HEX),
	MAPLE_FIELD(maple_finding, class, STRING),
	MAPLE_FIELD(maple_finding, plan, STRING),
	MAPLE_FIELD(maple_finding, seed, HEX),
	MAPLE_FIELD(maple_finding, attempt, UNSIGNED),
	MAPLE_FIELD(maple_finding, cwd, STRING),
	MAPLE_FIELD(maple_finding, exe, STRING),
	MAPLE_FIELD(maple_finding, input, STRING),
	MAPLE_FIELD(maple_finding, backend, STRING),
	MAPLE_FIELD(maple_finding, machine, STRING),
	MAPLE_FIELD(maple_finding, cpu, STRING),
	MAPLE_FIELD(maple_finding, kernel, STRING),
	MAPLE_FIELD(maple_finding, first_backend, STRING),
	MAPLE_FIELD(maple_finding, strategy, STRING),
	MAPLE_FIELD(maple_finding, output, STRING),
	MAPLE_FIELD(maple_finding, oracle, STRING),
	MAPLE_FIELD(maple_finding, report, STRING),
	MAPLE_FIELD(maple_finding, switches, STRING),
	MAPLE_FIELD(maple_finding, preemptions, UNSIGNED),
	MAPLE_FIELD(maple_finding, variables, UNSIGNED),
	MAPLE_FIELD(maple_finding, threads, UNSIGNED),
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

static const struct maple_field violation_fields[] = {
	MAPLE_FIELD(maple_violation, set, STRING),
	MAPLE_FIELD(maple_violation, declared, FLAG),
	MAPLE_FIELD(maple_violation, pattern, UNSIGNED),
	MAPLE_FIELD(maple_violation, runs, UNSIGNED),
	MAPLE_FIELD(maple_violation, failed_runs, UNSIGNED),
	MAPLE_FIELD(maple_violation, forced_runs, UNSIGNED),
	MAPLE_FIELD_END,
};

/* Of a finding, what is told of one that is a violation. */
static const struct maple_field violated_fields[] = {
	MAPLE_FIELD(maple_finding, id, STRING),
	MAPLE_FIELD(maple_finding, class, STRING),
	MAPLE_FIELD(maple_finding, suppressed, STRING),
	MAPLE_FIELD(maple_finding, replay, STRING),
	MAPLE_FIELD(maple_finding, times_seen, UNSIGNED),
	MAPLE_FIELD_STRUCT(maple_finding, violation, HERE, violation_fields),
	MAPLE_FIELD_STRUCTS(maple_finding, "moments", moments, moment_fields),
	MAPLE_FIELD_END,
};

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

/* NULL, which no object takes, where there was no such control. */
static json_t *encode_serial(const struct maple_finding *finding)
{
	return finding->serial_runs
		       ? json_pack("[i,i]", (int)finding->serial_fails,
				   (int)finding->serial_runs)
		       : NULL;
}

/* The iRoot's events in their own order, not in the executed one. */
static json_t *encode_iroot(const struct maple_finding *finding)
{
	json_t *events = json_array();

	for (unsigned int e = 0; e < MAPLE_GOAL_USES; e++) {
		const struct maple_moment *m = NULL;
		json_t *event;

		for (unsigned int i = 0; i < finding->nmoments && !m; i++)
			if (finding->moments[i].event == e &&
			    !finding->moments[i].order)
				m = &finding->moments[i];
		if (!m || !finding->class)
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

static int encode_reach(json_t *object, const struct maple_finding *finding)
{
	json_t *moments = json_object_get(object, "moments");
	int bad = 0;

	for (unsigned int i = 0; i < finding->nmoments; i++)
		bad |= json_object_set_new(json_array_get(moments, i), "reached",
					   json_string(maple_reach_name(
						   finding->moments[i].reach)));
	return bad;
}

/*
 * maple_codec_violation - @finding, which is a violation, as a JSON object;
 * NULL: out of memory
 */
json_t *maple_codec_violation(const struct maple_finding *finding)
{
	unsigned int pattern = finding->violation.pattern;
	json_t *object = json_pack("{s:s, s:i, s:o}", "what",
				   maple_violation_words(pattern), "first_run",
				   (int)finding->run, "argv",
				   encode_argv(finding->argv));

	if (!object || maple_fields_encode(object, violated_fields, finding)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* What a violation has besides; of others there is nothing to say. */
static int encode_violation(json_t *object, const struct maple_finding *finding)
{
	json_t *more;

	if (finding->kind != MAPLE_FAILURE_VIOLATION)
		return 0;
	more = json_object();
	if (!more ||
	    maple_fields_encode(more, violation_fields, &finding->violation)) {
		json_decref(more);
		return -1;
	}
	return json_object_set_new(object, "violation", more);
}

/* As it is kept and passed on: nothing that its reader makes of it. */
static json_t *encode_finding(const struct maple_finding *finding)
{
	json_t *object = json_pack(
		"{s:s, s:i, s:o, s:{s:[i,i], s:[i,i], s:o*}, s:o}", "kind",
		maple_failure_name(finding->kind), "idiom",
		(int)maple_class_number(finding->class), "iroot",
		encode_iroot(finding), "confirm", "forced",
		(int)finding->forced_fails, (int)finding->forced_runs,
		"flipped", (int)finding->flipped_fails,
		(int)finding->flipped_runs, "serial", encode_serial(finding),
		"argv", encode_argv(finding->argv));

	if (!object || maple_fields_encode(object, finding_fields, finding) ||
	    encode_reach(object, finding) || encode_violation(object, finding)) {
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

	if (!name && f->kind == MAPLE_FAILURE_DEADLOCK && f->class &&
	    !strcmp(f->class, "deadlock") && m->event % 2)
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
	int n = (int)finding->nmoments, ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		struct maple_moment *m = &finding->moments[i];

		ret = decode_reach(json_array_get(array, i), finding, m);
		if (m->role >= MAPLE_ROLES || m->from < -1 || m->from >= n)
			ret = -EBADMSG;
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

	for (unsigned int k = 0; name && k <= MAPLE_FAILURE_VIOLATION; k++) {
		if (!strcmp(name, maple_failure_name(k))) {
			finding->kind = k;
			return 0;
		}
	}
	return -EBADMSG;
}

/* Who reads it counts on what it is about, and on who did what. */
static int decode_violation(const json_t *object, struct maple_finding *finding)
{
	const json_t *more = json_object_get(object, "violation");
	struct maple_violation *v = &finding->violation;
	int ret;

	if (finding->kind != MAPLE_FAILURE_VIOLATION)
		return more ? -EBADMSG : 0;
	ret = maple_fields_decode(more, violation_fields, v);
	if (ret)
		return ret;
	if (!v->pattern || v->pattern > MAPLE_SET_PATTERNS || !finding->class ||
	    finding->nmoments < 3 || finding->nmoments > 4)
		return -EBADMSG;
	for (unsigned int i = 0; i < finding->nmoments; i++)
		if (finding->moments[i].role > 1)
			return -EBADMSG;
	return 0;
}

/* Findings of earlier versions have a number for it, nothing else. */
static int decode_class(json_t *object, struct maple_finding *finding)
{
	json_int_t number = json_integer_value(json_object_get(object, "idiom"));
	const char *class = NULL;

	if (finding->class)
		return maple_class_is_name(finding->class) ? 0 : -EBADMSG;
	if (number > 0 && number <= MAPLE_CLASSES)
		class = maple_class_numbered((unsigned int)number);
	finding->class = class ? strdup(class) : NULL;
	return class && !finding->class ? -ENOMEM : 0;
}

static int decode_finding(json_t *object, struct maple_finding *finding)
{
	int ret = maple_fields_decode(object, finding_fields, finding);

	if (!ret)
		ret = decode_kind(object, finding);
	if (!ret)
		ret = decode_class(object, finding);
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
		ret = decode_violation(object, finding);
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
