// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * No bug: stages at which somebody outside can look at the levels of a
 * controlled run, in /proc (algorithms.md 10).
 *
 *	levels STAGE, or levels THREADS, of which each makes two steps
 *
 * Who runs writes a letter and its thread's id to standard output, and holds
 * still until SIGUSR1 is pending for its thread. It makes no point meanwhile:
 * nothing in SHOW() is an access to memory, and no call in it is interposed.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

/* Each letter is a thread's, and its name. */
#define SHOW(letter)                                                           \
	do {                                                                   \
		prctl(PR_SET_NAME, letter);                                    \
		dprintf(1, letter " %ld\n", syscall(SYS_gettid));              \
		while (syscall(SYS_rt_sigtimedwait, &answer, NULL, &now, 8) != \
		       SIGUSR1)                                                \
			;                                                      \
	} while (0)

static sigset_t answer;
static const struct timespec now;
static volatile int x, word;

static void step(void)
{
	x = x + 1;
}

/* Before its first point: it has no argument, and so no access. */
static void *born(void)
{
	SHOW("b");
	step();
	SHOW("c");
	return NULL;
}

static void *stepping(void *arg)
{
	step();
	SHOW("s");
	step();
	return arg;
}

/* It blocks where nobody is told. */
static void *on_a_futex(void *arg)
{
	step();
	prctl(PR_SET_NAME, "f");
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
	SHOW("f");
	step();
	SHOW("g");
	return arg;
}

static void *waking(void *arg)
{
	step();
	SHOW("w");
	while (syscall(SYS_futex, &word, FUTEX_WAKE, 1) != 1)
		sched_yield();
	SHOW("v");
	return arg;
}

/* By the machine's time, which no point ends. */
static void *sleeping(void *arg)
{
	static const struct timespec nap = { 0, 20000000 };

	step();
	prctl(PR_SET_NAME, "z");
	syscall(SYS_nanosleep, &nap, NULL);
	SHOW("z");
	step();
	return arg;
}

/* It stands for long. */
static void *standing(void *arg)
{
	for (int i = 0; i < 20000; i++)
		step();
	return arg;
}

/* It wakes up about when somebody else comes to see that it sleeps, or later. */
static void *dozing(void *arg)
{
	static struct timespec nap = { 0, 1000000 };

	for (int i = 0; i < 40; i++) {
		step();
		syscall(SYS_nanosleep, &nap, NULL);
		SHOW("d");
		nap.tv_nsec = i * 500;
	}
	return arg;
}

/* Answered when somebody has taken its priority, and has given it another. */
static void *computing(void *arg)
{
	step();
	SHOW("e");
	SHOW("h");
	step();
	return arg;
}

static void *forking(void *arg)
{
	int status;
	pid_t pid;

	step();
	SHOW("k");
	pid = fork();
	if (!pid)
		_exit(syscall(SYS_sched_getscheduler, 0) != SCHED_OTHER);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		abort();
	step();
	SHOW("l");
	step();
	return arg;
}

static void *exiting(void *arg)
{
	step();
	SHOW("x");
	exit(0);
}

static void run(void *(*const *start)(void *), int n)
{
	pthread_t thread[MOST];

	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, start[i], NULL))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*start[3])(void *);
	} stages[] = {
		{ "birth", { (void *)born, stepping } },
		{ "park", { stepping, stepping, stepping } },
		{ "futex", { on_a_futex, waking } },
		{ "sleep", { sleeping, standing, standing } },
		{ "doze", { dozing, standing } },
		{ "demoted", { computing, stepping, stepping } },
		{ "fork", { forking, stepping } },
		{ "exit", { exiting, exiting, exiting } },
	};
	void *(*start[MOST])(void *);
	const char *stage = argc > 1 ? argv[1] : "park";
	int n = atoi(stage);

	sigemptyset(&answer);
	sigaddset(&answer, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &answer, NULL);
	for (int i = 0; i < n && i < MOST; i++)
		start[i] = stepping;
	if (n > 0 && n <= MOST)
		run(start, n);
	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		if (!strcmp(stages[i].name, stage))
			run(stages[i].start, stages[i].start[2] ? 3 : 2);
	return 0;
}
