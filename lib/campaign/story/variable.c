// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a variable is called. By its address: a variable of an image, or of a
 * frame that stands on some stack. Else by what the instruction refers to
 * there, `cache->size`. Where debug information tells neither, a symbol, or
 * where the memory came from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image/image.h"
#include "image/source/variable.h"
#include "story.h"

/* The image that has @addr, or NULL; *@run_image: where it lay. */
static struct maple_image *image_at(struct maple_campaign *c,
				    const struct maple_run *run, uint64_t addr,
				    const struct maple_run_image **at)
{
	for (unsigned int i = 0; i < run->nimages; i++) {
		*at = &run->images[i];
		if (addr >= (*at)->lo && addr < (*at)->hi)
			return maple_registry_image(c->registry, (*at)->index);
	}
	return NULL;
}

static bool set_name(struct maple_naming *n, const char *name)
{
	free(n->name);
	n->name = strdup(name);
	return n->name;
}

static bool take(struct maple_naming *n)
{
	if (!set_name(n, n->variable.name))
		return false;
	n->typed = true;
	return true;
}

static bool in_image(struct maple_campaign *c, const struct maple_run *run,
		     const struct maple_asked *asked, struct maple_naming *n)
{
	const struct maple_run_image *at;
	struct maple_image *image = image_at(c, run, asked->addr, &at);
	char buf[256];

	if (!image)
		return false;
	if (maple_image_global(image, asked->addr - at->bias, asked->size,
			       &n->variable))
		return take(n);
	return maple_image_data(image, asked->addr - at->bias, buf,
				sizeof(buf)) &&
	       set_name(n, buf);
}

/* Frames are looked at as they stood when the run failed. */
static bool in_frame(struct maple_campaign *c, const struct maple_run *run,
		     const struct maple_asked *asked, struct maple_naming *n)
{
	const struct maple_run_image *at;
	const struct maple_frame *frame;
	struct maple_image *image;

	for (unsigned int i = 0; i < run->nstacks; i++)
		for (unsigned int k = 0; k < run->stacks[i].nframes; k++) {
			struct maple_frame_at look;

			frame = &run->stacks[i].frames[k];
			/* Above the frame lies nothing of it but arguments. */
			if (!frame->sp || asked->addr < frame->sp ||
			    (k + 1 < run->stacks[i].nframes &&
			     asked->addr >= frame[1].sp))
				continue;
			image = image_at(c, run, frame->pc, &at);
			if (!image)
				continue;
			look = (struct maple_frame_at){ frame->pc - at->bias,
							frame->is_call,
							frame->sp, frame->bp };
			if (maple_image_local(image, &look, asked->addr,
					      asked->size, &n->variable))
				return take(n);
		}
	return false;
}

/* What the instruction refers to; its site is one of an image. */
static bool by_site(struct maple_campaign *c, const struct maple_asked *asked,
		    struct maple_naming *n)
{
	struct maple_site_info info;
	struct maple_image *image;

	if (maple_registry_site(c->registry, asked->site, &info) || info.is_call)
		return false;
	image = maple_registry_image(c->registry, info.image);
	return image &&
	       maple_image_reference(image, info.offset, info.second,
				     &n->variable) &&
	       take(n);
}

/*
 * Which one of its call a block is, where the run made several there: by @e,
 * " (2nd by 0.1)". Calls are counted for each thread, as in strategy/naming.c,
 * and over the whole run, so that all moments call it by one name.
 */
static void say_which(const struct maple_trial *trial,
		      const struct maple_event *e, char *text, size_t size)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };
	unsigned int all = 0, n = 0;

	*text = 0;
	for (uint32_t i = 0; i < trial->nlog; i++) {
		const struct maple_event *other = &trial->log[i];

		if (other->kind != MAPLE_EV_ALLOC || other->site != e->site)
			continue;
		all++;
		n += other <= e && other->thread == e->thread;
	}
	if (all < 2 || e->thread >= trial->run.nthreads)
		return;
	snprintf(text, size, " (%u%s by %s)", n,
		 n % 10 > 3 || n / 10 % 10 == 1 ? "th" : ends[n % 10],
		 trial->run.threads[e->thread].name);
}

static char *allocated(struct maple_campaign *c, const struct maple_trial *trial,
		       const struct maple_event *e, uint64_t addr)
{
	struct maple_place place = { 0 };
	char which[MAPLE_PLAN_NAME + 32];
	const char *file;
	char *text;
	int n;

	if (maple_registry_place(c->registry, e->site, &place) ||
	    (!place.file && !place.function)) {
		maple_place_deinit(&place);
		return NULL;
	}
	say_which(trial, e, which, sizeof(which));
	file = place.file ? strrchr(place.file, '/') : NULL;
	file = file ? file + 1 : place.file;
	if (place.line)
		n = asprintf(&text, "malloc at %s:%u%s + %llu", file, place.line,
			     which, (unsigned long long)(addr - e->addr));
	else
		n = asprintf(&text, "malloc in %s%s + %llu",
			     place.function ? place.function : "??", which,
			     (unsigned long long)(addr - e->addr));
	maple_place_deinit(&place);
	return n < 0 ? NULL : text;
}

/* Where the memory at @addr came from, as it was at event @until. */
static char *origin(struct maple_campaign *c, struct maple_trial *trial,
		    uint64_t addr, const struct maple_event *until)
{
	const struct maple_event *e;
	char *text = NULL;

	for (e = until; e && e-- > trial->log;) {
		if (e->kind == MAPLE_EV_ALLOC && addr - e->addr < e->value)
			return allocated(c, trial, e, addr);
		if (e->kind != MAPLE_EV_START || !e->size ||
		    addr - e->addr >= e->size ||
		    e->thread >= trial->run.nthreads)
			continue;
		if (asprintf(&text, "stack of thread %s",
			     trial->run.threads[e->thread].name) < 0)
			text = NULL;
		return text;
	}
	return NULL;
}

/*
 * maple_story_name - what @asked->addr is called, in *@n, to be freed with
 * maple_naming_deinit(); all of it is empty if nothing is known
 */
void maple_story_name(struct maple_campaign *c, struct maple_trial *trial,
		      const struct maple_asked *asked, struct maple_naming *n)
{
	memset(n, 0, sizeof(*n));
	if (asked->addr && in_image(c, &trial->run, asked, n))
		return;
	if (asked->addr)
		n->origin = origin(c, trial, asked->addr, asked->until);
	if (asked->addr && in_frame(c, &trial->run, asked, n))
		return;
	trial->unnamed |= asked->addr && !n->origin;
	if (!by_site(c, asked, n) && n->origin) {
		n->name = n->origin;
		n->origin = NULL;
	}
}

void maple_naming_deinit(struct maple_naming *n)
{
	free(n->name);
	free(n->origin);
	memset(n, 0, sizeof(*n));
}

/*
 * maple_story_variable - the name alone of what stands at @addr, to be freed;
 * NULL if it has none
 */
char *maple_story_variable(struct maple_campaign *c, struct maple_trial *trial,
			   uint64_t addr, const struct maple_event *until)
{
	struct maple_asked asked = {
		.addr = addr, .size = 1, .until = until, .site = MAPLE_SITE_NONE
	};
	struct maple_naming n;
	char *name;

	maple_story_name(c, trial, &asked, &n);
	name = n.name;
	n.name = NULL;
	maple_naming_deinit(&n);
	return name;
}
