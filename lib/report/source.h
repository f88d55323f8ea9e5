/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_SOURCE_H
#define MAPLE_REPORT_SOURCE_H

#include <stdbool.h>
#include <maple/report.h>

#define MAPLE_SOURCE_MAX 4096

/* Where a place is in the source tree that the report is for. */
struct maple_source {
	char path[MAPLE_SOURCE_MAX]; /* relative to the root if below it */
	bool below;
};

bool maple_source_find(const char *root, const struct maple_place *place,
		       struct maple_source *source);
const struct maple_place *
maple_source_primary(const char *root, const struct maple_finding *finding);
const struct maple_place *maple_source_frame(const char *root,
					     const struct maple_stack *stack);
char *maple_source_uri(const char *before, const char *path);

#endif
