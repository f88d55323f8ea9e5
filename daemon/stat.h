/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What /proc says of a process, whoever's it is. */
#ifndef MAPLE_DAEMON_STAT_H
#define MAPLE_DAEMON_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maple_stat {
	long threads;
	uint64_t started; /* in ticks since boot: with its number, who it is */
	double used;	  /* seconds of CPU, with the children it waited for */
};

/* False: there is no such process. */
bool maple_stat_read(pid_t pid, struct maple_stat *stat);

#endif
