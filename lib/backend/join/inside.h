/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of the joiner. */
#ifndef MAPLE_BACKEND_INSIDE_H
#define MAPLE_BACKEND_INSIDE_H

#include "join.h"

struct maple_inside {
	struct maple_join_state *state;
	pid_t pid; /* of the process that is joined; as in state, by right */
	const char *agent; /* the file of it */
	struct maple_shm *shm;
	int shm_fd, tables_fd;
	struct maple_halt stop;
};

/* load.c */
int maple_inside_load(struct maple_inside *in, struct maple_error *err);
int maple_inside_find(struct maple_inside *in, struct maple_error *err);
bool maple_inside_is_there(const struct maple_inside *in);
int maple_inside_unload(struct maple_inside *in, struct maple_error *err);
int maple_inside_call(struct maple_inside *in, const struct maple_called *what,
		      uint64_t *result, struct maple_error *err);
int maple_inside_settle(struct maple_inside *in, struct maple_error *err);

/* inside.c */
uint64_t maple_inside_function(const struct maple_inside *in, const char *name);
int maple_inside_enter(struct maple_inside *in, struct maple_error *err);
int maple_inside_leave(struct maple_inside *in, struct maple_error *err);

#endif
