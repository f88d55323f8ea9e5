// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What patch.c has moved: where an instruction is now, where one in a slot
 * came from, and the way back.
 */
#include <sys/mman.h>
#include "agent/core.h"
#include "patch.h"
#include "agent/raw.h"

static struct maple_patched *patched; /* newest first; never freed */

/* maple_patch_add - what was done to an image can be found from now on */
void maple_patch_add(struct maple_patched *p)
{
	p->next = patched;
	__atomic_store_n(&patched, p, __ATOMIC_RELEASE);
}

/* maple_patch_first - the image patched last; its next are older */
struct maple_patched *maple_patch_first(void)
{
	return __atomic_load_n(&patched, __ATOMIC_ACQUIRE);
}

/* maple_patch_protect - the pages of [@lo, @hi) */
void maple_patch_protect(uint64_t lo, uint64_t hi, int prot)
{
	lo &= ~(MAPLE_PAGE - 1);
	raw3(SYS_mprotect, lo, maple_page_up(hi) - lo, prot);
}

/* Replaces @n bytes of text; the first eight in one store if they are text. */
void maple_patch_write(const struct maple_patched *p, uint64_t addr,
		       const uint8_t *bytes, unsigned int n)
{
	volatile uint8_t *text = (volatile uint8_t *)addr;
	unsigned int head = n < 8 ? n : 8;
	uint64_t word;

	for (unsigned int i = n; i-- > 5;)
		text[i] = bytes[i];
	if (addr + 8 > maple_page_up(p->hi)) {
		for (unsigned int i = head; i--;)
			text[i] = bytes[i];
		return;
	}
	word = *(volatile uint64_t *)addr;
	for (unsigned int i = 0; i < head; i++) {
		word &= ~(0xffull << (8 * i));
		word |= (uint64_t)bytes[i] << (8 * i);
	}
	*(volatile uint64_t *)addr = word;
}

/* What stood at @offset, among moved ones from @lo to before @hi; or NULL. */
static const struct maple_patch_moved *search(const struct maple_patched *p,
					      uint32_t lo, uint32_t hi,
					      bool ascend, uint32_t offset)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct maple_patch_moved *m = &p->moved[mid];

		if (m->offset == offset)
			return m;
		if ((m->offset < offset) == ascend)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* As groups stand in a table: jumps, traps, puns from the last to the first. */
static const struct maple_patch_moved *
from_offset(const struct maple_patched *p, uint32_t offset)
{
	const struct maple_patch_moved *m =
		search(p, 0, p->first_trap, true, offset);

	if (!m)
		m = search(p, p->first_trap, p->first_pun, true, offset);
	return m ? m : search(p, p->first_pun, p->nmoved, false, offset);
}

/* maple_patch_forget - the image at @bias is no longer there */
void maple_patch_forget(uint64_t bias)
{
	for (struct maple_patched *p = patched; p; p = p->next)
		if (p->bias == bias)
			p->gone = true;
}

/* maple_patch_slot - where the instruction that stood at @pc is now */
bool maple_patch_slot(uint64_t pc, uint64_t *slot)
{
	const struct maple_patch_moved *m;

	for (struct maple_patched *p = patched; p; p = p->next) {
		if (p->gone || pc < p->lo || pc >= p->hi)
			continue;
		m = from_offset(p, pc - p->bias);
		if (!m)
			return false;
		*slot = m->slot;
		return true;
	}
	return false;
}

static const struct maple_patch_moved *find_moved(const struct maple_patched *p,
						  uint64_t pc)
{
	const struct maple_patch_moved *m = NULL;
	uint32_t lo = 0, hi = p->nmoved;

	/*
	 * Slots ascend in the region; those of puns and of traps that took
	 * a pun's place are few.
	 */
	if (pc >= p->code && pc < p->code_end)
		hi = p->first_pun;
	else
		lo = p->first_pun;
	for (uint32_t i = lo; i < p->nmoved && i < hi; i++)
		if (pc >= p->moved[i].slot &&
		    pc < p->moved[i].slot + p->moved[i].end)
			m = &p->moved[i];
	for (uint32_t i = p->first_pun; !m && i < p->nmoved; i++)
		if (pc >= p->moved[i].slot &&
		    pc < p->moved[i].slot + p->moved[i].end)
			m = &p->moved[i];
	return m;
}

/*
 * maple_patch_origin - the program's own PC for one in a slot, and where what
 *                      else the slot has changed stands
 *
 * A split instruction that faults in either half has done nothing yet.
 */
bool maple_patch_origin(uint64_t pc, struct maple_patch_origin *origin)
{
	const struct maple_patch_moved *m;
	uint64_t at;

	for (struct maple_patched *p = patched; p; p = p->next) {
		m = p->gone ? NULL : find_moved(p, pc);
		if (!m)
			continue;
		at = pc - m->slot;
		origin->pc = p->bias + m->offset;
		if (at > m->body)
			origin->pc += m->length;
		/* The first push of the hook may find the stack's end. */
		origin->stack = m->push && at == m->push ? 128 : 0;
		origin->reg = MAPLE_REG_NONE;
		if (m->halves.load &&
		    (at == m->halves.load || at == m->halves.store)) {
			origin->stack = sizeof(struct maple_slot_frame);
			origin->reg = m->halves.reg;
		}
		return true;
	}
	return false;
}

/* Puns whose displacement ends in the group's bytes go first. */
static void take_out(struct maple_patched *p, struct maple_patch_group *g)
{
	if (!g->in)
		return;
	g->in = false;
	for (uint32_t i = 0; i < p->ngroups; i++)
		if (p->group[i].pun && p->group[i].addr < g->addr &&
		    p->group[i].addr + 5 > g->addr)
			take_out(p, &p->group[i]);
	maple_patch_write(p, g->addr, p->bytes + g->bytes, g->length);
}

/* maple_patch_remove - puts the program's bytes back around @pc */
void maple_patch_remove(uint64_t pc)
{
	for (struct maple_patched *p = patched; p; p = p->next) {
		if (p->gone || pc < p->lo || pc >= p->hi)
			continue;
		maple_patch_protect(p->lo, p->hi,
				    PROT_READ | PROT_WRITE | PROT_EXEC);
		for (uint32_t i = 0; i < p->ngroups; i++)
			if (pc >= p->group[i].addr &&
			    pc < p->group[i].addr + p->group[i].length)
				take_out(p, &p->group[i]);
		maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_EXEC);
	}
}

/* maple_patch_out - all of the program's bytes are back */
void maple_patch_out(void)
{
	for (struct maple_patched *p = patched; p; p = p->next) {
		if (p->gone)
			continue;
		maple_patch_protect(p->lo, p->hi,
				    PROT_READ | PROT_WRITE | PROT_EXEC);
		for (uint32_t i = 0; i < p->ngroups; i++)
			take_out(p, &p->group[i]);
		maple_patch_protect(p->lo, p->hi, PROT_READ | PROT_EXEC);
	}
}

/*
 * maple_patch_again - what is patched already takes on what is this run's own:
 * sites that @table leaves alone, and change points
 */
void maple_patch_again(const struct maple_shm_image *image,
		       const struct maple_table *table)
{
	const struct maple_table_site *from = maple_table_sites(table);
	struct maple_patched *p = patched;

	while (p && (p->gone || p->bias != image->bias))
		p = p->next;
	for (uint32_t i = 0; p && i < p->nsites && i < table->nsites; i++) {
		/* Most stay as they are: their pages stay shared. */
		if (p->site[i].interest.alone == from[i].alone)
			continue;
		p->site[i].interest.alone = from[i].alone;
		p->site[i].live = !from[i].alone;
		if (!p->site[i].live)
			maple_retire_later(&p->site[i]);
	}
	if (p)
		maple_patch_changes(p, image->site_base);
}
