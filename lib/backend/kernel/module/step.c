// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where in the code of a file a probe can be: the kernel refuses some
 * instructions, and steps others wrongly (lib/plan/step.h). It has the last
 * word, but asking is dear: for each refusal it waits until all who may be in
 * a probe are out.
 */
#include <string.h>
#include <unistd.h>
#include <Zydis/Zydis.h>
#include "plan/step.h"
#include "backend/kernel/kernel.h"

#define ON_MOST 4 /* instructions that are passed over */

/*
 * Opcodes of one byte that uprobes step, a word of 16 bits for each row: so
 * the kernel has it in arch/x86/kernel/uprobes.c. Of AVX instructions it looks
 * the opcode up in the same table, which is why some of them can be stepped.
 */
static const uint16_t steppable[16] = {
	0x3f3f, 0x3f3f, 0x3f3f, 0x3f3f, 0x0000, 0xffff, 0x0f38, 0xffff,
	0xfffb, 0xfbff, 0xffff, 0xffff, 0x0fcf, 0xff8f, 0x0b0f, 0xf3f0,
};

static bool can_step(const uint8_t b[MAPLE_STEP_BYTES])
{
	unsigned int i = 0;

	if (maple_step_breaks(b))
		return false;
	while (i < 8 && maple_step_is_prefix(b[i]))
		i++;
	if ((b[i] & 0xf0) == 0x40)
		i++;
	if (b[i] == 0x0f)
		return b[i + 1] != 0x38 && b[i + 1] != 0x3a;
	i += maple_step_vector(b[i]);
	return steppable[b[i] >> 4] >> (b[i] & 15) & 1;
}

static bool read_code(int fd, uint64_t offset, uint8_t b[MAPLE_STEP_BYTES])
{
	memset(b, 0, MAPLE_STEP_BYTES);
	return pread(fd, b, MAPLE_STEP_BYTES, offset) > 0;
}

/*
 * maple_step_can - whether the kernel will step the instruction at @offset of
 * @fd, and rightly, as far as its first bytes tell
 */
bool maple_step_can(int fd, uint64_t offset)
{
	uint8_t b[MAPLE_STEP_BYTES];

	return read_code(fd, offset, b) && can_step(b);
}

static bool is_general(ZydisRegister reg)
{
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);

	return class >= ZYDIS_REGCLASS_GPR8 && class <= ZYDIS_REGCLASS_GPR64;
}

/* Whether what follows comes next, and finds the same in the registers. */
static bool is_passed(const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *op, bool unchanged)
{
	if (insn->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
	    insn->meta.category == ZYDIS_CATEGORY_RET)
		return false;
	for (unsigned int i = 0; unchanged && i < insn->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    is_general(op[i].reg.value) &&
		    op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return false;
	return true;
}

/*
 * maple_step_on - moves *@offset on to the first instruction that can be
 * stepped, over those that cannot
 * @unchanged: only over what leaves the general registers alone
 *
 * Returns false, and *@offset as it was, if there is none.
 */
bool maple_step_on(int fd, uint64_t *offset, bool unchanged)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	uint8_t b[MAPLE_STEP_BYTES];
	ZydisDecoder decoder;
	uint64_t at = *offset;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	for (unsigned int i = 0; i <= ON_MOST && read_code(fd, at, b); i++) {
		if (can_step(b)) {
			*offset = at;
			return true;
		}
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, b, sizeof(b),
						       &insn, op)) ||
		    !is_passed(&insn, op, unchanged))
			return false;
		at += insn.length;
	}
	return false;
}
