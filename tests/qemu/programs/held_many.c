// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Forty threads come to the load at insn_B before one comes to the store at
 * insn_A; natively they do not wait for it. Status 1 if any of them loaded
 * before the store. iRoot: idiom 1, insn_A (W) => insn_B (R).
 */
#include <pthread.h>
#include <stdio.h>

#define READERS 40

static volatile long flag;
static pthread_barrier_t barrier;

static __attribute__((noinline)) long load(volatile long *from)
{
	long value;

	__asm__ volatile(".globl insn_B, next_B\n"
			 "insn_B: movq (%1),%0\n"
			 "next_B: nop\n"
			 : "=&a"(value)
			 : "D"(from)
			 : "memory");
	return value;
}

static __attribute__((noinline)) void store(volatile long *to)
{
	__asm__ volatile(".globl insn_A, next_A\n"
			 "insn_A: movq $1,(%0)\n"
			 "next_A: nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static void *reader(void *arg)
{
	pthread_barrier_wait(&barrier);
	return (void *)load(&flag);
}

static void *writer(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (volatile int i = 0; i < 10000; i++)
		;
	store(&flag);
	return NULL;
}

int main(void)
{
	pthread_t thread[READERS + 1];
	int early = 0;
	void *value;

	pthread_barrier_init(&barrier, NULL, READERS + 1);
	for (int i = 0; i <= READERS; i++)
		pthread_create(&thread[i], NULL, i < READERS ? reader : writer,
			       NULL);
	for (int i = 0; i <= READERS; i++) {
		pthread_join(thread[i], &value);
		early += i < READERS && !value;
	}
	return early != 0;
}
