// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The options. One table drives parsing and help, and a test holds the manual
 * page against it.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <maple/atomic_sets.h>
#include <maple/suppressions.h>
#include "cli.h"
#include "http.h"

struct option_entry {
	const char *name;
	const char *argument; /* NULL: it takes none; "[=X]": it may */
	unsigned int commands;
	const char *(*parse)(const char *text, void *out);
	size_t offset; /* of what it sets in maple_settings */
	const char *help;
};

#define RUN	MAPLE_CMD_RUN
#define ATTACH	MAPLE_CMD_ATTACH
#define RERUN	(MAPLE_CMD_RUN | MAPLE_CMD_REPLAY)
#define STORED	(MAPLE_CMD_REPORT | MAPLE_CMD_COVERAGE | MAPLE_CMD_MEMO)
#define SERVE	MAPLE_CMD_SERVE
#define JOBS	MAPLE_CMD_JOBS
#define ALL	(RERUN | ATTACH | STORED | MAPLE_CMD_DOCTOR)
#define PROGRAM (MAPLE_CMD_RUN | MAPLE_CMD_DOCTOR | MAPLE_CMD_NONE)
#define SETS(member, how) \
	maple_value_##how, offsetof(struct maple_settings, member)
#define FLAG(member) NULL, offsetof(struct maple_settings, member)

static const struct option_entry table[] = {
	{ "max-time", "TIME", RUN | ATTACH, SETS(campaign.max_time, duration),
	  "end the campaign after TIME (30s, 10m, 1h)" },
	{ "max-runs", "N", RUN, SETS(campaign.max_runs, count),
	  "end it after N runs, but for those that confirm" },
	{ "timeout", "TIME", RERUN | ATTACH, SETS(campaign.timeout, duration),
	  "a run longer than TIME hangs (default: 10s or 20 times the"
	  " program's own, whichever is more); attach: how long an order is"
	  " tried (default 3s)" },
	{ "jobs", "N", RUN, SETS(campaign.jobs, jobs),
	  "run N targets at once, each on a CPU of its own (default 1); the jobs"
	  " of --detach are another matter" },
	{ "keep-going", NULL, RUN | ATTACH, FLAG(campaign.keep_going),
	  "go on after the first finding" },
	{ "observe", NULL, ATTACH, FLAG(campaign.observe),
	  "observe and predict, and force nothing" },
	{ "atomic-sets", "FILE", RUN | ATTACH, SETS(atomic_sets, string),
	  "memory that belongs together: lines 'set NAME struct S.f, S.g' and"
	  " 'set NAME global a, b'; implies --violations" },
	{ "violations", NULL,
	  RUN | ATTACH | MAPLE_CMD_REPORT | MAPLE_CMD_COVERAGE,
	  FLAG(campaign.violations),
	  "also tell which orders of two units on memory that belongs together"
	  " no serial order has; no failures, and often meant so" },
	{ "strict-sets", NULL, RUN | ATTACH, FLAG(campaign.strict_sets),
	  "with --atomic-sets: a violation of a set of FILE is a failure" },
	{ "seed", "N", RUN | ATTACH, SETS(campaign.seed, number),
	  "what every random choice flows from" },
	{ "order", "ORDER", RUN | ATTACH, SETS(campaign.order, order),
	  "candidates best first (ranked, the default) or as in the paper"
	  " (paper)" },
	{ "strategy", "NAME", RUN, SETS(campaign.strategy, strategy),
	  "what decides the next run: auto (the default), all that follows by"
	  " what it brings; maple predicts and enforces; to compare with:"
	  " native, pctlarge, randdelay; rw, pos, surw and pct"
	  " control each choice of the schedule, pcr solves for it, rank"
	  " reverses one race after the other, grey goes on from what was rare,"
	  " meet has two threads run at once;"
	  " to compare with: pctvb, chess, delay, rankchecker, maptest" },
	{ "until", "covered", RUN, SETS(campaign.until_covered, until),
	  "with --strategy pcr: end when no pattern is left to try" },
	{ "patterns", NULL, RUN, FLAG(campaign.patterns),
	  "with --strategy rw, pos, surw, pct or pctvb: count patterns of accesses,"
	  " as pcr does, in place of iRoots" },
	{ "exhaust", NULL, RUN, FLAG(campaign.exhaust),
	  "with --strategy rank, chess, delay or rankchecker: run all schedules"
	  " within the bounds, and say so" },
	{ "preemptions", "N", RUN, SETS(campaign.bounds.preemptions, turns),
	  "rank: at most N preemptions in a schedule (default 5; with"
	  " --exhaust 2)" },
	{ "variables", "N", RUN, SETS(campaign.bounds.variables, count),
	  "rank: ... at accesses to at most N variables (default 4; with"
	  " --exhaust any)" },
	{ "threads", "N", RUN, SETS(campaign.bounds.threads, count),
	  "rank: ... of at most N threads (default any)" },
	{ "depth", "N", RUN, SETS(campaign.depth, depth),
	  "PCT's depth: N - 1 change points in a run (default 3)" },
	{ "together", "N", RUN, SETS(campaign.together, together),
	  "force up to N orders in one run, one after the other (default 8)" },
	{ "idioms", "LIST", RUN | ATTACH, SETS(campaign.classes, classes),
	  "the idioms to try; all, 1-6, unless given" },
	{ "backend", "NAME", RERUN | ATTACH, SETS(campaign.backend, backend),
	  "auto, agent, kernel, ebpf+agent, ebpf+module, agent+module or"
	  " agent+agent; who observes and who enforces: the best there is, or,"
	  " of a replay, who found it, unless given" },
	{ "oracle", "CMD", RERUN | ATTACH, SETS(campaign.oracle, string),
	  "judge each run by the status of this shell command" },
	{ "expect-output", "FILE", RERUN, SETS(campaign.expect_output, string),
	  "a run whose output differs from FILE fails" },
	{ "setup", "CMD", RERUN, SETS(campaign.setup, string),
	  "shell command before each run" },
	{ "teardown", "CMD", RERUN, SETS(campaign.teardown, string),
	  "shell command after each run" },
	{ "between", "CMD", RERUN, SETS(campaign.between, string),
	  "PROG is a server: each run is a round of requests, driven by this"
	  " shell command; its status, and whether the server lives, judge it" },
	{ "whole", NULL, RUN, FLAG(campaign.whole),
	  "with --between: also try orders of the server's start-up, which are"
	  " left out else" },
	{ "exe", "GLOB", RUN, SETS(campaign.exe, string),
	  "PROG only starts the program under test: the executable to test" },
	{ "each-test", "[=CMD]", RUN, SETS(each_test, command),
	  "PROG is a test program: a campaign for each of its cases, found out"
	  " by asking it (gtest, Catch2, doctest, Boost.Test, Rust), or by CMD,"
	  " which prints one a line and replaces {} in ARGS" },
	{ "share", "K/N", RUN, SETS(share, share),
	  "this is task K of N that divide the work: cases of --each-test, and"
	  " seeds; N alone: K is in SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX"
	  " or PARALLEL_SEQ" },
	{ "input", "KEY", RUN | ATTACH, SETS(campaign.input, string),
	  "name of this input; attempts are counted for each" },
	{ "sites", "WHICH", RUN | ATTACH, SETS(campaign.sites, sites),
	  "where probes from outside stand: at all accesses, at those that"
	  " threads may share as far as the binary tells (static), or at those"
	  " of which it tells two that may meet (pairs; default all)" },
	{ "include", "GLOB", RERUN | ATTACH, SETS(include, list),
	  "observe images that match; may be repeated" },
	{ "exclude", "GLOB", RERUN | ATTACH, SETS(exclude, list),
	  "leave out images that match; may be repeated" },
	{ "exec", NULL, RUN, FLAG(campaign.exec),
	  "execute the program for each run, also where it could be forked"
	  " from one that stands before main()" },
	{ "real-time", NULL, RUN, FLAG(campaign.real_time),
	  "controlled runs wait as long as the program says; else time jumps"
	  " where all of its threads wait" },
	{ "no-priorities", NULL, RERUN, FLAG(campaign.no_priorities),
	  "no real-time priorities: controlled runs hold threads asleep, and no"
	  " order is forced; what is done anyway where they are refused" },
	{ "heap-fill", "WHAT", RUN, SETS(campaign.no_heap_fill, no),
	  "yes: enforced runs fill what was freed, so that its use fails"
	  " (default), or no" },
	{ "confirm", "N", RUN, SETS(campaign.confirm, count),
	  "replay a finding and its reversal N times (default 5; 0: not)" },
	{ "expect-exit", "N", RUN, SETS(campaign.expect_exit, exit_status),
	  "status N, not 0, is what PROG ends with when all is well" },
	{ "baseline-fails", NULL, RUN, FLAG(campaign.baseline_fails),
	  "go on although the program fails by itself" },
	{ "skip-unsupported", NULL, RUN | ATTACH, FLAG(skip_unsupported),
	  "exit with 77, not 125, where this machine cannot do it" },
	{ "fresh", NULL, RUN | ATTACH, FLAG(campaign.fresh),
	  "forget first what is remembered of the program" },
	{ "times", "N", MAPLE_CMD_REPLAY, SETS(times, count),
	  "replay N times (default 1)" },
	{ "flip", NULL, MAPLE_CMD_REPLAY, FLAG(flip),
	  "run the control: the first dependency reversed" },
	{ "under", "CMD", MAPLE_CMD_REPLAY, SETS(campaign.under, string),
	  "stop at each switch of the schedule in a debugger: gdb, or a shell"
	  " command that runs gdb with more options" },
	{ "foreign", NULL, MAPLE_CMD_REPLAY, FLAG(foreign),
	  "also what another user has found: it runs his command as you" },
	{ "since", "RUN", MAPLE_CMD_COVERAGE, SETS(since, number),
	  "draw the curve from this run on" },
	{ "machines", NULL, MAPLE_CMD_REPORT, FLAG(machines),
	  "also what was done on which machine, and in which hour; without this"
	  " if there is more than one machine" },
	{ "unreached", NULL, MAPLE_CMD_COVERAGE, FLAG(unreached),
	  "pairs of accesses that may meet, and which no run has executed" },
	{ "all", NULL, MAPLE_CMD_MEMO | JOBS, FLAG(all),
	  "forget, and remove: everything" },
	{ "detach", NULL, RUN | ATTACH, FLAG(detach),
	  "return at once, with the number of a job that goes on without this"
	  " terminal; 'mapletest jobs' lists them" },
	{ "max-jobs", "N", RUN | ATTACH, SETS(max_jobs, count),
	  "with --detach: no more of your jobs at once (default 64)" },
	{ "wait", NULL, RUN | ATTACH | JOBS, FLAG(wait),
	  "wait for the job's end, and exit with its status" },
	{ "stop", NULL, JOBS, FLAG(stop), "have the job end, as Ctrl-C does" },
	{ "remove", NULL, JOBS, FLAG(remove),
	  "forget jobs that have ended, those of the numbers or --all" },
	{ "http", "ADDRESS", SERVE, SETS(http, string),
	  "listen at PORT, HOST:PORT or [HOST]:PORT (default " MAPLE_HTTP_ADDRESS
	  "); port 0: any that is free" },
	{ "token", "FILE", SERVE, SETS(token, string),
	  "readers have to know the first line of FILE, not one that is made and"
	  " printed" },
	{ "db", "FILE", RERUN | ATTACH | STORED | SERVE, SETS(db, string),
	  "the memo database (default: $XDG_STATE_HOME/maple/memo.db)" },
	{ "socket", "PATH", ALL | SERVE, SETS(socket, string),
	  "where mapled listens (default: /run/mapled.sock); it must answer" },
	{ "no-daemon", NULL, ALL | SERVE, FLAG(no_daemon),
	  "do all of it here, though mapled may be there" },
	{ "format", "FORMAT", ALL | JOBS | MAPLE_CMD_NONE, SETS(format, format),
	  "text, json, jsonl, junit, sarif, tap or github" },
	{ "output", "FILE", RERUN | ATTACH | STORED | JOBS,
	  SETS(output, string), "write the report to FILE" },
	{ "html", "FILE", MAPLE_CMD_REPORT, SETS(html, string),
	  "write a page to FILE that needs no network" },
	{ "suppressions", "FILE", RUN | ATTACH | MAPLE_CMD_REPORT,
	  SETS(suppressions, string),
	  "findings that match a line of FILE, TYPE:PATTERN, do not count" },
	{ "quiet", NULL, ALL | SERVE | MAPLE_CMD_LOG | JOBS, FLAG(quiet),
	  "no progress, no notices" },
	{ "verbose", NULL, ALL, FLAG(verbose),
	  "also what was left out, and the program's output" },
	{ "follow", NULL, MAPLE_CMD_LOG | JOBS, FLAG(follow),
	  "wait for more (-f); of a job: show its log as it grows, until it"
	  " ends" },
	{ "job", "N", MAPLE_CMD_LOG, SETS(job, number),
	  "what is about this job of yours alone" },
	{ "wall", NULL, MAPLE_CMD_LOG, FLAG(wall),
	  "with the time of day, not since the start (-T)" },
	{ "version", NULL, MAPLE_CMD_NONE, FLAG(version), "print the version" },
	{ "help", NULL, ALL | SERVE | MAPLE_CMD_LOG | JOBS | MAPLE_CMD_NONE,
	  FLAG(help), "print this help" },
};

#define ENTRIES (sizeof(table) / sizeof(*table))

static const char *command_name(unsigned int command)
{
	for (const struct maple_command *c = maple_commands; c->name; c++)
		if (c->bit == command)
			return c->name;
	return "";
}

static int unknown(const char *word, unsigned int command, const char *where)
{
	const char *known[ENTRIES + 1];
	const char *near;
	char name[64];
	size_t n = 0;

	for (size_t i = 0; i < ENTRIES; i++)
		if (table[i].commands & command)
			known[n++] = table[i].name;
	known[n] = NULL;
	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(word + strspn(word, "-"), "="),
		 word + strspn(word, "-"));
	near = maple_say_suggest(name, known);
	return maple_say_error(MAPLE_STATUS_USAGE,
			       "unknown option '%s'%s%s%s%s; see 'mapletest "
			       "%s%s--help'",
			       word, where, near ? ", did you mean --" : "",
			       near ? near : "", near ? "?" : "",
			       command_name(command),
			       *command_name(command) ? " " : "");
}

/* @strict: an option of another command is an error, else it is skipped. */
static int apply(struct maple_settings *settings, unsigned int command,
		 const struct option_entry *entry, const char *value,
		 bool strict, const char *where)
{
	void *out = (char *)settings + entry->offset;
	const char *expected;

	if (!(entry->commands & command)) {
		if (!strict)
			return 0;
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "'mapletest %s' has no option --%s",
				       command_name(command), entry->name);
	}
	if (!entry->parse) {
		*(bool *)out = true;
		return 0;
	}
	expected = entry->parse(value, out);
	if (entry->offset == offsetof(struct maple_settings, format))
		settings->format_asked = strict;
	if (expected)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--%s%s wants %s, not '%s'", entry->name,
				       where, expected, value);
	return 0;
}

static int takes(const struct option_entry *entry)
{
	if (!entry->argument)
		return no_argument;
	return *entry->argument == '[' ? optional_argument : required_argument;
}

/*
 * Makes getopt's table and resets it. Returns its short options: where a
 * program follows, options end at the first word that is none.
 */
static const char *fill(struct option *longs, int *found, unsigned int command)
{
	for (size_t i = 0; i < ENTRIES; i++)
		longs[i] = (struct option){ table[i].name, takes(&table[i]),
					    found, (int)i };
	optind = 0;
	opterr = 0;
	if (command & MAPLE_CMD_LOG)
		return ":hfT";
	if (command & JOBS)
		return ":hf";
	return command & PROGRAM ? "+:h" : ":h";
}

/* How an error is said must be known before the first one. */
static void foresee(struct maple_settings *settings, unsigned int command,
		    int argc, char **argv)
{
	struct option longs[ENTRIES + 1] = { 0 };
	int c, at, found = 0;
	const char *shorts = fill(longs, &found, command);

	while ((c = getopt_long(argc, argv, shorts, longs, &at)) != -1) {
		const struct option_entry *e = &table[found];

		if (!c &&
		    (e->offset == offsetof(struct maple_settings, format) ||
		     e->offset == offsetof(struct maple_settings, output)))
			e->parse(optarg, (char *)settings + e->offset);
	}
}

static int parse(struct maple_settings *settings, unsigned int command,
		 int argc, char **argv, bool strict, const char *where)
{
	struct option longs[ENTRIES + 1] = { 0 };
	int ret = 0, at, found = 0;
	const char *shorts;

	foresee(settings, command, argc, argv);
	shorts = fill(longs, &found, command);
	while (!ret) {
		int c = getopt_long(argc, argv, shorts, longs, &at);

		if (c == -1)
			break;
		if (c == 'h')
			settings->help = true;
		else if (c == 'f')
			settings->follow = true;
		else if (c == 'T')
			settings->wall = true;
		else if (c == ':')
			ret = maple_say_error(MAPLE_STATUS_USAGE,
					      "%s%s wants a value",
					      argv[optind - 1], where);
		else if (c == '?')
			ret = unknown(argv[optind - 1], command, where);
		else
			ret = apply(settings, command, &table[found], optarg,
				    strict, where);
	}
	settings->argc = argc - optind;
	settings->argv = argv + optind;
	return ret;
}

/*
 * Splits @text at blanks, in place; '...' and "..." keep them. Returns how
 * many words there are, the first at @words[1] as in an argv.
 */
static int split(char *text, char **words, int max)
{
	char *p = text, *w = text, quote = 0;
	int n = 1;

	while (n < max) {
		while (isspace((unsigned char)*p))
			p++;
		if (!*p)
			break;
		words[n++] = w = p;
		for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
			if (quote && *p == quote)
				quote = 0;
			else if (!quote && (*p == '\'' || *p == '"'))
				quote = *p;
			else
				*w++ = *p;
		}
		if (*p)
			p++;
		*w = 0;
	}
	words[n] = NULL;
	return n;
}

/* The words live on in the settings, so they are never freed. */
static int parse_defaults(struct maple_settings *settings, unsigned int command)
{
	static char *words[258];
	static char *text;
	const char *options = getenv("MAPLE_OPTIONS");
	int n, ret;

	if (!options || !*options)
		return 0;
	free(text);
	text = strdup(options);
	if (!text)
		return maple_say_error(MAPLE_STATUS_FAILED, "out of memory");
	words[0] = "MAPLE_OPTIONS";
	n = split(text, words, 256);
	ret = parse(settings, command, n, words, false, " in MAPLE_OPTIONS");
	if (!ret && settings->argc)
		ret = maple_say_error(MAPLE_STATUS_USAGE,
				      "MAPLE_OPTIONS holds options only, not "
				      "'%s'",
				      settings->argv[0]);
	return ret;
}

/*
 * maple_options_parse - MAPLE_OPTIONS, then the command line
 * @argv: as main has it: argv[0] is skipped
 *
 * Returns 0 or the exit status, the error said.
 */
int maple_options_parse(struct maple_settings *settings, unsigned int command,
			int argc, char **argv)
{
	int ret = parse_defaults(settings, command);

	if (!ret)
		ret = parse(settings, command, argc, argv, true, "");
	settings->campaign.include = (const char *const *)settings->include;
	settings->campaign.exclude = (const char *const *)settings->exclude;
	settings->campaign.no_confirm = !settings->campaign.confirm;
	return ret;
}

/* Wraps @text at 78 columns behind a margin of @margin. */
static void print_wrapped(FILE *out, const char *text, int margin)
{
	int column = margin;

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column > margin && column + 1 + n > 78) {
			fprintf(out, "\n%*s", margin, "");
			column = margin;
		} else if (column > margin) {
			putc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", n, text);
		column += n;
		text += n + (text[n] == ' ');
	}
	putc('\n', out);
}

/* maple_options_help - the options of @command, a line or two each */
void maple_options_help(FILE *out, unsigned int command)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct option_entry *e = &table[i];
		char name[32];

		if (!(e->commands & command))
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", e->name,
			 takes(e) == required_argument ? " " : "",
			 e->argument ? e->argument : "");
		fprintf(out, "  %-22s ", name);
		print_wrapped(out, e->help, 25);
	}
}

void maple_options_deinit(struct maple_settings *settings)
{
	free(settings->include);
	free(settings->exclude);
	maple_suppressions_destroy(settings->campaign.suppressions);
	maple_atomic_sets_destroy(settings->sets);
}
