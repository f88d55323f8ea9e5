/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * PostgreSQL's client library, loaded when a memo is there and not before:
 * linked, it and what it needs would cost each start of mapletest 45 ms.
 */
#ifndef MAPLE_MEMO_POSTGRES_LIBPQ_H
#define MAPLE_MEMO_POSTGRES_LIBPQ_H

#include <libpq-fe.h>
#include <maple/error.h>

/* Every function of it that is called. */
#define MAPLE_PQ_CALLS(C)            \
	C(PQconninfoParse)           \
	C(PQconninfoFree)            \
	C(PQfreemem)                 \
	C(PQconnectStartParams)      \
	C(PQconnectPoll)             \
	C(PQfinish)                  \
	C(PQstatus)                  \
	C(PQbackendPID)              \
	C(PQserverVersion)           \
	C(PQerrorMessage)            \
	C(PQconnectionNeedsPassword) \
	C(PQsetNoticeProcessor)      \
	C(PQsocket)                  \
	C(PQconsumeInput)            \
	C(PQisBusy)                  \
	C(PQgetResult)               \
	C(PQgetCancel)               \
	C(PQcancel)                  \
	C(PQfreeCancel)              \
	C(PQsendQuery)               \
	C(PQsendQueryParams)         \
	C(PQsendPrepare)             \
	C(PQsendQueryPrepared)       \
	C(PQputCopyData)             \
	C(PQputCopyEnd)              \
	C(PQresultStatus)            \
	C(PQresultErrorField)        \
	C(PQclear)                   \
	C(PQcmdStatus)               \
	C(PQmakeEmptyPGresult)       \
	C(PQntuples)                 \
	C(PQnfields)                 \
	C(PQfname)                   \
	C(PQftype)                   \
	C(PQgetvalue)                \
	C(PQgetisnull)               \
	C(PQgetlength)

struct maple_pq {
#define MAPLE_PQ_FIELD(name) __typeof__(name) *name;
	MAPLE_PQ_CALLS(MAPLE_PQ_FIELD)
#undef MAPLE_PQ_FIELD
};

/* maple_pq_load - the library; NULL, and what is to be installed, without it */
const struct maple_pq *maple_pq_load(struct maple_error *err);

#endif
