// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites of the program itself were executed. The first runs of a campaign
 * observe all of them, and each site records its first executions, whatever its
 * budget; so what no run has recorded none has executed, but for code that is
 * not observed, and for what runs only do once sites are left alone that seemed
 * to be one thread's. What is kept goes by offset, since the numbers of sites
 * are another build of maple's own.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "campaign/internal.h"
#include "reached.h"

/* Of the text that the memo takes, what the JSON around it needs. */
#define AROUND 512

/* A target may write what it wants into its ring: no more sites than these. */
#define SITES (1u << 24)

void maple_reached_event(struct maple_reached *r,
			 const struct maple_event *event)
{
	uint32_t word = event->site / 64;

	if (!maple_event_is_memory(event->kind) ||
	    event->site & MAPLE_SITE_CALL || event->site >= SITES)
		return;
	if (word >= r->n) {
		if (!maple_array_extend(r->bits, r->n, word + word / 2 + 64))
			return;
		r->n = word + word / 2 + 64;
	}
	assert(word < r->n);
	r->bits[word] |= 1ull << event->site % 64;
}

void maple_reached_join(struct maple_reached *all, const struct maple_reached *r)
{
	if (r->n > all->n) {
		if (!maple_array_extend(all->bits, all->n, r->n))
			return;
		all->n = r->n;
	}
	assert(all->n >= r->n);
	for (uint32_t i = 0; i < r->n; i++)
		all->bits[i] |= r->bits[i];
}

void maple_reached_deinit(struct maple_reached *r)
{
	free(r->bits);
	*r = (struct maple_reached){ 0 };
}

/*
 * maple_reached_write - to be freed; what needs more than @most bytes is left
 * out; NULL: no memory
 */
char *maple_reached_write(const uint32_t *offsets, uint32_t n, uint32_t most)
{
	char *text = malloc(most), *at = text;
	uint32_t last = 0;

	if (!text)
		return NULL;
	*text = '\0';
	for (uint32_t i = 0; i < n && at - text + 12 < most; i++) {
		assert(offsets[i] >=
		       last); /* they are written as differences */
		at += sprintf(at, "%s%x", i ? "." : "", offsets[i] - last);
		last = offsets[i];
	}
	return text;
}

/* maple_reached_read - 0, or -ENOMEM; @offsets is to be freed */
int maple_reached_read(const char *text, uint32_t **offsets, uint32_t *n)
{
	size_t room = strlen(text) / 2 + 1;
	uint64_t at = 0;
	char *end;

	*n = 0;
	*offsets = calloc(room, sizeof(**offsets));
	if (!*offsets)
		return -ENOMEM;
	while (*n < room) {
		unsigned long by = strtoul(text, &end, 16);

		if (end == text || by > UINT32_MAX || at + by > UINT32_MAX)
			break;
		at += by;
		(*offsets)[(*n)++] = (uint32_t)at;
		if (*end != '.')
			break;
		text = end + 1;
	}
	return 0;
}

/* maple_reached_compare - offsets, for qsort() and bsearch() */
int maple_reached_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * maple_reached_take - adds to @offsets what @all, that a memo has kept, says
 * of the build with this id; 0, or -ENOMEM
 */
int maple_reached_take(const json_t *all, const char *build_id,
		       uint32_t **offsets, uint32_t *n)
{
	const char *id, *sites;
	uint32_t *more, count;
	json_t *one;
	size_t i;

	json_array_foreach (all, i, one) {
		id = json_string_value(json_object_get(one, "image"));
		sites = json_string_value(json_object_get(one, "sites"));
		if (!id || !sites || strcmp(id, build_id) != 0)
			continue;
		if (maple_reached_read(sites, &more, &count))
			return -ENOMEM;
		if (count && !maple_array_resize(*offsets, *n + count)) {
			free(more);
			return -ENOMEM;
		}
		if (count)
			memcpy(*offsets + *n, more, count * sizeof(*more));
		*n += count;
		free(more);
	}
	return 0;
}

static bool add(uint32_t **offsets, uint32_t *n, uint32_t offset)
{
	if (!maple_array_resize(*offsets, *n + 1))
		return false;
	(*offsets)[(*n)++] = offset;
	return true;
}

/* What earlier campaigns have kept of this build, with this input. */
static void recall(struct maple_campaign *c, const char *build_id,
		   uint32_t **offsets, uint32_t *n)
{
	struct maple_error why;
	char *text = NULL;
	json_t *all;

	if (maple_memo_corpus_recall(c->memo, c->memo_campaign,
				     MAPLE_MEMO_REACHED, &text, &why) ||
	    !text)
		return;
	all = json_loads(text, 0, NULL);
	free(text);
	(void)maple_reached_take(all, build_id, offsets, n);
	json_decref(all);
}

static char *write_all(const char *build_id, uint32_t *offsets, uint32_t n)
{
	uint32_t kept = 0;
	char *sites, *text = NULL;
	json_t *all;

	if (n)
		qsort(offsets, n, sizeof(*offsets), maple_reached_compare);
	for (uint32_t i = 0; i < n; i++)
		if (!i || offsets[i] != offsets[i - 1])
			offsets[kept++] = offsets[i];
	assert(kept <= n && (kept || !n));
	sites = maple_reached_write(offsets, kept,
				    MAPLE_MEMO_CORPUS_TEXT - AROUND);
	if (!sites)
		return NULL;
	all = json_pack("[{s:s, s:s}]", "image", build_id, "sites", sites);
	if (all)
		text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	free(sites);
	return text;
}

/*
 * maple_reached_keep - at the end of a campaign: what of the program was
 * executed in it, and in those before it
 *
 * That nothing is kept is no failure of the campaign.
 */
void maple_reached_keep(struct maple_campaign *c)
{
	uint32_t image = c->study.main_image, *offsets = NULL, n = 0, sites;
	const struct maple_table_site *site;
	const char *build_id;
	struct maple_error why;
	uint32_t base;
	char *text;

	if (!c->memo_program || image == MAPLE_REGISTRY_NONE ||
	    image >= maple_registry_images(c->registry) ||
	    maple_memo_full(c->memo))
		return;
	build_id =
		maple_image_build_id(maple_registry_image(c->registry, image));
	site = maple_image_sites(maple_registry_image(c->registry, image),
				 &sites);
	base = maple_registry_base(c->registry, image);
	for (uint32_t i = 0; i < sites && (base + i) / 64 < c->reached.n; i++)
		if (c->reached.bits[(base + i) / 64] >> (base + i) % 64 & 1 &&
		    !add(&offsets, &n, site[i].offset))
			break;
	if (n) {
		recall(c, build_id, &offsets, &n);
		text = write_all(build_id, offsets, n);
		if (text)
			maple_memo_corpus_keep(c->memo, c->memo_campaign,
					       MAPLE_MEMO_REACHED, text, &why);
		free(text);
	}
	free(offsets);
}
