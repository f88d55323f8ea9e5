// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * FFT: each thread transforms its part of the butterflies of each stage. It
 * reads its number from a global one and writes the next one there, without a
 * lock; two threads with one number leave the other part undone. The numbers
 * are those modulo 17, of which 2 is an eighth root of one: all is exact.
 *
 * Paper: threads read and write a global id without locks; wrong output
 */
#include "guard.h"

#define N	8
#define STAGES	3
#define MODULUS 17
#define ROOT	2

static struct {
	int id;
} global;
static int x[N], first[N];
static pthread_barrier_t barrier;

static int power(int exponent)
{
	int p = 1;

	while (exponent--)
		p = p * ROOT % MODULUS;
	return p;
}

/* Butterfly @b of a stage, whose two ends are @half apart. */
static void turn(int b, int half)
{
	int low = b / half * 2 * half + b % half, high = low + half;
	int t = power(b % half * (N / 2 / half)) * x[high] % MODULUS;

	x[high] = (x[low] - t + MODULUS) % MODULUS;
	x[low] = (x[low] + t) % MODULUS;
}

static void *transform(void *arg)
{
	int number;

	work(arg ? 0 : 100);
	LOCK();
	number = global.id;
	global.id = number + 1;
	UNLOCK();
	for (int stage = 0; stage < STAGES; stage++) {
		for (int b = number * N / 4; b < (number + 1) * N / 4; b++)
			turn(b, 1 << stage);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* As the sum that it is. */
static int is_right(void)
{
	for (int k = 0; k < N; k++) {
		int sum = 0;

		for (int i = 0; i < N; i++)
			sum += first[i] * power(i * k % N);
		if (sum % MODULUS != x[k])
			return 0;
	}
	return 1;
}

int main(void)
{
	static const int reversed[N] = { 0, 4, 2, 6, 1, 5, 3, 7 };
	pthread_t other;

	for (int i = 0; i < N; i++)
		first[i] = 3 * i + 1;
	for (int i = 0; i < N; i++)
		x[i] = first[reversed[i]] % MODULUS;
	pthread_barrier_init(&barrier, NULL, 2);
	other = start(transform, NULL);
	transform(&barrier);
	pthread_join(other, NULL);
	return !is_right();
}
