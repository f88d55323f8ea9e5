// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What maple.ko's sessions may take of the machine.
 *   limits threads N    of the kernel's own, for N sessions
 *   limits user N       whose processes have so many sessions: one more
 *   limits unpinned     real-time priorities on all CPUs
 *   limits memory FILE  sessions until there is no memory for more; FILE is
 *                       the cgroup.procs of a group with little
 */
#include <ctype.h>
#include <linux/capability.h>
#include "victims.h"

#define USER 4711
#define MANY 256
#define SOME 32

static pid_t start_target(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int begin(struct maple_control *c, pid_t pid, unsigned int sched,
		 struct maple_error *err)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = -1,
		.sched = sched,
		.deadline_ms = 100000,
	};
	int e = maple_control_start(c, &order, err);

	close(order.pidfd);
	return e;
}

/* Somebody who may have sessions on his own processes alone. */
static void become_user(void)
{
	const uint64_t caps = 1ull << CAP_PERFMON | 1ull << CAP_SYS_NICE;
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ (uint32_t)caps, (uint32_t)caps, 0 },
		{ (uint32_t)(caps >> 32), (uint32_t)(caps >> 32), 0 },
	};

	if (prctl(PR_SET_KEEPCAPS, 1) || setresgid(USER, USER, USER) ||
	    setresuid(USER, USER, USER) || syscall(SYS_capset, &head, data) ||
	    prctl(PR_SET_DUMPABLE, 1))
		fail("no other user: %s", strerror(errno));
}

/* ---- threads ---- */

/* Threads of the kernel's that are maple's. */
static unsigned int kernel_threads(void)
{
	DIR *dir = opendir("/proc");
	char path[300], name[32];
	unsigned int n = 0;
	struct dirent *e;
	FILE *file;

	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		file = fopen(path, "r");
		n += file && fgets(name, sizeof(name), file) &&
		     !strncmp(name, "maple/", 6);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return n;
}

static void threads(unsigned int n)
{
	struct maple_control *c[MANY];
	struct maple_error err;
	pid_t pid[MANY];
	unsigned int i;

	for (i = 0; i < n; i++) {
		pid[i] = start_target();
		c[i] = session_open();
		if (begin(c[i], pid[i], MAPLE_UAPI_NATIVE, &err))
			fail("session %u: %s", i, err.text);
	}
	printf("%u for %u\n", kernel_threads(), n);
	for (i = 0; i < n; i++) {
		maple_control_close(c[i]);
		end_target(pid[i]);
	}
}

/* ---- user ---- */

static void user(unsigned int n)
{
	struct maple_control *c[MANY], *more = session_open();
	struct maple_error err;
	pid_t pid[MANY + 1];
	unsigned int i;
	int e;

	/* root's own count for nobody. */
	pid[n] = start_target();
	e = begin(more, pid[n], MAPLE_UAPI_NATIVE, &err);
	if (e)
		fail("root's: %s", err.text);
	become_user();
	for (i = 0; i < n; i++) {
		pid[i] = start_target();
		c[i] = session_open();
		if (begin(c[i], pid[i], MAPLE_UAPI_NATIVE, &err))
			fail("session %u: %s", i, err.text);
	}
	pid[n] = start_target();
	more = session_open();
	e = begin(more, pid[n], MAPLE_UAPI_NATIVE, &err);
	if (e != -EUSERS)
		fail("one more: %d", e);
	puts(err.text);
	if (maple_control_stop(c[0], &err) ||
	    begin(more, pid[n], MAPLE_UAPI_NATIVE, &err))
		fail("instead of another: %s", err.text);
}

/* ---- unpinned ---- */

static void unpinned(void)
{
	struct maple_control *c;
	struct maple_error err;
	pid_t pid;

	become_user();
	pid = start_target();
	c = session_open();
	if (begin(c, pid, MAPLE_UAPI_OLDER, &err) != -EPERM)
		fail("anybody may have it");
	puts(err.text);
	if (begin(c, pid, MAPLE_UAPI_PCTLARGE, &err))
		fail("nice values: %s", err.text);
	maple_control_close(c);
	end_target(pid);
}

/* ---- memory ---- */

static void join_group(const char *path)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, "0", 1) != 1)
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

/*
 * Until it is refused. What the targets take is not the group's, nor is what
 * the library takes for a session: so what is refused is the kernel's.
 */
static void take_all(const char *path, volatile unsigned int *n)
{
	struct maple_control *control[SOME];
	struct maple_error err;
	pid_t target[SOME];

	for (unsigned int i = 0; i < SOME; i++) {
		target[i] = start_target();
		control[i] = session_open();
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	join_group(path);
	for (*n = 0; *n < SOME; ++*n)
		if (begin(control[*n], target[*n], MAPLE_UAPI_NATIVE, &err))
			break;
	if (*n == SOME)
		fail("there is no end");
	puts(err.text);
	_exit(0); /* what runs at an exit would take memory */
}

static void memory(const char *path)
{
	volatile unsigned int *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int status;

	if (!pid)
		take_all(path, n);
	if (waitpid(pid, &status, 0) != pid)
		fail("wait: %s", strerror(errno));
	if (status)
		fail("it ends with %#x", status);
	printf("%u sessions\n", *n);
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "threads") && n && n <= MANY)
		threads(n);
	else if (!strcmp(argv[1], "user") && n && n <= MANY)
		user(n);
	else if (!strcmp(argv[1], "unpinned"))
		unpinned();
	else if (!strcmp(argv[1], "memory") && argc == 3)
		memory(argv[2]);
	else
		return 2;
	return 0;
}
