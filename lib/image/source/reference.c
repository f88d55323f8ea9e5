// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an instruction refers to, by what its registers have: the operand
 * 8(%rax) is `cache->size` where %rax has the variable `cache`.
 *
 * What a register has is said by the debug information, or else by the code
 * before, back to where control may come from elsewhere: without optimisation
 * a pointer is loaded from its variable right before it is used. It decides
 * on names alone; where it cannot tell, it says so, and guesses nothing.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <Zydis/Zydis.h>
#include "base/array.h"
#include "image/internal.h"
#include "type.h"

#define CODE_MAX (256u << 10) /* bytes of a function that is looked into */
#define DEPTH	 8	      /* loads that lead to an address */

/* How what a pointer points to is written. */
enum via {
	VIA_POINTER, /* p: p->member, *p, p[1] */
	VIA_OBJECT,  /* a reference, or an object's address: x.member, x */
	VIA_THIS,    /* Class::member */
};

struct pointer {
	char name[256];
	Dwarf_Die target; /* type */
	enum via via;
	int64_t offset;
	bool loose; /* something unknown was added */
};

/* base + index * scale + disp; registers as Zydis names them, 64 bits. */
struct operand {
	ZydisRegister base, index;
	int64_t disp; /* with RIP: the ELF address */
	uint32_t size;
};

struct code {
	struct maple_image *image;
	uint64_t lo;
	uint8_t *bytes;
	size_t size;
	uint32_t *at; /* of each instruction, from lo */
	bool *joined; /* control may come here from elsewhere */
	size_t n;
	ZydisDecoder zydis;
};

/* ---- the function's code ---- */

static bool read_file(struct maple_image *image, uint64_t addr, uint8_t *to,
		      size_t size)
{
	GElf_Phdr segment;
	size_t n = 0;

	if (elf_getphdrnum(image->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &segment) ||
		    segment.p_type != PT_LOAD || addr < segment.p_vaddr ||
		    addr - segment.p_vaddr + size > segment.p_filesz)
			continue;
		return pread(image->fd, to, size,
			     (off_t)(segment.p_offset + addr -
				     segment.p_vaddr)) == (ssize_t)size;
	}
	return false;
}

/* The piece of the function around @pc; the cold half may lie elsewhere. */
static bool find_piece(struct maple_image *image, uint64_t pc, uint64_t *lo,
		       uint64_t *hi)
{
	struct maple_blocks s;
	Dwarf_Addr base, from = 0, to = 0;
	ptrdiff_t at = 0;
	bool found = false;

	if (!maple_blocks_open(image, pc, &s))
		return false;
	while (!found &&
	       (at = dwarf_ranges(s.function, at, &base, &from, &to)) > 0)
		found = s.pc >= from && s.pc < to;
	*lo = from + s.bias;
	*hi = to + s.bias;
	return found && *hi - *lo <= CODE_MAX;
}

static void close_code(struct code *code)
{
	free(code->bytes);
	free(code->at);
	free(code->joined);
}

static bool decode(const struct code *code, size_t i,
		   ZydisDecodedInstruction *insn,
		   ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT])
{
	return ZYAN_SUCCESS(
		ZydisDecoderDecodeFull(&code->zydis, code->bytes + code->at[i],
				       code->size - code->at[i], insn, op));
}

static void note_join(struct code *code, size_t i,
		      const ZydisDecodedInstruction *insn,
		      const ZydisDecodedOperand *op)
{
	size_t to;

	if ((insn->meta.category != ZYDIS_CATEGORY_COND_BR &&
	     insn->meta.category != ZYDIS_CATEGORY_UNCOND_BR) ||
	    op->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return;
	to = code->at[i] + insn->length + (size_t)op->imm.value.s;
	if (to < code->size)
		code->joined[to] = true;
}

static bool open_code(struct maple_image *image, uint64_t pc, struct code *code)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	uint64_t hi;
	size_t at = 0;

	*code = (struct code){ .image = image };
	if (!find_piece(image, pc, &code->lo, &hi))
		return false;
	code->size = hi - code->lo;
	code->bytes = malloc(code->size);
	code->at = calloc(code->size, sizeof(*code->at));
	code->joined = calloc(code->size, sizeof(*code->joined));
	if (!code->bytes || !code->at || !code->joined ||
	    !read_file(image, code->lo, code->bytes, code->size) ||
	    !ZYAN_SUCCESS(ZydisDecoderInit(&code->zydis,
					   ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)))
		goto fail;
	while (at < code->size) {
		code->at[code->n] = (uint32_t)at;
		if (!decode(code, code->n, &insn, op))
			goto fail;
		note_join(code, code->n++, &insn, op);
		at += insn.length;
	}
	return true;
fail:
	close_code(code);
	return false;
}

/* The instruction at ELF address @pc; code->n: none. */
static size_t find_insn(const struct code *code, uint64_t pc)
{
	size_t at = maple_array_lead(code->n, i, code->lo + code->at[i] < pc);

	return at < code->n && code->lo + code->at[at] == pc ? at : code->n;
}

/* ---- pointers ---- */

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

static int dwarf_register(ZydisRegister reg)
{
	static const int8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

	if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15)
		return -1;
	reg -= ZYDIS_REGISTER_RAX;
	return reg < 8 ? numbers[reg] : (int)reg;
}

/* Of a class of the standard library's, what it is part of says more. */
static bool is_standard(Dwarf_Die *type)
{
	Dwarf_Die *scopes = NULL;
	bool standard = maple_name_reserved(dwarf_diename(type));
	int n = dwarf_getscopes_die(type, &scopes);

	for (int i = 1; i < n; i++) {
		const char *name = dwarf_diename(&scopes[i]);

		standard |= dwarf_tag(&scopes[i]) == DW_TAG_namespace && name &&
			    (!strcmp(name, "std") || !strcmp(name, "core") ||
			     !strcmp(name, "alloc") ||
			     maple_name_reserved(name));
	}
	free(scopes);
	return standard;
}

/* What the variable @name of @type points to; false if it does not. */
static bool make_pointer(Dwarf_Die *type, const char *name, struct pointer *p)
{
	Dwarf_Die peeled, target;

	*p = (struct pointer){ 0 };
	if (!name || maple_name_reserved(name) ||
	    dwarf_peel_type(type, &peeled) ||
	    !maple_type_of(&peeled, &p->target) ||
	    dwarf_peel_type(&p->target, &target))
		return false;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		p->via = VIA_OBJECT;
		break;
	case DW_TAG_pointer_type:
		p->via = strcmp(name, "this") ? VIA_POINTER : VIA_THIS;
		break;
	default:
		return false;
	}
	if (maple_type_is_object(&target) && is_standard(&target) &&
	    p->via == VIA_THIS)
		return false;
	snprintf(p->name, sizeof(p->name), "%s",
		 p->via == VIA_THIS && dwarf_diename(&target)
			 ? dwarf_diename(&target)
			 : name);
	return true;
}

/* How the @part behind a pointer is written, in @v; what is left of it. */
static bool point(const struct pointer *p, Dwarf_Die *target,
		  struct maple_part *part, struct maple_variable *v)
{
	bool array = dwarf_tag(target) == DW_TAG_array_type;
	Dwarf_Word one;

	if (dwarf_aggregate_size(target, &one) || !one)
		return false;
	if (p->loose && !array)
		maple_text_add(v->name, sizeof(v->name), "%s[]", p->name);
	else if (part->offset >= one)
		maple_text_add(v->name, sizeof(v->name), "%s[%llu]", p->name,
			       (unsigned long long)(part->offset / one));
	else if (maple_type_is_object(target))
		maple_text_add(v->name, sizeof(v->name), "%s", p->name);
	else
		maple_text_add(v->name, sizeof(v->name), "*%s", p->name);
	if (part->offset < one && !p->loose)
		part->join = "->";
	part->offset %= one;
	part->loose = p->loose && array;
	return true;
}

/* "p->next", "*p", "p[2]", "x.y", "Class::y": what stands @disp behind. */
static bool follow(const struct pointer *p, int64_t disp, uint32_t size,
		   struct maple_variable *v)
{
	struct maple_part part = {
		.offset = (uint64_t)(p->offset + disp),
		.size = size,
		.join = p->via == VIA_THIS ? "::" : ".",
		.loose = p->loose,
	};
	Dwarf_Die target, type = p->target;

	if (p->offset + disp < 0 || dwarf_peel_type(&type, &target))
		return false;
	*v->name = '\0';
	if (p->via != VIA_POINTER)
		maple_text_add(v->name, sizeof(v->name), "%s", p->name);
	else if (!point(p, &target, &part, v))
		return false;
	maple_type_walk(&type, &part, v);
	return true;
}

/* ---- what a register has ---- */

struct asked {
	int reg; /* as DWARF numbers it */
	struct pointer *p;
};

static bool has_register(void *ctx, Dwarf_Die *die, const Dwarf_Op *ops,
			 size_t n)
{
	const struct asked *asked = ctx;
	int64_t more = 0;
	Dwarf_Die type;

	if (n == 2 && ops[1].atom == DW_OP_stack_value &&
	    ops->atom == DW_OP_breg0 + asked->reg)
		more = (int64_t)ops->number; /* the variable is so far on */
	else if (n != 1 || ops->atom != DW_OP_reg0 + asked->reg)
		return false;
	if (!maple_type_of(die, &type) ||
	    !make_pointer(&type, dwarf_diename(die), asked->p))
		return false;
	asked->p->offset = -more;
	return true;
}

static bool ask_debug(struct code *code, size_t i, ZydisRegister reg,
		      struct pointer *p)
{
	struct asked asked = { dwarf_register(reg), p };
	struct maple_blocks s;

	return asked.reg >= 0 &&
	       maple_blocks_open(code->image, code->lo + code->at[i], &s) &&
	       maple_blocks_find(&s, has_register, &asked);
}

static bool name_operand(struct code *code, size_t i, const struct operand *op,
			 unsigned int depth, struct maple_variable *v);

static struct operand operand_of(const struct code *code, size_t i,
				 const ZydisDecodedInstruction *insn,
				 const ZydisDecodedOperand *op)
{
	struct operand o = {
		.base = op->mem.base,
		.index = op->mem.index,
		.disp = op->mem.disp.value,
		.size = op->size / 8,
	};

	if (o.base == ZYDIS_REGISTER_RIP)
		o.disp += (int64_t)(code->lo + code->at[i] + insn->length);
	return o;
}

/* What was loaded from a variable that is a pointer. */
static bool was_loaded(struct code *code, size_t i, const struct operand *op,
		       unsigned int depth, struct pointer *p)
{
	struct maple_variable v;

	return op->size == 8 && name_operand(code, i, op, depth, &v) &&
	       v.scalar && make_pointer(&v.die, v.name, p);
}

static bool has_pointer(struct code *code, size_t i, ZydisRegister reg,
			unsigned int depth, struct pointer *p);

/*
 * LEA: something added to a pointer. Of an object with an address or a frame
 * of its own the address that is accessed tells more.
 */
static bool was_made(struct code *code, size_t i, const struct operand *op,
		     unsigned int depth, struct pointer *p)
{
	if (op->base == ZYDIS_REGISTER_RIP || op->base == ZYDIS_REGISTER_RSP ||
	    !has_pointer(code, i, op->base, depth, p))
		return false;
	p->offset += op->disp;
	p->loose |= op->index != ZYDIS_REGISTER_NONE;
	return true;
}

/* @op[0] is the register, which the instruction @i sets. */
static bool was_set(struct code *code, size_t i,
		    const ZydisDecodedInstruction *insn,
		    const ZydisDecodedOperand *op, unsigned int depth,
		    struct pointer *p)
{
	bool memory = op[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
	bool reg = op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	bool imm = op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	struct operand from = { .size = 0 };

	if (op->size != 64)
		return false;
	if (memory)
		from = operand_of(code, i, insn, &op[1]);
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (memory)
			return was_loaded(code, i, &from, depth, p);
		return reg && has_pointer(code, i, op[1].reg.value, depth, p);
	case ZYDIS_MNEMONIC_LEA:
		return was_made(code, i, &from, depth, p);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (imm && has_pointer(code, i, op->reg.value, depth, p)) {
			p->offset += insn->mnemonic == ZYDIS_MNEMONIC_ADD
					     ? op[1].imm.value.s
					     : -op[1].imm.value.s;
			return true;
		}
		/* Which of the two is the pointer? */
		if (!reg || (!has_pointer(code, i, op->reg.value, depth, p) &&
			     !has_pointer(code, i, op[1].reg.value, depth, p)))
			return false;
		p->loose = true;
		return true;
	default:
		return false;
	}
}

static bool ends_block(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       insn->meta.category == ZYDIS_CATEGORY_RET;
}

/* Whether a call leaves it as it was. */
static bool is_kept(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RBX || reg == ZYDIS_REGISTER_RBP ||
	       (reg >= ZYDIS_REGISTER_R12 && reg <= ZYDIS_REGISTER_R15);
}

static bool writes(const ZydisDecodedInstruction *insn,
		   const ZydisDecodedOperand *op, ZydisRegister reg)
{
	for (unsigned int k = 0; k < insn->operand_count; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    whole(op[k].reg.value) == reg)
			return true;
	return false;
}

/* By the code before @i: what set @reg last. */
static bool ask_code(struct code *code, size_t i, ZydisRegister reg,
		     unsigned int depth, struct pointer *p)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	while (i && !code->joined[code->at[i]]) {
		if (!decode(code, --i, &insn, op) || ends_block(&insn))
			return false;
		if (writes(&insn, op, reg))
			return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			       op->reg.value == reg &&
			       was_set(code, i, &insn, op, depth, p);
		if (insn.meta.category == ZYDIS_CATEGORY_CALL && !is_kept(reg))
			return false;
	}
	return false;
}

/* The pointer that @reg has before the instruction @i. */
static bool has_pointer(struct code *code, size_t i, ZydisRegister reg,
			unsigned int depth, struct pointer *p)
{
	if (depth == DEPTH || reg == ZYDIS_REGISTER_NONE)
		return false;
	return ask_debug(code, i, reg, p) ||
	       ask_code(code, i, reg, depth + 1, p);
}

/* ---- on the stack ---- */

struct slot {
	struct maple_based at, base;
	uint32_t size;
	struct maple_variable *v;
};

static bool is_slot(void *ctx, Dwarf_Die *die, const Dwarf_Op *ops, size_t n)
{
	const struct slot *slot = ctx;
	struct maple_based at = maple_blocks_slot(ops, n, slot->base);
	Dwarf_Word size;
	Dwarf_Die type;
	int64_t in = slot->at.offset - at.offset;

	if (at.reg < 0 || at.reg != slot->at.reg || !dwarf_diename(die) ||
	    maple_name_reserved(dwarf_diename(die)) ||
	    !maple_type_of(die, &type) || dwarf_aggregate_size(&type, &size) ||
	    in < 0 || (uint64_t)in >= size)
		return false;
	snprintf(slot->v->name, sizeof(slot->v->name), "%s", dwarf_diename(die));
	maple_type_walk(&type,
			&(struct maple_part){ .offset = (uint64_t)in,
					      .size = slot->size,
					      .join = "." },
			slot->v);
	return true;
}

static bool name_slot(struct code *code, size_t i, const struct operand *op,
		      struct maple_variable *v)
{
	struct slot slot = {
		.at = { dwarf_register(op->base), op->disp },
		.size = op->size,
		.v = v,
	};
	struct maple_blocks s;

	if (!maple_blocks_open(code->image, code->lo + code->at[i], &s))
		return false;
	slot.base = maple_blocks_base(&s, maple_blocks_cfa(code->image, &s));
	return maple_blocks_find(&s, is_slot, &slot);
}

/* ---- operands ---- */

static bool name_operand(struct code *code, size_t i, const struct operand *op,
			 unsigned int depth, struct maple_variable *v)
{
	struct pointer p = { 0 };

	if (op->base == ZYDIS_REGISTER_RIP || op->base == ZYDIS_REGISTER_NONE) {
		if (op->index != ZYDIS_REGISTER_NONE ||
		    !maple_image_global(code->image, (uint64_t)op->disp,
					op->size, v))
			return false;
		v->fixed = true;
		return true;
	}
	if (op->base == ZYDIS_REGISTER_RSP || op->base == ZYDIS_REGISTER_RBP) {
		if (op->index != ZYDIS_REGISTER_NONE)
			return false;
		if (name_slot(code, i, op, v))
			return true;
	}
	if (!has_pointer(code, i, op->base, depth, &p))
		return false;
	p.loose |= op->index != ZYDIS_REGISTER_NONE;
	return follow(&p, op->disp, op->size, v);
}

static ZydisRegister register_of(uint8_t gpr)
{
	return gpr == MAPLE_REG_NONE ? ZYDIS_REGISTER_NONE
				     : ZYDIS_REGISTER_RAX + gpr;
}

/*
 * maple_image_reference - what the site at @offset accesses: "cache->size"
 * @second: its instruction's second memory operand
 *
 * The name is one of the function there. An index that is not known is left
 * out: "table[].name". Returns false if nothing tells.
 */
bool maple_image_reference(struct maple_image *image, uint64_t offset,
			   bool second, struct maple_variable *v)
{
	int64_t index = maple_image_find(image, offset, second);
	const struct maple_table_site *site;
	struct operand op;
	struct code code;
	bool found = false;
	size_t i;

	if (index < 0 || !open_code(image, offset, &code))
		return false;
	site = (const struct maple_table_site *)image->sites.at + index;
	op = (struct operand){
		.base = site->flags & MAPLE_SITEF_RIPREL
				? ZYDIS_REGISTER_RIP
				: register_of(site->base),
		.index = register_of(site->index),
		.disp = site->disp,
		.size = site->size,
	};
	i = find_insn(&code, offset);
	if (i < code.n)
		found = name_operand(&code, i, &op, 0, v);
	close_code(&code);
	return found;
}
