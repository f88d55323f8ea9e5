/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What erratic processes execute: a store, a load and an addition at labels
 * that probes can be put on, and a function whose calls and returns can be. All
 * code lies in one file, at the same offsets in each copy of it.
 */
#ifndef MAPLE_TESTS_LABELS_H
#define MAPLE_TESTS_LABELS_H

#include <stdint.h>

/*
 * What only the set-user-id program has: a word, and a page where it lies.
 * Nobody else may see either of them in any log.
 */
#define SECRET	    0x5ec2e75ec2e75ec2ull
#define SECRET_PAGE 0x5ec2e7000000ull
#define SECRET_SIZE 4096

extern const char insn_store[], next_store[], insn_load[], next_load[],
	insn_lock[], next_lock[], insn_deep[];
extern const char __ehdr_start[];

static __attribute__((noinline, noclone)) void hit_labels(volatile uint64_t *at,
							  uint64_t value)
{
	__asm__ volatile(".globl insn_store, next_store, insn_load, next_load\n"
			 ".globl insn_lock, next_lock\n"
			 "insn_store: movq %%rax,(%%rdi)\n"
			 "next_store: nop\n"
			 "insn_load: movq (%%rdi),%%rax\n"
			 "next_load: nop\n"
			 "insn_lock: lock incq 8(%%rdi)\n"
			 "next_lock: nop\n"
			 : "+a"(value)
			 : "D"(at)
			 : "memory", "cc");
}

/* Calls itself, @deep times: void (volatile uint64_t *at, uint64_t deep) */
__asm__(".pushsection .text\n"
	".globl insn_deep\n"
	"insn_deep: testq %rsi,%rsi\n"
	"jz 1f\n"
	"decq %rsi\n"
	"call insn_deep\n"
	"1: ret\n"
	".popsection\n");

static inline void hit(volatile uint64_t *at, uint64_t value, uint64_t deep)
{
	void (*function)(volatile uint64_t *, uint64_t) =
		(void (*)(volatile uint64_t *, uint64_t))(uintptr_t)insn_deep;

	hit_labels(at, value);
	function(at, deep);
}

#endif
