/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Erratic processes, for sessions to be on: each does one thing that a session
 * has to survive, until it is killed.
 */
#ifndef MAPLE_TESTS_ERRATIC_H
#define MAPLE_TESTS_ERRATIC_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "draw.h"
#include "labels.h"

static uint64_t target_word[512]; /* what it hits */
/* This program, and a copy of it that is root's and set-user-id, or NULL. */
static char *target_self, *target_raised;

static void target_nap(unsigned int most_us)
{
	usleep((useconds_t)draw(most_us + 1));
}

static void target_hit(void)
{
	hit(target_word, draw(1000), draw(4));
}

static void *target_brief(void *arg)
{
	hit(target_word, (uint64_t)(uintptr_t)arg, 2);
	return NULL;
}

static void target_threads(void)
{
	pthread_t thread[8];
	int n = 0;

	while (n < 8 && !pthread_create(&thread[n], NULL, target_brief, NULL))
		n++;
	while (n)
		pthread_join(thread[--n], NULL);
}

static void target_forks(void)
{
	pid_t pid = chance(4) ? vfork() : fork();

	if (!pid) {
		if (chance(3))
			execl(target_self, "erratic", "target", "brief", NULL);
		_exit(0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void target_sleep(void)
{
	target_nap(50000);
}

static void target_spin(void)
{
}

static void target_end(void)
{
	target_nap(100000);
	_exit(0);
}

static void target_crash(void)
{
	target_nap(50000);
	if (chance(2))
		abort();
	__builtin_trap();
}

static void target_execs(void)
{
	target_nap(50000);
	execl(target_self, "erratic", "target", chance(2) ? "execs" : "threads",
	      NULL);
}

static void target_raises(void)
{
	target_nap(100000);
	if (target_raised)
		execl(target_raised, "raised", NULL);
}

/* Its threads go on without the first of them. */
static void *target_rest(void *arg)
{
	for (;;) {
		target_threads();
		target_nap(20000);
	}
	return arg;
}

static void target_headless(void)
{
	pthread_t thread;

	target_nap(20000);
	pthread_create(&thread, NULL, target_rest, NULL);
	pthread_exit(NULL);
}

static void target_hidden(void)
{
	prctl(PR_SET_DUMPABLE, chance(2));
	target_nap(20000);
}

static void target_stops(void)
{
	target_nap(20000);
	raise(SIGSTOP);
}

static void target_moves(void)
{
	unshare(chance(2) ? CLONE_NEWUSER : CLONE_NEWNS | CLONE_NEWUSER);
	target_nap(20000);
}

static void target_group(void)
{
	unsigned int left = alarm(0);
	pid_t pid = fork();

	if (!pid) { /* it outlives its parent, in a session of its own */
		alarm(left);
		setsid();
		for (;;) {
			target_hit();
			target_nap(50000);
		}
	}
	target_nap(20000);
	_exit(0);
}

static const struct target_kind {
	const char *name;
	void (*act)(void); /* again and again, a hit before each */
} target_kinds[] = {
	{ "sleep", target_sleep },     { "threads", target_threads },
	{ "threads", target_threads }, { "forks", target_forks },
	{ "forks", target_forks },     { "spin", target_spin },
	{ "end", target_end },	       { "crash", target_crash },
	{ "execs", target_execs },     { "raises", target_raises },
	{ "raises", target_raises },   { "headless", target_headless },
	{ "hidden", target_hidden },   { "stops", target_stops },
	{ "moves", target_moves },     { "group", target_group },
	{ "brief", target_end },
};
#define TARGET_KINDS (sizeof(target_kinds) / sizeof(*target_kinds))

static _Noreturn void target_run(const struct target_kind *kind)
{
	unsigned int rest = (unsigned int)draw(3) * 20000;

	for (;;) {
		target_hit();
		kind->act();
		if (kind->act != target_spin)
			target_nap(rest);
	}
}

/* What is started by name, after an exec. */
static inline int target_main(const char *name)
{
	draw_seed((uint64_t)getpid());
	for (size_t i = 0; i < TARGET_KINDS; i++)
		if (!strcmp(target_kinds[i].name, name))
			target_run(&target_kinds[i]);
	return 2;
}

/* A child: one that sleeps, or any that leaves its CPU now and then. */
static inline pid_t target_fork(bool quiet)
{
	const struct target_kind *kind;
	pid_t pid;

	do
		kind = &target_kinds[quiet ? 0 : draw(TARGET_KINDS)];
	while (kind->act == target_spin);
	pid = fork();
	if (pid)
		return pid;
	close_range(3, ~0u, 0);
	draw_seed(draw_state + (uint64_t)getpid());
	if (chance(2))
		execl(target_self, "erratic", "target", kind->name, NULL);
	target_run(kind);
}

/* ---- code from a file that may change ---- */

static sigjmp_buf target_gone;

static void target_on_fault(int signo)
{
	siglongjmp(target_gone, signo);
}

/* Executes the code in @fd, a copy of our own file, until that is changed. */
static _Noreturn inline void target_mapped(int fd)
{
	size_t from = (uintptr_t)hit_labels - (uintptr_t)__ehdr_start;
	size_t at = from & ~4095ul;
	void (*code)(volatile uint64_t *, uint64_t);
	char *map = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 (off_t)at);

	close(fd);
	if (map == MAP_FAILED)
		_exit(0);
	signal(SIGBUS, target_on_fault);
	signal(SIGSEGV, target_on_fault);
	signal(SIGILL, target_on_fault);
	code = (void (*)(volatile uint64_t *, uint64_t))(uintptr_t)(map + from -
								    at);
	if (sigsetjmp(target_gone, 1))
		_exit(0);
	for (;;) {
		code(target_word, draw(1000));
		target_nap(2000);
	}
}

/* ---- the set-user-id program ---- */

/*
 * It has the rights of root: nobody but root may have a part in how it is
 * scheduled, or see what it does. It says into @book, which is root's, where
 * it was steered, and that it was there at all.
 */
static inline int raised_main(const char *book)
{
	uint64_t *page =
		mmap((void *)SECRET_PAGE, SECRET_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int policy = sched_getscheduler(0);
	FILE *file = fopen(book, "a");
	cpu_set_t cpus;

	if (!file || page == MAP_FAILED ||
	    sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	for (int i = 0; i < 100; i++) {
		page[0] = SECRET;
		hit(page, SECRET, 2);
		usleep(1000);
	}
	fprintf(file, "%s\n",
		policy != SCHED_OTHER || CPU_COUNT(&cpus) < 2 ||
				sched_getscheduler(0) != SCHED_OTHER
			? "steered"
			: "free");
	return fclose(file);
}

#endif
