/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What data is called in the source, and how its value is written there.
 * type.c walks types, variable.c finds variables by address, reference.c by
 * the instruction that accesses them. All of it needs debug information.
 */
#ifndef MAPLE_IMAGE_VARIABLE_H
#define MAPLE_IMAGE_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <elfutils/libdw.h>

struct maple_image;

/* An object that has what is named, and what of it that is. */
struct maple_variable_of {
	char type[64], member[64];
	uint64_t at; /* what is named begins so far behind its beginning */
};

#define MAPLE_VARIABLE_LEVELS 4

struct maple_variable {
	char name[256]; /* "table[3].name" */
	char type[128]; /* of what is named: "struct node *" */
	Dwarf_Die die;	/* of the scalar that is accessed, if it is one */
	bool scalar;
	bool fixed; /* a variable with an address of its own, by the code */
	unsigned int nlevels; /* objects in each other, outermost first */
	struct maple_variable_of level[MAPLE_VARIABLE_LEVELS];
};

/* The registers of one frame of a stopped thread. */
struct maple_frame_at {
	uint64_t pc;  /* ELF address */
	bool is_call; /* pc is a return address */
	uint64_t sp, bp;
};

bool maple_image_global(struct maple_image *image, uint64_t offset,
			uint32_t size, struct maple_variable *v);
bool maple_image_local(struct maple_image *image,
		       const struct maple_frame_at *frame, uint64_t addr,
		       uint32_t size, struct maple_variable *v);
bool maple_image_reference(struct maple_image *image, uint64_t offset,
			   bool second, struct maple_variable *v);
bool maple_image_has_global(struct maple_image *image, const char *name);
bool maple_image_has_field(struct maple_image *image, const char *type,
			   const char *field);
void maple_variable_value(const struct maple_variable *v, uint64_t value,
			  uint32_t size, char *buf, size_t n);

#endif
