/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_WORDS_H
#define MAPLE_REPORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <maple/campaign.h>
#include <maple/finding.h>
#include "report/clean.h"

#define MAPLE_WORDS_CONTROL 320 /* bytes that maple_words_control() needs */

const char *maple_words_access(const struct maple_moment *moment);
const char *maple_words_replayed(const struct maple_finding *finding);
struct maple_clean maple_words_value(const struct maple_moment *moment,
				     bool unicode);
unsigned int maple_words_order(const struct maple_finding *finding,
			       unsigned int first);
unsigned int maple_words_columns(const struct maple_finding *finding,
				 unsigned int first, unsigned int end);
const char *maple_words_thread(const struct maple_finding *finding,
			       unsigned int first, unsigned int end,
			       unsigned int role);
char *maple_words_history(const struct maple_finding *f);
const char *maple_words_no_cause(const struct maple_finding *f);
bool maple_words_speaks(const struct maple_finding *finding);
const char *maple_words_end(const char *text, unsigned int lines,
			    unsigned int *all);
void maple_words_count(const struct maple_finding *finding, char *buffer,
		       size_t size);
void maple_words_control(const struct maple_finding *finding, char *buffer,
			 size_t size);
const char *maple_words_half(const struct maple_moment *moment);
bool maple_words_bounds(const struct maple_finding *finding, char *buffer,
			size_t size);
const char *maple_words_split(const struct maple_finding *finding);
char *maple_words_freed(const struct maple_finding *finding);
const char *maple_words_weaker(const struct maple_campaign_result *result);
#define MAPLE_WORDS_WHEN 32 /* bytes that maple_words_when() needs */
const char *maple_words_when(uint64_t when, char *buffer);
char *maple_words_machine(const struct maple_finding *finding);
char *maple_words_violation(const struct maple_finding *finding);
char *maple_words_finding(const struct maple_finding *finding);

#endif
