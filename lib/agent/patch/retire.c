// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Groups whose sites have all used up their budgets, and are still executed
 * all the time, get the program's own bytes back: to pass a site by costs two
 * jumps and saved flags, as much as many a loop's body. When a thread appears
 * and sites are armed again, the ways into their slots are put back.
 *
 * All threads share one CPU, or nothing is taken out: what one thread has
 * written, none has seen half of. Taking out is then safe at any time: tail
 * first, the head in one store, as patch.c has it; who is in the slot goes on
 * there. Putting back is not, where another thread may stand on an instruction
 * that the jump will cover: it would go on in the middle of the jump's
 * displacement. Only int3 is known there, so
 *
 *	steady groups, whose first instruction has five bytes or more, are put
 *	back at any time;
 *	the others while no other thread has got to code of the program's, as
 *	when the first threads are created; else they stay out.
 */
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "agent/core.h"
#include "patch.h"
#include "agent/raw.h"

/* Quiet hits that cost about as much as two calls of mprotect(), ... */
#define QUIET_HITS 2000
/* ... and those that cost as much as it does to go out beside another. */
#define BESIDE 200

static uint32_t lock; /* who does not get it leaves things as they are */
static bool dropped;  /* some thread that was announced never came */

static bool try_lock(void)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&lock, &none, 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void unlock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* maple_retire_later - nothing more is wanted of @site: it goes quiet */
void maple_retire_later(struct maple_agent_site *site)
{
	site->live = 0;
	site->left = QUIET_HITS;
}

static struct maple_patched *find(const struct maple_agent_site *site)
{
	struct maple_patched *p = maple_patch_first();

	while (p && (site < p->site || site >= p->site + p->nsites))
		p = p->next;
	return p;
}

/* Whether nothing in @site's group would record any more. */
static bool all_quiet(const struct maple_patched *p,
		      const struct maple_agent_site *site)
{
	const struct maple_agent_site *s = site;

	for (; s >= p->site && s->group == site->group; s--)
		if (s->live)
			return false;
	for (s = site; s < p->site + p->nsites && s->group == site->group; s++)
		if (s->live)
			return false;
	return true;
}

static bool may_retire(const struct maple_patched *p,
		       const struct maple_patch_group *g)
{
	return g->in && !g->pun && !g->trap && !g->under &&
	       g->addr + 8 <= maple_page_up(p->hi);
}

/* Behind what is written there: all of it, and a word at least. */
static uint64_t end_of(const struct maple_patch_group *g)
{
	return g->addr + (g->length < 8 ? 8 : g->length);
}

static void take_out(struct maple_patched *p, uint32_t group)
{
	struct maple_patch_group *g = &p->group[group];

	maple_patch_write(p, g->addr, p->bytes + g->bytes, g->length);
	g->in = false;
	p->retired[p->nretired++] = group;
	maple_shm->stats.retired++;
}

/* Whether @site would ask before long, and its group lies in [@lo, @hi). */
static bool may_follow(const struct maple_patched *p,
		       const struct maple_agent_site *site, uint64_t lo,
		       uint64_t hi)
{
	const struct maple_patch_group *g = &p->group[site->group];

	return site->group < p->ngroups && !site->live &&
	       site->left <= QUIET_HITS - BESIDE && g->addr >= lo &&
	       end_of(g) <= hi && site->pc - g->addr < g->length &&
	       may_retire(p, g) && all_quiet(p, site);
}

/*
 * maple_retire_site - quiet @site was executed again and again: takes its
 * group out, if that can be done, and others whose pages are open then
 */
void maple_retire_site(struct maple_agent_site *site)
{
	struct maple_patched *p = find(site);
	struct maple_patch_group *g;
	uint64_t lo, hi;

	if (!p || p->gone || maple_ring_shared || !try_lock())
		return;
	g = &p->group[site->group];
	if (!may_retire(p, g)) {
		unlock();
		return;
	}
	if (!all_quiet(p, site)) {
		site->left = QUIET_HITS;
		unlock();
		return;
	}
	lo = g->addr & ~(MAPLE_PAGE - 1);
	hi = maple_page_up(end_of(g));
	maple_patch_protect(lo, hi, PROT_READ | PROT_WRITE | PROT_EXEC);
	take_out(p, site->group);
	while (site > p->site && site[-1].pc >= lo)
		site--;
	for (; site < p->site + p->nsites && site->pc < hi; site++)
		if (may_follow(p, site, lo, hi))
			take_out(p, site->group);
	maple_patch_protect(lo, hi, PROT_READ | PROT_EXEC);
	unlock();
}

/* Threads that are to be created will not be, or may be in patched code. */
static bool uncertain(void)
{
	uint64_t libc = (uint64_t)dl_iterate_phdr;

	for (struct maple_patched *p = maple_patch_first(); p; p = p->next)
		if (!p->gone && libc >= p->lo && libc < p->hi)
			return true;
	return dropped;
}

/*
 * Whether no other thread has run code that is patched. The threads that the
 * caller has created and that have not come to the program's code are known
 * by number, the kernel knows all.
 */
static bool first_of_all(void)
{
	const struct maple_shm *shm = maple_shm;
	uint64_t unborn = 0;
	struct stat st;

	for (uint32_t i = 0; i < shm->nthreads; i++)
		unborn += !shm->thread[i].tid;
	if (uncertain())
		unborn = 1;
	/* Two links and one for each thread; the newest is to be created. */
	return !raw_failed(raw2(SYS_stat, "/proc/self/task", &st)) &&
	       st.st_nlink <= 2 + unborn;
}

static void put_back(struct maple_patched *p, bool all)
{
	uint32_t left = 0;

	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (uint32_t i = 0; i < p->nretired; i++) {
		struct maple_patch_group *g = &p->group[p->retired[i]];

		if (all || g->steady)
			maple_patch_lead_in(p, g);
		else
			p->retired[left++] = p->retired[i];
	}
	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_EXEC);
	p->nretired = left;
}

/* maple_retire_dropped - a thread could not be created */
void maple_retire_dropped(void)
{
	dropped = true;
}

/*
 * maple_retire_rearm - quiet sites record again
 *
 * Context: a thread is about to be created by the caller, or the caller begins.
 */
void maple_retire_rearm(void)
{
	struct maple_patched *p = maple_patch_first();
	bool locked = try_lock(), all = locked && first_of_all();

	for (; p; p = p->next) {
		if (p->gone)
			continue;
		for (uint32_t i = 0; i < p->nsites; i++) {
			p->site[i].interest.count = 0;
			p->site[i].live = !p->site[i].interest.alone;
		}
		if (locked && p->nretired)
			put_back(p, all);
	}
	if (locked)
		unlock();
}
