// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Barnes: two threads hang their bodies into one tree. A thread sees that a
 * place in a cell is empty, and puts its body there, without the cell's lock:
 * another one's body may have got there meanwhile, and is lost, with its mass.
 *
 * Paper: threads read and write global variables without locks; wrong output
 */
#include "guard.h"

#define BODIES 4 /* of each thread */

struct body {
	int mass;
	unsigned int where;
	struct body *next; /* in the same place */
};

static struct body body[2][BODIES];
static struct body *cell[4];

static void hang(struct body *b)
{
	struct body **at = &cell[b->where % 4], *there;

	LOCK();
	there = *at;
	b->next = there;
	*at = b;
	UNLOCK();
}

static void *load(void *arg)
{
	int self = arg != NULL;

	work(self ? 0 : 100);
	for (int i = 0; i < BODIES; i++)
		hang(&body[self][i]);
	return NULL;
}

int main(void)
{
	int mass = 0, all = 0;
	pthread_t other;

	for (unsigned int i = 0; i < 2 * BODIES; i++) {
		struct body *b = &body[i / BODIES][i % BODIES];

		b->mass = 1 << i;
		b->where = 3 * i;
		all += b->mass;
	}
	other = start(load, NULL);
	load(cell);
	pthread_join(other, NULL);
	for (int i = 0; i < 4; i++)
		for (struct body *b = cell[i]; b; b = b->next)
			mass += b->mass;
	return mass != all;
}
