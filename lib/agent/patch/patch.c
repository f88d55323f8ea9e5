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
#include "base/array.h"
#include "agent/core.h"
#include "patch.h"
#include "agent/raw.h"

#define SLOT_USUAL 90 /* bytes of a slot, for each site */

/* How site @i is split, which it can be. */
static const struct maple_table_split *split_of(const struct maple_table *t,
						uint32_t i)
{
	const struct maple_table_split *split = maple_table_splits(t);

	return &split[maple_array_lead(t->nsplits, k, split[k].site <= i) - 1];
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
	m->push = 0;
	m->halves = (struct maple_slot_halves){ 0 };
	for (; i < t->nsites; i++) {
		p->site[i].way = trap ? MAPLE_WAY_TRAP : site[i].way;
		p->site[i].group = p->ngroups;
		if (p->site[i].live) {
			if (s->at == start)
				m->push = site[i].flags & MAPLE_SITEF_NOFLAGS
						  ? MAPLE_SLOT_ASK +
							    MAPLE_SLOT_PUSH
						  : MAPLE_SLOT_PUSH;
			maple_slot_before(s, &p->site[i], &site[i]);
		}
		if (!(site[i].flags & MAPLE_SITEF_MORE))
			break;
	}
	m->body = s->at - start;
	i = insn->site;
	if (i < t->nsites && p->site[i].flags & MAPLE_SITEF_SPLIT) {
		maple_slot_split(s, &p->site[i], &site[i], split_of(t, i),
				 start, &m->halves);
		m->body = m->halves.store;
	} else {
		maple_slot_insn(s, insn, (void *)(p->bias + insn->offset));
	}
	for (i = insn->site; i < t->nsites; i++) {
		if ((p->site[i].interest.wanted || maple_control_values) &&
		    p->site[i].live && !(insn->flags & MAPLE_INSN_STOP))
			maple_slot_after(s, &p->site[i]);
		if (!(site[i].flags & MAPLE_SITEF_MORE))
			break;
	}
	m->end = s->at - start;
}

/* maple_patch_lead_in - the way into the slot of @g, over the whole group */
void maple_patch_lead_in(struct maple_patched *p, struct maple_patch_group *g)
{
	uint8_t bytes[256];
	uint32_t rel = g->slot - (g->addr + 5);
	unsigned int n = g->length;

	for (unsigned int i = 0; i < n; i++)
		bytes[i] = 0xcc;
	if (!g->trap) {
		bytes[0] = 0xe9;
		for (unsigned int i = 1; i < n && i < 5; i++)
			bytes[i] = rel >> (8 * (i - 1)) & 0xff;
	} else {
		n = 1;
	}
	maple_patch_write(p, g->addr, bytes, n);
	g->in = true;
}

/* Groups whose bytes the jump of @pun has in its displacement stay as is. */
static void mark_under(struct maple_patched *p, struct maple_patch_group *pun)
{
	uint32_t k =
		maple_array_lead(p->njumps, i, p->group[i].addr <= pun->addr);

	for (; k < p->njumps && p->group[k].addr < pun->addr + 5; k++)
		p->group[k].under = true;
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
		s.at = (uint8_t *)maple_room_pun(p, g->addr, g->length);
		if (!s.at)
			return false;
		s.end = s.at + MAPLE_PUN_SLOT;
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
		maple_room_pun_used(p, start, (uint64_t)s.at);
	else
		p->slot.at = s.at;
	g->slot = start;
	g->trap = way == MAPLE_WAY_TRAP;
	g->steady = g->trap || insn->length >= 5;
	for (unsigned int i = 0; i < g->length; i++)
		p->bytes[g->bytes + i] = *(const uint8_t *)(g->addr + i);
	maple_patch_lead_in(p, g);
	if (g->pun)
		mark_under(p, g);
	else if (!g->trap)
		p->njumps = p->ngroups + 1;
	p->nbytes += g->length;
	p->ngroups++;
	return true;
}

static bool is_wanted(const struct maple_patched *p, uint32_t i)
{
	return p->wanted[i / 8] >> i % 8 & 1;
}

/* The next group from @i on that is picked, where a run picks some. */
static uint32_t next_group(const struct maple_patched *p,
			   const struct maple_table *t, uint32_t i)
{
	if (!maple_agent_enforces)
		return i;
	while (i < t->ngroups && !(p->picked[i / 8] >> i % 8 & 1))
		i = p->picked[i / 8] >> i % 8 ? i + 1 : (i / 8 + 1) * 8;
	return i;
}

/* Whether the run, which does not enforce, has a use for @group at all. */
static bool chosen(const struct maple_table *t,
		   const struct maple_table_group *group)
{
	const struct maple_table_insn *insn =
		maple_table_insns(t) + group->first;
	const struct maple_table_site *site = maple_table_sites(t);

	if (group->way == MAPLE_WAY_TRAP && !maple_shm->trap_rest)
		return false;
	for (unsigned int i = 0; i < group->ninsns; i++) {
		for (uint32_t k = insn[i].site; k < t->nsites; k++) {
			if (!site[k].alone)
				return true;
			if (!(site[k].flags & MAPLE_SITEF_MORE))
				break;
		}
	}
	return false;
}

static void fill_site(struct maple_patched *p, const struct maple_table *t,
		      uint32_t base, uint32_t i)
{
	const struct maple_table_site *from = maple_table_sites(t) + i;

	p->site[i] = (struct maple_agent_site){
		.pc = p->bias + from->offset,
		.number = base + i,
		.size = from->size,
		.kind = from->kind,
		.flags = from->flags & ~MAPLE_SITEF_SPLIT,
		.event_flags =
			from->flags & MAPLE_SITEF_ATOMIC ? MAPLE_EVF_ATOMIC : 0,
		.interest = {
			.alone = from->alone && !maple_agent_enforces,
			.wanted = maple_agent_enforces,
		},
		.live = maple_agent_enforces || !from->alone,
		.slow = !!(from->flags & MAPLE_SITEF_REP),
		.group = ~0u,
	};
}

/* The plan names site @number: nothing else has a hook. */
static void want(struct maple_patched *p, const struct maple_table *t,
		 uint32_t base, uint32_t number)
{
	uint32_t i = number - base, group;

	if (number & MAPLE_SITE_CALL || i >= p->nsites || is_wanted(p, i))
		return;
	fill_site(p, t, base, i);
	if (!(p->site[i].flags & MAPLE_SITEF_REP))
		maple_pass_give(&p->site[i].interest);
	p->wanted[i / 8] |= 1u << i % 8;
	group = maple_table_group_of(t, i);
	if (group < t->ngroups)
		p->picked[group / 8] |= 1u << group % 8;
}

/* What comes first then is the read; hook.c has the write follow it. */
static void split(struct maple_patched *p, const struct maple_table *t,
		  uint32_t base, uint32_t number)
{
	uint32_t i = number - base;

	if (number & MAPLE_SITE_CALL || i >= p->nsites ||
	    !(maple_table_sites(t)[i].flags & MAPLE_SITEF_SPLIT))
		return;
	p->site[i].flags |= MAPLE_SITEF_SPLIT;
	p->site[i].kind = MAPLE_EV_READ;
}

static void want_plan(struct maple_patched *p, const struct maple_table *t,
		      uint32_t base, const struct maple_plan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++)
		want(p, t, base, plan->step[i].site);
	for (uint32_t i = 0; i < plan->nguards && i < MAPLE_PLAN_GUARDS; i++)
		want(p, t, base, plan->guard[i]);
	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++)
		if (maple_plan_splits(plan, plan->step[i].site))
			split(p, t, base, plan->step[i].site);
}

static void fill_wanted(struct maple_patched *p, const struct maple_table *t,
			uint32_t base)
{
	want_plan(p, t, base, &maple_shm->plan);
	for (uint32_t i = 0; i < maple_shm->nthen && i < MAPLE_SHM_THEN; i++)
		want_plan(p, t, base, &maple_shm->then[i]);
}

/* maple_patch_changes - change points of the run count their hits */
void maple_patch_changes(struct maple_patched *p, uint32_t base)
{
	uint32_t at;

	for (uint32_t i = 0; i < maple_shm->nchanges; i++) {
		at = maple_shm->change[i].site;
		if (!(at & MAPLE_SITE_CALL) && at - base < p->nsites)
			p->site[at - base].slow = 1;
	}
}

/* Where more is patched than the list names, that alone has points. */
static void want_list(struct maple_patched *p, uint32_t base)
{
	const struct maple_shm_control *c = &maple_shm->control;
	uint32_t at;

	for (uint32_t i = 0; i < c->nlist; i++) {
		at = c->list[i].site;
		if (!(at & MAPLE_SITE_CALL) && at - base < p->nsites)
			p->site[at - base].interest.wanted = 1;
	}
}

static void fill_sites(struct maple_patched *p, const struct maple_table *t,
		       uint32_t base)
{
	for (uint32_t i = 0; i < p->nsites; i++)
		fill_site(p, t, base, i);
	if (maple_control_values)
		want_list(p, base);
	maple_patch_changes(p, base);
}

/* All memory that the patches of one image take. */
static struct maple_patched *allocate(const struct maple_shm_image *image,
				      const struct maple_table *t)
{
	uint64_t bytes = t->text_hi - t->text_lo, size, at, code;
	struct maple_patched *p = maple_lock_memory(sizeof(*p));

	if (!p)
		return NULL;
	p->bias = image->bias;
	p->lo = image->bias + t->text_lo;
	p->hi = image->bias + t->text_hi;
	p->nsites = t->nsites;
	p->moved = maple_lock_memory(t->ninsns * sizeof(*p->moved));
	p->group = maple_lock_memory(t->ngroups * sizeof(*p->group));
	p->page = maple_lock_memory(MAPLE_PUN_PAGES * sizeof(*p->page));
	p->bytes = maple_lock_memory(bytes);
	p->retired = maple_lock_memory(t->ngroups * sizeof(*p->retired));
	p->wanted = maple_lock_memory(t->nsites / 8 + 1);
	p->picked = maple_lock_memory(t->ngroups / 8 + 1);
	if (!p->moved || !p->group || !p->page || !p->bytes || !p->retired ||
	    !p->wanted || !p->picked)
		return NULL;
	code = maple_page_up(sizeof(struct maple_slot_hooks) +
			     t->nsites * sizeof(*p->site));
	size = code + t->nsites * 2ull * MAPLE_SLOT_HOOK +
	       (maple_agent_enforces ? t->nsplits : 0) *
		       (uint64_t)MAPLE_SLOT_SPLIT +
	       t->ninsns * (uint64_t)MAPLE_SLOT_INSN +
	       t->ngroups * (uint64_t)MAPLE_SLOT_ENDS;
	at = maple_room_near(image->lo, image->hi, size);
	if (!at)
		return NULL;
	*(struct maple_slot_hooks *)at =
		maple_agent_enforces
			? (struct maple_slot_hooks){ maple_stub_asked,
						     maple_stub_asked_after,
						     maple_stub_asked_between }
		: maple_shm->mode == MAPLE_SHM_CONTROL
			? (struct maple_slot_hooks){ maple_stub_point,
						     maple_stub_after, NULL }
			: (struct maple_slot_hooks){ maple_stub_before,
						     maple_stub_after, NULL };
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

/* Nearly all of it will be used, when all sites are patched. */
static void populate(struct maple_patched *p, const struct maple_table *t)
{
	maple_lock_populate((uint64_t)p->moved,
			    (uint64_t)(p->moved + t->ninsns));
	maple_lock_populate((uint64_t)p->group,
			    (uint64_t)(p->group + t->ngroups));
	maple_lock_populate((uint64_t)p->site, p->code + t->nsites * SLOT_USUAL);
	maple_lock_populate(p->lo, p->hi);
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
	bool may_trap = maple_agent_enforces || maple_control_values ||
			maple_shm->trap_rest;

	image->patched = 0;
	image->unpatched = 0;
	if (!p) {
		image->unpatched = t->ngroups;
		return;
	}
	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (maple_agent_enforces) {
		fill_wanted(p, t, image->site_base);
	} else {
		populate(p, t);
		fill_sites(p, t, image->site_base);
	}
	p->first_trap = p->first_pun = t->ninsns;
	for (uint32_t i = next_group(p, t, 0); i < t->ngroups;
	     i = next_group(p, t, i + 1)) {
		if (group[i].way >= MAPLE_WAY_PUN && p->first_trap == t->ninsns)
			p->first_trap = p->nmoved;
		if (group[i].way == MAPLE_WAY_PUN && p->first_pun == t->ninsns)
			p->first_pun = p->nmoved;
		if (!maple_agent_enforces && !chosen(t, &group[i])) {
			image->unpatched += group[i].way == MAPLE_WAY_TRAP;
			continue;
		}
		if (place(p, t, &group[i], group[i].way) ||
		    (may_trap && place(p, t, &group[i], MAPLE_WAY_TRAP)))
			image->patched++;
		else
			image->unpatched++;
	}
	if (p->first_trap > p->nmoved)
		p->first_trap = p->nmoved;
	if (p->first_pun > p->nmoved)
		p->first_pun = p->nmoved;
	maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_EXEC);
	maple_patch_protect(p->code, p->code_end, PROT_READ | PROT_EXEC);
	for (uint32_t i = 0; i < p->npages; i++)
		maple_patch_protect(p->page[i].at,
				    p->page[i].at + MAPLE_PUN_SIZE,
				    PROT_READ | PROT_EXEC);
	maple_patch_add(p);
}
