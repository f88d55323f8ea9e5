/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* mapled watch: attaches by itself, now and then, to what mapled.conf names. */
#ifndef MAPLE_DAEMON_WATCH_H
#define MAPLE_DAEMON_WATCH_H

#include <stdio.h>

/* `mapled watch`; returns the exit status. */
int maple_watch_command(int argc, char **argv);

/* What is watched and what came of it, if anything is and we may know. */
void maple_watch_tell(FILE *out);

#endif
