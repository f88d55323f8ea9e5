/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A rig for the memo's unit tests: each has a database of its own, in which a
 * campaign has begun; at its end it is looked whether it is whole.
 */
#ifndef MEMO_RIG_H
#define MEMO_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <maple/memo.h>
#include "memo/sql.h"
#include "memo_place.h"
#include "ok.h"

struct fixture {
	char dir[32], path[PLACE];
	struct maple_memo *memo;
	int64_t campaign, program;
};

static inline int64_t begin_campaign(struct maple_memo *memo, const char *input)
{
	static char *const argv[] = { "prog", "-x", "\xff", NULL };
	struct maple_memo_campaign c = { argv,	   "/tmp",     input, NULL,
					 "ranked", UINT64_MAX, "0.1" };
	int64_t id;

	OK(maple_memo_campaign_begin(memo, &c, &id, &err));
	assert_true(id > 0);
	return id;
}

/* The counts of class @name in @coverage; zero if it has none. */
static inline struct maple_class_count
class_of(const struct maple_coverage *coverage, const char *name)
{
	for (unsigned int i = 0; i < coverage->nclasses; i++)
		if (!strcmp(coverage->class[i].name, name))
			return coverage->class[i];
	return (struct maple_class_count){ "" };
}

/* As maple_memo_coverage(), of one class, or of "all" */
static inline struct maple_class_count
counts_of(struct maple_memo *memo, int64_t program, const char *name)
{
	struct maple_coverage c;
	struct maple_class_count counts;

	OK(maple_memo_coverage(memo, program, &c, &err));
	counts = strcmp(name, "all") ? class_of(&c, name)
				     : maple_coverage_sum(&c);
	maple_coverage_deinit(&c);
	return counts;
}

/* The number that @sql says. */
static inline int64_t count(struct fixture *f, const char *sql)
{
	struct maple_query *s;
	int64_t n;

	OK(maple_sql_prepare(f->memo, sql, "", &s, &err));
	assert_int_equal(maple_sql_step(f->memo, s, NULL), 1);
	n = maple_sql_number(s, 0);
	maple_sql_finish(s);
	return n;
}

/* A sighting of finding @id at @when, in the campaign. */
static inline void store(struct fixture *f, char *id, uint64_t when)
{
	struct maple_finding finding = { .id = id,
					 .title = "T",
					 .kind = MAPLE_FAILURE_EXIT,
					 .found_at = when };

	OK(maple_memo_finding_store(f->memo, f->campaign, &finding, &err));
}

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_memo.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	place(f->path, f->dir, "memo ?#.db", "ours");
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	f->campaign = begin_campaign(f->memo, NULL);
	OK(maple_memo_program(f->memo, f->campaign, "aa", "/bin/p", &f->program,
			      &err));
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	if (f->memo)
		OK(maple_memo_check(f->memo, &err));
	maple_memo_close(f->memo);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
