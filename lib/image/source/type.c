// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Types of the source: what they are called, which member or element is at an
 * offset, and how a value of one is written.
 *
 * Names that C and C++ keep for the implementation (_M_impl, __data) are not
 * the user's: what contains them is named as a whole, std::atomic<int> or
 * pthread_mutex_t, though its value is that of the scalar inside.
 */
#include <dwarf.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "type.h"

#define DEPTH 32

/* maple_text_add - appends to the string in @buf, cut at its @size */
void maple_text_add(char *buf, size_t size, const char *fmt, ...)
{
	size_t used = strnlen(buf, size - 1);
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf + used, size - used, fmt, args);
	va_end(args);
}

/* maple_type_of - the type of a variable, of what is pointed to, ... */
bool maple_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) &&
	       dwarf_formref_die(&attr, type);
}

/* maple_type_is_object - whether it has members */
bool maple_type_is_object(Dwarf_Die *peeled)
{
	switch (dwarf_tag(peeled)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

/* maple_name_reserved - whether it is the implementation's */
bool maple_name_reserved(const char *name)
{
	return name && name[0] == '_' &&
	       (name[1] == '_' || isupper((unsigned char)name[1]));
}

static int language(Dwarf_Die *die)
{
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0;
}

static bool is_c(int language)
{
	switch (language) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

/* Rust names nothing in a way that tells; its own crates are known by name. */
static bool is_foreign(Dwarf_Die *type)
{
	Dwarf_Die *scopes = NULL;
	const char *crate;
	int n;
	bool foreign = false;

	if (language(type) != DW_LANG_Rust)
		return maple_name_reserved(dwarf_diename(type));
	n = dwarf_getscopes_die(type, &scopes);
	if (n >= 2) {
		crate = dwarf_diename(&scopes[n - 2]);
		foreign = dwarf_tag(&scopes[n - 2]) == DW_TAG_namespace &&
			  crate &&
			  (!strcmp(crate, "core") || !strcmp(crate, "std") ||
			   !strcmp(crate, "alloc"));
	}
	free(scopes);
	return foreign;
}

/* ---- names ---- */

/* Elements in the array's @i-th dimension; 0: not known. */
static uint64_t dimension(Dwarf_Die *array, unsigned int i)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;
	Dwarf_Die d;

	if (dwarf_child(array, &d))
		return 0;
	do {
		if (dwarf_tag(&d) != DW_TAG_subrange_type || i--)
			continue;
		if (dwarf_attr_integrate(&d, DW_AT_count, &attr))
			return dwarf_formudata(&attr, &n) ? 0 : n;
		if (dwarf_attr_integrate(&d, DW_AT_upper_bound, &attr))
			return dwarf_formudata(&attr, &n) ? 0 : n + 1;
		return 0;
	} while (dwarf_siblingof(&d, &d) == 0);
	return 0;
}

static unsigned int dimensions(Dwarf_Die *array)
{
	unsigned int n = 0;
	Dwarf_Die d;

	if (dwarf_child(array, &d))
		return 1;
	do
		n += dwarf_tag(&d) == DW_TAG_subrange_type;
	while (dwarf_siblingof(&d, &d) == 0);
	return n ? n : 1;
}

static void name_tagged(Dwarf_Die *type, const char *word, char *buf,
			size_t size)
{
	const char *name = dwarf_diename(type);

	if (name && !is_c(language(type)))
		maple_text_add(buf, size, "%s", name);
	else
		maple_text_add(buf, size, "%s %s", word, name ? name : "{...}");
}

static void name_array(Dwarf_Die *type, char *buf, size_t size)
{
	for (unsigned int i = 0; i < dimensions(type); i++) {
		uint64_t n = dimension(type, i);

		if (n)
			maple_text_add(buf, size, "[%" PRIu64 "]", n);
		else
			maple_text_add(buf, size, "[]");
	}
}

static void name_inner(Dwarf_Die *type, char *buf, size_t size,
		       unsigned int depth);

static void name_type(Dwarf_Die *type, char *buf, size_t size,
		      unsigned int depth)
{
	const char *name;
	size_t n;

	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		name = dwarf_diename(type); /* Rust's have one */
		if (name) {
			maple_text_add(buf, size, "%s", name);
			break;
		}
		name_inner(type, buf, size, depth);
		n = strlen(buf);
		maple_text_add(
			buf, size, "%s%s", n && buf[n - 1] == '*' ? "" : " ",
			dwarf_tag(type) == DW_TAG_pointer_type	   ? "*"
			: dwarf_tag(type) == DW_TAG_reference_type ? "&"
								   : "&&");
		break;
	case DW_TAG_const_type:
		maple_text_add(buf, size, "const ");
		name_inner(type, buf, size, depth);
		break;
	case DW_TAG_volatile_type:
		maple_text_add(buf, size, "volatile ");
		name_inner(type, buf, size, depth);
		break;
	case DW_TAG_atomic_type:
		maple_text_add(buf, size, "_Atomic ");
		name_inner(type, buf, size, depth);
		break;
	case DW_TAG_restrict_type:
		name_inner(type, buf, size, depth);
		break;
	case DW_TAG_array_type:
		name_inner(type, buf, size, depth);
		name_array(type, buf, size);
		break;
	case DW_TAG_structure_type:
		name_tagged(type, "struct", buf, size);
		break;
	case DW_TAG_class_type:
		name_tagged(type, "class", buf, size);
		break;
	case DW_TAG_union_type:
		name_tagged(type, "union", buf, size);
		break;
	case DW_TAG_enumeration_type:
		name_tagged(type, "enum", buf, size);
		break;
	case DW_TAG_subroutine_type:
		maple_text_add(buf, size, "function");
		break;
	default:
		name = dwarf_diename(type);
		maple_text_add(buf, size, "%s", name ? name : "?");
	}
}

/* Of what @type is made of. */
static void name_inner(Dwarf_Die *type, char *buf, size_t size,
		       unsigned int depth)
{
	Dwarf_Die inner;

	if (depth == DEPTH)
		return;
	if (maple_type_of(type, &inner))
		name_type(&inner, buf, size, depth + 1);
	else
		maple_text_add(buf, size, "void");
}

/* As the source would write it. */
static void write_type(Dwarf_Die *type, char *buf, size_t size)
{
	*buf = '\0';
	name_type(type, buf, size, 0);
}

/* ---- which part ---- */

struct walk {
	struct maple_variable *v;
	Dwarf_Die at;
	struct maple_part part;
	bool hidden;	   /* within what is not the user's */
	const char *alias; /* of the type, where it is a typedef; or NULL */
};

static uint64_t member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset;

	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attr))
		return 0;
	/* Of a virtual base, an expression. */
	return dwarf_formudata(&attr, &offset) ? UINT64_MAX : offset;
}

/* A bit field shares its bytes with others: which one is not known. */
static bool is_part(Dwarf_Die *member)
{
	int tag = dwarf_tag(member);

	return (tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
	       !dwarf_hasattr_integrate(member, DW_AT_bit_size) &&
	       !dwarf_hasattr_integrate(member, DW_AT_external) &&
	       !dwarf_hasattr_integrate(member, DW_AT_declaration);
}

/*
 * The member that has the part; of several, one of its size, which is who a
 * union is accessed as.
 */
static bool find_member(struct walk *w, Dwarf_Die *found, Dwarf_Die *type)
{
	bool any = false;
	Dwarf_Die m, t;

	if (dwarf_child(&w->at, &m))
		return false;
	do {
		uint64_t lo = is_part(&m) ? member_offset(&m) : UINT64_MAX;
		Dwarf_Word size;

		if (lo > w->part.offset || !maple_type_of(&m, &t))
			continue;
		if (dwarf_aggregate_size(&t, &size))
			size = UINT64_MAX - lo; /* an array without an end */
		if (w->part.offset - lo >= size || (any && size != w->part.size))
			continue;
		*found = m;
		*type = t;
		any = true;
		if (size == w->part.size)
			break;
	} while (dwarf_siblingof(&m, &m) == 0);
	return any;
}

/* A type without a name goes by that of its typedef. */
static void note_level(struct walk *w, const char *member)
{
	struct maple_variable *v = w->v;
	struct maple_variable_of *of = &v->level[v->nlevels];
	const char *type = dwarf_diename(&w->at);

	type = type ? type : w->alias;
	if (v->nlevels == MAPLE_VARIABLE_LEVELS || !type || !member)
		return;
	snprintf(of->type, sizeof(of->type), "%s", type);
	snprintf(of->member, sizeof(of->member), "%s", member);
	of->at = w->part.offset;
	v->nlevels++;
}

static bool enter_member(struct walk *w)
{
	struct maple_variable *v = w->v;
	Dwarf_Die member, type;
	const char *name;

	if (is_foreign(&w->at))
		w->hidden = true;
	if (!find_member(w, &member, &type))
		return false;
	name = dwarf_diename(&member);
	note_level(w, name);
	if (maple_name_reserved(name) ||
	    (dwarf_tag(&member) == DW_TAG_inheritance && is_foreign(&type)))
		w->hidden = true;
	if (!w->hidden && dwarf_tag(&member) == DW_TAG_member && name) {
		maple_text_add(v->name, sizeof(v->name), "%s%s", w->part.join,
			       name);
		w->part.join = ".";
	}
	w->part.offset -= member_offset(&member);
	w->at = type;
	return true;
}

static bool enter_element(struct walk *w)
{
	unsigned int n = dimensions(&w->at);
	struct maple_variable *v = w->v;
	Dwarf_Word size;
	Dwarf_Die type;
	uint64_t index;

	if (!maple_type_of(&w->at, &type) ||
	    dwarf_aggregate_size(&type, &size) || !size)
		return false;
	index = w->part.offset / size;
	for (unsigned int i = 0; i < n && !w->hidden; i++) {
		uint64_t below = 1; /* elements that this index counts */

		for (unsigned int k = i + 1; k < n; k++)
			below *= dimension(&w->at, k) ? dimension(&w->at, k)
						      : 1;
		if (w->part.loose)
			maple_text_add(v->name, sizeof(v->name), "[]");
		else
			maple_text_add(v->name, sizeof(v->name),
				       "[%" PRIu64 "]", index / below);
		index %= below;
	}
	w->part.loose = false;
	w->part.join = ".";
	w->part.offset %= size;
	w->at = type;
	return true;
}

/*
 * maple_type_walk - names @part of an object of @type
 * @v: has the object's name, which becomes the part's
 */
void maple_type_walk(Dwarf_Die *type, const struct maple_part *part,
		     struct maple_variable *v)
{
	struct walk w = { v, *type, *part, false, NULL };
	bool more = true;

	v->scalar = v->fixed = false;
	v->nlevels = 0;
	for (unsigned int depth = 0; more && depth < DEPTH; depth++) {
		if (!w.hidden)
			write_type(&w.at, v->type, sizeof(v->type));
		w.alias = dwarf_tag(&w.at) == DW_TAG_typedef
				  ? dwarf_diename(&w.at)
				  : NULL;
		if (dwarf_peel_type(&w.at, &w.at))
			break;
		if (maple_type_is_object(&w.at)) {
			more = enter_member(&w);
		} else if (dwarf_tag(&w.at) == DW_TAG_array_type) {
			more = enter_element(&w);
		} else {
			v->die = w.at;
			v->scalar = !w.part.offset;
			more = false;
		}
	}
	if (w.part.offset && !w.hidden)
		maple_text_add(v->name, sizeof(v->name), "+%" PRIu64,
			       w.part.offset);
}

/* ---- values ---- */

static bool write_enum(Dwarf_Die *type, uint64_t value, uint64_t mask,
		       char *buf, size_t n)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;
	Dwarf_Die e;

	if (dwarf_child(type, &e))
		return false;
	do {
		if (dwarf_tag(&e) == DW_TAG_enumerator &&
		    dwarf_attr(&e, DW_AT_const_value, &attr) &&
		    !dwarf_formudata(&attr, &word) && !((word ^ value) & mask)) {
			snprintf(buf, n, "%s", dwarf_diename(&e));
			return true;
		}
	} while (dwarf_siblingof(&e, &e) == 0);
	return false;
}

static bool write_float(uint64_t value, uint32_t size, char *buf, size_t n)
{
	uint32_t half = (uint32_t)value;
	double d;
	float f;

	memcpy(&f, &half, sizeof(f));
	memcpy(&d, &value, sizeof(d));
	if (size == sizeof(f))
		snprintf(buf, n, "%g", (double)f);
	else
		snprintf(buf, n, "%g", d);
	return size == sizeof(f) || size == sizeof(d);
}

static bool write_base(Dwarf_Die *type, uint64_t value, uint32_t size,
		       char *buf, size_t n)
{
	unsigned int shift = 64 - 8 * size;
	int64_t number = (int64_t)(value << shift) >> shift;
	Dwarf_Word encoding = 0;
	Dwarf_Attribute attr;

	if (!dwarf_attr_integrate(type, DW_AT_encoding, &attr) ||
	    dwarf_formudata(&attr, &encoding))
		return false;
	switch (encoding) {
	case DW_ATE_boolean:
		if (value <= 1)
			snprintf(buf, n, "%s", value ? "true" : "false");
		return value <= 1;
	case DW_ATE_float:
		return write_float(value, size, buf, n);
	case DW_ATE_signed_char:
		if (value >= ' ' && value < 0x7f)
			snprintf(buf, n, "'%c'", (char)value);
		else
			snprintf(buf, n, "%" PRId64, number);
		return true;
	case DW_ATE_signed:
		snprintf(buf, n, "%" PRId64, number);
		return true;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
		snprintf(buf, n, "%" PRIu64, value);
		return true;
	default:
		return false;
	}
}

static bool write_typed(const struct maple_variable *v, uint64_t value,
			uint32_t size, char *buf, size_t n)
{
	Dwarf_Die type = v->die;
	Dwarf_Word whole;

	/* Of an access to several members, or to a part, no type tells. */
	if (!v->scalar || dwarf_aggregate_size(&type, &whole) || whole != size)
		return false;
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		if (value)
			snprintf(buf, n, "0x%" PRIx64, value);
		else
			snprintf(buf, n, "NULL");
		return true;
	case DW_TAG_enumeration_type:
		return write_enum(&type, value, UINT64_MAX >> (64 - 8 * size),
				  buf, n);
	case DW_TAG_base_type:
		return write_base(&type, value, size, buf, n);
	default:
		return false;
	}
}

/*
 * maple_variable_value - how the source would write @value of @v
 * @v: NULL: nothing is known of its type
 * @size: bytes of it, 1 to 8
 */
void maple_variable_value(const struct maple_variable *v, uint64_t value,
			  uint32_t size, char *buf, size_t n)
{
	if (v && write_typed(v, value, size, buf, n))
		return;
	if (value > UINT32_MAX)
		snprintf(buf, n, "0x%" PRIx64, value);
	else
		snprintf(buf, n, "%" PRIu64, value);
}
