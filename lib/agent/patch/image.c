// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The loaded images: their list in shared memory, the campaign's tables for
 * them, and whose address is whose. An image keeps its index from run to run
 * by path and build-id.
 */
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "agent/core.h"
#include "patch.h"
#include "agent/raw.h"

#define ANSWER_MS 10000 /* how long the campaign may take to decode */

static uint32_t scanning; /* lock: one scan at a time */
static bool any_new;
static uint32_t seen[MAPLE_SHM_IMAGES]; /* by index: number of the scan */
static bool is_patched[MAPLE_SHM_IMAGES];
static uint32_t scan_number;
/* Those of an enforced run, which looks into them all the time. */
static const struct maple_table *table_of[MAPLE_SHM_IMAGES];

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, unsigned int n)
{
	while (n && *a == *b)
		a++, b++, n--;
	return !n;
}

static void copy_text(char *to, const char *from, unsigned int size)
{
	unsigned int i;

	for (i = 0; i + 1 < size && from[i]; i++)
		to[i] = from[i];
	to[i] = 0;
}

static void fill_build_id(struct maple_shm_image *im, const ElfW(Phdr) * ph,
			  uint64_t bias)
{
	uint64_t at = bias + ph->p_vaddr, end = at + ph->p_memsz;
	const ElfW(Nhdr) * note;
	const uint8_t *desc;

	for (; at + sizeof(*note) <= end;) {
		note = (const void *)at;
		desc = (const uint8_t *)(note + 1) +
		       ((note->n_namesz + 3) & ~3u);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    note->n_descsz <= MAPLE_SHM_BUILD_ID) {
			for (uint32_t i = 0; i < note->n_descsz; i++)
				im->build_id[i] = desc[i];
			im->build_id_len = note->n_descsz;
			return;
		}
		at = (uint64_t)desc + ((note->n_descsz + 3) & ~3u);
	}
}

static void fill_path(struct maple_shm_image *im, const char *name)
{
	unsigned int n = 0;
	long len;

	if (im->is_main) {
		len = raw3(SYS_readlink, "/proc/self/exe", im->path,
			   sizeof(im->path) - 1);
		im->path[raw_failed(len) ? 0 : len] = 0;
		return;
	}
	if (*name != '/') {
		len = raw2(SYS_getcwd, im->path, sizeof(im->path));
		n = raw_failed(len) ? 0 : len - 1;
		if (n + 1 < sizeof(im->path))
			im->path[n++] = '/';
	}
	copy_text(im->path + n, name, sizeof(im->path) - n);
}

/* Loaded from a descriptor of some process's. */
static bool is_descriptor(const char *name)
{
	static const char proc[] = "/proc/";
	unsigned int i = 0;

	while (proc[i] && proc[i] == name[i])
		i++;
	return !proc[i];
}

static int add_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
	static struct maple_shm_image im; /* under the lock; too big for stacks */
	struct maple_shm *shm = maple_shm;
	unsigned int *nth = ctx, i;
	uint64_t self = (uint64_t)add_image;
	const ElfW(Phdr) * ph;

	im = (struct maple_shm_image){ .bias = info->dlpi_addr,
				       .lo = ~0ull,
				       .is_main = (*nth)++ == 0 };
	if (!im.is_main &&
	    (!*info->dlpi_name || same(info->dlpi_name, "linux-vdso.so.1")))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		ph = &info->dlpi_phdr[i];
		if (ph->p_type == PT_NOTE)
			fill_build_id(&im, ph, im.bias);
		if (ph->p_type != PT_LOAD)
			continue;
		if (im.bias + ph->p_vaddr < im.lo)
			im.lo = im.bias + ph->p_vaddr;
		if (im.bias + ph->p_vaddr + ph->p_memsz > im.hi)
			im.hi = im.bias + ph->p_vaddr + ph->p_memsz;
	}
	if (self >= im.lo && self < im.hi)
		return 0;
	/* Another copy of us, which an earlier run had to leave behind. */
	if (maple_joined && is_descriptor(info->dlpi_name))
		return 0;
	fill_path(&im, info->dlpi_name);
	for (i = 0; i < shm->nimages; i++)
		if (same(shm->image[i].path, im.path) &&
		    same_bytes(shm->image[i].build_id, im.build_id,
			       MAPLE_SHM_BUILD_ID))
			break;
	if (i < shm->nimages && seen[i] == scan_number)
		return 0; /* a second copy, by dlmopen() */
	if (i == MAPLE_SHM_IMAGES) {
		shm->stats.images_over++;
		return 0;
	}
	if (i == shm->nimages) {
		shm->image[i] = im;
		__atomic_store_n(&shm->nimages, i + 1, __ATOMIC_RELEASE);
	}
	if (is_patched[i] && shm->image[i].bias != im.bias) {
		maple_patch_forget(shm->image[i].bias);
		is_patched[i] = false;
	}
	shm->image[i].bias = im.bias;
	shm->image[i].lo = im.lo;
	shm->image[i].hi = im.hi;
	shm->image[i].is_main = im.is_main;
	shm->image[i].loaded = 1;
	seen[i] = scan_number;
	any_new |= shm->image[i].state == MAPLE_IMAGE_NEW;
	return 0;
}

/* Has the campaign look at the new images; goes on without it at last. */
static void ask(void)
{
	struct maple_shm *shm = maple_shm;
	uint64_t end = raw_now_ms() + ANSWER_MS;
	uint32_t asked = __atomic_add_fetch(&shm->asks, 1, __ATOMIC_ACQ_REL);
	uint32_t got;

	raw_futex_wake(&shm->asks);
	for (;;) {
		got = __atomic_load_n(&shm->answers, __ATOMIC_ACQUIRE);
		if ((int32_t)(got - asked) >= 0 || raw_now_ms() >= end)
			return;
		raw_futex_wait(&shm->answers, got, 100);
	}
}

static bool table_fits(const struct maple_table *t, uint64_t left)
{
	return t->magic == MAPLE_TABLE_MAGIC &&
	       t->version == MAPLE_TABLE_VERSION && t->size <= left &&
	       t->sites_at + t->nsites * sizeof(struct maple_table_site) <=
		       t->size &&
	       t->insns_at + t->ninsns * sizeof(struct maple_table_insn) <=
		       t->size &&
	       t->groups_at + t->ngroups * sizeof(struct maple_table_group) <=
		       t->size &&
	       t->splits_at + t->nsplits * sizeof(struct maple_table_split) <=
		       t->size &&
	       t->frames_at + t->nframes * sizeof(struct maple_table_frame) <=
		       t->size;
}

/* The campaign's file. Runs of a stem find it mapped. */
static struct {
	uint64_t at, size;
} tables;

/* But where some thread may be looking into them, for good. */
static void unmap_tables(void)
{
	if (tables.size && maple_shm->mode != MAPLE_SHM_ENFORCE)
		raw2(SYS_munmap, tables.at, tables.size);
	tables.size = 0;
}

/* It only grows; a table is behind the end of what is mapped, or all there. */
static bool has_all_tables(const struct maple_shm *shm)
{
	for (uint32_t i = 0; i < shm->nimages; i++)
		if (shm->image[i].state == MAPLE_IMAGE_READY &&
		    shm->image[i].table_at >= tables.size)
			return false;
	return tables.size;
}

static bool map_tables(const struct maple_shm *shm)
{
	struct stat st;
	long fd, at;

	if (has_all_tables(shm))
		return true;
	unmap_tables();
	fd = raw3(SYS_open, shm->tables, O_RDONLY | O_CLOEXEC, 0);
	if (raw_failed(fd))
		return false;
	at = raw_failed(raw2(SYS_fstat, fd, &st)) || !st.st_size
		     ? -1
		     : raw6(SYS_mmap, 0, st.st_size, PROT_READ, MAP_SHARED, fd,
			    0);
	raw1(SYS_close, fd);
	if (raw_failed(at))
		return false;
	tables.at = at;
	tables.size = st.st_size;
	return true;
}

/* Those that are patched already take on what is this run's own. */
static void patch_ready(void)
{
	struct maple_shm *shm = maple_shm;
	const struct maple_table *t;

	if (!map_tables(shm))
		return;
	for (uint32_t i = 0; i < shm->nimages; i++) {
		struct maple_shm_image *im = &shm->image[i];

		if (im->state != MAPLE_IMAGE_READY || !im->loaded ||
		    im->table_at + sizeof(*t) > tables.size)
			continue;
		t = (const void *)(tables.at + im->table_at);
		if (!table_fits(t, tables.size - im->table_at))
			continue;
		if (shm->mode == MAPLE_SHM_ENFORCE)
			table_of[i] = t;
		if (is_patched[i]) {
			maple_patch_again(im, t);
			continue;
		}
		is_patched[i] = true;
		maple_patch_image(im, t);
	}
	if (shm->stem == MAPLE_STEM_NONE && !maple_joined)
		unmap_tables();
}

static bool patches(const struct maple_shm *shm)
{
	return shm->mode == MAPLE_SHM_OBSERVE ||
	       shm->mode == MAPLE_SHM_ENFORCE || shm->mode == MAPLE_SHM_CONTROL;
}

/*
 * maple_image_scan - brings the list up to date, asks for what is missing,
 * patches what is ready
 */
void maple_image_scan(void)
{
	struct maple_shm *shm = maple_shm;
	unsigned int nth = 0;

	maple_lock_take(&scanning);
	any_new = false;
	scan_number++;
	dl_iterate_phdr(add_image, &nth);
	for (uint32_t i = 0; i < shm->nimages; i++) {
		if (seen[i] == scan_number)
			continue;
		shm->image[i].loaded = 0;
		if (is_patched[i])
			maple_patch_forget(shm->image[i].bias);
		is_patched[i] = false;
	}
	if (any_new)
		ask();
	if (patches(shm))
		patch_ready();
	maple_lock_give(&scanning);
}

/*
 * maple_image_list - in a process that was joined: says which images there are,
 * and asks for their tables, which maple_image_patch() is to find
 */
void maple_image_list(void)
{
	unsigned int nth = 0;

	scan_number++;
	dl_iterate_phdr(add_image, &nth);
	__atomic_add_fetch(&maple_shm->asks, 1, __ATOMIC_ACQ_REL);
}

/* maple_image_patch - patches what was listed and is ready */
void maple_image_patch(void)
{
	if (patches(maple_shm))
		patch_ready();
}

/* maple_image_unmap - the campaign's tables, which nobody looks into any more */
void maple_image_unmap(void)
{
	if (tables.size)
		raw2(SYS_munmap, tables.at, tables.size);
	tables.size = 0;
}

/* maple_image_start - the first scan of this run */
void maple_image_start(void)
{
	for (uint32_t i = 0; i < maple_shm->nimages; i++) {
		maple_shm->image[i].patched = 0;
		maple_shm->image[i].unpatched = 0;
	}
	maple_image_scan();
}

/* Where the images are in a stem, and what is patched in them. */
static struct {
	uint64_t bias, lo, hi;
	uint32_t loaded, is_main, patched, unpatched;
} kept[MAPLE_SHM_IMAGES];
static uint32_t nkept;

/* maple_image_keep - as the images are now they are in every forked run */
void maple_image_keep(void)
{
	map_tables(maple_shm);
	const struct maple_shm_image *im = maple_shm->image;

	for (nkept = 0; nkept < maple_shm->nimages; nkept++, im++) {
		kept[nkept].bias = im->bias;
		kept[nkept].lo = im->lo;
		kept[nkept].hi = im->hi;
		kept[nkept].loaded = im->loaded;
		kept[nkept].is_main = im->is_main;
		kept[nkept].patched = im->patched;
		kept[nkept].unpatched = im->unpatched;
	}
}

/*
 * maple_image_again - in a run that was forked: says where its images are, and
 * patches what this run needs
 */
void maple_image_again(void)
{
	struct maple_shm_image *im = maple_shm->image;

	for (uint32_t i = 0; i < nkept; i++, im++) {
		im->bias = kept[i].bias;
		im->lo = kept[i].lo;
		im->hi = kept[i].hi;
		im->loaded = kept[i].loaded;
		im->is_main = kept[i].is_main;
		im->patched = kept[i].patched;
		im->unpatched = kept[i].unpatched;
	}
	if (patches(maple_shm))
		patch_ready();
}

/* maple_image_table_of - of image @i, in an enforced run; NULL: it has none */
const struct maple_table *maple_image_table_of(uint32_t i)
{
	return i < MAPLE_SHM_IMAGES ? table_of[i] : NULL;
}

/* maple_image_of - index of the image that @addr is in, or ~0 */
uint32_t maple_image_of(uint64_t addr, uint64_t *offset)
{
	const struct maple_shm_image *im = maple_shm->image;

	for (uint32_t i = 0; i < maple_shm->nimages; i++) {
		if (im[i].loaded && addr >= im[i].lo && addr < im[i].hi) {
			*offset = addr - im[i].bias;
			return i;
		}
	}
	*offset = addr;
	return ~0u;
}

void maple_agent_images(void)
{
	if (!maple_shm)
		return;
	maple_agent_enter();
	maple_image_scan();
	maple_agent_leave();
}
