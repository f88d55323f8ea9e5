/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Row numbers that the memo's callers have, and those that the rows have at the
 * server: what was made without it gets another number when it is delivered.
 * A number that stands here is never told to a caller for another row.
 */
#ifndef MAPLE_MEMO_NUMBERS_H
#define MAPLE_MEMO_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct maple_number {
	int64_t from, to;
};

/* All zero: each number is what it says. */
struct maple_numbers {
	struct maple_number *pair; /* by from */
	size_t n;
	int64_t aliases; /* that were given */
};

/* maple_numbers_now - the row that a caller means by @number */
int64_t maple_numbers_now(const struct maple_numbers *numbers, int64_t number);
/*
 * maple_numbers_tell - *number, a row, becomes what a caller is told of it
 * maple_numbers_move - rows have other numbers from now on: the @n pairs of
 * @moved, which are in rising order; either returns 0 or -ENOMEM
 */
int maple_numbers_tell(struct maple_numbers *numbers, int64_t *number);
int maple_numbers_move(struct maple_numbers *numbers,
		       const struct maple_number *moved, size_t n);
void maple_numbers_deinit(struct maple_numbers *numbers);

#endif
