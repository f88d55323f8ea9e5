// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The interleaving in a column for each thread, in executed order:
 *
 *	thread 0                        thread 0.1
 *
 *	1 bank.c:17 deposit
 *	  reads balance
 *	    └─────────────────────────▶ 2 bank.c:25 withdraw
 *	                                  writes balance
 *	3 bank.c:19 deposit ◀───────────────┘
 *	  writes balance
 *
 * A moment takes two rows, one more if a library's code has been inlined into
 * its line; the dependency that enters it is drawn on its first. Where the
 * moment it comes from is not the last one in its column, the arrow bears that
 * one's number. It is drawn on a canvas first, because arrows cross rows that
 * are already written.
 *
 * Of many threads no column is wide enough. Then a moment's text goes on over
 * the columns to its right, and an arrow from there has a row above it:
 *
 *	0.1     0.2     0.3
 *
 *	        1 bank.c:17 deposit
 *	          reads balance
 *	            └─▶ 2 bank.c:25 withdraw
 *	                  writes balance
 *	    ▼───────────────┘
 *	3 bank.c:19 deposit
 *	  writes balance
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "report/clean.h"
#include "report/columns.h"
#include "report/words.h"

#define MARGIN	2  /* columns left of everything */
#define STEM	4  /* an arrow starts this far into its column */
#define ENOUGH	30 /* columns for a moment's text */
#define HEADED	17 /* ... for "thread 0 (main)" */
#define LEAST	8  /* from one column to the next, wherever that ends */

#define INLINED "  inlined "
#define CALLED	"  called from "

/* Of one order, the moments [first, end). */
struct canvas {
	unsigned int first, end;
	unsigned int rows, width;
	unsigned int columns, step; /* from one to the next */
	bool narrow;		    /* a step is not enough for the text */
	bool unicode;
	char (*cell)[5]; /* a character of up to four bytes each, or "" */
};

/* The characters of a drawing, in both alphabets. */
enum ink {
	ALONG,
	DOWN,
	TO_RIGHT,
	TO_LEFT,
	HEAD_RIGHT,
	HEAD_LEFT,
	HEAD_DOWN,
	CUT
};
static const char *const inks[][2] = {
	[ALONG] = { "-", "─" },	     [DOWN] = { "|", "│" },
	[TO_RIGHT] = { "`", "└" },   [TO_LEFT] = { "'", "┘" },
	[HEAD_RIGHT] = { ">", "▶" }, [HEAD_LEFT] = { "<", "◀" },
	[HEAD_DOWN] = { "v", "▼" },  [CUT] = { "~", "…" },
};

static char *at(struct canvas *c, unsigned int row, unsigned int x)
{
	assert(row < c->rows && x < c->width);
	return c->cell[row * c->width + x];
}

static void put(struct canvas *c, unsigned int row, unsigned int x, enum ink ink)
{
	strcpy(at(c, row, x), inks[ink][c->unicode]);
}

/* Writes @text, at most @room columns of it. Returns the column after it. */
static unsigned int put_text(struct canvas *c, unsigned int row, unsigned int x,
			     unsigned int room, const char *text)
{
	unsigned int end = x + room;
	char one[5];
	size_t n;

	for (; (n = maple_clean_char(text, one, c->unicode)); text += n) {
		if (x + 1 == end && text[n]) {
			put(c, row, x++, CUT);
			break;
		}
		strcpy(at(c, row, x++), one);
	}
	return x;
}

static void set_columns(struct canvas *c)
{
	unsigned int most =
		c->width - MARGIN - ENOUGH; /* the last one's edge */

	c->step = c->width / c->columns;
	c->narrow = c->step < ENOUGH + MARGIN + 1;
	if (!c->narrow)
		return;
	c->step = most / (c->columns - 1);
	if (c->step < LEAST)
		c->step = LEAST;
	if (c->step * (c->columns - 1) > most)
		c->width += c->step * (c->columns - 1) - most;
}

/* Left edge of a role's column. */
static unsigned int column_x(const struct canvas *c, unsigned int role)
{
	return MARGIN + role * c->step;
}

static unsigned int column_room(const struct canvas *c, unsigned int role)
{
	return c->narrow ? c->width - column_x(c, role) : c->step - MARGIN - 1;
}

/* The moment in another column from which an arrow leads to moment @i, or -1 */
static int arrow_from(const struct canvas *c, const struct maple_finding *f,
		      unsigned int i)
{
	const struct maple_moment *m = &f->moments[i];

	return m->from >= (int)c->first && m->from < (int)i &&
			       f->moments[m->from].role != m->role
		       ? m->from
		       : -1;
}

/* Rows above moment @i's text. */
static unsigned int rows_above(const struct canvas *c,
			       const struct maple_finding *f, unsigned int i)
{
	int from = c->narrow && i < c->end ? arrow_from(c, f, i) : -1;

	return from >= 0 && f->moments[from].role > f->moments[i].role;
}

/* A moment's first row: headings and a blank line stand above. */
static unsigned int moment_row(const struct canvas *c,
			       const struct maple_finding *f, unsigned int i)
{
	unsigned int row = 2;

	while (i-- > c->first)
		row += rows_above(c, f, i) + 2 +
		       (f->moments[i].place.inlined != NULL) +
		       (f->moments[i].callers != NULL);
	return row;
}

static void draw_headings(struct canvas *c, const struct maple_finding *f)
{
	bool brief = c->step < HEADED;

	for (unsigned int role = 0; role < c->columns; role++) {
		const char *thread =
			maple_words_thread(f, c->first, c->end, role);
		char text[64];

		if (!thread)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", brief ? "" : "thread ",
			 thread, brief || strcmp(thread, "0") ? "" : " (main)");
		put_text(c, 0, column_x(c, role), c->step - 1, text);
	}
}

/* @text less its beginning, so that it has no more than @room columns. */
static void put_tail(struct canvas *c, unsigned int row, unsigned int x,
		     unsigned int room, const char *text)
{
	unsigned int columns = maple_clean(text, c->unicode).columns;
	char one[5];

	if (columns > room) {
		put(c, row, x++, CUT);
		room--;
	}
	for (; columns > room; columns--)
		text += maple_clean_char(text, one, c->unicode);
	put_text(c, row, x, room, text);
}

/*
 * "reads cache->size = 3". Where there is no room for all, what stood there
 * before is left out, then the beginning of the name: its end tells more.
 */
static void draw_access(struct canvas *c, unsigned int row, unsigned int x,
			const struct maple_moment *m)
{
	struct maple_clean name = maple_clean(m->variable, c->unicode);
	struct maple_clean value = maple_words_value(m, c->unicode);
	unsigned int room = column_room(c, m->role) - 2;
	struct maple_moment alone = *m;
	const char *half = maple_words_half(m);
	char text[2 * MAPLE_CLEAN_MAX + 16];
	unsigned int at;

	at = put_text(c, row, x + 2, room, maple_words_access(m)) + 1;
	room -= at - x - 2;
	if (name.columns + strlen(half) + value.columns > room) {
		alone.was = NULL;
		value = maple_words_value(&alone, c->unicode);
	}
	snprintf(text, sizeof(text), "%s%s%s", name.text, half, value.text);
	put_tail(c, row, at, room, text);
}

/* Returns the column after the first line's text. */
static unsigned int draw_moment(struct canvas *c, const struct maple_finding *f,
				unsigned int i)
{
	const struct maple_moment *m = &f->moments[i];
	unsigned int x = column_x(c, m->role), room = column_room(c, m->role);
	unsigned int row = moment_row(c, f, i) + rows_above(c, f, i), end;
	char text[MAPLE_CLEAN_MAX + 32];
	int n = snprintf(text, sizeof(text), "%u ", i - c->first + 1);

	strcpy(text + n,
	       maple_clean_place(&m->place, room - n, c->unicode).text);
	end = put_text(c, row, x, room, text);
	draw_access(c, row + 1, x, m);
	row += 2;
	if (m->place.inlined) {
		strcpy(text, INLINED);
		strcat(text,
		       maple_clean_inlined(&m->place, room - strlen(INLINED),
					   c->unicode)
			       .text);
		put_text(c, row++, x, room, text);
	}
	if (m->callers) {
		strcpy(text, CALLED);
		strcat(text, maple_clean(m->callers, c->unicode).text);
		put_text(c, row, x, room, text);
	}
	return end;
}

/* The arrow from moment @j to moment @i, whose text ends at column @end. */
static void draw_arrow(struct canvas *c, const struct maple_finding *f,
		       unsigned int j, unsigned int i, unsigned int end)
{
	bool right = f->moments[i].role > f->moments[j].role;
	unsigned int above = rows_above(c, f, i);
	unsigned int row = moment_row(c, f, i);
	unsigned int stem = column_x(c, f->moments[j].role) + STEM;
	unsigned int to = column_x(c, f->moments[i].role);
	unsigned int first = right ? stem + 1 : above ? to + STEM + 1 : end + 2;
	unsigned int last = right ? to - 3 : stem - 1;
	bool named = false;

	for (unsigned int k = j + 1; k < i; k++)
		named |= f->moments[k].role == f->moments[j].role;
	for (unsigned int r = moment_row(c, f, j + 1); r < row; r++)
		if (!*at(c, r, stem))
			put(c, r, stem, DOWN);
	put(c, row, stem, right ? TO_RIGHT : TO_LEFT);
	for (unsigned int x = first; x <= last; x++)
		put(c, row, x, ALONG);
	if (right)
		put(c, row, last + 1, HEAD_RIGHT);
	else
		put(c, row, first - 1, above ? HEAD_DOWN : HEAD_LEFT);
	if (named) {
		char number[16];

		snprintf(number, sizeof(number), "%u", j - c->first + 1);
		put_text(c, row, (first + last) / 2,
			 last + 1 - (first + last) / 2, number);
	}
}

static void print(FILE *out, struct canvas *c)
{
	for (unsigned int row = 0; row < c->rows; row++) {
		unsigned int width = c->width;

		while (width && !*at(c, row, width - 1))
			width--;
		for (unsigned int x = 0; x < width; x++)
			fputs(*at(c, row, x) ? at(c, row, x) : " ", out);
		putc('\n', out);
	}
}

/*
 * maple_columns_draw - the order of @finding whose moments begin at @first;
 * returns where the next one's do
 */
unsigned int maple_columns_draw(FILE *out, const struct maple_finding *finding,
				unsigned int first,
				const struct maple_report_style *style)
{
	struct canvas c = {
		.first = first,
		.end = maple_words_order(finding, first),
		.width = maple_clean_width(style),
		.unicode = style->unicode,
	};

	c.columns = maple_words_columns(finding, first, c.end);
	set_columns(&c);
	c.rows = moment_row(&c, finding, c.end);
	c.cell = calloc((size_t)c.rows * c.width, sizeof(*c.cell));
	if (!c.cell) {
		fputs("  (no memory to draw the interleaving)\n", out);
		return c.end;
	}
	draw_headings(&c, finding);
	for (unsigned int i = first; i < c.end; i++) {
		unsigned int end = draw_moment(&c, finding, i);
		int from = arrow_from(&c, finding, i);

		if (from >= 0)
			draw_arrow(&c, finding, (unsigned int)from, i, end);
	}
	print(out, &c);
	free(c.cell);
	return c.end;
}
