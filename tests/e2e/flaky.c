// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fails by itself in every third run, as the file that it is given counts them,
 * whatever its threads do; with a second argument in the second run alone, and
 * whenever an increment is lost.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int shared;

static void *other(void *arg)
{
	shared++;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int runs = 0;
	pthread_t thread;
	FILE *count;

	if (argc < 2)
		return 2;
	count = fopen(argv[1], "a+");
	if (!count)
		return 2;
	fseek(count, 0, SEEK_END);
	runs = ftell(count) + 1;
	fputc('.', count);
	fclose(count);
	pthread_create(&thread, NULL, other, NULL);
	shared++;
	pthread_join(thread, NULL);
	return argc > 2 ? runs == 2 || shared != 2 : runs % 3 == 2;
}
