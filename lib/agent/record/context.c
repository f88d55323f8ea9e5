// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who called the function that an access is in: a hash of up to MAPLE_SHM_DEPTH
 * return addresses, as offsets in their images, so that it is the same in each
 * run of a build. They are found by the rows of the images' tables (table.h),
 * without entry hooks: from the stack pointer, or rbp, to where the return
 * address stands, and from there on as often again.
 *
 * What a number stands for is said once, in shared memory.
 *
 * The way ends where an image has no rows: in libc, from which a thread's first
 * function is called. So that one has no context. It also ends where the stack
 * would not grow, or does not reach so far.
 */
#include "agent/core.h"
#include "base/mix.h"

#define PROBES 8
#define FAR    (1ull << 24) /* bytes: no frame is as large */

struct frame {
	uint64_t pc; /* what the row is looked up by */
	uint64_t sp, bp;
	bool has_bp;
};

static uint64_t word_at(uint64_t addr)
{
	return maple_stub_load_word(addr) |
	       (uint64_t)maple_stub_load_word(addr + 4) << 32;
}

/*
 * From @f to its caller's; false if the way ends. @to: the return address, as
 * the image that it is in and its offset there.
 */
static bool unwind(struct frame *f, struct maple_shm_caller *to)
{
	const struct maple_table_frame *row = NULL;
	const struct maple_table *t;
	uint64_t cfa, ret;
	uint64_t offset;
	unsigned int base;

	t = maple_image_table_of(maple_image_of(f->pc, &offset));
	if (t)
		row = maple_table_frame_at(t, offset);
	base = row ? row->base & MAPLE_FRAME_BASE : MAPLE_FRAME_NONE;
	if (!base || (base == MAPLE_FRAME_RBP && !f->has_bp))
		return false;
	cfa = (base == MAPLE_FRAME_RBP ? f->bp : f->sp) +
	      (uint64_t)(int64_t)row->cfa;
	if (cfa <= f->sp || cfa - f->sp > FAR || cfa % 8)
		return false;
	ret = word_at(cfa - 8);
	if (row->rbp == MAPLE_FRAME_LOST)
		f->has_bp = false;
	else if (row->rbp)
		f->bp = word_at(cfa - 8ull * row->rbp);
	f->has_bp |= row->rbp && row->rbp != MAPLE_FRAME_LOST;
	f->sp = cfa;
	f->pc = ret - 1; /* of the call */
	to->image = maple_image_of(ret, &to->offset);
	return maple_image_table_of(to->image);
}

/* The campaign learns what @context stands for, if there is room for it. */
static void publish(uint32_t context, const struct maple_shm_caller *by,
		    uint32_t n)
{
	struct maple_shm_context *c;
	uint32_t was;

	for (uint32_t i = 0; i < PROBES; i++) {
		c = &maple_shm->context[(context + i) % MAPLE_SHM_CONTEXTS];
		was = 0;
		if (__atomic_load_n(&c->context, __ATOMIC_RELAXED) == context)
			return;
		if (!__atomic_compare_exchange_n(&c->context, &was, context,
						 false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		for (uint32_t k = 0; k < n; k++)
			c->by[k] = by[k];
		__atomic_store_n(&c->n, n, __ATOMIC_RELEASE);
		return;
	}
}

/*
 * maple_context_of - who called the code at @pc, where the program's stack
 *                    pointer is @sp and its rbp @bp; or MAPLE_CONTEXT_NONE
 *
 * Context: between any two instructions of the target, inside the agent.
 */
uint32_t maple_context_of(uint64_t pc, uint64_t sp, uint64_t bp)
{
	struct frame f = { .pc = pc, .sp = sp, .bp = bp, .has_bp = true };
	struct maple_shm_caller by[MAPLE_SHM_DEPTH];
	uint64_t hash = 0;
	uint32_t context, n = 0;

	for (; n < MAPLE_SHM_DEPTH && unwind(&f, &by[n]); n++)
		hash = maple_mixed(hash + by[n].offset + 1);
	if (!n)
		return MAPLE_CONTEXT_NONE;
	context = (uint32_t)(hash >> 32);
	if (context < MAPLE_CONTEXT_LEAST)
		context += MAPLE_CONTEXT_LEAST;
	publish(context, by, n);
	return context;
}
