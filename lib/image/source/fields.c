// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether a struct of the source has a field of some name. */
#include <dwarf.h>
#include <string.h>
#include "image/internal.h"
#include "type.h"

static bool has_member(Dwarf_Die *object, const char *field)
{
	Dwarf_Die m;

	if (dwarf_child(object, &m))
		return false;
	do {
		const char *name = dwarf_diename(&m);

		if (dwarf_tag(&m) == DW_TAG_member && name &&
		    !strcmp(name, field))
			return true;
	} while (dwarf_siblingof(&m, &m) == 0);
	return false;
}

/* A type without a name goes by that of its typedef. */
static bool is_it(Dwarf_Die *die, const char *type, const char *field)
{
	const char *name = dwarf_diename(die);
	Dwarf_Die peeled;

	return name && !strcmp(name, type) &&
	       (maple_type_is_object(die) || dwarf_tag(die) == DW_TAG_typedef) &&
	       !dwarf_peel_type(die, &peeled) &&
	       maple_type_is_object(&peeled) && has_member(&peeled, field);
}

static bool is_in(Dwarf_Die *scope, const char *type, const char *field)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die))
		return false;
	do {
		if (is_it(&die, type, field))
			return true;
		if ((dwarf_tag(&die) == DW_TAG_namespace ||
		     dwarf_tag(&die) == DW_TAG_subprogram ||
		     maple_type_is_object(&die)) &&
		    is_in(&die, type, field))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* maple_image_has_field - whether debug information has @type with a @field */
bool maple_image_has_field(struct maple_image *image, const char *type,
			   const char *field)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (!maple_image_debug(image))
		return false;
	while ((unit = dwfl_module_nextcu(image->module, unit, &bias)))
		if (is_in(unit, type, field))
			return true;
	return false;
}
