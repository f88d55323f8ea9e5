// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A use after free that no exit status shows but AddressSanitizer's: an empty
 * queue is looked into as well, and the one that has been closed is empty.
 * The iRoot is write(length) => read(length), idiom 1; by itself the reader is
 * first, always.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int *items;
static volatile int length = 1, seen;

static void *use_queue(void *arg)
{
	int n = length;

	seen = items[n ? n - 1 : 0];
	return NULL;
}

static void *close_queue(void *arg)
{
	usleep(20000);
	free(items);
	length = 0;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	items = calloc(4, sizeof(*items));
	pthread_create(&threads[0], NULL, use_queue, NULL);
	pthread_create(&threads[1], NULL, close_queue, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
