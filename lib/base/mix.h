/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BASE_MIX_H
#define MAPLE_BASE_MIX_H

#include <stdint.h>

/* maple_mix - a number for @a and then @b; not for @b and then @a */
static inline uint64_t maple_mix(uint64_t a, uint64_t b)
{
	a = (a + 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
	a = (a ^ a >> 33 ^ b) * 0xc4ceb9fe1a85ec53ull;
	return a ^ a >> 29;
}

/* maple_mixed - @z, with all that it says in each bit (splitmix64) */
static inline uint64_t maple_mixed(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* maple_draw - the next random number of those that begin with @state */
static inline uint64_t maple_draw(uint64_t *state)
{
	return maple_mixed(*state += 0x9e3779b97f4a7c15ull);
}

#endif
