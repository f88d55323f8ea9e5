// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Of three counters that one call allocated, two threads count with one. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct counter {
	long first, n;
};

static struct counter *make(void)
{
	return calloc(1, sizeof(struct counter));
}

static void *count(void *ctx)
{
	struct counter *c = ctx;

	c->n++;
	return NULL;
}

int main(void)
{
	struct counter *c[3] = { make(), make(), make() };
	pthread_t a, b;

	pthread_create(&a, NULL, count, c[1]);
	pthread_create(&b, NULL, count, c[1]);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(c[1]->n == 2);
	for (int i = 0; i < 3; i++)
		free(c[i]);
	return 0;
}
