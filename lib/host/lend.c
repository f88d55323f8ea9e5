// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What mapled lends: real-time priorities, a CPU, and an eye on the target. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/claim.h"
#include "base/clock.h"
#include "host/host.h"

#define LOOK_EVERY 0.5 /* seconds, at the clock */

/* maple_host_realtime - raises our limit, which what we start inherits */
int maple_host_realtime(struct maple_host *host, struct maple_error *err)
{
	return maple_host_number(host, MAPLE_WIRE_REALTIME, "", NULL, err);
}

/* Its place in the queue, and who is the first of it all. */
static void tell_place(unsigned int place, const cpu_set_t *cpus,
		       void (*notice)(void *ctx, const char *text), void *ctx)
{
	char who[192], text[320];

	maple_claim_holder(cpus, who, sizeof(who));
	if (place == 1)
		snprintf(text, sizeof(text),
			 "all CPUs are taken: we are next in mapled's queue, "
			 "after %s",
			 who);
	else
		snprintf(text, sizeof(text),
			 "all CPUs are taken: %u campaigns are ahead of us in "
			 "mapled's queue, and %s has one",
			 place - 1, who);
	notice(ctx, text);
}

static int take_answer(struct maple_host *host, struct maple_host_answer *answer,
		       unsigned int *place, struct maple_error *err)
{
	int e = maple_host_receive(host, -1, answer, err);

	if (e)
		return e;
	switch (answer->head.type) {
	case MAPLE_WIRE_QUEUED:
		*place = answer->message.queued.place;
		return -EAGAIN;
	case MAPLE_WIRE_LEASED:
		return 0;
	case MAPLE_WIRE_REFUSED:
		return maple_error_set(
			err, (int)(answer->message.refused.error & 4095), "%s",
			answer->message.refused.text);
	default:
		maple_host_disconnect(host);
		return maple_error_set(err, EPROTO, "mapled gives no CPU");
	}
}

/* Waits in the queue; -EINTR when a signal comes, -EBUSY if it may not. */
static int wait_for_turn(struct maple_host *host, const cpu_set_t *cpus,
			 const struct maple_patience *p,
			 struct maple_host_answer *answer,
			 struct maple_error *err)
{
	double began = maple_clock_now(), waited;
	unsigned int place = 0;
	bool told = !p || !p->waits;
	int e;

	for (;;) {
		e = maple_host_listen(host, LOOK_EVERY, err);
		if (!e)
			e = take_answer(host, answer, &place, err);
		if (e == -EAGAIN && !p)
			return maple_error_set(err, EBUSY, "all CPUs are taken");
		if (e == -EAGAIN)
			tell_place(place, cpus, p->notice, p->ctx);
		else if (e != -ETIMEDOUT)
			return e;
		if (p && p->ends && p->ends())
			return maple_error_set(err, EINTR, "interrupted");
		waited = maple_clock_now() - began;
		if (!told && place && waited > MAPLE_PATIENCE_SILENT) {
			tell_place(place, cpus, p->waits, p->ctx);
			told = true;
		}
		if (p && p->seconds >= 0 && waited >= p->seconds) {
			maple_host_disconnect(host);
			return maple_error_set(err, ETIMEDOUT,
					       "the time was over before mapled "
					       "had a CPU for us: raise "
					       "--max-time");
		}
	}
}

/*
 * maple_host_lease - a CPU of @cpus for our targets, when it is our turn
 *
 * @patience: NULL: there is none
 *
 * It is ours until maple_host_give_back() or our end. Errors: -EINTR; -EBUSY
 * without patience, -ETIMEDOUT at its end.
 */
int maple_host_lease(struct maple_host *host, const cpu_set_t *cpus,
		     const struct maple_patience *patience, int *cpu,
		     struct maple_error *err)
{
	const struct maple_wire_lease lease = {
		.cpus = { cpus, sizeof(*cpus) },
		.held = -1,
	};
	struct maple_host_answer answer = { .fd = -1 };
	int e, tries = 100;

	do {
		e = maple_host_return(host, err);
		if (e)
			return e;
		host->serial++;
		e = maple_host_send(host, MAPLE_WIRE_LEASE, &lease, NULL, 0,
				    err);
		if (!e)
			e = wait_for_turn(host, cpus, patience, &answer, err);
	} while (e == -ECONNRESET && --tries);
	if (e) {
		/* Our place in the queue goes with the connection. */
		if (e == -EINTR || e == -EBUSY)
			maple_host_disconnect(host);
		return e;
	}
	host->cpu = *cpu = (int)answer.message.leased.cpu;
	host->lock = answer.fd;
	return 0;
}

/* maple_host_job - see maple/host.h */
int maple_host_job(struct maple_host *host, struct maple_error *err)
{
	const struct maple_wire_job job = { 0 };
	int e = maple_host_number(host, MAPLE_WIRE_JOB, &job, NULL, err);

	host->is_job |= !e;
	return e;
}

/* maple_host_give_back - others may have the CPU */
void maple_host_give_back(struct maple_host *host)
{
	if (host->lock < 0)
		return;
	close(host->lock);
	host->lock = host->cpu = -1;
	/* If mapled is gone, so is the lease. */
	if (host->sock >= 0)
		maple_host_number(host, MAPLE_WIRE_GIVE_BACK, "", NULL, NULL);
}

/*
 * maple_host_target - processes that must not outlive us; forgets the last
 *
 * Those that are gone already are left out.
 */
int maple_host_target(struct maple_host *host, const pid_t *pids,
		      unsigned int n, struct maple_error *err)
{
	struct maple_wire_target target = { 0 };
	struct maple_host_answer answer;

	while (host->ntargets)
		close(host->target[--host->ntargets]);
	for (unsigned int i = 0; i < n && i < MAPLE_WIRE_FDS; i++) {
		int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);

		if (fd >= 0)
			host->target[host->ntargets++] = fd;
	}
	target.processes = host->ntargets;
	return maple_host_ask_with(host, MAPLE_WIRE_TARGET, &target,
				   host->target, host->ntargets,
				   MAPLE_WIRE_NUMBER, &answer, err);
}

/*
 * maple_host_joined - a process that runs on without us: once we are gone
 * mapled takes from its threads, but for the @n of @spared, what only somebody
 * with CAP_SYS_NICE can take away: SCHED_RESET_ON_FORK
 */
int maple_host_joined(struct maple_host *host, int pidfd, const uint32_t *spared,
		      unsigned int n, struct maple_error *err)
{
	struct maple_wire_joined joined;
	struct maple_host_answer answer;

	assert(n <= MAPLE_HOST_SPARED);
	if (host->joined >= 0)
		close(host->joined);
	host->joined = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
	if (host->joined < 0)
		return maple_error_set(err, errno, "no copy of a pidfd: %m");
	memcpy(host->spared, spared, n * sizeof(*spared));
	host->nspared = n;
	joined = maple_host_says(host);
	return maple_host_ask_with(host, MAPLE_WIRE_JOINED, &joined,
				   &host->joined, 1, MAPLE_WIRE_NUMBER, &answer,
				   err);
}
