/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A call of the library's that has to return 0; else its error is the failure. */
#ifndef OK_H
#define OK_H

#include <maple/error.h>

#define OK(call)                                                      \
	do {                                                          \
		struct maple_error err = { "" };                      \
		int ret_ = (call);                                    \
		if (ret_)                                             \
			fail_msg("%s: %d %s", #call, ret_, err.text); \
	} while (0)

#endif
