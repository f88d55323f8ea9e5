// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a variable is called: a symbol of an image, the place that allocated
 * it, or the thread on whose stack it lies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../image/image.h"
#include "story.h"

static char *in_image(struct maple_campaign *c, const struct maple_run *run,
		      uint64_t addr)
{
	const struct maple_run_image *image;
	char buf[256];
	unsigned int i;

	for (i = 0; i < run->nimages; i++) {
		image = &run->images[i];
		if (addr < image->lo || addr >= image->hi)
			continue;
		if (maple_image_data(
			    maple_registry_image(c->registry, image->index),
			    addr - image->bias, buf, sizeof(buf)))
			return strdup(buf);
	}
	return NULL;
}

static char *allocated(struct maple_campaign *c, const struct maple_event *e,
		       uint64_t addr)
{
	struct maple_place place = { 0 };
	const char *file;
	char *text;
	int n;

	if (maple_registry_place(c->registry, e->site, &place) ||
	    (!place.file && !place.function)) {
		maple_place_deinit(&place);
		return NULL;
	}
	file = place.file ? strrchr(place.file, '/') : NULL;
	file = file ? file + 1 : place.file;
	if (place.line)
		n = asprintf(&text, "malloc at %s:%u + %llu", file, place.line,
			     (unsigned long long)(addr - e->addr));
	else
		n = asprintf(&text, "malloc in %s + %llu",
			     place.function ? place.function : "??",
			     (unsigned long long)(addr - e->addr));
	maple_place_deinit(&place);
	return n < 0 ? NULL : text;
}

/*
 * maple_story_variable - a name for @addr as it was at event @until of the
 * log; to be freed; NULL if nothing is known
 */
char *maple_story_variable(struct maple_campaign *c, struct maple_trial *trial,
			   uint64_t addr, const struct maple_event *until)
{
	const struct maple_event *e;
	char *text = in_image(c, &trial->run, addr);

	for (e = until; !text && e-- > trial->log;) {
		if (e->kind == MAPLE_EV_ALLOC && addr - e->addr < e->value) {
			text = allocated(c, e, addr);
			break;
		}
		if (e->kind == MAPLE_EV_START && e->size &&
		    addr - e->addr < e->size &&
		    e->thread < trial->run.nthreads) {
			if (asprintf(&text, "stack of thread %s",
				     trial->run.threads[e->thread].name) < 0)
				text = NULL;
			break;
		}
	}
	trial->unnamed |= !text;
	return text;
}
