// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * --detach: a campaign that goes on without its terminal.
 *
 * The command forks at once, so all that a campaign opens is its own process's.
 * That process has the caller's terminal to speak to for as long as there is
 * something to be refused; what is refused is refused as without --detach, by
 * the same code. When nothing stands against the campaign any more, who called
 * gives the job its number and leaves, and from there on all that is said goes
 * to the job's log.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

#define EVERY_NS 250000000 /* how often the state of the job is written */

/* What the process that carries a job out has of it. */
static struct {
	struct maple_detached *job; /* NULL: this is no such process */
	const char *const *forms;
	FILE *log;
	char *subject; /* what its campaign is about, for the journal, */
	char *program; /* and of which program that is; NULL: no memory */
	struct maple_memo_job id; /* without a number until it is ready */
	int starter; /* who called, as long as nothing is ready; else -1 */
	bool began, told;
	struct timespec shown;
	unsigned int runs, findings; /* of the campaign that is under way, */
	unsigned int runs_before, findings_before; /* of those before */
} here = { .starter = -1 };

/* ---- by who carries it out ---- */

/* maple_detach_line - keeps for the log what is said while refusing is possible */
void maple_detach_line(const char *text)
{
	if (!here.log || here.began)
		return;
	fputs("mapletest: ", here.log);
	maple_report_clean(here.log, text);
	putc('\n', here.log);
	fflush(here.log);
}

static void empty_input(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	if (null > STDERR_FILENO)
		close(null);
}

/* So that nothing which the job has open is one of these. */
static void open_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* What a pipe had to say has been read by now. */
static void move_files(void)
{
	int log = maple_detached_log(here.job);
	struct stat st;

	if (fstat(STDIN_FILENO, &st) || !S_ISREG(st.st_mode))
		empty_input();
	fflush(NULL);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

static void tell_journal(const char *state)
{
	if (here.subject && here.program)
		maple_log_job(&here.id, here.subject, here.program, state);
}

/*
 * maple_detach_ready - nothing stands against the campaign any more
 *
 * Who called has gone when there is no number: then nobody would know of the
 * job, and it ends. Returns what the job is called.
 */
struct maple_memo_job maple_detach_ready(void)
{
	uint64_t number = 0;

	if (here.starter < 0)
		return here.id;
	/* With the number its end is none of ours any more. */
	prctl(PR_SET_PDEATHSIG, 0);
	if (send(here.starter, "", 1, MSG_NOSIGNAL) != 1 ||
	    recv(here.starter, &number, sizeof(number), 0) != sizeof(number))
		number = 0;
	close(here.starter);
	here.starter = -1;
	if (!number) {
		raise(SIGTERM);
		return here.id;
	}
	move_files();
	here.began = true;
	here.id.number = number;
	maple_detached_progress(here.job, 0, 0);
	tell_journal("begins");
	return here.id;
}

static unsigned int count(const struct maple_runs *r)
{
	return r->baseline + maple_runs_made(r) + r->confirm;
}

static void grow(unsigned int runs, const struct maple_coverage *coverage)
{
	struct maple_class_count all = maple_coverage_sum(coverage);
	const struct maple_detached_point point = {
		.runs = runs,
		.exposed = all.exposed,
		.predicted = all.predicted,
	};

	maple_detached_grow(here.job, &point);
}

/*
 * maple_detach_progress - how far it is; not after each of many short runs
 *
 * Of a test program each case counts from the beginning.
 */
void maple_detach_progress(const struct maple_progress *p)
{
	unsigned int runs = count(&p->runs);
	struct timespec at;

	if (!here.began)
		return;
	if (runs < here.runs) {
		here.runs_before += here.runs;
		here.findings_before += here.findings;
	}
	here.runs = runs;
	here.findings = p->findings;
	clock_gettime(CLOCK_MONOTONIC, &at);
	if ((at.tv_sec - here.shown.tv_sec) * 1000000000ll + at.tv_nsec -
		    here.shown.tv_nsec <
	    EVERY_NS)
		return;
	here.shown = at;
	maple_detached_progress(here.job, here.runs_before + runs,
				here.findings_before + p->findings);
	grow(here.runs_before + runs, &p->coverage);
}

/* How far it was at its end. */
static void count_all(const struct maple_report *report)
{
	const struct maple_campaign_result *r = report->result;
	unsigned int runs = 0, findings = 0;

	if (!r && !report->suite)
		return;
	if (r) {
		runs = count(&r->runs);
		findings = r->nfindings;
		grow(runs, &r->coverage);
	}
	for (unsigned int i = 0; report->suite && i < report->suite->n; i++) {
		r = report->suite->cases[i].result;
		runs += r ? count(&r->runs) : 0;
		findings += r ? r->nfindings : 0;
	}
	maple_detached_progress(here.job, runs, findings);
}

/* Text has its findings as they come; a report that is kept has all at once. */
static void write_findings(FILE *out, const struct maple_campaign_result *r,
			   const struct maple_report_style *style)
{
	for (unsigned int i = 0; r && i < r->nfindings; i++) {
		maple_report_text(out, r->findings[i], style);
		putc('\n', out);
	}
}

static bool write_form(unsigned int i, const struct maple_report *report,
		       const struct maple_report_style *style)
{
	FILE *out = maple_detached_report(here.job, i);
	bool bad;

	if (!out)
		return false;
	if (i == MAPLE_REPORT_TEXT) {
		write_findings(out, report->result, style);
		for (unsigned int c = 0; report->suite && c < report->suite->n;
		     c++)
			write_findings(out, report->suite->cases[c].result,
				       style);
	}
	bad = maple_report_write(out, (enum maple_report_format)i, report,
				 style, NULL);
	return !fclose(out) && !bad;
}

/* maple_detach_report - keeps @report, in all forms, if this is a job */
void maple_detach_report(const struct maple_settings *settings,
			 const struct maple_report *report)
{
	struct maple_report_style style = maple_out_style(stderr, settings);
	bool whole = true;

	if (!here.began || here.told)
		return;
	here.told = true;
	/* The campaign is over: what asks it to end now would have it cut off. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	/* Whoever reads it may have a terminal, and else has them taken out. */
	style.colour = true;
	style.quiet = false;
	for (unsigned int i = 0; here.forms[i]; i++)
		whole &= write_form(i, report, &style);
	count_all(report);
	maple_detached_reported(here.job, whole);
}

/* Nothing of the caller's is kept open but what there is to read. */
static void leave(struct maple_detached *job, int starter)
{
	setsid();
	/*
	 * Nobody hangs up on us; who is left of our shell may try. But --stop
	 * is heard, though a shell has those in the background ignore it.
	 */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (isatty(STDIN_FILENO))
		empty_input();
	maple_detached_shed(job, starter);
}

static int carry_out(struct maple_settings *settings,
		     const struct maple_command *command)
{
	struct maple_error err = { "" };
	int status, log;

	if (maple_detached_own(here.job, &err))
		return maple_say_failed(&err);
	log = fcntl(maple_detached_log(here.job), F_DUPFD_CLOEXEC, 0);
	here.log = log < 0 ? NULL : fdopen(log, "a");
	if (!here.log)
		return maple_say_error(MAPLE_STATUS_FAILED, "a job's log: %s",
				       strerror(errno));
	status = command->main(settings);
	fflush(NULL);
	if (here.began && maple_detached_end(here.job, status))
		maple_say_line("how this ended could not be written down");
	if (here.began)
		tell_journal(maple_detached_state_name(
			maple_detached_state_of(status)));
	/* The lock goes with the process. */
	return status;
}

/* ---- by who begins it ---- */

/* The command line of the process that is joined; as far as it can be read. */
static char **read_command(const char *pid, char *text, size_t size)
{
	static char *words[65];
	char path[64];
	ssize_t n = 0;
	size_t count = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (char *p = text; p < text + n && count < 64; p += strlen(p) + 1)
		words[count++] = p;
	return words;
}

/* What the journal is told: of a process that is joined, its number as well. */
static void name_subject(const struct maple_detached_task *task)
{
	const char *program = task->program && *task->program ? *task->program
							      : "";

	here.program = strdup(program);
	if (!task->attached)
		here.subject = strdup(program);
	else if (asprintf(&here.subject, "process %d: %s", (int)task->attached,
			  program) < 0)
		here.subject = NULL;
}

static int create(const struct maple_settings *settings, char **argv,
		  const char *place, struct maple_detached **job)
{
	bool joins = !strcmp(argv[1], "attach");
	char text[4096];
	struct maple_detached_task task = {
		.argv = argv,
		.program = settings->argv,
		.attached = joins && settings->argc
				    ? (pid_t)atoi(settings->argv[0])
				    : 0,
	};
	struct maple_error err = { "" };

	if (joins && settings->argc)
		task.program =
			read_command(settings->argv[0], text, sizeof(text));
	if (maple_detached_create(place, &task, here.forms, job, &err))
		return maple_say_failed(&err);
	name_subject(&task);
	return 0;
}

/* It has ended, and was never ready. */
static int refused(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return MAPLE_STATUS_FAILED;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return maple_say_error(MAPLE_STATUS_FAILED,
			       "the job was killed by signal %d before it began",
			       WTERMSIG(status));
}

/* The number on standard output, for whoever called. */
static int tell(struct maple_settings *settings, const char *place,
		uint64_t number)
{
	struct maple_detached_info job;
	struct maple_error err = { "" };

	if (settings->wait) {
		maple_say_notice("job %" PRIu64
				 " goes on if this is interrupted",
				 number);
		return 0;
	}
	if (settings->format == MAPLE_REPORT_JSON ||
	    settings->format == MAPLE_REPORT_JSONL) {
		if (maple_detached_look(place, number, &job, &err))
			return maple_say_failed(&err);
		maple_report_json_jobs(stdout, place, &job, 1, job.bytes, NULL);
		maple_detached_info_deinit(&job);
	} else {
		printf("%" PRIu64 "\n", number);
	}
	if (maple_out_close(stdout, 0))
		return MAPLE_STATUS_FAILED;
	maple_say_notice("job %" PRIu64 " goes on without this terminal: "
			 "'mapletest jobs %" PRIu64 "' shows it",
			 number, number);
	return 0;
}

static int begin(struct maple_settings *settings, const char *place,
		 struct maple_detached *job, int carrier, pid_t child)
{
	struct maple_error err = { "" };
	uint64_t number = 0;
	char ready;
	ssize_t n;
	int ret;

	do
		n = recv(carrier, &ready, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n != 1) {
		maple_detached_discard(job);
		return refused(child);
	}
	ret = maple_detached_publish(
		job, settings->max_jobs ? settings->max_jobs : MAPLE_MAX_JOBS,
		&number, &err);
	if (!ret && send(carrier, &number, sizeof(number), MSG_NOSIGNAL) ==
			    sizeof(number))
		ret = tell(settings, place, number);
	else
		ret = maple_say_error(MAPLE_STATUS_FAILED, "%s",
				      ret ? err.text : "the job was killed");
	close(carrier);
	if (!number) {
		/* Without a number it ends by itself. */
		waitpid(child, NULL, 0);
		maple_detached_discard(job);
	}
	if (!ret && settings->wait)
		ret = maple_jobs_wait(settings, place, number);
	return ret;
}

/*
 * maple_detach_run - has @command go on as a job
 * @argv: the whole command line
 *
 * Returns the exit status, in each of the two processes its own.
 */
int maple_detach_run(struct maple_settings *settings,
		     const struct maple_command *command, char **argv)
{
	static const char *forms[MAPLE_REPORT_FORMATS + 1];
	char *place = NULL;
	int ends[2], ret = maple_database_below("jobs", &place);
	pid_t child;

	for (int f = 0; f < MAPLE_REPORT_FORMATS; f++)
		forms[f] = maple_report_format_name((enum maple_report_format)f);
	here.forms = forms;
	here.id.user = geteuid();
	open_standard_files();
	if (!ret)
		ret = create(settings, argv, place, &here.job);
	if (ret) {
		free(place);
		return ret;
	}
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
	    (child = fork()) < 0) {
		ret = maple_say_error(MAPLE_STATUS_FAILED, "no job: %s",
				      strerror(errno));
		maple_detached_discard(here.job);
	} else if (!child) {
		here.starter = ends[1];
		leave(here.job, ends[1]);
		ret = carry_out(settings, command);
		free(place);
		return ret;
	} else {
		close(ends[1]);
		ret = begin(settings, place, here.job, ends[0], child);
	}
	maple_detached_close(here.job);
	here.job = NULL;
	free(place);
	return ret;
}
