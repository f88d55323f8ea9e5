/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Texts as PostgreSQL takes them: any bytes, in characters. */
#ifndef MAPLE_MEMO_POSTGRES_TEXT_H
#define MAPLE_MEMO_POSTGRES_TEXT_H

char *maple_pg_encode(const char *text);
char *maple_pg_decode(const char *text);

#endif
