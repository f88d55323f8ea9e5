/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_INTERRUPT_H
#define MAPLE_CAMPAIGN_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

#define MAPLE_INTERRUPTS 7 /* signals */

/* How often each signal was passed on to one program. */
struct maple_interrupts {
	unsigned int n[MAPLE_INTERRUPTS];
};

void maple_interrupt_begin(void);
void maple_interrupt_leave_keys(void);
void maple_interrupt_end(void);
void maple_interrupt_forward(struct maple_interrupts *passed, pid_t pid);
bool maple_interrupt_asked(void);
bool maple_interrupt_stops(void);

#endif
