// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Cholesky: threads take columns from a list of those that are ready, and scale
 * them, until none is left. Whether one is left is asked, and the column taken,
 * without a lock: of two who see the last one, one takes what is behind it.
 *
 * Paper: threads modify a shared variable, a memory error
 */
#include "guard.h"

#define COLUMNS 4
#define ROWS	3

struct column {
	struct column *next;
	int value[ROWS];
};

static struct column column[COLUMNS];
static struct column *ready;

static struct column *take(void)
{
	struct column *c = NULL;

	LOCK();
	if (ready) {
		c = ready;
		ready = c->next;
	}
	UNLOCK();
	return c;
}

static void *scale(void *arg)
{
	struct column *c;

	work(arg ? 0 : 100);
	while ((c = take()))
		for (int i = 0; i < ROWS; i++)
			c->value[i] *= 2;
	return NULL;
}

int main(void)
{
	pthread_t other;

	for (int i = 0; i < COLUMNS; i++) {
		column[i].next = ready;
		for (int k = 0; k < ROWS; k++)
			column[i].value[k] = i + k;
		ready = &column[i];
	}
	other = start(scale, NULL);
	scale(column);
	pthread_join(other, NULL);
	return 0;
}
