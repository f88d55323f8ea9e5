// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which unit of the debug information has an address. Not all compilers leave
 * a table of that (.debug_aranges), so it is made of what each unit says.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <uthash.h>
#include "base/array.h"
#include "image/internal.h"

/* Of a module, at the first question. */
struct maple_unit_module {
	Dwfl_Module *module;	  /* the key */
	struct maple_array units; /* struct maple_unit, ascending */
	UT_hash_handle hh;
};

static int compare_units(const void *a, const void *b)
{
	const struct maple_unit *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void read_units(struct maple_unit_module *m)
{
	Dwarf_Addr bias = 0, base, lo, hi;
	struct maple_unit *slot;
	Dwarf_Die *unit = NULL;
	ptrdiff_t at;

	while ((unit = dwfl_module_nextcu(m->module, unit, &bias)))
		for (at = 0;
		     (at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0;) {
			slot = maple_array_more(&m->units, sizeof(*slot));
			if (!slot)
				return;
			*slot = (struct maple_unit){ lo + bias, hi + bias, bias,
						     unit };
		}
	if (m->units.n)
		qsort(m->units.at, m->units.n, sizeof(struct maple_unit),
		      compare_units);
}

/* The code of all @n units of @module, by address. */
static const struct maple_unit *units_of(struct maple_scopes *scopes,
					 Dwfl_Module *module, size_t *n)
{
	struct maple_unit_module *m;

	*n = 0;
	HASH_FIND_PTR(scopes->modules, &module, m);
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return NULL;
		m->module = module;
		read_units(m);
		HASH_ADD_PTR(scopes->modules, module, m);
	}
	*n = m->units.n;
	return m->units.at;
}

/* maple_scopes_units_forget - frees what was found out of modules */
void maple_scopes_units_forget(struct maple_scopes *scopes)
{
	struct maple_unit_module *m, *next;

	HASH_ITER (hh, scopes->modules, m, next) {
		HASH_DEL(scopes->modules, m);
		free(m->units.at);
		free(m);
	}
}

/*
 * maple_scopes_unit - the entry of the unit of @module that has @addr, or NULL
 * @bias: of addresses of the module over those of its debug information
 */
Dwarf_Die *maple_scopes_unit(struct maple_scopes *scopes, Dwfl_Module *module,
			     Dwarf_Addr addr, Dwarf_Addr *bias)
{
	size_t n;
	const struct maple_unit *unit = units_of(scopes, module, &n);

	n = maple_array_lead(n, i, unit[i].lo <= addr);
	if (!n || addr >= unit[n - 1].hi)
		return NULL;
	*bias = unit[n - 1].bias;
	return unit[n - 1].die;
}

/* maple_units - the same of all of @image */
const struct maple_unit *maple_units(struct maple_image *image, size_t *n)
{
	*n = 0;
	return maple_image_debug(image)
		       ? units_of(&image->scopes, image->module, n)
		       : NULL;
}

/* maple_units_find - the same of @image */
Dwarf_Die *maple_units_find(struct maple_image *image, uint64_t addr,
			    Dwarf_Addr *bias)
{
	return maple_image_debug(image)
		       ? maple_scopes_unit(&image->scopes, image->module, addr,
					   bias)
		       : NULL;
}
