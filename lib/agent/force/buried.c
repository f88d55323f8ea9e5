// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What becomes of freed memory in an enforced run: it is filled, and given back
 * late. So a use after free reads what leads nowhere and fails; else it mostly
 * finds what was there, and passes in silence. Natively that depends on who
 * allocates next, so no such failure is one of ours.
 *
 * Only where the program's allocator is libc's: others fill by themselves
 * (sanitizers), or hand out memory in ways of their own. A second free() of a
 * block that is kept has both carried out, which ends the program as it would
 * have. realloc() is left alone, as are all but the first FILLS of a run:
 * programs that free a million blocks a second would be slowed down for nothing.
 */
#include <dlfcn.h>
#include "agent/core.h"

#define KEPT  512   /* blocks; a power of two */
#define LARGE 4096  /* bytes of a block that is filled, but not kept */
#define MOST  65536 /* ... that are filled */
#define FILLS 65536
#define HINTS 1024		    /* a power of two */
#define WORD  0xd5d5d5d5d5d5d5d5ull /* no address: an access to it faults */

static struct {
	uint32_t lock;
	bool on;
	uint32_t first, n, fills;
	void *block[KEPT];
	uint16_t hint[HINTS]; /* how many of them may be the one */
} kept;

static uint16_t *hint_of(const void *p)
{
	return &kept.hint[(uint64_t)p / 16 * 0x9e3779b1u >> 22 & (HINTS - 1)];
}

static const void *image_of(void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

/*
 * maple_buried_start - freed memory is to be kept; @heap is the function behind
 * our free(), @libc any that is libc's own
 */
void maple_buried_start(void *heap, void *libc)
{
	kept.on = maple_shm->fill && image_of(heap) &&
		  image_of(heap) == image_of(libc);
}

static void *take(uint32_t at)
{
	void *p = kept.block[at % KEPT];

	--*hint_of(p);
	return p;
}

/* Whether @p was among them; it is not any more. */
static bool dig_up(void *p)
{
	uint32_t i, end = kept.first + kept.n;

	if (!*hint_of(p))
		return false;
	for (i = kept.first; i != end && kept.block[i % KEPT] != p; i++)
		;
	if (i == end)
		return false;
	take(i);
	kept.block[i % KEPT] = kept.block[kept.first % KEPT];
	kept.first++;
	kept.n--;
	return true;
}

static void fill(void *p, uint64_t size)
{
	uint64_t *word = p;

	for (uint64_t i = 0; i < size / sizeof(*word); i++)
		*(volatile uint64_t *)&word[i] = WORD;
}

void *maple_agent_bury(void *p, uint64_t size, bool *twice)
{
	void *oldest = NULL;

	*twice = false;
	if (!kept.on)
		return p;
	maple_lock_take(&kept.lock);
	if (dig_up(p)) {
		*twice = true;
		oldest = p;
	} else if (kept.fills >= FILLS) {
		oldest = p;
	} else {
		kept.fills++;
		fill(p, size < MOST ? size : MOST);
		if (size > LARGE) {
			oldest = p;
		} else {
			if (kept.n == KEPT) {
				oldest = take(kept.first++);
				kept.n--;
			}
			kept.block[(kept.first + kept.n++) % KEPT] = p;
			++*hint_of(p);
		}
	}
	maple_lock_give(&kept.lock);
	return oldest;
}
