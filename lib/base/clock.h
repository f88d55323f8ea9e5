/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CLOCK_H
#define MAPLE_CLOCK_H

double maple_clock_now(void);

#endif
