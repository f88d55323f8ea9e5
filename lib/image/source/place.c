// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where in the source a site is, and what a data address is called. Debug
 * information is read at the first question; without it, symbols still name
 * functions and variables.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "demangle.h"
#include "image/internal.h"
#include "scopes.h"

/*
 * A file of debug information beside the program, but none that the program
 * calls by a folder's name or a path: libdw loses memory over those.
 */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name,
			  Dwarf_Addr base, const char *file, const char *link,
			  GElf_Word crc, char **found)
{
	if (link && (!*link || *link == '.' || strchr(link, '/')))
		return -1;
	return dwfl_standard_find_debuginfo(module, data, name, base, file,
					    link, crc, found);
}

/*
 * maple_image_debug - opens the debug information, which may be in a file of
 * its own; false if nothing can be asked
 */
bool maple_image_debug(struct maple_image *image)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	int fd;

	if (image->asked)
		return image->module;
	image->asked = true;
	image->dwfl = dwfl_begin(&callbacks);
	fd = dup(image->fd);
	if (image->dwfl && fd >= 0) {
		dwfl_report_begin(image->dwfl);
		/* On success the descriptor is dwfl's. */
		image->module = dwfl_report_elf(image->dwfl, image->path,
						image->path, fd, 0, false);
		dwfl_report_end(image->dwfl, NULL, NULL);
	}
	if (fd >= 0 && !image->module)
		close(fd);
	if (image->module)
		maple_symbols_read(image);
	return image->module;
}

void maple_image_place_deinit(struct maple_image *image)
{
	maple_scopes_forget(&image->scopes);
	if (image->dwfl)
		dwfl_end(image->dwfl);
	free(image->objects.at);
	free(image->functions.at);
	free(image->globals.at);
}

static int keep(char **to, const char *text)
{
	if (text)
		*to = strdup(text);
	return text && !*to ? -ENOMEM : 0;
}

/* The user's line, and what of a library has been put there. */
static int fill_source(struct maple_image *image, uint64_t addr,
		       struct maple_place *place)
{
	struct maple_scope scope[MAPLE_SCOPES], *at;
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit = maple_units_find(image, addr, &bias);
	unsigned int n =
		maple_scopes_find(&image->scopes, unit, addr - bias, scope);
	int ret;

	if (!scope[n - 1].function)
		maple_scopes_name(&scope[n - 1],
				  maple_symbols_function(image, addr));
	at = &scope[maple_scopes_users(scope, n)];
	place->function = at->function;
	place->signature = at->signature;
	at->function = at->signature = NULL;
	place->line = at->line;
	ret = keep(&place->file, at->file);
	if (at != scope) {
		place->inlined = scope->function;
		scope->function = NULL;
		place->inlined_line = scope->line;
		if (!ret)
			ret = keep(&place->inlined_file, scope->file);
	}
	maple_scopes_deinit(scope, n);
	return ret;
}

/*
 * maple_image_place - where @offset is
 * @is_call: @offset is a return address, the call right before it is meant
 * @place: its strings are the caller's; what is unknown is NULL
 *
 * Returns 0, also when nothing is known but the image, or -ENOMEM.
 */
int maple_image_place(struct maple_image *image, uint64_t offset, bool is_call,
		      struct maple_place *place)
{
	uint64_t addr = is_call && offset ? offset - 1 : offset;
	int ret;

	*place = (struct maple_place){ .offset = offset };
	ret = keep(&place->image, image->path);
	if (!ret)
		ret = keep(&place->build_id, image->build_id);
	if (!ret && maple_image_debug(image))
		ret = fill_source(image, addr, place);
	if (ret)
		maple_place_deinit(place);
	return ret;
}

/* As the source has it, short, to be freed; NULL without memory. */
static char *name_of(const char *symbol)
{
	char *full = maple_demangle(symbol);
	char *name = maple_demangle_short(full ? full : symbol);

	free(full);
	return name;
}

/*
 * maple_image_data - names the variable at @offset: "queue", "queue+16"
 *
 * Returns false, with @buf untouched, when no symbol covers @offset.
 */
bool maple_image_data(struct maple_image *image, uint64_t offset, char *buf,
		      size_t size)
{
	const struct maple_symbol *symbol;
	char *name;

	if (!maple_image_debug(image))
		return false;
	symbol = maple_symbols_object(image, offset);
	if (!symbol)
		return false;
	name = name_of(symbol->name);
	if (!name)
		return false;
	if (offset == symbol->addr)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%s+%llu", name,
			 (unsigned long long)(offset - symbol->addr));
	free(name);
	return true;
}
