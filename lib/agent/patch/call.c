// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers for the call sites of interposed functions. They stand in shared
 * memory, so that (image, offset) keeps its number from run to run; two hash
 * tables in front of it find them by return address and by (image, offset).
 */
#include "agent/core.h"

#define SLOTS (4 * MAPLE_SHM_CALLS) /* by return address */

struct by_return {
	uint64_t ret;	 /* 0: free */
	uint32_t number; /* 0: being filled; else index + 1 */
};

static struct by_return *by_return;
static uint32_t *by_place; /* index + 1; 0: free */
static uint32_t appending; /* lock of by_place and of shm->call */

static uint32_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b << 40 ^ b >> 24) * 0x9e3779b97f4a7c15ull;

	return (h >> 40) & (SLOTS - 1);
}

static uint32_t place_at(uint32_t image, uint64_t offset)
{
	const struct maple_shm_call *call = maple_shm->call;
	uint32_t h = hash(offset, image);

	while (by_place[h] && (call[by_place[h] - 1].image != image ||
			       call[by_place[h] - 1].offset != offset))
		h = (h + 1) & (SLOTS - 1);
	return h;
}

/* maple_call_start - finds what earlier runs have numbered */
void maple_call_start(void)
{
	struct maple_shm *shm = maple_shm;

	by_return = maple_lock_memory(SLOTS * sizeof(*by_return));
	by_place = maple_lock_memory(SLOTS * sizeof(*by_place));
	if (!by_return || !by_place)
		return;
	for (uint32_t i = 0; i < shm->ncalls && i < MAPLE_SHM_CALLS; i++)
		by_place[place_at(shm->call[i].image, shm->call[i].offset)] =
			i + 1;
}

/*
 * maple_call_refresh - knows what another process has numbered since it
 * forked us; the call sites it had before stay where they are
 */
void maple_call_refresh(void)
{
	const struct maple_shm_call *call = maple_shm->call;
	uint32_t h;

	if (!by_place)
		return;
	for (uint32_t i = 0; i < maple_shm->ncalls && i < MAPLE_SHM_CALLS; i++) {
		h = place_at(call[i].image, call[i].offset);
		if (!by_place[h])
			by_place[h] = i + 1;
	}
}

static uint32_t find_place(uint64_t ret, unsigned int kind)
{
	struct maple_shm *shm = maple_shm;
	uint64_t offset;
	uint32_t image = maple_image_of(ret, &offset), h, n;

	maple_lock_take(&appending);
	h = place_at(image, offset);
	n = by_place[h];
	if (!n && shm->ncalls < MAPLE_SHM_CALLS) {
		shm->call[shm->ncalls] = (struct maple_shm_call){
			.image = image, .kind = (uint16_t)kind, .offset = offset
		};
		n = shm->ncalls + 1;
		__atomic_store_n(&shm->ncalls, n, __ATOMIC_RELEASE);
		by_place[h] = n;
	} else if (!n) {
		shm->stats.calls_over++;
	}
	maple_lock_give(&appending);
	return n;
}

uint32_t maple_agent_call(const void *ret, unsigned int kind)
{
	uint64_t addr = (uint64_t)ret, none;
	uint32_t h = hash(addr, 0), n;

	if (!by_return || !by_place)
		return MAPLE_SITE_NONE;
	for (;; h = (h + 1) & (SLOTS - 1)) {
		if (by_return[h].ret == addr && by_return[h].number)
			return MAPLE_SITE_CALL | (by_return[h].number - 1);
		if (by_return[h].ret == addr || !by_return[h].ret)
			break;
	}
	maple_agent_enter();
	n = find_place(addr, kind);
	maple_agent_leave();
	if (!n)
		return MAPLE_SITE_NONE;
	/* A slot that somebody else took meanwhile costs only time. */
	none = 0;
	if (__atomic_compare_exchange_n(&by_return[h].ret, &none, addr, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		by_return[h].number = n;
	return MAPLE_SITE_CALL | (n - 1);
}
