/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The numbering of sites that holds for one campaign: site numbers to
 * (image, offset) and back. Internal to lib.
 */
#ifndef MAPLE_IMAGE_REGISTRY_H
#define MAPLE_IMAGE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>
#include <maple/event.h>
#include <maple/finding.h>
#include "image.h"

#define MAPLE_REGISTRY_NONE 0xffffffffu /* outside all images */

/*
 * In the offset of what is numbered as a call: it stands for the accesses to
 * the 8 bytes there by code that has no sites.
 */
#define MAPLE_REGISTRY_VARIABLE (1ull << 62)

struct maple_site_info {
	uint32_t image;	 /* index, or MAPLE_REGISTRY_NONE */
	uint64_t offset; /* ELF address; of the return address for a call */
	uint8_t kind;	 /* enum maple_event_kind; 0 for a call */
	bool is_call;
	bool second;	  /* the second memory operand at this offset */
	bool splits;	  /* a read-modify-write that can be split */
	bool fence_after; /* MAPLE_SITEF_FENCE_AFTER */
	bool fence_before;
	const char *build_id; /* hex, or a stand-in; NULL outside images */
	const char *path;     /* NULL outside images */
};

struct maple_registry;

struct maple_registry *maple_registry_create(void);
void maple_registry_include(struct maple_registry *reg,
			    const char *const *include);
void maple_registry_keep(struct maple_registry *reg);
void maple_registry_limit(struct maple_registry *reg, bool (*over)(void *ctx),
			  void *ctx);
void maple_registry_destroy(struct maple_registry *reg);

int maple_registry_add(struct maple_registry *reg, const char *path,
		       uint32_t *index, struct maple_error *err);
int maple_registry_add_names(struct maple_registry *reg, const char *path,
			     uint32_t *index);
int maple_registry_static(struct maple_registry *reg, uint32_t index,
			  struct maple_error *err);
uint32_t maple_registry_images(const struct maple_registry *reg);
struct maple_image *maple_registry_image(const struct maple_registry *reg,
					 uint32_t index);
uint32_t maple_registry_namesake(const struct maple_registry *reg,
				 const char *path);
uint32_t maple_registry_base(const struct maple_registry *reg, uint32_t index);

void maple_registry_leave_out(struct maple_registry *reg, const char *path,
			      bool is_main);
const char *maple_registry_left_out(const struct maple_registry *reg,
				    uint32_t i);

uint32_t maple_registry_call(struct maple_registry *reg, uint32_t index,
			     uint64_t offset);

uint32_t maple_registry_variable(struct maple_registry *reg, uint32_t index,
				 uint64_t offset);
bool maple_registry_is_variable(const struct maple_registry *reg,
				uint32_t number);

#define MAPLE_REGISTRY_CALLERS 4 /* of a context, at most */

int maple_registry_context(struct maple_registry *reg, uint32_t context,
			   const uint32_t *calls, unsigned int n);
unsigned int maple_registry_callers(const struct maple_registry *reg,
				    uint32_t context,
				    uint32_t calls[MAPLE_REGISTRY_CALLERS]);
unsigned int maple_registry_apart(const struct maple_registry *reg, uint32_t a,
				  uint32_t b);
bool maple_registry_together(const struct maple_registry *reg, uint32_t a,
			     uint32_t b);

int maple_registry_site(const struct maple_registry *reg, uint32_t number,
			struct maple_site_info *info);
uint32_t maple_registry_find(const struct maple_registry *reg,
			     const char *build_id, uint64_t offset,
			     bool is_call, bool second);
bool maple_registry_is_runtime(const struct maple_registry *reg,
			       const char *build_id, uint64_t offset);
int maple_registry_place(const struct maple_registry *reg, uint32_t number,
			 struct maple_place *place);

#endif
