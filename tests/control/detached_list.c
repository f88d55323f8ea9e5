// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Outputs are attached to a log in a list, which is gone when all are detached.
 * Who asks for one looks whether there is a list, and reads it again for its
 * length and its items: it may be gone by then.
 */
#include <pthread.h>
#include <stdlib.h>

struct output {
	int is_closed;
};

struct list {
	int n;
	struct output *item[4];
};

static struct list *volatile outputs;
static struct output terminal;

static int is_attached(const struct output *o)
{
	if (!outputs || !o)
		return 0;
	int n = outputs->n; /* bug: there may be none */

	for (int i = 0; i < n; i++)
		if (outputs->item[i] == o)
			return 1;
	return 0;
}

static void detach_all(void)
{
	if (!outputs)
		return;
	for (int i = 0; i < outputs->n; i++)
		outputs->item[i]->is_closed = 1;
	outputs->n = 0;
	outputs = NULL;
}

static void *ask(void *p)
{
	is_attached(&terminal);
	return p;
}

static void *detach(void *p)
{
	detach_all();
	return p;
}

int main(void)
{
	pthread_t t[2];

	outputs = calloc(1, sizeof(*outputs));
	outputs->item[0] = &terminal;
	outputs->n = 1;
	pthread_create(&t[0], 0, ask, 0);
	pthread_create(&t[1], 0, detach, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
