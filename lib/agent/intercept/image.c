// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Libraries that are loaded and unloaded while the program runs.
 *
 * The dynamic linker looks at who calls dlopen(): a name without a slash is
 * searched in the caller's own RUNPATH as well, and $ORIGIN is the caller's.
 * With us in between it would look at our image, so what depends on the
 * caller is worked out here. (Namespaces need no care: in any but the first
 * nobody sees our functions.)
 */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "intercept.h"

MAPLE_REAL(dlopen);
MAPLE_REAL(dlmopen);
MAPLE_REAL(dlclose);

/* We are inside, but the library's constructors are not. */
static void *open_real(const char *file, int mode)
{
	void *handle;

	maple_agent_leave();
	handle = REAL(dlopen)(file, mode);
	maple_agent_enter();
	return handle;
}

static struct link_map *caller_map(const void *ret)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(ret, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	return map;
}

static bool has_own_path(const struct link_map *map)
{
	const ElfW(Dyn) * d;

	for (d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RUNPATH || d->d_tag == DT_RPATH)
			return true;
	return false;
}

static void *open_known(const struct link_map *map)
{
	const char *name = map->l_name[0] ? map->l_name : NULL;

	return REAL(dlopen)(name, RTLD_LAZY | RTLD_NOLOAD);
}

/* @dirs/@file, from the first directory where that can be opened */
static void *open_in(const Dl_serinfo *dirs, const char *file, int mode)
{
	char path[PATH_MAX];
	void *handle;
	unsigned int i;
	int n;

	for (i = 0; i < dirs->dls_cnt; i++) {
		n = snprintf(path, sizeof(path), "%s/%s",
			     dirs->dls_serpath[i].dls_name, file);
		if (n < 0 || n >= PATH_MAX || access(path, R_OK) < 0)
			continue;
		handle = open_real(path, mode);
		if (handle)
			return handle;
	}
	return NULL;
}

static void *open_by_path_of(struct link_map *map, const char *file, int mode)
{
	void *caller, *handle = NULL;
	Dl_serinfo size;

	caller = open_known(map);
	if (!caller)
		return NULL;
	if (dlinfo(caller, RTLD_DI_SERINFOSIZE, &size) == 0 &&
	    size.dls_size < 65536) {
		char room[size.dls_size]
			__attribute__((aligned(__alignof__(Dl_serinfo))));
		Dl_serinfo *dirs = (Dl_serinfo *)room;

		dirs->dls_size = size.dls_size;
		dirs->dls_cnt = size.dls_cnt;
		if (dlinfo(caller, RTLD_DI_SERINFO, dirs) == 0)
			handle = open_in(dirs, file, mode);
	}
	REAL(dlclose)(caller);
	return handle;
}

/* What follows $ORIGIN or ${ORIGIN} at the start of @file; else NULL. */
static const char *behind_origin(const char *file)
{
	if (strncmp(file, "$ORIGIN/", 8) == 0)
		return file + 7;
	if (strncmp(file, "${ORIGIN}/", 10) == 0)
		return file + 9;
	return NULL;
}

static void *open_by_origin_of(struct link_map *map, const char *rest, int mode)
{
	char path[PATH_MAX], dir[PATH_MAX];
	void *caller, *handle = NULL;

	caller = open_known(map);
	if (!caller)
		return NULL;
	if (dlinfo(caller, RTLD_DI_ORIGIN, dir) == 0 &&
	    snprintf(path, sizeof(path), "%s%s", dir, rest) < PATH_MAX)
		handle = open_real(path, mode);
	REAL(dlclose)(caller);
	return handle;
}

/* NULL: nothing of the caller's own was found, or applies. */
static void *open_as(const void *ret, const char *file, int mode)
{
	struct link_map *map;
	const char *rest;

	if (!file || !file[0])
		return NULL;
	rest = behind_origin(file);
	if (!rest && strchr(file, '/'))
		return NULL;
	map = caller_map(ret);
	if (!map)
		return NULL;
	if (rest)
		return open_by_origin_of(map, rest, mode);
	if (!has_own_path(map))
		return NULL;
	return open_by_path_of(map, file, mode);
}

MAPLE_EXPORT void *dlopen(const char *file, int mode)
{
	void *handle = NULL;

	maple_agent_enter();
	/* What is loaded already is found by its name before any path. */
	if (file && !strchr(file, '/'))
		handle = open_real(file, mode | RTLD_NOLOAD);
	if (!handle)
		handle = open_as(CALLER, file, mode);
	if (!handle)
		handle = open_real(file, mode);
	maple_agent_leave();
	if (handle && maple_agent_on())
		maple_agent_images();
	return handle;
}

MAPLE_EXPORT void *dlmopen(Lmid_t ns, const char *file, int mode)
{
	void *handle = REAL(dlmopen)(ns, file, mode);

	if (handle && maple_agent_on())
		maple_agent_images();
	return handle;
}

MAPLE_EXPORT int dlclose(void *handle)
{
	int ret = REAL(dlclose)(handle);

	if (ret == 0 && maple_agent_on())
		maple_agent_images();
	return ret;
}
