// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A title is asked for by get() alone. Who logs it bears that it goes away in
 * between; who shows it asks twice, whether there is one and which, and does
 * not. The order of the two reads and the write is harmless where it comes
 * first, in the log.
 *
 * Bug: show() uses what its second get() returns unlooked at.
 */
#include <pthread.h>
#include <stddef.h>

static char text[] = "maple";
static char *title = text;
static int logged, shown;

static char *get(void)
{
	return title;
}

static void log_title(void)
{
	if (get())
		logged += get() != NULL;
}

static void show(void)
{
	if (get())
		shown = *get();
}

static void *reader(void *arg)
{
	log_title();
	show();
	return arg;
}

static void *reset(void *arg)
{
	title = NULL;
	title = text;
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
