// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which code of a C++ library works on the program's own data: the inside of
 * containers that its headers do not have. A list that is spliced is linked in
 * there, by the caller's thread and under the caller's locks, so a bug of the
 * program's shows in there alone.
 *
 * Symbols say it, for such functions are exported. The rest, twenty times as
 * much, is left out: streams and locales, whose standard objects may be shared
 * and have state of their own; exceptions, threads, clocks, files.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "image/internal.h"

/* Mangled names; what each of them changes belongs to the program. */
static const char *const containers[] = {
	/* libstdc++: the links of std::list */
	"_ZN*_List_node_base*",
	/* ... the nodes of std::map and std::set */
	"_ZSt*_Rb_tree_*",
	/* ... when std::unordered_map grows */
	"_ZN*_Prime_rehash_policy*",
	/* ... std::string of both ABIs, std::wstring: length and buffer */
	"_ZNSt7__cxx1112basic_stringI*",
	"_ZNKSt7__cxx1112basic_stringI*",
	"_ZNS[sb]*",
	"_ZNKS[sb]*",
	/* ... memory resources that are for one thread at a time */
	"_ZNSt3pmr*monotonic_buffer_resource*",
	"_ZNSt3pmr*unsynchronized_pool_resource*",
	/* libc++: std::string */
	"_ZNSt3__112basic_stringI*",
	"_ZNKSt3__112basic_stringI*",
	/* ... owners of std::shared_ptr */
	"_ZN*St3__1*__shared_count*",
	"_ZN*St3__1*__shared_weak_count*",
};

static bool is_container(const char *name)
{
	for (size_t i = 0; i < sizeof(containers) / sizeof(*containers); i++)
		if (!fnmatch(containers[i], name, 0))
			return true;
	return false;
}

static int add_functions(struct maple_image *image, Elf_Scn *scn,
			 const GElf_Shdr *sh, struct maple_array *stretches)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	struct maple_stretch *slot;
	const char *name;
	GElf_Sym sym;

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		name = elf_strptr(image->elf, sh->sh_link, sym.st_name);
		if (sym.st_shndx == SHN_UNDEF || !name ||
		    GELF_ST_TYPE(sym.st_info) != STT_FUNC || !is_container(name))
			continue;
		slot = maple_array_more(stretches, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		*slot = (struct maple_stretch){ sym.st_value,
						sym.st_value + sym.st_size };
	}
	return 0;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct maple_stretch *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Ascending, without gaps or overlaps between neighbours. */
static void join(struct maple_array *stretches)
{
	struct maple_stretch *at = stretches->at;
	size_t kept = 0;

	if (stretches->n)
		qsort(at, stretches->n, sizeof(*at), compare_stretches);
	for (size_t i = 0; i < stretches->n; i++) {
		if (kept && at[i].lo <= at[kept - 1].hi) {
			if (at[i].hi > at[kept - 1].hi)
				at[kept - 1].hi = at[i].hi;
		} else {
			at[kept++] = at[i];
		}
	}
	stretches->n = kept;
}

static int read_stretches(struct maple_image *image,
			  struct maple_array *stretches)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int ret;

	while (image->elf && (scn = elf_nextscn(image->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		ret = add_functions(image, scn, &sh, stretches);
		if (ret)
			return ret;
	}
	join(stretches);
	return 0;
}

static bool inside(const struct maple_array *stretches, uint64_t offset)
{
	const struct maple_stretch *at = stretches->at;
	size_t n = maple_array_lead(stretches->n, i, at[i].hi <= offset);

	return n < stretches->n && offset >= at[n].lo;
}

/* Keeps the sites inside @stretches; @number: what each is from now on. */
static void keep_sites(struct maple_image *image,
		       const struct maple_array *stretches, uint32_t *number)
{
	struct maple_table_site *site = image->sites.at;
	uint32_t kept = 0;

	for (size_t i = 0; i < image->sites.n; i++) {
		number[i] = MAPLE_SITE_NONE;
		if (!inside(stretches, site[i].offset)) {
			image->stats.left[MAPLE_LEFT_LIBRARY]++;
			image->stats.ways[site[i].way]--;
			continue;
		}
		number[i] = kept;
		site[kept++] = site[i];
	}
	image->sites.n = kept;
}

static void keep_locked(struct maple_image *image, const uint32_t *number)
{
	struct maple_locked *locked = image->locked.at;
	size_t kept = 0;

	for (size_t i = 0; i < image->locked.n; i++) {
		if (number[locked[i].site] == MAPLE_SITE_NONE)
			continue;
		locked[kept] = locked[i];
		locked[kept++].site = number[locked[i].site];
	}
	image->locked.n = kept;
}

/* Groups that no site is left in go, and their instructions with them. */
static int keep_groups(struct maple_image *image, const uint32_t *number)
{
	struct maple_table_group *group = image->groups.at;
	const struct maple_table_insn *insn = image->insns.at;
	struct maple_array insns = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < image->groups.n; i++) {
		const struct maple_table_insn *first = insn + group[i].first;
		uint32_t at = insns.n;
		bool used = false;

		for (unsigned int k = 0; k < group[i].ninsns; k++)
			used |= first[k].site != MAPLE_SITE_NONE &&
				number[first[k].site] != MAPLE_SITE_NONE;
		for (unsigned int k = 0; used && k < group[i].ninsns; k++) {
			struct maple_table_insn *slot =
				maple_array_more(&insns, sizeof(*slot));

			if (!slot) {
				free(insns.at);
				return -ENOMEM;
			}
			*slot = first[k];
			if (slot->site != MAPLE_SITE_NONE)
				slot->site = number[slot->site];
		}
		if (!used)
			continue;
		group[kept] = group[i];
		group[kept++].first = at;
	}
	image->groups.n = kept;
	free(image->insns.at);
	image->insns = insns;
	return 0;
}

/*
 * maple_image_keep_containers - of @image, a C++ library, no sites are left
 *                               but those of its containers
 *
 * To be called before anyone has numbered its sites. Errors: -ENOMEM, and the
 * image can only be destroyed.
 */
int maple_image_keep_containers(struct maple_image *image)
{
	struct maple_array stretches = { 0 };
	uint32_t *number;
	int ret = read_stretches(image, &stretches);

	number = malloc(image->sites.n * sizeof(*number) + 1);
	if (!number)
		ret = -ENOMEM;
	if (!ret) {
		keep_sites(image, &stretches, number);
		keep_locked(image, number);
		ret = keep_groups(image, number);
	}
	free(number);
	free(stretches.at);
	return ret;
}
