// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * FMM: two threads list the boxes that they have made, each from where a global
 * count is, to which it then adds how many it has, without a lock. Where both
 * begin at one place the end of the list stays empty, and who walks it falls.
 *
 * Paper: threads add to a global variable without locks; a crash
 */
#include "guard.h"

#define BOXES 3 /* of each thread */

struct box {
	int charge;
};

static struct box box[2][BOXES];
static struct box *list[2 * BOXES];
static int total;

static void *make(void *arg)
{
	int self = arg != NULL, from;

	for (int i = 0; i < BOXES; i++)
		box[self][i].charge = i + 1;
	work(self ? 0 : 100);
	LOCK();
	from = total;
	total = from + BOXES;
	UNLOCK();
	for (int i = 0; i < BOXES; i++)
		list[from + i] = &box[self][i];
	return NULL;
}

int main(void)
{
	int charge = 0;
	pthread_t other;

	other = start(make, NULL);
	make(list);
	pthread_join(other, NULL);
	for (int i = 0; i < 2 * BOXES; i++)
		charge += list[i]->charge;
	return charge != 2 * (1 + 2 + 3);
}
