/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CLAIM_H
#define MAPLE_CLAIM_H

#include <sched.h>
#include <stddef.h>

void maple_claim_holder(const cpu_set_t *cpus, char *text, size_t size);

#endif
