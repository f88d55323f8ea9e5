// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * System calls: a seccomp filter, made by libseccomp.
 *
 * What is on the lists is allowed, all else is -EPERM: also what kernels of
 * later years bring. Calls that libc tries first, and does without where they
 * are not there, are -ENOSYS. Of calls that do much, such as socket(), what
 * they are called with decides.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sandbox/sandbox.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

static const char *const allowed[] = {
	/* files; which of them is for Landlock to say */
	"read",
	"write",
	"close",
	"close_range",
	"open",
	"openat",
	"stat",
	"fstat",
	"lstat",
	"newfstatat",
	"statx",
	"lseek",
	"pread64",
	"pwrite64",
	"readv",
	"writev",
	"preadv",
	"pwritev",
	"access",
	"faccessat",
	"faccessat2",
	"dup",
	"dup2",
	"dup3",
	"fcntl",
	"flock",
	"fsync",
	"fdatasync",
	"truncate",
	"ftruncate",
	"fallocate",
	"fadvise64",
	"readahead",
	"sendfile",
	"copy_file_range",
	"getdents",
	"getdents64",
	"getcwd",
	"chdir",
	"fchdir",
	"rename",
	"renameat",
	"renameat2",
	"mkdir",
	"mkdirat",
	"rmdir",
	"unlink",
	"unlinkat",
	"link",
	"linkat",
	"readlink",
	"readlinkat",
	"chmod",
	"fchmod",
	"fchmodat",
	"fchown",
	"utimensat",
	"umask",
	"statfs",
	"fstatfs",
	"pipe",
	"pipe2",
	"memfd_create",
	/* memory */
	"mmap",
	"mprotect",
	"munmap",
	"mremap",
	"brk",
	"madvise",
	"msync",
	"mincore",
	"mlock",
	"mlock2",
	"munlock",
	"mlockall",
	"munlockall",
	"membarrier",
	/* threads and children of our own */
	"fork",
	"vfork",
	"exit",
	"exit_group",
	"wait4",
	"waitid",
	"futex",
	"set_robust_list",
	"get_robust_list",
	"set_tid_address",
	"rseq",
	"arch_prctl",
	"sched_yield",
	"restart_syscall",
	"getcpu",
	/* signals */
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigpending",
	"rt_sigtimedwait",
	"rt_sigsuspend",
	"sigaltstack",
	"pause",
	"signalfd4",
	/* time */
	"nanosleep",
	"clock_nanosleep",
	"clock_gettime",
	"clock_getres",
	"gettimeofday",
	"time",
	"times",
	"getitimer",
	"setitimer",
	"alarm",
	"timer_create",
	"timer_settime",
	"timer_gettime",
	"timer_getoverrun",
	"timer_delete",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	/* waiting */
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"epoll_create",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"eventfd",
	"eventfd2",
	/* sockets that there are; which there may be: below */
	"accept",
	"accept4",
	"bind",
	"listen",
	"shutdown",
	"sendto",
	"recvfrom",
	"sendmsg",
	"recvmsg",
	"sendmmsg",
	"recvmmsg",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	/* who we are, and what we may */
	"getpid",
	"getppid",
	"gettid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getresuid",
	"getresgid",
	"getgroups",
	"getpgrp",
	"getpgid",
	"getsid",
	"setsid",
	"capget",
	"uname",
	"sysinfo",
	"getrlimit",
	"setrlimit",
	"getrusage",
	"getrandom",
	"pidfd_open",
	/* scheduling, which the kernel has ask whose a thread is */
	"getpriority",
	"setpriority",
	"sched_setparam",
	"sched_getparam",
	"sched_setscheduler",
	"sched_getscheduler",
	"sched_get_priority_max",
	"sched_get_priority_min",
	"sched_rr_get_interval",
	"sched_setaffinity",
	"sched_getaffinity",
	"sched_setattr",
	"sched_getattr",
};

/* libc has another way for each. */
static const char *const absent[] = { "clone3", "openat2", "epoll_pwait2",
				      "futex_waitv", "io_uring_setup" };

/* Comparisons of an argument; each a rule of its own, one of which is enough. */
struct rule {
	const char *call;
	unsigned int n;
	struct scmp_arg_cmp arg[2];
};

#define EQUALS(i, value)       SCMP_CMP64(i, SCMP_CMP_EQ, value)
#define MASKED(i, mask, value) SCMP_CMP64(i, SCMP_CMP_MASKED_EQ, mask, value)

static const struct rule rules[] = {
	{ "prctl", 1, { EQUALS(0, PR_SET_PDEATHSIG) } },
	{ "prctl", 1, { EQUALS(0, PR_GET_PDEATHSIG) } },
	{ "prctl", 1, { EQUALS(0, PR_GET_DUMPABLE) } },
	{ "prctl", 1, { EQUALS(0, PR_SET_NAME) } },
	{ "prctl", 1, { EQUALS(0, PR_GET_NAME) } },
	{ "prctl", 1, { EQUALS(0, PR_SET_TIMERSLACK) } },
	{ "prctl", 1, { EQUALS(0, PR_CAPBSET_READ) } },
	{ "prctl", 1, { EQUALS(0, PR_GET_NO_NEW_PRIVS) } },
	{ "prctl", 1, { EQUALS(0, PR_GET_SECCOMP) } },
	{ "prctl", 1, { EQUALS(0, PR_SET_VMA) } },
	/* A process or a thread, in the namespaces that there are. */
	{ "clone",
	  1,
	  { MASKED(0,
		   CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
			   CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
			   CLONE_NEWTIME,
		   0) } },
	{ "ioctl", 1, { EQUALS(1, FIONREAD) } },
	{ "ioctl", 1, { EQUALS(1, FIONBIO) } },
	{ "ioctl", 1, { EQUALS(1, FIOCLEX) } },
	{ "ioctl", 1, { EQUALS(1, TCGETS) } },
	{ "ioctl", 1, { EQUALS(1, TIOCGWINSZ) } },
	{ "socket", 1, { EQUALS(0, AF_UNIX) } },
	{ "socketpair", 1, { EQUALS(0, AF_UNIX) } },
	/* Whether a process is there; no signal comes of it. */
	{ "kill", 1, { EQUALS(1, 0) } },
	{ "tgkill", 1, { EQUALS(2, 0) } },
	{ "prlimit64", 1, { EQUALS(0, 0) } },
	{ "prlimit64", 1, { EQUALS(2, 0) } }, /* it is only read */
};

static const struct rule network[] = {
	{ "connect" },
	{ "socket", 1, { EQUALS(0, AF_INET) } },
	{ "socket", 1, { EQUALS(0, AF_INET6) } },
};

/* The observer's; 0x24 are ioctls of perf's. */
static const struct rule observing[] = {
	{ "bpf" },
	{ "perf_event_open" },
	{ "ioctl", 1, { MASKED(1, 0xff00, 0x2400) } },
};

/* A joiner's; it opens memory, and takes signals that it has held back. */
static const struct rule tracing[] = {
	{ "ptrace" },
	{ "capset" },
	{ "prctl", 1, { EQUALS(0, PR_SET_DUMPABLE) } },
};

static int add_rule(scmp_filter_ctx filter, const struct rule *rule)
{
	int number = seccomp_syscall_resolve_name(rule->call);

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, rule->n,
				      rule->arg);
}

static int add_rules(scmp_filter_ctx filter, const struct rule *list, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && !e; i++)
		e = add_rule(filter, &list[i]);
	return e;
}

/* One that this libseccomp does not know is not allowed, then. */
static int add_names(scmp_filter_ctx filter, uint32_t action,
		     const char *const *names, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && !e; i++) {
		int number = seccomp_syscall_resolve_name(names[i]);

		if (number != __NR_SCMP_ERROR)
			e = seccomp_rule_add(filter, action, number, 0);
	}
	return e;
}

/* Signals to ourselves, and limits of the process that is joined. */
static int add_processes(scmp_filter_ctx filter, pid_t target)
{
	const struct rule list[] = {
		{ "kill", 1, { EQUALS(0, (uint64_t)getpid()) } },
		{ "tgkill", 1, { EQUALS(0, (uint64_t)getpid()) } },
		{ "prlimit64", 1, { EQUALS(0, (uint64_t)getpid()) } },
		{ "prlimit64", 1, { EQUALS(0, (uint64_t)target) } },
	};

	return add_rules(filter, list, target ? 4 : 3);
}

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static int fill(scmp_filter_ctx filter, const struct maple_sandbox *box)
{
	int e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

	if (!e)
		e = add_names(filter, SCMP_ACT_ALLOW, allowed, COUNT(allowed));
	if (!e)
		e = add_names(filter, SCMP_ACT_ERRNO(ENOSYS), absent,
			      COUNT(absent));
	if (!e)
		e = add_rules(filter, rules, COUNT(rules));
	if (!e)
		e = add_processes(filter, box->target);
	if (!e && (box->connects || box->network))
		e = add_rules(filter, network,
			      box->network ? COUNT(network) : 1);
	if (!e && box->traces)
		e = add_rules(filter, tracing, COUNT(tracing));
	if (!e && box->observes)
		e = add_rules(filter, observing, COUNT(observing));
	return e;
}

/* maple_sandbox_seccomp - 0, or -errno where this kernel filters no calls */
int maple_sandbox_seccomp(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	if (!filter || seccomp_api_get() < 1) {
		seccomp_release(filter);
		return -ENOSYS;
	}
	seccomp_release(filter);
	return 0;
}

/* maple_sandbox_lock_calls - from now on there are the calls that are named */
int maple_sandbox_lock_calls(const struct maple_sandbox *box,
			     struct maple_error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int e = filter ? fill(filter, box) : -ENOMEM;

	if (!e)
		e = seccomp_load(filter);
	seccomp_release(filter);
	return e ? maple_error_set(err, -e,
				   "no sandbox for system calls: %s; it takes a "
				   "kernel with CONFIG_SECCOMP_FILTER",
				   strerror(-e))
		 : 0;
}
