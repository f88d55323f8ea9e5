// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The guard as a tracer, for backends that work from outside the program: it
 * stops the program under test at its ELF entry point, when the dynamic
 * loader has mapped what it is linked with, and keeps it standing when it
 * crashes.
 *
 *   SEEKS -exec-> LOADS -int3-> STANDS -go-> RUNS -fatal-> FREEZES -> FROZEN
 *                                         \-> LEFT           let_die -> LEFT
 *
 * With --exe, the program under test is the first of the tree that matches;
 * until then forks are followed, and afterwards whoever else is traced is let
 * go at its next stop.
 *
 * While it runs, a thread is stopped where it creates another and where a
 * signal is delivered, nowhere else. To keep these stops from changing the
 * schedule, the guard then has the highest priority on the target's CPU: it
 * is the one that runs while the thread waits for it, and nobody gets ahead.
 * The price: gdb and strace find the program taken.
 *
 * A crash is kept by job control, not by ptrace: the fatal signal is replaced
 * by SIGSTOP, which stops all threads and leaves them to be attached to by
 * who reads their stacks. To die, the thread gets its signal once more.
 *
 * Or it is asked which system call a program was killed for by its own seccomp
 * filter (ASKS): then it follows the whole tree to its end.
 *
 * PTRACE_O_EXITKILL: nothing that is traced survives the guard.
 */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fault.h"
#include "backend/backend.h"
#include "backend/process.h"
#include "tracer.h"

#define FREEZE_LOOKS 2000 /* a millisecond each: then it counts as frozen */
#define THREADS	     4096

/* Where the thread's signals and events are told. */
#define OPTIONS_SEEK (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)
#define OPTIONS_TREE \
	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

/*
 * maple_tracer_begin - attaches to @pid, which has not executed the program
 *
 * Returns 0 or -errno.
 */
int maple_tracer_begin(struct maple_tracer *t,
		       const struct maple_launch_order *order, pid_t pid)
{
	long options = OPTIONS_SEEK;

	if (order->exe || order->ask_call)
		options |= OPTIONS_TREE;
	if (order->ask_call)
		options |= PTRACE_O_TRACEEXIT;
	memset(t, 0, sizeof(*t));
	t->order = order;
	t->call = -1;
	if (ptrace(PTRACE_SEIZE, pid, NULL, options))
		return -errno;
	t->phase = order->ask_call ? MAPLE_TRACER_ASKS : MAPLE_TRACER_SEEKS;
	return 0;
}

/* Whether what each phase stands for is there: a target, its entry, a crash. */
static bool is_sound(const struct maple_tracer *t)
{
	switch (t->phase) {
	case MAPLE_TRACER_OFF:
	case MAPLE_TRACER_SEEKS:
	case MAPLE_TRACER_ASKS:
		return !t->target;
	case MAPLE_TRACER_LOADS:
	case MAPLE_TRACER_STANDS:
		return t->target && t->entry;
	case MAPLE_TRACER_RUNS:
		return t->target && t->order->keep_crashed;
	case MAPLE_TRACER_FREEZES:
	case MAPLE_TRACER_FROZEN:
		return t->target && t->order->keep_crashed && t->crash.tid &&
		       t->crash.pid == t->target && t->crash.signo > 0;
	case MAPLE_TRACER_LEFT:
		return t->target;
	}
	return false;
}

static bool of_target(const struct maple_tracer *t, pid_t tid)
{
	return t->target && !syscall(SYS_tgkill, t->target, tid, 0);
}

/* An int3 at the entry point. */
static bool plant(struct maple_tracer *t)
{
	t->entry = maple_process_auxiliary(t->target, AT_ENTRY);
	if (!t->entry)
		return false;
	errno = 0;
	t->text = ptrace(PTRACE_PEEKTEXT, t->target, t->entry, NULL);
	return !errno && !ptrace(PTRACE_POKETEXT, t->target, t->entry,
				 (t->text & ~0xffl) | 0xcc);
}

static void executed(struct maple_tracer *t, pid_t pid)
{
	long options = PTRACE_O_EXITKILL;

	if (t->phase != MAPLE_TRACER_SEEKS ||
	    (t->order->exe && !maple_process_runs(pid, t->order->exe)))
		return;
	assert(!t->target); /* a program is sought once */
	t->target = pid;
	if (t->order->keep_crashed)
		options |= PTRACE_O_TRACECLONE;
	/* What cannot be stopped runs on, and is not delivered. */
	t->phase = MAPLE_TRACER_LEFT;
	if (!ptrace(PTRACE_SETOPTIONS, pid, NULL, options) && plant(t))
		t->phase = MAPLE_TRACER_LOADS;
}

static uint64_t pc_of(pid_t tid)
{
	return ptrace(PTRACE_PEEKUSER, tid,
		      offsetof(struct user_regs_struct, rip), NULL);
}

static bool at_entry(struct maple_tracer *t, pid_t tid, int signo)
{
	if (t->phase != MAPLE_TRACER_LOADS || signo != SIGTRAP ||
	    tid != t->target || pc_of(tid) != t->entry + 1)
		return false;
	ptrace(PTRACE_POKETEXT, tid, t->entry, t->text);
	ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rip),
	       t->entry);
	t->phase = MAPLE_TRACER_STANDS;
	return true;
}

/* ---- crashes ---- */

/* Whether nothing of the program takes signal @signo. */
static bool is_fatal(pid_t tid, int signo)
{
	unsigned long long ignored = 0, caught = 0;
	char path[64], line[256];
	FILE *file;

	if (!maple_fault_is(signo))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "SigIgn: %llx", &ignored);
		sscanf(line, "SigCgt: %llx", &caught);
	}
	fclose(file);
	return !((ignored | caught) >> (signo - 1) & 1);
}

static bool has_address(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE ||
	       signo == SIGILL || signo == SIGTRAP;
}

static bool crashes(struct maple_tracer *t, pid_t tid, int signo)
{
	siginfo_t info;

	if (t->phase != MAPLE_TRACER_RUNS || !of_target(t, tid) ||
	    !is_fatal(tid, signo))
		return false;
	assert(!t->crash.tid); /* a program crashes once */
	memset(&info, 0, sizeof(info));
	ptrace(PTRACE_GETSIGINFO, tid, NULL, &info);
	t->crash = (struct maple_crash){
		.pid = t->target,
		.tid = tid,
		.signo = signo,
		/* Sent, not raised by a fault: then there is no address. */
		.address = has_address(signo) && info.si_code > 0
				   ? (uint64_t)info.si_addr
				   : 0,
		.pc = pc_of(tid),
	};
	t->phase = MAPLE_TRACER_FREEZES;
	t->patience = FREEZE_LOOKS;
	ptrace(PTRACE_DETACH, tid, NULL, SIGSTOP);
	return true;
}

/* Stopped by job control and free to be attached to, or dead. */
static bool is_frozen(pid_t pid, pid_t tid)
{
	char path[64], line[256], state = 'X';
	int tracer = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "TracerPid: %d", &tracer);
	}
	fclose(file);
	return state == 'X' || state == 'Z' || (state == 'T' && !tracer);
}

/*
 * maple_tracer_froze - whether a crash has just become ready to be looked at;
 * to be asked every millisecond while it FREEZES
 */
bool maple_tracer_froze(struct maple_tracer *t)
{
	pid_t tids[THREADS];
	int i, n;

	if (t->phase != MAPLE_TRACER_FREEZES)
		return false;
	n = maple_process_threads(t->target, tids, THREADS);
	for (i = 0; i < n && is_frozen(t->target, tids[i]); i++)
		;
	if (i < n && t->patience--)
		return false;
	t->phase = MAPLE_TRACER_FROZEN;
	assert(is_sound(t));
	return true;
}

/* maple_tracer_let_die - the crashed thread gets its signal after all */
void maple_tracer_let_die(struct maple_tracer *t)
{
	if (t->phase != MAPLE_TRACER_FREEZES && t->phase != MAPLE_TRACER_FROZEN)
		return;
	assert(is_sound(t));
	t->phase = MAPLE_TRACER_LEFT;
	/* Before any other thread does anything more. */
	if (t->order->realtime)
		maple_realtime_rise(t->crash.tid, SCHED_FIFO,
				    MAPLE_PRIO_HOOK + 4);
	syscall(SYS_tgkill, t->target, t->crash.tid, t->crash.signo);
	kill(t->target, SIGCONT);
}

/* ---- stops ---- */

/* From here on the guard answers from the target's CPU, above the target. */
static void move_in(const struct maple_launch_order *order)
{
	cpu_set_t set;

	if (order->cpu < 0 || !order->realtime)
		return;
	maple_realtime_allow();
	if (maple_realtime_rise(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
				MAPLE_PRIO_HOOK + 5))
		return;
	CPU_ZERO(&set);
	CPU_SET(order->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* maple_tracer_go - lets the program run that stands at its entry point */
void maple_tracer_go(struct maple_tracer *t)
{
	if (t->phase != MAPLE_TRACER_STANDS)
		return;
	if (t->order->keep_crashed) {
		t->phase = MAPLE_TRACER_RUNS;
		move_in(t->order);
		ptrace(PTRACE_CONT, t->target, NULL, 0);
	} else {
		t->phase = MAPLE_TRACER_LEFT;
		ptrace(PTRACE_DETACH, t->target, NULL, 0);
	}
	assert(is_sound(t));
}

static bool wanted(const struct maple_tracer *t, pid_t tid)
{
	switch (t->phase) {
	case MAPLE_TRACER_SEEKS:
	case MAPLE_TRACER_ASKS:
		return true;
	case MAPLE_TRACER_LOADS:
	case MAPLE_TRACER_STANDS:
	case MAPLE_TRACER_RUNS:
		return of_target(t, tid);
	default:
		return false;
	}
}

/* ---- forbidden calls ---- */

static long reg_of(pid_t tid, size_t offset)
{
	errno = 0;
	return ptrace(PTRACE_PEEKUSER, tid, offset, NULL);
}

/*
 * SIGSYS that can be taken is a signal like any other. What kills is seen at
 * the end only, of each thread; the one that it was for has its registers as
 * they were before the call.
 */
static void look_for_call(struct maple_tracer *t, pid_t tid, int signo,
			  int event)
{
	unsigned long code = 0;
	siginfo_t info;
	long call;

	if (event == PTRACE_EVENT_EXIT &&
	    !ptrace(PTRACE_GETEVENTMSG, tid, NULL, &code) &&
	    WTERMSIG((int)code) == SIGSYS) {
		call = reg_of(tid, offsetof(struct user_regs_struct, orig_rax));
		if (!errno && call >= 0 &&
		    call == reg_of(tid, offsetof(struct user_regs_struct, rax)))
			t->call = (int)call;
	} else if (!event && signo == SIGSYS &&
		   !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) &&
		   info.si_code > 0) {
		t->call = info.si_syscall;
	}
}

static bool stops_jobs(int signo)
{
	return signo == SIGSTOP || signo == SIGTSTP || signo == SIGTTIN ||
	       signo == SIGTTOU;
}

/*
 * maple_tracer_stop - thread @tid of whoever we trace has stopped; the phase
 * tells what came of it
 */
void maple_tracer_stop(struct maple_tracer *t, pid_t tid, int status)
{
	int signo = WSTOPSIG(status), event = status >> 16;
	bool jobs = event == PTRACE_EVENT_STOP && stops_jobs(signo);

	assert(WIFSTOPPED(status) && t->phase != MAPLE_TRACER_OFF);
	assert(is_sound(t));
	if (t->phase == MAPLE_TRACER_ASKS)
		look_for_call(t, tid, signo, event);
	else if (event == PTRACE_EVENT_EXEC)
		executed(t, tid);
	else if (!event && (at_entry(t, tid, signo) || crashes(t, tid, signo)))
		return;
	assert(is_sound(t));
	if (event)
		signo = 0;
	if (!wanted(t, tid))
		ptrace(PTRACE_DETACH, tid, NULL, signo);
	else if (jobs)
		ptrace(PTRACE_LISTEN, tid, NULL, 0);
	else
		ptrace(PTRACE_CONT, tid, NULL, signo);
}
