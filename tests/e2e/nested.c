// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Calls within calls:  nested DEPTH */
#include <pthread.h>
#include <stdlib.h>

#define DEPTH 32

static pthread_once_t once[DEPTH];
static int depth, deep;

static void deeper(void)
{
	if (deep < depth)
		pthread_once(&once[deep++], deeper);
}

int main(int argc, char **argv)
{
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;

	depth = argc > 1 ? atoi(argv[1]) : 0;
	if (depth > DEPTH)
		return 2;
	for (int i = 0; i < DEPTH; i++)
		once[i] = fresh;
	deeper();
	return deep != depth;
}
