/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_COLUMNS_H
#define MAPLE_REPORT_COLUMNS_H

#include <maple/report.h>

unsigned int maple_columns_draw(FILE *out, const struct maple_finding *finding,
				unsigned int first,
				const struct maple_report_style *style);

#endif
