// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * radix SIZE: sorts SIZE thousand numbers of 32 bits, a digit of 8 bits at a
 * time. Each thread counts the digits of its part; from all the counts each
 * works out where its numbers go, and puts them there.
 */
#include "kernel.h"

#define DIGITS 256

static uint32_t *from, *to;
static size_t n;
static size_t count[THREADS][DIGITS];

static size_t begin_of(intptr_t thread)
{
	return n * thread / THREADS;
}

static void places(intptr_t self, size_t at[DIGITS])
{
	size_t sum = 0;

	for (int d = 0; d < DIGITS; d++)
		for (int t = 0; t < THREADS; t++) {
			if (t == self)
				at[d] = sum;
			sum += count[t][d];
		}
}

static void *sort(void *arg)
{
	intptr_t self = (intptr_t)arg;
	size_t at[DIGITS], end = begin_of(self + 1);
	uint32_t *swap;

	for (int shift = 0; shift < 32; shift += 8) {
		for (int d = 0; d < DIGITS; d++)
			count[self][d] = 0;
		for (size_t i = begin_of(self); i < end; i++)
			count[self][from[i] >> shift & 255]++;
		meet();
		places(self, at);
		for (size_t i = begin_of(self); i < end; i++)
			to[at[from[i] >> shift & 255]++] = from[i];
		meet();
		if (!self) {
			swap = from;
			from = to;
			to = swap;
		}
		meet();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, sum = 0;
	int right = 1;

	n = 1000 * (size_t)size_of(argc, argv, 1, 100000);
	from = allocate(n, sizeof(*from));
	to = allocate(n, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		sum += from[i] = next_random(&seed);
	in_threads(sort);
	for (size_t i = 0; i < n; i++) {
		right &= !i || from[i - 1] <= from[i];
		sum -= from[i];
	}
	return verdict("radix", right && !sum);
}
