// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which functions of the source an instruction belongs to: the one whose code
 * it is, and those that the compiler has put into that one, each with the line
 * at which the next is called. And which of these lines a user wants to see:
 * nobody has written atomic_base.h, but the line that calls it.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/array.h"
#include "demangle.h"
#include "scopes.h"

#define DEPTH 64 /* of namespaces and classes in each other */

/* Code of a function: [lo, hi). */
struct code {
	Dwarf_Addr lo, hi;
	Dwarf_Die die;
};

/* The functions of a unit, by address: to look for one takes long. */
struct unit {
	struct Dwarf_CU *cu; /* the key */
	struct code *code;
	size_t n;
	UT_hash_handle hh;
};

/*
 * maple_scopes_library - whether @file is a library's by its path: a header
 * of the system's or of a compiler's, or a source that a package manager keeps
 */
bool maple_scopes_library(const char *file)
{
	static const char *const begin[] = { "/usr/include/",
					     "/usr/lib/",
					     "/usr/local/include/",
					     "/usr/share/cargo/",
					     "/usr/src/rustc-",
					     "/rustc/",
					     "<" };
	static const char *const within[] = {
		"/include/c++/",     "/lib/gcc/",    "/lib/clang/",
		"/.cargo/registry/", "/.cargo/git/", "/lib/rustlib/"
	};

	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(file, begin[i], strlen(begin[i])))
			return true;
	for (size_t i = 0; i < sizeof(within) / sizeof(*within); i++)
		if (strstr(file, within[i]) ||
		    !strncmp(file, within[i] + 1, strlen(within[i] + 1)))
			return true;
	return false;
}

static void add_function(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (!maple_array_resize(unit->code, unit->n + 1))
			return;
		unit->code[unit->n++] = (struct code){ lo, hi, *die };
	}
}

/* Code of a function may stand within a class, or in a namespace. */
static void add_functions(struct unit *unit, Dwarf_Die *in, unsigned int depth)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(in, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			add_function(unit, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			add_functions(unit, &die, depth - 1);
		}
	} while (!dwarf_siblingof(&die, &die));
}

static int compare_code(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* The functions of @die, a unit; NULL without memory. */
static const struct unit *read_unit(struct maple_scopes *scopes, Dwarf_Die *die)
{
	struct unit *unit;

	HASH_FIND_PTR(scopes->units, &die->cu, unit);
	if (unit)
		return unit;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->cu = die->cu;
	add_functions(unit, die, DEPTH);
	if (unit->n)
		qsort(unit->code, unit->n, sizeof(*unit->code), compare_code);
	HASH_ADD_PTR(scopes->units, cu, unit);
	return unit;
}

static bool find_function(struct maple_scopes *scopes, Dwarf_Die *die,
			  Dwarf_Addr addr, Dwarf_Die *found)
{
	const struct unit *unit = read_unit(scopes, die);
	size_t n = maple_array_lead(unit ? unit->n : 0, i,
				    unit->code[i].lo <= addr);

	if (!n || addr >= unit->code[n - 1].hi)
		return false;
	*found = unit->code[n - 1].die;
	return true;
}

/* maple_scopes_forget - frees what was found out */
void maple_scopes_forget(struct maple_scopes *scopes)
{
	struct unit *unit, *next;

	maple_scopes_units_forget(scopes);
	HASH_ITER (hh, scopes->units, unit, next) {
		HASH_DEL(scopes->units, unit);
		free(unit->code);
		free(unit);
	}
}

/* What of @in has @addr: a block, or a function that was put there. */
static bool step_into(Dwarf_Die *in, Dwarf_Addr addr)
{
	Dwarf_Die die;

	if (dwarf_child(in, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(&die, addr) > 0) {
			*in = die;
			return true;
		}
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* The function that has @addr, then what is in it, outermost first. */
static unsigned int find_nested(struct maple_scopes *scopes, Dwarf_Die *unit,
				Dwarf_Addr addr, Dwarf_Die die[MAPLE_SCOPES])
{
	unsigned int n = 1;
	Dwarf_Die in;

	if (!find_function(scopes, unit, addr, &in))
		return 0;
	die[0] = in;
	while (n < MAPLE_SCOPES && step_into(&in, addr))
		if (dwarf_tag(&in) == DW_TAG_inlined_subroutine)
			die[n++] = in;
	return n;
}

/*
 * maple_scopes_name - names @scope, in short
 * @symbol: of the linker's, or of the source; or NULL
 */
void maple_scopes_name(struct maple_scope *scope, const char *symbol)
{
	char *name;

	if (!symbol || !*symbol)
		return;
	name = maple_demangle(symbol);
	scope->function = maple_demangle_short(name ? name : symbol);
	if (name && scope->function && strcmp(name, scope->function) != 0)
		scope->signature = name;
	else
		free(name);
}

/* Where @die was first declared: in its class, in its namespace. */
static void find_declaration(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die next;

	for (int i = 0; i < DEPTH; i++) {
		if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(die, DW_AT_specification, &attr))
			return;
		if (!dwarf_formref_die(&attr, &next))
			return;
		*die = next;
	}
}

static const char closure[] = "{lambda}";

/* What @die is called as a part of a name; NULL if it is none. */
static const char *part_of(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		/* gcc has no name for a closure, or one of its own. */
		return name && *name != '<' ? name : closure;
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return name;
	default:
		return NULL;
	}
}

/*
 * Compilers give no symbol to what is a template's for a type within a
 * function: then the name is made of those of all that it is declared in.
 */
static char *qualify(Dwarf_Die die)
{
	const char *before = NULL;
	Dwarf_Die *scopes = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;
	int n;

	find_declaration(&die);
	n = dwarf_getscopes_die(&die, &scopes);
	out = n > 0 ? open_memstream(&text, &size) : NULL;
	for (int i = n; out && i-- > 0;) {
		const char *name = part_of(&scopes[i]);
		char *part = name ? maple_demangle_short(name) : NULL;

		/* What a closure does is all that it does. */
		if (part && !(before == closure && !strcmp(part, "operator()")))
			fprintf(out, "%s%s", before ? "::" : "", part);
		before = name ? name : before;
		free(part);
	}
	if (out)
		fclose(out);
	free(scopes);
	return text;
}

/* In C there is nothing that a function is declared in. */
static bool has_classes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return false;
	default:
		return true;
	}
}

static void name_scope(struct maple_scope *scope, Dwarf_Die *unit,
		       Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *symbol = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		symbol = dwarf_formstring(&attr);
	/* A name of the linker's alone, such as libc's "__GI_abort". */
	if (symbol && !maple_demangle_is(symbol))
		symbol = NULL;
	if (!symbol && has_classes(unit))
		scope->function = qualify(*die);
	if (!scope->function)
		maple_scopes_name(scope, symbol ? symbol : dwarf_diename(die));
}

/* Where @die was called, which was put there. */
static void place_call(struct maple_scope *scope, Dwarf_Die *unit,
		       Dwarf_Die *die)
{
	Dwarf_Files *files;
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line))
		return;
	scope->file = dwarf_filesrc(files, file, NULL, NULL);
	scope->line = scope->file ? (unsigned int)line : 0;
}

static void place_address(struct maple_scope *scope, Dwarf_Die *unit,
			  Dwarf_Addr addr)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, addr);
	int number = 0;

	if (!line)
		return;
	dwarf_lineno(line, &number);
	scope->file = dwarf_linesrc(line, NULL, NULL);
	scope->line = scope->file && number > 0 ? (unsigned int)number : 0;
}

/*
 * maple_scopes_find - the functions that have @addr, innermost first
 * @scopes: what is known of the units, of one struct Dwfl
 * @unit: of the debug information, that has @addr; NULL: there is none
 * @addr: as the unit has it
 *
 * There is always one; it may be without a name, see maple_scopes_name(). The
 * caller empties them with maple_scopes_deinit(). Returns how many.
 */
unsigned int maple_scopes_find(struct maple_scopes *scopes, Dwarf_Die *unit,
			       Dwarf_Addr addr,
			       struct maple_scope scope[MAPLE_SCOPES])
{
	Dwarf_Die die[MAPLE_SCOPES];
	unsigned int n = unit ? find_nested(scopes, unit, addr, die) : 0;

	memset(scope, 0, (n ? n : 1) * sizeof(*scope));
	for (unsigned int i = 0; i < n; i++) {
		name_scope(&scope[i], unit, &die[n - 1 - i]);
		if (i)
			place_call(&scope[i], unit, &die[n - i]);
	}
	if (unit)
		place_address(&scope[0], unit, addr);
	return n ? n : 1;
}

/*
 * maple_scopes_users - the innermost of @scope that is in no library's file;
 * else 0, the innermost of all
 */
unsigned int maple_scopes_users(const struct maple_scope *scope, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (scope[i].file && !maple_scopes_library(scope[i].file))
			return i;
	return 0;
}

void maple_scopes_deinit(struct maple_scope *scope, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(scope[i].function);
		free(scope[i].signature);
	}
}
