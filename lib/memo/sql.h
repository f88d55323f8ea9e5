/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_MEMO_SQL_H
#define MAPLE_MEMO_SQL_H

#include <sqlite3.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/memo.h>

/* Every statement that is prepared; the texts stand in statements.c. */
enum maple_statement {
	MAPLE_SQL_BEGIN,
	MAPLE_SQL_COMMIT,
	MAPLE_SQL_ROLLBACK,
	MAPLE_SQL_CAMPAIGN_BEGIN,
	MAPLE_SQL_CAMPAIGN_END,
	MAPLE_SQL_CAMPAIGN_PROGRAM,
	MAPLE_SQL_CAMPAIGN_RESUME,
	MAPLE_SQL_CAMPAIGN_DONE,
	MAPLE_SQL_CAMPAIGN_NOTE,
	MAPLE_SQL_CHARGE,
	MAPLE_SQL_USAGE,
	MAPLE_SQL_FOREIGN,
	MAPLE_SQL_RUN_CAMPAIGN,
	MAPLE_SQL_PROGRAM,
	MAPLE_SQL_IMAGE_FIND,
	MAPLE_SQL_IMAGE_ADD,
	MAPLE_SQL_SITE_FIND,
	MAPLE_SQL_SITE_ADD,
	MAPLE_SQL_SITE_PRINT,
	MAPLE_SQL_CLASS_FIND,
	MAPLE_SQL_CLASS_ADD,
	MAPLE_SQL_GOAL_FIND,
	MAPLE_SQL_GOAL_ADD,
	MAPLE_SQL_MARK,
	MAPLE_SQL_STATE,
	MAPLE_SQL_RUN_BEGIN,
	MAPLE_SQL_RUN_END,
	MAPLE_SQL_FINDING_STORE,
	MAPLE_SQL_FINDING_FIND,
	MAPLE_SQL_FINDINGS,
	MAPLE_SQL_FINDINGS_KNOWN,
	MAPLE_SQL_FINDING_FORGET,
	MAPLE_SQL_CORPUS_KEEP,
	MAPLE_SQL_CORPUS_RECALL,
	MAPLE_SQL_REACHED,
	MAPLE_SQL_SAMPLE,
	MAPLE_SQL_SAMPLES,
	MAPLE_SQL_COVERAGE,
	MAPLE_SQL_PROGRAMS,
	MAPLE_SQL_FORGET_MEMO,
	MAPLE_SQL_FORGET_CORPUS,
	MAPLE_SQL_FORGET_FINDINGS,
	MAPLE_SQL_FORGET_CAMPAIGNS,
	MAPLE_SQL_FORGET_PROGRAMS,
	MAPLE_SQL_SUCCESS,
	MAPLE_SQL_CLAIMS,
	MAPLE_SQL_OLDER,
	MAPLE_SQL_NAMESAKE,
	MAPLE_SQL_CARRY_SITES,
	MAPLE_SQL_CARRY_SITE,
	MAPLE_SQL_CARRY_MAKE,
	MAPLE_SQL_CARRY_GOALS,
	MAPLE_SQL_CARRY_LIBRARIES,
	MAPLE_SQL_CARRY_PROGRAMS,
	MAPLE_SQL_CARRY_COUNT,
	MAPLE_SQL_CARRY_MARKS,
	MAPLE_SQL_CARRY_LEAVE,
	MAPLE_SQL_CARRY_DONE,
	MAPLE_SQL_CHECK,
	MAPLE_SQL_MAX,
};

/* Of two rows of memo on one program and goal. */
#define MAPLE_SQL_UNION_OF_MARKS                           \
	" predicted = max(predicted, excluded.predicted)," \
	" observed = max(observed, excluded.observed),"    \
	" exposed = max(exposed, excluded.exposed),"       \
	" failed = max(failed, excluded.failed),"          \
	" attempts = max(attempts, excluded.attempts),"    \
	" broke = max(broke, excluded.broke)"

/* Either a database of ours, or the one that mapled has: then host alone. */
struct maple_memo {
	struct maple_host *host;
	sqlite3 *db;
	char *path;
	uid_t owner;				/* of the file */
	bool limited;				/* in size, by us */
	sqlite3_stmt *statement[MAPLE_SQL_MAX]; /* NULL until first used */
};

extern const char *const maple_sql_text[MAPLE_SQL_MAX];
extern const char *const maple_sql_migrations[];
extern const int maple_sql_version;

int maple_sql_fail(struct maple_memo *memo, int rc, struct maple_error *err);
int maple_sql_get(struct maple_memo *memo, enum maple_statement which,
		  sqlite3_stmt **statement, struct maple_error *err,
		  const char *types, ...);
int maple_sql_step(struct maple_memo *memo, sqlite3_stmt *statement,
		   struct maple_error *err);
int maple_sql_run(struct maple_memo *memo, enum maple_statement which,
		  struct maple_error *err, const char *types, ...);
int maple_sql_find(struct maple_memo *memo, enum maple_statement which,
		   int64_t *id, struct maple_error *err, const char *types, ...);
int maple_sql_enter(struct maple_memo *memo, bool *ours,
		    struct maple_error *err);
int maple_sql_leave(struct maple_memo *memo, bool ours, int ret,
		    struct maple_error *err);
int maple_sql_exec(struct maple_memo *memo, const char *sql,
		   struct maple_error *err);
char *maple_sql_string(sqlite3_stmt *statement, int column);

/* open.c */
int maple_sql_copy(const char *path, struct maple_memo **copy,
		   struct maple_error *err);
int maple_sql_backup(struct maple_memo *to, const char *schema,
		     struct maple_memo *from, struct maple_error *err);

/* input.c */
int maple_sql_inputs(struct maple_memo *memo);

/* corpus.c */
int maple_corpora_prepare(struct maple_memo *copy, struct maple_error *err);
int maple_corpora_merge(struct maple_memo *memo, struct maple_error *err);

/* marks.c */
int maple_marks_site(struct maple_memo *memo,
		     const struct maple_memo_event *event, int64_t *site,
		     struct maple_error *err);
int maple_marks_class(struct maple_memo *memo, const char *name, int64_t *class,
		      struct maple_error *err);
int maple_marks_image(struct maple_memo *memo, const char *build_id,
		      const char *path, int64_t *image, struct maple_error *err);

/* runs.c */
int maple_runs_counts(sqlite3_stmt *statement, struct maple_coverage *coverage);

#endif
