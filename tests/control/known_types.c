// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a type is called in the output is looked up once, by whoever writes one
 * first, and kept. That it was looked up is told before what came of it, so
 * another one writes the type without a name.
 */
#include <assert.h>
#include <pthread.h>

#define TYPES 4

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static volatile int known[TYPES], alias[TYPES], written;

static int mark_known(int type)
{
	int was;

	pthread_mutex_lock(&l);
	was = known[type];
	known[type] = 1; /* bug: a moment early */
	pthread_mutex_unlock(&l);
	return was;
}

static void look_up(int type)
{
	int name = 100 + type;

	pthread_mutex_lock(&l);
	alias[type] = name;
	pthread_mutex_unlock(&l);
}

static int name_of(int type)
{
	int name;

	pthread_mutex_lock(&l);
	name = alias[type];
	written = written + 1;
	pthread_mutex_unlock(&l);
	return name;
}

static void write_one(int type)
{
	if (!mark_known(type))
		look_up(type);
	assert(name_of(type));
}

static void *serialize(void *p)
{
	write_one(2);
	return p;
}

int main(void)
{
	pthread_t t[2];

	write_one(0);
	write_one(3);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, serialize, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
