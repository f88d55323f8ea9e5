// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs a program under sessions of maple.ko:
 *   session [OPTION]... -- PROGRAM [ARGUMENT]...
 *     -n RUNS       how often [1]
 *     -s SCHED      native, older, younger, plan [plan with -i, else older]
 *     -i A:K:B:L    force idiom 1 on labels insn_A (kind K) => insn_B (L)
 *     -d MS         deadline [10000]
 *     -t TRY        of the plan [3]
 *     -e            every run must expose the plan
 *     -f            every run must fail, by signal or status
 *     -m MISSES     ... but for so many of either [0]
 *     -a TIMES      one that misses is done again, so often in all [0]
 *     -k MS         kill the target after so long
 *     -q MS         end the session after so long; the target must then be as
 *                   it was natively, and is killed
 *     -x MS         run it in a process that is killed within so long; the same
 *     -r MS         ... when it has run on for so long, with no end of its own
 *     -o STATE      the session must end in that state
 *     -l MS         it is executed so long after the session has begun
 *     -w            a watchpoint must tell of a write, and end an attempt
 *     -v            print the log
 *
 * Labels are followed by next_A: r and w are accesses to (%rdi), 8 bytes.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "backend/kernel/module/control.h"

#define RDI 7

/* A step has ten: a busy host may take a guest's CPU away for a second. */
#define SLICE_MS 500

static struct {
	int runs, sched, try, deadline, kill_ms, quit_ms, end_ms, rest_ms,
		late_ms, state, misses, again;
	bool expose, fail, told, verbose;
	const char *iroot;
	char **argv;
} opt = { .runs = 1, .sched = -1, .try = 3, .deadline = 10000, .state = -1 };

static unsigned int exposed, failed, unclean;
static int target_pipe = -1; /* to tell who kills us of the target */

static void die(const char *what, const char *why)
{
	fprintf(stderr, "session: %s: %s\n", what, why);
	exit(3);
}

/* File offset of a symbol. */
static uint64_t label(const char *path, const char *prefix, char name)
{
	char want[16];
	Elf_Scn *scn = NULL;
	uint64_t at = 0;
	GElf_Shdr sh;
	GElf_Phdr ph;
	GElf_Sym sym;
	size_t n;
	Elf *elf;
	int fd;

	snprintf(want, sizeof(want), "%s_%c", prefix, name);
	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		die(path, "no ELF file");
	while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &sh)) {
		for (size_t i = 0;
		     sh.sh_type == SHT_SYMTAB && i < sh.sh_size / sh.sh_entsize;
		     i++) {
			gelf_getsym(elf_getdata(scn, NULL), i, &sym);
			if (!strcmp(elf_strptr(elf, sh.sh_link, sym.st_name),
				    want))
				at = sym.st_value;
		}
	}
	if (!at)
		die(want, "no such label");
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		gelf_getphdr(elf, i, &ph);
		if (ph.p_type == PT_LOAD && at >= ph.p_vaddr &&
		    at < ph.p_vaddr + ph.p_filesz) {
			at += ph.p_offset - ph.p_vaddr;
			break;
		}
	}
	elf_end(elf);
	close(fd);
	return at;
}

static unsigned int kind(char c)
{
	return c == 'w' ? MAPLE_EV_WRITE : MAPLE_EV_READ;
}

static void fill(struct maple_uapi_probe *p, const char *path, char name,
		 char how, uint32_t number)
{
	*p = (struct maple_uapi_probe){
		.offset = label(path, "insn", name),
		.next = label(path, "next", name),
		.number = number,
		.size = 8,
		.flags = MAPLE_PROBE_WANTED,
		.kind = kind(how),
		.base = RDI,
		.index = MAPLE_REG_ABSENT,
		.aux = MAPLE_REG_ABSENT,
	};
}

static void nap(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void print_log(struct maple_control *c)
{
	struct maple_log_entry e[MAPLE_PER_MESSAGE];
	int n;

	while ((n = maple_control_log(c, e, NULL)) > 0)
		for (int i = 0; i < n && opt.verbose; i++)
			printf("%u kind %u site %#x addr %#llx value %#llx "
			       "aux %u flags %u\n",
			       e[i].event.thread, e[i].event.kind,
			       e[i].event.site,
			       (unsigned long long)e[i].event.addr,
			       (unsigned long long)e[i].event.value,
			       e[i].event.aux, e[i].event.flags);
}

static pid_t spawn(int go[2])
{
	pid_t pid;
	char c;

	if (pipe(go))
		die("pipe", strerror(errno));
	pid = fork();
	if (pid)
		return pid;
	dup2(go[0], STDIN_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	if (read(STDIN_FILENO, &c, 1) == 1)
		execv(opt.argv[0], opt.argv);
	_exit(127);
}

static void start(struct maple_control *c, pid_t pid, struct maple_error *err)
{
	const char *i = opt.iroot;
	struct maple_uapi_probe probe[2];
	struct maple_control_order order = {
		.pidfd = syscall(SYS_pidfd_open, pid, 0),
		.cpu = 1,
		.sched = opt.sched,
		.deadline_ms = opt.deadline,
	};
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	struct maple_plan plan;
	int fd;

	if (i) {
		iroot.e[0].site = 0;
		iroot.e[0].kind = kind(i[2]);
		iroot.e[1].site = 1;
		iroot.e[1].kind = kind(i[6]);
		maple_plan_init(&plan, &iroot, opt.try, 0, 1);
		plan.slice_ms = SLICE_MS;
		order.plan = &plan;
	}
	if (maple_control_start(c, &order, err))
		die("start", err->text);
	close(order.pidfd);
	if (!i)
		return;
	fill(&probe[0], opt.argv[0], i[0], i[2], 0);
	fill(&probe[1], opt.argv[0], i[4], i[6], 1);
	fd = open(opt.argv[0], O_RDONLY);
	if (maple_control_probes(c, fd, probe, 2, err))
		die("probes", err->text);
	close(fd);
}

/* The target's end; -1 if it is left alone before that. */
static int follow(struct maple_control *c, pid_t pid)
{
	struct maple_control_status st;
	double began = now();
	struct maple_error err;
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (opt.quit_ms && now() - began > opt.quit_ms)
			return -1;
		if (opt.kill_ms && now() - began > opt.kill_ms)
			kill(pid, SIGKILL);
		if (maple_control_status(c, false, &st, &err))
			die("status", err.text);
		if (st.state == MAPLE_SESSION_CRASHED)
			maple_control_resume(c, &err);
		print_log(c);
		nap(2);
	}
	return status;
}

/* What has ended has nothing to get back. */
static bool has_ended(pid_t pid, int tid)
{
	char path[64], state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state == 'X' || state == 'Z';
}

/* Every thread of @pid has an ordinary policy and all CPUs. */
static bool is_native(pid_t pid)
{
	char path[64];
	struct dirent *e;
	bool native = true;
	cpu_set_t set;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		int tid = atoi(e->d_name);
		int policy = tid ? sched_getscheduler(tid) : -1;

		if (policy < 0 || sched_getaffinity(tid, sizeof(set), &set))
			continue;
		if (policy == SCHED_OTHER &&
		    CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN))
			continue;
		if (!has_ended(pid, tid))
			native = false;
	}
	if (dir)
		closedir(dir);
	return native;
}

/* Nobody else waits for it: we are a subreaper. */
static void end_target(pid_t pid)
{
	int status;

	if (!is_native(pid)) {
		fprintf(stderr, "session: %d is not as it was\n", pid);
		unclean++;
	}
	nap(opt.rest_ms);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) == pid && opt.rest_ms &&
	    status != SIGKILL) {
		fprintf(stderr, "session: %d ended: %#x\n", pid, status);
		unclean++;
	}
}

static void look(struct maple_control *c, struct maple_control_status *st)
{
	struct maple_error err;

	if (maple_control_status(c, true, st, &err))
		die("status", err.text);
}

static void run_once(void)
{
	struct maple_control_status st;
	struct maple_control *c;
	struct maple_error err;
	int go[2], status;
	pid_t pid;

	/* Before there is a socket, or the session would be held by both. */
	pid = spawn(go);
	close(go[0]);
	if (maple_control_open(&c, &err))
		die("open", err.text);
	if (target_pipe >= 0 && write(target_pipe, &pid, sizeof(pid)) < 0)
		die("write", strerror(errno));
	start(c, pid, &err);
	nap(opt.late_ms);
	if (write(go[1], "", 1) != 1)
		die("write", strerror(errno));
	close(go[1]);
	status = follow(c, pid);
	print_log(c);
	look(c, &st);
	/* The watchdog may not have seen its end yet. */
	for (int ms = 0; status >= 0 && (int)st.state < opt.state && ms < 1000;
	     ms++) {
		nap(1);
		free(st.threads);
		look(c, &st);
	}
	exposed += st.result.exposed;
	failed += status > 0;
	unclean += st.counters.lost || st.counters.refused ||
		   st.counters.unreached || st.result.broken;
	if (opt.verbose)
		printf("status %#x state %u exposed %u attempts %u holds %u "
		       "steps %#x reached %#x; hits %llu threads %u prio %llu "
		       "refused %llu spins %llu watches %llu told %llu/%llu "
		       "sleeps %llu\n",
		       status, st.state, st.result.exposed, st.result.attempts,
		       st.result.holds, st.result.steps, st.result.reached,
		       (unsigned long long)st.counters.hits, st.nthreads,
		       (unsigned long long)st.counters.priorities,
		       (unsigned long long)st.counters.refused,
		       (unsigned long long)st.counters.spins,
		       (unsigned long long)st.counters.watches,
		       (unsigned long long)st.counters.watch_told,
		       (unsigned long long)st.counters.watch_hits,
		       (unsigned long long)st.counters.holds);
	if (opt.told && (!st.counters.watch_told || !st.result.attempts)) {
		fprintf(stderr, "session: the watch has not told\n");
		unclean++;
	}
	if (opt.state >= 0 && (int)st.state != opt.state) {
		fprintf(stderr, "session: it is in state %u\n", st.state);
		unclean++;
	}
	free(st.threads);
	maple_control_close(c);
	if (status < 0)
		end_target(pid);
}

/* Whoever holds the session dies at any moment. */
static void run_killed(void)
{
	pid_t holder, target;
	int at[2];

	if (pipe(at))
		die("pipe", strerror(errno));
	holder = fork();
	if (holder == 0) {
		target_pipe = at[1];
		run_once();
		_exit(0);
	}
	close(at[1]);
	if (read(at[0], &target, sizeof(target)) != sizeof(target))
		die("holder", "no target");
	close(at[0]);
	nap(rand() % opt.end_ms);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	end_target(target);
}

/* Once more if the run has missed what it must do, and is not to count. */
static void run_until_it_counts(void)
{
	unsigned int shown = exposed, broke = failed;

	for (;;) {
		run_once();
		if (!(opt.expose && exposed == shown) &&
		    !(opt.fail && failed == broke))
			return;
		if (!opt.again)
			return;
		opt.again--;
		exposed = shown;
		failed = broke;
	}
}

int main(int argc, char **argv)
{
	static const char *const scheds[] = { "native", "older", "younger",
					      "plan" };
	int o;

	while ((o = getopt(argc, argv, "+n:s:i:d:t:k:q:x:r:o:l:m:a:efwv")) > 0) {
		switch (o) {
		case 'n':
			opt.runs = atoi(optarg);
			break;
		case 's':
			for (int i = 0; i < 4; i++)
				if (!strcmp(optarg, scheds[i]))
					opt.sched = i;
			break;
		case 'i':
			opt.iroot = optarg;
			break;
		case 'd':
			opt.deadline = atoi(optarg);
			break;
		case 't':
			opt.try = atoi(optarg);
			break;
		case 'k':
			opt.kill_ms = atoi(optarg);
			break;
		case 'q':
			opt.quit_ms = atoi(optarg);
			break;
		case 'x':
			opt.end_ms = atoi(optarg);
			break;
		case 'r':
			opt.rest_ms = atoi(optarg);
			break;
		case 'o':
			opt.state = atoi(optarg);
			break;
		case 'l':
			opt.late_ms = atoi(optarg);
			break;
		case 'm':
			opt.misses = atoi(optarg);
			break;
		case 'a':
			opt.again = atoi(optarg);
			break;
		case 'e':
			opt.expose = true;
			break;
		case 'f':
			opt.fail = true;
			break;
		case 'w':
			opt.told = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		default:
			return 2;
		}
	}
	opt.argv = argv + optind;
	if (!opt.argv[0])
		die("usage", "no program");
	if (opt.sched < 0)
		opt.sched = opt.iroot ? MAPLE_UAPI_PLAN : MAPLE_UAPI_OLDER;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < opt.runs; i++) {
		if (opt.end_ms)
			run_killed();
		else
			run_until_it_counts();
	}
	printf("%d runs, %u exposed, %u failed, %u unclean\n", opt.runs,
	       exposed, failed, unclean);
	return (opt.expose && (int)exposed < opt.runs - opt.misses) ||
	       (opt.fail && (int)failed < opt.runs - opt.misses) || unclean;
}
