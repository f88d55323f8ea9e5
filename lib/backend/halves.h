/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_HALVES_H
#define MAPLE_BACKEND_HALVES_H

#include "backend.h"
#include "stack.h"

/* Who carries out a run; zeroed: nobody, it is native. */
struct maple_halves {
	struct maple_backend *half[2];	 /* the second may be NULL */
	struct maple_run_order schedule; /* the second one's order, */
	struct maple_run beside;	 /* ... and what it saw */
};

int maple_halves_prepare(struct maple_halves *h,
			 const struct maple_run_order *order, char ***envp,
			 struct maple_error *err);
int maple_halves_attach(struct maple_halves *h, pid_t pid,
			struct maple_error *err);
pid_t maple_halves_serve(struct maple_halves *h,
			 const struct maple_run_sink *sink,
			 struct maple_run *run);
bool maple_halves_linger(const struct maple_halves *h, double since);
void maple_halves_release(struct maple_halves *h);
struct maple_stack_returns maple_halves_returns(struct maple_halves *h);
void maple_halves_finish(struct maple_halves *h,
			 const struct maple_run_sink *sink,
			 struct maple_run *run);

#endif
