/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How long to wait for a CPU, and who hears of it. */
#ifndef MAPLE_PATIENCE_H
#define MAPLE_PATIENCE_H

#include <stdbool.h>

#define MAPLE_PATIENCE_SILENT 5.0 /* seconds */

struct maple_patience {
	double seconds; /* negative: as long as it takes */
	/* At once; and, of a longer wait, once more; the latter may be NULL. */
	void (*notice)(void *ctx, const char *text);
	void (*waits)(void *ctx, const char *text);
	void *ctx;
	/*
	 * Whether to wait no longer, as after a signal; or NULL. A signal that
	 * comes while nothing sleeps is seen by this alone.
	 */
	bool (*ends)(void);
};

#endif
