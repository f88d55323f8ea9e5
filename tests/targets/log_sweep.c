// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The processor sees that the log has a buffer and then uses it; the sweeper
 * may take the buffer away between the two.
 *
 * Idiom: 1
 * iRoot: W:37 -> R:26
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct log {
	char *lines;
	int processed;
};

static struct log log_;

static void *process(void *arg)
{
	struct log *log = arg;

	if (log->lines && log->processed == 0)
		if (log->lines[0] != '\0') /* e1 */
			log->processed = 1;
	return NULL;
}

static void *sweep(void *arg)
{
	struct log *log = arg;
	char *old = log->lines;

	if (old) {
		log->lines = NULL; /* e0 */
		free(old);
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	log_.lines = strdup("one\ntwo\n");
	pthread_create(&a, NULL, process, &log_);
	pthread_create(&b, NULL, sweep, &log_);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
