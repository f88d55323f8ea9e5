// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which unit of the debug information has an address. Not all compilers leave
 * a table of that (.debug_aranges), so it is made of what each unit says.
 */
#include <dwarf.h>
#include <stdlib.h>
#include "internal.h"

static int compare_units(const void *a, const void *b)
{
	const struct maple_unit *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void read_units(struct maple_image *image)
{
	Dwarf_Addr bias = 0, base, lo, hi;
	struct maple_unit *slot;
	Dwarf_Die *unit = NULL;
	ptrdiff_t at;

	while ((unit = dwfl_module_nextcu(image->module, unit, &bias)))
		for (at = 0;
		     (at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0;) {
			slot = maple_array_more(&image->units, sizeof(*slot));
			if (!slot)
				return;
			*slot = (struct maple_unit){ lo + bias, hi + bias, bias,
						     unit };
		}
	if (image->units.n)
		qsort(image->units.at, image->units.n,
		      sizeof(struct maple_unit), compare_units);
}

/* maple_units - the code of all @n units, by address; owned by @image */
const struct maple_unit *maple_units(struct maple_image *image, size_t *n)
{
	if (!image->units_asked && maple_image_debug(image))
		read_units(image);
	image->units_asked = true;
	*n = image->units.n;
	return image->units.at;
}

/*
 * maple_units_find - the entry of the unit that has @addr, or NULL
 * @bias: of addresses of the image over those of its debug information
 */
Dwarf_Die *maple_units_find(struct maple_image *image, uint64_t addr,
			    Dwarf_Addr *bias)
{
	size_t lo = 0, hi;
	const struct maple_unit *unit = maple_units(image, &hi);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (unit[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= unit[lo - 1].hi)
		return NULL;
	*bias = unit[lo - 1].bias;
	return unit[lo - 1].die;
}
