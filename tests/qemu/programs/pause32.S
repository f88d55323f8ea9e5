/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A 32-bit program, which waits for a signal for ever. */
	.globl _start
_start:
	mov $29, %eax /* pause */
	int $0x80
	jmp _start
	.section .note.GNU-stack, "", @progbits
