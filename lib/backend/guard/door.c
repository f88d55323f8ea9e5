// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is asked of another process, by ourselves or by way of the warden. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <maple/wire.h>
#include "base/array.h"
#include "door.h"
#include "backend/kernel/ebpf/uprobe.h"
#include "warden.h"

#define FILES_MOST 4096

/* A file that the warden has opened for good: whoever has its path uses it. */
struct kept {
	dev_t dev;
	ino_t ino;
	int fd;
};

/* The warden is one per process, as the rights are that it makes up for. */
static struct {
	pthread_mutex_t lock;
	pid_t self, target;
	int sock; /* -1: there is none */
	bool is_roots;
	unsigned int nsessions;
	unsigned int nfiles;
	struct kept *files;
} warden = { .lock = PTHREAD_MUTEX_INITIALIZER, .sock = -1 };

bool maple_door_has_warden(void)
{
	return warden.sock >= 0;
}

/* maple_door_is_roots - whether there is one that can more than its user can */
bool maple_door_is_roots(void)
{
	return warden.sock >= 0 && warden.is_roots;
}

static bool guards(pid_t pid)
{
	return warden.sock >= 0 && pid == warden.target;
}

/* ---- one question ---- */

static ssize_t exchange(const struct maple_warden_question *question,
			const void *bytes, int fd, void *packet, size_t room,
			int *got)
{
	size_t size = sizeof(*question) + question->size;
	unsigned char *out = malloc(size);
	unsigned int ngot = 0;
	ssize_t n;

	assert(bytes || !question->size);
	if (!out)
		return -ENOMEM;
	memcpy(out, question, sizeof(*question));
	if (bytes)
		memcpy(out + sizeof(*question), bytes, question->size);
	*got = -1;
	pthread_mutex_lock(&warden.lock);
	n = maple_wire_send(warden.sock, out, size, &fd, fd >= 0);
	if (n >= 0)
		n = maple_wire_receive(warden.sock, packet, room, got, &ngot, 1);
	pthread_mutex_unlock(&warden.lock);
	free(out);
	return n;
}

/*
 * Asks the warden; @bytes: what the answer brings, free(); @file: the file that
 * comes with it, or -1. Both may be NULL.
 */
static int ask(const struct maple_warden_question *question, const void *sent,
	       int fd, struct maple_warden_answer *answer, void **bytes,
	       int *file)
{
	size_t room = sizeof(*answer) + MAPLE_WARDEN_MOST;
	unsigned char *packet = malloc(room);
	int got = -1;
	ssize_t n = packet ? exchange(question, sent, fd, packet, room, &got)
			   : -ENOMEM;

	if (n >= (ssize_t)sizeof(*answer))
		memcpy(answer, packet, sizeof(*answer));
	if (n < (ssize_t)sizeof(*answer) ||
	    answer->size != n - sizeof(*answer)) {
		memset(answer, 0, sizeof(*answer));
		answer->error = n < 0 ? (int)n : -ECONNRESET;
	} else if (bytes) {
		memmove(packet, packet + sizeof(*answer), answer->size);
		*bytes = packet;
		packet = NULL;
	}
	free(packet);
	if (file && !answer->error)
		*file = got;
	else if (got >= 0)
		close(got);
	return answer->error;
}

/* ---- files ---- */

/* maple_door_open - /proc/@pid/@name, for reading; -1 with errno */
int maple_door_open(pid_t pid, const char *name)
{
	struct maple_warden_question question = { .op = MAPLE_WARDEN_OPEN };
	struct maple_warden_answer answer;
	char path[96];
	int fd = -1, e;

	if (!guards(pid)) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
		return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	snprintf(question.name, sizeof(question.name), "%s", name);
	e = ask(&question, NULL, -1, &answer, NULL, &fd);
	if (!e && fd >= 0)
		return fd;
	errno = e ? -e : EPROTO;
	return -1;
}

/* maple_door_read - the same as a stream; NULL with errno */
FILE *maple_door_read(pid_t pid, const char *name)
{
	int fd = maple_door_open(pid, name);
	FILE *file = fd >= 0 ? fdopen(fd, "re") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* maple_door_stat - what /proc/@pid/@name leads to; -1 with errno */
int maple_door_stat(pid_t pid, const char *name, struct stat *st)
{
	char path[96];
	int fd, e;

	if (!guards(pid)) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
		return stat(path, st);
	}
	fd = maple_door_open(pid, name);
	if (fd < 0)
		return -1;
	e = fstat(fd, st);
	close(fd);
	return e;
}

/* The one that there is of this file, instead of @fd, which is taken. */
static int keep(int fd)
{
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		return -errno;
	}
	for (unsigned int i = 0; i < warden.nfiles; i++) {
		if (warden.files[i].dev != st.st_dev ||
		    warden.files[i].ino != st.st_ino)
			continue;
		close(fd);
		return warden.files[i].fd;
	}
	assert(warden.nfiles <= FILES_MOST);
	if (warden.nfiles == FILES_MOST ||
	    !maple_array_resize(warden.files, warden.nfiles + 1)) {
		close(fd);
		return -ENOMEM;
	}
	warden.files[warden.nfiles++] =
		(struct kept){ st.st_dev, st.st_ino, fd };
	return fd;
}

/*
 * maple_door_path - a name by which we can open what /proc/@pid/@name is, for
 * as long as there is a warden; -errno
 */
int maple_door_path(pid_t pid, const char *name, char path[MAPLE_DOOR_PATH])
{
	int fd;

	if (!guards(pid)) {
		snprintf(path, MAPLE_DOOR_PATH, "/proc/%d/%.44s", pid, name);
		return 0;
	}
	fd = maple_door_open(pid, name);
	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&warden.lock);
	fd = keep(fd);
	pthread_mutex_unlock(&warden.lock);
	if (fd < 0)
		return fd;
	snprintf(path, MAPLE_DOOR_PATH, "/proc/self/fd/%d", fd);
	return 0;
}

/* maple_door_uprobe - as maple_uprobe_event() */
int maple_door_uprobe(pid_t pid, const char *path, uint64_t offset,
		      bool at_return)
{
	struct maple_warden_question question = {
		.op = MAPLE_WARDEN_UPROBE,
		.offset = offset,
		.at_return = at_return,
	};
	struct maple_warden_answer answer;
	int file, fd = -1, e;

	if (!guards(pid))
		return maple_uprobe_event(pid, path, offset, at_return);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0)
		return -errno;
	e = ask(&question, NULL, file, &answer, NULL, &fd);
	close(file);
	return e ? e : fd;
}

/* ---- threads ---- */

/* maple_door_stop - as maple_stop_all(); with a warden, they are its own */
int maple_door_stop(pid_t pid, struct maple_stopped *at)
{
	struct maple_warden_question question = { .op = MAPLE_WARDEN_STOP };
	struct maple_warden_answer answer;
	size_t size;
	int fd = -1;

	if (!guards(pid))
		return maple_stop_all(pid, at);
	if (ask(&question, NULL, -1, &answer, NULL, &fd))
		return 0;
	size = answer.n > 0 ? answer.n * sizeof(*at) : 0;
	if (answer.n > MAPLE_STOP_MOST ||
	    (size && pread(fd, at, size, 0) != (ssize_t)size))
		answer.n = 0;
	if (fd >= 0)
		close(fd);
	return answer.n;
}

/* maple_door_let_go - as maple_stop_let_go() */
void maple_door_let_go(pid_t pid, const struct maple_stopped *at, int n)
{
	struct maple_warden_question question = { .op = MAPLE_WARDEN_LET_GO };
	struct maple_warden_answer answer;

	if (guards(pid))
		ask(&question, NULL, -1, &answer, NULL, NULL);
	else
		maple_stop_let_go(at, n);
}

/* ---- maple.ko ---- */

/* maple_door_number - another session's, which ends with MAPLE_CMD_UNSPEC */
unsigned int maple_door_number(void)
{
	return ++warden.nsessions;
}

/*
 * maple_door_module - a command to maple.ko, by way of the warden
 * @session: the warden's number for it; @fd: what a file's attribute is about
 *
 * Errors: -ECONNRESET, the warden is gone. What maple.ko refuses is no error
 * of ours.
 */
int maple_door_module(unsigned int session, unsigned int command,
		      const void *attributes, size_t size, int fd,
		      struct maple_door_answer *to, struct maple_error *err)
{
	struct maple_warden_question question = {
		.op = MAPLE_WARDEN_MODULE,
		.session = session,
		.command = command,
		.size = (uint32_t)size,
	};
	struct maple_warden_answer answer;

	memset(to, 0, sizeof(*to));
	if (size > MAPLE_WARDEN_MOST)
		return maple_error_set(err, EMSGSIZE,
				       "a message of %zu bytes is too long",
				       size);
	ask(&question, attributes, fd, &answer, &to->attributes, NULL);
	if (!to->attributes)
		return maple_error_set(err, ECONNRESET,
				       "mapletest's own part that stays root "
				       "is gone: run it again");
	to->error = answer.error;
	to->size = answer.size;
	memcpy(to->text, answer.text, sizeof(to->text));
	to->text[sizeof(to->text) - 1] = '\0';
	return 0;
}

/* ---- the warden itself ---- */

/*
 * maple_door_warden - from now on a warden, with the rights that we have now,
 * opens the doors to process @pid, of @pidfd, while it is @identity
 *
 * Context: there is one thread, and no warden yet.
 */
int maple_door_warden(pid_t pid, int pidfd,
		      const struct maple_identity *identity,
		      struct maple_error *err)
{
	int pair[2];
	pid_t child;

	assert(warden.sock < 0 && !warden.nfiles);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return maple_error_set(err, errno, "no socket: %m");
	fflush(NULL);
	child = fork();
	if (!child) {
		close(pair[0]);
		maple_warden_serve(pair[1], pid, pidfd, identity);
	}
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return maple_error_set(err, errno, "no process: %m");
	}
	warden.self = child;
	warden.target = pid;
	warden.is_roots = !geteuid();
	warden.sock = pair[0];
	return 0;
}

/* maple_door_close - the warden, if there is one, has ended when this returns */
void maple_door_close(void)
{
	if (warden.sock < 0)
		return;
	close(warden.sock);
	warden.sock = -1;
	while (waitpid(warden.self, NULL, 0) < 0 && errno == EINTR)
		;
	while (warden.nfiles)
		close(warden.files[--warden.nfiles].fd);
	free(warden.files);
	warden.files = NULL;
}

/*
 * maple_door_forget - in a child that has the warden's socket no more: the
 * doors are as wide as its own rights
 */
void maple_door_forget(void)
{
	warden.sock = -1;
	warden.nfiles = 0;
	warden.files = NULL;
}
