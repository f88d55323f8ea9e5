// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Run with the sandbox of mapled's unit, it tries what mapled may do, and
 * whatever it may not.  confined PID WANTED
 * PID is a process of another user's. Outside of the sandbox WANTED is 'may',
 * and all is to be possible: what is refused inside is refused by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STATE  "/var/lib/mapled/confined"
#define CREATE (O_CREAT | O_WRONLY)

static int other; /* somebody's process */

static int failed(long result)
{
	return result < 0 ? errno : 0;
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	int e = failed(fd);

	if (fd >= 0)
		close(fd);
	if (!e && flags & O_CREAT)
		unlink(path);
	return e;
}

static int sockets(int family, int type)
{
	int protocol = family == AF_NETLINK ? NETLINK_GENERIC : 0;
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	int e = failed(fd);

	if (fd >= 0)
		close(fd);
	return e;
}

static int maps(int prot)
{
	void *at = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int e = at == MAP_FAILED ? errno : 0;

	if (!e)
		munmap(at, 4096);
	return e;
}

/* ---- what it may ---- */

static int raise_limit(void)
{
	struct rlimit limit = { 99, 99 };

	return failed(prlimit(other, RLIMIT_RTPRIO, &limit, NULL));
}

static int send_signal(void)
{
	int fd = (int)syscall(SYS_pidfd_open, other, 0);
	int e = failed(fd);

	if (!e)
		e = failed(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
	if (fd >= 0)
		close(fd);
	return e;
}

/* ---- what it may not ---- */

static int trace(void)
{
	int e = failed(ptrace(PTRACE_SEIZE, other, NULL, NULL));

	if (!e)
		ptrace(PTRACE_DETACH, other, NULL, NULL);
	return e;
}

/* No memory is there; whoever may look finds that out. */
static int memory(int call)
{
	char byte;
	struct iovec ours = { &byte, 1 }, theirs = { NULL, 1 };
	int e = failed(syscall(call, other, &ours, 1, &theirs, 1, 0));

	return e == EFAULT ? 0 : e;
}

static int read_memory(void)
{
	return memory(SYS_process_vm_readv);
}

static int write_memory(void)
{
	return memory(SYS_process_vm_writev);
}

static int take_file(void)
{
	int fd = (int)syscall(SYS_pidfd_open, other, 0);
	int e = failed(syscall(SYS_pidfd_getfd, fd, 0, 0));

	close(fd);
	return e;
}

/* Of what is no module. */
static int load_module(void)
{
	char nothing[] = "no ELF file";
	int e = failed(syscall(SYS_init_module, nothing, sizeof(nothing), ""));

	return e == ENOEXEC ? 0 : e;
}

static int unload_module(void)
{
	int e = failed(syscall(SYS_delete_module, "no_such", O_NONBLOCK));

	return e == ENOENT ? 0 : e;
}

static int load_bpf(void)
{
	int e = failed(syscall(SYS_bpf, 0, NULL, 0));

	return e == EINVAL || e == E2BIG || e == EFAULT ? 0 : e;
}

static int count_events(void)
{
	int e = failed(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));

	return e == EFAULT ? 0 : e;
}

static int mounts(void)
{
	int e = failed(mount("none", "/tmp", "tmpfs", 0, NULL));

	if (!e)
		umount("/tmp");
	return e;
}

/* In a child, since these last. */
static int in_child(int (*attempt)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(attempt());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

static int do_namespace(void)
{
	return failed(unshare(CLONE_NEWNS));
}

static int new_namespace(void)
{
	return in_child(do_namespace);
}

static int do_chroot(void)
{
	return failed(chroot("/tmp"));
}

static int new_root(void)
{
	return in_child(do_chroot);
}

static int do_root(void)
{
	return getuid() && setresuid(0, 0, 0) ? errno : 0;
}

static int be_root(void)
{
	return in_child(do_root);
}

static int do_member(void)
{
	return failed(setresuid(1000, 1000, 1000));
}

static int be_other(void)
{
	return in_child(do_member);
}

static int do_realtime(void)
{
	struct sched_param param = { 1 };

	return failed(sched_setscheduler(0, SCHED_FIFO, &param));
}

static int be_realtime(void)
{
	return in_child(do_realtime);
}

static int do_personality(void)
{
	return failed(personality(READ_IMPLIES_EXEC));
}

static int be_odd(void)
{
	return in_child(do_personality);
}

static int write_and_execute(void)
{
	return maps(PROT_READ | PROT_WRITE | PROT_EXEC);
}

static int set_uid_file(void)
{
	int fd = open(STATE, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	int e = failed(fchmod(fd, 04755));

	close(fd);
	unlink(STATE);
	return e;
}

static int make_device(void)
{
	int e = failed(mknod(STATE, S_IFBLK | 0600, 0));

	unlink(STATE);
	return e;
}

static int give_away(void)
{
	int fd = open(STATE, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	int e = failed(fchown(fd, 1000, 1000));

	close(fd);
	unlink(STATE);
	return e;
}

static int set_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return failed(clock_settime(CLOCK_REALTIME, &now));
}

static int set_name(void)
{
	return failed(sethostname("guest", 5));
}

static int kernel_log(void)
{
	return failed(syscall(SYS_syslog, 3, NULL, 0)) == EPERM ? EPERM : 0;
}

static const struct attempt {
	const char *name;
	int (*function)(void); /* or else: */
	const char *path;      /* to be opened; NULL: it is a socket */
	int flags, type;       /* of open(); family and type of the socket */
} must[] = {
	{ "keep the memo", NULL, STATE, CREATE },
	{ "read its settings", NULL, "/etc/mapled/mapled.conf", O_RDONLY },
	{ "use Unix sockets", NULL, NULL, AF_UNIX, SOCK_STREAM },
	{ "use generic netlink", NULL, NULL, AF_NETLINK, SOCK_RAW },
	{ "raise another user's limit", raise_limit },
	{ "read another user's status", NULL, "/proc/%d/status", O_RDONLY },
	{ "signal another user's process", send_signal },
}, must_not[] = {
	{ "write to /usr", NULL, "/usr/confined", CREATE },
	{ "write to /etc", NULL, "/etc/confined", CREATE },
	{ "write to /var/lib", NULL, "/var/lib/confined", CREATE },
	{ "write to /run", NULL, "/run/confined", CREATE },
	{ "write to init's /usr", NULL, "/proc/1/root/usr/confined", CREATE },
	{ "write to /proc/sys", NULL, "/proc/sys/kernel/core_pattern", O_WRONLY },
	{ "write to /proc/sysrq-trigger", NULL, "/proc/sysrq-trigger", O_WRONLY },
	{ "write to /sys/fs/cgroup", NULL, "/sys/fs/cgroup/cgroup.procs", O_WRONLY },
	{ "read a home", NULL, "/home/member/.profile", O_RDONLY },
	{ "read root's home", NULL, "/root/of-root", O_RDONLY },
	{ "read /etc/shadow", NULL, "/etc/shadow", O_RDONLY },
	{ "read the others' /tmp", NULL, "/tmp/of-others", O_RDONLY },
	{ "read /dev/kmsg", NULL, "/dev/kmsg", O_RDONLY },
	{ "open /dev/port", NULL, "/dev/port", O_RDWR },
	{ "have an IPv4 socket", NULL, NULL, AF_INET, SOCK_STREAM },
	{ "have an IPv6 socket", NULL, NULL, AF_INET6, SOCK_DGRAM },
	{ "have a packet socket", NULL, NULL, AF_PACKET, SOCK_RAW },
	{ "trace another user's process", trace },
	{ "read its memory", read_memory },
	{ "write to its memory", write_memory },
	{ "open its memory", NULL, "/proc/%d/mem", O_RDWR },
	{ "read its environment", NULL, "/proc/%d/environ", O_RDONLY },
	{ "take a file of its", take_file },
	{ "load a module", load_module },
	{ "unload a module", unload_module },
	{ "load eBPF", load_bpf },
	{ "open a perf event", count_events },
	{ "mount", mounts },
	{ "have a namespace of its own", new_namespace },
	{ "have another root folder", new_root },
	{ "be root", be_root },
	{ "be another user", be_other },
	{ "be real-time", be_realtime },
	{ "change its personality", be_odd },
	{ "have memory to write and execute", write_and_execute },
	{ "make a file set-user-id", set_uid_file },
	{ "make a device", make_device },
	{ "give a file away", give_away },
	{ "set the clock", set_time },
	{ "name the machine", set_name },
	{ "read the kernel's log", kernel_log },
};

static int attempt(const struct attempt *a)
{
	char path[128];

	if (a->function)
		return a->function();
	if (!a->path)
		return sockets(a->flags, a->type);
	snprintf(path, sizeof(path), a->path, other);
	return opens(path, a->flags);
}

static int try(const struct attempt *attempts, size_t n, bool may)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		int e = attempt(&attempts[i]);

		printf("%s %s: %s\n", !e == may ? "as wanted," : "WRONG,",
		       attempts[i].name, e ? strerror(e) : "it may");
		wrong += !e != may;
	}
	return wrong;
}

#define N(a) (sizeof(a) / sizeof(*(a)))

int main(int argc, char **argv)
{
	bool outside = argc == 3 && !strcmp(argv[2], "may");
	int wrong;

	if (argc != 3 || (!outside && strcmp(argv[2], "confined")))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	other = atoi(argv[1]);
	wrong = try(must, N(must), true) + try(must_not, N(must_not), outside);
	printf("confined: %zu attempts, %d wrong\n", N(must) + N(must_not),
	       wrong);
	return wrong != 0;
}
