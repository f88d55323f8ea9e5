// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The options of mapled and of its commands: one way to read and to explain them. */
#ifndef MAPLE_DAEMON_OPTIONS_H
#define MAPLE_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum { STATUS_USAGE = 2, STATUS_FAILED = 125 };

struct maple_daemon_option {
	const char *name, *argument, *help; /* argument: NULL, it has none */
};

#define MAPLE_OPTIONS 8 /* room of a command, --help included */

struct maple_daemon_command {
	const char *name;	 /* as it is typed: "mapled watch" */
	const char *about, *end; /* what --help says before and behind them */
	struct maple_daemon_option options[MAPLE_OPTIONS];
};

bool maple_options_read(const struct maple_daemon_command *command, int argc,
			char **argv, const char *given[MAPLE_OPTIONS],
			int *status);
int maple_options_say(const struct maple_daemon_command *command, int status,
		      const char *text);

#endif
