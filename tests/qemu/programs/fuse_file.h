/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A FUSE file system that is one file, which can be opened but not read. */
#ifndef MAPLE_TEST_FUSE_FILE_H
#define MAPLE_TEST_FUSE_FILE_H

#include <errno.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void answer(int fd, const struct fuse_in_header *in, int error,
			  const void *body, size_t size)
{
	char data[256];
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + size),
		.error = error,
		.unique = in->unique,
	};

	memcpy(data, &out, sizeof(out));
	memcpy(data + sizeof(out), body, size);
	if (write(fd, data, out.len) < 0 && errno != ENOENT)
		_exit(2);
}

/* Answers at @fuse, the descriptor of the mount; a thread of its own does. */
static inline void *serve(void *fuse)
{
	static char data[1 << 17];
	const struct fuse_in_header *in = (const void *)data;
	const struct fuse_init_out init = { .major = 7, .minor = 31 };
	const struct fuse_open_out opened = { .fh = 1 };
	const struct fuse_attr_out attr = {
		.attr_valid = 1000,
		.attr = { .ino = 1,
			  .size = 1 << 20,
			  .mode = S_IFREG | 0755,
			  .nlink = 1,
			  .blksize = 4096 },
	};
	int fd = *(int *)fuse;

	while (read(fd, data, sizeof(data)) > 0)
		switch (in->opcode) {
		case FUSE_INIT:
			answer(fd, in, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			answer(fd, in, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			answer(fd, in, 0, &opened, sizeof(opened));
			break;
		case FUSE_FORGET:
		case FUSE_RELEASE:
			break;
		default:
			answer(fd, in, -EIO, "", 0);
		}
	return NULL;
}

#endif
