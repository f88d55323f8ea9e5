/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_AGENT_ENFORCE_H
#define MAPLE_AGENT_ENFORCE_H

#include <stdbool.h>
#include <stdint.h>
#include "../plan/wait.h"

/* waits.c */
enum maple_wait_end maple_enforce_wait(const uint32_t *hold);
uint64_t maple_enforce_cpu_ms(void);

#endif
