// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "memo/spool/numbers.h"

#define ALIAS (1ll << 50) /* more than any database has rows */

static int by_from(const void *a, const void *b)
{
	const struct maple_number *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static const struct maple_number *find(const struct maple_number *pairs,
				       size_t n, int64_t from)
{
	struct maple_number key = { .from = from };

	return n ? bsearch(&key, pairs, n, sizeof(key), by_from) : NULL;
}

int64_t maple_numbers_now(const struct maple_numbers *t, int64_t number)
{
	const struct maple_number *p = find(t->pair, t->n, number);

	return p ? p->to : number;
}

static int add(struct maple_numbers *t, int64_t from, int64_t to)
{
	if (!maple_array_extend(t->pair, t->n, t->n + 1))
		return -ENOMEM;
	t->pair[t->n++] = (struct maple_number){ from, to };
	return 0;
}

int maple_numbers_tell(struct maple_numbers *t, int64_t *number)
{
	const struct maple_number *p = find(t->pair, t->n, *number);
	int64_t row = *number;

	if (!p || p->to == row)
		return 0;
	/* That number means another row; this one may have an alias. */
	for (size_t i = t->n; i-- && t->pair[i].from > ALIAS;)
		if (t->pair[i].to == row) {
			*number = t->pair[i].from;
			return 0;
		}
	*number = ALIAS + ++t->aliases;
	return add(t, *number, row);
}

int maple_numbers_move(struct maple_numbers *t,
		       const struct maple_number *moved, size_t n)
{
	size_t were = t->n;
	int ret = 0;

	/* What is there already keeps its meaning. */
	for (size_t i = 0; i < n && !ret; i++)
		if (moved[i].from != moved[i].to &&
		    !find(t->pair, were, moved[i].from))
			ret = add(t, moved[i].from, moved[i].to);
	for (size_t i = 0; i < were && !ret; i++) {
		const struct maple_number *p = find(moved, n, t->pair[i].to);

		if (p)
			t->pair[i].to = p->to;
	}
	if (t->n)
		qsort(t->pair, t->n, sizeof(*t->pair), by_from);
	return ret;
}

void maple_numbers_deinit(struct maple_numbers *t)
{
	free(t->pair);
	*t = (struct maple_numbers){ 0 };
}
