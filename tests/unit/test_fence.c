// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites have a fence on which side, as far as this very program's code
 * tells: assembly with one function of each shape (lib/image/code/fence.c).
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <link.h>
#include <cmocka.h>
#include <maple/event.h>
#include "image/image.h"

#define AFTER  MAPLE_SITEF_FENCE_AFTER
#define BEFORE MAPLE_SITEF_FENCE_BEFORE

#define WRITE  "movl $1, (%rdi)\n"
#define READ   "mov (%rsi), %eax\n"
#define STACK  "lock orq $0, (%rsp)\n"

#define SHAPE(name, code)                                             \
	asm(".text\n.type " #name ",@function\n" #name ":\n" code     \
	    "ret\n" #name "_end:\n.size " #name ", . - " #name "\n"); \
	extern const char name[], name##_end[]

SHAPE(fenced, WRITE "mfence\n" READ);
SHAPE(bare, WRITE READ);
SHAPE(locked, WRITE STACK READ);
SHAPE(exchanged, WRITE "xchg %rax, -8(%rsp)\n" READ);
SHAPE(registers, WRITE "xchg %rax, %rcx\n" READ);
SHAPE(stores, WRITE "sfence\nlfence\n" READ);
SHAPE(read_first, READ "mfence\n" WRITE);
SHAPE(two_writes, WRITE "movl $2, 8(%rdi)\nmfence\n" READ);
SHAPE(two_reads, WRITE "mfence\nmov 8(%rsi), %ecx\n" READ);
SHAPE(written_behind, WRITE "mfence\nmovl $2, 8(%rdi)\n" READ);
SHAPE(both_ways, WRITE "test %edx, %edx\nje 1f\nmfence\njmp 2f\n"
		       "1:" STACK "2:" READ);
SHAPE(one_way, WRITE "test %edx, %edx\nje 1f\nmfence\n1:" READ);
SHAPE(spins, WRITE "mfence\n1:" READ "test %eax, %eax\njne 1b\n");
SHAPE(repeats, "1:" WRITE "mfence\n" READ "test %eax, %eax\njne 1b\n");
SHAPE(again, WRITE "mfence\n1:" READ "movl $2, 8(%rdi)\ntest %eax, %eax\n"
		   "jne 1b\n");
SHAPE(full, "mfence\n");
SHAPE(empty, "nop\n");
SHAPE(calls_fence, WRITE "call full\n" READ);
SHAPE(calls_none, WRITE "call empty\n" READ);
SHAPE(calls_unknown, WRITE "call *%rdx\nmfence\n" READ);
SHAPE(switches, WRITE "lea 1f(%rip), %rdx\njmp *%rdx\nmfence\n1:" READ);
SHAPE(update, "incl (%rdi)\nmfence\n" READ);
SHAPE(leaves, WRITE);
SHAPE(comes, READ);

struct shape {
	const char *name, *at, *end;
	unsigned int
		flags; /* AFTER of its first write, BEFORE of its last read */
};

#define IS(name, flags)                        \
	{                                      \
#name, name, name##_end, flags \
	}

static const struct shape shapes[] = {
	IS(fenced, AFTER | BEFORE),
	IS(bare, 0),
	IS(locked, AFTER | BEFORE),
	IS(exchanged, AFTER | BEFORE),
	IS(registers, 0),
	IS(stores, 0),
	IS(read_first, 0),
	IS(two_writes, AFTER | BEFORE),
	IS(two_reads, AFTER | BEFORE),
	IS(written_behind, AFTER),
	IS(both_ways, AFTER | BEFORE),
	IS(one_way, 0),
	IS(spins, AFTER | BEFORE),
	IS(repeats, AFTER | BEFORE),
	IS(again, AFTER),   /* the second time round it has written */
	IS(calls_fence, 0), /* who is called is not looked into */
	IS(calls_none, 0),
	IS(calls_unknown, BEFORE),
	IS(switches, 0),
	IS(update, AFTER | BEFORE),
	IS(leaves, 0),
	IS(comes, 0),
};

static struct maple_image *image;
static uint64_t bias;

static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static unsigned int flags_of(const struct shape *shape)
{
	uint64_t lo = (uint64_t)shape->at - bias;
	uint64_t hi = (uint64_t)shape->end - bias;
	const struct maple_table_site *site;
	unsigned int after = 0, before = 0;
	bool written = false;
	uint32_t n;

	site = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (site[i].offset < lo || site[i].offset >= hi)
			continue;
		/* Each has its own side alone. */
		assert_false(site[i].flags &
			     (site[i].kind == MAPLE_EV_READ ? AFTER : BEFORE));
		if (site[i].kind == MAPLE_EV_READ)
			before = site[i].flags & BEFORE;
		else if (!written)
			after = site[i].flags & AFTER;
		written |= site[i].kind != MAPLE_EV_READ;
	}
	return after | before;
}

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (flags_of(&shapes[i]) != shapes[i].flags)
			fail_msg("%s: %#x", shapes[i].name,
				 flags_of(&shapes[i]));
}

static int open_self(void **state)
{
	struct maple_error err;

	(void)state;
	dl_iterate_phdr(find_bias, NULL);
	return maple_image_open("/proc/self/exe", &image, &err);
}

static int close_self(void **state)
{
	(void)state;
	maple_image_destroy(image);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
