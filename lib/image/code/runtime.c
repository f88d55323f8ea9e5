// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which code of a statically linked program is the runtime's: libc and what
 * comes with the compiler, left out of libraries (select.c) and so left out
 * here.
 *
 * Symbols say it. A linker puts the members of archives behind the program's
 * own objects, in each kind of text (cold, start-up, ordinary) anew. So what
 * lies between two functions whose names only a C library has is the
 * library's, unless there is something between them that is not: main(),
 * _start() of crt1.o, which is the first in ordinary text, or any code that
 * has debug information, since a distribution's archives have none. Local
 * functions of an object that has a local one with such a name belong to it.
 *
 * So in doubt it is the program's. A libc with debug information is, and
 * without symbols everything is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/internal.h"

/* A function's symbol, or, of a program's unit, a piece of its code. */
struct piece {
	uint64_t lo, hi;
	uint32_t file; /* number of its STT_FILE; 0: none, or a global */
	bool runtime, program;
};

static bool begins(const char *name, const char *const *with)
{
	for (; *with; with++)
		if (!strncmp(name, *with, strlen(*with)))
			return true;
	return false;
}

/* But what crt1.o has, and what allocators bring along. */
static bool is_runtime(const char *name)
{
	static const char *const yes[] = {
		"__libc_",	   "_IO_",    "_dl_",	"_nl_",	  "__pthread_",
		"__nptl_",	   "__gconv", "__cxa_", "__gxx_", "_Unwind_",
		"_ZN10__cxxabiv1", NULL
	};
	static const char *const no[] = {
		"_dl_relocate_static_pie", "__libc_csu_",
		"__libc_malloc",	   "__libc_calloc",
		"__libc_realloc",	   "__libc_free",
		"__libc_memalign",	   "__libc_valloc",
		"__libc_pvalloc",	   NULL
	};

	return begins(name, yes) && !begins(name, no);
}

static int add(struct maple_array *pieces, struct piece piece)
{
	struct piece *slot = maple_array_more(pieces, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = piece;
	return 0;
}

static int read_table(struct maple_image *image, Elf_Scn *scn,
		      const GElf_Shdr *sh, struct maple_array *pieces)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	uint32_t file = 0, nfiles = 0;
	const char *name;
	GElf_Sym sym;

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		unsigned int type = GELF_ST_TYPE(sym.st_info);

		name = elf_strptr(image->elf, sh->sh_link, sym.st_name);
		/* Behind one without a name: globals that became local. */
		if (type == STT_FILE)
			file = name && *name ? ++nfiles : 0;
		if (sym.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		if (!name ||
		    add(pieces,
			(struct piece){ .lo = sym.st_value,
					.hi = sym.st_value + sym.st_size,
					.file = GELF_ST_BIND(sym.st_info) ==
								STB_LOCAL
							? file
							: 0,
					.runtime = is_runtime(name),
					.program = !strcmp(name, "main") ||
						   !strcmp(name, "_start") }))
			return -ENOMEM;
	}
	return 0;
}

static int read_functions(struct maple_image *image, struct maple_array *pieces)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (image->elf && (scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			return read_table(image, scn, &sh, pieces);
	return 0;
}

/* Locals stand behind their file, in order. */
static void spread(struct maple_array *pieces)
{
	struct piece *p = pieces->at;
	size_t i = 0, end, k;
	bool runtime;

	for (; i < pieces->n; i = end) {
		runtime = false;
		for (end = i; end < pieces->n && p[end].file == p[i].file; end++)
			runtime |= p[end].runtime;
		for (k = i; runtime && p[i].file && k < end; k++)
			p[k].runtime = true;
	}
}

static int add_units(struct maple_image *image, struct maple_array *pieces)
{
	const struct maple_unit *unit;
	size_t n;

	unit = maple_units(image, &n);
	for (size_t i = 0; i < n; i++)
		if (add(pieces, (struct piece){ .lo = unit[i].lo,
						.hi = unit[i].hi,
						.program = true }))
			return -ENOMEM;
	return 0;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* A unit can hold what has the name of a runtime's function. */
static int join(struct maple_image *image, const struct maple_array *pieces)
{
	const struct piece *p = pieces->at;
	struct maple_stretch *stretch = NULL;
	uint64_t program = 0; /* its code reaches up to here */

	for (size_t i = 0; i < pieces->n; i++) {
		if (p[i].program) {
			program = p[i].hi > program ? p[i].hi : program;
			stretch = NULL;
		} else if (p[i].runtime && p[i].lo >= program) {
			if (!stretch) {
				stretch = maple_array_more(&image->runtime,
							   sizeof(*stretch));
				if (!stretch)
					return -ENOMEM;
				stretch->lo = stretch->hi = p[i].lo;
			}
			if (p[i].hi > stretch->hi)
				stretch->hi = p[i].hi;
		}
	}
	return 0;
}

/* Static PIEs have a dynamic section, as libraries do, and say what they are. */
static bool is_pie(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++)
		if (dyn.d_tag == DT_FLAGS_1)
			return dyn.d_un.d_val & DF_1_PIE;
	return false;
}

static bool is_static(struct maple_image *image)
{
	Elf_Scn *scn = NULL;
	GElf_Ehdr ehdr;
	GElf_Phdr ph;
	GElf_Shdr sh;
	size_t n = 0;

	if (!image->elf || !gelf_getehdr(image->elf, &ehdr) ||
	    elf_getphdrnum(image->elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(image->elf, i, &ph) && ph.p_type == PT_INTERP)
			return false;
	if (ehdr.e_type == ET_EXEC)
		return true;
	while ((scn = elf_nextscn(image->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC)
			return is_pie(scn, &sh);
	return false;
}

/*
 * maple_image_runtime - the @n stretches of code of a statically linked
 * program that are its runtime's, by ascending address; owned by @image
 *
 * None of what is not linked so, for want of symbols, or of memory.
 */
const struct maple_stretch *maple_image_runtime(struct maple_image *image,
						unsigned int *n)
{
	struct maple_array pieces = { 0 };

	if (!image->runtime_asked) {
		image->runtime_asked = true;
		if (is_static(image) && !read_functions(image, &pieces)) {
			spread(&pieces);
			if (!add_units(image, &pieces) && pieces.n) {
				qsort(pieces.at, pieces.n, sizeof(struct piece),
				      compare_pieces);
				join(image, &pieces);
			}
		}
		free(pieces.at);
	}
	*n = image->runtime.n;
	return image->runtime.at;
}

/* maple_image_is_runtime - whether the code at @offset lies in such a stretch */
bool maple_image_is_runtime(struct maple_image *image, uint64_t offset)
{
	const struct maple_stretch *at;
	unsigned int n;

	for (at = maple_image_runtime(image, &n); n; n--, at++)
		if (offset >= at->lo && offset < at->hi)
			return true;
	return false;
}
