/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A test program with many cases, each tested by campaigns of its own: what
 * one case does in a harmless order says nothing about another, so each has a
 * memory of its own: by its arguments, or, with an input's name, by that and
 * the case.
 *
 * Context: as a campaign, <maple/campaign.h>.
 */
#ifndef MAPLE_SUITE_H
#define MAPLE_SUITE_H

#include <stdbool.h>
#include <maple/campaign.h>
#include <maple/error.h>
#include <maple/memo.h>

struct maple_suite_case {
	char *name;
	char **argv; /* what runs this case alone */
	/* What its campaigns came to, together; NULL: none was carried out. */
	struct maple_campaign_result *result;
	char *error; /* why a campaign could not be; or NULL */
};

struct maple_suite {
	const char *framework; /* "gtest", ..., or "list"; not owned */
	unsigned int n;
	struct maple_suite_case *cases;
	unsigned int disabled; /* cases that the program itself leaves out */
	double seconds;	       /* of maple_suite_run() */
};

/*
 * maple_suite_create - finds out which cases a test program has
 * @argv: the program and its arguments
 * @list: shell command that prints a case a line, or NULL: the program is
 *	asked as the known frameworks are, which runs it. With a command each
 *	"{}" in @argv becomes the case; without one the case comes last.
 *
 * Errors: -ENOENT, -EACCES the program is not there or cannot be run, -ENOMSG
 * its cases cannot be found out, -ENOMEM, another -errno of starting it.
 */
int maple_suite_create(char *const *argv, const char *list,
		       struct maple_suite **suite, struct maple_error *err);
void maple_suite_destroy(struct maple_suite *suite);

/*
 * maple_suite_share - leaves those cases that are task @task's, of @of tasks
 * @task: from 1 to @of
 *
 * Each case is one task's, whichever order they are started in, if all find the
 * same cases.
 */
void maple_suite_share(struct maple_suite *suite, unsigned int task,
		       unsigned int of);

/*
 * maple_suite_run - tests all cases
 * @options: of each campaign, but for argv, input and apart, which are the
 *	case's; max_time is for all of them together, max_runs for each
 * @begin: called with the options of each campaign that begins, and its case
 *
 * With a max_time the cases are tested in rounds. In each a case gets a slice,
 * a larger one if it has no verdict yet, or its last one brought new iRoots.
 *
 * Returns 0 when all that could be was done, also if that was nothing for some
 * cases. Errors: those of maple_campaign_run() that concern every case.
 */
int maple_suite_run(struct maple_suite *suite,
		    const struct maple_campaign_options *options,
		    struct maple_memo *memo,
		    void (*begin)(void *ctx,
				  const struct maple_campaign_options *options,
				  const struct maple_suite_case *c),
		    struct maple_error *err);

enum maple_suite_verdict {
	MAPLE_SUITE_CLEAN,    /* tested, nothing found */
	MAPLE_SUITE_FOUND,    /* ... something found */
	MAPLE_SUITE_SINGLE,   /* it never has a second thread */
	MAPLE_SUITE_UNTESTED, /* not tested, or not delivered */
	MAPLE_SUITE_VERDICTS,
};

/* maple_suite_verdict_name - "clean", "finding", "single-threaded", ... */
const char *maple_suite_verdict_name(enum maple_suite_verdict verdict);

/* maple_suite_judge - what is to be said of @c */
enum maple_suite_verdict maple_suite_judge(const struct maple_suite_case *c);

/* maple_suite_why - why @c is UNTESTED or SINGLE; a sentence, not owned */
const char *maple_suite_why(const struct maple_suite_case *c);

/*
 * maple_suite_sum - the verdict of all
 * @count: by verdict, of how many cases it is; or NULL
 *
 * FOUND if any has a finding, else UNTESTED if any case was not tested; SINGLE
 * if all are; and CLEAN only else.
 */
enum maple_suite_verdict
maple_suite_sum(const struct maple_suite *suite,
		unsigned int count[MAPLE_SUITE_VERDICTS]);

#endif
