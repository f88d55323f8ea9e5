// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * price HITS: what the two kernel halves cost, as multiples of getpid(), by
 * runs of the program HITS (hits.c) under each of them, beside what the
 * kernel alone takes for a probe or a watchpoint, by a perf event that counts.
 *
 * A half that is not there is said, and no failure. The status is 1 if an
 * enforced hit costs more than MOST times a bare stepped uprobe.
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

enum place { PLACE_A, PLACE_B, PLACE_C, PLACE_CALLEE, PLACES };

static const char *program;
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

/* What the program prints: two numbers, the first is the price. */
static double read_price(int fd)
{
	char text[64] = "";
	double price = 0;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%lf", &price) != 1)
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

static double bare(const char *what, enum place place, bool at_return)
{
	int out = out_file(), status, event = -1;
	pid_t pid = spawn(what, out);
	uint64_t hits = 0;
	double price;

	waitpid(pid, &status, 0); /* before it is the program, */
	if (place != PLACES)
		event = probe_event(pid, place, at_return);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	waitpid(pid, &status, 0); /* ... and when it has just become it */
	if (place == PLACES)
		event = watch_event(pid, bias_of(pid) + memory);
	if (event < 0)
		die("perf event", strerror(errno));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	if (status)
		die(program, "it failed under a perf event");
	if (read(event, &hits, sizeof(hits)) != sizeof(hits) || !hits)
		die("perf event", "it has not counted");
	price = read_price(out);
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

static double by_half(int (*create)(const struct maple_backend_options *,
				    struct maple_backend **,
				    struct maple_error *),
		      const char *what, const struct maple_plan *plan)
{
	char *argv[] = { (char *)program, (char *)what, NULL };
	const struct maple_backend_options options = {
		.program = program,
		.argv = argv,
		.registry = registry,
		.cpu = &cpu,
		.notice = on_notice,
	};
	struct maple_run_order order = {
		.kind = plan ? MAPLE_RUN_ENFORCE : MAPLE_RUN_PROFILE,
		.plan = plan,
		.schedule = MAPLE_SCHEDULE_NATIVE,
		.timeout = 60,
		.err = STDERR_FILENO,
	};
	const struct maple_run_sink sink = { 0 };
	struct maple_backend *b;
	struct maple_error err;
	struct maple_run run;
	double price;

	if (create(&options, &b, &err))
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
			what, price, run.hits[MAPLE_WAY_TRAP], run.calls,
			run.automaton.attempts, run.automaton.finished);
	maple_run_deinit(&run);
	maple_backend_destroy(b);
	close(order.in);
	close(order.out);
	return price;
}

static double observed(const char *what)
{
	return by_half(maple_backend_ebpf_create, what, NULL);
}

/* The plan is under way, but what it waits for never comes. */
static double let_pass(const char *what)
{
	struct maple_plan plan = plan_of(site[PLACE_C], site[PLACE_C]);

	plan.nguards = 1;
	plan.guard[0] = site[PLACE_B];
	return by_half(maple_backend_module_create, what, &plan);
}

/*
 * The plan's first step is done over and over: each time the attempt is over,
 * the next one begins, and the watchpoint moves with it. No hit costs more.
 */
static double step(const char *what)
{
	struct maple_plan plan = plan_of(site[PLACE_A], site[PLACE_B]);

	return by_half(maple_backend_module_create, what, &plan);
}

/* ---- all of it ---- */

static double bare_uprobe(void)
{
	return bare("load", PLACE_B, false);
}

static double bare_uretprobe(void)
{
	return bare("call", PLACE_CALLEE, true);
}

static double bare_watch(void)
{
	return bare("unseen", PLACES, false);
}

static double observed_new(void)
{
	return observed("walk");
}

static double observed_same(void)
{
	return observed("load");
}

static double observed_lock(void)
{
	return observed("lock");
}

static double enforced(void)
{
	return let_pass("load");
}

static double enforced_step(void)
{
	return step("store");
}

static double enforced_lock(void)
{
	return let_pass("lock");
}

static double enforced_watch(void)
{
	return step("watched");
}

enum who { NOBODY, EBPF, MODULE };

static struct row {
	const char *name;
	enum who who;
	double (*measure)(void);
	double price;
} rows[] = {
	{ "bare uprobe, stepped", NOBODY, bare_uprobe, 0 },
	{ "bare uretprobe", NOBODY, bare_uretprobe, 0 },
	{ "bare watchpoint", NOBODY, bare_watch, 0 },
	{ "observe: access, recorded", EBPF, observed_new, 0 },
	{ "observe: access, condensed", EBPF, observed_same, 0 },
	{ "observe: lock and return", EBPF, observed_lock, 0 },
	{ "enforce: access, let pass", MODULE, enforced, 0 },
	{ "enforce: a step, that ends an attempt", MODULE, enforced_step, 0 },
	{ "enforce: lock and return", MODULE, enforced_lock, 0 },
	{ "enforce: ... and its watchpoint hit", MODULE, enforced_watch, 0 },
};

#define ROWS	 (sizeof(rows) / sizeof(rows[0]))
#define BARE	 0
#define ENFORCED 6

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
static void measure(const bool can[3])
{
	double price;

	for (int k = 0; k < REPEAT; k++)
		for (size_t i = 0; i < ROWS; i++) {
			if (!can[rows[i].who])
				continue;
			price = rows[i].measure();
			if (!rows[i].price || price < rows[i].price)
				rows[i].price = price;
		}
}

int main(int argc, char **argv)
{
	struct maple_ability ability[2] = { 0 };
	bool can[3] = { true };
	double times;

	if (argc != 2 || !(program = realpath(argv[1], NULL))) {
		fprintf(stderr, "usage: price HITS\n");
		return 2;
	}
	maple_ebpf_probe(NULL, &ability[0]);
	maple_module_probe(NULL, &ability[1]);
	for (int i = 0; i < 2; i++) {
		can[i + 1] = !ability[i].error;
		if (!can[i + 1])
			printf("no %s: %s\n", i ? "module" : "ebpf",
			       ability[i].text);
	}
	if (maple_cpu_take(&cpu, 60, on_notice, NULL))
		die("CPU", "none is free");
	find_places();
	measure(can);
	printf("%-38s %10s %12s\n", "", "getpid()s", "bare uprobes");
	for (size_t i = 0; i < ROWS; i++)
		if (can[rows[i].who])
			printf("%-38s %10.1f %12.2f\n", rows[i].name,
			       rows[i].price, rows[i].price / rows[BARE].price);
	maple_cpu_give_back(&cpu);
	times = rows[ENFORCED].price / rows[BARE].price;
	if (can[MODULE] && times > MOST) {
		fprintf(stderr, "price: an enforced hit costs %.2f bare ones\n",
			times);
		return 1;
	}
	return 0;
}
