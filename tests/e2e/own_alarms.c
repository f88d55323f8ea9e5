// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Raises its own alarms, 1,000 a second in real time and as many in CPU time,
 * while its threads work and main sleeps. With 'slowly' main sleeps for a
 * second, so that there is time to kill it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t alarms;
static long counter;

static void tick(int signo)
{
	alarms = alarms + 1;
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
	struct itimerval each = { { 0, 1000 }, { 0, 1000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = tick };
	struct timespec nap = { argc > 1, 20000000 };
	pthread_t threads[3];

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
	setitimer(ITIMER_PROF, &each, NULL);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	while (nanosleep(&nap, &nap) != 0 && errno == EINTR)
		;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	setitimer(ITIMER_PROF, &never, NULL);
	printf("counted %ld, %s\n", counter, alarms > 0 ? "alarmed" : "quiet");
	return alarms == 0;
}
