/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* An access that is known to its instruction, and what probes it. */
#ifndef MAPLE_TEST_TOUCH_H
#define MAPLE_TEST_TOUCH_H

#include <maple/uapi.h>

extern const char __ehdr_start[];
extern const char insn_touch[], next_touch[];

static __attribute__((noinline)) void touch(volatile long *to)
{
	__asm__ volatile(".globl insn_touch, next_touch\n"
			 "insn_touch: movq $1,(%0)\n"
			 "next_touch: nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static inline struct maple_uapi_probe probe_of_touch(void)
{
	return (struct maple_uapi_probe){
		.offset = (uint64_t)(insn_touch - __ehdr_start),
		.next = (uint64_t)(next_touch - __ehdr_start),
		.size = 8,
		.kind = MAPLE_EV_WRITE,
		.base = 7, /* rdi */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

#endif
