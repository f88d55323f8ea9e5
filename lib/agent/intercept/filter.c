// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Filters of system calls (seccomp): by prctl(), or by syscall(), which is how
 * libseccomp does it. There is no call of libc's for them.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "intercept.h"

MAPLE_REAL(prctl);
MAPLE_REAL(syscall);

/* Whoever gave fewer passes on what is never looked at. */
#define TAKE(last, n)                          \
	long a[n];                             \
	va_list args;                          \
                                               \
	va_start(args, last);                  \
	for (unsigned int i = 0; i < (n); i++) \
		a[i] = va_arg(args, long);     \
	va_end(args)

MAPLE_EXPORT int prctl(int option, ...)
{
	TAKE(option, 4);

	if (option == PR_SET_SECCOMP)
		maple_agent_seal();
	return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

MAPLE_EXPORT long syscall(long number, ...)
{
	TAKE(number, 6);

	if ((number == SYS_seccomp && (a[0] == SECCOMP_SET_MODE_STRICT ||
				       a[0] == SECCOMP_SET_MODE_FILTER)) ||
	    (number == SYS_prctl && a[0] == PR_SET_SECCOMP))
		maple_agent_seal();
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
