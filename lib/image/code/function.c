// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which bytes of the text are code: ranges from call frame information and
 * from function symbols. What neither covers is not decoded, since it may be
 * data, and is counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/internal.h"

/* Gaps below this are alignment between functions. */
#define GAP_MIN 16

/* Executable sections that are looked at; a linker makes five or so. */
#define SECTIONS_MAX 64

static int add_symbol(struct maple_image *image, const GElf_Sym *sym,
		      const char *name)
{
	struct maple_code_range *range;
	uint64_t lo = sym->st_value;
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || type == STT_TLS)
		return 0;
	/* Whatever has a name may be jumped to by it. */
	maple_image_mark(image, lo);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !sym->st_size ||
	    !maple_image_in_text(image, lo) ||
	    sym->st_size > image->text_hi - lo)
		return 0;
	range = maple_array_more(&image->ranges, sizeof(*range));
	if (!range)
		return -ENOMEM;
	*range = (struct maple_code_range){
		.lo = lo,
		.hi = lo + sym->st_size,
		.foreign = name && !maple_image_function_wanted(name),
	};
	return 0;
}

static int read_symbols(struct maple_image *image)
{
	Elf_Scn *scn = NULL;

	while (image->elf && (scn = elf_nextscn(image->elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++)
			if (add_symbol(image, &sym,
				       elf_strptr(image->elf, sh.sh_link,
						  sym.st_name)))
				return -ENOMEM;
	}
	return 0;
}

/*
 * By start; of several with one start what is a runtime's by any of its names,
 * then the framed one, then the longest.
 */
static int compare_ranges(const void *a, const void *b)
{
	const struct maple_code_range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->foreign != y->foreign)
		return x->foreign ? -1 : 1;
	if (x->framed != y->framed)
		return x->framed ? -1 : 1;
	return x->hi > y->hi ? -1 : x->hi < y->hi;
}

/* Sorts, and drops what begins inside another range. */
static void settle(struct maple_image *image)
{
	struct maple_code_range *range = image->ranges.at;
	uint64_t end = image->text_lo, kept = 0;

	if (image->ranges.n)
		qsort(range, image->ranges.n, sizeof(*range), compare_ranges);
	for (size_t i = 0; i < image->ranges.n; i++) {
		maple_image_mark(image, range[i].lo);
		if (range[i].lo < end)
			continue;
		end = range[i].hi;
		range[kept++] = range[i];
	}
	image->ranges.n = kept;
	image->stats.functions = kept;
}

/* Counts the bytes from @lo to @hi, and those of them in no range. */
static void count_span(struct maple_image *image, uint64_t lo, uint64_t hi)
{
	const struct maple_code_range *range = image->ranges.at;
	uint64_t end = lo;

	image->stats.text += hi - lo;
	for (size_t i = 0; i < image->ranges.n && range[i].lo < hi; i++) {
		if (range[i].hi <= lo)
			continue;
		if (range[i].lo > end && range[i].lo - end >= GAP_MIN)
			image->stats.uncovered += range[i].lo - end;
		end = range[i].hi;
	}
	if (hi > end && hi - end >= GAP_MIN)
		image->stats.uncovered += hi - end;
}

/*
 * How much code there is, and how much of it is not decoded. Sections tell
 * it from constants in the same segment; without them the segment counts.
 */
static void count_text(struct maple_image *image)
{
	unsigned int left = SECTIONS_MAX;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (image->elf && left && (scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_EXECINSTR) ||
		    !maple_image_in_text(image, sh.sh_addr) ||
		    sh.sh_size > image->text_hi - sh.sh_addr)
			continue;
		count_span(image, sh.sh_addr, sh.sh_addr + sh.sh_size);
		left--;
	}
	if (left == SECTIONS_MAX)
		count_span(image, image->text_lo, image->text_hi);
}

/* maple_image_functions - fills image->ranges, ascending, not overlapping */
int maple_image_functions(struct maple_image *image)
{
	int ret = read_symbols(image);

	if (!ret)
		ret = maple_image_frames(image);
	if (ret)
		return ret;
	maple_image_mark(image, image->entry);
	settle(image);
	count_text(image);
	return 0;
}

static int compare_lo(const void *a, const void *b)
{
	const struct maple_code_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/*
 * maple_image_rseq - restartable sequences, from the descriptors that a
 * program keeps in section __rseq_cs
 *
 * The kernel compares the interrupted address with theirs, so that code must
 * stay where it is.
 */
int maple_image_rseq(struct maple_image *image)
{
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} cs;
	struct maple_code_range *range;
	const uint8_t *at;
	GElf_Shdr sh;

	if (!maple_image_section(image, "__rseq_cs", &sh))
		return 0;
	for (uint64_t o = 0; o + sizeof(cs) <= sh.sh_size; o += sizeof(cs)) {
		at = maple_image_bytes(image, sh.sh_addr + o, sizeof(cs));
		if (!at)
			break;
		memcpy(&cs, at, sizeof(cs));
		if (!maple_image_in_text(image, cs.start) ||
		    cs.length > image->text_hi - cs.start)
			continue;
		range = maple_array_more(&image->rseqs, sizeof(*range));
		if (!range)
			return -ENOMEM;
		*range = (struct maple_code_range){ .lo = cs.start,
						    .hi = cs.start + cs.length };
		maple_image_mark(image, cs.start);
		maple_image_mark(image, cs.start + cs.length);
		maple_image_mark(image, cs.abort);
	}
	if (image->rseqs.n)
		qsort(image->rseqs.at, image->rseqs.n,
		      sizeof(struct maple_code_range), compare_lo);
	return 0;
}
