// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The agent backend: the campaign's side of the shared memory file. The other
 * side, in the target, is lib/agent.
 */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "../../image/image.h"
#include "agent.h"

/* Seconds that a daemon is given after its maker's end. */
#define SETTLE_WITHIN 0.2 /* to create a thread */
#define DAEMON_WITHIN 1.0 /* to end; most never do */

#define DRAIN_MOST    65536 /* events: some 30 ms, or 100 with predictions */
#define DRAIN_SOME    4096  /* ... where something else is to be begun */

/* Where AddressSanitizer keeps what it knows of memory; nothing else is there. */
#define SHADOW_LO 0x7fff7000ull
#define SHADOW_HI 0x10007fff8000ull

static struct maple_agent_backend *agent_of(struct maple_backend *b)
{
	return (struct maple_agent_backend *)b;
}

static void forget_environment(struct maple_agent_backend *a)
{
	free(a->preload);
	free(a->asan);
	free(a->users[0]);
	free(a->users[1]);
	a->preload = a->asan = a->users[0] = a->users[1] = NULL;
}

/* @variable as the agent is to put it back, if it is @name; kept in @users. */
static char *pass_on(const char *variable, const char *name, char **users)
{
	size_t n = strlen(name);

	if (strncmp(variable, name, n) || variable[n] != '=')
		return NULL;
	if (!*users && asprintf(users, MAPLE_SHM_MARK "%s", variable) < 0)
		*users = NULL;
	return *users;
}

/* The environment of a target; to be freed. */
static char **environment(struct maple_agent_backend *a)
{
	bool exe = a->base.options.exe;
	size_t n = 0, k = 0;
	char **envp, **e;

	for (e = environ; *e; e++)
		n++;
	forget_environment(a);
	a->preload = maple_agent_preload(&a->base.options);
	a->asan = exe ? maple_agent_asan() : NULL;
	if (!a->preload || (exe && !a->asan))
		return NULL;
	envp = calloc(n + 4, sizeof(*envp));
	if (!envp)
		return NULL;
	for (e = environ; *e; e++) {
		envp[k] = pass_on(*e, "LD_PRELOAD", &a->users[0]);
		if (!envp[k] && exe)
			envp[k] = pass_on(*e, MAPLE_SHM_ASAN, &a->users[1]);
		if (!envp[k])
			envp[k] = *e;
		k += !!strncmp(*e, MAPLE_SHM_ENV "=", sizeof(MAPLE_SHM_ENV));
	}
	assert(k <= n); /* there is room for ours */
	/* At the end, where the agent can cut them off. */
	envp[k++] = a->preload;
	if (exe)
		envp[k++] = a->asan;
	envp[k++] = a->path;
	envp[k] = NULL;
	return envp;
}

/* What is wrong with one of the plans of @order. */
static const char *plan_fault(const struct maple_run_order *order)
{
	const char *fault = NULL;
	uint32_t i;

	if (order->kind != MAPLE_RUN_ENFORCE)
		return NULL;
	fault = maple_plan_fault(order->plan);
	for (i = 0; i < order->nthen && !fault; i++)
		fault = maple_plan_fault(&order->then[i]);
	return fault;
}

static int prepare(struct maple_backend *b, const struct maple_run_order *order,
		   char ***envp, struct maple_error *err)
{
	struct maple_agent_backend *a = agent_of(b);
	const char *fault = plan_fault(order);

	if (fault)
		return maple_error_set(err, EINVAL, "%s", fault);
	*envp = environment(a);
	if (!*envp)
		return maple_error_set(err, ENOMEM, "out of memory");
	if (!maple_agent_share(a, order))
		return maple_error_set(
			err, ENOENT,
			"the %s names a call from outside all "
			"images that the agent knows",
			order->kind == MAPLE_RUN_CONTROL ? "schedule" : "plan");
	return 0;
}

/* What a sanitizer notes, by memset() say, is no access of the program's. */
static bool is_shadow(const struct maple_agent_backend *a,
		      const struct maple_event *event)
{
	return a->shadowed && maple_event_is_memory(event->kind) &&
	       event->addr >= SHADOW_LO && event->addr < SHADOW_HI;
}

/*
 * A target may record as fast as we read: while it runs, @most at a time, or
 * nobody would look at the clock.
 */
static void drain(struct maple_agent_backend *a,
		  const struct maple_run_sink *sink, bool ended, uint64_t most)
{
	struct maple_event event;

	while (most-- && maple_trace_ring_next(&a->ring, ended, &event)) {
		if (is_shadow(a, &event))
			continue;
		event.site = maple_agent_tables_number(a, event.site);
		if (sink->event)
			sink->event(sink->ctx, &event);
	}
}

/* The agent keeps the crashed program standing until we have looked. */
static void look_at_crash(struct maple_agent_backend *a, struct maple_run *run)
{
	struct maple_shm *shm = a->shm;

	if (a->crash_seen || __atomic_load_n(&shm->state, __ATOMIC_ACQUIRE) !=
				     MAPLE_AGENT_CRASHED)
		return;
	a->crash_seen = true;
	run->signo = shm->crash.signo;
	run->failed_tid = shm->crash.tid;
	run->fault = shm->crash.address;
	run->pc = shm->crash.pc;
	maple_run_stacks(run, a->base.order, shm->pid, NULL);
	__atomic_fetch_add(&shm->go, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shm->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static pid_t serve(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_agent_backend *a = agent_of(b);

	maple_agent_tables_answer(a);
	look_at_crash(a, run);
	if (a->released)
		maple_agent_spin_release(a);
	else
		maple_agent_spin_look(a, maple_clock_now());
	drain(a, sink, false, sink->enough ? DRAIN_SOME : DRAIN_MOST);
	return __atomic_load_n(&a->shm->state, __ATOMIC_ACQUIRE) ==
			       MAPLE_AGENT_RUNNING
		       ? a->shm->pid
		       : 0;
}

/*
 * A daemon: its maker has ended, and it has the run or may take it. With --exe
 * the program that was started says itself when it is over.
 */
static bool lingers(struct maple_backend *b, double since)
{
	const struct maple_shm *shm = agent_of(b)->shm;

	if (!shm->standbys || b->options.exe)
		return false;
	if (!__atomic_load_n(&shm->settled, __ATOMIC_ACQUIRE))
		return since < SETTLE_WITHIN;
	return since < DAEMON_WITHIN && !kill(shm->settled, 0);
}

static void fill_threads(struct maple_agent_backend *a, struct maple_run *run)
{
	uint32_t i, at, n = a->shm->nthreads;

	if (n > MAPLE_THREADS)
		n = MAPLE_THREADS;
	run->threads = calloc(n + 1, sizeof(*run->threads));
	for (i = 0; run->threads && i < n; i++) {
		memcpy(run->threads[i].name, a->shm->thread[i].name,
		       MAPLE_SHM_NAME);
		run->threads[i].name[MAPLE_SHM_NAME - 1] = '\0';
		run->threads[i].tid = a->shm->thread[i].tid;
		run->threads[i].pthread = a->shm->thread[i].pthread;
		at = a->shm->thread[i].at;
		run->threads[i].at =
			at ? maple_agent_tables_number(a, at - 1) + 1 : 0;
		run->nthreads = i + 1;
	}
}

static void fill_images(struct maple_agent_backend *a, struct maple_run *run)
{
	struct maple_shm_image *image;
	struct maple_run_image *out;
	uint32_t i;

	run->images = calloc(MAPLE_SHM_IMAGES, sizeof(*run->images));
	for (i = 0; run->images && i < a->shm->nimages && i < MAPLE_SHM_IMAGES;
	     i++) {
		image = &a->shm->image[i];
		if (!image->loaded)
			continue;
		run->unreached += image->unpatched;
		if (a->registered[i] == MAPLE_REGISTRY_NONE)
			continue;
		if (image->state == MAPLE_IMAGE_READY)
			run->sites += image->nsites;
		assert(run->nimages < MAPLE_SHM_IMAGES);
		out = &run->images[run->nimages++];
		out->index = a->registered[i];
		out->is_main = image->is_main;
		out->bias = image->bias;
		out->lo = image->lo;
		out->hi = image->hi;
	}
}

/*
 * Whether somebody else has killed the program. What was started may be a
 * wrapper, whose status says by which signal the program has ended.
 */
static bool was_killed(const struct maple_agent_backend *a,
		       const struct maple_run *run)
{
	const struct maple_shm *shm = a->shm;
	int status = run->status, signo;

	if (run->end != MAPLE_END_ITSELF)
		return false;
	if (a->base.options.exe && WIFEXITED(status) &&
	    WEXITSTATUS(status) > 128 && shm->state == MAPLE_AGENT_RUNNING)
		status = WEXITSTATUS(status) - 128;
	signo = shm->crash.sender && shm->crash.sender != shm->pid
			? shm->crash.signo
			: maple_run_sent(status);
	return signo && !(shm->sent >> (signo - 1) & 1);
}

/* Whether the run may count; says the cause and the mend if not. */
static void judge_delivery(struct maple_agent_backend *a, struct maple_run *run)
{
	struct maple_shm_stats *stats = &a->shm->stats;
	uint64_t hits = stats->calls + stats->watch_told;
	unsigned int i;

	for (i = 0; i < MAPLE_WAYS; i++)
		hits += stats->hits[i];
	/* A filter of its own is the program's doing, whatever else there is. */
	run->unsupported = !stats->sealed && maple_shm_has_priorities(a->shm) &&
			   !stats->priorities && stats->refused_errno;
	if (a->shm->state == MAPLE_AGENT_ABSENT && a->base.options.exe)
		snprintf(run->why_not, sizeof(run->why_not),
			 "no program that matches --exe %s was started, or it "
			 "is statically linked or set-user-id",
			 a->base.options.exe);
	else if (a->shm->state == MAPLE_AGENT_ABSENT)
		snprintf(run->why_not, sizeof(run->why_not),
			 "the agent did not come up in %s: it is statically "
			 "linked, set-user-id, or clears LD_PRELOAD",
			 a->base.options.argv[0]);
	else if (stats->sealed)
		snprintf(run->why_not, sizeof(run->why_not),
			 "%s installs a seccomp filter, which need not let the "
			 "agent's system calls through (sched_setscheduler): "
			 "test it without the filter",
			 a->base.options.argv[0]);
	else if (run->unsupported)
		snprintf(run->why_not, sizeof(run->why_not),
			 "real-time priorities were refused in the target: %s",
			 strerror(stats->refused_errno));
	else if (maple_shm_has_priorities(a->shm) && !stats->priorities)
		snprintf(run->why_not, sizeof(run->why_not),
			 "real-time priorities were refused in the target: it "
			 "ended before it asked for them");
	else if (!hits && a->shm->mode != MAPLE_SHM_SCHED &&
		 !(a->shm->mode == MAPLE_SHM_CONTROL &&
		   !maple_agent_control_has_sites(a)))
		snprintf(run->why_not, sizeof(run->why_not),
			 "no access was %s: no site of %s was reached",
			 a->shm->mode == MAPLE_SHM_ENFORCE ? "enforced"
							   : "observed",
			 a->shm->mode == MAPLE_SHM_ENFORCE ? "the plan"
							   : "the program");
	else
		run->delivered = true;
}

static void finish(struct maple_backend *b, const struct maple_run_sink *sink,
		   struct maple_run *run)
{
	struct maple_agent_backend *a = agent_of(b);
	struct maple_trace_stats trace;
	unsigned int i;

	if (b->options.joined)
		maple_agent_joined_leave(a);
	drain(a, sink, true, UINT64_MAX);
	maple_agent_tables_calls(a);
	maple_agent_tables_contexts(a);
	memcpy(&run->automaton, a->shm->auto_result, sizeof(run->automaton));
	for (i = 0; i < MAPLE_SHM_THEN; i++)
		memcpy(&run->then[i], a->shm->then_result[i],
		       sizeof(run->then[i]));
	run->begun = a->shm->begun;
	snprintf(run->stranger, sizeof(run->stranger), "%.*s",
		 (int)sizeof(a->shm->stranger) - 1, a->shm->stranger);
	a->came_up = a->shm->state != MAPLE_AGENT_ABSENT;
	fill_threads(a, run);
	fill_images(a, run);
	for (i = 0; i < MAPLE_WAYS; i++)
		run->hits[i] = a->shm->stats.hits[i];
	run->calls = a->shm->stats.calls;
	run->changes = a->shm->stats.changes_done;
	run->entered = a->shm->entered * 1e-9;
	maple_trace_ring_stats(&a->ring, &trace);
	run->lost = trace.lost;
	run->threads_over = a->shm->stats.threads_over;
	run->images_over = a->shm->stats.images_over;
	run->calls_over = a->shm->stats.calls_over;
	run->spins = a->spins;
	run->outside = was_killed(a, run);
	if (a->shm->mode == MAPLE_SHM_CONTROL)
		maple_agent_control_finish(a, run);
	judge_delivery(a, run);
}

static pid_t awaits(struct maple_backend *b)
{
	const struct maple_shm *shm = agent_of(b)->shm;

	return __atomic_load_n(&shm->debugger, __ATOMIC_ACQUIRE) ==
			       MAPLE_DEBUGGER_AWAITED
		       ? shm->pid
		       : 0;
}

static void debugged(struct maple_backend *b, bool there)
{
	struct maple_shm *shm = agent_of(b)->shm;

	__atomic_store_n(&shm->debugger,
			 there ? MAPLE_DEBUGGER_THERE : MAPLE_DEBUGGER_NONE,
			 __ATOMIC_RELEASE);
	syscall(SYS_futex, &shm->debugger, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void release(struct maple_backend *b)
{
	struct maple_agent_backend *a = agent_of(b);

	a->released = true;
	__atomic_store_n(&a->shm->let_go, 1, __ATOMIC_RELEASE);
}

static void destroy(struct maple_backend *b)
{
	struct maple_agent_backend *a = agent_of(b);
	unsigned int i;

	maple_joiner_close(&a->joiner);
	maple_agent_stems_end(a);
	maple_agent_ahead_end(a);
	maple_agent_share_destroy(a);
	for (i = 0; i < MAPLE_SHM_IMAGES; i++)
		free(a->table[i]);
	free(a->call);
	free(a->spinner);
	forget_environment(a);
	free(a);
}

static const struct maple_backend_ops agent_ops = {
	.name = "agent",
	.inside = true,
	.keeps_crashed = true,
	.follow = MAPLE_SHM_THEN,
	.conditions = true,
	.ends = true,
	.heeds_names = true,
	.schedules = true,
	.turns = true,
	.controls = true,
	.splits = true,
	.callers = true,
	.prepare = prepare,
	.fork = maple_agent_fork,
	.serve = serve,
	.lingers = lingers,
	.awaits = awaits,
	.debugged = debugged,
	.finish = finish,
	.release = release,
	.destroy = destroy,
};

/*
 * Nothing is interposed: no locks, no conditions, no ends of memory. A copy
 * of the agent has one run.
 */
static const struct maple_backend_ops joined_ops = {
	.name = "agent",
	.inside = true,
	.keeps_crashed = true,
	.schedules = true,
	.splits = true,
	.prepare = prepare,
	.attach = maple_agent_joined_attach,
	.serve = serve,
	.finish = finish,
	.done = maple_agent_joined_done,
	.release = release,
	.destroy = destroy,
};

/*
 * maple_backend_agent_create - a backend for the program in @options
 *
 * What @options points to must outlive the backend.
 */
int maple_backend_agent_create(const struct maple_backend_options *options,
			       struct maple_backend **backend,
			       struct maple_error *err)
{
	struct maple_agent_backend *a = calloc(1, sizeof(*a));
	int e;

	if (!a)
		return maple_error_set(err, ENOMEM, "out of memory");
	a->base.ops = options->joined ? &joined_ops : &agent_ops;
	a->base.options = *options;
	a->shm_fd = a->tables_fd = a->said = -1;
	/* mapled gives rights to what runs, not to what waits. */
	a->on_time = options->on_time || options->host;
	a->shadowed = options->program &&
		      maple_image_mentions(options->program, "__asan_init");
	a->call = calloc(MAPLE_SHM_CALLS, sizeof(*a->call));
	a->spinner = calloc(MAPLE_THREADS, sizeof(*a->spinner));
	e = a->spinner && a->call
		    ? maple_agent_share_create(a, err)
		    : maple_error_set(err, ENOMEM, "out of memory");
	if (e) {
		destroy(&a->base);
		return e;
	}
	memset(a->registered, 0xff, sizeof(a->registered));
	maple_trace_ring_init(&a->ring, a->shm);
	*backend = &a->base;
	return 0;
}
