// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The patch table put to use, without an agent: in this process, zlib's
 * groups are moved out of line, and zlib must go on to do what it did. What a
 * group covers is filled with int3, so a way in that lib/image overlooked
 * ends the test. Where it says that the flags are dead, they are spoilt.
 *
 * beside: guests
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <link.h>
#include <cmocka.h>
#include <maple/event.h>
#include "image/image.h"

#define INPUT 300000
#define JUMP  5

typedef int (*compress_fn)(uint8_t *to, unsigned long *to_size,
			   const uint8_t *from, unsigned long size, int level);
typedef int (*uncompress_fn)(uint8_t *to, unsigned long *to_size,
			     const uint8_t *from, unsigned long size);

struct mover {
	uint64_t bias, end; /* of the image */
	uint8_t *slot;	    /* where the next instruction goes */
	uint32_t moved, spoilt;
};

static void put(struct mover *m, uint8_t byte)
{
	*m->slot++ = byte;
}

static void put_distance(struct mover *m, uint64_t to)
{
	int64_t distance = to - (uint64_t)(m->slot + 4);
	int32_t narrow = distance;

	assert_int_equal(narrow, distance);
	memcpy(m->slot, &narrow, 4);
	m->slot += 4;
}

/* By turns to what equal numbers leave and to the contrary. */
static void spoil_flags(struct mover *m)
{
	static const uint8_t equal[] = { 0x48, 0x39, 0xe4 }; /* cmp */
	static const uint8_t other[] = { 0x48, 0x85, 0xe4,
					 0xf9 }; /* test, stc */

	if (m->spoilt++ % 2) {
		memcpy(m->slot, equal, sizeof(equal));
		m->slot += sizeof(equal);
	} else {
		memcpy(m->slot, other, sizeof(other));
		m->slot += sizeof(other);
	}
}

static void move_insn(struct mover *m, const struct maple_table *table,
		      const struct maple_table_insn *insn)
{
	const struct maple_table_site *sites =
		(const void *)((const char *)table + table->sites_at);
	const uint8_t *from = (const uint8_t *)(m->bias + insn->offset);

	if (insn->site != MAPLE_SITE_NONE &&
	    sites[insn->site].flags & MAPLE_SITEF_NOFLAGS)
		spoil_flags(m);
	if (insn->flags & MAPLE_INSN_JMP) {
		put(m, 0xe9);
		put_distance(m, m->bias + insn->target);
	} else if (insn->flags & MAPLE_INSN_JCC) {
		put(m, 0x0f);
		put(m, 0x80 | insn->cond);
		put_distance(m, m->bias + insn->target);
	} else {
		memcpy(m->slot, from, insn->length);
		if (insn->flags & MAPLE_INSN_RIPREL) {
			int32_t disp;

			memcpy(&disp, from + insn->disp_at, 4);
			disp += from - m->slot;
			memcpy(m->slot + insn->disp_at, &disp, 4);
		}
		m->slot += insn->length;
	}
}

static void move_group(struct mover *m, const struct maple_table *table,
		       const struct maple_table_insn *insn,
		       const struct maple_table_group *group)
{
	uint8_t *from = (uint8_t *)(m->bias + insn->offset), *slot = m->slot;
	const struct maple_table_insn *last = insn + group->ninsns - 1;
	int32_t distance = slot - (from + JUMP);

	for (; insn <= last; insn++)
		move_insn(m, table, insn);
	if (!(last->flags & MAPLE_INSN_STOP)) {
		put(m, 0xe9);
		put_distance(m, m->bias + last->offset + last->length);
	}
	memset(from, 0xcc, group->length);
	*from = 0xe9;
	memcpy(from + 1, &distance, 4);
	m->moved++;
}

/* Room within reach of a jump, behind the image. */
static uint8_t *find_room(const struct mover *m, size_t size)
{
	for (uint64_t at = (m->end + 0xffff) & ~0xffffull;
	     at < m->end + (1u << 30); at += 1 << 20) {
		void *got = mmap(
			(void *)at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			0);

		if (got == (void *)at)
			return got;
		if (got != MAP_FAILED)
			munmap(got, size);
	}
	fail_msg("no room for slots");
	return NULL;
}

static void move_all(struct mover *m, const struct maple_table *table)
{
	const struct maple_table_group *group;
	const struct maple_table_insn *insns;
	uint64_t lo = (m->bias + table->text_lo) & ~4095ull;
	uint64_t hi = (m->bias + table->text_hi + 4095) & ~4095ull;

	group = (const void *)((const char *)table + table->groups_at);
	insns = (const void *)((const char *)table + table->insns_at);
	m->slot = find_room(m, table->ninsns * 24 + table->ngroups * 16);
	assert_int_equal(mprotect((void *)lo, hi - lo,
				  PROT_READ | PROT_WRITE | PROT_EXEC),
			 0);
	for (uint32_t g = 0; g < table->ngroups; g++, group++)
		if (group->way == MAPLE_WAY_JUMP ||
		    group->way == MAPLE_WAY_NEIGHBOURS)
			move_group(m, table, insns + group->first, group);
}

struct wanted {
	struct mover mover;
	uint64_t addr;
	char path[512];
};

/* The image that has wanted->addr. */
static int find_image(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *wanted = data;
	uint64_t end = 0;
	bool ours = false;

	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t lo = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		end = lo + ph->p_memsz;
		ours |= wanted->addr >= lo && wanted->addr < end;
	}
	if (!ours)
		return 0;
	wanted->mover.bias = info->dlpi_addr;
	wanted->mover.end = end;
	strncpy(wanted->path, info->dlpi_name, sizeof(wanted->path) - 1);
	return 1;
}

static void move_library(const void *addr)
{
	struct wanted wanted = { .addr = (uint64_t)addr };
	struct maple_image *image;
	struct maple_error err;
	size_t size;
	void *blob;

	assert_int_equal(dl_iterate_phdr(find_image, &wanted), 1);
	if (maple_image_open(wanted.path, &image, &err))
		fail_msg("%s", err.text);
	assert_int_equal(maple_image_table(image, &blob, &size, &err), 0);
	/* Not in use from here on: libelf has calls into zlib too. */
	maple_image_destroy(image);
	move_all(&wanted.mover, blob);
	assert_true(wanted.mover.moved > 500);
	assert_true(wanted.mover.spoilt > 500);
	free(blob);
}

static void test_zlib(void **state)
{
	static uint8_t input[INPUT], first[INPUT], again[INPUT], back[INPUT];
	void *lib = dlopen("libz.so.1", RTLD_NOW);
	compress_fn compress = lib ? dlsym(lib, "compress2") : NULL;
	uncompress_fn uncompress = lib ? dlsym(lib, "uncompress") : NULL;

	assert_non_null(compress);
	assert_non_null(uncompress);
	srand(1);
	for (unsigned int i = 0; i < INPUT; i++)
		input[i] = rand() % 7 ? input[i / 2] : rand();
	for (int moved = 0; moved < 2; moved++) {
		if (moved)
			move_library(compress);
		for (int level = 0; level <= 9; level += 3) {
			unsigned long size = INPUT, n = INPUT;
			uint8_t *out = moved ? again : first;

			memset(back, 0, INPUT);
			assert_int_equal(compress(out, &size, input,
						  INPUT - 1000, level),
					 0);
			assert_int_equal(uncompress(back, &n, out, size), 0);
			assert_int_equal(n, INPUT - 1000);
			assert_memory_equal(back, input, n);
		}
	}
	assert_memory_equal(first, again, INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zlib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
