/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_MEMO_POSTGRES_SCHEMA_H
#define MAPLE_MEMO_POSTGRES_SCHEMA_H

#define MAPLE_PG_FIRST 13 /* the schema's first version here */

extern const char maple_pg_schema[];
/* [i]: from MAPLE_PG_FIRST + i to the one after it */
extern const char *const maple_pg_migrations[];

#endif
