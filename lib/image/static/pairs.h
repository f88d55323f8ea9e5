/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the binary tells before it runs: which data each site accesses, which
 * threads may execute it, and which two sites may therefore meet.
 *
 * It is a guess that orders and seeds, and never excludes: two objects of one
 * type are not told apart, nor are their locks. So the number of pairs is no
 * number of races, and nobody is to see it as one.
 */
#ifndef MAPLE_IMAGE_STATIC_PAIRS_H
#define MAPLE_IMAGE_STATIC_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>

struct maple_image;

enum maple_datum_kind {
	MAPLE_DATUM_UNKNOWN,
	MAPLE_DATUM_STACK,  /* of the function's own frame */
	MAPLE_DATUM_GLOBAL, /* of a variable with an address of its own */
	MAPLE_DATUM_FIELD,  /* of some object of a type */
	MAPLE_DATUM_KINDS
};

enum maple_datum_flag {
	MAPLE_DATUM_ANY = 1,   /* some element: all of them is what size says */
	MAPLE_DATUM_ALONE = 2, /* its type lies on stacks only */
	MAPLE_DATUM_SHARED = 4, /* see maple_image_may_share() */
};

/* What a site accesses. Names are offsets in the text; see below. */
struct maple_datum {
	uint8_t kind;
	uint8_t flags;
	uint16_t size; /* bytes from there on; 65,535 is that many or more */
	uint32_t name; /* GLOBAL: the variable's, or 0, and off is an address;
			  FIELD: for people, "conn.state" */
	int32_t off;
	uint32_t type; /* FIELD, and GLOBAL in a structure: the type's name */
	int32_t at;    /* ... and where in it */
};

enum maple_static_pair_kind {
	MAPLE_STATIC_BARE,     /* they have no lock in common, by name */
	MAPLE_STATIC_SECTIONS, /* they have, but in one function's sections */
};

/* Two sites that may meet, by index; one of them writes. */
struct maple_static_pair {
	uint32_t a, b; /* a <= b */
	uint8_t kind;
	uint8_t kinds;	/* MAPLE_EV_READ, _WRITE of a, and of b << 4 */
	uint8_t global; /* it is a variable's, and no field's */
	uint8_t pad;
};

#define MAPLE_STATIC_PAIRS 65536

struct maple_static_stats {
	uint64_t functions, roots;
	uint64_t data[MAPLE_DATUM_KINDS]; /* sites, by what they access */
	uint64_t share;			  /* ... that may share */
	uint64_t raw;	     /* pairs of sites of one datum, one writes; */
	uint64_t one_thread; /* ... left out: one thread runs both */
	uint64_t early;	     /* ... before the first thread, after the last */
	uint64_t locked;     /* ... in one section of one lock */
	uint64_t bare, sections;
	uint64_t over;	 /* ... more than MAPLE_STATIC_PAIRS, left out */
	uint8_t debug;	 /* there was debug information */
	uint8_t program; /* it has a main(): else there are no pairs */
	uint8_t cut;	 /* something was too large, and is not known in full */
	uint8_t pad[5];
};

int maple_image_static(struct maple_image *image, const char *kept,
		       struct maple_error *err);

uint32_t maple_image_pairs(const struct maple_image *image,
			   const struct maple_static_pair **pairs);
bool maple_image_may_share(const struct maple_image *image, uint32_t site);
const struct maple_datum *maple_image_datum(const struct maple_image *image,
					    uint32_t site);
void maple_image_datum_text(const struct maple_image *image, uint32_t site,
			    char *buf, size_t size);
const struct maple_static_stats *
maple_image_static_stats(const struct maple_image *image);

#endif
