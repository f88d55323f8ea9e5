/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which accesses are observed from outside, where each costs a probe: by what
 * the binary tells before it runs (docs/algorithms.md, 15). It is a guess; what
 * has no probe is in no candidate.
 */
#ifndef MAPLE_SITES_H
#define MAPLE_SITES_H

enum maple_sites {
	MAPLE_SITES_ALL,
	MAPLE_SITES_STATIC, /* those that threads may share; in doubt they do */
	MAPLE_SITES_PAIRS,  /* those of static pairs: the program's own only */
};

#endif
