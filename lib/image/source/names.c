// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an address is called: the name is what lasts when the address moves.
 * Functions and variables by their symbols, imported ones by the relocation
 * of the slot through which they are reached, constants by their text.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/array.h"
#include "image/code/prints.h"

#define STRING_MAX 256 /* of a constant's text */

static int compare_names(const void *a, const void *b)
{
	const struct maple_name *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int add(struct maple_array *array, struct maple_name name)
{
	struct maple_name *slot;

	if (!name.name || !*name.name)
		return 0;
	slot = maple_array_more(array, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = name;
	return 0;
}

static int read_symbols(struct maple_prints *prints, Elf *elf, Elf_Scn *scn,
			const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		unsigned int type = GELF_ST_TYPE(sym.st_info);

		if (sym.st_shndx == SHN_UNDEF ||
		    (type == STT_OBJECT && !sym.st_size) ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC &&
		     type != STT_OBJECT))
			continue;
		if (add(type == STT_OBJECT ? &prints->objects
					   : &prints->functions,
			(struct maple_name){
				sym.st_value, sym.st_size,
				elf_strptr(elf, sh->sh_link, sym.st_name) }))
			return -ENOMEM;
	}
	return 0;
}

/* Each relocation to a symbol gives the place it applies to a name. */
static int read_slots(struct maple_prints *prints, Elf *elf, Elf_Scn *scn,
		      const GElf_Shdr *sh)
{
	Elf_Scn *table = elf_getscn(elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Data *symbols = table ? elf_getdata(table, NULL) : NULL;
	GElf_Shdr table_sh;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!symbols || !gelf_getshdr(table, &table_sh))
		return 0;
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		if (!GELF_R_SYM(rela.r_info) ||
		    !gelf_getsym(symbols, GELF_R_SYM(rela.r_info), &sym))
			continue;
		if (add(&prints->imports,
			(struct maple_name){ rela.r_offset, 8,
					     elf_strptr(elf, table_sh.sh_link,
							sym.st_name) }))
			return -ENOMEM;
	}
	return 0;
}

static void sort(struct maple_array *array)
{
	if (array->n)
		qsort(array->at, array->n, sizeof(struct maple_name),
		      compare_names);
}

/* maple_names_read - the names that the section tables of @elf hold */
int maple_names_read(struct maple_prints *prints, Elf *elf)
{
	Elf_Scn *scn = NULL;
	int ret = 0;

	while (!ret && elf && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			ret = read_symbols(prints, elf, scn, &sh);
		else if (sh.sh_type == SHT_RELA)
			ret = read_slots(prints, elf, scn, &sh);
	}
	sort(&prints->functions);
	sort(&prints->objects);
	sort(&prints->imports);
	return ret;
}

/* How many of @array begin at or before @addr. */
static size_t upto(const struct maple_array *array, uint64_t addr)
{
	const struct maple_name *name = array->at;

	return maple_array_lead(array->n, i, name[i].addr <= addr);
}

/* The first by the alphabet of those that are exactly at @addr. */
static const struct maple_name *exactly(const struct maple_array *array,
					uint64_t addr)
{
	const struct maple_name *name = array->at;
	size_t i = upto(array, addr);

	if (!i || name[i - 1].addr != addr)
		return NULL;
	while (i > 1 && name[i - 2].addr == addr)
		i--;
	return &name[i - 1];
}

/* maple_names_function - the symbol of the function at @addr, or NULL */
const char *maple_names_function(const struct maple_prints *prints,
				 uint64_t addr)
{
	const struct maple_name *name = exactly(&prints->functions, addr);

	return name ? name->name : NULL;
}

/* The imported function that a stub of the linkage table jumps to. */
static const struct maple_name *import(const struct maple_prints *prints,
				       uint64_t addr)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *at = maple_image_bytes(&prints->code, addr, 16);
	unsigned int i = 0;
	int32_t disp;

	if (!at)
		return NULL;
	if (!memcmp(at, endbr, sizeof(endbr)))
		i += sizeof(endbr);
	if (at[i] == 0xf2) /* bnd */
		i++;
	if (at[i] != 0xff || at[i + 1] != 0x25)
		return NULL;
	memcpy(&disp, at + i + 2, sizeof(disp));
	return exactly(&prints->imports, addr + i + 6 + disp);
}

/*
 * maple_names_import - the linker's name of what is imported for the stub at
 * @addr, or in the slot there; NULL: it is neither
 */
const char *maple_names_import(const struct maple_prints *prints, uint64_t addr)
{
	const struct maple_name *name = exactly(&prints->imports, addr);

	if (!name)
		name = import(prints, addr);
	return name ? name->name : NULL;
}

/* maple_names_called - the same, or the name of the image's own function */
const char *maple_names_called(const struct maple_prints *prints, uint64_t addr)
{
	const struct maple_name *name = exactly(&prints->functions, addr);

	return name ? name->name : maple_names_import(prints, addr);
}

/* maple_names_all - the @n symbols of the function at @addr */
const struct maple_name *maple_names_all(const struct maple_prints *prints,
					 uint64_t addr, size_t *n)
{
	const struct maple_name *first = exactly(&prints->functions, addr);

	*n = first ? (const struct maple_name *)prints->functions.at +
			     upto(&prints->functions, addr) - first
		   : 0;
	return first;
}

/* maple_names_object - the variable that has @addr; NULL: none */
const struct maple_name *maple_names_object(const struct maple_prints *prints,
					    uint64_t addr)
{
	/* The innermost that has it begins last. */
	size_t i = upto(&prints->objects, addr);
	const struct maple_name *name = prints->objects.at;

	if (!i || addr - name[i - 1].addr >= name[i - 1].size)
		return NULL;
	return exactly(&prints->objects, name[i - 1].addr);
}

/*
 * Compilers number what the source leaves unnamed or unshared, "count.3",
 * "f.part.0"; the numbers change with anything else in the file.
 */
static uint64_t hash_name(const char *name, uint64_t inside)
{
	size_t n = strlen(name);

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	if (!n || name[n - 1] != '.' || !name[n])
		n = strlen(name);
	return XXH3_64bits_withSeed(name, n, inside + 1);
}

/* maple_names_is - whether @hash, of maple_names_hash(), is of @function */
bool maple_names_is(uint64_t hash, const char *function)
{
	return hash == hash_name(function, 0);
}

/* Text that ends within its segment, and is text up to there; else 0. */
static uint64_t hash_text(const struct maple_prints *prints, uint64_t addr)
{
	const uint8_t *at;
	uint64_t n = 0;

	if (maple_image_in_text(&prints->code, addr) ||
	    !maple_image_read_only(&prints->code, addr))
		return 0;
	for (; n < STRING_MAX; n++) {
		at = maple_image_bytes(&prints->code, addr + n, 1);
		if (!at || !*at)
			break;
		if (!isprint(*at) && !isspace(*at))
			return 0;
	}
	return n && at && n < STRING_MAX
		       ? XXH3_64bits(maple_image_bytes(&prints->code, addr, n),
				     n)
		       : 0;
}

/* maple_names_hash - stands for what is at @addr; 0 if it has no name */
uint64_t maple_names_hash(const struct maple_prints *prints, uint64_t addr)
{
	const char *called = maple_names_called(prints, addr);
	const struct maple_name *name;

	if (called)
		return hash_name(called, 0);
	name = maple_names_object(prints, addr);
	return name ? hash_name(name->name, addr - name->addr)
		    : hash_text(prints, addr);
}
