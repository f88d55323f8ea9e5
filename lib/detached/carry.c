// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A job from the side of who begins it and of who carries it out. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>
#include <maple/detached.h>
#include <maple/version.h>
#include "base/bytes.h"
#include "detached/curve.h"
#include "detached/folder.h"
#include "detached/state.h"

#define FORMS 8 /* of report, at most */

struct maple_detached {
	int place, about, log, state, grown;
	char hidden[32]; /* its folder's name until it has a number */
	bool published;
	unsigned int nforms;
	int form[FORMS];
	struct maple_job_state now;
	struct maple_job_curve curve;
};

static json_t *words(char *const *argv)
{
	json_t *array = json_array();

	for (; argv && *argv; argv++)
		json_array_append_new(array, maple_bytes_encode(*argv));
	return array;
}

static int write_about(int fd, const struct maple_detached_task *task)
{
	char host[HOST_NAME_MAX + 1] = "", *cwd = get_current_dir_name(), *text;
	char boot[MAPLE_FOLDER_BOOT];
	json_t *about;
	size_t size;
	int e = 0;

	gethostname(host, sizeof(host) - 1);
	maple_folder_boot(boot);
	about = json_pack(
		"{s:i, s:s, s:o, s:o, s:i, s:o, s:o, s:s, s:I}", "schema", 1,
		"version", MAPLE_VERSION, "argv", words(task->argv), "program",
		words(task->program), "attached", (int)task->attached, "cwd",
		maple_bytes_encode(cwd), "host", maple_bytes_encode(host),
		"boot", boot, "began", (json_int_t)time(NULL));
	text = about ? json_dumps(about, JSON_COMPACT) : NULL;
	json_decref(about);
	free(cwd);
	if (!text)
		return -ENOMEM;
	size = strlen(text);
	errno = ENOSPC;
	if (write(fd, text, size) != (ssize_t)size)
		e = -errno;
	free(text);
	return e;
}

static int make_file(int folder, const char *name, int flags)
{
	int fd = openat(folder, name,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC |
				flags,
			0600);

	return fd < 0 ? -errno : fd;
}

static int make_reports(struct maple_detached *job, int folder,
			const char *const *forms)
{
	char name[64];
	int fd;

	for (; *forms; forms++) {
		assert(job->nforms < FORMS);
		snprintf(name, sizeof(name), "report.%s", *forms);
		fd = make_file(folder, name, 0);
		if (fd < 0)
			return fd;
		job->form[job->nforms++] = fd;
	}
	return 0;
}

static int make_files(struct maple_detached *job, int folder,
		      const struct maple_detached_task *task,
		      const char *const *forms)
{
	int e;

	job->about = make_file(folder, MAPLE_FOLDER_ABOUT, 0);
	if (job->about < 0)
		return job->about;
	e = write_about(job->about, task);
	if (e)
		return e;
	job->state = make_file(folder, MAPLE_FOLDER_STATE, 0);
	if (job->state < 0)
		return job->state;
	job->grown = make_file(folder, MAPLE_FOLDER_CURVE, 0);
	if (job->grown < 0)
		return job->grown;
	job->log = make_file(folder, MAPLE_FOLDER_LOG, O_APPEND);
	if (job->log < 0)
		return job->log;
	e = make_reports(job, folder, forms);
	if (e)
		return e;
	/* Its end has its place on the disk from the beginning. */
	e = maple_state_write(job->state, &job->now);
	if (!e)
		e = maple_curve_write(job->grown, &job->curve);
	return e || !fsync(job->state) ? e : -errno;
}

static int make_folder(struct maple_detached *job)
{
	uint32_t number;
	int e;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(job->hidden, sizeof(job->hidden),
			 MAPLE_FOLDER_HIDDEN "%08" PRIx32, number);
		e = mkdirat(job->place, job->hidden, 0700) ? -errno : 0;
	} while (e == -EEXIST);
	return e;
}

static int make(struct maple_detached *job,
		const struct maple_detached_task *task, const char *const *forms)
{
	int folder, e = make_folder(job);

	if (e) {
		*job->hidden = 0;
		return e;
	}
	folder = openat(job->place, job->hidden,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	e = make_files(job, folder, task, forms);
	close(folder);
	return e;
}

/* maple_detached_create - see maple/detached.h */
int maple_detached_create(const char *place,
			  const struct maple_detached_task *task,
			  const char *const *forms, struct maple_detached **job,
			  struct maple_error *err)
{
	struct maple_detached *j = calloc(1, sizeof(*j));
	int e;

	if (!j)
		return maple_error_set(err, ENOMEM, "out of memory");
	j->about = j->log = j->state = j->grown = -1;
	j->now.status = -1;
	j->now.user = geteuid();
	j->place = maple_folder_place(place, true, err);
	if (j->place < 0) {
		e = j->place;
		free(j);
		return e;
	}
	maple_folder_sweep(j->place);
	e = make(j, task, forms);
	if (!e) {
		*job = j;
		return 0;
	}
	maple_detached_discard(j);
	maple_detached_close(j);
	return maple_error_set(err, -e,
			       "a job cannot be kept in '%s': %s; "
			       "XDG_STATE_HOME=FOLDER names another place",
			       place, strerror(-e));
}

/* maple_detached_own - see maple/detached.h */
int maple_detached_own(struct maple_detached *job, struct maple_error *err)
{
	/*
	 * The lock of a process, not of an open file: what it forks, and what
	 * may live on, has no part in it.
	 */
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(job->about, F_SETLK, &lock)
		       ? maple_error_set(err, errno,
					 "a job cannot be locked: %s; "
					 "XDG_STATE_HOME=FOLDER names another "
					 "place",
					 strerror(errno))
		       : 0;
}

/* maple_detached_publish - see maple/detached.h */
int maple_detached_publish(struct maple_detached *job, unsigned int most,
			   uint64_t *number, struct maple_error *err)
{
	int e = maple_folder_publish(job->place, job->hidden, most, number, err);

	job->published |= !e;
	return e;
}

/* maple_detached_discard - see maple/detached.h */
void maple_detached_discard(struct maple_detached *job)
{
	if (*job->hidden && !job->published)
		maple_folder_remove(job->place, job->hidden);
	*job->hidden = 0;
}

static bool is_of(const struct maple_detached *job, int fd)
{
	for (unsigned int i = 0; i < job->nforms; i++)
		if (fd == job->form[i])
			return true;
	return fd == job->about || fd == job->log || fd == job->state ||
	       fd == job->grown;
}

/* maple_detached_shed - see maple/detached.h */
void maple_detached_shed(struct maple_detached *job, int keep)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd;

	while (dir && (entry = readdir(dir))) {
		fd = atoi(entry->d_name);
		if (fd > STDERR_FILENO && fd != keep && fd != dirfd(dir) &&
		    !is_of(job, fd))
			close(fd);
	}
	if (dir)
		closedir(dir);
	job->place = -1;
}

/* maple_detached_log - see maple/detached.h */
int maple_detached_log(const struct maple_detached *job)
{
	return job->log;
}

/* maple_detached_report - see maple/detached.h */
FILE *maple_detached_report(struct maple_detached *job, unsigned int i)
{
	FILE *out;
	int fd;

	assert(i < job->nforms);
	fd = fcntl(job->form[i], F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	out = ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) ? NULL
							 : fdopen(fd, "w");
	if (!out)
		close(fd);
	return out;
}

/* maple_detached_reported - see maple/detached.h */
void maple_detached_reported(struct maple_detached *job, bool whole)
{
	for (unsigned int i = 0; i < job->nforms && whole; i++)
		whole = !fsync(job->form[i]);
	job->now.reported = whole;
	maple_state_write(job->state, &job->now);
}

/* maple_detached_progress - see maple/detached.h */
void maple_detached_progress(struct maple_detached *job, unsigned int runs,
			     unsigned int findings)
{
	job->now.runs = runs;
	job->now.findings = findings;
	job->now.user = geteuid();
	maple_state_write(job->state, &job->now);
}

/* maple_detached_grow - see maple/detached.h */
void maple_detached_grow(struct maple_detached *job,
			 const struct maple_detached_point *point)
{
	maple_curve_add(&job->curve, point);
	maple_curve_write(job->grown, &job->curve);
}

/* maple_detached_end - see maple/detached.h */
int maple_detached_end(struct maple_detached *job, int status)
{
	int e;

	assert(status >= 0 && status < 256);
	job->now.status = status;
	job->now.ended = (int64_t)time(NULL);
	e = maple_state_write(job->state, &job->now);
	return e || !fsync(job->state) ? e : -errno;
}

/* maple_detached_close - see maple/detached.h */
void maple_detached_close(struct maple_detached *job)
{
	if (!job)
		return;
	for (unsigned int i = 0; i < job->nforms; i++)
		close(job->form[i]);
	if (job->log >= 0)
		close(job->log);
	if (job->state >= 0)
		close(job->state);
	if (job->grown >= 0)
		close(job->grown);
	if (job->about >= 0)
		close(job->about);
	if (job->place >= 0)
		close(job->place);
	free(job);
}
