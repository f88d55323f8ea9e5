// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * No bug: four threads that hand a counter on, wait for it in every way there
 * is, and work in between. Natively that takes a moment; a controlled run is
 * let go before its end, wherever its threads are.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 4
#define STEPS	1000000

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, order;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t room;
static volatile int turn, inside;
static int rounds = 100;
static long steps;

/* What takes long where each access is looked at. */
static void work(int n)
{
	for (int i = 0; i < n; i++)
		__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
}

static struct timespec in_ms(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000l;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void wait_for_turn(int self, int round)
{
	struct timespec t;

	assert(!pthread_mutex_lock(&m));
	while (turn != self) {
		t = in_ms(round % 2 ? 1 : 60000);
		if (round % 3)
			pthread_cond_wait(&turned, &m);
		else
			pthread_cond_timedwait(&turned, &m, &t);
	}
	turn = (self + 1) % THREADS;
	assert(!pthread_cond_broadcast(&turned));
	assert(!pthread_mutex_unlock(&m));
}

/* A wait of a minute may be over at any time; then there is another. */
static void enter_room(int round)
{
	struct timespec t, moment = { 0, 20000 };

	if (round % 2)
		assert(!sem_wait(&room));
	else
		while (t = in_ms(60000), sem_timedwait(&room, &t))
			assert(errno == ETIMEDOUT);
	if (round % 3)
		assert(!pthread_mutex_lock(&order));
	else
		while (t = in_ms(60000), pthread_mutex_timedlock(&order, &t))
			;
	assert(!inside++);
	if (round % 16 == 0)
		nanosleep(&moment, NULL);
	inside--;
	assert(!pthread_mutex_unlock(&order));
	assert(!sem_post(&room));
}

static void *run(void *arg)
{
	int self = (int)(long)arg;

	work(1); /* while others do: its accesses race */
	for (int round = 0; round < rounds; round++) {
		wait_for_turn(self, round);
		if (round % 32 == self)
			work(STEPS);
		enter_room(round);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	if (argc > 1)
		rounds = atoi(argv[1]);
	pthread_mutex_init(&order, NULL);
	sem_init(&room, 0, 2);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert(turn == 0 && steps % STEPS == THREADS);
	return 0;
}
