// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The code of a slot: hooks around the instructions that were moved there.
 *
 *	lea -128(%rsp),%rsp	leave the red zone alone
 *	push %rdi
 *	lea ADDRESS,%rdi	of the access
 *	push %rax
 *	lahf; seto %al		all six flags
 *	cmpb $0,live(%rip)	the site has used up its budget?
 *	jne 0f
 *	subl $1,left(%rip)	... a long time ago?
 *	jne 1f
 * 0:	push %rsi
 *	lea site(%rip),%rsi
 *	call *before(%rip)
 *	pop %rsi
 * 1:	add $127,%al; sahf
 *	pop %rax
 *	pop %rdi
 *	lea 128(%rsp),%rsp
 *	the instruction
 *
 * Where the flags are dead, nothing else needs to be saved to ask whether the
 * site is to be passed by:
 *
 *	cmpb $0,live(%rip)
 *	jne 0f
 *	subl $1,left(%rip)
 *	jne 1f
 * 0:	lea -128(%rsp),%rsp
 *	push %rdi
 *	lea ADDRESS,%rdi
 *	push %rax
 *	push %rsi
 *	...
 *	pop %rsi
 *	pop %rax
 *	pop %rdi
 *	lea 128(%rsp),%rsp
 * 1:	the instruction
 *
 * A read-modify-write that is split has its own hook between its halves. The
 * program's registers are its own again there, and its flags, so that this
 * hook is like any other, but 152 bytes further down the stack:
 *
 *	the hook before
 *	lea -128(%rsp),%rsp
 *	pushf			struct maple_slot_frame, for faults
 *	push %rcx		the value's place
 *	push %rcx
 *	mov MEMORY,%rcx
 *	mov %rcx,8(%rsp)
 *	mov (%rsp),%rcx
 *	the hook between
 *	mov 8(%rsp),%rcx
 *	the instruction, on %rcx
 *	mov %rcx,MEMORY
 *	mov (%rsp),%rcx
 *	lea 152(%rsp),%rsp
 *	the hook after
 *
 * Everything is relative to the slot, which lies within 2 GiB of the image.
 */
#include <stddef.h>
#include "agent/core.h"

#define REG_RSP 4
#define REG_RDI 7

static_assert(sizeof(struct maple_slot_frame) == 152 &&
		      offsetof(struct maple_slot_frame, value) == 8,
	      "the code says so");

static void put1(struct maple_slot *s, unsigned int byte)
{
	if (s->at == s->end)
		s->bad = true;
	else
		*s->at++ = byte;
}

/* Inlined with a known @n, it is a few stores. */
static inline void put_bytes(struct maple_slot *s, const uint8_t *bytes,
			     unsigned int n)
{
	if ((uint64_t)(s->end - s->at) < n) {
		s->bad = true;
		return;
	}
	if (__builtin_constant_p(n)) {
		__builtin_memcpy(s->at, bytes, n);
	} else {
		for (unsigned int i = 0; i < n; i++)
			s->at[i] = bytes[i];
	}
	s->at += n;
}

static void put4(struct maple_slot *s, uint32_t word)
{
	put_bytes(s, (const uint8_t *)&word, 4);
}

#define PUT(s, ...)                                              \
	do {                                                     \
		static const uint8_t bytes_[] = { __VA_ARGS__ }; \
		put_bytes(s, bytes_, sizeof(bytes_));            \
	} while (0)

/* The displacement to @to; @behind bytes of the instruction follow it. */
static void put_rel(struct maple_slot *s, uint64_t to, unsigned int behind)
{
	int64_t rel = to - ((uint64_t)s->at + 4 + behind);

	if (rel != (int32_t)rel)
		s->bad = true;
	put4(s, (uint32_t)rel);
}

static void put_address_abs(struct maple_slot *s, uint64_t addr)
{
	PUT(s, 0x48, 0xbf); /* movabs $addr,%rdi */
	put4(s, (uint32_t)addr);
	put4(s, addr >> 32);
}

static unsigned int scale_bits(const struct maple_table_site *where)
{
	return where->scale == 8   ? 3
	       : where->scale == 4 ? 2
	       : where->scale == 2 ? 1
				   : 0;
}

static unsigned int rex_bits(const struct maple_table_site *where,
			     unsigned int reg)
{
	unsigned int rex = reg >> 3 << 2;

	if (where->base != MAPLE_REG_NONE)
		rex |= where->base >> 3;
	if (where->index != MAPLE_REG_NONE)
		rex |= where->index >> 3 << 1;
	return rex;
}

/* Operand bytes for @reg and base + index * scale + @disp. */
static void put_operand(struct maple_slot *s,
			const struct maple_table_site *where, unsigned int reg,
			int64_t disp)
{
	unsigned int base = where->base, index = where->index;

	/* Always with an index byte: one form for all. */
	put1(s, (base == MAPLE_REG_NONE ? 0 : 0x80) | (reg & 7) << 3 | 4);
	put1(s, scale_bits(where) << 6 |
			(index == MAPLE_REG_NONE ? 4 : index & 7) << 3 |
			(base == MAPLE_REG_NONE ? 5 : base & 7));
	put4(s, (uint32_t)disp);
}

/* rdi = address of the access; rsp is 136 below the program's. */
static void put_address(struct maple_slot *s,
			const struct maple_table_site *where)
{
	unsigned int base = where->base, index = where->index;
	int64_t disp = where->disp;

	if (where->flags & MAPLE_SITEF_RIPREL) {
		put_address_abs(s, disp + s->bias);
		return;
	}
	if (base == REG_RSP)
		disp += 136;
	if (disp != (int32_t)disp) {
		if (base != MAPLE_REG_NONE || index != MAPLE_REG_NONE)
			s->bad = true;
		put_address_abs(s, disp);
		return;
	}
	put1(s, 0x48 | rex_bits(where, REG_RDI));
	put1(s, 0x8d);
	put_operand(s, where, REG_RDI, disp);
}

/* Loads @reg from the site's memory, or stores it there. */
static void put_move(struct maple_slot *s, const struct maple_table_site *where,
		     unsigned int reg, bool store)
{
	unsigned int rex = 0x40 | rex_bits(where, reg);

	if (where->size == 2)
		put1(s, 0x66);
	put1(s, where->size == 8 ? rex | 8 : rex);
	put1(s, (store ? 0x88 : 0x8a) | (where->size > 1));
	if (where->flags & MAPLE_SITEF_RIPREL) {
		put1(s, (reg & 7) << 3 | 5);
		put_rel(s, where->disp + s->bias, 0);
		return;
	}
	if (where->disp != (int32_t)where->disp)
		s->bad = true;
	put_operand(s, where, reg, where->disp);
}

/* @opcode with @reg and @disp(%rsp), 64 bits wide. */
static void put_stack(struct maple_slot *s, unsigned int opcode,
		      unsigned int reg, int disp)
{
	put1(s, 0x48 | reg >> 3 << 2);
	put1(s, opcode);
	put1(s, 0x44 | (reg & 7) << 3);
	put1(s, 0x24);
	put1(s, (unsigned int)disp & 0xff);
}

static void put_push(struct maple_slot *s, unsigned int reg)
{
	if (reg >> 3)
		put1(s, 0x41);
	put1(s, 0x50 | (reg & 7));
}

static void put_call(struct maple_slot *s, const struct maple_agent_site *site,
		     uint64_t hook)
{
	PUT(s, 0x56, 0x48, 0x8d, 0x35); /* push %rsi; lea site(%rip),%rsi */
	put_rel(s, (uint64_t)site, 0);
	PUT(s, 0xff, 0x15); /* call *hook(%rip) */
	put_rel(s, hook, 0);
	PUT(s, 0x5e);
}

/* To what follows if @site is to be passed by; returns where that stands. */
static uint8_t *put_ask(struct maple_slot *s,
			const struct maple_agent_site *site)
{
	PUT(s, 0x80, 0x3d); /* cmpb $0,live(%rip) */
	put_rel(s, (uint64_t)&site->live, 1);
	put1(s, 0);
	PUT(s, 0x75, 9);    /* jne over the next two */
	PUT(s, 0x83, 0x2d); /* subl $1,left(%rip) */
	put_rel(s, (uint64_t)&site->left, 1);
	put1(s, 1);
	PUT(s, 0x75, 0);
	return s->at;
}

static void put_pass(struct maple_slot *s, uint8_t *from)
{
	if (!s->bad)
		from[-1] = s->at - from;
}

static void put_leave(struct maple_slot *s, bool flags)
{
	if (flags)
		PUT(s, 0x04, 0x7f, 0x9e);
	PUT(s, 0x58, 0x5f, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);
}

/* maple_slot_before - the hook before @site */
void maple_slot_before(struct maple_slot *s, const struct maple_agent_site *site,
		       const struct maple_table_site *where)
{
	bool flags = !(where->flags & MAPLE_SITEF_NOFLAGS);
	uint8_t *pass = flags ? NULL : put_ask(s, site);

	PUT(s, 0x48, 0x8d, 0x64, 0x24, 0x80, 0x57);
	put_address(s, where);
	put1(s, 0x50);
	if (flags) {
		PUT(s, 0x9f, 0x0f, 0x90, 0xc0);
		pass = put_ask(s, site);
	}
	put_call(s, site, s->base + offsetof(struct maple_slot_hooks, before));
	if (flags)
		put_pass(s, pass);
	put_leave(s, flags);
	if (!flags)
		put_pass(s, pass);
}

/* maple_slot_after - the hook after @site; the address is then known */
void maple_slot_after(struct maple_slot *s, const struct maple_agent_site *site)
{
	PUT(s, 0x48, 0x8d, 0x64, 0x24, 0x80, 0x57);
	PUT(s, 0x50, 0x9f, 0x0f, 0x90, 0xc0);
	put_call(s, site, s->base + offsetof(struct maple_slot_hooks, after));
	put_leave(s, true);
}

static void put_between(struct maple_slot *s,
			const struct maple_agent_site *site,
			const struct maple_table_site *where)
{
	PUT(s, 0x48, 0x8d, 0x64, 0x24, 0x80, 0x57);
	put_address(s, where);
	PUT(s, 0x50, 0x9f, 0x0f, 0x90, 0xc0);
	put_call(s, site, s->base + offsetof(struct maple_slot_hooks, between));
	put_leave(s, true);
}

/*
 * maple_slot_split - the instruction in two halves, with a hook between them
 * @start: of the slot, from which *@halves are counted
 */
void maple_slot_split(struct maple_slot *s, const struct maple_agent_site *site,
		      const struct maple_table_site *where,
		      const struct maple_table_split *split,
		      const uint8_t *start, struct maple_slot_halves *halves)
{
	const unsigned int load = 0x8b, store = 0x89, lea = 0x8d;
	unsigned int reg = split->reg;

	halves->reg = reg;
	put_stack(s, lea, REG_RSP, -128);
	put1(s, 0x9c);
	put_push(s, reg);
	put_push(s, reg);
	halves->load = s->at - start;
	put_move(s, where, reg, false);
	put_stack(s, store, reg, 8);
	put_stack(s, load, reg, 0);
	put_between(s, site, where);
	put_stack(s, load, reg, 8);
	put_bytes(s, split->bytes, split->length);
	halves->store = s->at - start;
	put_move(s, where, reg, true);
	put_stack(s, load, reg, 0);
	PUT(s, 0x48, 0x8d, 0xa4, 0x24, 0x98, 0, 0, 0);
}

/* maple_slot_insn - the instruction itself, which stood at @bytes */
void maple_slot_insn(struct maple_slot *s, const struct maple_table_insn *insn,
		     const uint8_t *bytes)
{
	uint64_t here = s->bias + insn->offset;
	int32_t disp = 0;

	if (insn->flags & MAPLE_INSN_JCC) {
		put1(s, 0x0f);
		put1(s, 0x80 | (insn->cond & 15));
		put_rel(s, s->bias + insn->target, 0);
	} else if (insn->flags & MAPLE_INSN_JMP) {
		maple_slot_jump(s, s->bias + insn->target);
	} else if (insn->flags & MAPLE_INSN_RIPREL) {
		for (int i = 3; i >= 0; i--)
			disp = (uint32_t)disp << 8 | bytes[insn->disp_at + i];
		put_bytes(s, bytes, insn->disp_at);
		put_rel(s, here + insn->length + disp,
			insn->length - insn->disp_at - 4);
		put_bytes(s, bytes + insn->disp_at + 4,
			  insn->length - insn->disp_at - 4);
	} else {
		put_bytes(s, bytes, insn->length);
	}
}

/* maple_slot_jump - on to @to */
void maple_slot_jump(struct maple_slot *s, uint64_t to)
{
	put1(s, 0xe9);
	put_rel(s, to, 0);
}
