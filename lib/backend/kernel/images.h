/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The images of a process, as they are mapped and as the registry has them.
 * Internal to lib/backend/kernel; the contracts stand at the definitions.
 */
#ifndef MAPLE_BACKEND_KERNEL_IMAGES_H
#define MAPLE_BACKEND_KERNEL_IMAGES_H

#include "../backend.h"
#include "kernel.h"

struct maple_kernel_images {
	struct maple_registry *registry;
	struct maple_mappings mappings;
	uint32_t *index; /* by mapping: in the registry, or NONE */
};

uint32_t maple_kernel_image_register(const struct maple_backend_options *options,
				     const struct maple_mapped *mapped);

int maple_kernel_images_read(struct maple_kernel_images *images,
			     const struct maple_backend_options *options,
			     pid_t pid, struct maple_error *err);
void maple_kernel_images_fill(const struct maple_kernel_images *images,
			      struct maple_run *run);
void maple_kernel_images_deinit(struct maple_kernel_images *images);

#endif
