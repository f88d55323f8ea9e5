// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * where FILE: adds a line to FILE that tells what this process began with: the
 * address of main(), the number of open files, "none" if no signal is blocked,
 * "self" if libc and the kernel agree about the thread, "leads" if it leads a
 * process group, "quiet" if nobody said that it was forked; then, by two
 * threads, nothing that could go wrong. where FILE MS: takes its time.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n - 3; /* ".", ".." and the folder itself */
}

/* A mutex that knows its owner by the id that libc has of the thread. */
static int is_self(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	int owner;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutex_lock(&mutex);
	owner = mutex.__data.__owner;
	return owner == syscall(SYS_gettid) && owner == getpid() &&
	       pthread_mutex_lock(&mutex) == EDEADLK &&
	       !pthread_kill(pthread_self(), 0);
}

static void *work(void *unused)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "ae") : NULL;
	pthread_t t;
	sigset_t mask;

	if (!file)
		return 2;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	fprintf(file, "%p %d %s %s %s %s\n", (void *)main, open_files() - 1,
		sigisemptyset(&mask) ? "none" : "blocked",
		is_self() ? "self" : "other",
		getpgrp() == getpid() ? "leads" : "follows",
		getenv("FORKED") ? "told" : "quiet");
	fclose(file);
	if (argc > 2)
		usleep(atoi(argv[2]) * 1000);
	if (pthread_create(&t, NULL, work, NULL))
		return 3;
	work(NULL);
	pthread_join(t, NULL);
	return counter != 200;
}
