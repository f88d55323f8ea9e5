// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapletest log: what campaigns, mapled and maple.ko have said, as dmesg has
 * it. From the journal; where there is none, maple.ko's part from the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <systemd/sd-journal.h>
#include "cli.h"

#define MODULE	   "maple: " /* how its lines begin */
#define RECORD	   8192	     /* no record of the kernel's is longer */
#define IDENTIFIER "mapletest"
#define FIELD	   48 /* of a job's fields, characters */

/* As fields: with these one finds its lines again. */
static void name_job(const struct maple_memo_job *job, char number[FIELD],
		     char user[FIELD])
{
	snprintf(number, FIELD, "MAPLE_JOB=%" PRIu64, job->number);
	snprintf(user, FIELD, "MAPLE_JOB_USER=%u", job->user);
}

/*
 * maple_log_finding - tells the journal, if there is one, of a finding
 * @job: whose it is, if it has a number
 */
void maple_log_finding(const struct maple_finding *finding,
		       const struct maple_memo_job *job)
{
	char number[FIELD], user[FIELD];

	name_job(job, number, user);
	sd_journal_send("MESSAGE=BUG: maple: %s", finding->title, "PRIORITY=3",
			"SYSLOG_IDENTIFIER=" IDENTIFIER, "MAPLE_FINDING=%s",
			finding->id, "MAPLE_PROGRAM=%s",
			finding->argv && *finding->argv ? *finding->argv : "",
			job->number ? number : NULL, user, NULL);
}

/* maple_log_job - tells it that a job on @subject begins, or how it ended */
void maple_log_job(const struct maple_memo_job *job, const char *subject,
		   const char *program, const char *state)
{
	char number[FIELD], user[FIELD];

	name_job(job, number, user);
	sd_journal_send("MESSAGE=job %" PRIu64 ": %s, %s", job->number, state,
			subject, "PRIORITY=6", "SYSLOG_IDENTIFIER=" IDENTIFIER,
			"MAPLE_PROGRAM=%s", program, number, user, NULL);
}

/* As dmesg has it: the time in one colour, what is bad in another. */
static void print(const struct maple_settings *settings, int priority,
		  uint64_t since_boot, uint64_t since_epoch, const char *text)
{
	bool colour = maple_out_style(stdout, settings).colour;
	time_t seconds = (time_t)(since_epoch / 1000000);
	const char *bad = !colour	  ? NULL
			  : priority <= 3 ? "\033[1;31m"
			  : priority == 4 ? "\033[33m"
					  : NULL;
	char when[64];
	struct tm tm;

	if (settings->wall && localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Y", &tm);
	else
		snprintf(when, sizeof(when), "%12.6f", (double)since_boot / 1e6);
	printf("%s[%s]%s maple: %s", colour ? "\033[32m" : "", when,
	       colour ? "\033[0m" : "", bad ? bad : "");
	maple_report_clean(stdout, text);
	printf("%s\n", bad ? "\033[0m" : "");
}

/* ---- the journal ---- */

static void print_entry(const struct maple_settings *settings, sd_journal *j)
{
	const size_t name = strlen("MESSAGE=");
	uint64_t boot = 0, epoch = 0;
	int priority = 6;
	const char *text;
	const void *data;
	bool kernel;
	size_t size;
	char *line;

	kernel = !sd_journal_get_data(j, "_TRANSPORT", &data, &size) &&
		 size == strlen("_TRANSPORT=kernel") &&
		 !memcmp(data, "_TRANSPORT=kernel", size);
	if (!sd_journal_get_data(j, "PRIORITY", &data, &size) &&
	    size > strlen("PRIORITY="))
		priority = ((const char *)data)[strlen("PRIORITY=")] - '0';
	if (sd_journal_get_data(j, "MESSAGE", &data, &size) < 0 || size < name)
		return;
	line = strndup((const char *)data + name, size - name);
	if (!line)
		return;
	text = line;
	if (!strncmp(line, MODULE, strlen(MODULE)))
		text += strlen(MODULE);
	sd_journal_get_monotonic_usec(j, &boot, NULL);
	sd_journal_get_realtime_usec(j, &epoch);
	if (!kernel || text != line)
		print(settings, priority, boot, epoch, text);
	free(line);
}

static int add_set(sd_journal *j, const char *const *set)
{
	int e = 0;

	for (; *set && e >= 0; set++)
		e = sd_journal_add_match(j, *set, 0);
	return e < 0 ? e : sd_journal_add_disjunction(j);
}

/*
 * Whose words these are, by the fields that journald itself fills in: anybody
 * may call himself mapled. Of mapletest's we hear our own and root's. A set is
 * of fields that all must be so, but one of several of a name will do.
 */
static int add_matches(sd_journal *j)
{
	char us[32];
	const char *const sets[][5] = {
		{ "_SYSTEMD_UNIT=mapled.service" },
		{ "SYSLOG_IDENTIFIER=mapled", "_UID=0" },
		{ ("SYSLOG_IDENTIFIER=" IDENTIFIER), "_UID=0", us },
		{ "_TRANSPORT=kernel" },
	};
	int e = 0;

	snprintf(us, sizeof(us), "_UID=%u", geteuid());
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets) && e >= 0; i++)
		e = add_set(j, sets[i]);
	return e;
}

/* Who carries a job out: root's that is attached to a process becomes its user. */
static uid_t user_of(uint64_t number)
{
	struct maple_error err = { "" };
	struct maple_detached_info job;
	uid_t user = geteuid();
	char *place = NULL;

	if (!maple_database_below("jobs", &place) &&
	    !maple_detached_look(place, number, &job, &err)) {
		user = job.user;
		maple_detached_info_deinit(&job);
	}
	free(place);
	return user;
}

/*
 * ... about one job: each user has a first one, so it is ours that is meant.
 * What the lines call themselves counts where they are of who carries it out.
 */
static int add_job_matches(sd_journal *j, uint64_t number)
{
	const struct maple_memo_job job = { number, geteuid() };
	uid_t user = user_of(number);
	char by[FIELD], about[FIELD], name[FIELD], whose[FIELD];
	const char *const sets[][6] = {
		{ "_SYSTEMD_UNIT=mapled.service", about, name, whose },
		{ "SYSLOG_IDENTIFIER=mapled", "_UID=0", about, name, whose },
		{ ("SYSLOG_IDENTIFIER=" IDENTIFIER), by, name, whose },
	};
	int e = 0;

	snprintf(by, sizeof(by), "_UID=%u", user);
	snprintf(about, sizeof(about), "MAPLE_UID=%u", user);
	name_job(&job, name, whose);
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets) && e >= 0; i++)
		e = add_set(j, sets[i]);
	return e;
}

static int read_journal(const struct maple_settings *settings, sd_journal *j)
{
	int e = settings->job ? add_job_matches(j, settings->job)
			      : add_matches(j);

	while (e >= 0) {
		e = sd_journal_next(j);
		if (e > 0) {
			print_entry(settings, j);
			continue;
		}
		if (e < 0 || fflush(stdout) || !settings->follow)
			break;
		e = sd_journal_wait(j, (uint64_t)-1);
	}
	return e;
}

/* One in which anything was ever written; NULL if there is none for us. */
static sd_journal *open_journal(void)
{
	sd_journal *j;

	if (sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY) < 0)
		return NULL;
	if (sd_journal_has_runtime_files(j) > 0 ||
	    sd_journal_has_persistent_files(j) > 0)
		return j;
	sd_journal_close(j);
	return NULL;
}

/* ---- the kernel's log ---- */

static uint64_t clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* "6,1234,5678901,-;text" and lines that begin with a blank. */
static void print_record(const struct maple_settings *settings, char *record)
{
	uint64_t boot,
		begin = clock_us(CLOCK_REALTIME) - clock_us(CLOCK_MONOTONIC);
	char *text = strchr(record, ';');
	unsigned int level;

	if (!text || sscanf(record, "%u,%*u,%" SCNu64, &level, &boot) != 2)
		return;
	text[1 + strcspn(text + 1, "\n")] = 0;
	if (!strncmp(text + 1, MODULE, strlen(MODULE)))
		print(settings, (int)level & 7, boot, begin + boot,
		      text + 1 + strlen(MODULE));
}

static int read_kernel(const struct maple_settings *settings, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char record[RECORD + 1];
	ssize_t n;

	for (;;) {
		n = read(fd, record, RECORD);
		if (n > 0) {
			record[n] = 0;
			print_record(settings, record);
		} else if (n < 0 && errno == EAGAIN) {
			if (fflush(stdout) || !settings->follow)
				return 0;
			poll(&pfd, 1, -1);
		} else if (n == 0 || errno != EPIPE) {
			return -errno; /* EPIPE: some were overwritten */
		}
	}
}

static int no_journal(const struct maple_settings *settings)
{
	int fd, e;

	if (settings->job)
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no journal that we may read: "
				       "'mapletest jobs %" PRIu64
				       " --follow' shows the job's own log",
				       settings->job);
	if (access("/sys/module/maple", F_OK))
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no journal that we may read, "
				       "and maple.ko is not loaded: sudo "
				       "systemctl start systemd-journald, or "
				       "sudo modprobe maple");
	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return maple_say_error(MAPLE_STATUS_FAILED,
				       "there is no journal, and /dev/kmsg: "
				       "%s; run it as root",
				       strerror(errno));
	e = read_kernel(settings, fd);
	close(fd);
	return e ? maple_say_error(MAPLE_STATUS_FAILED, "/dev/kmsg: %s",
				   strerror(-e))
		 : MAPLE_STATUS_OK;
}

int maple_command_log(struct maple_settings *settings)
{
	sd_journal *j;
	int e;

	if (settings->argc)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "log takes options only, not '%s'",
				       settings->argv[0]);
	j = open_journal();
	if (!j)
		return maple_out_close(stdout, no_journal(settings));
	e = read_journal(settings, j);
	sd_journal_close(j);
	if (e < 0)
		return maple_say_error(MAPLE_STATUS_FAILED, "the journal: %s",
				       strerror(-e));
	return maple_out_close(stdout, MAPLE_STATUS_OK);
}
