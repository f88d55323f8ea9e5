/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_AGENT_ENFORCE_H
#define MAPLE_AGENT_ENFORCE_H

#include <stdbool.h>
#include <stdint.h>
#include "plan/wait.h"

/* waits.c */
void maple_enforce_waits(const uint32_t *hold, struct maple_waits *waits);
uint64_t maple_enforce_cpu_ms(void);

#endif
