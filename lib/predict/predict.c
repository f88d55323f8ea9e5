// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Takes a run's events apart and hands each to those that need it:
 *
 *   event --> clock     happens-before without locks
 *         --> lockset   critical sections
 *         --> location  which cells an access covers
 *                 |--> observer   what this order exposed
 *                 '--> history    what other orders could expose
 *                         '--> search, prune
 *         --> sites     gates, guards, how-manieth execution
 *   iroots <-- observer, search: each iRoot once, with its best facts
 *
 * Local pairs of the compound idioms will hang on the summaries that
 * access() completes; nothing here depends on idiom 1 being alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "history.h"
#include "iroots.h"
#include "location.h"
#include "lockset.h"
#include "observer.h"
#include "predict.h"
#include "sites.h"

#define DEFAULT_LOCATIONS (1u << 20)
#define DEFAULT_ENTRIES   (1u << 21)
#define DEFAULT_SUMMARIES 1024
#define DEFAULT_SPANS     256
#define DEFAULT_BYTES     65536
#define DEFAULT_COLLECT   32
#define DEFAULT_WINDOW    1000
#define SITES_MAX         (1u << 24)
#define RECENT            4 /* cells of one access that learn its class */

struct thread {
	struct maple_locks locks;
	struct maple_sitemap executed; /* uint32_t: how often */
	struct maple_entry *recent[RECENT];
	uint64_t stack, stack_size;
};

struct maple_predict {
	struct maple_predict_options options;
	struct maple_predict_sink sink;
	struct maple_predict_stats stats;
	struct maple_clocks clocks;
	struct maple_space space;
	struct maple_history history;
	struct maple_observer observer;
	struct maple_iroots iroots;
	struct maple_sites sites;
	uint64_t sections;
	bool finished;
	int error; /* while closing cells */
	struct thread *thread[MAPLE_THREADS];
};

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

static void set_end(struct maple_predict_end *end,
		    const struct maple_summary *summary,
		    const struct maple_span *span)
{
	end->thread = summary->thread;
	end->occurrence = span->occurrence;
	end->class = span->class;
}

static int found(void *ctx, const struct maple_dependency *d)
{
	struct maple_predict *p = ctx;
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { d->from->site, d->from->kind },
		       { d->to->site, d->to->kind } },
	};
	struct maple_predict_facts facts = {
		.disjoint = d->disjoint,
		.ordered = d->ordered,
	};

	if (d->from->site == MAPLE_SITE_NONE || d->to->site == MAPLE_SITE_NONE)
		return 0;
	set_end(&facts.e[0], d->from, d->from_span);
	set_end(&facts.e[1], d->to, d->to_span);
	maple_iroots_predicted(&p->iroots, &iroot, &facts);
	return 0;
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
	if (!options->collect)
		options->collect = DEFAULT_COLLECT;
	if (!options->idioms)
		options->idioms = 1u << MAPLE_IDIOM_1;
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
	if (!(p->options.idioms & 1u << MAPLE_IDIOM_1)) {
		p->sink.observed = NULL;
		p->sink.predicted = NULL;
	}
	maple_clocks_init(&p->clocks, &p->stats);
	maple_space_init(&p->space, p->options.max_locations,
			 p->options.max_entries, &p->stats);
	maple_sites_init(&p->sites, &p->stats);
	p->iroots.sink = &p->sink;
	p->iroots.stats = &p->stats;
	p->observer.iroots = &p->iroots;
	p->observer.stats = &p->stats;
	p->history.clocks = &p->clocks;
	p->history.stats = &p->stats;
	p->history.max_summaries = p->options.max_summaries;
	p->history.max_spans = p->options.max_spans;
	p->history.collect = p->options.collect;
	p->history.holds = holds;
	p->history.found = found;
	p->history.ctx = p;
	return 0;
}

static struct thread *thread_of(struct maple_predict *p, uint32_t number)
{
	struct thread *thread = p->thread[number];

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (thread)
			thread->executed.element = sizeof(uint32_t);
		p->thread[number] = thread;
	}
	return thread;
}

static void close_cell(void *ctx, struct maple_cell *cell)
{
	struct maple_predict *p = ctx;
	int ret = 0;

	if (!p->options.no_predict)
		ret = maple_history_close(&p->history, cell);
	if (!ret)
		ret = maple_sites_cell(&p->sites, cell);
	if (ret)
		p->error = ret;
}

static int close_range(struct maple_predict *p, uint64_t addr, uint64_t size)
{
	int ret;

	if (size > UINT64_MAX - addr)
		size = UINT64_MAX - addr;
	maple_observer_forget(&p->observer, addr, size);
	maple_space_close(&p->space, addr, size, close_cell, p);
	ret = p->error;
	p->error = 0;
	return ret;
}

/* What @access does to one cell. */
static int touch(struct maple_predict *p, struct maple_cell *cell,
		 const struct maple_access *access,
		 const struct maple_event *event, enum maple_verdict verdict,
		 struct maple_entry **recent)
{
	struct maple_entry *entry;
	int ret;

	entry = maple_entry_of(&p->space, cell, event->thread);
	if (!entry) {
		maple_observer_spoil(cell);
		return 0;
	}
	if (!p->options.no_observe) {
		if (verdict == MAPLE_APPLY)
			maple_observer_apply(&p->observer, cell, entry, event);
		else if (verdict == MAPLE_SPOIL)
			maple_observer_spoil(cell);
	}
	if (p->options.no_predict)
		return 0;
	ret = maple_history_access(&p->history, cell, entry, access);
	if (recent) {
		entry->recent = recent;
		*recent = entry;
	}
	return ret;
}

/* Counts the execution of a site, and tells the ones before what followed. */
static int execute(struct maple_predict *p, struct thread *thread,
		   const struct maple_event *event, uint32_t *occurrence)
{
	uint32_t *executed;

	for (unsigned int i = 0; i < RECENT; i++) {
		if (!thread->recent[i])
			continue;
		thread->recent[i]->access.class = event->site;
		thread->recent[i]->recent = NULL;
		thread->recent[i] = NULL;
	}
	*occurrence = 0;
	if (event->site == MAPLE_SITE_NONE)
		return 0;
	executed = maple_sitemap_at(&thread->executed, event->site);
	if (!executed)
		return -ENOMEM;
	*occurrence = (*executed)++;
	if (!thread->locks.nheld)
		return 0;
	return maple_sites_gate(&p->sites, event->site,
				thread->locks.outermost);
}

/* An access to @n cells found; takes over the reference to @set. */
static int access(struct maple_predict *p, struct thread *thread,
		  const struct maple_event *event, struct maple_lockset *set,
		  uint32_t occurrence, enum maple_verdict verdict, int n)
{
	struct maple_access access = {
		.set = set,
		.site = event->site,
		.clock = event->clock,
		.occurrence = occurrence,
		.class = MAPLE_SITE_NONE,
		.kind = event->kind,
		.shared = !maple_event_is_memory(event->kind) &&
			  (event->flags & MAPLE_EVF_SHARED),
	};
	bool memory = maple_event_is_memory(event->kind);
	unsigned int recent = 0;
	int ret = n < 0 ? n : 0;

	access.epoch = maple_clocks_epoch(&p->clocks, event->thread);
	if (!access.epoch || !set)
		ret = -ENOMEM;
	for (int i = 0; i < n && !ret; i++) {
		if (p->space.found[i]->mutex == memory)
			continue;
		ret = touch(p, p->space.found[i], &access, event, verdict,
			    recent < RECENT ? &thread->recent[recent] : NULL);
		recent++;
	}
	maple_epoch_put(access.epoch);
	maple_lockset_put(set);
	return ret;
}

/*
 * Cuts an access to what is looked at; false if nothing is left. Of the rest
 * it is only known that something happened there.
 */
static bool trim(struct maple_predict *p, struct maple_event *event,
		 uint32_t *cut)
{
	uint32_t max = p->options.max_bytes;

	*cut = 0;
	if (event->size > UINT64_MAX - event->addr) {
		p->stats.bad_events++;
		return false;
	}
	if (event->size > max) {
		*cut = event->size - max;
		p->stats.cut_bytes += *cut;
		maple_space_visit(&p->space, event->addr + max, *cut,
				  maple_observer_spoil);
		event->size = max;
	}
	return event->size;
}

static int data_event(struct maple_predict *p, struct thread *thread,
		      struct maple_event *event)
{
	enum maple_verdict verdict = MAPLE_APPLY;
	uint32_t occurrence, cut;
	int ret = execute(p, thread, event, &occurrence);

	if (ret || !trim(p, event, &cut))
		return ret;
	if (!p->options.no_observe)
		verdict = maple_observer_judge(&p->observer, event, cut);
	return access(p, thread, event, maple_locks_set(&thread->locks),
		      occurrence, verdict,
		      maple_space_find(&p->space, event->addr, event->size));
}

/* The cell of a lock, which was never anything else or is from now on. */
static int lock_cell(struct maple_predict *p, uint64_t addr)
{
	struct maple_cell *cell;
	int n = maple_space_find(&p->space, addr, 1), ret;

	if (n <= 0 || p->space.found[0]->mutex)
		return n;
	if (p->space.found[0]->entries) {
		ret = close_range(p, addr, 1);
		if (ret)
			return ret;
		n = maple_space_find(&p->space, addr, 1);
		if (n <= 0)
			return n;
	}
	cell = p->space.found[0];
	cell->mutex = true;
	return n;
}

/* An event of a mutex is under the locks around it, not under itself. */
static int lock_event(struct maple_predict *p, struct thread *thread,
		      const struct maple_event *event)
{
	struct maple_lockset *set = NULL;
	uint32_t occurrence;
	bool outermost;
	int ret = execute(p, thread, event, &occurrence), n;

	if (ret)
		return ret;
	if (event->kind == MAPLE_EV_LOCK) {
		set = maple_locks_set(&thread->locks);
		outermost = maple_locks_acquire(&thread->locks, event,
						++p->sections);
	} else {
		outermost = maple_locks_release(&thread->locks, event);
		set = maple_locks_set(&thread->locks);
	}
	n = outermost ? lock_cell(p, event->addr) : 0;
	return access(p, thread, event, set, occurrence, MAPLE_APPLY, n);
}

/* The thread's pending access has happened: now the observer hears of it. */
static int settle(struct maple_predict *p, uint32_t thread)
{
	struct maple_doubt doubt;
	int n;

	if (!maple_observer_settle(&p->observer, thread, &doubt))
		return 0;
	maple_space_visit(&p->space, doubt.event.addr + doubt.event.size,
			  doubt.cut, maple_observer_spoil);
	n = maple_space_find(&p->space, doubt.event.addr, doubt.event.size);
	for (int i = 0; i < n; i++) {
		struct maple_cell *cell = p->space.found[i];
		struct maple_entry *entry;

		if (cell->mutex)
			continue;
		entry = maple_entry_of(&p->space, cell, thread);
		if (!entry || doubt.unsure)
			maple_observer_spoil(cell);
		else
			maple_observer_apply(&p->observer, cell, entry,
					     &doubt.event);
	}
	return n < 0 ? n : 0;
}

/* A thread's stack is new when it starts and gone when it ends. */
static int stack_event(struct maple_predict *p, struct thread *thread,
		       const struct maple_event *event)
{
	if (event->kind == MAPLE_EV_START) {
		thread->stack = event->addr;
		thread->stack_size = event->size;
	}
	return close_range(p, thread->stack, thread->stack_size);
}

static int dispatch(struct maple_predict *p, struct thread *thread,
		    struct maple_event *event)
{
	int ret;

	switch (event->kind) {
	case MAPLE_EV_READ:
	case MAPLE_EV_WRITE:
	case MAPLE_EV_UPDATE:
		return data_event(p, thread, event);
	case MAPLE_EV_LOCK:
	case MAPLE_EV_UNLOCK:
		return lock_event(p, thread, event);
	case MAPLE_EV_ALLOC:
	case MAPLE_EV_FREE:
		return close_range(p, event->addr, event->value);
	case MAPLE_EV_START:
	case MAPLE_EV_EXIT:
		ret = stack_event(p, thread, event);
		return ret ? ret : maple_clocks_event(&p->clocks, event);
	default:
		return maple_clocks_event(&p->clocks, event);
	}
}

/*
 * maple_predict_event - takes the run's next event
 *
 * An event that cannot be is counted and passed over. Errors: -ENOMEM, after
 * which the predictor goes on with less than it should know, -EINVAL after
 * maple_predict_finish().
 */
int maple_predict_event(struct maple_predict *p,
			const struct maple_event *event)
{
	struct maple_event e = *event;
	struct thread *thread;
	int ret = 0, err;

	if (p->finished)
		return -EINVAL;
	p->stats.events++;
	if (e.kind >= MAPLE_EV_STEP)
		return 0;
	if (e.thread >= MAPLE_THREADS || e.kind == MAPLE_EV_NONE) {
		p->stats.bad_events++;
		return 0;
	}
	if (maple_event_is_access(e.kind) &&
	    (e.site & ~MAPLE_SITE_CALL) >= SITES_MAX) {
		p->stats.bad_events += e.site != MAPLE_SITE_NONE;
		e.site = MAPLE_SITE_NONE;
	}
	thread = thread_of(p, e.thread);
	if (!thread) {
		p->stats.no_memory++;
		return -ENOMEM;
	}
	if (p->observer.ndoubts)
		ret = settle(p, e.thread);
	err = dispatch(p, thread, &e);
	ret = err ? err : ret;
	if (ret == -ENOMEM)
		p->stats.no_memory++;
	return ret;
}

static void complete(void *ctx, const struct maple_iroot *iroot,
		     struct maple_predict_facts *facts)
{
	struct maple_predict *p = ctx;

	for (unsigned int i = 0; i < maple_iroot_events(iroot->idiom); i++) {
		const struct maple_site_gates *gates =
			maple_sitemap_at(&p->sites.gates, iroot->e[i].site);

		if (!gates)
			continue;
		facts->e[i].ngates = gates->n;
		memcpy(facts->e[i].gate, gates->gate, sizeof(gates->gate));
		facts->gates_cut |= gates->cut;
	}
}

/*
 * maple_predict_finish - the run is over: completes the history and tells
 *                        the sink what was predicted
 *
 * What is pending then is not known to have happened: nothing is said of it.
 * Errors: -ENOMEM, after telling what could be worked out.
 */
int maple_predict_finish(struct maple_predict *p)
{
	if (p->finished)
		return -EINVAL;
	p->finished = true;
	maple_space_walk(&p->space, close_cell, p);
	p->stats.no_memory += p->error != 0;
	maple_iroots_report(&p->iroots, complete, p);
	return p->error;
}

/*
 * maple_predict_guards - all sites seen on a location shared by threads on
 *                        which an event of @iroot was seen
 *
 * After maple_predict_finish() only. Returns how many stand in @sites, at
 * most @max; those that met more of the iRoot's events come first.
 */
unsigned int maple_predict_guards(const struct maple_predict *p,
				  const struct maple_iroot *iroot,
				  uint32_t *sites, unsigned int max)
{
	return maple_sites_guards(&p->sites, iroot, sites, max);
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
	maple_space_deinit(&p->space);
	for (unsigned int i = 0; i < MAPLE_THREADS; i++) {
		if (!p->thread[i])
			continue;
		maple_locks_deinit(&p->thread[i]->locks);
		maple_sitemap_deinit(&p->thread[i]->executed);
		free(p->thread[i]);
	}
	maple_clocks_deinit(&p->clocks);
	maple_annotations_deinit(&p->history.annotations);
	maple_observer_deinit(&p->observer);
	maple_sites_deinit(&p->sites);
	maple_iroots_deinit(&p->iroots);
	free(p);
}
