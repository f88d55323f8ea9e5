// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of what tests do not reach: the static pairs of a program, by line,
 * and which of them its runs have executed. Sites that compilers have made of
 * one line are one place.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <maple/unreached.h>
#include "base/array.h"
#include "image/image.h"
#include "image/static/pairs.h"
#include "orders.h"
#include "reached.h"

struct numbers {
	uint32_t *at;
	uint32_t n;
};

/* A place of the source, once for each site. */
struct spot {
	char *function, *file;
	unsigned int line;
	bool known, executed;
};

/* A pair of sites on its way to one of places. */
struct row {
	uint32_t a, b; /* sites, of places in order */
	bool sections;
	uint8_t seen; /* enum maple_orders_way, of a and b */
};

struct map {
	struct maple_image *image;
	const struct maple_table_site *site;
	uint32_t nsites;
	struct spot *spot;
	struct row *row;
	uint32_t nrows;
	struct numbers executed; /* offsets, ascending */
	struct maple_orders orders;
};

static int no_memory(struct maple_error *err)
{
	return maple_error_set(err, ENOMEM, "out of memory");
}

/* ---- what the memo has ---- */

/* What was in an order was executed. */
static int add_executed(struct map *m, const uint32_t *at, size_t n)
{
	if (!n)
		return 0;
	if (!maple_array_resize(m->executed.at, m->executed.n + n))
		return -ENOMEM;
	memcpy(m->executed.at + m->executed.n, at, n * sizeof(*at));
	m->executed.n += n;
	return 0;
}

static int read_memo(struct map *m, struct maple_memo *memo, int64_t program,
		     struct maple_error *err)
{
	char **texts;
	size_t n;
	int e = maple_memo_reached(memo, program, &texts, &n, err);

	if (e)
		return e;
	for (size_t i = 0; i < n && !e; i++) {
		json_t *one = json_loads(texts[i], 0, NULL);

		e = json_is_array(one)
			    ? maple_reached_take(
				      one, maple_image_build_id(m->image),
				      &m->executed.at, &m->executed.n)
			    : maple_orders_take(&m->orders, one);
		json_decref(one);
	}
	maple_memo_texts_destroy(texts, n);
	if (!e)
		e = add_executed(m, m->orders.executed, m->orders.nexecuted);
	if (m->executed.n)
		qsort(m->executed.at, m->executed.n, sizeof(uint32_t),
		      maple_reached_compare);
	maple_orders_sort(&m->orders);
	return e ? no_memory(err) : 0;
}

/* ---- places ---- */

static int place(struct map *m, uint32_t site)
{
	uint32_t offset = m->site[site].offset;
	struct spot *spot = &m->spot[site];
	struct maple_place at;

	if (spot->known)
		return 0;
	if (maple_image_place(m->image, offset, false, &at))
		return -ENOMEM;
	spot->known = true;
	spot->function = at.function;
	spot->file = at.file;
	spot->line = at.line;
	at.function = at.file = NULL;
	maple_place_deinit(&at);
	spot->executed = m->executed.n &&
			 bsearch(&offset, m->executed.at, m->executed.n,
				 sizeof(offset), maple_reached_compare);
	return 0;
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_spots(const struct spot *x, const struct spot *y)
{
	int d = compare_texts(x->function, y->function);

	if (!d)
		d = compare_texts(x->file, y->file);
	if (!d)
		d = x->line < y->line ? -1 : x->line > y->line;
	return d;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct row *x = a, *y = b;
	const struct map *m = ctx;
	int d = compare_spots(&m->spot[x->a], &m->spot[y->a]);

	return d ? d : compare_spots(&m->spot[x->b], &m->spot[y->b]);
}

static int read_pairs(struct map *m)
{
	const struct maple_static_pair *pair;
	uint32_t n = maple_image_pairs(m->image, &pair);

	m->site = maple_image_sites(m->image, &m->nsites);
	m->spot = calloc(m->nsites + 1, sizeof(*m->spot));
	m->row = calloc(n + 1, sizeof(*m->row));
	if (!m->spot || !m->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct row row = { pair[i].a, pair[i].b,
				   pair[i].kind == MAPLE_STATIC_SECTIONS, 0 };

		if (place(m, row.a) || place(m, row.b))
			return -ENOMEM;
		if (compare_spots(&m->spot[row.a], &m->spot[row.b]) > 0) {
			row.a = pair[i].b;
			row.b = pair[i].a;
		}
		row.seen = (uint8_t)maple_orders_seen(&m->orders,
						      m->site[row.a].offset,
						      m->site[row.b].offset);
		m->row[m->nrows++] = row;
	}
	qsort_r(m->row, m->nrows, sizeof(*m->row), compare_rows, m);
	return 0;
}

static char *copy(const char *text, bool *good)
{
	char *to = text ? strdup(text) : NULL;

	*good &= !text || to;
	return to;
}

/* The pair of places of the rows from @row on is listed. */
static int list(const struct map *m, const struct row *row,
		const struct maple_static_place_pair *found,
		struct maple_unreached *u)
{
	const uint32_t site[2] = { row->a, row->b };
	struct maple_static_place_pair *pair;
	bool good = true;
	char text[256];

	if (!maple_array_reserve(u->pair, u->n, u->room))
		return -ENOMEM;
	pair = &u->pair[u->n++];
	*pair = *found;
	for (int i = 0; i < 2; i++) {
		const struct spot *spot = &m->spot[site[i]];

		pair->function[i] = copy(spot->function, &good);
		pair->file[i] = copy(spot->file, &good);
		pair->line[i] = spot->line;
	}
	maple_image_datum_text(m->image, row->a, text, sizeof(text));
	pair->variable = copy(*text ? text : NULL, &good);
	pair->sections = row->sections;
	return good ? 0 : -ENOMEM;
}

/*
 * What is least known first; then by the functions that a test would call, and
 * by what they access.
 */
static int compare_pairs(const void *a, const void *b)
{
	const struct maple_static_place_pair *x = a, *y = b;
	int d = x->seen < y->seen ? -1 : x->seen > y->seen;

	for (int i = 0; i < 2 && !d; i++)
		d = compare_texts(x->function[i], y->function[i]);
	for (int i = 0; i < 2 && !d; i++)
		d = compare_texts(x->file[i], y->file[i]);
	if (!d)
		d = compare_texts(x->variable, y->variable);
	for (int i = 0; i < 2 && !d; i++)
		d = x->line[i] < y->line[i] ? -1 : x->line[i] > y->line[i];
	return d;
}

static void judge(struct maple_static_place_pair *pair, unsigned int ways,
		  bool same_place)
{
	pair->later = ways == MAPLE_ORDERS_BACKWARD ? 0 : 1;
	if (!pair->executed[0] || !pair->executed[1])
		pair->seen = MAPLE_MET_UNEXECUTED;
	else if (!ways)
		pair->seen = MAPLE_MET_NEVER;
	else
		pair->seen = ways == MAPLE_ORDERS_BOTH || same_place
				     ? MAPLE_MET_BOTH_ORDERS
				     : MAPLE_MET_ONE_ORDER;
}

/* What one compiler makes ten sites of is one pair, and reached if any is. */
static int sum_up(struct map *m, struct maple_unreached *u)
{
	uint32_t i, end;
	int e = 0;

	for (i = 0; i < m->nrows && !e; i = end) {
		struct maple_static_place_pair found = { 0 };
		unsigned int ways = 0;

		for (end = i; end < m->nrows &&
			      !compare_rows(&m->row[end], &m->row[i], m);
		     end++) {
			found.executed[0] |= m->spot[m->row[end].a].executed;
			found.executed[1] |= m->spot[m->row[end].b].executed;
			ways |= m->row[end].seen;
		}
		judge(&found, ways,
		      !compare_spots(&m->spot[m->row[i].a],
				     &m->spot[m->row[i].b]));
		u->met[found.seen]++;
		e = list(m, &m->row[i], &found, u);
	}
	if (u->n)
		qsort(u->pair, u->n, sizeof(*u->pair), compare_pairs);
	return e;
}

static int open_program(const struct maple_memo_program_info *program,
			struct maple_image **image, struct maple_error *err)
{
	char *kept = maple_image_cache_home();
	const struct maple_image_way way = { .kept = kept };
	int e = program->path
			? maple_image_open_by(program->path, &way, image, err)
			: maple_error_set(err, ENOENT,
					  "it is not known where the "
					  "program is");

	if (!e && strcmp(maple_image_build_id(*image), program->build_id) != 0)
		e = maple_error_set(err, ESTALE,
				    "%s is another build than the one that was "
				    "tested: mapletest run it again",
				    program->path);
	else if (!e)
		e = maple_image_static(*image, kept, err);
	if (!e && !maple_image_static_stats(*image)->program)
		e = maple_error_set(err, ENODATA,
				    "%s has no main(): of which threads there "
				    "are nothing is known",
				    program->path);
	free(kept);
	return e;
}

int maple_unreached_find(struct maple_memo *memo,
			 const struct maple_memo_program_info *program,
			 struct maple_unreached *unreached,
			 struct maple_error *err)
{
	const struct maple_static_stats *stats;
	struct map m = { 0 };
	int e;

	*unreached = (struct maple_unreached){ 0 };
	e = open_program(program, &m.image, err);
	if (!e)
		e = read_memo(&m, memo, program->id, err);
	if (!e) {
		stats = maple_image_static_stats(m.image);
		unreached->observed = m.executed.n;
		unreached->debug = stats->debug;
		unreached->cut = stats->cut || stats->over;
		e = read_pairs(&m);
		if (!e)
			e = sum_up(&m, unreached);
		if (e)
			no_memory(err);
	}
	for (uint32_t i = 0; m.spot && i < m.nsites; i++) {
		free(m.spot[i].function);
		free(m.spot[i].file);
	}
	free(m.spot);
	free(m.row);
	free(m.executed.at);
	maple_orders_deinit(&m.orders);
	maple_image_destroy(m.image);
	if (e)
		maple_unreached_deinit(unreached);
	return e;
}

void maple_unreached_deinit(struct maple_unreached *unreached)
{
	for (size_t i = 0; i < unreached->n; i++) {
		for (int k = 0; k < 2; k++) {
			free(unreached->pair[i].function[k]);
			free(unreached->pair[i].file[k]);
		}
		free(unreached->pair[i].variable);
	}
	free(unreached->pair);
	*unreached = (struct maple_unreached){ 0 };
}
