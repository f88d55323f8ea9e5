// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What strategies go on with: a text of each program, user and strategy, a JSON
 * array; and by another name what runs have executed (reached.c). It is not
 * looked into here but to merge it, which splits and joins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memo/sql.h"
#include "memo/store.h"

int maple_store_corpus_keep(struct maple_memo *memo, int64_t campaign,
			    const char *strategy, const char *text,
			    struct maple_error *err)
{
	int64_t program;
	int ret;

	if (strlen(text) >= MAPLE_MEMO_CORPUS_TEXT)
		return maple_error_set(err, EMSGSIZE,
				       "no more than %u bytes are kept",
				       MAPLE_MEMO_CORPUS_TEXT - 1);
	/* Whose it is: as with findings. */
	ret = maple_sql_find(memo, MAPLE_SQL_CORPUS_KEEP, &program, err, "iiss",
			     campaign,
			     memo->owner == geteuid() ? -1 : (int64_t)geteuid(),
			     strategy, text);
	if (!ret && !program)
		ret = maple_error_set(err, EINVAL,
				      "the campaign has no program yet");
	return ret;
}

int maple_store_corpus_recall(struct maple_memo *memo, int64_t campaign,
			      const char *strategy, char **text,
			      struct maple_error *err)
{
	struct maple_query *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_CORPUS_RECALL, &statement, err,
				"isii", campaign, strategy, (int64_t)geteuid(),
				(int64_t)MAPLE_MEMO_CORPUS_TEXT);

	*text = NULL;
	if (!ret)
		ret = maple_sql_step(memo, statement, err);
	if (ret <= 0)
		return ret;
	*text = maple_sql_string(statement, 0);
	maple_sql_reset(statement);
	return *text ? 0 : maple_error_set(err, ENOMEM, "out of memory");
}

/* ---- merging ---- */

/*
 * maple_corpora_prepare - in @copy, which is to be taken in, it is said whose
 * each is, as far as its file is believed. Two may be one user's by that.
 */
int maple_corpora_prepare(struct maple_memo *copy, struct maple_error *err)
{
	return maple_sql_exec(copy,
			      "ALTER TABLE corpus ADD COLUMN whose INTEGER;"
			      "UPDATE corpus SET whose = whose(owner)",
			      err);
}

/*
 * All that both have of what the other one has, in one table; and of each list
 * the first one that there is, the newer text's before the older's, and ours
 * before theirs, so that to merge once more changes nothing. His whose the file
 * is may have one under his name as well, by way of mapled: they become one.
 */
#define OURS "CASE WHEN c.owner = whose(-1) THEN -1 ELSE c.owner END"

static const char both[] =
	"CREATE TEMP TABLE merge_corpus AS SELECT p.new AS program,"
	" CASE WHEN o.whose = whose(-1) THEN -1 ELSE o.whose END AS owner,"
	" o.strategy, o.at, CAST(o.text AS TEXT) AS text, 1 AS theirs,"
	" o.rowid AS place FROM other_corpus o JOIN merge_program p ON p.old = o.program;"
	"INSERT INTO merge_corpus SELECT program, " OURS ", strategy, at, text,"
	" 0, c.rowid FROM corpus c WHERE EXISTS(SELECT 1 FROM merge_corpus m WHERE"
	" m.program = c.program AND m.owner = " OURS
	" AND m.strategy = c.strategy);"
	"DELETE FROM corpus AS c WHERE owner = whose(-1) AND EXISTS("
	"SELECT 1 FROM merge_corpus m WHERE m.program = c.program"
	" AND m.owner = -1 AND m.strategy = c.strategy)";

static const char lists[] =
	"SELECT program, owner, strategy, list, max(newest) FROM (SELECT m.program,"
	" m.owner, m.strategy, j.value AS list, max(m.at) OVER"
	" (PARTITION BY m.program, m.owner, m.strategy) AS newest,"
	" row_number() OVER (PARTITION BY m.program, m.owner, m.strategy"
	" ORDER BY m.at DESC, m.theirs, m.place, j.key) AS nth"
	" FROM merge_corpus m, json_each(CASE WHEN json_valid(m.text)"
	" THEN m.text ELSE '[]' END) j WHERE j.type = 'object') t"
	" GROUP BY program, owner, strategy, list"
	" ORDER BY program, owner, strategy, min(nth)";

static const char store[] =
	"INSERT INTO corpus(program, owner, strategy, at, text)"
	" VALUES($1, $2, $3, $4, $5) ON CONFLICT(program, owner, strategy)"
	" DO UPDATE SET at = excluded.at, text = excluded.text"
	" WHERE corpus.text != excluded.text OR corpus.at != excluded.at";

/* The union for one program, user and strategy; text: without its end. */
struct joined {
	int64_t program, owner, newest;
	char *strategy;
	unsigned int n;
	size_t size;
	char text[MAPLE_MEMO_CORPUS_TEXT];
};

static int put(struct maple_memo *memo, struct joined *j,
	       struct maple_query *to, struct maple_error *err)
{
	int ret;

	if (!j->n)
		return 0;
	strcpy(j->text + j->size, "]");
	ret = maple_sql_bind(to, err, j->program, j->owner, j->strategy,
			     j->newest, j->text);
	return ret ? ret : maple_sql_step(memo, to, err);
}

static bool is_of(const struct joined *j, struct maple_query *row)
{
	return j->strategy && j->program == maple_sql_number(row, 0) &&
	       j->owner == maple_sql_number(row, 1) &&
	       !strcmp(j->strategy, maple_sql_text_of(row, 2));
}

/* What does not fit is left out; a shorter one may. */
static void join(struct joined *j, struct maple_query *row)
{
	const char *list = maple_sql_text_of(row, 3);
	size_t size = strlen(list);

	if (j->n == MAPLE_MEMO_CORPUS_LISTS ||
	    j->size + 1 + size + sizeof("]") > sizeof(j->text))
		return;
	j->text[j->size++] = j->n++ ? ',' : '[';
	memcpy(j->text + j->size, list, size);
	j->size += size;
}

static int join_all(struct maple_memo *memo, struct joined *j,
		    struct maple_query *from, struct maple_query *to,
		    struct maple_error *err)
{
	int ret;

	while ((ret = maple_sql_step(memo, from, err)) > 0) {
		ret = 0;
		if (!is_of(j, from)) {
			ret = put(memo, j, to, err);
			free(j->strategy);
			j->program = maple_sql_number(from, 0);
			j->owner = maple_sql_number(from, 1);
			j->strategy = maple_sql_string(from, 2);
			j->newest = maple_sql_number(from, 4);
			j->n = 0;
			j->size = 0;
		}
		if (!ret && !j->strategy)
			ret = maple_error_set(err, ENOMEM, "out of memory");
		if (ret)
			break;
		join(j, from);
	}
	return ret ? ret : put(memo, j, to, err);
}

/*
 * maple_corpora_merge - of each program, user and strategy that the other
 * database knows, the lists of both, as many as there may be
 */
int maple_corpora_merge(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_query *from = NULL, *to = NULL;
	struct joined *j = calloc(1, sizeof(*j));
	int ret = maple_sql_exec(memo, both, err);

	if (!j)
		ret = maple_error_set(err, ENOMEM, "out of memory");
	if (!ret) {
		ret = maple_sql_prepare(memo, lists, "", &from, err);
		if (!ret)
			ret = maple_sql_prepare(memo, store, "iisis", &to, err);
		if (!ret)
			ret = join_all(memo, j, from, to, err);
	}
	maple_sql_finish(from);
	maple_sql_finish(to);
	if (j)
		free(j->strategy);
	free(j);
	return ret;
}
