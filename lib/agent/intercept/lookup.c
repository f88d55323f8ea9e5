// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Finding the functions that we stand before.
 *
 * Looking up may take the dynamic linker's lock, which a signal handler must
 * not do; so everything is looked up in the first of our constructors, and
 * calls that come earlier (constructors of libraries) look up by themselves.
 * Calls from before our relocation (another library's IFUNC resolver) reach
 * only memory and string functions, which never look up.
 */
#include <dlfcn.h>
#include "intercept.h"

/* The linker's names for the section that MAPLE_REAL() fills. */
extern struct maple_real __start_maple_real[]
	__attribute__((visibility("hidden")));
extern struct maple_real __stop_maple_real[]
	__attribute__((visibility("hidden")));

/*
 * Without a version dlsym() may find the oldest of several definitions, so
 * the version is named where it makes a difference.
 */
void *maple_real_resolve(struct maple_real *real)
{
	void *fn = NULL;

	if (real->version)
		fn = dlvsym(RTLD_NEXT, real->name, real->version);
	if (!fn)
		fn = maple_agent_real(real->name);
	__atomic_store_n(&real->fn, fn, __ATOMIC_RELEASE);
	return fn;
}

__attribute__((constructor(101))) static void resolve_all(void)
{
	struct maple_real *r;

	for (r = __start_maple_real; r < __stop_maple_real; r++)
		maple_real_get(r);
}
