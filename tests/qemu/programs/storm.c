// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads, processes and programs in quick succession, for a session to keep
 * up with: 1000 threads, or as many as said, ten at a time, each tenth of which
 * forks, vforks or runs a program. Status 1 if a forked process does not have
 * what the program had natively, an ordinary policy and all CPUs.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 10

static char *self;

/* Whether the caller is scheduled as nobody's target is. */
static int native(void)
{
	cpu_set_t set;

	return sched_getscheduler(0) == SCHED_OTHER &&
	       !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN);
}

static int run(int how)
{
	char *const argv[] = { self, "check", NULL };
	int status = -1;
	pid_t pid;

	pid = how == 1 ? vfork() : fork();
	if (pid == 0) {
		if (how)
			execv(self, argv);
		_exit(how ? 127 : !native());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return status != 0;
}

static void *thread(void *arg)
{
	long i = (long)arg;

	return (void *)(long)(i % 10 ? 0 : run(i / 10 % 3));
}

int main(int argc, char **argv)
{
	pthread_t threads[AT_ONCE];
	long bad = 0, n;
	void *value;

	if (argc > 1 && !strcmp(argv[1], "check"))
		return !native();
	self = argv[0];
	n = argc > 1 ? atol(argv[1]) : 1000;
	for (long i = 0; i < n; i += AT_ONCE) {
		for (long k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, thread,
					   (void *)(i + k)))
				return 2;
		for (long k = 0; k < AT_ONCE; k++) {
			pthread_join(threads[k], &value);
			bad += value != NULL;
		}
	}
	return bad != 0;
}
