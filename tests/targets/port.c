// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A port is closed and freed while a request still uses it: the request has
 * looked it up before it was taken off the list, and nothing counts who has it.
 * What it reads is as it was, until the memory is somebody else's.
 *
 * Idiom: 1
 * iRoot: W:49 -> R:35
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct port {
	int number, users[8];
	char *name;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct port *ports[4];
static size_t sent;

static void *request(void *arg)
{
	struct port *port;

	pthread_mutex_lock(&lock);
	port = ports[1];
	pthread_mutex_unlock(&lock);
	if (!port)
		return NULL;
	for (volatile int i = 0; i < 1000; i++) /* what is to be sent */
		;
	sent += strlen(port->name); /* e1 */
	return NULL;
}

static void *close_port(void *arg)
{
	struct port *port;

	for (volatile int i = 0; i < 1000000; i++) /* other ports */
		;
	pthread_mutex_lock(&lock);
	port = ports[1];
	ports[1] = NULL;
	pthread_mutex_unlock(&lock);
	free(port); /* e0 */
	return NULL;
}

int main(void)
{
	pthread_t sender, closer;

	ports[1] = calloc(1, sizeof(*ports[1]));
	ports[1]->number = 1;
	ports[1]->name = strdup("console");
	pthread_create(&sender, NULL, request, NULL);
	pthread_create(&closer, NULL, close_port, NULL);
	pthread_join(sender, NULL);
	pthread_join(closer, NULL);
	return 0;
}
