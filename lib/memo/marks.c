// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Goals and what happened to them: the memo proper. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "memo/spool/mirror.h"
#include "memo/sql.h"
#include "memo/store.h"

#define DIGITS	21 /* of a number, with what stands before it */
#define LESSONS 16 /* in a transaction */

static_assert(MAPLE_MEMO_PREDICTED == 0 && MAPLE_MEMO_OBSERVED == 1 &&
		      MAPLE_MEMO_ATTEMPT == 2 && MAPLE_MEMO_EXPOSED == 3 &&
		      MAPLE_MEMO_FAILED == 4 && MAPLE_MEMO_BROKE == 5 &&
		      MAPLE_MEMO_MENDED == 6,
	      "MAPLE_SQL_MARK spells these numbers");

/* maple_marks_image - the row of the image @build_id, made if it is new */
int maple_marks_image(struct maple_memo *memo, const char *build_id,
		      const char *path, int64_t *image, struct maple_error *err)
{
	return maple_sql_row(memo, MAPLE_SQL_IMAGE_FIND, "s",
			     MAPLE_SQL_IMAGE_ADD, image, err, "ss", build_id,
			     path);
}

/* maple_marks_site - the row of the site of @event, made if it is new */
int maple_marks_site(struct maple_memo *memo,
		     const struct maple_memo_event *event, int64_t *site,
		     struct maple_error *err)
{
	int64_t image, offset = (int64_t)event->offset;
	int ret = maple_marks_image(memo, event->build_id, event->image, &image,
				    err);

	if (!ret)
		ret = maple_sql_row(memo, MAPLE_SQL_SITE_FIND, "iiu",
				    MAPLE_SQL_SITE_ADD, site, err, "iiussus",
				    image, offset, (unsigned int)event->call,
				    event->function, event->file, event->line,
				    event->fingerprint);
	/* An older maple may have noted it without one. */
	if (!ret && event->fingerprint && !maple_mirror_knows(memo))
		ret = maple_sql_run(memo, MAPLE_SQL_SITE_PRINT, err, "is",
				    *site, event->fingerprint);
	return ret;
}

/* maple_marks_class - the row of the class @name, made if it is new */
int maple_marks_class(struct maple_memo *memo, const char *name, int64_t *class,
		      struct maple_error *err)
{
	if (!maple_class_is_name(name))
		return maple_error_set(err, EINVAL, "there is no class '%s'",
				       name ? name : "");
	return maple_sql_row(memo, MAPLE_SQL_CLASS_FIND, "s",
			     MAPLE_SQL_CLASS_ADD, class, err, "s", name);
}

/* A goal's columns; lists are [1,2], as SQLite's json_group_array() has them */
struct goal_row {
	int64_t class;
	char kinds[MAPLE_GOAL_USES + 1];
	char sites[MAPLE_GOAL_USES * 21 + 2];
	char contexts[MAPLE_GOAL_USES * 21 + 2];
};

static void append(char *list, unsigned int i, unsigned int n, int64_t number)
{
	sprintf(list + strlen(list), "%c%" PRId64 "%s", i ? ',' : '[', number,
		i + 1 == n ? "]" : "");
}

static int fill_row(struct maple_memo *memo,
		    const struct maple_memo_goal_key *key, struct goal_row *row,
		    struct maple_error *err)
{
	bool contexts = false;
	int64_t site = 0;
	int ret = maple_marks_class(memo, key->class, &row->class, err);

	for (unsigned int i = 0; i < key->n && !ret; i++) {
		const struct maple_memo_event *use = &key->use[i];

		assert(use->build_id && strchr("RWLUSC", use->kind));
		row->kinds[i] = use->kind;
		ret = maple_marks_site(memo, use, &site, err);
		append(row->sites, i, key->n, site);
		append(row->contexts, i, key->n, (int64_t)use->context);
		contexts |= use->context;
	}
	if (!contexts)
		*row->contexts = '\0';
	return ret;
}

int maple_memo_goal(struct maple_memo *memo,
		    const struct maple_memo_goal_key *key, int64_t *goal,
		    struct maple_error *err)
{
	struct goal_row row = { 0 };
	bool ours;
	int ret;

	if (!key->n || key->n > MAPLE_GOAL_USES)
		return maple_error_set(err, EINVAL,
				       "a goal uses 1 to %d sites, not %u",
				       MAPLE_GOAL_USES, key->n);
	ret = maple_sql_enter(memo, MAPLE_BEGIN_SHARED, &ours, err);
	if (ret)
		return ret;
	ret = fill_row(memo, key, &row, err);
	if (!ret)
		ret = maple_sql_row(memo, MAPLE_SQL_GOAL_FIND, "isss",
				    MAPLE_SQL_GOAL_ADD, goal, err, "isss",
				    row.class, row.kinds, row.sites,
				    row.contexts);
	if (!ret && maple_numbers_tell(&memo->goals, goal))
		ret = maple_error_set(err, ENOMEM, "out of memory");
	return maple_sql_leave(memo, ours, ret, err);
}

int maple_store_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		     enum maple_memo_mark mark, struct maple_error *err)
{
	return maple_sql_mark(memo, program,
			      maple_numbers_now(&memo->goals, goal),
			      (unsigned int)mark, err);
}

static void read_state(struct maple_query *row, struct maple_memo_state *state)
{
	state->predicted = maple_sql_number(row, 0);
	state->exposed = maple_sql_number(row, 1);
	state->failed = (unsigned int)maple_sql_number(row, 2);
	state->attempts = (unsigned int)maple_sql_number(row, 3);
	state->broke = maple_sql_number(row, 4);
	state->exposed &= !state->broke;
}

int maple_memo_state(struct maple_memo *memo, int64_t program, int64_t goal,
		     struct maple_memo_state *state, struct maple_error *err)
{
	struct maple_query *statement;
	int ret = maple_sql_ask(memo, MAPLE_SQL_STATE, &statement, err, "ii",
				program, maple_numbers_now(&memo->goals, goal));

	if (ret < 0)
		return ret;
	assert(ret == 1); /* an aggregate always has its row */
	read_state(statement, state);
	maple_sql_reset(statement);
	return 0;
}

/*
 * maple_marks_states - of the goals of the @list [1,2,...], that are as many
 * @states
 */
int maple_marks_states(struct maple_memo *memo, int64_t program,
		       const char *list, struct maple_memo_state *states,
		       size_t n, struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_ask(memo, MAPLE_SQL_STATES, &s, err, "is", program,
				list);

	for (size_t i = 0; i < n && ret > 0; i++) {
		read_state(s, &states[i]);
		ret = maple_sql_step(memo, s, err);
		assert(ret || i + 1 == n); /* each has a row */
	}
	return ret > 0 ? 0 : ret;
}

/* What is known of the goals of @lessons, in one question. */
static int ask_states(struct maple_memo *memo, int64_t program,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err)
{
	struct maple_memo_state *states;
	size_t at = 0;
	char *list;
	int ret;

	if (n == 1)
		return maple_memo_state(memo, program, lessons->goal,
					&lessons->state, err);
	states = calloc(n, sizeof(*states));
	list = calloc(n + 1, DIGITS);
	for (size_t i = 0; i < n && list; i++)
		at += (size_t)sprintf(
			list + at, "%c%" PRId64, i ? ',' : '[',
			maple_numbers_now(&memo->goals, lessons[i].goal));
	if (states && list) {
		strcpy(list + at, "]");
		ret = maple_marks_states(memo, program, list, states, n, err);
	} else {
		ret = maple_error_set(err, ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n && !ret; i++)
		lessons[i].state = states[i];
	free(states);
	free(list);
	return ret;
}

static int learn_marks(struct maple_memo *memo, int64_t program,
		       const struct maple_memo_lesson *l,
		       struct maple_error *err)
{
	int ret = 0;

	for (unsigned int mark = 0; mark < MAPLE_MEMO_MARKS && !ret; mark++)
		if (l->marks & 1u << mark)
			ret = maple_store_mark(memo, program, l->goal, mark,
					       err);
	return ret;
}

static int learn_some(struct maple_memo *memo, int64_t program,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_SHARED, &ours, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < n && !ret; i++)
		ret = maple_memo_goal(memo, &lessons[i].key, &lessons[i].goal,
				      err);
	if (!ret && n)
		ret = ask_states(memo, program, lessons, n, err);
	for (size_t i = 0; i < n && !ret; i++)
		maple_mirror_state(memo, program, lessons[i].goal,
				   &lessons[i].state);
	for (size_t i = 0; i < n && !ret; i++)
		ret = learn_marks(memo, program, &lessons[i], err);
	return maple_sql_leave(memo, ours, ret, err);
}

/* maple_store_learn - see maple/memo.h */
int maple_store_learn(struct maple_memo *memo, int64_t program,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err)
{
	/* Where others may wait for what is new, a little at a time. */
	size_t some = memo->driver->lock ? LESSONS : n;
	int ret = 0;

	for (size_t at = 0; at < n && !ret; at += some)
		ret = learn_some(memo, program, lessons + at,
				 n - at < some ? n - at : some, err);
	return ret;
}

int maple_store_coverage(struct maple_memo *memo, int64_t program,
			 struct maple_coverage *coverage,
			 struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_COVERAGE, &s, err, "i", program);

	*coverage = (struct maple_coverage){ 0 };
	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		ret = maple_runs_counts(s, coverage);
		if (ret)
			maple_error_set(err, ENOMEM, "out of memory");
	}
	maple_sql_reset(s);
	if (ret)
		maple_coverage_deinit(coverage);
	return ret;
}

struct maple_class_tries *maple_memo_tries(struct maple_memo_success *success,
					   const char *name)
{
	unsigned int n = success->nclasses, i;

	for (i = 0; i < n; i++)
		if (!strcmp(success->class[i].name, name))
			return &success->class[i];
	if (n == MAPLE_CLASSES || !maple_class_is_name(name) ||
	    !maple_array_extend(success->class, n, n + 1))
		return NULL;
	strcpy(success->class[n].name, name);
	return &success->class[success->nclasses++];
}

void maple_memo_success_deinit(struct maple_memo_success *success)
{
	free(success->class);
	*success = (struct maple_memo_success){ 0 };
}

static void add_tries(struct maple_class_tries *tries, bool forced,
		      const char *reason, bool rested, uint64_t n)
{
	unsigned int which = MAPLE_MEMO_REASONS;

	if (rested) {
		tries->rested += n;
		tries->rested_forced += forced ? n : 0;
		return;
	}
	tries->attempted += n;
	if (forced) {
		tries->forced += n;
		return;
	}
	while (reason && --which > MAPLE_MEMO_REASON_NONE)
		if (!strcmp(reason, maple_memo_reason_name(which)))
			break;
	if (!reason)
		which = MAPLE_MEMO_REASON_NONE;
	tries->failures[which] += n;
}

static int add_success(struct maple_memo_success *success, struct maple_query *s)
{
	const char *name = maple_sql_text_of(s, 0);
	struct maple_class_tries *tries;

	if (!maple_class_is_name(name) || success->nclasses == MAPLE_CLASSES)
		return 0;
	tries = maple_memo_tries(success, name);
	if (!tries)
		return -ENOMEM;
	add_tries(tries, maple_sql_number(s, 1), maple_sql_text_of(s, 2),
		  maple_sql_number(s, 3), (uint64_t)maple_sql_number(s, 4));
	return 0;
}

int maple_store_success(struct maple_memo *memo, int64_t program,
			struct maple_memo_success *success,
			struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_SUCCESS, &s, err, "i", program);

	*success = (struct maple_memo_success){ 0 };
	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		ret = add_success(success, s);
		if (ret)
			maple_error_set(err, ENOMEM, "out of memory");
	}
	maple_sql_reset(s);
	if (!ret)
		ret = maple_sql_get(memo, MAPLE_SQL_CLAIMS, &s, err, "i",
				    program);
	if (!ret)
		ret = maple_sql_step(memo, s, err);
	if (ret < 0) {
		maple_memo_success_deinit(success);
		return ret;
	}
	success->claims = (uint64_t)maple_sql_number(s, 0);
	success->refused = (uint64_t)maple_sql_number(s, 1);
	maple_sql_reset(s);
	return 0;
}
