// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Variables by address: those of the image, and those of a frame.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "image/internal.h"
#include "type.h"

/* One with an address of its own; ELF addresses. */
struct global {
	uint64_t lo, size;
	Dwarf_Die die;
};

/* ---- of the image ---- */

/* maple_variable_address - where one is that has an address of its own */
bool maple_variable_address(Dwarf_Die *die, uint64_t *addr)
{
	Dwarf_Attribute attr, indirect;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) || n != 1)
		return false;
	*addr = ops->number;
	if (ops->atom == DW_OP_addr)
		return true;
	return (ops->atom == DW_OP_addrx || ops->atom == DW_OP_GNU_addr_index) &&
	       !dwarf_getlocation_attr(&attr, ops, &indirect) &&
	       !dwarf_formaddr(&indirect, addr);
}

static void add_global(struct maple_image *image, Dwarf_Die *die, uint64_t bias)
{
	struct global *global;
	Dwarf_Word size;
	Dwarf_Die type;
	uint64_t addr;

	if (!maple_variable_address(die, &addr) || !maple_type_of(die, &type) ||
	    dwarf_aggregate_size(&type, &size) || !size)
		return;
	global = maple_array_more(&image->globals, sizeof(*global));
	if (global)
		*global = (struct global){ addr + bias, size, *die };
}

static void add_globals(struct maple_image *image, Dwarf_Die *scope,
			uint64_t bias)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			add_global(image, &die, bias);
			break;
		case DW_TAG_namespace:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			add_globals(image, &die, bias);
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int compare_globals(const void *a, const void *b)
{
	const struct global *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void read_globals(struct maple_image *image)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;

	if (image->globals_asked)
		return;
	image->globals_asked = true;
	while ((unit = dwfl_module_nextcu(image->module, unit, &bias)))
		add_globals(image, unit, bias);
	if (image->globals.n)
		qsort(image->globals.at, image->globals.n,
		      sizeof(struct global), compare_globals);
}

/* "bank::Account::total": a member is a variable of its class. */
static void add_qualified(Dwarf_Die *die, char *buf, size_t size)
{
	Dwarf_Die *scopes = NULL, at = *die;
	Dwarf_Attribute attr;
	int n;

	if (dwarf_attr(die, DW_AT_specification, &attr))
		dwarf_formref_die(&attr, &at);
	n = dwarf_getscopes_die(&at, &scopes);
	while (n-- > 1) {
		const char *name = dwarf_diename(&scopes[n]);
		int tag = dwarf_tag(&scopes[n]);

		if (name && (tag == DW_TAG_namespace ||
			     maple_type_is_object(&scopes[n])))
			maple_text_add(buf, size, "%s::", name);
	}
	free(scopes);
	maple_text_add(buf, size, "%s", dwarf_diename(&at));
}

/*
 * maple_image_global - what of which variable stands at @offset
 * @size: bytes that are accessed
 *
 * Returns false where no debug information tells.
 */
bool maple_image_global(struct maple_image *image, uint64_t offset,
			uint32_t size, struct maple_variable *v)
{
	const struct global *global;
	size_t n;
	Dwarf_Die die, type;

	if (!maple_image_debug(image))
		return false;
	read_globals(image);
	global = image->globals.at;
	n = maple_array_lead(image->globals.n, i, global[i].lo <= offset);
	if (!n || offset - global[n - 1].lo >= global[n - 1].size)
		return false;
	global += n - 1;
	die = global->die;
	if (!dwarf_diename(&die) || !maple_type_of(&die, &type))
		return false;
	*v->name = '\0';
	add_qualified(&die, v->name, sizeof(v->name));
	maple_type_walk(&type,
			&(struct maple_part){ .offset = offset - global->lo,
					      .size = size,
					      .join = "." },
			v);
	return true;
}

/* maple_image_has_global - whether debug information has a variable @name */
bool maple_image_has_global(struct maple_image *image, const char *name)
{
	const struct global *global;
	char qualified[256];

	if (!maple_image_debug(image))
		return false;
	read_globals(image);
	global = image->globals.at;
	for (size_t i = 0; i < image->globals.n; i++) {
		Dwarf_Die die = global[i].die;

		*qualified = '\0';
		if (!dwarf_diename(&die))
			continue;
		add_qualified(&die, qualified, sizeof(qualified));
		if (!strcmp(qualified, name))
			return true;
	}
	return false;
}

/* ---- of a frame ---- */

/* The child of @scope that has code at @pc, through namespaces. */
static bool find_child(Dwarf_Die *scope, Dwarf_Addr pc, Dwarf_Die *found)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return false;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
			if (find_child(&die, pc, found))
				return true;
			break;
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&die, pc) <= 0)
				break;
			*found = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/*
 * maple_blocks_open - the blocks and functions that the code at @pc, an ELF
 * address, is in; false if nothing is known
 *
 * dwarf_getscopes() tells the scopes of an inlined function's source, and
 * looks into no namespace; these are those of the code.
 */
bool maple_blocks_open(struct maple_image *image, uint64_t pc,
		       struct maple_blocks *s)
{
	Dwarf_Die *unit, at, inner;

	s->n = 0;
	unit = maple_image_debug(image) ? maple_units_find(image, pc, &s->bias)
					: NULL;
	if (!unit)
		return false;
	s->pc = pc - s->bias;
	for (at = *unit; s->n < MAPLE_BLOCKS && find_child(&at, s->pc, &inner);
	     at = inner)
		s->die[s->n++] = inner;
	s->function = &s->die[0];
	return s->n;
}

bool maple_blocks_find(struct maple_blocks *s,
		       bool (*each)(void *ctx, Dwarf_Die *die,
				    const Dwarf_Op *ops, size_t n),
		       void *ctx)
{
	Dwarf_Attribute attr;
	Dwarf_Die die;
	Dwarf_Op *ops;
	size_t n;

	for (unsigned int i = s->n; i-- > 0;) {
		if (dwarf_child(&s->die[i], &die))
			continue;
		do {
			int tag = dwarf_tag(&die);

			if ((tag == DW_TAG_variable ||
			     tag == DW_TAG_formal_parameter) &&
			    dwarf_attr(&die, DW_AT_location, &attr) &&
			    dwarf_getlocation_addr(&attr, s->pc, &ops, &n, 1) ==
				    1 &&
			    n && each(ctx, &die, ops, n))
				return true;
		} while (dwarf_siblingof(&die, &die) == 0);
	}
	return false;
}

/* An operation that gives a register and an offset. */
static struct maple_based based(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return (struct maple_based){ op->atom - DW_OP_breg0,
					     (int64_t)op->number };
	if (op->atom == DW_OP_bregx)
		return (struct maple_based){ (int)op->number,
					     (int64_t)op->number2 };
	return (struct maple_based){ -1, 0 };
}

/* maple_blocks_cfa - the frame's canonical address at the pc of @s */
struct maple_based maple_blocks_cfa(struct maple_image *image,
				    const struct maple_blocks *s)
{
	struct maple_based cfa = { -1, 0 };
	uint64_t pc = s->pc + s->bias;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(image->module, &bias);
	Dwarf_Op *ops;
	size_t n;

	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame))
		cfi = dwfl_module_dwarf_cfi(image->module, &bias);
	if (!frame && (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &frame)))
		return cfa;
	if (!dwarf_frame_cfa(frame, &ops, &n) && n == 1)
		cfa = based(ops);
	free(frame);
	return cfa;
}

/* maple_blocks_base - what the offsets of its function's variables are from */
struct maple_based maple_blocks_base(const struct maple_blocks *s,
				     struct maple_based cfa)
{
	struct maple_based none = { -1, 0 };
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(s->function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, s->pc, &ops, &n, 1) != 1 || n != 1)
		return none;
	if (ops->atom == DW_OP_call_frame_cfa)
		return cfa;
	if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		return (struct maple_based){ ops->atom - DW_OP_reg0, 0 };
	return based(ops);
}

/* maple_blocks_slot - where on the stack a variable is; reg -1: nowhere */
struct maple_based maple_blocks_slot(const Dwarf_Op *ops, size_t n,
				     struct maple_based base)
{
	if (n != 1)
		return (struct maple_based){ -1, 0 };
	if (ops->atom != DW_OP_fbreg)
		return based(ops);
	base.offset += (int64_t)ops->number;
	return base;
}

struct local {
	const struct maple_frame_at *frame;
	struct maple_based base;
	const char *function;
	uint64_t addr;
	uint32_t size;
	struct maple_variable *v;
};

static bool is_there(void *ctx, Dwarf_Die *die, const Dwarf_Op *ops, size_t n)
{
	struct local *local = ctx;
	struct maple_based at = maple_blocks_slot(ops, n, local->base);
	struct maple_variable *v = local->v;
	Dwarf_Word size;
	Dwarf_Die type;
	uint64_t lo;

	if ((at.reg != MAPLE_DWARF_RBP && at.reg != MAPLE_DWARF_RSP) ||
	    !dwarf_diename(die) || !maple_type_of(die, &type) ||
	    dwarf_aggregate_size(&type, &size))
		return false;
	lo = (at.reg == MAPLE_DWARF_RBP ? local->frame->bp : local->frame->sp) +
	     (uint64_t)at.offset;
	if (local->addr - lo >= size)
		return false;
	snprintf(v->name, sizeof(v->name), "%s: %s", local->function,
		 dwarf_diename(die));
	maple_type_walk(&type,
			&(struct maple_part){ .offset = local->addr - lo,
					      .size = local->size,
					      .join = "." },
			v);
	return true;
}

/*
 * maple_image_local - which variable of @frame is at @addr: "main: sum[2]"
 *
 * Returns false if it is none, or nothing tells.
 */
bool maple_image_local(struct maple_image *image,
		       const struct maple_frame_at *frame, uint64_t addr,
		       uint32_t size, struct maple_variable *v)
{
	struct local local = {
		.frame = frame, .addr = addr, .size = size, .v = v
	};
	struct maple_blocks s;

	if (!maple_blocks_open(image, frame->pc - frame->is_call, &s))
		return false;
	local.base = maple_blocks_base(&s, maple_blocks_cfa(image, &s));
	local.function = dwarf_diename(s.function);
	return local.function && maple_blocks_find(&s, is_there, &local);
}
