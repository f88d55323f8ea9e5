/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Random choices, all from one seed that the program prints. */
#ifndef MAPLE_TESTS_DRAW_H
#define MAPLE_TESTS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

static uint64_t draw_state = 1;

static inline void draw_seed(uint64_t seed)
{
	draw_state = seed * 0x9e3779b97f4a7c15ull + 1;
}

/* 0 to @n - 1 */
static inline uint64_t draw(uint64_t n)
{
	draw_state ^= draw_state << 13;
	draw_state ^= draw_state >> 7;
	draw_state ^= draw_state << 17;
	return (draw_state >> 11) % n;
}

/* Once in @n times. */
static inline bool chance(unsigned int n)
{
	return !draw(n);
}

#endif
