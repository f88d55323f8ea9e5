// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The values of options. Each parser sets *@out and returns NULL, or returns
 * what it expected.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

const char *maple_value_duration(const char *text, void *out)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 },     { "s", 1 },    { "ms", .001 }, { "m", 60 },
		      { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	double number;

	if (isdigit((unsigned char)*text) || *text == '.') {
		number = strtod(text, &end);
		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
			if (strcmp(end, units[i].unit) != 0)
				continue;
			number *= units[i].seconds;
			/* A hundred years is for ever. */
			if (!(number > 0) || number > 3.2e9)
				break;
			*(double *)out = number;
			return NULL;
		}
	}
	return "a time such as 30s, 10m or 1h";
}

static int parse_u64(const char *text, uint64_t *number)
{
	char *end;
	int base = strncmp(text, "0x", 2) ? 10 : 16;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	*number = strtoull(text, &end, base);
	return *end || errno ? -1 : 0;
}

const char *maple_value_count(const char *text, void *out)
{
	uint64_t number;

	if (parse_u64(text, &number) || number > INT_MAX)
		return "a number";
	*(unsigned int *)out = (unsigned int)number;
	return NULL;
}

/*
 * The number of this task, from 0, by what has started it. Slurm's arrays begin
 * where their owner wants, with steps; Kubernetes counts from 0, GNU parallel
 * from 1.
 */
static int task_here(uint64_t *task)
{
	const char *id = getenv("SLURM_ARRAY_TASK_ID");
	const char *first = getenv("SLURM_ARRAY_TASK_MIN");
	const char *step = getenv("SLURM_ARRAY_TASK_STEP");
	uint64_t from = 0, by = 1;

	if (id) {
		if (parse_u64(id, task) || (first && parse_u64(first, &from)) ||
		    (step && parse_u64(step, &by)) || !by || *task < from)
			return -1;
		*task = (*task - from) / by;
		return 0;
	}
	id = getenv("JOB_COMPLETION_INDEX");
	if (id)
		return parse_u64(id, task);
	id = getenv("PARALLEL_SEQ");
	if (!id || parse_u64(id, task) || !*task)
		return -1;
	--*task;
	return 0;
}

/* "K/N", or "N": then what has started us says which one it is. */
const char *maple_value_share(const char *text, void *out)
{
	static const char expected[] =
		"K/N, as 3/16, or N where SLURM_ARRAY_TASK_ID, "
		"JOB_COMPLETION_INDEX or PARALLEL_SEQ is set";
	const char *slash = strchr(text, '/');
	struct maple_share *share = out;
	uint64_t task, of;
	char first[24];

	if (parse_u64(slash ? slash + 1 : text, &of) || !of || of > INT_MAX)
		return expected;
	if (slash) {
		snprintf(first, sizeof(first), "%.*s", (int)(slash - text),
			 text);
		if (parse_u64(first, &task) || !task || task > of)
			return expected;
		task--;
	} else if (task_here(&task)) {
		return expected;
	}
	share->task = (unsigned int)(task % of) + 1;
	share->of = (unsigned int)of;
	return NULL;
}

/* Plus one: 0 means unset everywhere. */
const char *maple_value_exit_status(const char *text, void *out)
{
	uint64_t number;

	if (parse_u64(text, &number) || number > 255)
		return "an exit status, 0 to 255";
	*(unsigned int *)out = (unsigned int)number + 1;
	return NULL;
}

/* 0 means unset everywhere. */
const char *maple_value_number(const char *text, void *out)
{
	uint64_t number;

	if (parse_u64(text, &number) || !number)
		return "a number from 1 on";
	*(uint64_t *)out = number;
	return NULL;
}

/* One that may be left out: NULL is "". */
const char *maple_value_command(const char *text, void *out)
{
	if (text && !*text)
		return "a shell command that lists the cases, or no '='";
	*(const char **)out = text ? text : "";
	return NULL;
}

const char *maple_value_string(const char *text, void *out)
{
	if (!*text)
		return "something that is not empty";
	*(const char **)out = text;
	return NULL;
}

/* Adds to a NULL-terminated array on the heap. */
const char *maple_value_list(const char *text, void *out)
{
	const char ***list = out, **more;
	size_t n = 0;

	if (!*text)
		return "something that is not empty";
	while (*list && (*list)[n])
		n++;
	more = reallocarray(*list, n + 2, sizeof(*more));
	if (!more)
		return "more memory than there is";
	more[n] = text;
	more[n + 1] = NULL;
	*list = more;
	return NULL;
}

const char *maple_value_classes(const char *text, void *out)
{
	return maple_campaign_classes(text, out);
}

static int choose(const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

const char *maple_value_order(const char *text, void *out)
{
	static const char *const names[] = {
		[MAPLE_ORDER_RANKED] = "ranked", [MAPLE_ORDER_PAPER] = "paper", NULL
	};
	int choice = choose(text, names);

	if (choice < 0)
		return "ranked or paper";
	*(enum maple_order *)out = (enum maple_order)choice;
	return NULL;
}

const char *maple_value_sites(const char *text, void *out)
{
	static const char *const names[] = { [MAPLE_SITES_ALL] = "all",
					     [MAPLE_SITES_STATIC] = "static",
					     [MAPLE_SITES_PAIRS] = "pairs",
					     NULL };
	int choice = choose(text, names);

	if (choice < 0)
		return "all, static or pairs";
	*(enum maple_sites *)out = (enum maple_sites)choice;
	return NULL;
}

const char *maple_value_strategy(const char *text, void *out)
{
	for (unsigned int i = 0; maple_strategy_name(i); i++) {
		if (strcmp(text, maple_strategy_name(i)))
			continue;
		*(const char **)out = maple_strategy_name(i);
		return NULL;
	}
	return "auto, maple, native, pctlarge, randdelay, rw, pos, surw, pct, pctvb, "
	       "pcr, rank, chess, delay, rankchecker, grey, maptest or meet";
}

/* Until when a campaign runs, besides its limits. */
const char *maple_value_until(const char *text, void *out)
{
	if (strcmp(text, "covered"))
		return "covered";
	*(bool *)out = true;
	return NULL;
}

/* Sets what says that something is not to be. */
const char *maple_value_no(const char *text, void *out)
{
	static const char *const names[] = { "yes", "no", NULL };
	int choice = choose(text, names);

	if (choice < 0)
		return "yes or no";
	*(bool *)out = choice;
	return NULL;
}

/* A number from 1 to @most; @expected says so. */
static const char *take_upto(const char *text, uint64_t most,
			     const char *expected, void *out)
{
	uint64_t number;

	if (parse_u64(text, &number) || !number || number > most)
		return expected;
	*(unsigned int *)out = (unsigned int)number;
	return NULL;
}

const char *maple_value_depth(const char *text, void *out)
{
	return take_upto(text, MAPLE_DEPTH_MAX, "a number from 1 to 16", out);
}

const char *maple_value_together(const char *text, void *out)
{
	return take_upto(text, 8, "a number from 1 to 8", out);
}

const char *maple_value_turns(const char *text, void *out)
{
	return take_upto(text, MAPLE_TURNS_MAX, "a number from 1 to 8", out);
}

const char *maple_value_jobs(const char *text, void *out)
{
	return take_upto(text, MAPLE_JOBS_MAX, "a number from 1 to 256", out);
}

const char *maple_value_backend(const char *text, void *out)
{
	if (!maple_campaign_knows_backend(text))
		return "auto, agent, kernel, ebpf+agent, ebpf+module, "
		       "agent+module or agent+agent";
	*(const char **)out = text;
	return NULL;
}

const char *maple_value_format(const char *text, void *out)
{
	enum maple_report_format f = MAPLE_REPORT_TEXT;

	for (; maple_report_format_name(f); f++) {
		if (strcmp(text, maple_report_format_name(f)))
			continue;
		*(enum maple_report_format *)out = f;
		return NULL;
	}
	return "text, json, jsonl, junit, sarif, tap or github";
}
