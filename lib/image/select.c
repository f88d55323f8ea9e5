// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which images are observed: the program and its libraries, but not the
 * runtime that every program shares. The runtime's synchronisation and memory
 * functions are interposed at their call sites instead; its inside is not
 * where the program's bugs are, and much of it runs before the agent can.
 * C++ libraries stand between: they are runtime, but for the containers in
 * them (container.c).
 *
 * The same of what a runtime has put into an image that is observed: the
 * functions of clang's sanitizers, which are linked into the program, and
 * those that V8 made when it was built. The latter are entered at places that
 * V8 alone knows of, and have data between their instructions.
 */
#include <fnmatch.h>
#include <string.h>
#include "image.h"

static const char *const runtime[] = {
	"ld-linux-x86-64.so.2",
	"libc.so.6",
	"libm.so.6",
	"libpthread.so.0",
	"libdl.so.2",
	"librt.so.1",
	"libgcc_s.so.1",
	"libc++abi.so.1",
	"libunwind.so.1",
	"libresolv.so.2",
	"libnss_*.so.2",
	"linux-vdso.so.1",
	"libmaple-agent.so",
	NULL,
};

static const char *const parts[] = {
	"libstdc++.so.6",
	"libc++.so.1",
	NULL,
};

static const char *const sanitizers[] = {
	"libasan.so.*", "libtsan.so.*",	  "libubsan.so.*",
	"liblsan.so.*", "libhwasan.so.*", "libclang_rt.*san*.so",
	NULL,
};

/* What names of functions begin with, */
static const char *const beginnings[] = {
	"__asan",	   "__tsan",	     "__lsan",	    "__ubsan",
	"__hwasan",	   "__msan",	     "__sanitizer", "__interceptor_",
	"___interceptor_", "__interception", "Builtins_",
};

/* ... and the namespaces that their mangled names have in them. */
static const char *const spaces[] = {
	"6__asan", "6__tsan", "6__lsan",       "7__ubsan",	   "8__hwasan",
	"6__msan", "8__dsan", "11__sanitizer", "14__interception",
};

static bool any(const char *const *globs, const char *text)
{
	for (; globs && *globs; globs++)
		if (!fnmatch(*globs, text, 0))
			return true;
	return false;
}

static const char *base_of(const char *path)
{
	const char *base = strrchr(path, '/');

	return base ? base + 1 : path;
}

/*
 * maple_image_wanted - whether the image at @path is to be observed
 * @include, @exclude: globs, matched with the path and with its last part;
 *                     NULL-terminated, may be NULL. What is excluded stays
 *                     out, what is included comes in, whatever it is.
 */
bool maple_image_wanted(const char *path, bool is_main,
			const char *const *include, const char *const *exclude)
{
	const char *base = base_of(path);

	if (any(exclude, path) || any(exclude, base))
		return false;
	if (any(include, path) || any(include, base))
		return true;
	return is_main || (!any(runtime, base) && !any(sanitizers, base));
}

/* maple_image_is_sanitizer - whether library @name is a sanitizer's runtime */
bool maple_image_is_sanitizer(const char *name)
{
	return any(sanitizers, name);
}

/*
 * maple_image_function_wanted - whether the function with this symbol is the
 * image's own, and not put into it by a runtime
 */
bool maple_image_function_wanted(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return false;
	if (strncmp(name, "_Z", 2))
		return true;
	for (i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		if (strstr(name, spaces[i]))
			return false;
	return true;
}

/*
 * maple_image_in_parts - whether nothing but containers is the program's of
 *                        the image at @path
 * @include: as above; what is included is so as a whole
 */
bool maple_image_in_parts(const char *path, const char *const *include)
{
	const char *base = base_of(path);

	return any(parts, base) && !any(include, path) && !any(include, base);
}
