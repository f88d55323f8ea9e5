// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The stem: the program under test, held for good right before its own
 * constructors and main(). Runs branch off it: loading, relocating, looking up
 * symbols and patching are done once, and a run costs a fork.
 *
 *	guard --- stem    sleeps until its spare is taken
 *	      |-- spare   its copy, forked ahead; waits at the socket
 *	      \-- run     a spare, with the files that came with the order
 *
 * To be forked and to have its memory copied takes longer than a short run
 * itself: a spare does it while the run before it lasts, on another CPU. Then
 * it moves to the run's, gets it as soon as that run leaves it, and looks for
 * its order: an idle CPU takes as long to wake up as to judge a run.
 *
 * A run is to be what an executed process is, and not a child of the program:
 * it is cloned past libc, a child of the guard like the stem itself, and no
 * handler of pthread_atfork() hears of it. What libc knows of the thread's id
 * is put right by the kernel (CLONE_CHILD_SETTID), the robust list by us.
 *
 * A fork leaves behind, or shares, what a process may have besides its memory:
 * threads, files, children, timers, shared memory. A program that has any of
 * it before main() makes no stem; its runs are executed one by one.
 */
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "agent/core.h"
#include "agent/raw.h"

#define SIGS	8    /* bytes of the kernel's signal set */
#define LOOK_MS 1000 /* how soon the death of a spare is seen */
#define LOOKS	1500 /* of a spare for its order, before it sleeps: 0.4 ms */
#define FORKING (-1)

struct entry { /* struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t length;
	uint8_t type;
	char name[];
};

/* What libc has told the kernel of the one thread there is. */
static struct {
	int32_t *tid; /* its id, in libc's own memory */
	void *robust;
	uint64_t robust_size;
} thread;

static bool starts_with(const char *text, const char *with)
{
	while (*with && *text == *with)
		text++, with++;
	return !*with;
}

static bool libc_is_known(void)
{
	raw6(SYS_prctl, PR_GET_TID_ADDRESS, &thread.tid, 0, 0, 0, 0);
	raw3(SYS_get_robust_list, 0, &thread.robust, &thread.robust_size);
	return thread.tid && *thread.tid == (int32_t)raw0(SYS_gettid);
}

static bool has_threads(void)
{
	struct stat st = { 0 };

	/* The folder itself, its parent, and one for each thread. */
	raw2(SYS_stat, "/proc/self/task", &st);
	return st.st_nlink != 3;
}

/* A device may be open: /dev/null and the like keep no position. */
static bool is_shared(int fd)
{
	struct stat st = { 0 };

	return fd > 2 && fd != MAPLE_STEM_FD &&
	       !raw_failed(raw2(SYS_fstat, fd, &st)) && !S_ISCHR(st.st_mode);
}

static bool has_files(void)
{
	char buf[2048] __attribute__((aligned(8)));
	long dir = raw3(SYS_open, "/proc/self/fd",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	const struct entry *e;
	bool found = raw_failed(dir);
	long n;

	while (!found && (n = raw3(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n; at += e->length) {
			int fd = 0;

			e = (const void *)(buf + at);
			for (const char *c = e->name; *c >= '0' && *c <= '9';
			     c++)
				fd = fd * 10 + *c - '0';
			found |= fd != dir && is_shared(fd);
		}
	raw1(SYS_close, dir);
	return found;
}

static bool has_children(void)
{
	siginfo_t info;

	return !raw_failed(raw6(SYS_waitid, P_ALL, 0, &info,
				WEXITED | WNOHANG | WNOWAIT, 0, 0));
}

static bool has_timers(void)
{
	struct itimerval t = { 0 };
	char byte;
	long fd, n;

	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		raw2(SYS_getitimer, which, &t);
		if (t.it_value.tv_sec || t.it_value.tv_usec)
			return true;
	}
	fd = raw3(SYS_open, "/proc/self/timers", O_RDONLY | O_CLOEXEC, 0);
	if (raw_failed(fd))
		return false;
	n = raw3(SYS_read, fd, &byte, 1);
	raw1(SYS_close, fd);
	return n == 1;
}

/*
 * Memory that is shared and has no name: an executed process begins with its
 * own. @line: "7f0000000000-7f0000001000 rw-s 00000000 00:01 4 /dev/zero"
 */
static bool is_common(const char *line)
{
	while (*line && *line != ' ')
		line++;
	if (!starts_with(line, " rw-s"))
		return false;
	while (*line && *line != '/')
		line++;
	if (starts_with(line, "/memfd:maple"))
		return false; /* ours */
	return starts_with(line, "/dev/zero") || starts_with(line, "/memfd:");
}

static bool has_common_memory(void)
{
	long fd = raw3(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	char buf[1024], line[128];
	unsigned int used = 0;
	bool found = false;
	long n;

	while (!found && (n = raw3(SYS_read, fd, buf, sizeof(buf))) > 0)
		for (long i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				line[used] = buf[i];
				used += used < sizeof(line) - 1;
				continue;
			}
			line[used] = 0;
			used = 0;
			found |= is_common(line);
			maple_warm_note(line);
		}
	raw1(SYS_close, fd);
	return found;
}

/* READY, or the first thing that stands against it. */
static enum maple_stem look(void)
{
	if (!libc_is_known())
		return MAPLE_STEM_LIBC;
	if (has_threads())
		return MAPLE_STEM_THREADS;
	if (has_children())
		return MAPLE_STEM_CHILDREN;
	if (has_files())
		return MAPLE_STEM_FILES;
	if (has_timers())
		return MAPLE_STEM_TIMERS;
	return has_common_memory() ? MAPLE_STEM_MEMORY : MAPLE_STEM_READY;
}

static void answer(int socket, int32_t value)
{
	struct maple_stem_answer a = { value };

	raw6(SYS_sendto, socket, &a, sizeof(a), MSG_NOSIGNAL, 0, 0);
}

/*
 * The next order; ends with whoever gives them. It is looked for so many times
 * before we sleep.
 */
static void take_order(int socket, struct maple_stem_order *order, int fds[3],
		       int looks)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(3 * sizeof(int))];
	} control;
	struct iovec iov = { order, sizeof(*order) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const int *got = (const int *)CMSG_DATA(&control.head);
	long n;

	do
		n = raw3(SYS_recvmsg, socket, &msg,
			 MSG_CMSG_CLOEXEC | (looks ? MSG_DONTWAIT : 0));
	/* EAGAIN; EINTR: stopped and continued */
	while ((n == -11 && looks--) || n == -4);
	if (n != sizeof(*order) ||
	    control.head.cmsg_len != CMSG_LEN(3 * sizeof(int)))
		raw1(SYS_exit_group, 0);
	for (int i = 0; i < 3; i++)
		fds[i] = got[i];
}

static uint64_t cpus[16]; /* where we might run */

/* Out of the runs' way, if there is another CPU. */
static void stay_off(int cpu)
{
	uint64_t mask[16];

	raw3(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);
	if (cpu < 0 || cpu >= 1024)
		return;
	for (unsigned int i = 0; i < 16; i++)
		mask[i] = cpus[i];
	mask[cpu / 64] &= ~(1ull << cpu % 64);
	/* EINVAL: there is none. */
	raw3(SYS_sched_setaffinity, 0, sizeof(mask), mask);
}

/* The run begins where it stays. */
static void go_to(int cpu)
{
	uint64_t mask[16] = { 0 };

	if (cpu < 0 || cpu >= 1024)
		return;
	mask[cpu / 64] = 1ull << cpu % 64;
	raw3(SYS_sched_setaffinity, 0, sizeof(mask), mask);
}

/* What has come for us while we were nobody is not the run's. */
static void forget_signals(void)
{
	const uint64_t all = ~0ull;
	const struct timespec now = { 0 };

	while (!raw_failed(raw4(SYS_rt_sigtimedwait, &all, NULL, &now, SIGS)))
		;
}

/* In the spare: all that can be done before it is known what for. */
static void become_spare(struct maple_shm *shm, int32_t *word, long guard)
{
	int32_t forking = FORKING;

	raw6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	if (raw0(SYS_getppid) != guard)
		raw1(SYS_exit_group, 127);
	__atomic_compare_exchange_n(word, &forking, raw0(SYS_getpid), false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (thread.robust)
		raw2(SYS_set_robust_list, thread.robust, thread.robust_size);
	maple_warm_up();
	maple_lock_populate_shared(shm, &shm->thread[MAPLE_AGENT_FEW]);
	if (word == &shm->spare[MAPLE_SHM_STEM_OTHER])
		maple_enforce_ahead();
	else if (word == &shm->spare[MAPLE_SHM_STEM_CONTROL])
		maple_control_ahead();
	go_to(shm->cpu);
}

static void put_files(const int fds[3])
{
	for (int i = 0; i < 3; i++) {
		raw2(SYS_dup2, fds[i], i);
		raw1(SYS_close, fds[i]);
	}
}

/* In the run: everything as if it had been executed. */
static void become_run(const struct maple_stem_order *order, const int fds[3],
		       const uint64_t *mask)
{
	raw3(SYS_sched_setaffinity, 0, sizeof(cpus), cpus);
	if (order->own_group)
		raw2(SYS_setpgid, 0, 0);
	raw1(SYS_close, MAPLE_STEM_FD);
	put_files(fds);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, SIGS);
}

/* In the stem: until spare @pid has an order, or is dead. */
static void wait_for_taker(int32_t *word, long pid)
{
	int32_t now = FORKING;

	__atomic_compare_exchange_n(word, &now, pid, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	while ((now = __atomic_load_n(word, __ATOMIC_ACQUIRE)) &&
	       raw2(SYS_kill, pid, 0) != -3) /* ESRCH */
		raw_futex_wait((uint32_t *)word, now, LOOK_MS);
}

/* There is no spare to take the next order: says why. */
static void refuse(int32_t *word, long why)
{
	struct maple_stem_order order;
	int fds[3];

	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	take_order(MAPLE_STEM_FD, &order, fds, 0);
	for (int i = 0; i < 3; i++)
		raw1(SYS_close, fds[i]);
	answer(MAPLE_STEM_FD, why);
}

/*
 * maple_stem_serve - says whether this process can be a stem, and serves;
 * returns in each run that branches off, and nowhere else
 */
void maple_stem_serve(struct maple_shm *shm)
{
	const uint64_t all = ~0ull;
	int32_t *word = &shm->spare[maple_shm_stem_of(shm)];
	long guard = raw0(SYS_getppid), pid;
	struct maple_stem_order order;
	enum maple_stem ready = look();
	uint64_t mask;
	int fds[3];

	stay_off(shm->cpu);
	/* Ctrl-C is for the runs. */
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, SIGS);
	shm->stem = ready;
	answer(MAPLE_STEM_FD, ready);
	if (ready != MAPLE_STEM_READY)
		raw1(SYS_exit_group, 0);
	for (;;) {
		__atomic_store_n(word, FORKING, __ATOMIC_RELEASE);
		pid = raw_call(SYS_clone,
			       CLONE_PARENT | CLONE_CHILD_SETTID |
				       CLONE_CHILD_CLEARTID | SIGCHLD,
			       0, 0, (long)thread.tid, 0, 0);
		if (!pid)
			break;
		if (raw_failed(pid))
			refuse(word, pid);
		else
			wait_for_taker(word, pid);
	}
	become_spare(shm, word, guard);
	/* Behind the run before us, and awake when the next one is due. */
	take_order(MAPLE_STEM_FD, &order, fds, LOOKS);
	forget_signals();
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	raw_futex_wake((uint32_t *)word);
	answer(MAPLE_STEM_FD, raw0(SYS_getpid));
	become_run(&order, fds, &mask);
}

/*
 * maple_stem_await - in a process that was executed ahead: until it has a run
 *
 * What its libraries have begun by themselves cannot wait with us. Orders come
 * only when we have said that we wait.
 */
void maple_stem_await(void)
{
	enum maple_stem ready = has_threads()	 ? MAPLE_STEM_THREADS
				: has_children() ? MAPLE_STEM_CHILDREN
				: has_timers()	 ? MAPLE_STEM_TIMERS
						 : MAPLE_STEM_READY;
	struct maple_stem_order order;
	int fds[3];

	answer(0, ready);
	if (ready != MAPLE_STEM_READY)
		raw1(SYS_exit_group, 0);
	take_order(0, &order, fds, 0);
	put_files(fds);
}
