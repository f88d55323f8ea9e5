// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Text in XML, and in HTML that is well-formed XML. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "report/xml.h"

#define UNKNOWN "\xef\xbf\xbd" /* U+FFFD */

/* Characters that XML 1.0 has no way to say, or that turn writing around. */
static int refused(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	if (n == 1)
		return (*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f;
	if (n == 2)
		return p[0] == 0xc2 && p[1] < 0xa0; /* C1 */
	if (n == 3 && p[0] == 0xef && p[1] == 0xbf)
		return p[2] >= 0xbe; /* U+FFFE, U+FFFF */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x81)
		return p[2] >= 0xa6 && p[2] <= 0xa9; /* U+2066 to U+2069 */
	return n == 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 &&
	       p[2] <= 0xae; /* U+2028 to U+202E */
}

/* maple_xml_text - @text for content and for attributes in double quotes */
void maple_xml_text(FILE *out, const char *text)
{
	size_t n;

	for (; *text; text += n) {
		n = maple_bytes_utf8(text);
		if (!n) {
			fputs(UNKNOWN, out);
			n = 1;
		} else if (refused(text, n)) {
			fputs(UNKNOWN, out);
		} else if (*text == '&') {
			fputs("&amp;", out);
		} else if (*text == '<') {
			fputs("&lt;", out);
		} else if (*text == '>') {
			fputs("&gt;", out);
		} else if (*text == '"') {
			fputs("&quot;", out);
		} else {
			fwrite(text, 1, n, out);
		}
	}
}

/* maple_xml_attribute - ' name="..."' */
void maple_xml_attribute(FILE *out, const char *name, const char *fmt, ...)
{
	char *value;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&value, fmt, ap);
	va_end(ap);
	fprintf(out, " %s=\"", name);
	if (n >= 0) {
		maple_xml_text(out, value);
		free(value);
	}
	putc('"', out);
}
