// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * jigsaw (figure 10): a request keeps the line it was made of, and its length,
 * which is known when the line has been used up.
 *
 * Bug: no lock keeps the two together. A thread writes `raw`, another one
 * overwrites both, and then the first one's length stands beside the second
 * one's line.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct request {
	const char *raw;
	size_t rlen;
};

static struct request request = { "", 0 };

/* Uses the line up, and says how long it was. */
static size_t used(const char *line)
{
	size_t n = 0;

	while (line[n] != '\0')
		n++;
	return n;
}

static void set_raw(struct request *r, const char *line)
{
	r->raw = line;
	r->rlen = used(line);
}

static void *client(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 1000000; i++)
		think = think + i;
	set_raw(&request, arg);
	return arg;
}

static void *server(void *arg)
{
	set_raw(&request, arg);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, server, "GET /");
	pthread_create(&t[1], 0, client, "GET /index.html");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	assert(strlen(request.raw) == request.rlen);
	return 0;
}
