// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Targets that are not as others:  odd_targets WHAT...
 *   deadline  a thread is scheduled by SCHED_DEADLINE
 *   leader    the main thread has ended, others go on
 *   worker    threads are the kernel's own, of io_uring
 *   vhost     ... of vhost, which is loaded
 *   jumps     a probed function jumps to another one
 */
#include <linux/io_uring.h>
#include <linux/vhost.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include "victims.h"

extern const char __ehdr_start[];

/* What targets tell. */
static struct page {
	_Atomic int ready;
	_Atomic unsigned long rounds;
	_Atomic uint64_t caller;
	_Atomic int stay, inside, go;
} * page;

static pid_t start_target(void (*run)(void))
{
	pid_t pid;

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(1);
	}
	for (int ms = 0; !page->ready; ms++) {
		if (ms == PATIENCE || waitpid(pid, NULL, WNOHANG))
			fail("the target does not get ready");
		nap(1000);
	}
	return pid;
}

static void end_target(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct maple_control *begin(pid_t pid, unsigned int sched, int cpu)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.cpu = cpu,
		.sched = sched,
		.deadline_ms = 100000,
	};
	struct maple_control *c = session_open();
	struct maple_error err;

	if (maple_control_start(c, &order, &err))
		fail("start: %s", err.text);
	close(order.pidfd);
	return c;
}

static void end(struct maple_control *c)
{
	struct maple_error err;

	if (maple_control_stop(c, &err))
		fail("stop: %s", err.text);
	maple_control_close(c);
}

static void rounds_go_on(void)
{
	unsigned long was = page->rounds;

	for (int ms = 0; page->rounds == was; ms++) {
		if (ms == PATIENCE)
			fail("the target makes no progress");
		nap(1000);
	}
}

static int ncpus_of(pid_t tid)
{
	cpu_set_t cpus;

	if (sched_getaffinity(tid, sizeof(cpus), &cpus))
		fail("affinity of %d: %s", tid, strerror(errno));
	return CPU_COUNT(&cpus);
}

/* ---- deadline ---- */

static void run_deadline(void)
{
	struct { /* struct sched_attr, which glibc's headers do not go with */
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {
		.size = sizeof(attr),
		.policy = 6, /* SCHED_DEADLINE */
		.runtime = 5000000,
		.deadline = 100000000,
		.period = 100000000,
	};

	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		_exit(2);
	for (page->ready = 1;; page->rounds++)
		sched_yield();
}

static void deadline(void)
{
	pid_t pid = start_target(run_deadline);
	int all = ncpus_of(pid);
	struct maple_control *c = begin(pid, MAPLE_UAPI_OLDER, CPU);

	if (ncpus_of(pid) != 1)
		fail("it is not pinned");
	end(c);
	if (ncpus_of(pid) != all)
		fail("it stays pinned");
	rounds_go_on();
	end_target(pid);
}

/* ---- leader ---- */

static void *go_on(void *unused)
{
	char path[64], state = 0;
	FILE *f;

	while (state != 'Z') {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			 getpid());
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			_exit(2);
		fclose(f);
	}
	for (page->ready = 1;; page->rounds++)
		usleep(1000);
	return unused;
}

static void run_leaderless(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, go_on, NULL))
		pthread_exit(NULL);
}

static void leader(void)
{
	pid_t pid = start_target(run_leaderless);
	struct maple_control *c = begin(pid, MAPLE_UAPI_OLDER, CPU);

	if (session_look(c, NULL) > MAPLE_SESSION_RUNNING)
		fail("the session is over");
	rounds_go_on();
	if (session_look(c, NULL) > MAPLE_SESSION_RUNNING)
		fail("the session is over");
	end(c);
	rounds_go_on();
	end_target(pid);
}

/* ---- worker ---- */

static void make_ring(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 60000,
	};

	if (syscall(SYS_io_uring_setup, 4, &params) < 0)
		_exit(2);
}

/* It has its maker's CPUs and nice value, unless somebody sees to that. */
static void make_vhost(void)
{
	int fd = open("/dev/vhost-net", O_RDWR);

	if (fd < 0 || ioctl(fd, VHOST_SET_OWNER))
		_exit(2);
}

/* One worker is there before the session, and one comes later. */
static void run_with_workers(void (*make)(void))
{
	if (setpriority(PRIO_PROCESS, 0, 5))
		_exit(2);
	make();
	for (page->ready = 1;; page->rounds++) {
		if (page->go && !page->inside) {
			make();
			page->inside = 1;
		}
		usleep(1000);
	}
}

static void run_with_rings(void)
{
	run_with_workers(make_ring);
}

static void run_with_vhost(void)
{
	run_with_workers(make_vhost);
}

/* How a thread is scheduled, in words. */
static void describe(pid_t tid, char *text, size_t size)
{
	struct sched_param param;
	int policy = sched_getscheduler(tid);

	if (policy < 0 || sched_getparam(tid, &param))
		fail("scheduling of %d: %s", tid, strerror(errno));
	snprintf(text, size, "policy %d, priority %d, nice %d, %d CPUs", policy,
		 param.sched_priority, getpriority(PRIO_PROCESS, (id_t)tid),
		 ncpus_of(tid));
}

/* All that are not the main thread are as @usual; returns how many. */
static unsigned int look_at_workers(pid_t pid, const char *usual)
{
	char path[64], text[128];
	unsigned int n = 0;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == pid)
			continue;
		n++;
		describe(atoi(e->d_name), text, sizeof(text));
		if (strcmp(text, usual) != 0)
			fail("worker %s: %s, not %s", e->d_name, text, usual);
	}
	if (dir)
		closedir(dir);
	return n;
}

static void workers(void (*run)(void), unsigned int sched)
{
	pid_t pid = start_target(run);
	struct maple_control_status status;
	unsigned int before, during;
	struct maple_control *c;
	char usual[128], forced[128];
	struct maple_error err;

	describe(pid, usual, sizeof(usual));
	before = look_at_workers(pid, usual);
	c = begin(pid, sched, CPU);
	page->go = 1;
	for (int ms = 0; !page->inside; ms++) {
		if (ms == PATIENCE)
			fail("the target makes no progress");
		nap(1000);
	}
	rounds_go_on();
	describe(pid, forced, sizeof(forced));
	if (!strcmp(forced, usual))
		fail("the target is not scheduled: %s", forced);
	during = look_at_workers(pid, usual);
	if (maple_control_status(c, true, &status, &err))
		fail("status: %s", err.text);
	if (before != 1 || during != 2 || status.nthreads != 1)
		fail("%u workers and then %u, %u threads of the session's",
		     before, during, status.nthreads);
	free(status.threads);
	end(c);
	rounds_go_on();
	describe(pid, forced, sizeof(forced));
	if (strcmp(forced, usual) != 0)
		fail("the target is left: %s", forced);
	look_at_workers(pid, usual);
	end_target(pid);
}

static void worker(void)
{
	workers(run_with_rings, MAPLE_UAPI_PCTLARGE);
	workers(run_with_rings, MAPLE_UAPI_OLDER);
}

static void vhost(void)
{
	workers(run_with_vhost, MAPLE_UAPI_PCTLARGE);
	workers(run_with_vhost, MAPLE_UAPI_OLDER);
}

/* ---- jumps ---- */

extern const char jump_from[], jump_to[];

static __attribute__((used)) void at_last(void)
{
	page->rounds++;
	while (page->stay) {
		page->inside = 1;
		usleep(1000);
	}
	page->inside = 0;
}

/* jump_from jumps to jump_to, which calls at_last(). */
__asm__(".text\n"
	".globl jump_from, jump_to\n"
	"jump_from: nop\n"
	"jmp jump_to\n"
	"jump_to: nop\n"
	"sub $8,%rsp\n"
	"call at_last\n"
	"add $8,%rsp\n"
	"ret\n");

static void run_jumps(void)
{
	extern const char back[];
	void (*from)(void);
	const char *at = jump_from;

	memcpy(&from, &at, sizeof(from));
	page->caller = (uintptr_t)back;
	for (page->ready = 1;;) {
		while (!page->go)
			usleep(1000);
		__asm__ volatile(".globl back\n"
				 "call *%0\n"
				 "back: nop\n"
				 :
				 : "b"(from)
				 : "memory", "cc", "rax", "rcx", "rdx", "rsi",
				   "rdi", "r8", "r9", "r10", "r11");
		usleep(1000);
	}
}

static struct maple_uapi_probe function_at(const char *function)
{
	return (struct maple_uapi_probe){
		.offset = (uint64_t)(function - __ehdr_start),
		.number = MAPLE_SITE_NONE,
		.flags = MAPLE_PROBE_CALL | MAPLE_PROBE_RETURN,
		.kind = MAPLE_EV_ONCE,
		.after = MAPLE_EV_ONCED,
		.base = 7,
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

/* All that is known of thread 0's returns is where it really goes. */
static void check_returns(struct maple_control *c)
{
	struct maple_uapi_return back[MAPLE_PER_MESSAGE];
	struct maple_error err;
	int n;

	for (int ms = 0; !page->inside; ms++) {
		if (ms == PATIENCE)
			fail("the target makes no progress");
		nap(1000);
	}
	n = maple_control_returns(c, 0, back, &err);
	if (n != 1)
		fail("%d returns are known", n);
	if (back[0].caller != page->caller)
		fail("it returns to %#llx, not %#llx",
		     (unsigned long long)back[0].caller,
		     (unsigned long long)page->caller);
}

static void jumps(void)
{
	pid_t pid = start_target(run_jumps);
	struct maple_control *c = begin(pid, MAPLE_UAPI_PCTLARGE, -1);
	const struct maple_uapi_probe probe[] = { function_at(jump_from),
						  function_at(jump_to) };
	int fd = open("/proc/self/exe", O_RDONLY);
	struct maple_error err;

	if (maple_control_probes(c, fd, probe, 2, &err))
		fail("probes: %s", err.text);
	close(fd);
	/* The first time, and when some have returned. */
	page->go = 1;
	for (int i = 0; i < 2; i++) {
		page->stay = 1;
		check_returns(c);
		page->stay = 0;
		rounds_go_on();
	}
	end(c);
	end_target(pid);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*test)(void);
	} tests[] = { { "deadline", deadline },
		      { "leader", leader },
		      { "worker", worker },
		      { "vhost", vhost },
		      { "jumps", jumps } };

	unsigned int i, n = sizeof(tests) / sizeof(tests[0]);

	for (int arg = 1; arg < argc; arg++) {
		for (i = 0; i < n && strcmp(argv[arg], tests[i].name);)
			i++;
		if (i == n)
			fail("%s: no such target", argv[arg]);
		tests[i].test();
		printf("%s: as it was\n", argv[arg]);
		fflush(stdout);
	}
	return 0;
}
