/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_POOL_H
#define MAPLE_PREDICT_POOL_H

#include <stddef.h>

/* Things of one size that are made one by one and freed all together. */
struct maple_pool {
	void **chunk; /* the newest; its first word leads to the one before */
	size_t used;  /* of the newest, bytes */
};

void *maple_pool_make(struct maple_pool *pool, size_t size);
void maple_pool_clear(struct maple_pool *pool);

#endif
