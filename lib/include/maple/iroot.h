/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * iRoots: an idiom and its events, each a site and a kind; no thread, no
 * address, no value (Maple, section 2; algorithms.md 1 and 2).
 */
#ifndef MAPLE_IROOT_H
#define MAPLE_IROOT_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif
#include <maple/event.h>

#define MAPLE_IROOT_EVENTS 4

enum maple_idiom {
	MAPLE_IDIOM_1 = 1,
	MAPLE_IDIOM_2,
	MAPLE_IDIOM_3,
	MAPLE_IDIOM_4,
	MAPLE_IDIOM_5,
	MAPLE_IDIOM_6,
	MAPLE_IDIOM_DEADLOCK, /* idiom 5 over four LOCK events */
	/*
	 * Orders of two units on one atomic set that no serial order of the
	 * two has (algorithms.md 17): order alone, nothing immediate. Events
	 * are those of idiom 2, 4, 5 and 5, executed in the order that is told.
	 */
	MAPLE_SET_1,  /* e0 e1 e2 */
	MAPLE_SET_2,  /* e0 e1 e2 e3 */
	MAPLE_SET_3,  /* e0 e2 e1 e3 */
	MAPLE_SET_4,  /* e0 e2 e3 e1 */
	MAPLE_IDIOMS, /* one past the last */
};

/* The idioms that this version predicts, as in --idioms: bit i, idiom i. */
#define MAPLE_IDIOMS_PREDICTED ((1u << MAPLE_SET_1) - (1u << MAPLE_IDIOM_1))

struct maple_iroot_event {
	uint32_t site;
	uint32_t kind; /* READ, WRITE, LOCK, UNLOCK, NOTIFY or SLEEP */
};

struct maple_iroot {
	uint32_t idiom;					/* enum maple_idiom */
	struct maple_iroot_event e[MAPLE_IROOT_EVENTS]; /* unused ones zero */
};

/* maple_iroot_events - how many events an iRoot of @idiom has; 0 if unknown */
static inline unsigned int maple_iroot_events(unsigned int idiom)
{
	switch (idiom) {
	case MAPLE_IDIOM_1:
		return 2;
	case MAPLE_IDIOM_2:
	case MAPLE_SET_1:
		return 3;
	case MAPLE_IDIOM_3:
	case MAPLE_IDIOM_4:
	case MAPLE_IDIOM_5:
	case MAPLE_IDIOM_6:
	case MAPLE_IDIOM_DEADLOCK:
	case MAPLE_SET_2:
	case MAPLE_SET_3:
	case MAPLE_SET_4:
		return 4;
	default:
		return 0;
	}
}

#endif
