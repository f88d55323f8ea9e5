/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The files of hostile.c: of every kind, and such as change under a probe. */
#ifndef MAPLE_TESTS_HOSTILE_FILES_H
#define MAPLE_TESTS_HOSTILE_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "draw.h"
#include "hostile_actor.h"
#include "erratic.h"

static int copy_to(const char *path)
{
	int from = open(target_self, O_RDONLY | O_CLOEXEC);
	int to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	struct stat st;
	off_t at = 0;

	if (from >= 0 && to >= 0 && !fstat(from, &st))
		while (at < st.st_size &&
		       sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0)
			;
	if (from >= 0)
		close(from);
	return to;
}

static void keep(struct actor *a, int fd)
{
	unsigned int i = (unsigned int)draw(FILES);

	if (fd < 0)
		return;
	if (a->nfiles < FILES) {
		a->file[a->nfiles++] = fd;
		return;
	}
	close(a->file[i]);
	a->file[i] = fd;
}

static void send_fd(int sock, int fd)
{
	unsigned int one = 1;

	maple_wire_send(sock, "", 1, &fd, one);
}

static int receive_fd(int sock)
{
	struct pollfd pfd = { .fd = sock, .events = POLLIN };
	unsigned int n = 0;
	int fd = -1;
	char c;

	if (poll(&pfd, 1, 5000) > 0)
		maple_wire_receive(sock, &c, 1, &fd, &n, 1);
	return n ? fd : -1;
}

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Root of its own, as every user may be. */
static bool be_root(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) &&
	       write_to("/proc/self/uid_map", uids) &&
	       write_to("/proc/self/setgroups", "deny") &&
	       write_to("/proc/self/gid_map", gids);
}

/*
 * A copy of our code on a file system that goes when nobody has it open: the
 * namespaces that it is mounted in end with a child of ours, at the end of
 * @gone, a socket to it, or before.
 */
static int mounted_file(int *gone)
{
	char path[300];
	int pair[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		close_range(3, (unsigned int)pair[1] - 1, 0);
		close_range((unsigned int)pair[1] + 1, ~0u, 0);
		snprintf(path, sizeof(path), "%s/scratch", folder);
		if (!be_root() || mount("hostile", path, "tmpfs", 0, "size=8m"))
			_exit(1);
		strcat(path, "/code");
		fd = copy_to(path);
		send_fd(pair[1], open(path, O_RDONLY));
		close(fd);
		if (read(pair[1], path, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(pair[1]);
	fd = receive_fd(pair[0]);
	*gone = pair[0];
	if (fd < 0)
		close(pair[0]);
	return fd;
}

/* One that is kept, and its file system with it. */
static void keep_mounted(struct actor *a)
{
	int gone, fd = mounted_file(&gone);

	if (fd < 0)
		return;
	keep(a, fd);
	close(gone);
}

static void copy_path(char path[320], unsigned int number)
{
	snprintf(path, 320, "%s/scratch/%u", folder, number);
}

/* A copy by that number, in place of what was there; open for reading. */
static int make_copy(unsigned int number)
{
	char path[320], other[330];
	int fd;

	copy_path(path, number);
	snprintf(other, sizeof(other), "%s.new", path);
	fd = copy_to(chance(2) ? path : other);
	if (fd >= 0)
		close(fd);
	rename(other, path);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Under whatever has probes in it, or executes it; whether that was done. */
static bool change_copy(unsigned int number)
{
	static const char junk[4096] = { 0 };
	char path[320];
	bool done;
	int fd;

	copy_path(path, number);
	switch (draw(4)) {
	case 0:
		return !unlink(path);
	case 1:
		fd = make_copy(number);
		break;
	case 2:
		return !truncate(path, (off_t)draw(3) * 4096);
	default:
		fd = open(path, O_WRONLY | O_CLOEXEC);
		done = fd >= 0 && pwrite(fd, junk, sizeof(junk),
					 (off_t)draw(8) * 4096) > 0;
		if (fd >= 0)
			close(fd);
		return done;
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* What is no process and no code of anybody's; closed by the caller. */
static int odd_file(void)
{
	static const char *const paths[] = {
		"/",
		"/dev/null",
		"/dev/zero",
		"/proc/self/mem",
		"/proc/self/maps",
		"/etc/passwd",
		"/usr/bin/su",
		"/proc/1/status",
		"/dev/ptmx",
		"/sys/kernel/mm",
		"/lib/x86_64-linux-gnu/libc.so.6",
	};
	char path[330];
	int pair[2] = { -1, -1 };
	sigset_t none;

	switch (draw(12)) {
	case 0:
		if (pipe(pair))
			return -1;
		close(pair[1]);
		return pair[0];
	case 1:
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return -1;
		close(pair[1]);
		return pair[0];
	case 2:
		return memfd_create("hostile", 0);
	case 3:
		return eventfd(0, 0);
	case 4:
		return epoll_create1(0);
	case 5:
		return timerfd_create(CLOCK_MONOTONIC, 0);
	case 6:
		return inotify_init();
	case 7:
		sigemptyset(&none);
		return signalfd(-1, &none, 0);
	case 8:
		snprintf(path, sizeof(path), "%s/scratch/fifo", folder);
		mkfifo(path, 0600);
		return open(path, O_RDONLY | O_NONBLOCK);
	case 9: /* our code, and yet not to be read */
		return open(target_self, O_PATH);
	default:
		return open(paths[draw(sizeof(paths) / sizeof(*paths))],
			    chance(3) ? O_PATH : O_RDONLY | O_NONBLOCK);
	}
}

/* A descriptor of any kind; closed by the caller. */
static int any_file(struct actor *a)
{
	switch (draw(8)) {
	case 0:
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	case 1:
		return nforeign ? (int)syscall(SYS_pidfd_open,
					       foreign[draw(nforeign)], 0)
				: -1;
	case 2:
		return a->nfiles ? dup(a->file[draw(a->nfiles)]) : -1;
	case 3:
		return a->ntargets ? dup(a->target[draw(a->ntargets)].pidfd)
				   : -1;
	default:
		return odd_file();
	}
}

#endif
