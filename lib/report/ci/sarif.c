// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SARIF 2.1.0: a run with a result for each finding. Where nothing was
 * delivered the run has no results at all, which says something else than an
 * empty list, and its invocation was not successful: no reader may take it
 * for a scan that found nothing.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <maple/version.h>
#include "base/bytes.h"
#include "report/tests/cases.h"
#include "report/formats.h"
#include "report/words.h"
#include "sarif.h"

#define SCHEMA                                               \
	"https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/" \
	"schemas/sarif-schema-2.1.0.json"

/* A rule for each kind of failure; the order is enum maple_failure's. */
static const struct {
	enum maple_failure kind;
	const char *name, *text, *help;
} rules[] = {
	{ MAPLE_FAILURE_SIGNAL, "DiesBySignal",
	  "An interleaving of its threads kills the program.",
	  "One order of accesses to shared data ends in a fatal signal. Make "
	  "the accesses of the order shown exclude each other." },
	{ MAPLE_FAILURE_EXIT, "WrongExitStatus",
	  "An interleaving of its threads changes the exit status.",
	  "One order of accesses to shared data makes the program end with "
	  "another status than it does by itself." },
	{ MAPLE_FAILURE_DEADLOCK, "Deadlock",
	  "An interleaving of its threads ends in a deadlock.",
	  "Threads take the same locks in different orders. Take them in one "
	  "order everywhere." },
	{ MAPLE_FAILURE_HANG, "Hang",
	  "An interleaving of its threads makes the program hang.",
	  "After the order shown the program did not end within its time; a "
	  "lost wake-up looks like this." },
	{ MAPLE_FAILURE_ORACLE, "WrongResult",
	  "An interleaving of its threads leaves a wrong result.",
	  "The oracle's command refused what the program left behind after "
	  "the order shown." },
	{ MAPLE_FAILURE_OUTPUT, "WrongOutput",
	  "An interleaving of its threads changes the output.",
	  "After the order shown the program wrote other than expected." },
	{ MAPLE_FAILURE_SANITIZER, "SanitizerReport",
	  "An interleaving of its threads makes a sanitizer report an error.",
	  "The program was built with a sanitizer, and after the order shown "
	  "that one saw an error: its report says which." },
};

#define RULES (sizeof(rules) / sizeof(*rules))

/* maple_sarif_rule - the index of the rule for @kind */
unsigned int maple_sarif_rule(enum maple_failure kind)
{
	for (unsigned int i = 0; i < RULES; i++)
		if (rules[i].kind == kind)
			return i;
	return 0;
}

/* maple_sarif_rule_id - its id, "maple/signal", as a JSON string */
json_t *maple_sarif_rule_id(enum maple_failure kind)
{
	return json_sprintf(
		"maple/%s",
		maple_failure_name(rules[maple_sarif_rule(kind)].kind));
}

/* maple_sarif_violation_rule - the index of the rule for violations: the last */
unsigned int maple_sarif_violation_rule(void)
{
	return RULES;
}

json_t *maple_sarif_violation_id(void)
{
	return json_string("maple/violation");
}

/* It is no failure: its level is that of a note. */
static json_t *violation_rule(void)
{
	static const char text[] =
		"Two units of work on memory that belongs together came in an "
		"order that no serial one has.";

	return json_pack("{s:o, s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id",
			 maple_sarif_violation_id(), "name",
			 "AtomicSetViolation", "shortDescription", "text", text,
			 "fullDescription", "text", text,
			 "defaultConfiguration", "level", "note");
}

static json_t *driver_object(void)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < RULES; i++)
		json_array_append_new(
			array,
			json_pack("{s:o, s:s, s:{s:s}, s:{s:s}, s:{s:s},"
				  " s:{s:s}, s:{s:[s,s], s:s, s:s}}",
				  "id", maple_sarif_rule_id(rules[i].kind),
				  "name", rules[i].name, "shortDescription",
				  "text", rules[i].text, "fullDescription",
				  "text", rules[i].text, "help", "text",
				  rules[i].help, "defaultConfiguration",
				  "level", "error", "properties", "tags",
				  "concurrency", "reliability", "precision",
				  "very-high", "problem.severity", "error"));
	json_array_append_new(array, violation_rule());
	return json_pack("{s:s, s:s, s:s, s:{s:s}, s:o}", "name", "maple",
			 "version", MAPLE_VERSION, "semanticVersion",
			 MAPLE_VERSION ".0", "shortDescription", "text",
			 "finds the interleavings that break a multithreaded "
			 "program",
			 "rules", array);
}

/* What a reader must know beside the results. */
static json_t *notifications_array(const struct maple_report *report)
{
	json_t *array = json_array();
	struct maple_cases cases;

	if (maple_cases_init(&cases, report))
		return array;
	for (unsigned int i = 0; i < cases.n; i++) {
		const struct maple_case *c = &cases.at[i];
		bool probe = report->source == MAPLE_REPORT_PROBES;
		const char *level = "none";

		if (c->note) /* it is a result */
			continue;
		if (c->verdict == MAPLE_CASE_PASSED && c->result &&
		    maple_words_weaker(c->result))
			level = "note";
		else if (c->verdict == MAPLE_CASE_BROKEN)
			level = "error";
		else if (c->verdict == MAPLE_CASE_SKIPPED)
			level = "warning";
		else if (!probe || c->verdict != MAPLE_CASE_PASSED)
			continue;
		json_array_append_new(
			array,
			json_pack("{s:s, s:{s:o}}", "level", level, "message",
				  "text",
				  probe ? json_sprintf("%s: %s", c->name,
						       c->message)
					: maple_bytes_encode(c->message)));
	}
	maple_cases_deinit(&cases);
	return array;
}

static json_t *invocation_object(const struct maple_report *report)
{
	/* Findings of old are told whatever this call's status is. */
	bool good =
		report->status == 0 || report->status == 66 ||
		(report->source == MAPLE_REPORT_REPLAY && report->status == 1);
	json_t *object = json_pack("{s:b, s:i}", "executionSuccessful", good,
				   "exitCode", report->status);
	json_t *arguments = json_array();
	time_t then = (time_t)report->when;
	char when[32];
	struct tm tm;

	for (char *const *arg = report->argv; arg && *arg; arg++)
		json_array_append_new(arguments, maple_bytes_encode(*arg));
	if (report->argv && *report->argv)
		json_object_set(object, "arguments", arguments);
	json_decref(arguments);
	if (report->host)
		json_object_set_new(object, "machine",
				    maple_bytes_encode(report->host));
	if (report->when && gmtime_r(&then, &tm) &&
	    strftime(when, sizeof(when), "%FT%TZ", &tm))
		json_object_set_new(object, "endTimeUtc", json_string(when));
	if (report->source != MAPLE_REPORT_FINDINGS)
		json_object_set_new(object, "toolExecutionNotifications",
				    notifications_array(report));
	return object;
}

static int add_results(json_t *array, const struct maple_report *r,
		       struct maple_finding *const *findings, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && !e; i++)
		e = json_array_append_new(array,
					  maple_sarif_result(r, findings[i]));
	return e;
}

/* Notes; those of declared sets are failures if that was asked. */
static int add_violations(json_t *array, const struct maple_report *r,
			  const struct maple_violations *v)
{
	int e = 0;

	for (unsigned int i = 0; i < v->n && !e; i++)
		e = json_array_append_new(
			array,
			maple_sarif_violation(
				r, v->at[i],
				v->strict && v->at[i]->violation.declared));
	return e;
}

/* Those of all cases; none where nothing was tested. */
static json_t *suite_results(const struct maple_report *r)
{
	enum maple_suite_verdict sum = maple_suite_sum(r->suite, NULL);
	json_t *array = json_array();
	int e = 0;

	for (unsigned int i = 0; i < r->suite->n && !e; i++) {
		const struct maple_campaign_result *of =
			r->suite->cases[i].result;

		if (of)
			e = add_results(array, r, of->findings, of->nfindings) ||
			    add_results(array, r, of->suppressed,
					of->nsuppressed) ||
			    add_violations(array, r, &of->violations);
	}
	if (e || (sum != MAPLE_SUITE_CLEAN && sum != MAPLE_SUITE_FOUND)) {
		json_decref(array);
		return NULL;
	}
	return array;
}

/* What was not done has no results: NULL. */
static json_t *results_array(const struct maple_report *r)
{
	struct maple_finding *const *findings = r->findings;
	json_t *array;
	size_t n = r->nfindings;

	if (r->source == MAPLE_REPORT_PROBES || r->source == MAPLE_REPORT_ERROR)
		return NULL;
	if (r->suite)
		return suite_results(r);
	if (r->result) {
		if (r->status != 0 && !r->result->nfindings &&
		    !r->result->violations.failures)
			return NULL;
		findings = r->result->findings;
		n = r->result->nfindings;
	}
	array = json_array();
	if (add_results(array, r, findings, n) ||
	    (r->result && add_results(array, r, r->result->suppressed,
				      r->result->nsuppressed)) ||
	    (r->result && add_violations(array, r, &r->result->violations)) ||
	    (r->violations && add_violations(array, r, r->violations))) {
		json_decref(array);
		return NULL;
	}
	return array;
}

/* The numbers of a campaign, under the names of the JSON schema. */
static json_t *properties_object(const struct maple_report *report)
{
	const struct maple_campaign_result *r = report->result;
	json_t *object = json_pack("{s:i}", "schema", MAPLE_REPORT_SCHEMA);

	if (r && r->backends.observe)
		json_object_set_new(object, "backends",
				    json_pack("{s:s, s:s*}", "observe",
					      r->backends.observe, "enforce",
					      r->backends.enforce));
	if (r)
		json_object_update_new(
			object,
			json_pack("{s:s, s:I, s:I, s:b, s:f}", "verdict",
				  maple_outcome_name(r->outcome), "exposed",
				  (json_int_t)maple_coverage_sum(&r->coverage)
					  .exposed,
				  "candidates_left",
				  (json_int_t)r->candidates_left, "exhausted",
				  r->exhausted, "seconds", r->seconds));
	if (r)
		json_object_set_new(object, "stop",
				    json_string(maple_stop_name(r->stop)));
	if (r)
		json_object_set_new(object, "real_time_priorities",
				    json_boolean(!r->sleeps));
	return object;
}

static int write_sarif(FILE *out, const struct maple_report *report,
		       const struct maple_report_style *style,
		       struct maple_error *err)
{
	json_t *results = results_array(report), *log;
	json_t *run = json_pack(
		"{s:{s:o}, s:[o], s:s, s:o}", "tool", "driver", driver_object(),
		"invocations", invocation_object(report), "columnKind",
		"utf16CodeUnits", "properties", properties_object(report));
	int ret;

	if (results)
		json_object_set_new(run, "results", results);
	if (report->root)
		json_object_set_new(run, "originalUriBaseIds",
				    maple_sarif_bases(report->root));
	log = json_pack("{s:s, s:s, s:[o]}", "$schema", SCHEMA, "version",
			"2.1.0", "runs", run);
	if (!log)
		return maple_error_set(err, ENOMEM, "out of memory");
	ret = json_dumpf(log, out, JSON_INDENT(1));
	putc('\n', out);
	json_decref(log);
	return ret ? maple_error_set(err, EIO,
				     "the report could not be written: %m")
		   : 0;
}

const struct maple_format maple_format_sarif = { .name = "sarif",
						 .write = write_sarif };
