/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_SANITIZER_H
#define MAPLE_CAMPAIGN_SANITIZER_H

#include <stdbool.h>

/* What a sanitizer has printed of a run; sanitizer.c. */
struct maple_sanitizer {
	char title[256]; /* the same for the same bug: no addresses, no pids */
	char *text;	 /* the report as it was printed; owned */
};

bool maple_sanitizer_read(const char *printed, bool undefined,
			  struct maple_sanitizer *report);

#endif
