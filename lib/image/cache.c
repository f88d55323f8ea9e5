// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What decoding an image has brought, kept in files for the campaigns to come:
 * a file for each image, by its build-id, and one more, BUILD-ID.pairs, when
 * somebody has asked what it tells before it runs. What it was made from, and
 * by which build of this tool, stands in it, and a hash of all; whatever does
 * not fit is as good as nothing and written anew. Nothing here is an error to
 * anyone: without the files, images are decoded.
 *
 *	header | counts | sites | groups | insns | locked | splits | frames |
 *hash header | counts | data | pairs | text of the data's names | hash
 *
 * The folder is private to its user, so the hash is against accidents only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "internal.h"

#define MAGIC	 0x4543414d49504d31ull
#define FORM	 5
#define ARRAYS	 6 /* of the part with most */
#define FOLDER	 "maple"
#define FILE_MAX (64ll << 20) /* bytes */
#define ALL_MAX	 (256ll << 20)

struct header {
	uint64_t magic;
	uint64_t form;
	uint64_t tool;	  /* which build has decoded */
	uint64_t content; /* ... what */
	uint64_t n[ARRAYS];
};

/* What a file holds of an image: its counts, and these arrays. */
struct part {
	const char *ending; /* of the file's name */
	size_t arrays, counts;
	size_t element[ARRAYS];
	size_t at[ARRAYS], counts_at; /* in struct maple_image */
};

static const struct part decoded = {
	.ending = "",
	.arrays = 6,
	.counts = sizeof(struct maple_image_stats),
	.counts_at = offsetof(struct maple_image, stats),
	.element = { sizeof(struct maple_table_site),
		     sizeof(struct maple_table_group),
		     sizeof(struct maple_table_insn),
		     sizeof(struct maple_locked),
		     sizeof(struct maple_table_split),
		     sizeof(struct maple_table_frame) },
	.at = { offsetof(struct maple_image, sites),
		offsetof(struct maple_image, groups),
		offsetof(struct maple_image, insns),
		offsetof(struct maple_image, locked),
		offsetof(struct maple_image, splits),
		offsetof(struct maple_image, frames) },
};

static const struct part beforehand = {
	.ending = ".pairs",
	.arrays = 3,
	.counts = sizeof(struct maple_static_stats),
	.counts_at = offsetof(struct maple_image, static_stats),
	.element = { sizeof(struct maple_datum),
		     sizeof(struct maple_static_pair), 1 },
	.at = { offsetof(struct maple_image, data),
		offsetof(struct maple_image, pairs),
		offsetof(struct maple_image, text) },
};

static struct maple_array *array_of(const struct part *part,
				    struct maple_image *image, size_t i)
{
	return (struct maple_array *)((char *)image + part->at[i]);
}

static void *counts_of(const struct part *part, struct maple_image *image)
{
	return (char *)image + part->counts_at;
}

/* The build-id of the object that this function is in, hashed; 0: it has none. */
static int add_tool(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t self = (uintptr_t)add_tool, at, end, *tool = ctx;
	const ElfW(Nhdr) * note;
	bool ours = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		ours |= info->dlpi_phdr[i].p_type == PT_LOAD && self >= at &&
			self - at < info->dlpi_phdr[i].p_memsz;
	}
	for (int i = 0; ours && i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		end = at + info->dlpi_phdr[i].p_memsz;
		while (at + sizeof(*note) <= end) {
			note = (const void *)(uintptr_t)at;
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3u);
			if (note->n_type == NT_GNU_BUILD_ID &&
			    note->n_namesz == 4)
				*tool = XXH3_64bits((const void *)(uintptr_t)at,
						    note->n_descsz);
			at += (note->n_descsz + 3) & ~3u;
		}
	}
	return ours;
}

/* What decoding depends on: before relocations are applied to it. */
static uint64_t content_of(const struct maple_image *image)
{
	XXH3_state_t *state = XXH3_createState();
	struct stat st = { 0 };
	uint64_t hash;

	fstat(image->fd, &st);
	XXH3_64bits_reset(state);
	/* Symbols are no part of segments; to strip them changes the size. */
	XXH3_64bits_update(state, &st.st_size, sizeof(st.st_size));
	for (unsigned int i = 0; i < image->nsegs; i++) {
		const struct maple_segment *seg = &image->seg[i];
		const uint64_t where[] = { seg->lo, seg->hi, seg->filesz,
					   seg->write, seg->exec };

		XXH3_64bits_update(state, where, sizeof(where));
		XXH3_64bits_update(state, seg->bytes, seg->filesz);
	}
	hash = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return hash;
}

static void fill_header(struct header *h, uint64_t content)
{
	memset(h, 0, sizeof(*h));
	h->magic = MAGIC;
	h->form = FORM;
	h->content = content;
	dl_iterate_phdr(add_tool, &h->tool);
}

/* Nothing of ours into somebody else's home, as under sudo. */
static void make_parent(const char *parent)
{
	const char *last = strrchr(parent, '/');
	char above[PATH_MAX];
	struct stat st;

	if (!last || last - parent >= PATH_MAX)
		return;
	memcpy(above, parent, last - parent);
	above[last - parent] = '\0';
	if (!stat(above, &st) && st.st_uid == geteuid())
		mkdir(parent, 0700);
}

/* The private folder in @parent, made if need be; -1 if there is none. */
static int open_folder(const char *parent, bool make)
{
	struct stat st;
	int at, fd;

	if (make)
		make_parent(parent);
	/* Who is in a sandbox may not list what else is there. */
	at = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -1;
	if (fstat(at, &st) || st.st_uid != geteuid()) {
		close(at);
		return -1;
	}
	if (make)
		mkdirat(at, FOLDER, 0700);
	fd = openat(at, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	close(at);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() ||
			st.st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* All bytes of a file whose hash is right; to be freed. */
static char *read_file(int folder, const char *name, size_t *size)
{
	int fd = openat(folder, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *bytes = NULL;
	uint64_t hash;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size >= (off_t)(sizeof(struct header) + sizeof(hash)) &&
	    st.st_size <= FILE_MAX)
		bytes = malloc(st.st_size);
	if (bytes && read(fd, bytes, st.st_size) == st.st_size) {
		*size = st.st_size - sizeof(hash);
		memcpy(&hash, bytes + *size, sizeof(hash));
		if (hash == XXH3_64bits(bytes, *size)) {
			futimens(fd, NULL); /* what is used stays longest */
			close(fd);
			return bytes;
		}
	}
	free(bytes);
	close(fd);
	return NULL;
}

static bool take(const struct part *part, struct maple_image *image,
		 const struct header *h, const char *bytes, size_t size)
{
	size_t at = sizeof(*h) + part->counts;

	if (size < at)
		return false;
	for (size_t i = 0; i < part->arrays; i++) {
		struct maple_array *array = array_of(part, image, i);
		size_t element = part->element[i];

		if (h->n[i] > (size - at) / element)
			return false;
		array->at = malloc(h->n[i] * element + 1);
		if (!array->at)
			return false;
		memcpy(array->at, bytes + at, h->n[i] * element);
		array->n = array->cap = h->n[i];
		at += h->n[i] * element;
	}
	memcpy(counts_of(part, image), bytes + sizeof(*h), part->counts);
	return at == size;
}

static void give_back(const struct part *part, struct maple_image *image)
{
	for (size_t i = 0; i < part->arrays; i++) {
		struct maple_array *array = array_of(part, image, i);

		free(array->at);
		*array = (struct maple_array){ 0 };
	}
	memset(counts_of(part, image), 0, part->counts);
}

static bool read_part(const struct part *part, struct maple_image *image,
		      const char *parent)
{
	int folder = open_folder(parent, false);
	struct header want, h;
	char name[256], *bytes = NULL;
	size_t size;
	bool taken = false;

	fill_header(&want, image->content);
	snprintf(name, sizeof(name), "%s%s", image->build_id, part->ending);
	if (folder >= 0) {
		bytes = read_file(folder, name, &size);
		close(folder);
	}
	if (bytes) {
		memcpy(&h, bytes, sizeof(h));
		taken = want.tool &&
			!memcmp(&h, &want, offsetof(struct header, n)) &&
			take(part, image, &h, bytes, size);
		free(bytes);
		if (!taken)
			give_back(part, image);
	}
	return taken;
}

/*
 * maple_image_cache_read - whether what was kept of @image in @parent's folder
 *                          is there, and filled in
 *
 * Context: its segments are loaded, and nothing has been done with them yet.
 */
bool maple_image_cache_read(struct maple_image *image, const char *parent)
{
	image->content = content_of(image);
	return read_part(&decoded, image, parent);
}

/*
 * maple_image_cache_take - the same of what it tells before it runs
 *
 * An image that was opened without a folder has nothing to be known by.
 */
bool maple_image_cache_take(struct maple_image *image, const char *parent)
{
	return image->content && read_part(&beforehand, image, parent);
}

/* Deletes what was not used for longest, until all of it is small enough. */
static void sweep(int folder)
{
	char oldest[NAME_MAX + 1];
	struct timespec then = { 0 };
	struct dirent *entry;
	struct stat st;
	long long all;
	DIR *dir;

	do {
		dir = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
		if (!dir)
			return;
		all = 0;
		*oldest = '\0';
		while ((entry = readdir(dir))) {
			if (fstatat(folder, entry->d_name, &st,
				    AT_SYMLINK_NOFOLLOW) ||
			    !S_ISREG(st.st_mode))
				continue;
			all += st.st_size;
			if (!*oldest || st.st_mtim.tv_sec < then.tv_sec) {
				then = st.st_mtim;
				snprintf(oldest, sizeof(oldest), "%s",
					 entry->d_name);
			}
		}
		closedir(dir);
	} while (all > ALL_MAX && !unlinkat(folder, oldest, 0));
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;
	ssize_t n;

	while (size) {
		n = write(fd, at, size);
		if (n <= 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

static bool write_image(const struct part *part, int fd,
			struct maple_image *image, struct header *h)
{
	size_t size = sizeof(*h) + part->counts, at = size;
	uint64_t hash;
	char *bytes;
	bool done;

	for (size_t i = 0; i < part->arrays; i++) {
		h->n[i] = array_of(part, image, i)->n;
		size += h->n[i] * part->element[i];
	}
	bytes = size < FILE_MAX ? malloc(size) : NULL;
	if (!bytes)
		return false;
	memcpy(bytes, h, sizeof(*h));
	memcpy(bytes + sizeof(*h), counts_of(part, image), part->counts);
	for (size_t i = 0; i < part->arrays; i++) {
		size_t n = h->n[i] * part->element[i];

		if (n)
			memcpy(bytes + at, array_of(part, image, i)->at, n);
		at += n;
	}
	hash = XXH3_64bits(bytes, size);
	done = write_all(fd, bytes, size) && write_all(fd, &hash, sizeof(hash));
	free(bytes);
	return done;
}

static void write_part(const struct part *part, struct maple_image *image,
		       const char *parent)
{
	int folder = open_folder(parent, true), fd;
	struct header h;
	char name[64], last[256];
	bool done;

	if (folder < 0)
		return;
	fill_header(&h, image->content);
	/* Threads of one process, and processes in containers, may be at it. */
	snprintf(name, sizeof(name), ".new-%d-%lx", getpid(),
		 (unsigned long)(uintptr_t)image);
	snprintf(last, sizeof(last), "%s%s", image->build_id, part->ending);
	fd = h.tool ? openat(folder, name,
			     O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
				     O_CLOEXEC,
			     0600)
		    : -1;
	if (fd >= 0) {
		done = write_image(part, fd, image, &h);
		done &= !close(fd);
		if (!done || renameat(folder, name, folder, last))
			unlinkat(folder, name, 0);
		sweep(folder);
	}
	close(folder);
}

/*
 * maple_image_cache_write - keeps what was decoded of @image in the folder
 *                           "maple" in @parent, after maple_image_cache_read()
 */
void maple_image_cache_write(struct maple_image *image, const char *parent)
{
	write_part(&decoded, image, parent);
}

/* maple_image_cache_keep - the same of what it tells before it runs */
void maple_image_cache_keep(struct maple_image *image, const char *parent)
{
	if (image->content)
		write_part(&beforehand, image, parent);
}

/*
 * maple_image_cache_home - where such things go by the rules of the desktop;
 *                          NULL: nowhere, or to be freed
 */
char *maple_image_cache_home(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *parent;

	if (cache && *cache == '/')
		return strdup(cache);
	if (!home || *home != '/' || asprintf(&parent, "%s/.cache", home) < 0)
		return NULL;
	return parent;
}

/*
 * maple_image_cache_place - makes the folder in @parent that they are kept in
 * @path: its name, to be freed; NULL: there is none
 *
 * Returns 0 or -ENOMEM.
 */
int maple_image_cache_place(const char *parent, char **path)
{
	int fd = open_folder(parent, true);

	*path = NULL;
	if (fd < 0)
		return 0;
	close(fd);
	if (asprintf(path, "%s/" FOLDER, parent) >= 0)
		return 0;
	*path = NULL;
	return -ENOMEM;
}
