/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_HOST_CALLS_H
#define MAPLE_HOST_CALLS_H

/*
 * The calls of maple/memo.h that either mapled answers (maple_host_NAME) or a
 * database of ours (maple_store_NAME): C(name, arguments, their names), each
 * without the first.
 */
/* clang-format off */
#define MAPLE_MEMO_CALLS(C) \
	C(check, (struct maple_error *err), (err)) \
	C(campaign_begin, (const struct maple_memo_campaign *campaign, \
	  int64_t *id, struct maple_error *err), (campaign, id, err)) \
	C(campaign_end, (int64_t campaign, const char *outcome, \
	  const char *unobserved, const char *parts, \
	  struct maple_error *err), \
	  (campaign, outcome, unobserved, parts, err)) \
	C(program, (int64_t campaign, const char *build_id, const char *path, \
	  int64_t *program, struct maple_error *err), \
	  (campaign, build_id, path, program, err)) \
	C(learn, (int64_t program, struct maple_memo_lesson *lessons, \
	  size_t n, struct maple_error *err), (program, lessons, n, err)) \
	C(mark, (int64_t program, int64_t goal, enum maple_memo_mark mark, \
	  struct maple_error *err), (program, goal, mark, err)) \
	C(run_begin, (int64_t campaign, const struct maple_memo_run *start, \
	  int64_t *run, struct maple_error *err), (campaign, start, run, err)) \
	C(run_end, (int64_t run, const struct maple_memo_run_end *end, \
	  struct maple_error *err), (run, end, err)) \
	C(sample, (int64_t run, const struct maple_coverage *coverage, \
	  struct maple_error *err), (run, coverage, err)) \
	C(samples, (int64_t program, int64_t since, \
	  struct maple_memo_sample **samples, size_t *n, \
	  struct maple_error *err), (program, since, samples, n, err)) \
	C(coverage, (int64_t program, struct maple_coverage *coverage, \
	  struct maple_error *err), (program, coverage, err)) \
	C(reached, (int64_t program, char ***texts, size_t *n, \
	  struct maple_error *err), (program, texts, n, err)) \
	C(success, (int64_t program, struct maple_memo_success *success, \
	  struct maple_error *err), (program, success, err)) \
	C(programs, (struct maple_memo_program_info **programs, size_t *n, \
	  struct maple_error *err), (programs, n, err)) \
	C(machines, (bool always, struct maple_memo_machine **machines, \
	  size_t *n, struct maple_error *err), (always, machines, n, err)) \
	C(hours, (struct maple_memo_hour **hours, size_t *n, \
	  struct maple_error *err), (hours, n, err)) \
	C(finding_load, (const char *id, int64_t owner, \
	  struct maple_finding **finding, struct maple_error *err), \
	  (id, owner, finding, err)) \
	C(finding_store, (int64_t campaign, \
	  const struct maple_finding *finding, struct maple_error *err), \
	  (campaign, finding, err)) \
	C(corpus_keep, (int64_t campaign, const char *strategy, \
	  const char *text, struct maple_error *err), \
	  (campaign, strategy, text, err)) \
	C(corpus_recall, (int64_t campaign, const char *strategy, \
	  char **text, struct maple_error *err), \
	  (campaign, strategy, text, err)) \
	C(forget_program, (int64_t program, int64_t keep, \
	  struct maple_error *err), (program, keep, err)) \
	C(forget_finding, (const char *id, uid_t owner, \
	  struct maple_error *err), (id, owner, err)) \
	C(forget_all, (struct maple_error *err), (err)) \
	C(export, (FILE *out, struct maple_error *err), (out, err)) \
	C(older, (const char *build_id, const char *path, \
	  struct maple_memo_old *old, struct maple_error *err), \
	  (build_id, path, old, err)) \
	C(carried, (const char *build_id, const char *path, \
	  const struct maple_memo_carried *carried, unsigned int *count, \
	  struct maple_error *err), (build_id, path, carried, count, err))
/* clang-format on */

#define MAPLE_MEMO_ARGUMENTS(...) __VA_ARGS__

#endif
