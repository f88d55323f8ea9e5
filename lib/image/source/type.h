/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between type.c, variable.c and reference.c. */
#ifndef MAPLE_IMAGE_TYPE_H
#define MAPLE_IMAGE_TYPE_H

#include "variable.h"

/* What of an object is meant. */
struct maple_part {
	uint64_t offset;
	uint32_t size;
	const char *join; /* before the name of a member: ".", "->", "::" */
	bool loose;	  /* some multiple of an element is missing */
};

void maple_text_add(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool maple_type_of(Dwarf_Die *die, Dwarf_Die *type);
bool maple_variable_address(Dwarf_Die *die, uint64_t *addr);
bool maple_type_is_object(Dwarf_Die *peeled);
bool maple_name_reserved(const char *name);
void maple_type_walk(Dwarf_Die *type, const struct maple_part *part,
		     struct maple_variable *v);

#define MAPLE_BLOCKS 32 /* blocks and inlined functions in each other */

/* What the code at pc is in; debug addresses are ELF addresses less the bias. */
struct maple_blocks {
	Dwarf_Die die[MAPLE_BLOCKS]; /* outermost, the function, first */
	unsigned int n;
	Dwarf_Addr pc, bias; /* pc as debug information counts */
	Dwarf_Die *function;
};

bool maple_blocks_open(struct maple_image *image, uint64_t pc,
		       struct maple_blocks *s);

/*
 * Calls @each for the variables that @s has, the innermost first, with where
 * they are at its pc, until one is taken.
 */
bool maple_blocks_find(struct maple_blocks *s,
		       bool (*each)(void *ctx, Dwarf_Die *die,
				    const Dwarf_Op *ops, size_t n),
		       void *ctx);

/* Registers as DWARF numbers them. */
#define MAPLE_DWARF_RBP 6
#define MAPLE_DWARF_RSP 7

/* An address as a register and what is added to it; reg -1: not known. */
struct maple_based {
	int reg;
	int64_t offset;
};

struct maple_based maple_blocks_cfa(struct maple_image *image,
				    const struct maple_blocks *s);
struct maple_based maple_blocks_base(const struct maple_blocks *s,
				     struct maple_based cfa);
struct maple_based maple_blocks_slot(const Dwarf_Op *ops, size_t n,
				     struct maple_based base);

#endif
