// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The names of system calls, as the kernel's own header has them. */
#include <stddef.h>
#include <sys/syscall.h>
#include "calls.h"

#define CALL(name) [__NR_##name] = #name,

static const char *const names[] = {
#include "calls-list.h"
};

/* maple_call_name - "openat", ...; NULL for a number that is none */
const char *maple_call_name(unsigned int number)
{
	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}
