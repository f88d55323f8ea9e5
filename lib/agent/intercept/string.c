// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * str* and stp*, with their _chk forms. A range ends with the last byte that
 * the function has to look at, the NUL as a rule. It is measured first, and
 * the real function is called between before() and after(): if another
 * thread changes the string while this one is held, what then happens is
 * what would happen natively.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "memory.h"

#define ALL SIZE_MAX /* no limit */

char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__stpncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t n, size_t room);
char *__strdup(const char *s);
char *__strndup(const char *s, size_t n);

MAPLE_REAL(strlen);
MAPLE_REAL(strnlen);

static size_t length(const char *s, size_t max)
{
	size_t n = 0;

	if (max == ALL && KNOWN(strlen))
		return KNOWN(strlen)(s);
	if (KNOWN(strnlen))
		return KNOWN(strnlen)(s, max);
	while (n < max && s[n]) {
		PLAIN_LOOP();
		n++;
	}
	return n;
}

/* Bytes looked at to find the end of @s: up to its NUL, if that is in @max. */
static size_t extent(const char *s, size_t max)
{
	size_t n = length(s, max);

	return n < max ? n + 1 : max;
}

/* The length, as an access of the caller. */
static size_t read_length(uint32_t site, const char *s, size_t max)
{
	struct maple_memory_range r = maple_read(s, extent(s, max));
	size_t n;

	maple_range_before(site, r);
	n = length(s, max);
	maple_range_after(site, r);
	return n;
}

MAPLE_EXPORT size_t strlen(const char *s)
{
	if (!COUNTS(MAPLE_EV_READ))
		return length(s, ALL);
	return read_length(SITE(MAPLE_EV_READ), s, ALL);
}

MAPLE_EXPORT size_t strnlen(const char *s, size_t max)
{
	if (!COUNTS(MAPLE_EV_READ))
		return length(s, max);
	return read_length(SITE(MAPLE_EV_READ), s, max);
}

/* At most @max bytes of the string, and zeros up to @fill bytes. */
static char *early_copy(char *to, const char *from, size_t max, size_t fill)
{
	size_t i, n = length(from, max);

	for (i = 0; i < n; i++) {
		to[i] = from[i];
		PLAIN_LOOP();
	}
	for (; i < fill; i++) {
		to[i] = 0;
		PLAIN_LOOP();
	}
	return to;
}

static char *early_append(char *to, const char *from, size_t max)
{
	early_copy(to + length(to, ALL), from, max, length(from, max) + 1);
	return to;
}

/* Copies: of the string @from, of @n bytes of it, to the end of @to. */
#define FROM	 char *to, const char *from
#define COPIED	 maple_read(from, extent(from, ALL))
#define COPIED_N maple_read(from, extent(from, n))
#define WHOLE	 maple_write(to, extent(from, ALL))
#define WHOLE_N	 maple_write(to, n)
#define APPENDED maple_write(to + read_length(site, to, ALL), extent(from, ALL))
#define APPENDED_N \
	maple_write(to + read_length(site, to, ALL), length(from, n) + 1)
#define EARLY	   early_copy(to, from, ALL, extent(from, ALL))
#define EARLY_END  (EARLY + length(from, ALL))
#define EARLY_N	   early_copy(to, from, n, n)
#define EARLY_ENDN (EARLY_N + length(from, n))
#define EARLY_CAT  early_append(to, from, ALL)
#define EARLY_CATN early_append(to, from, n)

BOTH(char *, strcpy, (FROM), (to, from), COPIED, WHOLE, EARLY)
BOTH(char *, stpcpy, (FROM), (to, from), COPIED, WHOLE, EARLY_END)
BOTH(char *, strncpy, (FROM, size_t n), (to, from, n), COPIED_N, WHOLE_N,
     EARLY_N)
BOTH(char *, stpncpy, (FROM, size_t n), (to, from, n), COPIED_N, WHOLE_N,
     EARLY_ENDN)
BOTH(char *, strcat, (FROM), (to, from), COPIED, APPENDED, EARLY_CAT)
BOTH(char *, strncat, (FROM, size_t n), (to, from, n), COPIED_N, APPENDED_N,
     EARLY_CATN)

BOTH(char *, __strcpy_chk, (FROM, size_t room), (to, from, room), COPIED, WHOLE,
     EARLY)
BOTH(char *, __stpcpy_chk, (FROM, size_t room), (to, from, room), COPIED, WHOLE,
     EARLY_END)
BOTH(char *, __strncpy_chk, (FROM, size_t n, size_t room), (to, from, n, room),
     COPIED_N, WHOLE_N, EARLY_N)
BOTH(char *, __stpncpy_chk, (FROM, size_t n, size_t room), (to, from, n, room),
     COPIED_N, WHOLE_N, EARLY_ENDN)
BOTH(char *, __strcat_chk, (FROM, size_t room), (to, from, room), COPIED,
     APPENDED, EARLY_CAT)
BOTH(char *, __strncat_chk, (FROM, size_t n, size_t room), (to, from, n, room),
     COPIED_N, APPENDED_N, EARLY_CATN)

/* Comparisons: up to the first difference, or the common end. */
static unsigned char folded(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static size_t common(const char *a, const char *b, size_t max, bool fold)
{
	size_t i;

	for (i = 0; i < max; i++) {
		PLAIN_LOOP();
		if (!a[i] ||
		    (fold ? folded(a[i]) != folded(b[i]) : a[i] != b[i]))
			return i + 1;
	}
	return max;
}

static int early_compare(const char *a, const char *b, size_t max, bool fold)
{
	size_t n = common(a, b, max, fold);

	if (n == 0)
		return 0;
	if (fold)
		return folded(a[n - 1]) - folded(b[n - 1]);
	return (unsigned char)a[n - 1] - (unsigned char)b[n - 1];
}

#define COMPARED const char *a, const char *b
#define COMPARE(name, params, args, n, fold)                                \
	BOTH(int, name, params, args, maple_read(a, common(a, b, n, fold)), \
	     maple_read(b, common(a, b, n, fold)),                          \
	     early_compare(a, b, n, fold))

COMPARE(strcmp, (COMPARED), (a, b), ALL, false)
COMPARE(strncmp, (COMPARED, size_t n), (a, b, n), n, false)
COMPARE(strcasecmp, (COMPARED), (a, b), ALL, true)
COMPARE(strncasecmp, (COMPARED, size_t n), (a, b, n), n, true)

/* Searches, and what reads one string only. */
static char *early_find(const char *s, char c, bool last)
{
	const char *found = NULL;

	for (;; s++) {
		PLAIN_LOOP();
		if (*s == c)
			found = s;
		if (!*s || (found && !last))
			return (char *)found;
	}
}

static size_t extent_to(const char *s, char c)
{
	const char *found = early_find(s, c, false);

	return found ? (size_t)(found - s) + 1 : extent(s, ALL);
}

static char *early_dup(const char *s, size_t max)
{
	size_t n = length(s, max);
	char *to = malloc(n + 1);

	return to ? early_copy(to, s, n, n + 1) : NULL;
}

#define ONE(name, params, args, size, early) \
	BOTH(char *, name, params, args, maple_read(s, size), NOTHING, early)

ONE(strchr, (const char *s, int c), (s, c), extent_to(s, (char)c),
    early_find(s, (char)c, false))
ONE(index, (const char *s, int c), (s, c), extent_to(s, (char)c),
    early_find(s, (char)c, false))
ONE(strrchr, (const char *s, int c), (s, c), extent(s, ALL),
    early_find(s, (char)c, true))
ONE(rindex, (const char *s, int c), (s, c), extent(s, ALL),
    early_find(s, (char)c, true))
ONE(strdup, (const char *s), (s), extent(s, ALL), early_dup(s, ALL))
ONE(__strdup, (const char *s), (s), extent(s, ALL), early_dup(s, ALL))
ONE(strndup, (const char *s, size_t n), (s, n), extent(s, n), early_dup(s, n))
ONE(__strndup, (const char *s, size_t n), (s, n), extent(s, n), early_dup(s, n))
