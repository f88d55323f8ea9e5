/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_XML_H
#define MAPLE_REPORT_XML_H

#include <stdio.h>

void maple_xml_text(FILE *out, const char *text);
__attribute__((format(printf, 3, 4))) void
maple_xml_attribute(FILE *out, const char *name, const char *fmt, ...);

#endif
