// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The symbols of an image and of its debug information, by address. libdwfl
 * looks through all of them at each question; a large program has a hundred
 * thousand, and as many questions.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "image/internal.h"

static int compare_symbols(const void *a, const void *b)
{
	const struct maple_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	/* Names for all before those of one file. */
	if (x->local != y->local)
		return x->local ? -1 : 1;
	return strcmp(y->name, x->name);
}

static void sort(struct maple_array *array)
{
	if (array->n)
		qsort(array->at, array->n, sizeof(struct maple_symbol),
		      compare_symbols);
}

/* Where a symbol of this kind goes; NULL: nowhere. */
static struct maple_array *array_of(struct maple_image *image,
				    const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF)
		return NULL;
	if (type == STT_OBJECT)
		return sym->st_size ? &image->objects : NULL;
	if (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE)
		return &image->functions;
	return NULL;
}

/* maple_symbols_read - fills in the image's symbols, once it has a module */
void maple_symbols_read(struct maple_image *image)
{
	int n = dwfl_module_getsymtab(image->module);

	for (int i = 1; i < n; i++) {
		struct maple_symbol *symbol;
		struct maple_array *array;
		const char *name;
		GElf_Addr addr;
		GElf_Sym sym;

		name = dwfl_module_getsym_info(image->module, i, &sym, &addr,
					       NULL, NULL, NULL);
		array = name && *name ? array_of(image, &sym) : NULL;
		if (!array || (array == &image->functions &&
			       !maple_image_in_text(image, addr)))
			continue;
		symbol = maple_array_more(array, sizeof(*symbol));
		if (!symbol)
			break;
		*symbol = (struct maple_symbol){
			.addr = addr,
			.size = sym.st_size,
			.name = name,
			.local = GELF_ST_BIND(sym.st_info) == STB_LOCAL,
		};
		if (array == &image->functions && symbol->size > image->longest)
			image->longest = symbol->size;
	}
	sort(&image->objects);
	sort(&image->functions);
}

/* How many of @array begin at or before @addr. */
static size_t upto(const struct maple_array *array, uint64_t addr)
{
	const struct maple_symbol *symbol = array->at;

	return maple_array_lead(array->n, i, symbol[i].addr <= addr);
}

/*
 * maple_symbols_function - the name of the function that has @addr, or of the
 * label without a size that it is behind; NULL if there is none
 */
const char *maple_symbols_function(const struct maple_image *image,
				   uint64_t addr)
{
	const struct maple_symbol *symbol = image->functions.at;
	size_t i = upto(&image->functions, addr), last = i;

	/* Functions may lie within others, such as those of assembly. */
	while (i-- > 0 && addr - symbol[i].addr < image->longest)
		if (addr - symbol[i].addr < symbol[i].size)
			return symbol[i].name;
	return last && !symbol[last - 1].size ? symbol[last - 1].name : NULL;
}

/* maple_symbols_object - the variable that has @addr, or NULL */
const struct maple_symbol *maple_symbols_object(const struct maple_image *image,
						uint64_t addr)
{
	const struct maple_symbol *symbol = image->objects.at;
	size_t i = upto(&image->objects, addr);

	return i && addr - symbol[i - 1].addr < symbol[i - 1].size
		       ? &symbol[i - 1]
		       : NULL;
}
