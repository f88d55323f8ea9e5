// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Jobs from the side of whoever wants to know of them, or has them end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <jansson.h>
#include <maple/detached.h>
#include "base/array.h"
#include "base/bytes.h"
#include "detached/curve.h"
#include "detached/folder.h"
#include "detached/state.h"

/* maple_detached_state_name - see maple/detached.h */
const char *maple_detached_state_name(enum maple_detached_state state)
{
	static const char *const names[MAPLE_DETACHED_STATES] = {
		[MAPLE_DETACHED_RUNNING] = "running",
		[MAPLE_DETACHED_CLEAN] = "clean",
		[MAPLE_DETACHED_FINDING] = "finding",
		[MAPLE_DETACHED_SKIPPED] = "skipped",
		[MAPLE_DETACHED_FAILED] = "failed",
		[MAPLE_DETACHED_CUT_OFF] = "cut off",
	};

	return state < MAPLE_DETACHED_STATES ? names[state] : NULL;
}

/* maple_detached_state_of - see maple/detached.h */
enum maple_detached_state maple_detached_state_of(int status)
{
	switch (status) {
	case 0:
		return MAPLE_DETACHED_CLEAN;
	case 66:
		return MAPLE_DETACHED_FINDING;
	case 77:
		return MAPLE_DETACHED_SKIPPED;
	default:
		return MAPLE_DETACHED_FAILED;
	}
}

static char **decode_words(const json_t *array)
{
	size_t n = json_array_size(array);
	char **words = calloc(n + 1, sizeof(*words));

	for (size_t i = 0; words && i < n; i++)
		words[i] = maple_bytes_decode(json_array_get(array, i))
				   ?: strdup("");
	return words;
}

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

static bool is_of_another_boot(const char *boot)
{
	char now[MAPLE_FOLDER_BOOT];

	maple_folder_boot(now);
	return boot && *boot && *now && strcmp(boot, now) != 0;
}

/* What it was begun for; of a damaged file, as much as there is. */
static void read_about(int fd, struct maple_detached_info *job)
{
	json_t *about = json_loadfd(fd, 0, NULL);

	job->argv = decode_words(json_object_get(about, "argv"));
	job->program = decode_words(json_object_get(about, "program"));
	job->cwd = maple_bytes_decode(json_object_get(about, "cwd"));
	job->host = maple_bytes_decode(json_object_get(about, "host"));
	job->attached =
		(pid_t)json_integer_value(json_object_get(about, "attached"));
	job->began = json_integer_value(json_object_get(about, "began"));
	job->rebooted = is_of_another_boot(
		json_string_value(json_object_get(about, "boot")));
	json_decref(about);
}

/* In this order: who has no lock any more has said how it ended, or never will. */
static void read_state(int folder, int about, struct maple_detached_info *job)
{
	struct maple_job_state state = { .status = -1, .user = geteuid() };
	pid_t holder = about >= 0 ? maple_folder_holder(about) : 0;
	int fd = maple_folder_read(folder, MAPLE_FOLDER_STATE, 0);

	if (fd >= 0) {
		if (maple_state_read(fd, &state))
			state.status = -1;
		close(fd);
	}
	job->status = state.status;
	job->runs = state.runs;
	job->findings = state.findings;
	job->user = (uid_t)state.user;
	job->ended = state.ended;
	job->reported = state.reported && state.status >= 0;
	if (state.status >= 0)
		job->state = maple_detached_state_of(state.status);
	else
		job->state = holder ? MAPLE_DETACHED_RUNNING
				    : MAPLE_DETACHED_CUT_OFF;
	if (job->state == MAPLE_DETACHED_RUNNING && holder > 0)
		job->pid = holder;
}

/* Of one that has none, or a damaged one, as much as there is. */
static void read_curve(int folder, struct maple_detached_info *job)
{
	int fd = maple_folder_read(folder, MAPLE_FOLDER_CURVE, 0);

	if (fd < 0)
		return;
	maple_curve_read(fd, &job->curve, &job->npoints);
	close(fd);
}

/* What its files take on the disk. @folder goes. */
static uint64_t measure(int folder)
{
	DIR *dir = fdopendir(folder);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (dir)
		closedir(dir);
	else
		close(folder);
	return bytes;
}

static int open_job(int place, uint64_t number)
{
	char name[24];
	int fd;

	snprintf(name, sizeof(name), "%" PRIu64, number);
	fd = openat(place, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_here(const struct maple_detached_info *job)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	return !job->host || !*job->host || !strcmp(job->host, host);
}

static int look(int place, const char *path, uint64_t number,
		struct maple_detached_info *job)
{
	int about, folder = open_job(place, number);

	if (folder < 0)
		return folder;
	memset(job, 0, sizeof(*job));
	job->number = number;
	if (asprintf(&job->folder, "%s/%" PRIu64, path, number) < 0)
		job->folder = NULL;
	about = maple_folder_read(folder, MAPLE_FOLDER_ABOUT, 0);
	read_about(about, job);
	read_state(folder, about, job);
	read_curve(folder, job);
	if (about >= 0)
		close(about);
	/* Another machine has other boots. */
	job->rebooted &= job->state == MAPLE_DETACHED_CUT_OFF && is_here(job);
	job->bytes = measure(folder);
	if (job->folder && job->argv && job->program)
		return 0;
	maple_detached_info_deinit(job);
	return -ENOMEM;
}

/* maple_detached_info_deinit - see maple/detached.h */
void maple_detached_info_deinit(struct maple_detached_info *job)
{
	free_words(job->argv);
	free_words(job->program);
	free(job->cwd);
	free(job->host);
	free(job->folder);
	free(job->curve);
}

/* maple_detached_list_destroy - see maple/detached.h */
void maple_detached_list_destroy(struct maple_detached_info *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		maple_detached_info_deinit(&jobs[i]);
	free(jobs);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *l = a, *r = b;

	return *l < *r ? -1 : *l > *r;
}

/* All numbers, in order, on the heap. */
static int list_numbers(int place, uint64_t **numbers, size_t *n)
{
	DIR *dir = maple_folder_list(place);
	struct dirent *entry;
	uint64_t number;

	*numbers = NULL;
	*n = 0;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		number = maple_folder_number(entry->d_name);
		if (!number)
			continue;
		if (!maple_array_resize(*numbers, *n + 1)) {
			closedir(dir);
			return -ENOMEM;
		}
		(*numbers)[(*n)++] = number;
	}
	closedir(dir);
	if (*n)
		qsort(*numbers, *n, sizeof(**numbers), by_number);
	return 0;
}

/* maple_detached_list - see maple/detached.h */
int maple_detached_list(const char *place, struct maple_detached_info **jobs,
			size_t *n, uint64_t *bytes, struct maple_error *err)
{
	int e, fd = maple_folder_place(place, false, err);
	uint64_t *numbers = NULL, sum = 0;
	size_t all = 0;

	*jobs = NULL;
	*n = 0;
	if (bytes)
		*bytes = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	e = list_numbers(fd, &numbers, &all);
	if (!e && all)
		*jobs = calloc(all, sizeof(**jobs));
	if (!e && all && !*jobs)
		e = -ENOMEM;
	for (size_t i = 0; i < all && !e; i++) {
		e = look(fd, place, numbers[i], &(*jobs)[*n]);
		if (!e)
			sum += (*jobs)[(*n)++].bytes;
		/* It may have been removed meanwhile. */
		if (e == -ENOENT)
			e = 0;
	}
	free(numbers);
	close(fd);
	if (bytes)
		*bytes = sum;
	if (!e)
		return 0;
	maple_detached_list_destroy(*jobs, *n);
	*jobs = NULL;
	*n = 0;
	return maple_error_set(err, -e, "the jobs in '%s': %s", place,
			       strerror(-e));
}

static int no_job(struct maple_error *err, const char *place, uint64_t number,
		  int e)
{
	if (e == -ENOENT)
		return maple_error_set(err, ENOENT,
				       "there is no job %" PRIu64
				       " in '%s'; 'mapletest jobs' lists them",
				       number, place);
	return maple_error_set(err, -e, "job %" PRIu64 " in '%s': %s", number,
			       place, strerror(-e));
}

/* Its folder, or an error said. */
static int enter(const char *place, uint64_t number, struct maple_error *err)
{
	int folder, fd = maple_folder_place(place, false, err);

	if (fd == -ENOENT)
		return no_job(err, place, number, fd);
	if (fd < 0)
		return fd;
	folder = open_job(fd, number);
	close(fd);
	return folder < 0 ? no_job(err, place, number, folder) : folder;
}

/* maple_detached_look - see maple/detached.h */
int maple_detached_look(const char *place, uint64_t number,
			struct maple_detached_info *job, struct maple_error *err)
{
	int e, fd = maple_folder_place(place, false, err);

	if (fd < 0 && fd != -ENOENT)
		return fd;
	e = fd < 0 ? fd : look(fd, place, number, job);
	if (fd >= 0)
		close(fd);
	return e ? no_job(err, place, number, e) : 0;
}

/* maple_detached_open - see maple/detached.h */
int maple_detached_open(const char *place, uint64_t number, const char *name,
			struct maple_error *err)
{
	int fd, folder = enter(place, number, err);
	char file[64];

	if (folder < 0)
		return folder;
	snprintf(file, sizeof(file), "%s%s",
		 strcmp(name, MAPLE_FOLDER_LOG) ? "report." : "", name);
	fd = maple_folder_read(folder, file, 0);
	close(folder);
	return fd < 0 ? no_job(err, place, number, fd) : fd;
}

static int open_about(const char *place, uint64_t number,
		      struct maple_error *err)
{
	int fd, folder = enter(place, number, err);

	if (folder < 0)
		return folder;
	fd = maple_folder_read(folder, MAPLE_FOLDER_ABOUT, 0);
	close(folder);
	return fd < 0 ? no_job(err, place, number, fd) : fd;
}

/* maple_detached_wait - see maple/detached.h */
int maple_detached_wait(const char *place, uint64_t number,
			struct maple_error *err)
{
	/* A read lock is had when the job's own is gone. */
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int e = 0, fd = open_about(place, number, err);

	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_SETLKW, &lock))
		e = no_job(err, place, number, -errno);
	close(fd);
	return e;
}

/*
 * A pidfd of the process that has the lock on @fd. The number of one that has
 * died may be another's by now, but that one has no lock: so it is asked again.
 */
static int open_holder(int fd)
{
	pid_t again, pid = maple_folder_holder(fd);
	int pidfd;

	if (!pid)
		return -ESRCH;
	if (pid < 0)
		return -EREMOTE;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	again = maple_folder_holder(fd);
	if (again == pid)
		return pidfd;
	close(pidfd);
	return again ? -EAGAIN : -ESRCH;
}

static int end_holder(int fd, double seconds)
{
	struct pollfd pfd = { .fd = open_holder(fd), .events = POLLIN };
	int n, e = 0;

	if (pfd.fd < 0)
		return pfd.fd;
	if (syscall(SYS_pidfd_send_signal, pfd.fd, SIGINT, NULL, 0))
		e = -errno;
	if (!e) {
		n = poll(&pfd, 1, (int)(seconds * 1000));
		e = n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
	}
	close(pfd.fd);
	return e;
}

/* maple_detached_stop - see maple/detached.h */
int maple_detached_stop(const char *place, uint64_t number, double seconds,
			struct maple_error *err)
{
	struct maple_detached_info job;
	int fd, e = maple_detached_look(place, number, &job, err);
	char host[128];

	if (e)
		return e;
	snprintf(host, sizeof(host), "%s", job.host ? job.host : "");
	fd = open_about(place, number, err);
	if (fd < 0)
		e = fd;
	else if (!is_here(&job) && job.state == MAPLE_DETACHED_RUNNING)
		e = -EREMOTE;
	else
		e = end_holder(fd, seconds);
	maple_detached_info_deinit(&job);
	if (fd < 0)
		return e;
	close(fd);
	switch (-e) {
	case 0:
		return 0;
	case ESRCH:
		return maple_error_set(err, ESRCH, "job %" PRIu64 " has ended",
				       number);
	case EREMOTE:
		return maple_error_set(err, EREMOTE,
				       "job %" PRIu64 " is carried out by '%s', "
				       "or in another container: stop it there",
				       number, host);
	case ETIMEDOUT:
		return maple_error_set(err, ETIMEDOUT,
				       "job %" PRIu64 " was asked to end and "
				       "has not ended after %.0f s",
				       number, seconds);
	default:
		return no_job(err, place, number, e);
	}
}

/* maple_detached_remove - see maple/detached.h */
int maple_detached_remove(const char *place, uint64_t number,
			  struct maple_error *err)
{
	int fd, e, about, folder = enter(place, number, err);
	char name[24], hidden[64];

	if (folder < 0)
		return folder;
	about = maple_folder_read(folder, MAPLE_FOLDER_ABOUT, 0);
	close(folder);
	e = about >= 0 && maple_folder_holder(about);
	if (about >= 0)
		close(about);
	if (e)
		return maple_error_set(err, EBUSY,
				       "job %" PRIu64 " runs: --stop ends it",
				       number);
	fd = maple_folder_place(place, false, err);
	if (fd < 0)
		return fd;
	snprintf(name, sizeof(name), "%" PRIu64, number);
	snprintf(hidden, sizeof(hidden), MAPLE_FOLDER_HIDDEN "gone-%s", name);
	/* So nobody sees half of it, and what is left will be swept. */
	if (renameat(fd, name, fd, hidden))
		e = no_job(err, place, number, -errno);
	else
		maple_folder_remove(fd, hidden);
	close(fd);
	return e;
}
