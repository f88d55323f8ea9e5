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
 *         --> causes    what one thread did because of another
 *         --> conds     signals that came, or could come, before a wait
 *   iroots <-- observer, search: each iRoot once, with its best facts
 *
 * Compound idioms: each access to a cell stands in its thread's window
 * (recent), from which the observer (sequences) and the predictor (pairs,
 * digest, correlate, deadlocks) take local pairs.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

#define SITES_MAX (1u << 24)

static struct maple_predict_thread *thread_of(struct maple_predict *p,
					      uint32_t number)
{
	struct maple_predict_thread *thread = p->thread[number];

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (thread)
			thread->executed.element =
				sizeof(struct maple_executions);
		p->thread[number] = thread;
	}
	return thread;
}

/* What is in windows of @cell is not the latest of any entry any more. */
static void detach(const struct maple_predict *p, struct maple_cell *cell)
{
	struct maple_record *record;

	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_entry *e = cell->visit[i].entry;

		record = maple_window_find(&p->window, e->thread, e->record);
		if (record && record->entry == e)
			record->entry = NULL;
	}
}

/* maple_predict_close - a cell's history is over: it goes, or the run ends */
void maple_predict_close(void *ctx, struct maple_cell *cell)
{
	struct maple_predict *p = ctx;
	int ret = 0;

	if (p->compound)
		detach(p, cell);
	if (p->finished && maple_late_is(&p->late)) {
		p->stats.cut_locations++;
		return;
	}
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
	maple_space_close(&p->space, addr, size, maple_predict_close, p);
	ret = p->error;
	p->error = 0;
	return ret;
}

/* What @access does to one cell. */
static int touch(struct maple_predict *p, struct maple_cell *cell,
		 const struct maple_latest *access,
		 const struct maple_event *event, enum maple_fate verdict,
		 struct maple_entry **recent)
{
	struct maple_predict_thread *thread = p->thread[event->thread];
	struct maple_point *point = NULL;
	struct maple_entry *entry;
	int ret = 0;

	entry = maple_entry_of(&p->space, cell, event->thread);
	if (!entry) {
		maple_observer_spoil(cell);
		return 0;
	}
	if (!p->options.no_observe) {
		if (verdict == MAPLE_APPLY)
			maple_observer_apply(&p->observer, cell, event,
					     &thread->locks);
		else if (verdict == MAPLE_SPOIL)
			maple_observer_spoil(cell);
	}
	if (p->options.no_predict)
		return 0;
	if (thread->walks)
		ret = maple_pairs_access(&p->pairs, entry, access, &point,
					 &thread->fresh);
	if (!ret)
		ret = maple_history_access(&p->history, cell, entry, access);
	entry->point = point;
	assert(!recent || !*recent);
	if (recent) {
		entry->recent = recent;
		*recent = entry;
	}
	return ret;
}

/* Counts the execution of a site, and tells the ones before what followed. */
static int execute(struct maple_predict *p, struct maple_predict_thread *thread,
		   const struct maple_event *event, uint32_t *occurrence)
{
	struct maple_executions *executed;
	bool novel = false;

	for (unsigned int i = 0; i < MAPLE_RECENT; i++) {
		if (!thread->recent[i])
			continue;
		thread->recent[i]->access.class = event->site;
		thread->recent[i]->recent = NULL;
		thread->recent[i] = NULL;
	}
	*occurrence = 0;
	thread->walks = thread->fresh = false;
	if (event->site == MAPLE_SITE_NONE)
		return 0;
	executed = maple_sitemap_at(&thread->executed, event->site);
	if (!executed)
		return -ENOMEM;
	if (thread->last)
		novel = maple_executions_class(thread->last, event->site);
	thread->last = executed;
	*occurrence = executed->n++;
	executed->served |= p->serves;
	if (p->compound && !p->options.no_predict)
		thread->walks = maple_pairs_wanted(&p->pairs, executed, novel,
						   &thread->curious);
	if (!thread->locks.nheld)
		return 0;
	return maple_sites_gate(&p->sites, event->site, thread->locks.outermost);
}

/* Puts an access to @n cells found into its thread's window. */
static int remember(struct maple_predict *p, const struct maple_event *event,
		    int n)
{
	bool memory = maple_event_is_memory(event->kind);
	struct maple_record record = {
		.site = event->site,
		.clock = event->clock,
		.kind = event->kind,
	};

	for (int i = 0; i < n; i++) {
		struct maple_cell *cell = p->space.found[i];
		struct maple_entry *entry;
		int ret;

		if (cell->mutex == memory)
			continue;
		entry = maple_entry_of(&p->space, cell, event->thread);
		if (!entry)
			continue;
		record.location = cell->serial;
		record.before = entry->record;
		record.entry = entry;
		ret = maple_window_push(&p->window, event->thread, &record,
					&entry->record);
		if (ret)
			return ret;
		if (!record.access)
			record.access = entry->record;
	}
	return 0;
}

static void mark_loose(struct maple_predict *p, uint32_t thread, uint32_t site)
{
	struct maple_executions *executed =
		site == MAPLE_SITE_NONE || !p->thread[thread]
			? NULL
			: maple_sitemap_find(&p->thread[thread]->executed, site);

	if (executed)
		executed->loose = true;
}

/* Who had the memory that @cell stands for, and whether its sites are fine. */
static void hand_on(struct maple_predict *p, struct maple_cell *cell,
		    const struct maple_event *event)
{
	struct maple_executions *executed;
	struct maple_hands was = cell->hands;

	maple_causes_owner(&p->causes, &cell->hands, event);
	if (cell->hands.loose && !was.loose)
		mark_loose(p, was.thread, was.site);
	if (event->site == MAPLE_SITE_NONE)
		return;
	executed = p->thread[event->thread]->last;
	assert(executed);
	executed->loose |= cell->hands.loose;
	executed->handed |= maple_hands_round(&cell->hands);
}

/* An access to @n cells found; takes over the reference to @set. */
static int access(struct maple_predict *p, struct maple_predict_thread *thread,
		  const struct maple_event *event, struct maple_lockset *set,
		  uint32_t occurrence, enum maple_fate verdict, int n)
{
	struct maple_latest access = {
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
	if (p->compound && !ret)
		ret = remember(p, event, n);
	/* The latest one's class is learned: the next one tells. */
	assert(!thread->recent[0]);
	for (int i = 0; i < n && !ret; i++) {
		if (p->space.found[i]->mutex == memory)
			continue;
		if (memory && !p->options.no_predict)
			hand_on(p, p->space.found[i], event);
		ret = touch(p, p->space.found[i], &access, event, verdict,
			    recent < MAPLE_RECENT ? &thread->recent[recent]
						  : NULL);
		recent++;
	}
	if (thread->walks)
		maple_pairs_walked(thread->last, thread->fresh);
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

static int data_event(struct maple_predict *p,
		      struct maple_predict_thread *thread,
		      struct maple_event *event)
{
	enum maple_fate verdict = MAPLE_APPLY;
	uint32_t occurrence, cut;
	int ret;

	ret = execute(p, thread, event, &occurrence);
	if (!ret && !p->options.no_predict)
		ret = maple_causes_access(&p->causes, event, &thread->locks);
	if (ret || !trim(p, event, &cut))
		return ret;
	if (!p->options.no_observe)
		verdict = maple_observer_judge(&p->observer, event, cut);
	return access(p, thread, event, maple_locks_set(&thread->locks),
		      occurrence, verdict,
		      maple_space_find(&p->space, event->addr, event->size));
}

/*
 * Memory ends. Where others have touched it, that is as if all of it were
 * written: who comes later finds what is not theirs any more.
 */
static int end_event(struct maple_predict *p,
		     struct maple_predict_thread *thread,
		     const struct maple_event *event)
{
	struct maple_event write = *event;
	uint64_t size = event->value;
	uint32_t occurrence;
	int ret = 0, n;

	if (size > UINT64_MAX - event->addr)
		size = UINT64_MAX - event->addr;
	if (p->options.ends && event->kind == MAPLE_EV_FREE &&
	    event->site != MAPLE_SITE_NONE) {
		write.kind = MAPLE_EV_WRITE;
		write.value = 0;
		write.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
		ret = execute(p, thread, &write, &occurrence);
		if (!ret)
			thread->last->frees = true;
		n = maple_space_shared(&p->space, event->addr, size,
				       event->thread);
		if (!ret && n)
			ret = access(p, thread, &write,
				     maple_locks_set(&thread->locks),
				     occurrence, MAPLE_APPLY, n);
	}
	return ret ? ret : close_range(p, event->addr, size);
}

/* The cell of a lock, which was never anything else or is from now on. */
static int lock_cell(struct maple_predict *p, uint64_t addr)
{
	struct maple_cell *cell;
	int n = maple_space_find(&p->space, addr, 1), ret;

	if (n <= 0 || p->space.found[0]->mutex)
		return n;
	if (p->space.found[0]->nvisits) {
		ret = close_range(p, addr, 1);
		if (ret)
			return ret;
		n = maple_space_find(&p->space, addr, 1);
		if (n <= 0)
			return n;
	}
	cell = p->space.found[0];
	assert(n == 1 && !cell->nvisits);
	cell->mutex = true;
	return n;
}

/* An event of a mutex is under the locks around it, not under itself. */
static int lock_event(struct maple_predict *p,
		      struct maple_predict_thread *thread,
		      const struct maple_event *event)
{
	struct maple_lockset *set = NULL;
	uint32_t occurrence;
	bool outermost, held = thread->locks.nheld;
	int ret = execute(p, thread, event, &occurrence), n;

	if (ret)
		return ret;
	if (event->kind == MAPLE_EV_LOCK) {
		set = maple_locks_set(&thread->locks);
		outermost = maple_locks_acquire(&thread->locks, event,
						++p->sections);
	} else {
		maple_observer_release(&p->observer, event, &thread->locks);
		outermost = maple_locks_release(&thread->locks, event);
		if (outermost && event->site != MAPLE_SITE_NONE && held &&
		    !thread->locks.nheld)
			ret = maple_sites_end(&p->sites, thread->locks.outermost,
					      event->site);
		if (held && !thread->locks.nheld)
			maple_causes_release(&p->causes, event);
		set = maple_locks_set(&thread->locks);
	}
	n = outermost ? lock_cell(p, event->addr) : 0;
	if (ret)
		n = ret;
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
			maple_observer_apply(&p->observer, cell, &doubt.event,
					     &p->thread[thread]->locks);
	}
	return n < 0 ? n : 0;
}

/* A thread's stack is new when it starts and gone when it ends. */
static int stack_event(struct maple_predict *p,
		       struct maple_predict_thread *thread,
		       const struct maple_event *event)
{
	if (event->kind == MAPLE_EV_START) {
		thread->stack = event->addr;
		thread->stack_size = event->size;
	} else {
		maple_window_leave(&p->window, event->thread);
	}
	return close_range(p, thread->stack, thread->stack_size);
}

static int cond_event(struct maple_predict *p,
		      struct maple_predict_thread *thread,
		      const struct maple_event *event)
{
	struct maple_locks *locks = &thread->locks;
	int ret = 0;

	if (event->kind == MAPLE_EV_WAIT || event->kind == MAPLE_EV_WAKE)
		maple_observer_sleep(&p->observer, event);
	if (p->options.no_conditions)
		return 0;
	if (locks->nheld && event->site != MAPLE_SITE_NONE)
		ret = maple_sites_gate(&p->sites, event->site, locks->outermost);
	if (ret)
		return ret;
	return maple_conds_event(&p->conds, event, locks,
				 p->observer.sleeper[event->thread].mutex);
}

static int dispatch(struct maple_predict *p, struct maple_predict_thread *thread,
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
	case MAPLE_EV_QUIET:
		p->iroots.quiet = true;
		if ((event->site & ~MAPLE_SITE_CALL) >= SITES_MAX)
			return 0;
		return maple_sites_quiet(&p->sites, event->site,
					 p->stats.events);
	case MAPLE_EV_ALLOC:
	case MAPLE_EV_FREE:
		return end_event(p, thread, event);
	case MAPLE_EV_START:
	case MAPLE_EV_EXIT:
		ret = stack_event(p, thread, event);
		return ret ? ret : maple_clocks_event(&p->clocks, event);
	case MAPLE_EV_SERVE:
		p->served = p->serves = true;
		return 0;
	case MAPLE_EV_STOP:
		p->serves = false;
		return 0;
	case MAPLE_EV_NOTIFY:
	case MAPLE_EV_SLEEP:
		return 0; /* what SIGNAL and WAIT say as well */
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
	case MAPLE_EV_WAKE:
		ret = cond_event(p, thread, event);
		if (ret)
			return ret;
		/* fall through */
	default:
		ret = p->options.no_predict
			      ? 0
			      : maple_causes_sync(&p->causes, event);
		return ret ? ret : maple_clocks_event(&p->clocks, event);
	}
}

/*
 * maple_predict_take - deals with the run's next event
 *
 * An event that cannot be is counted and passed over. Errors: -ENOMEM, after
 * which the predictor goes on with less than it should know.
 */
int maple_predict_take(struct maple_predict *p, struct maple_event *event)
{
	struct maple_predict_thread *thread;
	int ret = 0, err;

	p->stats.events++;
	if (event->kind >= MAPLE_EV_STEP)
		return 0;
	if (event->thread >= MAPLE_THREADS || event->kind == MAPLE_EV_NONE) {
		p->stats.bad_events++;
		return 0;
	}
	if (maple_event_is_access(event->kind) &&
	    (event->site & ~MAPLE_SITE_CALL) >= SITES_MAX) {
		p->stats.bad_events += event->site != MAPLE_SITE_NONE;
		event->site = MAPLE_SITE_NONE;
	}
	thread = thread_of(p, event->thread);
	if (!thread) {
		p->stats.no_memory++;
		return -ENOMEM;
	}
	if (p->observer.ndoubts)
		ret = settle(p, event->thread);
	err = dispatch(p, thread, event);
	ret = err ? err : ret;
	if (ret == -ENOMEM)
		p->stats.no_memory++;
	return ret;
}
