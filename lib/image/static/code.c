// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A function's instructions as what they do to registers: where addresses come
 * from, and where control goes. All that is no move, load or sum of an address
 * only makes forget what it writes.
 */
#include <errno.h>
#include <Zydis/Zydis.h>
#include "base/array.h"
#include "static.h"

#define RAX	   0
#define RBP	   5
#define NONE	   0xff
#define SPREAD_MAX 100000 /* jumps of a function, by where they may lead */

static uint8_t gpr(ZydisRegister reg)
{
	reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15
		       ? reg - ZYDIS_REGISTER_RAX
		       : NONE;
}

static bool is_reg(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->size == 64 &&
	       gpr(op->reg.value) != NONE;
}

static bool is_memory(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       op->mem.segment != ZYDIS_REGISTER_FS &&
	       op->mem.segment != ZYDIS_REGISTER_GS;
}

/* False if no register has the address, and it is none by itself. */
static bool take_memory(const struct maple_image *code, struct maple_effect *e,
			const ZydisDecodedOperand *op)
{
	if (op->mem.base == ZYDIS_REGISTER_NONE &&
	    !maple_image_is_address(code, op->mem.disp.value))
		return false;
	e->base = op->mem.base == ZYDIS_REGISTER_RIP ? NONE : gpr(op->mem.base);
	e->index = gpr(op->mem.index);
	e->scale = op->mem.scale;
	e->disp = op->mem.disp.value;
	if (op->mem.base == ZYDIS_REGISTER_RIP)
		e->disp += e->next;
	return true;
}

static void take_mov(const struct maple_image *code, struct maple_effect *e,
		     const ZydisDecodedOperand *op)
{
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && op->size >= 32 &&
	    gpr(op->reg.value) != NONE &&
	    maple_image_is_address(code, op[1].imm.value.u)) {
		e->kind = MAPLE_EFFECT_ADDRESS;
		e->disp = (int64_t)op[1].imm.value.u;
	} else if (is_reg(op) && is_reg(&op[1])) {
		e->kind = MAPLE_EFFECT_MOVE;
		e->src = gpr(op[1].reg.value);
	} else if (is_reg(op) && is_memory(&op[1]) &&
		   take_memory(code, e, &op[1])) {
		e->kind = MAPLE_EFFECT_LOAD;
	} else if (is_memory(op) && is_reg(&op[1]) && take_memory(code, e, op)) {
		e->kind = MAPLE_EFFECT_STORE;
		e->src = gpr(op[1].reg.value);
		return;
	} else {
		return;
	}
	e->dst = gpr(op->reg.value);
}

static void take_sum(struct maple_effect *e, const ZydisDecodedInstruction *insn,
		     const ZydisDecodedOperand *op)
{
	bool add = insn->mnemonic == ZYDIS_MNEMONIC_ADD;

	if (!is_reg(op))
		return;
	e->dst = gpr(op->reg.value);
	if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		e->kind = MAPLE_EFFECT_ADD;
		e->disp = add ? op[1].imm.value.s : -op[1].imm.value.s;
	} else if (add && is_reg(&op[1])) {
		e->kind = MAPLE_EFFECT_SUM;
		e->src = gpr(op[1].reg.value);
	}
}

static bool is_choice(ZydisMnemonic mnemonic)
{
	return mnemonic >= ZYDIS_MNEMONIC_CMOVB &&
	       mnemonic <= ZYDIS_MNEMONIC_CMOVZ;
}

static void take_values(const struct maple_image *code, struct maple_effect *e,
			const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *op)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		take_mov(code, e, op);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (is_reg(op) && insn->address_width == 64 &&
		    take_memory(code, e, &op[1])) {
			e->kind = MAPLE_EFFECT_ADDRESS;
			e->dst = gpr(op->reg.value);
		}
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		take_sum(e, insn, op);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		e->kind = MAPLE_EFFECT_PUSH;
		break;
	case ZYDIS_MNEMONIC_POP:
		e->kind = MAPLE_EFFECT_POP;
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		e->kind = MAPLE_EFFECT_LEAVE;
		break;
	default:
		if (is_choice(insn->mnemonic) && is_reg(op) && is_reg(&op[1])) {
			e->kind = MAPLE_EFFECT_CHOOSE;
			e->dst = gpr(op->reg.value);
			e->src = gpr(op[1].reg.value);
		}
	}
}

/* Where it leads; true if it is no matter of values. */
static bool take_control(struct maple_effect *e,
			 const ZydisDecodedInstruction *insn,
			 const ZydisDecodedOperand *op)
{
	bool relative = op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			op->imm.is_relative;
	uint64_t target = 0;

	if (relative)
		target = e->next + (uint64_t)op->imm.value.s;
	else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 op->mem.base == ZYDIS_REGISTER_RIP)
		/* By way of a slot, which an imported function may have. */
		target = e->next + (uint64_t)op->mem.disp.value;
	e->target = target <= UINT32_MAX ? target : 0;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		e->kind = MAPLE_EFFECT_CALL;
		return true;
	case ZYDIS_CATEGORY_COND_BR:
		e->kind = MAPLE_EFFECT_BRANCH;
		return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		e->kind = MAPLE_EFFECT_JUMP;
		e->src = relative;
		return true;
	case ZYDIS_CATEGORY_RET:
		e->kind = MAPLE_EFFECT_RETURN;
		return true;
	default:
		break;
	}
	if (insn->mnemonic == ZYDIS_MNEMONIC_HLT ||
	    insn->mnemonic == ZYDIS_MNEMONIC_UD2)
		e->kind = MAPLE_EFFECT_STOP;
	return e->kind == MAPLE_EFFECT_STOP;
}

static void take(struct maple_static *s, struct maple_effect *e,
		 const ZydisDecodedInstruction *insn,
		 const ZydisDecodedOperand *op)
{
	for (unsigned int i = 0; i < insn->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    gpr(op[i].reg.value) != NONE)
			e->kills |= 1u << gpr(op[i].reg.value);
	e->target = 0;
	if (!insn->operand_count || !take_control(e, insn, op)) {
		e->target = 0;
		if (insn->operand_count)
			take_values(s->code, e, insn, op);
	}
}

/* The effect at @offset, or NULL. */
static struct maple_effect *find(const struct maple_static_code *code,
				 uint32_t offset)
{
	struct maple_effect *e = code->effects.at;
	size_t i = maple_array_lead(code->effects.n, k, e[k].offset < offset);

	return i < code->effects.n && e[i].offset == offset ? e + i : NULL;
}

/*
 * Which instructions are come to by branches, and which are in a loop: between
 * a branch back and where it leads to.
 */
static void join(struct maple_static_code *code)
{
	struct maple_effect *e = code->effects.at, *to;
	uint32_t back = 0; /* the furthest that leads before this one */

	for (size_t i = 0; i < code->effects.n; i++) {
		if (e[i].kind != MAPLE_EFFECT_JUMP &&
		    e[i].kind != MAPLE_EFFECT_BRANCH)
			continue;
		code->wild += e[i].kind == MAPLE_EFFECT_JUMP && !e[i].src;
		to = e[i].target ? find(code, e[i].target) : NULL;
		if (!to)
			continue;
		if (to->joined == MAPLE_STATIC_NONE)
			to->joined = code->njoined++;
	}
	/* From behind: what stands before the end of a loop that began before. */
	for (size_t i = code->effects.n; i-- > 0;) {
		if ((e[i].kind == MAPLE_EFFECT_JUMP ||
		     e[i].kind == MAPLE_EFFECT_BRANCH) &&
		    e[i].target && e[i].target <= e[i].offset &&
		    (!back || e[i].target < back))
			back = find(code, e[i].target) ? e[i].target : back;
		e[i].loops = back && e[i].offset >= back;
		if (back && e[i].offset <= back)
			back = 0;
	}
}

/*
 * A switch may lead to all that is entered, and nothing else does, as long as
 * no exception comes there.
 */
static void spread(struct maple_static_code *code, bool catches)
{
	struct maple_effect *e = code->effects.at;
	uint64_t entered = 0;

	for (size_t i = 1; i < code->effects.n; i++)
		entered += e[i].entered;
	code->unknown = catches || code->wild * entered > SPREAD_MAX;
	for (size_t i = 1; code->wild && i < code->effects.n; i++)
		if (e[i].entered && !code->unknown &&
		    e[i].joined == MAPLE_STATIC_NONE)
			e[i].joined = code->njoined++;
}

/*
 * maple_static_code - fills in @code with the instructions of range @range; its
 * array is used again. A range that was not decoded has none.
 */
int maple_static_code(struct maple_static *s, uint32_t range,
		      struct maple_static_code *code)
{
	const struct maple_code_range *r = s->code->ranges.at;
	const struct maple_decoded *d = s->code->decoded.at;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder zydis;
	size_t i;

	r += range;
	code->range = range;
	code->effects.n = 0;
	code->njoined = 0;
	code->wild = 0;
	if (!ZYAN_SUCCESS(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	i = maple_array_lead(s->code->decoded.n, k, d[k].offset < r->lo);
	for (; i < s->code->decoded.n && d[i].offset < r->hi; i++) {
		const uint8_t *bytes =
			maple_image_bytes(s->code, d[i].offset, d[i].length);
		struct maple_effect *e;
		int64_t site = -1;

		if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(
				      &zydis, bytes, d[i].length, &insn, op)))
			continue;
		e = maple_array_more(&code->effects, sizeof(*e));
		if (!e)
			return -ENOMEM;
		if (d[i].site != MAPLE_SITE_NONE)
			site = maple_image_find(s->image, d[i].offset, false);
		*e = (struct maple_effect){
			.offset = d[i].offset,
			.next = d[i].offset + d[i].length,
			.site = site < 0 ? MAPLE_SITE_NONE : (uint32_t)site,
			.joined = MAPLE_STATIC_NONE,
			.dst = NONE,
			.base = NONE,
			.index = NONE,
			.entered = d[i].flags & MAPLE_DEC_TARGET,
		};
		take(s, e, &insn, op);
	}
	join(code);
	spread(code, r->lsda);
	return 0;
}
