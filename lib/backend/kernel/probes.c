// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From sites to probes. A site is known by its ELF address, as lib/image has
 * decoded it; a probe stands at an offset in the file, which is what the
 * kernel knows. Both meet in the program headers.
 *
 * The kernel refuses to probe an instruction with a LOCK prefix. The one
 * before it stands in (AHEAD), or the one behind (BEHIND), where the access
 * is already done; a site without such a neighbour has no probe. Nor has one
 * that the kernel cannot step (step.c).
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernel.h"

#define SEGMENTS_MAX 64

struct segment {
	uint64_t offset, address, size;
};

struct maple_probe_maker {
	const struct maple_image *image;
	int fd;
	unsigned int nsegments;
	struct segment segment[SEGMENTS_MAX]; /* executable ones */
};

static int read_segments(struct maple_probe_maker *maker, int fd)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	assert(!maker->nsegments); /* an image has one set of them */
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_phentsize != sizeof(ph))
		return -ENOEXEC;
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) !=
		    sizeof(ph))
			return -ENOEXEC;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (maker->nsegments == SEGMENTS_MAX)
			return -E2BIG;
		maker->segment[maker->nsegments++] =
			(struct segment){ ph.p_offset, ph.p_vaddr, ph.p_filesz };
	}
	return 0;
}

/*
 * maple_probe_maker_create - makes probes for the sites of @image
 *
 * @image must outlive the maker. Errors: -ENOEXEC, or what open() says.
 */
int maple_probe_maker_create(struct maple_image *image,
			     struct maple_probe_maker **maker,
			     struct maple_error *err)
{
	const char *path = maple_image_path(image);
	int fd = maple_image_file(path), e;

	if (fd < 0)
		return maple_error_set(err, -fd, "%s: cannot open: %s", path,
				       strerror(-fd));
	*maker = calloc(1, sizeof(**maker));
	if (!*maker) {
		close(fd);
		return maple_error_set(err, ENOMEM, "%s: out of memory", path);
	}
	(*maker)->image = image;
	(*maker)->fd = fd;
	e = read_segments(*maker, fd);
	if (!e)
		return 0;
	maple_probe_maker_destroy(*maker);
	*maker = NULL;
	return maple_error_set(err, -e, "%s: its program headers are of no use",
			       path);
}

/*
 * maple_probe_offset - where in the file the code of ELF address @address
 * stands; false if it stands nowhere
 */
bool maple_probe_offset(const struct maple_probe_maker *maker, uint64_t address,
			uint64_t *offset)
{
	const struct segment *s;

	for (unsigned int i = 0; i < maker->nsegments; i++) {
		s = &maker->segment[i];
		if (address >= s->address && address - s->address < s->size) {
			*offset = address - s->address + s->offset;
			return true;
		}
	}
	return false;
}

/* Which instruction is probed for the site; 0 if none can be. */
static uint32_t stand_in(const struct maple_image *image, uint32_t index,
			 const struct maple_table_site *site,
			 struct maple_uapi_probe *probe)
{
	struct maple_locked locked;

	if (!maple_image_locked(image, index, &locked))
		return site->offset;
	if (locked.ahead) {
		probe->flags |= MAPLE_PROBE_AHEAD;
		return locked.ahead;
	}
	if (locked.behind)
		probe->flags |= MAPLE_PROBE_BEHIND;
	return locked.behind;
}

/*
 * maple_probe_make - the probe for site @index of the maker's image
 * @number: of the site, in the registry
 *
 * Probes at one offset are in the order of their sites, except that what
 * stands AHEAD of its own comes after what is at home there.
 * Errors: -EOPNOTSUPP when no probe can be there, -ENOENT when there is no
 * such site.
 */
int maple_probe_make(const struct maple_probe_maker *maker, uint32_t index,
		     uint32_t number, struct maple_uapi_probe *probe)
{
	const struct maple_table_site *site;
	uint64_t offset, next;
	uint32_t n, at;

	site = maple_image_sites(maker->image, &n);
	if (index >= n)
		return -ENOENT;
	site += index;
	*probe = (struct maple_uapi_probe){
		.disp = site->disp,
		.number = number,
		.size = site->size,
		.kind = site->kind,
		.after = MAPLE_EV_NONE,
		.base = site->base,
		.index = site->index,
		.scale = site->scale,
		.aux = MAPLE_REG_ABSENT,
	};
	at = stand_in(maker->image, index, site, probe);
	if (!at || !maple_probe_offset(maker, at, &offset) ||
	    !maple_probe_offset(maker, site->offset + site->length, &next) ||
	    !maple_step_can(maker->fd, offset))
		return -EOPNOTSUPP;
	probe->offset = offset;
	/* Late is better than never. */
	maple_step_on(maker->fd, &next, false);
	probe->next = next;
	if (site->flags & MAPLE_SITEF_ATOMIC)
		probe->flags |= MAPLE_PROBE_ATOMIC;
	if (site->flags & MAPLE_SITEF_REP)
		probe->flags |= MAPLE_PROBE_REP;
	if (site->flags & MAPLE_SITEF_RIPREL) {
		probe->flags |= MAPLE_PROBE_RIP;
		probe->disp -= at;
	}
	return 0;
}

void maple_probe_maker_destroy(struct maple_probe_maker *maker)
{
	if (!maker)
		return;
	close(maker->fd);
	free(maker);
}
