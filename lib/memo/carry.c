// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is known outlives a rebuild: sites of older builds are found in the
 * new one by their fingerprints, and a goal all of whose sites are found has
 * its marks under the new sites. Marks under an older executable stay
 * there as well, since it is another program; those under an older library
 * move, since the program is the same and would have them twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "memo/sql.h"
#include "memo/store.h"

static int carry_marks(struct maple_memo *memo, int64_t old, int64_t new,
		       unsigned int *carried, struct maple_error *err)
{
	int64_t n = 0;
	int ret = maple_sql_run(memo, MAPLE_SQL_CARRY_MAKE, err, "i", old);

	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_GOALS, err, "i", old);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_LIBRARIES, err, "i",
				    old);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_PROGRAMS, err, "ii",
				    old, new);
	if (!ret)
		ret = maple_sql_find(memo, MAPLE_SQL_CARRY_COUNT, &n, err, "");
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_MARKS, err, "ii", old,
				    new);
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_LEAVE, err, "i", old);
	*carried += (unsigned int)n;
	return ret;
}

static int list_prints(struct maple_memo *memo, struct maple_memo_old *old,
		       struct maple_error *err)
{
	struct maple_query *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_CARRY_SITES, &s, err, "i",
				old->image);

	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		struct maple_memo_print *p = NULL;

		if (maple_array_resize(old->prints, old->n + 1)) {
			p = &old->prints[old->n];
			p->site = maple_sql_number(s, 0);
			p->call = maple_sql_number(s, 1);
			p->fingerprint = maple_sql_string(s, 2);
		}
		ret = 0;
		if (!p || !p->fingerprint)
			ret = maple_error_set(err, ENOMEM, "out of memory");
		else
			old->n++;
	}
	maple_sql_reset(s);
	return ret;
}

/* maple_memo_old_deinit - see maple/memo.h */
void maple_memo_old_deinit(struct maple_memo_old *old)
{
	for (size_t i = 0; i < old->n; i++)
		free(old->prints[i].fingerprint);
	free(old->prints);
	memset(old, 0, sizeof(*old));
}

/* maple_store_older - see maple/memo.h */
int maple_store_older(struct maple_memo *memo, const char *build_id,
		      const char *path, struct maple_memo_old *old,
		      struct maple_error *err)
{
	const char *name = strrchr(path, '/');
	int64_t new;
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_ALONE, &ours, err);

	memset(old, 0, sizeof(*old));
	if (ret)
		return ret;
	ret = maple_marks_image(memo, build_id, path, &new, err);
	if (!ret)
		ret = maple_sql_find(memo, MAPLE_SQL_OLDER, &old->image, err,
				     "is", new, path);
	if (!ret && !old->image && name) {
		ret = maple_sql_find(memo, MAPLE_SQL_NAMESAKE, &old->image, err,
				     "iss", new, path, name);
		old->by_name = old->image;
	}
	if (!ret && old->image)
		ret = list_prints(memo, old, err);
	ret = maple_sql_leave(memo, ours, ret, err);
	if (ret)
		maple_memo_old_deinit(old);
	return ret;
}

static int note_found(struct maple_memo *memo,
		      const struct maple_memo_carried *carried,
		      struct maple_error *err)
{
	int64_t site;
	int ret = maple_sql_numbers(memo, "carry_site", err);

	if (!ret)
		ret = maple_sql_numbers(memo, "carry_goal", err);
	if (!ret)
		ret = maple_sql_exec(memo,
				     "DELETE FROM carry_site;"
				     "DELETE FROM carry_goal",
				     err);
	for (size_t i = 0; i < carried->n && !ret; i++) {
		ret = maple_marks_site(memo, &carried->found[i], &site, err);
		if (!ret)
			ret = maple_sql_run(memo, MAPLE_SQL_CARRY_SITE, err,
					    "iii", carried->site[i], site,
					    carried->image);
	}
	return ret;
}

/* maple_store_carried - see maple/memo.h */
int maple_store_carried(struct maple_memo *memo, const char *build_id,
			const char *path,
			const struct maple_memo_carried *carried,
			unsigned int *count, struct maple_error *err)
{
	int64_t new;
	bool ours;
	int ret = maple_sql_enter(memo, MAPLE_BEGIN_ALONE, &ours, err);

	*count = 0;
	if (ret)
		return ret;
	ret = maple_marks_image(memo, build_id, path, &new, err);
	/* Another program of that name has but main in common. */
	if (!ret && carried->n &&
	    !(carried->by_name && 2 * carried->n < carried->of)) {
		ret = note_found(memo, carried, err);
		if (!ret)
			ret = carry_marks(memo, carried->image, new, count, err);
	}
	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_DONE, err, "ii",
				    carried->image, new);
	return maple_sql_leave(memo, ours, ret, err);
}
