/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between decode.c and operand.c: one instruction on its way. */
#ifndef MAPLE_IMAGE_DECODE_H
#define MAPLE_IMAGE_DECODE_H

#include <Zydis/Zydis.h>
#include "image/internal.h"

#define MAPLE_RAX 0
#define MAPLE_RSP 4
#define MAPLE_RBP 5

/*
 * What AddressSanitizer knows of address A stands at A / 8 and this, which
 * code that it has instrumented has in it as it stands (x86-64, Linux).
 */
#define MAPLE_ASAN_SHADOW 0x7fff8000

struct maple_decoder {
	struct maple_image *image;
	ZydisDecoder zydis;
	ZydisDecoderContext context;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct maple_decoded *now;
	uint64_t addr, next;	/* of the instruction, and behind it */
	size_t rseq;		/* first rseq range that may be ahead */
	bool frame, frame_lost; /* RBP was set to RSP, to something else */
	ZydisRegister shadow;	/* the instruction before has made it point
				   to a shadow; or NONE */
	struct maple_image_stats was; /* before this function */
};

bool maple_decoder_in_rseq(struct maple_decoder *d);
int maple_decoder_operands(struct maple_decoder *d);

#endif
