/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_INTERRUPT_H
#define MAPLE_CAMPAIGN_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

void maple_interrupt_begin(void);
void maple_interrupt_end(void);
void maple_interrupt_forward(pid_t pid);
bool maple_interrupt_asked(void);
bool maple_interrupt_stops(void);

#endif
