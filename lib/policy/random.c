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

/* maple_policy_drawn - true in one case of @one_in; 0, 1: always, with no draw */
bool maple_policy_drawn(uint64_t *state, uint32_t one_in)
{
	return one_in < 2 || !maple_policy_below(state, one_in);
}
