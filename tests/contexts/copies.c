// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * two_uses with a copy in place of the getter: get() copies a title out by
 * memcpy(). Who logs it bears that it changes in between; who shows it copies
 * it twice, for its length and for its letters, and does not.
 *
 * Bug: show() uses the letters of its second copy by the length of its first.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char title[8] = "maple";
static int logged, shown;

static void get(char *to, size_t size)
{
	memcpy(to, title, size);
}

static void log_title(void)
{
	char text[8];

	get(text, sizeof(text));
	logged += text[0];
	get(text, sizeof(text));
	logged += text[0];
}

static void show(void)
{
	char first[8], second[8];

	get(first, sizeof(first));
	if (first[0] == '\0')
		return;
	get(second, sizeof(second));
	assert(second[0] != '\0');
	shown = second[0];
}

static void *reader(void *arg)
{
	log_title();
	show();
	return arg;
}

static void *reset(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 1000000; i++)
		think = think + i;
	title[0] = '\0';
	return arg;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, reader, NULL);
	pthread_create(&b, NULL, reset, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
