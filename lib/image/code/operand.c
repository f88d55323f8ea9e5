// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From memory operands to sites.
 *
 * What is a site is decided by the form of the instruction, never by where an
 * address points at run time: data that one thread alone can reach by the
 * rules of the ABI (its stack frame, its thread-local storage) and data that
 * nobody writes are left out, and counted by reason.
 */
#include <errno.h>
#include "decode.h"

#define SITE_MAX 64 /* bytes, a whole vector register; more is a state save */

static uint8_t gpr(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	return MAPLE_REG_NONE;
}

static bool is_hint(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		return true;
	default:
		return insn->meta.category == ZYDIS_CATEGORY_NOP ||
		       insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
		       insn->meta.category == ZYDIS_CATEGORY_PREFETCH;
	}
}

static bool is_branch(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_CALL ||
	       insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

/*
 * Instructions that add something of their own to the address (a register's
 * bit number, AL, a tile's stride), or repeat in an undocumented way.
 */
static bool is_odd_insn(const struct maple_decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		return d->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	case ZYDIS_MNEMONIC_XLAT:
		return true;
	default:
		break;
	}
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_STRINGOP:
		/* REPNE means something to CMPS (a6, a7), SCAS (ae, af). */
		return insn->attributes & ZYDIS_ATTRIB_HAS_REPNE &&
		       (insn->opcode & 0xf6) != 0xa6;
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		return false;
	}
}

/* Forms whose address or extent base + index * scale + disp does not tell. */
static bool is_odd(const struct maple_decoder *d, const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *mem = &op->mem;
	unsigned int bytes = op->size / 8;

	return is_odd_insn(d) || mem->type != ZYDIS_MEMOP_TYPE_MEM ||
	       d->insn.address_width != 64 || !bytes || bytes > SITE_MAX ||
	       (mem->base != ZYDIS_REGISTER_NONE &&
		mem->base != ZYDIS_REGISTER_RIP &&
		gpr(mem->base) == MAPLE_REG_NONE) ||
	       (mem->index != ZYDIS_REGISTER_NONE &&
		gpr(mem->index) == MAPLE_REG_NONE);
}

/* No data of the program's, and no compiler's displacement but that one. */
static bool is_shadow(const struct maple_decoder *d,
		      const ZydisDecodedOperandMem *mem)
{
	if (gpr(mem->base) == MAPLE_REG_NONE)
		return false;
	return mem->disp.value >= MAPLE_ASAN_SHADOW || mem->base == d->shadow;
}

/* Returns MAPLE_LEFT_REASONS for a site. */
static enum maple_left_out judge(struct maple_decoder *d,
				 const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *mem = &op->mem;
	uint64_t fixed = mem->disp.value;

	if (is_hint(&d->insn))
		return MAPLE_LEFT_PREFETCH;
	if (mem->type == ZYDIS_MEMOP_TYPE_VSIB)
		return MAPLE_LEFT_VECTOR;
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    (gpr(mem->base) == MAPLE_RSP || gpr(mem->base) == MAPLE_RBP))
		return MAPLE_LEFT_IMPLICIT;
	if (is_branch(&d->insn))
		return MAPLE_LEFT_BRANCH;
	if (mem->segment == ZYDIS_REGISTER_FS ||
	    mem->segment == ZYDIS_REGISTER_GS)
		return MAPLE_LEFT_TLS;
	if (is_odd(d, op))
		return MAPLE_LEFT_ODD;
	if (gpr(mem->base) == MAPLE_RSP)
		return MAPLE_LEFT_STACK;
	if (is_shadow(d, mem))
		return MAPLE_LEFT_SHADOW;
	if (mem->base == ZYDIS_REGISTER_RIP)
		fixed += d->next;
	if ((mem->base == ZYDIS_REGISTER_RIP ||
	     mem->base == ZYDIS_REGISTER_NONE) &&
	    mem->index == ZYDIS_REGISTER_NONE &&
	    maple_image_read_only(d->image, fixed))
		return MAPLE_LEFT_READ_ONLY;
	if (maple_decoder_in_rseq(d))
		return MAPLE_LEFT_RSEQ;
	return MAPLE_LEFT_REASONS;
}

static int add_site(struct maple_decoder *d, const ZydisDecodedOperand *op)
{
	const ZydisInstructionAttributes rep = ZYDIS_ATTRIB_HAS_REP |
					       ZYDIS_ATTRIB_HAS_REPE |
					       ZYDIS_ATTRIB_HAS_REPNE;
	struct maple_array *sites = &d->image->sites;
	const ZydisDecodedOperandMem *mem = &op->mem;
	struct maple_table_site *site = maple_array_more(sites, sizeof(*site));

	if (!site)
		return -ENOMEM;
	*site = (struct maple_table_site){
		.offset = d->addr,
		.kind = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ
				 ? MAPLE_EV_READ
				 : 0) |
			(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE
				 ? MAPLE_EV_WRITE
				 : 0),
		.base = gpr(mem->base),
		.index = gpr(mem->index),
		.scale = mem->index == ZYDIS_REGISTER_NONE ? 0 : mem->scale,
		.way = MAPLE_WAY_TRAP,
		.length = d->insn.length,
		.size = op->size / 8,
		.disp = mem->disp.value,
	};
	if (mem->base == ZYDIS_REGISTER_RIP) {
		site->flags |= MAPLE_SITEF_RIPREL;
		site->disp += d->next;
	}
	if (d->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    d->insn.mnemonic == ZYDIS_MNEMONIC_XCHG)
		site->flags |= MAPLE_SITEF_ATOMIC;
	if (d->insn.attributes & rep)
		site->flags |= MAPLE_SITEF_REP;
	if (d->now->site == MAPLE_SITE_NONE)
		d->now->site = sites->n - 1;
	else
		site[-1].flags |= MAPLE_SITEF_MORE;
	return 0;
}

static void note_address(struct maple_decoder *d, const ZydisDecodedOperand *op)
{
	uint64_t addr = d->next + op->mem.disp.value;
	uint64_t *lea;

	if (op->mem.base == ZYDIS_REGISTER_EIP)
		d->now->flags |= MAPLE_DEC_FIXED;
	if (op->mem.base != ZYDIS_REGISTER_RIP)
		return;
	d->now->flags |= MAPLE_DEC_RIPREL;
	d->now->disp_at = d->insn.raw.disp.offset;
	maple_image_mark(d->image, addr);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		lea = maple_array_more(&d->image->leas, sizeof(*lea));
		if (lea) /* a lost table is no reason to fail */
			*lea = addr;
	}
}

/*
 * maple_decoder_operands - notes what the memory operands of the instruction
 * are: sites, left out, or addresses
 *
 * What is read comes first: of MOVS, the source.
 */
int maple_decoder_operands(struct maple_decoder *d)
{
	const ZydisDecodedOperand *wait[2];
	unsigned int nwait = 0;

	for (unsigned int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *op = &d->op[i];
		enum maple_left_out reason;

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		note_address(d, op);
		if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    op->mem.type == ZYDIS_MEMOP_TYPE_INVALID)
			continue;
		reason = judge(d, op);
		if (reason != MAPLE_LEFT_REASONS)
			d->image->stats.left[reason]++;
		else if (nwait < 2)
			wait[nwait++] = op;
	}
	if (nwait == 2 && !(wait[0]->actions & ZYDIS_OPERAND_ACTION_MASK_READ)) {
		const ZydisDecodedOperand *first = wait[0];

		wait[0] = wait[1];
		wait[1] = first;
	}
	for (unsigned int i = 0; i < nwait; i++)
		if (add_site(d, wait[i]))
			return -ENOMEM;
	return 0;
}
