// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which two sites may meet: of one datum, one of them writes, and run by two
 * threads that can be there at once. Bare is what has no lock in common, by
 * name. What has one is left out, unless a function has the datum under the
 * lock twice, in two sections: between those another thread may come, and a
 * lock does not help. All that is left out is counted.
 *
 * It is a policy file: what it says orders candidates and tells what tests do
 * not reach. Two instances of a type are one to it, and so are their locks, so
 * it is wrong both ways, and excludes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <maple/event.h>
#include "base/array.h"
#include "static.h"

#define STEPS_MAX    20000000 /* pairs that are looked at */
#define SECTIONS_MAX 4000000  /* data under locks, with those of callees */

/* A site in an order in which those of one datum are neighbours. */
struct place {
	uint32_t name;
	uint32_t site;
	int64_t lo, hi;
};

struct pairing {
	struct maple_static *s;
	const struct maple_table_site *site;
	struct maple_array globals, fields; /* struct place */
	struct maple_array found[4];	    /* by kind, globals first */
	uint64_t left;			    /* of STEPS_MAX */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->site < y->site ? -1 : x->site > y->site;
}

static int add_place(struct maple_array *array, struct place place)
{
	struct place *slot = maple_array_more(array, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = place;
	return 0;
}

static bool is_foreign(struct maple_static *s, uint32_t offset)
{
	return maple_image_is_runtime(s->image, offset);
}

static int find_places(struct pairing *p)
{
	const struct maple_datum *d = p->s->data;
	int ret = 0;

	for (uint32_t i = 0; i < p->s->image->sites.n && !ret; i++, d++) {
		if ((d->kind != MAPLE_DATUM_GLOBAL &&
		     d->kind != MAPLE_DATUM_FIELD) ||
		    d->flags & MAPLE_DATUM_ALONE ||
		    is_foreign(p->s, p->site[i].offset))
			continue;
		if (d->kind == MAPLE_DATUM_GLOBAL)
			ret = add_place(
				&p->globals,
				(struct place){ d->name, i, d->off,
						(int64_t)d->off + d->size });
		if (!ret && d->type)
			ret = add_place(
				&p->fields,
				(struct place){ d->type, i, d->at,
						(int64_t)d->at + d->size });
	}
	if (p->globals.n)
		qsort(p->globals.at, p->globals.n, sizeof(struct place),
		      compare_places);
	if (p->fields.n)
		qsort(p->fields.at, p->fields.n, sizeof(struct place),
		      compare_places);
	return ret;
}

/* ---- who may share ---- */

static int compare_passed(const void *a, const void *b)
{
	const struct maple_static_lock *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* Whether what is called @name, or of the @type, was given to others. */
static bool was_passed(const struct maple_static *s, uint32_t name,
		       uint32_t type)
{
	const struct maple_static_lock *at = s->passed.at;
	size_t n = s->passed.n, i;

	if (name) {
		i = maple_array_lead(n, k, at[k].name < name);
		return i < n && at[i].name == name;
	}
	/* Those without a name stand first. */
	i = maple_array_lead(n, k, !at[k].name && at[k].type < type);
	return i < n && !at[i].name && at[i].type == type;
}

/* Of data that overlap, if one is written and one is a thread's, all share. */
static void share(struct pairing *p, const struct maple_array *array,
		  bool global)
{
	const struct place *at = array->at;
	struct maple_datum *d = p->s->data;
	size_t i, end;

	for (i = 0; i < array->n; i = end) {
		bool written =
			was_passed(p->s, global ? at[i].name : 0, at[i].name);
		bool thread = false;
		int64_t hi = at[i].hi;

		for (end = i; end < array->n && at[end].name == at[i].name &&
			      (end == i || at[end].lo < hi);
		     end++) {
			uint32_t site = at[end].site;
			uint64_t roots =
				p->s->functions[p->s->sites[site].function].roots;

			hi = at[end].hi > hi ? at[end].hi : hi;
			written |= p->site[site].kind & MAPLE_EV_WRITE;
			/* What nobody is seen to run, anybody may. */
			thread |= roots != 1;
		}
		for (size_t k = i; written && thread && k < end; k++)
			d[at[k].site].flags |= MAPLE_DATUM_SHARED;
	}
}

static void find_shared(struct pairing *p)
{
	struct maple_datum *d = p->s->data;
	struct maple_static_lock *at = p->s->passed.at, *kept = at;

	if (p->s->passed.n)
		qsort(at, p->s->passed.n, sizeof(*at), compare_passed);
	for (size_t i = 0; i < p->s->passed.n; i++)
		if (!i || compare_passed(&at[i], kept - 1))
			*kept++ = at[i];
	p->s->passed.n = kept - at;
	share(p, &p->globals, true);
	share(p, &p->fields, false);
	for (uint32_t i = 0; i < p->s->image->sites.n; i++) {
		if (d[i].kind == MAPLE_DATUM_UNKNOWN ||
		    (p->s->main == MAPLE_STATIC_NONE &&
		     d[i].kind != MAPLE_DATUM_STACK))
			d[i].flags |= MAPLE_DATUM_SHARED;
		p->s->stats.share += !!(d[i].flags & MAPLE_DATUM_SHARED);
		p->s->stats.data[d[i].kind]++;
	}
}

/* ---- sections ---- */

/* A site under a lock, in a section of a function or of one that it calls. */
struct entry {
	uint32_t function, lock;
	uint32_t name, type;
	int32_t off;
	uint32_t section, site;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->section < y->section ? -1 : x->section > y->section;
}

static bool same_entry(const struct entry *x, const struct entry *y)
{
	return x->function == y->function && x->lock == y->lock &&
	       x->name == y->name && x->type == y->type && x->off == y->off;
}

static bool holds(const struct maple_static *s,
		  const struct maple_static_held *held, unsigned int n,
		  uint32_t lock)
{
	for (unsigned int i = 0; i < n; i++)
		if (maple_static_same_lock(s, held[i].lock, lock))
			return true;
	return false;
}

static int add_entry(struct pairing *p, struct maple_array *entries,
		     struct entry entry)
{
	struct entry *slot;

	if (entries->n == SECTIONS_MAX) {
		p->s->stats.cut = true;
		return 0;
	}
	slot = maple_array_more(entries, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = entry;
	return 0;
}

static struct entry entry_of(const struct maple_static *s, uint32_t site)
{
	const struct maple_datum *d = &s->data[site];
	bool global = d->kind == MAPLE_DATUM_GLOBAL;

	return (struct entry){
		.function = s->sites[site].function,
		.name = global ? d->name : 0,
		.type = global ? 0 : d->type,
		.off = global ? d->off : d->at,
		.site = site,
	};
}

static int own_entries(struct pairing *p, struct maple_array *entries)
{
	const struct maple_datum *d = p->s->data;
	int ret = 0;

	for (uint32_t i = 0; i < p->s->image->sites.n && !ret; i++) {
		const struct maple_static_site *site = &p->s->sites[i];
		struct entry entry = entry_of(p->s, i);

		if (d[i].kind != MAPLE_DATUM_GLOBAL &&
		    d[i].kind != MAPLE_DATUM_FIELD)
			continue;
		for (unsigned int h = 0; h < site->nheld && !ret; h++) {
			entry.lock = site->held[h].lock;
			entry.section = site->held[h].section;
			if (entry.lock)
				ret = add_entry(p, entries, entry);
		}
	}
	return ret;
}

/* What is called has its section in the caller, at the call. */
static int callees_entries(struct pairing *p, struct maple_array *entries)
{
	const struct maple_static_edge *e = p->s->edges.at;
	size_t own = entries->n, first;
	int ret = 0;

	for (size_t i = 0; i < p->s->edges.n && !ret; i++, e++) {
		if (!maple_static_calls(e) || e->to == MAPLE_STATIC_NONE ||
		    e->to == e->from)
			continue;
		first = maple_array_lead(
			own, k,
			((struct entry *)entries->at)[k].function < e->to);
		for (size_t k = first; k < own && !ret; k++) {
			struct entry entry = ((struct entry *)entries->at)[k];

			if (entry.function != e->to ||
			    !maple_static_spend(p->s, 1))
				break;
			if (holds(p->s, e->held, e->nheld, entry.lock))
				continue;
			entry.function = e->from;
			entry.section = e->at;
			ret = add_entry(p, entries, entry);
		}
	}
	return ret;
}

static int find_sections(struct pairing *p)
{
	struct maple_array entries = { 0 };
	const struct entry *at;
	size_t i, end;
	int ret = own_entries(p, &entries);

	if (entries.n)
		qsort(entries.at, entries.n, sizeof(struct entry),
		      compare_entries);
	if (!ret)
		ret = callees_entries(p, &entries);
	if (entries.n)
		qsort(entries.at, entries.n, sizeof(struct entry),
		      compare_entries);
	at = entries.at;
	for (i = 0; i < entries.n && !ret; i = end) {
		for (end = i; end < entries.n && same_entry(&at[end], &at[i]);
		     end++)
			;
		if (at[end - 1].section == at[i].section)
			continue;
		for (size_t k = i; k < end; k++)
			p->s->sites[at[k].site].sections = true;
	}
	free(entries.at);
	return ret;
}

/* ---- pairs ---- */

/* Whether two threads can be at them at once. */
static bool two_threads(const struct maple_static *s, uint64_t a, uint64_t b)
{
	const struct maple_static_root *root = s->roots.at;
	uint64_t both = a & b;

	if (!a || !b)
		return false;
	if ((a | b) & ((a | b) - 1))
		return true;
	return both && root[__builtin_ctzll(both)].many;
}

/* Whether main() has it to itself. */
static bool is_alone(const struct maple_static *s, uint32_t i)
{
	const struct maple_static_site *site = &s->sites[i];

	if (site->function != s->main)
		return s->functions[site->function].alone;
	return !site->started ||
	       (s->last_join && !site->loops && site->offset > s->last_join);
}

static bool has_lock(const struct maple_static *s, uint32_t site, uint32_t lock)
{
	const struct maple_static_site *at = &s->sites[site];
	const struct maple_static_function *f = &s->functions[at->function];

	return holds(s, at->held, at->nheld, lock) ||
	       holds(s, f->around, f->naround, lock);
}

static bool common_lock(const struct maple_static *s, uint32_t a, uint32_t b)
{
	const struct maple_static_site *at = &s->sites[a];
	const struct maple_static_function *f = &s->functions[at->function];

	for (unsigned int i = 0; i < at->nheld; i++)
		if (at->held[i].lock && has_lock(s, b, at->held[i].lock))
			return true;
	for (unsigned int i = 0; i < f->naround; i++)
		if (f->around[i].lock && has_lock(s, b, f->around[i].lock))
			return true;
	return false;
}

static int keep(struct pairing *p, uint32_t a, uint32_t b, bool global,
		enum maple_static_pair_kind kind)
{
	unsigned int row = kind * 2 + !global;
	struct maple_static_pair *slot;

	if (p->found[row].n == MAPLE_STATIC_PAIRS)
		return 0;
	slot = maple_array_more(&p->found[row], sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = (struct maple_static_pair){
		.a = a < b ? a : b,
		.b = a < b ? b : a,
		.kind = kind,
		.global = global,
	};
	slot->kinds = (p->site[slot->a].kind & MAPLE_EV_UPDATE) |
		      (p->site[slot->b].kind & MAPLE_EV_UPDATE) << 4;
	return 0;
}

static int judge(struct pairing *p, uint32_t a, uint32_t b, bool global)
{
	struct maple_static *s = p->s;
	uint64_t ra = s->functions[s->sites[a].function].roots;
	uint64_t rb = s->functions[s->sites[b].function].roots;

	if (!((p->site[a].kind | p->site[b].kind) & MAPLE_EV_WRITE))
		return 0;
	s->stats.raw++;
	if (!two_threads(s, ra, rb)) {
		s->stats.one_thread++;
		return 0;
	}
	if (is_alone(s, a) || is_alone(s, b)) {
		s->stats.early++;
		return 0;
	}
	if (!common_lock(s, a, b)) {
		s->stats.bare++;
		return keep(p, a, b, global, MAPLE_STATIC_BARE);
	}
	if (s->sites[a].sections || s->sites[b].sections) {
		s->stats.sections++;
		return keep(p, a, b, global, MAPLE_STATIC_SECTIONS);
	}
	s->stats.locked++;
	return 0;
}

static int pair_up(struct pairing *p, const struct maple_array *array,
		   bool global)
{
	const struct place *at = array->at;
	const struct maple_datum *d = p->s->data;
	int ret = 0;

	for (size_t i = 0; i < array->n && !ret; i++)
		for (size_t k = i; k < array->n && !ret; k++) {
			if (k > i &&
			    (at[k].name != at[i].name || at[k].lo >= at[i].hi))
				break;
			if (!p->left) {
				p->s->stats.cut = true;
				return 0;
			}
			p->left--;
			/* Two variables are not one for having one type. */
			if (!global &&
			    d[at[i].site].kind == MAPLE_DATUM_GLOBAL &&
			    d[at[k].site].kind == MAPLE_DATUM_GLOBAL)
				continue;
			ret = judge(p, at[i].site, at[k].site, global);
		}
	return ret;
}

/* All that was found, the likelier kinds first, as many as are kept. */
static int collect(struct pairing *p)
{
	struct maple_static_pair *slot;
	uint64_t all = p->s->stats.bare + p->s->stats.sections;

	for (unsigned int row = 0; row < 4; row++) {
		const struct maple_static_pair *at = p->found[row].at;

		for (size_t i = 0;
		     i < p->found[row].n && p->s->pairs.n < MAPLE_STATIC_PAIRS;
		     i++) {
			slot = maple_array_more(&p->s->pairs, sizeof(*slot));
			if (!slot)
				return -ENOMEM;
			*slot = at[i];
		}
	}
	p->s->stats.over = all - p->s->pairs.n;
	return 0;
}

/* maple_static_pairs - fills in the pairs, which sites may share, and counts */
int maple_static_pairs(struct maple_static *s)
{
	struct pairing p = { .s = s,
			     .site = s->image->sites.at,
			     .left = STEPS_MAX };
	int ret = find_places(&p);

	if (!ret)
		find_shared(&p);
	if (!ret && s->main != MAPLE_STATIC_NONE) {
		ret = find_sections(&p);
		if (!ret)
			ret = pair_up(&p, &p.globals, true);
		if (!ret)
			ret = pair_up(&p, &p.fields, false);
		if (!ret)
			ret = collect(&p);
	}
	free(p.globals.at);
	free(p.fields.at);
	for (unsigned int i = 0; i < 4; i++)
		free(p.found[i].at);
	return ret;
}
