/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_ASIDE_H
#define MAPLE_DAEMON_ASIDE_H

#include "../client.h"
#include "../limits/limits.h"

/* The head of something to do. */
struct maple_aside_job {
	struct maple_aside_job *next;
	void (*work)(struct maple_aside_job *job); /* aside */
	void (*done)(struct maple_aside_job *job); /* in the loop, after that */
};

int maple_aside_init(struct maple_server *server, struct maple_error *err);
struct maple_aside *maple_aside_create(int niceness);
struct maple_aside *maple_aside_of(struct maple_account *account);
void maple_aside_do(struct maple_aside *aside, struct maple_aside_job *job);
void maple_aside_close(struct maple_account *account, int fd);
bool maple_aside_is_stuck(struct maple_aside *aside);
bool maple_aside_is_idle(struct maple_aside *aside);
void maple_aside_deinit(void);
void maple_aside_end(struct maple_aside *aside);

#endif
