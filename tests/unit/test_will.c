// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Those who have joined a process are killed, at moments that are known and at
 * many that are not. Who is left takes out what is in; if nobody is, who comes
 * next finds it, and does so. The process works on.
 *
 * MAPLE_FULL  200 kills of each kind
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "abi/shm.h"
#include "backend/join/join.h"

#define THREADS	    3
#define ROUNDS	    2 /* of each kind */
#define ROUNDS_ALL  12
#define ROUNDS_FULL 200
#define LAST_US	    300000
#define STAY_US	    50000 /* joined, before it is left */
#define ANSWER_MS   20000

static char agent[PATH_MAX];
static pid_t target;
static int ask[THREADS], answer[THREADS];
static cpu_set_t cpus;

/* ---- the process ---- */

static int asked[THREADS], answers[THREADS];

static void *serve(void *arg)
{
	int i = (int)(intptr_t)arg;
	char c;

	while (read(asked[i], &c, 1) == 1 && write(answers[i], &c, 1) == 1)
		;
	_exit(0);
}

static void be_target(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (intptr_t i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, serve, (void *)i))
			_exit(1);
	serve(NULL);
}

static bool answers_all(void)
{
	for (int i = 0; i < THREADS; i++) {
		struct pollfd pfd = { answer[i], POLLIN, 0 };
		char c = 0;

		if (write(ask[i], "x", 1) != 1 ||
		    poll(&pfd, 1, ANSWER_MS) != 1 ||
		    read(answer[i], &c, 1) != 1 || c != 'x')
			return false;
	}
	return true;
}

/* ---- who joins it ---- */

static void order(struct maple_shm *shm)
{
	shm->magic = MAPLE_SHM_MAGIC;
	shm->version = MAPLE_SHM_VERSION;
	shm->size = sizeof(*shm);
	shm->mode = MAPLE_SHM_SCHED;
	/* Real-time priorities, where we may give them. */
	shm->sched = geteuid() ? MAPLE_SCHEDULE_NATIVE : MAPLE_SCHEDULE_OLDER;
	shm->cpu = -1;
}

static void open_joiner(struct maple_joiner *j)
{
	struct maple_error err = { "" };
	struct maple_shm *shm;

	*j = (struct maple_joiner){
		.shm_fd = memfd_create("maple", MFD_CLOEXEC),
		.tables_fd = memfd_create("maple-tables", MFD_CLOEXEC),
	};
	if (ftruncate(j->shm_fd, sizeof(*shm)))
		_exit(10);
	shm = mmap(NULL, sizeof(*shm), PROT_READ | PROT_WRITE, MAP_SHARED,
		   j->shm_fd, 0);
	if (shm == MAP_FAILED)
		_exit(11);
	order(shm);
	if (!maple_joiner_open(j, target, agent, &err))
		return;
	fprintf(stderr, "%s\n", err.text);
	_exit(12);
}

enum moment { LOADED, ENTERED, LEFT, MOMENTS };

/* Until @last, or again and again. */
static void join(enum moment last, int said)
{
	struct maple_error err = { "" };
	struct maple_joiner j;
	int e = 0;

	open_joiner(&j);
	do {
		e = maple_joiner_load(&j, &err);
		if (!e && last >= ENTERED)
			e = maple_joiner_enter(&j, sched_getcpu(), !geteuid(),
					       &err);
		if (!e && last == MOMENTS && write(said, "x", 1) == 1)
			usleep(STAY_US);
		if (last >= LEFT && maple_joiner_leave(&j, &err))
			e = -EPROTO;
		/* The joiner was killed; there is another one now. */
		if (e == -EPIPE && last == MOMENTS)
			e = 0;
	} while (!e && last == MOMENTS);
	if (e)
		fprintf(stderr, "%s\n", err.text);
	if (e || write(said, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The pids of @pid's children, with their own; they are few. */
static unsigned int family(pid_t pid, pid_t *pids, unsigned int n,
			   unsigned int most)
{
	char path[64];
	int child;
	FILE *file;

	if (n < most)
		pids[n++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1)
		n = family(child, pids, n, most);
	if (file)
		fclose(file);
	return n;
}

/* Who is killed: bits of maker, joiner and heir, as family() has them. */
enum { MAKER = 1, JOINER = 2, HEIR = 4, ALL = 7 };

/* At one moment: nobody does anything any more before it is killed. */
static void kill_some(pid_t maker, unsigned int whom)
{
	pid_t pids[16];
	unsigned int before = 0, n;

	while ((n = family(maker, pids, 0, 16)) != before) {
		for (unsigned int i = 0; i < n; i++)
			kill(pids[i], SIGSTOP);
		before = n;
		usleep(1000);
	}
	for (unsigned int i = 0; i < n; i++)
		kill(pids[i], whom == ALL || whom >> i & 1 ? SIGKILL : SIGCONT);
}

static void kill_all(pid_t maker)
{
	kill_some(maker, ALL);
	assert_int_equal(waitpid(maker, NULL, 0), maker);
}

/* ---- what is left ---- */

static bool has(const char *text)
{
	char path[64], line[4400];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", target);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return found;
}

/* Whether a thread is real-time, or not where it was. */
static bool is_scheduled(void)
{
	struct maple_levels levels = { 0 };
	bool is = false;

	maple_levels_keep(&levels, target);
	for (unsigned int i = 0; i < levels.n; i++)
		is |= (levels.level[i].policy & ~SCHED_RESET_ON_FORK) !=
			      SCHED_OTHER ||
		      !CPU_EQUAL(&levels.level[i].cpus, &cpus);
	return is;
}

static bool has_code(void)
{
	struct maple_call_by by;
	struct maple_call call;

	return maple_call_find(&call, target, &by);
}

static void check_mended(bool wanted)
{
	struct maple_error err = { "" };
	bool mended = false;

	if (maple_join_mend(target, &mended, &err))
		fail_msg("%s", err.text);
	assert_int_equal(mended, wanted);
	assert_false(has("memfd:maple"));
	assert_false(is_scheduled());
	assert_false(has_code());
	assert_true(answers_all());
	/* That was all. */
	assert_int_equal(maple_join_mend(target, &mended, &err), 0);
	assert_false(mended);
}

static pid_t begin_joining(enum moment last, int *said)
{
	int pair[2];
	pid_t maker;

	assert_int_equal(pipe(pair), 0);
	maker = fork();
	if (!maker)
		join(last, pair[1]);
	close(pair[1]);
	*said = pair[0];
	return maker;
}

static void kill_at(enum moment last)
{
	int said;
	pid_t maker = begin_joining(last, &said);
	char c;

	assert_int_equal(read(said, &c, 1), 1);
	close(said);
	kill_all(maker);
	/* Nobody has seen to it. */
	assert_true(has_code());
	assert_int_equal(has("memfd:maple-agent"), last != LEFT);
	assert_int_equal(is_scheduled(), last == ENTERED);
	check_mended(true);
}

static void test_loaded(void **state)
{
	kill_at(LOADED);
}

static void test_entered(void **state)
{
	kill_at(ENTERED);
}

static void test_left(void **state)
{
	kill_at(LEFT);
}

/* While it is joined for the first time, or when it has been. */
static void await(int said, unsigned int round, useconds_t moment)
{
	char c;

	if (round % 2)
		assert_int_equal(read(said, &c, 1), 1);
	usleep(moment);
}

/* Those who are left see to it. */
static void kill_one(unsigned int whom, unsigned int round, useconds_t moment)
{
	struct maple_error err = { "" };
	bool mended;
	int said;
	pid_t maker = begin_joining(MOMENTS, &said);

	await(said, round, moment);
	kill_some(maker, whom);
	close(said);
	if (!(whom & MAKER)) {
		usleep(moment);
		kill(maker, SIGKILL);
	}
	assert_int_equal(waitpid(maker, NULL, 0), maker);
	for (int tries = 0; tries < 6000; tries++) {
		if (!has_code() && !has("memfd:maple") && !is_scheduled())
			break;
		usleep(10000);
	}
	if (maple_join_mend(target, &mended, &err))
		fail_msg("%s", err.text);
	check_mended(false);
	if (mended)
		fail_msg("%u were killed after %u us, and the rest has left "
			 "something",
			 whom, moment);
}

static void test_some_are_killed(void **state)
{
	static const unsigned int kinds[] = { MAKER, JOINER, HEIR,
					      MAKER | JOINER };
	unsigned int rounds = getenv("MAPLE_FULL") ? ROUNDS_FULL : ROUNDS;

	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < 4; i++)
			kill_one(kinds[i], round,
				 (round * 4 + i) * (LAST_US / rounds / 4));
}

static void test_at_any_moment(void **state)
{
	unsigned int rounds = getenv("MAPLE_FULL") ? ROUNDS_FULL : ROUNDS_ALL;
	unsigned int had = 0, scheduled = 0;
	int said;
	pid_t maker;

	for (unsigned int round = 0; round < rounds; round++) {
		maker = begin_joining(MOMENTS, &said);
		await(said, round, round * (LAST_US / rounds));
		kill_all(maker);
		close(said);
		had += has_code();
		scheduled += is_scheduled();
		check_mended(has_code());
	}
	print_message("%u kills, after %u something was left, after %u "
		      "threads were scheduled by us\n",
		      rounds, had, scheduled);
	assert_true(had > rounds / 2);
}

/* Whoever is still at it is waited for. */
static void test_others_finish(void **state)
{
	struct maple_error err = { "" };
	bool mended;
	int said;
	pid_t maker = begin_joining(ENTERED, &said);
	char c;

	assert_int_equal(read(said, &c, 1), 1);
	close(said);
	/* Joiner and heir are there. */
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
	assert_int_equal(maple_join_mend(target, &mended, &err), 0);
	assert_false(has("memfd:maple"));
	assert_false(is_scheduled());
	check_mended(false);
}

/* What the process says of itself may be anything. */
static void test_a_process_may_lie(void **state)
{
	struct maple_error err = { "" };
	struct maple_join_state will;
	struct maple_call_by by;
	struct maple_call call;
	uint64_t at, size = 0;
	char path[64], line[4400];
	bool mended;
	int said;
	pid_t maker = begin_joining(ENTERED, &said);
	FILE *file;
	char c;

	assert_int_equal(read(said, &c, 1), 1);
	close(said);
	kill_all(maker);
	snprintf(path, sizeof(path), "/proc/%d/maps", target);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!size && fgets(line, sizeof(line), file))
		if (strstr(line, "memfd:maple (deleted)"))
			size = sscanf(line, "%lx-", &at) == 1;
	fclose(file);
	assert_true(size);
	at += offsetof(struct maple_shm, joined.will);
	assert_true(maple_memory_read(target, at, &will, sizeof(will)));
	assert_int_equal(will.pid, target);
	/* Levels of more threads than there can be: it is none. */
	will.levels.n = MAPLE_THREADS + 1;
	assert_true(maple_memory_write(target, at, &will, sizeof(will)));
	assert_int_equal(maple_join_mend(target, &mended, &err), 0);
	assert_true(!maple_call_find(&call, target, &by));
	assert_true(answers_all());
}

/* ---- around a test ---- */

static int begin(void **state)
{
	int to[2], from[2];

	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pipe2(to, O_CLOEXEC), 0);
		assert_int_equal(pipe2(from, O_CLOEXEC), 0);
		asked[i] = to[0];
		ask[i] = to[1];
		answer[i] = from[0];
		answers[i] = from[1];
	}
	sched_getaffinity(0, sizeof(cpus), &cpus);
	target = fork();
	if (!target)
		be_target();
	assert_true(answers_all());
	return 0;
}

static int end(void **state)
{
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	for (int i = 0; i < THREADS; i++) {
		close(asked[i]);
		close(ask[i]);
		close(answer[i]);
		close(answers[i]);
	}
	return 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		CASE(test_loaded),
		CASE(test_entered),
		CASE(test_left),
		CASE(test_at_any_moment),
		CASE(test_some_are_killed),
		CASE(test_others_finish),
		CASE(test_a_process_may_lie),
	};
	char self[PATH_MAX];

	signal(SIGPIPE, SIG_IGN);
	if (!realpath(argv[0], self))
		return 1;
	snprintf(agent, sizeof(agent), "%.4000s/../../libmaple-agent.so",
		 dirname(self));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
