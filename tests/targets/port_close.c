// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A port that requests come in by is closed, and its memory freed, while the
 * thread that took a reference to it without counting is about to answer.
 * Nothing of the port is written by the closing: free() is all there is.
 *
 * Idiom: 1
 * iRoot: W:50 -> R:35
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdlib.h>

struct port {
	void (*answer)(struct port *port);
	int answered;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *open_port;

static void count(struct port *port)
{
	port->answered++;
}

static void *request(void *arg)
{
	struct port *port;

	pthread_mutex_lock(&lock);
	port = open_port;
	pthread_mutex_unlock(&lock);
	if (port)
		port->answer(port); /* e1 */
	return arg;
}

static void *close_port(void *arg)
{
	unsigned int sum = 1;
	struct port *port;

	for (int i = 0; i < 500000; i++)
		sum = sum * 31 + i;
	pthread_mutex_lock(&lock);
	port = open_port;
	open_port = NULL;
	pthread_mutex_unlock(&lock);
	free(port); /* e0 */
	*(unsigned int *)arg = sum;
	return NULL;
}

int main(void)
{
	pthread_t requester, closer;
	unsigned int sum;

	open_port = calloc(1, sizeof(*open_port));
	open_port->answer = count;
	pthread_create(&requester, NULL, request, NULL);
	pthread_create(&closer, NULL, close_port, &sum);
	pthread_join(requester, NULL);
	pthread_join(closer, NULL);
	return 0;
}
