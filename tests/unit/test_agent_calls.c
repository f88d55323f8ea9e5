// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * tests/e2e/calls under the agent, in every mode and schedule, with and
 * without the right to real-time priorities: its output is the native one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <linux/capability.h>
#include <cmocka.h>
#include "agent_drive.h"

#define SLOW 60 /* seconds that no run may take */

static struct drive drive;
static char program[1024], native[4096];
static size_t native_size;

static char *const argv_of[] = { program, NULL };

static void run_native(void)
{
	int out = memfd_create("out", MFD_CLOEXEC), status;
	ssize_t n;
	pid_t pid = fork();

	assert(pid >= 0);
	if (!pid) {
		dup2(out, 1);
		execv(program, argv_of);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	n = pread(out, native, sizeof(native), 0);
	assert_in_range(n, 100, sizeof(native) - 1);
	native_size = n;
	close(out);
}

static void run_same(unsigned int mode, unsigned int sched, uint64_t seed)
{
	static char ours[sizeof(native)];

	drive.shm->mode = mode;
	drive.shm->sched = sched;
	drive.shm->seed = seed;
	drive.shm->budget = 1000;
	drive.shm->cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	strcpy(drive.shm->exe, "calls");
	drive.out = memfd_create("out", MFD_CLOEXEC);
	assert_int_equal(drive_run(&drive, argv_of, SLOW), 0);
	memset(ours, 0, sizeof(ours));
	assert_int_equal(pread(drive.out, ours, sizeof(ours), 0), native_size);
	assert_string_equal(ours, native);
	close(drive.out);
	assert_int_equal(drive.shm->nthreads, 14);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_REPLACED);
}

/* What the program does a fixed number of times is seen as often. */
static void test_observed(void **state)
{
	const uint64_t *kinds = drive.kinds;
	unsigned int sched;

	for (sched = MAPLE_SCHEDULE_NATIVE; sched < MAPLE_SCHEDULE_PLAN;
	     sched++) {
		run_same(MAPLE_SHM_OBSERVE, sched, sched + 1);
		assert_int_equal(kinds[MAPLE_EV_CREATE], 13);
		assert_int_equal(kinds[MAPLE_EV_START], 14);
		assert_int_equal(kinds[MAPLE_EV_EXIT], 13);
		assert_int_equal(kinds[MAPLE_EV_JOIN], 12);
		assert_int_equal(kinds[MAPLE_EV_BARRIER_IN], 4);
		assert_int_equal(kinds[MAPLE_EV_BARRIER_OUT], 4);
		assert_int_equal(kinds[MAPLE_EV_POST], 7);
		assert_int_equal(kinds[MAPLE_EV_TAKE], 7);
		assert_int_equal(kinds[MAPLE_EV_WAIT], kinds[MAPLE_EV_WAKE]);
		assert_int_equal(kinds[MAPLE_EV_LOCK], kinds[MAPLE_EV_UNLOCK]);
		assert_in_range(kinds[MAPLE_EV_LOCK], 4400, 5400);
		assert_int_equal(kinds[MAPLE_EV_ALLOC], 0);
		assert_in_range(kinds[MAPLE_EV_FREE], 8000, 9000);
	}
}

static void test_scheduled(void **state)
{
	unsigned int seed;

	for (seed = 1; seed <= 4; seed++)
		run_same(MAPLE_SHM_SCHED, MAPLE_SCHEDULE_PCT, seed);
	assert_int_equal(drive.kinds[MAPLE_EV_ALLOC], 0);
	drive.shm->names = true;
	run_same(MAPLE_SHM_SCHED, MAPLE_SCHEDULE_PCT, 5);
	drive.shm->names = false;
	assert_in_range(drive.kinds[MAPLE_EV_ALLOC], 8000, 9000);
}

/* Priorities are refused then, and counted; all else works as before. */
static void test_unprivileged(void **state)
{
	if (geteuid() == 0)
		assert_int_equal(prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0),
				 0);
	run_same(MAPLE_SHM_OBSERVE, MAPLE_SCHEDULE_OLDER, 1);
	assert_true(drive.shm->stats.refused > 0);
	assert_int_equal(drive.shm->stats.refused_errno, EPERM);
	assert_int_equal(drive.kinds[MAPLE_EV_EXIT], 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_observed),
		cmocka_unit_test(test_scheduled),
		cmocka_unit_test(test_unprivileged),
	};

	drive_open(&drive);
	strcpy(program, drive.agent);
	strcpy(strrchr(program, '/'), "/tests/e2e/calls");
	run_native();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
