/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What maple/memo.h promises, of a database that this process has open;
 * memo.c chooses between this and mapled's.
 */
#ifndef MAPLE_MEMO_STORE_H
#define MAPLE_MEMO_STORE_H

#include <maple/memo.h>

int maple_store_check(struct maple_memo *memo, struct maple_error *err);
int maple_store_campaign_begin(struct maple_memo *memo,
			       const struct maple_memo_campaign *campaign,
			       int64_t *id, struct maple_error *err);
int maple_store_campaign_end(struct maple_memo *memo, int64_t campaign,
			     const char *outcome, const char *unobserved,
			     struct maple_error *err);
int maple_store_program(struct maple_memo *memo, int64_t campaign,
			const char *build_id, const char *path,
			int64_t *program, struct maple_error *err);
int maple_store_learn(struct maple_memo *memo, int64_t program,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err);
int maple_store_mark(struct maple_memo *memo, int64_t program, int64_t iroot,
		     enum maple_memo_mark mark, struct maple_error *err);
int maple_store_run_begin(struct maple_memo *memo, int64_t campaign,
			  const struct maple_memo_run *start, int64_t *run,
			  struct maple_error *err);
int maple_store_run_end(struct maple_memo *memo, int64_t run,
			const struct maple_memo_run_end *end,
			struct maple_error *err);
int maple_store_sample(struct maple_memo *memo, int64_t run,
		       const struct maple_coverage *coverage,
		       struct maple_error *err);
int maple_store_samples(struct maple_memo *memo, int64_t program, int64_t since,
			struct maple_memo_sample **samples, size_t *n,
			struct maple_error *err);
int maple_store_coverage(struct maple_memo *memo, int64_t program,
			 struct maple_coverage *coverage,
			 struct maple_error *err);
int maple_store_success(struct maple_memo *memo, int64_t program,
			struct maple_memo_success *success,
			struct maple_error *err);
int maple_store_programs(struct maple_memo *memo,
			 struct maple_memo_program_info **programs, size_t *n,
			 struct maple_error *err);
int maple_store_findings(struct maple_memo *memo, int64_t program, bool known,
			 struct maple_finding ***findings, size_t *n,
			 struct maple_error *err);
int maple_store_finding_load(struct maple_memo *memo, const char *id,
			     int64_t owner, struct maple_finding **finding,
			     struct maple_error *err);
int maple_store_finding_store(struct maple_memo *memo, int64_t campaign,
			      const struct maple_finding *finding,
			      struct maple_error *err);
int maple_store_forget_program(struct maple_memo *memo, int64_t program,
			       int64_t keep, struct maple_error *err);
int maple_store_forget_finding(struct maple_memo *memo, const char *id,
			       uid_t owner, struct maple_error *err);
int maple_store_forget_all(struct maple_memo *memo, struct maple_error *err);
int maple_store_export(struct maple_memo *memo, FILE *out,
		       struct maple_error *err);
int maple_store_older(struct maple_memo *memo, const char *build_id,
		      const char *path, struct maple_memo_old *old,
		      struct maple_error *err);
int maple_store_carried(struct maple_memo *memo, const char *build_id,
			const char *path,
			const struct maple_memo_carried *carried,
			unsigned int *count, struct maple_error *err);

int maple_store_merge(struct maple_memo *memo, const char *path,
		      struct maple_error *err);

#endif
