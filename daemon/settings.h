/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_SETTINGS_H
#define MAPLE_DAEMON_SETTINGS_H

#include <sched.h>
#include <maple/error.h>
#include "limits/limits.h"
#include "watch/line.h"

#define MAPLE_SETTINGS_FILE "/etc/mapled/mapled.conf"

struct maple_daemon_settings {
	char *socket;	/* where we listen, unless systemd does */
	char *database; /* path, or ":memory:" */
	char *group;	/* whose members may use us */
	cpu_set_t cpus; /* that targets get; none: all but the first */
	unsigned int max_clients;	/* of all users */
	uint64_t limit[MAPLE_LIMITS];	/* of each user */
	struct maple_watch_lines watch; /* mapled watch */
};

int maple_settings_init(struct maple_daemon_settings *settings);
int maple_settings_read(struct maple_daemon_settings *settings,
			const char *path, struct maple_error *err);
void maple_settings_deinit(struct maple_daemon_settings *settings);

#endif
