// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Campaigns, their runs, and the coverage after each run. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <jansson.h>
#include "base/array.h"
#include "memo/machine.h"
#include "memo/spool/mirror.h"
#include "memo/sql.h"
#include "memo/store.h"
#include "base/bytes.h"

static char *encode_argv(char *const *argv)
{
	json_t *array = json_array();
	char *text = NULL;
	int bad = 0;

	for (; *argv; argv++)
		bad |= json_array_append_new(array, maple_bytes_encode(*argv));
	if (!bad)
		text = json_dumps(array, JSON_COMPACT);
	json_decref(array);
	return text;
}

#define UID_BYTES 16
#define UID_SIZE  (2 * UID_BYTES + 1)

/* What tells the campaign from all others, in any database. */
static int make_uid(char uid[UID_SIZE])
{
	unsigned char bytes[UID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -1;
	for (int i = 0; i < UID_BYTES; i++)
		sprintf(uid + 2 * i, "%02x", bytes[i]);
	return 0;
}

int maple_store_campaign_begin(struct maple_memo *memo,
			       const struct maple_memo_campaign *campaign,
			       int64_t *id, struct maple_error *err)
{
	char *argv = encode_argv(campaign->argv);
	struct maple_machine machine;
	char uid[UID_SIZE];
	int ret = maple_return_try(memo, true, err);

	maple_machine_describe(&machine);
	if (ret) {
		free(argv);
		return ret;
	}
	if (!argv)
		return maple_error_set(err, ENOMEM, "out of memory");
	if (!campaign->name && make_uid(uid)) {
		free(argv);
		return maple_error_set(err, EIO,
				       "there is no random number to name the "
				       "campaign by: %m");
	}
	ret = maple_sql_find(
		memo, MAPLE_SQL_CAMPAIGN_BEGIN, id, err, "sssssissiussss", argv,
		campaign->cwd, campaign->input, campaign->exe,
		campaign->strategy, (int64_t)campaign->seed, campaign->version,
		campaign->name ? campaign->name : uid, (int64_t)campaign->owner,
		(unsigned int)campaign->apart, machine.name, machine.cpu,
		machine.kernel, campaign->backend);
	free(argv);
	if (!ret && !*id)
		ret = maple_error_set(err, EEXIST,
				      "there is a campaign '%s' of another "
				      "user",
				      campaign->name);
	return ret;
}

int maple_store_campaign_end(struct maple_memo *memo, int64_t campaign,
			     const char *outcome, const char *unobserved,
			     const char *parts, struct maple_error *err)
{
	return maple_sql_run(memo, MAPLE_SQL_CAMPAIGN_END, err, "isss",
			     campaign, outcome, unobserved, parts);
}

int maple_store_program(struct maple_memo *memo, int64_t campaign,
			const char *build_id, const char *path,
			int64_t *program, struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_SHARED, &ours, err);

	if (ret)
		return ret;
	ret = maple_sql_find(memo, MAPLE_SQL_PROGRAM, program, err, "iss",
			     campaign, build_id, path);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CAMPAIGN_PROGRAM, err, "ii",
				    campaign, *program);
	return maple_sql_leave(memo, ours, ret, err);
}

int maple_store_run_begin(struct maple_memo *memo, int64_t campaign,
			  const struct maple_memo_run *start, int64_t *run,
			  struct maple_error *err)
{
	int64_t goal = maple_numbers_now(&memo->goals, start->goal);
	int ret;

	*run = memo->driver->run_number ? memo->driver->run_number(memo) : 0;
	if (*run)
		ret = maple_sql_run(
			memo, MAPLE_SQL_RUN_BEGIN_AS, err, "isisiuui", campaign,
			start->kind, goal, start->plan, (int64_t)start->seed,
			start->attempt, (unsigned int)start->flip, *run);
	else
		ret = maple_sql_find(memo, MAPLE_SQL_RUN_BEGIN, run, err,
				     "isisiuu", campaign, start->kind, goal,
				     start->plan, (int64_t)start->seed,
				     start->attempt, (unsigned int)start->flip);
	if (!ret && maple_numbers_tell(&memo->runs, run))
		ret = maple_error_set(err, ENOMEM, "out of memory");
	return ret;
}

const char *maple_memo_reason_name(enum maple_memo_reason reason)
{
	static const char *const names[MAPLE_MEMO_REASONS] = {
		[MAPLE_MEMO_REASON_NONE] = "none",
		[MAPLE_MEMO_REASON_EXPOSED] = "exposed",
		[MAPLE_MEMO_REASON_REFUSED] = "refused",
		[MAPLE_MEMO_REASON_UNDELIVERED] = "not delivered",
		[MAPLE_MEMO_REASON_FAILED] = "failed first",
		[MAPLE_MEMO_REASON_UNREACHED] = "never reached",
		[MAPLE_MEMO_REASON_GAVE_UP] = "gave up",
		[MAPLE_MEMO_REASON_UNMET] = "never met",
	};

	assert((unsigned int)reason < MAPLE_MEMO_REASONS);
	return names[reason];
}

int maple_store_run_end(struct maple_memo *memo, int64_t run,
			const struct maple_memo_run_end *end,
			struct maple_error *err)
{
	const char *reason = end->reason ? maple_memo_reason_name(end->reason)
					 : NULL;

	return maple_sql_run(
		memo, MAPLE_SQL_RUN_END, err, "isiidduuusuu",
		maple_numbers_now(&memo->runs, run), end->verdict,
		(int64_t)end->signo, (int64_t)end->status, end->seconds,
		end->cpu_seconds, (unsigned int)end->delivered,
		(unsigned int)end->exposed, (unsigned int)end->claimed, reason,
		(unsigned int)end->rested, end->news);
}

int maple_store_sample(struct maple_memo *memo, int64_t run,
		       const struct maple_coverage *coverage,
		       struct maple_error *err)
{
	struct maple_sample_row rows[MAPLE_CLASSES];
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_SHARED, &ours, err);

	if (ret)
		return ret;
	assert(coverage->nclasses <= MAPLE_CLASSES);
	for (unsigned int i = 0; i < coverage->nclasses && !ret; i++) {
		const struct maple_class_count *c = &coverage->class[i];

		rows[i] = (struct maple_sample_row){
			.predicted = (int64_t)c->predicted,
			.exposed = (int64_t)c->exposed,
			.failed = (int64_t)c->failed,
			.left = (int64_t)c->left,
			.barred = (int64_t)c->barred,
		};
		ret = maple_marks_class(memo, c->name, &rows[i].class, err);
	}
	if (!ret && coverage->nclasses)
		ret = maple_sql_sample(memo, maple_numbers_now(&memo->runs, run),
				       rows, coverage->nclasses, err);
	return maple_sql_leave(memo, ours, ret, err);
}

/*
 * maple_runs_counts - adds the row at hand, a class and its counts from column
 * 1 on, to @coverage; -ENOMEM, or 0. What is no class's is left out.
 */
int maple_runs_counts(struct maple_query *statement,
		      struct maple_coverage *coverage)
{
	const char *name = maple_sql_text_of(statement, 1);
	struct maple_class_count *c;

	if (!maple_class_is_name(name) || coverage->nclasses == MAPLE_CLASSES)
		return 0;
	c = maple_coverage_class(coverage, name);
	if (!c)
		return -ENOMEM;
	c->predicted = (uint64_t)maple_sql_number(statement, 2);
	c->exposed = (uint64_t)maple_sql_number(statement, 3);
	c->failed = (uint64_t)maple_sql_number(statement, 4);
	c->left = (uint64_t)maple_sql_number(statement, 5);
	c->barred = (uint64_t)maple_sql_number(statement, 6);
	return 0;
}

/* Adds the row at hand to the last sample or to a new one. */
static int add_row(struct maple_query *statement,
		   struct maple_memo_sample **samples, size_t *n)
{
	int64_t run = maple_sql_number(statement, 0);

	if (!*n || (*samples)[*n - 1].run != run) {
		if (!maple_array_extend(*samples, *n, *n + 1))
			return -ENOMEM;
		(*samples)[(*n)++].run = run;
	}
	return maple_runs_counts(statement, &(*samples)[*n - 1].coverage);
}

void maple_memo_samples_destroy(struct maple_memo_sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maple_coverage_deinit(&samples[i].coverage);
	free(samples);
}

int maple_store_samples(struct maple_memo *memo, int64_t program, int64_t since,
			struct maple_memo_sample **samples, size_t *n,
			struct maple_error *err)
{
	struct maple_query *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_SAMPLES, &statement, err, "ii",
				program, since);

	*samples = NULL;
	*n = 0;
	while (!ret) {
		ret = maple_sql_step(memo, statement, err);
		if (!ret)
			return 0;
		if (ret > 0) {
			ret = add_row(statement, samples, n);
			if (ret)
				maple_error_set(err, ENOMEM, "out of memory");
		}
	}
	maple_sql_reset(statement);
	maple_memo_samples_destroy(*samples, *n);
	*samples = NULL;
	*n = 0;
	return ret;
}

int maple_memo_resume(struct maple_memo *memo, int64_t campaign,
		      const char *name, uint64_t owner, int64_t *program,
		      struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_CAMPAIGN_RESUME, &s, err, "isi",
				campaign, name, (int64_t)owner);

	if (!ret)
		ret = maple_sql_step(memo, s, err);
	if (ret < 0)
		return ret;
	if (!ret)
		return maple_error_set(err, ENOENT,
				       "there is no campaign %lld of yours",
				       (long long)campaign);
	*program = maple_sql_number(s, 0);
	maple_sql_reset(s);
	return 0;
}

int maple_memo_done(struct maple_memo *memo, int64_t campaign, uint32_t serial,
		    int64_t *answer, struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_CAMPAIGN_DONE, &s, err, "iu",
				campaign, serial);

	if (!ret)
		ret = maple_sql_step(memo, s, err);
	if (ret <= 0)
		return ret;
	*answer = maple_sql_number(s, 0);
	maple_sql_reset(s);
	return 1;
}

int maple_memo_note(struct maple_memo *memo, int64_t campaign, uint32_t serial,
		    int64_t answer, uint64_t bytes, struct maple_error *err)
{
	return maple_sql_run(memo, MAPLE_SQL_CAMPAIGN_NOTE, err, "iuii",
			     campaign, serial, answer, (int64_t)bytes);
}

int maple_memo_charge(struct maple_memo *memo, int64_t campaign, uint64_t bytes,
		      struct maple_error *err)
{
	return maple_sql_run(memo, MAPLE_SQL_CHARGE, err, "ii", campaign,
			     (int64_t)bytes);
}

int maple_memo_usage(struct maple_memo *memo, uid_t owner, uint64_t *bytes,
		     struct maple_error *err)
{
	int64_t n;
	int ret = maple_sql_find(memo, MAPLE_SQL_USAGE, &n, err, "i",
				 (int64_t)owner);

	*bytes = n > 0 ? (uint64_t)n : 0;
	return ret;
}

int maple_memo_foreign(struct maple_memo *memo, int64_t program, uint64_t owner,
		       int64_t *n, struct maple_error *err)
{
	return maple_sql_find(memo, MAPLE_SQL_FOREIGN, n, err, "ii", program,
			      (int64_t)owner);
}

int maple_memo_run_campaign(struct maple_memo *memo, int64_t run,
			    int64_t *campaign, struct maple_error *err)
{
	return maple_sql_find(memo, MAPLE_SQL_RUN_CAMPAIGN, campaign, err, "i",
			      run);
}
