// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who runs a function. Threads begin at main() and at what stands in the
 * argument of a call that creates one; where that is not known, at each
 * function whose address is taken, of those that fit if the debug information
 * says what functions take. From there on along the calls. An
 * indirect call may come to each function whose address is taken; one that is
 * passed to another image's function is called by who passed it.
 *
 * A root that is created in a loop, or twice, or by what is executed more than
 * once, runs beside itself. More than 63 are one, which does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "static.h"

#define ROOTS 64

/* The edges, and who calls whom: with the indirect ones' function, the last. */
struct graph {
	struct maple_static *s;
	uint32_t n;	   /* functions, and that one */
	uint32_t *at, *in; /* edges that come to a function: in[at[f] ..] */
	uint32_t *todo;	   /* functions to look at */
	struct maple_array starts; /* struct start */
};

/* What a call begins a thread at. */
struct start {
	uint32_t function, edge;
};

static const struct maple_static_edge *edge_at(const struct maple_static *s,
					       uint32_t i)
{
	return (const struct maple_static_edge *)s->edges.at + i;
}

static uint32_t head(const struct graph *g, const struct maple_static_edge *e)
{
	return e->to == MAPLE_STATIC_NONE ? g->n - 1 : e->to;
}

static void close_graph(struct graph *g)
{
	free(g->at);
	free(g->in);
	free(g->todo);
	free(g->starts.at);
}

static int open_graph(struct maple_static *s, struct graph *g)
{
	const struct maple_static_edge *e;
	uint32_t sum = 0, n;

	*g = (struct graph){ .s = s, .n = s->code->ranges.n + 1 };
	g->at = calloc(g->n + 1, sizeof(*g->at));
	g->in = calloc(s->edges.n + 1, sizeof(*g->in));
	g->todo = calloc(g->n + 1, sizeof(*g->todo));
	if (!g->at || !g->in || !g->todo) {
		close_graph(g);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->edges.n; i++)
		if (maple_static_calls(edge_at(s, i)))
			g->at[head(g, edge_at(s, i))]++;
	for (uint32_t f = 0; f <= g->n; f++) {
		n = g->at[f];
		g->at[f] = sum;
		sum += n;
	}
	for (uint32_t i = 0; i < s->edges.n; i++) {
		e = edge_at(s, i);
		if (maple_static_calls(e))
			g->in[g->at[head(g, e)]++] = i;
	}
	for (uint32_t f = g->n; f > 0; f--)
		g->at[f] = g->at[f - 1];
	g->at[0] = 0;
	return 0;
}

/* ---- what creates, what joins ---- */

static bool *creates(struct maple_static_function *f)
{
	return &f->creates;
}

static bool *joins(struct maple_static_function *f)
{
	return &f->joins;
}

/* From whoever has a property to all that call it. */
static void spread_up(struct graph *g,
		      bool *(*has)(struct maple_static_function *))
{
	struct maple_static_function *f = g->s->functions;
	uint32_t n = 0, at;
	bool indirect = false;

	for (uint32_t i = 0; i + 1 < g->n; i++)
		if (*has(&f[i]))
			g->todo[n++] = i;
	while (n) {
		at = g->todo[--n];
		if (at + 1 < g->n && f[at].taken && !indirect) {
			indirect = true;
			g->todo[n++] = g->n - 1;
		}
		for (uint32_t k = g->at[at]; k < g->at[at + 1]; k++) {
			uint32_t from = edge_at(g->s, g->in[k])->from;

			if (*has(&f[from]))
				continue;
			*has(&f[from]) = true;
			g->todo[n++] = from;
		}
	}
}

/* What callees change, callers do. */
static void spread_kills(struct graph *g)
{
	struct maple_static_function *f = g->s->functions;
	uint32_t n = 0, at;
	bool *waits = calloc(g->n, sizeof(*waits));

	for (uint32_t i = 0; i + 1 < g->n; i++) {
		/* Without memory, as any other function. */
		if (!waits)
			f[i].kills = MAPLE_CLOBBERED;
		else
			waits[i] = true;
		g->todo[n++] = i;
	}
	f[g->n - 1].kills = MAPLE_CLOBBERED;
	g->todo[n++] = g->n - 1;
	while (waits && n) {
		at = g->todo[--n];
		waits[at] = false;
		for (uint32_t k = g->at[at]; k < g->at[at + 1]; k++) {
			uint32_t from = edge_at(g->s, g->in[k])->from;
			uint16_t was = f[from].kills;

			f[from].kills |= f[at].kills;
			if (f[from].kills == was || waits[from])
				continue;
			waits[from] = true;
			g->todo[n++] = from;
		}
	}
	free(waits);
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* By instructions, but where they made an argument of what creates threads. */
static void take_code(struct maple_static *s)
{
	const struct maple_static_taking *t = s->takings.at;

	if (s->used.n)
		qsort(s->used.at, s->used.n, sizeof(uint32_t), compare_numbers);
	for (size_t i = 0; i < s->takings.n; i++)
		if (!s->used.n || !bsearch(&t[i].from, s->used.at, s->used.n,
					   sizeof(uint32_t), compare_numbers))
			s->functions[t[i].function].taken = true;
}

/* By words that stand in the file. */
static void take_words(struct maple_static *s)
{
	uint64_t o, word;
	uint32_t f;

	for (unsigned int i = 0; i < s->code->nsegs; i++) {
		const struct maple_segment *seg = &s->code->seg[i];

		if (seg->exec)
			continue;
		for (o = -seg->lo & 7; o + 8 <= seg->filesz; o += 8) {
			memcpy(&word, seg->bytes + o, 8);
			if (!maple_image_in_text(s->code, word))
				continue;
			f = maple_static_range(s, word, true);
			if (f != MAPLE_STATIC_NONE)
				s->functions[f].taken = true;
		}
	}
}

static void find_main(struct maple_static *s)
{
	const struct maple_name *name = s->names->functions.at;
	const struct maple_static_edge *e;

	s->main = MAPLE_STATIC_NONE;
	for (size_t i = 0; i < s->names->functions.n; i++)
		if (!strcmp(name[i].name, "main"))
			s->main = maple_static_range(s, name[i].addr, true);
	for (uint32_t i = 0; s->main == MAPLE_STATIC_NONE && i < s->edges.n;
	     i++) {
		e = edge_at(s, i);
		if (e->kind == MAPLE_CALL_MAIN)
			s->main = e->start;
	}
}

/*
 * maple_static_creators - after the first time through all functions: which
 * of them may create threads, whose address is taken, and where main() is
 */
int maple_static_creators(struct maple_static *s)
{
	const struct maple_static_edge *e;
	struct graph g;

	if (open_graph(s, &g))
		return -ENOMEM;
	take_code(s);
	take_words(s);
	for (uint32_t i = 0; i < s->edges.n; i++) {
		e = edge_at(s, i);
		s->functions[e->from].creates |= maple_static_starts(e);
		s->functions[e->from].joins |= e->kind == MAPLE_CALL_JOIN;
		if (maple_static_starts(e) && e->start != MAPLE_STATIC_NONE)
			s->functions[e->start].given = true;
	}
	spread_up(&g, creates);
	spread_up(&g, joins);
	spread_kills(&g);
	s->settled = true;
	find_main(s);
	close_graph(&g);
	return 0;
}

/* ---- roots ---- */

static int add_start(struct graph *g, uint32_t function, uint32_t edge)
{
	struct start *slot = maple_array_more(&g->starts, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = (struct start){ function, edge };
	return 0;
}

/* What std::thread runs is a function of this name. */
static bool is_state(const char *name)
{
	static const char begins[] = "_ZNSt6thread11_State_impl";
	static const char ends[] = "6_M_runEv";
	size_t n = name ? strlen(name) : 0;

	return n > sizeof(begins) + sizeof(ends) &&
	       !strncmp(name, begins, sizeof(begins) - 1) &&
	       !strcmp(name + n - sizeof(ends) + 1, ends);
}

static int add_states(struct graph *g, uint32_t edge, unsigned int *n)
{
	const struct maple_name *name = g->s->names->functions.at;

	for (size_t i = 0; i < g->s->names->functions.n; i++) {
		uint32_t f =
			is_state(name[i].name)
				? maple_static_range(g->s, name[i].addr, true)
				: MAPLE_STATIC_NONE;

		if (f == MAPLE_STATIC_NONE)
			continue;
		if (add_start(g, f, edge))
			return -ENOMEM;
		++*n;
	}
	return 0;
}

static int add_fitting(struct graph *g, uint32_t edge,
		       enum maple_static_fit least, unsigned int *n)
{
	const struct maple_code_range *range = g->s->code->ranges.at;
	const struct maple_static_prototype *p;

	if (!maple_static_spend(g->s, g->n))
		return 0;
	for (uint32_t f = 0; f + 1 < g->n; f++) {
		if (!g->s->functions[f].taken && !g->s->functions[f].given)
			continue;
		p = maple_static_prototype(&g->s->types, range[f].lo, 0);
		if ((p ? p->fit : MAPLE_FIT_NOT) < least)
			continue;
		if (add_start(g, f, edge))
			return -ENOMEM;
		++*n;
	}
	return 0;
}

/*
 * Whatever a pointer may lead to: what fits a thread well, if anything does,
 * else roughly, else all.
 */
static int add_taken(struct graph *g, uint32_t edge)
{
	unsigned int n = 0;
	int ret = 0;

	for (int least = MAPLE_FIT_WELL; least >= MAPLE_FIT_NOT && !n && !ret;
	     least--)
		ret = add_fitting(g, edge, least, &n);
	return ret;
}

static int compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

#define STARTS_MAX (1u << 20)

static int find_starts(struct graph *g)
{
	const struct maple_static_edge *e;
	unsigned int n;
	int ret = 0;

	for (uint32_t i = 0; i < g->s->edges.n && !ret; i++) {
		e = edge_at(g->s, i);
		n = 0;
		if (!maple_static_starts(e))
			continue;
		if (g->starts.n > STARTS_MAX) {
			g->s->stats.cut = true;
			break;
		}
		if (e->start != MAPLE_STATIC_NONE)
			ret = add_start(g, e->start, i);
		else if (e->kind == MAPLE_CALL_CREATE_OBJECT)
			ret = add_states(g, i, &n);
		if (!ret && e->start == MAPLE_STATIC_NONE && !n)
			ret = add_taken(g, i);
	}
	if (g->starts.n)
		qsort(g->starts.at, g->starts.n, sizeof(struct start),
		      compare_starts);
	return ret;
}

/* The starts of @f: from @first on, so many. */
static size_t starts_of(const struct graph *g, uint32_t f, size_t *first)
{
	const struct start *start = g->starts.at;
	size_t n;

	*first = maple_array_lead(g->starts.n, i, start[i].function < f);
	n = maple_array_lead(g->starts.n, i, start[i].function <= f);
	return n - *first;
}

/* ---- more than once ---- */

static bool is_often(const struct graph *g, uint32_t f)
{
	const struct maple_static_function *of = g->s->functions;
	const struct start *start = g->starts.at;
	const struct maple_static_edge *e;
	size_t first, n = starts_of(g, f, &first);
	uint32_t calls = g->at[f + 1] - g->at[f];

	if (of[f].taken || calls + n > 1)
		return true;
	if (n) {
		e = edge_at(g->s, start[first].edge);
		return e->loops || of[e->from].often;
	}
	if (!calls)
		return false;
	e = edge_at(g->s, g->in[g->at[f]]);
	return e->loops || of[e->from].often;
}

static void find_often(struct graph *g)
{
	struct maple_static_function *f = g->s->functions;
	const struct start *start = g->starts.at;
	uint32_t n = 0, at, to;

	for (uint32_t i = 0; i + 1 < g->n; i++) {
		f[i].often = is_often(g, i);
		if (f[i].often)
			g->todo[n++] = i;
	}
	while (n) {
		at = g->todo[--n];
		for (uint32_t k = 0; k < f[at].ncalls; k++) {
			const struct maple_static_edge *e =
				edge_at(g->s, f[at].first_call + k);

			to = maple_static_calls(e) ? e->to : MAPLE_STATIC_NONE;
			if (to == MAPLE_STATIC_NONE || f[to].often)
				continue;
			f[to].often = true;
			g->todo[n++] = to;
		}
		/* Threads that it creates are few. */
		if (!f[at].creates || !maple_static_spend(g->s, g->starts.n))
			continue;
		for (size_t k = 0; k < g->starts.n; k++) {
			to = start[k].function;
			if (edge_at(g->s, start[k].edge)->from != at ||
			    f[to].often)
				continue;
			f[to].often = true;
			g->todo[n++] = to;
		}
	}
}

/* ---- who runs what ---- */

static void reach(struct graph *g, uint32_t from, uint64_t bit, bool *indirect)
{
	struct maple_static_function *f = g->s->functions;
	uint32_t n = 0, at, to;

	if (!(f[from].roots & bit)) {
		f[from].roots |= bit;
		g->todo[n++] = from;
	}
	while (n) {
		at = g->todo[--n];
		for (uint32_t k = 0; k < f[at].ncalls; k++) {
			const struct maple_static_edge *e =
				edge_at(g->s, f[at].first_call + k);

			if (!maple_static_calls(e))
				continue;
			to = e->to;
			if (to != MAPLE_STATIC_NONE && !(f[to].roots & bit)) {
				f[to].roots |= bit;
				g->todo[n++] = to;
			}
			if (to != MAPLE_STATIC_NONE || *indirect)
				continue;
			*indirect = true;
			for (uint32_t i = 0; i + 1 < g->n; i++) {
				if (!f[i].taken || f[i].roots & bit)
					continue;
				f[i].roots |= bit;
				g->todo[n++] = i;
			}
		}
	}
}

static int add_root(struct graph *g, uint32_t function, bool many)
{
	struct maple_static_root *root = g->s->roots.at;
	bool indirect = false;

	if (g->s->roots.n == ROOTS) {
		root[ROOTS - 1].many = true;
		reach(g, function, 1ull << (ROOTS - 1), &indirect);
		return 0;
	}
	root = maple_array_more(&g->s->roots, sizeof(*root));
	if (!root)
		return -ENOMEM;
	*root = (struct maple_static_root){ function, many };
	reach(g, function, 1ull << (g->s->roots.n - 1), &indirect);
	return 0;
}

static int find_roots(struct graph *g)
{
	const struct maple_static_function *f = g->s->functions;
	const struct start *start = g->starts.at;
	const struct maple_static_edge *e;
	size_t n;
	bool many;

	if (add_root(g, g->s->main, false))
		return -ENOMEM;
	for (size_t i = 0; i < g->starts.n; i += n) {
		many = false;
		for (n = 0; i + n < g->starts.n &&
			    start[i + n].function == start[i].function;
		     n++) {
			e = edge_at(g->s, start[i + n].edge);
			many |= n || e->loops || f[e->from].often;
		}
		if (add_root(g, start[i].function, many))
			return -ENOMEM;
	}
	return 0;
}

/* ---- before the first thread, after the last ---- */

/* The last call in main() that waits for the end of one; 0: there is none. */
static uint32_t find_last_join(const struct graph *g)
{
	const struct maple_static_function *f = g->s->functions,
					   *main = f + g->s->main;
	uint32_t last = 0;

	for (uint32_t k = 0; k < main->ncalls; k++) {
		const struct maple_static_edge *e =
			edge_at(g->s, main->first_call + k);

		if (e->kind == MAPLE_CALL_JOIN ||
		    (maple_static_calls(e) &&
		     (e->to == MAPLE_STATIC_NONE || f[e->to].joins)))
			last = e->at > last ? e->at : last;
	}
	/* What is created behind lives on. */
	for (uint32_t k = 0; k < main->ncalls; k++) {
		const struct maple_static_edge *e =
			edge_at(g->s, main->first_call + k);

		if (e->at > last &&
		    (maple_static_starts(e) ||
		     (maple_static_calls(e) && e->to != MAPLE_STATIC_NONE &&
		      f[e->to].creates)))
			return 0;
	}
	return g->s->detaches ? 0 : last;
}

static bool is_alone(const struct maple_static *s,
		     const struct maple_static_edge *e)
{
	if (e->from != s->main)
		return s->functions[e->from].alone;
	return !e->started ||
	       (s->last_join && e->at > s->last_join && !e->loops);
}

/* Functions that only run while main() is the only thread. */
static void find_alone(struct graph *g)
{
	struct maple_static_function *f = g->s->functions;
	uint32_t n = 0, at, to, k;
	size_t first;

	g->s->last_join = find_last_join(g);
	g->todo[n++] = g->s->main;
	while (n) {
		at = g->todo[--n];
		for (uint32_t i = 0; i < f[at].ncalls; i++) {
			const struct maple_static_edge *e =
				edge_at(g->s, f[at].first_call + i);

			to = maple_static_calls(e) ? e->to : MAPLE_STATIC_NONE;
			if (to == MAPLE_STATIC_NONE || f[to].alone ||
			    f[to].taken || f[to].creates || to == g->s->main ||
			    starts_of(g, to, &first))
				continue;
			for (k = g->at[to]; k < g->at[to + 1]; k++)
				if (!is_alone(g->s, edge_at(g->s, g->in[k])))
					break;
			if (k < g->at[to + 1])
				continue;
			f[to].alone = true;
			g->todo[n++] = to;
		}
	}
}

/* What all direct callers of a function hold. */
static void find_around(struct graph *g)
{
	for (uint32_t i = 0; i + 1 < g->n; i++) {
		struct maple_static_function *f = &g->s->functions[i];
		size_t first;

		f->naround = 0;
		if (f->taken || i == g->s->main || starts_of(g, i, &first))
			continue;
		for (uint32_t k = g->at[i]; k < g->at[i + 1]; k++) {
			const struct maple_static_edge *e =
				edge_at(g->s, g->in[k]);
			unsigned int n = 0, h;

			if (k == g->at[i]) {
				f->naround = e->nheld;
				memcpy(f->around, e->held, sizeof(f->around));
				continue;
			}
			for (unsigned int a = 0; a < f->naround; a++) {
				for (h = 0; h < e->nheld; h++)
					if (e->held[h].lock == f->around[a].lock)
						break;
				if (h < e->nheld)
					f->around[n++] = f->around[a];
			}
			f->naround = n;
		}
	}
}

/*
 * maple_static_roots - fills in who runs each function, and under whose locks
 *
 * Without a main() there are no roots: who calls a library's functions stands
 * elsewhere.
 */
int maple_static_roots(struct maple_static *s)
{
	struct graph g;
	int ret;

	if (s->main == MAPLE_STATIC_NONE)
		return 0;
	ret = open_graph(s, &g);
	if (ret)
		return ret;
	ret = find_starts(&g);
	if (!ret) {
		find_often(&g);
		ret = find_roots(&g);
	}
	if (!ret) {
		find_alone(&g);
		find_around(&g);
	}
	close_graph(&g);
	return ret;
}
