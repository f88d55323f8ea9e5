/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Starting victims, sessions on them, and the look whether every thread that
 * is left is scheduled in its own way. For the programs that test what a
 * session survives, each of which is one file.
 */
#ifndef MAPLE_TESTS_VICTIMS_H
#define MAPLE_TESTS_VICTIMS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "backend/kernel/module/control.h"
#include "victim.h"

#define CPU	 1	/* that sessions pin to */
#define PATIENCE 60000	/* ms until what must happen has not */
#define LONG	 600000 /* ms that no session lasts, on no kernel */

struct victim {
	pid_t pid; /* and process group */
	char path[256];
	struct victim_page *page;
};

static unsigned int seed;

static __attribute__((format(printf, 1, 2), noreturn)) void
fail(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "failed (seed %u): ", seed);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}

/* 0 to @n - 1 */
static inline unsigned int any(unsigned int n)
{
	static unsigned int state;

	if (!state)
		state = seed + 1;
	return rand_r(&state) % n;
}

static inline void nap(unsigned int us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000l };

	nanosleep(&t, NULL);
}

static inline void victim_await_stop(const struct victim *v)
{
	int status;

	if (waitpid(v->pid, &status, WUNTRACED) != v->pid)
		fail("the victim: %s", strerror(errno));
	if (!WIFSTOPPED(status))
		fail("the victim did not stop but ended: %#x", status);
}

/* It stands still, all set up, when this returns. */
static inline void victim_start(struct victim *v, const char *path,
				const char *mode)
{
	int fd = memfd_create("victim", 0);
	char arg[16];

	snprintf(v->path, sizeof(v->path), "%s", path);
	if (fd < 0 || ftruncate(fd, sizeof(*v->page)))
		fail("memfd: %s", strerror(errno));
	v->page = mmap(NULL, sizeof(*v->page), PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	if (v->page == MAP_FAILED)
		fail("mmap: %s", strerror(errno));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	snprintf(arg, sizeof(arg), "%d", fd);
	v->pid = fork();
	if (!v->pid) {
		setpgid(0, 0);
		execl(v->path, "victim", arg, mode, NULL);
		_exit(127);
	}
	close(fd);
	setpgid(v->pid, v->pid);
	victim_await_stop(v);
	if (!v->page->ready)
		fail("the victim stopped before it was ready");
}

static inline void victim_stop(const struct victim *v)
{
	kill(v->pid, SIGSTOP);
	victim_await_stop(v);
}

static inline void victim_go(const struct victim *v)
{
	kill(v->pid, SIGCONT);
}

/* It and all that it forked; what became of it: a wait status. */
static inline int victim_end(struct victim *v)
{
	int status = 0, got;
	pid_t pid;

	kill(-v->pid, SIGKILL);
	while ((pid = waitpid(-v->pid, &got, 0)) > 0)
		if (pid == v->pid)
			status = got;
	munmap(v->page, sizeof(*v->page));
	return status;
}

/* ---- sessions ---- */

static inline struct maple_control *session_open(void)
{
	struct maple_control *c;
	struct maple_error err;

	if (maple_control_open(&c, &err))
		fail("open: %s", err.text);
	return c;
}

static inline void victim_probe(const struct victim *v,
				struct maple_uapi_probe *probe,
				enum victim_label label)
{
	*probe = (struct maple_uapi_probe){
		.offset = v->page->label[label].offset,
		.next = v->page->label[label].next,
		.number = label,
		.size = 8,
		.flags = MAPLE_PROBE_WANTED,
		.kind = label == VICTIM_LOAD ? MAPLE_EV_READ : MAPLE_EV_WRITE,
		.base = 7, /* rdi */
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

/* One that the victim follows, one that it cannot, or none but an order. */
static inline int session_start(struct maple_control *c, const struct victim *v,
				unsigned int how, uint32_t deadline_ms,
				struct maple_error *err)
{
	struct maple_control_order order = {
		.pidfd = (int)syscall(SYS_pidfd_open, v->pid, 0),
		.cpu = CPU,
		.sched = MAPLE_UAPI_PLAN,
		.seed = seed,
		.deadline_ms = deadline_ms,
	};
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	struct maple_plan plan;
	int e;

	if (how % 4 == 3)
		order.sched = any(2) ? MAPLE_UAPI_OLDER : MAPLE_UAPI_YOUNGER;
	iroot.e[0].site = how % 4 == 1 ? VICTIM_NEVER : VICTIM_STORE;
	iroot.e[0].kind = MAPLE_EV_WRITE;
	iroot.e[1].site = VICTIM_LOAD;
	iroot.e[1].kind = MAPLE_EV_READ;
	if (how % 4 == 2) { /* the other way round */
		iroot.e[0].site = VICTIM_LOAD;
		iroot.e[0].kind = MAPLE_EV_READ;
		iroot.e[1].site = VICTIM_STORE;
		iroot.e[1].kind = MAPLE_EV_WRITE;
	}
	maple_plan_init(&plan, &iroot, 1 + (int)any(3), 0, 1);
	if (order.sched == MAPLE_UAPI_PLAN)
		order.plan = &plan;
	e = maple_control_start(c, &order, err);
	close(order.pidfd);
	return e;
}

static inline int session_probes(struct maple_control *c,
				 const struct victim *v, struct maple_error *err)
{
	static const enum victim_label labels[] = { VICTIM_STORE, VICTIM_LOAD,
						    VICTIM_NEVER };
	struct maple_uapi_probe probe[3];
	int fd = open(v->path, O_RDONLY), e;

	for (int i = 0; i < 3; i++)
		victim_probe(v, &probe[i], labels[i]);
	e = maple_control_probes(c, fd, probe, 3, err);
	close(fd);
	return e;
}

static inline struct maple_control *
session_on(const struct victim *v, unsigned int how, uint32_t deadline_ms)
{
	struct maple_control *c = session_open();
	struct maple_error err;

	if (session_start(c, v, how, deadline_ms, &err) ||
	    session_probes(c, v, &err))
		fail("session: %s", err.text);
	return c;
}

/* Reads its log, and says how it stands. */
static inline uint32_t session_look(struct maple_control *c,
				    struct maple_counters *counters)
{
	static struct maple_log_entry entries[MAPLE_PER_MESSAGE];
	struct maple_control_status status;
	struct maple_error err;
	int n;

	n = maple_control_log(c, entries, &err);
	if (n < 0 || maple_control_status(c, true, &status, &err))
		fail("status: %s", err.text);
	free(status.threads);
	if (counters)
		*counters = status.counters;
	return status.state;
}

/* ---- are they as they were? ---- */

/* Of a thread that may end any moment: -1 when it has. */
static inline int native_get(pid_t tid, struct victim_native *is)
{
	struct sched_param param;
	cpu_set_t cpus;

	errno = 0;
	is->policy = sched_getscheduler(tid);
	is->nice = getpriority(PRIO_PROCESS, (id_t)tid);
	if (errno || sched_getparam(tid, &param) ||
	    sched_getaffinity(tid, sizeof(cpus), &cpus))
		return -1;
	is->priority = param.sched_priority;
	is->cpus = CPU_ISSET(0, &cpus) | CPU_ISSET(1, &cpus) << 1;
	return 0;
}

static inline bool native_is(const struct victim_native *a,
			     const struct victim_native *b)
{
	return a->policy == b->policy && a->priority == b->priority &&
	       a->nice == b->nice && a->cpus == b->cpus;
}

/* A thread that has not told is as one of the natives, or their child. */
static inline bool native_any(const struct victim_native *is)
{
	for (int i = 0; i < VICTIM_NATIVES; i++)
		if (native_is(is, &victim_natives[i]))
			return true;
	return false;
}

static inline void check_thread(const struct victim *v, pid_t tid)
{
	const struct victim_native *want = NULL;
	struct victim_native is;
	unsigned int i, n = v->page->n;

	if (native_get(tid, &is))
		return;
	for (i = 0; i < n && i < VICTIM_THREADS; i++)
		if (v->page->thread[i].tid == tid)
			want = &v->page->thread[i].native;
	if (want ? native_is(&is, want) : native_any(&is))
		return;
	if (want)
		fail("thread %d has policy %#x priority %d nice %d cpus %#lx, "
		     "not %#x %d %d %#lx",
		     tid, is.policy, is.priority, is.nice, is.cpus,
		     want->policy, want->priority, want->nice, want->cpus);
	fail("thread %d has policy %#x priority %d nice %d cpus %#lx", tid,
	     is.policy, is.priority, is.nice, is.cpus);
}

/* All threads of a process of the victim's; returns how many. */
static inline unsigned int check_process(const struct victim *v, pid_t pid)
{
	unsigned int n = 0;
	struct dirent *e;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.') {
			check_thread(v, atoi(e->d_name));
			n++;
		}
	if (dir)
		closedir(dir);
	return n;
}

/* Everyone that is left, it and what it forked. */
static inline unsigned int victim_check(const struct victim *v)
{
	unsigned int i, threads = check_process(v, v->pid);
	unsigned int n = v->page->n;

	for (i = 0; i < n && i < VICTIM_THREADS; i++)
		if (v->page->thread[i].process &&
		    getpgid(v->page->thread[i].tid) == v->pid)
			threads += check_process(v, v->page->thread[i].tid);
	return threads;
}

/* It runs, still. */
static inline void victim_runs(const struct victim *v)
{
	unsigned long was = v->page->progress;
	int ms;

	for (ms = 0; ms < PATIENCE && v->page->progress == was; ms++)
		nap(1000);
	if (v->page->progress == was)
		fail("the victim makes no progress");
}

#endif
