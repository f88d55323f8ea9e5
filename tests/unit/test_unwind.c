// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where return addresses stand: the rows of frame descriptions against what
 * libdw makes of them, at each byte of this program, which has functions with
 * and without a frame pointer, and of the shell, which has no debug information.
 *
 * beside: guests
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "image/image.h"

#define RBP 6
#define RSP 7

static volatile int sum;

/* With all that moves the stack pointer: registers, arrays, arguments. */
#define BODY(name)                                                        \
	static int name(int n, int b, int c, int d, int e, int f, int g)  \
	{                                                                 \
		volatile int room[40] = { n, b, c, d, e, f, g };          \
                                                                          \
		if (n > 0)                                                \
			sum += name(n - 1, room[1], room[2], d, e, f, g); \
		return sum + room[n & 31];                                \
	}

#ifdef __clang__
__attribute__((noinline, optnone)) BODY(slow)
#else
__attribute__((noinline, optimize("O0"))) BODY(slow)
	__attribute__((noinline, optimize("O2", "omit-frame-pointer")))
	BODY(lean)
#endif
	__attribute__((noinline)) BODY(usual)

	/* A frame of a size that is not known beforehand has a frame pointer. */
	__attribute__((noinline)) static int grows(unsigned int n)
{
	volatile char *room = __builtin_alloca(n);

	room[n - 1] = 1;
	return room[n - 1] + usual(1, 2, 3, 4, 5, 6, 7);
}

struct seen {
	unsigned int bytes, rsp, rbp, unknown;
};

/* libdw's rule for the CFA; false: it is none of a register and a constant. */
static bool cfa_of(Dwarf_Frame *frame, unsigned int *reg, int64_t *offset)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return false;
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31) {
		*reg = ops->atom - DW_OP_breg0;
		*offset = (int64_t)ops->number;
		return true;
	}
	*reg = (unsigned int)ops->number;
	*offset = (int64_t)ops->number2;
	return ops->atom == DW_OP_bregx;
}

/* Where it keeps @reg, from the CFA; false: not in the frame. */
static bool kept_at(Dwarf_Frame *frame, int reg, int64_t *at)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n) || n < 1 ||
	    ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*at = n > 1 ? (int64_t)ops[1].number : 0;
	return true;
}

static void compare(const struct maple_table_frame *row, Dwarf_Frame *frame,
		    struct seen *seen)
{
	unsigned int reg = 0;
	int64_t offset = 0, at;
	bool known = frame && cfa_of(frame, &reg, &offset) &&
		     (reg == RSP || reg == RBP) && kept_at(frame, 16, &at) &&
		     at == -8;

	seen->bytes++;
	if (!row) {
		seen->unknown += known;
		return;
	}
	assert_true(known);
	assert_int_equal(row->base & MAPLE_FRAME_BASE,
			 reg == RSP ? MAPLE_FRAME_RSP : MAPLE_FRAME_RBP);
	assert_int_equal(row->cfa, offset);
	seen->rsp += reg == RSP;
	seen->rbp += reg == RBP;
	if (row->rbp == MAPLE_FRAME_LOST)
		return;
	assert_int_equal(kept_at(frame, RBP, &at), row->rbp != 0);
	if (row->rbp)
		assert_int_equal(at, -8 * row->rbp);
}

/* At each byte of what @path has code at. */
static struct seen look_at(const char *path)
{
	struct maple_image *image;
	struct maple_table *t;
	struct seen seen = { 0 };
	struct maple_error err;
	int fd = open(path, O_RDONLY);
	Elf *elf;
	Dwarf_CFI *cfi;
	void *blob;
	size_t size;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	assert_int_equal(maple_image_open(path, &image, &err), 0);
	assert_int_equal(maple_image_table(image, &blob, &size, &err), 0);
	t = blob;
	assert_true(t->nframes > 10);
	for (uint64_t at = t->text_lo; at < t->text_hi; at++) {
		Dwarf_Frame *frame = NULL;

		if (dwarf_cfi_addrframe(cfi, at, &frame))
			frame = NULL;
		compare(maple_table_frame_at(t, at), frame, &seen);
		free(frame);
	}
	free(blob);
	maple_image_destroy(image);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	return seen;
}

static void test_own(void **state)
{
	struct seen seen = look_at("/proc/self/exe");

	assert_true(seen.rsp > 1000);
	assert_true(seen.rbp > 100);
	/* All but what no rule is known of is in the rows. */
	assert_int_equal(seen.unknown, 0);
	assert_true(grows(100) > 0);
	assert_true(slow(3, 2, 3, 4, 5, 6, 7) > 0);
#ifndef __clang__
	assert_true(lean(3, 2, 3, 4, 5, 6, 7) > 0);
#endif
}

static void test_shell(void **state)
{
	struct seen seen = look_at("/bin/sh");

	assert_true(seen.rsp > 10000);
	assert_int_equal(seen.unknown, 0);
}

/* A function's rows tell where it begins. */
static void test_functions(void **state)
{
	struct maple_image *image;
	struct maple_error err;
	const struct maple_table_site *site;
	uint64_t first, second;
	uint32_t n;

	assert_int_equal(maple_image_open("/proc/self/exe", &image, &err), 0);
	site = maple_image_sites(image, &n);
	assert_true(n > 10);
	for (uint32_t i = 1; i < n; i++) {
		first = maple_image_function_at(image, site[i - 1].offset);
		second = maple_image_function_at(image, site[i].offset);
		assert_true(first && first <= site[i - 1].offset);
		assert_true(second == first || second > site[i - 1].offset);
	}
	assert_int_equal(maple_image_function_at(image, 0), 0);
	maple_image_destroy(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
