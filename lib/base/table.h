/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BASE_TABLE_H
#define MAPLE_BASE_TABLE_H

#include <stdlib.h>

/*
 * maple_table_clear - frees what is in a table of uthash.h, by member hh, and
 *                     empties it
 */
#define maple_table_clear(table)                      \
	do {                                          \
		__typeof__(table) each_, next_;       \
		HASH_ITER (hh, table, each_, next_) { \
			HASH_DEL(table, each_);       \
			free(each_);                  \
		}                                     \
	} while (0)

#endif
