/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What uprobes step wrongly, for the module and for who asks it for probes.
 *
 * Of an instruction with a VEX or EVEX prefix Linux (arch/x86/kernel/uprobes.c,
 * 3.16 to 6.18 at least) looks at the opcode alone, as if it stood there
 * without the prefix: a vmovdqu to memory, 7f, is taken for a jump, and what
 * it stores is never stored. So a probe on one of these breaks the program.
 */
#ifndef MAPLE_PLAN_STEP_H
#define MAPLE_PLAN_STEP_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#define MAPLE_STEP_BYTES 15 /* of an instruction, at most */

static inline bool maple_step_is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

/* How long a VEX or EVEX prefix is; 0 if it is none. */
static inline unsigned int maple_step_vector(uint8_t byte)
{
	return byte == 0xc5 ? 2 : byte == 0xc4 ? 3 : byte == 0x62 ? 4 : 0;
}

/*
 * maple_step_breaks - whether a probe at the instruction @b would change what
 * the program does
 * @b: MAPLE_STEP_BYTES bytes, what is beyond the end of the file being zero
 */
static inline bool maple_step_breaks(const uint8_t b[MAPLE_STEP_BYTES])
{
	unsigned int i = 0, n;

	while (i < 8 && maple_step_is_prefix(b[i]))
		i++;
	n = maple_step_vector(b[i]);
	if (!n)
		return false;
	switch (b[i + n]) {
	case 0x50 ... 0x57: /* push */
	case 0x70 ... 0x7f: /* conditional jump */
	case 0x90:	    /* nop */
	case 0x9a:	    /* far call */
	case 0x9d:	    /* popf */
	case 0xc2 ... 0xc3: /* return */
	case 0xca ... 0xcb:
	case 0xe8 ... 0xeb: /* call and jump */
	case 0xff:	    /* call, jump or push of a register */
		return true;
	default:
		return false;
	}
}

#endif
