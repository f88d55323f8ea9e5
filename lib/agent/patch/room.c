// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where slots can be: within reach of the jumps that lead to them and back. */
#include <sys/mman.h>
#include "agent/core.h"
#include "patch.h"
#include "agent/raw.h"

#define REACH 0x70000000ull /* less than 2 GiB, with room for images */

static bool map_at(uint64_t at, uint64_t size)
{
	long p = raw6(SYS_mmap, at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			      MAP_FIXED_NOREPLACE,
		      -1, 0);

	if (!raw_failed(p) && (uint64_t)p != at)
		raw2(SYS_munmap, p, size);
	if ((uint64_t)p == at)
		maple_lock_tell(at, size);
	return (uint64_t)p == at;
}

/*
 * maple_room_near - memory in reach of all of [@lo, @hi)
 *
 * Below it first: right above the executable the heap is to grow.
 */
uint64_t maple_room_near(uint64_t lo, uint64_t hi, uint64_t size)
{
	const uint64_t step = 1 << 20;
	uint64_t at;

	size = maple_page_up(size);
	for (at = (lo - size) & ~(step - 1);
	     at > step && at < lo && hi - at < REACH; at -= step)
		if (map_at(at, size))
			return at;
	for (at = (hi + REACH / 2) & ~(step - 1); at + size - lo < REACH;
	     at += step)
		if (map_at(at, size))
			return at;
	return 0;
}

/* maple_room_pun - for the slot of a pun at @addr; 0 if there is none */
uint64_t maple_room_pun(struct maple_patched *p, uint64_t addr,
			unsigned int length)
{
	int64_t width = 1ll << (8 * (length - 1));
	int32_t tail;
	uint64_t lo, at;

	if (length < 2 || length > 4 || addr + 5 > p->hi)
		return 0;
	tail = *(const volatile int32_t *)(addr + 1);
	lo = addr + 5 + (tail & ~(width - 1));
	if (lo < 0x20000 || lo - addr + REACH > 2 * REACH)
		return 0;
	for (uint32_t i = 0; i < p->npages; i++) {
		at = p->page[i].at + p->page[i].used;
		at = at < lo && p->page[i].at + MAPLE_PUN_SIZE > lo ? lo : at;
		if (at >= lo && at < lo + width &&
		    at + MAPLE_PUN_SLOT <= p->page[i].at + MAPLE_PUN_SIZE)
			return at;
	}
	if (p->npages == MAPLE_PUN_PAGES)
		return 0;
	for (uint64_t pg = lo & ~(MAPLE_PAGE - 1);
	     pg<lo + width; pg += width> 65536 ? 64 * MAPLE_PAGE : MAPLE_PAGE) {
		if (!map_at(pg, MAPLE_PUN_SIZE))
			continue;
		p->page[p->npages++] = (struct maple_patch_page){ pg, 0 };
		return pg < lo ? lo : pg;
	}
	return 0;
}

/* maple_room_pun_used - [@at, @end), which maple_room_pun() has found, is taken */
void maple_room_pun_used(struct maple_patched *p, uint64_t at, uint64_t end)
{
	for (uint32_t i = 0; i < p->npages; i++)
		if (at >= p->page[i].at && at < p->page[i].at + MAPLE_PUN_SIZE)
			p->page[i].used = end - p->page[i].at;
}
