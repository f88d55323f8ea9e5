/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_SUITE_ASK_H
#define MAPLE_SUITE_ASK_H

#include <stdbool.h>
#include <maple/error.h>

/* What a program said; "" where it said nothing. */
struct maple_answer {
	char *out, *err; /* owned */
	bool late;	 /* it had not ended in time */
	int status;	 /* as waitpid() has it; of no meaning if late */
	double seconds;
};

int maple_ask(char *const *argv, const char *const *more, double limit,
	      struct maple_answer *answer, struct maple_error *err);
void maple_answer_deinit(struct maple_answer *answer);

#endif
