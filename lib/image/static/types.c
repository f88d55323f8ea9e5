// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the debug information says, in one walk over its units: which pointers
 * are in which register or frame slot at which address, what they point to,
 * which variables have addresses, and what functions take and return.
 *
 * Types of one name and size are one, for each unit has its own copy of them.
 *
 * However much there is, ENTRIES are looked at and no more. What is behind is
 * not known, as if it had no debug information.
 */
#include <dwarf.h>
#include <errno.h>
#include <string.h>
#include "base/array.h"
#include "base/table.h"
#include "image/source/type.h"
#include "static.h"

#define ENTRIES	  4000000 /* of the debug information: seconds */
#define TYPES	  100000
#define VARIABLES 4000000 /* places, of 28 bytes */
#define DEPTH	  64	  /* of blocks, classes and namespaces in each other */
#define PEELS	  32	  /* names of names of a type */

/* Registers as machine code numbers them, by DWARF's number. */
static const uint8_t machine[16] = { 0, 2, 1,  3,  6,  7,  5,  4,
				     8, 9, 10, 11, 12, 13, 14, 15 };

struct seen {
	void *addr; /* the key, of an entry */
	uint32_t type;
	UT_hash_handle hh;
};

struct key {
	uint64_t size;
	uint32_t name, pad;
};

struct object {
	struct key key;
	uint32_t type;
	UT_hash_handle hh;
};

/* An object whose members are still to be read. */
struct wait {
	uint32_t type;
	Dwarf_Die die;
};

struct walk {
	struct maple_static *s;
	struct maple_static_types *t;
	uint64_t bias;
	uint32_t left; /* of ENTRIES */
	struct seen *seen;
	struct object *objects;
	struct maple_array waits; /* struct wait */
	Dwarf_Die *function;
	struct maple_static_variable frame; /* what offsets are from */
	bool framed;
};

static bool enough(struct walk *w)
{
	if (w->left) {
		w->left--;
		return false;
	}
	w->t->cut = true;
	return true;
}

/* ---- types ---- */

static uint32_t add_type(struct walk *w, struct maple_static_type type)
{
	struct maple_static_type *slot;

	if (w->t->types.n == TYPES) {
		w->t->cut = true;
		return MAPLE_STATIC_NONE;
	}
	slot = maple_array_more(&w->t->types, sizeof(*slot));
	if (!slot)
		return MAPLE_STATIC_NONE;
	*slot = type;
	return w->t->types.n - 1;
}

static void remember(struct walk *w, void *addr, uint32_t type)
{
	struct seen *seen = malloc(sizeof(*seen));

	if (!seen)
		return;
	seen->addr = addr;
	seen->type = type;
	HASH_ADD_PTR(w->seen, addr, seen);
}

static uint32_t add_object(struct walk *w, Dwarf_Die *die, const char *alias)
{
	const char *name = dwarf_diename(die);
	struct object *object = NULL;
	struct key key = { 0 };
	struct wait *wait;
	Dwarf_Word size = 0;
	uint32_t type;

	if (!name)
		name = alias;
	if (dwarf_hasattr_integrate(die, DW_AT_declaration) ||
	    dwarf_aggregate_size(die, &size))
		size = 0;
	if (name) {
		key.name = maple_static_name(&w->s->text, name);
		key.size = size;
		HASH_FIND(hh, w->objects, &key, sizeof(key), object);
	}
	if (object)
		return object->type;
	type = add_type(w, (struct maple_static_type){
				   .kind = MAPLE_TYPE_OBJECT,
				   .named = name,
				   .joint = dwarf_tag(die) == DW_TAG_union_type,
				   .name = key.name,
				   .inner = MAPLE_STATIC_NONE,
				   .size = size });
	if (type == MAPLE_STATIC_NONE)
		return type;
	object = name ? malloc(sizeof(*object)) : NULL;
	if (object) {
		object->key = key;
		object->type = type;
		HASH_ADD(hh, w->objects, key, sizeof(key), object);
	}
	wait = size ? maple_array_more(&w->waits, sizeof(*wait)) : NULL;
	if (wait)
		*wait = (struct wait){ type, *die };
	return type;
}

static uint32_t type_of(struct walk *w, Dwarf_Die *of, unsigned int depth);

static uint32_t add_pointer(struct walk *w, Dwarf_Die *die, unsigned int depth)
{
	uint32_t inner = type_of(w, die, depth);

	return add_type(w,
			(struct maple_static_type){ .kind = MAPLE_TYPE_POINTER,
						    .inner = inner,
						    .size = 8 });
}

static uint32_t add_array(struct walk *w, Dwarf_Die *die, unsigned int depth)
{
	uint32_t inner = type_of(w, die, depth);
	Dwarf_Word size = 0;

	/* Without an end as well: of what is known of its elements. */
	if (inner == MAPLE_STATIC_NONE || dwarf_aggregate_size(die, &size))
		size = 0;
	return add_type(w, (struct maple_static_type){ .kind = MAPLE_TYPE_ARRAY,
						       .inner = inner,
						       .size = size });
}

static uint32_t add_any(struct walk *w, Dwarf_Die *die, const char *alias,
			unsigned int depth)
{
	Dwarf_Word size = 0;

	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return add_object(w, die, alias);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return add_pointer(w, die, depth);
	case DW_TAG_array_type:
		return add_array(w, die, depth);
	default:
		if (dwarf_aggregate_size(die, &size))
			size = 0;
		return add_type(w, (struct maple_static_type){
					   .kind = MAPLE_TYPE_SCALAR,
					   .inner = MAPLE_STATIC_NONE,
					   .size = size });
	}
}

/* Through the names that a type has. */
static bool peel(Dwarf_Die *type, const char **alias)
{
	for (unsigned int i = 0; i < PEELS; i++) {
		Dwarf_Die inner;

		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
			*alias = dwarf_diename(type);
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return true;
		}
		if (!maple_type_of(type, &inner))
			return false;
		*type = inner;
	}
	return false;
}

/* The type of a variable, of what is pointed to, ...; or NONE */
static uint32_t type_of(struct walk *w, Dwarf_Die *of, unsigned int depth)
{
	const char *alias = NULL;
	struct seen *seen;
	void *addr;
	uint32_t type;
	Dwarf_Die die;

	if (!depth || enough(w) || !maple_type_of(of, &die))
		return MAPLE_STATIC_NONE;
	addr = die.addr;
	HASH_FIND_PTR(w->seen, &addr, seen);
	if (seen)
		return seen->type;
	if (!peel(&die, &alias))
		return MAPLE_STATIC_NONE;
	type = add_any(w, &die, alias, depth - 1);
	HASH_FIND_PTR(w->seen, &addr, seen);
	if (!seen)
		remember(w, addr, type);
	return type;
}

/* Behind the object's beginning; UINT64_MAX: not at one place. */
static uint64_t place_of(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word at;

	if (dwarf_hasattr_integrate(member, DW_AT_external) ||
	    dwarf_hasattr_integrate(member, DW_AT_declaration))
		return UINT64_MAX;
	if (dwarf_attr_integrate(member, DW_AT_data_member_location, &attr))
		return dwarf_formudata(&attr, &at) ? UINT64_MAX : at;
	if (dwarf_attr_integrate(member, DW_AT_data_bit_offset, &attr))
		return dwarf_formudata(&attr, &at) ? UINT64_MAX : at / 8;
	return 0;
}

static void read_members(struct walk *w, const struct wait *wait)
{
	struct maple_static_member member, *slot;
	Dwarf_Die object = wait->die, die;
	uint32_t first = w->t->members.n;
	const char *name;

	if (dwarf_child(&object, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (enough(w))
			break;
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		name = dwarf_diename(&die);
		member = (struct maple_static_member){
			.type = type_of(w, &die, DEPTH),
			.at = place_of(&die),
			.name = name ? maple_static_name(&w->s->text, name) : 0,
		};
		if (member.at == UINT64_MAX || member.type == MAPLE_STATIC_NONE)
			continue;
		slot = maple_array_more(&w->t->members, sizeof(*slot));
		if (!slot)
			break;
		*slot = member;
	} while (!dwarf_siblingof(&die, &die));
	maple_static_type_at(w->t, wait->type)->member = first;
	maple_static_type_at(w->t, wait->type)->nmembers =
		w->t->members.n - first;
}

static void read_waiting(struct walk *w)
{
	while (w->waits.n) {
		struct wait wait = ((struct wait *)w->waits.at)[--w->waits.n];

		read_members(w, &wait);
	}
}

static void mark_elsewhere(struct maple_static_types *t, uint32_t type)
{
	bool pointer = false;

	type = maple_static_object(t, type, &pointer);
	if (type != MAPLE_STATIC_NONE)
		maple_static_type_at(t, type)->elsewhere = true;
}

/* What a local variable tells of where its type lies. */
static void mark_local(struct maple_static_types *t, uint32_t type,
		       bool parameter)
{
	bool pointer = false;

	type = maple_static_object(t, type, &pointer);
	if (type == MAPLE_STATIC_NONE)
		return;
	if (!pointer)
		maple_static_type_at(t, type)->lies = true;
	else if (!parameter)
		maple_static_type_at(t, type)->elsewhere = true;
}

/* ---- variables ---- */

static bool take_register(struct maple_static_variable *v, uint64_t number)
{
	v->where = MAPLE_WHERE_REG;
	v->reg = number < 16 ? machine[number] : 16;
	return number < 16;
}

static bool take_frame(struct maple_static_variable *v, uint64_t number,
		       int64_t off)
{
	v->reg = 16;
	v->off = (int32_t)off;
	v->where = number == MAPLE_DWARF_RBP ? MAPLE_WHERE_RBP
					     : MAPLE_WHERE_RSP;
	return (number == MAPLE_DWARF_RBP || number == MAPLE_DWARF_RSP) &&
	       off == v->off;
}

/* Where a variable is, by its location. */
static bool take_location(const struct walk *w, const Dwarf_Op *ops, size_t n,
			  struct maple_static_variable *v)
{
	int64_t off = (int64_t)ops->number;

	if (n == 2 && ops[1].atom == DW_OP_stack_value &&
	    ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31) {
		v->off = (int32_t)off;
		return off == v->off &&
		       take_register(v, ops->atom - DW_OP_breg0);
	}
	if (n != 1)
		return false;
	if (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
		return take_register(v, ops->atom - DW_OP_reg0);
	if (ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31)
		return take_frame(v, ops->atom - DW_OP_breg0, off);
	if (ops->atom != DW_OP_fbreg || !w->framed ||
	    off > INT32_MAX - (1 << 20) || off < INT32_MIN + (1 << 20))
		return false;
	v->reg = 16;
	v->where = w->frame.where;
	v->off = w->frame.off + (int32_t)off;
	return true;
}

static void add_place(struct walk *w, struct maple_static_variable v,
		      Dwarf_Addr lo, Dwarf_Addr hi)
{
	const struct maple_code_range *range = w->s->code->ranges.at;
	struct maple_static_variable *slot;

	lo += w->bias;
	hi += w->bias;
	v.range = maple_static_range(w->s, lo, false);
	if (v.range == MAPLE_STATIC_NONE || hi <= lo)
		return;
	if (w->t->variables.n == VARIABLES) {
		w->t->cut = true;
		return;
	}
	v.lo = lo;
	v.hi = hi < range[v.range].hi ? hi : range[v.range].hi;
	slot = maple_array_more(&w->t->variables, sizeof(*slot));
	if (slot)
		*slot = v;
}

static void add_places(struct walk *w, Dwarf_Die *die, Dwarf_Die *block,
		       uint32_t type)
{
	struct maple_static_variable v;
	Dwarf_Addr base, lo, hi, from, to;
	Dwarf_Attribute attr;
	ptrdiff_t at = 0, part;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr))
		return;
	while ((at = dwarf_getlocations(&attr, at, &base, &lo, &hi, &ops, &n)) >
	       0) {
		if (enough(w))
			return;
		v = (struct maple_static_variable){ .type = type };
		if (!n || !take_location(w, ops, n, &v))
			continue;
		if (lo || hi != (Dwarf_Addr)-1) {
			add_place(w, v, lo, hi);
			continue;
		}
		for (part = 0; (part = dwarf_ranges(block, part, &base, &from,
						    &to)) > 0;) {
			if (enough(w))
				return;
			add_place(w, v, from, to);
		}
	}
}

static void add_variable(struct walk *w, Dwarf_Die *die, Dwarf_Die *block)
{
	const struct maple_static_type *type;
	struct maple_static_global *global;
	uint32_t t = type_of(w, die, DEPTH);
	uint64_t addr;

	type = maple_static_type_at(w->t, t);
	if (!type)
		return;
	if (maple_variable_address(die, &addr)) {
		mark_elsewhere(w->t, t);
		global = type->size ? maple_array_more(&w->t->globals,
						       sizeof(*global))
				    : NULL;
		if (global)
			*global = (struct maple_static_global){ addr + w->bias,
								type->size, t };
		return;
	}
	if (!w->function)
		return;
	mark_local(w->t, t, dwarf_tag(die) == DW_TAG_formal_parameter);
	if (type->kind == MAPLE_TYPE_POINTER &&
	    type->inner != MAPLE_STATIC_NONE && block)
		add_places(w, die, block, type->inner);
}

/* ---- functions ---- */

static const char *symbol_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

/* Whether a thread may begin with it, by what it takes; see roots.c. */
static enum maple_static_fit fit_of(struct walk *w, Dwarf_Die *function,
				    const struct maple_static_type *result)
{
	enum maple_static_fit fit = MAPLE_FIT_NOT;
	const struct maple_static_type *type;
	Dwarf_Die die;

	if (dwarf_child(function, &die))
		return fit;
	do {
		if (enough(w))
			return MAPLE_FIT_NOT;
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		type = maple_static_type_at(w->t, type_of(w, &die, DEPTH));
		if (fit != MAPLE_FIT_NOT || !type ||
		    type->kind != MAPLE_TYPE_POINTER ||
		    dwarf_hasattr_integrate(&die, DW_AT_artificial))
			return MAPLE_FIT_NOT;
		fit = type->inner == MAPLE_STATIC_NONE && result
			      ? MAPLE_FIT_WELL
			      : MAPLE_FIT_ROUGHLY;
	} while (!dwarf_siblingof(&die, &die));
	return fit;
}

static void add_prototype(struct walk *w, Dwarf_Die *die, uint64_t at)
{
	struct maple_static_prototype *slot;
	const struct maple_static_type *result;
	const char *name = symbol_of(die);
	uint32_t type = type_of(w, die, DEPTH);
	enum maple_static_fit fit = MAPLE_FIT_NOT;

	result = maple_static_type_at(w->t, type);
	if (at)
		fit = fit_of(w, die, result);
	result = maple_static_type_at(w->t, type); /* it may have moved */
	if (result && result->kind != MAPLE_TYPE_POINTER)
		result = NULL;
	if ((!at && (!result || !name)) || enough(w))
		return;
	slot = maple_array_more(&w->t->prototypes, sizeof(*slot));
	if (slot)
		*slot = (struct maple_static_prototype){
			.at = at,
			.name = name ? maple_static_name(&w->s->text, name) : 0,
			.result = result ? result->inner : MAPLE_STATIC_NONE,
			.fit = fit,
		};
}

/* From where the offsets of the function's variables are. */
static void read_base(struct walk *w, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	w->framed = false;
	w->frame = (struct maple_static_variable){ .reg = 16 };
	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) || n != 1)
		return;
	w->framed = true;
	if (ops->atom == DW_OP_call_frame_cfa)
		w->frame.where = MAPLE_WHERE_CFA;
	else if (ops->atom == DW_OP_reg0 + MAPLE_DWARF_RBP)
		w->frame.where = MAPLE_WHERE_RBP;
	else if (ops->atom == DW_OP_reg0 + MAPLE_DWARF_RSP)
		w->frame.where = MAPLE_WHERE_RSP;
	else
		w->framed = false;
}

static void walk_scope(struct walk *w, Dwarf_Die *scope, Dwarf_Die *block,
		       unsigned int depth);

/* Of one in pieces the first is what is called. */
static bool entry_of(Dwarf_Die *die, Dwarf_Addr *at)
{
	Dwarf_Addr base, hi;

	return !dwarf_entrypc(die, at) ||
	       dwarf_ranges(die, 0, &base, at, &hi) > 0;
}

static void walk_function(struct walk *w, Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Die *outer = w->function;
	Dwarf_Addr at;
	bool code = entry_of(die, &at) && at + w->bias;

	if (code || dwarf_hasattr(die, DW_AT_declaration))
		add_prototype(w, die, code ? at + w->bias : 0);
	read_base(w, die);
	w->function = die;
	walk_scope(w, die, code ? die : NULL, depth);
	w->function = outer;
}

static void walk_scope(struct walk *w, Dwarf_Die *scope, Dwarf_Die *block,
		       unsigned int depth)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(scope, &die))
		return;
	do {
		if (enough(w))
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			add_variable(w, &die, block);
			break;
		case DW_TAG_subprogram:
			walk_function(w, &die, depth - 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			/* Without code of its own it is described only. */
			walk_scope(w, &die, block ? &die : NULL, depth - 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			walk_scope(w, &die, NULL, depth - 1);
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

/* ---- in the end ---- */

static int compare_variables(const void *a, const void *b)
{
	const struct maple_static_variable *x = a, *y = b;

	if (x->range != y->range)
		return x->range < y->range ? -1 : 1;
	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->hi > y->hi ? -1 : x->hi < y->hi;
}

static int compare_globals(const void *a, const void *b)
{
	const struct maple_static_global *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static int compare_prototypes(const void *a, const void *b)
{
	const struct maple_static_prototype *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->at)
		return 0;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct maple_array *array, size_t size,
		 int (*compare)(const void *, const void *))
{
	if (array->n)
		qsort(array->at, array->n, size, compare);
}

static void finish(struct walk *w)
{
	maple_static_settle(w->t);
	sort(&w->t->variables, sizeof(struct maple_static_variable),
	     compare_variables);
	sort(&w->t->globals, sizeof(struct maple_static_global),
	     compare_globals);
	sort(&w->t->prototypes, sizeof(struct maple_static_prototype),
	     compare_prototypes);
	maple_table_clear(w->seen);
	maple_table_clear(w->objects);
	free(w->waits.at);
}

/*
 * maple_static_types - reads the debug information of the image
 *
 * Without any, there is nothing and no error. What is beside the program in
 * .dwo files counts where they are found.
 */
int maple_static_types(struct maple_static *s)
{
	struct walk w = { .s = s, .t = &s->types, .left = ENTRIES };
	Dwarf_Die *unit = NULL, split;
	bool apart;
	uint8_t kind;

	if (!maple_image_debug(s->image))
		return 0;
	while (!w.t->cut &&
	       (unit = dwfl_module_nextcu(s->image->module, unit, &w.bias))) {
		if (enough(&w))
			break;
		memset(&split, 0, sizeof(split));
		apart = !dwarf_cu_info(unit->cu, NULL, &kind, NULL, &split,
				       NULL, NULL, NULL) &&
			kind == DW_UT_skeleton && split.addr;
		w.t->debug = true;
		walk_scope(&w, apart ? &split : unit, NULL, DEPTH);
		read_waiting(&w);
	}
	finish(&w);
	return 0;
}

void maple_static_types_deinit(struct maple_static_types *types)
{
	free(types->types.at);
	free(types->members.at);
	free(types->variables.at);
	free(types->globals.at);
	free(types->prototypes.at);
}

/*
 * maple_static_prototype - what is known of the function at @at, or, with 0,
 * of the one with the linker's name @name; or NULL
 */
const struct maple_static_prototype *
maple_static_prototype(const struct maple_static_types *types, uint64_t at,
		       uint32_t name)
{
	const struct maple_static_prototype *p = types->prototypes.at;
	size_t n = types->prototypes.n, i;

	i = at ? maple_array_lead(n, k, p[k].at < at)
	       : maple_array_lead(n, k, !p[k].at && p[k].name < name);
	if (i == n || p[i].at != at || (!at && p[i].name != name))
		return NULL;
	return p + i;
}
