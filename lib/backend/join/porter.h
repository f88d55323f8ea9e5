/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The porter: the part of mapletest that stays outside when mapletest goes into
 * a sandbox, and lets joiners in to the one process that it knows. Who is in
 * the sandbox traces nobody: its joiners are the porter's children. What they
 * do comes from the porter alone where it could reach another process: whom
 * they trace, and which file they load as the agent.
 *
 * Without a porter a joiner is our own child. Context: one question at a time.
 */
#ifndef MAPLE_BACKEND_PORTER_H
#define MAPLE_BACKEND_PORTER_H

#include <stdbool.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_joiner;

bool maple_porter_is_there(void);
int maple_porter_open(pid_t pid, const char *agent, struct maple_error *err);
int maple_porter_fits(struct maple_error *err);
int maple_porter_mend(bool *mended, struct maple_error *err);
int maple_porter_let_in(struct maple_joiner *j, int socket,
			struct maple_error *err);
void maple_porter_close(void);

#endif
