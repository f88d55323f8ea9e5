/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_WORDS_H
#define MAPLE_REPORT_WORDS_H

#include <maple/finding.h>

const char *maple_words_access(const struct maple_finding *finding,
			       const struct maple_moment *moment);
char *maple_words_history(const struct maple_finding *f);
bool maple_words_is_cause(const struct maple_finding *f);
char *maple_words_finding(const struct maple_finding *finding);

#endif
