// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who waits on which condition, in controlled runs. A waiter stands at a point
 * instead of sleeping, and a signal is there for any one of those that waited
 * when it was sent: which of them takes it is the policy's choice, like all else.
 *
 * Only the chosen thread changes these, as long as there is one; once the run
 * was let go any thread may, at any time.
 */
#include "agent/core.h"

static struct waiter {
	uint64_t cond; /* 0: it waits for none */
	uint64_t from; /* when it began */
} waiters[MAPLE_THREADS];

/* Signals that nobody has taken, at most as many as there are waiters. */
static struct {
	uint64_t cond;
	uint64_t sent;
} sent[MAPLE_THREADS];

static uint32_t lock; /* of all that is here */
static uint32_t nsent;
static uint64_t clock; /* of the above; counts both */

/* maple_waiters_begin - the caller waits on @cond */
void maple_waiters_begin(const void *cond)
{
	maple_lock_take(&lock);
	waiters[maple_self.number] = (struct waiter){ (uint64_t)cond, ++clock };
	maple_lock_give(&lock);
}

/* The first signal that @w may take; nsent: none. */
static uint32_t signal_for(const struct waiter *w)
{
	uint32_t i;

	for (i = 0; i < nsent; i++)
		if (sent[i].cond == w->cond && sent[i].sent > w->from)
			break;
	return i;
}

/* maple_waiters_woken - whether there is a signal for @thread */
bool maple_waiters_woken(uint32_t thread)
{
	return signal_for(&waiters[thread]) < nsent;
}

/* How many wait on @cond, and since before @time. */
static uint32_t count(uint64_t cond, uint64_t time)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS; i++)
		n += waiters[i].cond == cond && waiters[i].from < time;
	return n;
}

static void take(uint32_t i)
{
	nsent--;
	for (; i < nsent; i++)
		sent[i] = sent[i + 1];
}

/* Signals are as many as those that may take them. */
static void take_back(uint64_t cond)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nsent;) {
		if (sent[i].cond == cond && ++n > count(cond, sent[i].sent))
			take(i), n--;
		else
			i++;
	}
}

/* maple_waiters_end - the caller waits no more; whether it took a signal */
bool maple_waiters_end(void)
{
	struct waiter *w = &waiters[maple_self.number];
	uint64_t cond = w->cond;
	uint32_t i;
	bool woken;

	maple_lock_take(&lock);
	i = signal_for(w);
	woken = i < nsent;
	w->cond = 0;
	if (woken)
		take(i);
	else
		take_back(cond);
	maple_lock_give(&lock);
	return woken;
}

static bool wake(uint64_t at, bool all)
{
	uint32_t waiting, signals = 0;

	waiting = count(at, ++clock);
	for (uint32_t i = 0; i < nsent; i++)
		signals += sent[i].cond == at;
	if (signals >= waiting)
		return false;
	do {
		sent[nsent].cond = at;
		sent[nsent++].sent = clock;
	} while (all && ++signals < waiting);
	return true;
}

bool maple_waiters_wake(const void *cond, bool all)
{
	bool woken;

	/* In a child nobody waits, and the lock may have been left taken. */
	if (!maple_agent_controls || !maple_agent_ours())
		return false;
	maple_lock_take(&lock);
	woken = wake((uint64_t)cond, all);
	maple_lock_give(&lock);
	return woken;
}
