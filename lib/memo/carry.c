// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is known outlives a rebuild: sites of older builds are found in the
 * new one by their fingerprints, and an iRoot all of whose sites are found
 * has its marks under the new sites. Marks under an older executable stay
 * there as well, since it is another program; those under an older library
 * move, since the program is the same and would have them twice.
 */
#include <errno.h>
#include <string.h>
#include "memo/sql.h"

#define OLDER_BUILDS 8 /* that are looked at in a campaign */

static const char tables[] = "CREATE TEMP TABLE IF NOT EXISTS carry_site("
			     " old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			     "CREATE TEMP TABLE IF NOT EXISTS carry_iroot("
			     " old INTEGER PRIMARY KEY, new INTEGER NOT NULL);"
			     "DELETE FROM carry_site; DELETE FROM carry_iroot";

/* The sites of image @old that @build has; of @n, @found are. */
static int find_sites(struct maple_memo *memo, int64_t old,
		      const struct maple_memo_build *build, uint64_t *n,
		      uint64_t *found, struct maple_error *err)
{
	sqlite3_stmt *s;
	int ret = maple_sql_get(memo, MAPLE_SQL_CARRY_SITES, &s, err, "i", old);

	*n = *found = 0;
	while (!ret && (ret = maple_sql_step(memo, s, err)) > 0) {
		struct maple_memo_event now = { 0 };
		const char *text = (const char *)sqlite3_column_text(s, 2);
		int64_t site;

		++*n;
		now.call = sqlite3_column_int(s, 1);
		ret = build->find(build->ctx, text, now.call, &now);
		if (ret == -ENOMEM) {
			maple_error_set(err, ENOMEM, "out of memory");
			break;
		}
		if (ret) {
			ret = 0;
			continue;
		}
		++*found;
		now.build_id = build->build_id;
		now.image = build->path;
		ret = maple_marks_site(memo, &now, &site, err);
		if (!ret)
			ret = maple_sql_run(memo, MAPLE_SQL_CARRY_SITE, err,
					    "ii", sqlite3_column_int64(s, 0),
					    site);
	}
	sqlite3_reset(s);
	return ret;
}

static int carry_marks(struct maple_memo *memo, int64_t old, int64_t new,
		       unsigned int *carried, struct maple_error *err)
{
	int64_t n = 0;
	int ret = maple_sql_run(memo, MAPLE_SQL_CARRY_MAKE, err, "i", old);

	if (!ret)
		ret = maple_sql_run(memo, MAPLE_SQL_CARRY_IROOTS, err, "i", old);
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

static int carry_one(struct maple_memo *memo, int64_t old, int64_t new,
		     const struct maple_memo_build *build, bool namesake,
		     unsigned int *carried, struct maple_error *err)
{
	uint64_t n, found;
	int ret = 0;

	if (build->find) {
		ret = maple_sql_exec(memo, tables, err);
		if (!ret)
			ret = find_sites(memo, old, build, &n, &found, err);
		/* Another program of that name has but main in common. */
		if (!ret && found && !(namesake && 2 * found < n))
			ret = carry_marks(memo, old, new, carried, err);
	}
	return ret ? ret
		   : maple_sql_run(memo, MAPLE_SQL_CARRY_DONE, err, "ii", old,
				   new);
}

/*
 * Each round takes the newest build that is left. A few are enough: what they
 * know holds what was carried to them.
 */
static int carry_all(struct maple_memo *memo,
		     const struct maple_memo_build *build,
		     unsigned int *carried, struct maple_error *err)
{
	const char *name = strrchr(build->path, '/');
	int64_t old, new;
	int ret = maple_marks_image(memo, build->build_id, build->path, &new,
				    err);

	for (int i = 0; i < OLDER_BUILDS && !ret; i++) {
		ret = maple_sql_find(memo, MAPLE_SQL_OLDER, &old, err, "is",
				     new, build->path);
		if (ret || !old)
			break;
		ret = carry_one(memo, old, new, build, false, carried, err);
	}
	if (ret || !name)
		return ret;
	ret = maple_sql_find(memo, MAPLE_SQL_NAMESAKE, &old, err, "iss", new,
			     build->path, name);
	if (!ret && old)
		ret = carry_one(memo, old, new, build, true, carried, err);
	return ret;
}

int maple_memo_carry(struct maple_memo *memo,
		     const struct maple_memo_build *build,
		     unsigned int *carried, struct maple_error *err)
{
	bool ours;
	int ret = maple_sql_enter(memo, &ours, err);

	*carried = 0;
	if (ret)
		return ret;
	ret = carry_all(memo, build, carried, err);
	return maple_sql_leave(memo, ours, ret, err);
}
