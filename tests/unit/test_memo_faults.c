// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo at a PostgreSQL server when those who write it fail: tasks that are
 * killed, an older version and a newer one beside this, a network that is cut.
 * What they were told was kept is there, once, and nobody hangs. What becomes
 * of them when the server fails is in test_memo_postgres.c and test_spool.c.
 *
 * Killed are 6 tasks, with MAPLE_FULL=1 50.
 *
 * It forces no orders, and waits for the server until that has done it.
 * beside: guests
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "memo/postgres/connection.h"
#include "memo/sql.h"
#include "memo_rig.h"

static char server[] = "/tmp/test_memo_faults.XXXXXX";

static void shell(const char *fmt, const char *what)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, what);
	if (system(command))
		fail_msg("%s", command);
}

static int start_server(void **state)
{
	if (!mkdtemp(server) || own_server())
		return -1;
	shell("tests/postgres start %s >/dev/null", server);
	return setenv("MAPLE_TEST_POSTGRES", server, 1);
}

static int stop_server(void **state)
{
	shell("tests/postgres stop %s", server);
	shell("rm -rf %s", server);
	return 0;
}

static int64_t goal_of(struct maple_memo *memo, uint64_t site)
{
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 1,
		.use = { { "aa", "/bin/p", site, false, 'R' } },
	};
	int64_t goal;

	OK(maple_memo_goal(memo, &key, &goal, &err));
	return goal;
}

static void pause_ms(long ms)
{
	struct timespec pause = { .tv_sec = ms / 1000,
				  .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* ---- tasks that are killed ---- */

/* What a task has been told was kept. */
struct told {
	int64_t begun, ended;
};

static int64_t begin_run(struct maple_memo *memo, int64_t campaign,
			 int64_t program, int64_t goal)
{
	struct maple_memo_run start = { "enforced", goal, "{}", 7, 1, false };
	int64_t run;

	OK(maple_memo_begin(memo, &err));
	OK(maple_memo_mark(memo, program, goal, MAPLE_MEMO_ATTEMPT, &err));
	OK(maple_memo_run_begin(memo, campaign, &start, &run, &err));
	OK(maple_memo_commit(memo, &err));
	return run;
}

static void end_run(struct maple_memo *memo, int64_t run, int64_t program,
		    int64_t goal)
{
	struct maple_memo_run_end end = { .verdict = "pass" };

	OK(maple_memo_begin(memo, &err));
	OK(maple_memo_mark(memo, program, goal, MAPLE_MEMO_FAILED, &err));
	OK(maple_memo_run_end(memo, run, &end, &err));
	OK(maple_memo_commit(memo, &err));
}

/* A task that makes runs until it is killed, and says each to @out. */
static pid_t task(struct fixture *f, int64_t goal, int out)
{
	pid_t pid = fork();
	struct maple_memo *memo;
	int64_t campaign, run;

	if (pid)
		return pid;
	OK(maple_memo_open(f->path, 0, &memo, &err));
	campaign = begin_campaign(memo, NULL);
	for (;;) {
		run = begin_run(memo, campaign, f->program, goal);
		if (write(out, "b", 1) != 1)
			_exit(1);
		end_run(memo, run, f->program, goal);
		if (write(out, "e", 1) != 1)
			_exit(1);
	}
}

/* Killed when it has ended @runs runs: wherever it is then. */
static void kill_task(struct fixture *f, int64_t goal, int64_t runs,
		      struct told *told)
{
	struct told now = { 0 };
	int ends[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ends), 0);
	pid = task(f, goal, ends[1]);
	close(ends[1]);
	while (read(ends[0], &c, 1) == 1) {
		now.begun += c == 'b';
		now.ended += c == 'e';
		if (c == 'e' && now.ended == runs)
			kill(pid, SIGKILL);
	}
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	told->begun += now.begun;
	told->ended += now.ended;
}

static void killed_tasks_lose_nothing(void **state)
{
	struct fixture *f = *state;
	int kills = getenv("MAPLE_FULL") ? 50 : 6;
	int64_t goal = goal_of(f->memo, 1), begun, ended, attempts;
	struct told told = { 0 };

	for (int i = 0; i < kills; i++)
		kill_task(f, goal, 1 + i % 7, &told);
	/* The server may do yet what the last one has sent. */
	for (int i = 0;
	     i < 1200 && count(f, "SELECT count(*) FROM"
				  " pg_stat_activity WHERE"
				  " application_name LIKE 'maple-%'") > 1;
	     i++)
		pause_ms(50);
	begun = count(f, "SELECT count(*) FROM runs");
	ended = count(f, "SELECT count(*) FROM runs WHERE ended IS NOT NULL");
	attempts = count(f, "SELECT attempts FROM memo");
	assert_true(told.begun >= kills && told.ended >= kills);
	/* Each may have done one thing more than it has said. */
	assert_in_range(begun, told.begun, told.begun + kills);
	assert_in_range(ended, told.ended, told.ended + kills);
	/* And what belongs together is there together. */
	assert_int_equal(attempts, begun);
	assert_int_equal(count(f, "SELECT failed FROM memo"), ended);
	assert_true(begun - ended <= kills);
}

/* ---- two versions at once ---- */

#define TIMES 60

static void mark_both(struct maple_memo *memo, int64_t program, int64_t first,
		      int64_t second)
{
	OK(maple_memo_begin(memo, &err));
	OK(maple_memo_mark(memo, program, first, MAPLE_MEMO_ATTEMPT, &err));
	OK(maple_memo_mark(memo, program, second, MAPLE_MEMO_ATTEMPT, &err));
	OK(maple_memo_commit(memo, &err));
}

static pid_t ours(struct fixture *f, int64_t first, int64_t second)
{
	pid_t pid = fork();
	struct maple_memo *memo;

	if (pid)
		return pid;
	OK(maple_memo_open(f->path, 0, &memo, &err));
	for (int i = 0; i < TIMES; i++)
		mark_both(memo, f->program, first, second);
	maple_memo_close(memo);
	_exit(0);
}

/*
 * What versions up to schema 14 said, in their words: one lock for all that is
 * written, and rows in any order. Whoever has to give way does it again.
 */
static pid_t older(struct fixture *f, int64_t first, int64_t second)
{
	static const char words[] =
		"BEGIN; SELECT pg_advisory_xact_lock(1835102316);"
		"INSERT INTO clients VALUES('older', %d, unixepoch())"
		" ON CONFLICT(name) DO UPDATE SET serial = excluded.serial,"
		" at = excluded.at;"
		"INSERT INTO memo VALUES(%lld, %lld, 0, 0, 0, 0, 1, 0)"
		" ON CONFLICT(program, goal) DO UPDATE SET attempts ="
		" memo.attempts + 1;"
		"INSERT INTO memo VALUES(%lld, %lld, 0, 0, 0, 0, 1, 0)"
		" ON CONFLICT(program, goal) DO UPDATE SET attempts ="
		" memo.attempts + 1; COMMIT";
	pid_t pid = fork();
	struct maple_pg_call call, undo = { .sql = "ROLLBACK" };
	struct maple_memo *memo;
	char sql[1024];

	if (pid)
		return pid;
	OK(maple_memo_open(f->path, 0, &memo, &err));
	for (int i = 0; i < TIMES; i++) {
		snprintf(sql, sizeof(sql), words, i, (long long)f->program,
			 (long long)second, (long long)f->program,
			 (long long)first);
		call = (struct maple_pg_call){ .sql = sql };
		while (maple_pg_call(memo->db, &call, NULL, NULL))
			maple_pg_call(memo->db, &undo, NULL, NULL);
	}
	maple_memo_close(memo);
	_exit(0);
}

static void an_older_version_may_write_at_the_same_time(void **state)
{
	struct fixture *f = *state;
	int64_t first = goal_of(f->memo, 1), second = goal_of(f->memo, 2);
	pid_t pids[3] = { ours(f, first, second), older(f, first, second),
			  ours(f, second, first) };
	int status;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count(f, "SELECT min(attempts) FROM memo"), 3 * TIMES);
	assert_int_equal(count(f, "SELECT max(attempts) FROM memo"), 3 * TIMES);
}

/* Whoever has the memo open goes on; whoever comes is told what to do. */
static void a_newer_version_may_change_the_schema_meanwhile(void **state)
{
	struct fixture *f = *state;
	int64_t goal = goal_of(f->memo, 1);
	struct maple_error err = { "" };
	struct maple_memo *memo;

	begin_run(f->memo, f->campaign, f->program, goal);
	OK(maple_sql_exec(f->memo,
			  "ALTER TABLE runs ADD COLUMN newer TEXT;"
			  "ALTER TABLE memo ADD COLUMN newer TEXT;"
			  "UPDATE about SET version = 99",
			  &err));
	end_run(f->memo, begin_run(f->memo, f->campaign, f->program, goal),
		f->program, goal);
	assert_int_equal(count(f, "SELECT attempts FROM memo"), 2);
	assert_int_equal(maple_memo_open(f->path, 0, &memo, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "schema 99"));
	assert_non_null(strstr(err.text, "update maple"));
	OK(maple_sql_exec(f->memo, "UPDATE about SET version = 14", &err));
}

/* ---- a network that is cut ---- */

#define PORT 25432 /* in a network of its own */

static struct net {
	atomic_int attempts;
	atomic_bool over;
} * net;

static void write_until_over(struct fixture *f)
{
	int64_t goal;

	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	f->campaign = begin_campaign(f->memo, NULL);
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	goal = goal_of(f->memo, 1);
	while (!atomic_load(&net->over)) {
		begin_run(f->memo, f->campaign, f->program, goal);
		atomic_fetch_add(&net->attempts, 1);
	}
	assert_int_equal(count(f, "SELECT attempts FROM memo"),
			 atomic_load(&net->attempts));
	assert_int_equal(count(f, "SELECT count(*) FROM runs"),
			 atomic_load(&net->attempts));
	maple_memo_close(f->memo);
}

static void until_attempts(int n)
{
	for (int i = 0; i < 2400 && atomic_load(&net->attempts) < n; i++)
		pause_ms(50);
	assert_true(atomic_load(&net->attempts) >= n);
}

/* All of it in that network: the server, whoever writes, and the cut. */
static void cut(const char *dir)
{
	struct fixture f = { 0 };
	pid_t pid;
	int status;

	shell("ip link set %s up", "lo");
	setenv("MAPLE_TEST_PORT", "25432", 1);
	shell("tests/postgres start %s >/dev/null", dir);
	snprintf(f.path, sizeof(f.path), "postgresql://%s@127.0.0.1:%d/maple",
		 geteuid() ? getenv("USER") : "nobody", PORT);
	pid = fork();
	if (!pid) {
		write_until_over(&f);
		_exit(0);
	}
	until_attempts(10);
	shell("ip link set %s down", "lo");
	pause_ms(10000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	shell("ip link set %s up", "lo");
	until_attempts(atomic_load(&net->attempts) + 10);
	atomic_store(&net->over, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_network_cut_for_ten_seconds_costs_the_time_alone(void **state)
{
	char dir[] = "/tmp/test_memo_cut.XXXXXX";
	int status;
	pid_t pid;

	if (geteuid()) /* it takes a network of its own */
		skip();
	net = mmap(NULL, sizeof(*net), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(net != MAP_FAILED);
	assert_non_null(mkdtemp(dir));
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(2);
		cut(dir);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	shell("tests/postgres stop %s", dir);
	shell("rm -rf %s", dir);
	assert_int_equal(status, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_tasks_lose_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_older_version_may_write_at_the_same_time, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_newer_version_may_change_the_schema_meanwhile, setup,
			teardown),
		cmocka_unit_test(
			a_network_cut_for_ten_seconds_costs_the_time_alone),
	};

	return cmocka_run_group_tests(tests, start_server, stop_server);
}
