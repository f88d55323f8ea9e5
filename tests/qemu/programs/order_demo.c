// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Check, then use: fails only if the other thread's store at insn_A comes
 * between the check and the load at insn_B, which natively it never does.


 * iRoot: idiom 1, insn_A (W) => insn_B (R).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct object {
	int value;
};

static struct object object = { 42 };
static struct object *volatile pointer = &object;
static pthread_barrier_t barrier;
static volatile long spin;

static __attribute__((noinline)) int use(struct object *volatile *from)
{
	struct object *object;
	int value;

	if (!*from)
		return 42;
	__asm__ volatile(".globl insn_B, next_B\n"
			 "insn_B: movq (%2),%0\n"
			 "next_B: movl (%0),%1\n"
			 : "=&a"(object), "=c"(value)
			 : "D"(from)
			 : "memory");
	return value;
}

static __attribute__((noinline)) void clear(struct object *volatile *from)
{
	__asm__ volatile(".globl insn_A, next_A\n"
			 "insn_A: movq $0,(%0)\n"
			 "next_A: nop\n"
			 :
			 : "D"(from)
			 : "memory");
}

static void *user(void *arg)
{
	pthread_barrier_wait(&barrier);
	return (void *)(long)use(&pointer);
}

static void *clearer(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100000; i++)
		spin++;
	clear(&pointer);
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	void *value;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&a, NULL, user, NULL);
	pthread_create(&b, NULL, clearer, NULL);
	pthread_join(a, &value);
	pthread_join(b, NULL);
	return (long)value != 42;
}
