// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest serve: what the memo database holds, and the user's jobs, as pages
 * that look again by themselves, and as JSON. They can only be read. Each is
 * made when it is asked for, from what the database has then.
 *
 *	/			all jobs and findings, a line each, and how
 *				coverage grew
 *	/job/N			one, how far it is and what it said last
 *	/finding/USER:ID	one, in full
 *	/findings.json		as report --format json
 *	/finding/USER:ID.json
 *	/jobs.json		as jobs --format json
 *	/programs.json		as memo list --format json
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"
#include "http.h"

#define AGAIN	  10 /* seconds until the list looks again */
#define AGAIN_JOB 3  /* ... until the page of one that runs does */
#define PROGRAMS  20 /* whose growth is drawn, the last used */
#define JOBS	  20 /* in the list, if no more run */
#define LOG_END	  8192
#define JOB	  "/job/"
#define HOME	  "/"
#define FINDING	  "/finding/"
#define SUFFIX	  ".json"
#define JSON	  "application/json"

/* What pages are made of. */
struct maple_serving {
	struct maple_settings *settings;
	char *place; /* of the user's jobs; NULL: there is none */
};

/* Jobs as they stand in their folder; to be destroyed. */
struct jobs {
	struct maple_detached_info *all;
	size_t n;
	uint64_t bytes;
};

/* Those that run first, and of each kind the newest. */
static int by_interest(const void *a, const void *b)
{
	const struct maple_detached_info *l = a, *r = b;
	bool lr = l->state == MAPLE_DETACHED_RUNNING,
	     rr = r->state == MAPLE_DETACHED_RUNNING;

	if (lr != rr)
		return lr ? -1 : 1;
	return l->number < r->number ? 1 : -1;
}

/* Where a user has no place for jobs there are none. */
static int list_jobs(const struct maple_serving *serving, struct jobs *jobs,
		     struct maple_error *err)
{
	*jobs = (struct jobs){ 0 };
	if (!serving->place)
		return 0;
	return maple_detached_list(serving->place, &jobs->all, &jobs->n,
				   &jobs->bytes, err);
}

static void choose_jobs(const struct jobs *jobs, struct maple_report *report)
{
	size_t n = 0;

	if (!jobs->n)
		return;
	qsort(jobs->all, jobs->n, sizeof(*jobs->all), by_interest);
	while (n < jobs->n &&
	       (n < JOBS || jobs->all[n].state == MAPLE_DETACHED_RUNNING))
		n++;
	report->jobs = jobs->all;
	report->njobs = n;
	report->njobs_left = (unsigned int)(jobs->n - n);
}

static int write_findings(struct maple_memo *memo,
			  struct maple_http_answer *answer,
			  struct maple_error *err)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS };
	struct maple_violations violations;
	struct maple_finding **findings;
	size_t n;
	int e = maple_memo_findings(memo, 0, &findings, &n, err);

	if (e)
		return e;
	answer->type = JSON;
	maple_database_part(findings, n, false, &violations, &report);
	e = maple_machines_fill(memo, false, &report, err);
	if (!e)
		e = maple_report_json_findings(answer->out, &report, err);
	maple_machines_empty(&report);
	maple_memo_findings_destroy(findings, n);
	return e;
}

static int write_list(const struct maple_serving *serving,
		      struct maple_memo *memo, struct maple_http_answer *answer,
		      struct maple_error *err)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS,
				       .home = HOME,
				       .again = AGAIN };
	struct maple_page page = { 0 };
	struct maple_violations violations;
	struct maple_finding **findings;
	struct jobs jobs;
	size_t n;
	int e = list_jobs(serving, &jobs, err);

	if (!e)
		e = maple_memo_findings(memo, 0, &findings, &n, err);
	if (e) {
		maple_detached_list_destroy(jobs.all, jobs.n);
		return e;
	}
	maple_database_part(findings, n, false, &violations, &report);
	choose_jobs(&jobs, &report);
	maple_out_about(serving->settings, &report);
	e = maple_page_fill(memo, PROGRAMS, false, &page, &report, err);
	if (!e)
		e = maple_machines_fill(memo, false, &report, err);
	if (!e)
		e = maple_report_html(answer->out, &report, err);
	maple_machines_empty(&report);
	maple_page_empty(&page);
	maple_memo_findings_destroy(findings, n);
	maple_detached_list_destroy(jobs.all, jobs.n);
	return e;
}

static int write_jobs(const struct maple_serving *serving,
		      struct maple_http_answer *answer, struct maple_error *err)
{
	struct jobs jobs;
	int e = list_jobs(serving, &jobs, err);

	if (e)
		return e;
	answer->type = JSON;
	e = maple_report_json_jobs(answer->out,
				   serving->place ? serving->place : "",
				   jobs.all, jobs.n, jobs.bytes, err);
	maple_detached_list_destroy(jobs.all, jobs.n);
	return e;
}

/* Whole lines from the end of a job's log, in @text. */
static void read_log(const char *place, uint64_t number, char *text, size_t size)
{
	int fd = maple_detached_open(place, number, "log", NULL);
	ssize_t n = 0;
	off_t end;
	char *line;

	*text = '\0';
	if (fd < 0)
		return;
	end = lseek(fd, 0, SEEK_END);
	if (end > 0)
		n = pread(fd, text, size - 1,
			  end > (off_t)size - 1 ? end - (off_t)size + 1 : 0);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = end > (off_t)size - 1 ? strchr(text, '\n') : NULL;
	if (line)
		memmove(text, line + 1, strlen(line));
}

static int write_job(const struct maple_serving *serving, const char *word,
		     struct maple_http_answer *answer, struct maple_error *err)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS,
				       .home = HOME,
				       .in_full = true,
				       .njobs = 1 };
	struct maple_detached_info job;
	char log[LOG_END], *end;
	uint64_t number;
	int e;

	errno = 0;
	number = strtoull(word, &end, 10);
	if (*word < '1' || *word > '9' || *end || errno || !serving->place)
		return -ENOENT;
	e = maple_detached_look(serving->place, number, &job, err);
	if (e)
		return e;
	read_log(serving->place, number, log, sizeof(log));
	report.jobs = &job;
	report.log = log;
	if (job.state == MAPLE_DETACHED_RUNNING)
		report.again = AGAIN_JOB;
	maple_out_about(serving->settings, &report);
	e = maple_report_html(answer->out, &report, err);
	maple_detached_info_deinit(&job);
	return e;
}

/* @word: as it stands in the address */
static int load(struct maple_memo *memo, const char *word,
		struct maple_finding **finding, struct maple_error *err)
{
	const char *colon = strchr(word, ':');
	int64_t owner = MAPLE_MEMO_ANYBODY;
	char *end;

	if (colon) {
		owner = strtol(word, &end, 10);
		if (end == word || end != colon || owner < 0)
			return -ENOENT;
		word = colon + 1;
	}
	return maple_memo_finding_load(memo, word, owner, finding, err);
}

static int write_finding(const struct maple_settings *settings,
			 struct maple_memo *memo, char *word,
			 struct maple_http_answer *answer,
			 struct maple_error *err)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS,
				       .home = HOME,
				       .in_full = true };
	struct maple_violations violations;
	size_t n = strlen(word), suffix = strlen(SUFFIX);
	bool json = n > suffix && !strcmp(word + n - suffix, SUFFIX);
	struct maple_page page = { 0 };
	struct maple_finding *finding;
	int e;

	if (json)
		word[n - suffix] = 0;
	e = load(memo, word, &finding, err);
	if (e)
		return e;
	maple_again_complete(settings, finding);
	maple_database_part(&finding, 1, maple_database_violates(&finding, 1),
			    &violations, &report);
	maple_out_about(settings, &report);
	if (json) {
		answer->type = JSON;
		e = maple_report_json_findings(answer->out, &report, err);
	} else {
		e = maple_page_fill(memo, PROGRAMS, true, &page, &report, err);
		if (!e)
			e = maple_report_html(answer->out, &report, err);
	}
	maple_page_empty(&page);
	maple_finding_destroy(finding);
	return e;
}

static int write_programs(struct maple_memo *memo,
			  struct maple_http_answer *answer,
			  struct maple_error *err)
{
	struct maple_memo_program_info *programs;
	size_t n;
	int e = maple_memo_programs(memo, &programs, &n, err);

	if (e)
		return e;
	answer->type = JSON;
	e = maple_report_json_programs(answer->out, programs, n, err);
	maple_memo_programs_destroy(programs, n);
	return e;
}

static int write_page(const struct maple_serving *serving,
		      struct maple_memo *memo, const char *path,
		      struct maple_http_answer *answer, struct maple_error *err)
{
	char word[128];

	if (!strcmp(path, HOME))
		return write_list(serving, memo, answer, err);
	if (!strcmp(path, "/findings.json"))
		return write_findings(memo, answer, err);
	if (!strcmp(path, "/programs.json"))
		return write_programs(memo, answer, err);
	if (strncmp(path, FINDING, strlen(FINDING)) != 0 ||
	    strlen(path + strlen(FINDING)) >= sizeof(word))
		return -ENOENT;
	strcpy(word, path + strlen(FINDING));
	return write_finding(serving->settings, memo, word, answer, err);
}

static void tell_error(struct maple_http_answer *answer, int e,
		       const struct maple_error *err)
{
	if (e == -ENOENT)
		maple_http_tell(answer, 404, "There is no such page.");
	else if (e == -ENOTUNIQ)
		maple_http_tell(answer, 404, "Several findings are called so.");
	else if (e)
		maple_http_tell(answer, 503, err->text);
}

/* Pages that take no memo. Returns whether @path is one. */
static bool write_of_jobs(const struct maple_serving *serving, const char *path,
			  struct maple_http_answer *answer, int *e,
			  struct maple_error *err)
{
	size_t n = strlen(JOB);

	if (!strcmp(path, "/jobs.json"))
		*e = write_jobs(serving, answer, err);
	else if (!strncmp(path, JOB, n))
		*e = write_job(serving, path + n, answer, err);
	else
		return false;
	return true;
}

static void on_page(void *ctx, const char *path,
		    struct maple_http_answer *answer)
{
	const struct maple_serving *serving = ctx;
	struct maple_error err = { "" };
	struct maple_memo *memo;
	int e;

	if (write_of_jobs(serving, path, answer, &e, &err)) {
		tell_error(answer, e, &err);
		return;
	}
	if (maple_database_open(serving->settings, MAPLE_MEMO_READONLY, &memo)) {
		maple_http_tell(
			answer, 503,
			"The memo database cannot be read now; mapletest serve "
			"says why where it was started.");
		return;
	}
	e = write_page(serving, memo, path, answer, &err);
	maple_memo_close(memo);
	tell_error(answer, e, &err);
}

/* The first line of the file. */
static int read_token(const char *path, char *token, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(token, (int)size, file);

	if (file)
		fclose(file);
	if (!read)
		return maple_say_error(MAPLE_STATUS_USAGE, "--token '%s': %s",
				       path,
				       file ? "it is empty" : strerror(errno));
	token[strcspn(token, "\n")] = 0;
	return 0;
}

static void tell_address(const struct maple_settings *settings,
			 const struct maple_http *http, bool token)
{
	const char *url = maple_http_url(http);

	if (!maple_http_is_local(http))
		maple_say_notice("other machines can come here, and what goes "
				 "over the network is not encrypted, the token "
				 "neither: a tunnel to 127.0.0.1 is (ssh -L)");
	/* With a file, its reader knows it already, and no log has it. */
	printf("%.*s\n", (int)(token ? strcspn(url, "?") : strlen(url)), url);
	fflush(stdout);
	if (!settings->quiet && isatty(STDERR_FILENO))
		maple_say_notice("that is for a browser; Ctrl-C ends it");
}

static int serve(struct maple_settings *settings, const char *token)
{
	struct maple_serving serving = {
		.settings = settings,
		.place = maple_database_place("jobs"),
	};
	struct maple_error err = { "out of memory" };
	struct maple_http *http;
	int ret = MAPLE_STATUS_FAILED,
	    e = maple_http_open(settings->http ? settings->http
					       : MAPLE_HTTP_ADDRESS,
				token, on_page, &serving, &http, &err);

	if (e == -EINVAL)
		ret = MAPLE_STATUS_USAGE;
	if (!e) {
		tell_address(settings, http, token);
		e = maple_http_run(http, &err);
		maple_http_close(http);
	}
	free(serving.place);
	return e ? maple_say_error(ret, "%s", err.text) : 0;
}

int maple_command_serve(struct maple_settings *settings)
{
	struct maple_memo *memo;
	char token[256];
	int ret = 0;

	if (settings->argc)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "serve takes options only");
	if (settings->token)
		ret = read_token(settings->token, token, sizeof(token));
	/* What cannot be read is said before anybody asks. */
	if (!ret)
		ret = maple_database_open(settings, MAPLE_MEMO_READONLY, &memo);
	if (ret)
		return ret;
	maple_memo_close(memo);
	return serve(settings, settings->token ? token : NULL);
}
