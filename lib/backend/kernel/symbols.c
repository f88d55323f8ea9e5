// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where the functions of functions.c are in an image: by .dynsym, and by
 * .symtab, which is all that a static program has.
 *
 * What memcpy() and its like come to is decided by the program's start-up
 * code (IFUNC). A libc that is our own has decided the same for us, so we ask
 * ours. Of any other all variants count that the symbol table names
 * (__memcpy_avx_unaligned): those that this machine does not use are never
 * called.
 */
#include <dlfcn.h>
#include <errno.h>
#include <gelf.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>
#include "base/array.h"
#include "image/image.h"
#include "kernel.h"

struct search {
	Elf *elf;
	int fd;
	bool *imported; /* by place in the table */
	void *libc;	/* our own, if the image is that; to be closed */
	uint64_t libc_bias;
	struct maple_function_at *found;
	unsigned int n, size;
	bool no_memory;
};

/* Whether @elf is the file that our own libc came from. */
static bool is_ours(Elf *elf, const char *path)
{
	const void *id, *own;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &id);
	bool same = false;
	Elf *other;
	int fd;

	other = n > 0 ? maple_image_elf(path, &fd) : NULL;
	if (!other)
		return false;
	same = dwelf_elf_gnu_build_id(other, &own) == n && !memcmp(id, own, n);
	elf_end(other);
	close(fd);
	return same;
}

static void find_libc(struct search *s)
{
	void *libc = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	struct link_map *map;

	if (!libc)
		return;
	if (!dlinfo(libc, RTLD_DI_LINKMAP, &map) &&
	    is_ours(s->elf, map->l_name)) {
		s->libc = libc;
		s->libc_bias = map->l_addr;
		return;
	}
	dlclose(libc);
}

static bool to_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || address < ph.p_vaddr ||
		    address - ph.p_vaddr >= ph.p_filesz)
			continue;
		*offset = address - ph.p_vaddr + ph.p_offset;
		return true;
	}
	return false;
}

/* Several names can be one function: the table's first counts. */
static void add(struct search *s, const struct maple_function *function,
		uint64_t address)
{
	struct maple_function_at *at;
	uint64_t offset;

	/*
	 * Some of those on memory begin with what cannot be probed: then
	 * where the arguments still are where they were will do.
	 */
	if (!to_offset(s->elf, address, &offset) ||
	    !maple_step_on(s->fd, &offset, true))
		return;
	for (unsigned int i = 0; i < s->n; i++) {
		at = &s->found[i];
		if (at->offset != offset)
			continue;
		if (function < at->function)
			at->function = function;
		return;
	}
	if (!maple_array_reserve(s->found, s->n, s->size)) {
		s->no_memory = true;
		return;
	}
	s->found[s->n++] =
		(struct maple_function_at){ function, offset, address, false };
}

static const struct maple_function *function_named(const char *name, size_t len)
{
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);

	for (unsigned int i = 0; i < n; i++)
		if (!strncmp(f[i].name, name, len) && !f[i].name[len])
			return &f[i];
	return NULL;
}

/*
 * "__memcpy_avx_unaligned" is a memcpy, "__memcpy_chk_sse2_unaligned" a
 * __memcpy_chk: what stands before the name of a kind of machine.
 */
static const struct maple_function *variant_named(const char *name)
{
	static const char *const machines[] = { "_sse",	 "_ssse", "_avx",
						"_evex", "_erms", "_generic" };
	const struct maple_function *f;
	const char *end = NULL, *at;

	if (strncmp(name, "__", 2))
		return NULL;
	for (unsigned int i = 0; i < sizeof(machines) / sizeof(machines[0]);
	     i++) {
		at = strstr(name + 2, machines[i]);
		if (at && (!end || at < end))
			end = at;
	}
	if (!end)
		return NULL;
	f = function_named(name + 2, end - name - 2);
	if (!f)
		f = function_named(name, end - name);
	/* Only functions on memory have variants. */
	return f && f->form >= MAPLE_FN_COPY ? f : NULL;
}

static void look_at(struct search *s, const GElf_Sym *sym, const char *name)
{
	const struct maple_function *function;
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	void *chosen;

	if (sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return;
	if (type == STT_FUNC || type == STT_NOTYPE) {
		function = function_named(name, strlen(name));
		if (!function && !s->libc)
			function = variant_named(name);
		if (function)
			add(s, function, sym->st_value);
		return;
	}
	function = type == STT_GNU_IFUNC && s->libc
			   ? function_named(name, strlen(name))
			   : NULL;
	chosen = function ? dlsym(s->libc, name) : NULL;
	if (chosen)
		add(s, function, (uint64_t)chosen - s->libc_bias);
}

static void look_in(struct search *s, Elf_Scn *scn, const GElf_Shdr *sh,
		    void (*each)(struct search *s, const GElf_Sym *sym,
				 const char *name))
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *name;
	GElf_Sym sym;

	if (!data || !sh->sh_entsize)
		return;
	for (size_t i = 0; i < sh->sh_size / sh->sh_entsize; i++) {
		if (!gelf_getsym(data, i, &sym))
			return;
		name = elf_strptr(s->elf, sh->sh_link, sym.st_name);
		if (name && *name)
			each(s, &sym, name);
	}
}

/*
 * maple_functions_find - the functions of the table that @path defines
 * @found: to be freed; in no order
 *
 * Errors: what open() says, -ENOEXEC for no ELF file, -ENOMEM.
 */
int maple_functions_find(const char *path, struct maple_function_at **found,
			 unsigned int *n, struct maple_error *err)
{
	struct search s = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	s.elf = maple_image_elf(path, &s.fd);
	if (!s.elf)
		return maple_error_set(err, errno, "%s: no functions: %m", path);
	find_libc(&s);
	while ((scn = elf_nextscn(s.elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB))
			look_in(&s, scn, &sh, look_at);
	if (s.libc)
		dlclose(s.libc);
	elf_end(s.elf);
	close(s.fd);
	if (s.no_memory) {
		free(s.found);
		return maple_error_set(err, ENOMEM, "%s: out of memory", path);
	}
	*found = s.found;
	*n = s.n;
	return 0;
}

static void note_import(struct search *s, const GElf_Sym *sym, const char *name)
{
	const struct maple_function *f;
	unsigned int n;

	if (sym->st_shndx != SHN_UNDEF)
		return;
	f = function_named(name, strlen(name));
	if (f)
		s->imported[f - maple_functions(&n)] = true;
}

/* What is defined at an address that has an imported name. */
static void mark(struct search *s, const GElf_Sym *sym, const char *name)
{
	const struct maple_function *f = function_named(name, strlen(name));
	bool ifunc = GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
	unsigned int n;

	if (!f || sym->st_shndx == SHN_UNDEF ||
	    !s->imported[f - maple_functions(&n)])
		return;
	/* Of an IFUNC, what it comes to stands elsewhere. */
	for (unsigned int i = 0; i < s->n; i++)
		s->found[i].imported |=
			s->found[i].function == f ||
			(!ifunc && s->found[i].address == sym->st_value);
}

static void walk(struct search *s, const char *path,
		 void (*each)(struct search *s, const GElf_Sym *sym,
			      const char *name))
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	s->elf = maple_image_elf(path, &s->fd);
	if (!s->elf)
		return;
	while ((scn = elf_nextscn(s->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			look_in(s, scn, &sh, each);
	elf_end(s->elf);
	close(s->fd);
}

/*
 * maple_functions_imported - which functions @path wants from others
 * @imported: by their place in the table; only ever set
 *
 * What it asks dlsym() for is not among them.
 */
void maple_functions_imported(const char *path, bool *imported)
{
	struct search s = { .imported = imported };

	walk(&s, path, note_import);
}

/* maple_functions_mark - which of those that @path defines are imported */
void maple_functions_mark(const char *path, const bool *imported,
			  struct maple_function_at *found, unsigned int n)
{
	struct search s = { .imported = (bool *)imported,
			    .found = found,
			    .n = n };

	walk(&s, path, mark);
}
