/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * From a slot into the C hooks. The slot has left the red zone, pushed rdi,
 * rax and rsi, put the flags into rax, the address into rdi and the site into
 * rsi. Here the other caller-saved registers are saved, and the site's own PC
 * is put where the unwinder finds it: through these functions a stack unwinds
 * as if the hook were a signal handler that interrupted the site.
 */
	.text

/* Where what is in struct maple_agent_site, maple_agent_thread, maple_quick. */
	.set	SITE_NUMBER, 8	/* and the size behind it */
	.set	SITE_COUNT, 16
	.set	SITE_PASS, 20
	.set	SITE_LEFT, 24
	.set	SITE_LIVE, 28
	.set	SITE_SLOW, 29
	.set	SITE_KIND, 30	/* and the flags behind it */
	.set	SITE_WAY, 33
	.set	SELF_NUMBER, 0
	.set	SELF_INSIDE, 4	/* and late behind it */
	.set	SELF_CLOCK, 8
	.set	SELF_EVENTS, 16
	.set	SELF_STALE, 24
	.set	SELF_NOPEN, 28
	.set	PASS_THREAD, 4
	.set	PASS_LEFT, 8
	.set	ABOUT_AT, 8
	.set	ABOUT_SIZE, 24
	.set	QUICK_HEAD, 0
	.set	QUICK_RING, 8
	.set	QUICK_END, 16
	.set	QUICK_HITS, 24
	.set	QUICK_PID, 32
	.set	QUICK_MOST, 40
	.set	QUICK_SKIP, 44
	.set	RING_MASK, 0x7ffff
	.set	SHUT_FROM, 4096	/* events: a site that makes fewer stays open */
	.set	SHUT_FOR, 256	/* hits */
	.set	PUSHED, 40 + 8 + 24 + 128
	.set	SPLIT, 152	/* bytes of struct maple_slot_frame */

/*
 * What maple_hook_before() does for nearly every hit of an observed site:
 * records one event, when all threads share one CPU. Whatever is not plain
 * goes on to it, with nothing changed. %rdi and %rsi are the slot's to restore.
 */
	.macro	record
	cmpb	$0, SITE_LIVE(%rsi)
	je	5f			/* hook.c takes it out, or opens it */
	cmpl	$0, maple_quick + QUICK_SKIP(%rip)
	jne	8f
	push	%rcx
	push	%rdx
	push	%r8
	push	%r9
	push	%r10
	lea	maple_quick(%rip), %r8
	mov	SITE_COUNT(%rsi), %ecx
	cmp	QUICK_MOST(%r8), %ecx
	jae	9f
	cmpb	$0, SITE_SLOW(%rsi)
	jne	9f
	mov	maple_self@GOTTPOFF(%rip), %rdx
	mov	%fs:SELF_NUMBER(%rdx), %r9d
	cmp	$0xffff, %r9d		/* MAPLE_THREAD_NONE */
	je	9f
	cmpl	$0, %fs:SELF_INSIDE(%rdx)
	jne	9f
	mov	QUICK_PID(%r8), %rcx
	mov	(%rcx), %ecx
	cmp	maple_agent_pid(%rip), %ecx
	jne	9f
	mov	QUICK_HEAD(%r8), %r10
	mov	(%r10), %rcx
	cmp	QUICK_END(%r8), %rcx
	jae	9f

	incl	%fs:SELF_INSIDE(%rdx)	/* signal handlers pass by */
	incl	SITE_COUNT(%rsi)
	mov	$1, %ecx
	xadd	%rcx, (%r10)
	and	$RING_MASK, %ecx
	lea	(%rcx,%rcx,4), %rcx
	mov	QUICK_RING(%r8), %r10
	lea	(%r10,%rcx,8), %rcx	/* struct maple_event, 40 bytes */
	mov	%rdi, (%rcx)
	movq	$0, 8(%rcx)
	mov	SITE_NUMBER(%rsi), %rdi
	mov	%rdi, 16(%rcx)
	mov	%fs:SELF_CLOCK(%rdx), %edi
	inc	%edi
	mov	%edi, %fs:SELF_CLOCK(%rdx)
	mov	%edi, 24(%rcx)
	lea	PUSHED(%rsp), %rdi
	mov	%edi, 28(%rcx)
	movl	$0, 36(%rcx)
	movzwl	SITE_KIND(%rsi), %edi
	shl	$16, %edi
	or	%r9d, %edi
	mov	%edi, 32(%rcx)		/* thread, kind, flags: it is complete */

	mov	QUICK_HITS(%r8), %r10
	movzbl	SITE_WAY(%rsi), %ecx
	incq	(%r10,%rcx,8)
	mov	%fs:SELF_EVENTS(%rdx), %r10
	movzbl	%fs:SELF_STALE(%rdx), %ecx
	xor	$1, %ecx
	add	%rcx, (%r10)
	decl	%fs:SELF_INSIDE(%rdx)
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rcx
	ret
8:	cmpl	$SHUT_FROM, SITE_COUNT(%rsi)
	jb	6f
	movl	$SHUT_FOR, SITE_LEFT(%rsi) /* slot.c: no call of us meanwhile */
	movb	$0, SITE_LIVE(%rsi)
6:	decl	maple_quick + QUICK_SKIP(%rip)
	jns	7f
	movl	$0, maple_quick + QUICK_SKIP(%rip) /* another came between */
7:	ret
9:	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rcx
5:
	.endm

/*
 * What maple_hook_before() would do for a hit of a plan's site that the
 * automaton ignores: nothing. See pass.c. As above, the flags are free.
 */
	.macro	pass
	push	%rcx
	push	%rdx
	push	%r8
	movzwl	SITE_PASS(%rsi), %ecx
	shl	$4, %ecx
	lea	maple_pass(%rip), %rdx
	add	%rcx, %rdx
	lea	maple_about(%rip), %r8
	mov	(%r8), %rcx
	mov	(%rcx), %ecx
	cmp	(%rdx), %ecx
	jne	9f
	mov	maple_self@GOTTPOFF(%rip), %rcx
	mov	%fs:SELF_NUMBER(%rcx), %ecx
	cmp	PASS_THREAD(%rdx), %ecx
	jne	9f
	cmpl	$0, PASS_LEFT(%rdx)
	je	9f
	mov	%rdi, %rcx
	sub	ABOUT_AT(%r8), %rcx
	cmp	ABOUT_SIZE(%r8), %rcx
	jb	9f
	mov	%rdi, %rcx
	sub	ABOUT_AT + 8(%r8), %rcx
	cmp	ABOUT_SIZE + 8(%r8), %rcx
	jb	9f
	decl	PASS_LEFT(%rdx)
	pop	%r8
	pop	%rdx
	pop	%rcx
	ret
9:	pop	%r8
	pop	%rdx
	pop	%rcx
	.endm

/* ... and maple_hook_after(), where no access of the thread's is open. */
	.macro	pass_after
	push	%rcx
	mov	maple_self@GOTTPOFF(%rip), %rcx
	cmpl	$0, %fs:SELF_NOPEN(%rcx)
	pop	%rcx
	jne	9f
	ret
9:
	.endm

	.macro	stub name, hook, quick, below=0
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.cfi_signal_frame
	\quick
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
	.cfi_def_cfa %rbx, 232 + \below
	.cfi_offset %rip, -232 - \below
	.cfi_offset %rbx, -224 - \below
	.cfi_offset %r11, -216 - \below
	.cfi_offset %r10, -208 - \below
	.cfi_offset %r9, -200 - \below
	.cfi_offset %r8, -192 - \below
	.cfi_offset %rdx, -184 - \below
	.cfi_offset %rcx, -176 - \below
	.cfi_offset %rsi, -152 - \below
	.cfi_offset %rax, -144 - \below
	.cfi_offset %rdi, -136 - \below
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

	.macro	nothing
	.endm

	stub	maple_stub_before, maple_hook_before, record
	stub	maple_stub_point, maple_hook_point, nothing
	stub	maple_stub_after, maple_hook_after
	stub	maple_stub_asked, maple_hook_before, pass
	stub	maple_stub_asked_after, maple_hook_after, pass_after
	stub	maple_stub_asked_between, maple_hook_between, pass_after, SPLIT

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

/* The same of four bytes, which are aligned. */
	.globl	maple_stub_load_word, maple_stub_loaded_word
	.hidden	maple_stub_load_word, maple_stub_loaded_word
	.type	maple_stub_load_word, @function
maple_stub_load_word:
	.cfi_startproc
	mov	(%rdi), %eax
maple_stub_loaded_word:
	ret
	.cfi_endproc
	.size	maple_stub_load_word, . - maple_stub_load_word

	.section .note.GNU-stack, "", @progbits
