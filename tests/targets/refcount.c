// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Dropping a reference and looking whether it was the last one are two steps:
 * both owners may see zero, and both free the object.
 *
 * Idiom: 1
 * iRoot: W:24 -> R:25
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdlib.h>

/* Too big for the allocator's per-thread caches, which miss a double free. */
struct object {
	char name[64];
	int refs;
	char payload[4000];
};

static void *put(void *arg)
{
	struct object *object = arg;

	object->refs = object->refs - 1; /* e0 */
	if (object->refs == 0)		 /* e1 */
		free(object);
	return NULL;
}

int main(void)
{
	struct object *object = calloc(1, sizeof(*object));
	pthread_t a, b;

	object->refs = 2;
	pthread_create(&a, NULL, put, object);
	pthread_create(&b, NULL, put, object);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
