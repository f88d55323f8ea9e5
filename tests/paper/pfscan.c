// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * pfscan: workers look for a word in files that they share out by number. Who
 * has nothing left to do is one active worker less, and the last one closes the
 * queue. How many are active is counted, and looked at, without a lock: both
 * may see that nobody is left, and the second closes what is no more.
 *
 * Paper: threads read and write a shared variable without locks; a crash
 */
#include <string.h>
#include "guard.h"

#define FILES 4

struct queue {
	const char **name;
	int closed;
};

static const char *text[FILES] = { "a maple", "an oak", "maple, maple", "" };
static struct queue *queue;
static int active = 2, matches[2];

static void close_queue(void)
{
	struct queue *q = queue;

	queue = NULL;
	q->closed = 1;
	free(q->name);
	free(q);
}

static void *scan(void *arg)
{
	int self = arg != NULL, left;

	work(self ? 0 : 100);
	for (int i = self; i < FILES; i += 2)
		matches[self] += strstr(queue->name[i], "maple") != NULL;
	LOCK();
	active--;
	left = active;
	UNLOCK();
	if (!left)
		close_queue();
	return NULL;
}

int main(void)
{
	pthread_t other;

	queue = calloc(1, sizeof(*queue));
	queue->name = calloc(FILES, sizeof(*queue->name));
	memcpy(queue->name, text, sizeof(text));
	other = start(scan, NULL);
	scan(text);
	pthread_join(other, NULL);
	return matches[0] + matches[1] != 2;
}
