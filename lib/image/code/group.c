// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Groups: which instructions move out of line together, so that a five-byte
 * jump fits in their place. For a site, in this order:
 *
 *   - itself, and if it is too short, instructions behind it, then before it,
 *     as long as nothing enters there and each can run elsewhere;
 *   - then the rest of the way to further sites that follow in the same
 *     block, since one jump then serves them all;
 *   - a jump over the site alone, whose distance ends in the bytes of what
 *     follows (a pun). Which addresses that leaves is seen in the process;
 *   - a trap.
 *
 * Calls and system calls bound a group on both sides: a thread that is in one
 * returns behind it, and must find the code it left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/internal.h"

#define JUMP  5	 /* bytes of a jump */
#define REACH 48 /* bytes that a group takes at most for more sites */

struct span {
	size_t first, end; /* of image->decoded */
	unsigned int length;
};

static struct maple_decoded *decoded_at(const struct maple_image *image,
					size_t i)
{
	return (struct maple_decoded *)image->decoded.at + i;
}

static bool can_move(const struct maple_decoded *d)
{
	return !(d->flags & (MAPLE_DEC_FIXED | MAPLE_DEC_TAKEN));
}

/* Whether instruction @i + 1 is reached from @i alone, and may move along. */
static bool continues(const struct maple_image *image, size_t i)
{
	const struct maple_decoded *d = decoded_at(image, i);

	return i + 1 < image->decoded.n &&
	       !(d->flags & (MAPLE_DEC_STOP | MAPLE_DEC_LAST)) &&
	       !(d[1].flags & MAPLE_DEC_TARGET) &&
	       d[1].offset == d->offset + d->length;
}

static bool grow(const struct maple_image *image, struct span *span)
{
	if (!continues(image, span->end - 1) ||
	    !can_move(decoded_at(image, span->end)))
		return false;
	span->length += decoded_at(image, span->end++)->length;
	return true;
}

static bool grow_back(const struct maple_image *image, struct span *span)
{
	if (!span->first || !continues(image, span->first - 1) ||
	    !can_move(decoded_at(image, span->first - 1)))
		return false;
	span->length += decoded_at(image, --span->first)->length;
	return true;
}

/*
 * On to the next site of the block, again and again. Not across a branch: what
 * is behind is executed less often, and would keep what is before from being
 * left alone when it has gone quiet.
 */
static void take_sites(const struct maple_image *image, struct span *span)
{
	struct span ahead = *span;

	while (!(decoded_at(image, ahead.end - 1)->flags & MAPLE_DEC_JCC) &&
	       grow(image, &ahead) && ahead.length <= REACH)
		if (decoded_at(image, ahead.end - 1)->site != MAPLE_SITE_NONE)
			*span = ahead;
}

static int add_insn(struct maple_image *image, struct maple_decoded *d,
		    unsigned int way)
{
	struct maple_table_insn *insn;
	struct maple_table_site *site = image->sites.at;

	insn = maple_array_more(&image->insns, sizeof(*insn));
	if (!insn)
		return -ENOMEM;
	*insn = (struct maple_table_insn){ .offset = d->offset,
					   .length = d->length,
					   .site = d->site };
	if (d->flags & MAPLE_DEC_RIPREL) {
		insn->flags |= MAPLE_INSN_RIPREL;
		insn->disp_at = d->disp_at;
	}
	if (d->flags & (MAPLE_DEC_JCC | MAPLE_DEC_JMP))
		insn->target = d->target;
	if (d->flags & MAPLE_DEC_JCC) {
		insn->flags |= MAPLE_INSN_JCC;
		insn->cond = d->cond;
	}
	if (d->flags & MAPLE_DEC_JMP)
		insn->flags |= MAPLE_INSN_JMP;
	if (d->flags & MAPLE_DEC_STOP)
		insn->flags |= MAPLE_INSN_STOP;
	d->flags |= MAPLE_DEC_TAKEN;
	if (d->site == MAPLE_SITE_NONE)
		return 0;

	if (way == MAPLE_WAY_NEIGHBOURS && d->length >= JUMP)
		way = MAPLE_WAY_JUMP;
	for (site += d->site;; site++) {
		site->way = way;
		image->stats.ways[way]++;
		if (!(site->flags & MAPLE_SITEF_MORE))
			return 0;
	}
}

static int add_group(struct maple_image *image, const struct span *span,
		     unsigned int way)
{
	struct maple_table_group *group;

	group = maple_array_more(&image->groups, sizeof(*group));
	if (!group)
		return -ENOMEM;
	*group = (struct maple_table_group){
		.first = image->insns.n,
		.ninsns = span->end - span->first,
		.length = span->length,
		.way = way,
	};
	/* Site by site, only the length of its own instruction decides. */
	if (way == MAPLE_WAY_JUMP)
		way = MAPLE_WAY_NEIGHBOURS;
	for (size_t i = span->first; i < span->end; i++)
		if (add_insn(image, decoded_at(image, i), way))
			return -ENOMEM;
	return 0;
}

/* A pun takes two bytes at least, and reads up to the fifth. */
static bool can_pun(const struct maple_image *image, const struct span *span)
{
	const struct maple_decoded *d = decoded_at(image, span->first);

	return can_move(d) && d->length >= 2 &&
	       d->offset + JUMP <= image->text_hi;
}

static int group_site(struct maple_image *image, size_t i)
{
	struct span span = { i, i + 1, decoded_at(image, i)->length };
	unsigned int way;

	if (can_move(decoded_at(image, i))) {
		while (span.length < JUMP && grow(image, &span))
			;
		while (span.length < JUMP && grow_back(image, &span))
			;
	}
	if (span.length >= JUMP && can_move(decoded_at(image, i))) {
		take_sites(image, &span);
		way = decoded_at(image, span.first)->length >= JUMP
			      ? MAPLE_WAY_JUMP
			      : MAPLE_WAY_NEIGHBOURS;
		return add_group(image, &span, way);
	}
	span = (struct span){ i, i + 1, decoded_at(image, i)->length };
	way = can_pun(image, &span) ? MAPLE_WAY_PUN : MAPLE_WAY_TRAP;
	return add_group(image, &span, way);
}

/* Jumps, traps, puns; puns from the highest offset to the lowest. */
static int compare_groups(const void *a, const void *b)
{
	static const uint8_t rank[MAPLE_WAYS] = {
		[MAPLE_WAY_TRAP] = 1, [MAPLE_WAY_PUN] = 2
	};
	const struct maple_table_group *x = a, *y = b;
	int order = x->first < y->first ? -1 : x->first > y->first;

	if (rank[x->way] != rank[y->way])
		return rank[x->way] - rank[y->way];
	return x->way == MAPLE_WAY_PUN ? -order : order;
}

/* maple_image_group - fills image->groups and image->insns */
int maple_image_group(struct maple_image *image)
{
	for (size_t i = 0; i < image->decoded.n; i++) {
		const struct maple_decoded *d = decoded_at(image, i);
		int ret;

		if (d->site == MAPLE_SITE_NONE || d->flags & MAPLE_DEC_TAKEN)
			continue;
		ret = group_site(image, i);
		if (ret)
			return ret;
	}
	if (image->groups.n)
		qsort(image->groups.at, image->groups.n,
		      sizeof(struct maple_table_group), compare_groups);
	return 0;
}

static uint32_t put(void *blob, uint32_t at, const struct maple_array *array,
		    size_t size)
{
	if (array->n)
		memcpy((char *)blob + at, array->at, array->n * size);
	return at + array->n * size;
}

/*
 * maple_image_table - the patch table as the agent takes it (table.h)
 * @blob: to be freed with free()
 */
int maple_image_table(const struct maple_image *image, void **blob,
		      size_t *size, struct maple_error *err)
{
	uint64_t total = sizeof(struct maple_table) +
			 image->sites.n * sizeof(struct maple_table_site) +
			 image->insns.n * sizeof(struct maple_table_insn) +
			 image->groups.n * sizeof(struct maple_table_group) +
			 image->splits.n * sizeof(struct maple_table_split) +
			 image->frames.n * sizeof(struct maple_table_frame);
	struct maple_table *table;

	if (total > UINT32_MAX)
		return maple_error_set(err, EOVERFLOW,
				       "%s: too many sites for one table",
				       image->path);
	table = calloc(1, total);
	if (!table)
		return maple_error_set(err, ENOMEM, "%s: out of memory",
				       image->path);
	*table = (struct maple_table){
		.magic = MAPLE_TABLE_MAGIC,
		.version = MAPLE_TABLE_VERSION,
		.size = total,
		.nsites = image->sites.n,
		.ninsns = image->insns.n,
		.ngroups = image->groups.n,
		.sites_at = sizeof(*table),
		.text_lo = image->text_lo,
		.text_hi = image->text_hi,
		.nsplits = image->splits.n,
		.nframes = image->frames.n,
	};
	table->insns_at = put(table, table->sites_at, &image->sites,
			      sizeof(struct maple_table_site));
	table->groups_at = put(table, table->insns_at, &image->insns,
			       sizeof(struct maple_table_insn));
	table->splits_at = put(table, table->groups_at, &image->groups,
			       sizeof(struct maple_table_group));
	table->frames_at = put(table, table->splits_at, &image->splits,
			       sizeof(struct maple_table_split));
	put(table, table->frames_at, &image->frames,
	    sizeof(struct maple_table_frame));
	*blob = table;
	*size = total;
	return 0;
}
