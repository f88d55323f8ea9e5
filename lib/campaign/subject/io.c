// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The target's standard files. Every run reads the same input from its
 * start: a file is opened again, a pipe is read once and kept. What a run
 * prints goes to files of its own, which a finding keeps.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io.h"

#define WORDS_MAX  (64 * 1024)
#define ERRORS_MAX (1024 * 1024) /* a report may be behind much else */

static int temporary(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("maple-output", MFD_CLOEXEC);
}

/*
 * Reads a pipe into a file. One that stays open and silent for a second is
 * nobody's input: a terminal multiplexer's, a job runner's.
 */
static int keep_pipe(int fd, bool *silent)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int copy = temporary();
	char buf[65536];
	ssize_t n;

	*silent = false;
	if (copy < 0)
		return -errno;
	for (;;) {
		if (poll(&pfd, 1, 1000) == 0) {
			*silent = true;
			break;
		}
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (write(copy, buf, n) != n) {
			close(copy);
			return -ENOSPC;
		}
	}
	return copy;
}

/*
 * maple_io_init - takes hold of standard input
 *
 * It is read from here on; a terminal is left to the target as it is.
 */
int maple_io_init(struct maple_io *io,
		  void (*notice)(void *ctx, const char *text), void *ctx,
		  struct maple_error *err)
{
	struct stat st;
	bool silent;
	int fd;

	memset(io, 0, sizeof(*io));
	io->in = -1;
	io->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (io->null < 0)
		return maple_error_set(err, errno, "/dev/null: %m");
	if (fstat(STDIN_FILENO, &st)) {
		io->in = io->null; /* closed: as good as empty */
		return 0;
	}
	if (S_ISREG(st.st_mode)) {
		io->in = STDIN_FILENO;
		io->in_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
		io->in_again = true;
		return 0;
	}
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) {
		io->in = STDIN_FILENO;
		return 0;
	}
	fd = keep_pipe(STDIN_FILENO, &silent);
	if (fd < 0)
		return maple_error_set(err, -fd,
				       "cannot keep standard "
				       "input: %s",
				       strerror(-fd));
	if (silent)
		notice(ctx, "standard input is a pipe that stays open: each "
			    "run gets what came in the first second");
	io->in = fd;
	io->in_again = true;
	return 0;
}

/* maple_io_deinit - lets go of everything */
void maple_io_deinit(struct maple_io *io)
{
	if (io->in > STDERR_FILENO && io->in != io->null)
		close(io->in);
	if (io->null > STDERR_FILENO)
		close(io->null);
	while (io->nspare)
		close(io->spare[--io->nspare]);
}

/* To make a file and have it vanish costs more than a short run. */
static int take_file(struct maple_io *io)
{
	return io->nspare ? io->spare[--io->nspare] : temporary();
}

/* All that used it is dead; it is to be as if nobody ever had. */
static void give_back(struct maple_io *io, int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	assert(io->nspare <= MAPLE_IO_SPARE);
	if (io->nspare < MAPLE_IO_SPARE && !fstat(fd, &st) &&
	    S_ISREG(st.st_mode) && (!st.st_size || !ftruncate(fd, 0)) &&
	    !fcntl(fd, F_SETFL, 0) && !lseek(fd, 0, SEEK_SET))
		io->spare[io->nspare++] = fd;
	else
		close(fd);
}

/* A description of its own, so that runs do not share an offset. */
static int open_again(int fd, off_t at)
{
	char path[64];
	int copy;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, O_RDONLY | O_CLOEXEC);
	if (copy >= 0)
		lseek(copy, at, SEEK_SET);
	return copy;
}

/* maple_io_begin - the files for one run */
int maple_io_begin(struct maple_io *io, struct maple_io_run *run,
		   struct maple_error *err)
{
	run->in = io->in_again ? open_again(io->in, io->in_at)
			       : fcntl(io->in, F_DUPFD_CLOEXEC, 3);
	if (run->in < 0)
		run->in = fcntl(io->null, F_DUPFD_CLOEXEC, 3);
	run->out = take_file(io);
	run->err = take_file(io);
	if (run->out < 0)
		run->out = fcntl(io->null, F_DUPFD_CLOEXEC, 3);
	if (run->err < 0)
		run->err = fcntl(io->null, F_DUPFD_CLOEXEC, 3);
	if (run->in < 0 || run->out < 0 || run->err < 0)
		return maple_error_set(err, errno, "no files for a run: %m");
	return 0;
}

static void copy(int from, int to)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buf, sizeof(buf), at)) > 0 &&
	       (n = write(to, buf, n)) > 0)
		at += n;
}

/*
 * maple_io_show - copies what the run printed to our own output
 *
 * Afterwards: a run that had ours for its own would not be like the others.
 * Some programs do other things before a terminal, or before /dev/null.
 */
void maple_io_show(const struct maple_io_run *run)
{
	copy(run->out, STDOUT_FILENO);
	copy(run->err, STDERR_FILENO);
}

/* What a file ends with: there it says what went wrong. */
static size_t take(int fd, char *buf, size_t max)
{
	struct stat st;
	off_t from = 0;
	ssize_t n;

	if (!fstat(fd, &st) && st.st_size > (off_t)max)
		from = st.st_size - (off_t)max;
	n = pread(fd, buf, max, from);
	return n > 0 ? (size_t)n : 0;
}

/* The ends of @out and @err, which may be -1. */
static char *take_both(int out, int err)
{
	char *words = malloc(WORDS_MAX + 1);
	size_t n;

	if (!words)
		return NULL;
	n = take(out, words, WORDS_MAX / 2);
	n += err >= 0 ? take(err, words + n, WORDS_MAX / 2) : 0;
	words[n] = '\0';
	if (n)
		return words;
	free(words);
	return NULL;
}

/* maple_io_words - what the run printed, cut; to be freed; NULL if nothing */
char *maple_io_words(const struct maple_io_run *run)
{
	return take_both(run->out, run->err);
}

/* maple_io_tail - what the file @fd has, cut; to be freed; NULL if nothing */
char *maple_io_tail(int fd)
{
	return take_both(fd, -1);
}

/* maple_io_errors - the same of what it wrote to its standard error alone */
char *maple_io_errors(const struct maple_io_run *run)
{
	char *words = malloc(ERRORS_MAX + 1);

	if (words)
		words[take(run->err, words, ERRORS_MAX)] = '\0';
	return words;
}

/*
 * maple_io_same - whether the run printed exactly what the file @path holds
 *
 * Returns 1 or 0, -errno if the file cannot be read.
 */
int maple_io_same(const struct maple_io_run *run, const char *path,
		  struct maple_error *err)
{
	char a[65536], b[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = 0;
	ssize_t n, m;

	if (fd < 0)
		return maple_error_set(err, errno, "--expect-output %s: %m",
				       path);
	do {
		n = pread(fd, a, sizeof(a), at);
		m = pread(run->out, b, sizeof(b), at);
		at += n;
	} while (n > 0 && n == m && !memcmp(a, b, n));
	close(fd);
	return n == 0 && m == 0;
}

/* maple_io_end - closes the files of a run, which may have none */
void maple_io_end(struct maple_io *io, struct maple_io_run *run)
{
	if (run->in >= 0)
		close(run->in);
	give_back(io, run->out);
	give_back(io, run->err);
}
