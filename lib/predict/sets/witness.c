// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which violations of atomic sets a run had. Sets and units are those of the
 * prediction (blocks.c, units.c); but here the order is the run's own, and two
 * units are compared only if they got into each other in time.
 *
 * What lies beside each other need not belong together. Two locations that are
 * kept by other locks, or of which one alone is kept by any, are no set, unless
 * somebody has said so.
 *
 * A pending access takes place somewhere between its record and its thread's
 * next event. What depends on where is not said, but counted.
 *
 * Of a run that was forced there is a log of a few sites, without stack
 * pointers that say anything. What is one unit there, other runs have said
 * (mates.c): two sites, so far apart, none of which comes again in between.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "mates.h"

#define PAST  16	 /* units of a set that ended while others were open */
#define STEPS (1u << 22) /* of a run */
#define FOUND 4096u

struct maple_witness {
	struct maple_sets *sets;
	struct maple_witness_stats stats;
	bool asks;
	struct maple_mates fresh;
	uint64_t now; /* events so far */
	uint64_t steps;
	struct maple_violated *found;
	struct maple_mates mates;
	/* Of a run that was forced: */
	const struct maple_mates *known;
	bool (*together)(void *ctx, uint32_t a, uint32_t b);
	void *ctx;
};

/* ---- what is one order ---- */

static bool overlap(const struct maple_touch *a, const struct maple_touch *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

/* Whether two accesses of a unit are to one set, @set if that is declared. */
static bool belong(const struct maple_touch *a, const struct maple_touch *b,
		   uint32_t set)
{
	return set || overlap(a, b) || (!a->guards && !b->guards) ||
	       a->guards & b->guards;
}

/* Whether one unit of @set may have made both, @a first. */
static bool are_one(const struct maple_witness *w, const struct maple_touch *a,
		    const struct maple_touch *b, uint32_t set)
{
	if (!w->known)
		return belong(a, b, set);
	return maple_mates_has(w->known, a, b) &&
	       (!w->together || w->together(w->ctx, a->context, b->context));
}

/* The events as @form has them, one after the other. */
static bool is_so(const struct maple_set_form *form,
		  const struct maple_touch *const *e)
{
	for (unsigned int i = 0; i + 1 < form->n; i++)
		if (e[form->order[i]]->when >= e[form->order[i + 1]]->when)
			return false;
	return true;
}

/* Whether none of them may have come after another thread's that follows. */
static bool is_sure(const struct maple_set_form *form,
		    const struct maple_touch *const *e)
{
	for (unsigned int i = 0; i < form->n; i++)
		for (unsigned int k = i + 1; k < form->n; k++) {
			unsigned int a = form->order[i], b = form->order[k];

			if ((form->q >> a & 1) != (form->q >> b & 1) &&
			    e[a]->until >= e[b]->when)
				return false;
		}
	return true;
}

/* The declared set that all of them are to; 0: to none, or to several. */
static uint32_t declared(const struct maple_witness *w,
			 const struct maple_touch *const *e, unsigned int n)
{
	uint32_t set = maple_sets_number(w->sets, e[0]->site);

	for (unsigned int i = 1; i < n; i++)
		if (maple_sets_number(w->sets, e[i]->site) != set)
			return 0;
	return set;
}

static void keep(struct maple_witness *w, const struct maple_set_row *row,
		 const struct maple_touch *const *e,
		 const struct maple_witnessed *p,
		 const struct maple_witnessed *q)
{
	const struct maple_set_form *form = maple_set_form(row->idiom);
	struct maple_iroot iroot = { .idiom = row->idiom };
	struct maple_violated *found;

	for (unsigned int i = 0; i < form->n; i++)
		iroot.e[i] =
			(struct maple_iroot_event){ e[i]->site, row->kind[i] };
	HASH_FIND(hh, w->found, &iroot, sizeof(iroot), found);
	if (found)
		return;
	if (HASH_COUNT(w->found) >= FOUND) {
		w->stats.cut++;
		return;
	}
	found = calloc(1, sizeof(*found));
	if (!found)
		return;
	found->iroot = iroot;
	found->pattern = row->pattern;
	found->set = declared(w, e, form->n);
	found->n = form->n;
	found->q = form->q;
	memcpy(found->order, form->order, sizeof(found->order));
	for (unsigned int i = 0; i < form->n; i++)
		found->e[i] = (struct maple_violated_end){
			e[i]->addr, e[i]->size, e[i]->context,
			form->q >> i & 1 ? q->thread : p->thread
		};
	HASH_ADD(hh, w->found, iroot, sizeof(iroot), found);
	if (!found->hh.tbl)
		free(found);
}

/* Orders of which all are atomic instructions are meant so. */
static void weigh(struct maple_witness *w, uint32_t idiom,
		  const struct maple_touch *const *e,
		  const struct maple_witnessed *p,
		  const struct maple_witnessed *q)
{
	const struct maple_set_form *form = maple_set_form(idiom);
	bool atomic = true;

	for (unsigned int i = 0; i < form->n; i++)
		atomic &= e[i]->atomic;
	if (atomic || !is_so(form, e))
		return;
	for (unsigned int r = 0; r < MAPLE_SET_ROWS; r++) {
		const struct maple_set_row *row = &maple_set_rows[r];
		bool fits = row->idiom == idiom;

		for (unsigned int i = 0; i < form->n && fits; i++)
			fits = e[i]->kinds & row->kind[i];
		if (fits && is_sure(form, e))
			keep(w, row, e, p, q);
		else
			w->stats.unsure += fits;
	}
}

/* P has @a before @b, at two locations; Q has @x at that of @a. */
static void match_two(struct maple_witness *w, const struct maple_touch *a,
		      const struct maple_touch *x, const struct maple_touch *b,
		      const struct maple_witnessed *p,
		      const struct maple_witnessed *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		const struct maple_touch *y = &q->touch[i];
		const struct maple_touch *e[] = { a, x, y, b };

		w->steps++;
		if (y == x || !overlap(b, y) || overlap(a, y) || overlap(x, y) ||
		    !(x < y ? are_one(w, x, y, q->set)
			    : are_one(w, y, x, q->set)))
			continue;
		for (uint32_t idiom = MAPLE_SET_2; idiom <= MAPLE_SET_4; idiom++)
			weigh(w, idiom, e, p, q);
	}
}

/* The orders in which unit @q got into unit @p. */
static void match(struct maple_witness *w, const struct maple_witnessed *p,
		  const struct maple_witnessed *q)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = i + 1; j < p->n; j++) {
			const struct maple_touch *a = &p->touch[i];
			const struct maple_touch *b = &p->touch[j];
			bool same = overlap(a, b);

			if (!are_one(w, a, b, p->set))
				continue;
			for (uint32_t k = 0; k < q->n; k++) {
				const struct maple_touch *x = &q->touch[k];
				const struct maple_touch *e[] = { a, x, b };

				w->steps++;
				if (!overlap(a, x) || overlap(b, x) != same)
					continue;
				if (same)
					weigh(w, MAPLE_SET_1, e, p, q);
				else
					match_two(w, a, x, b, p, q);
			}
		}
}

static bool ended_before(const struct maple_witnessed *a,
			 const struct maple_witnessed *b)
{
	return a->touch[a->n - 1].when < b->touch[0].when;
}

/* maple_witness_compare - two units of two threads, if they met in time */
void maple_witness_compare(struct maple_witness *w,
			   const struct maple_witnessed *a,
			   const struct maple_witnessed *b)
{
	assert(a->thread != b->thread && a->n && b->n);
	if (ended_before(a, b) || ended_before(b, a))
		return;
	if (w->steps >= STEPS) {
		w->stats.cut++;
		return;
	}
	match(w, a, b);
	match(w, b, a);
}

/* ---- units of a run that is seen whole ---- */

static uint64_t guards_of(const struct maple_locks *locks)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < locks->nheld; i++)
		bits |= 1ull
			<< (locks->held[i].lock * 0x9e3779b97f4a7c15ull >> 58);
	return bits;
}

/* maple_witness_touch - when it is; true: it is to be remembered */
bool maple_witness_touch(struct maple_sets *sets,
			 const struct maple_event *event,
			 struct maple_touch *touch)
{
	bool pending = event->flags & MAPLE_EVF_PENDING;

	touch->when = sets->witness->now;
	touch->until = pending ? UINT64_MAX : touch->when;
	touch->context = event->aux;
	touch->guards = guards_of(&sets->doer[event->thread]->locks);
	sets->doer[event->thread]->doubtful = pending;
	return true;
}

/* The thread goes on: its pending access has happened. */
static void settle(struct maple_witness *w, struct maple_doer *doer)
{
	for (uint32_t i = 0; i < doer->n; i++) {
		struct maple_open *unit = &doer->room[doer->begun[i].at];

		if (unit->n && unit->touch[unit->n - 1].until == UINT64_MAX)
			unit->touch[unit->n - 1].until = w->now;
	}
	doer->doubtful = false;
}

/* What ended before all that are open had begun is of no use any more. */
static void remember(struct maple_witness *w, struct maple_set *set,
		     const struct maple_open *unit, uint32_t thread)
{
	size_t size = unit->n * sizeof(unit->touch[0]);
	struct maple_done *done, **at;
	uint32_t n = 0;

	for (at = &set->past; *at && n < PAST - 1; n++)
		at = &(*at)->next;
	while ((done = *at)) {
		*at = done->next;
		free(done);
		set->npast--;
		w->stats.cut++;
	}
	done = malloc(sizeof(*done) + size);
	if (!done)
		return;
	done->thread = (uint16_t)thread;
	done->n = unit->n;
	memcpy(done->touch, unit->touch, size);
	done->next = set->past;
	set->past = done;
	set->npast++;
	assert(set->npast <= PAST);
}

static void learn_mates(struct maple_witness *w, const struct maple_open *unit,
			uint32_t set)
{
	for (uint32_t i = 0; i < unit->n; i++)
		for (uint32_t k = i + 1; k < unit->n; k++)
			if (belong(&unit->touch[i], &unit->touch[k], set) &&
			    !maple_mates_add(&w->mates, &unit->touch[i],
					     &unit->touch[k]))
				w->stats.cut++;
}

/* maple_witness_done - @unit, which is still counted as open, has ended */
void maple_witness_done(struct maple_sets *sets, const struct maple_open *unit,
			uint32_t thread)
{
	struct maple_witness *w = sets->witness;
	struct maple_set *set = unit->set;
	struct maple_witnessed now = { unit->touch, unit->n, (uint16_t)thread,
				       (uint32_t)set->given.number };

	w->stats.units++;
	if (!unit->n)
		return;
	learn_mates(w, unit, now.set);
	for (struct maple_done *d = set->past; d; d = d->next) {
		struct maple_witnessed past = { d->touch, d->n, d->thread,
						now.set };

		if (d->thread != thread)
			maple_witness_compare(w, &now, &past);
	}
	if (set->gone || set->open == 1)
		maple_witness_drop(set);
	else
		remember(w, set, unit, thread);
}

/* maple_witness_drop - what was remembered of @set */
void maple_witness_drop(struct maple_set *set)
{
	struct maple_done *done;

	while ((done = set->past)) {
		set->past = done->next;
		free(done);
	}
	set->npast = 0;
}

/* ---- the outside ---- */

/* maple_witness_create - see witness.h */
struct maple_witness *
maple_witness_create(const struct maple_belonging *belonging, size_t n,
		     bool asks)
{
	struct maple_witness *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->sets = maple_sets_create(&(struct maple_predict_sink){ 0 });
	if (!w->sets || !maple_sets_belong(w->sets, belonging, n)) {
		maple_witness_destroy(w);
		return NULL;
	}
	w->sets->witness = w;
	w->asks = asks;
	return w;
}

void maple_witness_destroy(struct maple_witness *w)
{
	struct maple_violated *found, *next;

	if (!w)
		return;
	maple_sets_destroy(w->sets);
	HASH_ITER (hh, w->found, found, next) {
		HASH_DEL(w->found, found);
		free(found);
	}
	maple_mates_deinit(&w->mates);
	maple_mates_deinit(&w->fresh);
	free(w);
}

/* maple_witness_event - see witness.h */
void maple_witness_event(struct maple_witness *w,
			 const struct maple_event *event)
{
	struct maple_doer *doer = event->thread < MAPLE_THREADS
					  ? w->sets->doer[event->thread]
					  : NULL;

	w->now++;
	if (doer && doer->doubtful)
		settle(w, doer);
	if (w->asks && maple_event_is_memory(event->kind) &&
	    !maple_sets_knows(w->sets, event->site))
		maple_mates_note(&w->fresh, event->site + 1ull);
	/* Without a stack pointer nobody knows where a unit ends. */
	if (maple_event_is_memory(event->kind) && !event->sp)
		return;
	maple_sets_event(w->sets, event);
}

/* maple_witness_finish - the run is over */
void maple_witness_finish(struct maple_witness *w)
{
	maple_sets_finish(w->sets);
}

/* maple_witness_found - see witness.h */
struct maple_violated *maple_witness_found(const struct maple_witness *w)
{
	return w->found;
}

const struct maple_mates *maple_witness_mates(const struct maple_witness *w)
{
	return &w->mates;
}

const struct maple_mates *maple_witness_fresh(const struct maple_witness *w)
{
	return &w->fresh;
}

/* maple_witness_stats - see witness.h */
void maple_witness_stats(const struct maple_witness *w,
			 struct maple_witness_stats *stats)
{
	struct maple_sets_stats sets;

	maple_sets_stats(w->sets, &sets);
	*stats = w->stats;
	stats->cut += sets.cut_sets + sets.cut_open + sets.cut_units;
}

/* ---- a run that was forced ---- */

#define ENDED 32 /* windows that are still compared with later ones */
/*
 * Executions of a site of which each is logged. Of one with 1,000 the agent
 * logs only what matters to its plan; some may be on their way into the log.
 */
#define LOGGED 900

/* What a thread did since a site of it came again. */
struct window {
	uint32_t n;
	uint16_t thread;
	bool doubtful;
	struct maple_touch touch[MAPLE_SETS_TOUCHES];
};

struct windows {
	struct window *of[MAPLE_THREADS];
	struct window ended[ENDED];
	uint32_t nended;	     /* so far */
	struct maple_sitemap logged; /* uint32_t: events of a site */
};

static void compare_windows(struct maple_witness *w, const struct window *a,
			    const struct window *b)
{
	struct maple_witnessed x = { a->touch, a->n, a->thread, 0 };
	struct maple_witnessed y = { b->touch, b->n, b->thread, 0 };

	if (a->n && b->n && a->thread != b->thread)
		maple_witness_compare(w, &x, &y);
}

/* A window is over: what got into it is over as well, or is compared later. */
static void end_window(struct maple_witness *w, struct windows *all,
		       const struct window *window)
{
	uint32_t n = all->nended < ENDED ? all->nended : ENDED;

	for (uint32_t i = 0; i < n; i++)
		compare_windows(w, window, &all->ended[i]);
	all->ended[all->nended++ % ENDED] = *window;
}

static void drop_first(struct window *window, uint32_t n)
{
	window->n -= n;
	memmove(window->touch, window->touch + n,
		window->n * sizeof(window->touch[0]));
}

/* @site may be executed unseen from here on: nobody knows who is there again. */
static void forget_site(struct maple_witness *w, struct windows *all,
			uint32_t site)
{
	for (uint32_t t = 0; t < MAPLE_THREADS; t++) {
		struct window *window = all->of[t];
		uint32_t drop = 0;

		for (uint32_t i = 0; window && i < window->n; i++)
			if (window->touch[i].site == site)
				drop = i + 1;
		if (!drop)
			continue;
		end_window(w, all, window);
		drop_first(window, drop);
		window->doubtful &= window->n > 0;
	}
}

/* Whether @site has been executed so often that not each time is logged. */
static bool is_often(struct maple_witness *w, struct windows *all, uint32_t site)
{
	uint32_t *n = maple_sitemap_at(&all->logged, site);

	if (!n)
		return true;
	if (*n < LOGGED && ++*n == LOGGED)
		forget_site(w, all, site);
	return *n == LOGGED;
}

static void add_access(struct maple_witness *w, struct windows *all,
		       struct window *window, const struct maple_event *event)
{
	bool pending = event->flags & MAPLE_EVF_PENDING;
	uint32_t drop = window->n == MAPLE_SETS_TOUCHES;

	for (uint32_t i = 0; i < window->n; i++)
		if (window->touch[i].site == event->site)
			drop = i + 1;
	if (drop) {
		end_window(w, all, window);
		drop_first(window, drop);
	}
	window->touch[window->n++] = (struct maple_touch){
		.addr = event->addr,
		.size = event->size,
		.site = event->site,
		.kinds = event->kind,
		.atomic = event->flags & MAPLE_EVF_ATOMIC,
		.when = w->now,
		.until = pending ? UINT64_MAX : w->now,
		.context = event->aux,
	};
	window->doubtful = pending;
}

static void log_event(struct maple_witness *w, struct windows *all,
		      const struct maple_event *event)
{
	struct window *window = all->of[event->thread];

	w->now++;
	if (window && window->doubtful) {
		window->touch[window->n - 1].until = w->now;
		window->doubtful = false;
	}
	if (!maple_event_is_memory(event->kind) || !event->size ||
	    event->site == MAPLE_SITE_NONE || is_often(w, all, event->site))
		return;
	if (!window)
		window = all->of[event->thread] = calloc(1, sizeof(*window));
	if (!window)
		return;
	window->thread = event->thread;
	add_access(w, all, window, event);
}

/* maple_witness_forced - see witness.h */
void maple_witness_forced(struct maple_witness *w, const struct maple_event *log,
			  uint32_t n, const struct maple_mates *mates,
			  bool (*together)(void *ctx, uint32_t a, uint32_t b),
			  void *ctx)
{
	struct windows *all = calloc(1, sizeof(*all));

	if (!all)
		return;
	all->logged.element = sizeof(uint32_t);
	w->known = mates;
	w->together = together;
	w->ctx = ctx;
	for (uint32_t i = 0; i < n; i++)
		if (log[i].thread < MAPLE_THREADS)
			log_event(w, all, &log[i]);
	for (uint32_t i = 0; i < MAPLE_THREADS; i++) {
		if (!all->of[i])
			continue;
		end_window(w, all, all->of[i]);
		free(all->of[i]);
	}
	maple_sitemap_deinit(&all->logged);
	free(all);
	w->known = NULL;
}
