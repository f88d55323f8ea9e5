// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Claims of a CPU: one campaign each, patience, and who gives up waiting. */
#include <errno.h>
#include <maple/wire.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/cpu.h"

static unsigned int notices;

static void note(void *ctx, const char *text)
{
	notices++;
}

/* Other campaigns on this machine may have some of the CPUs already. */
static unsigned int take_all(struct maple_cpu *cpus, unsigned int max)
{
	cpu_set_t before;
	unsigned int n = 0;

	sched_getaffinity(0, sizeof(before), &before);
	while (n < max) {
		assert_int_equal(maple_cpu_take(&cpus[n], 0, note, NULL), 0);
		sched_setaffinity(0, sizeof(before), &before);
		if (cpus[n++].shared)
			break;
	}
	return n;
}

static void give_all(struct maple_cpu *cpus, unsigned int n)
{
	while (n-- > 0)
		maple_cpu_give_back(&cpus[n]);
}

static void each_has_its_own(void **state)
{
	struct maple_cpu cpus[64];
	unsigned int n = take_all(cpus, 64), i, j;

	assert_in_range(n, 1, 63);
	assert_true(cpus[n - 1].shared);
	for (i = 0; i + 1 < n; i++) {
		assert_false(cpus[i].shared);
		for (j = 0; j < i; j++)
			assert_int_not_equal(cpus[i].number, cpus[j].number);
	}
	give_all(cpus, n);
}

/* All CPUs that are to be had, and no thread of ours is locked out. */
static void several_at_once(void **state)
{
	int all = maple_cpu_count(), got, i, j;
	const struct maple_patience none = { 0, note, NULL, NULL };
	struct maple_cpu cpus[64];

	assert_in_range(all, 1, 64);
	got = maple_cpu_take_some(cpus, all, &none);
	assert_in_range(got, 1, all);
	for (i = 0; i < got; i++) {
		for (j = 0; j < i; j++)
			assert_int_not_equal(cpus[i].number, cpus[j].number);
		assert_int_equal(cpus[i].alone, CPU_COUNT(&cpus[i].rest) == 0);
		assert_false(CPU_ISSET(cpus[i].number, &cpus[i].rest));
	}
	/* CPU 0 comes last. */
	for (i = 0; i + 1 < got; i++)
		assert_int_not_equal(cpus[i].number, 0);
	give_all(cpus, got);
}

static void patience_ends(void **state)
{
	struct maple_cpu cpus[64], one;
	unsigned int n = take_all(cpus, 64);

	notices = 0;
	assert_int_equal(maple_cpu_take(&one, 0.2, note, NULL), 0);
	/* Unless somebody else's came free meanwhile. */
	if (one.shared)
		assert_int_equal(notices, 2);
	maple_cpu_give_back(&one);
	give_all(cpus, n);
}

static char said[2][512];

static void say(void *ctx, const char *text)
{
	if (!*said[0])
		snprintf(said[0], sizeof(said[0]), "%s", text);
}

static void say_long(void *ctx, const char *text)
{
	snprintf(said[1], sizeof(said[1]), "%s", text);
}

/* Whoever waits hears of whom, and for how long; after a while in any case. */
static void the_holder_is_named(void **state)
{
	const struct maple_patience patience = { 6, say, say_long, NULL };
	struct maple_cpu cpus[64], one;
	char who[32], all;
	int status, told[2];
	pid_t holder;

	assert_int_equal(pipe(told), 0);
	holder = fork();
	if (!holder) {
		take_all(cpus, 64);
		if (write(told[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(told[0], &all, 1), 1);
	close(told[0]);
	close(told[1]);
	assert_int_equal(maple_cpu_take_some(&one, 1, &patience), 1);
	kill(holder, SIGKILL);
	waitpid(holder, &status, 0);
	maple_cpu_give_back(&one);
	snprintf(who, sizeof(who), ": process %d of user ", holder);
	assert_non_null(strstr(said[0], "waiting up to 6 s"));
	assert_non_null(strstr(said[0], who));
	assert_non_null(strstr(said[0], "test_cpu"));
	assert_string_equal(said[0], said[1]);
}

static void on_alarm(int signo)
{
}

static void a_signal_ends_the_wait(void **state)
{
	struct sigaction action = { .sa_handler = on_alarm,
				    .sa_flags = SA_RESTART };
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } }, off = { 0 };
	struct maple_cpu cpus[64], one;
	unsigned int n = take_all(cpus, 64);
	int ret;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	ret = maple_cpu_take(&one, 600, note, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	assert_true(ret == -EINTR || (ret == 0 && !one.shared));
	if (!ret)
		maple_cpu_give_back(&one);
	give_all(cpus, n);
}

/*
 * Nobody else's campaign is here to have the CPUs: names of sockets are a
 * network namespace's, and what mapled lends is in a folder. Who may not have
 * his own of both meets the others, which is why most tests bear them.
 */
static void keep_apart(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS))
		return;
	mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	mount("none", MAPLE_WIRE_LEASES, "tmpfs", 0, NULL);
}

static unsigned int asked;

static bool was_asked(void)
{
	return ++asked == 3;
}

/* One that nothing slept through when it came. */
static void a_signal_that_came_before_ends_it_too(void **state)
{
	const struct maple_patience patience = { 600, note, NULL, NULL,
						 was_asked };
	struct maple_cpu cpus[64], one;
	unsigned int n = take_all(cpus, 64);
	int ret = maple_cpu_take_some(&one, 1, &patience);

	/* Another campaign may have given one back meanwhile. */
	assert_true(ret == -EINTR ? asked == 3 : ret == 1 && !one.shared);
	if (ret == 1)
		maple_cpu_give_back(&one);
	give_all(cpus, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(the_holder_is_named),
		cmocka_unit_test(a_signal_ends_the_wait),
		cmocka_unit_test(a_signal_that_came_before_ends_it_too),
	};

	keep_apart();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
