// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * hits WHAT: how long one of WHAT takes, as a multiple of getpid(), by turns
 * in one run; of many short rounds the shortest counts, the others were
 * interrupted. What it costs is decided by who probes the program:
 *	load      at insn_B, the same each time
 *	flat      the same, where a thread's first function calls
 *	deep      the same, where four functions call each other
 *	walk      at insn_B, other memory than the last time
 *	store     at insn_A
 *	unseen    a store at insn_C to the memory of insn_A
 *	watched   a store at insn_A and one at insn_C
 *	call      of callee()
 *	lock      pthread_mutex_lock()
 * hits places: where insn_A, insn_B, insn_C, callee() and that memory are.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS  200
#define ROUNDS 60
#define HITS   16 /* a round; in all fewer than a site may log */
/* An attempt of a plan ends with each; a run has 64. */
#define WATCHED_ROUNDS 12
#define WATCHED_HITS   4

static long memory[16];
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

extern const char insn_A[], insn_B[], insn_C[], __executable_start[];

static __attribute__((noinline)) void load(const long *from)
{
	long value;

	__asm__ volatile(".globl insn_B\n"
			 "insn_B: movq (%1),%0\n"
			 "nop\n"
			 : "=&a"(value)
			 : "D"(from)
			 : "memory");
}

static __attribute__((noinline)) void store(long *to)
{
	__asm__ volatile(".globl insn_A\n"
			 "insn_A: movq $1,(%0)\n"
			 "nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static __attribute__((noinline)) void store_unseen(long *to)
{
	__asm__ volatile(".globl insn_C\n"
			 "insn_C: movq $2,(%0)\n"
			 "nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

__attribute__((noinline)) void callee(long value);
void callee(long value)
{
	__asm__ volatile("" : : "r"(value));
}

static void do_load(void)
{
	for (int i = 0; i < HITS; i++)
		load(memory);
}

/* As deep as a context goes, and no deeper: a thread's first has no caller. */
static __attribute__((noinline)) void deep_3(void)
{
	do_load();
	__asm__ volatile("" : : : "memory");
}

static __attribute__((noinline)) void deep_2(void)
{
	deep_3();
	__asm__ volatile("" : : : "memory");
}

static void do_deep(void)
{
	deep_2();
	__asm__ volatile("" : : : "memory");
}

static void do_walk(void)
{
	for (int i = 0; i < HITS; i++)
		load(&memory[i & 15]);
}

static void do_store(void)
{
	for (int i = 0; i < HITS; i++)
		store(memory);
}

static void do_unseen(void)
{
	for (int i = 0; i < HITS; i++)
		store_unseen(memory);
}

static void do_watched(void)
{
	for (int i = 0; i < WATCHED_HITS; i++) {
		store(memory);
		store_unseen(memory);
	}
}

static void do_call(void)
{
	for (int i = 0; i < HITS; i++)
		callee(i);
}

static void do_lock(void)
{
	for (int i = 0; i < HITS; i++)
		pthread_mutex_lock(&mutex);
}

static void undo_lock(void)
{
	for (int i = 0; i < HITS; i++)
		pthread_mutex_unlock(&mutex);
}

static const struct what {
	const char *name;
	void (*hit)(void);
	void (*after)(void); /* not measured */
	int rounds, hits;
} whats[] = {
	{ "load", do_load, NULL, ROUNDS, HITS },
	{ "deep", do_deep, NULL, ROUNDS, HITS },
	{ "walk", do_walk, NULL, ROUNDS, HITS },
	{ "store", do_store, NULL, ROUNDS, HITS },
	{ "unseen", do_unseen, NULL, ROUNDS, HITS },
	{ "watched", do_watched, NULL, WATCHED_ROUNDS, WATCHED_HITS },
	{ "call", do_call, NULL, ROUNDS, HITS },
	{ "lock", do_lock, undo_lock, ROUNDS, HITS },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static double getpid_time(void)
{
	double began = now();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getpid);
	return (now() - began) / CALLS;
}

static double flat_hit = 1e18;

/* Does what do_load() does, and looks at the time, since nobody calls it. */
static void *flat(void *arg)
{
	double began, t;

	for (int i = 0; i < ROUNDS; i++) {
		began = now();
		for (int k = 0; k < HITS; k++)
			load(memory);
		t = (now() - began) / HITS;
		flat_hit = t < flat_hit ? t : flat_hit;
	}
	return arg;
}

static void measure_flat(void)
{
	double call = 1e18, t;
	pthread_t thread;

	for (int i = 0; i < ROUNDS; i++) {
		t = getpid_time();
		call = t < call ? t : call;
	}
	if (pthread_create(&thread, NULL, flat, NULL))
		return;
	pthread_join(thread, NULL);
	printf("%.3f %.2f\n", flat_hit / call, flat_hit);
}

static void measure(const struct what *w)
{
	double call = 1e18, hit = 1e18, began, t;

	for (int i = 0; i < w->rounds; i++) {
		t = getpid_time();
		call = t < call ? t : call;
		began = now();
		w->hit();
		t = (now() - began) / w->hits;
		hit = t < hit ? t : hit;
		if (w->after)
			w->after();
	}
	printf("%.3f %.2f\n", hit / call, hit);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "places")) {
		printf("%#lx %#lx %#lx %#lx %#lx\n",
		       (long)(insn_A - __executable_start),
		       (long)(insn_B - __executable_start),
		       (long)(insn_C - __executable_start),
		       (long)((const char *)callee - __executable_start),
		       (long)((const char *)memory - __executable_start));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "flat")) {
		measure_flat();
		return 0;
	}
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++)
		if (argc == 2 && !strcmp(argv[1], whats[i].name)) {
			measure(&whats[i]);
			return 0;
		}
	fprintf(stderr, "usage: hits WHAT\n");
	return 2;
}
