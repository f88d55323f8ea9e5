/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_PAGE_H
#define MAPLE_REPORT_PAGE_H

#include <maple/report.h>

extern const char maple_page_style[];

__attribute__((format(printf, 4, 5))) void
maple_page_element(FILE *out, const char *element, const char *class,
		   const char *fmt, ...);
void maple_page_finding(FILE *out, const struct maple_report *report,
			const struct maple_finding *finding);
void maple_page_title(FILE *out, const struct maple_report *report,
		      const struct maple_finding *f);
void maple_page_order(FILE *out, const struct maple_report *report,
		      const struct maple_finding *finding);
void maple_page_stacks(FILE *out, const struct maple_report *report,
		       const struct maple_finding *finding);
void maple_page_program(FILE *out, const struct maple_report_program *program);
void maple_page_growth(FILE *out, const struct maple_detached_point *points,
		       size_t n);
void maple_page_spark(FILE *out, const struct maple_detached_point *points,
		      size_t n);
void maple_page_jobs(FILE *out, const struct maple_report *report);
void maple_page_job(FILE *out, const struct maple_report *report);
void maple_page_violations(FILE *out, const struct maple_report *report);
void maple_page_machines(FILE *out, const struct maple_report *report);
void maple_page_map(FILE *out, const struct maple_report_program *program);
void maple_page_function(FILE *out, const char *element,
			 const struct maple_place *place);
void maple_page_inlined(FILE *out, const struct maple_place *place,
			unsigned int room);
const char *maple_page_where(const struct maple_report *report,
			     const struct maple_place *place, char *buffer,
			     size_t size);

#endif
