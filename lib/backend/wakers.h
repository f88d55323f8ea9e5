/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_WAKERS_H
#define MAPLE_BACKEND_WAKERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Where a target stands among the processes that it could hear from. */
struct maple_wakers {
	pid_t root;	 /* all of its tree is below it; 0: only its own */
	pid_t spares[2]; /* ... but these, which are no part of the run */
	bool outsiders;	 /* commands of the user's may send it signals */
};

bool maple_wakers_exist(const struct maple_wakers *w, pid_t pid);

#endif
