// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The sandbox, by trying: a child enters it, and what it must not do is
 * refused, a try a line of the table. As root the same is tried outside, where
 * it must not be refused: else the try shows nothing. What it needs works.
 *
 * Without Landlock, which is told, files are not confined;
 * tests/qemu/attach_rights.bats has this test run where there is one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "sandbox/sandbox.h"
#include "tried_files.h"

#define MEMORY (256ull << 20)

/* Another process of ours, which the sandbox is not about. */
static pid_t other;
static int other_fd;
static char folder[] = "/tmp/test_sandbox.XXXXXX";
static char readable[64], hidden[64], writable[64];

/* ---- tries: 0, or what was said ---- */

#define TRY(name, call)                          \
	static int name(void)                    \
	{                                        \
		return (call) == -1 ? errno : 0; \
	}

TRY(try_bpf, syscall(SYS_bpf, 0, NULL, 0))
TRY(try_perf, syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0))
TRY(try_ptrace, ptrace(PTRACE_SEIZE, other, NULL, NULL))
TRY(try_vm_read, syscall(SYS_process_vm_readv, other, NULL, 0, NULL, 0, 0))
TRY(try_vm_write, syscall(SYS_process_vm_writev, other, NULL, 0, NULL, 0, 0))
TRY(try_getfd, syscall(SYS_pidfd_getfd, other_fd, 0, 0))
TRY(try_mount, mount("none", "/nonexistent", "tmpfs", 0, NULL))
TRY(try_umount, umount2("/nonexistent", 0))
TRY(try_pivot, syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"))
TRY(try_fsopen, syscall(SYS_fsopen, NULL, 0))
TRY(try_open_tree, syscall(SYS_open_tree, -1, NULL, 0))
TRY(try_move_mount, syscall(SYS_move_mount, -1, NULL, -1, NULL, 0))
TRY(try_fsmount, syscall(SYS_fsmount, -1, 0, 0))
TRY(try_fspick, syscall(SYS_fspick, -1, NULL, 0))
TRY(try_mount_setattr, syscall(SYS_mount_setattr, -1, NULL, 0, NULL, 0))
TRY(try_chroot, chroot("/nonexistent"))
TRY(try_unshare, unshare(CLONE_NEWNS))
TRY(try_setns, setns(-1, 0))
TRY(try_clone, syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, 0, 0, 0, 0))
TRY(try_netlink, socket(AF_NETLINK, SOCK_RAW, 16))
TRY(try_inet, socket(AF_INET, SOCK_STREAM, 0))
TRY(try_inet6, socket(AF_INET6, SOCK_DGRAM, 0))
TRY(try_packet, socket(AF_PACKET, SOCK_RAW, 0))
TRY(try_vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
TRY(try_alg, socket(AF_ALG, SOCK_SEQPACKET, 0))
TRY(try_inet_pair, socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){ 0 }))
TRY(try_connect, connect(-1, NULL, 0))
TRY(try_init_module, syscall(SYS_init_module, NULL, 0, ""))
TRY(try_finit_module, syscall(SYS_finit_module, -1, "", 0))
TRY(try_delete_module, syscall(SYS_delete_module, "maple_none", 0))
TRY(try_keyctl, syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, -3, 0))
TRY(try_add_key, syscall(SYS_add_key, NULL, NULL, NULL, 0, 0))
TRY(try_request_key, syscall(SYS_request_key, NULL, NULL, NULL, 0))
TRY(try_exec, execl("/nonexistent", "nonexistent", NULL))
TRY(try_execveat, syscall(SYS_execveat, -1, "", NULL, NULL, 0))
TRY(try_setuid, syscall(SYS_setuid, getuid()))
TRY(try_setresgid, syscall(SYS_setresgid, -1, -1, -1))
TRY(try_setgroups, syscall(SYS_setgroups, -1, NULL))
TRY(try_capset, syscall(SYS_capset, NULL, NULL))
TRY(try_kill, kill(other, SIGCONT))
TRY(try_tgkill, syscall(SYS_tgkill, other, other, SIGCONT))
TRY(try_pidfd_kill, syscall(SYS_pidfd_send_signal, other_fd, SIGCONT, NULL, 0))
TRY(try_personality, personality(0xffffffff))
TRY(try_userfaultfd, syscall(SYS_userfaultfd, ~0))
TRY(try_kexec, syscall(SYS_kexec_load, 0, 1, NULL, ~0ul))
TRY(try_reboot, syscall(SYS_reboot, 0, 0, 0, NULL))
TRY(try_hostname, syscall(SYS_sethostname, NULL, 1))
TRY(try_clock, syscall(SYS_clock_settime, -1, NULL))
TRY(try_syslog, syscall(SYS_syslog, 10, NULL, 0))
TRY(try_swapon, syscall(SYS_swapon, "/nonexistent", 0))
TRY(try_acct, syscall(SYS_acct, "/nonexistent"))
TRY(try_iopl, syscall(SYS_iopl, 4))
TRY(try_handle, syscall(SYS_open_by_handle_at, -1, NULL, 0))
TRY(try_mknod, mknod("/nonexistent/node", S_IFIFO | 0600, 0))
TRY(try_chown, syscall(SYS_chown, "/nonexistent", 0, 0))
TRY(try_setxattr, syscall(SYS_setxattr, "/nonexistent", "", NULL, 0, 0))
TRY(try_typing, ioctl(-1, TIOCSTI, "x"))
TRY(try_dumpable, prctl(PR_SET_DUMPABLE, 0))
TRY(try_securebits, prctl(PR_SET_SECUREBITS, 0))
TRY(try_new_privileges, prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
TRY(try_nice, setpriority(PRIO_PROCESS, 0, MAPLE_SANDBOX_NICE - 1))
TRY(try_enter_ring, syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0))
TRY(try_madvise, syscall(SYS_process_madvise, other_fd, NULL, 0, 0, 0))
TRY(try_move_pages, syscall(SYS_move_pages, other, 0, NULL, NULL, NULL, 0))

static int raise_limit(int resource)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	return setrlimit(resource, &all) ? errno : 0;
}

static int try_memory_limit(void)
{
	return raise_limit(RLIMIT_DATA);
}

static int try_core_limit(void)
{
	return raise_limit(RLIMIT_CORE);
}

static int try_limit(void)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, other, RLIMIT_CPU, NULL, &limit))
		return EIO;
	return syscall(SYS_prlimit64, other, RLIMIT_CPU, &limit, NULL) ? errno
								       : 0;
}

static const struct
try {
	const char *name;
	int (*run)(void);
}
forbidden[] = {
	{ "bpf", try_bpf },
	{ "perf_event_open", try_perf },
	{ "ptrace", try_ptrace },
	{ "process_vm_readv", try_vm_read },
	{ "process_vm_writev", try_vm_write },
	{ "pidfd_getfd", try_getfd },
	{ "mount", try_mount },
	{ "umount", try_umount },
	{ "pivot_root", try_pivot },
	{ "fsopen", try_fsopen },
	{ "open_tree", try_open_tree },
	{ "move_mount", try_move_mount },
	{ "fsmount", try_fsmount },
	{ "fspick", try_fspick },
	{ "mount_setattr", try_mount_setattr },
	{ "chroot", try_chroot },
	{ "unshare", try_unshare },
	{ "setns", try_setns },
	{ "clone into a namespace", try_clone },
	{ "a netlink socket", try_netlink },
	{ "an IPv4 socket", try_inet },
	{ "an IPv6 socket", try_inet6 },
	{ "a packet socket", try_packet },
	{ "a socket to a hypervisor", try_vsock },
	{ "a socket of the kernel's ciphers", try_alg },
	{ "a pair of IPv4 sockets", try_inet_pair },
	{ "connect", try_connect },
	{ "init_module", try_init_module },
	{ "finit_module", try_finit_module },
	{ "delete_module", try_delete_module },
	{ "keyctl", try_keyctl },
	{ "add_key", try_add_key },
	{ "request_key", try_request_key },
	{ "execve", try_exec },
	{ "execveat", try_execveat },
	{ "setuid", try_setuid },
	{ "setresgid", try_setresgid },
	{ "setgroups", try_setgroups },
	{ "capset", try_capset },
	{ "kill", try_kill },
	{ "tgkill", try_tgkill },
	{ "pidfd_send_signal", try_pidfd_kill },
	{ "personality", try_personality },
	{ "userfaultfd", try_userfaultfd },
	{ "kexec_load", try_kexec },
	{ "reboot", try_reboot },
	{ "sethostname", try_hostname },
	{ "clock_settime", try_clock },
	{ "syslog", try_syslog },
	{ "swapon", try_swapon },
	{ "acct", try_acct },
	{ "iopl", try_iopl },
	{ "open_by_handle_at", try_handle },
	{ "mknod", try_mknod },
	{ "chown", try_chown },
	{ "setxattr", try_setxattr },
	{ "typing into a terminal", try_typing },
	{ "PR_SET_DUMPABLE", try_dumpable },
	{ "PR_SET_SECUREBITS", try_securebits },
	{ "to have new privileges again", try_new_privileges },
	{ "a lower nice value", try_nice },
	{ "io_uring_enter", try_enter_ring },
	{ "process_madvise", try_madvise },
	{ "move_pages", try_move_pages },
	{ "a higher limit of memory", try_memory_limit },
	{ "a core file", try_core_limit },
	{ "limits of another process", try_limit },
};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* ---- tries of files ---- */

static int try_hidden(void)
{
	return open_it(hidden, O_RDONLY);
}

static int try_overwrite(void)
{
	return open_it(readable, O_WRONLY);
}

static int try_truncate(void)
{
	return open_it(readable, O_WRONLY | O_TRUNC);
}

static int try_make(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/new", folder);
	return open_it(path, O_WRONLY | O_CREAT);
}

static int try_link(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/link", writable);
	if (!link(hidden, path))
		return 0;
	/* Landlock's word for what would gain rights elsewhere. */
	return errno == EXDEV ? EACCES : errno;
}

static int try_list(void)
{
	return open_it(folder, O_RDONLY | O_DIRECTORY);
}

static int try_remove(void)
{
	return unlink(readable) ? errno : 0;
}

static int try_oom(void)
{
	return open_it("/proc/self/oom_score_adj", O_WRONLY);
}

static int try_memory(void)
{
	return open_proc(other, "mem");
}

static int try_environment(void)
{
	return open_proc(other, "environ");
}

static int try_maps(void)
{
	return open_proc(other, "maps");
}

/* What removes comes last. */
static const struct try outside[] = {
	{ "a file that is not named", try_hidden },
	{ "to write a file to be read", try_overwrite },
	{ "to cut it", try_truncate },
	{ "a new file beside it", try_make },
	{ "a link to what is not named", try_link },
	{ "a folder that is not named", try_list },
	{ "another process's memory", try_memory },
	{ "its environment", try_environment },
	{ "its mappings", try_maps },
	{ "to be killed later, for memory", try_oom },
	{ "to remove a file", try_remove },
};

/* ---- the children ---- */

static struct maple_sandbox box;
static const char *reads[3], *writes[2];

static void enter(void)
{
	struct maple_error err = { "" };

	if (!maple_sandbox_enter(&box, &err))
		return;
	fprintf(stderr, "%s\n", err.text);
	_exit(100);
}

/* In a child; its status. */
static int in_child(void (*run)(void *arg), void *arg, bool confined)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (confined)
			enter();
		run(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void run_try(void *arg)
{
	const struct try *t = arg;

	_exit(t->run());
}

static int tried(const struct try *t, bool confined)
{
	int status = in_child(run_try, (void *)t, confined);

	if (!WIFEXITED(status))
		fail_msg("%s: killed by %d", t->name, WTERMSIG(status));
	return WEXITSTATUS(status);
}

static bool is_refused(int e)
{
	return e == EPERM || e == EACCES;
}

static void check(const struct try *list, size_t n)
{
	int e;

	for (size_t i = 0; i < n; i++) {
		e = tried(&list[i], true);
		if (!is_refused(e))
			fail_msg("%s: %s", list[i].name, strerror(e));
		if (geteuid())
			continue;
		e = tried(&list[i], false);
		if (is_refused(e))
			fail_msg("%s is refused outside as well", list[i].name);
	}
}

static void test_calls_are_refused(void **state)
{
	check(forbidden, COUNT(forbidden));
}

static void test_files_are_refused(void **state)
{
	if (!maple_sandbox_landlock()) {
		print_message("this kernel has no Landlock\n");
		assert_int_equal(tried(&outside[0], true), 0);
		return;
	}
	check(outside, COUNT(outside));
}

static void absent(void *arg)
{
	static const long calls[] = { SYS_clone3, SYS_openat2,
				      SYS_io_uring_setup };

	for (size_t i = 0; i < COUNT(calls); i++)
		if (syscall(calls[i], NULL, 0, NULL, 0) != -1 || errno != ENOSYS)
			_exit(1);
}

static void test_libc_takes_its_other_way(void **state)
{
	assert_int_equal(in_child(absent, NULL, true), 0);
}

/* ---- what it says of itself ---- */

static bool says(const char *line)
{
	FILE *file = fopen("/proc/self/status", "re");
	char text[256];
	bool found = false;

	while (file && fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		found |= !strcmp(text, line);
	}
	if (file)
		fclose(file);
	return found;
}

static int number_in(const char *path)
{
	FILE *file = fopen(path, "re");
	int number = -1;

	if (!file || fscanf(file, "%d", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

static void look(void *arg)
{
	struct rlimit limit;
	void *much;

	if (!says("NoNewPrivs:\t1") || !says("Seccomp:\t2"))
		_exit(1);
	if (!says("CapEff:\t0000000000000000") ||
	    !says("CapPrm:\t0000000000000000"))
		_exit(2);
	if (getpriority(PRIO_PROCESS, 0) < MAPLE_SANDBOX_NICE)
		_exit(3);
	if (getrlimit(RLIMIT_CORE, &limit) || limit.rlim_max)
		_exit(4);
	much = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (much != MAP_FAILED)
		_exit(5);
	if (number_in("/proc/self/oom_score_adj") < MAPLE_SANDBOX_OOM)
		_exit(6);
}

static void test_it_has_no_rights_and_few_means(void **state)
{
	assert_int_equal(in_child(look, NULL, true), 0);
}

static void keep_one(void *arg)
{
	if (!says("CapEff:\t0000000000800000"))
		_exit(1);
}

static void test_a_capability_that_is_named_stays(void **state)
{
	if (geteuid())
		skip();
	box.capabilities = 1ull << CAP_SYS_NICE;
	assert_int_equal(in_child(keep_one, NULL, true), 0);
}

/* ---- what it needs ---- */

static void *nothing(void *arg)
{
	return arg;
}

static void use_files(void)
{
	char path[96], to[96];

	if (open_it(readable, O_RDONLY) || open_it(writable, O_RDONLY))
		_exit(1);
	snprintf(path, sizeof(path), "%s/a", writable);
	snprintf(to, sizeof(to), "%s/b", writable);
	if (open_it(path, O_RDWR | O_CREAT) || rename(path, to) ||
	    open_it(to, O_RDWR | O_TRUNC) || unlink(to))
		_exit(2);
	if (open_it("/proc/self/status", O_RDONLY))
		_exit(3);
}

static void use(void *arg)
{
	pthread_t thread;
	int pair[2], status;
	pid_t pid;

	use_files();
	if (pthread_create(&thread, NULL, nothing, NULL) ||
	    pthread_join(thread, NULL))
		_exit(4);
	pid = fork();
	if (!pid)
		_exit(7);
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		_exit(5);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
	    write(pair[0], "x", 1) != 1 || socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		_exit(6);
	if (memfd_create("x", 0) < 0 || !malloc(1 << 20) ||
	    (kill(other, 0) && errno != EPERM))
		_exit(8);
	raise(SIGTERM);
}

static void test_what_it_needs_works(void **state)
{
	int status = in_child(use, NULL, true);

	if (WIFEXITED(status))
		fail_msg("%d", WEXITSTATUS(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* A file that is open may be read by its descriptor's name, and no other. */
static void reopen(void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", box.files[0]);
	if (open_it(path, O_RDONLY) || open_it(hidden, O_RDONLY))
		_exit(1);
	if (maple_sandbox_landlock() && !is_refused(open_it(path, O_WRONLY)))
		_exit(2);
}

static void test_a_file_is_named_by_its_descriptor(void **state)
{
	int fd = open(hidden, O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	box.files = &fd;
	box.nfiles = 1;
	assert_int_equal(in_child(reopen, NULL, true), 0);
	close(fd);
}

static const struct given {
	bool connects, network, observes, traces;
	int bpf, connect, inet, ptrace, netlink;
} given[] = {
	{ .connects = true,
	  .bpf = EPERM,
	  .connect = EBADF,
	  .inet = EPERM,
	  .ptrace = EPERM },
	{ .network = true, .bpf = EPERM, .connect = EBADF, .ptrace = EPERM },
	{ .observes = true,
	  .bpf = EINVAL,
	  .connect = EPERM,
	  .inet = EPERM,
	  .ptrace = EPERM },
	{ .traces = true, .bpf = EPERM, .connect = EPERM, .inet = EPERM },
};

static void test_what_is_asked_for_is_given_and_no_more(void **state)
{
	const struct try tries[] = { { "bpf", try_bpf },
				     { "connect", try_connect },
				     { "an IPv4 socket", try_inet },
				     { "ptrace", try_ptrace },
				     { "netlink", try_netlink } };
	int e;

	for (size_t i = 0; i < COUNT(given); i++) {
		const struct given *g = &given[i];
		const int wanted[] = { g->bpf, g->connect, g->inet, g->ptrace,
				       EPERM };

		box.connects = g->connects;
		box.network = g->network;
		box.observes = g->observes;
		box.traces = g->traces;
		box.capabilities = ~0ull;
		for (size_t t = 0; t < COUNT(tries); t++) {
			e = tried(&tries[t], true);
			/* The kernel may have its own word of a user. */
			if (e != wanted[t] &&
			    (wanted[t] == EPERM || e != EPERM || !geteuid()))
				fail_msg("%zu: %s: %s", i, tries[t].name,
					 strerror(e));
		}
	}
}

static void *stay(void *arg)
{
	pause();
	return NULL;
}

static void enter_late(void *arg)
{
	struct maple_error err = { "" };
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay, NULL))
		_exit(1);
	_exit(maple_sandbox_enter(&box, &err) == -EBUSY && *err.text ? 0 : 2);
}

static void test_who_has_threads_is_refused(void **state)
{
	assert_int_equal(in_child(enter_late, NULL, false), 0);
}

/* ---- around a test ---- */

static int begin(void **state)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	assert_non_null(mkdtemp(folder));
	make_file(readable, sizeof(readable), folder, "readable");
	make_file(hidden, sizeof(hidden), folder, "hidden");
	snprintf(writable, sizeof(writable), "%s/writable", folder);
	assert_int_equal(mkdir(writable, 0700), 0);
	reads[0] = readable;
	reads[1] = "/proc";
	writes[0] = writable;
	box = (struct maple_sandbox){ .reads = reads,
				      .writes = writes,
				      .memory = MEMORY };
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	other_fd = (int)syscall(SYS_pidfd_open, other, 0);
	assert_true(other_fd >= 0);
	return 0;
}

static int end(void **state)
{
	static const char *const names[] = { "readable", "hidden", "new",
					     "writable/link" };
	char path[96];

	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(other_fd);
	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(writable);
	return rmdir(folder);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_calls_are_refused),
		CASE(test_files_are_refused),
		CASE(test_libc_takes_its_other_way),
		CASE(test_it_has_no_rights_and_few_means),
		CASE(test_a_capability_that_is_named_stays),
		CASE(test_what_it_needs_works),
		CASE(test_a_file_is_named_by_its_descriptor),
		CASE(test_what_is_asked_for_is_given_and_no_more),
		CASE(test_who_has_threads_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
