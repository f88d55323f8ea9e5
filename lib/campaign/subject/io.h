/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_IO_H
#define MAPLE_CAMPAIGN_IO_H

#include <stdbool.h>
#include <sys/types.h>
#include <maple/error.h>

#define MAPLE_IO_SPARE 64

/* What the target reads and where its words go. */
struct maple_io {
	int in;	       /* our own standard input, or what stands for it */
	off_t in_at;   /* where every run starts to read */
	bool in_again; /* can be read from there again */
	int null;
	int spare[MAPLE_IO_SPARE]; /* empty files */
	unsigned int nspare;
};

/* The files of one run. */
struct maple_io_run {
	int in, out, err;
};

int maple_io_init(struct maple_io *io,
		  void (*notice)(void *ctx, const char *text), void *ctx,
		  struct maple_error *err);
void maple_io_deinit(struct maple_io *io);
int maple_io_begin(struct maple_io *io, struct maple_io_run *run,
		   struct maple_error *err);
void maple_io_show(const struct maple_io_run *run);
char *maple_io_words(const struct maple_io_run *run);
char *maple_io_tail(int fd);
char *maple_io_errors(const struct maple_io_run *run);
int maple_io_same(const struct maple_io_run *run, const char *path,
		  struct maple_error *err);
void maple_io_end(struct maple_io *io, struct maple_io_run *run);

#endif
