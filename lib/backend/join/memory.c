// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is in a process's memory, and where functions are in it. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "image/image.h"
#include "join.h"

/* The one process that this one may reach; 0: any. */
static pid_t only;

/* maple_memory_bind - from now on no process is reached but @pid */
void maple_memory_bind(pid_t pid)
{
	only = pid;
}

/* maple_memory_is_bound - whether @pid must not be reached */
bool maple_memory_is_bound(pid_t pid)
{
	return only && pid != only;
}

static int open_memory(pid_t pid, int how)
{
	char path[32];

	if (maple_memory_is_bound(pid)) {
		errno = EPERM;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, how | O_CLOEXEC);
}

/* maple_memory_read - @n bytes at @at of process @pid */
bool maple_memory_read(pid_t pid, uint64_t at, void *to, size_t n)
{
	int fd = open_memory(pid, O_RDONLY);
	bool all;

	if (fd < 0)
		return false;
	all = pread(fd, to, n, (off_t)at) == (ssize_t)n;
	close(fd);
	return all;
}

/* maple_memory_write - the same the other way, into code as well */
bool maple_memory_write(pid_t pid, uint64_t at, const void *from, size_t n)
{
	int fd = open_memory(pid, O_WRONLY);
	bool all;

	if (fd < 0)
		return false;
	all = pwrite(fd, from, n, (off_t)at) == (ssize_t)n;
	close(fd);
	return all;
}

static bool parse(const char *line, struct maple_memory_map *m)
{
	unsigned long long lo, hi, offset;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &lo, &hi, perms,
		   &offset, &at) < 4)
		return false;
	m->lo = lo;
	m->hi = hi;
	m->offset = offset;
	m->write = perms[1] == 'w';
	m->exec = perms[2] == 'x';
	snprintf(m->path, sizeof(m->path), "%.255s", at ? line + at : "");
	m->path[strcspn(m->path, "\n")] = '\0';
	m->file = m->path[0] == '/';
	return true;
}

/* maple_memory_maps - each mapping of @pid; 0, or -errno */
int maple_memory_maps(pid_t pid,
		      bool (*each)(void *ctx, const struct maple_memory_map *m),
		      void *ctx)
{
	struct maple_memory_map m;
	char path[32], line[4352];
	FILE *file;

	if (maple_memory_is_bound(pid))
		return -EPERM;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (parse(line, &m) && !each(ctx, &m))
			break;
	fclose(file);
	return 0;
}

static uint64_t symbol_in(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	const char *text;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM ||
		    !data || !sh.sh_entsize)
			continue;
		for (size_t i = 0; i < sh.sh_size / sh.sh_entsize; i++) {
			if (!gelf_getsym(data, (int)i, &sym) ||
			    sym.st_shndx == SHN_UNDEF)
				continue;
			text = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (text && !strcmp(text, name))
				return sym.st_value;
		}
	}
	return 0;
}

/* maple_memory_symbol - the ELF address of @name in the file @path; or 0 */
uint64_t maple_memory_symbol(const char *path, const char *name)
{
	int fd;
	Elf *elf = maple_image_elf(path, &fd);
	uint64_t at;

	if (!elf)
		return 0;
	at = symbol_in(elf, name);
	elf_end(elf);
	close(fd);
	return at;
}

/* maple_memory_extent - how much memory the library @path takes; or 0 */
uint64_t maple_memory_extent(const char *path)
{
	int fd;
	Elf *elf = maple_image_elf(path, &fd);
	uint64_t end = 0;
	size_t n = 0;
	GElf_Phdr ph;

	if (!elf)
		return 0;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    ph.p_vaddr + ph.p_memsz > end)
			end = ph.p_vaddr + ph.p_memsz;
	elf_end(elf);
	close(fd);
	return (end + 4095) & ~4095ull;
}

struct library {
	const char *name;
	struct maple_memory_map map;
};

static bool find_library(void *ctx, const struct maple_memory_map *m)
{
	const char *base = strrchr(m->path, '/');
	struct library *library = ctx;

	if (!m->file || m->offset || strcmp(base + 1, library->name))
		return true;
	library->map = *m;
	return false;
}

static uint64_t symbol_of(pid_t pid, const char *file, const char *name)
{
	struct library library = { file, { 0 } };
	const struct maple_memory_map *m = &library.map;
	char path[64];
	uint64_t at;

	if (maple_memory_maps(pid, find_library, &library) || !m->hi)
		return 0;
	/* The file that is mapped, whatever stands under its name now. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)m->lo, (unsigned long long)m->hi);
	at = maple_memory_symbol(path, name);
	if (!at)
		at = maple_memory_symbol(m->path, name);
	return at ? m->lo + at : 0;
}

/* maple_memory_libc - where libc's @name is in process @pid; 0: nowhere */
uint64_t maple_memory_libc(pid_t pid, const char *name)
{
	return symbol_of(pid, "libc.so.6", name);
}

/* maple_memory_loader - where its loader's @name is */
uint64_t maple_memory_loader(pid_t pid, const char *name)
{
	return symbol_of(pid, "ld-linux-x86-64.so.2", name);
}

/* maple_memory_is_copy - whether @m is of a copy of the agent */
bool maple_memory_is_copy(const struct maple_memory_map *m)
{
	return strstr(m->path, "memfd:" MAPLE_JOIN_COPY);
}
