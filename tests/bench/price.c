// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * price HITS AGENT: what a hit costs, as multiples of getpid() and in
 * nanoseconds, by runs of the program HITS (hits.c) under the agent and under
 * the two kernel halves, beside what the kernel alone takes for a probe or a
 * watchpoint, by a perf event that counts, and what the same takes where
 * nobody looks on.
 *
 * A half that is not there is said, and no failure. The status is 1 if an
 * enforced hit of the module costs more than MOST times a bare stepped uprobe.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/kernel/kernel.h"
#include "image/registry.h"
#include "plan/plan.h"

#define MOST   1.5
#define REPEAT 5 /* runs of each; the cheapest counts */

enum place { PLACE_A, PLACE_B, PLACE_C, PLACE_CALLEE, PLACES, NOWHERE };

static const char *program, *agent;
static uint64_t address[PLACES]; /* ELF addresses */
static uint64_t offset[PLACES];	 /* in the file */
static uint64_t memory;		 /* ... that is accessed */
static uint32_t site[PLACES];
static struct maple_registry *registry;
static struct maple_cpu cpu;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "price: %s: %s\n", what, why);
	exit(2);
}

static void on_notice(void *ctx, const char *text)
{
	fprintf(stderr, "price: %s\n", text);
}

struct price {
	double calls; /* of getpid() */
	double ns;
};

/* What the program prints. */
static struct price read_price(int fd)
{
	char text[64] = "";
	struct price price = { 0 };

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%lf %lf", &price.calls, &price.ns) != 2)
		die(program, "it said no price");
	return price;
}

static int out_file(void)
{
	int fd = memfd_create("price", MFD_CLOEXEC);

	if (fd < 0)
		die("memory", strerror(errno));
	return fd;
}

/* ---- the kernel alone ---- */

static uint64_t perf_type(const char *pmu)
{
	char path[128];
	int type = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type",
		 pmu);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &type) != 1)
		die(path, "this kernel has no such perf events");
	fclose(f);
	return type;
}

static int probe_event(pid_t pid, enum place place, bool at_return)
{
	struct perf_event_attr attr = {
		.type = perf_type("uprobe"),
		.size = sizeof(attr),
		.config = at_return,
		.config1 = (uint64_t)(uintptr_t)program,
		.config2 = offset[place],
	};

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

/* A watchpoint that counts: the program has to be there first. */
static int watch_event(pid_t pid, uint64_t at)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = at,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1,
		       PERF_FLAG_FD_CLOEXEC);
}

static pid_t spawn(const char *what, int out)
{
	struct sched_param param = { .sched_priority = 50 };
	cpu_set_t set;
	pid_t pid = fork();

	if (pid)
		return pid;
	CPU_ZERO(&set);
	CPU_SET(cpu.number, &set);
	sched_setaffinity(0, sizeof(set), &set);
	sched_setscheduler(0, SCHED_FIFO, &param);
	dup2(out, STDOUT_FILENO);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execl(program, program, what, NULL);
	_exit(127);
}

/* Where a program without a fixed place is, by its entry in /proc/PID/maps. */
static uint64_t bias_of(pid_t pid)
{
	char path[64];
	uint64_t at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lx-", &at) != 1)
		die(path, "cannot read it");
	fclose(f);
	return at;
}

/* @place: PLACES for a watchpoint; NOWHERE: nobody looks on */
static struct price bare(const char *what, enum place place, bool at_return)
{
	int out = out_file(), status, event = -1;
	pid_t pid = spawn(what, out);
	uint64_t hits = 0;
	struct price price;

	waitpid(pid, &status, 0); /* before it is the program, */
	if (place < PLACES)
		event = probe_event(pid, place, at_return);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, &status, 0); /* ... and when it has just become it */
	if (place == PLACES)
		event = watch_event(pid, bias_of(pid) + memory);
	if (event < 0 && place != NOWHERE)
		die("perf event", strerror(errno));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	if (status)
		die(program, "it failed under a perf event");
	if (event >= 0 &&
	    (read(event, &hits, sizeof(hits)) != sizeof(hits) || !hits))
		die("perf event", "it has not counted");
	price = read_price(out);
	if (event >= 0)
		close(event);
	close(out);
	return price;
}

/* ---- the two halves ---- */

static struct maple_plan plan_of(uint32_t first, uint32_t second)
{
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	struct maple_plan plan;

	iroot.e[0].site = first;
	iroot.e[0].kind = MAPLE_EV_WRITE;
	iroot.e[1].site = second;
	iroot.e[1].kind = MAPLE_EV_READ;
	if (maple_plan_init(&plan, &iroot, 1, 0, 1))
		die("plan", "it is none");
	return plan;
}

enum who { NOBODY, AGENT, EBPF, MODULE, WHO };

static int (*const creates[WHO])(const struct maple_backend_options *,
				 struct maple_backend **,
				 struct maple_error *) = {
	[AGENT] = maple_backend_agent_create,
	[EBPF] = maple_backend_ebpf_create,
	[MODULE] = maple_backend_module_create,
};

static struct price by_half(enum who who, const char *what,
			    const struct maple_plan *plan)
{
	char *argv[] = { (char *)program, (char *)what, NULL };
	const struct maple_backend_options options = {
		.program = program,
		.argv = argv,
		.registry = registry,
		.cpu = &cpu,
		.agent = agent,
		.notice = on_notice,
	};
	struct maple_run_order order = {
		.kind = plan ? MAPLE_RUN_ENFORCE : MAPLE_RUN_PROFILE,
		.plan = plan,
		.schedule = who == AGENT ? MAPLE_SCHEDULE_OLDER
					 : MAPLE_SCHEDULE_NATIVE,
		.timeout = 60,
		.err = STDERR_FILENO,
	};
	const struct maple_run_sink sink = { 0 };
	struct maple_backend *b;
	struct maple_error err;
	struct maple_run run;
	struct price price;

	if (creates[who](&options, &b, &err))
		die("backend", err.text);
	order.in = open("/dev/null", O_RDONLY);
	order.out = out_file();
	if (maple_backend_run(b, NULL, &order, &sink, &run, &err))
		die(program, err.text);
	if (!run.delivered || run.status || run.lost)
		die(program, run.delivered ? "it failed" : run.why_not);
	price = read_price(order.out);
	if (getenv("PRICE_DEBUG"))
		fprintf(stderr,
			"%s: %.1f hits %lu calls %lu attempts %u finished %u\n",
			what, price.calls, run.hits[MAPLE_WAY_TRAP], run.calls,
			run.automaton.attempts, run.automaton.finished);
	maple_run_deinit(&run);
	maple_backend_destroy(b);
	close(order.in);
	close(order.out);
	return price;
}

/* The plan is under way, but what it waits for never comes. */
static struct price let_pass(enum who who, const char *what)
{
	struct maple_plan plan = plan_of(site[PLACE_C], site[PLACE_C]);

	plan.nguards = 1;
	plan.guard[0] = site[PLACE_B];
	return by_half(who, what, &plan);
}

/*
 * The plan's first step is done over and over: each time the attempt is over,
 * the next one begins, and the watchpoint moves with it. No hit costs more.
 */
static struct price step(enum who who, const char *what)
{
	struct maple_plan plan = plan_of(site[PLACE_A], site[PLACE_B]);

	return by_half(who, what, &plan);
}

/* ---- all of it ---- */

enum how { BARE, RETURN, OBSERVED, PASSED, STEPPED };

static struct row {
	const char *name;
	enum who who;
	enum how how;
	const char *what;
	enum place place;
	struct price price;
} rows[] = {
	{ "nobody: access", NOBODY, BARE, "load", NOWHERE },
	{ "nobody: lock", NOBODY, BARE, "lock", NOWHERE },
	{ "agent: observe, access", AGENT, OBSERVED, "walk" },
	{ "agent: observe, lock", AGENT, OBSERVED, "lock" },
	{ "agent: enforce, access, let pass", AGENT, PASSED, "load" },
	{ "agent: ... where one function calls", AGENT, PASSED, "flat" },
	{ "agent: ... where four call each other", AGENT, PASSED, "deep" },
	{ "agent: enforce, step, ends an attempt", AGENT, STEPPED, "store" },
	{ "agent: enforce, lock", AGENT, PASSED, "lock" },
	{ "bare uprobe, stepped", NOBODY, BARE, "load", PLACE_B },
	{ "bare uretprobe", NOBODY, RETURN, "call", PLACE_CALLEE },
	{ "bare watchpoint", NOBODY, BARE, "unseen", PLACES },
	{ "ebpf: observe, access, recorded", EBPF, OBSERVED, "walk" },
	{ "ebpf: observe, access, condensed", EBPF, OBSERVED, "load" },
	{ "ebpf: observe, lock and return", EBPF, OBSERVED, "lock" },
	{ "module: enforce, access, let pass", MODULE, PASSED, "load" },
	{ "module: enforce, step, ends an attempt", MODULE, STEPPED, "store" },
	{ "module: enforce, lock and return", MODULE, PASSED, "lock" },
	{ "module: ... and its watchpoint hit", MODULE, STEPPED, "watched" },
};

#define ROWS	 (sizeof(rows) / sizeof(rows[0]))
#define UPROBE	 9
#define ENFORCED 15

static struct price price_of(const struct row *row)
{
	switch (row->how) {
	case BARE:
	case RETURN:
		return bare(row->what, row->place, row->how == RETURN);
	case OBSERVED:
		return by_half(row->who, row->what, NULL);
	case PASSED:
		return let_pass(row->who, row->what);
	default:
		return step(row->who, row->what);
	}
}

static void find_places(void)
{
	struct maple_probe_maker *maker;
	const struct maple_table_site *sites;
	struct maple_image *image;
	struct maple_error err;
	uint32_t index, n;
	char text[256];
	FILE *f;

	snprintf(text, sizeof(text), "'%s' places", program);
	f = popen(text, "r");
	if (!f || fscanf(f, "%lx %lx %lx %lx %lx", &address[0], &address[1],
			 &address[2], &address[3], &memory) != PLACES + 1)
		die(program, "it does not say where its places are");
	pclose(f);
	registry = maple_registry_create();
	if (maple_registry_add(registry, program, &index, &err))
		die(program, err.text);
	image = maple_registry_image(registry, index);
	sites = maple_image_sites(image, &n);
	if (maple_probe_maker_create(image, &maker, &err))
		die(program, err.text);
	for (int p = 0; p < PLACES; p++) {
		site[p] = MAPLE_SITE_NONE;
		for (uint32_t i = 0; i < n; i++)
			if (sites[i].offset == address[p])
				site[p] = maple_registry_base(registry, index) +
					  i;
		if (!maple_probe_offset(maker, address[p], &offset[p]) ||
		    (p != PLACE_CALLEE && site[p] == MAPLE_SITE_NONE))
			die(program, "a place is no site");
	}
	maple_probe_maker_destroy(maker);
}

/* By turns, so that what else the machine does spoils a round, not a row. */
static void measure(const bool can[WHO])
{
	struct price price;

	for (int k = 0; k < REPEAT; k++)
		for (size_t i = 0; i < ROWS; i++) {
			if (!can[rows[i].who])
				continue;
			price = price_of(&rows[i]);
			if (!k || price.calls < rows[i].price.calls)
				rows[i].price = price;
		}
}

static void find_abilities(bool can[WHO])
{
	const struct maple_backend_options options = { .agent = agent };
	struct maple_ability ability[WHO] = { 0 };

	maple_agent_probe(&options, &ability[AGENT]);
	maple_ebpf_probe(&options, &ability[EBPF]);
	maple_module_probe(&options, &ability[MODULE]);
	for (int i = 0; i < WHO; i++) {
		can[i] = !ability[i].error;
		if (!can[i])
			printf("left out: %s\n", ability[i].text);
	}
}

int main(int argc, char **argv)
{
	bool can[WHO];
	double times;

	if (argc != 3 || !(program = realpath(argv[1], NULL)) ||
	    !(agent = realpath(argv[2], NULL))) {
		fprintf(stderr, "usage: price HITS AGENT\n");
		return 2;
	}
	find_abilities(can);
	if (maple_cpu_take(&cpu, 600, on_notice, NULL))
		die("CPU", "none is free");
	find_places();
	measure(can);
	printf("%-40s %10s %10s %12s\n", "", "getpid()s", "ns", "bare uprobes");
	for (size_t i = 0; i < ROWS; i++)
		if (can[rows[i].who])
			printf("%-40s %10.2f %10.1f %12.2f\n", rows[i].name,
			       rows[i].price.calls, rows[i].price.ns,
			       rows[i].price.calls / rows[UPROBE].price.calls);
	maple_cpu_give_back(&cpu);
	times = rows[ENFORCED].price.calls / rows[UPROBE].price.calls;
	if (can[MODULE] && times > MOST) {
		fprintf(stderr, "price: an enforced hit costs %.2f bare ones\n",
			times);
		return 1;
	}
	return 0;
}
