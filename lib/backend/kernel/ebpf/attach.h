/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Putting an eBPF program at many places of a file. Internal to
 * lib/backend/kernel; the contracts stand at the definitions in attach.c.
 */
#ifndef MAPLE_BACKEND_KERNEL_ATTACH_H
#define MAPLE_BACKEND_KERNEL_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>

/* linux/bpf.h of Linux 6.6 has it; the kernel here may be newer than that. */
#define MAPLE_TRACE_UPROBE_MULTI 48

struct maple_attachments {
	bool multi; /* one file descriptor for many places */
	unsigned int n, room;
	int *fd;	  /* unless multi, one for each place; -1: none there */
	uint64_t places;  /* in place */
	uint64_t refused; /* the kernel can probe nothing there */
	uint64_t unreached; /* no file descriptor was left for them */
};

struct maple_places {
	int program;
	bool at_return;
	const char *path;
	pid_t pid;
	unsigned int n;
	const uint64_t *offset, *cookie;
	bool *refused; /* set where the kernel can probe nothing; or NULL */
};

bool maple_attach_multi_works(void);
unsigned int maple_attach_limit(void);
int maple_attach(struct maple_attachments *a, const struct maple_places *places,
		 struct maple_error *err);
int maple_attach_again(struct maple_attachments *a,
		       const struct maple_places *place, unsigned int i);
void maple_attach_drop(struct maple_attachments *a, unsigned int i);
void maple_attachments_undo(struct maple_attachments *a);

#endif
