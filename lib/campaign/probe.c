// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What works on this machine, and the command that mends what does not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sandbox/sandbox.h"
#include "../image/image.h"
#include "internal.h"
#include "probe.h"

/* maple_answer - one more, if there is room; an OK needs no @mend */
void maple_answer(struct maple_answers *a, const char *name, int state,
		  const char *mend, const char *fmt, ...)
{
	struct maple_probe *p;
	va_list ap;

	if (a->n == a->max)
		return;
	p = &a->probes[a->n++];
	memset(p, 0, sizeof(*p));
	p->name = name;
	p->state = state;
	va_start(ap, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	va_end(ap);
	if (state != MAPLE_PROBE_OK)
		snprintf(p->mend, sizeof(p->mend), "%s", mend);
}

static void probe_kernel(struct maple_answers *a)
{
	struct utsname u;

	uname(&u);
	if (!strcmp(u.machine, "x86_64"))
		maple_answer(a, "kernel", MAPLE_PROBE_OK, "", "%s %s on %s",
			     u.sysname, u.release, u.machine);
	else
		maple_answer(a, "kernel", MAPLE_PROBE_MISSING,
			     "use an x86-64 machine", "%s on %s", u.release,
			     u.machine);
}

static void probe_priorities(struct maple_answers *a)
{
	struct maple_error err = { "" };
	int e = maple_realtime_probe(a->host, &err);
	const char *mend = strstr(err.text, "): ");

	if (!e)
		maple_answer(a, "real-time priorities", MAPLE_PROBE_OK, "",
			     "SCHED_FIFO may be used");
	else if (e != -EPERM || !mend)
		maple_answer(a, "real-time priorities", MAPLE_PROBE_MISSING, "",
			     "%.250s", err.text);
	else
		maple_answer(
			a, "real-time priorities", MAPLE_PROBE_INFO, mend + 3,
			"refused: controlled runs hold threads asleep, and "
			"no order is forced");
}

static void probe_cpus(struct maple_answers *a)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	if (n > 1)
		maple_answer(a, "processors", MAPLE_PROBE_OK, "",
			     "%d, one of them for the target", n);
	else
		maple_answer(a, "processors", MAPLE_PROBE_INFO, "",
			     "one only: the analysis shares it with the target");
}

static void probe_ptrace(struct maple_answers *a)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (pid > 0 && !ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		maple_answer(a, "stacks of a failed run", MAPLE_PROBE_OK, "",
			     "ptrace of a child works");
	else
		maple_answer(
			a, "stacks of a failed run", MAPLE_PROBE_MISSING,
			"sudo sysctl kernel.yama.ptrace_scope=1",
			"ptrace is refused: %s; findings come without stacks",
			strerror(errno));
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
}

static volatile uint64_t word; /* that is watched */

/* The descriptor, or -1; what comes with a signal is never told of a hit. */
static int watch_word(bool signal)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = signal,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)&word,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sigtrap = signal,
		.remove_on_exec = signal,
		.disabled = signal,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* Some virtual machines hand watchpoints out, and never tell of a hit. */
static bool tells_of_hits(void)
{
	int fd = watch_word(false);
	uint64_t count = 0;

	if (fd < 0)
		return false;
	word++;
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	return count > 0;
}

/* Enforced runs do without; they then believe what their hooks see. */
static void probe_watchpoints(struct maple_answers *a)
{
	int fd = watch_word(true);

	if (fd >= 0 && tells_of_hits()) {
		maple_answer(a, "hardware watchpoints", MAPLE_PROBE_OK, "",
			     "perf events with SIGTRAP may be had, and tell of "
			     "hits");
		close(fd);
	} else if (fd >= 0) {
		maple_answer(a, "hardware watchpoints", MAPLE_PROBE_INFO, "",
			     "none: this machine hands them out, but tells of "
			     "no hit; accesses that no hook sees go unnoticed");
		close(fd);
	} else if (errno == EACCES || errno == EPERM) {
		maple_answer(a, "hardware watchpoints", MAPLE_PROBE_INFO,
			     "sudo sysctl kernel.perf_event_paranoid=2",
			     "refused: writes that no hook sees go unnoticed in "
			     "enforced runs");
	} else {
		maple_answer(
			a, "hardware watchpoints", MAPLE_PROBE_INFO, "",
			"none: %s; writes that no hook sees go unnoticed in "
			"enforced runs",
			strerror(errno));
	}
}

/* How a program is joined that runs already. */
static void answer_attach(struct maple_answers *a,
			  const struct maple_ability ability[MAPLE_HALVES])
{
	FILE *yama = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = yama ? fgetc(yama) - '0' : 0;

	if (yama)
		fclose(yama);
	if (!ability[MAPLE_HALF_MODULE].error)
		maple_answer(a, "attach", MAPLE_PROBE_OK, "",
			     "a program that runs is joined from outside");
	else if (ability[MAPLE_HALF_AGENT].error)
		maple_answer(a, "attach", MAPLE_PROBE_INFO, "",
			     "nothing joins a program that runs and forces "
			     "orders on it");
	else if (scope > 0 && geteuid())
		maple_answer(a, "attach", MAPLE_PROBE_INFO,
			     "sudo mapletest attach PID, or sudo sysctl "
			     "kernel.yama.ptrace_scope=0",
			     "the agent may not join a program that runs: "
			     "kernel.yama.ptrace_scope is %d",
			     scope);
	else
		maple_answer(a, "attach", MAPLE_PROBE_OK, "",
			     "the agent joins a program of yours that runs, "
			     "and sees no locks; maple.ko would");
}

/* What a job works in that is attached to a program. */
static void probe_sandbox(struct maple_answers *a)
{
	int files = maple_sandbox_landlock();

	if (maple_sandbox_seccomp())
		maple_answer(a, "sandbox", MAPLE_PROBE_INFO,
			     "a kernel with CONFIG_SECCOMP_FILTER",
			     "none: this kernel filters no system calls, so no "
			     "job is attached (attach --detach)");
	else if (!files)
		maple_answer(
			a, "sandbox", MAPLE_PROBE_INFO,
			"boot with landlock among the names after lsm=",
			"this kernel has no Landlock: a job that is attached "
			"may open files as its user may");
	else
		maple_answer(a, "sandbox", MAPLE_PROBE_OK, "",
			     "a job that is attached is confined by seccomp and "
			     "Landlock, version %d",
			     files);
}

/* The program is of the kind that can be tested, or NULL. */
static void probe_backends(struct maple_answers *a, const char *agent,
			   const char *program)
{
	static const char *const names[MAPLE_HALVES] = {
		[MAPLE_HALF_AGENT] = "agent",
		[MAPLE_HALF_EBPF] = "eBPF observer",
		[MAPLE_HALF_MODULE] = "maple.ko",
	};
	char *path = maple_campaign_find_agent(agent);
	struct maple_backend_options options = { .agent = path,
						 .program = program,
						 .host = a->host,
						 .observer = a->observer };
	struct maple_pair_choice choice;
	struct maple_error err = { "" };
	int i, e = maple_pair_choose(NULL, &options, &choice, &err);
	struct maple_ability ability[MAPLE_HALVES];
	const struct maple_ability *half;

	maple_pair_look(&options, ability);
	/* What is not needed is no fault. */
	for (i = 0; i < MAPLE_HALVES; i++) {
		half = &ability[i];
		maple_answer(a, names[i],
			     !half->error ? MAPLE_PROBE_OK
			     : e	  ? MAPLE_PROBE_MISSING
					  : MAPLE_PROBE_INFO,
			     half->mend, "%s", half->text);
	}
	if (e)
		maple_answer(a, "backend", MAPLE_PROBE_MISSING, "",
			     "none: %.240s", err.text);
	else
		maple_answer(a, "backend", MAPLE_PROBE_OK, "",
			     "--backend auto takes %s, %.200s",
			     maple_pair_name(&choice), choice.why);
	answer_attach(a, ability);
	free(path);
}

/* Returns its path, to be freed; NULL if it cannot be tested. */
static char *probe_program(struct maple_answers *a, const char *name)
{
	const struct maple_image_stats *stats;
	struct maple_error err = { "" };
	struct maple_image *image;
	char *path = NULL;
	uint32_t sites;

	if (maple_campaign_find_program(name, &path, &err) ||
	    maple_campaign_check_program(path, NULL, &err) ||
	    maple_image_open(path, &image, &err)) {
		maple_answer(a, "program", MAPLE_PROBE_MISSING,
			     "see the reason given", "%.250s", err.text);
		free(path);
		return NULL;
	}
	stats = maple_image_stats(image);
	maple_image_sites(image, &sites);
	maple_answer(a, "program", MAPLE_PROBE_OK, "",
		     "%.120s: %u sites, %llu of them out of a jump's reach",
		     path, sites,
		     (unsigned long long)stats->ways[MAPLE_WAY_TRAP]);
	maple_image_destroy(image);
	return path;
}

/* maple_campaign_probe - see maple/campaign.h */
unsigned int maple_campaign_probe(char *const *argv, const char *agent,
				  struct maple_host *host, const char *observer,
				  struct maple_probe *probes, unsigned int max)
{
	struct maple_answers a = {
		.probes = probes, .max = max, .host = host, .observer = observer
	};
	char *program = NULL;

	probe_kernel(&a);
	probe_priorities(&a);
	maple_machine_probe(&a, "/");
	probe_cpus(&a);
	probe_ptrace(&a);
	probe_watchpoints(&a);
	probe_sandbox(&a);
	if (argv && argv[0])
		program = probe_program(&a, argv[0]);
	probe_backends(&a, agent, program);
	free(program);
	return a.n;
}
