// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Spin (algorithms.md 7, rule 10), seen from outside: a thread that has used
 * 10 ms of CPU without an event, while another one of the target could run
 * below it, goes below every one of them for a slice. From outside, because
 * a spinning thread calls nothing; and below means out of SCHED_FIFO, where
 * even a thread held at MIN comes first.
 */
#include <assert.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include "../process.h"
#include "agent.h"

#define SPIN_NS	   (10 * 1000 * 1000ull)
#define SPIN_TIMES 20 /* where accesses are observed by others, and slowly */
/*
 * Where all who stand at points could run, whoever computes looks like a
 * spinner, and to demote him is a choice that no replay repeats.
 */
#define PARKED_TIMES 100
#define SPIN_SLICE   0.010
#define LOOK_EVERY   0.004
#define LOOK_NS	     (SPIN_NS / 4) /* of CPU: with less, nobody can have spun */

/* Of a thread that has ended, somebody else may have the number. */
static void set_policy(pid_t pid, pid_t tid, int policy, unsigned int prio)
{
	struct sched_param param = { .sched_priority = prio };

	if (maple_process_has(pid, tid))
		sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK, &param);
}

/* Where priorities are nice values, idle is what is below all of them. */
static void demote(pid_t pid, struct maple_shm_thread *t)
{
	t->demoted = 1;
	set_policy(pid, t->tid, t->prio ? SCHED_OTHER : SCHED_IDLE, 0);
}

static void promote(pid_t pid, struct maple_shm_thread *t)
{
	t->demoted = 0;
	set_policy(pid, t->tid, t->prio ? SCHED_FIFO : SCHED_OTHER, t->prio);
}

/* Also one that has not run yet, of which the agent does not know the id. */
static bool other_ready(struct maple_agent_backend *a, pid_t self)
{
	pid_t tids[MAPLE_THREADS];
	int i, n = maple_process_threads(a->shm->pid, tids, MAPLE_THREADS);
	uint64_t cpu;
	char state;

	for (i = 0; i < n; i++)
		if (tids[i] != self &&
		    maple_process_cpu(a->shm->pid, tids[i], &cpu, &state) &&
		    state == 'R')
			return true;
	return false;
}

static void look(struct maple_agent_backend *a, uint32_t i, double now)
{
	struct maple_shm_thread *t = &a->shm->thread[i];
	struct maple_spinner *s = &a->spinner[i];
	uint64_t cpu, events, limit = SPIN_NS;
	char state;

	if (!t->alive || t->tid <= 0 ||
	    !maple_process_cpu(a->shm->pid, t->tid, &cpu, &state))
		return;
	if (s->until) {
		if (now < s->until)
			return;
		s->until = 0;
		promote(a->shm->pid, t);
	}
	events = __atomic_load_n(&t->events, __ATOMIC_RELAXED);
	if (events != s->events || !s->cpu) {
		s->events = events;
		s->cpu = cpu;
		return;
	}
	if (a->shm->mode == MAPLE_SHM_SCHED)
		limit *= SPIN_TIMES;
	if (a->shm->mode == MAPLE_SHM_CONTROL)
		limit *= PARKED_TIMES;
	if (state != 'R' || cpu - s->cpu < limit || !other_ready(a, t->tid))
		return;
	assert(!s->until); /* who is demoted is not demoted again */
	a->spins++;
	s->cpu = 0;
	s->until = now + SPIN_SLICE;
	demote(a->shm->pid, t);
}

/*
 * maple_agent_spin_look - demotes spinners, promotes those that were
 *
 * What is looked up in /proc the kernel has to throw out again when the thread
 * ends: short runs are left alone.
 */
void maple_agent_spin_look(struct maple_agent_backend *a, double now)
{
	uint64_t used;
	uint32_t i;

	if (a->shm->pid <= 0 || now - a->looked < LOOK_EVERY ||
	    maple_schedule_is_free(a->shm->sched))
		return;
	used = maple_process_used(a->shm->pid);
	if (!a->spins && used - a->used < LOOK_NS)
		return;
	a->looked = now;
	a->used = used;
	for (i = 0; i < a->shm->nthreads && i < MAPLE_THREADS; i++)
		look(a, i, now);
}

/*
 * maple_agent_spin_release - native scheduling for every thread there is, on
 * the one CPU; being demoted, they keep it, whatever the agent decides
 */
void maple_agent_spin_release(struct maple_agent_backend *a)
{
	pid_t tids[MAPLE_THREADS], pid = a->shm->pid;
	int i, n = pid > 0 ? maple_process_threads(pid, tids, MAPLE_THREADS)
			   : 0;

	for (i = 0; i < MAPLE_THREADS; i++) {
		a->spinner[i].until = 0;
		a->shm->thread[i].demoted = 1;
	}
	for (i = 0; i < n; i++) {
		set_policy(pid, tids[i], SCHED_OTHER, 0);
		setpriority(PRIO_PROCESS, tids[i], 0);
	}
}

/* maple_agent_spin_reset - forgets everything before a new run */
void maple_agent_spin_reset(struct maple_agent_backend *a)
{
	memset(a->spinner, 0, MAPLE_THREADS * sizeof(*a->spinner));
	a->spins = 0;
	a->looked = 0;
	a->used = 0;
}
