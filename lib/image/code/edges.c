// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Edges: where control may enter the text although no decoded branch says so.
 * An instruction that is entered must begin a group or stay out of one, for
 * behind a group's first five bytes there is no code any more. Erring here
 * means crashing the program under test; marking too much costs some sites
 * their jump. So everything that could be a pointer to code is one.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "image/internal.h"

/* No compiler makes larger tables; keeps hostile files cheap. */
#define TABLE_MAX 65536

/* Pointers, and words that look like one, in all that is loaded. */
static void mark_words(struct maple_image *image)
{
	uint64_t span = image->text_hi - image->text_lo;

	for (unsigned int i = 0; i < image->nsegs; i++) {
		const struct maple_segment *seg = &image->seg[i];
		uint64_t o = -seg->lo & 7, word;

		for (; o + 8 <= seg->filesz; o += 8) {
			memcpy(&word, seg->bytes + o, 8);
			if (word - image->text_lo < span)
				maple_image_mark(image, word);
		}
	}
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * A switch in position-independent code: 32-bit distances from the table,
 * whose address a LEA takes. A table ends where an entry leads to no
 * instruction.
 */
static void mark_table(struct maple_image *image, uint64_t table)
{
	for (unsigned int i = 0; i < TABLE_MAX; i++) {
		const uint8_t *at = maple_image_bytes(image, table + 4 * i, 4);
		int32_t distance;

		if (!at)
			return;
		memcpy(&distance, at, 4);
		if (!maple_image_bit(image, image->starts, table + distance))
			return;
		maple_image_mark(image, table + distance);
	}
}

static void mark_tables(struct maple_image *image)
{
	uint64_t *lea = image->leas.at;

	if (image->leas.n)
		qsort(lea, image->leas.n, sizeof(*lea), compare_addresses);
	for (size_t i = 0; i < image->leas.n; i++)
		if ((!i || lea[i] != lea[i - 1]) && lea[i] % 4 == 0)
			mark_table(image, lea[i]);
}

/* The instruction that has byte @addr behind its first. */
static struct maple_decoded *around(struct maple_image *image, uint64_t addr)
{
	struct maple_decoded *decoded = image->decoded.at;
	size_t n =
		maple_array_lead(image->decoded.n, i, decoded[i].offset < addr);

	if (!n || addr - decoded[n - 1].offset >= decoded[n - 1].length)
		return NULL;
	return &decoded[n - 1];
}

/* Branches over a LOCK prefix land in an instruction: it must stay whole. */
static void pin_entered(struct maple_image *image)
{
	struct maple_decoded *decoded = image->decoded.at, *in;

	for (size_t i = 0; i < image->decoded.n; i++) {
		if (!(decoded[i].flags & MAPLE_DEC_BRANCH) ||
		    !maple_image_in_text(image, decoded[i].target) ||
		    maple_image_bit(image, image->starts, decoded[i].target))
			continue;
		in = around(image, decoded[i].target);
		if (in)
			in->flags |= MAPLE_DEC_FIXED;
	}
}

/* maple_image_edges - sets MAPLE_DEC_TARGET wherever control may come from */
void maple_image_edges(struct maple_image *image)
{
	struct maple_decoded *decoded = image->decoded.at;

	mark_words(image);
	mark_tables(image);
	pin_entered(image);
	for (size_t i = 0; i < image->decoded.n; i++)
		if (maple_image_bit(image, image->targets, decoded[i].offset))
			decoded[i].flags |= MAPLE_DEC_TARGET;
}
