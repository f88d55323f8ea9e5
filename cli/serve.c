// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest serve: what the memo database holds as pages that look again by
 * themselves, and as JSON. They can only be read. Each is made when it is
 * asked for, from what the database has then.
 *
 *	/			all findings, a line each, and how coverage grew
 *	/finding/USER:ID	one, in full
 *	/findings.json		as report --format json
 *	/finding/USER:ID.json
 *	/programs.json		as memo list --format json
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"
#include "http.h"

#define AGAIN	 10 /* seconds until the list looks again */
#define PROGRAMS 20 /* whose growth is drawn, the last used */
#define HOME	 "/"
#define FINDING	 "/finding/"
#define SUFFIX	 ".json"
#define JSON	 "application/json"

/* A page that says what there is not. */
static void tell(struct maple_http_answer *answer, unsigned int status,
		 const char *text)
{
	answer->status = status;
	answer->type = "text/plain; charset=utf-8";
	fprintf(answer->out, "%s\n", text);
}

static int write_list(const struct maple_settings *settings,
		      struct maple_memo *memo, bool json,
		      struct maple_http_answer *answer, struct maple_error *err)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS,
				       .home = HOME,
				       .again = AGAIN };
	struct maple_page page = { 0 };
	struct maple_finding **findings;
	int e = maple_memo_findings(memo, 0, &findings, &report.nfindings, err);

	if (e)
		return e;
	report.findings = findings;
	maple_out_about(settings, &report);
	if (json)
		answer->type = JSON;
	else
		e = maple_page_fill(memo, PROGRAMS, false, &page, &report, err);
	if (!e)
		e = json ? maple_report_json_findings(answer->out, findings,
						      report.nfindings, err)
			 : maple_report_html(answer->out, &report, err);
	maple_page_empty(&page);
	maple_memo_findings_destroy(findings, report.nfindings);
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
				       .in_full = true,
				       .nfindings = 1 };
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
	report.findings = &finding;
	maple_out_about(settings, &report);
	if (json) {
		answer->type = JSON;
		e = maple_report_json_findings(answer->out, &finding, 1, err);
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

static int write_page(const struct maple_settings *settings,
		      struct maple_memo *memo, const char *path,
		      struct maple_http_answer *answer, struct maple_error *err)
{
	char word[128];

	if (!strcmp(path, HOME) || !strcmp(path, "/findings.json"))
		return write_list(settings, memo, path[1], answer, err);
	if (!strcmp(path, "/programs.json"))
		return write_programs(memo, answer, err);
	if (strncmp(path, FINDING, strlen(FINDING)) != 0 ||
	    strlen(path + strlen(FINDING)) >= sizeof(word))
		return -ENOENT;
	strcpy(word, path + strlen(FINDING));
	return write_finding(settings, memo, word, answer, err);
}

static void on_page(void *ctx, const char *path,
		    struct maple_http_answer *answer)
{
	struct maple_settings *settings = ctx;
	struct maple_error err = { "" };
	struct maple_memo *memo;
	int e;

	if (maple_database_open(settings, MAPLE_MEMO_READONLY, &memo)) {
		tell(answer, 503,
		     "The memo database cannot be read now; mapletest serve "
		     "says why where it was started.");
		return;
	}
	e = write_page(settings, memo, path, answer, &err);
	maple_memo_close(memo);
	if (e == -ENOENT)
		tell(answer, 404, "There is no such page.");
	else if (e == -ENOTUNIQ)
		tell(answer, 404, "Several findings are called so.");
	else if (e)
		tell(answer, 503, err.text);
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

static int serve(struct maple_settings *settings, const char *token)
{
	struct maple_error err = { "out of memory" };
	struct maple_http *http;
	int e = maple_http_open(settings->http ? settings->http
					       : MAPLE_HTTP_ADDRESS,
				token, on_page, settings, &http, &err);

	if (e)
		return maple_say_error(e == -EINVAL ? MAPLE_STATUS_USAGE
						    : MAPLE_STATUS_FAILED,
				       "%s", err.text);
	if (!maple_http_is_local(http))
		maple_say_notice("other machines can come here, and what goes "
				 "over the network is not encrypted, the token "
				 "neither: a tunnel to 127.0.0.1 is (ssh -L)");
	/* With a file, its reader knows it already, and no log has it. */
	printf("%.*s\n",
	       (int)(token ? strcspn(maple_http_url(http), "?")
			   : strlen(maple_http_url(http))),
	       maple_http_url(http));
	fflush(stdout);
	if (!settings->quiet && isatty(STDERR_FILENO))
		maple_say_notice("that is for a browser; Ctrl-C ends it");
	e = maple_http_run(http, &err);
	maple_http_close(http);
	return e ? maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text) : 0;
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
