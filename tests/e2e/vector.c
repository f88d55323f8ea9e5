// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Copies by vector instructions that Linux takes for others when it steps
 * them, among them what memset() can begin with, and looks whether all arrived.
 * Each kind only where the processor has it; says which were tried.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define N 64

static unsigned char from[N], to[N];

/* vmovdqu to memory has 7f: jg */
static void copy_vex(void)
{
	for (int i = 0; i < N; i += 32)
		__asm__ volatile("vmovdqu (%0), %%ymm1\n\t"
				 "vmovdqu %%ymm1, (%1)"
				 :
				 : "r"(from + i), "r"(to + i)
				 : "xmm1", "memory");
}

/* vpor has eb: jmp */
static void copy_or(void)
{
	for (int i = 0; i < N; i += 32)
		__asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\t"
				 "vpor (%0), %%ymm0, %%ymm1\n\t"
				 "vmovups %%ymm1, (%1)"
				 :
				 : "r"(from + i), "r"(to + i)
				 : "xmm0", "xmm1", "memory");
}

/* vcmpps has c2: ret */
static void copy_compared(void)
{
	for (int i = 0; i < N; i += 32)
		__asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\t"
				 "vcmpps $15, (%0), %%ymm0, %%ymm1\n\t"
				 "vandps (%0), %%ymm1, %%ymm1\n\t"
				 "vmovups %%ymm1, (%1)"
				 :
				 : "r"(from + i), "r"(to + i)
				 : "xmm0", "xmm1", "memory");
}

static void copy_evex(void)
{
	__asm__ volatile("vmovdqu64 (%0), %%zmm16\n\t"
			 "vmovdqu64 %%zmm16, (%1)"
			 :
			 : "r"(from), "r"(to)
			 : "memory"); /* no compiler uses zmm16 here */
}

__attribute__((noinline)) static void fill(unsigned char *at, int byte, size_t n)
{
	memset(at, byte, n);
}

static int try(const char *name, void (*copy)(void))
{
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++) {
			from[i] = round * 7 + i + 1;
			to[i] = 0;
		}
		copy();
		if (memcmp(from, to, N)) {
			fprintf(stderr, "vector: %s did not copy\n", name);
			return 1;
		}
	}
	fprintf(stderr, "vector: %s copied\n", name);
	return 0;
}

static void *other(void *ctx)
{
	return ctx;
}

int main(void)
{
	pthread_t thread;
	int bad = 0;

	pthread_create(&thread, NULL, other, NULL);
	if (__builtin_cpu_supports("avx2")) {
		bad |= try("vex", copy_vex);
		bad |= try("or", copy_or);
		bad |= try("compared", copy_compared);
	}
	if (__builtin_cpu_supports("avx512vl"))
		bad |= try("evex", copy_evex);
	for (int size = 1; size <= N; size++) {
		memset(to, 0, N);
		fill(to, 0x5a, size);
		for (int i = 0; i < size; i++)
			bad |= to[i] != 0x5a;
	}
	fprintf(stderr, "vector: %s\n", bad ? "broken" : "whole");
	pthread_join(thread, NULL);
	return bad;
}
