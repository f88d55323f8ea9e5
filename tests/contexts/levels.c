// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * All memory of a packet is read by load() and written by store(), which the
 * accessors of its fields call: the callers of the two are the same for all
 * packets and all uses. What forward() does with a packet is harmless whatever
 * it reads.
 *
 * Bug: deliver() looks whether a packet's length is within the buffer and reads
 * it again to copy. Who made the call is told by two return addresses only.
 */
#include <assert.h>
#include <pthread.h>

#define SIZE   16
#define ROUNDS 8

static int packet[2];
static int forwarded;

static int load(const int *at)
{
	return *(const volatile int *)at;
}

static void store(int *at, int v)
{
	*(volatile int *)at = v;
}

static int length(void)
{
	return load(&packet[0]);
}

static void set_length(int n)
{
	store(&packet[0], n);
}

static void forward(void)
{
	if (length() <= SIZE)
		forwarded += length();
}

static void deliver(void)
{
	if (length() <= SIZE) {
		int n = length();

		assert(n <= SIZE);
	}
}

static void *receiver(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		forward();
	deliver();
	for (int i = 0; i < ROUNDS; i++)
		forward();
	return arg;
}

static void *sender(void *arg)
{
	for (int i = 0; i < 4; i++) {
		set_length(2 * SIZE);
		set_length(SIZE);
	}
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, receiver, 0);
	pthread_create(&t[1], 0, sender, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
