// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moves the instructions around each site into slots, and leads control
 * there. What is moved together, and how a jump to it fits, the table says
 * (table.h); here memory is found, slots are filled and jumps are written.
 *
 *	the image            its region, within 2 GiB
 *	mov (%rax),%ecx      hook pointers | struct maple_agent_site ...
 *	add $1,%ecx     ==>  slot: hook, mov, add, jump back
 *	...                  slot: ...
 *
 * The moved bytes behind a jump become int3, so that a branch into them that
 * the table did not know of leads to the moved copy as well (maple_patch_slot
 * in the SIGTRAP handler). A pun is a jump in less than five bytes whose
 * displacement ends with the bytes that follow: its slot goes where they
 * point, and it has to be taken out before those bytes change.
 */
#include <sys/mman.h>
#include "core.h"
#include "patch.h"
#include "raw.h"

#define REACH	  0x70000000ull /* less than 2 GiB, with room for images */
#define PUN_PAGES 2048
#define PUN_SIZE  8192
#define PUN_SLOT  512

static bool map_at(uint64_t at, uint64_t size)
{
	long p = raw6(SYS_mmap, at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			      MAP_FIXED_NOREPLACE,
		      -1, 0);

	if (!raw_failed(p) && (uint64_t)p != at)
		raw2(SYS_munmap, p, size);
	return (uint64_t)p == at;
}

/*
 * Memory in reach of the whole image. Below it first: right above the
 * executable the heap is to grow.
 */
static uint64_t map_near(uint64_t lo, uint64_t hi, uint64_t size)
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

/* Room for the slot of a pun at @addr; 0 if there is none. */
static uint64_t pun_room(struct maple_patched *p, uint64_t addr,
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
		at = at < lo && p->page[i].at + PUN_SIZE > lo ? lo : at;
		if (at >= lo && at < lo + width &&
		    at + PUN_SLOT <= p->page[i].at + PUN_SIZE)
			return at;
	}
	if (p->npages == PUN_PAGES)
		return 0;
	for (uint64_t pg = lo & ~(MAPLE_PAGE - 1);
	     pg<lo + width; pg += width> 65536 ? 64 * MAPLE_PAGE : MAPLE_PAGE) {
		if (!map_at(pg, PUN_SIZE))
			continue;
		p->page[p->npages++] = (struct maple_patch_page){ pg, 0 };
		return pg < lo ? lo : pg;
	}
	return 0;
}

static void pun_used(struct maple_patched *p, uint64_t at, uint64_t end)
{
	for (uint32_t i = 0; i < p->npages; i++)
		if (at >= p->page[i].at && at < p->page[i].at + PUN_SIZE)
			p->page[i].used = end - p->page[i].at;
}

/* Moves one instruction with its hooks to the slot being filled. */
static void move_insn(struct maple_patched *p, struct maple_slot *s,
		      const struct maple_table *t,
		      const struct maple_table_insn *insn, bool trap)
{
	const struct maple_table_site *site = maple_table_sites(t);
	struct maple_patch_moved *m = &p->moved[p->nmoved++];
	uint8_t *start = s->at;
	uint32_t i = insn->site;

	m->slot = (uint64_t)start;
	m->offset = insn->offset;
	m->length = insn->length;
	m->group = p->ngroups;
	for (; i < t->nsites; i++) {
		p->site[i].way = trap ? MAPLE_WAY_TRAP : site[i].way;
		if (p->site[i].live)
			maple_slot_before(s, &p->site[i], &site[i]);
		if (!(site[i].flags & MAPLE_SITEF_MORE))
			break;
	}
	m->body = s->at - start;
	maple_slot_insn(s, insn, (void *)(p->bias + insn->offset));
	for (i = insn->site; i < t->nsites; i++) {
		if (p->site[i].wanted && !(insn->flags & MAPLE_INSN_STOP))
			maple_slot_after(s, &p->site[i]);
		if (!(site[i].flags & MAPLE_SITEF_MORE))
			break;
	}
	m->end = s->at - start;
}

/* The way into the slot at @slot, over the whole group. */
static void lead_in(struct maple_patched *p, struct maple_patch_group *g,
		    uint64_t slot, unsigned int way)
{
	uint8_t bytes[256];
	uint32_t rel = slot - (g->addr + 5);
	unsigned int n = g->length;

	for (unsigned int i = 0; i < n; i++) {
		p->bytes[g->bytes + i] = *(const uint8_t *)(g->addr + i);
		bytes[i] = 0xcc;
	}
	if (way != MAPLE_WAY_TRAP) {
		bytes[0] = 0xe9;
		for (unsigned int i = 1; i < n && i < 5; i++)
			bytes[i] = rel >> (8 * (i - 1)) & 0xff;
	} else {
		n = 1;
	}
	maple_patch_write(p, g->addr, bytes, n);
}

/* Patches one group by @way; false if its slot has no room in reach. */
static bool place(struct maple_patched *p, const struct maple_table *t,
		  const struct maple_table_group *from, unsigned int way)
{
	const struct maple_table_insn *insn = maple_table_insns(t) + from->first;
	const struct maple_table_insn *last = insn + from->ninsns - 1;
	struct maple_patch_group *g = &p->group[p->ngroups];
	struct maple_slot s = p->slot;
	uint32_t moved = p->nmoved;
	uint64_t start;

	g->addr = p->bias + insn->offset;
	g->length = from->length;
	g->bytes = p->nbytes;
	g->pun = way == MAPLE_WAY_PUN;
	if (g->pun) {
		s.at = (uint8_t *)pun_room(p, g->addr, g->length);
		if (!s.at)
			return false;
		s.end = s.at + PUN_SLOT;
	}
	start = (uint64_t)s.at;
	for (unsigned int i = 0; i < from->ninsns; i++)
		move_insn(p, &s, t, &insn[i], way == MAPLE_WAY_TRAP);
	if (!(last->flags & (MAPLE_INSN_JMP | MAPLE_INSN_STOP)))
		maple_slot_jump(&s, p->bias + last->offset + last->length);
	if (s.bad) {
		p->nmoved = moved;
		return false;
	}
	if (g->pun)
		pun_used(p, start, (uint64_t)s.at);
	else
		p->slot.at = s.at;
	for (uint32_t i = moved; i < p->nmoved; i++)
		p->index[maple_patch_index(p, p->moved[i].offset)] = i + 1;
	lead_in(p, g, start, way);
	g->in = true;
	p->nbytes += g->length;
	p->ngroups++;
	return true;
}

/* Whether the run has a use for @group at all. */
static bool chosen(const struct maple_patched *p, const struct maple_table *t,
		   const struct maple_table_group *group)
{
	const struct maple_table_insn *insn =
		maple_table_insns(t) + group->first;
	const struct maple_table_site *site = maple_table_sites(t);

	if (!maple_agent_enforces && group->way == MAPLE_WAY_TRAP &&
	    !maple_shm->trap_rest)
		return false;
	for (unsigned int i = 0; i < group->ninsns; i++) {
		for (uint32_t k = insn[i].site; k < t->nsites; k++) {
			if (maple_agent_enforces ? p->site[k].wanted
						 : !p->site[k].alone)
				return true;
			if (!(site[k].flags & MAPLE_SITEF_MORE))
				break;
		}
	}
	return false;
}

static void want(struct maple_patched *p, uint32_t base, uint32_t number)
{
	if (!(number & MAPLE_SITE_CALL) && number - base < p->nsites) {
		p->site[number - base].wanted = 1;
		p->site[number - base].live = 1;
	}
}

static void fill_sites(struct maple_patched *p, const struct maple_table *t,
		       uint32_t base)
{
	const struct maple_table_site *from = maple_table_sites(t);
	const struct maple_plan *plan = &maple_shm->plan;

	for (uint32_t i = 0; i < p->nsites; i++) {
		p->site[i].pc = p->bias + from[i].offset;
		p->site[i].number = base + i;
		p->site[i].size = from[i].size;
		p->site[i].kind = from[i].kind;
		p->site[i].flags = from[i].flags;
		p->site[i].alone = from[i].alone;
		p->site[i].live = !maple_agent_enforces && !from[i].alone;
	}
	if (!maple_agent_enforces)
		return;
	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++)
		want(p, base, plan->step[i].site);
	for (uint32_t i = 0; i < plan->nguards && i < MAPLE_PLAN_GUARDS; i++)
		want(p, base, plan->guard[i]);
}

/* All memory that the patches of one image take. */
static struct maple_patched *allocate(const struct maple_shm_image *image,
				      const struct maple_table *t)
{
	uint64_t bytes = t->text_hi - t->text_lo, size = 2, at, code;
	struct maple_patched *p;

	while (size < 2ull * t->ninsns)
		size *= 2;
	p = maple_lock_memory(sizeof(*p));
	if (!p)
		return NULL;
	p->bias = image->bias;
	p->lo = image->bias + t->text_lo;
	p->hi = image->bias + t->text_hi;
	p->nsites = t->nsites;
	p->mask = size - 1;
	p->moved = maple_lock_memory(t->ninsns * sizeof(*p->moved));
	p->group = maple_lock_memory(t->ngroups * sizeof(*p->group));
	p->index = maple_lock_memory(size * sizeof(*p->index));
	p->page = maple_lock_memory(PUN_PAGES * sizeof(*p->page));
	p->bytes = maple_lock_memory(bytes);
	if (!p->moved || !p->group || !p->index || !p->page || !p->bytes)
		return NULL;
	code = maple_page_up(sizeof(struct maple_slot_hooks) +
			     t->nsites * sizeof(*p->site));
	size = code + t->nsites * 2ull * MAPLE_SLOT_HOOK +
	       t->ninsns * (uint64_t)MAPLE_SLOT_INSN +
	       t->ngroups * (uint64_t)MAPLE_SLOT_ENDS;
	at = map_near(image->lo, image->hi, size);
	if (!at)
		return NULL;
	*(struct maple_slot_hooks *)at =
		(struct maple_slot_hooks){ maple_stub_before, maple_stub_after };
	p->site = (struct maple_agent_site *)(at +
					      sizeof(struct maple_slot_hooks));
	p->slot =
		(struct maple_slot){ .at = (uint8_t *)at + code,
				     .end = (uint8_t *)at + maple_page_up(size),
				     .base = at,
				     .bias = image->bias };
	p->code = at + code;
	p->code_end = at + maple_page_up(size);
	return p;
}

/*
 * maple_patch_image - patches @image as the run asks, by @table
 *
 * Context: nothing of the image may run meanwhile.
 */
void maple_patch_image(struct maple_shm_image *image,
		       const struct maple_table *t)
{
	const struct maple_table_group *group = maple_table_groups(t);
	struct maple_patched *p = allocate(image, t);
	bool may_trap = maple_agent_enforces || maple_shm->trap_rest;

	image->patched = 0;
	image->unpatched = 0;
	if (!p) {
		image->unpatched = t->ngroups;
		return;
	}
	fill_sites(p, t, image->site_base);
	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_WRITE | PROT_EXEC);
	p->first_pun = t->ninsns;
	for (uint32_t i = 0; i < t->ngroups; i++) {
		if (group[i].way == MAPLE_WAY_PUN && p->first_pun == t->ninsns)
			p->first_pun = p->nmoved;
		if (!chosen(p, t, &group[i])) {
			image->unpatched += !maple_agent_enforces &&
					    group[i].way == MAPLE_WAY_TRAP;
			continue;
		}
		if (place(p, t, &group[i], group[i].way) ||
		    (may_trap && place(p, t, &group[i], MAPLE_WAY_TRAP)))
			image->patched++;
		else
			image->unpatched++;
	}
	if (p->first_pun > p->nmoved)
		p->first_pun = p->nmoved;
	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_EXEC);
	maple_patch_protect(p->code, p->code_end, PROT_READ | PROT_EXEC);
	for (uint32_t i = 0; i < p->npages; i++)
		maple_patch_protect(p->page[i].at, p->page[i].at + PUN_SIZE,
				    PROT_READ | PROT_EXEC);
	maple_patch_add(p);
}
