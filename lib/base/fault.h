/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BASE_FAULT_H
#define MAPLE_BASE_FAULT_H

#include <signal.h>
#include <stdbool.h>

/* maple_fault_is - whether a thread brings signal @signo on itself */
static inline bool maple_fault_is(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE ||
	       signo == SIGILL || signo == SIGABRT || signo == SIGTRAP ||
	       signo == SIGSYS;
}

#endif
