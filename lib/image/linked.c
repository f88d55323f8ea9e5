// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the dynamic linker is asked for in an ELF file, without decoding it. A
 * file that cannot be read asks for nothing.
 */
#include <string.h>
#include <unistd.h>
#include "internal.h"

struct file {
	int fd;
	Elf *elf;
};

static struct file open_file(const char *path)
{
	struct file file = { .fd = maple_image_file(path) };

	elf_version(EV_CURRENT);
	if (file.fd >= 0)
		file.elf = elf_begin(file.fd, ELF_C_READ, NULL);
	return file;
}

static void close_file(struct file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
}

/* The next section of @type after @scn; NULL: none. */
static Elf_Scn *next_section(struct file *file, Elf_Scn *scn, uint32_t type,
			     GElf_Shdr *sh)
{
	while (file->elf && (scn = elf_nextscn(file->elf, scn)))
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return scn;
	return NULL;
}

/* maple_image_needed - calls @each for the libraries that @path is linked with */
void maple_image_needed(const char *path,
			void (*each)(void *ctx, const char *name), void *ctx)
{
	struct file file = open_file(path);
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	const char *name;
	GElf_Shdr sh;
	GElf_Dyn dyn;

	while ((scn = next_section(&file, scn, SHT_DYNAMIC, &sh))) {
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
			if (dyn.d_tag != DT_NEEDED)
				continue;
			name = elf_strptr(file.elf, sh.sh_link, dyn.d_un.d_val);
			if (name)
				each(ctx, name);
		}
	}
	close_file(&file);
}

/*
 * maple_image_mentions - whether @path has, or wants, a dynamic symbol whose
 * name begins with @beginning
 */
bool maple_image_mentions(const char *path, const char *beginning)
{
	struct file file = open_file(path);
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	const char *name;
	bool found = false;
	GElf_Shdr sh;
	GElf_Sym sym;

	while (!found && (scn = next_section(&file, scn, SHT_DYNSYM, &sh))) {
		data = elf_getdata(scn, NULL);
		for (int i = 1; data && !found && gelf_getsym(data, i, &sym);
		     i++) {
			name = elf_strptr(file.elf, sh.sh_link, sym.st_name);
			found = name &&
				!strncmp(name, beginning, strlen(beginning));
		}
	}
	close_file(&file);
	return found;
}
