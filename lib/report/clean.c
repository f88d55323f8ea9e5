// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Strings of the target on the user's terminal: no control characters, no
 * escape sequences, nothing that is not UTF-8. Every character counts as one
 * column; names in wide scripts will sit askew, nothing worse.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "image/source/demangle.h"
#include "base/bytes.h"
#include "report/clean.h"

/*
 * maple_clean_char - the first character of @s as it may be shown
 *
 * Returns how many bytes of @s it was; 0 at the end.
 */
size_t maple_clean_char(const char *s, char out[5], bool unicode)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = maple_bytes_utf8(s);
	bool control = *p < 0x20 || *p == 0x7f ||
		       (p[0] == 0xc2 && p[1] < 0xa0) || /* C1 */
		       (p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0xa8 &&
			p[2] <= 0xae); /* U+2028 to U+202E: order of writing */

	strcpy(out, "?");
	if (!*p)
		return 0;
	if (!n)
		return 1;
	if (!control && (n == 1 || unicode)) {
		memcpy(out, s, n);
		out[n] = 0;
	}
	return n;
}

/* maple_clean - @s for a terminal, cut where the buffer ends; NULL is "?" */
struct maple_clean maple_clean(const char *s, bool unicode)
{
	struct maple_clean clean = { "", 0 };
	size_t used = 0, n;
	char c[5];

	for (s = s ? s : "?"; (n = maple_clean_char(s, c, unicode)); s += n) {
		if (used + strlen(c) >= sizeof(clean.text))
			break;
		strcpy(clean.text + used, c);
		used += strlen(c);
		clean.columns++;
	}
	return clean;
}

/* maple_report_clean - see maple/report.h */
void maple_report_clean(FILE *out, const char *text)
{
	size_t n;
	char c[5];

	for (; (n = maple_clean_char(text, c, true)); text += n)
		fputs(c, out);
}

/* maple_report_word - see maple/report.h */
void maple_report_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * maple_clean_place - "file.c:12 function", or as much as is known
 * @room: columns for it; a name loses its first parts, not the last; 0: none
 */
struct maple_clean maple_clean_place(const struct maple_place *place,
				     unsigned int room, bool unicode)
{
	const char *function = place->function;
	char text[MAPLE_CLEAN_MAX] = "";
	unsigned int n;

	if (place->file)
		snprintf(text, sizeof(text), "%s:%u ", base_name(place->file),
			 place->line);
	else if (place->image)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64 " ",
			 base_name(place->image), place->offset);
	if (!function)
		function = place->image && !place->file ? "" : "?";
	n = strlen(text);
	if (room)
		function =
			maple_demangle_tail(function, room > n ? room - n : 1);
	snprintf(text + n, sizeof(text) - n, "%s", function);
	return maple_clean(text, unicode);
}

/* maple_clean_inlined - the place in the library that @place has inlined */
struct maple_clean maple_clean_inlined(const struct maple_place *place,
				       unsigned int room, bool unicode)
{
	const struct maple_place of = { .function = place->inlined,
					.file = place->inlined_file,
					.line = place->inlined_line };

	return maple_clean_place(&of, room, unicode);
}

/* maple_clean_width - columns to fill, within what is readable */
unsigned int maple_clean_width(const struct maple_report_style *style)
{
	if (!style->width || style->width < 80)
		return 80;
	return style->width > 120 ? 120 : style->width;
}
