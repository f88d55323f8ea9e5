// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server with an event loop, a queue of requests and a pool of three
 * workers. Its cache is under a lock, but for one path: DROP looks an entry
 * up and frees what it holds in two steps, without the lock.
 *
 * To be driven by itself: `cache_server PORT` serves, `cache_server PORT
 * drive` makes one round of requests and has status 0 if all is answered.
 *
 * Requests are lines: PUT key value, GET key, DROP key. The answer is a line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS 3
#define BUCKETS 16
#define CLIENTS 16
#define LINE	128
#define VALUE	4000 /* too big for per-thread caches, which miss double frees */

struct entry {
	struct entry *next;
	char key[32];
	char *value;
};

/* What one client has sent and nobody has answered. */
struct request {
	struct request *next;
	int fd;
	char line[LINE];
};

struct client {
	int fd;
	unsigned int used;
	char buf[4 * LINE];
};

static struct {
	pthread_mutex_t lock;
	struct entry *bucket[BUCKETS];
	unsigned long puts, hits, misses;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct request *first, **last;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .filled = PTHREAD_COND_INITIALIZER,
	    .last = &queue.first };

/* ---- the cache ---- */

static struct entry **bucket_of(const char *key)
{
	unsigned int hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return &cache.bucket[hash % BUCKETS];
}

static struct entry *find(const char *key)
{
	struct entry *e;

	for (e = *bucket_of(key); e; e = e->next)
		if (!strcmp(e->key, key))
			return e;
	return NULL;
}

/* Entries are never removed: a dropped one has no value. */
static struct entry *find_or_add(const char *key)
{
	struct entry *e = find(key), **bucket = bucket_of(key);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	snprintf(e->key, sizeof(e->key), "%s", key);
	e->next = *bucket;
	*bucket = e;
	return e;
}

static void put(const char *key, const char *value, char *answer)
{
	struct entry *e;

	pthread_mutex_lock(&cache.lock);
	e = find_or_add(key);
	free(e->value);
	e->value = malloc(VALUE);
	if (!e->value)
		abort();
	snprintf(e->value, VALUE, "%s", value);
	cache.puts++;
	pthread_mutex_unlock(&cache.lock);
	snprintf(answer, LINE, "STORED");
}

static void get(const char *key, char *answer)
{
	struct entry *e;

	pthread_mutex_lock(&cache.lock);
	e = find(key);
	if (e && e->value) {
		cache.hits++;
		snprintf(answer, LINE, "%s", e->value);
	} else {
		cache.misses++;
		snprintf(answer, LINE, "NONE");
	}
	pthread_mutex_unlock(&cache.lock);
}

/* The path that forgot the lock: two of them free one value. */
static void drop(const char *key, char *answer)
{
	struct entry *e;
	char *value;

	pthread_mutex_lock(&cache.lock);
	e = find(key);
	pthread_mutex_unlock(&cache.lock);
	value = e ? e->value : NULL;
	if (value) {
		e->value = NULL;
		free(value);
	}
	snprintf(answer, LINE, "DROPPED");
}

/* ---- the workers ---- */

static struct request *next_request(void)
{
	struct request *r;

	pthread_mutex_lock(&queue.lock);
	while (!queue.first)
		pthread_cond_wait(&queue.filled, &queue.lock);
	r = queue.first;
	queue.first = r->next;
	if (!queue.first)
		queue.last = &queue.first;
	pthread_mutex_unlock(&queue.lock);
	return r;
}

static void add_request(int fd, const char *line)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->fd = fd;
	snprintf(r->line, sizeof(r->line), "%s", line);
	pthread_mutex_lock(&queue.lock);
	*queue.last = r;
	queue.last = &r->next;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static void answer(struct request *r)
{
	char key[32] = "", value[64] = "", text[LINE + 1];
	size_t length;

	if (sscanf(r->line, "PUT %31s %63s", key, value) == 2)
		put(key, value, text);
	else if (sscanf(r->line, "GET %31s", key) == 1)
		get(key, text);
	else if (sscanf(r->line, "DROP %31s", key) == 1)
		drop(key, text);
	else
		snprintf(text, sizeof(text), "WHAT");
	length = strlen(text);
	text[length++] = '\n';
	if (write(r->fd, text, length) < 0 && errno != EPIPE)
		perror("write");
}

static void *work(void *unused)
{
	struct request *r;

	for (;;) {
		r = next_request();
		answer(r);
		free(r);
	}
	return unused;
}

/* ---- the event loop ---- */

static int listen_at(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(fd, CLIENTS)) {
		perror("listen");
		exit(3);
	}
	return fd;
}

static void take_client(int poll, int listener)
{
	struct client *c = calloc(1, sizeof(*c));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

	if (!c)
		abort();
	c->fd = accept(listener, NULL, NULL);
	if (c->fd < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event))
		free(c);
}

static void take_lines(int poll, struct client *c)
{
	ssize_t n = read(c->fd, c->buf + c->used, sizeof(c->buf) - 1 - c->used);
	char *end;

	if (n <= 0) { /* a worker may still answer: left open */
		epoll_ctl(poll, EPOLL_CTL_DEL, c->fd, NULL);
		return;
	}
	c->used += n;
	c->buf[c->used] = '\0';
	while ((end = strchr(c->buf, '\n'))) {
		*end++ = '\0';
		add_request(c->fd, c->buf);
		c->used -= end - c->buf;
		memmove(c->buf, end, c->used + 1);
	}
}

static void serve(int port)
{
	struct epoll_event event = { .events = EPOLLIN };
	int listener, poll = epoll_create1(EPOLL_CLOEXEC);
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread, NULL, work, NULL);
	listener = listen_at(port);
	epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
	for (;;) {
		if (epoll_wait(poll, &event, 1, -1) < 1)
			continue;
		if (!event.data.ptr) {
			take_client(poll, listener);
			continue;
		}
		take_lines(poll, event.data.ptr);
	}
}

/* ---- one round of requests ---- */

static int connect_to(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("connect");
		exit(1);
	}
	return fd;
}

/* Sends @text to both; as many lines have to come back from each. */
static void ask_both(const int *fd, const char *text)
{
	char byte;

	for (int i = 0; i < 2; i++)
		if (write(fd[i], text, strlen(text)) < 0)
			exit(1);
	for (int i = 0; i < 2; i++)
		do
			if (read(fd[i], &byte, 1) != 1)
				exit(1);
		while (byte != '\n');
}

static int drive(int port)
{
	int fd[2] = { connect_to(port), connect_to(port) };

	ask_both(fd, "PUT a one\n");
	ask_both(fd, "GET a\n");
	ask_both(fd, "DROP a\n");
	ask_both(fd, "GET a\n");
	ask_both(fd, "PUT b two\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return drive(atoi(argv[1]));
	if (argc > 1)
		serve(atoi(argv[1]));
	fprintf(stderr, "usage: cache_server PORT [drive]\n");
	return 2;
}
