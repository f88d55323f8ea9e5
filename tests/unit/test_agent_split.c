// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Instructions in two halves: each form of read-modify-write in this program
 * is executed as it stands and in the slot that the agent makes for it, with
 * the same registers, flags and memory. All must be the same afterwards, also
 * where somebody else writes there in the middle.
 */
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
#include "agent/core.h"
#include "image/image.h"

#define ROUNDS 40
#define ROOM   65536
#define BYTES  128 /* of memory that forms work on */
#define HIDDEN __attribute__((visibility("hidden")))

/*
 * Each form is an instruction and a RET. Beside its address stand the flags
 * that it defines: CF 1, PF 4, AF 0x10, ZF 0x40, SF 0x80, OF 0x800.
 */
#define FORM(flags, insn)                                     \
	"9: " insn "\nret\n"                                  \
	".pushsection split_table,\"aw\",@progbits\n.quad 9b" \
	", " #flags "\n.popsection\n"
#define WIDTHS(flags, op, b, w, l, q)               \
	FORM(flags, op "b " b "(%rdi)")             \
	FORM(flags, op "w " w "2(%rdi,%rsi,2)")     \
	FORM(flags, op "l " l "split_memory(%rip)") \
	FORM(flags, op "l " l "-4(%r12)")           \
	FORM(flags, op "q " q "0x10(%r13,%rsi,8)")  \
	FORM(flags, op "q " q "(%rax,%r14)")
#define ARITHMETIC(flags, op)                                         \
	WIDTHS(flags, op, "$-3,", "$0x1234,", "$-5,", "$0x12345678,") \
	WIDTHS(flags, op, "$100,", "$7,", "$0x7fffffff,", "$-128,")   \
	WIDTHS(flags, op, "%cl,", "%dx,", "%r9d,", "%rbx,")           \
	WIDTHS(flags, op, "%r10b,", "%r11w,", "%ecx,", "%r15,")       \
	FORM(flags, op "b %ah, (%rdi)")                               \
	FORM(flags, op "b %bh, 1(%rdi,%rsi)") FORM(flags, op "q %rdi, (%rdi)")
#define SINGLE(flags, op) WIDTHS(flags, op, "", "", "", "")
#define SHIFT(flags, op)                                \
	WIDTHS(flags, op, "", "", "", "")               \
	WIDTHS(flags, op, "$3,", "$5,", "$17,", "$33,") \
	WIDTHS(flags, op, "%cl,", "%cl,", "%cl,", "%cl,")
#define BIT(op)                        \
	FORM(0x41, op "w $3, (%rdi)")  \
	FORM(0x41, op "l $30, (%r13)") \
	FORM(0x41, op "q $63, split_memory+8(%rip)")

/* clang-format off */
asm(".text\n"
    ".type split_forms,@function\n"
    "split_forms:\n"
    ARITHMETIC(0x8d5, "add") ARITHMETIC(0x8d5, "adc")
    ARITHMETIC(0x8d5, "sub") ARITHMETIC(0x8d5, "sbb")
    ARITHMETIC(0x8c5, "and") ARITHMETIC(0x8c5, "or") ARITHMETIC(0x8c5, "xor")
    SINGLE(0x8d5, "inc") SINGLE(0x8d5, "dec")
    SINGLE(0x8d5, "neg") SINGLE(0x8d5, "not")
    SHIFT(0xc5, "shl") SHIFT(0xc5, "shr") SHIFT(0xc5, "sar")
    SHIFT(0xd5, "rol") SHIFT(0xd5, "ror")
    SHIFT(0xd5, "rcl") SHIFT(0xd5, "rcr")
    FORM(0xc5, "shldw $5, %dx, (%rdi)")
    FORM(0xc5, "shldl %cl, %ebx, (%rax,%r14)")
    FORM(0xc5, "shldl %cl, %ebx, (%rdi,%rsi)")
    FORM(0xc5, "shrdq $40, %r9, 8(%rdi)")
    BIT("bts") BIT("btr") BIT("btc")
    FORM(0x8d5, "xaddb %bl, (%rdi)") FORM(0x8d5, "xaddw %r9w, (%rdi)")
    FORM(0x8d5, "xaddl %edx, (%rdi,%rsi,4)")
    FORM(0x8d5, "xaddq %r8, (%r12)")
    FORM(0x8d5, "cmpxchgl %edx, (%rdi)")
    FORM(0x8d5, "cmpxchgq %r8, (%r12)")
    ".size split_forms, . - split_forms\n");
/* clang-format on */

/* What has to stay whole. */
asm(".text\n"
    ".type split_wholes,@function\n"
    "split_wholes:\n"
    "lock incl (%rdi)\n" /* no other CPU comes in between */
    "xchg %eax, (%rdi)\n"
    "xaddq %rdi, (%rdi)\n" /* the store's address would be another */
    "cmpxchgl %edx, (%rax)\n"
    "addq %rsp, (%rdi)\n" /* a slot moves it */
    "cmpxchg8b (%rdi)\n"  /* no register is wide enough */
    "cmpxchg16b (%rdi)\n"
    "ret\n"
    ".size split_wholes, . - split_wholes\n");

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R12 = 12, R13, R14 };

struct cpu {
	uint64_t reg[16]; /* but rsp */
	uint64_t flags;
	uint64_t red; /* words of the red zone that were changed */
};

/* Executes @code with what is in *@cpu, and puts there what it left. */
void split_execute(struct cpu *cpu, const void *code) HIDDEN;

asm(".text\n"
    ".type split_execute,@function\n"
    "split_execute:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rdi, split_cpu(%rip)\n"
    "mov %rsi, split_code(%rip)\n"
    "mov $-17, %rcx\n"
    "1: mov %rcx, (%rsp,%rcx,8)\n"
    "inc %rcx\n"
    "cmp $-1, %rcx\n"
    "jne 1b\n"
    "push 128(%rdi)\n"
    "popf\n"
    "mov (%rdi), %rax\n mov 8(%rdi), %rcx\n mov 16(%rdi), %rdx\n"
    "mov 24(%rdi), %rbx\n mov 40(%rdi), %rbp\n mov 48(%rdi), %rsi\n"
    "mov 64(%rdi), %r8\n mov 72(%rdi), %r9\n mov 80(%rdi), %r10\n"
    "mov 88(%rdi), %r11\n mov 96(%rdi), %r12\n mov 104(%rdi), %r13\n"
    "mov 112(%rdi), %r14\n mov 120(%rdi), %r15\n mov 56(%rdi), %rdi\n"
    "call *split_code(%rip)\n"
    "mov %rdi, split_code(%rip)\n"
    "mov split_cpu(%rip), %rdi\n"
    "mov %rax, (%rdi)\n mov %rcx, 8(%rdi)\n mov %rdx, 16(%rdi)\n"
    "mov %rbx, 24(%rdi)\n mov %rbp, 40(%rdi)\n mov %rsi, 48(%rdi)\n"
    "mov %r8, 64(%rdi)\n mov %r9, 72(%rdi)\n mov %r10, 80(%rdi)\n"
    "mov %r11, 88(%rdi)\n mov %r12, 96(%rdi)\n mov %r13, 104(%rdi)\n"
    "mov %r14, 112(%rdi)\n mov %r15, 120(%rdi)\n"
    "pushf\n"
    "pop 128(%rdi)\n"
    "mov split_code(%rip), %rax\n"
    "mov %rax, 56(%rdi)\n"
    "mov $-17, %rcx\n"
    "xor %eax, %eax\n"
    "2: cmp %rcx, (%rsp,%rcx,8)\n"
    "setne %dl\n"
    "movzbl %dl, %edx\n"
    "add %rdx, %rax\n"
    "inc %rcx\n"
    "cmp $-1, %rcx\n"
    "jne 2b\n"
    "mov %rax, 136(%rdi)\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
    "ret\n"
    ".size split_execute, . - split_execute\n");

/* Hooks: what they find, and flags and registers that are theirs spoilt. */
#define HOOK(name, more)                                          \
	void split_##name(void) HIDDEN;                           \
	asm(".text\n.type split_" #name ",@function\n"            \
	    "split_" #name ":\n"                                  \
	    "incq split_count_" #name "(%rip)\n"                  \
	    "mov %rdi, split_at_" #name "(%rip)\n" more           \
	    "mov $-1, %rsi\nmov $-1, %rdi\nadd $1, %rsi\n"        \
	    "ret\n.size split_" #name ", . - split_" #name "\n"); \
	uint64_t split_count_##name HIDDEN, split_at_##name HIDDEN

HOOK(before, "");
HOOK(between, "cmpb $0, split_other(%rip)\n"
	      "je 1f\n"
	      "movb $0x5a, (%rdi)\n"
	      "1:\n");
HOOK(after, "");

uint8_t split_memory[BYTES] HIDDEN __attribute__((aligned(64)));
uint8_t split_other HIDDEN; /* another CPU writes in the middle */
struct cpu *split_cpu HIDDEN;
const void *split_code HIDDEN;

extern const char split_forms[], split_wholes[];

struct form {
	uint64_t at, flags;
};

extern const struct form __start_split_table[] HIDDEN;
extern const struct form __stop_split_table[] HIDDEN;

static struct maple_image *image;
static struct maple_table *table;
static uint64_t bias;
static uint8_t *room;

static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static int set_up(void **state)
{
	uint64_t near = ((uint64_t)split_forms & ~0xfffffull) + (64 << 20);
	void *blob;
	size_t size;

	dl_iterate_phdr(find_bias, NULL);
	if (maple_image_open("/proc/self/exe", &image, NULL) ||
	    maple_image_table(image, &blob, &size, NULL))
		return -1;
	table = blob;
	room = mmap((void *)near, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
	maple_image_destroy(image);
	free(table);
	return 0;
}

/* The site of the instruction at @at. */
static const struct maple_table_site *site_of(uint64_t at)
{
	int64_t i = maple_image_find(image, at - bias, false);
	uint32_t n;

	assert_true(i >= 0);
	return maple_image_sites(image, &n) + i;
}

static const struct maple_table_split *split_of(uint32_t site)
{
	const struct maple_table_split *split =
		(const void *)((const char *)table + table->splits_at);

	for (uint32_t i = 0; i < table->nsplits; i++)
		if (split[i].site == site)
			return &split[i];
	return NULL;
}

/* The slot for what stands at @at, which ends as that does. */
static const void *make_slot(uint64_t at)
{
	const struct maple_table_site *where = site_of(at);
	const struct maple_table_split *split =
		split_of(maple_image_find(image, at - bias, false));
	struct maple_slot_hooks *hooks = (void *)room;
	struct maple_agent_site *site = (void *)(hooks + 1);
	struct maple_slot s = { .at = (uint8_t *)(site + 1),
				.end = room + ROOM,
				.base = (uint64_t)room,
				.bias = bias };
	struct maple_slot_halves halves;
	uint8_t *start = s.at;

	*hooks = (struct maple_slot_hooks){ split_before, split_after,
					    split_between };
	*site = (struct maple_agent_site){ .live = 1 };
	assert_true(where->flags & MAPLE_SITEF_SPLIT);
	assert_non_null(split);
	maple_slot_before(&s, site, where);
	maple_slot_split(&s, site, where, split, start, &halves);
	maple_slot_after(&s, site);
	assert_true(s.at - start <= 2 * MAPLE_SLOT_HOOK + MAPLE_SLOT_SPLIT);
	maple_slot_jump(&s, at + where->length);
	assert_false(s.bad);
	return start;
}

static uint64_t any(void)
{
	uint64_t word = 0;

	for (int i = 0; i < 5; i++)
		word = word << 13 ^ (uint64_t)rand();
	return word;
}

static void make_cpu(struct cpu *cpu)
{
	static const uint64_t edge[] = { 0, 1, -1, INT64_MAX, INT64_MIN };

	memset(cpu, 0, sizeof(*cpu));
	for (int i = 0; i < 16; i++)
		cpu->reg[i] = rand() % 4 ? any() : edge[rand() % 5];
	/* No more than a word is wide: what is shifted beyond is undefined. */
	cpu->reg[RCX] &= ~0xf0ull;
	cpu->reg[RDI] = (uint64_t)split_memory + 32;
	cpu->reg[R12] = cpu->reg[R13] = (uint64_t)split_memory + 64;
	cpu->reg[RSI] = rand() % 4;
	cpu->reg[R14] = rand() % 100 - 200;
	cpu->reg[RAX] = (uint64_t)split_memory + 8 - cpu->reg[R14];
	cpu->flags = any() & 0x8d5;
	for (int i = 0; i < BYTES; i++)
		split_memory[i] = rand() % 4 ? rand() : -(rand() % 2);
}

/* What CMPXCHG finds is equal now and then. */
static void maybe_equal(struct cpu *cpu, uint64_t at)
{
	if (((const uint8_t *)at)[0] == 0x0f && rand() % 2)
		memcpy(split_memory + 32, &cpu->reg[RAX], 8);
	if (((const uint8_t *)at)[1] == 0x0f && rand() % 2)
		memcpy(split_memory + 64, &cpu->reg[RAX], 8);
}

static void compare(const struct form *form, const void *slot)
{
	uint8_t memory[BYTES], expected[BYTES];
	struct cpu whole, halves;

	make_cpu(&whole);
	maybe_equal(&whole, form->at);
	memcpy(memory, split_memory, BYTES);
	halves = whole;
	split_execute(&whole, (const void *)form->at);
	memcpy(expected, split_memory, BYTES);
	memcpy(split_memory, memory, BYTES);
	split_count_before = split_count_between = split_count_after = 0;
	split_execute(&halves, slot);

	assert_int_equal(split_count_before, 1);
	assert_int_equal(split_count_between, 1);
	assert_int_equal(split_count_after, 1);
	assert_int_equal(split_at_between, split_at_before);
	assert_int_equal(whole.red, 0);
	assert_int_equal(halves.red, 0);
	if (memcmp(whole.reg, halves.reg, sizeof(whole.reg)) ||
	    memcmp(split_memory, expected, BYTES) ||
	    (whole.flags ^ halves.flags) & form->flags)
		fail_msg("form %td differs: flags %#llx, %#llx",
			 form - __start_split_table,
			 (unsigned long long)whole.flags,
			 (unsigned long long)halves.flags);
}

static void test_alike(void **state)
{
	srand(1);
	for (split_other = 0; split_other < 2; split_other++)
		for (const struct form *form = __start_split_table;
		     form < __stop_split_table; form++) {
			const void *slot = make_slot(form->at);

			for (int i = 0; i < ROUNDS; i++)
				compare(form, slot);
		}
	assert_true(__stop_split_table - __start_split_table > 300);
}

/* Counted, each of them, but LOCK and XCHG, which no CPU can split. */
static void test_whole(void **state)
{
	const struct maple_table_site *site;
	uint64_t at = (uint64_t)split_wholes - bias;
	uint32_t n, wholes = 0, splits = 0;

	site = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		splits += !!(site[i].flags & MAPLE_SITEF_SPLIT);
		if (site[i].offset < at || site[i].offset >= at + 30)
			continue;
		wholes++;
		assert_int_equal(site[i].kind, MAPLE_EV_UPDATE);
		assert_false(site[i].flags & MAPLE_SITEF_SPLIT);
		assert_null(split_of(i));
	}
	assert_int_equal(wholes, 7);
	assert_in_range(maple_image_stats(image)->whole, 5, 100);
	assert_int_equal(maple_image_stats(image)->splits, splits);
	assert_int_equal(table->nsplits, splits);
	assert_true(splits >= __stop_split_table - __start_split_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
