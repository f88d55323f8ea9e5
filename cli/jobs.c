// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest jobs: campaigns that go on without a terminal, and what became of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

#define STOP_S	   60.0 /* to come to an end, after --stop */
#define LOOK_MS	   1000 /* whether a job whose log does not grow has ended */
#define LAST_LINES 5	/* of the log, where there is no report */

static uint64_t parse_number(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	return *text < '0' || *text > '9' || *end || errno ? 0 : n;
}

/* ---- what is shown ---- */

static void print_size(FILE *out, uint64_t bytes)
{
	if (bytes < 10240)
		fprintf(out, "%.1f kB", (double)bytes / 1024);
	else if (bytes < 1024 * 1024)
		fprintf(out, "%" PRIu64 " kB", bytes / 1024);
	else
		fprintf(out, "%.1f MB", (double)bytes / 1024 / 1024);
}

static void print_date(FILE *out, int64_t when, const char *form)
{
	time_t seconds = (time_t)when;
	char date[64] = "?";
	struct tm tm;

	if (when && localtime_r(&seconds, &tm))
		strftime(date, sizeof(date), form, &tm);
	fputs(date, out);
}

static void print_words(FILE *out, char *const *words)
{
	for (char *const *w = words; *w; w++) {
		char *text = NULL;
		size_t size;
		FILE *one = open_memstream(&text, &size);

		if (!one)
			return;
		maple_report_word(one, *w);
		fclose(one);
		fputs(w == words ? "" : " ", out);
		maple_report_clean(out, text);
		free(text);
	}
}

static const char *colour_of(enum maple_detached_state state)
{
	switch (state) {
	case MAPLE_DETACHED_CLEAN:
		return "\033[32m";
	case MAPLE_DETACHED_RUNNING:
		return "\033[1m";
	case MAPLE_DETACHED_SKIPPED:
		return "";
	default:
		return "\033[1;31m";
	}
}

static void print_state(FILE *out, const struct maple_settings *settings,
			enum maple_detached_state state, int width)
{
	struct maple_report_style style = maple_out_style(out, settings);
	const char *name = maple_detached_state_name(state);

	fprintf(out, "%s%s%s%*s", style.colour ? colour_of(state) : "", name,
		style.colour ? "\033[0m" : "",
		width > (int)strlen(name) ? width - (int)strlen(name) : 0, "");
}

static void print_subject(FILE *out, const struct maple_detached_info *job)
{
	if (job->attached)
		fprintf(out, "process %d%s", (int)job->attached,
			*job->program ? ": " : "");
	print_words(out, job->program);
}

static void print_row(FILE *out, const struct maple_settings *settings,
		      const struct maple_detached_info *job)
{
	fprintf(out, "%4" PRIu64 "  ", job->number);
	print_state(out, settings, job->state, 8);
	fputs("  ", out);
	print_date(out, job->began, "%F %R");
	fprintf(out, "  %6u  %8u  ", job->runs, job->findings);
	print_subject(out, job);
	putc('\n', out);
}

static void print_all(FILE *out, const struct maple_settings *settings,
		      const struct maple_detached_info *jobs, size_t n,
		      const char *place, uint64_t bytes)
{
	if (!n) {
		fputs("no jobs\n", out);
		return;
	}
	fputs("   #  state     since               runs  findings  program\n",
	      out);
	for (size_t i = 0; i < n; i++)
		print_row(out, settings, &jobs[i]);
	if (settings->quiet)
		return;
	fprintf(out, "%zu job%s, ", n, n == 1 ? "" : "s");
	print_size(out, bytes);
	fputs(" in ", out);
	maple_report_clean(out, place);
	fputs("; kept until --remove\n", out);
}

static int list(const struct maple_settings *settings, const char *place,
		FILE *out)
{
	struct maple_detached_info *jobs;
	struct maple_error err = { "" };
	uint64_t bytes;
	size_t n;

	if (maple_detached_list(place, &jobs, &n, &bytes, &err))
		return maple_say_failed(&err);
	if (settings->format)
		maple_report_json_jobs(out, place, jobs, n, bytes, NULL);
	else
		print_all(out, settings, jobs, n, place, bytes);
	maple_detached_list_destroy(jobs, n);
	return 0;
}

static void print_head(FILE *out, const struct maple_settings *settings,
		       const struct maple_detached_info *job)
{
	fprintf(out, "job %" PRIu64 ": ", job->number);
	print_state(out, settings, job->state, 0);
	fprintf(out, ", %u run%s, %u finding%s", job->runs,
		job->runs == 1 ? "" : "s", job->findings,
		job->findings == 1 ? "" : "s");
	if (job->status >= 0)
		fprintf(out, ", exit status %d", job->status);
	fputs("\n  ", out);
	print_words(out, job->argv);
	fputs("\n  in ", out);
	maple_report_clean(out, job->cwd ? job->cwd : "?");
	fputs("\n  began ", out);
	print_date(out, job->began, "%F %T");
	if (job->ended) {
		fputs(", ended ", out);
		print_date(out, job->ended, "%F %T");
	}
	if (job->pid)
		fprintf(out, ", process %d", (int)job->pid);
	fputs("\n  ", out);
	maple_report_clean(out, job->folder);
	fprintf(out, ", ");
	print_size(out, job->bytes);
	fputs("\n\n", out);
}

/* Why there is no report; a sentence. */
static void say_missing(char *text, size_t size,
			const struct maple_detached_info *job)
{
	switch (job->state) {
	case MAPLE_DETACHED_RUNNING:
		snprintf(text, size,
			 "job %" PRIu64 " runs: its report comes with its end, "
			 "--wait waits for it, --follow shows its log",
			 job->number);
		break;
	case MAPLE_DETACHED_CUT_OFF:
		snprintf(text, size,
			 "job %" PRIu64 " was cut off after %u run%s: %s; what "
			 "it learned is in the memo",
			 job->number, job->runs, job->runs == 1 ? "" : "s",
			 job->rebooted ? "the machine went down, and has "
					 "booted since"
				       : "it was killed, or its machine went "
					 "down");
		break;
	default:
		snprintf(text, size,
			 "job %" PRIu64 " has no report: it could not be "
			 "written; its log may say more",
			 job->number);
	}
}

/* Copies it; escape sequences, which are colours of ours, for a terminal only. */
static int copy_report(FILE *out, int fd, bool colour)
{
	FILE *in = fdopen(fd, "r");
	bool within = false;
	int c;

	if (!in) {
		close(fd);
		return -1;
	}
	while ((c = getc(in)) != EOF) {
		if (colour) {
			putc(c, out);
		} else if (within) {
			within = c != 'm';
		} else if (c == '\033') {
			within = true;
		} else {
			putc(c, out);
		}
	}
	c = ferror(in);
	fclose(in);
	return c;
}

static void copy_line(FILE *out, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	maple_report_clean(out, line);
	putc('\n', out);
}

/* The last lines of its log. */
static void print_tail(FILE *out, const char *place, uint64_t number)
{
	int fd = maple_detached_open(place, number, "log", NULL);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	char *line[LAST_LINES] = { NULL };
	size_t size[LAST_LINES] = { 0 };
	unsigned int n = 0;

	while (in &&
	       getline(&line[n % LAST_LINES], &size[n % LAST_LINES], in) > 0)
		n++;
	for (unsigned int i = n < LAST_LINES ? 0 : n - LAST_LINES; i < n; i++)
		copy_line(out, line[i % LAST_LINES]);
	for (unsigned int i = 0; i < LAST_LINES; i++)
		free(line[i]);
	if (in)
		fclose(in);
}

static int show_report(const struct maple_settings *settings, const char *place,
		       const struct maple_detached_info *job, bool head,
		       FILE *out)
{
	const char *form = maple_report_format_name(settings->format);
	bool text = settings->format == MAPLE_REPORT_TEXT;
	struct maple_error err = { "" };
	char why[256];
	int fd;

	if (text && head)
		print_head(out, settings, job);
	if (!job->reported) {
		say_missing(why, sizeof(why), job);
		if (!text)
			return maple_say_error(MAPLE_STATUS_FAILED, "%s", why);
		print_tail(out, place, job->number);
		fprintf(out, "%s\n", why);
		if (job->state == MAPLE_DETACHED_CUT_OFF && job->attached &&
		    !job->rebooted)
			fprintf(out,
				"what it may have left in process %d goes with "
				"'mapled detach %d'\n",
				(int)job->attached, (int)job->attached);
		return 0;
	}
	fd = maple_detached_open(place, job->number, form, &err);
	if (fd < 0)
		return maple_say_failed(&err);
	if (copy_report(out, fd, !text || maple_out_style(out, settings).colour))
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "job %" PRIu64 ": its report: %s",
				       job->number, strerror(errno));
	return 0;
}

/*
 * Shows it to @out, or where --output says; NULL: not at all. @status is its
 * campaign's, and never that of a clean one if it was cut off.
 */
static int show(const struct maple_settings *settings, const char *place,
		uint64_t number, FILE *out, int *status)
{
	struct maple_detached_info job;
	struct maple_error err = { "" };
	bool head = out == stdout;
	int ret = 0;

	if (maple_detached_look(place, number, &job, &err))
		return maple_say_failed(&err);
	if (out) {
		out = maple_out_open(settings, out);
		ret = out ? maple_out_close(out, show_report(settings, place,
							     &job, head, out))
			  : MAPLE_STATUS_FAILED;
	}
	*status = job.status >= 0 ? job.status : MAPLE_STATUS_FAILED;
	if (job.state == MAPLE_DETACHED_CUT_OFF && !out)
		maple_say_line("the job was cut off");
	maple_detached_info_deinit(&job);
	return ret;
}

/* ---- what is waited for ---- */

/* All that the log has by now. */
static int copy_log(FILE *out, int fd)
{
	char data[65536];
	ssize_t n;

	while ((n = read(fd, data, sizeof(data))) > 0)
		fwrite(data, 1, n, out);
	return fflush(out) || n < 0 ? -errno : 0;
}

/* Its log, as it grows, until the job has ended. */
static int follow(const char *place, uint64_t number, FILE *out)
{
	int e = 0, fd = -1, watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd pfd = { .fd = watch, .events = POLLIN };
	struct maple_detached_info job;
	struct maple_error err = { "" };
	char path[64], events[4096];
	bool runs = true;

	fd = maple_detached_open(place, number, "log", &err);
	if (fd < 0) {
		close(watch);
		return maple_say_failed(&err);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	inotify_add_watch(watch, path, IN_MODIFY | IN_CLOSE_WRITE);
	while (runs && !e) {
		/* First this: what it says last is read all the same. */
		if (maple_detached_look(place, number, &job, &err)) {
			e = -ENOENT;
			break;
		}
		runs = job.state == MAPLE_DETACHED_RUNNING;
		maple_detached_info_deinit(&job);
		e = copy_log(out, fd);
		if (runs && !e && poll(&pfd, 1, LOOK_MS) > 0)
			while (read(watch, events, sizeof(events)) > 0)
				;
	}
	close(fd);
	close(watch);
	if (e == -ENOENT)
		return maple_say_failed(&err);
	return e ? maple_say_error(MAPLE_STATUS_FAILED, "its log: %s",
				   strerror(-e))
		 : 0;
}

static int await(const struct maple_settings *settings, const char *place,
		 uint64_t number, FILE *out)
{
	struct maple_error err = { "" };
	int ret, status = MAPLE_STATUS_FAILED;

	if (maple_detached_wait(place, number, &err))
		return maple_say_failed(&err);
	ret = show(settings, place, number, out, &status);
	return ret ? ret : status;
}

/*
 * maple_jobs_wait - waits for the end of job @number, as if it ran here
 *
 * Returns the exit status of its campaign, or that of a failure, said.
 */
int maple_jobs_wait(struct maple_settings *settings, const char *place,
		    uint64_t number)
{
	bool shown = settings->format || !settings->quiet;

	/* Where --output says the job has written it itself. */
	if (settings->output)
		shown = false;
	return await(settings, place, number,
		     !shown		? NULL
		     : settings->format ? stdout
					: stderr);
}

/* ---- what is done to them ---- */

static int stop(const char *place, uint64_t number)
{
	struct maple_error err = { "" };
	int e = maple_detached_stop(place, number, STOP_S, &err);

	if (e == -ESRCH) {
		maple_say_notice("%s", err.text);
		return 0;
	}
	return e ? maple_say_failed(&err) : 0;
}

static int remove_all(const char *place)
{
	struct maple_detached_info *jobs;
	struct maple_error err = { "" };
	size_t n;
	int e = maple_detached_list(place, &jobs, &n, NULL, &err);

	if (e)
		return maple_say_failed(&err);
	for (size_t i = 0; i < n && !e; i++) {
		if (jobs[i].state == MAPLE_DETACHED_RUNNING)
			continue;
		e = maple_detached_remove(place, jobs[i].number, &err);
		/* It may begin to end, or be gone. */
		if (e == -EBUSY || e == -ENOENT)
			e = 0;
	}
	maple_detached_list_destroy(jobs, n);
	return e ? maple_say_failed(&err) : 0;
}

static int one(struct maple_settings *settings, const char *place,
	       uint64_t number)
{
	struct maple_error err = { "" };
	FILE *out;
	int ret = 0, status = MAPLE_STATUS_FAILED;

	if (settings->remove)
		return maple_detached_remove(place, number, &err)
			       ? maple_say_failed(&err)
			       : 0;
	if (settings->stop)
		ret = stop(place, number);
	if (!ret && settings->follow) {
		out = maple_out_open(settings, stdout);
		ret = out ? maple_out_close(out, follow(place, number, out))
			  : MAPLE_STATUS_FAILED;
		/* The log has the report. */
		if (!ret && settings->wait)
			ret = show(settings, place, number, NULL, &status)
				      ?: status;
		return ret;
	}
	if (!ret && settings->wait)
		return await(settings, place, number,
			     settings->quiet && !settings->output &&
					     !settings->format
				     ? NULL
				     : stdout);
	if (!ret && !settings->stop)
		ret = show(settings, place, number, stdout, &status);
	return ret;
}

/* What goes with what; 0 or the exit status, the error said. */
static int check_words(struct maple_settings *settings)
{
	bool acts = settings->stop || settings->remove;

	if (settings->all && !settings->remove)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--all goes with --remove");
	if (settings->remove &&
	    (settings->stop || settings->wait || settings->follow))
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--remove forgets what has ended, and "
				       "nothing else goes with it");
	if (settings->remove && !settings->argc != settings->all)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "remove which? mapletest jobs --remove "
				       "N..., or --all");
	if ((acts || settings->wait || settings->follow) && !settings->argc &&
	    !settings->all)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "which job? mapletest jobs [options] N; "
				       "'mapletest jobs' lists them");
	if (settings->argc > 1 && !acts)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "one job at a time: mapletest jobs "
				       "[options] N");
	for (int i = 0; i < settings->argc; i++)
		if (!parse_number(settings->argv[i]))
			return maple_say_error(MAPLE_STATUS_USAGE,
					       "'%s' is no number of a job: "
					       "'mapletest jobs' lists them",
					       settings->argv[i]);
	return settings->argc ? 0 : maple_out_tables(settings, "jobs");
}

int maple_command_jobs(struct maple_settings *settings)
{
	char *place = NULL;
	FILE *out;
	int ret = check_words(settings);

	if (!ret)
		ret = maple_database_below("jobs", &place);
	if (ret)
		return ret;
	if (settings->all) {
		ret = remove_all(place);
	} else if (!settings->argc) {
		out = maple_out_open(settings, stdout);
		ret = out ? maple_out_close(out, list(settings, place, out))
			  : MAPLE_STATUS_FAILED;
	}
	for (int i = 0; i < settings->argc && !ret; i++)
		ret = one(settings, place, parse_number(settings->argv[i]));
	free(place);
	return ret;
}
