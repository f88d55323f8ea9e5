/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * From a slot into the C hooks. The slot has left the red zone, pushed rdi,
 * rax and rsi, put the flags into rax, the address into rdi and the site into
 * rsi. Here the other caller-saved registers are saved, and the site's own PC
 * is put where the unwinder finds it: through these functions a stack unwinds
 * as if the hook were a signal handler that interrupted the site.
 */
	.text

	.macro	stub name, hook
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_signal_frame
	push	%rax
	push	%rcx
	push	%rdx
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbx
	push	(%rsi)
	mov	%rsp, %rbx
	.cfi_def_cfa %rbx, 232
	.cfi_offset %rip, -232
	.cfi_offset %rbx, -224
	.cfi_offset %r11, -216
	.cfi_offset %r10, -208
	.cfi_offset %r9, -200
	.cfi_offset %r8, -192
	.cfi_offset %rdx, -184
	.cfi_offset %rcx, -176
	.cfi_offset %rsi, -152
	.cfi_offset %rax, -144
	.cfi_offset %rdi, -136
	pushfq				/* C wants the direction flag clear */
	pop	%rax
	mov	%rsp, %rdx
	and	$-16, %rsp
	test	$0x400, %eax
	jnz	1f
	call	\hook
	jmp	2f
1:	cld
	call	\hook
	std
2:	mov	%rbx, %rsp
	add	$8, %rsp
	pop	%rbx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rcx
	pop	%rax
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	stub	maple_stub_before, maple_hook_before
	stub	maple_stub_after, maple_hook_after

/* The byte at rdi; on_signal() goes on behind a load that faults. */
	.globl	maple_stub_load, maple_stub_loaded
	.hidden	maple_stub_load, maple_stub_loaded
	.type	maple_stub_load, @function
maple_stub_load:
	.cfi_startproc
	movzbl	(%rdi), %eax
maple_stub_loaded:
	ret
	.cfi_endproc
	.size	maple_stub_load, . - maple_stub_load

	.section .note.GNU-stack, "", @progbits
