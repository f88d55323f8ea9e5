/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_SARIF_H
#define MAPLE_REPORT_SARIF_H

#include <jansson.h>
#include <maple/report.h>

unsigned int maple_sarif_rule(enum maple_failure kind);
json_t *maple_sarif_rule_id(enum maple_failure kind);
json_t *maple_sarif_result(const struct maple_report *report,
			   const struct maple_finding *finding);
json_t *maple_sarif_location(const char *root, const struct maple_place *place,
			     const char *text);
unsigned int maple_sarif_violation_rule(void);
json_t *maple_sarif_violation_id(void);
json_t *maple_sarif_violation(const struct maple_report *report,
			      const struct maple_finding *finding, bool fails);
json_t *maple_sarif_bases(const char *root);

#endif
