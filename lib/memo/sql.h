/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The memo's SQL, above whichever database it is kept in (driver.h).
 */
#ifndef MAPLE_MEMO_SQL_H
#define MAPLE_MEMO_SQL_H

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/memo.h>
#include "memo/driver.h"
#include "memo/spool/numbers.h"

/* Every statement that is prepared; the texts stand in statements.c. */
enum maple_statement {
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
	MAPLE_SQL_STATES,
	MAPLE_SQL_RUN_BEGIN,
	MAPLE_SQL_RUN_BEGIN_AS,
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
	MAPLE_SQL_MACHINE_COUNT,
	MAPLE_SQL_MACHINES,
	MAPLE_SQL_HOURS,
	MAPLE_SQL_PARTS,
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
	MAPLE_SQL_MAX,
};

/* Of two rows of memo on one program and goal: memo's own, and another one. */
#define MAPLE_SQL_UNION_OF_MARKS                                \
	" predicted = max(memo.predicted, excluded.predicted)," \
	" observed = max(memo.observed, excluded.observed),"    \
	" exposed = max(memo.exposed, excluded.exposed),"       \
	" failed = max(memo.failed, excluded.failed),"          \
	" attempts = max(memo.attempts, excluded.attempts),"    \
	" broke = max(memo.broke, excluded.broke)"

/* Of several of them: no statement meets one row twice. */
#define MAPLE_SQL_BEST_MARKS(m)                                           \
	" max(" m ".predicted), max(" m ".observed), max(" m ".exposed)," \
	" max(" m ".failed), max(" m ".attempts), max(" m ".broke)"

/* Either a database of ours, or the one that mapled has: then host alone. */
struct maple_memo {
	struct maple_host *host;
	const struct maple_driver *driver;
	void *db; /* the driver's; NULL: nothing is open */
	char *path;
	uid_t owner;				      /* of the file */
	struct maple_query *statement[MAPLE_SQL_MAX]; /* NULL: never used */
	struct maple_mirror *mirror;	  /* beside a server; NULL: none */
	struct maple_numbers goals, runs; /* that callers have */
};

extern const char *const maple_sql_text[MAPLE_SQL_MAX];
extern const char *const maple_sql_tables[];
extern const char *const maple_sql_migrations[];
extern const int maple_sql_version;

int maple_sql_damaged(struct maple_memo *memo, struct maple_error *err);
int maple_sql_older(struct maple_memo *memo, int64_t version,
		    struct maple_error *err);
int maple_sql_newer(struct maple_memo *memo, int64_t version,
		    struct maple_error *err);
int maple_sql_get(struct maple_memo *memo, enum maple_statement which,
		  struct maple_query **query, struct maple_error *err,
		  const char *types, ...);
int maple_sql_prepare(struct maple_memo *memo, const char *sql,
		      const char *types, struct maple_query **query,
		      struct maple_error *err);
int maple_sql_bind(struct maple_query *query, struct maple_error *err, ...);
int maple_sql_step(struct maple_memo *memo, struct maple_query *query,
		   struct maple_error *err);
void maple_sql_reset(struct maple_query *query);
void maple_sql_finish(struct maple_query *query);
int64_t maple_sql_number(struct maple_query *query, int column);
const char *maple_sql_text_of(struct maple_query *query, int column);
char *maple_sql_string(struct maple_query *query, int column);
int maple_sql_run(struct maple_memo *memo, enum maple_statement which,
		  struct maple_error *err, const char *types, ...);
int maple_sql_find(struct maple_memo *memo, enum maple_statement which,
		   int64_t *id, struct maple_error *err, const char *types, ...);
int maple_sql_ask(struct maple_memo *memo, enum maple_statement which,
		  struct maple_query **query, struct maple_error *err,
		  const char *types, ...);
int maple_sql_number_of(struct maple_memo *memo, enum maple_statement which,
			int64_t *id, struct maple_error *err, const char *types,
			va_list ap);
int maple_sql_row(struct maple_memo *memo, enum maple_statement find,
		  const char *find_types, enum maple_statement add, int64_t *id,
		  struct maple_error *err, const char *types, ...);
int maple_sql_tell(struct maple_memo *memo, enum maple_statement which,
		   struct maple_error *err, const char *types, ...);
int maple_sql_begin(struct maple_memo *memo, enum maple_begin how,
		    struct maple_error *err);
int maple_sql_commit(struct maple_memo *memo, struct maple_error *err);
void maple_sql_rollback(struct maple_memo *memo);
int maple_sql_enter(struct maple_memo *memo, enum maple_begin how, bool *ours,
		    struct maple_error *err);
int maple_sql_leave(struct maple_memo *memo, bool ours, int ret,
		    struct maple_error *err);
int maple_sql_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		   unsigned int mark, struct maple_error *err);
int maple_sql_sample(struct maple_memo *memo, int64_t run,
		     const struct maple_sample_row *rows, size_t n,
		     struct maple_error *err);
int maple_sql_exec(struct maple_memo *memo, const char *sql,
		   struct maple_error *err);
int maple_sql_numbers(struct maple_memo *memo, const char *table,
		      struct maple_error *err);

/* open.c */
int maple_sql_copy(const char *path, struct maple_memo **copy,
		   struct maple_error *err);

/* input.c */
char *maple_sql_input_of(const char *text, const char *requests);

/* merge.c */
int maple_sql_identify(struct maple_memo *memo, struct maple_error *err);
int maple_sql_forget_numbers(struct maple_memo *memo, struct maple_error *err);

/* corpus.c */
int maple_corpora_prepare(struct maple_memo *copy, struct maple_error *err);
int maple_corpora_merge(struct maple_memo *memo, struct maple_error *err);

/* marks.c */
int maple_marks_states(struct maple_memo *memo, int64_t program,
		       const char *list, struct maple_memo_state *states,
		       size_t n, struct maple_error *err);
int maple_marks_site(struct maple_memo *memo,
		     const struct maple_memo_event *event, int64_t *site,
		     struct maple_error *err);
int maple_marks_class(struct maple_memo *memo, const char *name, int64_t *class,
		      struct maple_error *err);
int maple_marks_image(struct maple_memo *memo, const char *build_id,
		      const char *path, int64_t *image, struct maple_error *err);

/* runs.c */
int maple_runs_counts(struct maple_query *query,
		      struct maple_coverage *coverage);

#endif
