// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * To become a user. The watch reads no file of a user's by itself: where a
 * user's rights lead to is that user's to say, and nobody else's.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "user.h"

#define PLACES	"/var/lib/maple" /* of what has no home, as attach's */
#define PATH	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LONG_MS 60000 /* for a child that looks at files */

static bool is_folder_of(const char *path, uid_t uid)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == uid;
}

/* A folder for what is learned, as root's attach makes one for its memo. */
static int make_place(struct maple_watch_user *user, struct maple_error *err)
{
	snprintf(user->place, sizeof(user->place), PLACES "/%s", user->name);
	mkdir(PLACES, 0755);
	if ((mkdir(user->place, 0700) && errno != EEXIST) ||
	    (!is_folder_of(user->place, user->uid) &&
	     lchown(user->place, user->uid, (gid_t)-1)) ||
	    !is_folder_of(user->place, user->uid))
		return maple_error_set(err, EACCES,
				       "user %s has no home, and %s cannot be "
				       "made: make it, and give it to %s",
				       user->name, user->place, user->name);
	return 0;
}

int maple_watch_user_find(const char *name, struct maple_watch_user *user,
			  struct maple_error *err)
{
	const struct passwd *pw = getpwnam(name);

	memset(user, 0, sizeof(*user));
	if (!pw)
		return maple_error_set(err, ENOENT,
				       "there is no user %s: the line of "
				       "mapled.conf that names one has no "
				       "effect until there is",
				       name);
	snprintf(user->name, sizeof(user->name), "%s", name);
	snprintf(user->home, sizeof(user->home), "%s", pw->pw_dir);
	user->uid = pw->pw_uid;
	user->gid = pw->pw_gid;
	if (geteuid() != user->uid && geteuid())
		return maple_error_set(err, EPERM,
				       "the processes of %s are %s's to join: "
				       "have root start mapled watch, or leave "
				       "that line out",
				       name, name);
	if (geteuid() == user->uid || is_folder_of(user->home, user->uid))
		return 0;
	return make_place(user, err);
}

static int change_environment(const struct maple_watch_user *user)
{
	if (clearenv() || setenv("PATH", PATH, 1) ||
	    setenv("HOME", user->home, 1) || setenv("USER", user->name, 1) ||
	    setenv("LOGNAME", user->name, 1))
		return -ENOMEM;
	return *user->place && setenv("XDG_STATE_HOME", user->place, 1)
		       ? -ENOMEM
		       : 0;
}

int maple_watch_user_become(const struct maple_watch_user *user)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	/* A service of root's has none by itself. */
	if (geteuid() == user->uid)
		return setenv("HOME", user->home, 0) ? -ENOMEM : 0;
	if (initgroups(user->name, user->gid) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return -errno;
	/* There is no way back, or something is wrong with this kernel. */
	assert(!user->uid || setresuid(0, 0, 0));
	umask(022);
	return change_environment(user);
}

/* Of the parent: as many bytes as were promised, or none. */
static int read_answer(int fd, void *answer, size_t size)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t got = 0;
	ssize_t n;

	while (got < size) {
		if (poll(&pfd, 1, LONG_MS) != 1)
			return -ETIMEDOUT;
		n = read(fd, (char *)answer + got, size - got);
		if (n <= 0)
			return -EIO;
		got += (size_t)n;
	}
	return 0;
}

int maple_watch_user_do(const struct maple_watch_user *user,
			int (*work)(const void *ctx, void *answer),
			const void *ctx, void *answer, size_t size)
{
	int ends[2], e, status = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child) {
		memset(answer, 0, size);
		e = maple_watch_user_become(user);
		if (!e)
			e = work(ctx, answer);
		if (write(ends[1], &e, sizeof(e)) != sizeof(e) ||
		    write(ends[1], answer, size) != (ssize_t)size)
			_exit(1);
		_exit(0);
	}
	e = child < 0 ? -errno : 0;
	close(ends[1]);
	if (!e && !(e = read_answer(ends[0], &status, sizeof(status))))
		e = read_answer(ends[0], answer, size);
	close(ends[0]);
	if (child > 0 && e)
		kill(child, SIGKILL);
	if (child > 0)
		waitpid(child, NULL, 0);
	return e ? e : status;
}
