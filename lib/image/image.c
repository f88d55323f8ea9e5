// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Opening an image. The file is a stranger's: every offset and size in it is
 * checked against what was read before it is used. The work, in order:
 *
 *   segments      the loadable parts, read into memory         (load.c)
 *   relocations   applied to them, so that pointers show       (reloc.c)
 *   functions     ranges, from call frames and symbols         (function.c)
 *   decoding      instructions and sites, range by range       (decode.c)
 *   edges         where control may enter besides              (edges.c)
 *   neighbours    what stands in for a LOCK prefix             (locked.c)
 *   splits        read-modify-writes in two halves             (split.c)
 *   groups        what moves together, one jump each           (group.c)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>
#include <xxhash.h>
#include "base/array.h"
#include "internal.h"

#define BUILD_ID_MAX 64 /* bytes; 20 are usual */

/* maple_array_more - room for one more element of @size bytes; NULL: none */
void *maple_array_more(struct maple_array *array, size_t size)
{
	if (array->n == array->cap) {
		size_t cap = array->cap ? array->cap * 2 : 256;
		void *at = reallocarray(array->at, cap, size);

		if (!at)
			return NULL;
		array->at = at;
		array->cap = cap;
	}
	return (char *)array->at + array->n++ * size;
}

static char *hex(const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *text = calloc(1, 2 * n + 1);

	for (size_t i = 0; text && i < n; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	return text;
}

/* What stands for a build-id lasts until the file is made anew. */
static char *stand_in(const struct maple_image *image)
{
	struct stat st;
	uint64_t parts[4];
	char *text;

	if (fstat(image->fd, &st))
		return NULL;
	parts[0] = XXH3_64bits(image->path, strlen(image->path));
	parts[1] = st.st_size;
	parts[2] = st.st_mtim.tv_sec;
	parts[3] = st.st_mtim.tv_nsec;
	if (asprintf(&text, "file-%016llx",
		     (unsigned long long)XXH3_64bits(parts, sizeof(parts))) < 0)
		return NULL;
	return text;
}

/* A missing or strange section table loses symbols and build-id only. */
static int identify(struct maple_image *image)
{
	const void *id = NULL;
	ssize_t len = 0;

	elf_version(EV_CURRENT);
	image->elf = elf_begin(image->fd, ELF_C_READ, NULL);
	if (image->elf)
		len = dwelf_elf_gnu_build_id(image->elf, &id);
	image->build_id = len > 0 && len <= BUILD_ID_MAX ? hex(id, len)
							 : stand_in(image);
	return image->build_id ? 0 : -ENOMEM;
}

static void array_deinit(struct maple_array *array)
{
	free(array->at);
	*array = (struct maple_array){ 0 };
}

/* What only the decoding needed, most of the memory. */
static void forget(struct maple_image *image)
{
	array_deinit(&image->ranges);
	array_deinit(&image->rseqs);
	array_deinit(&image->decoded);
	array_deinit(&image->leas);
	free(image->targets);
	free(image->starts);
	image->targets = image->starts = NULL;
	while (image->nsegs)
		free(image->seg[--image->nsegs].bytes);
}

static int decode(struct maple_image *image, const struct maple_image_way *way)
{
	int ret = maple_image_relocate(image);

	if (!ret)
		ret = maple_image_functions(image);
	if (!ret)
		ret = maple_image_rseq(image);
	if (!ret)
		ret = maple_image_decode(image, way);
	if (ret)
		return ret;
	maple_image_edges(image);
	ret = maple_image_neighbours(image);
	if (!ret)
		ret = maple_image_fences(image);
	if (!ret)
		ret = maple_image_splits(image);
	if (!ret)
		ret = maple_image_group(image);
	return ret;
}

/* From what was kept, if anything was, else from its bytes. */
static int understand(struct maple_image *image,
		      const struct maple_image_way *way)
{
	const char *parent = way->kept;
	int ret = identify(image);

	if (ret)
		return ret;
	if (!way->names && (!parent || !maple_image_cache_read(image, parent))) {
		ret = decode(image, way);
		if (parent && !ret)
			maple_image_cache_write(image, parent);
	}
	if (!ret)
		forget(image);
	return ret;
}

/*
 * maple_image_open - reads and decodes the ELF file at @path
 * @image: to be freed with maple_image_destroy(); set on success
 *
 * Errors: what open() and read() say, -ENOEXEC for anything that is no
 * program or library for x86-64 with code in it, -ENOMEM. An image without
 * sites is none. Several images may be opened at a time by several threads;
 * one image belongs to one thread at a time.
 */
int maple_image_open(const char *path, struct maple_image **image,
		     struct maple_error *err)
{
	return maple_image_open_by(path, &(struct maple_image_way){ 0 }, image,
				   err);
}

/* maple_image_open_by - the same, by @way; -ECANCELED when way->over() says so */
int maple_image_open_by(const char *path, const struct maple_image_way *way,
			struct maple_image **image, struct maple_error *err)
{
	struct maple_image *new = calloc(1, sizeof(*new));
	int ret;

	if (!new)
		return maple_error_set(err, ENOMEM, "%s: out of memory", path);
	new->fd = -1;
	new->path = strdup(path);
	ret = new->path ? maple_image_load(new, err) : -ENOMEM;
	if (!ret) {
		ret = understand(new, way);
		if (ret)
			maple_error_set(err, -ret, "%s: cannot decode: %s",
					path, strerror(-ret));
	}
	if (ret) {
		maple_image_destroy(new);
		return ret;
	}
	*image = new;
	return 0;
}

/* maple_image_discard - frees what reading and decoding left in @image */
void maple_image_discard(struct maple_image *image)
{
	forget(image);
	array_deinit(&image->sites);
	array_deinit(&image->groups);
	array_deinit(&image->insns);
	array_deinit(&image->locked);
	array_deinit(&image->splits);
	array_deinit(&image->frames);
	array_deinit(&image->runtime);
	array_deinit(&image->data);
	array_deinit(&image->pairs);
	array_deinit(&image->text);
	elf_end(image->elf);
	if (image->fd >= 0)
		close(image->fd);
	free(image->build_id);
	free(image->path);
}

void maple_image_destroy(struct maple_image *image)
{
	if (!image)
		return;
	maple_image_prints_deinit(image);
	maple_image_place_deinit(image);
	maple_image_discard(image);
	free(image);
}

const char *maple_image_path(const struct maple_image *image)
{
	return image->path;
}

/*
 * maple_image_build_id - in hex; for an image without one, "file-" and a hash
 * of its path, size and time, which lasts until the file is made anew
 */
const char *maple_image_build_id(const struct maple_image *image)
{
	return image->build_id;
}

const struct maple_image_stats *
maple_image_stats(const struct maple_image *image)
{
	return &image->stats;
}

/* maple_image_sites - all @n sites, by ascending offset; owned by @image */
const struct maple_table_site *
maple_image_sites(const struct maple_image *image, uint32_t *n)
{
	*n = image->sites.n;
	return image->sites.at;
}

/*
 * maple_image_find - index of the site at @offset, or -1
 * @second: the second memory operand of the instruction there
 */
int64_t maple_image_find(const struct maple_image *image, uint64_t offset,
			 bool second)
{
	const struct maple_table_site *sites = image->sites.at;
	size_t at =
		maple_array_lead(image->sites.n, i, sites[i].offset < offset);

	at += second;
	if (at >= image->sites.n || sites[at].offset != offset)
		return -1;
	return at;
}

/* maple_left_out_name - what the reason is called in reports */
const char *maple_left_out_name(enum maple_left_out reason)
{
	static const char *const names[MAPLE_LEFT_REASONS] = {
		[MAPLE_LEFT_STACK] = "stack frame",
		[MAPLE_LEFT_IMPLICIT] = "push, pop, call, return",
		[MAPLE_LEFT_TLS] = "thread-local",
		[MAPLE_LEFT_READ_ONLY] = "read-only data",
		[MAPLE_LEFT_BRANCH] = "call or jump through memory",
		[MAPLE_LEFT_VECTOR] = "gather, scatter",
		[MAPLE_LEFT_ODD] = "unusual form",
		[MAPLE_LEFT_PREFETCH] = "prefetch, nop",
		[MAPLE_LEFT_RSEQ] = "restartable sequence",
		[MAPLE_LEFT_UNDECODABLE] = "function not decodable",
		[MAPLE_LEFT_LIBRARY] = "C++ library",
		[MAPLE_LEFT_SHADOW] = "AddressSanitizer's shadow",
		[MAPLE_LEFT_RUNTIME] = "function of a runtime",
	};

	return (unsigned int)reason < MAPLE_LEFT_REASONS ? names[reason]
							 : "unknown";
}
