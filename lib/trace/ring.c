// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reads the agent's ring. The writer is another process on another CPU and
 * may die at any instruction; what it left is judged, never trusted.
 *
 * The agent records an access right before it happens. So an access that is
 * followed in the ring by another thread's event may not have happened when
 * that event did: the thread may have lost the CPU in between. One event of
 * lookahead tells; the last event of a run has none and counts as pending.
 *
 * Where threads run side by side, on several CPUs, another thread's event in
 * between is the rule and says nothing. The access follows its record within
 * nanoseconds, so an unpinned run is taken in the order of the ring: likely,
 * not certain, and good for counting what a run may have exposed only.
 */
#include <string.h>
#include "abi/shm.h"
#include "trace.h"

#define MASK	   (MAPLE_SHM_RING - 1)
#define GIVEN_BACK 256 /* slots at a time */

static_assert((MAPLE_SHM_RING & MASK) == 0, "the ring is a power of two");

/* maple_trace_ring_init - a reader of @shm's ring, which outlives it */
void maple_trace_ring_init(struct maple_trace_ring *ring, struct maple_shm *shm)
{
	memset(ring, 0, sizeof(*ring));
	ring->shm = shm;
	ring->next = ring->head = shm->tail;
}

static void look(struct maple_trace_ring *ring)
{
	ring->head = __atomic_load_n(&ring->shm->head, __ATOMIC_ACQUIRE);
	ring->pinned = ring->shm->stats.pinned;
}

/* Tells the writer what is free again. */
static void give_back(struct maple_trace_ring *ring)
{
	__atomic_store_n(&ring->shm->tail, ring->next, __ATOMIC_RELEASE);
}

static uint8_t load_kind(const struct maple_event *slot)
{
	return __atomic_load_n(&slot->kind, __ATOMIC_ACQUIRE);
}

static void clear_kind(struct maple_event *slot)
{
	__atomic_store_n(&slot->kind, MAPLE_EV_NONE, __ATOMIC_RELAXED);
}

/*
 * maple_trace_ring_reset - empties the ring and the statistics for a new run
 *
 * Only while no target runs: the writer's end is set back as well.
 */
void maple_trace_ring_reset(struct maple_trace_ring *ring)
{
	struct maple_shm *shm = ring->shm;
	uint64_t used = shm->head - ring->next;

	if (used > MAPLE_SHM_RING)
		used = MAPLE_SHM_RING;
	for (uint64_t i = 0; i < used; i++)
		clear_kind(&shm->ring[(ring->next + i) & MASK]);
	__atomic_store_n(&shm->tail, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&shm->head, 0, __ATOMIC_RELEASE);
	maple_trace_ring_init(ring, shm);
}

/*
 * The writer is dead: passes over slots that nobody will fill. A head that
 * the dying target overwrote must not make us count for years.
 */
static void skip_unfilled(struct maple_trace_ring *ring, uint64_t head)
{
	struct maple_shm *shm = ring->shm;
	uint64_t left = head - ring->next, skip = 0;

	if (left > MAPLE_SHM_RING)
		left = MAPLE_SHM_RING;
	while (skip < left &&
	       load_kind(&shm->ring[(ring->next + skip) & MASK]) ==
		       MAPLE_EV_NONE)
		skip++;
	ring->stats.unfilled += skip;
	ring->next = skip < left ? ring->next + skip : head;
	give_back(ring);
}

static bool known_kind(unsigned int kind)
{
	return maple_event_is_access(kind) ||
	       (kind >= MAPLE_EV_CREATE && kind <= MAPLE_EV_STOP) ||
	       kind == MAPLE_EV_ALLOC || kind == MAPLE_EV_FREE ||
	       kind == MAPLE_EV_BLOCK || kind == MAPLE_EV_QUIET ||
	       (kind >= MAPLE_EV_STEP && kind <= MAPLE_EV_NEXT);
}

/*
 * What the agent had put off and came to no event to put it before: locks that
 * are held at the end of the run.
 */
static bool take_late(struct maple_trace_ring *ring, struct maple_event *event)
{
	struct maple_shm *shm = ring->shm;
	const struct maple_shm_lock *lock;
	struct maple_shm_held *held;

	while (ring->thread < MAPLE_THREADS && ring->thread < shm->nthreads) {
		held = &shm->held[ring->thread];
		if (!held->late || held->late > held->n ||
		    held->n > MAPLE_SHM_HELD) {
			ring->thread++;
			continue;
		}
		lock = &held->lock[held->n - held->late--];
		*event = (struct maple_event){
			.addr = lock->addr,
			.site = lock->site,
			.size = 1,
			.clock = lock->clock,
			.sp = lock->sp,
			.aux = lock->aux,
			.thread = ring->thread,
			.kind = MAPLE_EV_LOCK,
			.flags = lock->flags,
		};
		return true;
	}
	return false;
}

static bool take(struct maple_trace_ring *ring, bool ended,
		 struct maple_event *event)
{
	struct maple_shm *shm = ring->shm;

	for (;;) {
		struct maple_event *slot = &shm->ring[ring->next & MASK];

		if (ring->next == ring->head)
			look(ring);
		if (ring->next == ring->head) {
			give_back(ring);
			return ended && take_late(ring, event);
		}
		if (load_kind(slot) == MAPLE_EV_NONE) {
			give_back(ring);
			if (!ended)
				return false;
			skip_unfilled(ring, ring->head);
			continue;
		}
		*event = *slot;
		clear_kind(slot);
		if (!(++ring->next % GIVEN_BACK))
			give_back(ring);
		event->flags &= (uint8_t)~MAPLE_EVF_PENDING;
		if (event->thread < MAPLE_THREADS && known_kind(event->kind))
			return true;
		ring->stats.bad++;
	}
}

static bool doubtful(const struct maple_event *event)
{
	return maple_event_is_memory(event->kind) &&
	       !(event->flags & MAPLE_EVF_EXACT);
}

/*
 * Whether @next, which follows @event in the ring, proves that @event has
 * happened. What the automaton says of a thread it may say while the thread
 * is held before its access.
 */
static bool settles(const struct maple_trace_ring *ring,
		    const struct maple_event *next,
		    const struct maple_event *event)
{
	if (!ring->pinned)
		return true;
	return next->thread == event->thread && next->kind < MAPLE_EV_STEP;
}

/*
 * maple_trace_ring_next - takes the next event in order
 * @ended: the target is dead, nothing comes any more; unfilled slots are
 *         passed over
 *
 * Returns whether there was one. The newest access is held back until it is
 * known what came after it, or @ended.
 */
bool maple_trace_ring_next(struct maple_trace_ring *ring, bool ended,
			   struct maple_event *event)
{
	struct maple_event next;
	bool more;

	if (!ring->holding) {
		if (!take(ring, ended, &ring->held))
			return false;
		ring->holding = true;
	}
	if (doubtful(&ring->held)) {
		more = take(ring, ended, &next);
		if (!more && !ended)
			return false;
		if (!more || !settles(ring, &next, &ring->held)) {
			ring->held.flags |= MAPLE_EVF_PENDING;
			ring->stats.pending++;
		}
	} else {
		more = false;
	}
	*event = ring->held;
	ring->stats.events++;
	ring->holding = more;
	if (more)
		ring->held = next;
	return true;
}

/* maple_trace_ring_stats - what this run's reading came to so far */
void maple_trace_ring_stats(const struct maple_trace_ring *ring,
			    struct maple_trace_stats *stats)
{
	*stats = ring->stats;
	stats->lost = __atomic_load_n(&ring->shm->stats.lost, __ATOMIC_RELAXED);
}
