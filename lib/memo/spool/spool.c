// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The folder of spools: making one, and looking for those to be delivered. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memo/spool/spool.h"
#include "memo/sql.h"

#define TAIL ".spool"
#define BYTE 0x7ffffffffffffff0 /* far from those that SQLite locks */

/* False: somebody writes it. */
static bool lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK,
			   .l_whence = SEEK_SET,
			   .l_start = BYTE,
			   .l_len = 1 };

	return !fcntl(fd, F_OFD_SETLK, &l);
}

int maple_spool_make(const char *folder, const char *client, char **path,
		     int *fd, struct maple_error *err)
{
	if (asprintf(path, "%s/%s" TAIL, folder, client) < 0) {
		*path = NULL;
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	if (mkdir(folder, 0700) && errno != EEXIST)
		return maple_error_set(err, errno,
				       "the folder '%s' cannot be made: %s",
				       folder, strerror(errno));
	*fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd >= 0 && lock(*fd))
		return 0;
	return maple_error_set(err, errno, "the file '%s' cannot be made: %s",
			       *path, strerror(errno));
}

void maple_spool_drop(const char *path)
{
	static const char *const tails[] = { "-wal", "-shm", "" };
	char *name;

	for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++)
		if (asprintf(&name, "%s%s", path, tails[i]) >= 0) {
			unlink(name);
			free(name);
		}
}

static int deliver_one(struct maple_memo *memo, const char *path,
		       struct maple_memo_delivery *d, struct maple_error *err)
{
	enum maple_spool_end what = MAPLE_SPOOL_OTHER;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int64_t runs = 0;
	int ret;

	if (fd < 0 && errno == ENOENT)
		return 0; /* somebody else was faster */
	if (fd < 0)
		return maple_error_set(err, errno, "'%s' cannot be opened: %s",
				       path, strerror(errno));
	if (!lock(fd)) {
		d->busy++;
		close(fd);
		return 0;
	}
	ret = maple_spool_deliver(memo, path, false, &what, &runs, err);
	if (!ret && what != MAPLE_SPOOL_OTHER)
		maple_spool_drop(path);
	close(fd);
	if (ret)
		return ret;
	d->delivered += what == MAPLE_SPOOL_DELIVERED;
	d->before += what == MAPLE_SPOOL_BEFORE;
	d->others += what == MAPLE_SPOOL_OTHER;
	d->runs += (uint64_t)runs;
	return 0;
}

static int is_spool(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name), tail = strlen(TAIL);

	return n > tail && !strcmp(entry->d_name + n - tail, TAIL);
}

/* Of one campaign's that is first which came first: NAME, NAME-1, ... NAME-10. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	size_t n = strlen((*a)->d_name), m = strlen((*b)->d_name);

	return n != m ? (n > m) - (n < m) : strcmp((*a)->d_name, (*b)->d_name);
}

static int deliver_all(struct maple_memo *memo, const char *folder,
		       const char * not, struct maple_memo_delivery *delivery,
		       struct maple_error *err)
{
	struct dirent **entry = NULL;
	char *path;
	int ret = 0, n = scandir(folder, &entry, is_spool, by_name);

	if (n < 0 && errno != ENOENT)
		return maple_error_set(err, errno,
				       "the folder '%s' cannot be read: %s",
				       folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!ret &&
		    asprintf(&path, "%s/%s", folder, entry[i]->d_name) < 0)
			ret = maple_error_set(err, ENOMEM, "out of memory");
		else if (!ret) {
			if (!not || strcmp(path, not ) != 0)
				ret = deliver_one(memo, path, delivery, err);
			free(path);
		}
		free(entry[i]);
	}
	free(entry);
	return ret;
}

/* maple_memo_deliver - see maple/memo.h */
int maple_memo_deliver(struct maple_memo *memo, const char *folder,
		       struct maple_memo_delivery *delivery,
		       struct maple_error *err)
{
	*delivery = (struct maple_memo_delivery){ 0 };
	if (memo->host || !memo->driver->origin)
		return 0;
	return deliver_all(memo, folder, NULL, delivery, err);
}

int maple_spool_deliver_others(struct maple_memo *memo, const char *folder,
			       const char * not, struct maple_error *err)
{
	struct maple_memo_delivery delivery = { 0 };

	return deliver_all(memo, folder, not, &delivery, err);
}
