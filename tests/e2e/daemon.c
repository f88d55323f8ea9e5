// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A program whose threads live in a forked child, which has a bug: the one
 * thread takes away what the other one uses. With "leave" the parent ends at
 * once, as that of a daemon does; with "wait" it waits for the child and does
 * not say how that ended; with "idle" the child has no threads at all and
 * says how it runs; the parent's threads have no bug.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	int number;
};

static struct job first = { 1 };
static struct job *job = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seen;

static void *use_job(void *arg)
{
	seen = job->number; /* CRASH, if too late */
	return NULL;
}

static void *end_job(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 100000; i++)
		think += i;
	job = NULL;
	return NULL;
}

static void *count(void *arg)
{
	pthread_mutex_lock(&lock);
	seen++;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static int run(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t a, b;

	pthread_create(&a, NULL, one, NULL);
	pthread_create(&b, NULL, other, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}

static int show(void)
{
	struct sched_param param;
	cpu_set_t cpus;

	sched_getparam(0, &param);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("child: policy %d, priority %d, cpus %d\n",
	       sched_getscheduler(0), param.sched_priority, CPU_COUNT(&cpus));
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "wait";
	pid_t pid = fork();

	if (pid == 0)
		_exit(strcmp(how, "idle") ? run(use_job, end_job) : show());
	if (!strcmp(how, "leave"))
		return 0;
	waitpid(pid, NULL, 0);
	if (!strcmp(how, "idle"))
		return run(count, count);
	return 0;
}
