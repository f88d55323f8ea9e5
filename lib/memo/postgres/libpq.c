// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* PostgreSQL's client library, loaded once in a process. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include "memo/postgres/libpq.h"

#define NAME "libpq.so.5"

static struct maple_pq pq;
static bool loaded;
static char why[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
	void *library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	bool all = library;

	if (!library)
		snprintf(why, sizeof(why), "%s", dlerror());
#define FIND(name)                                                         \
	if (all && !(*(void **)&pq.name = dlsym(library, #name))) {        \
		snprintf(why, sizeof(why), "it is too old: no %s", #name); \
		all = false;                                               \
	}
	MAPLE_PQ_CALLS(FIND)
#undef FIND
	loaded = all;
}

const struct maple_pq *maple_pq_load(struct maple_error *err)
{
	pthread_once(&once, load);
	if (loaded)
		return &pq;
	maple_error_set(err, ENOPKG,
			"a memo in PostgreSQL wants its client library, " NAME
			", which cannot be loaded (%s); install it: apt-get "
			"install libpq5",
			why);
	return NULL;
}
