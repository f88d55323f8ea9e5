// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../image/image.h"
#include "images.h"

/*
 * maple_kernel_image_register - the number of a mapped image in the registry
 *
 * One that cannot be decoded is left out, MAPLE_REGISTRY_NONE, and that is
 * said.
 */
uint32_t maple_kernel_image_register(const struct maple_backend_options *options,
				     const struct maple_mapped *mapped)
{
	char text[MAPLE_MAPPED_PATH + MAPLE_ERROR_MAX + 32];
	struct maple_error err;
	uint32_t index;
	int e = maple_registry_add(options->registry, mapped->path, &index,
				   &err);

	if (!e)
		return index;
	if (e == -ECANCELED) /* time is up: so is the run, in a moment */
		return MAPLE_REGISTRY_NONE;
	snprintf(text, sizeof(text), "%s is not observed: %s", mapped->path,
		 err.text);
	options->notice(options->ctx, text);
	return MAPLE_REGISTRY_NONE;
}

/* The program has an identity even if it is left out. */
static bool counts(const struct maple_backend_options *options,
		   const struct maple_mapped *mapped)
{
	return !mapped->is_replaced &&
	       (mapped->is_main ||
		maple_image_wanted(mapped->path, false, options->include,
				   options->exclude));
}

/*
 * maple_kernel_images_read - those of @pid, anew
 *
 * Zeroed or read before; nothing is left of them when this fails.
 */
int maple_kernel_images_read(struct maple_kernel_images *images,
			     const struct maple_backend_options *options,
			     pid_t pid, struct maple_error *err)
{
	const struct maple_mapped *mapped;
	unsigned int i;
	int e;

	maple_kernel_images_deinit(images);
	e = maple_mappings_read(pid, &images->mappings, err);
	if (e)
		return e;
	images->registry = options->registry;
	images->index = calloc(images->mappings.n + 1, sizeof(*images->index));
	if (!images->index) {
		maple_kernel_images_deinit(images);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	for (i = 0; i < images->mappings.n; i++) {
		mapped = &images->mappings.image[i];
		images->index[i] =
			counts(options, mapped)
				? maple_kernel_image_register(options, mapped)
				: MAPLE_REGISTRY_NONE;
		if (images->index[i] == MAPLE_REGISTRY_NONE)
			maple_registry_leave_out(options->registry,
						 mapped->path, mapped->is_main);
	}
	return 0;
}

/* maple_kernel_images_fill - tells @run which there were, and of their sites */
void maple_kernel_images_fill(const struct maple_kernel_images *images,
			      struct maple_run *run)
{
	const struct maple_mapped *mapped;
	struct maple_run_image *to;
	uint32_t nsites;
	unsigned int i;

	run->images = calloc(images->mappings.n + 1, sizeof(*run->images));
	for (i = 0; run->images && i < images->mappings.n; i++) {
		if (images->index[i] == MAPLE_REGISTRY_NONE)
			continue;
		mapped = &images->mappings.image[i];
		maple_image_sites(maple_registry_image(images->registry,
						       images->index[i]),
				  &nsites);
		run->sites += nsites;
		to = &run->images[run->nimages++];
		to->index = images->index[i];
		to->is_main = mapped->is_main;
		to->bias = mapped->bias;
		to->lo = mapped->lo;
		to->hi = mapped->hi;
	}
}

void maple_kernel_images_deinit(struct maple_kernel_images *images)
{
	maple_mappings_deinit(&images->mappings);
	free(images->index);
	images->index = NULL;
}
