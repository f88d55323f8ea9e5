/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How libmaple reports failure: every function that can fail returns a
 * negative errno and, where the caller passed one, fills a maple_error with
 * one sentence that names the cause and, where there is one, the mend.
 *
 * Context: none of this is async-signal-safe; a maple_error belongs to one
 * thread at a time.
 */
#ifndef MAPLE_ERROR_H
#define MAPLE_ERROR_H

#define MAPLE_ERROR_MAX 512

struct maple_error {
	char text[MAPLE_ERROR_MAX]; /* no trailing newline; "" when unset */
};

/*
 * maple_error_set - fills @err (may be NULL) as printf does
 *
 * Returns -@errnum, so that a failing function can end in
 * `return maple_error_set(err, ENOENT, "...")`.
 */
__attribute__((format(printf, 3, 4))) int
maple_error_set(struct maple_error *err, int errnum, const char *fmt, ...);

#endif
