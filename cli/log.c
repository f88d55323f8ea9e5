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

/*
 * maple_log_finding - tells the journal, if there is one, of a finding
 */
void maple_log_finding(const struct maple_finding *finding)
{
	sd_journal_send("MESSAGE=BUG: maple: %s", finding->title, "PRIORITY=3",
			"SYSLOG_IDENTIFIER=" IDENTIFIER, "MAPLE_FINDING=%s",
			finding->id, "MAPLE_PROGRAM=%s",
			finding->argv && *finding->argv ? *finding->argv : "",
			NULL);
}

static void print(const struct maple_settings *settings, uint64_t since_boot,
		  uint64_t since_epoch, const char *text)
{
	time_t seconds = (time_t)(since_epoch / 1000000);
	char when[64];
	struct tm tm;

	if (!settings->wall) {
		maple_report_dmesg(stdout, (double)since_boot / 1e6, text);
		return;
	}
	localtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Y", &tm);
	printf("[%s] maple: ", when);
	maple_report_clean(stdout, text);
	putchar('\n');
}

/* ---- the journal ---- */

static void print_entry(const struct maple_settings *settings, sd_journal *j)
{
	const size_t name = strlen("MESSAGE=");
	uint64_t boot = 0, epoch = 0;
	const char *text;
	const void *data;
	bool kernel;
	size_t size;
	char *line;

	kernel = !sd_journal_get_data(j, "_TRANSPORT", &data, &size) &&
		 size == strlen("_TRANSPORT=kernel") &&
		 !memcmp(data, "_TRANSPORT=kernel", size);
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
		print(settings, boot, epoch, text);
	free(line);
}

/*
 * Whose words these are, by the fields that journald itself fills in: anybody
 * may call himself mapled. Of mapletest's we hear our own and root's; NULL
 * ends a set of fields that all must be so, but one of several of a name will
 * do.
 */
static int add_matches(sd_journal *j)
{
	char us[32];
	const char *const matches[] = { "_SYSTEMD_UNIT=mapled.service",
					NULL,
					"SYSLOG_IDENTIFIER=mapled",
					"_UID=0",
					NULL,
					("SYSLOG_IDENTIFIER=" IDENTIFIER),
					"_UID=0",
					us,
					NULL,
					"_TRANSPORT=kernel" };
	int e = 0;

	snprintf(us, sizeof(us), "_UID=%u", geteuid());
	for (size_t i = 0; i < sizeof(matches) / sizeof(*matches) && e >= 0; i++)
		e = matches[i] ? sd_journal_add_match(j, matches[i], 0)
			       : sd_journal_add_disjunction(j);
	return e;
}

static int read_journal(const struct maple_settings *settings, sd_journal *j)
{
	int e = add_matches(j);

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

	if (!text || sscanf(record, "%*u,%*u,%" SCNu64, &boot) != 1)
		return;
	text[1 + strcspn(text + 1, "\n")] = 0;
	if (!strncmp(text + 1, MODULE, strlen(MODULE)))
		print(settings, boot, begin + boot, text + 1 + strlen(MODULE));
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
