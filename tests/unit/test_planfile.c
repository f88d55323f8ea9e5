// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Orders of runs as text: written, read back, and damaged.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/internal.h"

static struct maple_campaign_options options = { .exe = "x" };
static struct maple_error err;
static struct maple_campaign c = {
	.options = &options,
	.err = &err,
	.expected = 3,
	.timeout = 2.5,
};
static struct maple_trial trial;
static struct maple_planfile file;

static int read_text(const char *text)
{
	memset(&trial, 0, sizeof(trial));
	return maple_planfile_read(&c, text, &trial, &file);
}

static void test_there_and_back(void **state)
{
	for (int schedule = MAPLE_SCHEDULE_NATIVE;
	     schedule < MAPLE_SCHEDULE_PLAN; schedule++) {
		struct maple_trial from = {
			.job.kind = MAPLE_RUN_PROFILE,
			.job.schedule = schedule,
			.job.seed = 77,
			.rounds = 4,
		};
		char *text = maple_planfile_write(&c, &from, false);

		assert_non_null(text);
		assert_int_equal(read_text(text), 0);
		assert_int_equal(trial.job.kind, MAPLE_RUN_PROFILE);
		assert_int_equal(trial.job.schedule, schedule);
		assert_int_equal(trial.job.seed, 77);
		assert_int_equal(trial.rounds, 4);
		assert_int_equal(file.expected, 3);
		assert_true(file.timeout == 2.5);
		assert_int_equal(file.refound, 0);
		free(text);
	}
}

/* An order of this schedule and timeout, as somebody may have written it. */
static int read_with(const char *schedule, const char *timeout)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"kind\":\"profile\",\"schedule\":%s,\"seed\":1,"
		 "\"expected\":0,\"timeout\":%s,\"changes\":[],\"sites\":[],"
		 "\"plan\":null}",
		 schedule, timeout);
	return read_text(text);
}

static void test_damaged(void **state)
{
	static const char *const schedules[] = {
		"-1",	      "7",     "8",   "2147483647", "-2147483648",
		"4294967297", "\"1\"", "1.0", "null",
	};
	static const char *const timeouts[] = { "0.0", "-1.0", "1e999",
						"\"2\"" };

	assert_int_equal(MAPLE_SCHEDULE_PLAN, 7); /* as these numbers have it */
	assert_int_equal(read_with("6", "1.0"), 0);
	assert_int_equal(trial.job.schedule, MAPLE_SCHEDULE_RANDDELAY);
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
		assert_int_equal(read_with(schedules[i], "1.0"), -EBADMSG);
		assert_string_equal(err.text, "the stored plan is damaged");
	}
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++)
		assert_int_equal(read_with("0", timeouts[i]), -EBADMSG);
	assert_int_equal(read_text(""), -EBADMSG);
	assert_int_equal(read_text("[]"), -EBADMSG);
}

/* ---- lists ---- */

static const char source[] =
	"int a, b;\n"
	"#if BUILD > 1\nint more(int n) { return n * b; }\n#endif\n"
	"int stays(void) { a = b + 2; return a; }\n"
	"int changes(void) { b = a + 3; return b + BUILD - 1; }\n"
	"int main(void) { return stays() + changes(); }\n";

static char dir[64];

/* Another build of it, and nothing known of any. */
static void build(int number)
{
	char path[128], command[512];
	uint32_t image;
	FILE *out;

	snprintf(path, sizeof(path), "%s/prog.c", dir);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(source, out);
	fclose(out);
	snprintf(command, sizeof(command),
		 "cc -DBUILD=%d -g -O0 -Wl,--build-id -o %s/prog %s", number,
		 dir, path);
	assert_int_equal(system(command), 0);
	maple_campaign_unknow(&c);
	maple_registry_destroy(c.registry);
	c.registry = maple_registry_create();
	snprintf(path, sizeof(path), "%s/prog", dir);
	assert_int_equal(maple_registry_add(c.registry, path, &image, &err), 0);
}

/* The first site in @function. */
static uint32_t site_in(const char *function)
{
	struct maple_site_info info;
	struct maple_place place;
	bool is;

	for (uint32_t i = 0; !maple_registry_site(c.registry, i, &info); i++) {
		if (maple_registry_place(c.registry, i, &place))
			continue;
		is = place.function && !strcmp(place.function, function);
		maple_place_deinit(&place);
		if (is)
			return i;
	}
	fail_msg("no site in %s", function);
	return 0;
}

/* @n entries at @site, and one that is nowhere. */
static struct maple_switches list_of(uint32_t site, uint32_t n)
{
	static struct maple_policy_switch entry[1000];
	static struct maple_policy_name name[] = { { "0" }, { "0.1" } };

	for (uint32_t i = 0; i < n; i++)
		entry[i] = (struct maple_policy_switch){
			.thread = i % 2,
			.next = (i + 1) % 2,
			.what = MAPLE_POLICY_AT,
			.site = site,
			.hit = UINT32_MAX - i,
			.next_site = MAPLE_SITE_NONE,
		};
	entry[n] = (struct maple_policy_switch){
		.what = MAPLE_POLICY_BLOCKED,
		.site = MAPLE_SITE_NONE,
		.next_site = MAPLE_SITE_NONE,
	};
	return (struct maple_switches){ n + 1, 2, entry, name };
}

static void free_lists(struct maple_switches *lists, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maple_switches_deinit(&lists[i]);
	free(lists);
}

/* Of @from one comes back, which is the same. */
static void comes_back(const char *text, const struct maple_switches *from)
{
	struct maple_switches *back;
	size_t left_out;

	assert_int_equal(maple_planfile_read_lists(&c, text, &back, &left_out),
			 1);
	assert_int_equal(left_out, 0);
	assert_int_equal(back->n, from->n);
	assert_memory_equal(back->entry, from->entry,
			    from->n * sizeof(*from->entry));
	assert_int_equal(back->nnames, from->nnames);
	assert_string_equal(back->name[1].text, "0.1");
	free_lists(back, 1);
}

static int open_dir(void **state)
{
	strcpy(dir, "/tmp/maple-lists-XXXXXX");
	assert_non_null(mkdtemp(dir));
	build(1);
	return 0;
}

static int close_dir(void **state)
{
	char command[128];

	maple_campaign_unknow(&c);
	maple_registry_destroy(c.registry);
	c.registry = NULL;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static void test_lists_there_and_back(void **state)
{
	struct maple_switches list = list_of(site_in("stays"), 3), two[2];
	char *text = maple_planfile_write_lists(&c, &list, 1, 4096);
	size_t size;

	assert_non_null(text);
	comes_back(text, &list);
	size = strlen(text);
	free(text);

	/* It has as much room as it takes, or none. */
	text = maple_planfile_write_lists(&c, &list, 1, size + 1);
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	free(text);
	assert_null(maple_planfile_write_lists(&c, &list, 1, size));
	assert_null(maple_planfile_write_lists(&c, &list, 0, 4096));

	/* What has no name in another campaign is nothing to keep. */
	two[0] = list_of(1u << 30, 1);
	assert_null(maple_planfile_write_lists(&c, two, 1, 4096));

	list = list_of(site_in("stays"), 3);
	/* What does not fit is left out, and not what comes behind it. */
	assert_int_equal(maple_switches_copy(&two[1], &list), 0);
	two[0] = list_of(site_in("stays"), 900);
	text = maple_planfile_write_lists(&c, two, 2, 4096);
	assert_non_null(text);
	comes_back(text, &two[1]);
	free(text);
	maple_switches_deinit(&two[1]);
}

static void test_lists_outlive_a_rebuild(void **state)
{
	struct maple_switches list[2], *back;
	uint32_t was = site_in("stays");
	size_t left_out;
	char *text;

	list[1] = list_of(site_in("changes"), 2);
	/* Half of it stays. */
	assert_int_equal(maple_switches_copy(&list[0], &list[1]), 0);
	list[0].entry[0].site = was;
	list[1] = list_of(was, 2);
	text = maple_planfile_write_lists(&c, list, 2, 1 << 16);
	assert_non_null(text);
	maple_switches_deinit(&list[0]);

	build(2);
	assert_int_not_equal(site_in("stays"), was);
	assert_int_equal(maple_planfile_read_lists(&c, text, &back, &left_out),
			 1);
	assert_int_equal(left_out, 1);
	assert_string_equal(err.text, "");
	assert_int_equal(back->n, 3);
	assert_int_equal(back->entry[0].site, site_in("stays"));
	assert_int_equal(back->entry[1].site, site_in("stays"));
	assert_int_equal(back->entry[2].site, MAPLE_SITE_NONE);
	free_lists(back, 1);
	free(text);
}

/* Who is to have called is told in one build; in another it is whoever. */
static void test_callers(void **state)
{
	uint32_t site = site_in("stays");
	const struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1,
					   .e = { { site, MAPLE_EV_WRITE },
						  { site, MAPLE_EV_READ } } };
	struct maple_trial from = { .job.kind = MAPLE_RUN_ENFORCE, .rounds = 1 };
	char *text;

	assert_int_equal(maple_plan_init(&from.job.plan, &iroot, 1, 0, 1), 0);
	from.job.plan.step[1].context = 4000000000u;
	text = maple_planfile_write(&c, &from, true);
	assert_non_null(text);
	c.study.callers = true;
	assert_int_equal(read_text(text), 0);
	assert_int_equal(trial.job.plan.step[0].context, MAPLE_CONTEXT_ANY);
	assert_int_equal(trial.job.plan.step[1].context, 4000000000u);
	/* A half that cannot tell does not pretend to. */
	c.study.callers = false;
	assert_int_equal(read_text(text), -ENOTSUP);
	assert_non_null(strstr(err.text, "--backend agent"));

	build(2);
	assert_int_equal(read_text(text), 0);
	assert_true(file.refound > 0);
	assert_int_equal(trial.job.plan.step[1].site, site_in("stays"));
	assert_int_equal(trial.job.plan.step[1].context, MAPLE_CONTEXT_ANY);
	free(text);
}

static void reads(const char *text, size_t n, size_t left_out)
{
	struct maple_switches *back;
	size_t out;

	assert_int_equal(maple_planfile_read_lists(&c, text, &back, &out), n);
	assert_int_equal(out, left_out);
	free_lists(back, n);
}

static void test_lists_damaged(void **state)
{
	char many[200 * 48] = "";

	reads("", 0, 0);
	reads("nothing", 0, 0);
	reads("{}", 0, 0);
	reads("[1,null,\"x\",{},[]]", 0, 5);
#define LIST(threads, switches) \
	"[{\"sites\":[],\"threads\":[" threads "],\"switches\":[" switches "]}]"
	reads(LIST("", ""), 1, 0);
	reads(LIST("\"0\"", "[0,0,0,null,1]"), 1, 0);
	reads(LIST("\"0\"", "{\"thread\":0}"), 0, 1);
	reads(LIST("", "[0,0,0,null,1]"), 0, 1);
	reads(LIST("\"0\"", "[1,0,0,null,1]"), 0, 1);
	reads(LIST("\"0\"", "[0,-1,0,null,1]"), 0, 1);
	reads(LIST("\"0\"", "[0,0,99,null,1]"), 0, 1);
	reads(LIST("\"0\"", "[0,0,0,null,-1]"), 0, 1);
	reads(LIST("\"0\"", "[0,0,0,null,4294967296]"), 0, 1);
	reads(LIST("\"0\"", "[0,0,0,0,1]"), 0, 1);
	reads(LIST("\"0\"", "[0,0,0,null]"), 0, 1);
	reads(LIST("7", ""), 0, 1);
	reads(LIST("\"a name that is longer than a name may be\"", ""), 0, 1);
	/* No more than are ever kept. */
	for (int i = 0; i < 100; i++)
		strcat(many,
		       i ? ",{\"sites\":[],\"threads\":[],\"switches\":[]}"
			 : "[{\"sites\":[],\"threads\":[],\"switches\":[]}");
	strcat(many, "]");
	reads(many, MAPLE_MEMO_CORPUS_LISTS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test_setup_teardown(test_lists_there_and_back,
						open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_lists_outlive_a_rebuild,
						open_dir, close_dir),
		cmocka_unit_test_setup_teardown(test_callers, open_dir,
						close_dir),
		cmocka_unit_test(test_lists_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
