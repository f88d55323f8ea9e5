/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_IMAGE_DEMANGLE_H
#define MAPLE_IMAGE_DEMANGLE_H

#include <stdbool.h>

bool maple_demangle_is(const char *symbol);
char *maple_demangle(const char *symbol);
char *maple_demangle_short(const char *name);
const char *maple_demangle_tail(const char *name, unsigned int columns);

#endif
