/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the interposed functions share.
 *
 * Interposed, by file:
 *   mutex    pthread_mutex_*lock, destroy; rwlocks; spin locks; mtx_*
 *   cond     pthread_cond_*, cnd_*
 *   sync     barrier_wait, sem_*, pthread_once, call_once
 *   thread   pthread_create, *join*, exit; thrd_*; yields
 *   sched    policies, priorities, nice values, affinities, asked and set
 *   alloc    malloc and its family, mmap, munmap, mremap
 *   memory   mem* and b*, with their _chk forms
 *   string   str* and stp*, with their _chk forms
 *   process  fork, posix_spawn*, system, popen; exit and its kin
 *   exec     execve and its family
 *   environ  nothing: what the others pass on
 *   signal   sigaction, signal and its kin, sigwait and its kin, signalfd,
 *            sigprocmask, pthread_sigmask
 *   kill     kill, killpg, raise, sigqueue, tgkill, pthread_kill
 *   image    dlopen, dlmopen, dlclose
 *   filter   prctl and syscall, for seccomp
 *   block    sleeps, poll and its kin, read, recv, socket, accept, wait
 *   time     clock_gettime, gettimeofday, time, timespec_get
 *   timer    timerfd_*, setitimer, getitimer, alarm
 *
 * Left alone because nothing is to be learnt: pthread_detach, thrd_detach,
 * pthread_cancel, abort, *_init; vfork (see intercept/process.c). Covered by
 * what they call: operator new and delete, std::thread, std::mutex,
 * std::call_once, strdup (its malloc).
 *
 * Known to be missed: the heap of ASan and TSan, whose functions come first and
 * whose hooks do not say who has called; users of the raw futex
 * (std::atomic::wait, std::counting_semaphore, std::barrier, other languages'
 * locks); the locks of stdio and of function statics; what libc does inside
 * itself (printf's writes, qsort's moves, read()'s buffer); memory functions
 * that compilers expand inline (seen as plain accesses); str* and mem* not in
 * the list (memccpy, strtok, wide characters); raw system calls (clone, exec,
 * exit, sched_*, rt_sigprocmask); masks of ppoll, pselect, sigsuspend; what a
 * library's constructor does before dlopen() has returned; binaries that ask
 * for pthread_cond_*@GLIBC_2.2.5 get the later kind.
 */
#ifndef MAPLE_INTERCEPT_H
#define MAPLE_INTERCEPT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "agent/agent.h"

/*
 * A function that we stand before. All are looked up in our first
 * constructor, those that are called earlier at their first call. They make
 * up an array in a section of their own: no gaps, whatever the compiler
 * would like to align.
 */
struct maple_real {
	const char *name;
	const char *version; /* NULL: any; else where versions differ */
	void *fn;
} __attribute__((aligned(32)));

void *maple_real_resolve(struct maple_real *real);

static inline void *maple_real_get(struct maple_real *real)
{
	if (__builtin_expect(!real->fn, 0))
		return maple_real_resolve(real);
	return real->fn;
}

#define MAPLE_REAL_VERSION(symbol, ver)                                        \
	static struct maple_real real_##symbol                                 \
		__attribute__((section("maple_real"), used)) = { #symbol, ver, \
								 NULL }
#define MAPLE_REAL(symbol) MAPLE_REAL_VERSION(symbol, NULL)

/* The program has read @n bytes at @buf from @fd: signals, perhaps. */
void maple_signals_read(int fd, const void *buf, ssize_t n);

/* Where operator delete was called that frees now; NULL: it is not. */
extern __thread const void *maple_deleter
	__attribute__((tls_model("initial-exec")));

/* REAL(malloc)(size) calls the function behind our malloc. */
#define REAL(symbol) ((__typeof__(&symbol))maple_real_get(&real_##symbol))

/* The caller, and its call site; only in the interposed function itself. */
#define CALLER	   __builtin_return_address(0)
#define SITE(kind) maple_agent_call(CALLER, (kind))

/* For processes: whether the run decides about priorities, or the CPU. */
static inline bool maple_owns_sched(void)
{
	return maple_agent_on() && maple_shm_owns_sched(maple_shm);
}

static inline bool maple_owns_cpu(void)
{
	return maple_agent_on() && maple_shm->cpu >= 0 &&
	       maple_shm->stats.pinned;
}

/* What a thread would run with natively, which its children inherit. */
struct maple_native_sched {
	bool known;
	int policy, priority, nice;
	int run_nice; /* what it has instead */
	unsigned char cpus[sizeof(maple_shm->old_affinity)];
};

/* intercept/sched.c */
struct maple_native_sched maple_native_get(void);
void maple_native_set(const struct maple_native_sched *native);
void maple_native_unset(const struct maple_native_sched *native);
void maple_native_inherit(uint32_t number, const pthread_attr_t *attr);

/* intercept/environ.c */
size_t maple_environment_room(char *const *envp);
char *const *maple_environment_add(char *const *envp, char **room);

/*
 * intercept/thread.c: a thread of the agent's own, which takes no signals and
 * is joined by nobody; false: there is none
 */
bool maple_thread_helper(uint32_t site, void *(*start)(void *), void *arg);

/* intercept/process.c: leave the run, as the child of a fork, or for exec. */
void maple_process_leave(void);

#endif
