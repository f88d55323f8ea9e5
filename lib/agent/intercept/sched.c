// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policies, priorities, nice values, affinities and yields.
 *
 * While the run owns priorities, a program that changes those of its own
 * threads is told that it worked; when it asks, it hears what it asked for,
 * or else what it had before us. Likewise for affinities while the run owns
 * the CPU: a program that counts its CPUs must see those that it would have
 * natively, or it would start fewer threads. Arguments are checked as the
 * kernel would; privileges are not. Other processes are not ours.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <threads.h>
#include <unistd.h>
#include "intercept.h"

#define CPU_BYTES sizeof(maple_shm->old_affinity)

MAPLE_REAL(sched_setscheduler);
MAPLE_REAL(sched_getscheduler);
MAPLE_REAL(sched_setparam);
MAPLE_REAL(sched_getparam);
MAPLE_REAL(pthread_setschedparam);
MAPLE_REAL(pthread_getschedparam);
MAPLE_REAL(pthread_setschedprio);
MAPLE_REAL(setpriority);
MAPLE_REAL(getpriority);
MAPLE_REAL(nice);
MAPLE_REAL_VERSION(sched_setaffinity, "GLIBC_2.3.4");
MAPLE_REAL_VERSION(sched_getaffinity, "GLIBC_2.3.4");
MAPLE_REAL_VERSION(pthread_setaffinity_np, "GLIBC_2.34");
MAPLE_REAL_VERSION(pthread_getaffinity_np, "GLIBC_2.32");
MAPLE_REAL(sched_yield);
MAPLE_REAL(thrd_yield);

/* What a thread asked for, by its number. */
static struct wish {
	int policy, priority, nice;
	bool sched, niced, pinned;
	unsigned char cpus[CPU_BYTES];
} wishes[MAPLE_THREADS];

/* The wishes of a thread of ours; NULL for others. */
static struct wish *wish_of(uint32_t number)
{
	return number < MAPLE_THREADS ? &wishes[number] : NULL;
}

static struct wish *wish_of_tid(pid_t tid)
{
	uint32_t i, n = maple_shm->nthreads;

	if (tid == 0)
		return wish_of(maple_self.number);
	for (i = 0; i < n && i < MAPLE_THREADS; i++)
		if (maple_shm->thread[i].tid == tid)
			return &wishes[i];
	return NULL;
}

static struct wish *wish_of_thread(pthread_t thread)
{
	if (pthread_equal(thread, pthread_self()))
		return wish_of(maple_self.number);
	return wish_of(maple_agent_thread_find((uint64_t)thread));
}

/* A new thread has what its creator has, unless @attr says otherwise. */
void maple_native_inherit(uint32_t number, const pthread_attr_t *attr)
{
	struct wish *from = wish_of(maple_self.number);
	struct wish *to = wish_of(number);
	struct sched_param param;
	int inherit, policy;
	size_t i;

	if (!from || !to)
		return;
	*to = *from;
	if (!attr)
		return;
	if (pthread_attr_getinheritsched(attr, &inherit) == 0 &&
	    inherit == PTHREAD_EXPLICIT_SCHED &&
	    pthread_attr_getschedpolicy(attr, &policy) == 0 &&
	    pthread_attr_getschedparam(attr, &param) == 0) {
		to->policy = policy;
		to->priority = param.sched_priority;
		to->sched = true;
	}
	/* All ones stand for attributes without an affinity. */
	if (pthread_attr_getaffinity_np(attr, CPU_BYTES, (cpu_set_t *)to->cpus))
		return;
	for (i = 0; i < CPU_BYTES; i++)
		if (to->cpus[i] != 0xff)
			to->pinned = true;
}

/*
 * Policies and priorities: the kernel's checks, then success without effect.
 * 0, or an errno.
 */
static int wish_sched(struct wish *w, int policy, int priority)
{
	int plain = policy & ~SCHED_RESET_ON_FORK;

	if (priority < sched_get_priority_min(plain) ||
	    priority > sched_get_priority_max(plain) ||
	    sched_get_priority_max(plain) < 0)
		return EINVAL;
	w->policy = policy;
	w->priority = priority;
	w->sched = true;
	return 0;
}

static int policy_of(const struct wish *w)
{
	return w->sched ? w->policy : maple_shm->old_policy;
}

static int priority_of(const struct wish *w)
{
	return w->sched ? w->priority : maple_shm->old_priority;
}

static int nice_of(const struct wish *w)
{
	return w->niced ? w->nice : maple_shm->old_nice;
}

static int fail(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

MAPLE_EXPORT int sched_setscheduler(pid_t pid, int policy,
				    const struct sched_param *param)
{
	struct wish *w = maple_owns_sched() ? wish_of_tid(pid) : NULL;

	if (!w || !param)
		return REAL(sched_setscheduler)(pid, policy, param);
	return fail(wish_sched(w, policy, param->sched_priority));
}

MAPLE_EXPORT int sched_getscheduler(pid_t pid)
{
	struct wish *w = maple_owns_sched() ? wish_of_tid(pid) : NULL;

	return w ? policy_of(w) : REAL(sched_getscheduler)(pid);
}

MAPLE_EXPORT int sched_setparam(pid_t pid, const struct sched_param *param)
{
	struct wish *w = maple_owns_sched() ? wish_of_tid(pid) : NULL;

	if (!w || !param)
		return REAL(sched_setparam)(pid, param);
	return fail(wish_sched(w, policy_of(w), param->sched_priority));
}

MAPLE_EXPORT int sched_getparam(pid_t pid, struct sched_param *param)
{
	struct wish *w = maple_owns_sched() ? wish_of_tid(pid) : NULL;

	if (!w || !param)
		return REAL(sched_getparam)(pid, param);
	param->sched_priority = priority_of(w);
	return 0;
}

MAPLE_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
				       const struct sched_param *param)
{
	struct wish *w = maple_owns_sched() ? wish_of_thread(thread) : NULL;

	if (!w)
		return REAL(pthread_setschedparam)(thread, policy, param);
	return wish_sched(w, policy, param->sched_priority);
}

MAPLE_EXPORT int pthread_getschedparam(pthread_t thread, int *policy,
				       struct sched_param *param)
{
	struct wish *w = maple_owns_sched() ? wish_of_thread(thread) : NULL;

	if (!w)
		return REAL(pthread_getschedparam)(thread, policy, param);
	*policy = policy_of(w);
	param->sched_priority = priority_of(w);
	return 0;
}

MAPLE_EXPORT int pthread_setschedprio(pthread_t thread, int priority)
{
	struct wish *w = maple_owns_sched() ? wish_of_thread(thread) : NULL;

	if (!w)
		return REAL(pthread_setschedprio)(thread, priority);
	return wish_sched(w, policy_of(w), priority);
}

/* Nice values belong to a thread, whatever POSIX says. */
static int wish_nice(struct wish *w, int value)
{
	w->nice = value < -20 ? -20 : value > 19 ? 19 : value;
	w->niced = true;
	return w->nice;
}

static struct wish *wish_of_which(int which, id_t who)
{
	if (!maple_owns_sched() || which != PRIO_PROCESS)
		return NULL;
	return wish_of_tid((pid_t)who);
}

MAPLE_EXPORT int setpriority(__priority_which_t which, id_t who, int value)
{
	struct wish *w = wish_of_which(which, who);

	if (!w)
		return REAL(setpriority)(which, who, value);
	wish_nice(w, value);
	return 0;
}

MAPLE_EXPORT int getpriority(__priority_which_t which, id_t who)
{
	struct wish *w = wish_of_which(which, who);

	return w ? nice_of(w) : REAL(getpriority)(which, who);
}

MAPLE_EXPORT int nice(int increment)
{
	struct wish *w = wish_of_which(PRIO_PROCESS, 0);

	if (!w)
		return REAL(nice)(increment);
	return wish_nice(w, nice_of(w) + increment);
}

/* Affinities. Sizes are in bytes; what lies beyond ours reads as zero. */
static int wish_cpus(struct wish *w, size_t size, const cpu_set_t *cpus)
{
	const unsigned char *from = (const unsigned char *)cpus;
	unsigned char any = 0;
	size_t i;

	for (i = 0; i < size && i < CPU_BYTES; i++)
		any |= from[i];
	if (!any)
		return EINVAL;
	for (i = 0; i < CPU_BYTES; i++)
		w->cpus[i] = i < size ? from[i] : 0;
	w->pinned = true;
	return 0;
}

static void tell_cpus(const struct wish *w, size_t size, cpu_set_t *cpus)
{
	const unsigned char *from =
		(const unsigned char *)maple_shm->old_affinity;
	unsigned char *to = (unsigned char *)cpus;
	size_t i;

	if (w->pinned)
		from = w->cpus;
	for (i = 0; i < size; i++)
		to[i] = i < CPU_BYTES ? from[i] : 0;
}

MAPLE_EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	struct wish *w = maple_owns_cpu() ? wish_of_tid(pid) : NULL;

	if (!w)
		return REAL(sched_setaffinity)(pid, size, cpus);
	return fail(wish_cpus(w, size, cpus));
}

MAPLE_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	struct wish *w = maple_owns_cpu() ? wish_of_tid(pid) : NULL;
	int ret = REAL(sched_getaffinity)(pid, size, cpus);

	if (ret == 0 && w)
		tell_cpus(w, size, cpus);
	return ret;
}

MAPLE_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size,
					const cpu_set_t *cpus)
{
	struct wish *w = maple_owns_cpu() ? wish_of_thread(thread) : NULL;

	if (!w)
		return REAL(pthread_setaffinity_np)(thread, size, cpus);
	return wish_cpus(w, size, cpus);
}

MAPLE_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size,
					cpu_set_t *cpus)
{
	struct wish *w = maple_owns_cpu() ? wish_of_thread(thread) : NULL;
	int ret = REAL(pthread_getaffinity_np)(thread, size, cpus);

	if (ret == 0 && w)
		tell_cpus(w, size, cpus);
	return ret;
}

/*
 * What processes that the calling thread starts are to inherit, and should
 * exec leave in place. Not known while the run owns nothing.
 */
struct maple_native_sched maple_native_get(void)
{
	struct maple_native_sched native = { .known = false };
	struct wish *w = wish_of(maple_self.number);

	if (!w || !(maple_owns_sched() || maple_owns_cpu()))
		return native;
	native.known = true;
	native.policy = policy_of(w);
	native.priority = priority_of(w);
	native.nice = nice_of(w);
	native.run_nice = REAL(getpriority)(PRIO_PROCESS, 0);
	tell_cpus(w, CPU_BYTES, (cpu_set_t *)native.cpus);
	return native;
}

/*
 * Policy and nice value are left alone where the kernel resets them in
 * children anyway: then the caller keeps its place among the run's threads.
 * To the other CPUs first: on the run's CPU a thread without priority would
 * wait for all others.
 */
void maple_native_set(const struct maple_native_sched *native)
{
	struct sched_param param = { .sched_priority = native->priority };

	if (!native->known)
		return;
	REAL(sched_setaffinity)(0, CPU_BYTES, (const void *)native->cpus);
	if (native->policy == SCHED_OTHER && native->nice == 0 &&
	    REAL(sched_getscheduler)(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK))
		return;
	REAL(sched_setscheduler)(0, native->policy, &param);
	REAL(setpriority)(PRIO_PROCESS, 0, native->nice);
}

/* The calling thread is the run's again; priority first, as above. */
void maple_native_unset(const struct maple_native_sched *native)
{
	unsigned int prio = maple_shm->thread[maple_self.number].prio;
	struct sched_param param = { .sched_priority = (int)prio };
	cpu_set_t cpu;

	if (prio)
		REAL(sched_setscheduler)
	(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
	else REAL(setpriority)(PRIO_PROCESS, 0, native->run_nice);
	if (!maple_owns_cpu())
		return;
	CPU_ZERO(&cpu);
	CPU_SET(maple_shm->cpu, &cpu);
	REAL(sched_setaffinity)(0, sizeof(cpu), &cpu);
}

MAPLE_EXPORT int sched_yield(void)
{
	if (maple_agent_on())
		maple_agent_yield();
	return REAL(sched_yield)();
}

MAPLE_EXPORT void thrd_yield(void)
{
	if (maple_agent_on())
		maple_agent_yield();
	REAL(thrd_yield)();
}

/* The header makes this name mean sched_yield(). */
int old_pthread_yield(void) __asm__("pthread_yield");

MAPLE_EXPORT int old_pthread_yield(void)
{
	return sched_yield();
}
