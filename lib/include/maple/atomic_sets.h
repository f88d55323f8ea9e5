/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Atomic sets as a user declares them: which fields of a struct, or which
 * global variables, belong together. A line is one of these, empty, or a
 * comment that begins with '#':
 *
 *   set NAME struct S.f, S.g	 those fields of each object of type S
 *   set NAME global a, b.c	 those variables, or parts of them
 *
 * Types and variables have the names that the source gives them.
 *
 * Context: read once; then any thread may look.
 */
#ifndef MAPLE_ATOMIC_SETS_H
#define MAPLE_ATOMIC_SETS_H

#include <stdbool.h>
#include <maple/error.h>

struct maple_atomic_set {
	char *name;
	unsigned int line; /* of the file */
	bool global;
	char *type; /* struct: its name; else NULL */
	unsigned int n;
	char **member; /* fields of it, or variables */
};

struct maple_atomic_sets {
	char *path;
	unsigned int n;
	struct maple_atomic_set *set;
};

/*
 * maple_atomic_sets_read - the sets of a file
 * @sets: to be freed with maple_atomic_sets_destroy()
 *
 * Errors: -EINVAL a line is none, named as FILE:LINE with what it should be;
 * -ENOMEM; what opening or reading the file says.
 */
int maple_atomic_sets_read(const char *path, struct maple_atomic_sets **sets,
			   struct maple_error *err);
void maple_atomic_sets_destroy(struct maple_atomic_sets *sets);

#endif
