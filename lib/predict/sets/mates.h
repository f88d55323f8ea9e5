/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_SETS_MATES_H
#define MAPLE_PREDICT_SETS_MATES_H

#include "state.h"
#include "witness.h"

bool maple_mates_note(struct maple_mates *mates, uint64_t key);
bool maple_mates_add(struct maple_mates *mates, const struct maple_touch *a,
		     const struct maple_touch *b);
bool maple_mates_has(const struct maple_mates *mates,
		     const struct maple_touch *a, const struct maple_touch *b);

#endif
