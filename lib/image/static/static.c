// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an image tells before it runs, made when it is asked for, or taken from
 * what was kept. It is the user's own file that is read, with the user's
 * rights: every number in it is a stranger's. What one image may cost is
 * bounded: LOOKS at variables, and what types.c, flow.c and pairs.c say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/table.h"
#include "image/source/demangle.h"
#include "static.h"

#define LOOKS	 200000000 /* a second or so */
#define TEXT_MAX (16u << 20)

/* maple_static_name - where @text stands in the names; 0 is "" */
uint32_t maple_static_name(struct maple_static_names *names, const char *text)
{
	struct maple_static_name *name;
	size_t n = strlen(text);
	uint32_t at = names->text.n;
	char *slot;

	if (!n)
		return 0;
	HASH_FIND(hh, names->all, text, n, name);
	if (name)
		return name->at;
	name = n < TEXT_MAX - at ? malloc(sizeof(*name) + n + 1) : NULL;
	if (!name)
		return 0;
	name->at = at;
	memcpy(name->text, text, n + 1);
	for (size_t i = 0; i <= n; i++) {
		slot = maple_array_more(&names->text, 1);
		if (!slot) {
			names->text.n = at;
			free(name);
			return 0;
		}
		*slot = text[i];
	}
	HASH_ADD_KEYPTR(hh, names->all, name->text, n, name);
	return at;
}

/*
 * maple_static_spend - counts @n looks; false when there were enough, and what
 * is not found by then is not known
 */
bool maple_static_spend(struct maple_static *s, uint64_t n)
{
	if (s->steps >= n) {
		s->steps -= n;
		return true;
	}
	s->steps = 0;
	s->stats.cut = true;
	return false;
}

static void names_deinit(struct maple_static_names *names)
{
	maple_table_clear(names->all);
	free(names->text.at);
}

static void deinit(struct maple_static *s)
{
	maple_static_types_deinit(&s->types);
	names_deinit(&s->text);
	free(s->functions);
	free(s->edges.at);
	free(s->locks.at);
	free(s->roots.at);
	free(s->takings.at);
	free(s->used.at);
	free(s->passed.at);
	free(s->sites);
	free(s->data);
	free(s->pairs.at);
	if (!s->names)
		return;
	s->code->elf = NULL; /* borrowed */
	maple_image_discard(s->code);
	free(s->names->functions.at);
	free(s->names->objects.at);
	free(s->names->imports.at);
	free(s->names);
}

/* The code is read again from the open file, which is the one we decoded. */
static int read_code(struct maple_static *s)
{
	const struct maple_image_way way = { 0 };
	struct maple_image *code;
	int ret;

	s->names = calloc(1, sizeof(*s->names));
	if (!s->names)
		return -ENOMEM;
	s->code = code = &s->names->code;
	code->fd = -1;
	if (asprintf(&code->path, "/proc/self/fd/%d", s->image->fd) < 0)
		code->path = NULL;
	ret = code->path ? maple_image_load(code, NULL) : -ENOMEM;
	code->elf = s->image->elf;
	if (!ret)
		ret = maple_image_relocate(code);
	if (!ret)
		ret = maple_image_functions(code);
	if (!ret)
		ret = maple_image_decode(code, &way);
	if (!ret)
		ret = maple_names_read(s->names, s->image->elf);
	if (!ret)
		maple_image_edges(code);
	return ret;
}

static int prepare(struct maple_static *s)
{
	struct maple_static_lock *none;
	char *empty;

	s->main = MAPLE_STATIC_NONE;
	s->steps = LOOKS;
	s->functions = calloc(s->code->ranges.n + 1, sizeof(*s->functions));
	s->sites = calloc(s->image->sites.n + 1, sizeof(*s->sites));
	s->data = calloc(s->image->sites.n + 1, sizeof(*s->data));
	none = maple_array_more(&s->locks, sizeof(*none));
	empty = maple_array_more(&s->text.text, 1);
	if (!s->functions || !s->sites || !s->data || !none || !empty)
		return -ENOMEM;
	memset(none, 0, sizeof(*none));
	*empty = '\0';
	return 0;
}

/* All functions once; what they leave behind is known the next time. */
static int go_through(struct maple_static *s)
{
	struct maple_static_code code = { 0 };
	int ret = 0;

	s->edges.n = s->takings.n = s->used.n = s->passed.n = 0;
	for (uint32_t i = 0; i < s->code->ranges.n && !ret; i++) {
		ret = maple_static_code(s, i, &code);
		if (!ret)
			ret = maple_static_flow(s, &code);
	}
	free(code.effects.at);
	return ret;
}

static int work_out(struct maple_static *s)
{
	int ret = read_code(s);

	if (!ret)
		ret = prepare(s);
	if (!ret)
		ret = maple_static_types(s);
	if (!ret)
		ret = go_through(s);
	if (!ret)
		ret = maple_static_creators(s);
	if (!ret)
		ret = go_through(s);
	if (!ret)
		ret = maple_static_roots(s);
	if (!ret)
		ret = maple_static_pairs(s);
	s->stats.functions = s->code->ranges.n;
	s->stats.roots = s->roots.n;
	s->stats.debug = s->types.debug;
	s->stats.cut |= s->types.cut;
	s->stats.program = s->main != MAPLE_STATIC_NONE;
	return ret;
}

static void take_array(struct maple_array *to, void *at, size_t n)
{
	free(to->at);
	*to = (struct maple_array){ .at = at, .n = n, .cap = n };
}

/* What was made becomes the image's. */
static void hand_over(struct maple_static *s)
{
	struct maple_image *image = s->image;

	take_array(&image->data, s->data, image->sites.n);
	take_array(&image->pairs, s->pairs.at, s->pairs.n);
	take_array(&image->text, s->text.text.at, s->text.text.n);
	image->static_stats = s->stats;
	image->static_known = true;
	s->data = NULL;
	s->pairs.at = s->text.text.at = NULL;
}

/* Whether debug information has come since it was kept without. */
static bool is_stale(struct maple_image *image)
{
	Dwarf_Addr bias;

	return !image->static_stats.debug && maple_image_debug(image) &&
	       dwfl_module_getdwarf(image->module, &bias);
}

static bool take_kept(struct maple_image *image, const char *kept)
{
	const struct maple_datum *d;
	const struct maple_static_pair *p;
	const char *text;
	bool good;

	if (!kept || !maple_image_cache_take(image, kept))
		return false;
	d = image->data.at;
	p = image->pairs.at;
	text = image->text.at;
	good = image->data.n == image->sites.n && image->text.n &&
	       !text[image->text.n - 1];
	for (size_t i = 0; i < image->data.n && good; i++)
		good = d[i].kind < MAPLE_DATUM_KINDS &&
		       d[i].name < image->text.n && d[i].type < image->text.n;
	for (size_t i = 0; i < image->pairs.n && good; i++)
		good = p[i].a < image->sites.n && p[i].b < image->sites.n;
	return good && !is_stale(image);
}

/*
 * maple_image_static - works out what the image tells before it runs, once
 * @kept: as in struct maple_image_way; may be NULL
 *
 * What follows in pairs.h answers from that; before, it has nothing to say.
 * Errors: -ENOMEM, and what reading the file anew came to.
 */
int maple_image_static(struct maple_image *image, const char *kept,
		       struct maple_error *err)
{
	struct maple_static s = { .image = image };
	int ret;

	if (image->static_known)
		return 0;
	if (take_kept(image, kept)) {
		image->static_known = true;
		return 0;
	}
	ret = work_out(&s);
	if (!ret) {
		hand_over(&s);
		if (kept)
			maple_image_cache_keep(image, kept);
	}
	deinit(&s);
	if (ret)
		maple_error_set(err, -ret, "%s: cannot be understood: %s",
				image->path, strerror(-ret));
	return ret;
}

/* maple_image_pairs - the static pairs, how many; the likelier ones first */
uint32_t maple_image_pairs(const struct maple_image *image,
			   const struct maple_static_pair **pairs)
{
	*pairs = image->pairs.at;
	return image->static_known ? image->pairs.n : 0;
}

/* maple_image_datum - what a site accesses; NULL: nothing is known of it */
const struct maple_datum *maple_image_datum(const struct maple_image *image,
					    uint32_t site)
{
	return image->static_known && site < image->data.n
		       ? (const struct maple_datum *)image->data.at + site
		       : NULL;
}

/*
 * maple_image_may_share - whether two threads may access what the site does
 *
 * It is written by somebody, and a thread comes to it, or nobody knows what it
 * is. In doubt they do.
 */
bool maple_image_may_share(const struct maple_image *image, uint32_t site)
{
	const struct maple_datum *d = maple_image_datum(image, site);

	return !d || d->flags & MAPLE_DATUM_SHARED;
}

/* maple_image_datum_text - "balance", "table+8", "list[]", "conn.state"; "":
 * unknown */
void maple_image_datum_text(const struct maple_image *image, uint32_t site,
			    char *buf, size_t size)
{
	const struct maple_datum *d = maple_image_datum(image, site);
	const char *text = image->text.at;
	char at[16] = "", *full = NULL, *name = NULL;

	if (!d || d->kind < MAPLE_DATUM_GLOBAL) {
		snprintf(buf, size, "%s",
			 d && d->kind == MAPLE_DATUM_STACK ? "stack" : "");
		return;
	}
	if (d->flags & MAPLE_DATUM_ANY)
		snprintf(at, sizeof(at), "[]");
	else if (d->kind == MAPLE_DATUM_GLOBAL && d->off)
		snprintf(at, sizeof(at), "+%d", d->off);
	text += d->name;
	if (d->kind == MAPLE_DATUM_GLOBAL)
		full = maple_demangle(text);
	if (full)
		name = maple_demangle_short(full);
	snprintf(buf, size, "%s%s", name ? name : text, at);
	free(full);
	free(name);
}

/* maple_image_static_stats - the counts; zeroes before it is known */
const struct maple_static_stats *
maple_image_static_stats(const struct maple_image *image)
{
	return &image->static_stats;
}
