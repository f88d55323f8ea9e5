/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The door to another process: what it takes rights to read of it, to stop it,
 * and to have maple.ko at it. Without a warden (warden.h) it is as wide as our
 * own rights; with one, the warden does it for the one process that it knows.
 *
 * Context: any thread; one question at a time.
 */
#ifndef MAPLE_BACKEND_DOOR_H
#define MAPLE_BACKEND_DOOR_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <maple/error.h>
#include "stop.h"

#define MAPLE_DOOR_PATH 64

int maple_door_open(pid_t pid, const char *name);
FILE *maple_door_read(pid_t pid, const char *name);
int maple_door_stat(pid_t pid, const char *name, struct stat *st);
int maple_door_path(pid_t pid, const char *name, char path[MAPLE_DOOR_PATH]);
int maple_door_uprobe(pid_t pid, const char *path, uint64_t offset,
		      bool at_return);
int maple_door_stop(pid_t pid, struct maple_stopped *at);
void maple_door_let_go(pid_t pid, const struct maple_stopped *at, int n);

/* What maple.ko answers, by way of the warden. */
struct maple_door_answer {
	int error;		    /* -errno, of maple.ko */
	char text[MAPLE_ERROR_MAX]; /* ... its words */
	void *attributes;	    /* free() */
	size_t size;
};

bool maple_door_has_warden(void);
bool maple_door_is_roots(void);
unsigned int maple_door_number(void);
int maple_door_module(unsigned int session, unsigned int command,
		      const void *attributes, size_t size, int fd,
		      struct maple_door_answer *answer, struct maple_error *err);

struct maple_identity;

int maple_door_warden(pid_t pid, int pidfd,
		      const struct maple_identity *identity,
		      struct maple_error *err);
void maple_door_close(void);
void maple_door_forget(void);

#endif
