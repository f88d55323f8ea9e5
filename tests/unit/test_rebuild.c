// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo over a rebuild, with real campaigns on some of the targets: after
 * a change elsewhere what was exposed is still known, at its new place; what
 * has an event in an edited function is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>
#include "campaign/internal.h"

/* Four lines in front. */
#define FRONT                                  \
	"/* new */\nstatic char room_[200];\n" \
	"int added_(int n)\n{ return room_[n]++; }\n"

static char dir[64], agent[4096], sources[8192];

/* The file of target @name, as text to be freed. */
static char *read_target(const char *name)
{
	char path[8300];
	char *text = calloc(1, 1 << 16);
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s.c", sources, name);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_true(fread(text, 1, (1 << 16) - 1, in) > 0);
	fclose(in);
	return text;
}

/* @edited: a statement is put into this function as well; or NULL */
static void build(const char *name, const char *front, const char *edited)
{
	char path[256], command[1024], start[64], *at, *brace;
	char *text = read_target(name);
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.c", dir, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(front, out);
	if (edited) {
		/* At the end of the line, so that no line moves. */
		snprintf(start, sizeof(start), "%s(", edited);
		at = text;
		do {
			at = strstr(at + 1, start);
			assert_non_null(at);
			brace = strchr(at, '\n');
		} while (brace[1] != '{' || brace[2] != '\n');
		fwrite(text, 1, brace + 2 - text, out);
		fputs(" volatile int edited_ = 1; (void)edited_;", out);
		fputs(brace + 2, out);
	} else {
		fputs(text, out);
	}
	fclose(out);
	free(text);
	snprintf(command, sizeof(command),
		 "cc -std=gnu11 -w -O0 -g -pthread"
		 " -o %s/%s %s",
		 dir, name, path);
	assert_int_equal(system(command), 0);
}

static struct maple_memo *open_memo(const char *name)
{
	struct maple_memo *memo;
	struct maple_error err = { "" };
	char path[256];

	snprintf(path, sizeof(path), "%s/%s.db", dir, name);
	if (maple_memo_open(path, 0, &memo, &err))
		fail_msg("%s", err.text);
	return memo;
}

static void campaign(const char *name)
{
	char path[256];
	char *argv[] = { path, NULL };
	struct maple_campaign_options options = {
		.argv = argv,
		.agent = agent,
		.seed = 1,
		.max_runs = 14,
		.max_time = 30,
		.keep_going = true,
		.no_confirm = true,
		.baseline_fails = true,
		.quiet_target = true,
	};
	struct maple_campaign_result *result;
	struct maple_memo *memo = open_memo(name);
	struct maple_error err = { "" };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (maple_campaign_run(&options, memo, &result, &err))
		fail_msg("%s", err.text);
	assert_int_not_equal(result->outcome, MAPLE_UNDELIVERED);
	maple_campaign_result_destroy(result);
	maple_memo_close(memo);
}

/*
 * What a campaign on the new build does once it knows the program, and
 * nothing else: what is known afterwards was known before.
 */
static int64_t carry(const char *name)
{
	char path[256];
	char *argv[] = { path, NULL };
	struct maple_campaign_options options = { .argv = argv };
	struct maple_error err = { "" };
	struct maple_campaign c = {
		.options = &options,
		.memo = open_memo(name),
		.registry = maple_registry_create(),
		.err = &err,
	};
	struct maple_memo_campaign begin = { .argv = argv, .apart = true };
	uint32_t index;
	char *input;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	begin.input = input = maple_memo_input(argv, NULL);
	if (maple_registry_add(c.registry, path, &index, &err) ||
	    maple_memo_campaign_begin(c.memo, &begin, &c.memo_campaign, &err) ||
	    maple_memo_program(c.memo, c.memo_campaign,
			       maple_image_build_id(
				       maple_registry_image(c.registry, index)),
			       path, &c.memo_program, &err) ||
	    maple_campaign_carry(&c))
		fail_msg("%s", err.text);
	free(input);
	assert_int_equal(maple_memo_check(c.memo, &err), 0);
	maple_registry_destroy(c.registry);
	maple_memo_close(c.memo);
	return c.memo_program;
}

/* The first number that @sql gives; ?1 is @program, ?2 is @text. */
static int64_t ask(const char *name, const char *sql, int64_t program,
		   const char *text)
{
	sqlite3_stmt *s;
	char path[256];
	sqlite3 *db;
	int64_t n;

	snprintf(path, sizeof(path), "%s/%s.db", dir, name);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_bind_int64(s, 1, program);
	sqlite3_bind_text(s, 2, text, -1, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* The exposed goals of the old build, without or with a site in ?2. */
#define EXPOSED(not )                                                                                             \
	" FROM memo m JOIN goals i ON i.id = m.goal WHERE m.program = 1"                                          \
	" AND (m.exposed OR m.observed) AND " not " EXISTS(SELECT 1 FROM"                                         \
						  " sites s WHERE s.id IN (SELECT value FROM json_each(i.sites))" \
						  " AND s.function = ?2)"

/* ... that are known in the new build, each site four lines further down. */
static const char still_known[] = "SELECT count(*)" EXPOSED(
	"NOT") " AND EXISTS(SELECT 1 FROM memo n JOIN goals j ON j.id = n.goal"
	       " WHERE n.program = ?1 AND (n.exposed OR n.observed)"
	       " AND n.attempts = m.attempts AND n.failed = m.failed"
	       " AND j.class = i.class AND j.kinds = i.kinds"
	       " AND NOT EXISTS(SELECT 1 FROM json_each(i.sites) o"
	       " LEFT JOIN json_each(j.sites) n ON n.key = o.key"
	       " WHERE o.value IS NOT n.value AND NOT"
	       " EXISTS(SELECT 1 FROM sites a JOIN sites b ON a.id = o.value"
	       " AND b.id = n.value WHERE a.function = b.function"
	       " AND a.is_call = b.is_call AND b.line = a.line + 4)))";

static const char now_with[] =
	"SELECT count(*) FROM memo m JOIN goals i ON i.id = m.goal"
	" WHERE m.program = ?1 AND EXISTS(SELECT 1 FROM sites s WHERE s.id IN"
	" (SELECT value FROM json_each(i.sites)) AND s.function = ?2)";

struct target {
	const char *name, *edited;
};

static const struct target targets[] = {
	{ "bank_account", "deposit" }, { "log_sweep", "main" },
	{ "circular_list", "take" },   { "string_buffer", "cut" },
	{ "queue_free", "main" },      { NULL, NULL },
};

static int make(void **state)
{
	static char self[4000];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return -1;
	/* BUILD/tests/unit/test_rebuild */
	for (int i = 0; i < 3; i++)
		*strrchr(self, '/') = 0;
	snprintf(agent, sizeof(agent), "%s/libmaple-agent.so", self);
	snprintf(sources, sizeof(sources), "%s", __FILE__);
	strcpy(strstr(sources, "unit/"), "targets");
	if (access(sources, R_OK)) /* not where it was compiled from */
		snprintf(sources, sizeof(sources), "%s/../tests/targets", self);
	strcpy(dir, "/tmp/maple-rebuild-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	for (const struct target *t = targets; t->name; t++) {
		build(t->name, "", NULL);
		campaign(t->name);
		assert_true(ask(t->name, "SELECT count(*)" EXPOSED("NOT"), 0,
				"") > 0);
	}
	return 0;
}

static int clean(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void copy_memo(const char *name, const char *as)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s/%s.db %s/%s", dir, name, dir,
		 as);
	assert_int_equal(system(command), 0);
}

static void restore_memo(const char *name, const char *as)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "cd %s && rm -f %s.db-* && cp %s"
		 " %s.db",
		 dir, name, as, name);
	assert_int_equal(system(command), 0);
}

static void after_an_unrelated_change_nine_of_ten_are_known(void **state)
{
	int64_t all = 0, known = 0;

	for (const struct target *t = targets; t->name; t++) {
		int64_t had, has, program;

		copy_memo(t->name, "kept");
		build(t->name, FRONT, NULL);
		program = carry(t->name);
		assert_true(program > 1);
		had = ask(t->name, "SELECT count(*)" EXPOSED("NOT"), 0, "");
		has = ask(t->name, still_known, program, "");
		printf("# %s: %d of %d\n", t->name, (int)has, (int)had);
		all += had;
		known += has;
		/* Once more changes nothing. */
		had = ask(t->name,
			  "SELECT total(failed + attempts + exposed)"
			  " + count(*) FROM memo",
			  0, "");
		assert_int_equal(carry(t->name), program);
		assert_int_equal(ask(t->name,
				     "SELECT total(failed + attempts +"
				     " exposed) + count(*) FROM memo",
				     0, ""),
				 had);
		restore_memo(t->name, "kept");
	}
	assert_true(all >= 20);
	assert_true(known * 10 >= all * 9);
}

static void what_an_edited_function_has_part_in_is_not_known(void **state)
{
	int64_t all = 0, known = 0;

	for (const struct target *t = targets; t->name; t++) {
		int64_t program;

		copy_memo(t->name, "kept");
		assert_true(ask(t->name, "SELECT count(*)" EXPOSED(""), 0,
				t->edited) > 0);
		build(t->name, FRONT, t->edited);
		program = carry(t->name);
		assert_int_equal(ask(t->name, now_with, program, t->edited), 0);
		all += ask(t->name, "SELECT count(*)" EXPOSED("NOT"), 0,
			   t->edited);
		known += ask(t->name, still_known, program, t->edited);
		restore_memo(t->name, "kept");
	}
	assert_true(all >= 5);
	assert_true(known * 10 >= all * 9);
}

/* Elsewhere, under the same name: known if most of it is the same. */
static void a_copy_elsewhere_is_known(void **state)
{
	const struct target *t = &targets[0];
	char command[512], kept[64];
	int64_t program;

	copy_memo(t->name, "kept");
	build(t->name, FRONT, NULL);
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p else && mv %s"
		 " else/ && cp %s.db else/",
		 dir, t->name, t->name);
	assert_int_equal(system(command), 0);
	strcpy(kept, dir);
	strcat(dir, "/else");
	program = carry(t->name);
	assert_true(ask(t->name, still_known, program, "") > 0);
	strcpy(dir, kept);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			after_an_unrelated_change_nine_of_ten_are_known),
		cmocka_unit_test(
			what_an_edited_function_has_part_in_is_not_known),
		cmocka_unit_test(a_copy_elsewhere_is_known),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
