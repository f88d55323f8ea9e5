// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo: findings, whose they are, and what is counted of campaigns.
 *
 * beside: guests
 */
#include <errno.h>
#include <unistd.h>
#include "memo_rig.h"

static void findings_are_found_by_a_unique_beginning(void **state)
{
	struct fixture *f = *state;
	struct maple_finding *found, **all;
	size_t n;

	store(f, "abc1", 10);
	store(f, "abc1", 15); /* the same sighting, confirmed */
	f->campaign = begin_campaign(f->memo, NULL);
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	store(f, "abc1", 20);
	store(f, "abd2", 30);
	store(f, "ab", 40);
	OK(maple_memo_finding_load(f->memo, "abc", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_string_equal(found->id, "abc1");
	assert_int_equal(found->times_seen, 2);
	assert_int_equal(found->found_at, 10);
	maple_finding_destroy(found);
	assert_int_equal(maple_memo_finding_load(
				 f->memo, "a", MAPLE_MEMO_ANYBODY, &found, NULL),
			 -ENOTUNIQ);
	assert_int_equal(maple_memo_finding_load(
				 f->memo, "x", MAPLE_MEMO_ANYBODY, &found, NULL),
			 -ENOENT);
	assert_int_equal(maple_memo_finding_load(
				 f->memo, "", MAPLE_MEMO_ANYBODY, &found, NULL),
			 -ENOENT);
	OK(maple_memo_finding_load(f->memo, "ab", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_string_equal(found->id, "ab"); /* exact wins */
	maple_finding_destroy(found);
	OK(maple_memo_findings(f->memo, f->program, &all, &n, &err));
	assert_int_equal(n, 3);
	assert_string_equal(all[1]->id, "abd2");
	maple_memo_findings_destroy(all, n);
	OK(maple_memo_forget_finding(f->memo, "abd2", geteuid(), &err));
	OK(maple_memo_findings(f->memo, 0, &all, &n, &err));
	assert_int_equal(n, 2);
	maple_memo_findings_destroy(all, n);
}

/* A campaign at that place, with one run, in the hour of @at. */
static int64_t campaign_at(struct fixture *f, const char *name,
			   const char *backend, unsigned int news, long at)
{
	static char *const argv[] = { (char *)"prog", NULL };
	const struct maple_memo_campaign c = { .argv = argv,
					       .backend = backend };
	struct maple_memo_run start = { "profile", 0, NULL, 7, 1, false };
	struct maple_memo_run_end end = { .verdict = "pass", .news = news };
	char sql[256];
	int64_t id, program, run;

	OK(maple_memo_campaign_begin(f->memo, &c, &id, &err));
	OK(maple_memo_program(f->memo, id, "aa", "/bin/p", &program, &err));
	OK(maple_memo_run_begin(f->memo, id, &start, &run, &err));
	OK(maple_memo_run_end(f->memo, run, &end, &err));
	snprintf(sql, sizeof(sql),
		 "UPDATE runs SET began = %ld, ended = %ld WHERE id = %lld", at,
		 at + 1, (long long)run);
	OK(maple_sql_exec(f->memo, sql, &err));
	snprintf(sql, sizeof(sql),
		 "UPDATE campaigns SET machine = '%s', cpu = 'C', kernel = 'K'"
		 " WHERE id = %lld",
		 name, (long long)id);
	OK(maple_sql_exec(f->memo, sql, &err));
	return id;
}

/* The same machine with another backend is another line. */
static void machines_are_counted_by_what_findings_depend_on(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_machine *m, *here = maple_memo_here();
	struct maple_finding *found;
	size_t n;

	OK(maple_memo_machines(f->memo, false, &m, &n, &err));
	assert_int_equal(n, 0); /* there is one only */
	OK(maple_memo_machines(f->memo, true, &m, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(m->name, here->name);
	assert_string_equal(m->kernel, here->kernel);
	assert_null(m->backend);
	assert_int_equal(m->campaigns, 1);
	assert_int_equal(m->runs, 0);
	maple_memo_machines_destroy(m, n);
	OK(maple_sql_exec(f->memo, "DELETE FROM campaigns", &err));
	f->campaign = campaign_at(f, "b", "agent", 3, 7200);
	store(f, "first", 10);
	f->campaign = campaign_at(f, "a", "agent", 2, 9000);
	store(f, "first", 20);
	store(f, "other", 30);
	campaign_at(f, "a", "agent", 0, 9100);
	campaign_at(f, "a", "module", 5, 11000);
	OK(maple_memo_machines(f->memo, false, &m, &n, &err));
	assert_int_equal(n, 3);
	assert_string_equal(m[0].name, "a");
	assert_string_equal(m[0].cpu, "C");
	assert_string_equal(m[0].backend, "agent");
	assert_int_equal(m[0].campaigns, 2);
	assert_int_equal(m[0].runs, 2);
	assert_int_equal(m[0].news, 2);
	assert_int_equal(m[0].findings, 1);
	assert_int_equal(m[0].last_heard, 9101);
	assert_string_equal(m[1].backend, "module");
	assert_int_equal(m[1].news, 5);
	assert_int_equal(m[1].findings, 0);
	assert_string_equal(m[2].name, "b");
	assert_int_equal(m[2].findings, 1);
	maple_memo_machines_destroy(m, n);
	/* Where it was made first stays, whoever sees it again. */
	OK(maple_memo_finding_load(f->memo, "first", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_string_equal(found->machine, "b");
	assert_string_equal(found->cpu, "C");
	assert_string_equal(found->kernel, "K");
	assert_string_equal(found->first_backend, "agent");
	maple_finding_destroy(found);
	maple_memo_machines_destroy(here, 1);
}

static void hours_have_what_began_in_them(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_hour *hours;
	size_t n;

	OK(maple_memo_hours(f->memo, &hours, &n, &err));
	assert_int_equal(n, 0);
	f->campaign = campaign_at(f, "b", "agent", 3, 7200);
	store(f, "one", 10799);
	campaign_at(f, "b", "agent", 4, 10799);
	campaign_at(f, "a", "agent", 1, 10800);
	store(f, "two", 36000);
	OK(maple_memo_hours(f->memo, &hours, &n, &err));
	assert_int_equal(n, 3);
	assert_int_equal(hours[0].since, 7200);
	assert_int_equal(hours[0].runs, 2);
	assert_int_equal(hours[0].news, 7);
	assert_int_equal(hours[0].findings, 1);
	assert_int_equal(hours[1].since, 10800);
	assert_int_equal(hours[1].runs, 1);
	assert_int_equal(hours[1].news, 1);
	assert_int_equal(hours[1].findings, 0);
	assert_int_equal(hours[2].since, 36000);
	assert_int_equal(hours[2].runs, 0);
	assert_int_equal(hours[2].findings, 1);
	free(hours);
}

/* It is kept with findings, and counts as none. */
static void a_violation_is_kept_below_findings(void **state)
{
	struct fixture *f = *state;
	struct maple_moment moments[3] = { { .kind = 'R' },
					   { .kind = 'W', .role = 1 },
					   { .kind = 'W' } };
	struct maple_finding violation = {
		.id = (char *)"abv1",
		.title = (char *)"a stale update: x",
		.class = (char *)"set 1",
		.kind = MAPLE_FAILURE_VIOLATION,
		.nmoments = 3,
		.moments = moments,
		.violation = { .set = (char *)"x",
			       .pattern = 1,
			       .runs = 3,
			       .failed_runs = 1,
			       .forced_runs = 2 },
	};
	struct maple_memo_program_info *programs;
	struct maple_memo_hour *hours;
	struct maple_finding *found, **all;
	size_t n;

	OK(maple_memo_finding_store(f->memo, f->campaign, &violation, &err));
	store(f, "abc1", 10);
	OK(maple_memo_findings(f->memo, f->program, &all, &n, &err));
	assert_int_equal(n, 2);
	assert_int_equal(maple_violations_part(all, n), 1);
	assert_string_equal(all[0]->id, "abc1");
	assert_string_equal(all[1]->id, "abv1");
	maple_memo_findings_destroy(all, n);
	OK(maple_memo_known(f->memo, f->program, &all, &n, &err));
	assert_int_equal(n, 1);
	assert_string_equal(all[0]->id, "abc1");
	maple_memo_findings_destroy(all, n);
	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(programs[0].findings, 1);
	maple_memo_programs_destroy(programs, n);
	OK(maple_memo_hours(f->memo, &hours, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(hours[0].findings, 1);
	free(hours);
	OK(maple_memo_finding_load(f->memo, "abv", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_int_equal(found->kind, MAPLE_FAILURE_VIOLATION);
	assert_int_equal(found->violation.runs, 3);
	assert_int_equal(found->violation.failed_runs, 1);
	assert_int_equal(found->violation.forced_runs, 2);
	assert_int_equal(found->moments[1].role, 1);
	assert_null(found->replay); /* there is no order to replay */
	maple_finding_destroy(found);
}

static int64_t campaign_of(struct fixture *f, uid_t owner)
{
	static char *const argv[] = { (char *)"prog", NULL };
	const struct maple_memo_campaign c = { .argv = argv,
					       .owner = owner + 1ull };
	int64_t id, program;

	OK(maple_memo_campaign_begin(f->memo, &c, &id, &err));
	OK(maple_memo_program(f->memo, id, "aa", "/bin/p", &program, &err));
	return id;
}

static void store_as(struct fixture *f, int64_t campaign, const char *cwd)
{
	const struct maple_finding finding = { .id = (char *)"abc1",
					       .title = (char *)"T",
					       .kind = MAPLE_FAILURE_EXIT,
					       .cwd = (char *)cwd };

	OK(maple_memo_finding_store(f->memo, campaign, &finding, &err));
}

static void nobody_changes_or_forgets_anothers_finding(void **state)
{
	struct fixture *f = *state;
	int64_t a = campaign_of(f, 1001), b = campaign_of(f, 1002);
	struct maple_error err = { "" };
	struct maple_finding *found;

	store_as(f, a, "/a");
	store_as(f, b, "/b");
	store_as(f, b, "/b");
	OK(maple_memo_finding_load(f->memo, "ab", 1001, &found, &err));
	assert_int_equal(found->owner, 1001);
	assert_string_equal(found->cwd, "/a");
	assert_int_equal(found->times_seen, 1);
	maple_finding_destroy(found);
	OK(maple_memo_finding_load(f->memo, "abc1", 1002, &found, &err));
	assert_int_equal(found->owner, 1002);
	assert_string_equal(found->cwd, "/b");
	maple_finding_destroy(found);
	assert_int_equal(maple_memo_finding_load(f->memo, "abc1",
						 MAPLE_MEMO_ANYBODY, &found,
						 &err),
			 -ENOTUNIQ);
	assert_non_null(strstr(err.text, "say whose"));

	OK(maple_memo_forget_finding(f->memo, "abc1", 1003, &err));
	OK(maple_memo_forget_finding(f->memo, "abc1", 1002, &err));
	assert_int_equal(
		maple_memo_finding_load(f->memo, "abc1", 1002, &found, NULL),
		-ENOENT);
	OK(maple_memo_finding_load(f->memo, "abc1", 1001, &found, &err));
	maple_finding_destroy(found);
}

static void end_with(struct fixture *f, const char *parts)
{
	int64_t campaign = begin_campaign(f->memo, NULL), program;

	OK(maple_memo_program(f->memo, campaign, "aa", "/bin/p", &program,
			      &err));
	OK(maple_memo_campaign_end(f->memo, campaign, "clean", NULL, parts,
				   &err));
}

static void parts_say(struct fixture *f, const char *want)
{
	struct maple_memo_program_info *programs;
	size_t n;

	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(n, 1);
	if (want)
		assert_string_equal(programs->parts, want);
	else
		assert_null(programs->parts);
	maple_memo_programs_destroy(programs, n);
}

static void what_parts_did_is_summed(void **state)
{
	static const char summed[] =
		"[{\"name\":\"maple\",\"runs\":7,\"news\":2,\"findings\":1,"
		"\"seconds\":1.5},{\"name\":\"pcr\",\"runs\":1,\"news\":0,"
		"\"findings\":0,\"seconds\":0.25}]";
	struct fixture *f = *state;

	end_with(f, NULL);
	parts_say(f, NULL);
	end_with(f, "[{\"name\":\"maple\",\"runs\":3,\"news\":2,"
		    "\"findings\":1,\"seconds\":0.5},{\"name\":\"pcr\","
		    "\"runs\":1,\"news\":0,\"findings\":0,\"seconds\":0.25}]");
	end_with(f, "[{\"name\":\"maple\",\"runs\":4,\"news\":0,"
		    "\"findings\":0,\"seconds\":1}]");
	parts_say(f, summed);
	/* What is no such list says nothing, and is in nobody's way. */
	end_with(f, "[{");
	end_with(f, "7");
	end_with(f, "[8, \"pcr\", [{\"runs\": 5}]]");
	parts_say(f, summed);
	end_with(f, "[{\"name\":\"pcr\",\"runs\":\"many\"},"
		    "{\"name\":\"pcr\",\"runs\":9223372036854775807},"
		    "{\"name\":\"pcr\",\"runs\":9223372036854775807}]");
	parts_say(f, "[{\"name\":\"maple\",\"runs\":7,\"news\":2,\"findings\":1,"
		     "\"seconds\":1.5},{\"name\":\"pcr\","
		     "\"runs\":2000000000001,\"news\":0,\"findings\":0,"
		     "\"seconds\":0.25}]");
	/* Neither can somebody take away what others have done. */
	end_with(f, "[{\"name\":\"maple\",\"runs\":-5,\"news\":-1e999,"
		    "\"findings\":1e999,\"seconds\":\"-inf\"}]");
	parts_say(f, "[{\"name\":\"maple\",\"runs\":7,\"news\":2,"
		     "\"findings\":1000000000001,\"seconds\":1.5},"
		     "{\"name\":\"pcr\",\"runs\":2000000000001,\"news\":0,"
		     "\"findings\":0,\"seconds\":0.25}]");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(findings_are_found_by_a_unique_beginning),
		TEST(a_violation_is_kept_below_findings),
		TEST(machines_are_counted_by_what_findings_depend_on),
		TEST(hours_have_what_began_in_them),
		TEST(nobody_changes_or_forgets_anothers_finding),
		TEST(what_parts_did_is_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
