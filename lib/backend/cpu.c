// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which CPU the target gets, and keeping ourselves off it.
 *
 * CPU 0 is left alone where there is another one. Two campaigns must not
 * force orders on the same CPU: each would take the other's threads for its
 * own blocked ones. The claim is an abstract socket's name, which the kernel
 * takes back when we die. That anybody may take; so root, in whose place
 * mapled lends CPUs, also locks the file by which mapled has one.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "base/claim.h"
#include "base/clock.h"
#include "../host/host.h"
#include "../plan/automaton.h"
#include "backend.h"

/* -1: mapled has lent it; -2: it has not, and lends none. */
static int claim_file(int number)
{
	char path[64];
	int fd;

	if (geteuid() != 0)
		return -2;
	snprintf(path, sizeof(path), MAPLE_WIRE_LEASES "/cpu-%d", number);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		  0644);
	if (fd < 0)
		return -2;
	if (!flock(fd, LOCK_EX | LOCK_NB) && !ftruncate(fd, 0))
		return fd;
	close(fd);
	return -1;
}

static int claim_name(int number)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len;

	if (fd < 0)
		return -1;
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		       "maple-cpu-%d", number);
	if (bind(fd, (struct sockaddr *)&addr,
		 offsetof(struct sockaddr_un, sun_path) + 1 + len) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool claim(struct maple_cpu *cpu, int number)
{
	cpu->number = number;
	cpu->lock = claim_name(number);
	cpu->file = cpu->lock >= 0 ? claim_file(number) : -1;
	if (cpu->lock < 0 || cpu->file != -1)
		return cpu->lock >= 0;
	close(cpu->lock);
	cpu->lock = -1;
	return false;
}

static void unclaim(struct maple_cpu *cpu)
{
	if (cpu->lock >= 0)
		close(cpu->lock);
	if (cpu->file >= 0)
		close(cpu->file);
	cpu->lock = cpu->file = -1;
}

/*
 * Up to @n claims, from the last CPU down to @first, the next one only when
 * there is no other; returns how many.
 */
static unsigned int claim_some(struct maple_cpu *cpus, unsigned int n, int first)
{
	unsigned int got = 0;
	int i;

	for (i = CPU_SETSIZE - 1; i >= first && got < n; i--) {
		if (!CPU_ISSET(i, &cpus->before))
			continue;
		assert(cpus[got].lock < 0);
		got += claim(&cpus[got], i);
	}
	return got;
}

static void let_go(struct maple_cpu *cpus, unsigned int n)
{
	while (n-- > 0)
		unclaim(&cpus[n]);
}

static int begin(struct maple_cpu *cpus, unsigned int n)
{
	unsigned int i;

	memset(cpus, 0, n * sizeof(*cpus));
	for (i = 0; i < n; i++) {
		cpus[i].lock = cpus[i].file = -1;
		if (sched_getaffinity(0, sizeof(cpus->before), &cpus[i].before))
			return -errno;
	}
	return 0;
}

/* What @n targets leave of our CPUs. */
static void share_out(struct maple_cpu *cpus, unsigned int n)
{
	cpu_set_t rest = cpus->before;
	unsigned int i;

	for (i = 0; i < n; i++)
		CPU_CLR(cpus[i].number, &rest);
	for (i = 0; i < n; i++) {
		cpus[i].rest = rest;
		cpus[i].alone = CPU_COUNT(&rest) == 0;
	}
}

/*
 * maple_cpu_leave - the calling thread gets all CPUs that have no target
 *
 * If there is none, it stays with @cpu's target and runs above it.
 */
int maple_cpu_leave(struct maple_cpu *cpu,
		    void (*notice)(void *ctx, const char *text), void *ctx)
{
	cpu_set_t own;

	if (!cpu->alone)
		return sched_setaffinity(0, sizeof(cpu->rest), &cpu->rest)
			       ? -errno
			       : 0;
	CPU_ZERO(&own);
	CPU_SET(cpu->number, &own);
	if (sched_setaffinity(0, sizeof(own), &own))
		return -errno;
	/* We sleep most of the time, but must get through. */
	if (maple_realtime_rise(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
				MAPLE_PRIO_HOOK + 5))
		notice(ctx, "there is no CPU without a target and no "
			    "permission to run above it");
	return 0;
}

/* maple_cpu_count - how many CPUs we may use; -errno */
int maple_cpu_count(void)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all))
		return -errno;
	return CPU_COUNT(&all);
}

/* Who has it: at once, and again to those who hear of long waits only. */
static void tell_wait(const struct maple_patience *patience,
		      const cpu_set_t *cpus, double waited, unsigned int *told)
{
	char who[192], text[320], limit[48] = "";

	assert(*told <= 2);
	if (*told == 2 ||
	    (*told && (waited < MAPLE_PATIENCE_SILENT || !patience->waits)))
		return;
	maple_claim_holder(cpus, who, sizeof(who));
	if (patience->seconds >= 0)
		snprintf(limit, sizeof(limit), " up to %.0f s",
			 patience->seconds);
	snprintf(text, sizeof(text),
		 "another campaign has the CPU, waiting%s: %s", limit, who);
	if (*told)
		patience->waits(patience->ctx, text);
	else
		patience->notice(patience->ctx, text);
	++*told;
}

/*
 * maple_cpu_take_some - claims @n CPUs, or those that there are
 * @patience: how long to wait when other campaigns have them; after that it
 *            makes do with fewer, or shares one, with a notice
 *
 * All at once or none while it waits: two campaigns that each have a half
 * would wait for each other. Returns how many, or -errno; -EINTR when a signal
 * came while it waited.
 */
int maple_cpu_take_some(struct maple_cpu *cpus, unsigned int n,
			const struct maple_patience *patience)
{
	struct timespec slice = { .tv_nsec = 50 * 1000 * 1000 };
	double began = maple_clock_now(), waited = 0;
	unsigned int got, others, told = 0;
	int first, e = begin(cpus, n);

	if (e)
		return e;
	others = CPU_COUNT(&cpus->before) - CPU_ISSET(0, &cpus->before);
	first = others < n ? 0 : 1;
	for (;;) {
		got = claim_some(cpus, n, first);
		if (got == n ||
		    (patience->seconds >= 0 && waited >= patience->seconds))
			break;
		let_go(cpus, got);
		tell_wait(patience, &cpus->before, waited, &told);
		if (patience->ends && patience->ends())
			return -EINTR;
		if (nanosleep(&slice, NULL))
			return -errno;
		waited = maple_clock_now() - began;
	}
	if (!got) {
		cpus->shared = true;
		for (cpus->number = CPU_SETSIZE - 1;
		     !CPU_ISSET(cpus->number, &cpus->before); cpus->number--)
			;
		patience->notice(patience->ctx,
				 "another campaign still has the CPU: sharing "
				 "it, expect fewer exposures");
		got = 1;
	}
	assert(got <= n && (cpus->shared || cpus[got - 1].lock >= 0));
	share_out(cpus, got);
	return got;
}

/* maple_cpu_take - the same of one CPU, and the calling thread leaves it */
int maple_cpu_take(struct maple_cpu *cpu, double patience,
		   void (*notice)(void *ctx, const char *text), void *ctx)
{
	const struct maple_patience with = { patience, notice, NULL, ctx };
	int e = maple_cpu_take_some(cpu, 1, &with);

	return e < 0 ? e : maple_cpu_leave(cpu, notice, ctx);
}

/*
 * maple_cpu_lease_some - the same, of mapled's CPUs, in the order of asking,
 * one by each of @hosts
 *
 * Waits for the first one only, for the same reason: returns how many it got.
 * Errors: -EINTR when a signal came while it waited, -ETIMEDOUT when that was
 * for too long; what mapled says.
 */
int maple_cpu_lease_some(struct maple_cpu *cpus, struct maple_host *const *hosts,
			 unsigned int n, const struct maple_patience *patience,
			 struct maple_error *err)
{
	int e = begin(cpus, n);
	unsigned int i;

	if (e)
		return maple_error_set(err, -e, "our CPUs: %s", strerror(-e));
	for (i = 0; i < n; i++) {
		e = maple_host_lease(hosts[i], &cpus[i].before,
				     i ? NULL : patience, &cpus[i].number, err);
		if (e == -EBUSY && i)
			break;
		if (e)
			goto undo;
		cpus[i].host = hosts[i];
	}
	assert(i && i <= n); /* the first one was waited for */
	share_out(cpus, i);
	return (int)i;
undo:
	while (i-- > 0)
		maple_host_give_back(hosts[i]);
	return e;
}

/* maple_cpu_give_back - gives up the claim and returns to our own CPUs */
void maple_cpu_give_back(struct maple_cpu *cpu)
{
	struct sched_param none = { 0 };

	if (cpu->alone)
		sched_setscheduler(0, SCHED_OTHER, &none);
	else
		sched_setaffinity(0, sizeof(cpu->before), &cpu->before);
	if (cpu->host)
		maple_host_give_back(cpu->host);
	unclaim(cpu);
	cpu->host = NULL;
}
