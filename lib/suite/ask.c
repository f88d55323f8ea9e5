// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A question to a program: what it prints when it is called so. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "suite/ask.h"

#define ANSWER_MAX (8u << 20) /* bytes of each stream */

struct stream {
	int fd; /* -1: at its end */
	char *text;
	size_t n, room;
};

static char **join(char *const *argv, const char *const *more)
{
	size_t n = 0, m = 0;
	char **all;

	while (argv[n])
		n++;
	while (more[m])
		m++;
	all = calloc(n + m + 1, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, argv, n * sizeof(*all));
	memcpy(all + n, more, m * sizeof(*all));
	return all;
}

/* In a group of its own, which is ended as a whole. */
static pid_t start(char *const *argv, const int out[2], const int err[2])
{
	pid_t parent = getpid(), pid = fork();
	int null;

	if (pid)
		return pid;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null = open("/dev/null", O_RDONLY);
	if (getppid() == parent && null >= 0 && dup2(null, 0) == 0 &&
	    dup2(out[1], 1) == 1 && dup2(err[1], 2) == 2)
		execvp(argv[0], argv);
	_exit(127);
}

/* Returns 0 or -errno; what is more than ANSWER_MAX is read and dropped. */
static int take(struct stream *s)
{
	char chunk[4096], *grown;
	ssize_t n = read(s->fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		close(s->fd);
		s->fd = -1;
		return n ? -errno : 0;
	}
	if (s->n + (size_t)n > ANSWER_MAX)
		return 0;
	if (s->n + (size_t)n + 1 > s->room) {
		s->room = (s->n + (size_t)n + 1) * 2;
		grown = realloc(s->text, s->room);
		if (!grown)
			return -ENOMEM;
		s->text = grown;
	}
	memcpy(s->text + s->n, chunk, (size_t)n);
	s->n += (size_t)n;
	s->text[s->n] = '\0';
	return 0;
}

/* Reads until both have ended, or it is @until. Returns whether it is late. */
static bool listen_to(struct stream s[2], double until, int *error)
{
	while (!*error && (s[0].fd >= 0 || s[1].fd >= 0)) {
		struct pollfd fds[2] = { { s[0].fd, POLLIN, 0 },
					 { s[1].fd, POLLIN, 0 } };
		double left = until - maple_clock_now();

		if (left <= 0)
			return true;
		if (poll(fds, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR)
			*error = -errno;
		for (int i = 0; i < 2 && !*error; i++)
			if (fds[i].revents)
				*error = take(&s[i]);
	}
	return false;
}

/* It may have closed its output and go on. Returns whether it is late. */
static bool await(pid_t pid, double until, int *status)
{
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (maple_clock_now() > until)
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * maple_ask - runs @argv with the words @more behind it
 * @limit: seconds that it has; then it is killed
 * @answer: to be given to maple_answer_deinit(), unless an error is returned
 */
int maple_ask(char *const *argv, const char *const *more, double limit,
	      struct maple_answer *answer, struct maple_error *err)
{
	double began = maple_clock_now();
	struct stream s[2] = { { .fd = -1 }, { .fd = -1 } };
	int pipes[2][2] = { { -1, -1 }, { -1, -1 } };
	char **all = join(argv, more);
	pid_t pid = -1;
	int e = all ? 0 : -ENOMEM;

	assert(*argv);
	*answer = (struct maple_answer){ .late = true };
	for (int i = 0; i < 2 && !e; i++) {
		e = pipe2(pipes[i], O_CLOEXEC) ? -errno : 0;
		s[i].fd = pipes[i][0];
		s[i].text = calloc(1, s[i].room = 1);
		if (!s[i].text)
			e = -ENOMEM;
	}
	if (!e) {
		pid = start(all, pipes[0], pipes[1]);
		e = pid < 0 ? -errno : 0;
	}
	for (int i = 0; i < 2; i++)
		if (pipes[i][1] >= 0)
			close(pipes[i][1]);
	if (!e)
		answer->late = listen_to(s, began + limit, &e) ||
			       await(pid, began + limit, &answer->status);
	if (pid > 0) {
		kill(-pid, SIGKILL);
		if (answer->late || e)
			while (waitpid(pid, &answer->status, 0) < 0 &&
			       errno == EINTR)
				;
	}
	for (int i = 0; i < 2; i++)
		if (s[i].fd >= 0)
			close(s[i].fd);
	free(all);
	answer->out = s[0].text;
	answer->err = s[1].text;
	answer->seconds = maple_clock_now() - began;
	if (!e)
		return 0;
	maple_answer_deinit(answer);
	return maple_error_set(err, -e, "'%s' could not be asked: %s", argv[0],
			       strerror(-e));
}

void maple_answer_deinit(struct maple_answer *answer)
{
	free(answer->out);
	free(answer->err);
	*answer = (struct maple_answer){ 0 };
}
