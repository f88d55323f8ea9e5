// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the warden does for who has joined a process, and what it refuses. That
 * a process has become another user's takes root.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/uapi.h>
#include "backend/guard/door.h"
#include "backend/process.h"
#include "backend/guard/warden.h"

#define NOBODY 65534

/* ---- a process that is joined ---- */

static pid_t target;
static int pidfd, command[2], said[2];

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* It does what it is told, a letter each, and says when it has. */
static void be_target(void)
{
	pthread_t thread;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	for (;;) {
		if (write(said[1], "y", 1) != 1 || read(command[0], &c, 1) != 1)
			_exit(0);
		if (c == 'e')
			execl("/bin/sleep", "sleep", "60", NULL);
		if (c == 'u' && setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
	}
}

static void hear(void)
{
	char c;

	assert_int_equal(read(said[0], &c, 1), 1);
}

static int begin(void **state)
{
	struct maple_identity identity;
	struct maple_error err;

	assert_int_equal(pipe2(command, O_CLOEXEC), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	target = fork();
	if (!target)
		be_target();
	hear();
	pidfd = (int)syscall(SYS_pidfd_open, target, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(maple_identify(target, pidfd, &identity), 0);
	assert_int_equal(maple_door_warden(target, pidfd, &identity, &err), 0);
	free(identity.rights);
	return 0;
}

static int end(void **state)
{
	maple_door_close();
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	close(pidfd);
	for (int i = 0; i < 2; i++) {
		close(command[i]);
		close(said[i]);
	}
	return 0;
}

static pid_t warden_of(pid_t parent)
{
	pid_t child[8];
	unsigned int n = maple_process_children(parent, parent, child, 8);
	char path[64], comm[32];
	FILE *file;

	while (n--) {
		snprintf(path, sizeof(path), "/proc/%d/comm", child[n]);
		file = fopen(path, "re");
		if (file && fgets(comm, sizeof(comm), file) &&
		    !strcmp(comm, "maple-warden\n")) {
			fclose(file);
			return child[n];
		}
		if (file)
			fclose(file);
	}
	return 0;
}

static char state_of(pid_t pid)
{
	char state = '?';
	uint64_t ns;

	maple_process_cpu(pid, pid, &ns, &state);
	return state;
}

static void await_state(pid_t pid, const char *states)
{
	struct timespec pause = { 0, 1000000 };

	for (int ms = 0; ms < 20000; ms++) {
		if (strchr(states, state_of(pid)))
			return;
		nanosleep(&pause, NULL);
	}
	fail_msg("state %c, not %s", state_of(pid), states);
}

static bool opens(const char *name)
{
	int fd = maple_door_open(target, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ---- what it does ---- */

static void opens_what_a_campaign_reads(void **state)
{
	static const char *const names[] = { "maps", "mem", "status", "timers",
					     "exe" };
	char line[512], name[64], path[MAPLE_DOOR_PATH], other[MAPLE_DOOR_PATH];
	unsigned long lo, hi;
	struct stat st, self;
	FILE *maps;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(opens(names[i]));
	assert_int_equal(maple_door_stat(target, "exe", &st), 0);
	assert_int_equal(stat("/proc/self/exe", &self), 0);
	assert_true(st.st_dev == self.st_dev && st.st_ino == self.st_ino);
	maps = maple_door_read(target, "maps");
	assert_non_null(maps);
	/* What a sanitizer has below the program is no file's. */
	do {
		assert_non_null(fgets(line, sizeof(line), maps));
	} while (!strstr(line, "/test_warden\n"));
	fclose(maps);
	assert_int_equal(sscanf(line, "%lx-%lx", &lo, &hi), 2);
	snprintf(name, sizeof(name), "map_files/%lx-%lx", lo, hi);
	assert_int_equal(maple_door_path(target, name, path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_dev == self.st_dev && st.st_ino == self.st_ino);
	/* Each file once, however often it is asked for. */
	assert_int_equal(maple_door_path(target, "exe", other), 0);
	assert_string_equal(path, other);
}

static void tells_what_threads_wait_for(void **state)
{
	pid_t tids[8];
	int n = maple_process_threads(target, tids, 8);

	assert_int_equal(n, 2);
	for (int i = 0; i < n; i++)
		while (maple_process_wait(target, tids[i], NULL) !=
		       MAPLE_WAIT_OTHER)
			assert_true(maple_process_has(target, tids[i]));
}

static void stops_and_lets_go(void **state)
{
	struct maple_stopped *at = calloc(MAPLE_STOP_MOST, sizeof(*at));

	for (int i = 0; i < 3; i++) {
		assert_int_equal(maple_door_stop(target, at), 2);
		assert_int_equal(at[0].tid, target);
		assert_true(at[0].known && at[0].regs.rip && at[1].known);
		assert_int_equal(state_of(target), 't');
		maple_door_let_go(target, at, 2);
		await_state(target, "S");
	}
	free(at);
}

/* ---- what it does not ---- */

static void refuses_other_names(void **state)
{
	static const char *const names[] = {
		"environ",
		"cwd",
		"root",
		"fd/0",
		"task",
		"../1/maps",
		"",
		"maps/",
		"./maps",
		"mem ",
		"map_files",
		"map_files/0-1/../../mem",
		"map_files/ 400000-401000",
		"task/1/syscall/../../../mem",
		"task/-1/syscall",
		"task/01/syscall",
		"attr/current",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		errno = 0;
		assert_false(opens(names[i]));
		assert_int_equal(errno, EINVAL);
	}
	/* A thread of another process is none of this one. */
	assert_false(opens("task/1/syscall"));
	assert_true(opens("maps"));
}

static void refuses_what_is_no_question(void **state)
{
	struct maple_warden_question question = { .op = 99 };
	struct maple_identity identity;
	struct maple_warden_answer answer;
	int pair[2];
	pid_t pid;

	assert_int_equal(maple_identify(target, pidfd, &identity), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		maple_warden_serve(pair[1], target, pidfd, &identity);
	}
	close(pair[1]);
	free(identity.rights);
	assert_int_equal(send(pair[0], &question, sizeof(question), 0),
			 sizeof(question));
	assert_int_equal(recv(pair[0], &answer, sizeof(answer), 0),
			 sizeof(answer));
	assert_int_equal(answer.error, -EINVAL);
	/* Less than it says, less than a head, a name without an end. */
	question.op = MAPLE_WARDEN_OPEN;
	question.size = 5;
	send(pair[0], &question, sizeof(question), 0);
	recv(pair[0], &answer, sizeof(answer), 0);
	assert_int_equal(answer.error, -EINVAL);
	answer.error = 0;
	send(pair[0], &question, 3, 0);
	recv(pair[0], &answer, sizeof(answer), 0);
	assert_int_equal(answer.error, -EINVAL);
	answer.error = 0;
	question.size = 0;
	memset(question.name, 'm', sizeof(question.name));
	send(pair[0], &question, sizeof(question), 0);
	recv(pair[0], &answer, sizeof(answer), 0);
	assert_int_equal(answer.error, -EINVAL);
	close(pair[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void assert_refuses(int e)
{
	struct maple_stopped *at = calloc(MAPLE_STOP_MOST, sizeof(*at));

	errno = 0;
	assert_false(opens("maps"));
	assert_int_equal(errno, e);
	errno = 0;
	assert_false(opens("mem"));
	assert_int_equal(errno, e);
	assert_int_equal(maple_door_stop(target, at), 0);
	free(at);
}

static void refuses_another_program(void **state)
{
	assert_int_equal(write(command[1], "e", 1), 1);
	for (int ms = 0; opens("maps") && ms < 20000; ms++)
		usleep(1000);
	assert_refuses(EPERM);
	await_state(target, "SR");
}

static void refuses_other_rights(void **state)
{
	if (geteuid()) {
		print_message("not root: a process cannot get other rights\n");
		skip();
	}
	assert_int_equal(write(command[1], "u", 1), 1);
	hear();
	assert_refuses(EPERM);
	await_state(target, "SR");
}

static void refuses_the_dead(void **state)
{
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	assert_false(opens("maps"));
	assert_false(opens("exe"));
}

/* ---- when one of them dies ---- */

static void its_end_is_told(void **state)
{
	struct maple_door_answer answer;
	struct maple_error err = { "" };
	struct maple_stopped *at = calloc(MAPLE_STOP_MOST, sizeof(*at));
	pid_t warden;

	assert_int_equal(maple_door_stop(target, at), 2);
	warden = warden_of(getpid());
	assert_true(warden > 0);
	kill(warden, SIGKILL);
	await_state(target, "S"); /* it was stopped for a dead one */
	errno = 0;
	assert_false(opens("maps"));
	assert_int_equal(maple_door_module(1, MAPLE_CMD_INFO, NULL, 0, -1,
					   &answer, &err),
			 -ECONNRESET);
	assert_non_null(strstr(err.text, "run it again"));
	free(at);
}

static void who_asks_is_killed(void **state)
{
	struct maple_identity identity;
	struct maple_stopped *at = calloc(MAPLE_STOP_MOST, sizeof(*at));
	struct maple_error err;
	pid_t asker, warden;
	int ends[2];
	char c;

	maple_door_close();
	assert_int_equal(maple_identify(target, pidfd, &identity), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	asker = fork();
	if (!asker) {
		if (maple_door_warden(target, pidfd, &identity, &err) ||
		    maple_door_stop(target, at) != 2 ||
		    write(ends[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &c, 1), 1);
	warden = warden_of(asker);
	assert_true(warden > 0);
	assert_int_equal(state_of(target), 't');
	kill(asker, SIGKILL);
	waitpid(asker, NULL, 0);
	await_state(target, "S");
	for (int ms = 0; state_of(warden) != '?' && state_of(warden) != 'Z';
	     ms++) {
		assert_true(ms < 20000);
		usleep(1000);
	}
	free(identity.rights);
	free(at);
	close(ends[0]);
	close(ends[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(opens_what_a_campaign_reads),
		TEST(tells_what_threads_wait_for),
		TEST(stops_and_lets_go),
		TEST(refuses_other_names),
		TEST(refuses_what_is_no_question),
		TEST(refuses_another_program),
		TEST(refuses_other_rights),
		TEST(refuses_the_dead),
		TEST(its_end_is_told),
		TEST(who_asks_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
