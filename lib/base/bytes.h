/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_BYTES_H
#define MAPLE_REPORT_BYTES_H

#include <stddef.h>
#include <jansson.h>

size_t maple_bytes_utf8(const char *s);
json_t *maple_bytes_encode(const char *s);
char *maple_bytes_decode(const json_t *value);

#endif
