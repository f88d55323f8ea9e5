// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Joining a program that runs already, and leaving it: who can be joined,
 * what is known of it, and that nobody else is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/guard/door.h"
#include "backend/join/porter.h"
#include "backend/process.h"
#include "attached.h"
#include "campaign/internal.h"

#define KTHREAD 0x00200000 /* a task's flag, in its stat */

/* What /proc/PID/status says of it. */
struct status {
	char state;
	pid_t leader, tracer;
	uid_t uid, euid;
	bool filtered; /* by seccomp */
};

static ssize_t slurp(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

static int no_process(pid_t pid, struct maple_error *err)
{
	return maple_error_set(err, ESRCH,
			       "there is no process %d: `pidof PROGRAM` knows "
			       "its number",
			       pid);
}

/*
 * maple_attached_look - since when process @pid runs, in @a; -EINVAL for what
 * is no program
 */
int maple_attached_look(pid_t pid, struct maple_attached *a,
			struct maple_error *err)
{
	unsigned long flags;
	char text[1024], *at;

	if (slurp(pid, "stat", text, sizeof(text)) <= 0)
		return no_process(pid, err);
	at = strrchr(text, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u "
			  "%*u %*d %*d %*d %*d %*d %*d %llu",
			  &flags, &a->started) != 2)
		return no_process(pid, err);
	a->joined.pid = pid;
	if (flags & KTHREAD)
		return maple_error_set(err, EINVAL,
				       "process %d is a thread of the kernel: "
				       "name a program",
				       pid);
	return 0;
}

static void read_status(char *text, struct status *s)
{
	char *line, *rest = text;
	long value;

	memset(s, 0, sizeof(*s));
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "State: %c", &s->state) == 1)
			continue;
		if (sscanf(line, "Tgid: %ld", &value) == 1)
			s->leader = value;
		else if (sscanf(line, "TracerPid: %ld", &value) == 1)
			s->tracer = value;
		else if (sscanf(line, "Seccomp: %ld", &value) == 1)
			s->filtered = value;
		else
			sscanf(line, "Uid: %u %u", &s->uid, &s->euid);
	}
}

static int check_user(pid_t pid, const struct status *s, struct maple_error *err)
{
	const struct passwd *pw;

	if (geteuid() == 0 || (s->uid == geteuid() && s->euid == s->uid))
		return 0;
	pw = getpwuid(s->euid);
	return maple_error_set(err, EPERM,
			       "process %d runs as %.40s: `sudo mapletest "
			       "attach %d`",
			       pid, pw ? pw->pw_name : "another user", pid);
}

static int check_status(pid_t pid, struct maple_error *err)
{
	char text[4096], comm[64] = "";
	struct status s;

	if (slurp(pid, "status", text, sizeof(text)) <= 0)
		return no_process(pid, err);
	read_status(text, &s);
	if (s.leader != pid)
		return maple_error_set(err, EINVAL,
				       "%d is a thread of process %d: "
				       "`mapletest attach %d`",
				       pid, s.leader, s.leader);
	if (s.state == 'Z' || s.state == 'X')
		return maple_error_set(err, ESRCH,
				       "process %d has ended: start it again",
				       pid);
	if (s.tracer) {
		slurp(s.tracer, "comm", comm, sizeof(comm));
		comm[strcspn(comm, "\n")] = '\0';
		return maple_error_set(err, EBUSY,
				       "process %d is traced by %s (%d): let "
				       "go of it there first",
				       pid, *comm ? comm : "somebody", s.tracer);
	}
	if (s.filtered && maple_uretprobe_is_filtered())
		return maple_error_set(err, ENOTSUP,
				       "process %d filters its system calls, "
				       "and this kernel would have it killed "
				       "for probes: take Linux 6.14 or later, "
				       "or start it without seccomp",
				       pid);
	return check_user(pid, &s, err);
}

static int check_number(pid_t pid, struct maple_error *err)
{
	if (pid == getpid())
		return maple_error_set(err, EINVAL,
				       "process %d is this very maple: name "
				       "another one",
				       pid);
	if (pid == 1)
		return maple_error_set(err, EINVAL,
				       "process 1 is init, which the machine "
				       "cannot do without: name another one");
	return 0;
}

static char *link_of(pid_t pid, const char *name)
{
	char path[64], to[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return NULL;
	to[n] = '\0';
	return strdup(to);
}

static bool is_program(const struct maple_attached *a, const struct stat *st)
{
	return st->st_dev == a->was.dev && st->st_ino == a->was.ino;
}

/* What cannot be read by its name is not what runs. */
static int look_at_program(struct maple_attached *a, struct maple_error *err)
{
	pid_t pid = a->joined.pid;
	char path[64];
	struct stat st;
	int e;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	a->exe = link_of(pid, "exe");
	a->cwd = link_of(pid, "cwd");
	if (!a->exe || stat(path, &st))
		return maple_error_set(err, errno == ENOENT ? ESRCH : EPERM,
				       "%s: %m; run it as root", path);
	if (maple_identify(pid, a->joined.pidfd, &a->was))
		return no_process(pid, err);
	e = maple_campaign_check_program(path, NULL, err);
	if (e)
		return e;
	if (stat(a->exe, &st) || !is_program(a, &st))
		return maple_error_set(err, ENOTSUP,
				       "%.100s is not the file any more that "
				       "process %d runs, it was replaced or is "
				       "in a container: start it again",
				       a->exe, pid);
	return 0;
}

static int read_argv(struct maple_attached *a, struct maple_error *err)
{
	char path[64];
	size_t size = 0, n = 0;
	ssize_t got;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", a->joined.pid);
	file = fopen(path, "re");
	got = file ? getdelim(&a->words, &size, EOF, file) : -1;
	if (file)
		fclose(file);
	for (ssize_t i = 0; i < got; i++)
		n += !a->words[i];
	a->argv = calloc(n + 2, sizeof(*a->argv));
	if (!a->argv)
		return maple_error_set(err, ENOMEM, "out of memory");
	/* One that has overwritten its own has the name of its file. */
	if (got <= 0 || !*a->words)
		a->argv[0] = a->exe;
	for (size_t i = 0, at = 0; i < n && a->argv[0] != a->exe; i++) {
		a->argv[i] = a->words + at;
		at += strlen(a->words + at) + 1;
	}
	return 0;
}

static int join(struct maple_attached *a, pid_t pid, struct maple_error *err)
{
	int e;

	/* First the handle, so that all that is read is of its process. */
	a->joined.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	e = maple_attached_look(pid, a, err);
	if (!e)
		e = check_status(pid, err);
	if (!e && a->joined.pidfd < 0)
		e = no_process(pid, err);
	if (!e)
		e = look_at_program(a, err);
	if (!e)
		e = read_argv(a, err);
	if (!e && !maple_attached_runs(a))
		e = no_process(pid, err);
	return e ? e : maple_detach_listen(a, err);
}

/* maple_attach_open - see maple/attach.h */
int maple_attach_open(pid_t pid, struct maple_attached **attached,
		      struct maple_error *err)
{
	struct maple_attached *a;
	int e = check_number(pid, err);

	if (e)
		return e;
	a = calloc(1, sizeof(*a));
	if (!a)
		return maple_error_set(err, ENOMEM, "out of memory");
	a->joined.pidfd = a->name = a->asker = -1;
	e = join(a, pid, err);
	if (e)
		maple_attach_close(a);
	else
		*attached = a;
	return e;
}

/* maple_attach_argv - see maple/attach.h */
char *const *maple_attach_argv(const struct maple_attached *attached)
{
	return attached->argv;
}

/* maple_attach_close - see maple/attach.h */
void maple_attach_close(struct maple_attached *a)
{
	if (!a)
		return;
	maple_porter_close();
	maple_door_close();
	if (a->joined.pidfd >= 0)
		close(a->joined.pidfd);
	maple_detach_close(a);
	free(a->exe);
	free(a->cwd);
	free(a->argv);
	free(a->words);
	free(a->was.rights);
	free(a);
}

/* maple_attached_runs - whether it does, and the program that it was */
bool maple_attached_runs(const struct maple_attached *a)
{
	struct pollfd pfd = { .fd = a->joined.pidfd, .events = POLLIN };
	struct stat st;

	return poll(&pfd, 1, 0) == 0 &&
	       !maple_door_stat(a->joined.pid, "exe", &st) &&
	       is_program(a, &st);
}

/* maple_attached_threads - how many it has now */
unsigned int maple_attached_threads(const struct maple_attached *a)
{
	pid_t tids[MAPLE_THREADS];

	return maple_process_threads(a->joined.pid, tids, MAPLE_THREADS);
}
