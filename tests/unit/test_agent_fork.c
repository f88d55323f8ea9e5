// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who has the run when a program forks before it has threads: the first to
 * create one. This test is its own program under test.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent_drive.h"

#define SLOW 30 /* seconds that nothing here may take */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int policy_there;

/* Whether the caller runs as it would without us. */
static bool is_native(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	/* The kernel's word: the agent tells the program what it likes. */
	syscall(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus);
	return (syscall(SYS_sched_getscheduler, 0) & 0xff) == SCHED_OTHER &&
	       CPU_COUNT(&cpus) == (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	policy_there = !is_native();
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Creates a thread; whether that was one of the run's. */
static bool has_run(void)
{
	pthread_t t;

	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return policy_there;
}

static int status_of(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* The child takes the run; the parent, and a second child, are native. */
static int scene_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(!is_native()  ? 21
		      : !has_run()  ? 22
		      : is_native() ? 23
				    : 0);
	status = status_of(pid);
	if (status)
		return status;
	pid = fork();
	if (!pid)
		_exit(!is_native() ? 24 : has_run() ? 25 : 0);
	status = status_of(pid);
	if (status)
		return status;
	return has_run() ? 26 : !is_native() ? 27 : 0;
}

/* As a daemon does it: forked twice. */
static int scene_daemon(void)
{
	pid_t pid = fork();

	if (pid)
		return status_of(pid);
	pid = fork();
	if (pid)
		_exit(status_of(pid));
	_exit(has_run() ? 0 : 31);
}

/* The parent is first. */
static int scene_parent(void)
{
	int fds[2], status;
	char go;
	pid_t pid;

	if (pipe(fds))
		return 41;
	pid = fork();
	if (!pid) {
		status = read(fds[0], &go, 1) != 1 ? 42 : 0;
		_exit(status ? status : has_run() || !is_native() ? 43 : 0);
	}
	status = !has_run() ? 44 : write(fds[1], "", 1) != 1 ? 45 : 0;
	return status ? status : status_of(pid);
}

static int play(const char *scene)
{
	if (!strcmp(scene, "child"))
		return scene_child();
	if (!strcmp(scene, "daemon"))
		return scene_daemon();
	return strcmp(scene, "parent") ? 98 : scene_parent();
}

/* The tests. */

static struct drive drive;
static uint64_t locks;

static void count_locks(struct drive *d, const struct maple_event *e)
{
	locks += e->kind == MAPLE_EV_LOCK && e->thread == 1;
}

static void check(const char *scene)
{
	char path[1024], *argv[] = { path, (char *)scene, NULL };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int status;

	assert_true(n > 0);
	path[n] = 0;
	locks = 0;
	drive_open(&drive);
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	drive.shm->cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	drive.event = count_locks;
	status = drive_run(&drive, argv, SLOW);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(drive.shm->nthreads, 2);
	assert_int_equal(drive.shm->settled, drive.shm->pid);
	assert_true(drive.shm->standbys > 0);
	assert_int_equal(drive.shm->stats.refused, 0);
	assert_int_equal(drive.kinds[MAPLE_EV_CREATE], 1);
	assert_int_equal(drive.kinds[MAPLE_EV_JOIN], 1);
	assert_int_equal(locks, 1);
	/* The first START was the parent's. */
	assert_int_equal(drive.kinds[MAPLE_EV_START], 2);
	assert_int_equal(drive.shm->thread[0].tid, drive.shm->pid);
	drive_close(&drive);
}

static void child_takes_over(void **state)
{
	check("child");
	check("daemon");
}

static void parent_was_first(void **state)
{
	check("parent");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_takes_over),
		cmocka_unit_test(parent_was_first),
	};

	if (argc > 1)
		return play(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
