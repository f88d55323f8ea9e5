// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The files that are shared with the agent: made once, and before each run
 * the first one is emptied and given its order.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent.h"

static_assert(MAPLE_RUN_THEN >= MAPLE_SHM_THEN, "they fit");
static_assert(MAPLE_RUN_CHANGES <= MAPLE_SHM_CHANGES, "they fit");
static_assert(sizeof(struct maple_auto_result) <=
		      sizeof(((struct maple_shm *)0)->auto_result),
	      "the result fits");

#define PAGE 4096

static_assert(offsetof(struct maple_shm, spare[MAPLE_SHM_STEMS]) <= PAGE,
	      "guards see it");

/*
 * maple_agent_share_create - the files, with what is the same in all runs
 *
 * After maple_agent_share_destroy() nothing is left of them, whatever this has
 * returned.
 */
int maple_agent_share_create(struct maple_agent_backend *a,
			     struct maple_error *err)
{
	a->shm_fd = memfd_create("maple", MFD_CLOEXEC);
	a->tables_fd = memfd_create("maple-tables", MFD_CLOEXEC);
	if (a->shm_fd < 0 || a->tables_fd < 0 ||
	    ftruncate(a->shm_fd, sizeof(*a->shm)))
		return maple_error_set(err, errno, "no shared memory: %m");
	a->shm = mmap(NULL, sizeof(*a->shm), PROT_READ | PROT_WRITE, MAP_SHARED,
		      a->shm_fd, 0);
	if (a->shm == MAP_FAILED)
		return maple_error_set(err, errno, "no shared memory: %m");
	/* Our guards have no business with it. */
	madvise(a->shm, sizeof(*a->shm), MADV_DONTFORK);
	/* But for what a stem tells them. */
	madvise(a->shm, PAGE, MADV_DOFORK);
	a->shm->magic = MAPLE_SHM_MAGIC;
	a->shm->version = MAPLE_SHM_VERSION;
	a->shm->size = sizeof(*a->shm);
	snprintf(a->shm->tables, sizeof(a->shm->tables), "/proc/%d/fd/%d",
		 getpid(), a->tables_fd);
	snprintf(a->shm->exe, sizeof(a->shm->exe), "%s",
		 a->base.options.exe ? a->base.options.exe : "");
	if (asprintf(&a->path, MAPLE_SHM_ENV "=/proc/%d/fd/%d", getpid(),
		     a->shm_fd) < 0)
		a->path = NULL;
	if (asprintf(&a->path_ahead, MAPLE_SHM_ENV "=%c/proc/%d/fd/%d",
		     MAPLE_SHM_AHEAD, getpid(), a->shm_fd) < 0)
		a->path_ahead = NULL;
	if (!a->path || !a->path_ahead)
		return maple_error_set(err, ENOMEM, "out of memory");
	return 0;
}

void maple_agent_share_destroy(struct maple_agent_backend *a)
{
	if (a->shm && a->shm != MAP_FAILED)
		munmap(a->shm, sizeof(*a->shm));
	if (a->shm_fd >= 0)
		close(a->shm_fd);
	if (a->tables_fd >= 0)
		close(a->tables_fd);
	free(a->path);
	free(a->path_ahead);
	free(a->alone_own);
}

/* What the last run left; images and call sites keep their places. */
static void wipe(struct maple_agent_backend *a)
{
	struct maple_shm *shm = a->shm;
	uint32_t i, n = shm->nthreads;

	if (n > MAPLE_THREADS || a->released)
		n = MAPLE_THREADS;
	memset(shm->thread, 0, n * sizeof(shm->thread[0]));
	for (i = 0; i < n; i++)
		shm->held[i].n = shm->held[i].late = 0;
	for (i = 0; i < shm->nimages && i < MAPLE_SHM_IMAGES; i++)
		shm->image[i].loaded = shm->image[i].patched =
			shm->image[i].unpatched = 0;
	shm->state = MAPLE_AGENT_ABSENT;
	shm->asks = shm->answers = shm->go = 0;
	shm->pid = shm->settled = 0;
	shm->entered = 0;
	shm->sent = 0;
	shm->standbys = 0;
	shm->stranger_pid = 0;
	shm->stranger[0] = '\0';
	shm->nthreads = shm->let_go = 0;
	memset(&shm->crash, 0, sizeof(shm->crash));
	memset(&shm->stats, 0, sizeof(shm->stats));
	memset(shm->auto_result, 0, sizeof(shm->auto_result));
	memset(shm->then_result, 0, sizeof(shm->then_result));
	shm->begun = 0;
	memset(&shm->control.counts, 0, sizeof(shm->control.counts));
	shm->control.ndecided = 0;
	maple_trace_ring_reset(&a->ring);
	maple_agent_spin_reset(a);
	a->crash_seen = a->released = false;
}

static void say_again(struct maple_agent_backend *a, uint32_t *sites, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		sites[i] = maple_agent_tables_inside(a, sites[i]);
}

/* @plan in the agent's own numbers; false if it has none for a step. */
static bool share_plan(struct maple_agent_backend *a, struct maple_plan *to,
		       const struct maple_plan *plan)
{
	struct maple_plan own = *plan;
	struct maple_plan_step *step;
	bool known = true;
	uint32_t i;

	assert(own.nsteps <= MAPLE_PLAN_STEPS &&
	       own.nguards <= MAPLE_PLAN_GUARDS &&
	       own.ncovers <= MAPLE_PLAN_COVERS);
	for (i = 0; i < own.nsteps; i++) {
		step = &own.step[i];
		step->site = maple_agent_tables_inside(a, step->site);
		known &= step->site != MAPLE_SITE_NONE;
		say_again(a, step->gate, step->ngates);
	}
	say_again(a, own.guard, own.nguards);
	say_again(a, own.cover, own.ncovers);
	*to = own;
	return known;
}

/*
 * maple_agent_share - empties the shared file and writes @order into it;
 * false if plan or list name a call that the agent has no number for
 */
bool maple_agent_share(struct maple_agent_backend *a,
		       const struct maple_run_order *order)
{
	struct maple_shm *shm = a->shm;
	bool known = true;
	uint32_t i;

	assert(order->nchanges <= MAPLE_SHM_CHANGES);
	wipe(a);
	shm->stem = MAPLE_STEM_NONE;
	shm->cpu = a->base.options.cpu->number;
	shm->budget = order->budget;
	shm->lossless = order->lossless;
	shm->names = order->names;
	shm->fill = order->fill;
	shm->slice_us = order->slice_us;
	shm->seed = order->seed;
	shm->trap_rest = 0;
	shm->debugger = order->debugger ? MAPLE_DEBUGGER_WANTED
					: MAPLE_DEBUGGER_NONE;
	shm->nchanges = order->nchanges;
	for (i = 0; i < order->nchanges; i++) {
		shm->change[i].site =
			maple_agent_tables_inside(a, order->change[i].site);
		shm->change[i].hit = order->change[i].hit;
	}
	shm->sched = (uint32_t)order->schedule;
	switch (order->kind) {
	case MAPLE_RUN_ENFORCE:
		shm->mode = MAPLE_SHM_ENFORCE;
		shm->sched = MAPLE_SCHEDULE_PLAN;
		assert(maple_plan_valid(order->plan)); /* prepare() has looked */
		known = share_plan(a, &shm->plan, order->plan);
		shm->nthen = 0;
		for (i = 0; i < order->nthen && i < MAPLE_SHM_THEN; i++)
			known &= share_plan(a, &shm->then[shm->nthen++],
					    &order->then[i]);
		break;
	case MAPLE_RUN_SCHEDULE:
		shm->mode = MAPLE_SHM_SCHED;
		break;
	case MAPLE_RUN_CONTROL:
		shm->mode = MAPLE_SHM_CONTROL;
		shm->sched = MAPLE_SCHEDULE_CONTROL;
		shm->nchanges = 0;
		known = maple_agent_control_share(a, order);
		shm->budget = shm->control.log == UINT32_MAX ? 0
							     : shm->control.log;
		shm->lossless = shm->control.log != 0;
		maple_agent_tables_alone(a, order);
		break;
	default:
		shm->mode = MAPLE_SHM_OBSERVE;
		maple_agent_tables_alone(a, order);
	}
	return known;
}
