/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_ATTACHED_H
#define MAPLE_CAMPAIGN_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/attach.h>
#include <maple/event.h>
#include "backend/backend.h"
#include "backend/guard/warden.h"

struct maple_campaign;

/* A running program that a campaign has joined. */
struct maple_attached {
	struct maple_joined joined;
	unsigned long long started; /* clock ticks after boot */
	struct maple_identity was;
	char *exe, *cwd;
	char **argv, *words;
	int name;  /* socket whose name says that it is ours, or -1 */
	int asker; /* who waits for us to leave it, or -1 */
};

/* attach.c */
bool maple_attached_runs(const struct maple_attached *a);
unsigned int maple_attached_threads(const struct maple_attached *a);
int maple_attached_look(pid_t pid, struct maple_attached *a,
			struct maple_error *err);

/* detach.c */
int maple_detach_listen(struct maple_attached *a, struct maple_error *err);
bool maple_detach_asked(struct maple_attached *a);
void maple_detach_close(struct maple_attached *a);

#endif
