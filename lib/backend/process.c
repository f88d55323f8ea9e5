// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What /proc says of a target's threads. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "backend/guard/door.h"
#include "process.h"

/*
 * maple_process_has - whether thread @tid is one of process @pid's now
 *
 * Whoever is gone must not be looked up by name: his entries are being thrown
 * out, and the kernel has us wait for that in a loop. If he who does it stands
 * below us on this CPU, the loop never ends, and nothing ends us either.
 */
bool maple_process_has(pid_t pid, pid_t tid)
{
	return !syscall(SYS_tgkill, pid, tid, 0) || errno == EPERM;
}

static ssize_t drink(int fd, char *buf, size_t size)
{
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	assert((size_t)n < size);
	buf[n] = '\0';
	return n;
}

static ssize_t slurp(pid_t pid, pid_t tid, const char *name, char *buf,
		     size_t size)
{
	char path[64];

	if (!maple_process_has(pid, tid))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return drink(open(path, O_RDONLY | O_CLOEXEC), buf, size);
}

/* maple_process_threads - the ids of @pid's threads; returns how many */
int maple_process_threads(pid_t pid, pid_t *tids, int max)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	if (!maple_process_has(pid, pid))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (n < max && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			tids[n++] = atoi(entry->d_name);
	closedir(dir);
	return n;
}

/*
 * maple_process_children - the children that thread @tid of @pid has, as many
 * as fit: those that are left show when some of these are gone
 */
unsigned int maple_process_children(pid_t pid, pid_t tid, pid_t *pids,
				    unsigned int max)
{
	char text[4096], *at = text, *end;
	unsigned int n = 0;

	if (slurp(pid, tid, "children", text, sizeof(text)) < 0)
		return 0;
	/* A blank follows each, unless the last was cut. */
	while (n < max && (end = strchr(at, ' '))) {
		pids[n++] = atoi(at);
		at = end + 1;
	}
	return n;
}

static bool matches(const char *glob, const char *path)
{
	return !fnmatch(glob, path, 0) || !fnmatch(glob, basename(path), 0);
}

/*
 * maple_process_auxiliary - what the kernel told @pid of itself under @type,
 * when it was executed; 0: nothing
 */
uint64_t maple_process_auxiliary(pid_t pid, uint64_t type)
{
	uint64_t pairs[128];
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, pairs, sizeof(pairs));
		close(fd);
	}
	for (ssize_t i = 0; i + 1 < n / (ssize_t)sizeof(*pairs); i += 2)
		if (pairs[i] == type)
			return pairs[i + 1];
	return 0;
}

/* The name that @pid was executed by, as it was given; empty: not known. */
static void executed_by(pid_t pid, char *name, size_t size)
{
	uint64_t at = maple_process_auxiliary(pid, AT_EXECFN);
	char memory[64];
	int fd;

	memset(name, 0, size);
	snprintf(memory, sizeof(memory), "/proc/%d/mem", pid);
	fd = at ? open(memory, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (pread(fd, name, size - 1, (off_t)at) <= 0)
		*name = '\0';
	close(fd);
}

/* Whether the file that @pid calls @name is the one at @link. */
static bool is_file(pid_t pid, const char *name, const char *link)
{
	struct stat file, named;
	char *path;
	bool same;

	if (asprintf(&path, "/proc/%d/%s/%s", pid,
		     *name == '/' ? "root" : "cwd", name) < 0)
		return false;
	same = !stat(link, &file) && !stat(path, &named) &&
	       file.st_dev == named.st_dev && file.st_ino == named.st_ino;
	free(path);
	return same;
}

/*
 * maple_process_runs - whether @pid's executable matches @glob, as a path or
 * by its name alone
 *
 * The name that it was executed by will do, if it is a link's; that of a
 * script, which its interpreter runs, will not.
 */
bool maple_process_runs(pid_t pid, const char *glob)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	if (!maple_process_has(pid, pid))
		return false;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if (matches(glob, path))
		return true;
	executed_by(pid, path, sizeof(path));
	return *path && matches(glob, path) && is_file(pid, path, link);
}

/*
 * maple_process_find - the nearest of @root and its descendants that runs an
 * executable like @glob; 0: none
 */
pid_t maple_process_find(pid_t root, const char *glob)
{
	pid_t found[MAPLE_PROCESS_CHILDREN] = { root }, tids[1024];
	unsigned int i, n = 1;
	int t;

	for (i = 0; i < n; i++) {
		if (maple_process_runs(found[i], glob))
			return found[i];
		t = maple_process_threads(found[i], tids, 1024);
		while (t--)
			n += maple_process_children(found[i], tids[t], found + n,
						    MAPLE_PROCESS_CHILDREN - n);
		assert(i < n && n <= MAPLE_PROCESS_CHILDREN);
	}
	return 0;
}

/*
 * maple_process_wait - what thread @tid waits for
 * @futex: the futex word's address with FOREVER; may be NULL
 */
enum maple_wait maple_process_wait(pid_t pid, pid_t tid, uint64_t *futex)
{
	unsigned long long nr, arg[4];
	char name[32], buf[256];

	snprintf(name, sizeof(name), "task/%d/syscall", tid);
	if (!maple_process_has(pid, tid) ||
	    drink(maple_door_open(pid, name), buf, sizeof(buf)) < 0)
		return MAPLE_WAIT_GONE;
	if (!strncmp(buf, "running", 7))
		return MAPLE_WAIT_RUNS;
	if (sscanf(buf, "%llu %llx %llx %llx %llx", &nr, &arg[0], &arg[1],
		   &arg[2], &arg[3]) != 5 ||
	    nr != SYS_futex)
		return MAPLE_WAIT_OTHER;
	switch (arg[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		break;
	default:
		return MAPLE_WAIT_OTHER;
	}
	if (arg[3])
		return MAPLE_WAIT_OTHER;
	if (futex)
		*futex = arg[0];
	return MAPLE_WAIT_FOREVER;
}

/* maple_process_cpu - CPU time that @tid has used, and its state letter */
bool maple_process_cpu(pid_t pid, pid_t tid, uint64_t *ns, char *state)
{
	unsigned long long used, user, kernel;
	char buf[512], *paren;
	bool exact;

	/* Not every kernel keeps it; ticks, then, must do. */
	exact = slurp(pid, tid, "schedstat", buf, sizeof(buf)) >= 0 &&
		sscanf(buf, "%llu", &used) == 1;
	if (slurp(pid, tid, "stat", buf, sizeof(buf)) < 0)
		return false;
	paren = strrchr(buf, ')');
	if (!paren ||
	    sscanf(paren + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
		   state, &user, &kernel) != 3)
		return false;
	*ns = exact ? used
		    : (user + kernel) * (1000000000ull /
					 (unsigned long)sysconf(_SC_CLK_TCK));
	return true;
}

/*
 * maple_process_since - when @pid began, in the kernel's ticks, so that another
 * process of the same number is told from it; 0: it is gone
 */
uint64_t maple_process_since(pid_t pid)
{
	unsigned long long since;
	char buf[512], *paren;

	if (slurp(pid, pid, "stat", buf, sizeof(buf)) < 0)
		return 0;
	paren = strrchr(buf, ')');
	if (!paren ||
	    sscanf(paren + 1,
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %llu",
		   &since) != 1)
		return 0;
	return since;
}

/* maple_process_used - CPU time of @pid, of all its threads, in ns; 0: gone */
uint64_t maple_process_used(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

static uint64_t switches(pid_t pid, pid_t tid)
{
	unsigned long long n = 0;
	char buf[4096], *at;

	if (slurp(pid, tid, "status", buf, sizeof(buf)) < 0)
		return 0;
	at = strstr(buf, "\nvoluntary_ctxt_switches:");
	if (at)
		sscanf(strchr(at + 1, ':') + 1, "%llu", &n);
	return n;
}

static bool has_thread_in(pid_t pid, char wanted)
{
	pid_t tids[1024];
	int n = maple_process_threads(pid, tids, 1024);
	uint64_t ns;
	char state;

	while (n--)
		if (maple_process_cpu(pid, tids[n], &ns, &state) &&
		    state == wanted)
			return true;
	return false;
}

/* maple_process_wants_cpu - whether some thread of @pid runs, or would */
bool maple_process_wants_cpu(pid_t pid)
{
	return has_thread_in(pid, 'R');
}

/* maple_process_held - whether a tracer holds some thread of @pid */
bool maple_process_held(pid_t pid)
{
	return has_thread_in(pid, 't');
}

/* maple_process_tracer - who traces @pid; 0: nobody */
pid_t maple_process_tracer(pid_t pid)
{
	char buf[4096], *at;

	if (slurp(pid, pid, "status", buf, sizeof(buf)) < 0)
		return 0;
	at = strstr(buf, "\nTracerPid:");
	return at ? atoi(strchr(at, ':') + 1) : 0;
}

/*
 * maple_process_stuck - whether every thread of @pid waits for another one
 * @stamp: changes whenever some thread has run; stuck twice in a row with
 *         the same stamp means that nothing happened in between
 *
 * Waits with a timeout, and for files, do not count: only futexes without one
 * do. Whether somebody else can wake a thread is another question: wakers.c.
 */
bool maple_process_stuck(pid_t pid, uint64_t *stamp)
{
	pid_t tids[4096];
	int i, n = maple_process_threads(pid, tids, 4096);
	uint64_t sum = n, futex;

	if (!n)
		return false;
	for (i = 0; i < n; i++) {
		if (maple_process_wait(pid, tids[i], &futex) !=
		    MAPLE_WAIT_FOREVER)
			return false;
		sum = sum * 31 + futex + switches(pid, tids[i]);
	}
	*stamp = sum;
	return true;
}

#define CYCLE_MOST 1024 /* threads */

/* How a pthread_mutex_t begins, whose first word is the futex. */
struct mutex {
	int32_t lock;
	uint32_t count;
	int32_t owner;
	uint32_t users;
};

#define CONTENDED 2 /* lock, while somebody waits */

struct waiter {
	pid_t tid, owner;
	uint64_t futex;
};

/* Who holds the mutex of whose word a thread waits: glibc has it beside. */
static pid_t owner_of(int memory, uint64_t futex)
{
	struct mutex mutex;

	if (pread(memory, &mutex, sizeof(mutex), (off_t)futex) !=
		    sizeof(mutex) ||
	    mutex.lock != CONTENDED || !mutex.users)
		return 0;
	return mutex.owner;
}

static int find_waiters(pid_t pid, struct waiter *waiter)
{
	pid_t tids[CYCLE_MOST];
	int n = maple_process_threads(pid, tids, CYCLE_MOST), found = 0;
	int memory = maple_door_open(pid, "mem");
	uint64_t futex;

	for (int i = 0; i < n; i++)
		if (maple_process_wait(pid, tids[i], &futex) ==
		    MAPLE_WAIT_FOREVER)
			waiter[found++] = (struct waiter){
				tids[i], owner_of(memory, futex), futex
			};
	if (memory >= 0)
		close(memory);
	return found;
}

static const struct waiter *find_waiter(const struct waiter *waiter, int n,
					pid_t tid)
{
	for (int i = 0; i < n; i++)
		if (waiter[i].tid == tid)
			return &waiter[i];
	return NULL;
}

/*
 * maple_process_cycle - whether some threads of @pid wait for mutexes that
 * they hold from each other, whatever the others do
 * @stamp: as of maple_process_stuck()
 */
bool maple_process_cycle(pid_t pid, uint64_t *stamp)
{
	struct waiter waiter[CYCLE_MOST];
	int n = find_waiters(pid, waiter), steps;
	const struct waiter *at;
	uint64_t sum;

	for (int i = 0; i < n; i++) {
		sum = 1;
		steps = 0;
		for (at = &waiter[i]; at && steps++ < n;) {
			sum = sum * 31 + at->futex + switches(pid, at->tid);
			at = find_waiter(waiter, n, at->owner);
			if (at != &waiter[i])
				continue;
			*stamp = sum;
			return true;
		}
	}
	return false;
}
