// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * operator delete, in its forms: what it frees is freed by its caller, or all
 * of a C++ program would be freed at one place of its library. One form calls
 * another, so the first counts. What the program itself defines comes before
 * us, and is seen as what it is.
 *
 * A program in C has no such function, until it loads a library in C++ that
 * keeps its names to itself: then ours is found before the library's own, and
 * that one has to be looked for where the call came from.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include "intercept.h"

typedef void function_t(void);

__thread const void *maple_deleter __attribute__((tls_model("initial-exec")));

/* What @caller would have called without @ours; NULL: nobody defines it. */
static function_t *local(const char *name, const void *caller, function_t *ours)
{
	function_t *found = NULL;
	void *library;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return NULL;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	*(void **)&found = dlsym(library, name);
	dlclose(library);
	return found == ours ? NULL : found;
}

/*
 * What was found for a place: looking up takes microseconds, and who deletes
 * does so in a loop.
 */
struct found {
	const void *caller;
	function_t *real;
};

static function_t *next(const char *name, function_t **known,
			struct found *last, const void *caller, function_t *ours)
{
	function_t *real = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (__builtin_expect(real != NULL, 1))
		return real;
	if (last->caller == caller)
		return last->real;
	maple_agent_enter();
	*(void **)&real = dlsym(RTLD_NEXT, name);
	if (real)
		__atomic_store_n(known, real, __ATOMIC_RELAXED);
	else
		real = local(name, caller, ours);
	*last = (struct found){ caller, real };
	maple_agent_leave();
	return real;
}

#define DELETE(name, params, args)                                    \
	void name params;                                             \
	MAPLE_EXPORT void name params                                 \
	{                                                             \
		static function_t *known;                             \
		static __thread struct found last                     \
			__attribute__((tls_model("initial-exec")));   \
		function_t *real = next(#name, &known, &last, CALLER, \
					(function_t *)name);          \
		const void *outer = maple_deleter;                    \
                                                                      \
		if (!outer)                                           \
			maple_deleter = CALLER;                       \
		if (real)                                             \
			((__typeof__(&name))real) args;               \
		else                                                  \
			free(p);                                      \
		maple_deleter = outer;                                \
	}

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t n), (p, n))
DELETE(_ZdaPvm, (void *p, size_t n), (p, n))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t align), (p, n, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t align), (p, n, align))
