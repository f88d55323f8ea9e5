// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A key is added to a ring and later revoked, both under the ring's lock; it is
 * read without it. The reader asks whether the key is still valid and then uses
 * what it leads to. Who revokes it has added it before, under the same lock, at
 * the same places of the program.
 *
 * Idiom: 1
 * iRoot: R:33 -> W:40
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct key {
	bool revoked;
	int *payload;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct key *_Atomic ring;
static int sum;

static void *use(void *arg)
{
	struct key *key;

	for (volatile int i = 0; i < 1000000; i++) /* what the key is for */
		;
	key = ring;
	if (key && !key->revoked) /* e0 */
		sum += *key->payload;
	return NULL;
}

static void mark(struct key *key, bool revoked)
{
	key->revoked = revoked; /* e1 */
}

static void add(struct key *key)
{
	key->payload = calloc(1, sizeof(*key->payload));
	mark(key, false);
	ring = key;
}

static void revoke(struct key *key)
{
	int *payload = key->payload;

	mark(key, true);
	key->payload = NULL;
	free(payload);
}

static void update(void (*how)(struct key *key), struct key *key)
{
	pthread_mutex_lock(&lock);
	how(key);
	pthread_mutex_unlock(&lock);
}

static void *keep(void *arg)
{
	static struct key key;

	update(add, &key);
	update(revoke, &key);
	return NULL;
}

int main(void)
{
	pthread_t user, keeper;

	pthread_create(&keeper, NULL, keep, NULL);
	pthread_create(&user, NULL, use, NULL);
	pthread_join(user, NULL);
	pthread_join(keeper, NULL);
	return 0;
}
