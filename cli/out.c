// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where reports go, and how they may look there. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

/*
 * maple_out_open - --output, or @fallback
 *
 * Returns NULL, the error said, if the file cannot be written.
 */
FILE *maple_out_open(const struct maple_settings *settings, FILE *fallback)
{
	static int file = -1;
	FILE *out;
	int fd;

	if (!settings->output)
		return fallback;
	if (!strcmp(settings->output, "-"))
		return stdout;
	/*
	 * An error may come after a stream of lines has begun, and when we may
	 * not open the file any more.
	 */
	if (file < 0)
		file = open(settings->output,
			    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    settings->hidden ? 0600 : 0666);
	fd = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		/* The error object cannot go there either. */
		fprintf(stderr, "mapletest: --output '%s': %s\n",
			settings->output, strerror(errno));
	}
	return out;
}

/* maple_out_close - @status, unless what was written did not get there */
int maple_out_close(FILE *out, int status)
{
	bool bad = fflush(out) || ferror(out);

	if (out != stdout && out != stderr)
		bad |= fclose(out) != 0;
	if (!bad)
		return status;
	fprintf(stderr, "mapletest: the report could not be written: %s\n",
		strerror(errno));
	return MAPLE_STATUS_FAILED;
}

static bool set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

unsigned int maple_out_columns(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static bool terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

/* maple_out_live - whether a line may be rewritten there */
bool maple_out_live(FILE *out)
{
	return terminal(out) && !set("CI") && !set("GITHUB_ACTIONS");
}

struct maple_report_style maple_out_style(FILE *out,
					  const struct maple_settings *s)
{
	return (struct maple_report_style){
		.colour = terminal(out) && !set("NO_COLOR"),
		.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.output = s->verbose,
		.quiet = s->quiet,
		.width = maple_out_columns(out),
	};
}

/*
 * The root of the source tree: where a job has checked it out, else where we
 * are.
 */
static const char *source_root(void)
{
	static const char *const names[] = { "GITHUB_WORKSPACE",
					     "CI_PROJECT_DIR" };
	static char here[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (set(names[i]) && *getenv(names[i]) == '/')
			return getenv(names[i]);
	return getcwd(here, sizeof(here));
}

/* maple_out_about - fills in what is the same for every report */
void maple_out_about(const struct maple_settings *settings,
		     struct maple_report *report)
{
	static char host[HOST_NAME_MAX + 1];

	report->root = source_root();
	report->when = (int64_t)time(NULL);
	if (!gethostname(host, sizeof(host) - 1))
		report->host = host;
}

/* The page that GitHub shows for the job. */
static void summarize(const struct maple_report *report)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	FILE *out;

	if (!path || !*path)
		return;
	out = fopen(path, "ae");
	if (!out || maple_report_markdown(out, report, NULL))
		fprintf(stderr, "mapletest: GITHUB_STEP_SUMMARY '%s': %s\n",
			path, strerror(errno));
	if (out)
		fclose(out);
}

/*
 * maple_out_report - writes @report in the form of --format
 *
 * Returns the report's status, or that of a failure, said.
 */
int maple_out_report(FILE *out, const struct maple_settings *settings,
		     struct maple_report *report)
{
	struct maple_report_style style = maple_out_style(out, settings);
	struct maple_error err = { "" };

	maple_out_about(settings, report);
	maple_detach_report(settings, report);
	if (maple_report_write(out, settings->format, report, &style, &err)) {
		fprintf(stderr, "mapletest: %s\n", err.text);
		return MAPLE_STATUS_FAILED;
	}
	if (settings->format == MAPLE_REPORT_GITHUB)
		summarize(report);
	return report->status;
}

/*
 * maple_out_tables - refuses the forms that only findings have
 *
 * As a default of MAPLE_OPTIONS they are left out. Returns 0 or the exit
 * status, the error said.
 */
int maple_out_tables(struct maple_settings *settings, const char *what)
{
	if (settings->format <= MAPLE_REPORT_JSONL)
		return 0;
	if (!settings->format_asked) {
		settings->format = MAPLE_REPORT_TEXT;
		return 0;
	}
	return maple_say_error(MAPLE_STATUS_USAGE,
			       "%s can be had as text or as json, not as %s",
			       what, maple_report_format_name(settings->format));
}
