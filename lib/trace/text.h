/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_TRACE_TEXT_H
#define MAPLE_TRACE_TEXT_H

#include <string.h>
#include "trace.h"

#define MAPLE_TEXT_SPACING 64 /* bytes from x1 to x2 */
#define MAPLE_TEXT_OBJECTS (1u << 20)

/* How an event of a kind is written; the table ends with a NULL word. */
struct maple_text_form {
	const char *word;
	uint8_t kind;
	bool site;   /* a site follows */
	char object; /* letter of its object, 'T' for a thread, 0 for none */
};

struct maple_text_flag {
	const char *word;
	uint8_t flag;
};

extern const struct maple_text_form maple_text_forms[];
extern const struct maple_text_flag maple_text_flags[];

/* Objects of each letter have 4 GiB to themselves. */
static inline uint64_t maple_text_base(char letter)
{
	static const char letters[] = "xmcbqo";

	return (uint64_t)(strchr(letters, letter) - letters + 1) << 32;
}

#endif
