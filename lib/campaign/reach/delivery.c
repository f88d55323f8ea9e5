// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What of the program's code could be observed, and what not, by reason. */
#include <stdio.h>
#include <stdlib.h>
#include "image/image.h"
#include "campaign/internal.h"

/* maple_delivery_splits - which instructions could be split, for @delivery */
void maple_delivery_splits(const struct maple_campaign *c,
			   struct maple_delivery *delivery)
{
	uint32_t i, n = c->registry ? maple_registry_images(c->registry) : 0;
	const struct maple_image_stats *stats;

	for (i = 0; i < n; i++) {
		stats = maple_image_stats(maple_registry_image(c->registry, i));
		delivery->splits += stats->splits;
		delivery->whole += stats->whole;
	}
}

/*
 * maple_delivery_left_out - what could not be observed, by reason, as text
 * to be freed; NULL if nothing was decoded
 */
char *maple_delivery_left_out(const struct maple_campaign *c, uint32_t unshared)
{
	uint32_t i, n = c->registry ? maple_registry_images(c->registry) : 0;
	const struct maple_image_stats *stats;
	uint64_t left[MAPLE_LEFT_REASONS] = { 0 };
	size_t size = 0;
	char *text = NULL;
	FILE *out;
	int r;

	if (!n)
		return NULL;
	for (i = 0; i < n; i++) {
		stats = maple_image_stats(maple_registry_image(c->registry, i));
		for (r = 0; r < MAPLE_LEFT_REASONS; r++)
			left[r] += stats->left[r];
	}
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (r = 0; r < MAPLE_LEFT_REASONS; r++)
		if (left[r])
			fprintf(out, "%s%s %llu", ftell(out) ? ", " : "",
				maple_left_out_name(r),
				(unsigned long long)left[r]);
	if (c->result->delivery.apart)
		fprintf(out, "%sby --sites %llu", ftell(out) ? ", " : "",
			(unsigned long long)c->result->delivery.apart);
	if (unshared)
		fprintf(out, "%snot shared so far %u", ftell(out) ? ", " : "",
			unshared);
	fclose(out);
	return text;
}

static void raise_to(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

/* maple_delivery_raise - of what counts by run, the most that any run has */
void maple_delivery_raise(struct maple_delivery *d,
			  const struct maple_delivery *run)
{
	raise_to(&d->sites, run->sites);
	raise_to(&d->unreached, run->unreached);
	raise_to(&d->apart, run->apart);
	raise_to(&d->threads_over, run->threads_over);
	raise_to(&d->images_over, run->images_over);
	raise_to(&d->calls_over, run->calls_over);
}
