// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A stream into a pipe whose reader may be slow, or may have left. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include "reading.h"

#define LOOK_MS	  200	/* how often it is asked whether to go on */
#define READER_MS 30000 /* with a reader that does not read */

struct pour {
	int pipe;
	int (*stop)(void *ctx);
	void *ctx;
};

/* Whether there is room before patience ends. */
static bool wait_for_room(const struct pour *p)
{
	struct pollfd pfd = { .fd = p->pipe, .events = POLLOUT };

	for (int ms = 0; ms < READER_MS && !p->stop(p->ctx); ms += LOOK_MS)
		if (poll(&pfd, 1, LOOK_MS) > 0)
			return pfd.revents & POLLOUT;
	return false;
}

static ssize_t on_write(void *cookie, const char *data, size_t size)
{
	const struct pour *p = cookie;
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = write(p->pipe, data + done, size - done);
		if (n > 0)
			done += n;
		else if (n < 0 && errno == EAGAIN && wait_for_room(p))
			continue;
		else if (n < 0 && errno == EINTR)
			continue;
		else
			return 0; /* as fopencookie(3) wants it */
	}
	return (ssize_t)done;
}

static int on_close(void *cookie)
{
	free(cookie);
	return 0;
}

/*
 * maple_pour_open - a stream to @pipe, which stays the caller's
 * @stop: whether it is to fail from now on
 *
 * NULL: out of memory.
 */
FILE *maple_pour_open(int pipe, int (*stop)(void *ctx), void *ctx)
{
	static const cookie_io_functions_t functions = { .write = on_write,
							 .close = on_close };
	struct pour *p = calloc(1, sizeof(*p));
	FILE *file;

	if (!p)
		return NULL;
	*p = (struct pour){ pipe, stop, ctx };
	fcntl(pipe, F_SETFL, O_NONBLOCK);
	file = fopencookie(p, "w", functions);
	if (!file)
		free(p);
	return file;
}
