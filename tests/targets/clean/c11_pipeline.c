// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: C11 threads, mutex and condition; two stages pass numbers through a
 * slot that is full or empty.
 */
#include <assert.h>
#include <stdbool.h>
#include <threads.h>

enum { NUMBERS = 20 };

static mtx_t lock;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static bool full;
static int slot;

static void begin(void)
{
	mtx_init(&lock, mtx_plain);
	cnd_init(&changed);
}

static int send(void *arg)
{
	call_once(&once, begin);
	for (int i = 1; i <= NUMBERS; i++) {
		mtx_lock(&lock);
		while (full)
			cnd_wait(&changed, &lock);
		slot = i;
		full = true;
		cnd_signal(&changed);
		mtx_unlock(&lock);
	}
	return 0;
}

static int receive(void *arg)
{
	int sum = 0;

	call_once(&once, begin);
	for (int i = 1; i <= NUMBERS; i++) {
		mtx_lock(&lock);
		while (!full)
			cnd_wait(&changed, &lock);
		sum += slot;
		full = false;
		cnd_signal(&changed);
		mtx_unlock(&lock);
	}
	return sum;
}

int main(void)
{
	thrd_t sender, receiver;
	int sum;

	thrd_create(&receiver, receive, NULL);
	thrd_create(&sender, send, NULL);
	thrd_join(sender, NULL);
	thrd_join(receiver, &sum);
	assert(sum == NUMBERS * (NUMBERS + 1) / 2);
	return 0;
}
