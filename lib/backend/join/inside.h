/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of the joiner. */
#ifndef MAPLE_BACKEND_INSIDE_H
#define MAPLE_BACKEND_INSIDE_H

#include "join.h"

struct maple_inside {
	struct maple_join_state *state;
	pid_t pid; /* of the process that is joined; as in state, by right */
	const char *agent; /* the file of it */
	struct maple_call_by by;
	struct maple_safe safe;
	struct maple_shm *shm;
	uint64_t shm_at; /* in the process, where shm is but a copy of it; or 0 */
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

/* joiner.c */
void maple_joiner_let_look(pid_t pid);
void maple_joiner_leave_for_good(struct maple_inside *in, unsigned int tries);

/* will.c */
void maple_will_write(struct maple_inside *in);
void maple_will_enter(struct maple_inside *in, bool entered);
void maple_will_look(struct maple_inside *in);

/* inside.c */
uint64_t maple_inside_function(const struct maple_inside *in, const char *name);
int maple_inside_enter(struct maple_inside *in, struct maple_error *err);
int maple_inside_leave(struct maple_inside *in, struct maple_error *err);

#endif
