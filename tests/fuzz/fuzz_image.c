// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The bytes as a program of somebody's: its sites, places and fingerprints, and
 * what it tells before it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "image/image.h"
#include "image/static/pairs.h"

static void look_into(struct maple_image *image)
{
	struct maple_fingerprint print;
	const struct maple_table_site *sites;
	const struct maple_static_pair *pair;
	struct maple_place place;
	struct maple_error err;
	char text[32];
	uint32_t i, n;

	sites = maple_image_sites(image, &n);
	for (i = 0; i < n && i < 64; i++) {
		maple_image_fingerprint(image, sites[i].offset, false, &print);
		if (!maple_image_place(image, sites[i].offset, false, &place))
			maple_place_deinit(&place);
	}
	if (!maple_image_place(image, 0x1000, true, &place))
		maple_place_deinit(&place);
	if (maple_image_static(image, NULL, &err))
		return;
	for (i = 0; i < maple_image_pairs(image, &pair); i++) {
		if (pair[i].a > pair[i].b || pair[i].b >= n)
			abort();
		maple_image_datum_text(image, pair[i].a, text, sizeof(text));
		maple_image_may_share(image, pair[i].b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maple_image *image;
	struct maple_error err;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!maple_image_open(path, &image, &err)) {
		look_into(image);
		maple_image_destroy(image);
	}
	close(fd);
	return 0;
}
