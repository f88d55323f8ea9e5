// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mem* and b*, with their _chk forms (which FORTIFY makes calls into).
 *
 * A copy reads and writes at once: both accesses are announced, then it is
 * made, then both are reported. A _chk form whose check fails ends the program
 * in the real one.
 */
#include <string.h>
#include <strings.h>
#include "memory.h"

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int byte, size_t n, size_t room);

/* Their headers have them return nothing. */
void *returning_bcopy(const void *from, void *to, size_t n) __asm__("bcopy");
void *returning_bzero(void *to, size_t n) __asm__("bzero");
void *returning_explicit(void *to, size_t n) __asm__("explicit_bzero");

MAPLE_REAL(memmove);
MAPLE_REAL(memset);
MAPLE_REAL(memcmp);
MAPLE_REAL(mempcpy);

static void *early_move(void *to, const void *from, size_t n)
{
	const char *f = from;
	char *t = to;

	for (size_t i = 0; i < n; i++) {
		size_t at = t < f ? i : n - 1 - i;

		t[at] = f[at];
		PLAIN_LOOP();
	}
	return to;
}

#define COPY_BY(name, real, params, args, early)                       \
	BOTH_BY(void *, name, real, params, args, maple_read(from, n), \
		maple_write(to, n), early)
#define COPIED void *to, const void *from, size_t n
#define MOVED  early_move(to, from, n)
#define PASSED ((char *)MOVED + n)

/*
 * memmove serves for memcpy, too: a memcpy of before glibc 2.14 allows an
 * overlap, and glibc's code is the same for both.
 */
COPY_BY(memcpy, memmove, (COPIED), (to, from, n), MOVED)
COPY_BY(memmove, memmove, (COPIED), (to, from, n), MOVED)
COPY_BY(mempcpy, mempcpy, (COPIED), (to, from, n), PASSED)
COPY_BY(__mempcpy, mempcpy, (COPIED), (to, from, n), PASSED)
COPY_BY(returning_bcopy, memmove, (const void *from, void *to, size_t n),
	(to, from, n), MOVED)

#define COPY_CHECKED(name, early) \
	MAPLE_REAL(name);         \
	COPY_BY(name, name, (COPIED, size_t room), (to, from, n, room), early)

COPY_CHECKED(__memcpy_chk, MOVED)
COPY_CHECKED(__memmove_chk, MOVED)
COPY_CHECKED(__mempcpy_chk, PASSED)

static void *early_fill(void *to, int byte, size_t n)
{
	char *t = to;

	for (size_t i = 0; i < n; i++) {
		t[i] = (char)byte;
		PLAIN_LOOP();
	}
	return to;
}

#define FILL_BY(name, real, params, args, byte)                                \
	BOTH_BY(void *, name, real, params, args, maple_write(to, n), NOTHING, \
		early_fill(to, byte, n))

FILL_BY(memset, memset, (void *to, int byte, size_t n), (to, byte, n), byte)
FILL_BY(returning_bzero, memset, (void *to, size_t n), (to, 0, n), 0)
FILL_BY(returning_explicit, memset, (void *to, size_t n), (to, 0, n), 0)
MAPLE_REAL(__memset_chk);
FILL_BY(__memset_chk, __memset_chk, (void *to, int byte, size_t n, size_t room),
	(to, byte, n, room), byte)

static int early_compare(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++) {
		PLAIN_LOOP();
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

/* Comparing: both ranges count as read in full, as the standard has it. */
#define COMPARE(name)                                                        \
	BOTH_BY(int, name, memcmp, (const void *a, const void *b, size_t n), \
		(a, b, n), maple_read(a, n), maple_read(b, n),               \
		early_compare(a, b, n))

COMPARE(memcmp)
COMPARE(bcmp)

static void *early_find(const void *s, int byte, size_t n)
{
	const unsigned char *p = s;

	for (size_t i = 0; i < n; i++) {
		PLAIN_LOOP();
		if (p[i] == (unsigned char)byte)
			return (void *)(p + i);
	}
	return NULL;
}

static void *early_find_last(const void *s, int byte, size_t n)
{
	const unsigned char *p = s;

	while (n--) {
		PLAIN_LOOP();
		if (p[n] == (unsigned char)byte)
			return (void *)(p + n);
	}
	return NULL;
}

/* What was read to find @found in the @n bytes at @s: from the front, ... */
static struct maple_memory_range up_to(const char *s, const char *found,
				       size_t n)
{
	return maple_read(s, found ? (size_t)(found - s) + 1 : n);
}

/* ... or from the back. */
static struct maple_memory_range down_to(const char *s, const char *found,
					 size_t n)
{
	return maple_read(found ? found : s,
			  found ? (size_t)(s + n - found) : n);
}

/*
 * Searching: how much is read is known only afterwards, so the search is
 * made once for that and once more between before() and after().
 */
#define SEARCH(name, read, early)                                             \
	BOTH(void *, name, (const void *s, int byte, size_t n), (s, byte, n), \
	     read(s, KNOWN(name)(s, byte, n), n), NOTHING, early(s, byte, n))

SEARCH(memchr, up_to, early_find)
SEARCH(memrchr, down_to, early_find_last)
