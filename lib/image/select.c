// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which images are observed: the program and its libraries, but not the
 * runtime that every program shares. The runtime's synchronisation and memory
 * functions are interposed at their call sites instead; its inside is not
 * where the program's bugs are, and much of it runs before the agent can.
 * C++ libraries stand between: they are runtime, but for the containers in
 * them (container.c).
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
	"libasan.so.*",
	"libtsan.so.*",
	"libubsan.so.*",
	"liblsan.so.*",
	"libhwasan.so.*",
	"libclang_rt.*san*.so",
	NULL,
};

static const char *const parts[] = {
	"libstdc++.so.6",
	"libc++.so.1",
	NULL,
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
	return is_main || !any(runtime, base);
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
