// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the load at insn_B costs, as a multiple of getpid(): natively, with a
 * bare uprobe there (and behind it), or under a session that names it.
 * insn_A is never executed.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMES 20000

static volatile long variable;

static __attribute__((noinline)) long load(volatile long *from)
{
	long value;

	__asm__ volatile(".globl insn_B, next_B\n"
			 "insn_B: movq (%1),%0\n"
			 "next_B: movq %0,%%rcx\n"
			 : "=&a"(value)
			 : "D"(from)
			 : "rcx", "memory");
	return value;
}

static __attribute__((noinline, used)) void store(volatile long *to)
{
	__asm__ volatile(".globl insn_A, next_A\n"
			 "insn_A: movq $1,(%0)\n"
			 "next_A: nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
	double start, call, hit;

	for (int i = 0; i < 1000; i++) /* beyond what is held */
		load(&variable);
	start = seconds();
	for (int i = 0; i < TIMES; i++)
		syscall(SYS_getpid);
	call = (seconds() - start) / TIMES;
	start = seconds();
	for (int i = 0; i < TIMES; i++)
		load(&variable);
	hit = (seconds() - start) / TIMES;
	printf("getpid %.0f ns, load %.0f ns, %.1f times\n", call * 1e9,
	       hit * 1e9, hit / call);
	return 0;
}
