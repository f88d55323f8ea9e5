// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The guard: what is started ends, whoever dies first. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/guard/launch.h"
#include "base/clock.h"

static int start(struct maple_launch *l, const char *script)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };
	struct maple_launch_order order = {
		.path = argv[0],
		.argv = argv,
		.envp = environ,
		.in = 0,
		.out = 1,
		.err = 2,
		.own_group = true,
	};

	return maple_launch_start(l, &order, NULL);
}

static void wait_end(struct maple_launch *l)
{
	struct pollfd pfd = { .fd = l->news, .events = POLLIN };
	int i;

	for (i = 0; i < 1000 && !maple_launch_ended(l); i++)
		poll(&pfd, 1, 10);
	assert_true(l->ended);
}

/* Whether @pid is gone, or a zombie that nobody has reaped yet. */
static bool gone(pid_t pid)
{
	char path[64], state = 'X';
	FILE *file;
	int i;

	for (i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		if (!file)
			return true;
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 'X';
		fclose(file);
		if (state == 'Z' || state == 'X')
			return true;
		usleep(10000);
	}
	return false;
}

static bool linger;

/* Runs a script that prints the pid of something it leaves behind. */
static pid_t left_behind(struct maple_launch *l, const char *script)
{
	char text[32] = "";
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };
	struct maple_launch_order order = { .path = argv[0],
					    .argv = argv,
					    .envp = environ };
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	order.out = fds[1];
	order.err = 2;
	order.own_group = true;
	order.linger = linger;
	assert_int_equal(maple_launch_start(l, &order, NULL), 0);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	close(fds[0]);
	assert_true(atoi(text) > 1);
	return atoi(text);
}

static void status_comes_back(void **state)
{
	struct maple_launch l;

	assert_int_equal(start(&l, "exit 7"), 0);
	wait_end(&l);
	assert_true(WIFEXITED(l.status));
	assert_int_equal(WEXITSTATUS(l.status), 7);
	maple_launch_finish(&l);

	assert_int_equal(start(&l, "kill -SEGV $$"), 0);
	wait_end(&l);
	assert_true(WIFSIGNALED(l.status));
	assert_int_equal(WTERMSIG(l.status), SIGSEGV);
	maple_launch_finish(&l);
}

static void exec_failure_is_told(void **state)
{
	char *argv[] = { "/nonexistent/program", NULL };
	struct maple_launch_order order = { .path = argv[0],
					    .argv = argv,
					    .envp = environ,
					    .in = 0,
					    .out = 1,
					    .err = 2 };
	struct maple_error err = { "" };
	struct maple_launch l;

	assert_int_equal(maple_launch_start(&l, &order, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/program"));
	order.path = "/etc/passwd";
	assert_int_equal(maple_launch_start(&l, &order, &err), -EACCES);
}

static void what_it_leaves_behind_dies(void **state)
{
	struct maple_launch l;
	pid_t pid;

	pid = left_behind(&l, "setsid sleep 60 & echo $!; exit 0");
	wait_end(&l);
	assert_true(gone(pid));
	maple_launch_finish(&l);
}

static void what_may_linger_lives_until_finish(void **state)
{
	struct maple_launch l;
	pid_t pid;

	linger = true;
	pid = left_behind(&l, "sleep 60 & echo $!; exit 3");
	wait_end(&l);
	assert_int_equal(WEXITSTATUS(l.status), 3);
	assert_true(maple_launch_left(&l));
	assert_false(kill(pid, 0));
	maple_launch_finish(&l);
	assert_true(gone(pid));
	left_behind(&l, "echo $$");
	wait_end(&l);
	while (maple_launch_left(&l))
		usleep(1000);
	maple_launch_finish(&l);
	linger = false;
}

static void finish_kills_what_ignores_signals(void **state)
{
	struct maple_launch l;
	pid_t pid;

	pid = left_behind(&l, "trap '' HUP INT TERM QUIT; echo $$; "
			      "while :; do sleep 1; done");
	assert_false(maple_launch_ended(&l));
	assert_false(kill(pid, 0));
	maple_launch_finish(&l);
	assert_true(gone(pid));
}

/* Whoever has the CPU that a killed process needs to die, for 3 s. */
static pid_t hog(int cpu, int priority)
{
	struct sched_param param = { priority };
	pid_t pid = fork();
	cpu_set_t set;

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	alarm(3);
	for (;;)
		;
}

static void finish_waits_for_who_dies_slowly(void **state)
{
	struct sched_param low = { 1 };
	char path[64];
	struct maple_launch l;
	cpu_set_t ours, last;
	int cpu = CPU_SETSIZE - 1, status;
	pid_t pid, other;

	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	while (!CPU_ISSET(cpu, &ours))
		cpu--;
	if (CPU_COUNT(&ours) < 2) {
		print_message("skipped: there is one CPU\n");
		skip();
	}
	CPU_ZERO(&last);
	CPU_SET(cpu, &last);
	pid = left_behind(&l, "echo $$; exec sleep 60");
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (sched_setaffinity(pid, sizeof(last), &last) ||
	    sched_setscheduler(pid, SCHED_FIFO, &low)) {
		maple_launch_finish(&l);
		print_message("skipped: no real-time priorities\n");
		skip();
	}
	CPU_XOR(&last, &ours, &last);
	sched_setaffinity(0, sizeof(last), &last);
	sched_setaffinity(l.guard, sizeof(last), &last);
	other = hog(cpu, 2);
	usleep(100000);
	maple_launch_finish(&l);
	assert_int_equal(access(path, F_OK), -1);
	maple_launch_dismiss();
	sched_setaffinity(0, sizeof(ours), &ours);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

static void killed_guard_takes_it_down(void **state)
{
	struct maple_launch l;
	pid_t pid;

	pid = left_behind(&l, "sleep 60 & echo $!; wait");
	kill(l.guard, SIGKILL);
	wait_end(&l);
	maple_launch_finish(&l);
	assert_true(gone(pid));
}

static void killed_maker_takes_it_down(void **state)
{
	struct maple_launch l;
	pid_t maker, pid;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	maker = fork();
	if (maker == 0) {
		pid = left_behind(&l, "setsid sleep 60 & echo $!; wait");
		if (write(fds[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
	assert_false(kill(pid, 0));
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
	assert_true(gone(pid));
	close(fds[0]);
	close(fds[1]);
}

/* What one run leaves behind is not there in the next of the same guard. */
static void the_guard_rests(void **state)
{
	struct maple_launch l, other;
	pid_t guard, pid;

	linger = true;
	pid = left_behind(&l, "sleep 60 & echo $!");
	guard = l.guard;
	wait_end(&l);
	assert_true(maple_launch_left(&l));
	maple_launch_finish(&l);
	assert_true(gone(pid));
	assert_false(kill(guard, 0));
	left_behind(&l, "sleep 60 & echo $!");
	assert_int_equal(l.guard, guard);
	assert_false(l.ended);
	/* Another order, another guard. */
	linger = false;
	assert_int_equal(start(&other, "exit 4"), 0);
	assert_int_not_equal(other.guard, guard);
	wait_end(&other);
	assert_int_equal(WEXITSTATUS(other.status), 4);
	maple_launch_finish(&other);
	maple_launch_finish(&l);
	assert_false(kill(guard, 0));
	maple_launch_dismiss();
	assert_true(gone(guard));
}

static void killed_while_it_rests(void **state)
{
	struct maple_launch l;
	pid_t guard;

	assert_int_equal(start(&l, "exit 5"), 0);
	guard = l.guard;
	wait_end(&l);
	maple_launch_finish(&l);
	kill(guard, SIGKILL);
	assert_true(gone(guard));
	assert_int_equal(start(&l, "exit 5"), 0);
	assert_int_not_equal(l.guard, guard);
	wait_end(&l);
	assert_int_equal(WEXITSTATUS(l.status), 5);
	maple_launch_finish(&l);
	maple_launch_dismiss();
}

/* When it ended is known, however late anybody asks. */
static void the_end_has_a_time(void **state)
{
	double began = maple_clock_now(), looked;
	struct maple_launch l;

	assert_int_equal(start(&l, ":"), 0);
	assert_int_equal(poll(&(struct pollfd){ l.news, POLLIN }, 1, 9999), 1);
	looked = maple_clock_now();
	wait_end(&l);
	assert_true(l.at > began && l.at <= looked);
	maple_launch_finish(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_comes_back),
		cmocka_unit_test(exec_failure_is_told),
		cmocka_unit_test(what_it_leaves_behind_dies),
		cmocka_unit_test(what_may_linger_lives_until_finish),
		cmocka_unit_test(finish_kills_what_ignores_signals),
		cmocka_unit_test(finish_waits_for_who_dies_slowly),
		cmocka_unit_test(killed_guard_takes_it_down),
		cmocka_unit_test(killed_maker_takes_it_down),
		cmocka_unit_test(the_guard_rests),
		cmocka_unit_test(killed_while_it_rests),
		cmocka_unit_test(the_end_has_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
