/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CLI_H
#define MAPLE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <maple/attach.h>
#include <maple/campaign.h>
#include <maple/detached.h>
#include <maple/host.h>
#include <maple/memo.h>
#include <maple/report.h>

#define MAPLE_MAX_JOBS 64 /* of a user's, at once, unless --max-jobs says */

/* Exit statuses; what each means is in the manual page. */
enum maple_status {
	MAPLE_STATUS_OK = 0,
	MAPLE_STATUS_NOT_REPRODUCED = 1,
	MAPLE_STATUS_USAGE = 2,
	MAPLE_STATUS_FINDING = 66,
	MAPLE_STATUS_SKIPPED = 77,
	MAPLE_STATUS_FAILED = 125,
	MAPLE_STATUS_CANNOT_RUN = 126,
	MAPLE_STATUS_NOT_THERE = 127,
};

/* Bits of maple_option.commands. */
enum maple_command_bit {
	MAPLE_CMD_RUN = 1,
	MAPLE_CMD_REPLAY = 2,
	MAPLE_CMD_REPORT = 4,
	MAPLE_CMD_COVERAGE = 8,
	MAPLE_CMD_MEMO = 16,
	MAPLE_CMD_DOCTOR = 32,
	MAPLE_CMD_NONE = 64, /* before any command */
	MAPLE_CMD_ATTACH = 128,
	MAPLE_CMD_LOG = 256,
	MAPLE_CMD_SERVE = 512,
	MAPLE_CMD_JOBS = 1024,
};

/* What the options say. argv and argc are what follows them. */
struct maple_settings {
	struct maple_campaign_options campaign;
	const char **include, **exclude;
	enum maple_report_format format;
	bool format_asked; /* on the command line */
	/* --each-test: the command that lists the cases; "": none is given */
	const char *each_test;
	struct maple_share {
		unsigned int task, of; /* from 1; of: 0: not given */
	} share;
	const char *db, *output, *html, *suppressions, *socket;
	const char *atomic_sets;
	struct maple_atomic_sets *sets; /* that file, read */
	const char *http, *token;	/* serve: where; a file with it */
	uint64_t since, job;
	unsigned int times;
	unsigned int max_jobs; /* at once; 0: any number */
	bool quiet, verbose, skip_unsupported, flip, all, help, version;
	bool no_daemon, follow, wall, foreign, unreached;
	bool detach, wait, stop, remove; /* jobs */
	bool machines;			 /* report */
	/* attach: whose rights root takes on, 0: none; who may not see it */
	uid_t user;
	bool hidden;
	int argc;
	char **argv;
};

struct maple_command {
	const char *name;
	unsigned int bit;
	const char *arguments; /* for its usage line */
	const char *help;
	int (*main)(struct maple_settings *settings);
};

/* main.c */
extern const struct maple_command maple_commands[];

/* options.c, values.c */
int maple_options_parse(struct maple_settings *settings, unsigned int command,
			int argc, char **argv);
void maple_options_help(FILE *out, unsigned int command);
void maple_options_deinit(struct maple_settings *settings);
const char *maple_value_duration(const char *text, void *out);
const char *maple_value_count(const char *text, void *out);
const char *maple_value_exit_status(const char *text, void *out);
const char *maple_value_number(const char *text, void *out);
const char *maple_value_share(const char *text, void *out);
const char *maple_value_string(const char *text, void *out);
const char *maple_value_command(const char *text, void *out);
const char *maple_value_list(const char *text, void *out);
const char *maple_value_classes(const char *text, void *out);
const char *maple_value_strategy(const char *text, void *out);
const char *maple_value_depth(const char *text, void *out);
const char *maple_value_until(const char *text, void *out);
const char *maple_value_no(const char *text, void *out);
const char *maple_value_together(const char *text, void *out);
const char *maple_value_jobs(const char *text, void *out);
const char *maple_value_turns(const char *text, void *out);
const char *maple_value_sites(const char *text, void *out);
const char *maple_value_order(const char *text, void *out);
const char *maple_value_backend(const char *text, void *out);
const char *maple_value_format(const char *text, void *out);

/* say.c */
void maple_say_use(const struct maple_settings *settings);
__attribute__((format(printf, 2, 3))) int maple_say_error(int status,
							  const char *fmt, ...);
int maple_say_failed(const struct maple_error *err);
__attribute__((format(printf, 1, 2))) void maple_say_notice(const char *fmt,
							    ...);
void maple_say_line(const char *text);
const char *maple_say_suggest(const char *word, const char *const *known);

/* map.c */
int maple_map_find(struct maple_memo *memo,
		   const struct maple_memo_program_info *program,
		   struct maple_unreached *map, char **why);
int maple_map_list(struct maple_memo *memo,
		   const struct maple_settings *settings, FILE *out);
int maple_map_print(struct maple_memo *memo,
		    const struct maple_settings *settings,
		    const struct maple_memo_program_info *program, FILE *out);

/* out.c */
FILE *maple_out_open(const struct maple_settings *settings, FILE *fallback);
int maple_out_close(FILE *out, int status);
struct maple_report_style maple_out_style(FILE *out,
					  const struct maple_settings *s);
unsigned int maple_out_columns(FILE *out);
int maple_out_report(FILE *out, const struct maple_settings *settings,
		     struct maple_report *report);
void maple_out_about(const struct maple_settings *settings,
		     struct maple_report *report);
int maple_out_tables(struct maple_settings *settings, const char *what);
bool maple_out_live(FILE *out);

/* What a page shows of programs; zeroed before. */
struct maple_page {
	struct maple_memo_program_info *programs;
	struct maple_report_program *grown;
	struct maple_page_program *own;
	size_t n, ngrown;
};

/* page.c */
int maple_page_fill(struct maple_memo *memo, size_t most, bool maps,
		    struct maple_page *page, struct maple_report *report,
		    struct maple_error *err);
void maple_page_empty(struct maple_page *page);
int maple_machines_fill(struct maple_memo *memo, bool always,
			struct maple_report *report, struct maple_error *err);
void maple_machines_empty(struct maple_report *report);
int maple_page_write(struct maple_memo *memo,
		     const struct maple_settings *settings,
		     struct maple_report *report);

/* suppress.c */
int maple_suppress_open(struct maple_settings *settings);
int maple_suppress_stored(struct maple_settings *settings,
			  struct maple_finding **findings, size_t n);
void maple_suppress_tell(const struct maple_settings *settings);

/* again.c */
void maple_again_complete(const struct maple_settings *settings,
			  struct maple_finding *finding);

/* detach.c */
int maple_detach_run(struct maple_settings *settings,
		     const struct maple_command *command, char **argv);
void maple_detach_line(const char *text);
struct maple_memo_job maple_detach_ready(void);
void maple_detach_progress(const struct maple_progress *p);
void maple_detach_report(const struct maple_settings *settings,
			 const struct maple_report *report);

/* jobs.c */
int maple_jobs_wait(struct maple_settings *settings, const char *place,
		    uint64_t number);

/* host.c */
const char *maple_host_observer(const struct maple_settings *settings);
int maple_host_find(struct maple_settings *settings);
int maple_host_register(struct maple_settings *settings);
void maple_host_probe(struct maple_settings *settings,
		      struct maple_probe *probe);

/* database.c */
int maple_database_open(struct maple_settings *settings, unsigned int flags,
			struct maple_memo **memo);
int maple_database_show(struct maple_settings *settings, unsigned int flags,
			int (*show)(struct maple_settings *settings,
				    struct maple_memo *memo, FILE *out));
char *maple_database_place(const char *name);
void maple_spools_open(struct maple_memo *memo);
void maple_spools_close(const struct maple_settings *settings,
			struct maple_memo *memo);
int maple_spools_deliver(struct maple_memo *memo, bool asked);
int maple_database_below(const char *name, char **path);
int maple_database_select(const char *word,
			  struct maple_memo_program_info *programs, size_t n,
			  size_t *which);
void maple_database_name(FILE *out, const struct maple_memo_program_info *p);
int maple_database_finding(struct maple_memo *memo, const char *word,
			   struct maple_finding **finding);
void maple_database_part(struct maple_finding **findings, size_t n, bool asked,
			 struct maple_violations *violations,
			 struct maple_report *report);
bool maple_database_violates(struct maple_finding *const *findings, size_t n);

/* progress.c */
struct maple_live {
	FILE *out;	   /* NULL: show nothing */
	const char *about; /* in front of what is shown; or NULL */
	bool live;	   /* one line, rewritten; else a line now and then */
	bool shown;
	double last;
};
void maple_live_init(struct maple_live *live, FILE *out);
void maple_live_show(struct maple_live *live, const struct maple_progress *p);
void maple_live_clear(struct maple_live *live);
void maple_live_about(struct maple_live *live, const char *about);

/* The commands, each in the file of its name. */
int maple_command_run(struct maple_settings *settings);
int maple_run_campaign(struct maple_settings *settings);
int maple_command_attach(struct maple_settings *settings);
int maple_attach_settle(struct maple_settings *settings);
void maple_attach_prepare(const struct maple_settings *settings);
int maple_attach_enter(struct maple_settings *settings, bool server);
int maple_command_replay(struct maple_settings *settings);
int maple_command_report(struct maple_settings *settings);
int maple_command_coverage(struct maple_settings *settings);
int maple_command_serve(struct maple_settings *settings);
int maple_command_memo(struct maple_settings *settings);
int maple_command_doctor(struct maple_settings *settings);
int maple_command_log(struct maple_settings *settings);
int maple_command_jobs(struct maple_settings *settings);

/* log.c */
void maple_log_finding(const struct maple_finding *finding,
		       const struct maple_memo_job *job);
void maple_log_job(const struct maple_memo_job *job, const char *subject,
		   const char *program, const char *state);

#endif
