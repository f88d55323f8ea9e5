// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may do what to which process, and what becomes of it when that process
 * gets other rights: the table of mapled(8), row by row. Runs in a guest, as
 * root, with the module loaded:
 *   rights FOLDER [SOCKET]
 * FOLDER is empty, and programs can be executed in it; SOCKET is mapled's,
 * whose members are group 54399. Prints "ok ROW" or "not ok ROW: WHY", and how
 * many there were.
 *
 * The target calls getppid(), where there is a probe that reads its memory:
 * BEFORE times, then something happens to its rights, then AFTER times.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "backend/guard/door.h"
#include "backend/kernel/module/control.h"
#include "backend/process.h"
#include "backend/guard/warden.h"
#include "host/host.h"

#define OWNER	  54321
#define OTHER	  54322
#define STRANGER  54323
#define MEMBERS	  54399
#define BEFORE	  3
#define AFTER	  20
#define CPU	  1 /* where nobody lends one */

#define BIT(n)	  (1ull << (n))
#define MONITOR	  (BIT(CAP_PERFMON) | BIT(CAP_SYS_NICE))
#define EVERYBODY (MONITOR | BIT(CAP_SYS_PTRACE))

static const char *folder, *socket_path;

static void die(const char *what)
{
	fprintf(stderr, "rights: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* ---- the target ---- */

static void look(int times)
{
	while (times--)
		getppid();
}

/* What it sees of its own scheduling goes to who waits for it. */
static int run_on(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("%d %d\n", sched_getscheduler(0) & ~SCHED_RESET_ON_FORK,
	       CPU_COUNT(&cpus));
	fflush(stdout);
	look(AFTER);
	return 0;
}

static int happen(char **argv)
{
	const char *what = argv[1];

	if (!strcmp(what, "dump"))
		return prctl(PR_SET_DUMPABLE, 0);
	if (!strcmp(what, "userns"))
		return unshare(CLONE_NEWUSER);
	if (!strcmp(what, "setuid"))
		return setresuid(OTHER, OTHER, OTHER) ||
		       prctl(PR_SET_DUMPABLE, 1);
	if (!strcmp(what, "exec")) {
		execl(argv[2], "target", "nothing", "0", NULL);
		return -1;
	}
	return 0;
}

/* target WHAT BEFORE-STANDING? [PROGRAM] */
static int be_target(char **argv)
{
	bool first = argv[2][0] == 'f', armed = argv[2][0] == 'a';
	char *next[] = { argv[0], argv[1], argv[3], NULL };

	if (argv[2][0] == '0') /* a program that another has become */
		return run_on();
	if (first && happen(next))
		return 3;
	raise(SIGSTOP);
	if (!first && !armed)
		look(BEFORE);
	if (!first && happen(next))
		return 3;
	return run_on();
}

/* ---- what there is to execute ---- */

static char *place(const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		die("memory");
	return path;
}

static void copy_self(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY), to;
	char *path = place(name), data[65536];
	ssize_t n;

	to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);
	if (from < 0 || to < 0)
		die(path);
	while ((n = read(from, data, sizeof(data))) > 0)
		if (write(to, data, (size_t)n) != n)
			die(path);
	if (fchown(to, uid, gid) || fchmod(to, mode))
		die(path);
	close(from);
	close(to);
	free(path);
}

static void copy_all(void)
{
	const struct vfs_cap_data caps = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data[0].permitted = (unsigned int)BIT(CAP_NET_RAW),
	};
	char *path = place("caps");

	copy_self("plain", 0, 0, 0755);
	copy_self("user", 0, 0, 04755);
	copy_self("group", 0, 0, 02755);
	copy_self("unread", 0, 0, 0711);
	copy_self("caps", 0, 0, 0755);
	if (setxattr(path, "security.capability", &caps, sizeof(caps), 0))
		die("file capabilities");
	free(path);
}

/* ---- the table ---- */

enum where { KERNEL, MAPLED, WARDEN };

enum outcome {
	REFUSED, /* START, with the text */
	SEEN,	 /* to its end */
	CUT,	 /* there, and the state is BARRED */
	OVER,	 /* there, and the state is GONE */
};

static const struct row {
	const char *name;
	enum where where;
	uid_t sender, owner;	 /* owner: the target's */
	unsigned long long caps; /* sender's; of root: all */
	const char *program, *what, *when, *then;
	enum outcome outcome;
	const char *text;
	int gone; /* 1: the target, when START comes; 2: its pid is another's */
} rows[] = {
#define ROW(name, where, sender, caps, owner, ...)            \
	{                                                     \
		name, where, sender, owner, caps, __VA_ARGS__ \
	}
/* standing before it: f(irst), then START; a(rmed): no hit yet; r(unning) */
#define OWN(name, ...)                                                    \
	ROW("kernel: " name, KERNEL, OWNER, MONITOR, OWNER, __VA_ARGS__), \
		ROW("mapled: " name, MAPLED, OWNER, 0, OWNER, __VA_ARGS__)
#define ANY(name, ...)                                              \
	ROW("with CAP_SYS_PTRACE: " name, KERNEL, OWNER, EVERYBODY, \
	    __VA_ARGS__),                                           \
		ROW("root: " name, KERNEL, 0, 0, __VA_ARGS__),      \
		ROW("root, by mapled: " name, MAPLED, 0, 0, __VA_ARGS__)
#define WARD(name, ...)                                                    \
	ROW("root, as its user: " name, WARDEN, 0, BIT(CAP_SETUID), OWNER, \
	    __VA_ARGS__)
	OWN("its own process", "plain", "nothing", "r", "", SEEN),
	OWN("... that executes its like", "plain", "exec", "a", "plain", SEEN),
	OWN("... and does so once it was seen", "plain", "exec", "r", "plain",
	    OVER),
	OWN("it executes a set-user-id program", "plain", "exec", "a", "user",
	    CUT, "the program"),
	OWN("... once it was seen", "plain", "exec", "r", "user", CUT,
	    "the program"),
	OWN("it executes a set-group-id program", "plain", "exec", "a", "group",
	    CUT, "the program"),
	OWN("it executes one with file capabilities", "plain", "exec", "a",
	    "caps", CUT, "the program"),
	OWN("it executes what it cannot read", "plain", "exec", "a", "unread",
	    CUT, "may not be traced"),
	OWN("it forbids to be traced", "plain", "dump", "r", "", CUT,
	    "may not be traced"),
	OWN("it makes a user namespace", "plain", "userns", "r", "", CUT,
	    "user namespace"),
	ROW("kernel: it becomes another user", KERNEL, OWNER,
	    MONITOR | BIT(CAP_SETUID), OWNER, "plain", "setuid", "r", "", CUT,
	    "another user"),
	OWN("one that forbids to be traced", "plain", "dump", "f", "", REFUSED,
	    "may not be traced"),
	OWN("one in a user namespace", "plain", "userns", "f", "", REFUSED,
	    "user namespace"),
	OWN("a set-user-id program", "user", "nothing", "f", "", REFUSED,
	    "another user"),
	OWN("a set-group-id program", "group", "nothing", "f", "", REFUSED,
	    "another group"),
	OWN("one with file capabilities", "caps", "nothing", "f", "", REFUSED,
	    "capabilities of its own"),
	OWN("what it cannot read", "unread", "nothing", "f", "", REFUSED,
	    "may not be traced"),
	ROW("kernel: another user's", KERNEL, OTHER, MONITOR, OWNER, "plain",
	    "nothing", "r", "", REFUSED, "another user"),
	ROW("mapled: another member's", MAPLED, OTHER, 0, OWNER, "plain",
	    "nothing", "r", "", REFUSED, "another user"),
	ROW("kernel: root's", KERNEL, OTHER, MONITOR, 0, "plain", "nothing",
	    "r", "", REFUSED, "another user"),
	ROW("mapled: root's", MAPLED, OTHER, 0, 0, "plain", "nothing", "r", "",
	    REFUSED, "another user"),
	ROW("kernel: a stranger, its own", KERNEL, STRANGER, 0, STRANGER,
	    "plain", "nothing", "r", "", REFUSED, "CAP_PERFMON"),
	ROW("mapled: a stranger, its own", MAPLED, STRANGER, 0, STRANGER,
	    "plain", "nothing", "r", "", REFUSED, "mapled"),
	OWN("a dead process", "plain", "nothing", "r", "", REFUSED, "", 1),
	OWN("a dead process, whose number is another's", "plain", "nothing",
	    "r", "", REFUSED, "", 2),
	ANY("another user's", OTHER, "plain", "nothing", "r", "", SEEN),
	ANY("a set-user-id program", OTHER, "user", "nothing", "f", "", SEEN),
	ANY("one that executes a set-user-id program", OTHER, "plain", "exec",
	    "a", "user", SEEN),
	ANY("one that forbids to be traced", OTHER, "plain", "dump", "r", "",
	    SEEN),
	WARD("a process", "plain", "nothing", "r", "", SEEN),
	WARD("one that forbids to be traced", "plain", "dump", "f", "", SEEN),
	WARD("... once it was seen", "plain", "dump", "r", "", SEEN),
	WARD("what its user cannot read", "unread", "nothing", "f", "", SEEN),
	WARD("a set-user-id program", "user", "nothing", "f", "", SEEN),
	WARD("one that executes its like", "plain", "exec", "a", "plain", SEEN),
	WARD("... a set-user-id program", "plain", "exec", "a", "user", CUT,
	     "the program"),
	WARD("... that, once it was seen", "plain", "exec", "r", "user", CUT,
	     "the program"),
	WARD("... a set-group-id program", "plain", "exec", "a", "group", CUT,
	     "the program"),
	WARD("... one with file capabilities", "plain", "exec", "a", "caps",
	     CUT, "the program"),
	WARD("one that becomes another user's", "plain", "setuid", "r", "", CUT,
	     "other rights"),
	WARD("one that makes a user namespace", "plain", "userns", "r", "", CUT,
	     "other rights"),
	WARD("a dead process", "plain", "nothing", "r", "", REFUSED, "", 1),
	WARD("a dead process, whose number is another's", "plain", "nothing",
	     "r", "", REFUSED, "", 2),
};

/* ---- roles ---- */

static void set_caps(unsigned long long caps)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ (uint32_t)caps, (uint32_t)caps, (uint32_t)caps },
		{ caps >> 32, caps >> 32, caps >> 32 },
	};

	if (syscall(SYS_capset, &head, data))
		die("capset");
}

/* @caps: also of what it executes, as far as @ambient has them */
static void become(uid_t uid, unsigned long long caps,
		   unsigned long long ambient)
{
	const gid_t members = MEMBERS;

	if (!uid)
		return;
	if (setgroups(uid != STRANGER, &members) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("other ids");
	set_caps(caps);
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (ambient & BIT(i) &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			die("ambient capabilities");
	/* What set ids has made impossible. */
	prctl(PR_SET_DUMPABLE, 1);
}

static pid_t start_target(const struct row *row, int *report)
{
	unsigned long long caps = row->caps & BIT(CAP_SETUID);
	char *path = place(row->program), *then = place(row->then);
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		become(row->owner, caps, caps);
		execl(path, "target", row->what, row->when, then, NULL);
		_exit(127);
	}
	close(ends[1]);
	free(path);
	free(then);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		die("the target does not stop");
	*report = ends[0];
	return pid;
}

/* ---- what a sender finds out ---- */

struct found {
	int error; /* of START */
	uint32_t state;
	int hits;
	char text[MAPLE_ERROR_MAX];
};

static struct maple_uapi_probe probe_of_getppid(const char **file)
{
	static char path[512];
	unsigned long lo, hi, offset, at = (unsigned long)getppid;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	struct maple_uapi_probe probe = {
		.number = MAPLE_SITE_NONE,
		.flags = MAPLE_PROBE_CALL,
		.kind = MAPLE_EV_FREE,
		.base = 4, /* rsp: the memory before is read */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};

	*file = NULL;
	while (maps && !*file && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %511s", &lo, &hi,
			   &offset, path) == 4 &&
		    lo <= at && at < hi) {
			probe.offset = at - lo + offset;
			*file = path;
		}
	if (maps)
		fclose(maps);
	return probe;
}

/* Who is root has a warden, and is the process's user from then on. */
static int become_its_user(pid_t pid, int pidfd, struct maple_error *err)
{
	struct maple_identity identity = { 0 };
	int e = maple_identify(pid, pidfd, &identity);

	if (e)
		return maple_error_set(err, -e, "it is gone");
	e = maple_door_warden(pid, pidfd, &identity, err);
	free(identity.rights);
	become(OWNER, MONITOR, 0);
	return e;
}

static int start(const struct row *row, pid_t pid, int pidfd,
		 struct maple_control **control, struct maple_error *err)
{
	struct maple_control_order order = {
		.pidfd = pidfd,
		.cpu = CPU,
		.sched = MAPLE_UAPI_OLDER,
		.deadline_ms = 30000,
	};
	struct maple_host *host = NULL;
	struct maple_uapi_probe probe;
	const char *file;
	cpu_set_t cpus;
	int e = 0, fd;

	if (row->where == MAPLED) {
		memset(&cpus, 0xff, sizeof(cpus));
		e = maple_host_open(socket_path, &host, err);
		if (!e)
			e = maple_host_lease(host, &cpus, NULL, &order.cpu, err);
	}
	if (row->where == WARDEN)
		e = become_its_user(pid, pidfd, err);
	if (!e)
		e = maple_control_open_by(host, control, err);
	if (!e)
		e = maple_control_start(*control, &order, err);
	if (e)
		return e;
	probe = probe_of_getppid(&file);
	fd = file ? open(file, O_RDONLY) : -1;
	if (fd < 0)
		die("no getppid()");
	return maple_control_probes(*control, fd, &probe, 1, err);
}

static void collect(struct maple_control *control, struct found *found)
{
	struct maple_log_entry entry[MAPLE_PER_MESSAGE];
	struct maple_control_status status;
	struct maple_error err;
	int n;

	if (maple_control_status(control, false, &status, &err)) {
		snprintf(found->text, sizeof(found->text), "%s", err.text);
		return;
	}
	found->state = status.state;
	snprintf(found->text, sizeof(found->text), "%s", status.reason);
	free(status.threads);
	while ((n = maple_control_log(control, entry, NULL)) > 0)
		for (int i = 0; i < n; i++)
			found->hits += entry[i].event.kind == MAPLE_EV_FREE;
}

static void be_sender(const struct row *row, pid_t pid, int pidfd, int talk)
{
	struct maple_control *control = NULL;
	struct maple_error err = { "" };
	struct found found = { 0 };
	char c;

	become(row->sender, row->caps, 0);
	found.error = start(row, pid, pidfd, &control, &err);
	snprintf(found.text, sizeof(found.text), "%s", err.text);
	if (write(talk, &found, sizeof(found)) != sizeof(found))
		_exit(3);
	if (!found.error && read(talk, &c, 1) == 1) {
		collect(control, &found);
		if (write(talk, &found, sizeof(found)) != sizeof(found))
			_exit(3);
	}
	_exit(0);
}

/* ---- a row ---- */

/* A process of root's that has the number of a dead one. */
static pid_t reuse(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (!child) {
		pause();
		_exit(0);
	}
	if (child != pid)
		die("the number is not free");
	return child;
}

static const char *judge(const struct row *row, const struct found *found,
			 int sched, int ncpus)
{
	static char why[MAPLE_ERROR_MAX + 128];
	int before = row->when[0] == 'r' ? BEFORE : 0;
	bool cut = row->outcome == CUT || row->outcome == OVER;
	uint32_t state = row->outcome == CUT ? MAPLE_SESSION_BARRED
					     : MAPLE_SESSION_GONE;

	snprintf(why, sizeof(why),
		 "error %d, state %u, %d hits, sched %d on %d: %s", found->error,
		 found->state, found->hits, sched, ncpus, found->text);
	if (row->outcome == REFUSED)
		return found->error && strstr(found->text, row->text) ? NULL
								      : why;
	if (found->error || found->hits != before + (cut ? 0 : AFTER))
		return why;
	/* What it is given is as it was at its first instruction. */
	if (row->then[0] && (cut ? sched != SCHED_OTHER || ncpus < 2
				 : sched != SCHED_FIFO || ncpus != 1))
		return why;
	if (cut && found->state != state)
		return why;
	return row->text && !strstr(found->text, row->text) ? why : NULL;
}

static void hear(int fd, int *sched, int *ncpus)
{
	FILE *file = fdopen(fd, "r");

	if (!file || fscanf(file, "%d %d", sched, ncpus) != 2)
		*sched = *ncpus = -1;
	if (file)
		fclose(file);
}

static bool try(const struct row *row)
{
	int report, talk[2], pidfd, status, sched = -1, ncpus = -1;
	pid_t target = start_target(row, &report), sender, other = 0;
	struct found found = { .error = -1 };
	const char *why;

	pidfd = (int)syscall(SYS_pidfd_open, target, 0);
	if (pidfd < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk))
		die("a row");
	if (row->gone) {
		kill(target, SIGKILL);
		waitpid(target, NULL, 0);
	}
	if (row->gone == 2)
		other = reuse(target);
	sender = fork();
	if (!sender) {
		close(talk[0]);
		be_sender(row, target, pidfd, talk[1]);
	}
	close(talk[1]);
	if (read(talk[0], &found, sizeof(found)) != sizeof(found))
		snprintf(found.text, sizeof(found.text), "the sender died");
	if (!found.error) {
		kill(target, SIGCONT);
		hear(report, &sched, &ncpus);
		waitpid(target, &status, 0);
		if (write(talk[0], "x", 1) != 1 ||
		    read(talk[0], &found, sizeof(found)) != sizeof(found) ||
		    status)
			found.error = 1;
	} else if (!row->gone) {
		kill(target, SIGKILL);
		waitpid(target, NULL, 0);
	}
	if (other) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	close(talk[0]);
	close(pidfd);
	waitpid(sender, NULL, 0);
	why = judge(row, &found, sched, ncpus);
	printf("%sok %s%s%s\n", why ? "not " : "", row->name, why ? ": " : "",
	       why ? why : "");
	fflush(stdout);
	return !why;
}

int main(int argc, char **argv)
{
	int bad = 0, n = 0;

	if (!strcmp(argv[0], "target"))
		return be_target(argv);
	if (argc < 2)
		return 2;
	folder = argv[1];
	socket_path = argc > 2 ? argv[2] : NULL;
	copy_all();
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].where == KERNEL || socket_path) {
			n++;
			bad += !try(&rows[i]);
		}
	printf("%d rows, %d bad\n", n, bad);
	return bad ? 1 : 0;
}
