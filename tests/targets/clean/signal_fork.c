// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: signals sent to a thread, each acknowledged by its handler through a
 * semaphore, and a fork while that thread lives.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIGNALS = 5 };

static sem_t seen, leave;
static int handled; /* only the signalled thread's handler writes it */

static void handle(int signo)
{
	int saved = errno;

	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
	sem_post(&seen);
	errno = saved;
}

static void *receive(void *arg)
{
	while (sem_wait(&leave) != 0)
		assert(errno == EINTR);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle };
	pthread_t thread;
	int status;
	pid_t pid;

	sem_init(&seen, 0, 0);
	sem_init(&leave, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, receive, NULL);
	for (int i = 1; i <= SIGNALS; i++) {
		pthread_kill(thread, SIGUSR1);
		sem_wait(&seen);
		assert(__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == i);
	}
	pid = fork();
	if (pid == 0)
		_exit(7);
	assert(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		assert(errno == EINTR);
	assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	sem_post(&leave);
	pthread_join(thread, NULL);
	return 0;
}
