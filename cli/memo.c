// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest memo list, forget, merge, deliver, export. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli.h"

static void print_program(FILE *out, const struct maple_memo_program_info *p)
{
	struct maple_class_count all = maple_coverage_sum(&p->coverage);
	time_t when = (time_t)p->last_used;
	char date[32] = "never";

	if (when)
		strftime(date, sizeof(date), "%F %R", localtime(&when));
	fprintf(out,
		"%4" PRId64 "  %-16s  %5u  %9" PRIu64 "  %7" PRIu64 "  %8u  ",
		p->id, date, p->runs, all.predicted, all.exposed, p->findings);
	maple_database_name(out, p);
	putc('\n', out);
}

static int list(struct maple_settings *settings, struct maple_memo *memo,
		FILE *out)
{
	struct maple_memo_program_info *programs;
	struct maple_error err = { "" };
	size_t n;

	if (maple_memo_programs(memo, &programs, &n, &err))
		return maple_say_failed(&err);
	if (settings->format)
		maple_report_json_programs(out, programs, n, NULL);
	else if (!n)
		fputs("no programs\n", out);
	else
		fputs("   #  last used          runs  predicted  exposed"
		      "  findings  program\n",
		      out);
	for (size_t i = 0; i < n && !settings->format; i++)
		print_program(out, &programs[i]);
	maple_memo_programs_destroy(programs, n);
	return 0;
}

static int export(struct maple_settings *settings, struct maple_memo *memo,
		  FILE *out)
{
	struct maple_error err = { "" };

	if (maple_memo_export(memo, out, &err))
		return maple_say_failed(&err);
	return 0;
}

/* A finding if there is one of that name, else a program. */
static int forget_one(struct maple_memo *memo, const char *word)
{
	struct maple_memo_program_info *programs;
	struct maple_error err = { "" };
	struct maple_finding *finding;
	size_t n, which;
	int ret;

	if (maple_memo_programs(memo, &programs, &n, &err))
		return maple_say_failed(&err);
	if (!maple_database_select(word, programs, n, &which)) {
		ret = maple_memo_forget_program(memo, programs[which].id, 0,
						&err);
	} else {
		maple_memo_programs_destroy(programs, n);
		ret = maple_database_finding(memo, word, &finding);
		if (ret)
			return ret;
		ret = maple_memo_forget_finding(memo, finding->id,
						finding->owner, &err);
		maple_finding_destroy(finding);
		return ret ? maple_say_failed(&err) : 0;
	}
	maple_memo_programs_destroy(programs, n);
	return ret ? maple_say_failed(&err) : 0;
}

static int forget(struct maple_settings *settings, struct maple_memo *memo,
		  FILE *out)
{
	struct maple_error err = { "" };
	int ret = 0;

	if (settings->all) {
		if (maple_memo_forget_all(memo, &err))
			ret = maple_say_failed(&err);
		return ret;
	}
	for (int i = 1; i < settings->argc && !ret; i++)
		ret = forget_one(memo, settings->argv[i]);
	return ret;
}

static int merge(struct maple_settings *settings, struct maple_memo *memo,
		 FILE *out)
{
	struct maple_error err = { "" };

	for (int i = 1; i < settings->argc; i++)
		if (maple_memo_merge(memo, settings->argv[i], &err))
			return maple_say_failed(&err);
	return 0;
}

static int deliver(struct maple_settings *settings, struct maple_memo *memo,
		   FILE *out)
{
	return maple_spools_deliver(memo, true);
}

static const struct {
	const char *name;
	unsigned int flags;
	bool arguments;
	int (*main)(struct maple_settings *, struct maple_memo *, FILE *);
} actions[] = {
	{ "list", MAPLE_MEMO_READONLY, false, list },
	{ "forget", 0, true, forget },
	{ "merge", 0, true, merge },
	{ "deliver", 0, false, deliver },
	{ "export", MAPLE_MEMO_READONLY, false, export },
};

#define ACTIONS (sizeof(actions) / sizeof(*actions))

static int check_words(const struct maple_settings *settings, size_t action)
{
	bool forgets = actions[action].main == forget;

	if (settings->all && !forgets)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--all goes with 'memo forget'");
	if (forgets && (settings->argc == 1) != settings->all)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "forget what? mapletest memo forget "
				       "PROGRAM|FINDING..., or --all");
	if (actions[action].arguments && settings->argc == 1 && !forgets)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "merge what? mapletest memo merge "
				       "FILE...");
	if (!actions[action].arguments && settings->argc > 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "mapletest memo list, deliver and export "
				       "take no argument");
	return 0;
}

int maple_command_memo(struct maple_settings *settings)
{
	const char *word = settings->argc ? settings->argv[0] : "";
	size_t a = 0;
	int ret;

	while (a < ACTIONS && strcmp(word, actions[a].name) != 0)
		a++;
	if (a == ACTIONS)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "mapletest memo wants list, forget, "
				       "merge, deliver or export, not '%s'",
				       word);
	ret = maple_out_tables(settings, "the memo database");
	if (!ret)
		ret = check_words(settings, a);
	return ret ? ret
		   : maple_database_show(settings, actions[a].flags,
					 actions[a].main);
}
