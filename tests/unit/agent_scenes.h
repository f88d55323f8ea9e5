/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Scenes for the agent's unit test, which plays them itself where a small
 * program will do: functions whose accesses it knows by name.
 */
#ifndef AGENT_SCENES_H
#define AGENT_SCENES_H

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int shared, seen, spins;

NOTE void *write_it(void *arg)
{
	shared = 1;
	return NULL;
}

NOTE void *sleep_and_write(void *arg)
{
	usleep(1000);
	return write_it(arg);
}

NOTE void *read_it(void *arg)
{
	seen = shared;
	return NULL;
}

/* One instruction, which reads the flags, and leaves RAX alone. */
NOTE uint64_t bump(volatile int *at)
{
	uint64_t rax = 0x7777;

	asm volatile("stc\n\tadcl $0, (%1)"
		     : "+a"(rax)
		     : "D"(at)
		     : "cc", "memory");
	return rax;
}

NOTE int touch(volatile int *at)
{
	return *at + 1;
}

NOTE void turn(volatile int *at, int times)
{
	ROLLED
	for (int i = 0; i < times; i++) {
		int was = *at;

		__asm__ volatile("" : "+r"(was)); /* a read and a write */
		*at = was + i;
	}
}

/* Calls, not instructions: the size is not known here. */
NOTE void copy(volatile int *size, int times)
{
	static char from[64], to[64];

	ROLLED
	for (int i = 0; i < times; i++) {
		memcpy(to, from, *size);
		/* What is copied, and the copy, are somebody's. */
		__asm__ volatile("" : : "r"(from), "r"(to) : "memory");
	}
}

/* The second thread has the quiet call speak again. */
static int scene_copy(void)
{
	pthread_t t;

	shared = 40;
	copy(&shared, 1000);
	pthread_create(&t, NULL, read_it, NULL);
	pthread_join(t, NULL);
	copy(&shared, 1000);
	return 0;
}

/* Again in a thread that is the only one then, and in the second of two. */
static void *turn_it(void *arg)
{
	turn(arg, 10000);
	return NULL;
}

static int scene_turn_again(void)
{
	static volatile int other;
	pthread_t a, b;

	shared = 0;
	turn(&shared, 10000);
	pthread_create(&a, NULL, turn_it, (void *)&shared);
	pthread_join(a, NULL);
	pthread_create(&a, NULL, turn_it, (void *)&shared);
	pthread_create(&b, NULL, turn_it, (void *)&other);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return shared != 3 * 49995000 || other != 49995000;
}

static sem_t written;

/* The second write is at a site that no plan knows. */
NOTE void write_other(volatile int *at)
{
	*at = 2;
}

static void *write_twice(void *arg)
{
	write_it(arg);
	write_other(&shared);
	sem_post(&written);
	return NULL;
}

static void *read_when_written(void *arg)
{
	sem_wait(&written);
	return read_it(arg);
}

/* As often as @times to @aside, and then where others look. */
NOTE void put(volatile int *aside, int value, volatile size_t *size, int times)
{
	volatile int *to = aside;

	ROLLED
	for (int i = 0; i <= times; i++) {
		if (i == times) {
			sem_post(&written);
			to = &shared;
		}
		memcpy((void *)to, &value, *size);
	}
}

static void *write_and_put(void *arg)
{
	static volatile size_t size = sizeof(int);
	static volatile int aside;

	write_it(arg);
	put(&aside, 2, &size, 5000);
	return NULL;
}

static void *read_late(void *arg)
{
	sem_wait(&written);
	usleep(100000);
	return read_it(arg);
}

static int scene_pair(void *(*first)(void *), void *(*second)(void *))
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t a, b;

	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 10 + seen;
}

static void *bump_it(void *arg)
{
	bump(&shared);
	return NULL;
}

/* One that two functions call, which one thread calls one after the other. */
NOTE int get_it(void)
{
	return shared;
}

NOTE int ask_first(void)
{
	return get_it() + 1;
}

NOTE int ask_second(void)
{
	return get_it() + 2;
}

NOTE void *ask_both(void *arg)
{
	int sum = ask_first();

	sum += ask_second();
	seen = sum;
	return NULL;
}

static int scene_bump(void)
{
	scene_pair(bump_it, bump_it);
	return 10 + shared;
}

static int scene_hot_after(void)
{
	int result = scene_pair(write_it, read_it);

	shared = 0;
	turn(&shared, 10000);
	return shared == 49995000 ? result : 99;
}

static sigjmp_buf back;
static volatile uint64_t fault_pc, fault_addr;

static void on_fault(int signo, siginfo_t *info, void *ctx)
{
	const ucontext_t *uc = ctx;

	fault_pc = uc->uc_mcontext.gregs[REG_RIP];
	fault_addr = (uint64_t)info->si_addr;
	siglongjmp(back, 1);
}

/* The program's own handler sees the program's own PC, again and again. */
static int scene_handler(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO };
	uint64_t fn = (uint64_t)touch;

	sigaction(SIGSEGV, &sa, NULL);
	for (volatile int i = 0; i < 3; i++) {
		fault_pc = 0;
		if (!sigsetjmp(back, 1))
			return touch((int *)0x123) ? 20 : 21;
		if (fault_pc < fn || fault_pc > fn + 32 || fault_addr != 0x123)
			return 22;
	}
	return touch(&shared) == 1 ? 0 : 23;
}

static volatile uint64_t fault_flags, fault_rax;

static void on_guard(int signo, siginfo_t *info, void *ctx)
{
	const greg_t *regs = ((const ucontext_t *)ctx)->uc_mcontext.gregs;

	fault_pc = regs[REG_RIP];
	fault_flags = regs[REG_EFL];
	fault_rax = regs[REG_RAX];
	mprotect(info->si_addr, 4096, PROT_READ | PROT_WRITE);
}

/* A handler that gives way: the instruction is executed once, from its start. */
static int scene_guarded(int prot)
{
	struct sigaction sa = { .sa_sigaction = on_guard,
				.sa_flags = SA_SIGINFO };
	uint64_t fn = (uint64_t)bump;
	volatile int *page;

	sigaction(SIGSEGV, &sa, NULL);
	page = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bump(page) != 0x7777 || *page != 1)
		return 20;
	if (fault_pc < fn || fault_pc > fn + 64)
		return 21;
	if (!(fault_flags & 1) || fault_rax != 0x7777)
		return 22;
	return bump(page) == 0x7777 && *page == 2 ? 0 : 23;
}

/* A process that the target starts is none of the run's. */
static int scene_fork(void)
{
	int status, before = shared;
	cpu_set_t set;
	pid_t pid;

	pid = fork();
	if (!pid) {
		touch(&shared);
		sched_getaffinity(0, sizeof(set), &set);
		_exit(sched_getscheduler(0) != SCHED_OTHER ? 30
		      : CPU_COUNT(&set) < 2		   ? 31
							   : before);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 32;
}

static int scene_spawn(void)
{
	return system("test $(cut -d' ' -f41 /proc/self/stat) = 0 && "
		      "test $(nproc) -gt 1")
		       ? 33
		       : 0;
}

/* The end of the stack is found by the program, or by a hook's push. */
NOTE int dig(volatile int *at)
{
	volatile char room[1024];

	room[0] = *at;
	if (room[0] == 77)
		return 0;
	return dig((volatile int *)room) + room[1];
}

NOTE void *wait_for_it(void *arg)
{
	while (!shared)
		sched_yield();
	return NULL;
}

/* A target may close what it does not know. */
static int scene_close(void)
{
	pthread_t t;

	for (int i = 3; i < 1024; i++)
		close(i);
	if (pthread_create(&t, NULL, write_it, NULL))
		return 40;
	pthread_join(t, NULL);
	return 0;
}

static int scene_exec(void)
{
	char *none[] = { "none", NULL };
	char *argv[] = { "sh", "-c",
			 "test $(cut -d' ' -f41 /proc/self/stat) = 0", NULL };

	/* What fails must leave no trace. */
	execv("/no/such/program", none);
	if (sched_getaffinity(0, 0, NULL) != -1)
		return 41;
	write_it(NULL);
	execv("/bin/sh", argv);
	return 42;
}

/* crc32 of "hello", with a library that comes, goes and comes again. */
static int scene_library(void)
{
	unsigned long (*crc)(unsigned long, const void *, unsigned int);
	void *lib;

	for (int i = 0; i < 2; i++) {
		lib = dlopen("libz.so.1", RTLD_NOW);
		if (!lib)
			return 43;
		*(void **)&crc = dlsym(lib, "crc32");
		if (crc(0, "hello", 5) != 0x3610a686)
			return 44;
		dlclose(lib);
	}
	return 0;
}

/* 1: what was freed is filled; 2: it is not given out at once. */
static int scene_buried(void)
{
	volatile uint64_t *volatile freed = malloc(64);
	void *volatile next;
	int ret;

	freed[5] = 7;
	free((void *)freed);
	ret = freed[5] == 0xd5d5d5d5d5d5d5d5;
	next = malloc(64);
	ret |= (next != (void *)freed) << 1;
	for (int i = 0; i < 2000; i++) /* more than are kept */
		free(malloc(i));
	return 10 + ret;
}

static int scene_twice(void)
{
	void *volatile p = malloc(64);

	free(p);
	free(p);
	return 10;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *lock_often(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		shared++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* Two threads take a lock ten times each; both are there before the first. */
static int scene_lockers(void)
{
	pthread_t thread[2];

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, lock_often, NULL);
	sched_yield();
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

static int play(const char *scene)
{
	if (!strcmp(scene, "buried"))
		return scene_buried();
	if (!strcmp(scene, "twice"))
		return scene_twice();
	if (!strcmp(scene, "lockers"))
		return scene_lockers();
	if (!strcmp(scene, "dig"))
		return dig(&shared);
	if (!strcmp(scene, "spin"))
		return scene_pair(wait_for_it, write_it);
	if (!strcmp(scene, "close"))
		return scene_close();
	if (!strcmp(scene, "exec"))
		return scene_exec();
	if (!strcmp(scene, "library"))
		return scene_library();
	if (!strcmp(scene, "write_read"))
		return scene_pair(write_it, read_it);
	if (!strcmp(scene, "read_write"))
		return scene_pair(read_it, write_it);
	if (!strcmp(scene, "slow_write"))
		return scene_pair(sleep_and_write, read_it);
	if (!strcmp(scene, "hot_call"))
		return scene_pair(write_and_put, read_late);
	if (!strcmp(scene, "turn_again"))
		return scene_turn_again();
	if (!strcmp(scene, "hot_after"))
		return scene_hot_after();
	if (!strcmp(scene, "copy"))
		return scene_copy();
	if (!strcmp(scene, "unseen"))
		return scene_pair(write_twice, read_when_written);
	if (!strcmp(scene, "crash"))
		return touch((int *)0x456);
	if (!strcmp(scene, "abort"))
		abort();
	if (!strcmp(scene, "handler"))
		return scene_handler();
	if (!strcmp(scene, "bump"))
		return scene_bump();
	if (!strcmp(scene, "callers"))
		return scene_pair(ask_both, write_it);
	if (!strcmp(scene, "guard_read"))
		return scene_guarded(PROT_NONE);
	if (!strcmp(scene, "guard_write"))
		return scene_guarded(PROT_READ);
	if (!strcmp(scene, "fork"))
		return scene_fork();
	if (!strcmp(scene, "spawn"))
		return scene_spawn();
	if (!strcmp(scene, "flood")) {
		for (int i = 0; i < 1000; i++) {
			shared = 0;
			turn(&shared, 10000);
		}
		return 0;
	}
	if (!strcmp(scene, "turn")) {
		turn(&shared, 10000);
		return 0;
	}
	return 99;
}

#endif
