/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* mapled observer: see command.c. */
#ifndef MAPLE_DAEMON_OBSERVER_H
#define MAPLE_DAEMON_OBSERVER_H

#include <signal.h>
#include <sys/types.h>

#define MAPLE_OBSERVER_SESSIONS 16 /* at a time; what they take is in */
#define MAPLE_OBSERVER_EACH	4  /* the unit's MemoryMax; of a user */

int maple_observer_command(int argc, char **argv);

/* service.c */
int maple_observer_run(int sock);

/* session.c */
_Noreturn void maple_observer_session(int sock, pid_t parent);

#endif
