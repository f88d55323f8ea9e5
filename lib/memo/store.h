/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What maple/memo.h promises, of a database that this process has open;
 * memo.c chooses between this and mapled's.
 */
#ifndef MAPLE_MEMO_STORE_H
#define MAPLE_MEMO_STORE_H

#include <maple/memo.h>
#include "host/calls.h"

#define MAPLE_STORE_CALL(name, arguments, names)        \
	int maple_store_##name(struct maple_memo *memo, \
			       MAPLE_MEMO_ARGUMENTS arguments);
MAPLE_MEMO_CALLS(MAPLE_STORE_CALL)
int maple_store_findings(struct maple_memo *memo, int64_t program, bool known,
			 struct maple_finding ***findings, size_t *n,
			 struct maple_error *err);
int maple_store_merge(struct maple_memo *memo, const char *path,
		      struct maple_error *err);

#endif
