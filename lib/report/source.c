// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Places of a finding in the user's source tree. Debug information names
 * files as the compiler was called, absolute or relative to where it ran; a
 * viewer of a report wants them relative to the root of the tree, and must
 * not take a file of libc for one of the user's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "image/image.h"
#include "image/source/scopes.h"
#include "report/source.h"

static bool below(const char *root, const char *file, const char **rest)
{
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	if (strncmp(file, root, n) != 0 || file[n] != '/')
		return false;
	*rest = file + n + 1;
	return **rest != 0;
}

/*
 * maple_source_find - the source file of @place
 * @root: of the tree, absolute, or NULL
 *
 * A relative name counts as below the root when there is such a file. Returns
 * false when no file is known.
 */
bool maple_source_find(const char *root, const struct maple_place *place,
		       struct maple_source *source)
{
	const char *file = place->file, *rest;
	char path[MAPLE_SOURCE_MAX];

	if (!file || !*file)
		return false;
	while (!strncmp(file, "./", 2))
		file += 2;
	source->below = false;
	if (root && *file == '/') {
		source->below = below(root, file, &rest);
		if (source->below)
			file = rest;
	} else if (root && !strstr(file, "../")) {
		int n = snprintf(path, sizeof(path), "%s/%s", root, file);

		source->below = n > 0 && n < (int)sizeof(path) &&
				!access(path, F_OK);
	}
	snprintf(source->path, sizeof(source->path), "%s", file);
	return true;
}

/* Whether @place is a line of the tree, and not of a library kept there. */
static bool is_ours(const char *root, const struct maple_place *place)
{
	struct maple_source source;

	return place->line && maple_source_find(root, place, &source) &&
	       source.below && !maple_scopes_library(place->file);
}

static const struct maple_place *
ours_of_stacks(const char *root, const struct maple_finding *f, bool failed)
{
	for (unsigned int i = 0; i < f->nstacks; i++)
		for (unsigned int k = 0; k < f->stacks[i].nframes; k++)
			if (f->stacks[i].failed == failed &&
			    is_ours(root, &f->stacks[i].frames[k].place))
				return &f->stacks[i].frames[k].place;
	return NULL;
}

/*
 * maple_source_primary - the one place in the tree that a finding is shown at
 *
 * The first access of the interleaving, the wait of a cycle, or the innermost
 * frame of who failed, whichever comes first of those that are in the tree.
 * NULL if none is: nobody is to be pointed at what is not theirs.
 */
const struct maple_place *maple_source_primary(const char *root,
					       const struct maple_finding *f)
{
	const struct maple_place *place;

	for (unsigned int i = 0; i < f->nmoments; i++)
		if (is_ours(root, &f->moments[i].place))
			return &f->moments[i].place;
	for (unsigned int i = 0; i < f->nedges; i++)
		if (is_ours(root, &f->edges[i].place))
			return &f->edges[i].place;
	place = ours_of_stacks(root, f, true);
	return place ? place : ours_of_stacks(root, f, false);
}

/* Whether @place is in an image of the program's, wherever its source is. */
static bool is_program(const struct maple_place *place)
{
	return place->image &&
	       maple_image_wanted(place->image, false, NULL, NULL) &&
	       !maple_image_in_parts(place->image, NULL) &&
	       !(place->file && maple_scopes_library(place->file));
}

/*
 * maple_source_frame - the innermost frame of @stack that is in the tree, or
 *                      else in the program
 *
 * abort() and what it calls are nobody's fault. Else the innermost of all;
 * NULL without frames.
 */
const struct maple_place *maple_source_frame(const char *root,
					     const struct maple_stack *stack)
{
	for (unsigned int i = 0; i < stack->nframes; i++)
		if (is_ours(root, &stack->frames[i].place))
			return &stack->frames[i].place;
	for (unsigned int i = 0; i < stack->nframes; i++)
		if (is_program(&stack->frames[i].place))
			return &stack->frames[i].place;
	return stack->nframes ? &stack->frames[0].place : NULL;
}

/*
 * maple_source_uri - @before and @path as a URI reference, to be freed
 *
 * @before is taken as it is; NULL when out of memory.
 */
char *maple_source_uri(const char *before, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";
	char *uri = malloc(strlen(before) + 3 * strlen(path) + 1), *p;

	if (!uri)
		return NULL;
	p = stpcpy(uri, before);
	for (; *path; path++) {
		if (strchr(plain, *path))
			*p++ = *path;
		else
			p += sprintf(p, "%%%02X", (unsigned char)*path);
	}
	*p = 0;
	return uri;
}
