/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLED_SESSION_H
#define MAPLED_SESSION_H

#include <stddef.h>

void maple_session_tool(char *path, size_t size);
int maple_session_attach(char **argv);
int maple_session_jobs(char **argv);
int maple_session_detach(int argc, char **argv);

#endif
