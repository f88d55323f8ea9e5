// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Facts about sites that plans are built from (algorithms.md 7): how often a
 * thread executed a site and what it executed then (classes), under which
 * outermost lock calls it was seen (its gates) and what ended these, and which
 * sites were seen on the same locations (guards).
 *
 * For guards, each location that two threads touched leaves the set of its
 * sites behind when it is closed. Equal sets are one, so an array of a
 * million elements leaves what a single variable does.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "predict/cells/history.h"
#include "sites.h"
#include "predict/store/table.h"

#define CHUNK	   256
#define SETS_MAX   65536
#define GUARDS_MAX 256	      /* whose covers are looked for */
#define KEPT_MAX   (1u << 22) /* sites in all sets together */

struct maple_siteset {
	UT_hash_handle hh;
	uint32_t n;
	uint32_t site[]; /* ascending */
};

struct maple_setlist {
	uint32_t n, room;
	const struct maple_siteset **set;
};

/* maple_sitemap_find - the element of @site, or NULL if there is none yet */
void *maple_sitemap_find(const struct maple_sitemap *map, uint32_t site)
{
	uint32_t index = site << 1 | site >> 31;
	uint32_t chunk = index / CHUNK;

	if (chunk >= map->nchunks || !map->chunk[chunk])
		return NULL;
	return (char *)map->chunk[chunk] + index % CHUNK * map->element;
}

/*
 * maple_sitemap_at - the element of @site, zero at first
 *
 * Returns NULL without memory. Memory sites and call sites take turns, so
 * that both begin at the start of the array.
 */
void *maple_sitemap_at(struct maple_sitemap *map, uint32_t site)
{
	uint32_t index = site << 1 | site >> 31;
	uint32_t chunk = index / CHUNK, n;

	if (chunk >= map->nchunks) {
		n = chunk + 1 > 2 * map->nchunks ? chunk + 1 : 2 * map->nchunks;
		if (!maple_array_extend(map->chunk, map->nchunks, n))
			return NULL;
		map->nchunks = n;
	}
	if (!map->chunk[chunk])
		map->chunk[chunk] = calloc(CHUNK, map->element);
	if (!map->chunk[chunk])
		return NULL;
	return (char *)map->chunk[chunk] + index % CHUNK * map->element;
}

void maple_sitemap_deinit(struct maple_sitemap *map)
{
	for (uint32_t i = 0; i < map->nchunks; i++)
		free(map->chunk[i]);
	free(map->chunk);
}

void maple_sites_init(struct maple_sites *sites,
		      struct maple_predict_stats *stats)
{
	memset(sites, 0, sizeof(*sites));
	sites->gates.element = sizeof(struct maple_site_gates);
	sites->ends.element = sizeof(struct maple_site_gates);
	sites->quiet.element = sizeof(uint64_t);
	sites->in.element = sizeof(struct maple_setlist);
	sites->stats = stats;
}

void maple_sites_deinit(struct maple_sites *sites)
{
	struct maple_siteset *set, *next;
	struct maple_setlist *list;

	HASH_ITER (hh, sites->sets, set, next) {
		for (uint32_t i = 0; i < set->n; i++) {
			list = maple_sitemap_find(&sites->in, set->site[i]);
			if (list) {
				free(list->set);
				list->set = NULL;
			}
		}
		HASH_DELETE(hh, sites->sets, set);
		free(set);
	}
	maple_sitemap_deinit(&sites->in);
	maple_sitemap_deinit(&sites->quiet);
	maple_sitemap_deinit(&sites->gates);
	maple_sitemap_deinit(&sites->ends);
	free(sites->scratch);
}

static int note_gate(struct maple_sitemap *map, uint32_t site, uint32_t gate)
{
	struct maple_site_gates *gates = maple_sitemap_at(map, site);

	if (!gates)
		return -ENOMEM;
	for (unsigned int i = 0; i < gates->n; i++)
		if (gates->gate[i] == gate)
			return 0;
	if (gates->n < MAPLE_PREDICT_GATES)
		gates->gate[gates->n++] = gate;
	else
		gates->cut = true;
	return 0;
}

/* maple_sites_gate - @site was executed under the outermost lock call @gate */
int maple_sites_gate(struct maple_sites *sites, uint32_t site, uint32_t gate)
{
	return note_gate(&sites->gates, site, gate);
}

/* maple_sites_end - the unlock call @end left what the lock call @gate began */
int maple_sites_end(struct maple_sites *sites, uint32_t gate, uint32_t end)
{
	return note_gate(&sites->ends, gate, end);
}

/*
 * maple_executions_class - after the last execution came site @next
 *
 * Returns whether it never did before, as far as is known.
 */
bool maple_executions_class(struct maple_executions *executions, uint32_t next)
{
	uint32_t n = executions->nclasses;

	for (uint32_t i = 0; i < n; i++)
		if (executions->class_site[i] == next)
			return false;
	if (n == MAPLE_PREDICT_CLASSES)
		return false;
	assert(executions->n);
	executions->class_site[n] = next;
	executions->class_occurrence[n] = executions->n - 1;
	executions->nclasses++;
	return true;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The cell's sites into scratch, ascending; how many, or -ENOMEM. */
static long collect(struct maple_sites *sites, const struct maple_cell *cell)
{
	size_t n = 0, kept = 0;

	if (sites->room < cell->nsummaries) {
		if (!maple_array_resize(sites->scratch, cell->nsummaries))
			return -ENOMEM;
		sites->room = cell->nsummaries;
	}
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_entry *e = cell->visit[i].entry;

		for (uint32_t j = 0; j < e->nsummaries; j++)
			if (e->summaries[j]->site != MAPLE_SITE_NONE)
				sites->scratch[n++] = e->summaries[j]->site;
	}
	assert(n <= cell->nsummaries);
	if (!n)
		return 0;
	qsort(sites->scratch, n, sizeof(sites->scratch[0]), by_number);
	for (size_t i = 1; i < n; i++)
		if (sites->scratch[i] != sites->scratch[kept])
			sites->scratch[++kept] = sites->scratch[i];
	return (long)kept + 1;
}

/* maple_sites_cell - keeps which sites met on @cell, whose history is over */
int maple_sites_cell(struct maple_sites *sites, const struct maple_cell *cell)
{
	struct maple_siteset *set;
	size_t size;
	long n;

	if (cell->nvisits < 2)
		return 0;
	n = collect(sites, cell);
	if (n <= 0)
		return (int)n;
	size = (size_t)n * sizeof(set->site[0]);
	HASH_FIND(hh, sites->sets, sites->scratch, size, set);
	if (set)
		return 0;
	if (HASH_COUNT(sites->sets) >= SETS_MAX ||
	    sites->kept + (uint64_t)n > KEPT_MAX) {
		sites->stats->cut_guards++;
		return 0;
	}
	set = malloc(sizeof(*set) + size);
	if (!set)
		return -ENOMEM;
	set->n = (uint32_t)n;
	memcpy(set->site, sites->scratch, size);
	HASH_ADD_KEYPTR(hh, sites->sets, set->site, size, set);
	if (!set->hh.tbl) {
		free(set);
		return -ENOMEM;
	}
	sites->kept += (uint64_t)n;
	assert(sites->kept <= KEPT_MAX);
	return 0;
}

/* How many of @iroot's events have their site in @set. */
static unsigned int hits(const struct maple_siteset *set,
			 const struct maple_iroot *iroot)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++)
		n += bsearch(&iroot->e[i].site, set->site, set->n,
			     sizeof(set->site[0]), by_number) != NULL;
	return n;
}

static unsigned int add(const uint32_t *site, uint32_t count, uint32_t *out,
			unsigned int n, unsigned int max)
{
	for (uint32_t i = 0; i < count && n < max; i++) {
		unsigned int j = 0;

		while (j < n && out[j] != site[i])
			j++;
		if (j == n)
			out[n++] = site[i];
	}
	return n;
}

/*
 * maple_sites_index - makes guards quick to find, once all sets are there
 *
 * Returns 0 or -ENOMEM, with an index of less than there is.
 */
int maple_sites_index(struct maple_sites *sites)
{
	for (const struct maple_siteset *set = sites->sets; set;
	     set = set->hh.next)
		for (uint32_t i = 0; i < set->n; i++) {
			struct maple_setlist *list =
				maple_sitemap_at(&sites->in, set->site[i]);

			if (!list || !maple_array_reserve(list->set, list->n,
							  list->room))
				return -ENOMEM;
			list->set[list->n++] = set;
		}
	return 0;
}

/* maple_sites_shared - whether @site was seen on a shared location */
bool maple_sites_shared(const struct maple_sites *sites, uint32_t site)
{
	const struct maple_setlist *list = maple_sitemap_find(&sites->in, site);

	return list && list->n;
}

/*
 * maple_sites_guards - all sites seen on shared locations on which a site of
 *                      @iroot was seen; what met several of them comes first
 *
 * Returns how many stand in @out, at most @max.
 */
unsigned int maple_sites_guards(const struct maple_sites *sites,
				const struct maple_iroot *iroot, uint32_t *out,
				unsigned int max)
{
	unsigned int events = maple_iroot_events(iroot->idiom), n = 0;

	for (unsigned int want = events; want; want--)
		for (unsigned int e = 0; e < events; e++) {
			const struct maple_setlist *list = maple_sitemap_find(
				&sites->in, iroot->e[e].site);

			for (uint32_t i = 0; list && i < list->n && n < max; i++)
				if (hits(list->set[i], iroot) == want)
					n = add(list->set[i]->site,
						list->set[i]->n, out, n, max);
		}
	return n;
}

/*
 * maple_sites_covers - the outermost lock calls under which guards of @iroot
 *                      were seen, then the unlock calls that end these
 *
 * Returns how many stand in @out, at most @max. What is left out of more
 * than MAPLE_PREDICT_GATES per site, or of GUARDS_MAX guards, is not covered.
 */
unsigned int maple_sites_covers(const struct maple_sites *sites,
				const struct maple_iroot *iroot, uint32_t *out,
				unsigned int max)
{
	uint32_t guard[GUARDS_MAX];
	unsigned int nguards, locks, n = 0;
	const struct maple_site_gates *gates;

	nguards = maple_sites_guards(sites, iroot, guard, GUARDS_MAX);
	for (unsigned int i = 0; i < nguards; i++) {
		gates = maple_sitemap_find(&sites->gates, guard[i]);
		if (gates)
			n = add(gates->gate, gates->n, out, n, max);
	}
	locks = n;
	for (unsigned int i = 0; i < locks; i++) {
		gates = maple_sitemap_find(&sites->ends, out[i]);
		if (gates)
			n = add(gates->gate, gates->n, out, n, max);
	}
	return n;
}

/* maple_sites_quiet - from event @when on @site may be executed unseen */
int maple_sites_quiet(struct maple_sites *sites, uint32_t site, uint64_t when)
{
	uint64_t *since = maple_sitemap_at(&sites->quiet, site);

	if (!since)
		return -ENOMEM;
	if (!*since)
		*since = when;
	return 0;
}

static bool quiet(const struct maple_sites *sites,
		  const struct maple_siteset *set, uint64_t when)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const uint64_t *since =
			maple_sitemap_find(&sites->quiet, set->site[i]);

		if (since && *since && *since <= when)
			return true;
	}
	return false;
}

static bool has(const struct maple_siteset *set, uint32_t site)
{
	return bsearch(&site, set->site, set->n, sizeof(set->site[0]),
		       by_number) != NULL;
}

/* Whether no quiet site can have come between one event and the other. */
static bool certain(const struct maple_sites *sites, uint32_t from, uint32_t to,
		    uint64_t when)
{
	const struct maple_setlist *list = maple_sitemap_find(&sites->in, from);
	bool met = false;

	for (uint32_t i = 0; list && i < list->n; i++) {
		if (!has(list->set[i], to))
			continue;
		met = true;
		if (quiet(sites, list->set[i], when))
			return false;
	}
	return met;
}

/*
 * maple_sites_certain - whether no quiet site can have come between the
 *                       events of @iroot, which was observed at event @when
 *
 * A quiet site counts on all locations on which it was ever seen. A location
 * of @iroot is one on which both ends of a dependency were seen.
 */
bool maple_sites_certain(const struct maple_sites *sites,
			 const struct maple_iroot *iroot, uint64_t when)
{
	const struct maple_iroot_event *e = iroot->e;

	if (!certain(sites, e[0].site, e[1].site, when))
		return false;
	switch (maple_iroot_events(iroot->idiom)) {
	case 3:
		return certain(sites, e[1].site, e[2].site, when);
	case 4:
		return certain(sites, e[2].site, e[3].site, when);
	default:
		return true;
	}
}
