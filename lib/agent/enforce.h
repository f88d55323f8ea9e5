/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_AGENT_ENFORCE_H
#define MAPLE_AGENT_ENFORCE_H

#include <stdbool.h>
#include <stdint.h>

/* waits.c */
bool maple_enforce_waits(const uint32_t *hold);
uint64_t maple_enforce_cpu_ms(void);

#endif
