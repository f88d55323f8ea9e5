// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Arguments and paths are bytes, and PostgreSQL keeps characters alone. A byte
 * that is part of none becomes U+EF00 and the byte, of the private use area;
 * what is such a character by itself is taken for three bytes that are part of
 * none, so that whatever goes in comes out.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "memo/postgres/text.h"

#define LEAD 0xee /* the first byte of U+EF80 to U+EFFF */

static bool follows(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Whether these three bytes are one of the characters that stand for bytes. */
static bool is_byte(const unsigned char *p)
{
	return p[0] == LEAD && (p[1] == 0xbe || p[1] == 0xbf) && follows(p[2]);
}

/* The bytes of the character at @p; 0: it is none, or stands for a byte. */
static unsigned int character(const unsigned char *p)
{
	unsigned int n = *p < 0x80   ? 1
			 : *p < 0xc2 ? 0
			 : *p < 0xe0 ? 2
			 : *p < 0xf0 ? 3
			 : *p < 0xf5 ? 4
				     : 0;

	for (unsigned int i = 1; i < n; i++)
		if (!follows(p[i]))
			return 0;
	/* Longer than need be, a surrogate, or past the last one. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n == 3 && is_byte(p) ? 0 : n;
}

/* maple_pg_encode - @text in characters; to be freed; NULL without memory */
char *maple_pg_encode(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *encoded = malloc(3 * strlen(text) + 1), *to = encoded;

	while (encoded && *p) {
		unsigned int n = character(p);

		if (n) {
			to = mempcpy(to, p, n);
			p += n;
			continue;
		}
		*to++ = (char)LEAD;
		*to++ = (char)(*p < 0xc0 ? 0xbe : 0xbf);
		*to++ = (char)((*p & 0x3f) | 0x80);
		p++;
	}
	if (encoded)
		*to = '\0';
	return encoded;
}

/* maple_pg_decode - what maple_pg_encode() was given; to be freed */
char *maple_pg_decode(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char *decoded = malloc(strlen(text) + 1), *to = decoded;

	while (decoded && *p) {
		if (!is_byte(p)) {
			*to++ = (char)*p++;
			continue;
		}
		*to++ = (char)((p[1] == 0xbe ? 0x80 : 0xc0) | (p[2] & 0x3f));
		p += 3;
	}
	if (decoded)
		*to = '\0';
	return decoded;
}
