// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plain read-modify-write instructions, such as addl $1,(%rdi): another CPU
 * can come in between their read and their write, on one CPU nothing can. So
 * the agent may carry one out in two halves, with the value in a register:
 *
 *	mov (%rdi),%eax | add $1,%eax ; mov %eax,(%rdi)
 *
 * Here it is told which instructions have such a form, in which register, and
 * what stands between load and store. Left whole is what has a LOCK prefix or
 * is XCHG, where no CPU comes in between, and what cannot be done on a general
 * register, names the stack pointer (a slot moves it), or changes a register
 * of its own address, which the store needs.
 */
#include <errno.h>
#include <string.h>
#include "decode.h"

struct candidate {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static ZydisRegister whole_of(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

static ZydisRegister gpr_of(uint8_t reg)
{
	return reg == MAPLE_REG_NONE
		       ? ZYDIS_REGISTER_NONE
		       : (ZydisRegister)(ZYDIS_REGISTER_RAX + reg);
}

/* General register @reg as one of @size bytes. */
static ZydisRegister sized(uint8_t reg, unsigned int size)
{
	switch (size) {
	case 1:
		return reg < 4 ? (ZydisRegister)(ZYDIS_REGISTER_AL + reg)
			       : (ZydisRegister)(ZYDIS_REGISTER_SPL + reg - 4);
	case 2:
		return (ZydisRegister)(ZYDIS_REGISTER_AX + reg);
	case 4:
		return (ZydisRegister)(ZYDIS_REGISTER_EAX + reg);
	case 8:
		return (ZydisRegister)(ZYDIS_REGISTER_RAX + reg);
	default:
		return ZYDIS_REGISTER_NONE;
	}
}

/* Whether the operands but the first, which is the memory, name @reg. */
static bool names(const struct candidate *c, ZydisRegister reg, bool write)
{
	for (unsigned int i = 1; i < c->insn.operand_count; i++) {
		const ZydisDecodedOperand *op = &c->op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    reg != ZYDIS_REGISTER_NONE &&
		    whole_of(op->reg.value) == reg &&
		    (!write || op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return true;
	}
	return false;
}

/* Whether the store finds the address as the load did, and nobody's stack. */
static bool keeps_address(const struct candidate *c)
{
	const ZydisDecodedOperandMem *mem = &c->op[0].mem;

	return !names(c, mem->base, true) && !names(c, mem->index, true) &&
	       !names(c, ZYDIS_REGISTER_RSP, false) &&
	       whole_of(mem->base) != ZYDIS_REGISTER_RSP;
}

static bool is_plain(const struct maple_table_site *site)
{
	return site->kind == MAPLE_EV_UPDATE &&
	       !(site->flags & (MAPLE_SITEF_ATOMIC | MAPLE_SITEF_REP));
}

static bool decode(const ZydisDecoder *zydis, const struct maple_image *image,
		   const struct maple_decoded *d, struct candidate *c)
{
	const uint8_t *bytes = maple_image_bytes(image, d->offset, d->length);

	return bytes &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(zydis, bytes, d->length,
						   &c->insn, c->op)) &&
	       c->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* The instruction with @reg for its memory; false if there is no such. */
static bool encode(const struct candidate *c, uint8_t reg,
		   struct maple_table_split *split)
{
	ZydisEncoderRequest request;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize length = sizeof(bytes);

	if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    &c->insn, c->op, c->insn.operand_count_visible, &request)))
		return false;
	request.prefixes = 0;
	memset(&request.operands[0], 0, sizeof(request.operands[0]));
	request.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
	request.operands[0].reg.value = sized(reg, c->op[0].size / 8);
	if (!ZYAN_SUCCESS(
		    ZydisEncoderEncodeInstruction(&request, bytes, &length)) ||
	    length > sizeof(split->bytes))
		return false;
	split->reg = reg;
	split->length = (uint8_t)length;
	memcpy(split->bytes, bytes, length);
	return true;
}

/* In a register that it does not use; false if it has to stay whole. */
static bool find_form(const struct candidate *c,
		      const struct maple_table_site *site,
		      struct maple_table_split *split)
{
	if (site->flags & MAPLE_SITEF_MORE || !keeps_address(c) ||
	    sized(0, site->size) == ZYDIS_REGISTER_NONE)
		return false;
	for (uint8_t reg = 0; reg < 16; reg++) {
		if (reg == MAPLE_RSP || reg == MAPLE_RBP || reg == site->base ||
		    reg == site->index || names(c, gpr_of(reg), false))
			continue;
		if (encode(c, reg, split))
			return true;
	}
	return false;
}

static int note(struct maple_image *image, const ZydisDecoder *zydis, size_t i)
{
	const struct maple_decoded *d =
		(const struct maple_decoded *)image->decoded.at + i;
	struct maple_table_site *site =
		(struct maple_table_site *)image->sites.at + d->site;
	struct maple_table_split split = { .site = d->site }, *kept;
	struct candidate c;

	if (!is_plain(site))
		return 0;
	if (!decode(zydis, image, d, &c) || !find_form(&c, site, &split)) {
		image->stats.whole++;
		return 0;
	}
	kept = maple_array_more(&image->splits, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = split;
	site->flags |= MAPLE_SITEF_SPLIT;
	image->stats.splits++;
	return 0;
}

/* maple_image_splits - fills image->splits; 0, -EINVAL or -ENOMEM */
int maple_image_splits(struct maple_image *image)
{
	const struct maple_decoded *decoded = image->decoded.at;
	ZydisDecoder zydis;
	int ret = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	for (size_t i = 0; i < image->decoded.n && !ret; i++)
		if (decoded[i].site != MAPLE_SITE_NONE)
			ret = note(image, &zydis, i);
	return ret;
}
