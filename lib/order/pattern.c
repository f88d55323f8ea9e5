// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The patterns: PCR's table 1, whose row 2 is misprinted there, and two more. */
#include <assert.h>
#include "order.h"

#define A(KIND, PLACE)                    \
	{                                 \
		MAPLE_EV_##KIND, 0, PLACE \
	}
#define B(KIND, PLACE)                    \
	{                                 \
		MAPLE_EV_##KIND, 1, PLACE \
	}

#define X 0
#define Y 1

static const struct {
	uint8_t n;
	struct maple_pattern_step step[MAPLE_PATTERN_STEPS];
} table[MAPLE_PATTERNS] = {
	[1] = { 2, { A(READ, X), B(WRITE, X) } },
	[2] = { 2, { A(WRITE, X), B(READ, X) } },
	[3] = { 2, { A(WRITE, X), B(WRITE, X) } },
	[4] = { 3, { A(READ, X), B(WRITE, X), A(READ, X) } },
	[5] = { 3, { A(WRITE, X), B(WRITE, X), A(READ, X) } },
	[6] = { 3, { A(WRITE, X), B(READ, X), A(WRITE, X) } },
	[7] = { 3, { A(READ, X), B(WRITE, X), A(WRITE, X) } },
	[8] = { 3, { A(WRITE, X), B(WRITE, X), A(WRITE, X) } },
	[9] = { 4, { A(WRITE, X), B(WRITE, X), B(WRITE, Y), A(WRITE, Y) } },
	[10] = { 4, { A(WRITE, X), B(WRITE, Y), B(WRITE, X), A(WRITE, Y) } },
	[11] = { 4, { A(WRITE, X), B(WRITE, Y), A(WRITE, Y), B(WRITE, X) } },
	[12] = { 4, { A(WRITE, X), B(READ, X), B(READ, Y), A(WRITE, Y) } },
	[13] = { 4, { A(WRITE, X), B(READ, Y), B(READ, X), A(WRITE, Y) } },
	[14] = { 4, { A(READ, X), B(WRITE, X), B(WRITE, Y), A(READ, Y) } },
	[15] = { 4, { A(READ, X), B(WRITE, Y), B(WRITE, X), A(READ, Y) } },
	[16] = { 4, { A(READ, X), B(WRITE, Y), A(READ, Y), B(WRITE, X) } },
	[17] = { 4, { A(WRITE, X), B(READ, Y), A(WRITE, Y), B(READ, X) } },
	[18] = { 4, { A(LOCK, X), B(LOCK, Y), A(LOCK, Y), B(LOCK, X) } },
	[19] = { 2, { A(NOTIFY, X), B(SLEEP, X) } },
};

unsigned int maple_pattern_steps(uint32_t number)
{
	assert(number && number < MAPLE_PATTERNS);
	return table[number].n;
}

struct maple_pattern_step maple_pattern_step(uint32_t number, unsigned int i)
{
	assert(number && number < MAPLE_PATTERNS && i < table[number].n);
	return table[number].step[i];
}
