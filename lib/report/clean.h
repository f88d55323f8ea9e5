/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_CLEAN_H
#define MAPLE_REPORT_CLEAN_H

#include <stddef.h>
#include <maple/report.h>

#define MAPLE_CLEAN_MAX 512 /* bytes of one cleaned string, NUL included */

/* One string for a terminal. */
struct maple_clean {
	char text[MAPLE_CLEAN_MAX];
	unsigned int columns;
};

size_t maple_clean_char(const char *s, char out[5], bool unicode);
struct maple_clean maple_clean(const char *s, bool unicode);
struct maple_clean maple_clean_place(const struct maple_place *place,
				     unsigned int room, bool unicode);
struct maple_clean maple_clean_inlined(const struct maple_place *place,
				       unsigned int room, bool unicode);
unsigned int maple_clean_width(const struct maple_report_style *style);

#endif
