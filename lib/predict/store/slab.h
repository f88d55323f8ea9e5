/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_SLAB_H
#define MAPLE_PREDICT_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPLE_SLAB_GRAIN   16
#define MAPLE_SLAB_CLASSES 64

/* Memory for many small things that come and go. */
struct maple_slab {
	void *given_back[MAPLE_SLAB_CLASSES]; /* by size; linked */
	void **chunk; /* the newest; its first word leads to the one before */
	size_t size, used; /* of the newest, bytes */
};

void *maple_slab_get(struct maple_slab *slab, size_t size);
void *maple_slab_zero(struct maple_slab *slab, size_t size);
bool maple_slab_room(struct maple_slab *slab, void **array, uint32_t *room,
		     uint32_t n, size_t element, void *small);
void maple_slab_put(struct maple_slab *slab, void *at, size_t size);
void maple_slab_deinit(struct maple_slab *slab);

#endif
