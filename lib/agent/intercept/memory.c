// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mem* and b*, with their _chk forms (which FORTIFY makes calls into).
 *
 * A copy reads and writes at once: both accesses are announced, then it is
 * made, then both are reported. A _chk form whose check fails is left to the
 * real one, which ends the program.
 */
#include <string.h>
#include <strings.h>
#include "memory.h"

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int byte, size_t n, size_t room);

MAPLE_REAL(memmove);
MAPLE_REAL(memset);
MAPLE_REAL(memcmp);
MAPLE_REAL(memchr);
MAPLE_REAL(memrchr);
MAPLE_REAL(__memcpy_chk);
MAPLE_REAL(__memmove_chk);
MAPLE_REAL(__mempcpy_chk);
MAPLE_REAL(__memset_chk);

/*
 * memmove serves for memcpy, too: a memcpy of before glibc 2.14 allows an
 * overlap, and glibc's code is the same for both.
 */
static void copy_bytes(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;
	size_t i;

	if (KNOWN(memmove)) {
		KNOWN(memmove)(to, from, n);
		return;
	}
	for (i = 0; i < n; i++) {
		size_t at = t < f ? i : n - 1 - i;

		t[at] = f[at];
		PLAIN_LOOP();
	}
}

static void copy(uint32_t site, void *to, const void *from, size_t n)
{
	struct maple_memory_range r = maple_read(from, n),
				  w = maple_write(to, n);

	maple_range_before(site, r);
	maple_range_before(site, w);
	copy_bytes(to, from, n);
	maple_range_after(site, r);
	maple_range_after(site, w);
}

#define COPY(to, from, n)                                           \
	do {                                                        \
		if (COUNTS(MAPLE_EV_READ))                          \
			copy(SITE(MAPLE_EV_READ), (to), (from), n); \
		else                                                \
			copy_bytes((to), (from), (n));              \
	} while (0)

MAPLE_EXPORT void *memcpy(void *to, const void *from, size_t n)
{
	COPY(to, from, n);
	return to;
}

MAPLE_EXPORT void *memmove(void *to, const void *from, size_t n)
{
	COPY(to, from, n);
	return to;
}

MAPLE_EXPORT void *mempcpy(void *to, const void *from, size_t n)
{
	COPY(to, from, n);
	return (char *)to + n;
}

MAPLE_EXPORT void *__mempcpy(void *to, const void *from, size_t n)
{
	COPY(to, from, n);
	return (char *)to + n;
}

MAPLE_EXPORT void bcopy(const void *from, void *to, size_t n)
{
	COPY(to, from, n);
}

#define COPY_CHECKED(name, result)                                    \
	MAPLE_EXPORT void *name(void *to, const void *from, size_t n, \
				size_t room)                          \
	{                                                             \
		if (n > room)                                         \
			return REAL(name)(to, from, n, room);         \
		COPY(to, from, n);                                    \
		return (result);                                      \
	}

COPY_CHECKED(__memcpy_chk, to)
COPY_CHECKED(__memmove_chk, to)
COPY_CHECKED(__mempcpy_chk, (char *)to + n)

/* Filling. */
static void fill_bytes(void *to, int byte, size_t n)
{
	char *t = to;
	size_t i;

	if (KNOWN(memset)) {
		KNOWN(memset)(to, byte, n);
		return;
	}
	for (i = 0; i < n; i++) {
		t[i] = (char)byte;
		PLAIN_LOOP();
	}
}

static void fill(uint32_t site, void *to, int byte, size_t n)
{
	struct maple_memory_range w = maple_write(to, n);

	maple_range_before(site, w);
	fill_bytes(to, byte, n);
	maple_range_after(site, w);
}

#define FILL(to, byte, n)                                            \
	do {                                                         \
		if (COUNTS(MAPLE_EV_READ))                           \
			fill(SITE(MAPLE_EV_WRITE), (to), (byte), n); \
		else                                                 \
			fill_bytes((to), (byte), (n));               \
	} while (0)

MAPLE_EXPORT void *memset(void *to, int byte, size_t n)
{
	FILL(to, byte, n);
	return to;
}

MAPLE_EXPORT void bzero(void *to, size_t n)
{
	FILL(to, 0, n);
}

MAPLE_EXPORT void explicit_bzero(void *to, size_t n)
{
	FILL(to, 0, n);
	PLAIN_LOOP();
}

MAPLE_EXPORT void *__memset_chk(void *to, int byte, size_t n, size_t room)
{
	if (n > room)
		return REAL(__memset_chk)(to, byte, n, room);
	FILL(to, byte, n);
	return to;
}

/* Comparing: both ranges count as read in full, as the standard has it. */
static int compare_bytes(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	size_t i;

	if (KNOWN(memcmp))
		return KNOWN(memcmp)(a, b, n);
	for (i = 0; i < n; i++) {
		PLAIN_LOOP();
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

static int compare(uint32_t site, const void *a, const void *b, size_t n)
{
	struct maple_memory_range x = maple_read(a, n), y = maple_read(b, n);
	int ret;

	maple_range_before(site, x);
	maple_range_before(site, y);
	ret = compare_bytes(a, b, n);
	maple_range_after(site, x);
	maple_range_after(site, y);
	return ret;
}

MAPLE_EXPORT int memcmp(const void *a, const void *b, size_t n)
{
	if (!COUNTS(MAPLE_EV_READ))
		return compare_bytes(a, b, n);
	return compare(SITE(MAPLE_EV_READ), a, b, n);
}

MAPLE_EXPORT int bcmp(const void *a, const void *b, size_t n)
{
	if (!COUNTS(MAPLE_EV_READ))
		return compare_bytes(a, b, n);
	return compare(SITE(MAPLE_EV_READ), a, b, n);
}

/*
 * Searching: how much is read is known only afterwards, so the search is
 * made once for that and once more between before() and after().
 */
static void *find_byte(const void *s, int byte, size_t n)
{
	const unsigned char *p = s;
	size_t i;

	if (KNOWN(memchr))
		return KNOWN(memchr)(s, byte, n);
	for (i = 0; i < n; i++) {
		PLAIN_LOOP();
		if (p[i] == (unsigned char)byte)
			return (void *)(p + i);
	}
	return NULL;
}

MAPLE_EXPORT void *memchr(const void *s, int byte, size_t n)
{
	void *found = find_byte(s, byte, n);
	struct maple_memory_range r;
	uint32_t site;

	if (!COUNTS(MAPLE_EV_READ))
		return found;
	r = maple_read(s, found ? (size_t)((char *)found - (char *)s) + 1 : n);
	site = SITE(MAPLE_EV_READ);
	maple_range_before(site, r);
	found = find_byte(s, byte, n);
	maple_range_after(site, r);
	return found;
}

static void *find_last_byte(const void *s, int byte, size_t n)
{
	const unsigned char *p = s;

	if (KNOWN(memrchr))
		return KNOWN(memrchr)(s, byte, n);
	while (n--) {
		PLAIN_LOOP();
		if (p[n] == (unsigned char)byte)
			return (void *)(p + n);
	}
	return NULL;
}

MAPLE_EXPORT void *memrchr(const void *s, int byte, size_t n)
{
	char *found = find_last_byte(s, byte, n);
	const char *from = found ? found : s;
	struct maple_memory_range r;
	uint32_t site;

	if (!COUNTS(MAPLE_EV_READ))
		return found;
	r = maple_read(from, (size_t)((const char *)s + n - from));
	site = SITE(MAPLE_EV_READ);
	maple_range_before(site, r);
	found = find_last_byte(s, byte, n);
	maple_range_after(site, r);
	return found;
}
