// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Objects live in regions, and are called by posting to their region. Who owns a
 * region carries the calls out, so that objects need no locks. A producer posts,
 * and serves a region that nobody owns; a consumer serves them in turn. That
 * nobody owns one, and to own it, are two sections. Two owners do no harm unless
 * one of them stops in the midst of a call: two preemptions, at two variables.
 */
#include <assert.h>
#include <pthread.h>

#define REGIONS 2
#define CALLS	4

static struct region {
	pthread_mutex_t owner_lock, queue_lock;
	int owner, head, tail, queue[CALLS * 2];
	int debit, credit, called; /* an object's: the first two are one */
} region[REGIONS] = {
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER },
};

static void post(struct region *r, int call)
{
	pthread_mutex_lock(&r->queue_lock);
	r->queue[r->tail++] = call;
	pthread_mutex_unlock(&r->queue_lock);
}

static int take(struct region *r)
{
	int call = 0;

	pthread_mutex_lock(&r->queue_lock);
	if (r->head < r->tail)
		call = r->queue[r->head++];
	pthread_mutex_unlock(&r->queue_lock);
	return call;
}

static int owner_of(struct region *r)
{
	int owner;

	pthread_mutex_lock(&r->owner_lock);
	owner = r->owner;
	pthread_mutex_unlock(&r->owner_lock);
	return owner;
}

static void set_owner(struct region *r, int owner)
{
	pthread_mutex_lock(&r->owner_lock);
	r->owner = owner;
	pthread_mutex_unlock(&r->owner_lock);
}

static void carry_out(struct region *r, int call)
{
	r->called++;
	if (call % 2)
		return;
	assert(r->debit == r->credit);
	r->debit += call;
	r->credit += call;
}

static void serve(struct region *r, int me)
{
	int call;

	if (owner_of(r))
		return;
	set_owner(r, me); /* bug: another one may have it by now */
	while ((call = take(r)))
		carry_out(r, call);
	set_owner(r, 0);
}

static void *produce(void *p)
{
	for (int i = 1; i <= CALLS; i++) {
		for (int k = 0; k < REGIONS; k++)
			post(&region[k], i);
		serve(&region[i % REGIONS], 1);
	}
	return p;
}

static void *consume(void *p)
{
	for (int i = 0; i < CALLS; i++)
		serve(&region[i % REGIONS], 2);
	return p;
}

int main(void)
{
	pthread_t t[2];

	post(&region[0], 2);
	post(&region[1], 1);
	pthread_create(&t[0], 0, produce, 0);
	pthread_create(&t[1], 0, consume, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
