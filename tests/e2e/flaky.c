// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fails by itself in every third run, as the file that it is given counts them,
 * whatever its threads do. With RUN it fails in that run, and whenever an
 * increment is lost; with FROM that is so from run FROM on.
 *
 *	flaky FILE [RUN [FROM]]
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
	if (argc < 3)
		return runs % 3 == 2;
	return runs == strtoul(argv[2], NULL, 0) ||
	       (shared != 2 && (argc < 4 || runs >= strtoul(argv[3], NULL, 0)));
}
