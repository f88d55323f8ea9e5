// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The forms of report: that none passes what did not, that nothing of the
 * target gets out of its place in them, and where sources are looked for.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>
#include <maple/report.h>
#include "report/source.h"

#define HOSTILE                                                            \
	"<script>alert(1)</script>&\"']]>-->\x1b[31m\xff\n::error::mine\r" \
	"##[error]mine\n# ok 9 - mine\n\xe2\x80\xae`````\x01"

static char *argv[] = { HOSTILE, HOSTILE, NULL };
static struct maple_moment moments[2];
static struct maple_frame frame;
static struct maple_stack stack;
static struct maple_edge edge;
static struct maple_finding finding;
static struct maple_finding *const findings[] = { &finding };
static struct maple_campaign_result result;
static struct maple_report report;
static const struct maple_report_style style = { .unicode = true };
static char *buffer;
static size_t size;

static struct maple_place hostile_place(void)
{
	return (struct maple_place){ "/bin/" HOSTILE, HOSTILE,	       0x10,
				     HOSTILE,	      "/src/" HOSTILE, 7 };
}

static int setup(void **state)
{
	struct maple_place place = hostile_place();

	moments[0] = (struct maple_moment){ place,   'R',  0, "0<1",
					    HOSTILE, 4096, 0, -1 };
	moments[1] = (struct maple_moment){ place,   'W',  1, "0>2",
					    HOSTILE, 4096, 1, 0 };
	frame = (struct maple_frame){ place, 0x1234 };
	stack = (struct maple_stack){ HOSTILE, 7, true, HOSTILE, 1, &frame };
	edge = (struct maple_edge){ HOSTILE, HOSTILE, 1, place, HOSTILE, place };
	finding = (struct maple_finding){
		.id = "3fa9c1",
		.kind = MAPLE_FAILURE_SIGNAL,
		.title = HOSTILE,
		.what = HOSTILE,
		.class = "idiom 1",
		.nmoments = 2,
		.moments = moments,
		.nstacks = 1,
		.stacks = &stack,
		.nedges = 1,
		.edges = &edge,
		.forced_fails = 5,
		.forced_runs = 5,
		.flipped_runs = 5,
		.argv = argv,
		.input = HOSTILE,
		.replay = HOSTILE,
		.output = HOSTILE,
		.times_seen = 2,
	};
	result = (struct maple_campaign_result){ .outcome = MAPLE_CLEAN };
	report = (struct maple_report){ .source = MAPLE_REPORT_FINDINGS,
					.argv = argv,
					.root = "/src",
					.host = HOSTILE,
					.findings = findings,
					.nfindings = 1 };
	return 0;
}

static const char *written(enum maple_report_format format)
{
	FILE *out;

	free(buffer);
	buffer = NULL;
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_write(out, format, &report, &style, NULL),
			 0);
	fclose(out);
	assert_int_equal(strlen(buffer), size);
	return buffer;
}

static bool has(const char *text)
{
	return strstr(buffer, text);
}

static json_t *sarif_run(void)
{
	json_t *log = json_loads(written(MAPLE_REPORT_SARIF), 0, NULL);
	json_t *run;

	assert_non_null(log);
	run = json_incref(json_array_get(json_object_get(log, "runs"), 0));
	json_decref(log);
	return run;
}

static bool sarif_succeeded(bool *results)
{
	json_t *run = sarif_run();
	bool good = json_is_true(json_object_get(
		json_array_get(json_object_get(run, "invocations"), 0),
		"executionSuccessful"));

	*results = json_object_get(run, "results");
	json_decref(run);
	return good;
}

static void each_form_has_a_name_of_its_own(void **state)
{
	for (int f = 0; f < MAPLE_REPORT_FORMATS; f++) {
		const char *name =
			maple_report_format_name((enum maple_report_format)f);

		assert_non_null(name);
		for (int g = 0; g < f; g++)
			assert_string_not_equal(
				name, maple_report_format_name(
					      (enum maple_report_format)g));
	}
	assert_null(maple_report_format_name(MAPLE_REPORT_FORMATS));
}

/* Whatever the source, whatever the status. */
static void must_be_broken(void)
{
	bool results;

	written(MAPLE_REPORT_JUNIT);
	assert_true(has("tests=\"1\" failures=\"0\" errors=\"1\""));
	assert_true(has("<error "));
	written(MAPLE_REPORT_TAP);
	assert_true(has("\nnot ok 1 - "));
	assert_false(has("\nok "));
	written(MAPLE_REPORT_GITHUB);
	assert_true(!strncmp(buffer, "::error ", 8));
	assert_false(sarif_succeeded(&results));
	assert_false(results);
}

static void what_was_not_done_passes_in_no_form(void **state)
{
	static const int bad[] = { 1, 2, 125, 126, 127, 3, -1 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		report = (struct maple_report){ .source = MAPLE_REPORT_ERROR,
						.status = bad[i],
						.error = HOSTILE };
		must_be_broken();
		report = (struct maple_report){ .source = MAPLE_REPORT_CAMPAIGN,
						.status = bad[i],
						.result = &result };
		result.outcome = MAPLE_UNDELIVERED;
		result.undelivered = "no access was observed";
		must_be_broken();
		assert_true(has("nothing was tested: no access was observed"));
		/* Cut short it has shown nothing either. */
		result.outcome = MAPLE_CLEAN;
		result.undelivered = NULL;
		result.interrupted = true;
		must_be_broken();
	}
}

static FILE *anew(void)
{
	free(buffer);
	buffer = NULL;
	return open_memstream(&buffer, &size);
}

static void markdown_of(const struct maple_report *of)
{
	FILE *out = anew();

	assert_int_equal(maple_report_markdown(out, of, NULL), 0);
	fclose(out);
}

static void cases_of(const struct maple_suite *suite)
{
	FILE *out = anew();

	maple_report_suite(out, suite, &style);
	fclose(out);
}

/* What was tried by less than there could be does not pass for more. */
static void clean_without_priorities_says_so_in_each_form(void **state)
{
	static const char words[] = "without real-time priorities: weaker";
	struct maple_suite_case test = { .name = "test", .result = &result };
	struct maple_suite suite = { .framework = "gtest",
				     .n = 1,
				     .cases = &test };

	report = (struct maple_report){ .source = MAPLE_REPORT_CAMPAIGN,
					.result = &result };
	for (int weaker = 0; weaker < 2; weaker++) {
		result.sleeps = weaker;
		for (int f = 0; f < MAPLE_REPORT_FORMATS; f++) {
			written((enum maple_report_format)f);
			if (f == MAPLE_REPORT_JSON || f == MAPLE_REPORT_JSONL)
				assert_int_equal(
					has("\"real_time_priorities\":false"),
					weaker);
			else
				assert_int_equal(has(words), weaker);
		}
		written(MAPLE_REPORT_SARIF);
		/* Of a notification, which goes on; a rule's is its last. */
		assert_int_equal(has("\"level\": \"note\","), weaker);
		assert_int_equal(has("\"real_time_priorities\": false"), weaker);
		/* Its signs are escaped. */
		markdown_of(&report);
		assert_int_equal(has("time priorities: weaker, since"), weaker);
		cases_of(&suite);
		assert_int_equal(has(words), weaker);
	}
}

static void what_was_skipped_neither_passes_nor_fails(void **state)
{
	bool results;

	report = (struct maple_report){ .source = MAPLE_REPORT_ERROR,
					.status = 77,
					.error = "no real-time priorities" };
	written(MAPLE_REPORT_JUNIT);
	assert_true(has("errors=\"0\" skipped=\"1\""));
	assert_string_equal(written(MAPLE_REPORT_TAP),
			    "TAP version 13\n1..1\n"
			    "ok 1 - mapletest # SKIP no real-time priorities\n");
	written(MAPLE_REPORT_GITHUB);
	assert_true(!strncmp(buffer, "::warning ", 10));
	assert_false(sarif_succeeded(&results));
	assert_false(results);
}

static void a_clean_campaign_passes(void **state)
{
	bool results;

	report = (struct maple_report){ .source = MAPLE_REPORT_CAMPAIGN,
					.argv = argv,
					.result = &result };
	written(MAPLE_REPORT_JUNIT);
	assert_true(has("failures=\"0\" errors=\"0\" skipped=\"0\""));
	written(MAPLE_REPORT_TAP);
	assert_true(has("\nok 1 - "));
	assert_false(has("not ok"));
	written(MAPLE_REPORT_GITHUB);
	assert_true(!strncmp(buffer, "::notice ", 9));
	assert_true(sarif_succeeded(&results));
	assert_true(results);
}

static void a_suppressed_finding_is_shown_as_such(void **state)
{
	json_t *run, *list;

	finding.suppressed = "race:queue";
	written(MAPLE_REPORT_JUNIT);
	assert_true(has("failures=\"0\" errors=\"0\" skipped=\"1\""));
	written(MAPLE_REPORT_TAP);
	assert_true(has(" # SKIP suppressed by race:queue\n"));
	written(MAPLE_REPORT_GITHUB);
	assert_true(!strncmp(buffer, "::warning ", 10));
	run = sarif_run();
	list = json_object_get(
		json_array_get(json_object_get(run, "results"), 0),
		"suppressions");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(list, 0), "justification")),
			    "race:queue");
	json_decref(run);
}

/* To reproduce is what a replay is for, so that it passes then. */
static void a_replay_passes_when_it_reproduces(void **state)
{
	static const char *const kinds[] = { "fail", "pass" };

	report.source = MAPLE_REPORT_REPLAY;
	report.times = 5;
	for (int status = 0; status <= 1; status++) {
		json_t *run, *kind;

		report.status = status;
		report.fails = status ? 0 : 4;
		run = sarif_run();
		kind = json_object_get(
			json_array_get(json_object_get(run, "results"), 0),
			"kind");
		assert_string_equal(json_string_value(kind), kinds[status]);
		json_decref(run);
		written(MAPLE_REPORT_TAP);
		assert_true(has(status ? "\nnot ok 1 - " : "\nok 1 - "));
		assert_true(
			has(status ? "forced 0/5 fails" : "forced 4/5 fails"));
		written(MAPLE_REPORT_JUNIT);
		assert_true(has(status ? "failures=\"1\" errors=\"0\""
				       : "failures=\"0\" errors=\"0\""));
	}
}

/* Of an escape sequence, a control character, a turned line, nothing. */
static void assert_tame(void)
{
	for (const char *p = buffer; *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n' ||
			    *p == '\t');
	assert_false(has("\xff"));
	assert_false(has("\xe2\x80\xae"));
}

static void names_stay_in_their_place_in_xml(void **state)
{
	FILE *out;

	written(MAPLE_REPORT_JUNIT);
	assert_tame();
	assert_false(has("<script"));
	assert_true(has("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;"));
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_tame();
	assert_false(has("<script"));
	assert_true(has("&lt;script&gt;"));
	assert_true(has("thread 0&lt;1"));
}

/* What is left of a program's map is a row each, whatever stands in it. */
static void the_page_has_a_map_of_what_may_meet(void **state)
{
	struct maple_static_place_pair pairs[3] = {
		{ .function = { (char *)"<script>", (char *)"g\x1b" },
		  .file = { (char *)"a/<b>.c", NULL },
		  .line = { 7, 9 },
		  .executed = { true, false },
		  .seen = MAPLE_MET_UNEXECUTED },
		{ .function = { (char *)"late", (char *)"early" },
		  .line = { 1, 2 },
		  .variable = (char *)"v&w",
		  .executed = { true, true },
		  .seen = MAPLE_MET_ONE_ORDER,
		  .later = 0 },
		{ .function = { (char *)"done", (char *)"done" },
		  .executed = { true, true },
		  .seen = MAPLE_MET_BOTH_ORDERS },
	};
	const struct maple_unreached map = { .met = { 1, 0, 1, 1 },
					     .observed = true,
					     .debug = true,
					     .pair = pairs,
					     .n = 3 };
	const struct maple_memo_program_info info = { .build_id = (char *)"ff",
						      .path = (char *)"/bin/p" };
	struct maple_report_program program = { .info = &info, .map = &map };
	FILE *out;

	report.programs = &program;
	report.nprograms = 1;
	report.in_full = false;
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_tame();
	assert_false(has("<script"));
	assert_true(has("<rect class=\"both\" x=\"0.000\" y=\"0\" "
			"width=\"33.333\" height=\"1\"/>"));
	assert_true(has("2 pairs not in both orders"));
	assert_true(has("&lt;b&gt;.c:7"));
	assert_true(has("not executed"));
	/* The end that came first is first. */
	assert_true(has("v&amp;w</td><td><span class=\"mono\">early</span>"));
	assert_true(has("only this order"));
	assert_false(has(">done<"));
	program.map = NULL;
	program.unmapped = "<gone>";
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_true(has("Not known: &lt;gone&gt;."));
	assert_false(has("<rect class"));
	report.programs = NULL;
	report.nprograms = 0;
}

/* A machine may call itself what it likes, and a memo may not know it. */
static void machines_and_hours_are_told(void **state)
{
	struct maple_memo_machine machines[] = {
		{ (char *)"db<7>\x1b", (char *)"C & U", (char *)"6.1.0",
		  (char *)"agent", 2, 30, 4, 1, 86400 },
		{ .campaigns = 1 },
	};
	struct maple_memo_hour hours[50] = { { 3600, 7, 6, 5 } };
	struct maple_report_style style = { 0 };
	json_t *root;
	FILE *out;

	for (unsigned int i = 1; i < 50; i++)
		hours[i] = (struct maple_memo_hour){ 3600 + 3600 * i, i, 0, 0 };
	report.machines = machines;
	report.nmachines = 2;
	report.hours = hours;
	report.nhours = 50;
	free(buffer);
	out = open_memstream(&buffer, &size);
	maple_report_machines(out, &report, &style);
	fclose(out);
	assert_tame();
	assert_true(has("    C & U\n    Linux 6.1.0, backend agent\n"));
	assert_true(has("        2        30       4        1  1970-01-0"));
	assert_true(has("(not known)                  1         0       0"));
	assert_true(has("and 26 hours before, in the report as JSON\n"));
	assert_false(has(" 7       6        5\n"));
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_tame();
	assert_true(has("<b>db&lt;7&gt;"));
	assert_true(has("C &amp; U"));
	assert_true(has("2 hours before"));
	assert_false(has(">7</td><td class=\"num\">6<"));
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_json_findings(out, &report, NULL), 0);
	fclose(out);
	root = json_loads(buffer, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(root, "hours")), 50);
	assert_int_equal(
		json_integer_value(json_object_get(
			json_array_get(json_object_get(root, "hours"), 0),
			"news")),
		6);
	assert_null(json_object_get(
		json_array_get(json_object_get(root, "machines"), 1), "name"));
	json_decref(root);
	report.nmachines = report.nhours = 0;
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_json_findings(out, &report, NULL), 0);
	fclose(out);
	assert_false(has("machines"));
}

static void elsewhere(const char *machine, const char *cpu, const char *kernel,
		      const char *expected)
{
	const struct maple_memo_machine here = { (char *)"here", (char *)"C",
						 (char *)"6.1" };
	const struct maple_finding f = { .machine = (char *)machine,
					 .cpu = (char *)cpu,
					 .kernel = (char *)kernel,
					 .first_backend = (char *)"module" };
	char *text = maple_report_elsewhere(&f, &here);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
}

static void what_was_found_elsewhere_says_what_differs(void **state)
{
	elsewhere(NULL, NULL, NULL, NULL);
	elsewhere("here", "D", "5.10", NULL);
	elsewhere("far", "C", "6.1",
		  "on far (C; Linux 6.1), backend module; CPU and kernel are "
		  "the same here");
	elsewhere("far", "D", "6.1",
		  "on far (D; Linux 6.1), backend module; here is another CPU "
		  "(C)");
	elsewhere("far", "C", "5.10",
		  "on far (C; Linux 5.10), backend module; here is another "
		  "kernel (6.1)");
	elsewhere("far", "D", "5.10",
		  "on far (D; Linux 5.10), backend module; here are another "
		  "CPU (C) and another kernel (6.1)");
}

/* The arrow from the first to the third goes over the second's column. */
static void the_page_has_a_column_for_each_thread(void **state)
{
	FILE *out;

	free(buffer);
	out = open_memstream(&buffer, &size);
	moments[1].role = 2;
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_true(has("<div class=\"order many\" style=\"--more:2\">"));
	assert_true(has("style=\"grid-area:1/5\">thread 0&gt;2"));
	assert_true(has("<path d=\"M0 48C28 48 28 144 56 144\"/>"
			"<circle cx=\"0\" cy=\"48\" r=\"3.5\"/></svg>"));
	assert_true(has("<path d=\"M0 144H47\"/>"
			"<path class=\"head\" d=\"M56 144l-9 -6v12z\"/></svg>"));
	assert_true(has("<div class=\"across\" style=\"grid-area:3/3\">"));
	moments[0].role = 3;
	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_html(out, &report, NULL), 0);
	fclose(out);
	assert_true(has("<path d=\"M56 48C28 48 28 144 9 144\"/>"));
}

/* What the runner would read: its trick is to look at every line's start. */
static void names_give_no_commands_to_github(void **state)
{
	unsigned int commands = 0, groups = 0;
	char word[64] = "";
	char *line, *rest;

	written(MAPLE_REPORT_GITHUB);
	assert_tame();
	for (line = strtok_r(buffer, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (*word) {
			if (!strcmp(line, word))
				*word = 0;
			continue;
		}
		if (!strncmp(line, "::stop-commands::", 17)) {
			assert_int_equal(strlen(line + 17), 32);
			snprintf(word, sizeof(word), "::%s::", line + 17);
			groups++;
			continue;
		}
		assert_true(!strncmp(line, "::error ", 8) ||
			    !strncmp(line, "::group::", 9) ||
			    !strcmp(line, "::endgroup::"));
		commands++;
	}
	assert_string_equal(word, "");
	assert_int_equal(groups, 1);
	assert_int_equal(commands, 3);
}

static void names_make_no_results_in_tap(void **state)
{
	unsigned int results = 0;
	char *line, *rest;

	written(MAPLE_REPORT_TAP);
	assert_tame();
	for (line = strtok_r(buffer, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "not ok ", 7))
			results++;
		else
			assert_true(*line == '#' || !strncmp(line, "  ", 2) ||
				    !strcmp(line, "1..1") ||
				    !strcmp(line, "TAP version 13"));
	}
	assert_int_equal(results, 1);
}

static void names_end_no_fence_in_markdown(void **state)
{
	unsigned int fences = 0;
	char *line, *rest;
	FILE *out;

	free(buffer);
	out = open_memstream(&buffer, &size);
	assert_int_equal(maple_report_markdown(out, &report, NULL), 0);
	fclose(out);
	assert_false(has("\n::error"));
	for (line = strtok_r(buffer, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "``````", 6))
			fences++;
		else if (fences != 1)
			assert_null(strpbrk(line, "<>`"));
	}
	assert_int_equal(fences, 2);
}

static void sarif_holds_the_whole_finding(void **state)
{
	json_t *run = sarif_run(), *inner;
	struct maple_finding *back;
	char *text;

	inner = json_object_get(
		json_object_get(
			json_array_get(json_object_get(run, "results"), 0),
			"properties"),
		"finding");
	text = json_dumps(inner, 0);
	assert_int_equal(maple_report_finding_decode(text, &back, NULL), 0);
	assert_string_equal(back->title, HOSTILE);
	assert_string_equal(back->argv[1], HOSTILE);
	maple_finding_destroy(back);
	free(text);
	json_decref(run);
}

static void without_findings_the_forms_say_so(void **state)
{
	bool results;

	report.nfindings = 0;
	assert_string_equal(written(MAPLE_REPORT_TAP),
			    "TAP version 13\n"
			    "1..0 # SKIP no findings are stored\n");
	written(MAPLE_REPORT_JUNIT);
	assert_true(has("tests=\"0\""));
	assert_true(sarif_succeeded(&results));
	assert_true(results);
	assert_string_equal(written(MAPLE_REPORT_GITHUB),
			    "::notice title=mapletest::no findings are "
			    "stored\n");
}

static void what_cannot_be_written_is_an_error(void **state)
{
	struct maple_error err;
	FILE *out;

	for (int f = 0; f <= MAPLE_REPORT_FORMATS + 1; f++) {
		int ret;

		out = fopen("/dev/full", "w");
		assert_non_null(out);
		*err.text = 0;
		if (f < MAPLE_REPORT_FORMATS)
			ret = maple_report_write(out,
						 (enum maple_report_format)f,
						 &report, &style, &err);
		else if (f == MAPLE_REPORT_FORMATS)
			ret = maple_report_html(out, &report, &err);
		else
			ret = maple_report_markdown(out, &report, &err);
		assert_int_equal(ret, -EIO);
		assert_true(*err.text);
		fclose(out);
	}
}

static void sources_are_named_from_the_root(void **state)
{
	static const struct {
		const char *file, *path;
		bool below;
	} cases[] = {
		{ "/src/a/q.c", "a/q.c", true },
		{ "/srcs/q.c", "/srcs/q.c", false },
		{ "/src", "/src", false },
		{ "/other/q.c", "/other/q.c", false },
		{ "./missing.c", "missing.c", false },
		{ "../q.c", "../q.c", false },
	};
	struct maple_place place = { 0 };
	struct maple_source source;
	char root[] = "/tmp/maple-test-XXXXXX";
	char path[64];

	assert_false(maple_source_find("/src", &place, &source));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		place.file = (char *)cases[i].file;
		assert_true(maple_source_find("/src/", &place, &source));
		assert_string_equal(source.path, cases[i].path);
		assert_int_equal(source.below, cases[i].below);
	}
	/* A relative name is ours when it is there. */
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/q.c", root);
	fclose(fopen(path, "w"));
	place.file = "./q.c";
	assert_true(maple_source_find(root, &place, &source));
	assert_true(source.below);
	assert_true(maple_source_find(NULL, &place, &source));
	assert_false(source.below);
	unlink(path);
	rmdir(root);
}

static void the_primary_place_is_in_the_tree_if_any_is(void **state)
{
	struct maple_place libc = { .image = "/lib/libc.so.6",
				    .file = "./nptl/raise.c",
				    .line = 3 };
	struct maple_place ours = { .image = "/bin/q",
				    .file = "/src/q.c",
				    .line = 9 };

	moments[0].place = moments[1].place = libc;
	frame.place = ours;
	edge.place = edge.since = libc;
	assert_ptr_equal(maple_source_primary("/src", &finding), &frame.place);
	moments[1].place = ours;
	assert_ptr_equal(maple_source_primary("/src", &finding),
			 &moments[1].place);
	/* Nobody is sent to what is not theirs. */
	assert_null(maple_source_primary("/elsewhere", &finding));
	report.root = "/elsewhere";
	assert_null(strstr(written(MAPLE_REPORT_SARIF), "\"physicalLocation\""));
	assert_null(strstr(written(MAPLE_REPORT_GITHUB), "file="));
	report.root = "/src";
	assert_non_null(
		strstr(written(MAPLE_REPORT_SARIF), "\"physicalLocation\""));
	assert_non_null(strstr(written(MAPLE_REPORT_GITHUB), "file=q.c,line=9"));
	/* A library that is kept in the tree is no better. */
	libc.file = "/src/.cargo/registry/src/q.rs";
	moments[0].place = libc;
	assert_ptr_equal(maple_source_primary("/src", &finding),
			 &moments[1].place);
	finding.nmoments = finding.nstacks = finding.nedges = 0;
	assert_null(maple_source_primary("/src", &finding));
	/* And SARIF has a result without a place. */
	written(MAPLE_REPORT_SARIF);
}

static void who_failed_is_shown_in_the_program(void **state)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	struct maple_frame frames[] = {
		{ .place = { .image = (char *)libc, .file = "nptl/raise.c" } },
		{ .place = { .image = "/opt/x",
			     .file = "/usr/include/c++/x.h" } },
		{ .place = { .image = "/opt/x", .file = "/opt/src/x.c" } },
	};
	struct maple_stack stack = { .frames = frames, .nframes = 3 };

	assert_ptr_equal(maple_source_frame("/src", &stack), &frames[2].place);
	stack.nframes = 1;
	assert_ptr_equal(maple_source_frame("/src", &stack), &frames[0].place);
}

static void paths_become_uris(void **state)
{
	char *uri = maple_source_uri("file://", "/a b/\xc3\xbc%#?.c");

	assert_string_equal(uri, "file:///a%20b/%C3%BC%25%23%3F.c");
	free(uri);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_form_has_a_name_of_its_own),
		TEST(machines_and_hours_are_told),
		TEST(what_was_found_elsewhere_says_what_differs),
		TEST(what_was_not_done_passes_in_no_form),
		TEST(clean_without_priorities_says_so_in_each_form),
		TEST(what_was_skipped_neither_passes_nor_fails),
		TEST(a_clean_campaign_passes),
		TEST(a_suppressed_finding_is_shown_as_such),
		TEST(a_replay_passes_when_it_reproduces),
		TEST(names_stay_in_their_place_in_xml),
		TEST(the_page_has_a_map_of_what_may_meet),
		TEST(the_page_has_a_column_for_each_thread),
		TEST(names_give_no_commands_to_github),
		TEST(names_make_no_results_in_tap),
		TEST(names_end_no_fence_in_markdown),
		TEST(sarif_holds_the_whole_finding),
		TEST(without_findings_the_forms_say_so),
		TEST(what_cannot_be_written_is_an_error),
		TEST(sources_are_named_from_the_root),
		TEST(the_primary_place_is_in_the_tree_if_any_is),
		TEST(who_failed_is_shown_in_the_program),
		TEST(paths_become_uris),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(buffer);
	return failed;
}
