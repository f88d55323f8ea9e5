// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policy, priority and affinity of a process's threads: what each had is kept,
 * and given back, from outside. Who appeared meanwhile gets what the main
 * thread had.
 */
#include <assert.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/process.h"
#include "plan/automaton.h"
#include "join.h"

static void keep(struct maple_level *l, pid_t tid)
{
	struct sched_param p = { 0 };

	l->tid = tid;
	l->policy = sched_getscheduler(tid);
	sched_getparam(tid, &p);
	l->priority = p.sched_priority;
	errno = 0;
	l->nice = getpriority(PRIO_PROCESS, (id_t)tid);
	CPU_ZERO(&l->cpus);
	sched_getaffinity(tid, sizeof(l->cpus), &l->cpus);
}

/* maple_levels_keep - as the threads of @pid are now they are to be again */
void maple_levels_keep(struct maple_levels *levels, pid_t pid)
{
	pid_t tids[MAPLE_THREADS];
	int n = maple_process_threads(pid, tids, MAPLE_THREADS);

	assert(n >= 0 && n <= MAPLE_THREADS && !levels->raised);
	for (int i = 0; i < n; i++)
		keep(&levels->level[i], tids[i]);
	levels->n = (unsigned int)n;
}

/* maple_levels_pin - all threads that were kept share @cpu */
bool maple_levels_pin(const struct maple_levels *levels, int cpu)
{
	cpu_set_t one;
	bool all = true;

	assert(cpu >= 0 && cpu < CPU_SETSIZE);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	for (unsigned int i = 0; i < levels->n; i++)
		all &= !sched_setaffinity(levels->level[i].tid, sizeof(one),
					  &one) ||
		       errno == ESRCH;
	return all;
}

/* No limit holds for who may change priorities anyhow. */
static bool has_capability(pid_t pid)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3, .pid = pid
	};
	struct __user_cap_data_struct data[2] = { 0 };

	return !syscall(SYS_capget, &head, data) &&
	       data[0].effective >> CAP_SYS_NICE & 1;
}

/* What the limit of @pid would have to be; false: it cannot be. */
static bool limit_for(pid_t pid, struct rlimit *was, struct rlimit *wanted)
{
	if (prlimit(pid, RLIMIT_RTPRIO, NULL, was))
		return false;
	*wanted = *was;
	if (wanted->rlim_cur >= MAPLE_PRIO_HOOK)
		return true;
	wanted->rlim_cur = MAPLE_PRIO_HOOK;
	if (wanted->rlim_max < MAPLE_PRIO_HOOK)
		wanted->rlim_max = MAPLE_PRIO_HOOK;
	return true;
}

/*
 * maple_levels_allow - threads of @pid may give each other real-time
 * priorities until maple_levels_back(); 0, or -errno
 */
int maple_levels_allow(struct maple_levels *levels, pid_t pid)
{
	struct rlimit was, wanted;

	if (has_capability(pid))
		return 0;
	if (!limit_for(pid, &was, &wanted))
		return -errno;
	if (was.rlim_cur == wanted.rlim_cur)
		return 0;
	if (prlimit(pid, RLIMIT_RTPRIO, &wanted, NULL))
		return -errno;
	levels->raised = true;
	levels->limit = was;
	return 0;
}

/* maple_levels_allowed - whether maple_levels_allow() would be granted */
bool maple_levels_allowed(pid_t pid)
{
	struct maple_levels levels = { 0 };
	int e = maple_levels_allow(&levels, pid);

	if (levels.raised)
		prlimit(pid, RLIMIT_RTPRIO, &levels.limit, NULL);
	return !e;
}

/* maple_levels_valid - whether they may be, wherever they come from */
bool maple_levels_valid(const struct maple_levels *levels)
{
	return levels->n <= MAPLE_THREADS;
}

static const struct maple_level *level_of(const struct maple_levels *levels,
					  pid_t pid, pid_t tid)
{
	const struct maple_level *main = NULL;

	for (unsigned int i = 0; i < levels->n; i++) {
		if (levels->level[i].tid == tid)
			return &levels->level[i];
		if (levels->level[i].tid == pid)
			main = &levels->level[i];
	}
	return main ? main : levels->n ? &levels->level[0] : NULL;
}

static void give_back(const struct maple_level *l, pid_t tid)
{
	struct sched_param p = { l->priority }, now = { 0 };
	int policy = sched_getscheduler(tid);

	sched_getparam(tid, &now);
	/* Without privileges the flag stays, unless mapled takes it. */
	if ((policy != l->policy || now.sched_priority != l->priority) &&
	    sched_setscheduler(tid, l->policy, &p))
		sched_setscheduler(tid, l->policy | SCHED_RESET_ON_FORK, &p);
	if (getpriority(PRIO_PROCESS, (id_t)tid) != l->nice)
		setpriority(PRIO_PROCESS, (id_t)tid, l->nice);
	sched_setaffinity(tid, sizeof(l->cpus), &l->cpus);
}

/* What it has started meanwhile and is on @cpu alone, as it was. */
static void free_children(pid_t pid, pid_t tid, const struct maple_level *l,
			  int cpu)
{
	pid_t pids[MAPLE_PROCESS_CHILDREN];
	unsigned int n =
		maple_process_children(pid, tid, pids, MAPLE_PROCESS_CHILDREN);
	cpu_set_t set;

	while (n--)
		if (!sched_getaffinity(pids[n], sizeof(set), &set) &&
		    CPU_COUNT(&set) == 1 && CPU_ISSET(cpu, &set))
			sched_setaffinity(pids[n], sizeof(l->cpus), &l->cpus);
}

/*
 * maple_levels_back - all threads of @pid are as they were kept
 * @cpu: to which they had been pinned, or -1
 */
void maple_levels_back(struct maple_levels *levels, pid_t pid, int cpu)
{
	pid_t tids[MAPLE_THREADS];
	int n = maple_process_threads(pid, tids, MAPLE_THREADS);
	const struct maple_level *l;

	assert(levels->n <= MAPLE_THREADS);
	for (int i = 0; i < n; i++) {
		l = level_of(levels, pid, tids[i]);
		if (!l)
			continue;
		give_back(l, tids[i]);
		if (cpu >= 0)
			free_children(pid, tids[i], l, cpu);
	}
	if (levels->raised)
		prlimit(pid, RLIMIT_RTPRIO, &levels->limit, NULL);
	levels->raised = false;
}
