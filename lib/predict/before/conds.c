// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that come too early: which wait, as iRoots of idiom 1, a signal on
 * the same condition could precede (predicted), or did, and was lost on the
 * waiter (observed).
 *
 *   P   ........... [wait          P   .......... wait, for ever
 *                    \                           /
 *   Q                 signal       Q       signal
 *
 * The wait that comes first is how the program means it, and no iRoot.
 *
 * Predicted is what happens-before leaves open, if no lock is held at both
 * ends, the wait's own mutex among them: where there is one, the program's
 * predicate goes with the lock, and iRoots of memory tell of it.
 *
 * Condensed: what a thread does at one call site is one event, with the epoch
 * and the locks of the last time. Bounded: EVENTS_MAX of a condition, CONDS_MAX
 * conditions; what is beyond is counted (cut_syncs).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "conds.h"
#include "predict/store/table.h"

#define CONDS_MAX  65536
#define EVENTS_MAX 256

struct happened {
	uint32_t site, thread;
	uint32_t n; /* how often */
	uint8_t kind;
	uint64_t heard; /* SLEEP: signals before its last wait's end */
	uint64_t mutex; /* SLEEP: which the wait lets go of */
	struct maple_epoch *epoch;
	struct maple_lockset *set;
};

struct maple_cond {
	uint64_t addr;
	UT_hash_handle hh;
	uint64_t signals;	  /* so far */
	struct maple_seen signal; /* the last one */
	uint32_t n, room;
	struct happened *event;
};

static struct maple_cond *cond_of(struct maple_conds *conds, uint64_t addr)
{
	struct maple_cond *cond;

	HASH_FIND(hh, conds->table, &addr, sizeof(addr), cond);
	if (cond)
		return cond;
	if (HASH_COUNT(conds->table) >= CONDS_MAX) {
		conds->stats->cut_syncs++;
		return NULL;
	}
	cond = calloc(1, sizeof(*cond));
	if (!cond)
		goto no_memory;
	cond->addr = addr;
	HASH_ADD(hh, conds->table, addr, sizeof(addr), cond);
	if (cond->hh.tbl)
		return cond;
	free(cond);
no_memory:
	conds->stats->no_memory++;
	return NULL;
}

static struct happened *happened_of(struct maple_conds *conds,
				    struct maple_cond *cond, uint8_t kind,
				    const struct maple_event *event)
{
	for (uint32_t i = 0; i < cond->n; i++)
		if (cond->event[i].site == event->site &&
		    cond->event[i].thread == event->thread &&
		    cond->event[i].kind == kind)
			return &cond->event[i];
	if (cond->n == EVENTS_MAX) {
		conds->stats->cut_syncs++;
		return NULL;
	}
	if (!maple_array_reserve(cond->event, cond->n, cond->room)) {
		conds->stats->no_memory++;
		return NULL;
	}
	cond->event[cond->n] = (struct happened){ .site = event->site,
						  .thread = event->thread,
						  .kind = kind };
	return &cond->event[cond->n++];
}

static bool holds(const struct maple_lockset *set, uint64_t lock)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (set->held[i].lock == lock)
			return true;
	return false;
}

static bool common_lock(const struct happened *signal,
			const struct happened *sleep)
{
	for (uint32_t i = 0; i < sleep->set->n; i++)
		if (holds(signal->set, sleep->set->held[i].lock))
			return true;
	return holds(signal->set, sleep->mutex);
}

static void propose(struct maple_conds *conds, const struct happened *signal,
		    const struct happened *sleep)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { signal->site, MAPLE_EV_NOTIFY },
		       { sleep->site, MAPLE_EV_SLEEP } },
	};
	struct maple_brief brief = {
		.e = { { signal->thread, signal->n - 1, MAPLE_SITE_NONE },
		       { sleep->thread, sleep->n - 1, MAPLE_SITE_NONE } },
		.disjoint = true,
	};

	assert(signal->n && sleep->n);
	if (signal->thread == sleep->thread ||
	    maple_epoch_before(signal->epoch, sleep->epoch) ||
	    maple_epoch_before(sleep->epoch, signal->epoch) ||
	    common_lock(signal, sleep))
		return;
	maple_iroots_predicted(conds->iroots, &iroot, &brief);
}

/* @h has happened once more. */
static int predict(struct maple_conds *conds, const struct maple_cond *cond,
		   struct happened *h, struct maple_locks *locks)
{
	maple_epoch_put(h->epoch);
	maple_lockset_put(h->set);
	h->epoch = maple_clocks_epoch(conds->clocks, h->thread);
	h->set = maple_locks_set(locks);
	if (!h->epoch || !h->set)
		return -ENOMEM;
	for (uint32_t i = 0; i < cond->n; i++) {
		const struct happened *other = &cond->event[i];

		if (other->kind == h->kind || !other->epoch || !other->set)
			continue;
		if (h->kind == MAPLE_EV_NOTIFY)
			propose(conds, h, other);
		else
			propose(conds, other, h);
	}
	return 0;
}

/* What @thread has heard of @cond when it begins to wait. */
static uint64_t heard(const struct maple_cond *cond, uint32_t thread)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < cond->n; i++)
		if (cond->event[i].thread == thread &&
		    cond->event[i].heard > most)
			most = cond->event[i].heard;
	return most;
}

static void observe(struct maple_conds *conds, const struct maple_cond *cond,
		    const struct happened *sleep)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { cond->signal.site, MAPLE_EV_NOTIFY },
		       { sleep->site, MAPLE_EV_SLEEP } },
	};

	if (cond->signal.kind && cond->signal.thread != sleep->thread &&
	    cond->signals > heard(cond, sleep->thread))
		maple_iroots_observed(conds->iroots, &iroot);
}

/*
 * maple_conds_event - takes a SIGNAL, BROADCAST, WAIT or WAKE
 * @locks: what its thread holds
 * @released: the mutex that a WAIT has just let go of
 *
 * Before happens-before learns of it. Returns 0 or -ENOMEM.
 */
int maple_conds_event(struct maple_conds *conds, const struct maple_event *event,
		      struct maple_locks *locks, uint64_t released)
{
	bool wakes = event->kind == MAPLE_EV_WAKE;
	bool sleeps = wakes || event->kind == MAPLE_EV_WAIT;
	struct maple_cond *cond;
	struct happened *h;

	if (event->site == MAPLE_SITE_NONE)
		return 0;
	cond = cond_of(conds, event->addr);
	h = cond ? happened_of(conds, cond,
			       sleeps ? MAPLE_EV_SLEEP : MAPLE_EV_NOTIFY, event)
		 : NULL;
	if (!h)
		return 0;
	if (wakes) {
		h->heard = cond->signals;
		return 0;
	}
	h->n++;
	h->mutex = released;
	if (sleeps && conds->observes)
		observe(conds, cond, h);
	if (!sleeps) {
		cond->signals++;
		cond->signal = (struct maple_seen){
			.site = event->site,
			.thread = event->thread,
			.kind = MAPLE_EV_NOTIFY,
		};
	}
	return conds->predicts ? predict(conds, cond, h, locks) : 0;
}

void maple_conds_deinit(struct maple_conds *conds)
{
	struct maple_cond *cond, *next;

	HASH_ITER (hh, conds->table, cond, next) {
		HASH_DELETE(hh, conds->table, cond);
		for (uint32_t i = 0; i < cond->n; i++) {
			maple_epoch_put(cond->event[i].epoch);
			maple_lockset_put(cond->event[i].set);
		}
		free(cond->event);
		free(cond);
	}
}
