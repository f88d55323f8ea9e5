// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * LOCK-prefixed instructions, where the kernel can put no probe: which of
 * their neighbours can stand in for them. A neighbour does if control that
 * passes one always passes the other, and if it leaves alone the registers of
 * the address, so that they say there what they say at the site.
 */
#include <errno.h>
#include "base/array.h"
#include "decode.h"

#define PASSES_ON                                                          \
	(MAPLE_DEC_STOP | MAPLE_DEC_LAST | MAPLE_DEC_JMP | MAPLE_DEC_JCC | \
	 MAPLE_DEC_BRANCH | MAPLE_DEC_FIXED)

struct locked_insn {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const ZydisDecoder *zydis, const struct maple_image *image,
		   const struct maple_decoded *d, struct locked_insn *out)
{
	const uint8_t *bytes = maple_image_bytes(image, d->offset, d->length);

	return bytes && ZYAN_SUCCESS(ZydisDecoderDecodeFull(
				zydis, bytes, d->length, &out->insn, out->op));
}

static bool writes(const struct locked_insn *in, uint8_t reg)
{
	for (unsigned int i = 0; i < in->insn.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    in->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     in->op[i].reg.value) ==
			    (ZydisRegister)(ZYDIS_REGISTER_RAX + reg))
			return true;
	return false;
}

static bool keeps_address(const struct locked_insn *in,
			  const struct maple_table_site *site)
{
	return (site->base == MAPLE_REG_NONE || !writes(in, site->base)) &&
	       (site->index == MAPLE_REG_NONE || !writes(in, site->index));
}

/* Whether control goes from @d to the instruction behind it and not else. */
static bool falls_into(const struct maple_decoded *d)
{
	return !(d->flags & PASSES_ON) && !(d[1].flags & MAPLE_DEC_TARGET) &&
	       d[1].offset == d->offset + d->length;
}

static bool probable(const struct locked_insn *in)
{
	const ZydisInstructionAttributes odd =
		ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP |
		ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE |
		ZYDIS_ATTRIB_HAS_SEGMENT;

	return !(in->insn.attributes & odd);
}

static int note(struct maple_image *image, const ZydisDecoder *zydis, size_t i)
{
	const struct maple_decoded *d =
		(struct maple_decoded *)image->decoded.at;
	const struct maple_table_site *site =
		(struct maple_table_site *)image->sites.at + d[i].site;
	struct locked_insn self, other;
	struct maple_locked *locked;

	if (!decode(zydis, image, &d[i], &self) ||
	    !(self.insn.attributes & ZYDIS_ATTRIB_HAS_LOCK))
		return 0;
	locked = maple_array_more(&image->locked, sizeof(*locked));
	if (!locked)
		return -ENOMEM;
	*locked = (struct maple_locked){ .site = d[i].site };
	if (i && falls_into(&d[i - 1]) &&
	    decode(zydis, image, &d[i - 1], &other) && probable(&other) &&
	    keeps_address(&other, site))
		locked->ahead = d[i - 1].offset;
	if (i + 1 < image->decoded.n && falls_into(&d[i]) &&
	    decode(zydis, image, &d[i + 1], &other) && probable(&other) &&
	    keeps_address(&self, site))
		locked->behind = d[i + 1].offset;
	return 0;
}

/* maple_image_neighbours - fills image->locked, once all targets are known */
int maple_image_neighbours(struct maple_image *image)
{
	const struct maple_decoded *d = image->decoded.at;
	const struct maple_table_site *site = image->sites.at;
	ZydisDecoder zydis;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		return -EINVAL;
	for (size_t i = 0; i < image->decoded.n; i++) {
		int ret = 0;

		if (d[i].site != MAPLE_SITE_NONE &&
		    site[d[i].site].flags & MAPLE_SITEF_ATOMIC)
			ret = note(image, &zydis, i);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * maple_image_locked - whether site @index of @image is an instruction with a
 * LOCK prefix; if so, which neighbours can be probed in its place
 */
bool maple_image_locked(const struct maple_image *image, uint32_t index,
			struct maple_locked *locked)
{
	const struct maple_locked *all = image->locked.at;
	size_t at = maple_array_lead(image->locked.n, i, all[i].site < index);

	if (at == image->locked.n || all[at].site != index)
		return false;
	*locked = all[at];
	return true;
}
