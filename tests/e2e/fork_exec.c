// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Forks children while its threads work. One child only exits, the others
 * execute this program again, which says under which policy, priority and how
 * many CPUs it runs: as a native child would.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static int show(void)
{
	struct sched_param param;
	cpu_set_t cpus;

	sched_getparam(0, &param);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("child: policy %d, priority %d, cpus %d\n",
	       sched_getscheduler(0), param.sched_priority, CPU_COUNT(&cpus));
	return 0;
}

static void *work(void *arg)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int status, bad = 0;
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return show();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (pid == 0) {
			if (i > 0)
				execl("/proc/self/exe", argv[0], "child", NULL);
			_exit(i > 0);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		bad += status != 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("counted %ld, %d children failed\n", counter, bad);
	return bad;
}
