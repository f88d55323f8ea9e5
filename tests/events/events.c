// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * events PAIR PROG [ARG]...   (or: events ebpf PROG, which has no schedule)
 * the events of one profile run under SCHED_FIFO,
 * older threads first, as the pair of backends observes them: a line each,
 * without what differs from run to run (addresses, clocks).
 * At the end, to stderr: what the run came to.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/event.h>
#include "backend/pair.h"

static const char *const kinds[] = {
	[MAPLE_EV_READ] = "R",
	[MAPLE_EV_WRITE] = "W",
	[MAPLE_EV_UPDATE] = "RW",
	[MAPLE_EV_LOCK] = "LOCK",
	[MAPLE_EV_UNLOCK] = "UNLOCK",
	[MAPLE_EV_CREATE] = "CREATE",
	[MAPLE_EV_START] = "START",
	[MAPLE_EV_EXIT] = "EXIT",
	[MAPLE_EV_JOIN] = "JOIN",
	[MAPLE_EV_SIGNAL] = "SIGNAL",
	[MAPLE_EV_BROADCAST] = "BROADCAST",
	[MAPLE_EV_WAIT] = "WAIT",
	[MAPLE_EV_WAKE] = "WAKE",
	[MAPLE_EV_BARRIER_IN] = "BARRIER_IN",
	[MAPLE_EV_BARRIER_OUT] = "BARRIER_OUT",
	[MAPLE_EV_POST] = "POST",
	[MAPLE_EV_TAKE] = "TAKE",
	[MAPLE_EV_ONCE] = "ONCE",
	[MAPLE_EV_ONCED] = "ONCED",
	[MAPLE_EV_SERVE] = "SERVE",
	[MAPLE_EV_STOP] = "STOP",
	[MAPLE_EV_ALLOC] = "ALLOC",
	[MAPLE_EV_FREE] = "FREE",
	[MAPLE_EV_BLOCK] = "BLOCK",
	[MAPLE_EV_QUIET] = "QUIET",
};

static struct maple_registry *registry;

static void on_event(void *ctx, const struct maple_event *event)
{
	struct maple_site_info site = { 0 };
	const char *kind = event->kind < sizeof(kinds) / sizeof(kinds[0])
				   ? kinds[event->kind]
				   : NULL;

	if (event->site != MAPLE_SITE_NONE)
		maple_registry_site(registry, event->site, &site);
	printf("%u %s %s+%llx%s size %u flags %u aux %u\n", event->thread,
	       kind ? kind : "?", site.path ? site.path : "-",
	       site.path ? (unsigned long long)site.offset : 0,
	       site.is_call ? " call" : "",
	       event->kind == MAPLE_EV_START ? 0 : event->size,
	       event->flags & ~MAPLE_EVF_PENDING, event->aux);
}

static void on_notice(void *ctx, const char *text)
{
	fprintf(stderr, "events: %s\n", text);
}

static char *beside_us(const char *name)
{
	char self[4096], *text = NULL, *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	return asprintf(&text, "%s/%s", self, name) < 0 ? NULL : text;
}

static int fail(const struct maple_error *err)
{
	fprintf(stderr, "events: %s\n", err->text);
	return 125;
}

/* eBPF alone, beside nobody: also of what no other half can be had for. */
static int run_alone(struct maple_backend_options *options,
		     struct maple_run_order *order,
		     const struct maple_run_sink *sink, struct maple_run *run,
		     struct maple_error *err)
{
	struct maple_backend *b;
	struct maple_cpu cpu;
	int e;

	e = maple_cpu_take(&cpu, 30, on_notice, NULL);
	if (e)
		return maple_error_set(err, -e, "no CPU");
	options->cpu = &cpu;
	order->schedule = MAPLE_SCHEDULE_NATIVE;
	e = maple_backend_ebpf_create(options, &b, err);
	if (!e) {
		e = maple_backend_run(b, NULL, order, sink, run, err);
		maple_backend_destroy(b);
	}
	maple_cpu_give_back(&cpu);
	return e;
}

static int run_pair(const char *name, struct maple_backend_options *options,
		    struct maple_run_order *order,
		    const struct maple_run_sink *sink, struct maple_run *run,
		    struct maple_error *err)
{
	struct maple_pair_choice choice;
	struct maple_pair *pair;
	int e;

	e = maple_pair_choose(name, options, &choice, err);
	if (!e)
		e = maple_pair_create(&choice, options, 30, &pair, err);
	if (e)
		return e;
	e = maple_pair_run(pair, order, sink, run, err);
	maple_pair_destroy(pair);
	return e;
}

int main(int argc, char **argv)
{
	const struct maple_run_sink sink = { .event = on_event };
	struct maple_backend_options options = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_PROFILE,
		.schedule = MAPLE_SCHEDULE_OLDER,
		.seed = 1,
		.budget = 1000,
		.timeout = 20,
		.out = STDERR_FILENO,
		.err = STDERR_FILENO,
	};
	struct maple_error err;
	struct maple_run run;
	int ok, e;

	if (argc < 3) {
		fprintf(stderr, "usage: events PAIR PROG [ARG]...\n");
		return 2;
	}
	registry = maple_registry_create();
	options.program = argv[2];
	options.argv = argv + 2;
	options.agent = beside_us("libmaple-agent.so");
	options.registry = registry;
	options.notice = on_notice;
	order.in = open("/dev/null", O_RDONLY);
	e = strcmp(argv[1], "ebpf")
		    ? run_pair(argv[1], &options, &order, &sink, &run, &err)
		    : run_alone(&options, &order, &sink, &run, &err);
	if (e)
		return fail(&err);
	ok = run.delivered && !run.lost;
	fprintf(stderr,
		"events: %s%s, status %d, %.3f s, %llu lost, %llu unreached\n",
		run.delivered ? "delivered" : "not delivered: ", run.why_not,
		run.status, run.seconds, (unsigned long long)run.lost,
		(unsigned long long)run.unreached);
	maple_run_deinit(&run);
	maple_registry_destroy(registry);
	free((char *)options.agent);
	return ok ? 0 : 1;
}
