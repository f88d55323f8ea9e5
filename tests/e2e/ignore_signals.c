// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Blocks every signal in every thread and ignores those that can be ignored.
 * Without an argument it works for a moment and ends; with 'loop' or 'sleep'
 * it does that for ever, and only SIGKILL helps.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *count(void *arg)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t threads[2];
	sigset_t all;

	for (int signo = 1; signo < NSIG; signo++)
		if (signo != SIGCHLD)
			signal(signo, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	while (strcmp(what, "loop") == 0)
		counter++;
	while (strcmp(what, "sleep") == 0)
		sleep(1000);
	printf("counted %ld\n", counter);
	return 0;
}
