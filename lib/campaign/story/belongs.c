// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which declared set the accesses at a site are to (--atomic-sets): by what the
 * instruction refers to, as debug information has it. So a site is asked about
 * once, when a run has executed it, and counts from the next run on; and a
 * variable that is reached by a pointer is known by its type alone.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/atomic_sets.h>
#include "base/array.h"
#include "story.h"

/* Whether @name, "table.count[2]", is @member or a part of it. */
static bool is_part_of(const char *name, const char *member)
{
	size_t n = strlen(member);

	return !strncmp(name, member, n) &&
	       (!name[n] || name[n] == '.' || name[n] == '[');
}

static bool is_member(const struct maple_atomic_set *set,
		      const struct maple_variable *v, uint64_t *at)
{
	for (unsigned int i = 0; i < set->n; i++) {
		const char *member = set->member[i];

		if (set->global && v->fixed && is_part_of(v->name, member))
			return true;
		for (unsigned int k = 0; k < v->nlevels && !set->global; k++) {
			*at = v->level[k].at;
			if (!strcmp(v->level[k].type, set->type) &&
			    !strcmp(v->level[k].member, member))
				return true;
		}
	}
	return false;
}

static struct maple_belonging ask(struct maple_campaign *c, uint32_t site)
{
	const struct maple_atomic_sets *sets = c->options->atomic_sets;
	struct maple_belonging b = { .site = site };
	struct maple_site_info info;
	struct maple_variable v;
	struct maple_image *image;
	uint64_t at = 0;

	if (maple_registry_site(c->registry, site, &info) || info.is_call)
		return b;
	image = maple_registry_image(c->registry, info.image);
	if (!image ||
	    !maple_image_reference(image, info.offset, info.second, &v))
		return b;
	for (unsigned int i = 0; i < sets->n && !b.number; i++) {
		if (!is_member(&sets->set[i], &v, &at) || at > UINT32_MAX)
			continue;
		b.number = i + 1;
		b.one = sets->set[i].global;
		b.at = b.one ? 0 : (uint32_t)at;
	}
	return b;
}

static int by_site(const void *a, const void *b)
{
	const struct maple_belonging *x = a, *y = b;

	return x->site < y->site ? -1 : x->site > y->site;
}

/* maple_belongs_learn - of the sites that @witness has met first, where they are */
void maple_belongs_learn(struct maple_campaign *c,
			 const struct maple_witness *witness)
{
	struct maple_belongs *b = &c->belongs;
	const struct maple_mates *fresh = maple_witness_fresh(witness);
	size_t had = b->n;

	assert(maple_lane_has_turn(c));
	for (size_t i = 0; i < fresh->room; i++) {
		uint32_t site = (uint32_t)(fresh->key[i] - 1);
		size_t at = maple_array_lead(had, k, b->at[k].site < site);

		if (!fresh->key[i] || (at < had && b->at[at].site == site))
			continue;
		if (!maple_array_reserve(b->at, b->n, b->room))
			break;
		b->at[b->n++] = ask(c, site);
	}
	if (b->n > had)
		qsort(b->at, b->n, sizeof(*b->at), by_site);
}

static bool has(struct maple_image *image, const struct maple_atomic_set *set,
		const char *member)
{
	char variable[256];

	if (!set->global)
		return maple_image_has_field(image, set->type, member);
	snprintf(variable, sizeof(variable), "%.*s", (int)strcspn(member, ".["),
		 member);
	return maple_image_has_global(image, variable);
}

static bool any_has(struct maple_campaign *c, const struct maple_run *run,
		    const struct maple_atomic_set *set, const char *member)
{
	for (unsigned int i = 0; i < run->nimages; i++) {
		struct maple_image *image =
			maple_registry_image(c->registry, run->images[i].index);

		if (image && has(image, set, member))
			return true;
	}
	return false;
}

/*
 * maple_belongs_check - whether the images of @run, the first one, have what
 * was declared: a name that is wrong would make a set that nothing violates
 */
int maple_belongs_check(struct maple_campaign *c, const struct maple_run *run)
{
	const struct maple_atomic_sets *sets = c->options->atomic_sets;

	if (!sets || c->belongs.checked || !run->nimages)
		return 0;
	c->belongs.checked = true;
	for (unsigned int i = 0; i < sets->n; i++) {
		const struct maple_atomic_set *set = &sets->set[i];

		for (unsigned int k = 0; k < set->n; k++) {
			if (any_has(c, run, set, set->member[k]))
				continue;
			return maple_error_set(
				c->err, EINVAL,
				"%s:%u: set '%s': the debug information of the "
				"program has no %s '%s%s%s'; write it as the "
				"source does, and compile with -g",
				sets->path, set->line, set->name,
				set->global ? "global variable" : "field",
				set->global ? "" : set->type,
				set->global ? "" : ".", set->member[k]);
		}
	}
	return 0;
}

void maple_belongs_deinit(struct maple_belongs *belongs)
{
	free(belongs->at);
	*belongs = (struct maple_belongs){ 0 };
}
