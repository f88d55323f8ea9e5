// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * JUnit's XML: a suite with a case for the campaign, for each case of a test
 * program, for each stored finding, or for each probe. What the tool could not
 * do is an error, never a pass. There is nothing in it that the strict schemas
 * of readers do not have; where a finding is stands in its text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <maple/version.h>
#include "cases.h"
#include "report/formats.h"
#include "report/xml.h"

static void print_property(FILE *out, const char *name, const char *value)
{
	if (!value)
		return;
	fputs("      <property", out);
	maple_xml_attribute(out, "name", "%s", name);
	maple_xml_attribute(out, "value", "%s", value);
	fputs("/>\n", out);
}

static void print_number(FILE *out, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	print_property(out, name, text);
}

/* Under the names of the JSON schema. */
static void print_properties(FILE *out, const struct maple_report *report)
{
	const struct maple_campaign_result *r = report->result;

	fputs("    <properties>\n", out);
	print_number(out, "schema", MAPLE_REPORT_SCHEMA);
	print_property(out, "version", MAPLE_VERSION);
	if (report->suite) {
		print_property(out, "framework", report->suite->framework);
		print_number(out, "disabled", report->suite->disabled);
	}
	if (r) {
		print_property(out, "verdict", maple_outcome_name(r->outcome));
		print_number(out, "seed", r->seed);
		print_property(out, "backends.observe", r->backends.observe);
		print_property(out, "backends.enforce", r->backends.enforce);
		print_number(out, "runs.profile", r->runs.profile);
		print_number(out, "runs.enforced", r->runs.enforced);
		print_number(out, "runs.controlled", r->runs.controlled);
		print_number(out, "exposed",
			     maple_coverage_sum(&r->coverage).exposed);
		print_number(out, "candidates_left", r->candidates_left);
		print_property(out, "stop", maple_stop_name(r->stop));
		print_property(out, "real_time_priorities",
			       r->sleeps ? "false" : "true");
		print_number(out, "fixed", r->nfixed);
		print_number(out, "suppressed", r->nsuppressed);
	}
	fputs("    </properties>\n", out);
}

static void print_verdict(FILE *out, const struct maple_case *c)
{
	static const char *const names[] = { [MAPLE_CASE_FAILED] = "failure",
					     [MAPLE_CASE_BROKEN] = "error",
					     [MAPLE_CASE_SKIPPED] = "skipped" };

	if (!names[c->verdict])
		return;
	fprintf(out, "      <%s", names[c->verdict]);
	maple_xml_attribute(out, "message", "%s", c->message);
	if (c->verdict != MAPLE_CASE_SKIPPED)
		maple_xml_attribute(out, "type", "%s", c->type);
	putc('>', out);
	maple_xml_text(out, c->detail);
	fprintf(out, "</%s>\n", names[c->verdict]);
}

static void print_output(FILE *out, const struct maple_report *report,
			 const struct maple_case *c)
{
	static const struct maple_report_style style = { .unicode = true,
							 .output = true };

	fputs("      <system-out>", out);
	if (c->result) {
		char *text = NULL;
		size_t size;
		FILE *memory = open_memstream(&text, &size);

		if (memory) {
			maple_report_summary(memory, c->result, &style);
			fclose(memory);
			maple_xml_text(out, text ? text : "");
			free(text);
		}
	} else {
		maple_xml_text(out, c->message);
	}
	fputs("</system-out>\n", out);
}

/* The program's name, as the class that runners group by. */
static const char *class_name(const struct maple_report *report,
			      const struct maple_case *c)
{
	const char *program = report->argv ? *report->argv : NULL;
	const char *slash;

	if (report->source == MAPLE_REPORT_PROBES)
		return "doctor";
	if (!program && c->finding && c->finding->argv)
		program = *c->finding->argv;
	if (!program)
		return "mapletest";
	slash = strrchr(program, '/');
	return slash ? slash + 1 : program;
}

static void print_case(FILE *out, const struct maple_report *report,
		       const struct maple_case *c)
{
	fputs("    <testcase", out);
	maple_xml_attribute(out, "name", "%s", c->name);
	maple_xml_attribute(out, "classname", "maple.%s", class_name(report, c));
	maple_xml_attribute(out, "time", "%.3f", c->seconds);
	fputs(">\n", out);
	print_verdict(out, c);
	print_output(out, report, c);
	fputs("    </testcase>\n", out);
}

/* Of a suite, or of all suites, which no schema lets say what was skipped. */
static void print_totals(FILE *out, const struct maple_cases *cases, bool all)
{
	maple_xml_attribute(out, "tests", "%u", cases->n);
	maple_xml_attribute(out, "failures", "%u",
			    cases->count[MAPLE_CASE_FAILED]);
	maple_xml_attribute(out, "errors", "%u",
			    cases->count[MAPLE_CASE_BROKEN]);
	if (!all)
		maple_xml_attribute(out, "skipped", "%u",
				    cases->count[MAPLE_CASE_SKIPPED]);
	maple_xml_attribute(out, "time", "%.3f", cases->seconds);
}

static int write_junit(FILE *out, const struct maple_report *report,
		       const struct maple_report_style *style,
		       struct maple_error *err)
{
	struct maple_cases cases;
	char when[32];
	time_t then = (time_t)report->when;
	struct tm tm;

	if (maple_cases_init(&cases, report))
		return maple_error_set(err, ENOMEM, "out of memory");
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
	maple_xml_attribute(out, "name", "maple");
	print_totals(out, &cases, true);
	fputs(">\n  <testsuite", out);
	maple_xml_attribute(out, "name", "maple");
	print_totals(out, &cases, false);
	if (report->when && gmtime_r(&then, &tm) &&
	    strftime(when, sizeof(when), "%FT%T", &tm))
		maple_xml_attribute(out, "timestamp", "%s", when);
	if (report->host)
		maple_xml_attribute(out, "hostname", "%s", report->host);
	fputs(">\n", out);
	print_properties(out, report);
	for (unsigned int i = 0; i < cases.n; i++)
		print_case(out, report, &cases.at[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
	maple_cases_deinit(&cases);
	return 0;
}

const struct maple_format maple_format_junit = { .name = "junit",
						 .write = write_junit };
