// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The predictor's life: made, fed (feed.c), finished, asked, freed. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

#define DEFAULT_LOCATIONS (1u << 20)
#define DEFAULT_ENTRIES	  (1u << 21)
#define DEFAULT_SUMMARIES 1024
#define DEFAULT_SPANS	  256
#define DEFAULT_BYTES	  65536
#define DEFAULT_PAIRS	  (1u << 19)
#define DEFAULT_COLLECT	  4
#define DEFAULT_WINDOW	  1000

static const struct maple_lockset *holds(void *ctx, uint32_t thread)
{
	struct maple_predict *p = ctx;
	struct maple_locks *locks;

	if (!p->thread[thread])
		return NULL;
	locks = &p->thread[thread]->locks;
	/* Borrowed: locks keeps it until it changes. */
	maple_lockset_put(maple_locks_set(locks));
	return locks->set;
}

static int found(void *ctx, const struct maple_dependency *found)
{
	struct maple_predict *p = ctx;
	struct maple_dependency d = *found;
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { d.from->site, d.from->kind },
		       { d.to->site, d.to->kind } },
	};
	struct maple_brief brief = {
		.e = { { d.from->thread, d.from_span->occurrence,
			 d.from_span->class },
		       { d.to->thread, d.to_span->occurrence,
			 d.to_span->class } },
		.disjoint = d.disjoint,
		.ordered = d.ordered,
	};
	bool ends, new;

	assert(d.from->thread != d.to->thread);
	if (d.from->site == MAPLE_SITE_NONE || d.to->site == MAPLE_SITE_NONE)
		return 0;
	ends = p->compound && (maple_pairs_end(&p->pairs, d.from_span) ||
			       maple_pairs_end(&p->pairs, d.to_span));
	if (!ends && maple_iroots_enough(&p->iroots, &iroot, &brief)) {
		p->stats.cut_edges += p->compound;
		return 0;
	}
	if (p->compound && maple_pairs_known(&p->pairs, &d))
		return 0;
	brief.against = d.against =
		(uint8_t)maple_causes_against(&p->causes, &d);
	new = maple_iroots_predicted(&p->iroots, &iroot, &brief);
	if (!p->compound)
		return 0;
	if (new || ends)
		return maple_pairs_dependency(&p->pairs, &d);
	p->stats.cut_edges++;
	return 0;
}

/* R of one thread, W of another, W of the first: R and W are one instruction. */
static void between(void *ctx, const struct maple_dependency *d)
{
	struct maple_predict *p = ctx;
	uint32_t site = d->from->site;
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_2,
		.e = { { site, MAPLE_EV_READ },
		       { d->to->site, MAPLE_EV_WRITE },
		       { site, MAPLE_EV_WRITE } },
	};
	struct maple_brief brief = {
		.e = { { d->from->thread, d->from_span->occurrence,
			 d->from_span->class },
		       { d->to->thread, d->to_span->occurrence,
			 d->to_span->class } },
		.disjoint = true,
	};

	brief.e[2] = brief.e[0];
	if (site == MAPLE_SITE_NONE || d->to->site == MAPLE_SITE_NONE ||
	    !p->options.splits(p->options.splits_ctx, site) ||
	    maple_iroots_enough(&p->iroots, &iroot, &brief))
		return;
	brief.against = (uint8_t)maple_causes_against(&p->causes, d);
	maple_iroots_predicted(&p->iroots, &iroot, &brief);
}

static int folded(void *ctx, struct maple_entry *entry,
		  struct maple_summary *summary)
{
	struct maple_predict *p = ctx;

	if (!p->compound || summary->site == MAPLE_SITE_NONE)
		return 0;
	return maple_pairs_fold(&p->pairs, entry, summary);
}

static void set_defaults(struct maple_predict_options *options)
{
	if (!options->window)
		options->window = DEFAULT_WINDOW;
	if (!options->max_locations)
		options->max_locations = DEFAULT_LOCATIONS;
	if (!options->max_entries)
		options->max_entries = DEFAULT_ENTRIES;
	if (!options->max_summaries)
		options->max_summaries = DEFAULT_SUMMARIES;
	if (!options->max_spans)
		options->max_spans = DEFAULT_SPANS;
	if (!options->max_bytes)
		options->max_bytes = DEFAULT_BYTES;
	if (!options->max_pairs)
		options->max_pairs = DEFAULT_PAIRS;
	if (!options->collect)
		options->collect = DEFAULT_COLLECT;
	if (!options->idioms)
		options->idioms = MAPLE_IDIOMS_PREDICTED;
}

/*
 * maple_predict_create - observer and predictor of one run
 * @options: may be NULL
 * @sink: copied; functions may be NULL
 * @predict: to be freed with maple_predict_destroy()
 *
 * Errors: -ENOMEM.
 */
int maple_predict_create(const struct maple_predict_options *options,
			 const struct maple_predict_sink *sink,
			 struct maple_predict **predict)
{
	struct maple_predict *p = calloc(1, sizeof(*p));

	*predict = p;
	if (!p)
		return -ENOMEM;
	if (options)
		p->options = *options;
	set_defaults(&p->options);
	if (sink)
		p->sink = *sink;
	p->compound = p->options.idioms & ~(1u << MAPLE_IDIOM_1);
	p->window.events = p->options.window;
	p->late.over = p->options.over;
	p->late.ctx = p->options.ctx;
	p->window.stats = &p->stats;
	maple_clocks_init(&p->clocks, &p->stats);
	p->causes.stats = &p->stats;
	maple_space_init(&p->space, &p->slab, p->options.max_locations,
			 p->options.max_entries, &p->stats);
	maple_sites_init(&p->sites, &p->stats);
	p->iroots.sink = &p->sink;
	p->iroots.stats = &p->stats;
	p->iroots.idioms = p->options.idioms;
	p->observer.iroots = &p->iroots;
	p->observer.stats = &p->stats;
	if (p->compound)
		maple_observer_sequences_init(&p->observer, &p->window);
	p->conds.clocks = &p->clocks;
	p->conds.iroots = &p->iroots;
	p->conds.stats = &p->stats;
	p->conds.predicts = !p->options.no_predict;
	p->conds.observes = !p->options.no_observe;
	p->pairs.slab = &p->slab;
	p->pairs.window = &p->window;
	p->pairs.annotations = &p->history.annotations;
	p->pairs.iroots = &p->iroots;
	p->pairs.causes = &p->causes;
	p->pairs.stats = &p->stats;
	p->pairs.late = &p->late;
	p->pairs.idioms = p->options.idioms;
	maple_pairs_init(&p->pairs, p->options.max_pairs);
	p->history.slab = &p->slab;
	p->history.clocks = &p->clocks;
	p->history.stats = &p->stats;
	p->history.max_summaries = p->options.max_summaries;
	p->history.max_spans = p->options.max_spans;
	p->history.collect = p->options.collect;
	p->history.holds = holds;
	p->history.folded = folded;
	p->history.found = found;
	p->history.between = p->options.splits ? between : NULL;
	p->history.reads_first = p->options.reads_first;
	p->history.ctx = p;
	return 0;
}

/* AVIO's four, or W-W-W: P's accesses cannot seem to be one. */
static bool breaks(const struct maple_iroot_event *first,
		   const struct maple_iroot_event *between,
		   const struct maple_iroot_event *last)
{
	if (!maple_event_is_memory(first->kind))
		return false;
	return between->kind == MAPLE_EV_WRITE ||
	       (first->kind == MAPLE_EV_WRITE && last->kind == MAPLE_EV_WRITE);
}

static bool unserializable(const struct maple_iroot *iroot)
{
	const struct maple_iroot_event *e = iroot->e;

	switch (iroot->idiom) {
	case MAPLE_IDIOM_2:
		return breaks(&e[0], &e[1], &e[2]);
	case MAPLE_IDIOM_3:
		return breaks(&e[0], &e[1], &e[3]) ||
		       breaks(&e[0], &e[2], &e[3]);
	default:
		return false;
	}
}

static void complete_end(const struct maple_predict *p,
			 const struct maple_iroot_event *event,
			 struct maple_predict_end *end, bool *cut)
{
	uint32_t site = event->site;
	const struct maple_site_gates *gates;
	const struct maple_executions *executions;

	gates = maple_sitemap_find(&p->sites.gates, site);
	if (gates) {
		end->ngates = gates->n;
		memcpy(end->gate, gates->gate, sizeof(gates->gate));
		*cut |= gates->cut;
	}
	end->nclasses = 1;
	end->class_site[0] = end->class;
	end->class_occurrence[0] = end->occurrence;
	if (maple_event_is_condition(event->kind))
		return; /* counted by itself, not by its site */
	assert(p->thread[end->thread]);
	executions = maple_sitemap_find(&p->thread[end->thread]->executed, site);
	assert(executions && executions->n);
	end->frees = executions->frees;
	for (uint32_t i = 0; i < executions->nclasses; i++) {
		if (executions->class_site[i] == end->class ||
		    end->nclasses == MAPLE_PREDICT_CLASSES)
			continue;
		end->class_site[end->nclasses] = executions->class_site[i];
		end->class_occurrence[end->nclasses++] =
			executions->class_occurrence[i];
	}
}

/* What @site was to all threads, as far as that is asked here. */
static struct maple_executions executed_by_any(const struct maple_predict *p,
					       uint32_t site)
{
	struct maple_executions all = { 0 };
	const struct maple_executions *by;

	for (unsigned int i = 0; i < MAPLE_THREADS; i++) {
		by = p->thread[i]
			     ? maple_sitemap_find(&p->thread[i]->executed, site)
			     : NULL;
		if (!by)
			continue;
		all.n += by->n;
		all.served |= by->served;
		all.handed |= by->handed;
		all.loose |= by->loose;
	}
	return all;
}

/* Whether a server has executed @site, but never while it served. */
static bool is_startup(const struct maple_predict *p, uint32_t site)
{
	const uint64_t *quiet = maple_sitemap_find(&p->sites.quiet, site);
	struct maple_executions all;

	if (!p->served || (quiet && *quiet))
		return false;
	all = executed_by_any(p, site);
	return all.n && !all.served;
}

/* Whether all that was done at @site was done to memory that is handed on. */
static bool is_handed_on(const struct maple_predict *p, uint32_t site)
{
	struct maple_executions all = executed_by_any(p, site);

	return all.handed && !all.loose;
}

static bool is_recycling(const struct maple_predict *p,
			 const struct maple_iroot *iroot)
{
	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++)
		if (!maple_event_is_memory(iroot->e[i].kind) ||
		    !is_handed_on(p, iroot->e[i].site))
			return false;
	return true;
}

static void complete(void *ctx, const struct maple_iroot *iroot,
		     const struct maple_brief *brief,
		     struct maple_predict_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	facts->disjoint = brief->disjoint;
	facts->ordered = brief->ordered;
	facts->against = brief->against;
	if (facts->disjoint && is_recycling(ctx, iroot))
		facts->against = MAPLE_AGAINST;
	facts->unserializable = unserializable(iroot);
	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		facts->e[i].thread = brief->e[i].thread;
		facts->e[i].occurrence = brief->e[i].occurrence;
		facts->e[i].class = brief->e[i].class;
		complete_end(ctx, &iroot->e[i], &facts->e[i], &facts->gates_cut);
		facts->startup |= is_startup(ctx, iroot->e[i].site);
	}
}

static bool certain(void *ctx, const struct maple_iroot *iroot, uint64_t when)
{
	struct maple_predict *p = ctx;

	return maple_sites_certain(&p->sites, iroot, when);
}

/*
 * maple_predict_finish - the run is over: completes the history and tells
 *                        the sink what was predicted
 *
 * What is pending then is not known to have happened: nothing is said of it.
 * What was observed while sites were quiet comes now, if it is certain.
 * When options.over() says so, what is not gone through yet stays unknown.
 * Errors: -ENOMEM, after telling what could be worked out.
 */
int maple_predict_finish(struct maple_predict *p)
{
	int ret;

	if (p->finished)
		return -EINVAL;
	p->finished = true;
	p->error = maple_predict_drain(p);
	assert(p->ahead.in == p->ahead.out);
	maple_space_walk(&p->space, maple_predict_close, p);
	ret = maple_sites_index(&p->sites);
	if (ret)
		p->error = ret;
	if (p->compound && !p->options.no_predict) {
		ret = maple_pairs_flush(&p->pairs, true);
		if (ret)
			p->error = ret;
	}
	p->stats.no_memory += p->error != 0;
	maple_iroots_claims(&p->iroots, certain, p);
	maple_iroots_report(&p->iroots, complete, p);
	return p->error;
}

/*
 * maple_predict_guards - all sites seen on a location shared by threads on
 *                        which an event of @iroot was seen
 *
 * From the sink's predicted() on, not before. Returns how many stand in @sites,
 * at most @max; those that met more of the iRoot's events come first.
 */
unsigned int maple_predict_guards(const struct maple_predict *p,
				  const struct maple_iroot *iroot,
				  uint32_t *sites, unsigned int max)
{
	return maple_sites_guards(&p->sites, iroot, sites, max);
}

/*
 * maple_predict_shared - whether @site was seen on memory that two threads
 * touched
 *
 * From the sink's predicted() on, not before.
 */
bool maple_predict_shared(const struct maple_predict *p, uint32_t site)
{
	return maple_sites_shared(&p->sites, site);
}

/*
 * maple_predict_covers - the outermost lock calls under which guards of
 *                        @iroot were seen, then the unlock calls that end
 *                        these
 *
 * When and what it returns is as for maple_predict_guards().
 */
unsigned int maple_predict_covers(const struct maple_predict *p,
				  const struct maple_iroot *iroot,
				  uint32_t *sites, unsigned int max)
{
	return maple_sites_covers(&p->sites, iroot, sites, max);
}

/* maple_predict_stats - what was seen and cut so far */
void maple_predict_stats(const struct maple_predict *p,
			 struct maple_predict_stats *stats)
{
	*stats = p->stats;
	stats->locations = p->space.ncells;
}

/* maple_predict_destroy - frees @p, which may be NULL */
void maple_predict_destroy(struct maple_predict *p)
{
	if (!p)
		return;
	maple_pairs_deinit(&p->pairs);
	maple_window_deinit(&p->window);
	maple_space_deinit(&p->space);
	assert(!p->space.ncells && !p->space.nentries);
	for (unsigned int i = 0; i < MAPLE_THREADS; i++) {
		if (!p->thread[i])
			continue;
		maple_locks_deinit(&p->thread[i]->locks);
		maple_sitemap_deinit(&p->thread[i]->executed);
		free(p->thread[i]);
	}
	maple_conds_deinit(&p->conds);
	maple_clocks_deinit(&p->clocks);
	maple_causes_deinit(&p->causes);
	maple_annotations_deinit(&p->history.annotations);
	maple_observer_deinit(&p->observer);
	maple_sites_deinit(&p->sites);
	maple_iroots_deinit(&p->iroots);
	maple_slab_deinit(&p->slab);
	free(p);
}
