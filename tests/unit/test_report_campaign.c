// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a whole campaign is told as, and coverage.
 *
 * beside: guests
 */
#include "report_rig.h"

static void json_has_the_fields_of_the_schema(void **state)
{
	json_t *object = maple_codec_finding(&finding);
	const char *id, *kind, *title, *replay, *site, *access, *function;
	const char *file, *thread;
	int idiom, forced[2], flipped[2], line;
	json_t *iroot;

	assert_int_equal(
		json_unpack(object,
			    "{s:s, s:s, s:s, s:i, s:o, s:{s:[ii!], s:[ii!]},"
			    " s:s}",
			    "id", &id, "kind", &kind, "title", &title, "idiom",
			    &idiom, "iroot", &iroot, "confirm", "forced",
			    &forced[0], &forced[1], "flipped", &flipped[0],
			    &flipped[1], "replay", &replay),
		0);
	assert_string_equal(kind, "signal");
	assert_int_equal(flipped[1], 5);
	assert_int_equal(json_array_size(iroot), 3);
	assert_int_equal(json_unpack(json_array_get(iroot, 1),
				     "{s:s, s:s, s:s, s:s, s:i, s:s !}", "site",
				     &site, "kind", &access, "function",
				     &function, "file", &file, "line", &line,
				     "thread", &thread),
			 0);
	assert_string_equal(site, "queue+0x1234");
	assert_string_equal(access, "W");
	assert_string_equal(function, "close_queue");
	assert_int_equal(line, 57);
	json_decref(object);
}

/* The names that the schema promises, each with its type. */
static void a_campaign_is_one_object_of_the_schema(void **state)
{
	struct maple_finding *findings[] = { &finding };
	struct maple_class_count counts[] = {
		{ "idiom 1", .predicted = 8, .exposed = 2 },
		{ "pattern 1", .failed = 6 },
	};
	struct maple_campaign_result result = {
		.outcome = MAPLE_FOUND,
		.seed = 42,
		.seconds = 1.5,
		.runs = { .baseline = 3,
			  .profile = 2,
			  .enforced = 1,
			  .confirm = 10 },
		.first_finding_runs = 3,
		.first_finding_seconds = .5,
		.nfindings = 1,
		.findings = findings,
		.coverage = { 2, counts },
	};
	int schema, seed, runs[4], first, predicted, exposed, failed;
	double seconds, first_seconds;
	const char *verdict;
	json_t *object, *array, *undelivered;
	FILE *out = open_buffer();

	assert_int_equal(maple_report_json(out, &result, NULL), 0);
	fclose(out);
	assert_ptr_equal(strchr(buffer, '\n'), buffer + strlen(buffer) - 1);
	object = json_loads(buffer, 0, NULL);
	assert_int_equal(
		json_unpack(object,
			    "{s:i, s:s, s:i, s:f, s:{s:i, s:i, s:i, s:i},"
			    " s:{s:i, s:f}, s:o, s:{s:{s:i}, s:{s:i}, s:{s:i}},"
			    " s:o}",
			    "schema", &schema, "verdict", &verdict, "seed",
			    &seed, "seconds", &seconds, "runs", "baseline",
			    &runs[0], "profile", &runs[1], "enforced", &runs[2],
			    "confirm", &runs[3], "to_first_finding", "runs",
			    &first, "seconds", &first_seconds, "findings",
			    &array, "coverage", "predicted", "1", &predicted,
			    "exposed", "1", &exposed, "failed", "pattern 1",
			    &failed, "undelivered", &undelivered),
		0);
	assert_int_equal(schema, 1);
	assert_string_equal(verdict, "finding");
	assert_int_equal(seed, 42);
	assert_int_equal(runs[3], 10);
	assert_int_equal(first, 3);
	assert_int_equal(predicted, 8);
	assert_int_equal(failed, 6);
	assert_int_equal(json_array_size(array), 1);
	assert_true(json_is_null(undelivered));
	json_decref(object);
}

static void without_a_finding_there_is_no_first_one(void **state)
{
	struct maple_campaign_result result = {
		.outcome = MAPLE_UNDELIVERED,
		.undelivered = "no access was observed",
	};
	FILE *out = open_buffer();
	json_t *object;

	assert_int_equal(maple_report_jsonl_end(out, &result, NULL), 0);
	fclose(out);
	object = json_loads(buffer, 0, NULL);
	assert_true(json_is_null(json_object_get(object, "to_first_finding")));
	assert_string_equal(
		json_string_value(json_object_get(object, "undelivered")),
		result.undelivered);
	assert_string_equal(json_string_value(json_object_get(object, "event")),
			    "end");
	assert_string_equal(
		json_string_value(json_object_get(object, "verdict")),
		"undelivered");
	json_decref(object);
}

/* A finding ends a campaign long before everything was tried. */
static void what_was_cut_short_is_not_saturated(void **state)
{
	struct maple_campaign_result result = {
		.outcome = MAPLE_FOUND,
		.runs = { .profile = 9 },
		.dry_runs = 8,
		.stop = MAPLE_STOP_RUNS,
	};
	struct maple_report_style style = { 0 };
	FILE *out = open_buffer();

	maple_report_summary(out, &result, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "; run limit reached, not saturated"));
	result.stop = MAPLE_STOP_FOUND;
	out = open_buffer();
	maple_report_summary(out, &result, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "; ended at the finding"));
	result.stop = MAPLE_STOP_SATURATED;
	out = open_buffer();
	maple_report_summary(out, &result, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "; saturated: 8 runs"));
}

static void what_a_cap_cut_is_said(void **state)
{
	struct maple_campaign_result result = { .outcome = MAPLE_CLEAN };
	struct maple_report_style style = { .output = true };
	FILE *out = open_buffer();
	struct maple_error err;
	json_t *object, *cut;

	result.prediction.events = 12;
	maple_report_summary(out, &result, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "prediction: 12 events; nothing cut\n"));
	result.prediction.cut[MAPLE_CUT_WALKS] = 3;
	result.prediction.cut[MAPLE_CUT_IROOTS] = 4;
	out = open_buffer();
	maple_report_summary(out, &result, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "events; cut: 4 iroots, 3 walks\n"));
	out = open_buffer();
	assert_int_equal(maple_report_json(out, &result, &err), 0);
	fclose(out);
	object = json_loads(buffer, 0, NULL);
	cut = json_object_get(json_object_get(object, "prediction"), "cut");
	assert_int_equal(json_object_size(cut), MAPLE_CUTS);
	assert_int_equal(json_integer_value(json_object_get(cut, "walks")), 3);
	json_decref(object);
}

static void what_cannot_be_written_is_an_error(void **state)
{
	struct maple_campaign_result result = { .outcome = MAPLE_CLEAN };
	struct maple_error err = { "" };
	FILE *out = fopen("/dev/full", "w");

	assert_int_equal(maple_report_json(out, &result, &err), -EIO);
	assert_true(*err.text);
	fclose(out);
}

static void what_is_no_finding_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"sorrow\"}",
		"{\"id\":3,\"title\":\"t\",\"kind\":\"exit\"}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\",\"seed\":-1}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\","
		"\"address\":\"0xg\"}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\","
		"\"argv\":[1]}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\","
		"\"moments\":[{\"from\":1}]}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\","
		"\"moments\":[{\"role\":64}]}",
		"{\"id\":\"a\",\"title\":\"t\",\"kind\":\"exit\","
		"\"confirm\":{\"forced\":[1]}}",
	};
	struct maple_finding *out;
	struct maple_error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = 0;
		assert_int_equal(maple_report_finding_decode(bad[i], &out, &err),
				 -EBADMSG);
		assert_true(*err.text);
	}
	assert_int_equal(
		maple_report_finding_decode("{\"id\":\"a\",\"title\":\"t\","
					    "\"kind\":\"exit\"}",
					    &out, &err),
		0);
	maple_finding_destroy(out);
}

/* Who stores a finding has no say in what its readers are told to run. */
static void the_replay_line_is_its_readers(void **state)
{
	static const char told[] =
		"{\"id\":\"abc1\",\"title\":\"t\","
		"\"kind\":\"exit\","
		"\"replay\":\"mapletest replay a; rm -r ~\"}";
	static const char *const bad[] = { "a;b", "", "a b", "$(a)", "-x" };
	struct maple_finding *back;
	struct maple_error err;
	char json[128], *again;

	assert_int_equal(maple_report_finding_decode(told, &back, &err), 0);
	assert_string_equal(back->replay, "mapletest replay abc1");
	again = maple_report_finding_encode(back);
	assert_null(strstr(again, "replay"));
	free(again);
	maple_finding_destroy(back);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(json, sizeof(json),
			 "{\"id\":\"%s\",\"title\":\"t\",\"kind\":\"exit\"}",
			 bad[i]);
		assert_int_equal(maple_report_finding_decode(json, &back, &err),
				 -EBADMSG);
	}
}

static void saturation_is_said_only_when_nothing_is_left(void **state)
{
	struct maple_class_count class[] = {
		{ .name = "idiom 1", .exposed = 12 },
		{ .name = "pattern 3" },
	};
	struct maple_coverage coverage = { 2, class };
	FILE *out = open_buffer();

	maple_report_saturation(out, &coverage, 40);
	class[0].left = 1;
	maple_report_saturation(out, &coverage, 40);
	class[1].exposed = 1;
	maple_report_saturation(out, &coverage, 1);
	class[0].exposed = 0;
	class[0].left = 3;
	maple_report_saturation(out, &coverage, 0);
	fclose(out);
	assert_string_equal(
		buffer,
		"12 iRoots exposed, 0 candidates left; saturated: 40 runs "
		"without a new iRoot\n"
		"12 iRoots exposed, 1 candidate left; not saturated: 40 runs "
		"without a new iRoot\n"
		"13 goals exposed, 1 candidate left; not saturated: 1 run "
		"without a new goal\n"
		"1 pattern exposed, 3 candidates left; still growing\n");
}

static void success_is_a_table_of_rates_and_reasons(void **state)
{
	struct maple_class_tries tries[] = {
		{ "idiom 1",
		  10,
		  7,
		  { [MAPLE_MEMO_REASON_UNREACHED] = 2,
		    [MAPLE_MEMO_REASON_REFUSED] = 1 } },
		{ "idiom 4" },
		{ "idiom 5",
		  3,
		  1,
		  { [MAPLE_MEMO_REASON_GAVE_UP] = 1,
		    [MAPLE_MEMO_REASON_UNDELIVERED] = 1 } },
	};
	struct maple_memo_success s = {
		.nclasses = 3,
		.class = tries,
		.claims = 9,
		.refused = 1,
	};
	struct maple_memo_program_info program = { .build_id = "aa" };
	struct maple_report_style style = { 0 };
	int unreached, gave_up, exposed, refused;
	FILE *out = open_buffer();
	json_t *object;

	maple_report_success(out, &s, &style);
	tries[0].attempted = tries[2].attempted = 0;
	maple_report_success(out, &s, &style);
	fclose(out);
	assert_string_equal(
		buffer,
		"  class    tried  exposed  rate  missed  gave up  unmet"
		"  refused  failed  other\n"
		"  idiom 1     10        7  70 %       2        0      0"
		"        1       0      0\n"
		"  idiom 5      3        1  33 %       0        1      0"
		"        0       0      1\n"
		"  all         13        8  62 %       2        1      0"
		"        1       0      1\n"
		"9 exposures claimed, 1 refused by the observer (11.1 %)\n"
		"the scheduler was tried on nothing yet\n");
	out = open_buffer();
	assert_int_equal(maple_report_json_coverage(out, &program, &s, NULL, 0,
						    NULL, NULL, NULL),
			 0);
	fclose(out);
	object = json_loads(buffer, 0, NULL);
	assert_int_equal(
		json_unpack(object, "{s:{s:{s:i}, s:i, s:{s:{s:i}, s:{s:i}}}}",
			    "scheduler", "exposed", "1", &exposed, "refused",
			    &refused, "failures", "never reached", "1",
			    &unreached, "gave up", "5", &gave_up),
		0);
	assert_int_equal(exposed, 7);
	assert_int_equal(refused + unreached + gave_up, 4);
	json_decref(object);
}

static void coverage_is_a_table_with_a_total(void **state)
{
	struct maple_class_count counts[] = {
		{ "idiom 1", .predicted = 12, .exposed = 9, .failed = 3 },
		{ "idiom 2" },
		{ "the longest pattern", .predicted = 2 },
	};
	struct maple_coverage c = { 3, counts };
	struct maple_report_style style = { 0 };
	uint64_t curve[] = { 1, 4, 6 };
	FILE *out = open_buffer();

	maple_report_coverage(out, &c, &style);
	maple_report_curve(out, curve, 3, &style);
	fclose(out);
	assert_string_equal(
		buffer,
		"  class                predicted    exposed     failed\n"
		"  idiom 1                     12          9          3\n"
		"  the longest pattern          2          0          0\n"
		"  all                         14          9          3\n"
		"        6   #\n"
		"            #\n"
		"           ##\n"
		"           ##\n"
		"           ##\n"
		"          ###\n"
		"          exposed iRoots over 3 runs\n");
}

static const char *written(enum maple_report_format format,
			   const struct maple_report *report)
{
	FILE *out = open_buffer();

	assert_int_equal(maple_report_write(out, format, report,
					    &(struct maple_report_style){ 0 },
					    NULL),
			 0);
	fclose(out);
	return buffer;
}

/* A case each, behind what it is of, that nothing fails or passes by. */
static void a_violation_is_a_case_that_was_skipped(void **state)
{
	struct maple_finding known = finding;
	struct maple_finding *list[] = { &finding, &known };
	struct maple_violations violations = { .asked = true,
					       .n = 2,
					       .at = list };
	struct maple_campaign_result result = { .outcome = MAPLE_CLEAN,
						.violations = violations };
	struct maple_suite_case test = { .name = "test", .result = &result };
	struct maple_suite suite = { .framework = "gtest",
				     .n = 1,
				     .cases = &test };
	struct maple_report of[] = {
		{ .source = MAPLE_REPORT_CAMPAIGN, .result = &result },
		{ .source = MAPLE_REPORT_SUITE, .suite = &suite },
		{ .source = MAPLE_REPORT_FINDINGS, .violations = &violations },
	};

	finding.kind = known.kind = MAPLE_FAILURE_VIOLATION;
	finding.title = "a stale update: queue";
	finding.violation = known.violation = (struct maple_violation){
		.set = "queue", .pattern = 1, .runs = 3, .failed_runs = 1
	};
	known.suppressed = "violation:queue";
	for (int i = 0; i < 3; i++) {
		bool alone = of[i].source == MAPLE_REPORT_FINDINGS;
		const char *text = written(MAPLE_REPORT_JUNIT, &of[i]);

		assert_non_null(strstr(text, "failures=\"0\" errors=\"0\" "
					     "skipped=\"1\""));
		assert_non_null(strstr(
			text,
			"<skipped message=\"maple: violation of an "
			"atomic set: a stale update: queue (pattern 1), "
			"in 3 runs, of which 1 failed\">Violation 3fa9c1"));
		text = written(MAPLE_REPORT_TAP, &of[i]);
		assert_non_null(strstr(text, alone ? "\n1..1\n" : "\n1..2\n"));
		assert_null(strstr(text, "not ok"));
		assert_non_null(strstr(text,
				       "a stale update: queue (3fa9c1) # SKIP "
				       "maple: violation of an atomic set: "));
		text = written(MAPLE_REPORT_GITHUB, &of[i]);
		assert_non_null(strstr(text, "::notice title=maple%3A "
					     "violation of an atomic set%3A "));
		assert_null(strstr(text, "::error"));
		assert_null(strstr(text, "::warning"));
		assert_null(strstr(text, "::group"));
	}
}

static void dmesg_lines_have_a_stamp(void **state)
{
	FILE *out = open_buffer();

	maple_report_dmesg(out, 12.345678, "ready\033[2J");
	fclose(out);
	assert_string_equal(buffer, "[   12.345678] maple: ready?[2J\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(json_has_the_fields_of_the_schema),
		TEST(a_campaign_is_one_object_of_the_schema),
		TEST(without_a_finding_there_is_no_first_one),
		TEST(what_a_cap_cut_is_said),
		TEST(what_cannot_be_written_is_an_error),
		TEST(what_is_no_finding_is_refused),
		TEST(what_was_cut_short_is_not_saturated),
		TEST(the_replay_line_is_its_readers),
		TEST(saturation_is_said_only_when_nothing_is_left),
		TEST(success_is_a_table_of_rates_and_reasons),
		TEST(coverage_is_a_table_with_a_total),
		TEST(a_violation_is_a_case_that_was_skipped),
		TEST(dmesg_lines_have_a_stamp),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(buffer);
	return failed;
}
