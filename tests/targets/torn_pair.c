// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Width and height belong together, but are set and read one at a time. Who
 * reads between the two writes sees a picture that never was.
 *
 * Idiom: 4
 * iRoot: W:18 -> R:27, R:28 -> W:19
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int width = 640, height = 480;

static void *resize(void *arg)
{
	width = 1280; /* e0 */
	height = 960; /* e3 */
	return NULL;
}

static void *look(void *arg)
{
	int w, h;

	w = width;  /* e1 */
	h = height; /* e2 */
	assert(w * 3 == h * 4);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	look(NULL);
	pthread_create(&a, NULL, resize, NULL);
	pthread_create(&b, NULL, look, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
