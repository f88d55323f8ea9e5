// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Findings, kept as the JSON that reports use; the columns beside it hold
 * what changes when a finding is seen again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <maple/report.h>
#include "base/array.h"
#include "memo/sql.h"
#include "memo/store.h"

int maple_store_finding_store(struct maple_memo *memo, int64_t campaign,
			      const struct maple_finding *finding,
			      struct maple_error *err)
{
	char *json = maple_report_finding_encode(finding);
	int64_t when = (int64_t)(finding->found_at ? finding->found_at
						   : (uint64_t)time(NULL));
	int ret;

	if (!json)
		return maple_error_set(err, ENOMEM, "out of memory");
	/* Without mapled it is his who runs us. */
	ret = maple_sql_run(memo, MAPLE_SQL_FINDING_STORE, err, "sisiiu",
			    finding->id, campaign, json, when,
			    memo->owner == geteuid() ? -1 : (int64_t)geteuid(),
			    finding->kind == MAPLE_FAILURE_VIOLATION ? 1u : 0u);
	free(json);
	return ret;
}

static int set(char **text, struct maple_query *row, int column)
{
	free(*text);
	*text = maple_sql_string(row, column);
	return !*text && maple_sql_text_of(row, column) ? -ENOMEM : 0;
}

static int decode_row(struct maple_memo *memo, struct maple_query *statement,
		      struct maple_finding **finding, struct maple_error *err)
{
	const char *json = maple_sql_text_of(statement, 0);
	struct maple_error why;
	int ret;

	if (!json)
		return maple_sql_damaged(memo, err);
	ret = maple_report_finding_decode(json, finding, &why);
	if (ret) {
		maple_error_set(err, -ret, "memo database '%s': %s", memo->path,
				why.text);
		return ret;
	}
	(*finding)->found_at = (uint64_t)maple_sql_number(statement, 1);
	(*finding)->times_seen = (unsigned int)maple_sql_number(statement, 2);
	(*finding)->owner = (uid_t)maple_sql_number(statement, 3);
	/* Whatever its JSON says of it: that may be of a later one. */
	if (set(&(*finding)->machine, statement, 4) ||
	    set(&(*finding)->cpu, statement, 5) ||
	    set(&(*finding)->kernel, statement, 6) ||
	    set(&(*finding)->first_backend, statement, 7)) {
		maple_finding_destroy(*finding);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	return 0;
}

int maple_store_finding_load(struct maple_memo *memo, const char *id,
			     int64_t owner, struct maple_finding **finding,
			     struct maple_error *err)
{
	bool exact;
	struct maple_query *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_FINDING_FIND, &statement, err,
				"si", id, owner);

	if (!ret)
		ret = *id ? maple_sql_step(memo, statement, err) : 0;
	if (ret < 0)
		return ret;
	if (!ret) {
		maple_error_set(err, ENOENT,
				"there is no finding '%s'; 'mapletest report' "
				"lists them",
				id);
		return -ENOENT;
	}
	ret = decode_row(memo, statement, finding, err);
	if (ret) {
		maple_sql_reset(statement);
		return ret;
	}
	/* One that is not the id itself must be the only one. */
	exact = !strcmp((*finding)->id, id);
	ret = maple_sql_step(memo, statement, err);
	if (ret > 0 && exact)
		ret = strcmp(maple_sql_text_of(statement, 8), id)
			      ? 0
			      : maple_error_set(err, ENOTUNIQ,
						"several users have finding "
						"'%s'; say whose: USER:%s",
						id, id);
	else if (ret > 0)
		ret = maple_error_set(err, ENOTUNIQ,
				      "several findings begin with '%s'; give "
				      "more of it, or say whose: USER:%s",
				      id, id);
	if (ret)
		maple_finding_destroy(*finding);
	maple_sql_reset(statement);
	return ret;
}

int maple_store_findings(struct maple_memo *memo, int64_t program, bool known,
			 struct maple_finding ***findings, size_t *n,
			 struct maple_error *err)
{
	struct maple_query *statement;
	int ret = maple_sql_get(
		memo, known ? MAPLE_SQL_FINDINGS_KNOWN : MAPLE_SQL_FINDINGS,
		&statement, err, "i", program);

	*findings = NULL;
	*n = 0;
	while (!ret) {
		ret = maple_sql_step(memo, statement, err);
		if (!ret)
			return 0;
		if (ret < 0)
			break;
		if (!maple_array_resize(*findings, *n + 1)) {
			ret = maple_error_set(err, ENOMEM, "out of memory");
			break;
		}
		ret = decode_row(memo, statement, &(*findings)[*n], err);
		if (!ret)
			++*n;
	}
	maple_sql_reset(statement);
	maple_memo_findings_destroy(*findings, *n);
	*findings = NULL;
	*n = 0;
	return ret;
}

void maple_memo_findings_destroy(struct maple_finding **findings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maple_finding_destroy(findings[i]);
	free(findings);
}

int maple_store_forget_finding(struct maple_memo *memo, const char *id,
			       uid_t owner, struct maple_error *err)
{
	return maple_sql_run(memo, MAPLE_SQL_FINDING_FORGET, err, "si", id,
			     (int64_t)owner);
}
