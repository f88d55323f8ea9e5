// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is preloaded, in which order. The runtime of a sanitizer must come
 * before everything else: it stands before functions as our agent does, and
 * knows of memory and threads only what reached it first. So if the program
 * wants one that is a library, that one is named first, then the agent, then
 * what the user has preloaded; one that is linked into the program comes first
 * by itself.
 *
 * A program that only starts the one under test (--exe) is no sanitizer's
 * business: nothing but the agent is put before what the user has there. Then
 * AddressSanitizer is told to bear it that it is not the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../image/image.h"
#include "agent.h"

#define SEPARATORS ": " /* between the libraries in LD_PRELOAD */

static void put(FILE *out, const char *library)
{
	fprintf(out, "%s%s", ftell(out) ? ":" : "", library);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Puts those of @list that are sanitizers, or those that are not. */
static void put_listed(FILE *out, const char *list, bool sanitizers)
{
	char *copy = strdup(list), *at, *one;

	if (!copy)
		return;
	for (one = strtok_r(copy, SEPARATORS, &at); one;
	     one = strtok_r(NULL, SEPARATORS, &at))
		if (maple_image_is_sanitizer(base_of(one)) == sanitizers)
			put(out, one);
	free(copy);
}

static void put_sanitizer(void *ctx, const char *name)
{
	if (maple_image_is_sanitizer(name))
		put(ctx, name);
}

/*
 * maple_agent_preload - the variable LD_PRELOAD for a run; to be freed
 *
 * Returns NULL without memory.
 */
char *maple_agent_preload(const struct maple_backend_options *options)
{
	const char *old = getenv("LD_PRELOAD");
	char *list = NULL, *text;
	size_t size;
	FILE *out = open_memstream(&list, &size);
	int n;

	if (!out)
		return NULL;
	if (options->program && !options->exe)
		maple_image_needed(options->program, put_sanitizer, out);
	put_listed(out, old ? old : "", true);
	put(out, options->agent);
	put_listed(out, old ? old : "", false);
	n = fclose(out) ? -1 : asprintf(&text, "LD_PRELOAD=%s", list);
	free(list);
	return n < 0 ? NULL : text;
}

/* maple_agent_asan - the variable ASAN_OPTIONS for a run; to be freed */
char *maple_agent_asan(void)
{
	const char *old = getenv(MAPLE_SHM_ASAN);
	char *text;

	return asprintf(&text, MAPLE_SHM_ASAN "=%s%sverify_asan_link_order=0",
			old ? old : "", old && *old ? ":" : "") < 0
		       ? NULL
		       : text;
}
