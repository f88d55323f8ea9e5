// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory is looked at by words of 8 bytes, and bytes in them. The end of a
 * block is a write to all of it; what lies there later are other words.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/table.h"
#include "words.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define BYTES	MAPLE_ORDER_BYTES
#define SEVERAL MAPLE_ORDER_SEVERAL
#define FRESH	0xffffffffu
#define WIDEST	4096u	   /* words of an access that are looked at */
#define BLOCK	65536u	   /* words of a block that ends */
#define TOUCHES (1u << 22) /* in all */

/* The present word at an address. */
struct maple_order_at {
	uint64_t number; /* address / BYTES */
	uint32_t id;	 /* in word[] */
	UT_hash_handle hh;
};

static struct maple_order_at *find_word(struct maple_order_reading *r,
					uint64_t number)
{
	struct maple_order_at *w;

	HASH_FIND(hh, r->table, &number, sizeof(number), w);
	return w;
}

/* A new word at @number, which what ended at @ended had before. */
static struct maple_order_at *new_word(struct maple_order_reading *r,
				       uint64_t number)
{
	struct maple_order_at *w = calloc(1, sizeof(*w));

	if (!w || !maple_array_reserve(r->word, r->nwords, r->word_room)) {
		free(w);
		return NULL;
	}
	w->number = number;
	HASH_ADD(hh, r->table, number, sizeof(number), w);
	if (!w->hh.tbl) {
		free(w);
		return NULL;
	}
	w->id = r->nwords;
	r->word[r->nwords++] =
		(struct maple_order_seen){ .thread = FRESH,
					   .ended = MAPLE_ORDER_NONE };
	return w;
}

static bool touch(struct maple_order_reading *r, uint32_t event,
		  struct maple_order_at *w, uint8_t bytes, bool writes)
{
	struct maple_order_seen *seen = &r->word[w->id];
	uint32_t thread = r->event[event].thread;

	if (!maple_array_reserve(r->touch, r->ntouch, r->touch_room))
		return false;
	r->touch[r->ntouch++] =
		(struct maple_order_touched){ event, w->id, bytes };
	seen->thread = seen->thread == FRESH || seen->thread == thread
			       ? thread
			       : SEVERAL;
	seen->written |= writes;
	return true;
}

static uint8_t bytes_of(uint64_t word, uint64_t addr, uint64_t end)
{
	unsigned int bytes = 0xff;

	if (addr > word * BYTES)
		bytes &= 0xffu << (addr - word * BYTES);
	if (end < (word + 1) * BYTES)
		bytes &= 0xffu >> ((word + 1) * BYTES - end);
	return (uint8_t)bytes;
}

static bool read_access(struct maple_order_reading *r, uint32_t i)
{
	const struct maple_event *e = &r->event[i];
	uint64_t first = e->addr / BYTES;
	uint64_t last = (e->addr + (e->size ? e->size : 1) - 1) / BYTES;

	if (last - first >= WIDEST) {
		r->cut = true;
		last = first + WIDEST - 1;
	}
	for (uint64_t at = first; at <= last; at++) {
		struct maple_order_at *w = find_word(r, at);

		if (!w)
			w = new_word(r, at);
		if (!w || !touch(r, i, w,
				 bytes_of(at, e->addr,
					  e->addr + (e->size ? e->size : 1)),
				 e->kind != MAPLE_EV_READ))
			return false;
	}
	return true;
}

/* A block ends: who comes to that memory later comes to other words. */
static bool read_end(struct maple_order_reading *r, uint32_t i)
{
	const struct maple_event *e = &r->event[i];
	uint64_t first = e->addr / BYTES, n = (e->value + BYTES - 1) / BYTES;

	for (uint64_t at = first; at < first + n && at < first + BLOCK; at++) {
		struct maple_order_at *w = find_word(r, at), *now;

		if (!w)
			continue;
		if (!touch(r, i, w, 0xff, true))
			return false;
		HASH_DEL(r->table, w);
		free(w);
		now = new_word(r, at);
		if (!now)
			return false;
		r->word[now->id].ended = i;
	}
	return true;
}

static int by_site(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * Not all that the @n @sites did was seen: nobody knows what was read where
 * they were.
 */
static void read_quiet(struct maple_order_reading *r, uint32_t *sites,
		       uint32_t n)
{
	if (!n)
		return;
	r->cut = true;
	qsort(sites, n, sizeof(*sites), by_site);
	for (uint32_t k = 0; k < r->ntouch; k++)
		if (bsearch(&r->event[r->touch[k].event].site, sites, n,
			    sizeof(*sites), by_site))
			r->word[r->touch[k].word].unsure = true;
}

int maple_order_read(struct maple_order_reading *r)
{
	uint32_t *quiet = NULL, nquiet = 0, room = 0;
	bool ok = true;

	for (uint32_t i = 0; i < r->n && ok; i++) {
		const struct maple_event *e = &r->event[i];

		if (e->thread >= r->nthreads)
			r->nthreads = e->thread + 1;
		if (maple_event_is_memory(e->kind)) {
			ok = read_access(r, i);
		} else if (e->kind == MAPLE_EV_FREE) {
			ok = read_end(r, i);
		} else if (e->kind == MAPLE_EV_QUIET) {
			ok = maple_array_reserve(quiet, nquiet, room);
			if (ok)
				quiet[nquiet++] = e->site;
		}
		if (r->ntouch > TOUCHES) {
			r->cut = true;
			r->n = i;
		}
	}
	if (ok)
		read_quiet(r, quiet, nquiet);
	free(quiet);
	return ok ? 0 : -ENOMEM;
}

void maple_order_reading_deinit(struct maple_order_reading *r)
{
	maple_table_clear(r->table);
	free(r->word);
	free(r->touch);
}
