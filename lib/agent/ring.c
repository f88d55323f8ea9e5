// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Events into the ring. All threads of the target share one CPU, so a plain
 * xadd, which no preemption can split, hands out slots; only a target that is
 * not pinned pays for the lock prefix.
 */
#include "core.h"

bool maple_ring_shared;

static uint64_t take_slot(uint64_t *head)
{
	uint64_t n = 1;

	if (maple_ring_shared)
		return __atomic_fetch_add(head, 1, __ATOMIC_RELAXED);
	__asm__ volatile("xaddq %0,%1" : "+r"(n), "+m"(*head));
	return n;
}

/*
 * maple_ring_put - records one event of the calling thread
 *
 * A full ring drops it: to wait for the reader would distort the schedule.
 * Every thread may stand between check and slot, hence the reserve.
 */
void maple_ring_put(unsigned int kind, const struct maple_access *acc,
		    uint64_t value, unsigned int flags, uint32_t aux,
		    uint64_t sp)
{
	struct maple_shm *shm = maple_shm;
	struct maple_agent_thread *self = &maple_self;
	uint64_t tail = __atomic_load_n(&shm->tail, __ATOMIC_ACQUIRE);
	struct maple_event *e;

	if (*(volatile uint64_t *)&shm->head - tail >=
	    MAPLE_SHM_RING - MAPLE_THREADS) {
		shm->stats.lost++;
		return;
	}
	e = &shm->ring[take_slot(&shm->head) & (MAPLE_SHM_RING - 1)];
	e->addr = acc->addr;
	e->value = value;
	e->site = acc->site;
	e->size = acc->size > 0xffffffff ? 0xffffffff : acc->size;
	e->clock = ++self->clock;
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
