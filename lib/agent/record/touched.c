// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which memory the log of an enforced run is about. A program may free a
 * million blocks a second, and that one is freed tells only of what happened
 * in it before. By cache lines; those that are half a MiB apart count as one,
 * which costs an event too many.
 */
#include "agent/core.h"

#define LINE  64
#define LINES 8192

static bool touched[LINES]; /* each stored at once: threads need no lock */

static uint64_t lines(uint64_t addr, uint64_t size)
{
	uint64_t n = size ? (addr + size - 1) / LINE - addr / LINE + 1 : 1;

	return n < LINES ? n : LINES;
}

/* maple_touched_note - something at [@addr, @addr + @size) is in the log */
void maple_touched_note(uint64_t addr, uint64_t size)
{
	uint64_t n = lines(addr, size), at = addr / LINE;

	while (n--)
		touched[at++ % LINES] = true;
}

/* maple_touched_find - whether anything there may be */
bool maple_touched_find(uint64_t addr, uint64_t size)
{
	uint64_t n = lines(addr, size), at = addr / LINE;

	while (n--)
		if (touched[at++ % LINES])
			return true;
	return false;
}
