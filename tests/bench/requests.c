// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * requests PORT COUNT: one round of COUNT requests to a memcached on this
 * machine, by turns from two connections. The status is 0 when each had an
 * answer.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const request[] = {
	"set a 0 0 3\r\none\r\n", "get a\r\n",	  "append a 0 0 3\r\ntwo\r\n",
	"delete a\r\n",		  "incr a 1\r\n",
};

#define REQUESTS (sizeof(request) / sizeof(*request))
#define CLIENTS	 2

static int connect_to(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror("requests: connect");
		exit(1);
	}
	return fd;
}

/* An answer is a line, or ends with one. */
static void hear(int fd)
{
	char text[256];
	ssize_t n;

	do {
		n = read(fd, text, sizeof(text));
		if (n <= 0) {
			fprintf(stderr, "requests: no answer\n");
			exit(1);
		}
	} while (text[n - 1] != '\n');
}

int main(int argc, char **argv)
{
	int fd[CLIENTS], count;

	if (argc != 3) {
		fprintf(stderr, "usage: requests PORT COUNT\n");
		return 2;
	}
	count = atoi(argv[2]);
	for (int i = 0; i < CLIENTS; i++)
		fd[i] = connect_to(atoi(argv[1]));
	/* Both ask, then both are heard: the server has two at a time. */
	for (int sent = 0; sent < count; sent += CLIENTS) {
		const char *text = request[sent / CLIENTS % REQUESTS];

		for (int i = 0; i < CLIENTS && sent + i < count; i++)
			if (write(fd[i], text, strlen(text)) < 0)
				return 1;
		for (int i = 0; i < CLIENTS && sent + i < count; i++)
			hear(fd[i]);
	}
	return 0;
}
