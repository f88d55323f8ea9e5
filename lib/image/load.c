// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The loadable parts of an ELF file, read into memory of our own: the file
 * may change under us. Program headers alone decide, as they do for the
 * kernel; section headers may be missing or wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "internal.h"

/* Addresses are 32-bit in the patch table. */
#define ADDRESS_MAX 0xffffffffull

/*
 * maple_image_bytes - the @size bytes of the file that are loaded at @addr;
 * NULL unless all of them are in one segment
 */
const uint8_t *maple_image_bytes(const struct maple_image *image, uint64_t addr,
				 uint64_t size)
{
	for (unsigned int i = 0; i < image->nsegs; i++) {
		const struct maple_segment *seg = &image->seg[i];

		if (addr >= seg->lo && addr - seg->lo <= seg->filesz &&
		    size <= seg->filesz - (addr - seg->lo))
			return seg->bytes + (addr - seg->lo);
	}
	return NULL;
}

/* maple_image_section - the header @sh of section @name, where the file says it */
bool maple_image_section(const struct maple_image *image, const char *name,
			 GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	const char *its;
	size_t names;

	if (!image->elf || elf_getshdrstrndx(image->elf, &names))
		return false;
	while ((scn = elf_nextscn(image->elf, scn))) {
		its = gelf_getshdr(scn, sh)
			      ? elf_strptr(image->elf, names, sh->sh_name)
			      : NULL;
		if (its && !strcmp(its, name))
			return true;
	}
	return false;
}

/* maple_image_read_only - whether @addr cannot be written once main runs */
bool maple_image_read_only(const struct maple_image *image, uint64_t addr)
{
	if (addr >= image->relro_lo && addr < image->relro_hi)
		return true;
	for (unsigned int i = 0; i < image->nsegs; i++)
		if (addr >= image->seg[i].lo && addr < image->seg[i].hi)
			return !image->seg[i].write;
	return false;
}

static int read_at(int fd, void *buf, uint64_t size, uint64_t offset)
{
	while (size) {
		ssize_t got = pread(fd, buf, size, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -ENODATA;
		buf = (char *)buf + got;
		size -= got;
		offset += got;
	}
	return 0;
}

static int load_segment(struct maple_image *image, const Elf64_Phdr *ph,
			uint64_t file_size, struct maple_error *err)
{
	struct maple_segment *seg = &image->seg[image->nsegs];
	const char *path = image->path;
	int ret;

	if (!ph->p_memsz)
		return 0;
	if (image->nsegs == MAPLE_IMAGE_SEGMENTS)
		return maple_error_set(err, ENOEXEC, "%s: more than %d segments",
				       path, MAPLE_IMAGE_SEGMENTS);
	if (ph->p_vaddr > ADDRESS_MAX || ph->p_memsz > ADDRESS_MAX - ph->p_vaddr)
		return maple_error_set(err, ENOEXEC,
				       "%s: a segment at 0x%llx, beyond 4 GiB",
				       path, (unsigned long long)ph->p_vaddr);
	if (ph->p_filesz > ph->p_memsz)
		return maple_error_set(err, ENOEXEC,
				       "%s: damaged program headers", path);
	if (ph->p_offset > file_size || ph->p_filesz > file_size - ph->p_offset)
		return maple_error_set(err, ENOEXEC,
				       "%s: truncated: a segment"
				       " ends beyond the file's end",
				       path);

	seg->bytes = malloc(ph->p_filesz + 1);
	if (!seg->bytes)
		return maple_error_set(err, ENOMEM, "%s: out of memory", path);
	seg->lo = ph->p_vaddr;
	seg->hi = ph->p_vaddr + ph->p_memsz;
	seg->filesz = ph->p_filesz;
	seg->write = ph->p_flags & PF_W;
	seg->exec = ph->p_flags & PF_X;
	image->nsegs++;
	ret = read_at(image->fd, seg->bytes, ph->p_filesz, ph->p_offset);
	if (ret)
		return maple_error_set(err, -ret, "%s: cannot read: %s", path,
				       strerror(-ret));
	return 0;
}

static int load_segments(struct maple_image *image, const Elf64_Phdr *ph,
			 unsigned int n, uint64_t file_size,
			 struct maple_error *err)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < n; i++) {
		int ret;

		switch (ph[i].p_type) {
		case PT_LOAD:
			/* Overlaps must not make us read for ever. */
			if (ph[i].p_filesz <= file_size)
				total += ph[i].p_filesz;
			if (total > 2 * file_size)
				return maple_error_set(
					err, ENOEXEC,
					"%s: damaged program headers",
					image->path);
			ret = load_segment(image, &ph[i], file_size, err);
			if (ret)
				return ret;
			break;
		case PT_GNU_RELRO:
			if (ph[i].p_memsz > UINT64_MAX - ph[i].p_vaddr)
				break;
			image->relro_lo = ph[i].p_vaddr;
			image->relro_hi = ph[i].p_vaddr + ph[i].p_memsz;
			break;
		case PT_GNU_EH_FRAME:
			image->frame_hdr = ph[i].p_vaddr;
			break;
		case PT_DYNAMIC:
			image->dynamic = ph[i].p_vaddr;
			image->dynamic_size = ph[i].p_filesz;
			break;
		}
	}
	return 0;
}

static int check_header(const Elf64_Ehdr *eh, const char *path,
			struct maple_error *err)
{
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG))
		return maple_error_set(err, ENOEXEC, "%s: not an ELF file",
				       path);
	if (eh->e_ident[EI_CLASS] == ELFCLASS32)
		return maple_error_set(err, ENOEXEC,
				       "%s: a 32-bit program; only x86-64 can"
				       " be observed",
				       path);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_machine != EM_X86_64)
		return maple_error_set(err, ENOEXEC,
				       "%s: built for another machine (%u);"
				       " only x86-64 can be observed",
				       path, eh->e_machine);
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return maple_error_set(err, ENOEXEC,
				       "%s: neither a program nor a shared"
				       " library",
				       path);
	if (eh->e_phentsize != sizeof(Elf64_Phdr) || !eh->e_phnum ||
	    eh->e_phnum == PN_XNUM)
		return maple_error_set(err, ENOEXEC,
				       "%s: no usable program headers", path);
	return 0;
}

/*
 * The one executable segment that is decoded: there are linkers that make
 * several, but then one has the code.
 */
static int find_text(struct maple_image *image, struct maple_error *err)
{
	uint64_t words;

	for (unsigned int i = 0; i < image->nsegs; i++) {
		const struct maple_segment *seg = &image->seg[i];

		if (!seg->exec)
			continue;
		if (seg->filesz > image->text_hi - image->text_lo) {
			image->text_lo = seg->lo;
			image->text_hi = seg->lo + seg->filesz;
		}
	}
	if (image->text_lo == image->text_hi)
		return maple_error_set(err, ENOEXEC,
				       "%s: no code: nothing in it is"
				       " executable",
				       image->path);
	words = (image->text_hi - image->text_lo) / 64 + 1;
	image->targets = calloc(words, sizeof(*image->targets));
	image->starts = calloc(words, sizeof(*image->starts));
	if (!image->targets || !image->starts)
		return maple_error_set(err, ENOMEM, "%s: out of memory",
				       image->path);
	return 0;
}

int maple_image_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), e;
	struct stat st;

	if (fd < 0)
		return -errno;
	e = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -ENOEXEC;
	if (!e)
		return fd;
	close(fd);
	return e;
}

Elf *maple_image_elf(const char *path, int *fd)
{
	Elf *elf;

	*fd = maple_image_file(path);
	if (*fd < 0) {
		errno = -*fd;
		return NULL;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(*fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF &&
	    gelf_getclass(elf) == ELFCLASS64)
		return elf;
	elf_end(elf);
	close(*fd);
	errno = ENOEXEC;
	return NULL;
}

/*
 * maple_image_load - opens image->path, reads its segments, finds its text
 */
int maple_image_load(struct maple_image *image, struct maple_error *err)
{
	const char *path = image->path;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	struct stat st;
	int ret;

	image->fd = maple_image_file(path);
	if (image->fd == -ENOEXEC)
		return maple_error_set(err, ENOEXEC, "%s: not a regular file",
				       path);
	ret = image->fd < 0 ? image->fd : fstat(image->fd, &st) ? -errno : 0;
	if (ret)
		return maple_error_set(err, -ret, "%s: cannot open: %s", path,
				       strerror(-ret));
	ret = read_at(image->fd, &eh, sizeof(eh), 0);
	if (ret == -ENODATA)
		return maple_error_set(err, ENOEXEC, "%s: not an ELF file",
				       path);
	if (ret)
		return maple_error_set(err, -ret, "%s: cannot read: %s", path,
				       strerror(-ret));
	ret = check_header(&eh, path, err);
	if (ret)
		return ret;
	image->type = eh.e_type;
	image->entry = eh.e_entry;

	ph = calloc(eh.e_phnum, sizeof(*ph));
	if (!ph)
		return maple_error_set(err, ENOMEM, "%s: out of memory", path);
	if (read_at(image->fd, ph, eh.e_phnum * sizeof(*ph), eh.e_phoff))
		ret = maple_error_set(err, ENOEXEC,
				      "%s: truncated: no program"
				      " headers",
				      path);
	else
		ret = load_segments(image, ph, eh.e_phnum, st.st_size, err);
	free(ph);
	return ret ? ret : find_text(image, err);
}
