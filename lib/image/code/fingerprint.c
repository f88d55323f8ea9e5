// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fingerprints: what of a site lasts over a rebuild.
 *
 * A site's fingerprint is the name of its function, its instruction without
 * addresses, its rank among equal ones in the function, and the function's
 * whole body without addresses; so it survives that code moves, that other
 * functions change and that lines are inserted above, and it does not survive
 * an edit of its own function. The text of its source line, where the file
 * can be read and is no newer than the image, is compared as well. Of a call
 * site it is the call instruction, with the name of what is called.
 *
 * Two sites of one image with one fingerprint (functions of the same name and
 * body in different files) cannot be told apart: neither is found again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include "base/array.h"
#include "prints.h"

#define SOURCE_MAX (16 << 20) /* bytes of a source file that is looked at */

void maple_image_prints_deinit(struct maple_image *image)
{
	struct maple_prints *p = image->prints;
	struct maple_print_source *source;

	if (!p)
		return;
	for (size_t i = 0; p->body && i < p->code.ranges.n; i++)
		free(p->body[i].print);
	while ((source = p->sources)) {
		p->sources = source->more;
		free(source->path);
		free(source->text);
		free(source);
	}
	p->code.elf = NULL; /* borrowed */
	maple_image_discard(&p->code);
	free(p->functions.at);
	free(p->objects.at);
	free(p->imports.at);
	free(p->body);
	free(p->found);
	free(p);
	image->prints = NULL;
}

/* The code is read again from the open file, which is the one we decoded. */
static int prepare(struct maple_image *image)
{
	struct maple_prints *p;
	int ret;

	if (image->prints)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	image->prints = p;
	p->code.fd = -1;
	if (asprintf(&p->code.path, "/proc/self/fd/%d", image->fd) < 0)
		p->code.path = NULL;
	ret = p->code.path ? maple_image_load(&p->code, NULL) : -ENOMEM;
	p->code.elf = image->elf;
	if (!ret)
		ret = maple_image_functions(&p->code);
	if (!ret)
		ret = maple_names_read(p, image->elf);
	if (!ret) {
		p->body = calloc(p->code.ranges.n + 1, sizeof(*p->body));
		ret = p->body ? 0 : -ENOMEM;
	}
	if (ret)
		maple_image_prints_deinit(image);
	return ret;
}

/* ---- source lines ---- */

static char *read_source(const struct maple_image *image, const char *path)
{
	struct stat st, built;
	FILE *in = fopen(path, "re");
	char *text = NULL;

	if (!in)
		return NULL;
	if (!fstat(fileno(in), &st) && !fstat(image->fd, &built) &&
	    S_ISREG(st.st_mode) && st.st_size <= SOURCE_MAX &&
	    (st.st_mtim.tv_sec < built.st_mtim.tv_sec ||
	     (st.st_mtim.tv_sec == built.st_mtim.tv_sec &&
	      st.st_mtim.tv_nsec <= built.st_mtim.tv_nsec))) {
		text = calloc(1, st.st_size + 1);
		if (text &&
		    fread(text, 1, st.st_size, in) != (size_t)st.st_size) {
			free(text);
			text = NULL;
		}
	}
	fclose(in);
	return text;
}

static const char *source_text(struct maple_image *image, const char *path)
{
	struct maple_print_source *s;

	for (s = image->prints->sources; s; s = s->more)
		if (!strcmp(s->path, path))
			return s->text;
	s = calloc(1, sizeof(*s));
	if (s)
		s->path = strdup(path);
	if (!s || !s->path) {
		free(s);
		return NULL;
	}
	s->text = read_source(image, path);
	s->more = image->prints->sources;
	image->prints->sources = s;
	return s->text;
}

/* The line's text without the blanks around it; 0 if it is not known. */
static uint32_t hash_line(struct maple_image *image, uint64_t offset,
			  bool is_call)
{
	struct maple_place place;
	const char *text = NULL, *file;
	uint32_t hash = 0;
	unsigned int at;
	size_t n;

	if (maple_image_place(image, offset, is_call, &place))
		return 0;
	/* The innermost tells two sites of one line apart. */
	file = place.inlined_file ? place.inlined_file : place.file;
	at = place.inlined_file ? place.inlined_line : place.line;
	if (file && at)
		text = source_text(image, file);
	for (unsigned int line = 1; text && line < at; line++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (text) {
		text += strspn(text, " \t");
		n = strcspn(text, "\n");
		while (n && strchr(" \t\r", text[n - 1]))
			n--;
		hash = (uint32_t)XXH3_64bits(text, n) | 1;
	}
	maple_place_deinit(&place);
	return hash;
}

/* ---- sites ---- */

/* The range that has @addr, or -1. */
static ssize_t find_range(const struct maple_image *code, uint64_t addr)
{
	const struct maple_code_range *range = code->ranges.at;
	size_t n = maple_array_lead(code->ranges.n, i, range[i].lo <= addr);

	return n && addr < range[n - 1].hi ? (ssize_t)n - 1 : -1;
}

static uint32_t place_of(const struct maple_print *print, bool is_call)
{
	return is_call ? print->next : print->offset;
}

static const struct maple_print *find_print(const struct maple_body *body,
					    uint64_t offset, bool is_call)
{
	size_t at = maple_array_lead(
		body->n, i, place_of(&body->print[i], is_call) < offset);

	return at < body->n && place_of(&body->print[at], is_call) == offset
		       ? &body->print[at]
		       : NULL;
}

/*
 * maple_image_fingerprint - the fingerprint of the site at @offset
 * @is_call: @offset is the return address of a call
 *
 * Returns 0, -ENOENT when no instruction of a known function is there, or
 * -ENOMEM, or what reading the file anew came to.
 */
int maple_image_fingerprint(struct maple_image *image, uint64_t offset,
			    bool is_call, struct maple_fingerprint *fingerprint)
{
	const struct maple_print *print;
	const struct maple_body *body;
	ssize_t range;
	int ret = prepare(image);

	memset(fingerprint, 0, sizeof(*fingerprint));
	if (ret)
		return ret;
	range = find_range(&image->prints->code, offset - is_call);
	if (range < 0)
		return -ENOENT;
	ret = maple_body_hash(image->prints, range);
	if (ret)
		return ret;
	body = &image->prints->body[range];
	print = find_print(body, offset, is_call);
	if (!print)
		return -ENOENT;
	fingerprint->hash = print->hash;
	fingerprint->line = hash_line(image, offset, is_call);
	snprintf(fingerprint->text, sizeof(fingerprint->text),
		 "%.40s/%u %016" PRIx64 " %08" PRIx32,
		 body->name ? body->name : "-", print->rank, print->hash,
		 fingerprint->line);
	return 0;
}

/* ---- the way back ---- */

static int compare_found(const void *a, const void *b)
{
	const struct maple_print_found *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* All instructions of the image by their hash. */
static int find_all(struct maple_prints *p)
{
	size_t n = 0;

	if (p->found)
		return 0;
	for (size_t i = 0; i < p->code.ranges.n; i++) {
		int ret = maple_body_hash(p, i);

		if (ret)
			return ret;
		n += p->body[i].n;
	}
	p->found = calloc(n + 1, sizeof(*p->found));
	if (!p->found)
		return -ENOMEM;
	for (size_t i = 0; i < p->code.ranges.n; i++)
		for (uint32_t j = 0; j < p->body[i].n; j++)
			p->found[p->nfound++] = (struct maple_print_found){
				p->body[i].print[j].hash,
				p->body[i].print[j].offset,
				p->body[i].print[j].next
			};
	qsort(p->found, n, sizeof(*p->found), compare_found);
	return 0;
}

static const struct maple_print_found *find_hash(const struct maple_prints *p,
						 uint64_t hash, size_t *n)
{
	size_t first = maple_array_lead(p->nfound, i, p->found[i].hash < hash);

	*n = maple_array_lead(p->nfound, i, p->found[i].hash <= hash) - first;
	return &p->found[first];
}

/*
 * maple_image_refind - where the site is that has the fingerprint @text in
 * another build
 * @text: of a struct maple_fingerprint
 *
 * Returns 0, -ENOENT there is none, -ENOTUNIQ several, -EINVAL @text is no
 * fingerprint, or as above; -ESTALE, with @offset filled in, when the code is
 * the same and the text of its line, where both are known, is another.
 */
int maple_image_refind(struct maple_image *image, const char *text,
		       bool is_call, uint64_t *offset)
{
	const char *at = strchr(text, ' ');
	const struct maple_print_found *found;
	uint64_t hash;
	uint32_t line, now;
	size_t n;
	int ret;

	if (!at || sscanf(at, " %16" SCNx64 " %8" SCNx32, &hash, &line) != 2)
		return -EINVAL;
	ret = prepare(image);
	if (!ret)
		ret = find_all(image->prints);
	if (ret)
		return ret;
	found = find_hash(image->prints, hash, &n);
	if (n != 1)
		return n ? -ENOTUNIQ : -ENOENT;
	*offset = is_call ? found->next : found->offset;
	now = line ? hash_line(image, *offset, is_call) : 0;
	return now && now != line ? -ESTALE : 0;
}
