// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The place of all jobs: numbers that are given once, folders that come and go.
 *
 * Nothing here believes that a name below the place is what it was made as: no
 * symbolic link is followed.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "detached/folder.h"

#define LAST	"last" /* the file with the last number that was given */
#define LEAVE_S 60     /* what is hidden is not made for longer than this */

static int cannot(struct maple_error *err, const char *path, int e)
{
	return maple_error_set(err, e,
			       "the folder '%s' for jobs cannot be made: %s; "
			       "XDG_STATE_HOME=FOLDER names another place",
			       path, strerror(e));
}

static int make_all(const char *path, struct maple_error *err)
{
	char *copy = strdup(path);
	int e = 0;

	if (!copy)
		return maple_error_set(err, ENOMEM, "out of memory");
	for (char *p = copy + 1; !e; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = 0;
		if (mkdir(copy, 0700) && errno != EEXIST)
			e = cannot(err, copy, errno);
		if (!c)
			break;
		*p = c;
	}
	free(copy);
	return e;
}

/*
 * maple_folder_place - opens the folder of all jobs
 * @make: make it, if it is not there
 *
 * Returns a descriptor. Errors: -ENOENT, -EPERM it is another user's, others.
 */
int maple_folder_place(const char *path, bool make, struct maple_error *err)
{
	int fd, e = make ? make_all(path, err) : 0;
	struct stat st;

	if (e)
		return e;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return maple_error_set(err, errno,
				       "the folder '%s' for jobs: %s", path,
				       strerror(errno));
	if (!fstat(fd, &st) && st.st_uid == geteuid()) {
		if (!(st.st_mode & 077) || !fchmod(fd, 0700))
			return fd;
	}
	close(fd);
	return maple_error_set(err, EPERM,
			       "the folder '%s' for jobs is another user's; "
			       "XDG_STATE_HOME=FOLDER names another place",
			       path);
}

/* maple_folder_list - to read what is in @folder; NULL: it cannot be, see errno */
DIR *maple_folder_list(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

/* maple_folder_number - the number that @name is; 0: none */
uint64_t maple_folder_number(const char *name)
{
	uint64_t n;
	char *end;

	if (*name < '1' || *name > '9')
		return 0;
	errno = 0;
	n = strtoull(name, &end, 10);
	return *end || errno ? 0 : n;
}

/* The greatest that has a folder, in case that the file was lost. */
static uint64_t greatest(int place)
{
	DIR *dir = maple_folder_list(place);
	struct dirent *entry;
	uint64_t n, most = 0;

	while (dir && (entry = readdir(dir))) {
		n = maple_folder_number(entry->d_name);
		most = n > most ? n : most;
	}
	if (dir)
		closedir(dir);
	return most;
}

/* Under the lock on @file, which has the last number. */
static int take_number(int place, int file, const char *hidden, uint64_t *number)
{
	uint64_t n, most = greatest(place);
	char text[24] = "";
	ssize_t size;

	if (pread(file, text, sizeof(text) - 1, 0) < 0)
		return -errno;
	n = strtoull(text, NULL, 10);
	n = (n > most ? n : most) + 1;
	size = snprintf(text, sizeof(text), "%020" PRIu64 "\n", n);
	errno = ENOSPC;
	if (pwrite(file, text, size, 0) != size || fdatasync(file))
		return -errno;
	snprintf(text, sizeof(text), "%" PRIu64, n);
	if (renameat2(place, hidden, place, text, RENAME_NOREPLACE))
		return -errno;
	*number = n;
	return 0;
}

/* Whether somebody carries out the job in @folder. */
static bool is_held(int folder)
{
	int file = maple_folder_read(folder, MAPLE_FOLDER_ABOUT, 0);
	bool held = file >= 0 && maple_folder_holder(file);

	if (file >= 0)
		close(file);
	return held;
}

static int open_folder(int place, const char *name)
{
	return openat(place, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ... in the folder of this name. */
static bool runs(int place, const char *name)
{
	int folder = open_folder(place, name);
	bool held = folder >= 0 && is_held(folder);

	if (folder >= 0)
		close(folder);
	return held;
}

static unsigned int count_running(int place)
{
	DIR *dir = maple_folder_list(place);
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir)))
		n += maple_folder_number(entry->d_name) &&
		     runs(place, entry->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* Under the lock, so that of two at once one is seen by the other. */
static int admit(int place, unsigned int most, struct maple_error *err)
{
	unsigned int n = most ? count_running(place) : 0;

	if (!most || n < most)
		return 0;
	return maple_error_set(err, EDQUOT,
			       "%u of your jobs run%s, and no more than %u may "
			       "at once: 'mapletest jobs --stop N' ends one, "
			       "--max-jobs N allows more",
			       n, n == 1 ? "s" : "", most);
}

/*
 * maple_folder_publish - has the folder @hidden under the next number
 * @most: see maple_detached_publish()
 *
 * The number is on the disk before the job has it, so no crash has it given
 * twice.
 */
int maple_folder_publish(int place, const char *hidden, unsigned int most,
			 uint64_t *number, struct maple_error *err)
{
	int e, file = openat(place, LAST,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	assert(!strncmp(hidden, MAPLE_FOLDER_HIDDEN,
			strlen(MAPLE_FOLDER_HIDDEN)));
	if (file < 0)
		return maple_error_set(err, errno, "no number for a job: %s",
				       strerror(errno));
	do
		e = flock(file, LOCK_EX) ? -errno : 0;
	while (e == -EINTR);
	if (!e) {
		e = admit(place, most, err);
		if (e) {
			close(file);
			return e;
		}
		e = take_number(place, file, hidden, number);
	}
	close(file);
	return e ? maple_error_set(err, -e, "no number for a job: %s",
				   strerror(-e))
		 : 0;
}

/*
 * maple_folder_boot - what no other boot of this machine has had, or any other
 * machine; "" where it is not known
 */
void maple_folder_boot(char id[MAPLE_FOLDER_BOOT])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, id, MAPLE_FOLDER_BOOT - 1);

	if (fd >= 0)
		close(fd);
	id[n > 0 ? n : 0] = '\0';
	id[strcspn(id, "\n")] = '\0';
}

/* maple_folder_remove - a job's folder with its files; what is no job's stays */
void maple_folder_remove(int place, const char *name)
{
	int folder = open_folder(place, name);
	DIR *dir = maple_folder_list(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(folder, entry->d_name, 0);
	if (dir)
		closedir(dir);
	if (folder >= 0)
		close(folder);
	unlinkat(place, name, AT_REMOVEDIR);
}

/* Whether it was left behind by who was killed. */
static bool is_left(int place, const char *name)
{
	struct stat st;
	bool left;
	int folder;

	if (strncmp(name, MAPLE_FOLDER_HIDDEN, strlen(MAPLE_FOLDER_HIDDEN)))
		return false;
	folder = open_folder(place, name);
	if (folder < 0)
		return false;
	left = !fstat(folder, &st) && time(NULL) - st.st_mtime >= LEAVE_S &&
	       !is_held(folder);
	close(folder);
	return left;
}

/* maple_folder_sweep - removes what who was killed has left behind */
void maple_folder_sweep(int place)
{
	DIR *dir = maple_folder_list(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_left(place, entry->d_name))
			maple_folder_remove(place, entry->d_name);
	if (dir)
		closedir(dir);
}

/* maple_folder_read - a descriptor of a plain file in it, or -errno */
int maple_folder_read(int folder, const char *name, int flags)
{
	int fd = openat(folder, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/*
 * maple_folder_holder - the process that has the lock on @file; 0: none; -1:
 * one that has no number here, on another machine or in another PID namespace
 */
pid_t maple_folder_holder(int file)
{
	/* Who waits for its end has a read lock, which is none to this one. */
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	if (fcntl(file, F_GETLK, &lock))
		return 0;
	if (lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}
