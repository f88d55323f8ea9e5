// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Spools: what is written while a memo's server is lost, in the midst of a
 * transaction, at its end, or because its disk is full; and that all of it is
 * there once it was delivered, once, however often that is tried. And a server
 * that comes back while the campaign goes on: it is the memo again, and what
 * the campaign knows by number is what it was.
 *
 * The server goes and comes back 4 times, with MAPLE_FULL=1 20. It forces no
 * orders, and waits for the server until that has done it.
 * beside: guests
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "memo/spool/numbers.h"
#include "memo/sql.h"
#include "memo_rig.h"

static char server[] = "/tmp/test_spool.XXXXXX";

static void shell(const char *fmt, const char *more)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, server, more);
	if (system(command))
		fail_msg("%s", command);
}

static void kill_server(void)
{
	shell("tests/postgres kill %s", "");
}

static bool gone; /* the server, and it is not waited for */

static void start(void)
{
	gone = false;
	shell("tests/postgres start %s >/dev/null", "");
}

static int start_server(void **state)
{
	if (!mkdtemp(server) || own_server())
		return -1;
	start();
	return setenv("MAPLE_TEST_POSTGRES", server, 1);
}

static int stop_server(void **state)
{
	shell("tests/postgres stop %s && rm -rf %1$s", "");
	return 0;
}

/* ---- a campaign's life ---- */

static char noticed[1024];

static void on_notice(void *ctx, const char *text)
{
	snprintf(noticed, sizeof(noticed), "%s", text);
}

static const char *folder(struct fixture *f)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/spool", f->dir);
	return path;
}

static int begin(void **state)
{
	int ret = setup(state);
	struct fixture *f = *state;

	*noticed = '\0';
	/* As a campaign does: the memo is told everything from its beginning. */
	maple_memo_close(f->memo);
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	OK(maple_memo_spool(f->memo, folder(f), on_notice, NULL, &err));
	f->campaign = begin_campaign(f->memo, NULL);
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	return ret;
}

#define SPOOLED(test) cmocka_unit_test_setup_teardown(test, begin, teardown)

static struct maple_memo_lesson lesson_of(uint64_t site, unsigned int marks)
{
	return (struct maple_memo_lesson){
		.key = { .class = "idiom 1",
			 .n = 2,
			 .use = { { "aa", "/bin/p", site, false, 'R' },
				  { "bb", "/lib/l", site, true, 'W' } } },
		.marks = marks,
	};
}

#define ATTEMPT (1u << MAPLE_MEMO_ATTEMPT)
#define FAILED	(1u << MAPLE_MEMO_FAILED)
#define EXPOSED (1u << MAPLE_MEMO_EXPOSED)

static struct maple_memo_state learn(struct fixture *f, uint64_t site,
				     unsigned int marks)
{
	struct maple_memo_lesson lesson = lesson_of(site, marks);

	OK(maple_memo_learn(f->memo, f->program, &lesson, 1, &err));
	return lesson.state;
}

/* As memo_begin() of lib/campaign has it. */
static int64_t begin_run(struct fixture *f, uint64_t site)
{
	struct maple_memo_lesson lesson = lesson_of(site, 0);
	struct maple_memo_run start = { "enforced", 0, "{}", 7, 0, false };
	int64_t run;

	OK(maple_memo_learn(f->memo, f->program, &lesson, 1, &err));
	start.goal = lesson.goal;
	start.attempt = lesson.state.attempts + 1;
	OK(maple_memo_begin(f->memo, &err));
	OK(maple_memo_mark(f->memo, f->program, start.goal, MAPLE_MEMO_ATTEMPT,
			   &err));
	OK(maple_memo_run_begin(f->memo, f->campaign, &start, &run, &err));
	OK(maple_memo_commit(f->memo, &err));
	return run;
}

static void end_run(struct fixture *f, int64_t run, uint64_t site,
		    unsigned int marks)
{
	struct maple_memo_run_end end = { .verdict = "pass", .status = 3 };
	struct maple_coverage coverage = { 0 };

	maple_coverage_class(&coverage, "idiom 1")->predicted = 5;
	OK(maple_memo_begin(f->memo, &err));
	learn(f, site, marks);
	OK(maple_memo_run_end(f->memo, run, &end, &err));
	OK(maple_memo_sample(f->memo, run, &coverage, &err));
	OK(maple_memo_commit(f->memo, &err));
	maple_coverage_deinit(&coverage);
}

static void do_run(struct fixture *f, uint64_t site, unsigned int marks)
{
	end_run(f, begin_run(f, site), site, marks);
}

static int enough(void *ctx)
{
	return gone;
}

/* The server goes, and is not waited for. */
static void lose(struct fixture *f)
{
	kill_server();
	gone = true;
	maple_memo_watch(f->memo, enough, NULL);
}

static void reopen(struct fixture *f)
{
	maple_memo_close(f->memo);
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
}

static struct maple_memo_delivery deliver(struct fixture *f)
{
	struct maple_memo_delivery d;

	OK(maple_memo_deliver(f->memo, folder(f), &d, &err));
	return d;
}

static void delivers_one(struct fixture *f, uint64_t runs)
{
	struct maple_memo_delivery d = deliver(f);

	assert_int_equal(d.delivered, 1);
	assert_int_equal(d.before + d.busy + d.others, 0);
	assert_int_equal(d.runs, runs);
	d = deliver(f);
	assert_int_equal(d.delivered + d.before + d.busy + d.others, 0);
}

/* ---- lost between two transactions ---- */

static void store_finding(struct fixture *f)
{
	struct maple_finding finding = { .id = "0123456789abcdef",
					 .found_at = 1000 };

	OK(maple_memo_finding_store(f->memo, f->campaign, &finding, &err));
}

static void keep(struct fixture *f, const char *from)
{
	char command[256];

	snprintf(command, sizeof(command), from, folder(f), f->dir);
	assert_int_equal(system(command), 0);
}

static void all_is_there(struct fixture *f)
{
	struct maple_memo_state known = learn(f, 1, 0), new = learn(f, 2, 0);

	assert_int_equal(known.attempts, 4);
	assert_int_equal(known.failed, 3);
	assert_true(known.exposed);
	assert_int_equal(new.attempts, 2);
	assert_int_equal(new.failed, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 6);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"
				  " WHERE status = 3 AND ended IS NOT NULL"
				  " AND goal IS NOT NULL AND plan = '{}'"),
			 6);
	assert_int_equal(count(f, "SELECT count(*) FROM samples"), 6);
	assert_int_equal(count(f, "SELECT count(*) FROM campaigns"), 2);
	assert_int_equal(count(f, "SELECT count(*) FROM campaigns WHERE outcome"
				  " = 'clean' AND ended IS NOT NULL"),
			 1);
	assert_int_equal(count(f, "SELECT count(*) FROM findings f JOIN"
				  " campaigns c ON c.id = f.campaign"
				  " WHERE c.outcome = 'clean'"
				  " AND times_seen = 1"),
			 1);
	assert_int_equal(count(f, "SELECT count(*) FROM corpus"
				  " WHERE text = '[{}]'"),
			 1);
}

static void what_is_written_without_the_server_is_delivered_once(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_delivery d;
	int64_t run;

	do_run(f, 1, FAILED);
	do_run(f, 1, EXPOSED);
	run = begin_run(f, 1);
	lose(f);
	end_run(f, run, 1, FAILED);
	assert_non_null(strstr(noticed, "goes on without the server"));
	assert_non_null(maple_memo_spooled(f->memo));
	assert_non_null(strstr(noticed, maple_memo_spooled(f->memo)));
	/* What was known is known. */
	assert_int_equal(learn(f, 1, 0).attempts, 3);
	assert_true(learn(f, 1, 0).exposed);
	assert_false(maple_memo_shares(f->memo));
	do_run(f, 2, FAILED);
	do_run(f, 2, FAILED);
	do_run(f, 1, FAILED);
	store_finding(f);
	OK(maple_memo_corpus_keep(f->memo, f->campaign, "grey", "[{}]", &err));
	OK(maple_memo_campaign_end(f->memo, f->campaign, "clean", NULL, NULL,
				   &err));
	maple_memo_close(f->memo);
	start();
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	keep(f, "cp -r %s %s/kept");
	delivers_one(f, 4);
	all_is_there(f);
	/* Of a copy it is said, and nothing is done. */
	keep(f, "rmdir %s && mv %s/kept %1$s");
	d = deliver(f);
	assert_int_equal(d.before, 1);
	assert_int_equal(d.delivered, 0);
	all_is_there(f);
}

/* ---- lost in the midst of one ---- */

static void what_was_not_committed_is_delivered(void **state)
{
	struct maple_memo_run start_of = { "enforced", 0, NULL, 7, 1, false };
	struct fixture *f = *state;
	int64_t run;

	learn(f, 1, ATTEMPT);
	OK(maple_memo_begin(f->memo, &err));
	learn(f, 1, ATTEMPT);
	OK(maple_memo_run_begin(f->memo, f->campaign, &start_of, &run, &err));
	lose(f);
	learn(f, 1, FAILED);
	OK(maple_memo_commit(f->memo, &err));
	assert_non_null(maple_memo_spooled(f->memo));
	end_run(f, run, 1, FAILED);
	start();
	reopen(f);
	/* Somebody else may have its number by now. */
	OK(maple_memo_run_begin(f->memo, f->campaign - 1, &start_of, &run,
				&err));
	delivers_one(f, 1);
	assert_int_equal(learn(f, 1, 0).attempts, 2);
	assert_int_equal(learn(f, 1, 0).failed, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"
				  " WHERE ended IS NOT NULL"),
			 1);
}

/* A COMMIT waits for a standby that never comes; then the server is killed. */
static pid_t killer(void)
{
	static const char waits[] =
		"for i in $(seq 600); do [ $(tests/postgres sql %s \"SELECT"
		" count(*) FROM pg_stat_activity WHERE query LIKE '%%COMMIT%%'"
		" AND wait_event = 'SyncRep'\" postgres) = 0 ] || exit 0;"
		" sleep 0.1; done; exit 1";
	pid_t pid = fork();

	if (pid)
		return pid;
	shell(waits, "");
	kill_server();
	_exit(0);
}

static void what_was_committed_without_an_answer_is_not_added(void **state)
{
	struct maple_memo_run start_of = { "enforced", 0, NULL, 7, 1, false };
	struct fixture *f = *state;
	int64_t run;
	int status;
	pid_t pid;

	learn(f, 1, ATTEMPT);
	OK(maple_memo_begin(f->memo, &err));
	learn(f, 1, ATTEMPT);
	OK(maple_memo_run_begin(f->memo, f->campaign, &start_of, &run, &err));
	shell("tests/postgres sql %s \"ALTER SYSTEM SET"
	      " synchronous_standby_names = 'none'\" postgres",
	      "");
	shell("tests/postgres sql %s 'SELECT pg_reload_conf()' postgres", "");
	sleep(1); /* until all of the server knows */
	pid = killer();
	maple_memo_watch(f->memo, NULL, NULL);
	OK(maple_memo_commit(f->memo, &err));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_non_null(maple_memo_spooled(f->memo));
	end_run(f, run, 1, FAILED);
	shell("sed -i /synchronous_standby/d %s/data/postgresql.auto.conf", "");
	start();
	reopen(f);
	delivers_one(f, 1);
	assert_int_equal(learn(f, 1, 0).attempts, 2);
	assert_int_equal(learn(f, 1, 0).failed, 1);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"
				  " WHERE ended IS NOT NULL"),
			 1);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 1);
}

/* ---- a full disk ---- */

/* What the server says then; that it says so of a full disk is its own affair. */
static void a_full_disk_is_said_and_goes_on_locally(void **state)
{
	static const char full[] =
		"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql"
		" AS $f$ BEGIN RAISE EXCEPTION 'could not extend file: No space"
		" left on device' USING ERRCODE = '53100'; END $f$;"
		"CREATE TRIGGER full_disk BEFORE INSERT ON runs FOR EACH ROW"
		" EXECUTE FUNCTION full_disk()";
	struct fixture *f = *state;
	struct maple_memo *other;

	do_run(f, 1, FAILED);
	OK(maple_memo_open(f->path, 0, &other, &err));
	OK(maple_sql_exec(other, full, &err));
	do_run(f, 1, FAILED);
	assert_non_null(strstr(noticed, "disk or memory is full"));
	assert_non_null(strstr(noticed, "No space left"));
	assert_non_null(maple_memo_spooled(f->memo));
	/* It keeps nobody from writing there. */
	OK(maple_sql_exec(other, "DROP TRIGGER full_disk ON runs", &err));
	maple_memo_close(other);
	reopen(f);
	delivers_one(f, 1);
	assert_int_equal(learn(f, 1, 0).attempts, 2);
	assert_int_equal(learn(f, 1, 0).failed, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 2);
}

/* ---- a server that comes back ---- */

/* The server has been started. */
static void comes_back(struct fixture *f)
{
	/* As a campaign does, it says something now and then. */
	for (int i = 0; i < 1200 && maple_memo_spooled(f->memo); i++) {
		struct timespec pause = { .tv_nsec = 50000000 };

		nanosleep(&pause, NULL);
		OK(maple_memo_begin(f->memo, &err));
		OK(maple_memo_commit(f->memo, &err));
	}
	assert_null(maple_memo_spooled(f->memo));
	assert_non_null(strstr(noticed, "the server is there again"));
	assert_true(maple_memo_shares(f->memo));
}

/* What others have made meanwhile takes the numbers that were given here. */
static void others_write(struct fixture *f)
{
	struct maple_memo_run start_of = { "profile", 0, NULL, 7, 1, false };
	struct fixture other = { 0 };
	int64_t run;

	OK(maple_memo_open(f->path, 0, &other.memo, &err));
	other.campaign = begin_campaign(other.memo, NULL);
	OK(maple_memo_program(other.memo, other.campaign, "aa", "/bin/p",
			      &other.program, &err));
	for (uint64_t site = 100; site < 110; site++) {
		learn(&other, site, ATTEMPT);
		OK(maple_memo_run_begin(other.memo, other.campaign, &start_of,
					&run, &err));
	}
	maple_memo_close(other.memo);
}

static int64_t number_of(struct fixture *f, uint64_t site)
{
	struct maple_memo_lesson lesson = lesson_of(site, 0);

	OK(maple_memo_learn(f->memo, f->program, &lesson, 1, &err));
	return lesson.goal;
}

static struct maple_memo_state state_of(struct fixture *f, int64_t goal)
{
	struct maple_memo_state state;

	OK(maple_memo_state(f->memo, f->program, goal, &state, &err));
	return state;
}

static void a_server_that_comes_back_is_the_memo_again(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_claim claim;
	int64_t old, new, run, later;

	do_run(f, 1, FAILED);
	old = number_of(f, 1);
	lose(f);
	do_run(f, 1, FAILED);
	assert_non_null(maple_memo_spooled(f->memo));
	do_run(f, 2, FAILED);
	new = number_of(f, 2);
	run = begin_run(f, 2); /* it ends when the server is back */
	start();
	others_write(f);
	comes_back(f);
	later = number_of(f, 103);
	assert_int_equal(state_of(f, later).attempts, 1);
	assert_int_equal(state_of(f, old).attempts, 2);
	assert_int_equal(state_of(f, new).attempts, 2);
	assert_int_equal(number_of(f, 1), old);
	end_run(f, run, 2, FAILED);
	OK(maple_memo_mark(f->memo, f->program, new, MAPLE_MEMO_EXPOSED, &err));
	claim = (struct maple_memo_claim){ .goal = new };
	OK(maple_memo_claim(f->memo, f->program, &claim, 1, &err));
	assert_false(claim.taken);
	assert_true(claim.state.exposed);
	assert_int_equal(claim.state.failed, 2);
	OK(maple_memo_release(f->memo, f->program, &new, 1, &err));
	reopen(f);
	assert_int_equal(learn(f, 2, 0).attempts, 2);
	assert_true(learn(f, 2, 0).exposed);
	assert_int_equal(learn(f, 1, 0).failed, 2);
	assert_int_equal(learn(f, 103, 0).attempts, 1);
	assert_int_equal(count(f, "SELECT count(*) FROM runs WHERE status = 3"
				  " AND ended IS NOT NULL"),
			 4);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 14);
	/* Each of the four was another try, and says which. */
	assert_int_equal(count(f, "SELECT count(*) FROM (SELECT DISTINCT goal,"
				  " attempt FROM runs WHERE status = 3) t"),
			 4);
	assert_int_equal(count(f, "SELECT count(*) FROM samples"), 4);
	assert_int_equal(deliver(f).delivered, 0);
}

static void
what_a_server_is_told_that_goes_again_and_again_is_there_once(void **state)
{
	int times = getenv("MAPLE_FULL") ? 20 : 4;
	struct fixture *f = *state;
	int64_t run = begin_run(f, 1);

	for (int i = 0; i < times; i++) {
		lose(f);
		end_run(f, run, 1, FAILED);
		assert_non_null(maple_memo_spooled(f->memo));
		do_run(f, 2 + (uint64_t)i, FAILED); /* new to all */
		run = begin_run(f, 1);
		start();
		comes_back(f);
		do_run(f, 2 + (uint64_t)i, FAILED);
	}
	end_run(f, run, 1, FAILED);
	OK(maple_memo_campaign_end(f->memo, f->campaign, "clean", NULL, NULL,
				   &err));
	reopen(f);
	assert_int_equal(deliver(f).delivered, 0);
	assert_int_equal(learn(f, 1, 0).attempts, times + 1);
	assert_int_equal(learn(f, 1, 0).failed, times + 1);
	for (int i = 0; i < times; i++)
		assert_int_equal(learn(f, 2 + (uint64_t)i, 0).attempts, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 3 * times + 1);
	assert_int_equal(count(f, "SELECT count(*) FROM samples"),
			 3 * times + 1);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"
				  " WHERE ended IS NULL"),
			 0);
	assert_int_equal(count(f, "SELECT count(*) FROM campaigns"
				  " WHERE outcome = 'clean'"),
			 1);
}

/* The next case of a suite, whose campaign began without a server. */
static void
a_campaign_that_began_without_it_has_it_for_the_next_one(void **state)
{
	struct fixture *f = *state;

	lose(f);
	f->campaign = begin_campaign(f->memo, "first");
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	do_run(f, 1, FAILED);
	start();
	for (int i = 0; i < 1200 && maple_memo_spooled(f->memo); i++) {
		struct timespec pause = { .tv_nsec = 50000000 };

		nanosleep(&pause, NULL);
		OK(maple_memo_campaign_end(f->memo, f->campaign, "clean", NULL,
					   NULL, &err));
		f->campaign = begin_campaign(f->memo, "second");
	}
	assert_null(maple_memo_spooled(f->memo));
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	do_run(f, 1, FAILED);
	reopen(f);
	assert_int_equal(count(f, "SELECT sum(attempts) FROM memo"), 2);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 2);
}

/* What is local number 5 becomes 9; another row is 5 by then. */
static void a_number_that_was_told_means_one_row(void **state)
{
	static const struct maple_number first[] = { { 4, 4 }, { 5, 9 } };
	static const struct maple_number second[] = { { 5, 7 }, { 9, 8 } };
	struct maple_numbers n = { 0 };
	int64_t row = 5, same = 5;

	assert_int_equal(maple_numbers_now(&n, 5), 5);
	OK(maple_numbers_move(&n, first, 2));
	assert_int_equal(maple_numbers_now(&n, 4), 4);
	assert_int_equal(maple_numbers_now(&n, 5), 9);
	OK(maple_numbers_tell(&n, &row));
	assert_int_not_equal(row, 5);
	assert_int_equal(maple_numbers_now(&n, row), 5);
	OK(maple_numbers_tell(&n, &same));
	assert_int_equal(same, row);
	OK(maple_numbers_move(&n, second, 2));
	assert_int_equal(maple_numbers_now(&n, 5), 8);
	assert_int_equal(maple_numbers_now(&n, row), 7);
	assert_int_equal(maple_numbers_now(&n, 9), 8);
	maple_numbers_deinit(&n);
}

/* ---- whose it is ---- */

static void what_is_being_written_is_left(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_delivery d;
	int ready[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		reopen(f);
		OK(maple_memo_spool(f->memo, folder(f), on_notice, NULL, &err));
		f->campaign = begin_campaign(f->memo, NULL);
		OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p",
				      &f->program, &err));
		lose(f);
		do_run(f, 1, FAILED);
		assert_int_equal(write(ready[1], "", 1), 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	start();
	maple_memo_watch(f->memo, NULL, NULL);
	d = deliver(f);
	assert_int_equal(d.busy, 1);
	assert_int_equal(d.delivered, 0);
	/* A killed campaign loses nothing that it has written. */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	delivers_one(f, 1);
	assert_int_equal(learn(f, 1, 0).failed, 1);
	close(ready[0]);
	close(ready[1]);
}

static void what_is_another_memo_s_is_left(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_delivery d;
	struct maple_memo *other;
	char path[PLACE];

	lose(f);
	do_run(f, 1, FAILED);
	start();
	reopen(f);
	place(path, f->dir, "", "ours");
	OK(maple_memo_open(path, 0, &other, &err));
	OK(maple_memo_deliver(other, folder(f), &d, &err));
	assert_int_equal(d.others, 1);
	assert_int_equal(d.delivered, 0);
	maple_memo_close(other);
	delivers_one(f, 1);
}

static void a_finding_that_was_forgotten_is(void **state)
{
	struct fixture *f = *state;

	store_finding(f);
	lose(f);
	OK(maple_memo_forget_finding(f->memo, "0123456789abcdef", geteuid(),
				     &err));
	assert_non_null(maple_memo_spooled(f->memo));
	start();
	reopen(f);
	assert_int_equal(count(f, "SELECT count(*) FROM findings"), 1);
	delivers_one(f, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM findings"), 0);
}

static void without_a_place_the_server_is_needed(void **state)
{
	struct maple_memo_run start_of = { "enforced", 0, NULL, 7, 1, false };
	struct maple_error err = { "" };
	struct fixture *f = *state;
	int64_t run;

	/* A file stands where the folder would. */
	keep(f, "touch %s");
	lose(f);
	assert_int_equal(maple_memo_run_begin(f->memo, f->campaign, &start_of,
					      &run, &err),
			 -ENOTDIR);
	assert_non_null(strstr(err.text, "connection"));
	assert_non_null(strstr(err.text, "cannot be made"));
	start();
	keep(f, "rm %s");
}

static void a_file_needs_no_spool(void **state)
{
	struct maple_memo_delivery d;
	struct maple_memo *memo;

	OK(maple_memo_open(":memory:", 0, &memo, &err));
	OK(maple_memo_spool(memo, "/nowhere", NULL, NULL, &err));
	OK(maple_memo_deliver(memo, "/nowhere", &d, &err));
	assert_int_equal(d.delivered, 0);
	assert_null(maple_memo_spooled(memo));
	maple_memo_close(memo);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SPOOLED(what_is_written_without_the_server_is_delivered_once),
		SPOOLED(what_was_not_committed_is_delivered),
		SPOOLED(what_was_committed_without_an_answer_is_not_added),
		SPOOLED(a_full_disk_is_said_and_goes_on_locally),
		SPOOLED(what_is_being_written_is_left),
		SPOOLED(what_is_another_memo_s_is_left),
		SPOOLED(a_finding_that_was_forgotten_is),
		SPOOLED(without_a_place_the_server_is_needed),
		cmocka_unit_test(a_file_needs_no_spool),
		SPOOLED(a_server_that_comes_back_is_the_memo_again),
		SPOOLED(what_a_server_is_told_that_goes_again_and_again_is_there_once),
		SPOOLED(a_campaign_that_began_without_it_has_it_for_the_next_one),
		cmocka_unit_test(a_number_that_was_told_means_one_row),
	};

	return cmocka_run_group_tests(tests, start_server, stop_server);
}
