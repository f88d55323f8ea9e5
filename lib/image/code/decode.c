// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From bytes to instructions. A function with bytes that cannot be decoded is
 * left out whole: it may have data in it.
 */
#include <errno.h>
#include <string.h>
#include "decode.h"

#define ASK_EVERY   64 /* functions */
#define LOCK_PREFIX 0xf0

/* Decoding the operands costs as much as the rest: only where needed. */
static bool wants_operands(const struct maple_decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	bool modrm = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM;

	if (modrm && insn->raw.modrm.mod == 3) {
		/* No memory operand, save the store of MASKMOV. */
		return insn->raw.modrm.rm == MAPLE_RBP ||
		       insn->raw.modrm.reg == MAPLE_RBP ||
		       insn->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
		       insn->mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
		       insn->mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU;
	}
	if (modrm)
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

static void note_branch(struct maple_decoder *d)
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
	if (category == ZYDIS_CATEGORY_CALL)
		now->flags |= MAPLE_DEC_CALL;
	if (category == ZYDIS_CATEGORY_UNCOND_BR && !relative)
		now->flags |= MAPLE_DEC_SWITCH;
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

/*
 * What becomes of the status flags. Only instructions that write all of them
 * whatever their operands are; what they leave undefined nobody can rely on.
 */
static void note_flags(struct maple_decoder *d)
{
	const uint32_t status = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF |
				ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
				ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

	if (d->insn.cpu_flags && d->insn.cpu_flags->tested & status)
		d->now->flags |= MAPLE_DEC_READS;
	switch (d->insn.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_XADD:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_COMISS:
	case ZYDIS_MNEMONIC_COMISD:
	case ZYDIS_MNEMONIC_UCOMISS:
	case ZYDIS_MNEMONIC_UCOMISD:
	case ZYDIS_MNEMONIC_VCOMISS:
	case ZYDIS_MNEMONIC_VCOMISD:
	case ZYDIS_MNEMONIC_VUCOMISS:
	case ZYDIS_MNEMONIC_VUCOMISD:
		d->now->flags |= MAPLE_DEC_WRITES;
		break;
	default:
		break;
	}
}

/* Whether the function uses RBP as a frame pointer shows in what sets it. */
static void note_frame(struct maple_decoder *d)
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
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     op[i].reg.value) ==
			    ZYDIS_REGISTER_RBP)
			d->frame_lost = true;
}

/* What waits until all that was written is to be seen. */
static void note_fence(struct maple_decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	bool memory = insn->attributes & ZYDIS_ATTRIB_HAS_MODRM &&
		      insn->raw.modrm.mod != 3;

	if (insn->mnemonic == ZYDIS_MNEMONIC_MFENCE ||
	    insn->mnemonic == ZYDIS_MNEMONIC_CPUID ||
	    insn->mnemonic == ZYDIS_MNEMONIC_SERIALIZE ||
	    insn->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
	    (insn->mnemonic == ZYDIS_MNEMONIC_XCHG && memory))
		d->now->flags |= MAPLE_DEC_FENCE;
}

/* maple_decoder_in_rseq - asked in ascending order of address */
bool maple_decoder_in_rseq(struct maple_decoder *d)
{
	const struct maple_code_range *rseq = d->image->rseqs.at;

	while (d->rseq < d->image->rseqs.n && rseq[d->rseq].hi <= d->addr)
		d->rseq++;
	return d->rseq < d->image->rseqs.n && rseq[d->rseq].lo <= d->addr;
}

/* Absolute addresses of code, in programs that have a fixed place. */
static void note_immediate(struct maple_decoder *d)
{
	if (d->image->type == ET_EXEC && d->insn.raw.imm[0].size >= 32 &&
	    !d->insn.raw.imm[0].is_relative)
		maple_image_mark(d->image, d->insn.raw.imm[0].value.u);
}

/* Not optimised, gcc adds where the shadow begins just before it is read. */
static void note_shadow(struct maple_decoder *d)
{
	const ZydisDecodedInstruction *insn = &d->insn;
	unsigned int reg = MAPLE_RAX;

	d->shadow = ZYDIS_REGISTER_NONE;
	if (insn->mnemonic != ZYDIS_MNEMONIC_ADD || insn->operand_width != 64 ||
	    insn->raw.imm[0].value.u != MAPLE_ASAN_SHADOW)
		return;
	if (insn->attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		if (insn->raw.modrm.mod != 3)
			return;
		reg = insn->raw.modrm.rm | insn->raw.rex.B << 3;
	}
	d->shadow = ZYDIS_REGISTER_RAX + reg;
}

static int decode_one(struct maple_decoder *d, const uint8_t *bytes,
		      uint64_t left)
{
	struct maple_image *image = d->image;
	uint64_t bit = d->addr - image->text_lo;
	int ret = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d->zydis, &d->context,
							bytes, left, &d->insn)))
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
	note_flags(d);
	if (maple_decoder_in_rseq(d))
		d->now->flags |= MAPLE_DEC_FIXED;
	if (wants_operands(d)) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(
			    &d->zydis, &d->context, &d->insn, d->op,
			    d->insn.operand_count)))
			return -EILSEQ;
		note_frame(d);
		ret = maple_decoder_operands(d);
	}
	note_shadow(d);
	note_fence(d);
	return ret;
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
			if (site[s].base == MAPLE_RBP) {
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

/*
 * clang's -fsanitize=function begins functions with a jump over "v2" and where
 * the function's type is found, which are no instructions.
 */
static uint64_t type_ahead(const uint8_t *bytes, uint64_t n)
{
	static const uint8_t jump[] = { 0xeb, 6, 'v', '2' };

	return n > 8 && !memcmp(bytes, jump, sizeof(jump)) ? 8 : 0;
}

/*
 * Whether each branch from @decoded on that stays between @lo and @hi leads to
 * the beginning of an instruction. If not, something was taken for
 * instructions that is none. To leave out LOCK is common.
 */
static bool in_step(const struct maple_image *image, size_t decoded,
		    uint64_t lo, uint64_t hi)
{
	const struct maple_decoded *at = image->decoded.at;
	uint64_t target;

	for (size_t i = decoded; i < image->decoded.n; i++) {
		target = at[i].target;
		if (!(at[i].flags & MAPLE_DEC_BRANCH) || target < lo ||
		    target >= hi ||
		    maple_image_bit(image, image->starts, target))
			continue;
		if (target == lo ||
		    *maple_image_bytes(image, target - 1, 1) != LOCK_PREFIX)
			return false;
	}
	return true;
}

static int decode_range(struct maple_decoder *d,
			const struct maple_code_range *range)
{
	struct maple_image *image = d->image;
	size_t decoded = image->decoded.n, sites = image->sites.n;
	const uint8_t *bytes;
	uint64_t lo;
	int ret = 0;

	maple_image_landings(image, range);
	if (range->foreign) {
		image->stats.left[MAPLE_LEFT_RUNTIME]++;
		return 0;
	}
	d->was = image->stats;
	d->frame = d->frame_lost = false;
	d->shadow = ZYDIS_REGISTER_NONE;
	bytes = maple_image_bytes(image, range->lo, range->hi - range->lo);
	if (!bytes)
		return 0;
	lo = range->lo + type_ahead(bytes, range->hi - range->lo);
	if (lo > range->lo)
		maple_image_mark(image, lo);
	for (d->addr = lo; !ret && d->addr < range->hi; d->addr = d->next)
		ret = decode_one(d, bytes + (d->addr - range->lo),
				 range->hi - d->addr);
	if (!ret && !in_step(image, decoded, lo, range->hi))
		ret = -EILSEQ;
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
	maple_image_liveness(image, decoded);
	image->stats.instructions += image->decoded.n - decoded;
	return 0;
}

/*
 * maple_image_decode - fills image->decoded and image->sites from the
 * functions' ranges, and marks the targets that instructions name
 *
 * This is what takes long; -ECANCELED when way->over() says that it is enough.
 */
int maple_image_decode(struct maple_image *image,
		       const struct maple_image_way *way)
{
	const struct maple_code_range *range = image->ranges.at;
	struct maple_decoder d = { .image = image };

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&d.zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	for (size_t i = 0; i < image->ranges.n; i++) {
		int ret = decode_range(&d, &range[i]);

		if (!ret && way->over && i % ASK_EVERY == 0 &&
		    way->over(way->ctx))
			ret = -ECANCELED;
		if (ret)
			return ret;
	}
	return 0;
}
