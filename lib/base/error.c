// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <stdarg.h>
#include <stdio.h>
#include <maple/error.h>

int maple_error_set(struct maple_error *err, int errnum, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -errnum;
}
