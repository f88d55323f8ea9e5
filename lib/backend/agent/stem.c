// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs that are forked. A stem (lib/agent/life/stem.c) is the program under test,
 * made ready once; there are three, since what profile runs have in common is a
 * patched program, and what enforced runs have in common is one that is not.
 * What controlled runs have in common are the sites that threads are thought to
 * share: theirs is made anew when a run has others, or far fewer.
 *
 * Now and then a run is executed all the same: forked ones have one address
 * layout, and what depends on that would never be seen.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "agent.h"

#define EXEC_EVERY 64	/* of as many runs one is executed */
#define LOST_MAX   3	/* stems that may die before we do without */
#define WASTED_MAX 16	/* runs in a row that pass by most of their sites */
#define UP_WITHIN  10.0 /* seconds of the program's own, before main() */

static const char *const why_not[MAPLE_STEMS] = {
	[MAPLE_STEM_THREADS] = "it has threads before main()",
	[MAPLE_STEM_FILES] = "it has files open before main()",
	[MAPLE_STEM_CHILDREN] = "it has child processes before main()",
	[MAPLE_STEM_TIMERS] = "it has timers set before main()",
	[MAPLE_STEM_MEMORY] = "it shares memory before main()",
	[MAPLE_STEM_LIBC] = "its libc or this kernel does not let us",
};

static void never(struct maple_agent_backend *a, const char *why)
{
	char text[256];

	a->never_fork = true;
	snprintf(text, sizeof(text), "each run is executed, none is forked: %s",
		 why);
	a->base.options.notice(a->base.options.ctx, text);
}

static void drop(struct maple_agent_stem *stem)
{
	maple_launch_finish(&stem->launch);
	stem->up = false;
}

static void lose(struct maple_agent_backend *a, struct maple_agent_stem *stem,
		 const char *what)
{
	char text[256];

	assert(stem->up && a->stems_lost < LOST_MAX);
	drop(stem);
	if (++a->stems_lost == LOST_MAX) {
		never(a, what);
		return;
	}
	snprintf(text, sizeof(text), "this run is executed, not forked: %s",
		 what);
	a->base.options.notice(a->base.options.ctx, text);
}

/* Answers its questions until it says what it is; MAPLE_STEM_NONE: nothing. */
static int wait_for(struct maple_agent_backend *a, struct maple_agent_stem *stem)
{
	double at = maple_clock_now(), end = at + UP_WITHIN;
	int32_t what = MAPLE_STEM_NONE;

	while (!maple_launch_answers(&stem->launch, 0.001, &what)) {
		at = maple_clock_now();
		if (at > end || stem->launch.gone)
			break;
		maple_launch_left(&stem->launch);
		maple_agent_tables_answer(a);
		/* What that takes is not the program's. */
		end += maple_clock_now() - at;
	}
	return what;
}

static bool is_written(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size;
}

static void make_empty(int fd)
{
	if (!ftruncate(fd, 0))
		lseek(fd, 0, SEEK_SET);
}

/*
 * Whether it has written, or read its input from @in on: forked runs would
 * miss that. Then all is as it was before.
 */
static bool has_spoken(const struct maple_launch_order *order, off_t in)
{
	bool out = is_written(order->out), err = is_written(order->err);
	bool read = lseek(order->in, 0, SEEK_CUR) != in;

	if (read)
		lseek(order->in, in, SEEK_SET);
	if (out)
		make_empty(order->out);
	if (err)
		make_empty(order->err);
	return out || err || read;
}

/* Starts the program and has it stop before main(). */
static bool grow(struct maple_agent_backend *a, struct maple_agent_stem *stem,
		 const struct maple_launch_order *run)
{
	struct maple_run_order order = {
		.kind = stem == &a->stem[MAPLE_SHM_STEM_OTHER]
				? MAPLE_RUN_SCHEDULE
				: a->base.order->kind
	};
	off_t in = lseek(run->in, 0, SEEK_CUR);
	struct maple_launch_order start = *run;
	cpu_set_t own = { 0 };
	bool slow;
	int what;

	assert(!stem->up && stem - a->stem < MAPLE_SHM_STEMS);
	assert(!run->exe); /* the program that is started is the one */
	if (order.kind == MAPLE_RUN_CONTROL) {
		order.control = a->base.order->control;
		order.alone = a->base.order->alone;
		order.nalone = a->base.order->nalone;
	}
	start.stem = true;
	start.spare = &a->shm->spare[stem - a->stem];
	maple_agent_share(a, &order);
	a->shm->stem = MAPLE_STEM_WANTED;
	a->shm->spare[stem - a->stem] = 0;
	if (maple_launch_start(&stem->launch, &start, NULL))
		return false; /* the run itself will say why */
	what = wait_for(a, stem);
	stem->up = what == MAPLE_STEM_READY;
	if (!stem->up) {
		slow = what == MAPLE_STEM_NONE && !stem->launch.gone;
		drop(stem);
		if (what > MAPLE_STEM_READY && what < MAPLE_STEMS)
			never(a, why_not[what]);
		else if (slow)
			never(a, "it takes more than 10 s before main()");
		/* Or it has ended: that a run will say. */
		a->never_fork = true;
	} else if (has_spoken(run, in)) {
		drop(stem);
		never(a, "it reads or writes before main()");
	} else if (a->base.options.cpu->alone) {
		/* Anywhere else it waits for another target's end. */
		CPU_SET(a->base.options.cpu->number, &own);
		sched_setaffinity(stem->launch.stem, sizeof(own), &own);
	}
	return stem->up;
}

/* Whether the controlled run that is due is better not forked from @stem. */
static bool outgrown(struct maple_agent_backend *a,
		     const struct maple_agent_stem *stem)
{
	bool many_more;

	assert(stem == &a->stem[MAPLE_SHM_STEM_CONTROL]);
	if (!stem->up)
		return false;
	if (!maple_agent_tables_kept(a, &many_more))
		return true;
	a->wasted = many_more ? a->wasted + 1 : 0;
	return a->wasted > WASTED_MAX;
}

/* maple_agent_fork - as the operation fork says */
struct maple_launch *maple_agent_fork(struct maple_backend *b,
				      const struct maple_launch_order *start)
{
	struct maple_agent_backend *a = (struct maple_agent_backend *)b;
	struct maple_agent_stem *stem = &a->stem[maple_shm_stem_of(a->shm)];
	int e;

	/* With --exe the program that is started is not the one. */
	if (b->options.exe)
		return NULL;
	if (a->never_fork || b->options.exec)
		return maple_agent_ahead(a, start);
	if (b->order->fresh || b->order->schedule == MAPLE_SCHEDULE_MEET)
		return NULL;
	if (++a->forked == EXEC_EVERY) {
		a->forked = 0;
		return NULL;
	}
	if (stem == &a->stem[MAPLE_SHM_STEM_CONTROL] && outgrown(a, stem))
		drop(stem);
	if (!stem->up) {
		if (grow(a, stem, start) &&
		    stem == &a->stem[MAPLE_SHM_STEM_CONTROL])
			maple_agent_tables_keep(a);
		maple_agent_share(a, b->order);
	}
	if (!stem->up)
		return NULL;
	e = maple_launch_fork(&stem->launch, start);
	if (!e)
		return &stem->launch;
	lose(a, stem,
	     e == -ECHILD ? "the process to fork from is dead" : strerror(-e));
	return NULL;
}

/* maple_agent_stems_end - takes down what runs were forked from */
void maple_agent_stems_end(struct maple_agent_backend *a)
{
	unsigned int i;

	for (i = 0; i < MAPLE_SHM_STEMS; i++)
		if (a->stem[i].up)
			drop(&a->stem[i]);
}
