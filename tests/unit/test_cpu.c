// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Claims of a CPU: one campaign each, patience, and who gives up waiting. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
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
	struct maple_cpu cpus[64];

	assert_in_range(all, 1, 64);
	got = maple_cpu_take_some(cpus, all, 0, note, NULL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(a_signal_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
