// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* iRoots and what happened to them: the memo proper. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include "memo/sql.h"
#include "memo/store.h"

static_assert(MAPLE_MEMO_PREDICTED == 0 && MAPLE_MEMO_OBSERVED == 1 &&
		      MAPLE_MEMO_ATTEMPT == 2 && MAPLE_MEMO_EXPOSED == 3 &&
		      MAPLE_MEMO_FAILED == 4 && MAPLE_MEMO_BROKE == 5 &&
		      MAPLE_MEMO_MENDED == 6,
	      "MAPLE_SQL_MARK spells these numbers");

/* maple_marks_image - the row of the image @build_id, made if it is new */
int maple_marks_image(struct maple_memo *memo, const char *build_id,
		      const char *path, int64_t *image, struct maple_error *err)
{
	int ret = maple_sql_find(memo, MAPLE_SQL_IMAGE_FIND, image, err, "s",
				 build_id);

	if (!ret && !*image)
		ret = maple_sql_find(memo, MAPLE_SQL_IMAGE_ADD, image, err,
				     "ss", build_id, path);
	return ret;
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
		ret = maple_sql_find(memo, MAPLE_SQL_SITE_FIND, site, err, "iiu",
				     image, offset, (unsigned int)event->call);
	if (ret)
		return ret;
	if (!*site)
		return maple_sql_find(
			memo, MAPLE_SQL_SITE_ADD, site, err, "iiussus", image,
			offset, (unsigned int)event->call, event->function,
			event->file, event->line, event->fingerprint);
	/* An older maple may have noted it without one. */
	return event->fingerprint
		       ? maple_sql_run(memo, MAPLE_SQL_SITE_PRINT, err, "is",
				       *site, event->fingerprint)
		       : 0;
}

int maple_memo_iroot(struct maple_memo *memo,
		     const struct maple_memo_iroot_key *key, int64_t *iroot,
		     struct maple_error *err)
{
	unsigned int n = maple_iroot_events(key->idiom);
	char kinds[MAPLE_IROOT_EVENTS + 1] = "";
	int64_t site[MAPLE_IROOT_EVENTS] = { 0 };
	bool ours;
	int ret;

	if (!n)
		return maple_error_set(err, EINVAL, "there is no idiom %u",
				       key->idiom);
	ret = maple_sql_enter(memo, &ours, err);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < n && !ret; i++) {
		assert(key->e[i].build_id && strchr("RWLUSC", key->e[i].kind));
		kinds[i] = key->e[i].kind;
		ret = maple_marks_site(memo, &key->e[i], &site[i], err);
	}
	if (!ret)
		ret = maple_sql_find(memo, MAPLE_SQL_IROOT_FIND, iroot, err,
				     "usiiii", key->idiom, kinds, site[0],
				     site[1], site[2], site[3]);
	if (!ret && !*iroot)
		ret = maple_sql_find(memo, MAPLE_SQL_IROOT_ADD, iroot, err,
				     "usiiii", key->idiom, kinds, site[0],
				     site[1], site[2], site[3]);
	return maple_sql_leave(memo, ours, ret, err);
}

int maple_store_mark(struct maple_memo *memo, int64_t program, int64_t iroot,
		     enum maple_memo_mark mark, struct maple_error *err)
{
	return maple_sql_run(memo, MAPLE_SQL_MARK, err, "iiu", program, iroot,
			     (unsigned int)mark);
}

/* maple_store_learn - see maple/memo.h */
int maple_store_learn(struct maple_memo *memo, int64_t program,
		      struct maple_memo_lesson *lessons, size_t n,
		      struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, &ours, err);

	if (ret)
		return ret;
	for (size_t i = 0; i < n && !ret; i++) {
		struct maple_memo_lesson *l = &lessons[i];

		ret = maple_memo_iroot(memo, &l->key, &l->iroot, err);
		if (!ret)
			ret = maple_memo_state(memo, program, l->iroot,
					       &l->state, err);
		for (unsigned int mark = 0; mark < MAPLE_MEMO_MARKS && !ret;
		     mark++)
			if (l->marks & 1u << mark)
				ret = maple_store_mark(memo, program, l->iroot,
						       mark, err);
	}
	return maple_sql_leave(memo, ours, ret, err);
}

int maple_memo_state(struct maple_memo *memo, int64_t program, int64_t iroot,
		     struct maple_memo_state *state, struct maple_error *err)
{
	sqlite3_stmt *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_STATE, &statement, err, "ii",
				program, iroot);

	if (!ret)
		ret = maple_sql_step(memo, statement, err);
	if (ret < 0)
		return ret;
	assert(ret == 1); /* an aggregate always has its row */
	state->predicted = sqlite3_column_int(statement, 0);
	state->exposed = sqlite3_column_int(statement, 1);
	state->failed = (unsigned int)sqlite3_column_int64(statement, 2);
	state->attempts = (unsigned int)sqlite3_column_int64(statement, 3);
	state->broke = sqlite3_column_int(statement, 4);
	state->exposed &= !state->broke;
	sqlite3_reset(statement);
	return 0;
}

static int add_left(struct maple_memo *memo, int64_t program,
		    struct maple_coverage *coverage, struct maple_error *err)
{
	sqlite3_stmt *s;
	int64_t idiom;
	int ret = maple_sql_get(memo, MAPLE_SQL_LEFT, &s, err, "i", program);

	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		ret = 0;
		idiom = sqlite3_column_int64(s, 0);
		if (idiom < 1 || idiom >= MAPLE_IDIOMS)
			continue;
		coverage->left[idiom] = (uint64_t)sqlite3_column_int64(s, 1);
		coverage->barred[idiom] = (uint64_t)sqlite3_column_int64(s, 2);
	}
	return ret;
}

int maple_store_coverage(struct maple_memo *memo, int64_t program,
			 struct maple_coverage *coverage,
			 struct maple_error *err)
{
	sqlite3_stmt *statement;
	int ret = maple_sql_get(memo, MAPLE_SQL_COVERAGE, &statement, err, "i",
				program);

	memset(coverage, 0, sizeof(*coverage));
	while (!ret) {
		int64_t idiom;

		ret = maple_sql_step(memo, statement, err);
		if (ret < 0)
			return ret;
		if (!ret)
			return add_left(memo, program, coverage, err);
		ret = 0;
		idiom = sqlite3_column_int64(statement, 0);
		if (idiom < 1 || idiom >= MAPLE_IDIOMS)
			continue;
		coverage->predicted[idiom] =
			(uint64_t)sqlite3_column_int64(statement, 1);
		coverage->exposed[idiom] =
			(uint64_t)sqlite3_column_int64(statement, 2);
		coverage->failed[idiom] =
			(uint64_t)sqlite3_column_int64(statement, 3);
	}
	return ret;
}

static void add_success(struct maple_memo_success *success, int64_t idiom,
			bool forced, const char *reason, bool rested, uint64_t n)
{
	unsigned int which = MAPLE_MEMO_REASONS;

	if (idiom < 1 || idiom >= MAPLE_IDIOMS)
		return;
	if (rested) {
		success->rested[idiom] += n;
		success->rested_forced[idiom] += forced ? n : 0;
		return;
	}
	success->attempted[idiom] += n;
	if (forced) {
		success->forced[idiom] += n;
		return;
	}
	while (reason && --which > MAPLE_MEMO_REASON_NONE)
		if (!strcmp(reason, maple_memo_reason_name(which)))
			break;
	if (!reason)
		which = MAPLE_MEMO_REASON_NONE;
	success->failures[which][idiom] += n;
}

int maple_store_success(struct maple_memo *memo, int64_t program,
			struct maple_memo_success *success,
			struct maple_error *err)
{
	sqlite3_stmt *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_SUCCESS, &s, err, "i", program);

	memset(success, 0, sizeof(*success));
	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		add_success(success, sqlite3_column_int64(s, 0),
			    sqlite3_column_int(s, 1),
			    (const char *)sqlite3_column_text(s, 2),
			    sqlite3_column_int(s, 3),
			    (uint64_t)sqlite3_column_int64(s, 4));
		ret = 0;
	}
	if (!ret)
		ret = maple_sql_get(memo, MAPLE_SQL_CLAIMS, &s, err, "i",
				    program);
	if (!ret)
		ret = maple_sql_step(memo, s, err);
	if (ret < 0)
		return ret;
	success->claims = (uint64_t)sqlite3_column_int64(s, 0);
	success->refused = (uint64_t)sqlite3_column_int64(s, 1);
	sqlite3_reset(s);
	return 0;
}
