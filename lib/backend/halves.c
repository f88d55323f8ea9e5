// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The halves that carry out one run, as if they were one: the first observes
 * or enforces; a second one, of a profile run, sets the priorities that the
 * first cannot.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "halves.h"

static const struct maple_run_sink silent;

/* maple_halves_prepare - before the program starts; @envp is to be freed */
int maple_halves_prepare(struct maple_halves *h,
			 const struct maple_run_order *order, char ***envp,
			 struct maple_error *err)
{
	struct maple_backend *first = h->half[0], *second = h->half[1];
	struct maple_run unused = { 0 };
	char **more = NULL;
	int e;

	if (!first)
		return 0;
	/* One run at a time, each with the order that it was prepared for. */
	assert(!first->order && (!second || !second->order));
	e = first->ops->prepare(first, order, envp, err);
	first->order = e ? NULL : order;
	if (e || !second)
		return e;
	h->schedule = *order;
	h->schedule.kind = MAPLE_RUN_SCHEDULE;
	e = second->ops->prepare(second, &h->schedule, &more, err);
	if (e) {
		first->ops->finish(first, &silent, &unused);
		first->order = NULL;
	}
	maple_run_deinit(&unused);
	second->order = e ? NULL : &h->schedule;
	/* One environment: at most one of them is at work inside. */
	if (more) {
		free(*envp);
		*envp = more;
	}
	return e;
}

/* maple_halves_attach - @pid stands at its entry point, or was joined */
int maple_halves_attach(struct maple_halves *h, pid_t pid,
			struct maple_error *err)
{
	const struct maple_backend_ops *ops;
	unsigned int i;
	int e = 0;

	assert(pid > 0);
	for (i = 0; i < 2 && h->half[i] && !e; i++) {
		assert(h->half[i]->order);
		ops = h->half[i]->ops;
		if (ops->attach)
			e = ops->attach(h->half[i], pid, err);
	}
	return e;
}

/* maple_halves_serve - the pid to watch is the first half's; 0: none yet */
pid_t maple_halves_serve(struct maple_halves *h,
			 const struct maple_run_sink *sink,
			 struct maple_run *run)
{
	pid_t pid = h->half[0]->ops->serve(h->half[0], sink, run);

	if (h->half[1])
		h->half[1]->ops->serve(h->half[1], &silent, &h->beside);
	return pid;
}

/* maple_halves_linger - whether what is left of an ended program matters */
bool maple_halves_linger(const struct maple_halves *h, double since)
{
	const struct maple_backend_ops *ops;
	unsigned int i;

	for (i = 0; i < 2 && h->half[i]; i++) {
		ops = h->half[i]->ops;
		if (ops->lingers && ops->lingers(h->half[i], since))
			return true;
	}
	return false;
}

/* maple_halves_release - native scheduling, for the rest of the run */
void maple_halves_release(struct maple_halves *h)
{
	unsigned int i;

	for (i = 0; i < 2 && h->half[i]; i++)
		h->half[i]->ops->release(h->half[i]);
}

static uint64_t find_return(void *ctx, uint64_t slot)
{
	const struct maple_backend_ops *ops;
	struct maple_halves *h = ctx;
	uint64_t found = 0;
	unsigned int i;

	for (i = 0; i < 2 && h->half[i] && !found; i++) {
		ops = h->half[i]->ops;
		if (ops->return_of)
			found = ops->return_of(h->half[i], slot);
	}
	return found;
}

/* maple_halves_returns - who is asked for replaced return addresses */
struct maple_stack_returns maple_halves_returns(struct maple_halves *h)
{
	return (struct maple_stack_returns){ h, find_return };
}

/* What only the second half saw. */
static void add(struct maple_run *run, struct maple_run *beside)
{
	if (!run->signo) {
		run->signo = beside->signo;
		run->failed_tid = beside->failed_tid;
		run->fault = beside->fault;
		run->pc = beside->pc;
	}
	if (!run->stacks) {
		run->stacks = beside->stacks;
		run->nstacks = beside->nstacks;
		beside->stacks = NULL;
		beside->nstacks = 0;
	}
	run->spins += beside->spins;
	if (run->delivered && !beside->delivered)
		memcpy(run->why_not, beside->why_not, sizeof(run->why_not));
	run->delivered &= beside->delivered;
}

/*
 * maple_halves_finish - the program is gone: both say what they saw; the run
 * counts if both delivered
 */
void maple_halves_finish(struct maple_halves *h,
			 const struct maple_run_sink *sink,
			 struct maple_run *run)
{
	struct maple_backend *first = h->half[0], *second = h->half[1];

	assert(first->order && (!second || second->order == &h->schedule));
	first->ops->finish(first, sink, run);
	first->order = NULL;
	if (!second)
		return;
	second->ops->finish(second, &silent, &h->beside);
	second->order = NULL;
	add(run, &h->beside);
	maple_run_deinit(&h->beside);
}
