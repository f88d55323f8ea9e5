// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads that fork again and again, for good. They have so many mappings to
 * copy, one after the other, that each takes half a second or more: who ends a
 * session has to do with children that were begun long before. Status 1 if one
 * is not scheduled as natively, by an ordinary policy on all CPUs.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS	 16
#define MAPPINGS 20000 /* 65530 is what the kernel allows */
#define PAGE	 4096

static int native(void)
{
	cpu_set_t set;

	return sched_getscheduler(0) == SCHED_OTHER &&
	       !sched_getaffinity(0, sizeof(set), &set) &&
	       CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN);
}

static void *forks(void *arg)
{
	int status;
	pid_t pid;

	for (;;) {
		pid = fork();
		if (pid == 0)
			_exit(!native());
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			_exit(1);
	}
}

int main(void)
{
	char *all = mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	/* Each second page of another kind: none can be merged. */
	for (long i = 0; i < MAPPINGS; i += 2)
		if (all == MAP_FAILED ||
		    mprotect(all + i * PAGE, PAGE, PROT_READ | PROT_WRITE))
			return 2;
	for (int i = 1; i < THREADS; i++)
		if (pthread_create(&thread, NULL, forks, NULL))
			return 2;
	forks(NULL);
}
