/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_DEBUGGER_H
#define MAPLE_BACKEND_DEBUGGER_H

#include <sys/types.h>
#include <termios.h>
#include "backend/backend.h"

/* The debugger of one run; zeroed before. */
struct maple_debugger {
	pid_t pid;     /* 0: not started, or over */
	pid_t program; /* that waits, or has waited, for it */
	bool came;     /* it traces that, or has */
	bool held;     /* it holds it now */
	double seen;   /* when that was looked at */
	int terminal;  /* -1: there is none; what it was like: */
	pid_t group;   /* in the foreground */
	struct termios modes;
};

int maple_debugger_look(struct maple_debugger *d, struct maple_backend *b,
			double *began, struct maple_error *err);
void maple_debugger_call(const struct maple_debugger *d,
			 const struct maple_run_debugger *order,
			 const char *why);
int maple_debugger_end(struct maple_debugger *d,
		       const struct maple_run_debugger *order,
		       const struct maple_run_sink *sink, bool now,
		       struct maple_error *err);

#endif
