// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where a function's return address stands, at each of its instructions: the
 * rows of the call frame information, as far as they are of the usual kind. The
 * agent tells by them who called the function that an access is in.
 *
 * Known are frames whose address is rsp or rbp and a constant; the return
 * address stands below it, and the caller's rbp is as it was, or is kept in the
 * frame. Of anything else the row says that nothing is known. So says the end
 * of each range: what lies behind it may have no description.
 */
#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "image/internal.h"

#define DEPTH	64 /* of remembered states */
#define RBP	6  /* by their numbers in DWARF */
#define RSP	7
#define RETURN	16
#define UNKNOWN INT64_MIN

struct rules {
	uint64_t base; /* register, or 0: no rule */
	int64_t cfa;
	int64_t rbp; /* where it is kept, from the CFA; 0: it is as it was */
	int64_t ret; /* where the return address stands */
};

struct machine {
	const struct maple_unwind *how;
	struct maple_image *image;
	struct rules now, initial, kept[DEPTH];
	unsigned int nkept;
	uint64_t at, lo, hi;
	bool lost; /* nothing is known from here on */
};

static struct maple_table_frame row_of(const struct machine *m)
{
	const struct rules *r = &m->now;
	struct maple_table_frame row = {
		.offset = (uint32_t)m->at,
		.base = m->at == m->lo ? MAPLE_FRAME_FIRST : 0,
	};

	if (m->lost || r->ret != -8 || r->cfa < INT16_MIN || r->cfa > INT16_MAX)
		return row;
	if (r->base != RSP && r->base != RBP)
		return row;
	row.base |= r->base == RSP ? MAPLE_FRAME_RSP : MAPLE_FRAME_RBP;
	row.cfa = (int16_t)r->cfa;
	if (r->rbp == UNKNOWN || r->rbp > 0 || r->rbp % 8 ||
	    -r->rbp / 8 >= MAPLE_FRAME_LOST)
		row.rbp = MAPLE_FRAME_LOST;
	else
		row.rbp = (uint8_t)(-r->rbp / 8);
	return row;
}

/* What holds from m->at on; what held from there on before is no more. */
static int put(struct machine *m)
{
	struct maple_table_frame row = row_of(m), *last;

	last = m->image->frames.n
		       ? (struct maple_table_frame *)m->image->frames.at +
				 m->image->frames.n - 1
		       : NULL;
	if (last && last->offset == row.offset) {
		*last = row;
		return 0;
	}
	last = maple_array_more(&m->image->frames, sizeof(*last));
	if (!last)
		return -ENOMEM;
	*last = row;
	return 0;
}

/* The instructions after @by units are about what comes so much later. */
static int advance(struct machine *m, uint64_t by)
{
	int e = put(m);

	if (by > (m->hi - m->at) / (m->how->code ? m->how->code : 1))
		m->lost = true;
	else
		m->at += by * m->how->code;
	return e;
}

/* By the unit of its description; what is beyond all numbers is any number. */
static int64_t scaled(const struct machine *m, uint64_t n)
{
	return (int64_t)(n * (uint64_t)m->how->data);
}

static void keep_at(struct machine *m, uint64_t reg, int64_t at)
{
	if (reg == RBP)
		m->now.rbp = at;
	else if (reg == RETURN)
		m->now.ret = at;
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg == RBP)
		m->now.rbp = m->initial.rbp;
	else if (reg == RETURN)
		m->now.ret = m->initial.ret;
}

static void remember(struct machine *m)
{
	if (m->nkept == DEPTH)
		m->lost = true;
	else
		m->kept[m->nkept++] = m->now;
}

static void recall(struct machine *m)
{
	if (!m->nkept)
		m->lost = true;
	else
		m->now = m->kept[--m->nkept];
}

/* A block of an expression is skipped. */
static void skip_block(struct maple_cursor *c)
{
	maple_cursor_skip(c, maple_cursor_uleb(c));
}

/* Those that say where the CFA is. */
static bool define(struct machine *m, uint8_t op, struct maple_cursor *c)
{
	switch (op) {
	case DW_CFA_def_cfa:
		m->now.base = maple_cursor_uleb(c);
		m->now.cfa = (int64_t)maple_cursor_uleb(c);
		return true;
	case DW_CFA_def_cfa_sf:
		m->now.base = maple_cursor_uleb(c);
		m->now.cfa = scaled(m, (uint64_t)maple_cursor_sleb(c));
		return true;
	case DW_CFA_def_cfa_register:
		m->now.base = maple_cursor_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset:
		m->now.cfa = (int64_t)maple_cursor_uleb(c);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		m->now.cfa = scaled(m, (uint64_t)maple_cursor_sleb(c));
		return true;
	case DW_CFA_def_cfa_expression:
		m->now.base = 0;
		skip_block(c);
		return true;
	default:
		return false;
	}
}

/* Those that say where a register is; false: it is none that is known. */
static bool place(struct machine *m, uint8_t op, struct maple_cursor *c)
{
	uint64_t reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = maple_cursor_uleb(c);
		keep_at(m, reg, scaled(m, maple_cursor_uleb(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = maple_cursor_uleb(c);
		keep_at(m, reg, scaled(m, (uint64_t)maple_cursor_sleb(c)));
		return true;
	case DW_CFA_restore_extended:
		restore(m, maple_cursor_uleb(c));
		return true;
	case DW_CFA_same_value:
		keep_at(m, maple_cursor_uleb(c), 0);
		return true;
	case DW_CFA_undefined:
		keep_at(m, maple_cursor_uleb(c), UNKNOWN);
		return true;
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		keep_at(m, maple_cursor_uleb(c), UNKNOWN);
		maple_cursor_uleb(c);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		keep_at(m, maple_cursor_uleb(c), UNKNOWN);
		skip_block(c);
		return true;
	case DW_CFA_GNU_args_size:
		maple_cursor_uleb(c);
		return true;
	default:
		return false;
	}
}

static int step(struct machine *m, struct maple_cursor *c)
{
	uint8_t op = (uint8_t)maple_cursor_number(c, 1);

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(m, op & 0x3f);
	case DW_CFA_offset:
		keep_at(m, op & 0x3f, scaled(m, maple_cursor_uleb(c)));
		return 0;
	case DW_CFA_restore:
		restore(m, op & 0x3f);
		return 0;
	}
	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return advance(m, maple_cursor_number(c, 1));
	case DW_CFA_advance_loc2:
		return advance(m, maple_cursor_number(c, 2));
	case DW_CFA_advance_loc4:
		return advance(m, maple_cursor_number(c, 4));
	case DW_CFA_remember_state:
		remember(m);
		return 0;
	case DW_CFA_restore_state:
		recall(m);
		return 0;
	}
	if (!define(m, op, c) && !place(m, op, c))
		m->lost = true;
	return 0;
}

static int carry_out(struct machine *m, struct maple_cursor c)
{
	int e = 0;

	while (!e && !m->lost && maple_cursor_left(&c))
		e = step(m, &c);
	if (c.bad)
		m->lost = true;
	return e;
}

/*
 * maple_unwind_range - adds the rows of [@lo, @hi), by the instructions @c of
 * its description, in a form that @how says
 */
int maple_unwind_range(struct maple_image *image, const struct maple_unwind *how,
		       struct maple_cursor c, uint64_t lo, uint64_t hi)
{
	struct machine m = { .how = how,
			     .image = image,
			     .now = { .ret = UNKNOWN },
			     .at = lo,
			     .lo = lo,
			     .hi = hi };
	int e;

	if (hi > UINT32_MAX)
		return 0;
	e = carry_out(&m, how->initial);
	m.initial = m.now;
	if (!e)
		e = carry_out(&m, c);
	if (!e)
		e = put(&m);
	m.lost = true;
	m.at = hi;
	return e ? e : put(&m);
}

/* What says nothing comes first of what begins at one place. */
static int by_offset(const void *a, const void *b)
{
	const struct maple_table_frame *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->base > y->base) - (x->base < y->base);
}

static bool same_rule(const struct maple_table_frame *a,
		      const struct maple_table_frame *b)
{
	return a->cfa == b->cfa && a->base == b->base && a->rbp == b->rbp;
}

/*
 * maple_image_function_at - where the function that has @offset begins; 0: not
 *                           known. Parts of one that lie apart are functions.
 */
uint64_t maple_image_function_at(const struct maple_image *image,
				 uint64_t offset)
{
	const struct maple_table_frame *f = image->frames.at;
	size_t n = maple_array_lead(image->frames.n, i, f[i].offset <= offset);

	while (n && !(f[n - 1].base & MAPLE_FRAME_FIRST))
		n--;
	return n ? f[n - 1].offset : 0;
}

/* maple_unwind_finish - all ranges were added: the rows are looked up from now */
void maple_unwind_finish(struct maple_image *image)
{
	struct maple_table_frame *f = image->frames.at;
	size_t n = 0;

	if (!image->frames.n)
		return;
	qsort(f, image->frames.n, sizeof(*f), by_offset);
	for (size_t i = 0; i < image->frames.n; i++) {
		if (n && f[n - 1].offset == f[i].offset)
			f[n - 1] = f[i];
		else if (!n || !same_rule(&f[n - 1], &f[i]))
			f[n++] = f[i];
	}
	image->frames.n = n;
}
