// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From bytes to instructions, and from their memory operands to sites.
 *
 * What is a site is decided by the form of the instruction, never by where an
 * address points at run time: data that one thread alone can reach by the
 * rules of the ABI (its stack frame, its thread-local storage) and data that
 * nobody writes are left out, and counted by reason. A function with bytes
 * that cannot be decoded is left out whole: it may have data in it.
 */
#include <errno.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include "internal.h"

#define RSP 4
#define RBP 5
#define OPERANDS ZYDIS_MAX_OPERAND_COUNT
#define SITE_MAX 64 /* bytes, a whole vector register; more is a state save */

struct decoder {
	struct maple_image *image;
	ZydisDecoder zydis;
	ZydisDecoderContext context;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[OPERANDS];
	struct maple_decoded *now;
	uint64_t addr, next;  /* of the instruction, and behind it */
	size_t rseq;          /* first rseq range that may be ahead */
	bool frame, frame_lost; /* RBP was set to RSP, to something else */
	struct maple_image_stats was; /* before this function */
};

static uint8_t gpr(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	return MAPLE_REG_NONE;
}

static bool has_modrm(const struct decoder *d, uint8_t mod)
{
	return d->insn.attributes & ZYDIS_ATTRIB_HAS_MODRM &&
	       (d->insn.raw.modrm.mod == 3) == (mod == 3);
}

/* Decoding the operands costs as much as the rest: only where needed. */
static bool wants_operands(const struct decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;

	if (has_modrm(d, 3)) {
		/* No memory operand, save the store of MASKMOV. */
		return insn->raw.modrm.rm == RBP ||
		       insn->raw.modrm.reg == RBP ||
		       insn->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
		       insn->mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
		       insn->mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU;
	}
	if (insn->attributes & ZYDIS_ATTRIB_HAS_MODRM)
		return true;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return false;
	default:
		return true;
	}
}

static bool is_fixed(const ZydisDecodedInstruction *insn)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return true;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_XEND:
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		return false;
	}
}

static void note_branch(struct decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	struct maple_decoded *now = d->now;
	ZydisInstructionCategory category = insn->meta.category;
	bool relative = insn->raw.imm[0].is_relative;
	uint64_t target = d->next + insn->raw.imm[0].value.s;

	if (relative) {
		maple_image_mark(d->image, target);
		now->target = target;
		now->flags |= MAPLE_DEC_BRANCH;
	}
	if (is_fixed(insn))
		now->flags |= MAPLE_DEC_FIXED;
	else if (relative && (target > UINT32_MAX || insn->operand_width == 16))
		now->flags |= MAPLE_DEC_FIXED;
	else if (category == ZYDIS_CATEGORY_RET)
		now->flags |= MAPLE_DEC_STOP;
	else if (category == ZYDIS_CATEGORY_UNCOND_BR)
		now->flags |= MAPLE_DEC_STOP | (relative ? MAPLE_DEC_JMP : 0);
	else if (category == ZYDIS_CATEGORY_COND_BR && relative &&
		 ((insn->opcode & 0xf0) == 0x70 ||
		  (insn->opcode & 0xf0) == 0x80))
		now->flags |= MAPLE_DEC_JCC;
	else if (category == ZYDIS_CATEGORY_COND_BR)
		now->flags |= MAPLE_DEC_FIXED; /* loop, jrcxz */
	now->cond = insn->opcode & 15;
}

/* Whether the function uses RBP as a frame pointer shows in what sets it. */
static void note_frame(struct decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	const ZydisDecodedOperand *op = d->op;

	if (insn->mnemonic == ZYDIS_MNEMONIC_POP ||
	    insn->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		return;
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV &&
	    op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    op[0].reg.value == ZYDIS_REGISTER_RBP &&
	    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    op[1].reg.value == ZYDIS_REGISTER_RSP) {
		d->frame = true;
		return;
	}
	for (unsigned int i = 0; i < insn->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(
			    ZYDIS_MACHINE_MODE_LONG_64, op[i].reg.value) ==
			    ZYDIS_REGISTER_RBP)
			d->frame_lost = true;
}

static bool in_rseq(struct decoder *d)
{
	const struct maple_range *rseq = d->image->rseqs.at;

	while (d->rseq < d->image->rseqs.n && rseq[d->rseq].hi <= d->addr)
		d->rseq++;
	return d->rseq < d->image->rseqs.n && rseq[d->rseq].lo <= d->addr;
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
static bool is_odd_insn(const struct decoder *d)
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
static bool is_odd(const struct decoder *d, const ZydisDecodedOperand *op)
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

/* Returns MAPLE_LEFT_REASONS for a site. */
static enum maple_left_out judge(struct decoder *d,
				 const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperandMem *mem = &op->mem;
	uint64_t fixed = mem->disp.value;

	if (is_hint(&d->insn))
		return MAPLE_LEFT_PREFETCH;
	if (mem->type == ZYDIS_MEMOP_TYPE_VSIB)
		return MAPLE_LEFT_VECTOR;
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
	    (gpr(mem->base) == RSP || gpr(mem->base) == RBP))
		return MAPLE_LEFT_IMPLICIT;
	if (is_branch(&d->insn))
		return MAPLE_LEFT_BRANCH;
	if (mem->segment == ZYDIS_REGISTER_FS ||
	    mem->segment == ZYDIS_REGISTER_GS)
		return MAPLE_LEFT_TLS;
	if (is_odd(d, op))
		return MAPLE_LEFT_ODD;
	if (gpr(mem->base) == RSP)
		return MAPLE_LEFT_STACK;
	if (mem->base == ZYDIS_REGISTER_RIP)
		fixed += d->next;
	if ((mem->base == ZYDIS_REGISTER_RIP ||
	     mem->base == ZYDIS_REGISTER_NONE) &&
	    mem->index == ZYDIS_REGISTER_NONE &&
	    maple_image_read_only(d->image, fixed))
		return MAPLE_LEFT_READ_ONLY;
	if (in_rseq(d))
		return MAPLE_LEFT_RSEQ;
	return MAPLE_LEFT_REASONS;
}

static int add_site(struct decoder *d, const ZydisDecodedOperand *op)
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
		.kind = (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ ?
				 MAPLE_EV_READ : 0) |
			(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ?
				 MAPLE_EV_WRITE : 0),
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

static void note_address(struct decoder *d, const ZydisDecodedOperand *op)
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

/* What is read comes first: of MOVS, the source. */
static int note_memory(struct decoder *d)
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
	if (nwait == 2 &&
	    !(wait[0]->actions & ZYDIS_OPERAND_ACTION_MASK_READ)) {
		const ZydisDecodedOperand *first = wait[0];

		wait[0] = wait[1];
		wait[1] = first;
	}
	for (unsigned int i = 0; i < nwait; i++)
		if (add_site(d, wait[i]))
			return -ENOMEM;
	return 0;
}

/* Absolute addresses of code, in programs that have a fixed place. */
static void note_immediate(struct decoder *d)
{
	if (d->image->type == ET_EXEC && d->insn.raw.imm[0].size >= 32 &&
	    !d->insn.raw.imm[0].is_relative)
		maple_image_mark(d->image, d->insn.raw.imm[0].value.u);
}

static int decode_one(struct decoder *d, const uint8_t *bytes, uint64_t left)
{
	struct maple_image *image = d->image;
	uint64_t bit = d->addr - image->text_lo;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		    &d->zydis, &d->context, bytes, left, &d->insn)))
		return -EILSEQ;
	d->now = maple_array_more(&image->decoded, sizeof(*d->now));
	if (!d->now)
		return -ENOMEM;
	d->next = d->addr + d->insn.length;
	*d->now = (struct maple_decoded){ .offset = d->addr,
					  .site = MAPLE_SITE_NONE,
					  .length = d->insn.length };
	image->starts[bit / 64] |= 1ull << bit % 64;
	if (d->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		maple_image_mark(image, d->addr);
	note_branch(d);
	note_immediate(d);
	if (in_rseq(d))
		d->now->flags |= MAPLE_DEC_FIXED;
	if (!wants_operands(d))
		return 0;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(
		    &d->zydis, &d->context, &d->insn, d->op,
		    d->insn.operand_count)))
		return -EILSEQ;
	note_frame(d);
	return note_memory(d);
}

/* Takes out what is relative to RBP from site @from on. */
static void drop_frame(struct maple_image *image, size_t from, size_t decoded)
{
	struct maple_table_site *site = image->sites.at;
	struct maple_decoded *at = image->decoded.at;
	size_t kept = from;

	for (size_t i = decoded; i < image->decoded.n; i++) {
		uint32_t s = at[i].site;
		bool more = s != MAPLE_SITE_NONE;

		at[i].site = MAPLE_SITE_NONE;
		while (more) {
			more = site[s].flags & MAPLE_SITEF_MORE;
			if (site[s].base == RBP) {
				image->stats.left[MAPLE_LEFT_STACK]++;
			} else {
				site[kept] = site[s];
				if (at[i].site == MAPLE_SITE_NONE)
					at[i].site = kept;
				kept++;
			}
			s++;
		}
	}
	image->sites.n = kept;
}

static int decode_range(struct decoder *d, const struct maple_range *range)
{
	struct maple_image *image = d->image;
	size_t decoded = image->decoded.n, sites = image->sites.n;
	const uint8_t *bytes;
	int ret = 0;

	maple_image_landings(image, range);
	d->was = image->stats;
	d->frame = d->frame_lost = false;
	bytes = maple_image_bytes(image, range->lo, range->hi - range->lo);
	if (!bytes)
		return 0;
	for (d->addr = range->lo; !ret && d->addr < range->hi;
	     d->addr = d->next)
		ret = decode_one(d, bytes + (d->addr - range->lo),
				 range->hi - d->addr);
	if (ret == -EILSEQ) {
		image->stats = d->was;
		image->stats.left[MAPLE_LEFT_UNDECODABLE]++;
		image->decoded.n = decoded;
		image->sites.n = sites;
		return 0;
	}
	if (ret)
		return ret;
	if (image->decoded.n > decoded)
		d->now->flags |= MAPLE_DEC_LAST;
	if (d->frame && !d->frame_lost)
		drop_frame(image, sites, decoded);
	image->stats.instructions += image->decoded.n - decoded;
	return 0;
}

/*
 * maple_image_decode - fills image->decoded and image->sites from the
 * functions' ranges, and marks the targets that instructions name
 */
int maple_image_decode(struct maple_image *image)
{
	const struct maple_range *range = image->ranges.at;
	struct decoder d = { .image = image };

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d.zydis,
					   ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	for (size_t i = 0; i < image->ranges.n; i++) {
		int ret = decode_range(&d, &range[i]);

		if (ret)
			return ret;
	}
	return 0;
}
