// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs that are executed, each in a process of its own from the start: while
 * one lasts, the program is executed for the next, and its agent waits until
 * it has a run. What the dynamic linker does, which is most of a short run, is
 * done by then, on another CPU.
 *
 * Other libraries' constructors may come before our agent. A program in which
 * they write something, start threads, children or timers, or whose runs have
 * something done before them, is executed when its turn comes.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent.h"

#define UP_WITHIN 5.0 /* seconds, from its order on */

/* @envp with our own variable as it is for a process ahead; to be freed. */
static char **environment(const struct maple_agent_backend *a, char *const *envp)
{
	char **copy;
	size_t n = 0;

	while (envp[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	while (copy && n--)
		copy[n] = envp[n] == a->path ? a->path_ahead : envp[n];
	return copy;
}

/* Has the program executed as @order says, for a run that is not known yet. */
static void send_ahead(struct maple_agent_backend *a,
		       struct maple_agent_ahead *ahead,
		       const struct maple_launch_order *order)
{
	struct maple_launch_order start = *order;
	char **envp = environment(a, order->envp);

	assert(!ahead->up); /* the run that it was for has been since */
	if (a->said < 0)
		a->said = memfd_create("maple-said", MFD_CLOEXEC);
	if (envp && a->said >= 0) {
		start.envp = envp;
		start.cpu = -1; /* that is for the run before */
		ahead->own_group = order->own_group;
		ahead->up = !maple_launch_ahead(&ahead->launch, &start, a->said,
						NULL);
	}
	a->on_time = !ahead->up; /* why not, the next run will say */
	free(envp);
}

static bool has_spoken(const struct maple_agent_backend *a)
{
	struct stat st;

	return fstat(a->said, &st) || st.st_size;
}

/* All that it does before its run, it has done. */
static bool waits(const struct maple_agent_backend *a,
		  struct maple_agent_ahead *ahead)
{
	int32_t what;

	return maple_launch_answers(&ahead->launch, UP_WITHIN, &what) &&
	       what == MAPLE_STEM_READY && !has_spoken(a);
}

static void drop(struct maple_agent_ahead *ahead)
{
	assert(ahead->up);
	ahead->up = false;
	maple_launch_finish(&ahead->launch);
}

/*
 * maple_agent_ahead - the launch that the run of @start is under way in, in a
 * process that was executed ahead; NULL: it is to be executed
 */
struct maple_launch *maple_agent_ahead(struct maple_agent_backend *a,
				       const struct maple_launch_order *start)
{
	struct maple_agent_ahead *ahead = &a->ahead[a->turn];
	struct maple_launch *launch = NULL;

	if (ahead->up) {
		if (start->own_group == ahead->own_group && waits(a, ahead) &&
		    maple_launch_take(&ahead->launch, start)) {
			ahead->up = false;
			launch = &ahead->launch;
		} else {
			drop(ahead);
			a->on_time = true;
		}
	}
	/* Only where there is an agent to wait in it. */
	if (a->came_up && !a->on_time) {
		a->turn = !a->turn;
		send_ahead(a, &a->ahead[a->turn], start);
	}
	return launch;
}

/* maple_agent_ahead_end - takes down what waits for a run */
void maple_agent_ahead_end(struct maple_agent_backend *a)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (a->ahead[i].up)
			drop(&a->ahead[i]);
	if (a->said >= 0)
		close(a->said);
	a->said = -1;
}
