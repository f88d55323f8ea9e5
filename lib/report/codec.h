/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_CODEC_H
#define MAPLE_REPORT_CODEC_H

#include <jansson.h>
#include <maple/finding.h>
#include <maple/memo.h>

json_t *maple_codec_violation(const struct maple_finding *finding);
json_t *maple_codec_finding(const struct maple_finding *finding);
json_t *maple_codec_machines(const struct maple_memo_machine *machines,
			     size_t n);
json_t *maple_codec_hours(const struct maple_memo_hour *hours, size_t n);

#endif
