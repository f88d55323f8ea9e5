// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A finding as a SARIF result: its place, the interleaving as a thread flow
 * for each thread whose steps bear the executed order, the stacks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "report/clean.h"
#include "report/codec.h"
#include "sarif.h"
#include "report/source.h"
#include "report/words.h"

#define BASE "SRCROOT"

static json_t *uri_string(const char *before, const char *path)
{
	char *uri = maple_source_uri(before, path);
	json_t *string = uri ? json_string(uri) : NULL;

	free(uri);
	return string;
}

/* maple_sarif_bases - where the root of the source tree was */
json_t *maple_sarif_bases(const char *root)
{
	char *path = NULL;
	json_t *uri;

	if (asprintf(&path, "%s%s", root,
		     root[strlen(root) - 1] == '/' ? "" : "/") < 0)
		return NULL;
	uri = uri_string("file://", path);
	free(path);
	return json_pack("{s:{s:o}}", BASE, "uri", uri);
}

/* A source line in the tree; NULL: viewers are sent nowhere else. */
static json_t *physical_object(const char *root, const struct maple_place *place)
{
	struct maple_source s;
	json_t *object;

	if (!maple_source_find(root, place, &s) || !s.below)
		return NULL;
	object = json_pack("{s:{s:o, s:s}}", "artifactLocation", "uri",
			   uri_string("", s.path), "uriBaseId", BASE);
	if (place->line)
		json_object_set_new(
			object, "region",
			json_pack("{s:i}", "startLine", (int)place->line));
	return object;
}

/* maple_sarif_location - @place; @text, NULL: "queue.c:12 consume" */
json_t *maple_sarif_location(const char *root, const struct maple_place *place,
			     const char *text)
{
	json_t *physical = physical_object(root, place);
	json_t *object = json_pack(
		"{s:{s:o}}", "message", "text",
		maple_bytes_encode(
			text ? text : maple_clean_place(place, 0, true).text));

	if (physical)
		json_object_set_new(object, "physicalLocation", physical);
	if (place->function)
		json_object_set_new(
			object, "logicalLocations",
			json_pack("[{s:o, s:s}]", "fullyQualifiedName",
				  maple_bytes_encode(place->signature
							     ? place->signature
							     : place->function),
				  "kind", "function"));
	return object;
}

static json_t *step_object(const char *root, const struct maple_finding *f,
			   unsigned int i)
{
	const struct maple_moment *m = &f->moments[i];
	bool lock = m->kind == 'L' || m->kind == 'U';
	char text[3 * MAPLE_CLEAN_MAX];
	json_t *step;

	snprintf(text, sizeof(text), "%u: thread %s %s %s%s%s", i + 1,
		 m->thread ? m->thread : "?", maple_words_access(m),
		 maple_clean(m->variable, true).text, maple_words_half(m),
		 maple_words_value(m, true).text);
	step = json_pack("{s:o, s:s, s:[s,s]}", "location",
			 maple_sarif_location(root, &m->place, text),
			 "importance", "essential", "kinds",
			 lock ? "lock" : "memory",
			 m->kind == 'S'	  ? "signal"
			 : m->kind == 'C' ? "wait"
			 : m->kind == 'L' ? "acquire"
			 : m->kind == 'U' ? "release"
			 : m->kind == 'W' ? "write"
					  : "read");
	if (step && m->reach != MAPLE_REACH_NOT)
		json_object_set_new(step, "executionOrder",
				    json_integer((json_int_t)i + 1));
	return step;
}

/* The flow of @thread among @flows, made if it is not there. */
static json_t *flow_steps(json_t *flows, const char *thread)
{
	json_t *id = maple_bytes_encode(thread ? thread : "?"), *flow;
	size_t i;

	json_array_foreach (flows, i, flow) {
		if (json_equal(json_object_get(flow, "id"), id)) {
			json_decref(id);
			return json_object_get(flow, "locations");
		}
	}
	flow = json_pack("{s:o, s:{s:o}, s:[]}", "id", id, "message", "text",
			 json_sprintf("thread %s", json_string_value(id)),
			 "locations");
	json_array_append_new(flows, flow);
	return json_object_get(flow, "locations");
}

/* The last step of a crash is where the thread died. */
static void add_failure(const char *root, const struct maple_finding *f,
			json_t *flows)
{
	for (unsigned int i = 0; i < f->nstacks; i++) {
		const struct maple_stack *stack = &f->stacks[i];
		char text[MAPLE_CLEAN_MAX + 16];

		if (!stack->failed || !stack->nframes)
			continue;
		snprintf(text, sizeof(text), "%u: %s", f->nmoments + 1,
			 maple_clean(f->what, true).text);
		json_array_append_new(
			flow_steps(flows, stack->thread),
			json_pack("{s:o, s:i, s:s, s:[s]}", "location",
				  maple_sarif_location(
					  root, maple_source_frame(root, stack),
					  text),
				  "executionOrder", (int)f->nmoments + 1,
				  "importance", "essential", "kinds", "danger"));
		return;
	}
}

static json_t *flows_array(const char *root, const struct maple_finding *f)
{
	json_t *flows = json_array();

	for (unsigned int i = 0; i < f->nmoments; i++)
		json_array_append_new(flow_steps(flows, f->moments[i].thread),
				      step_object(root, f, i));
	add_failure(root, f, flows);
	return flows;
}

static json_t *stack_object(const char *root, const struct maple_stack *s)
{
	json_t *frames = json_array();
	char text[2 * MAPLE_CLEAN_MAX + 32];

	for (unsigned int i = 0; i < s->nframes; i++) {
		const struct maple_place *place = &s->frames[i].place;
		json_t *frame =
			json_pack("{s:o}", "location",
				  maple_sarif_location(root, place, NULL));

		if (place->image)
			json_object_set_new(frame, "module",
					    maple_bytes_encode(place->image));
		json_object_set_new(frame, "threadId", json_integer(s->tid));
		json_array_append_new(frames, frame);
	}
	snprintf(text, sizeof(text), "thread %s%s%s%s%s",
		 s->thread ? s->thread : "not known", s->state ? " " : "",
		 s->state ? maple_clean(s->state, true).text : "",
		 s->before ? "; " : "", s->before ? s->before : "");
	return json_pack("{s:{s:o}, s:o}", "message", "text",
			 maple_bytes_encode(text), "frames", frames);
}

/* Who waits where, and who got the lock where. */
static json_t *related_array(const char *root, const struct maple_finding *f)
{
	json_t *array = json_array();
	char text[3 * MAPLE_CLEAN_MAX];

	for (unsigned int i = 0; i < f->nedges; i++) {
		const struct maple_edge *e = &f->edges[i];

		snprintf(text, sizeof(text), "thread %s waits for %s",
			 maple_clean(e->thread, true).text,
			 maple_clean(e->variable, true).text);
		json_array_append_new(
			array, maple_sarif_location(root, &e->place, text));
		snprintf(text, sizeof(text), "thread %s has %s from here on",
			 maple_clean(e->holder, true).text,
			 maple_clean(e->variable, true).text);
		json_array_append_new(
			array, maple_sarif_location(root, &e->since, text));
	}
	return array;
}

static json_t *message_string(const struct maple_finding *f)
{
	char *text = maple_words_finding(f);
	json_t *string = text ? maple_bytes_encode(text) : NULL;

	free(text);
	return string;
}

static void add_stacks(json_t *result, const char *root,
		       const struct maple_finding *f)
{
	json_t *stacks = json_array();

	for (unsigned int i = 0; i < f->nstacks; i++)
		json_array_append_new(stacks, stack_object(root, &f->stacks[i]));
	if (f->nstacks)
		json_object_set(result, "stacks", stacks);
	json_decref(stacks);
}

/* Of a replay, what became of it; else every finding is a failure. */
static bool failed(const struct maple_report *report)
{
	return report->source != MAPLE_REPORT_REPLAY || report->fails;
}

/* maple_sarif_result - @finding as a result; NULL when out of memory */
json_t *maple_sarif_result(const struct maple_report *report,
			   const struct maple_finding *f)
{
	const struct maple_place *place = maple_source_primary(report->root, f);
	unsigned int seen = f->times_seen ? f->times_seen : 1;
	json_t *flows = flows_array(report->root, f), *result;

	result = json_pack(
		"{s:o, s:i, s:s, s:s, s:{s:o}, s:o, s:o, s:{s:o}, s:i,"
		" s:{s:o}}",
		"ruleId", maple_sarif_rule_id(f->kind), "ruleIndex",
		(int)maple_sarif_rule(f->kind), "level",
		failed(report) ? "error" : "none", "kind",
		failed(report) ? "fail" : "pass", "message", "text",
		message_string(f), "locations",
		place ? json_pack("[o]", maple_sarif_location(report->root,
							      place, NULL))
		      : json_array(),
		"relatedLocations", related_array(report->root, f),
		"partialFingerprints", "mapleFinding/v1",
		maple_bytes_encode(f->id), "occurrenceCount", (int)seen,
		"properties", "finding", maple_codec_finding(f));
	if (result && json_array_size(flows))
		json_object_set_new(result, "codeFlows",
				    json_pack("[{s:O}]", "threadFlows", flows));
	json_decref(flows);
	if (result)
		add_stacks(result, report->root, f);
	if (result && (f->known || f->fixed_at))
		json_object_set_new(
			result, "baselineState",
			json_string(f->fixed_at ? "absent" : "unchanged"));
	if (result && f->suppressed)
		json_object_set_new(
			result, "suppressions",
			json_pack("[{s:s, s:o}]", "kind", "external",
				  "justification",
				  maple_bytes_encode(f->suppressed)));
	return result;
}
