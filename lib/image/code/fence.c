// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites a fence keeps apart from others: of a write, whether one comes on
 * all ways before anything is read; of a read, whether one has come on all ways
 * since anything was written. What such a write leaves in the store buffer no
 * later read gets ahead of (algorithms.md 16). On: instructions and the
 * branches between them. In doubt there is none: behind what leaves a function,
 * or may come from anywhere. Only fences that are no sites are worth the work,
 * since the others are seen when they are executed, and only functions that
 * have one of these are looked at: they are few.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "decode.h"

#define PASSES	64 /* over an image, until nothing changes */

#define NOWHERE UINT32_MAX

/* Instructions of a function, from @first to before @end. */
struct span {
	size_t first, end;
	bool wild; /* control may enter it nobody knows where */
};

struct fences {
	struct maple_image *image;
	struct maple_decoded *d;
	size_t n;
	struct span *span;
	size_t nspans;
	uint32_t *target; /* index of what each branch leads to, or NOWHERE */
	uint8_t *come;	  /* for each: a fence has come on all ways to it */
	uint8_t *comes;	  /* ... comes on all ways from it on */
};

/* What the sites of an instruction do: MAPLE_EV_READ, MAPLE_EV_WRITE. */
static unsigned int does(const struct fences *f, size_t i)
{
	const struct maple_table_site *site = f->image->sites.at;
	unsigned int kind = 0;
	uint32_t s = f->d[i].site;

	if (s == MAPLE_SITE_NONE)
		return 0;
	do {
		kind |= site[s].kind;
	} while (site[s++].flags & MAPLE_SITEF_MORE);
	return kind;
}

static bool is_fence(const struct fences *f, size_t i)
{
	return f->d[i].flags & MAPLE_DEC_FENCE;
}

/* Whether control goes on to the instruction behind it. */
static bool goes_on(const struct fences *f, size_t i)
{
	const struct maple_decoded *d = &f->d[i];

	return i + 1 < f->n &&
	       !(d->flags & (MAPLE_DEC_STOP | MAPLE_DEC_LAST)) &&
	       d[1].offset == d->offset + d->length;
}

static bool is_call(const struct fences *f, size_t i)
{
	return f->d[i].flags & MAPLE_DEC_CALL;
}

static bool find_spans(struct fences *f)
{
	const struct maple_code_range *r = f->image->ranges.at;
	size_t i = 0;

	f->span = malloc((f->image->ranges.n + 1) * sizeof(*f->span));
	for (size_t k = 0; f->span && k < f->image->ranges.n; k++) {
		struct span now = { .wild = r[k].lsda };
		bool fenced = false;

		while (i < f->n && f->d[i].offset < r[k].lo)
			i++;
		now.first = i;
		for (; i < f->n && f->d[i].offset < r[k].hi; i++) {
			now.wild |= f->d[i].flags & MAPLE_DEC_SWITCH;
			fenced |= is_fence(f, i) && !does(f, i);
		}
		now.end = i;
		if (fenced)
			f->span[f->nspans++] = now;
	}
	return f->span;
}

/* All of the spans, as long as nothing speaks against it. */
static bool begin(struct fences *f)
{
	size_t at;

	f->target = malloc(f->n * sizeof(*f->target));
	f->come = calloc(f->n, 1);
	f->comes = calloc(f->n, 1);
	if (!f->target || !f->come || !f->comes)
		return false;
	for (size_t k = 0; k < f->nspans; k++)
		for (size_t i = f->span[k].first; i < f->span[k].end; i++) {
			f->comes[i] = true;
			f->target[i] = NOWHERE;
			if (!(f->d[i].flags & MAPLE_DEC_BRANCH))
				continue;
			at = maple_array_lead(f->n, m,
					      f->d[m].offset < f->d[i].target);
			if (at < f->n && f->d[at].offset == f->d[i].target)
				f->target[i] = at;
		}
	return true;
}

/*
 * Where a fence has come is known only of what known instructions lead to: not
 * of begins of functions and, in a function with a jump through a register or
 * memory, of nothing that is entered.
 */
static void bar_entries(struct fences *f)
{
	for (size_t k = 0; k < f->nspans; k++) {
		const struct span *now = &f->span[k];

		for (size_t i = now->first; i < now->end; i++) {
			uint32_t to = f->target[i];

			if (goes_on(f, i) && i + 1 < now->end &&
			    !(f->d[i + 1].flags & MAPLE_DEC_TARGET))
				f->come[i + 1] = true;
			if (to != NOWHERE && !is_call(f, i) &&
			    to > now->first && to < now->end && !now->wild)
				f->come[to] = true;
		}
	}
}

/* What is known behind instruction @i, by what is known before it. */
static bool behind(const struct fences *f, size_t i)
{
	if (is_fence(f, i))
		return true;
	if (f->d[i].flags & MAPLE_DEC_FIXED || is_call(f, i) ||
	    does(f, i) & MAPLE_EV_WRITE)
		return false;
	return f->come[i];
}

static bool lead_on(struct fences *f)
{
	bool changed = false;

	for (size_t k = 0; k < f->nspans; k++)
		for (size_t i = f->span[k].first; i < f->span[k].end; i++) {
			uint32_t to = f->target[i];

			if (behind(f, i))
				continue;
			if (goes_on(f, i) && f->come[i + 1]) {
				f->come[i + 1] = false;
				changed = true;
			}
			if (to != NOWHERE && f->come[to]) {
				f->come[to] = false;
				changed = true;
			}
		}
	return changed;
}

/* Whether a fence comes from instruction @i on, this one included. */
static bool from(const struct fences *f, size_t i)
{
	const struct maple_decoded *d = &f->d[i];
	bool next = goes_on(f, i) && f->comes[i + 1];
	bool there = f->target[i] != NOWHERE && f->comes[f->target[i]];

	if (is_fence(f, i))
		return true;
	if (does(f, i) & MAPLE_EV_READ)
		return false;
	/* Who is called has it before all that is read, or none at all. */
	if (is_call(f, i) || d->flags & MAPLE_DEC_JMP)
		return there;
	if (d->flags & MAPLE_DEC_STOP)
		return false;
	if (d->flags & MAPLE_DEC_BRANCH)
		return there && next;
	return !(d->flags & MAPLE_DEC_FIXED) && next;
}

static bool lead_back(struct fences *f)
{
	bool changed = false;

	for (size_t k = f->nspans; k-- > 0;)
		for (size_t i = f->span[k].end; i-- > f->span[k].first;)
			if (f->comes[i] && !from(f, i)) {
				f->comes[i] = false;
				changed = true;
			}
	return changed;
}

/* False if it would take too long. */
static bool settle(struct fences *f, bool (*pass)(struct fences *f))
{
	for (unsigned int i = 0; i < PASSES; i++)
		if (!pass(f))
			return true;
	return false;
}

static void mark(struct fences *f, bool come, bool comes)
{
	struct maple_table_site *site = f->image->sites.at;

	for (size_t k = 0; k < f->nspans; k++)
		for (size_t i = f->span[k].first; i < f->span[k].end; i++) {
			uint32_t s = f->d[i].site;

			if (s == MAPLE_SITE_NONE || is_fence(f, i))
				continue;
			if (come && site[s].kind == MAPLE_EV_READ && f->come[i])
				site[s].flags |= MAPLE_SITEF_FENCE_BEFORE;
			if (site[s].flags & MAPLE_SITEF_MORE ||
			    !(site[s].kind & MAPLE_EV_WRITE))
				continue;
			if (comes && goes_on(f, i) && f->comes[i + 1])
				site[s].flags |= MAPLE_SITEF_FENCE_AFTER;
		}
}

/*
 * maple_image_fences - sets the sites' flags MAPLE_SITEF_FENCE_..., once all
 * targets are known
 */
int maple_image_fences(struct maple_image *image)
{
	struct fences f = { .image = image,
			    .d = image->decoded.at,
			    .n = image->decoded.n };
	int ret = 0;

	if (!find_spans(&f) || (f.nspans && !begin(&f)))
		ret = -ENOMEM;
	if (!ret && f.nspans) {
		bar_entries(&f);
		mark(&f, settle(&f, lead_on), settle(&f, lead_back));
	}
	free(f.span);
	free(f.target);
	free(f.come);
	free(f.comes);
	return ret;
}
