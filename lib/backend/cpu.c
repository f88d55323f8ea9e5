// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which CPU the target gets, and keeping ourselves off it.
 *
 * CPU 0 is left alone where there is another one. Two campaigns must not
 * force orders on the same CPU: each would take the other's threads for its
 * own blocked ones. The claim is an abstract socket's name, which the kernel
 * takes back when we die.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "../host/host.h"
#include "../plan/automaton.h"
#include "cpu.h"

static int claim(int number)
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

static bool claim_any(struct maple_cpu *cpu, int first)
{
	int i;

	for (i = CPU_SETSIZE - 1; i >= first; i--) {
		if (!CPU_ISSET(i, &cpu->before))
			continue;
		cpu->number = i;
		cpu->lock = claim(i);
		if (cpu->lock >= 0)
			return true;
	}
	return false;
}

/* Our own threads get all CPUs but the target's. */
static int leave(struct maple_cpu *cpu,
		 void (*notice)(void *ctx, const char *text), void *ctx)
{
	cpu_set_t rest = cpu->before;

	CPU_CLR(cpu->number, &rest);
	if (CPU_COUNT(&rest) == 0) {
		struct sched_param above = { MAPLE_PRIO_HOOK + 5 };

		/* We sleep most of the time, but must get through. */
		cpu->alone = true;
		if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
				       &above))
			notice(ctx, "there is one CPU only and no permission "
				    "to run above the target");
		return 0;
	}
	return sched_setaffinity(0, sizeof(rest), &rest) ? -errno : 0;
}

/*
 * maple_cpu_take - claims a CPU and leaves it
 * @patience: seconds to wait when other campaigns have all of them; after
 *            that one is shared, with a notice
 *
 * Returns 0 or -errno; -EINTR when a signal came while it waited.
 */
int maple_cpu_take(struct maple_cpu *cpu, double patience,
		   void (*notice)(void *ctx, const char *text), void *ctx)
{
	struct timespec slice = { .tv_nsec = 50 * 1000 * 1000 };
	bool told = false;
	cpu_set_t rest;
	int first;

	memset(cpu, 0, sizeof(*cpu));
	cpu->lock = -1;
	if (sched_getaffinity(0, sizeof(cpu->before), &cpu->before))
		return -errno;
	rest = cpu->before;
	CPU_CLR(0, &rest);
	first = CPU_COUNT(&rest) ? 1 : 0;
	while (!claim_any(cpu, first)) {
		if (patience <= 0) {
			cpu->shared = true;
			for (cpu->number = CPU_SETSIZE - 1;
			     !CPU_ISSET(cpu->number, &cpu->before);
			     cpu->number--)
				;
			notice(ctx, "another campaign still has the CPU: "
				    "sharing it, expect fewer exposures");
			break;
		}
		if (!told)
			notice(ctx, "another campaign has the CPU: waiting");
		told = true;
		if (nanosleep(&slice, NULL))
			return -errno;
		patience -= 0.05;
	}
	return leave(cpu, notice, ctx);
}

/*
 * maple_cpu_lease - the same, of mapled's CPUs, in the order of asking
 *
 * Errors: -EINTR when a signal came while it waited; what mapled says.
 */
int maple_cpu_lease(struct maple_cpu *cpu, struct maple_host *host,
		    void (*notice)(void *ctx, const char *text), void *ctx,
		    struct maple_error *err)
{
	int e;

	memset(cpu, 0, sizeof(*cpu));
	cpu->lock = -1;
	if (sched_getaffinity(0, sizeof(cpu->before), &cpu->before))
		return maple_error_set(err, errno, "our CPUs: %m");
	e = maple_host_lease(host, &cpu->before, notice, ctx, &cpu->number, err);
	if (e)
		return e;
	cpu->host = host;
	e = leave(cpu, notice, ctx);
	return e ? maple_error_set(err, -e, "cannot leave CPU %d: %s",
				   cpu->number, strerror(-e))
		 : 0;
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
	if (cpu->lock >= 0)
		close(cpu->lock);
	cpu->lock = -1;
	cpu->host = NULL;
}
