// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which instructions lib/image lets move together: assembly with one reason
 * to stop, or to go on, each, and rules that hold in any image.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <cmocka.h>
#include <maple/event.h>
#include "image/image.h"

#define CODE(name, code)                                                    \
	asm(".text\n.type code_" #name ",@function\ncode_" #name ":\n" code \
	    "\n.size code_" #name ", . - code_" #name "\n");                \
	extern const char code_##name[]

#define LOAD  "mov (%rdi), %eax\n" /* two bytes */
#define NEXT  "mov (%rsi), %ecx\n"
#define PLAIN "xor %eax, %eax\n"

void test_image_callee(void);
void test_image_callee(void)
{
}

#define CALL "call test_image_callee\n"

CODE(long, "movl $1, 8(%rdi)\n" CALL "ret");
CODE(forward, LOAD PLAIN PLAIN "ret");
CODE(backward, CALL PLAIN PLAIN LOAD CALL "ret");
CODE(alone, CALL LOAD CALL "ret");
CODE(syscall, "syscall\n" LOAD "syscall\nret");
CODE(target, CALL LOAD "1:\n" NEXT PLAIN PLAIN "jmp 1b");
CODE(across, LOAD "jne 1f\n" NEXT "1:\nret");
CODE(jump, CALL LOAD PLAIN "jmp code_across");
CODE(far, LOAD PLAIN PLAIN PLAIN NEXT "ret");
CODE(loop, CALL "1:\n" LOAD "loop 1b\nret");
CODE(byte, CALL "stosb\n" CALL "ret");
CODE(relative, LOAD "lea code_long(%rip), %rax\nret");
CODE(table, "lea 9f(%rip), %rdx\n" CALL LOAD "1:\n" NEXT PLAIN PLAIN "ret\n"
	    ".pushsection .rodata\n.balign 4\n9: .long 1b - 9b\n"
	    ".long 0x7fffffff\n.popsection");
CODE(word, CALL LOAD "1:\n" NEXT PLAIN PLAIN "ret\n"
		     ".pushsection .data\n.balign 8\n.quad 1b\n.popsection");
CODE(landing, ".cfi_startproc\n.cfi_lsda 0x1b, code_lsda\n" CALL LOAD
	      "1:\n" NEXT PLAIN PLAIN "ret\n.cfi_endproc\n"
	      ".pushsection .gcc_except_table, \"a\"\n"
	      "code_lsda: .byte 0xff, 0xff, 1\n"
	      ".uleb128 8f - 7f\n7: .uleb128 0, 5, 1b - code_landing, 0\n8:\n"
	      ".popsection");
CODE(endbr, CALL LOAD "endbr64\nret");
CODE(prefix, "je 1f + 1\n1: lock incl (%rdi)\nmov $1, %eax\nret");
CODE(rseq, PLAIN PLAIN "1:\n" LOAD PLAIN "2:\n" PLAIN "ret\n"
		       ".pushsection __rseq_cs, \"aw\"\n.balign 32\n.long 0, 0\n"
		       ".quad 1b, 2b - 1b, 2b\n.popsection");

static struct maple_image *image;
static uint64_t bias;
static const struct maple_table *table;

static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static int open_self(void **state)
{
	size_t size;
	void *blob;

	dl_iterate_phdr(find_bias, NULL);
	if (maple_image_open("/proc/self/exe", &image, NULL) ||
	    maple_image_table(image, &blob, &size, NULL))
		return -1;
	table = blob;
	return 0;
}

static int close_self(void **state)
{
	maple_image_destroy(image);
	free((void *)table);
	return 0;
}

static const struct maple_table_group *groups_of(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->groups_at);
}

static const struct maple_table_insn *insns_of(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->insns_at);
}

static const struct maple_table_site *sites_of(const struct maple_table *t)
{
	return (const void *)((const char *)t + t->sites_at);
}

/* The group that has the instruction at @at + @skip, and that one. */
static const struct maple_table_group *
group_at(const char *at, unsigned int skip, const struct maple_table_insn **it)
{
	uint64_t offset = (uint64_t)at - bias + skip;
	const struct maple_table_group *group = groups_of(table);

	for (uint32_t g = 0; g < table->ngroups; g++, group++) {
		const struct maple_table_insn *insn =
			insns_of(table) + group->first;

		for (unsigned int i = 0; i < group->ninsns; i++)
			if (insn[i].offset == offset) {
				if (it)
					*it = &insn[i];
				return group;
			}
	}
	return NULL;
}

/* The site at @at + @skip is in a group from @from to @to, that way. */
static void check_group(const char *at, unsigned int skip, unsigned int from,
			unsigned int to, unsigned int way)
{
	const struct maple_table_insn *site;
	const struct maple_table_group *group = group_at(at, skip, &site);
	uint32_t start;

	assert_non_null(group);
	start = insns_of(table)[group->first].offset;
	assert_int_equal(start - ((uint64_t)at - bias), from);
	assert_int_equal(group->length, to - from);
	assert_int_equal(group->way, way);
	assert_int_not_equal(site->site, MAPLE_SITE_NONE);
	assert_int_equal(sites_of(table)[site->site].offset, site->offset);
}

static void test_growth(void **state)
{
	check_group(code_long, 0, 0, 7, MAPLE_WAY_JUMP);
	check_group(code_forward, 0, 0, 6, MAPLE_WAY_NEIGHBOURS);
	check_group(code_backward, 9, 5, 11, MAPLE_WAY_NEIGHBOURS);
	check_group(code_far, 0, 0, 10, MAPLE_WAY_NEIGHBOURS);
	check_group(code_far, 8, 0, 10, MAPLE_WAY_NEIGHBOURS);
	check_group(code_relative, 0, 0, 9, MAPLE_WAY_NEIGHBOURS);
	check_group(code_across, 0, 0, 6, MAPLE_WAY_NEIGHBOURS);
	check_group(code_across, 4, 0, 6, MAPLE_WAY_NEIGHBOURS);
}

static void test_bounds(void **state)
{
	check_group(code_alone, 5, 5, 7, MAPLE_WAY_PUN);
	check_group(code_syscall, 2, 2, 4, MAPLE_WAY_PUN);
	check_group(code_byte, 5, 5, 6, MAPLE_WAY_TRAP);
	check_group(code_loop, 5, 5, 7, MAPLE_WAY_PUN);
	check_group(code_endbr, 5, 5, 7, MAPLE_WAY_PUN);
}

static void test_targets(void **state)
{
	check_group(code_target, 5, 5, 7, MAPLE_WAY_PUN);
	check_group(code_target, 7, 7, 13, MAPLE_WAY_NEIGHBOURS);
	check_group(code_table, 12, 12, 14, MAPLE_WAY_PUN);
	check_group(code_table, 14, 14, 20, MAPLE_WAY_NEIGHBOURS);
	check_group(code_word, 5, 5, 7, MAPLE_WAY_PUN);
	check_group(code_word, 7, 7, 13, MAPLE_WAY_NEIGHBOURS);
	check_group(code_landing, 5, 5, 7, MAPLE_WAY_PUN);
	check_group(code_landing, 7, 7, 13, MAPLE_WAY_NEIGHBOURS);
	/* entered behind its LOCK: not even a pun */
	check_group(code_prefix, 2, 2, 5, MAPLE_WAY_TRAP);
}

static void test_rseq(void **state)
{
	assert_null(group_at(code_rseq, 4, NULL));
	assert_int_equal(maple_image_stats(image)->left[MAPLE_LEFT_RSEQ], 1);
}

static void test_flags(void **state)
{
	const struct maple_table_insn *insn;

	assert_non_null(group_at(code_across, 2, &insn));
	assert_int_equal(insn->flags, MAPLE_INSN_JCC);
	assert_int_equal(insn->cond, 5);
	assert_int_equal(insn->target, (uint64_t)code_across - bias + 6);
	assert_int_equal(insn->site, MAPLE_SITE_NONE);

	assert_non_null(group_at(code_jump, 9, &insn));
	assert_int_equal(insn->flags, MAPLE_INSN_JMP | MAPLE_INSN_STOP);
	assert_int_equal(insn->target, (uint64_t)code_across - bias);

	assert_non_null(group_at(code_relative, 2, &insn));
	assert_int_equal(insn->flags, MAPLE_INSN_RIPREL);
	assert_int_equal(insn->disp_at, 3);
}

static void check_one(const struct maple_table *t, uint32_t g, uint8_t *used,
		      uint32_t *sites)
{
	const struct maple_table_group *group = groups_of(t) + g;
	const struct maple_table_insn *insn = insns_of(t) + group->first;
	uint32_t at = insn->offset, length = 0;

	assert_true(group->first + group->ninsns <= t->ninsns);
	if (group->way == MAPLE_WAY_JUMP)
		assert_true(insn->length >= 5);
	if (group->way == MAPLE_WAY_JUMP || group->way == MAPLE_WAY_NEIGHBOURS)
		assert_in_range(group->length, 5, 63);
	else
		assert_int_equal(group->ninsns, 1);
	for (unsigned int i = 0; i < group->ninsns; i++, insn++) {
		assert_int_equal(insn->offset, at + length);
		length += insn->length;
		if (insn->flags & MAPLE_INSN_STOP)
			assert_int_equal(i, group->ninsns - 1);
		for (uint32_t s = insn->site; s != MAPLE_SITE_NONE;) {
			const struct maple_table_site *site = sites_of(t) + s;

			assert_int_equal(site->offset, insn->offset);
			assert_int_equal(site->length, insn->length);
			++*sites;
			s = site->flags & MAPLE_SITEF_MORE ? s + 1
							   : MAPLE_SITE_NONE;
		}
	}
	assert_int_equal(length, group->length);
	assert_true(at >= t->text_lo && at + length <= t->text_hi);
	for (uint32_t i = 0; i < length; i++)
		assert_int_equal(used[at + i - t->text_lo]++, 0);
}

/* used[] is 1 in groups; mark what a jump into would be deadly as 2. */
static void check_branches(const struct maple_table *t, uint8_t *used)
{
	const struct maple_table_group *group = groups_of(t);
	const struct maple_table_insn *insn = insns_of(t);

	for (uint32_t g = 0; g < t->ngroups; g++, group++)
		for (unsigned int i = 1; i < group->length; i++)
			used[insn[group->first].offset + i - t->text_lo] = 2;
	for (uint32_t i = 0; i < t->ninsns; i++)
		if (insn[i].flags & (MAPLE_INSN_JCC | MAPLE_INSN_JMP) &&
		    insn[i].target - t->text_lo < t->text_hi - t->text_lo)
			assert_int_not_equal(used[insn[i].target - t->text_lo],
					     2);
}

static void check_table(const struct maple_table *t, size_t size)
{
	uint8_t *used = calloc(1, t->text_hi - t->text_lo + 1);
	uint32_t sites = 0, last = UINT32_MAX;
	bool puns = false;

	assert_non_null(used);
	assert_int_equal(t->magic, MAPLE_TABLE_MAGIC);
	assert_int_equal(t->size, size);
	assert_int_equal(t->groups_at +
				 t->ngroups * sizeof(struct maple_table_group),
			 t->splits_at);
	assert_int_equal(t->splits_at +
				 t->nsplits * sizeof(struct maple_table_split),
			 t->frames_at);
	assert_int_equal(t->frames_at +
				 t->nframes * sizeof(struct maple_table_frame),
			 size);
	for (uint32_t g = 0; g < t->ngroups; g++) {
		const struct maple_table_group *group = groups_of(t) + g;

		check_one(t, g, used, &sites);
		if (group->way != MAPLE_WAY_PUN) {
			assert_false(puns);
			continue;
		}
		puns = true;
		assert_true(insns_of(t)[group->first].offset < last);
		last = insns_of(t)[group->first].offset;
	}
	assert_int_equal(sites, t->nsites);
	check_branches(t, used);
	free(used);
}

static int check_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	struct maple_image *one;
	struct maple_error err;
	unsigned int *n = data;
	size_t bytes;
	void *blob;

	if (!strchr(info->dlpi_name, '/'))
		return 0; /* ourselves, and the vdso */
	if (maple_image_open(info->dlpi_name, &one, &err))
		fail_msg("%s", err.text);
	assert_int_equal(maple_image_table(one, &blob, &bytes, &err), 0);
	check_table(blob, bytes);
	free(blob);
	maple_image_destroy(one);
	++*n;
	return 0;
}

static void test_rules(void **state)
{
	unsigned int n = 0;

	check_table(table, table->size);
	dl_iterate_phdr(check_loaded, &n);
	assert_true(n >= 3);
}

/* What the agent looks up is what is found by going through all. */
static void look_up(const struct maple_table *t)
{
	const struct maple_table_group *group = groups_of(t);
	const struct maple_table_insn *insn = insns_of(t);
	uint32_t *of = calloc(t->nsites, sizeof(*of));

	assert_non_null(of);
	for (uint32_t i = 0; i < t->nsites; i++)
		of[i] = t->ngroups;
	for (uint32_t g = 0; g < t->ngroups; g++)
		for (unsigned int i = 0; i < group[g].ninsns; i++)
			for (uint32_t s = insn[group[g].first + i].site;
			     s < t->nsites; s++) {
				of[s] = g;
				if (!(sites_of(t)[s].flags & MAPLE_SITEF_MORE))
					break;
			}
	for (uint32_t i = 0; i < t->nsites; i++)
		assert_int_equal(maple_table_group_of(t, i), of[i]);
	free(of);
}

static void test_look_up(void **state)
{
	struct maple_image *libc;
	unsigned int ways[MAPLE_WAYS] = { 0 };
	Dl_info info;
	size_t size;
	void *blob;

	assert_true(table->nsites > 0);
	look_up(table);
	/* One that no sanitizer's runtime has a version of. */
	assert_true(dladdr((void *)gnu_get_libc_version, &info));
	assert_int_equal(maple_image_open(info.dli_fname, &libc, NULL), 0);
	assert_int_equal(maple_image_table(libc, &blob, &size, NULL), 0);
	for (uint32_t i = 0; i < ((struct maple_table *)blob)->ngroups; i++)
		ways[groups_of(blob)[i].way]++;
	assert_true(ways[MAPLE_WAY_JUMP] && ways[MAPLE_WAY_NEIGHBOURS] &&
		    ways[MAPLE_WAY_PUN] && ways[MAPLE_WAY_TRAP]);
	look_up(blob);
	free(blob);
	maple_image_destroy(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),	cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_targets), cmocka_unit_test(test_rseq),
		cmocka_unit_test(test_flags),	cmocka_unit_test(test_rules),
		cmocka_unit_test(test_look_up),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
