// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Events into the ring. All threads of the target share one CPU, so a plain
 * xadd, which no preemption can split, hands out slots; only a target that is
 * not pinned pays for the lock prefix.
 */
#include "agent/core.h"

#define FIRST 256u   /* events whose memory comes at once, at first; */
#define CHUNK 16384u /* ... then as many as there are already, or these */

/*
 * Events of sites that are dropped at once when the ring is full, by stub.S:
 * they take less time than the reader needs to make room for ten.
 */
#define SKIP   1024

#define LEAST  30 /* events that a site may record once the ring was full */

#define STALLS 2000000 /* without any room, of a microsecond or so each */

static_assert(MAPLE_SHM_RING % CHUNK == 0 && CHUNK % FIRST == 0 &&
		      !((CHUNK / FIRST) & (CHUNK / FIRST - 1)),
	      "the last chunk is whole");
static_assert(CHUNK > MAPLE_THREADS, "slots are few beyond a chunk");

bool maple_ring_shared;
uint32_t maple_ring_budget;
struct maple_quick maple_quick;
static uint32_t given; /* what maple_quick.skip was set to; 0: it is counted */

static_assert(MAPLE_SHM_RING - 1 == 0x7ffff, "stub.S has it");
static_assert(MAPLE_THREAD_NONE == 0xffff, "stub.S has it");
static_assert(MAPLE_AGENT_SHUT == 256, "stub.S has it");
MAPLE_SITE_IS(pc, 0);
MAPLE_SITE_IS(number, 8);
MAPLE_SITE_IS(size, 12);
MAPLE_SITE_IS(interest.count, 16);
MAPLE_SITE_IS(left, 24);
MAPLE_SITE_IS(live, 28);
MAPLE_SITE_IS(slow, 29);
MAPLE_SITE_IS(kind, 30);
MAPLE_SITE_IS(event_flags, 31);
MAPLE_SITE_IS(way, 33);
MAPLE_SELF_IS(number, 0);
MAPLE_SELF_IS(inside, 4);
MAPLE_SELF_IS(late, 6);
MAPLE_SELF_IS(clock, 8);
MAPLE_SELF_IS(events, 16);
MAPLE_SELF_IS(stale, 24);
MAPLE_QUICK_IS(head, 0);
MAPLE_QUICK_IS(ring, 8);
MAPLE_QUICK_IS(end, 16);
MAPLE_QUICK_IS(hits, 24);
MAPLE_QUICK_IS(pid, 32);
MAPLE_QUICK_IS(most, 40);
MAPLE_QUICK_IS(skip, 44);

/* maple_ring_start - it is known how the run is scheduled */
void maple_ring_start(void)
{
	struct maple_shm *shm = maple_shm;

	maple_quick.head = &shm->head;
	maple_quick.ring = shm->ring;
	maple_quick.hits = shm->stats.hits;
	maple_quick.pid = &shm->pid;
	maple_ring_budget = shm->budget;
	maple_quick.most = shm->mode != MAPLE_SHM_OBSERVE || maple_ring_shared
				   ? 0
			   : shm->budget ? shm->budget
					 : ~0u;
}

/*
 * Events come faster than they are read: for the rest of the run sites record
 * less. What finds no room is lost wherever it comes from, also from sites that
 * have told nothing yet.
 */
static void lower_budget(void)
{
	if (maple_ring_budget <= LEAST)
		return;
	maple_ring_budget = LEAST;
	if (maple_quick.most)
		maple_quick.most = LEAST;
}

static uint64_t take_slot(uint64_t *head)
{
	uint64_t n = 1;

	if (maple_ring_shared)
		return __atomic_fetch_add(head, 1, __ATOMIC_RELAXED);
	__asm__ volatile("xaddq %0,%1" : "+r"(n), "+m"(*head));
	return n;
}

/*
 * Whether there is no room. Every thread may stand between check and slot,
 * hence the reserve.
 */
static bool full(struct maple_shm *shm)
{
	static uint64_t populated;
	uint64_t head = *(volatile uint64_t *)&shm->head, end = maple_quick.end;
	uint64_t more;

	if (head < end)
		return false;
	end = __atomic_load_n(&shm->tail, __ATOMIC_ACQUIRE) + MAPLE_SHM_RING -
	      MAPLE_THREADS;
	if (populated < MAPLE_SHM_RING) {
		if (head >= populated) {
			/* A short run does not pay for a long one. */
			more = !populated	   ? FIRST
			       : populated < CHUNK ? populated
						   : CHUNK;
			maple_lock_populate_shared(&shm->ring[populated],
						   &shm->ring[populated + more]);
			populated += more;
		}
		end = end < populated ? end : populated;
	}
	maple_quick.end = end;
	return head >= end;
}

/*
 * Stalls a little for the reader, or returns false: it has made no room for
 * long, and nobody waits for it again. Threads that run side by side never do:
 * it would distort their schedule, where on one CPU it delays all alike. No
 * clock is asked, since a target's filter of system calls may not let it pass.
 */
static bool stall(const struct maple_shm *shm)
{
	static uint32_t stalled;
	static uint64_t tail;

	if (!shm->lossless || maple_ring_shared || stalled >= STALLS)
		return false;
	if (tail != shm->tail)
		stalled = 0;
	tail = shm->tail;
	stalled++;
	for (int i = 0; i < 64; i++)
		__builtin_ia32_pause();
	return true;
}

/* Counts what stub.S has dropped, and has it drop @next more. */
static void skip(struct maple_shm *shm, uint32_t next)
{
	shm->stats.lost += given - maple_quick.skip;
	given = maple_quick.skip = next;
}

/* For memory that comes or goes nobody asks which locks were held. */
static bool ends_delay(unsigned int kind)
{
	return kind != MAPLE_EV_ALLOC && kind != MAPLE_EV_FREE &&
	       kind != MAPLE_EV_QUIET;
}

/*
 * maple_ring_put - records one event of the calling thread
 *
 * A full ring drops it, unless the run waits for its reader.
 */
void maple_ring_put(unsigned int kind, const struct maple_access *acc,
		    uint64_t value, unsigned int flags, uint32_t aux,
		    uint64_t sp)
{
	struct maple_shm *shm = maple_shm;
	struct maple_agent_thread *self = &maple_self;
	struct maple_event *e;

	if (__builtin_expect(self->late, 0) && ends_delay(kind))
		maple_section_late();
	while (full(shm)) {
		lower_budget();
		if (!stall(shm)) {
			shm->stats.lost++;
			/* Change points are met in full rings, too. */
			skip(shm, maple_quick.most && !shm->nchanges ? SKIP : 0);
			return;
		}
	}
	if (__builtin_expect(given, 0))
		skip(shm, 0);
	if (maple_agent_enforces && maple_event_is_access(kind))
		maple_touched_note(acc->addr, acc->size);
	e = &shm->ring[take_slot(&shm->head) & (MAPLE_SHM_RING - 1)];
	e->addr = acc->addr;
	e->value = value;
	e->site = acc->site;
	e->size = acc->size > 0xffffffff ? 0xffffffff : acc->size;
	e->clock = ++self->clock;
	if (!maple_event_is_memory(kind))
		self->settled = self->clock;
	e->sp = (uint32_t)sp;
	e->thread = self->number;
	e->flags = flags;
	e->aux = aux;
	shm->thread[self->number].events += !self->stale;
	__atomic_store_n(&e->kind, kind, __ATOMIC_RELEASE);
}

/*
 * maple_ring_peek - up to 8 bytes that were just accessed; who else runs may
 * have unmapped them since
 */
uint64_t maple_ring_peek(uint64_t addr, uint64_t size)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < size && i < 8; i++)
		value |= (uint64_t)maple_stub_load(addr + i) << (8 * i);
	return value;
}
