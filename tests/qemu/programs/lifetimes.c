// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a session refers to may end before it: threads, files, processes that
 * its target forks.
 *   lifetimes threads N   sessions on a process that makes threads all the time
 *   lifetimes file DIR    probes and sites in a file system that is unmounted
 *   lifetimes cut DIR     probes in a file that is cut off before them, while the
 *                         target has it mapped
 *   lifetimes served FILE probes in a file that is a program's (FUSE)
 *   lifetimes crowd       probes at one offset, more than fit
 *   lifetimes refused DIR N   messages that are refused when half of each is
 *                         in place
 *   lifetimes killed DIR N   whoever places probes, and takes them away, is
 *                         killed
 *   lifetimes forks N     of a target, and what the kernel has left of them
 */
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "fuse_file.h"
#include "touch.h"
#include "victims.h"

#define CREATORS 3

static volatile long value;

static struct maple_uapi_probe call_at(const void *function, unsigned int kind,
				       unsigned int after)
{
	return (struct maple_uapi_probe){
		.offset = (uint64_t)((const char *)function - __ehdr_start),
		.number = MAPLE_SITE_NONE,
		.flags = MAPLE_PROBE_CALL | MAPLE_PROBE_RETURN,
		.kind = (uint8_t)kind,
		.after = (uint8_t)after,
		.base = 7,
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

static pid_t start_target(void (*run)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	_exit(1);
}

static void end_target(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || status != SIGKILL)
		fail("the target ended before: %#x", status);
}

static void begin(struct maple_control *c, pid_t pid, unsigned int sched,
		  int cpu)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = cpu,
		.sched = sched,
		.seed = seed++,
		.deadline_ms = 100000,
	};
	struct maple_error err;
	int e, tries = 20;

	/* A slow host may see more threads come and go than there is room for. */
	do
		e = maple_control_start(c, &order, &err);
	while (e == -ENOSPC && --tries);
	if (e)
		fail("start: %s", err.text);
	close(order.pidfd);
}

static void stop(struct maple_control *c)
{
	struct maple_error err;

	if (maple_control_stop(c, &err))
		fail("stop: %s", err.text);
}

static void await_hits(struct maple_control *c)
{
	struct maple_counters was, is;
	int ms;

	session_look(c, &was);
	for (ms = 0; ms < PATIENCE; ms++) {
		session_look(c, &is);
		if (is.hits > was.hits)
			return;
		nap(1000);
	}
	fail("no access is seen");
}

/* ---- threads ---- */

static void *brief(void *unused)
{
	touch(&value);
	return unused;
}

static void *create(void *unused)
{
	pthread_t thread;

	for (;;)
		if (!pthread_create(&thread, NULL, brief, NULL))
			pthread_join(thread, NULL);
	return unused;
}

static void make_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < CREATORS; i++)
		if (pthread_create(&thread, NULL, create, NULL))
			_exit(2);
	create(NULL);
}

static void threads(unsigned int n)
{
	struct maple_control *c = session_open();
	pid_t pid = start_target(make_threads);
	unsigned int i;

	for (i = 0; i < n; i++) {
		begin(c, pid, i % 4 ? MAPLE_UAPI_NATIVE : MAPLE_UAPI_OLDER,
		      i % 8 ? -1 : CPU);
		nap(any(2000));
		stop(c);
	}
	maple_control_close(c);
	end_target(pid);
	printf("%u sessions\n", n);
}

/* ---- file ---- */

static void copy_self(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	struct stat st;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		fail("copying to %s: %s", to, strerror(errno));
	close(in);
	close(out);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

/* One of probes, or of sites, in a file of its own file system. */
static void refer(struct maple_control *c, const char *path, bool sites)
{
	struct maple_uapi_probe probe = probe_of_touch();
	struct maple_uapi_site site = {
		.offset = probe.next,
		.number = MAPLE_SITE_CALL | 1,
	};
	int fd = open(path, O_RDONLY), e;
	struct maple_error err;

	e = sites ? maple_control_sites(c, fd, &site, 1, &err)
		  : maple_control_probes(c, fd, &probe, 1, &err);
	if (e)
		fail("%s: %s", path, err.text);
	close(fd);
}

static void file(const char *folder)
{
	struct maple_control *c = session_open();
	pid_t pid = start_target(sleep_on);
	char path[256];

	snprintf(path, sizeof(path), "%s/program", folder);
	for (int sites = 0; sites < 2; sites++) {
		if (mount("lifetimes", folder, "tmpfs", 0, NULL))
			fail("mount: %s", strerror(errno));
		copy_self(path);
		begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
		refer(c, path, sites);
		if (!umount(folder) || errno != EBUSY)
			fail("unmounted while it is in use");
		if (umount2(folder, MNT_DETACH))
			fail("not detached: %s", strerror(errno));
		stop(c);

		/* ... and nothing is left when the session is over. */
		if (mount("lifetimes", folder, "tmpfs", 0, NULL))
			fail("mount: %s", strerror(errno));
		copy_self(path);
		begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
		refer(c, path, sites);
		stop(c);
		if (umount(folder))
			fail("in use after the session: %s", strerror(errno));
	}
	maple_control_close(c);
	end_target(pid);
	printf("unmounted\n");
}

/* ---- cut ---- */

static const char *cut_path;
static _Atomic int *cut_order; /* 1: no more, 2: done */

/* Writes by the code of the file that will be cut off. */
static void touch_mapped(void)
{
	int fd = open(cut_path, O_RDONLY);
	struct stat st;
	char *map;
	void (*mapped)(volatile long *to);

	if (fd < 0 || fstat(fd, &st))
		_exit(2);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		   fd, 0);
	if (map == MAP_FAILED)
		_exit(2);
	close(fd);
	mapped = (void (*)(volatile long *))(
		map + ((const char *)touch - __ehdr_start));
	while (!*cut_order)
		mapped(&value);
	*cut_order = 2;
	sleep_on();
}

static unsigned int lingering(void)
{
	FILE *f = fopen("/sys/kernel/debug/maple/lingering", "r");
	unsigned int n;

	if (!f || fscanf(f, "%u", &n) != 1)
		fail("lingering cannot be read");
	fclose(f);
	return n;
}

static void await_lingering(unsigned int n)
{
	for (int ms = 0; ms < PATIENCE; ms++) {
		if (lingering() == n)
			return;
		nap(1000);
	}
	fail("%u linger, not %u", lingering(), n);
}

/* A probe whose file ends before it; the session is over. */
static pid_t cut_off(struct maple_control *c)
{
	pid_t pid;

	copy_self(cut_path);
	*cut_order = 0;
	pid = start_target(touch_mapped);
	begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
	refer(c, cut_path, false);
	await_hits(c);
	*cut_order = 1;
	for (int ms = 0; ms < PATIENCE && *cut_order != 2; ms++)
		nap(1000);
	if (truncate(cut_path, 0))
		fail("%s cannot be cut off: %s", cut_path, strerror(errno));
	stop(c);
	await_lingering(1);
	return pid;
}

static void cut(const char *folder)
{
	struct maple_control *c = session_open();
	char path[256];
	pid_t pid;

	if (mount("lifetimes", folder, "tmpfs", 0, NULL))
		fail("mount: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/program", folder);
	cut_path = path;
	cut_order = mmap(NULL, sizeof(*cut_order), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (cut_order == MAP_FAILED)
		fail("no memory");
	pid = cut_off(c);
	end_target(pid);
	await_lingering(0);
	pid = cut_off(c);
	if (truncate(path, 10 << 20))
		fail("it cannot be made longer: %s", strerror(errno));
	await_lingering(0);
	end_target(pid);
	if (umount(folder))
		fail("in use afterwards: %s", strerror(errno));
	maple_control_close(c);
	printf("removed\n");
}

/* ---- served ---- */

/* Whether we may trace everybody, as root does. */
static void may_trace(bool may)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		fail("capget: %s", strerror(errno));
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	data[0].effective |= (uint32_t)may << CAP_SYS_PTRACE;
	if (syscall(SYS_capset, &head, data))
		fail("capset: %s", strerror(errno));
}

/* Root may, but not who only may trace what is his. */
static void served(const char *path)
{
	struct maple_uapi_probe probe = probe_of_touch();
	struct maple_control *c;
	int fuse = open("/dev/fuse", O_RDWR), fd, e;
	pid_t pid = start_target(sleep_on);
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = CPU,
		.sched = MAPLE_UAPI_PCTLARGE,
		.deadline_ms = 100000,
	};
	struct maple_error err;
	struct stat st;
	pthread_t server;
	char options[80];

	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100755,user_id=0,group_id=0", fuse);
	close(open(path, O_WRONLY | O_CREAT, 0755));
	if (fuse < 0 || mount("lifetimes", path, "fuse", 0, options) ||
	    pthread_create(&server, NULL, serve, &fuse))
		fail("fuse: %s", strerror(errno));
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		fail("%s: %s", path, strerror(errno));
	may_trace(false);
	c = session_open();
	if (maple_control_start(c, &order, &err))
		fail("start: %s", err.text);
	e = maple_control_probes(c, fd, &probe, 1, &err);
	if (e != -EPERM || !strstr(err.text, "FUSE"))
		fail("not refused, but %d: %s", e, e ? err.text : "in place");
	stop(c);
	maple_control_close(c);
	may_trace(true);
	c = session_open();
	if (maple_control_start(c, &order, &err))
		fail("start: %s", err.text);
	/* It cannot be read, so that there is no probe. */
	e = maple_control_probes(c, fd, &probe, 1, &err);
	if (e != -EIO)
		fail("not tried, but %d: %s", e, e ? err.text : "in place");
	stop(c);
	maple_control_close(c);
	close(fd);
	umount2(path, MNT_DETACH);
	end_target(pid);
	printf("refused\n");
}

/* ---- crowd ---- */

static void touch_on(void)
{
	for (;;)
		touch(&value);
}

static int add(struct maple_control *c, const char *path,
	       const struct maple_uapi_probe *probe, size_t n,
	       struct maple_error *err)
{
	int fd = open(path, O_RDONLY);
	int e = maple_control_probes(c, fd, probe, n, err);

	close(fd);
	return e;
}

static void refused(int e, const struct maple_error *err)
{
	if (e != -ENOSPC || !strstr(err->text, "one offset"))
		fail("too many probes: %d, %s", e, e ? err->text : "taken");
}

static void crowd(void)
{
	struct maple_uapi_probe probe[20];
	pid_t pid = start_target(touch_on);
	struct maple_control *c;
	struct maple_error err;
	int e = 0, taken;

	for (unsigned int i = 0; i < 20; i++) {
		probe[i] = probe_of_touch();
		probe[i].number = i;
	}
	c = session_open();
	begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
	refused(add(c, "/proc/self/exe", probe, 20, &err), &err);
	for (taken = 0; taken < 20 && !e; taken++) {
		e = add(c, "/proc/self/exe", &probe[taken], 1, &err);
		if (!e)
			await_hits(c);
	}
	refused(e, &err);
	await_hits(c);
	stop(c);
	maple_control_close(c);
	end_target(pid);
	printf("%d at one offset\n", taken - 1);
}

/* ---- refused ---- */

/*
 * A page of code of its own for outer(): it calls what it is given, often,
 * and in a second page is what the kernel cannot write to, since somebody else
 * is to say what is in it.
 */
static __attribute__((noinline)) void inner(volatile long *to)
{
	touch(to);
}

/* push %rbx; push %r12; mov %rdi,%rbx; mov $200,%r12d; 1: call *%rbx;
 * dec %r12d; jnz 1b; pop %r12; pop %rbx; ret */
static const unsigned char outer_code[] = {
	0x53, 0x41, 0x54, 0x48, 0x89, 0xfb, 0x41, 0xbc, 0xc8, 0x00, 0x00, 0x00,
	0xff, 0xd3, 0x41, 0xff, 0xcc, 0x75, 0xf9, 0x41, 0x5c, 0x5b, 0xc3,
};

#define PAGES 2

static const char *code_path;
static _Atomic int *ready;

static void call_inner(void)
{
	inner(&value);
}

static void register_fault(void *page)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_MINOR_SHMEM };
	struct uffdio_register to = {
		.range = { (uintptr_t)page, 4096 },
		.mode = UFFDIO_REGISTER_MODE_MINOR,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &to))
		_exit(3);
}

static void run_outer(void)
{
	void (*outer)(void (*)(void));
	int fd = open(code_path, O_RDONLY);
	char *code = mmap(NULL, PAGES * 4096, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED)
		_exit(2);
	register_fault(code + 4096);
	memcpy(&outer, &code, sizeof(outer));
	*ready = 1;
	for (;;)
		outer(call_inner);
}

static void write_code(const char *folder)
{
	static char path[256];
	unsigned char page[PAGES * 4096];
	int fd;

	snprintf(path, sizeof(path), "%s/code", folder);
	code_path = path;
	memset(page, 0x90, sizeof(page)); /* nop */
	memcpy(page, outer_code, sizeof(outer_code));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (fd < 0 || write(fd, page, sizeof(page)) != sizeof(page))
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

/* Whatever the kernel has freed has another's bytes then. */
static void reuse_memory(void)
{
	static const unsigned char sizes[] = { 64, 96, 128, 192 };
	char what[32], with[192];

	memset(with, 0x41, sizeof(with));
	for (unsigned int i = 0; i < 400 * sizeof(sizes); i++) {
		snprintf(what, sizeof(what), "lifetimes%u", i);
		syscall(SYS_add_key, "user", what, with,
			(size_t)sizes[i % sizeof(sizes)] - 24, -3);
	}
}

/* The first is in place, and hit, when the last turns out not to be possible. */
static int half_of_it(struct maple_control *c, struct maple_error *err)
{
	struct maple_uapi_probe probe[200];
	unsigned int n = sizeof(probe) / sizeof(probe[0]);

	probe[0] = call_at(__ehdr_start, MAPLE_EV_ONCE, MAPLE_EV_ONCED);
	for (unsigned int i = 1; i < n; i++) {
		probe[i] = probe_of_touch();
		probe[i].offset = i == n - 1 ? 4096 : 1000 + i;
		probe[i].next = probe[i].offset + 1;
	}
	return add(c, code_path, probe, n, err);
}

static void refuse(const char *folder, unsigned int times)
{
	struct maple_uapi_probe on_inner =
		call_at((void *)inner, MAPLE_EV_LOCK, MAPLE_EV_LOCK);
	struct maple_counters is;
	struct maple_control *c;
	struct maple_error err;
	unsigned int i;
	pid_t pid;

	write_code(folder);
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = start_target(run_outer);
	while (!*ready) {
		if (waitpid(pid, NULL, WNOHANG))
			fail("the target ended: has this kernel userfaultfd?");
		nap(1000);
	}
	c = session_open();
	begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
	if (add(c, "/proc/self/exe", &on_inner, 1, &err))
		fail("probes: %s", err.text);
	for (i = 0; i < times; i++) {
		int e = half_of_it(c, &err);

		if (e != -EFAULT)
			fail("refused half way: %d, %s", e,
			     e ? err.text : "taken");
		reuse_memory();
		nap(20000);
	}
	session_look(c, &is);
	if (is.probes != 1)
		fail("%llu probes count", (unsigned long long)is.probes);
	stop(c);
	maple_control_close(c);
	end_target(pid);
	printf("%u messages refused\n", i);
}

/* ---- killed ---- */

#define KILLED_PROBES 400

/* Whether @pid has its code as it is in the file. */
static bool is_as_it_was(pid_t pid, unsigned char *code)
{
	unsigned char now[4096];
	struct iovec to = { now, sizeof(now) }, from = { code, sizeof(now) };

	if (process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof(now))
		fail("the target's code: %s", strerror(errno));
	for (size_t i = sizeof(outer_code); i < sizeof(now); i++)
		if (now[i] != 0x90)
			return false;
	return true;
}

/* Places probes in @pid, and takes them away. */
static void place_many(pid_t pid)
{
	struct maple_uapi_probe probe[KILLED_PROBES];
	struct maple_control *c = session_open();
	struct maple_error err;

	for (unsigned int i = 0; i < KILLED_PROBES; i++) {
		probe[i] = probe_of_touch();
		probe[i].offset = 1000 + i;
		probe[i].next = probe[i].offset + 1;
	}
	begin(c, pid, MAPLE_UAPI_PCTLARGE, -1);
	if (add(c, code_path, probe, KILLED_PROBES, &err))
		fail("probes: %s", err.text);
	stop(c);
	maple_control_close(c);
}

/*
 * Who places and takes away is killed at any moment of that. The kernel gives
 * up what it does there for a process that is to die.
 */
static void killed(const char *folder, unsigned int times)
{
	struct timespec from, to;
	unsigned char *code;
	pid_t pid, holder;
	double us;
	int fd;

	write_code(folder);
	fd = open(code_path, O_RDONLY);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		fail("%s: %s", code_path, strerror(errno));
	close(fd);
	pid = start_target(sleep_on);
	clock_gettime(CLOCK_MONOTONIC, &from);
	place_many(pid);
	clock_gettime(CLOCK_MONOTONIC, &to);
	us = (double)(to.tv_sec - from.tv_sec) * 1e6 +
	     (double)(to.tv_nsec - from.tv_nsec) / 1e3;
	for (unsigned int i = 0; i < times; i++) {
		holder = fork();
		if (!holder) {
			place_many(pid);
			_exit(0);
		}
		nap((long)(us * (i + 1) / times));
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
		for (int tries = 0; !is_as_it_was(pid, code); tries++) {
			if (tries == PATIENCE)
				fail("a probe is left behind, after %u kills",
				     i + 1);
			nap(1000);
		}
	}
	end_target(pid);
	printf("%u killed\n", times);
}

/* ---- forks ---- */

static unsigned int forks_wanted;
static _Atomic unsigned int *forked;

static void fork_on(void)
{
	while (!*ready)
		usleep(1000);
	while (*forked < forks_wanted) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		++*forked;
	}
	for (;;)
		pause();
}

/* How many there are of the sizes that a record of a process can have. */
static long objects(void)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[512], name[64];
	long n, all = 0;

	if (!f)
		fail("slabinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", name, &n) == 2 &&
		    (!strcmp(name, "kmalloc-4k") ||
		     !strcmp(name, "kmalloc-cg-4k")))
			all += n;
	fclose(f);
	return all;
}

static void forks(unsigned int n)
{
	struct maple_control *c = session_open();
	long before, after;
	pid_t pid;

	forks_wanted = n;
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	forked = (_Atomic unsigned int *)(ready + 1);
	pid = start_target(fork_on);
	begin(c, pid, MAPLE_UAPI_OLDER, CPU);
	before = objects();
	*ready = 1;
	while (*forked < n) {
		if (session_look(c, NULL) > MAPLE_SESSION_RUNNING)
			fail("the session is over");
		nap(10000);
	}
	after = objects();
	if (after - before > n / 4)
		fail("%u forks, %ld objects before, %ld after", n, before,
		     after);
	stop(c);
	maple_control_close(c);
	end_target(pid);
	printf("%u forks\n", n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *with = argv[argc - 1];

	if (!strcmp(what, "threads"))
		threads((unsigned int)atoi(with));
	else if (!strcmp(what, "file"))
		file(with);
	else if (!strcmp(what, "cut"))
		cut(with);
	else if (!strcmp(what, "served"))
		served(with);
	else if (!strcmp(what, "crowd"))
		crowd();
	else if (!strcmp(what, "refused") && argc > 3)
		refuse(argv[2], (unsigned int)atoi(with));
	else if (!strcmp(what, "killed") && argc > 3)
		killed(argv[2], (unsigned int)atoi(with));
	else if (!strcmp(what, "forks"))
		forks((unsigned int)atoi(with));
	else
		fail("usage: lifetimes threads|file|cut|served|crowd|refused|killed|forks ...");
	return 0;
}
