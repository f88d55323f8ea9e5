// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Between the store at insn_A and the load at insn_B another thread stores to
 * the same variable, where no probe is: only a watchpoint can tell that
 * insn_A => insn_B does not happen. iRoot: idiom 1, insn_A (W), insn_B (R).
 */
#include <pthread.h>
#include <semaphore.h>

static volatile long variable;
static sem_t stored, overwritten;

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

static void *first(void *arg)
{
	store(&variable);
	sem_post(&stored);
	return NULL;
}

static void *between(void *arg)
{
	sem_wait(&stored);
	variable = 2;
	sem_post(&overwritten);
	return NULL;
}

static void *last(void *arg)
{
	sem_wait(&overwritten);
	return (void *)load(&variable);
}

int main(void)
{
	pthread_t a, b, c;
	void *value;

	sem_init(&stored, 0, 0);
	sem_init(&overwritten, 0, 0);
	pthread_create(&a, NULL, first, NULL);
	pthread_create(&b, NULL, between, NULL);
	pthread_create(&c, NULL, last, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, &value);
	return (long)value != 2;
}
