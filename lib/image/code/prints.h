/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between fingerprint.c, body.c and names.c. */
#ifndef MAPLE_IMAGE_PRINTS_H
#define MAPLE_IMAGE_PRINTS_H

#include "image/internal.h"

struct maple_name {
	uint64_t addr, size;
	const char *name; /* owned by libelf */
};

/* One instruction: what lasts of it, within its function. */
struct maple_print {
	uint32_t offset;
	uint32_t next; /* address behind it */
	uint32_t rank; /* among its equals in the function */
	uint64_t hash;
};

/* The instructions of one function. */
struct maple_body {
	bool done;
	const char *name; /* NULL: it has no symbol */
	uint32_t n;
	struct maple_print *print;
};

struct maple_print_found {
	uint64_t hash;
	uint32_t offset, next;
};

struct maple_print_source {
	char *path, *text; /* text is NULL if it cannot be relied on */
	struct maple_print_source *more;
};

/* What fingerprints of an image need; made at the first question. */
struct maple_prints {
	struct maple_image code;      /* segments and ranges of the same file */
	struct maple_array functions; /* struct maple_name, ascending */
	struct maple_array objects;   /* the same */
	struct maple_array imports;   /* the same; addr is a slot of the GOT */
	struct maple_body *body;      /* of each range */
	struct maple_print_found *found; /* of the whole image, by hash */
	size_t nfound;
	struct maple_print_source *sources;
};

int maple_names_read(struct maple_prints *prints, Elf *elf);
const char *maple_names_function(const struct maple_prints *prints,
				 uint64_t addr);
const char *maple_names_import(const struct maple_prints *prints, uint64_t addr);
const char *maple_names_called(const struct maple_prints *prints, uint64_t addr);
const struct maple_name *maple_names_all(const struct maple_prints *prints,
					 uint64_t addr, size_t *n);
const struct maple_name *maple_names_object(const struct maple_prints *prints,
					    uint64_t addr);
bool maple_names_is(uint64_t hash, const char *function);
uint64_t maple_names_hash(const struct maple_prints *prints, uint64_t addr);

int maple_body_hash(struct maple_prints *prints, size_t range);

#endif
