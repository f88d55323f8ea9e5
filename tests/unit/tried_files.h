/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Files that the tests of the sandbox make, and try to open. */
#ifndef TRIED_FILES_H
#define TRIED_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* 0, or why it cannot be opened. */
static inline int open_it(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static inline int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return open_it(path, O_RDONLY);
}

/* @name in @folder, with something in it; its @path. */
static inline void make_file(char *path, size_t size, const char *folder,
			     const char *name)
{
	FILE *file;

	snprintf(path, size, "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("some text\n", file);
	fclose(file);
}

#endif
