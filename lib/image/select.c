// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which images are observed: the program and its libraries, but not the
 * runtime that every program shares. The runtime's synchronisation and memory
 * functions are interposed at their call sites instead; its inside is not
 * where the program's bugs are, and much of it runs before the agent can.
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
	"libstdc++.so.6",
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

static bool any(const char *const *globs, const char *text)
{
	for (; globs && *globs; globs++)
		if (!fnmatch(*globs, text, 0))
			return true;
	return false;
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
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	if (any(exclude, path) || any(exclude, base))
		return false;
	if (any(include, path) || any(include, base))
		return true;
	return is_main || !any(runtime, base);
}
