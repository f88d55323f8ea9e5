// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A campaign that has joined a process goes into its sandbox: what the process
 * has mapped can be read, what lies beside it cannot; of the process only the
 * warden and the porter tell. What is refused in any sandbox: test_sandbox.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/attach.h>
#include "abi/shm.h"
#include "backend/guard/door.h"
#include "backend/join/join.h"
#include "backend/join/porter.h"
#include "sandbox/sandbox.h"
#include "tried_files.h"

static pid_t target;
static char folder[] = "/tmp/test_confine.XXXXXX";
static char mapped[64], debug[80], dwp[80], folders_debug[80];
static char beside[64], agent[64], ours[64];
static bool landlock;

/* ---- inside ---- */

static bool by_the_door(const char *name)
{
	int fd = maple_door_open(target, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define EXPECT(what)                                                 \
	do {                                                         \
		if (!(what)) {                                       \
			fprintf(stderr, "not so: %s (%m)\n", #what); \
			_exit(1);                                    \
		}                                                    \
	} while (0)

static void look_at_files(void)
{
	char path[96];

	EXPECT(!open_it("/proc/self/exe", O_RDONLY));
	EXPECT(!open_it(mapped, O_RDONLY));
	EXPECT(!open_it(debug, O_RDONLY));
	EXPECT(!open_it(dwp, O_RDONLY));
	EXPECT(!open_it(folders_debug, O_RDONLY));
	EXPECT(!open_it("/etc/passwd", O_RDONLY));
	EXPECT(!open_it("/dev/null", O_RDWR));
	snprintf(path, sizeof(path), "%s/memo.db", ours);
	EXPECT(!open_it(path, O_RDWR | O_CREAT));
	EXPECT(!unlink(path));
	snprintf(path, sizeof(path), "%s/cache/maple/x", folder);
	EXPECT(!open_it(path, O_RDWR | O_CREAT));
	EXPECT(!unlink(path));
	if (!landlock)
		return;
	EXPECT(open_it(mapped, O_WRONLY) == EACCES);
	EXPECT(open_it(debug, O_WRONLY) == EACCES);
	EXPECT(open_it(dwp, O_WRONLY) == EACCES);
	EXPECT(open_it(folders_debug, O_WRONLY) == EACCES);
	EXPECT(open_it(beside, O_RDONLY) == EACCES);
	EXPECT(open_it(folder, O_RDONLY | O_DIRECTORY) == EACCES);
	EXPECT(open_it("/etc/hostname", O_RDONLY) == EACCES);
	EXPECT(open_it("/etc/shadow", O_RDONLY) == EACCES);
}

/* Means, by what maple_attach_confine() asks for. */
static void look_at_means(void)
{
	struct rlimit limit;
	struct sysinfo info;
	uint64_t half;

	EXPECT(!sysinfo(&info) && !getrlimit(RLIMIT_DATA, &limit));
	half = (uint64_t)info.totalram * info.mem_unit / 2;
	EXPECT(limit.rlim_max <= (half > 1ull << 30 ? half : 1ull << 30));
	EXPECT(!getrlimit(RLIMIT_CORE, &limit) && !limit.rlim_max);
	EXPECT(getpriority(PRIO_PROCESS, 0) >= MAPLE_SANDBOX_NICE);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	EXPECT(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM);
	EXPECT(socket(AF_NETLINK, SOCK_RAW, 0) == -1 && errno == EPERM);
	EXPECT(syscall(SYS_bpf, 0, NULL, 0) == -1 && errno == EPERM);
	EXPECT(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) == -1 &&
	       errno == EPERM);
}

static void look_at_target(void)
{
	struct maple_stopped at[MAPLE_STOP_MOST];
	struct maple_error err = { "" };
	bool mended = true;
	int n;

	EXPECT(by_the_door("maps"));
	EXPECT(by_the_door("mem"));
	EXPECT(!open_proc(target, "status"));
	EXPECT(ptrace(PTRACE_SEIZE, target, NULL, NULL) == -1 && errno == EPERM);
	if (landlock) {
		EXPECT(open_proc(target, "maps") == EACCES);
		EXPECT(open_proc(target, "mem") == EACCES);
		EXPECT(open_proc(target, "environ") == EACCES);
	}
	n = maple_door_stop(target, at);
	EXPECT(n == 1 && at[0].tid == target && at[0].known);
	maple_door_let_go(target, at, n);
	EXPECT(maple_porter_is_there());
	EXPECT(!maple_porter_mend(&mended, &err) && !mended);
	if (maple_porter_fits(&err)) {
		fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
}

/* A joiner is let in, does as it is asked, and its end is seen. */
static void look_at_joiner(void)
{
	struct maple_joiner j = { .shm_fd = memfd_create("shm", 0),
				  .tables_fd = memfd_create("tables", 0) };
	struct maple_error err = { "" };
	pid_t joiner;

	EXPECT(!ftruncate(j.shm_fd, sizeof(struct maple_shm)));
	EXPECT(!maple_joiner_open(&j, target, "/nonexistent", &err));
	joiner = j.pid;
	EXPECT(joiner > 0 && (!kill(joiner, 0) || errno == EPERM));
	/* The agent is the porter's to name: this one is none. */
	EXPECT(maple_joiner_load(&j, &err) < 0);
	EXPECT(strstr(err.text, "file too short"));
	maple_joiner_close(&j);
}

static void run(struct maple_attached *attached)
{
	const char *writes[] = { ours, NULL };
	const struct maple_attach_rest rest = {
		.writes = writes,
		.agent = agent,
		.backend = "agent",
	};
	struct maple_error err = { "" };

	if (maple_attach_confine(attached, &rest, &err)) {
		fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
	look_at_files();
	look_at_means();
	look_at_target();
	look_at_joiner();
	maple_attach_close(attached);
	/* Both have ended, and there is nobody else. */
	EXPECT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	EXPECT(!maple_porter_is_there() && !maple_door_has_warden());
	_exit(0);
}

/* ---- outside ---- */

static void test_it_has_of_the_process_what_it_is_to_have(void **state)
{
	struct maple_attached *attached;
	struct maple_error err = { "" };
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (maple_attach_open(target, &attached, &err)) {
			fprintf(stderr, "%s\n", err.text);
			_exit(1);
		}
		run(attached);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* Nobody has it stopped, and nobody ended it. */
	assert_int_equal(waitpid(target, &status, WNOHANG), 0);
}

static void be_target(int said)
{
	int fd = open(mapped, O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    write(said, "y", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int begin(void **state)
{
	char cache[64], c;
	int said[2];

	landlock = maple_sandbox_landlock();
	assert_non_null(mkdtemp(folder));
	make_file(mapped, sizeof(mapped), folder, "mapped");
	make_file(debug, sizeof(debug), folder, "mapped.debug");
	make_file(dwp, sizeof(dwp), folder, "mapped.dwp");
	snprintf(folders_debug, sizeof(folders_debug), "%s/.debug", folder);
	assert_int_equal(mkdir(folders_debug, 0700), 0);
	make_file(folders_debug, sizeof(folders_debug), folder,
		  ".debug/mapped.debug");
	make_file(beside, sizeof(beside), folder, "beside");
	make_file(agent, sizeof(agent), folder, "agent");
	snprintf(ours, sizeof(ours), "%s/ours", folder);
	assert_int_equal(mkdir(ours, 0700), 0);
	snprintf(cache, sizeof(cache), "%s/cache", folder);
	setenv("XDG_CACHE_HOME", cache, 1);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	target = fork();
	if (!target)
		be_target(said[1]);
	assert_int_equal(read(said[0], &c, 1), 1);
	close(said[0]);
	close(said[1]);
	return 0;
}

static int end(void **state)
{
	static const char *const folders[] = { "ours", "cache/maple", "cache",
					       ".debug" };
	char path[96];

	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	unlink(mapped);
	unlink(debug);
	unlink(dwp);
	unlink(folders_debug);
	unlink(beside);
	unlink(agent);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
		rmdir(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_it_has_of_the_process_what_it_is_to_have, begin,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
