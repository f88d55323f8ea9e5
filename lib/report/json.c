// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A campaign as one JSON object, or as a stream of them. This file and
 * codec.c are the schema; its number changes when a name or a meaning does,
 * not when something is added.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <maple/report.h>
#include <maple/version.h>
#include "base/bytes.h"
#include "report/codec.h"
#include "report/fields.h"
#include "report/formats.h"

static int write_object(FILE *out, json_t *object, struct maple_error *err)
{
	int ret;

	if (!object)
		return maple_error_set(err, ENOMEM, "out of memory");
	ret = json_dumpf(object, out, JSON_COMPACT);
	json_decref(object);
	if (ret || putc('\n', out) == EOF || fflush(out))
		return maple_error_set(err, EIO,
				       "the report could not be written: %m");
	return 0;
}

static json_t *runs_object(const struct maple_runs *runs)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i}", "baseline",
			 (int)runs->baseline, "profile", (int)runs->profile,
			 "enforced", (int)runs->enforced, "controlled",
			 (int)runs->controlled, "confirm", (int)runs->confirm);
}

/*
 * Schema 1 was made when classes had numbers: a name that ends with its own
 * goes by it, all others by themselves.
 */
static const char *key_of(const char *class)
{
	const char *blank = strrchr(class, ' ');

	return blank && maple_class_number(class) ? blank + 1 : class;
}

/* Of @n classes, each @size bytes behind the last, the count at @offset. */
static json_t *counts_object(const void *classes, unsigned int n, size_t size,
			     size_t offset)
{
	json_t *object = json_object();
	const char *class = classes;

	/* The name comes first in each. */
	for (unsigned int i = 0; i < n; i++, class += size) {
		uint64_t count;

		memcpy(&count, class + offset, sizeof(count));
		json_object_set_new(object, key_of(class),
				    json_integer((json_int_t)count));
	}
	return object;
}

static json_t *coverage_object(const struct maple_coverage *c)
{
#define COUNTS(field)                                           \
	counts_object(c->class, c->nclasses, sizeof(*c->class), \
		      offsetof(struct maple_class_count, field))
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "predicted",
			 COUNTS(predicted), "exposed", COUNTS(exposed),
			 "failed", COUNTS(failed), "left", COUNTS(left),
			 "barred", COUNTS(barred));
#undef COUNTS
}

static json_t *findings_array(struct maple_finding *const *findings, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		if (json_array_append_new(array,
					  maple_codec_finding(findings[i]))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *unjudged_object(const struct maple_delivery *d)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < MAPLE_UNJUDGEDS; i++)
		json_object_set_new(object, maple_unjudged_name(i),
				    json_integer((json_int_t)d->unjudged[i]));
	return object;
}

static json_t *control_object(const struct maple_control_sum *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:f}", "runs",
			 (json_int_t)c->runs, "points", (json_int_t)c->points,
			 "open", (json_int_t)c->open, "switches",
			 (json_int_t)c->switches, "seconds", c->seconds);
}

static json_t *delivery_object(const struct maple_delivery *d)
{
	return json_pack(
		"{s:I, s:{s:I, s:I, s:I, s:I}, s:I, s:I, s:I, s:I, s:o,"
		" s:o, s:o, s:I, s:I, s:I, s:I}",
		"sites", (json_int_t)d->sites, "hits", "jump",
		(json_int_t)d->hits[0], "neighbours", (json_int_t)d->hits[1],
		"pun", (json_int_t)d->hits[2], "trap", (json_int_t)d->hits[3],
		"unreached", (json_int_t)d->unreached, "lost",
		(json_int_t)d->lost, "undelivered_runs",
		(json_int_t)d->undelivered_runs, "let_go_runs",
		(json_int_t)d->let_go, "unjudged_runs", unjudged_object(d),
		"control", control_object(&d->control), "left_out",
		maple_bytes_encode(d->left_out), "splits", (json_int_t)d->splits,
		"whole", (json_int_t)d->whole, "not_split",
		(json_int_t)d->not_split, "startup", (json_int_t)d->startup);
}

static json_t *backends_object(const struct maple_backends *b)
{
	return json_pack("{s:s*, s:s*, s:o}", "observe", b->observe, "enforce",
			 b->enforce, "why", maple_bytes_encode(b->why));
}

static json_t *prediction_object(const struct maple_prediction *p)
{
	json_t *cut = json_object();

	for (unsigned int i = 0; i < MAPLE_CUTS; i++)
		json_object_set_new(cut, maple_cut_name(i),
				    json_integer((json_int_t)p->cut[i]));
	return json_pack("{s:I, s:o}", "events", (json_int_t)p->events, "cut",
			 cut);
}

static json_t *first_finding_object(const struct maple_campaign_result *result)
{
	if (!result->first_finding_runs && !result->nfindings)
		return json_null();
	return json_pack("{s:i, s:f}", "runs", (int)result->first_finding_runs,
			 "seconds", result->first_finding_seconds);
}

/* Of --exhaust; null: it was not asked for. */
static json_t *bound_object(const struct maple_bound *b)
{
	if (!b->bounds.preemptions)
		return json_null();
	return json_pack("{s:b, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I}",
			 "exhausted", b->exhausted, "counted", b->counted,
			 "preemptions", (int)b->bounds.preemptions, "variables",
			 (int)b->bounds.variables, "threads",
			 (int)b->bounds.threads, "schedules",
			 (json_int_t)b->schedules, "orders",
			 (json_int_t)b->orders, "unsure", (json_int_t)b->unsure,
			 "dropped", (json_int_t)b->dropped);
}

/* What each of a strategy's parts did. */
static json_t *parts_array(const struct maple_campaign_result *r)
{
	char *text = maple_campaign_parts(r);
	json_t *array = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	return array;
}

/* Those of atomic sets; null: nobody asked. */
static json_t *violations_array(const struct maple_violations *v)
{
	json_t *array = v->asked ? json_array() : json_null();

	for (unsigned int i = 0; i < v->n; i++)
		if (json_array_append_new(array,
					  maple_codec_violation(v->at[i]))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *sets_object(const struct maple_violations *v)
{
	return v->asked ? json_pack("{s:I, s:I, s:I, s:I, s:I, s:i}", "runs",
				    (json_int_t)v->runs, "units",
				    (json_int_t)v->units, "unsure",
				    (json_int_t)v->unsure, "more",
				    (json_int_t)v->more, "cut",
				    (json_int_t)v->cut, "failures",
				    (int)v->failures)
			: json_null();
}

static json_t *result_object(const struct maple_campaign_result *r)
{
	return json_pack(
		"{s:i, s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:I, s:I,"
		" s:i, s:i, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:s, s:b, s:b, s:o,"
		" s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"schema", MAPLE_REPORT_SCHEMA, "version", MAPLE_VERSION,
		"verdict", maple_outcome_name(r->outcome), "seed",
		maple_fields_number(r->seed), "seconds", r->seconds, "runs",
		runs_object(&r->runs), "to_first_finding",
		first_finding_object(r), "findings",
		findings_array(r->findings, r->nfindings), "coverage",
		coverage_object(&r->coverage), "undelivered",
		maple_bytes_encode(r->undelivered), "candidates_left",
		(json_int_t)r->candidates_left, "candidates_resting",
		(json_int_t)r->candidates_resting, "again", (int)r->runs.again,
		"rounds", (int)r->runs.rounds, "dry_runs", (int)r->dry_runs,
		"exhausted", r->exhausted, "interrupted", r->interrupted,
		"backends", backends_object(&r->backends), "delivery",
		delivery_object(&r->delivery), "prediction",
		prediction_object(&r->prediction), "suppressed",
		findings_array(r->suppressed, r->nsuppressed), "stop",
		maple_stop_name(r->stop), "shared_cpu", r->shared_cpu,
		"real_time_priorities", !r->sleeps, "unseen",
		maple_bytes_encode(r->unseen), "unobserved",
		maple_bytes_encode(r->unobserved), "cut_short",
		maple_bytes_encode(r->cut_short), "fixed",
		findings_array(r->fixed, r->nfixed), "bound",
		bound_object(&r->bound), "strategies", parts_array(r),
		"violations", violations_array(&r->violations), "sets",
		sets_object(&r->violations));
}

int maple_report_json(FILE *out, const struct maple_campaign_result *result,
		      struct maple_error *err)
{
	return write_object(out, result_object(result), err);
}

static json_t *argv_array(char *const *argv)
{
	json_t *array = json_array();

	for (char *const *arg = argv; *arg; arg++)
		json_array_append_new(array, maple_bytes_encode(*arg));
	return array;
}

int maple_report_jsonl_start(FILE *out,
			     const struct maple_campaign_options *options,
			     struct maple_error *err)
{
	return write_object(
		out,
		json_pack("{s:i, s:s, s:s, s:o, s:s, s:o}", "schema",
			  MAPLE_REPORT_SCHEMA, "event", "start", "version",
			  MAPLE_VERSION, "argv", argv_array(options->argv),
			  "strategy",
			  options->strategy ?: maple_strategy_name(0), "seed",
			  options->seed ? maple_fields_number(options->seed)
					: json_null()),
		err);
}

int maple_report_jsonl_run(FILE *out, const struct maple_progress *p,
			   struct maple_error *err)
{
	return write_object(
		out,
		json_pack("{s:s, s:s, s:f, s:o, s:I, s:i, s:i, s:o}", "event",
			  "run", "phase", maple_phase_name(p->phase), "seconds",
			  p->seconds, "runs", runs_object(&p->runs),
			  "candidates_left", (json_int_t)p->candidates,
			  "findings", (int)p->findings, "dry_runs",
			  (int)p->dry_runs, "coverage",
			  coverage_object(&p->coverage)),
		err);
}

int maple_report_jsonl_finding(FILE *out, const struct maple_finding *finding,
			       struct maple_error *err)
{
	return write_object(out,
			    json_pack("{s:s, s:o}", "event", "finding",
				      "finding", maple_codec_finding(finding)),
			    err);
}

static int write_end(FILE *out, json_t *object, struct maple_error *err)
{
	if (object && json_object_set_new(object, "event", json_string("end"))) {
		json_decref(object);
		object = NULL;
	}
	return write_object(out, object, err);
}

int maple_report_jsonl_end(FILE *out, const struct maple_campaign_result *result,
			   struct maple_error *err)
{
	return write_end(out, result_object(result), err);
}

int maple_report_json_findings(FILE *out, const struct maple_report *report,
			       struct maple_error *err)
{
	json_t *object = json_pack(
		"{s:i, s:o}", "schema", MAPLE_REPORT_SCHEMA, "findings",
		findings_array(report->findings, report->nfindings));

	if (object && report->violations &&
	    json_object_set_new(object, "violations",
				violations_array(report->violations))) {
		json_decref(object);
		object = NULL;
	}
	if (object && report->nmachines &&
	    (json_object_set_new(object, "machines",
				 maple_codec_machines(report->machines,
						      report->nmachines)) ||
	     json_object_set_new(
		     object, "hours",
		     maple_codec_hours(report->hours, report->nhours)))) {
		json_decref(object);
		object = NULL;
	}
	return write_object(out, object, err);
}

static json_t *program_object(const struct maple_memo_program_info *p)
{
	const char *command = maple_memo_command(p->input);

	return json_pack(
		"{s:I, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:I, s:I, s:o}", "id",
		(json_int_t)p->id, "build_id", maple_bytes_encode(p->build_id),
		"path", maple_bytes_encode(p->path), "input",
		maple_bytes_encode(command ? NULL : p->input), "command",
		maple_bytes_encode(command), "campaigns", (int)p->campaigns,
		"runs", (int)p->runs, "findings", (int)p->findings, "last_used",
		(json_int_t)p->last_used, "candidates_left",
		(json_int_t)maple_coverage_sum(&p->coverage).left, "coverage",
		coverage_object(&p->coverage));
}

static json_t *scheduler_object(const struct maple_memo_success *s)
{
	json_t *failures = json_object();

#define COUNTS(field)                                           \
	counts_object(s->class, s->nclasses, sizeof(*s->class), \
		      offsetof(struct maple_class_tries, field))
	for (unsigned int r = 0; r < MAPLE_MEMO_REASONS; r++)
		if (r != MAPLE_MEMO_REASON_EXPOSED)
			json_object_set_new(failures,
					    r ? maple_memo_reason_name(r)
					      : "not known",
					    COUNTS(failures[r]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "attempted",
			 COUNTS(attempted), "exposed", COUNTS(forced),
			 "failures", failures, "rested_attempted",
			 COUNTS(rested), "rested_exposed",
			 COUNTS(rested_forced), "claims", (json_int_t)s->claims,
			 "refused", (json_int_t)s->refused);
#undef COUNTS
}

static json_t *map_object(const struct maple_unreached *u)
{
	json_int_t both = (json_int_t)u->met[MAPLE_MET_BOTH_ORDERS];
	json_int_t one = (json_int_t)u->met[MAPLE_MET_ONE_ORDER];
	json_int_t apart = (json_int_t)u->met[MAPLE_MET_NEVER];
	json_int_t never = (json_int_t)u->met[MAPLE_MET_UNEXECUTED];

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b}",
			 "may_meet", both + one + apart + never, "executed",
			 both + one + apart, "forced", both + one, "both_orders",
			 both, "one_order", one, "never_together", apart,
			 "never", never, "observed", u->observed,
			 "debug_information", u->debug, "complete", !u->cut);
}

/* Of the violations that are kept. */
static json_t *counted_object(const struct maple_violation_counts *v)
{
	json_t *patterns = json_array();

	for (unsigned int i = 1; i <= MAPLE_SET_PATTERNS; i++)
		if (v->of[i])
			json_array_append_new(
				patterns,
				json_pack("{s:i, s:s, s:i, s:i}", "pattern",
					  (int)i, "what",
					  maple_violation_words(i), "kept",
					  (int)v->of[i], "confirmed",
					  (int)v->forced_of[i]));
	return json_pack("{s:i, s:i, s:i, s:i, s:o}", "kept", (int)v->kept,
			 "confirmed", (int)v->forced, "failed", (int)v->failed,
			 "suppressed", (int)v->suppressed, "patterns", patterns);
}

int maple_report_json_coverage(FILE *out,
			       const struct maple_memo_program_info *program,
			       const struct maple_memo_success *success,
			       const struct maple_memo_sample *samples,
			       size_t n, const struct maple_unreached *map,
			       const struct maple_violation_counts *violations,
			       struct maple_error *err)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			array, json_pack("{s:I, s:o}", "run",
					 (json_int_t)samples[i].run, "coverage",
					 coverage_object(&samples[i].coverage)));
	return write_object(
		out,
		json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o*}", "schema",
			  MAPLE_REPORT_SCHEMA, "program",
			  program_object(program), "coverage",
			  coverage_object(&program->coverage), "scheduler",
			  scheduler_object(success), "samples", array, "map",
			  map ? map_object(map) : json_null(), "violations",
			  violations ? counted_object(violations) : NULL),
		err);
}

static json_t *spot_object(const struct maple_static_place_pair *pair, int i)
{
	return json_pack("{s:o, s:o, s:i, s:b}", "function",
			 maple_bytes_encode(pair->function[i]), "file",
			 maple_bytes_encode(pair->file[i]), "line",
			 (int)pair->line[i], "executed", pair->executed[i]);
}

/* Those with an end that no run has executed are first. */
static json_t *pairs_array(const struct maple_unreached *u, size_t from,
			   size_t to)
{
	json_t *array = json_array(), *one;

	for (size_t i = from; i < to; i++) {
		const struct maple_static_place_pair *pair = &u->pair[i];
		int first = pair->seen == MAPLE_MET_ONE_ORDER ? !pair->later
							      : 0;

		one = json_pack("{s:o, s:b, s:s, s:[o, o]}", "variable",
				maple_bytes_encode(pair->variable), "sections",
				pair->sections, "seen",
				maple_met_name(pair->seen), "places",
				spot_object(pair, first),
				spot_object(pair, !first));
		json_array_append_new(array, one);
	}
	return array;
}

int maple_report_json_unreached(FILE *out,
				const struct maple_memo_program_info *program,
				const struct maple_unreached *u,
				struct maple_error *err)
{
	json_t *map = map_object(u);
	uint64_t unexecuted = u->met[MAPLE_MET_UNEXECUTED];

	json_object_set_new(map, "pairs", pairs_array(u, 0, unexecuted));
	json_object_set_new(map, "executed_pairs",
			    pairs_array(u, unexecuted, u->n));
	return write_object(
		out,
		json_pack("{s:i, s:o, s:o}", "schema", MAPLE_REPORT_SCHEMA,
			  "program", program_object(program), "unreached", map),
		err);
}

int maple_report_json_programs(FILE *out,
			       const struct maple_memo_program_info *programs,
			       size_t n, struct maple_error *err)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, program_object(&programs[i]));
	return write_object(out,
			    json_pack("{s:i, s:o}", "schema",
				      MAPLE_REPORT_SCHEMA, "programs", array),
			    err);
}

static json_t *curve_array(const struct maple_detached_info *j)
{
	json_t *array = json_array();

	for (size_t i = 0; i < j->npoints; i++)
		json_array_append_new(
			array,
			json_pack("{s:i, s:I, s:I}", "runs",
				  (int)j->curve[i].runs, "exposed",
				  (json_int_t)j->curve[i].exposed, "predicted",
				  (json_int_t)j->curve[i].predicted));
	return array;
}

static json_t *job_object(const struct maple_detached_info *j)
{
	json_t *unknown = json_null();

	return json_pack(
		"{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:i, s:i, "
		"s:o, s:b, s:b, s:I, s:o, s:o}",
		"number", (json_int_t)j->number, "state",
		maple_detached_state_name(j->state), "status",
		j->status >= 0 ? json_integer(j->status) : unknown, "argv",
		argv_array(j->argv), "program", argv_array(j->program),
		"attached", j->attached ? json_integer(j->attached) : unknown,
		"cwd", maple_bytes_encode(j->cwd), "host",
		maple_bytes_encode(j->host), "began", (json_int_t)j->began,
		"ended", j->ended ? json_integer(j->ended) : unknown, "runs",
		(int)j->runs, "findings", (int)j->findings, "pid",
		j->pid ? json_integer(j->pid) : unknown, "rebooted",
		j->rebooted, "reported", j->reported, "bytes",
		(json_int_t)j->bytes, "folder", maple_bytes_encode(j->folder),
		"curve", curve_array(j));
}

int maple_report_json_jobs(FILE *out, const char *place,
			   const struct maple_detached_info *jobs, size_t n,
			   uint64_t bytes, struct maple_error *err)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, job_object(&jobs[i]));
	return write_object(out,
			    json_pack("{s:i, s:o, s:I, s:o}", "schema",
				      MAPLE_REPORT_SCHEMA, "place",
				      maple_bytes_encode(place), "bytes",
				      (json_int_t)bytes, "jobs", array),
			    err);
}

int maple_report_json_probes(FILE *out, const struct maple_probe *probes,
			     unsigned int n, struct maple_error *err)
{
	static const char *const states[] = {
		[MAPLE_PROBE_OK] = "ok",
		[MAPLE_PROBE_MISSING] = "missing",
		[MAPLE_PROBE_INFO] = "info",
	};
	json_t *array = json_array();

	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:o, s:o}", "name", probes[i].name,
				  "state", states[probes[i].state], "text",
				  maple_bytes_encode(probes[i].text), "mend",
				  maple_bytes_encode(*probes[i].mend
							     ? probes[i].mend
							     : NULL)));
	return write_object(out,
			    json_pack("{s:i, s:o}", "schema",
				      MAPLE_REPORT_SCHEMA, "probes", array),
			    err);
}

int maple_report_json_replay(FILE *out, const struct maple_finding *finding,
			     unsigned int times, bool flip, unsigned int fails,
			     struct maple_error *err)
{
	return write_object(out,
			    json_pack("{s:i, s:o, s:b, s:[i,i]}", "schema",
				      MAPLE_REPORT_SCHEMA, "finding",
				      maple_bytes_encode(finding->id), "flipped",
				      flip, "fails", (int)fails, (int)times),
			    err);
}

int maple_report_json_error(FILE *out, const char *text, int status)
{
	return write_object(
		out,
		json_pack("{s:i, s:o, s:i}", "schema", MAPLE_REPORT_SCHEMA,
			  "error", maple_bytes_encode(text), "status", status),
		NULL);
}

static json_t *case_object(const struct maple_suite_case *c)
{
	enum maple_suite_verdict verdict = maple_suite_judge(c);
	bool why = verdict == MAPLE_SUITE_SINGLE ||
		   verdict == MAPLE_SUITE_UNTESTED;

	return json_pack(
		"{s:o, s:o, s:s, s:o, s:o}", "name",
		maple_bytes_encode(c->name), "argv", argv_array(c->argv),
		"verdict", maple_suite_verdict_name(verdict), "why",
		maple_bytes_encode(why ? maple_suite_why(c) : NULL), "result",
		c->result ? result_object(c->result) : json_null());
}

static json_t *suite_object(const struct maple_suite *suite)
{
	unsigned int count[MAPLE_SUITE_VERDICTS];
	enum maple_suite_verdict verdict = maple_suite_sum(suite, count);
	json_t *cases = json_array(), *counts = json_object();

	for (unsigned int i = 0; i < suite->n; i++)
		json_array_append_new(cases, case_object(&suite->cases[i]));
	for (unsigned int i = 0; i < MAPLE_SUITE_VERDICTS; i++)
		json_object_set_new(counts, maple_suite_verdict_name(i),
				    json_integer(count[i]));
	return json_pack("{s:i, s:s, s:s, s:s, s:f, s:i, s:o, s:o}", "schema",
			 MAPLE_REPORT_SCHEMA, "version", MAPLE_VERSION,
			 "verdict", maple_suite_verdict_name(verdict),
			 "framework", suite->framework, "seconds",
			 suite->seconds, "disabled", (int)suite->disabled,
			 "counts", counts, "cases", cases);
}

int maple_report_json_suite(FILE *out, const struct maple_suite *suite,
			    struct maple_error *err)
{
	return write_object(out, suite_object(suite), err);
}

static int write_json(FILE *out, const struct maple_report *r,
		      const struct maple_report_style *style,
		      struct maple_error *err)
{
	switch (r->source) {
	case MAPLE_REPORT_CAMPAIGN:
		return maple_report_json(out, r->result, err);
	case MAPLE_REPORT_FINDINGS:
		return maple_report_json_findings(out, r, err);
	case MAPLE_REPORT_REPLAY:
		return maple_report_json_replay(out, *r->findings, r->times,
						r->flip, r->fails, err);
	case MAPLE_REPORT_PROBES:
		return maple_report_json_probes(out, r->probes, r->nprobes, err);
	case MAPLE_REPORT_SUITE:
		return maple_report_json_suite(out, r->suite, err);
	case MAPLE_REPORT_ERROR:
		break;
	}
	return maple_report_json_error(out, r->error, r->status);
}

static int write_jsonl(FILE *out, const struct maple_report *r,
		       const struct maple_report_style *style,
		       struct maple_error *err)
{
	if (r->source == MAPLE_REPORT_CAMPAIGN)
		return maple_report_jsonl_end(out, r->result, err);
	if (r->source == MAPLE_REPORT_SUITE)
		return write_end(out, suite_object(r->suite), err);
	return write_json(out, r, style, err);
}

static int found(FILE *out, const struct maple_finding *finding,
		 const struct maple_report_style *style, struct maple_error *err)
{
	return maple_report_jsonl_finding(out, finding, err);
}

const struct maple_format maple_format_json = { .name = "json",
						.write = write_json };
const struct maple_format maple_format_jsonl = {
	.name = "jsonl",
	.begin = maple_report_jsonl_start,
	.progress = maple_report_jsonl_run,
	.found = found,
	.write = write_jsonl,
};
