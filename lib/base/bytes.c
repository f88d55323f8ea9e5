// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Strings of any bytes in JSON, which knows UTF-8 only. Arguments, paths and
 * a target's output need not be UTF-8, and a replay needs them exactly, so a
 * byte b that is no part of valid UTF-8 travels as the private character
 * U+10FF00 + b. Those characters themselves, should they turn up, are taken
 * apart the same way, which makes the mapping reversible.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"

/*
 * maple_bytes_utf8 - length of the valid UTF-8 character that @s begins with
 *
 * 0 at the end of the string and where no valid character begins.
 */
size_t maple_bytes_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t n;

	if (!*p)
		return 0;
	if (*p < 0x80)
		return 1;
	if ((*p & 0xe0) == 0xc0)
		n = 2;
	else if ((*p & 0xf0) == 0xe0)
		n = 3;
	else if ((*p & 0xf8) == 0xf0)
		n = 4;
	else
		return 0;
	c = *p & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

/* Whether the four bytes at @s are one of the characters that escape. */
static int is_escape(const char *s)
{
	return (unsigned char)s[0] == 0xf4 && (unsigned char)s[1] == 0x8f &&
	       ((unsigned char)s[2] == 0xbe || (unsigned char)s[2] == 0xbf);
}

/*
 * maple_bytes_encode - @s as a JSON string; NULL as JSON's null
 *
 * Returns NULL when out of memory.
 */
json_t *maple_bytes_encode(const char *s)
{
	json_t *value;
	char *buffer, *p;
	size_t n;

	if (!s)
		return json_null();
	buffer = calloc(4, strlen(s) + 1);
	if (!buffer)
		return NULL;
	for (p = buffer; *s; s += n) {
		n = maple_bytes_utf8(s);
		if (n && !(n == 4 && is_escape(s))) {
			memcpy(p, s, n);
			p += n;
			continue;
		}
		/* U+10FF80 + (b - 0x80), spelt out in UTF-8. */
		n = 1;
		*p++ = (char)0xf4;
		*p++ = (char)0x8f;
		*p++ = (char)(0xbc | (unsigned char)*s >> 6);
		*p++ = (char)(0x80 | ((unsigned char)*s & 0x3f));
	}
	value = json_stringn(buffer, p - buffer);
	free(buffer);
	return value;
}

/* maple_bytes_decode - the way back; NULL if @value is no string */
char *maple_bytes_decode(const json_t *value)
{
	const char *s = json_string_value(value);
	char *buffer, *p;

	if (!s)
		return NULL;
	buffer = p = calloc(1, strlen(s) + 1);
	if (!buffer)
		return NULL;
	while (*s) {
		if (maple_bytes_utf8(s) == 4 && is_escape(s)) {
			*p++ = (char)(((unsigned char)s[2] & 3) << 6 |
				      ((unsigned char)s[3] & 0x3f));
			s += 4;
		} else {
			*p++ = *s++;
		}
	}
	*p = 0;
	return buffer;
}
