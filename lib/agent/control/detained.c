// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads that the kernel detains: a page has to be read, a lock of the
 * kernel's own is somebody else's, a disk has no room yet. Each goes on by
 * itself, soon, and how soon is not the program's doing: who took it for one
 * that has blocked would choose otherwise in each run. So it is waited for, as
 * one that runs is (algorithms.md 10). What lasts is a wait like any other: a
 * vfork(), or a disk that is gone.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define LOOKS  10000 /* in a row, with naps between them: about a second */
#define MOST   16    /* threads that are looked at before somebody chooses */
#define NAP_NS 20000

static uint16_t looks[MAPLE_THREADS]; /* so many, in a row */

/* maple_detained - whether @thread, which ps(1) has in @state, is to be waited for */
bool maple_detained(uint32_t thread, char state)
{
	uint16_t *n = &looks[thread];

	if (state != 'D')
		*n = 0;
	else if (*n < LOOKS)
		++*n;
	return *n && *n < LOOKS;
}

/*
 * maple_detained_await - a nap, if any thread is that could go on otherwise
 *
 * Returns whether there was one.
 */
bool maple_detained_await(bool (*parked)(uint32_t thread))
{
	const struct timespec nap = { 0, NAP_NS };
	const struct maple_shm *shm = maple_shm;
	uint32_t looked = 0;

	for (uint32_t i = 0; i < shm->nthreads && i < MAPLE_THREADS; i++) {
		if (i == maple_self.number || parked(i) || !shm->thread[i].alive)
			continue;
		if (maple_detained(i, maple_waits_state(shm->thread[i].tid))) {
			raw2(SYS_nanosleep, &nap, NULL);
			return true;
		}
		if (++looked == MOST)
			break;
	}
	return false;
}
