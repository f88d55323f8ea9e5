// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Random numbers, all from the order's seed: splitmix64. */
#include "base/mix.h"
#include "state.h"

/* maple_policy_below - uniform in 0 ... @n - 1; @n is not 0 */
uint64_t maple_policy_below(uint64_t *state, uint64_t n)
{
	return (unsigned __int128)maple_draw(state) * n >> 64;
}

/* maple_policy_seed - the state that stream @stream of @seed begins with */
uint64_t maple_policy_seed(uint64_t seed, uint64_t stream)
{
	uint64_t state = seed ^ (stream + 1) * 0xd6e8feb86659fd93ull;

	return maple_draw(&state);
}
