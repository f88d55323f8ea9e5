// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What lib/image sees in this very program: assembly with one instruction of
 * each form, whose sites and groups are known.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <dlfcn.h>
#include <link.h>
#include <cmocka.h>
#include <maple/event.h>
#include "image/image.h"

#define R      MAPLE_EV_READ
#define W      MAPLE_EV_WRITE
#define U      MAPLE_EV_UPDATE
#define NONE   MAPLE_REG_NONE
#define ATOMIC MAPLE_SITEF_ATOMIC
#define REP    MAPLE_SITEF_REP
#define RIPREL MAPLE_SITEF_RIPREL
#define MORE   MAPLE_SITEF_MORE
#define DEAD   MAPLE_SITEF_NOFLAGS
#define SPLIT  MAPLE_SITEF_SPLIT
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R12 = 12, R13 };

/* Each form is a function of one instruction and a RET. */
#define FORM(name, code)                                                    \
	asm(".text\n.type form_" #name ",@function\nform_" #name ":\n" code \
	    "\nret\n.size form_" #name ", . - form_" #name "\n");           \
	extern const char form_##name[]

int test_image_data[8];
const int test_image_constant = 5;
int *const test_image_relro = test_image_data;
__thread int test_image_tls;

FORM(load, "mov 8(%rdi,%rsi,4), %eax");
FORM(store, "mov %r9b, -0x1000(%r12)");
FORM(update, "addq $1, (%r13,%r8)");
FORM(compare, "cmpw $7, 2(%rax)");
FORM(locked, "lock incl (%rdx)");
FORM(exchange, "xchg %rax, (%rbx)");
FORM(cmpxchg, "lock cmpxchg16b (%rdi)");
FORM(global, "movl $3, test_image_data+12(%rip)");
FORM(constant, "mov test_image_constant(%rip), %eax");
FORM(relro, "mov test_image_relro(%rip), %rax");
FORM(tls, "mov %fs:0x28, %rax");
FORM(stack, "mov 8(%rsp), %rax");
FORM(push, "push %rax\npop %rax");
FORM(push_mem, "push (%rdi)\npop %rax");
FORM(frame, "push %rbp\nmov %rsp, %rbp\nmov -8(%rbp), %eax\nmov (%rdi), %eax"
	    "\npop %rbp");
FORM(rbp, "mov %rdi, %rbp\nmov 8(%rbp), %eax");
FORM(movs, "rep movsq");
FORM(stos, "stosb");
FORM(cmps, "repe cmpsb");
FORM(scas, "repne scasb");
FORM(lods, "lodsl");
FORM(sse, "movups %xmm3, (%rdi)");
FORM(scalar, "addsd 8(%rsi), %xmm0");
FORM(avx, "vmovdqu (%rdi), %ymm1");
FORM(avx512, "vmovdqu64 %zmm1, 64(%rdi)");
FORM(broadcast, "vaddpd 8(%rax){1to8}, %zmm1, %zmm2");
FORM(gather, "vpgatherdd %ymm2, (%rdi,%ymm1,4), %ymm0");
FORM(prefetch, "prefetcht0 (%rdi)");
FORM(short_address, "mov (%edi), %eax");
FORM(xlat, "xlat");
FORM(bit_string, "bts %rax, (%rdi)");
FORM(bit, "btsl $3, (%rdi)");
FORM(repne_stos, ".byte 0xf2, 0xaa");
FORM(fxsave, "fxsave (%rdi)");
FORM(typed, ".byte 0xeb, 6, 'v', '2', 0, 0, 0x48, 0x8b\nmov (%rdi), %eax");
FORM(data, "jmp 1f\n.byte 0x48, 0x8b\n1: mov (%rdi), %eax");
FORM(unlocked, "jne 1f\nlock\n1: incl (%rdi)");
FORM(lea, "lea 8(%rdi,%rsi), %rax");
FORM(jump, "jmp *8(%rdi)");
FORM(absolute, "mov 8(,%rcx,8), %rdx");

FORM(flags_written, "mov (%rdi), %eax\nmov %eax, %edx\nadd %esi, %eax");
FORM(flags_twice, "movsb\nucomisd %xmm0, %xmm1");
FORM(flags_read, "mov (%rdi), %eax\nadc %esi, %eax");
FORM(flags_moved, "mov (%rdi), %eax\ncmove %esi, %eax\nadd %esi, %eax");
FORM(flags_kept, "mov (%rdi), %eax\ninc %eax");
FORM(flags_shifted, "mov (%rdi), %eax\nshl %cl, %eax");
FORM(flags_branch, "cmp %esi, %edx\nmov (%rdi), %eax\nje 1f\n1: add %esi, %eax");
FORM(flags_jump, "mov (%rdi), %eax\njmp 1f\n1: add %esi, %eax");
FORM(flags_call, "mov (%rdi), %eax\ncall form_load\nadd %esi, %eax");
FORM(flags_saved, "mov (%rdi), %eax\npushf\npop %rcx\nadd %esi, %eax");

struct expect {
	const char *at;
	unsigned int kind, flags, base, index, scale, size;
	int64_t disp;
};

static struct maple_image *image;
static uint64_t bias;

static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static int open_self(void **state)
{
	struct maple_error err;

	dl_iterate_phdr(find_bias, NULL);
	return maple_image_open("/proc/self/exe", &image, &err);
}

static int close_self(void **state)
{
	maple_image_destroy(image);
	return 0;
}

static uint64_t offset_of(const void *at)
{
	return (uint64_t)at - bias;
}

static const struct maple_table_site *site_at(const char *at, unsigned int skip,
					      bool second)
{
	const struct maple_table_site *sites;
	int64_t i = maple_image_find(image, offset_of(at) + skip, second);
	uint32_t n;

	sites = maple_image_sites(image, &n);
	return i < 0 ? NULL : sites + i;
}

static void check_site(const struct maple_table_site *site,
		       const struct expect *expect)
{
	assert_non_null(site);
	assert_int_equal(site->kind, expect->kind);
	assert_int_equal(site->flags, expect->flags);
	assert_int_equal(site->base, expect->base);
	assert_int_equal(site->index, expect->index);
	assert_int_equal(site->scale, expect->scale);
	assert_int_equal(site->size, expect->size);
	assert_int_equal(site->disp, expect->disp);
}

static void test_forms(void **state)
{
	const struct expect forms[] = {
		{ form_load, R, 0, RDI, RSI, 4, 4, 8 },
		{ form_store, W, 0, R12, NONE, 0, 1, -0x1000 },
		{ form_update, U, DEAD | SPLIT, R13, R8, 1, 8, 0 },
		{ form_compare, R, DEAD, RAX, NONE, 0, 2, 2 },
		{ form_locked, U, ATOMIC, RDX, NONE, 0, 4, 0 },
		{ form_exchange, U, ATOMIC, RBX, NONE, 0, 8, 0 },
		{ form_cmpxchg, U, ATOMIC, RDI, NONE, 0, 16, 0 },
		{ form_global, W, RIPREL, NONE, NONE, 0, 4,
		  offset_of(&test_image_data[3]) },
		{ form_push_mem, R, 0, RDI, NONE, 0, 8, 0 },
		{ form_stos, W, 0, RDI, NONE, 0, 1, 0 },
		{ form_scas, R, REP, RDI, NONE, 0, 1, 0 },
		{ form_lods, R, 0, RSI, NONE, 0, 4, 0 },
		{ form_sse, W, 0, RDI, NONE, 0, 16, 0 },
		{ form_scalar, R, 0, RSI, NONE, 0, 8, 8 },
		{ form_avx, R, 0, RDI, NONE, 0, 32, 0 },
		{ form_avx512, W, 0, RDI, NONE, 0, 64, 64 },
		{ form_broadcast, R, 0, RAX, NONE, 0, 8, 8 },
		{ form_bit, U, SPLIT, RDI, NONE, 0, 4, 0 },
		{ form_absolute, R, 0, NONE, RCX, 8, 8, 8 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		check_site(site_at(forms[i].at, 0, false), &forms[i]);
}

/* Whether the flags are dead before the only site of a function. */
static bool dead(const char *at, unsigned int skip)
{
	const struct maple_table_site *site = site_at(at, skip, false);

	assert_non_null(site);
	return site->flags & DEAD;
}

static void test_flags(void **state)
{
	const struct maple_table_site *second;

	assert_true(dead(form_flags_written, 0));
	assert_true(dead(form_flags_twice, 0));
	second = site_at(form_flags_twice, 0, true);
	assert_non_null(second);
	assert_true(second->flags & DEAD);
	assert_false(dead(form_flags_read, 0));
	assert_false(dead(form_flags_moved, 0));
	assert_false(dead(form_flags_kept, 0));
	assert_false(dead(form_flags_shifted, 0));
	assert_false(dead(form_flags_branch, 2));
	assert_false(dead(form_flags_jump, 0));
	assert_false(dead(form_flags_call, 0));
	assert_false(dead(form_flags_saved, 0));
}

static void test_two_operands(void **state)
{
	const struct expect movs[] = {
		{ form_movs, R, REP | MORE, RSI, NONE, 0, 8, 0 },
		{ form_movs, W, REP, RDI, NONE, 0, 8, 0 },
	};
	const struct expect cmps[] = {
		{ form_cmps, R, REP | MORE, RSI, NONE, 0, 1, 0 },
		{ form_cmps, R, REP, RDI, NONE, 0, 1, 0 },
	};

	check_site(site_at(form_movs, 0, false), &movs[0]);
	check_site(site_at(form_movs, 0, true), &movs[1]);
	check_site(site_at(form_cmps, 0, false), &cmps[0]);
	check_site(site_at(form_cmps, 0, true), &cmps[1]);
	assert_null(site_at(form_lods, 0, true));
}

static void test_left_out(void **state)
{
	const struct maple_image_stats *stats = maple_image_stats(image);
	const char *const forms[] = {
		form_constant,	 form_relro,	     form_tls,
		form_stack,	 form_push,	     form_gather,
		form_prefetch,	 form_short_address, form_xlat,
		form_fxsave,	 form_lea,	     form_jump,
		form_bit_string, form_repne_stos,
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (site_at(forms[i], 0, false))
			print_error("form %zu is a site\n", i);
		assert_null(site_at(forms[i], 0, false));
	}
	for (unsigned int i = 0; i < MAPLE_LEFT_RSEQ; i++) {
		if (!stats->left[i])
			print_error("none left out as %s\n",
				    maple_left_out_name(i));
		assert_true(stats->left[i] > 0);
	}
	assert_int_equal(stats->left[MAPLE_LEFT_VECTOR], 1);
	assert_int_equal(stats->left[MAPLE_LEFT_UNDECODABLE], 1);
}

/* Data between instructions is jumped over, or the function is left out. */
static void test_data_in_code(void **state)
{
	assert_non_null(site_at(form_typed, 8, false));
	assert_null(site_at(form_data, 4, false));
	assert_non_null(site_at(form_unlocked, 2, false));
}

static void test_frame_pointer(void **state)
{
	/* push 1, mov 3; then RBP is the frame and RDI is not */
	assert_null(site_at(form_frame, 4, false));
	assert_non_null(site_at(form_frame, 7, false));
	/* RBP as any other register */
	assert_non_null(site_at(form_rbp, 3, false));
}

struct pair {
	long a, b;
};

__attribute__((noinline)) static void set_pair(struct pair *pair, long value)
{
	pair->a = value;
	asm volatile("" ::: "memory");
	pair->b = value;
}

static void test_compiled(void **state)
{
	const struct maple_table_site *sites;
	uint64_t at = offset_of(set_pair);
	unsigned int seen = 0;
	struct pair pair;
	uint32_t n;

	set_pair(&pair, 1);
	sites = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++)
		if (sites[i].offset >= at && sites[i].offset < at + 256 &&
		    sites[i].kind == W && sites[i].size == sizeof(long) &&
		    sites[i].base != RSP && sites[i].base != RBP)
			seen |= sites[i].disp == offsetof(struct pair, a)   ? 1
				: sites[i].disp == offsetof(struct pair, b) ? 2
									    : 0;
	assert_int_equal(seen, 3);
}

static void test_order(void **state)
{
	const struct maple_table_site *sites;
	uint32_t n;

	sites = maple_image_sites(image, &n);
	for (uint32_t i = 1; i < n; i++) {
		bool more = sites[i - 1].flags & MORE;

		assert_true(sites[i].offset >= sites[i - 1].offset);
		assert_int_equal(sites[i].offset == sites[i - 1].offset, more);
		assert_int_equal(maple_image_find(image, sites[i].offset, more),
				 i);
	}
}

static void test_wanted(void **state)
{
	const char *const libc[] = { "libc.so.*", NULL };
	const char *const usr[] = { "/usr/*", NULL };

	assert_true(maple_image_wanted("/usr/bin/pigz", true, NULL, NULL));
	assert_true(maple_image_wanted("/lib/libz.so.1", false, NULL, NULL));
	assert_false(maple_image_wanted("/lib/libc.so.6", false, NULL, NULL));
	assert_true(maple_image_wanted("/lib/libc.so.60", false, NULL, NULL));
	assert_true(maple_image_wanted("/lib/libmagic.so.1", false, NULL, NULL));
	assert_false(maple_image_wanted("linux-vdso.so.1", false, NULL, NULL));
	assert_true(maple_image_wanted("/lib/libc.so.6", false, libc, NULL));
	assert_false(maple_image_wanted("/lib/libc.so.6", false, libc, libc));
	assert_false(maple_image_wanted("/usr/bin/pigz", true, NULL, usr));
	/* a program that has the name of a library of the runtime */
	assert_true(maple_image_wanted("./libm.so.6", true, NULL, NULL));
}

static void test_wanted_in_parts(void **state)
{
	const char *const cxx[] = { "libstdc++.so.*", NULL };

	assert_true(
		maple_image_wanted("/lib/libstdc++.so.6", false, NULL, NULL));
	assert_false(
		maple_image_wanted("/lib/libstdc++.so.6", false, NULL, cxx));
	assert_true(maple_image_in_parts("/lib/libstdc++.so.6", NULL));
	assert_true(maple_image_in_parts("/lib/libc++.so.1", NULL));
	assert_false(maple_image_in_parts("/lib/libstdc++.so.6", cxx));
	assert_false(maple_image_in_parts("/lib/libz.so.1", NULL));
	assert_false(
		maple_image_wanted("/lib/libc++abi.so.1", false, NULL, NULL));
}

/* Each site is in a group once, and what is left is as it was. */
static void test_containers(void **state)
{
	const struct maple_table_site *before, *after;
	struct maple_image *whole, *parts;
	struct maple_table *table;
	uint32_t nbefore, nafter, seen = 0, hooked = 0;
	uint64_t hook;
	const struct maple_table_insn *insn;
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY), *blob;
	Dl_info info;
	size_t size;

	assert_non_null(library);
	assert_true(dladdr(
		dlsym(library, "_ZNSt8__detail15_List_node_base7_M_hookEPS0_"),
		&info));
	hook = (uintptr_t)info.dli_saddr - (uintptr_t)info.dli_fbase;
	assert_int_equal(maple_image_open(info.dli_fname, &whole, NULL), 0);
	assert_int_equal(maple_image_open(info.dli_fname, &parts, NULL), 0);
	assert_int_equal(maple_image_keep_containers(parts), 0);
	before = maple_image_sites(whole, &nbefore);
	after = maple_image_sites(parts, &nafter);
	assert_true(nafter > 100 && nafter < nbefore / 5);
	assert_int_equal(maple_image_stats(parts)->left[MAPLE_LEFT_LIBRARY],
			 nbefore - nafter);
	for (uint32_t i = 0; i < nafter; i++) {
		bool second = i && after[i - 1].offset == after[i].offset;
		int64_t at = maple_image_find(whole, after[i].offset, second);

		hooked += after[i].offset >= hook && after[i].offset < hook + 32;
		assert_true(at >= 0);
		assert_memory_equal(&before[at], &after[i], sizeof(*after));
	}
	assert_true(hooked >= 3); /* the links of two nodes */
	assert_int_equal(maple_image_table(parts, &blob, &size, NULL), 0);
	table = blob;
	insn = (void *)((char *)blob + table->insns_at);
	for (uint32_t i = 0; i < table->ninsns; i++) {
		if (insn[i].site == MAPLE_SITE_NONE)
			continue;
		assert_true(insn[i].site < nafter);
		assert_int_equal(after[insn[i].site].offset, insn[i].offset);
		seen++;
		seen += !!(after[insn[i].site].flags & MAPLE_SITEF_MORE);
	}
	assert_int_equal(seen, nafter);
	free(blob);
	maple_image_destroy(parts);
	maple_image_destroy(whole);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_two_operands),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_data_in_code),
		cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_wanted),
		cmocka_unit_test(test_wanted_in_parts),
		cmocka_unit_test(test_containers),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
