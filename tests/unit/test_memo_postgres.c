// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo in PostgreSQL, at a server of this test's own: what several write at
 * once, and what is left when connections and the server go while they do.
 * That everything else is as in SQLite, tests/e2e/postgres_units.bats looks at
 * with the memo's other units.
 *
 * It forces no orders, and waits for the server until that has done it.
 * beside: guests
 */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "memo/postgres/connection.h"
#include "memo/postgres/text.h"
#include "memo/sql.h"
#include "memo_rig.h"

static char server[] = "/tmp/test_memo_pg.XXXXXX";

static void shell(const char *what, const char *more)
{
	char command[512];

	snprintf(command, sizeof(command), "tests/postgres %s %s %s >/dev/null",
		 what, server, more);
	assert_int_equal(system(command), 0);
}

static int start_server(void **state)
{
	if (!mkdtemp(server) || own_server())
		return -1;
	shell("start", "");
	return setenv("MAPLE_TEST_POSTGRES", server, 1);
}

static int stop_server(void **state)
{
	char command[128];

	shell("stop", "");
	snprintf(command, sizeof(command), "rm -rf %s", server);
	return system(command);
}

/* ---- texts ---- */

static void any_bytes_come_back(void **state)
{
	static const char *const texts[] = {
		"",
		"plain",
		"\xff\xfe\x80",
		"gr\xc3\xbc\xc3\x9f",	    /* two characters */
		"\xee\xbe\x80\xee\xbf\xbf", /* what stands for bytes */
		"\xee\xbe",		    /* the beginning of that */
		"\xee\xee\xbe\x80",
		"\xc0\xaf",	    /* too long for what it is */
		"\xed\xa0\x80",	    /* a surrogate */
		"\xf4\x90\x80\x80", /* past the last one */
		"\xf0\x9f\x90\x8e",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *encoded = maple_pg_encode(texts[i]);
		char *decoded = maple_pg_decode(encoded);

		assert_string_equal(decoded, texts[i]);
		free(encoded);
		free(decoded);
	}
	/* And what is text anyway stays as it is. */
	for (size_t i = 3; i < 11; i += 7) {
		char *encoded = maple_pg_encode(texts[i]);

		assert_string_equal(encoded, texts[i]);
		free(encoded);
	}
}

static void bytes_are_kept_by_the_server(void **state)
{
	struct fixture *f = *state;
	static const char input[] = "\xee\xbe\x80 \xfe\t\\";
	int64_t campaign = begin_campaign(f->memo, input), program;
	struct maple_memo_program_info *programs;
	size_t n;

	OK(maple_memo_program(f->memo, campaign, "aa", "/bin/\xff", &program,
			      &err));
	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(n, 2);
	assert_string_equal(programs[0].input, input);
	assert_string_equal(programs[0].path, "/bin/\xff");
	maple_memo_programs_destroy(programs, n);
}

/* ---- several writers ---- */

static void attempt(struct maple_memo *memo, int64_t program, uint64_t first,
		    uint64_t second)
{
	struct maple_memo_lesson lesson = {
		.key = { .class = "idiom 1",
			 .n = 2,
			 .use = { { "aa", "/bin/p", first, false, 'R' },
				  { "bb", "/lib/l", second, true, 'W' } } },
		.marks = 1u << MAPLE_MEMO_ATTEMPT,
	};

	OK(maple_memo_learn(memo, program, &lesson, 1, &err));
}

static unsigned int attempts_of(struct fixture *f, uint64_t first,
				uint64_t second)
{
	struct maple_memo_lesson lesson = {
		.key = { .class = "idiom 1",
			 .n = 2,
			 .use = { { "aa", "/bin/p", first, false, 'R' },
				  { "bb", "/lib/l", second, true, 'W' } } },
	};

	OK(maple_memo_learn(f->memo, f->program, &lesson, 1, &err));
	return lesson.state.attempts;
}

#define WRITERS 6
#define TIMES	40

static pid_t writer(struct fixture *f, unsigned int goals, unsigned int times)
{
	pid_t pid = fork();
	struct maple_memo *memo;

	if (pid)
		return pid;
	OK(maple_memo_open(f->path, 0, &memo, &err));
	for (unsigned int i = 0; i < times; i++)
		attempt(memo, f->program, i % goals, 1);
	maple_memo_close(memo);
	_exit(0);
}

static void all_done(const pid_t *pids, size_t n)
{
	int status;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

static void writers_make_one_row_and_lose_nothing(void **state)
{
	struct fixture *f = *state;
	pid_t pids[WRITERS];

	for (unsigned int i = 0; i < WRITERS; i++)
		pids[i] = writer(f, 4, TIMES);
	all_done(pids, WRITERS);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(attempts_of(f, i, 1), WRITERS * TIMES / 4);
}

/* ---- what goes while they write ---- */

/* Ends connections at moments of no plan, until it is killed. */
static pid_t cutter(void)
{
	pid_t pid = fork();

	while (!pid) {
		struct timespec pause = { .tv_nsec = 30000000 };

		nanosleep(&pause, NULL);
		shell("sql", "\"SELECT pg_terminate_backend(pid) FROM"
			     " pg_stat_activity WHERE application_name LIKE"
			     " 'maple-%' AND random() < 0.5\" postgres");
	}
	return pid;
}

static void lost_connections_lose_nothing_and_double_nothing(void **state)
{
	struct fixture *f = *state;
	pid_t cut = cutter(), pids[1];
	int status;

	pids[0] = writer(f, 1, 1500);
	all_done(pids, 1);
	kill(cut, SIGTERM);
	waitpid(cut, &status, 0);
	assert_int_equal(attempts_of(f, 0, 1), 1500);
}

static int64_t begin_run(struct fixture *f)
{
	struct maple_memo_run start = { "enforced", 0, NULL, 7, 1, false };
	int64_t id;

	OK(maple_memo_run_begin(f->memo, f->campaign, &start, &id, &err));
	return id;
}

static void restart(void)
{
	shell("kill", "");
	shell("start", "");
}

/* The numbers that have been told stay those of the rows. */
static void a_transaction_outlives_the_server(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_run_end end = { .verdict = "pass" };
	int64_t before = begin_run(f), first, second, third;

	OK(maple_memo_begin(f->memo, &err));
	first = begin_run(f);
	attempt(f->memo, f->program, 1, 1);
	restart();
	second = begin_run(f);
	OK(maple_memo_run_end(f->memo, first, &end, &err));
	restart();
	OK(maple_memo_commit(f->memo, &err));
	restart();
	third = begin_run(f);
	assert_true(before < first && first < second && second < third);
	assert_int_equal(attempts_of(f, 1, 1), 1);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 4);
	assert_int_equal(
		count(f, "SELECT id FROM runs WHERE ended IS NOT NULL"), first);
	assert_int_equal(count(f, "SELECT max(id) FROM runs"), third);
}

/*
 * A COMMIT that waits for a standby, which there is none of, is done when its
 * process is ended, and has no answer.
 */
static pid_t answer_taker(void)
{
	static const char end[] =
		"tests/postgres sql %s \"SELECT pg_terminate_backend(pid) FROM"
		" pg_stat_activity WHERE query LIKE '%%COMMIT%%'"
		" AND wait_event = 'SyncRep'\" postgres | grep -q t";
	struct timespec pause = { .tv_nsec = 50000000 };
	pid_t pid = fork();
	char command[512];
	int tries = 1200;

	if (pid)
		return pid;
	snprintf(command, sizeof(command), end, server);
	while (tries && system(command)) {
		nanosleep(&pause, NULL);
		tries--;
	}
	shell("sql", "'ALTER SYSTEM RESET synchronous_standby_names' postgres");
	shell("sql", "'SELECT pg_reload_conf()' postgres");
	_exit(!tries);
}

/*
 * Until all of the server knows that commits have to wait: connections made from
 * now on commit something, until one of them is seen to wait, and is ended.
 */
static void until_commits_wait(void)
{
	static const char commits[] =
		"tests/postgres sql %s \"SELECT pg_logical_emit_message(true, '',"
		" 'waits')\" postgres >/dev/null 2>&1 &";
	static const char waits[] =
		"tests/postgres sql %s \"SELECT pg_terminate_backend(pid) FROM"
		" pg_stat_activity WHERE wait_event = 'SyncRep'\" postgres"
		" | grep -q t";
	struct timespec pause = { .tv_nsec = 100000000 };
	char commit[512], wait[512];
	int tries = 600;

	snprintf(commit, sizeof(commit), commits, server);
	snprintf(wait, sizeof(wait), waits, server);
	do {
		assert_int_not_equal(tries--, 0);
		assert_int_equal(system(commit), 0);
		nanosleep(&pause, NULL);
	} while (system(wait));
}

static void a_commit_without_an_answer_is_done_once(void **state)
{
	struct fixture *f = *state;
	pid_t pids[1];

	OK(maple_memo_begin(f->memo, &err));
	attempt(f->memo, f->program, 1, 1);
	shell("sql", "\"ALTER SYSTEM SET synchronous_standby_names = 'none'\""
		     " postgres");
	shell("sql", "'SELECT pg_reload_conf()' postgres");
	until_commits_wait();
	pids[0] = answer_taker();
	OK(maple_memo_commit(f->memo, &err));
	all_done(pids, 1);
	assert_int_equal(attempts_of(f, 1, 1), 1);
}

/* What a step relied on is another's by now: no guess is made. */
static void what_cannot_be_done_again_is_said(void **state)
{
	struct fixture *f = *state;
	struct maple_error err = { "" };
	pid_t pids[1];
	int ret;

	OK(maple_memo_begin(f->memo, &err));
	attempt(f->memo, f->program, 1, 1); /* the first one */
	shell("kill", "");
	shell("start", "");
	pids[0] = writer(f, 2, 2); /* makes it as well, and has it */
	all_done(pids, 1);
	ret = maple_memo_commit(f->memo, &err);
	assert_int_equal(ret, -EAGAIN);
	assert_non_null(strstr(err.text, "others have written"));
	maple_memo_rollback(f->memo);
	assert_int_equal(attempts_of(f, 1, 1), 1);
}

static int enough(void *ctx)
{
	return 1;
}

/* Whoever opens a memo has no server to wait for; whoever has one, for a while. */
static void a_server_that_stays_away_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo;
	struct maple_error err = { "" };

	shell("kill", "");
	assert_int_equal(maple_memo_open(f->path, 0, &memo, &err), -ENOTCONN);
	assert_non_null(strstr(err.text, "cannot be opened"));
	/* Nobody waits longer than he wants to. */
	maple_memo_watch(f->memo, enough, NULL);
	/* What begins goes with what comes first. */
	OK(maple_memo_begin(f->memo, &err));
	OK(maple_memo_mark(f->memo, f->program, 1, MAPLE_MEMO_ATTEMPT, &err));
	assert_int_equal(maple_memo_commit(f->memo, &err), -ENOTCONN);
	maple_memo_rollback(f->memo);
	maple_memo_watch(f->memo, NULL, NULL);
	shell("start", "");
	begin_run(f);
}

/* ---- claims ---- */

/* Whether @memo has @goal now. */
static bool claims(struct maple_memo *memo, int64_t program, int64_t goal,
		   struct maple_memo_state *state)
{
	struct maple_memo_claim claim = { .goal = goal };

	OK(maple_memo_claim(memo, program, &claim, 1, &err));
	if (state)
		*state = claim.state;
	return !claim.taken;
}

static struct maple_memo *another(struct fixture *f)
{
	struct maple_memo *memo;

	OK(maple_memo_open(f->path, 0, &memo, &err));
	return memo;
}

static int64_t goal_of(struct fixture *f, uint64_t first)
{
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 1,
		.use = { { "aa", "/bin/p", first, false, 'R' } },
	};
	int64_t goal;

	OK(maple_memo_goal(f->memo, &key, &goal, &err));
	return goal;
}

/* The server hears of an end a moment later. */
static bool claims_soon(struct fixture *f, int64_t goal)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	bool ours = false;

	for (int i = 0; i < 1200 && !ours; i++) {
		ours = claims(f->memo, f->program, goal, NULL);
		if (!ours)
			nanosleep(&pause, NULL);
	}
	return ours;
}

static void a_claim_is_one_s_until_it_is_released(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *other = another(f);
	int64_t a = goal_of(f, 1), b = goal_of(f, 2);
	struct maple_memo_claim both[2] = { { .goal = b }, { .goal = a } };

	assert_true(maple_memo_shares(f->memo));
	assert_true(claims(f->memo, f->program, a, NULL));
	assert_false(claims(other, f->program, a, NULL));
	/* Of another input it is another one. */
	assert_true(claims(other, f->program + 1, a, NULL));
	OK(maple_memo_claim(other, f->program, both, 2, &err));
	assert_false(both[0].taken);
	assert_true(both[1].taken);
	assert_false(claims(f->memo, f->program, b, NULL));
	OK(maple_memo_release(f->memo, f->program, &a, 1, &err));
	assert_true(claims(other, f->program, a, NULL));
	/* With the connection all of them go. */
	maple_memo_close(other);
	assert_true(claims_soon(f, a));
	assert_true(claims_soon(f, b));
}

static void whoever_claims_learns_what_became_of_it(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *other = another(f);
	int64_t never = goal_of(f, 1), a = goal_of(f, 2), b = goal_of(f, 3);
	struct maple_memo_claim all[3] = { { .goal = b },
					   { .goal = never },
					   { .goal = a } };

	assert_true(claims(f->memo, f->program, a, NULL));
	OK(maple_memo_mark(other, f->program, b, MAPLE_MEMO_FAILED, &err));
	OK(maple_memo_mark(f->memo, f->program, a, MAPLE_MEMO_ATTEMPT, &err));
	OK(maple_memo_mark(f->memo, f->program, a, MAPLE_MEMO_EXPOSED, &err));
	OK(maple_memo_release(f->memo, f->program, &a, 1, &err));
	OK(maple_memo_claim(other, f->program, all, 3, &err));
	for (unsigned int i = 0; i < 3; i++)
		assert_false(all[i].taken);
	assert_int_equal(all[0].state.failed, 1);
	assert_false(all[0].state.exposed);
	assert_int_equal(all[1].state.attempts + all[1].state.failed, 0);
	assert_int_equal(all[2].state.attempts, 1);
	assert_true(all[2].state.exposed);
	maple_memo_close(other);
}

/* A process that has claimed @goal, and says so to @ready; it never ends. */
static pid_t claimer(struct fixture *f, int64_t goal, int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (!claims(another(f), f->program, goal, NULL) ||
	    write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void whoever_is_killed_claims_nothing(void **state)
{
	struct fixture *f = *state;
	int64_t goal = goal_of(f, 1);
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = claimer(f, goal, ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_false(claims(f->memo, f->program, goal, NULL));
	kill(pid, SIGSTOP); /* it is slow, and alive */
	assert_false(claims(f->memo, f->program, goal, NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(claims_soon(f, goal));
	close(ready[0]);
	close(ready[1]);
}

static void claims_outlive_the_server(void **state)
{
	struct fixture *f = *state;
	int64_t a = goal_of(f, 1), b = goal_of(f, 2), c = goal_of(f, 3);
	struct maple_memo *other;

	assert_true(claims(f->memo, f->program, a, NULL));
	assert_true(claims(f->memo, f->program, b, NULL));
	restart();
	begin_run(f); /* in a new connection */
	other = another(f);
	assert_false(claims(other, f->program, a, NULL));
	/* Claiming makes a new one as well. */
	restart();
	assert_true(claims(f->memo, f->program, c, NULL));
	assert_false(claims(other, f->program, b, NULL));
	/* The other one is faster: it is his, and stays so. */
	restart();
	assert_true(claims(other, f->program, b, NULL));
	OK(maple_memo_begin(f->memo, &err));
	attempt(f->memo, f->program, 1, 1);
	OK(maple_memo_commit(f->memo, &err));
	assert_false(claims(other, f->program, a, NULL));
	assert_false(claims(f->memo, f->program, b, NULL));
	OK(maple_memo_release(f->memo, f->program, &a, 1, &err));
	assert_true(claims(other, f->program, a, NULL));
	maple_memo_close(other);
}

static void in_a_file_nothing_is_claimed(void **state)
{
	struct maple_memo *memo;

	OK(maple_memo_open(":memory:", 0, &memo, &err));
	assert_false(maple_memo_shares(memo));
	maple_memo_close(memo);
}

/* ---- what is refused ---- */

static void refused(const char *path, unsigned int flags, int errnum,
		    const char *text)
{
	struct maple_memo *memo;
	struct maple_error err = { "" };

	assert_int_equal(maple_memo_open(path, flags, &memo, &err), -errnum);
	if (!strstr(err.text, text))
		fail_msg("%s: %s", path, err.text);
}

/* How many connections are yet to be lost as soon as they stand, before they
 * are asked for what they were made for. */
static const struct maple_pq *libpq;
static int to_lose;

static void lose(PGconn *conn, const char *sql)
{
	if (to_lose &&
	    (!strncmp(sql, "BEGIN", 5) || strstr(sql, "advisory_lock"))) {
		to_lose--;
		shutdown(libpq->PQsocket(conn), SHUT_RDWR);
	}
}

static int send_query(PGconn *conn, const char *sql)
{
	lose(conn, sql);
	return libpq->PQsendQuery(conn, sql);
}

/* Claims are made known to each connection before they are asked for. */
static int send_prepare(PGconn *conn, const char *name, const char *sql, int n,
			const Oid *types)
{
	lose(conn, sql);
	return libpq->PQsendPrepare(conn, name, sql, n, types);
}

/* As when the server dies again and again. */
static void a_connection_may_be_lost_several_times_running(void **state)
{
	struct fixture *f = *state;
	struct maple_pg *c = f->memo->db;
	struct maple_pq losing = *c->pq;
	int64_t goal = goal_of(f, 1), before = begin_run(f);

	libpq = c->pq;
	losing.PQsendQuery = send_query;
	losing.PQsendPrepare = send_prepare;
	c->pq = &losing;
	to_lose = 3;
	assert_true(begin_run(f) > before);
	assert_int_equal(to_lose, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM runs"), 2);
	to_lose = 3;
	assert_true(claims(f->memo, f->program, goal, NULL));
	assert_int_equal(to_lose, 0);
	c->pq = libpq;
}

static void what_is_no_memo_is_refused(void **state)
{
	struct fixture *f = *state;

	refused("postgresql://me:secret@/x", 0, EINVAL, "PGPASSFILE");
	refused("postgresql:///x?password=secret", 0, EINVAL, "PGPASSFILE");
	refused("postgresql://[", 0, EINVAL, "no name of a database");
	refused(f->path, MAPLE_MEMO_FILE, EINVAL, "no server's");
	OK(maple_sql_exec(f->memo, "UPDATE about SET version = 99", &err));
	refused(f->path, 0, ENOTSUP, "schema 99");
	OK(maple_sql_exec(f->memo, "UPDATE about SET version = 13", &err));
	refused(f->path, MAPLE_MEMO_READONLY, ENOTSUP, "older schema 13");
	OK(maple_sql_exec(f->memo, "UPDATE about SET version = 16", &err));
}

/* As version 13 left it, with something in it. */
static void what_13_made_is_brought_up_to_date(void **state)
{
	static const char back[] =
		"ALTER TABLE campaigns DROP COLUMN machine, DROP COLUMN cpu,"
		" DROP COLUMN kernel; ALTER TABLE about DROP COLUMN uid;"
		"DROP TABLE deliveries; UPDATE about SET version = 13;"
		"ALTER TABLE campaigns DROP COLUMN backend;"
		"ALTER TABLE runs DROP COLUMN news;"
		"ALTER TABLE findings DROP COLUMN machine, DROP COLUMN cpu,"
		" DROP COLUMN kernel, DROP COLUMN backend, DROP COLUMN level;"
		"INSERT INTO campaigns(argv, seed, began, uid)"
		" VALUES('[]', 1, 2, 'u')";
	struct fixture *f = *state;

	OK(maple_sql_exec(f->memo, back, &err));
	maple_memo_close(f->memo);
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	assert_int_equal(count(f, "SELECT version FROM about"), 16);
	assert_int_equal(count(f, "SELECT length(uid) FROM about"), 36);
	assert_int_equal(count(f, "SELECT count(*) FROM campaigns"
				  " WHERE uid = 'u' AND machine IS NULL"),
			 1);
	begin_campaign(f->memo, NULL);
	assert_int_equal(count(f, "SELECT count(*) FROM campaigns"
				  " WHERE length(machine) > 0"
				  " AND length(kernel) > 0"),
			 1);
}

/* What was seen again since may have been made first anywhere. */
static void
of_what_14_made_the_machine_is_known_if_it_was_seen_once(void **state)
{
	static const char back[] =
		"ALTER TABLE campaigns DROP COLUMN backend;"
		"ALTER TABLE runs DROP COLUMN news;"
		"ALTER TABLE findings DROP COLUMN machine, DROP COLUMN cpu,"
		" DROP COLUMN kernel, DROP COLUMN backend, DROP COLUMN level;"
		"UPDATE about SET version = 14;"
		"UPDATE campaigns SET machine = 'far';"
		"INSERT INTO findings(owner, id, campaign, json, first_seen,"
		" last_seen, times_seen) SELECT 1, 'once', id, '{}', 5, 5, 1"
		" FROM campaigns;"
		"INSERT INTO findings(owner, id, campaign, json, first_seen,"
		" last_seen, times_seen) SELECT 1, 'twice', id, '{}', 5, 6, 2"
		" FROM campaigns";
	struct fixture *f = *state;

	OK(maple_sql_exec(f->memo, back, &err));
	maple_memo_close(f->memo);
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	assert_int_equal(count(f, "SELECT version FROM about"), 16);
	assert_int_equal(count(f, "SELECT count(*) FROM findings"
				  " WHERE id = 'once' AND machine = 'far'"
				  " AND level = 0"),
			 1);
	assert_int_equal(count(f, "SELECT count(*) FROM findings"
				  " WHERE id = 'twice' AND machine IS NULL"),
			 1);
}

static void a_reader_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct maple_error err = { "" };
	struct maple_memo *reader;
	int64_t id;
	struct maple_memo_run start = { "enforced", 0, NULL, 7, 1, false };

	OK(maple_memo_open(f->path, MAPLE_MEMO_READONLY, &reader, &err));
	assert_int_equal(
		maple_memo_run_begin(reader, f->campaign, &start, &id, &err),
		-EROFS);
	maple_memo_close(reader);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bytes_come_back),
		TEST(bytes_are_kept_by_the_server),
		TEST(writers_make_one_row_and_lose_nothing),
		TEST(lost_connections_lose_nothing_and_double_nothing),
		TEST(a_transaction_outlives_the_server),
		TEST(a_commit_without_an_answer_is_done_once),
		TEST(what_cannot_be_done_again_is_said),
		TEST(a_claim_is_one_s_until_it_is_released),
		TEST(whoever_claims_learns_what_became_of_it),
		TEST(whoever_is_killed_claims_nothing),
		TEST(claims_outlive_the_server),
		TEST(a_connection_may_be_lost_several_times_running),
		cmocka_unit_test(in_a_file_nothing_is_claimed),
		TEST(what_is_no_memo_is_refused),
		TEST(what_13_made_is_brought_up_to_date),
		TEST(of_what_14_made_the_machine_is_known_if_it_was_seen_once),
		TEST(a_reader_writes_nothing),
		TEST(a_server_that_stays_away_is_an_error),
	};

	return cmocka_run_group_tests(tests, start_server, stop_server);
}
