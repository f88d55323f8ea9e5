// SPDX-License-Identifier: GPL-2.0-only
/* Operands: which memory an instruction, or a function, is about to access. */
#include <linux/ptrace.h>
#include "kmod.h"

static const u16 offsets[16] = {
	offsetof(struct pt_regs, ax),  offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx),  offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp),  offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si),  offsetof(struct pt_regs, di),
	offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
};

/* maple_operand_register - 0 if @reg is ABSENT */
u64 maple_operand_register(const struct pt_regs *regs, unsigned int reg)
{
	if (reg >= ARRAY_SIZE(offsets))
		return 0;
	return *(const unsigned long *)((const char *)regs + offsets[reg]);
}

/* maple_operand_address - @regs: at the probe, ip is the probe's address */
u64 maple_operand_address(const struct maple_uapi_probe *p,
			  const struct pt_regs *regs)
{
	u64 addr = p->disp;

	if (p->flags & MAPLE_PROBE_RIP)
		addr += regs->ip;
	addr += maple_operand_register(regs, p->base);
	return addr + maple_operand_register(regs, p->index) * p->scale;
}

/* maple_operand_size - bytes; 0: nothing is accessed, or it is not known */
u64 maple_operand_size(const struct maple_uapi_probe *p,
		       const struct pt_regs *regs)
{
	if (p->flags & MAPLE_PROBE_REP)
		return p->size * regs->cx;
	if (p->flags & MAPLE_PROBE_CALL && !p->size)
		return maple_operand_register(regs, p->aux);
	return p->size;
}

/* maple_operand_valid - whether the hit of @p can be read off registers */
bool maple_operand_valid(const struct maple_uapi_probe *p)
{
	static_assert(MAPLE_REG_ABSENT >= ARRAY_SIZE(offsets),
		      "no register has this number");

	if ((p->base != MAPLE_REG_ABSENT && p->base >= ARRAY_SIZE(offsets)) ||
	    (p->index != MAPLE_REG_ABSENT && p->index >= ARRAY_SIZE(offsets)) ||
	    (p->aux != MAPLE_REG_ABSENT && p->aux >= ARRAY_SIZE(offsets)))
		return false;
	if (p->flags & MAPLE_PROBE_CALL)
		return true;
	return p->size && maple_event_is_memory(p->kind) &&
	       p->number < MAPLE_SITE_CALL;
}
