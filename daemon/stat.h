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

/*
 * What /proc/@pid/@name says, @size bytes with the NUL at most; false: there is
 * no such process
 */
bool maple_stat_text(pid_t pid, const char *name, char *text, size_t size);

/* False: there is no such process. */
bool maple_stat_read(pid_t pid, struct maple_stat *stat);

#endif
