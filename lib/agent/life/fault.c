// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fatal signals. A fault in a slot is sent back to where the program knows
 * it: the patch is taken out, and the access faults again at its own PC. Then
 * the program's own handler gets it, if there is one; otherwise the crash is
 * reported, and the thread waits, above all others, until the campaign has
 * seen the stacks, and dies of the signal as it would have.
 */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>
#include "agent/core.h"
#include "agent/raw.h"

#define WAIT_MS	    2000 /* how long the campaign may look at a crash */
#define SIGS	    8	 /* bytes of the kernel's signal set */
#define SA_RESTORER 0x04000000
#define STACK	    65536
#define STAND	    16384 /* half of it or so is the frame of AMX */

/* The kernel's struct sigaction. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static const int owned[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL,
			     SIGABRT, SIGSYS, SIGTRAP };
static struct action kept[65]; /* what the program believes is installed */
static bool installed;
static void (*restorer)(void); /* libc's */
static __thread void *own_stack __attribute__((tls_model("initial-exec")));

#define IS_DEFAULT(a) ((a)->handler == (void *)SIG_DFL)
#define IS_IGNORED(a) ((a)->handler == (void *)SIG_IGN)

bool maple_agent_fault_owns(int signo)
{
	if (!installed)
		return false;
	for (unsigned int i = 0; i < sizeof(owned) / sizeof(*owned); i++)
		if (owned[i] == signo)
			return true;
	return false;
}

int maple_agent_fault_action(int signo, const struct sigaction *act,
			     struct sigaction *old)
{
	struct action *k = &kept[signo], was = *k;

	if (act) {
		k->handler = act->sa_sigaction;
		k->flags = (unsigned int)act->sa_flags;
		k->mask = act->sa_mask.__val[0];
	}
	if (old) {
		*old = (struct sigaction){ 0 };
		old->sa_sigaction = was.handler;
		old->sa_flags = was.flags & ~(unsigned long)SA_RESTORER;
		old->sa_mask.__val[0] = was.mask;
	}
	return 0;
}

/* Runs the program's handler as the kernel would have. */
static void call_kept(int signo, siginfo_t *info, ucontext_t *uc)
{
	struct action *k = &kept[signo], a = *k;
	uint64_t mask = uc->uc_sigmask.__val[0] | a.mask;
	uint32_t inside = maple_self.inside;

	if (!(a.flags & SA_NODEFER))
		mask |= 1ull << (signo - 1);
	if (a.flags & SA_RESETHAND)
		k->handler = (void *)SIG_DFL;
	/* It may never come back, by siglongjmp. */
	maple_self.inside = 0;
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SIGS);
	/* Without SA_SIGINFO it takes the first argument only. */
	a.handler(signo, info, uc);
	maple_self.inside = inside;
}

static bool is_sent(int code)
{
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
}

static void report(int signo, const siginfo_t *info, const ucontext_t *uc)
{
	struct maple_shm *shm = maple_shm;
	uint32_t go = __atomic_load_n(&shm->go, __ATOMIC_ACQUIRE);
	uint64_t end;

	/* No other thread of the target runs from here on. */
	if (maple_shm_owns_sched(shm))
		maple_sched_set(0, MAPLE_PRIO_HOOK);
	maple_debugged_fails(signo);
	end = raw_now_ms() + WAIT_MS;
	shm->crash.signo = signo;
	shm->crash.tid = raw0(SYS_gettid);
	shm->crash.thread = maple_self.number;
	shm->crash.sender = is_sent(info->si_code) ? info->si_pid : 0;
	shm->crash.address = info->si_code > 0 ? (uint64_t)info->si_addr : 0;
	shm->crash.pc = uc->uc_mcontext.gregs[REG_RIP];
	__atomic_store_n(&shm->state, MAPLE_AGENT_CRASHED, __ATOMIC_RELEASE);
	raw_futex_wake(&shm->state);
	while (__atomic_load_n(&shm->go, __ATOMIC_ACQUIRE) == go &&
	       raw_now_ms() < end)
		__builtin_ia32_pause();
}

/* The rest is the kernel's: the signal, with its default action. */
static void die(int signo, ucontext_t *uc)
{
	struct action a = { .handler = (void *)SIG_DFL };

	raw4(SYS_rt_sigaction, signo, &a, NULL, SIGS);
	uc->uc_sigmask.__val[0] &= ~(1ull << (signo - 1));
	raw3(SYS_tgkill, raw0(SYS_getpid), raw0(SYS_gettid), signo);
}

/* As the program has them at @origin, which is still to be executed. */
static void restore(greg_t *regs, const struct maple_patch_origin *origin)
{
	static const int greg[] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX,
				    REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				    REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15 };
	const struct maple_slot_frame *frame = (void *)regs[REG_RSP];

	if (origin->reg != MAPLE_REG_NONE) {
		regs[greg[origin->reg]] = frame->reg;
		regs[REG_EFL] = frame->flags;
	}
	regs[REG_RIP] = origin->pc;
	regs[REG_RSP] += origin->stack;
}

/* Whether who stands in a handler has a stack for that. */
static bool has_room(const stack_t *stack)
{
	return stack->ss_flags & SS_DISABLE || stack->ss_size >= STAND;
}

/* Whether a fault or trap belongs to a patch, and is dealt with. */
static bool own(int signo, const siginfo_t *info, ucontext_t *uc)
{
	struct maple_patch_origin origin;
	greg_t *regs = uc->uc_mcontext.gregs;
	uint64_t to;

	if (info->si_code <= 0)
		return false; /* sent by somebody */
	if (signo == SIGTRAP) {
		/* si_perf_data, _type and _flags, which libc has no name for. */
		if (maple_net_hit(
			    info->si_code, *((uint64_t *)&info->si_addr + 1),
			    *((uint32_t *)&info->si_addr + 5), regs[REG_RIP],
			    regs[REG_RSP], has_room(&uc->uc_stack)))
			return true;
		if (maple_watch_hit(info->si_code, (uint64_t)info->si_addr,
				    *((uint64_t *)&info->si_addr + 1)))
			return true;
		if (!maple_patch_slot(regs[REG_RIP] - 1, &to))
			return false;
		regs[REG_RIP] = to;
		return true;
	}
	if (regs[REG_RIP] == (greg_t)maple_stub_load) {
		regs[REG_RIP] = (greg_t)maple_stub_loaded;
		regs[REG_RAX] = 0;
		return true;
	}
	if (regs[REG_RIP] == (greg_t)maple_stub_load_word) {
		regs[REG_RIP] = (greg_t)maple_stub_loaded_word;
		regs[REG_RAX] = 0;
		return true;
	}
	if (!maple_patch_origin(regs[REG_RIP], &origin))
		return false;
	maple_patch_remove(origin.pc);
	restore(regs, &origin);
	return true;
}

/* Where the agent is to be unloaded nobody may return to it any more. */
static void count_handler(int n)
{
	if (maple_joined && maple_shm)
		__atomic_add_fetch(&maple_shm->joined.handlers, (uint32_t)n,
				   __ATOMIC_RELAXED);
}

static void on_signal(int signo, siginfo_t *info, void *ctx)
{
	const struct action *k = &kept[signo];
	ucontext_t *uc = ctx;

	if (own(signo, info, uc))
		return;
	if (IS_IGNORED(k) && info->si_code <= 0)
		return;
	if (!IS_DEFAULT(k) && !IS_IGNORED(k)) {
		count_handler(1);
		call_kept(signo, info, uc);
		count_handler(-1);
		return;
	}
	maple_agent_enter();
	if (maple_shm && maple_shm->pid == maple_agent_pid)
		report(signo, info, uc);
	die(signo, uc);
}

/*
 * maple_fault_stack - a stack for the handlers, so that the end of the
 * thread's own can be reported; one that the program sets takes its place
 */
void maple_fault_stack(void)
{
	stack_t old = { 0 }, ours = { .ss_size = STACK };

	raw2(SYS_sigaltstack, NULL, &old);
	if (!(old.ss_flags & SS_DISABLE))
		return;
	ours.ss_sp = maple_lock_memory(STACK);
	if (ours.ss_sp && !raw_failed(raw2(SYS_sigaltstack, &ours, NULL)))
		own_stack = ours.ss_sp;
}

/*
 * What is not set any more is not ours to unmap: sanitizers unmap the stack
 * that they find set at a thread's end, and there may be something else now.
 */
void maple_fault_stack_drop(void)
{
	stack_t off = { .ss_flags = SS_DISABLE }, old = { 0 };

	if (!own_stack)
		return;
	raw2(SYS_sigaltstack, NULL, &old);
	if (old.ss_sp == own_stack && !(old.ss_flags & SS_ONSTACK)) {
		raw2(SYS_sigaltstack, &off, NULL);
		raw2(SYS_munmap, own_stack, STACK);
	}
	own_stack = NULL;
}

/*
 * libc's way back from a handler: the one that unwinders have unwind tables
 * for, so that a crash is seen through our handler.
 */
static void (*restorer_of_libc(void))(void)
{
	int (*set)(int, const struct sigaction *, struct sigaction *) =
		maple_agent_real("sigaction");
	struct sigaction any = { 0 };
	struct action a = { 0 }, was;

	raw4(SYS_rt_sigaction, SIGTRAP, NULL, &was, SIGS);
	any.sa_handler = SIG_IGN;
	set(SIGTRAP, &any, NULL);
	raw4(SYS_rt_sigaction, SIGTRAP, NULL, &a, SIGS);
	raw4(SYS_rt_sigaction, SIGTRAP, &was, NULL, SIGS);
	return a.restorer;
}

/* maple_fault_start - installs the handlers, keeps what was there */
void maple_fault_start(void)
{
	struct action a = { on_signal, SA_SIGINFO | SA_ONSTACK | SA_RESTORER };

	a.restorer = restorer = restorer_of_libc();
	for (unsigned int i = 0; i < sizeof(owned) / sizeof(*owned); i++) {
		/* Who stands in its handler (net.c) may run other handlers. */
		a.flags &= ~(unsigned long)SA_NODEFER;
		if (owned[i] == SIGTRAP)
			a.flags |= SA_NODEFER;
		raw4(SYS_rt_sigaction, owned[i], &a, &kept[owned[i]], SIGS);
	}
	installed = true;
}

/* maple_fault_restorer - what handlers of signals return to */
uint64_t maple_fault_restorer(void)
{
	return (uint64_t)restorer;
}

/*
 * maple_fault_leave - the same where the program may have installed its own
 * meanwhile, past us: they stay
 */
void maple_fault_leave(void)
{
	struct action now;

	installed = false;
	for (unsigned int i = 0; i < sizeof(owned) / sizeof(*owned); i++) {
		raw4(SYS_rt_sigaction, owned[i], NULL, &now, SIGS);
		if (now.handler == on_signal)
			raw4(SYS_rt_sigaction, owned[i], &kept[owned[i]], NULL,
			     SIGS);
	}
}

/* maple_fault_end - what the program believes is installed becomes true */
void maple_fault_end(void)
{
	struct action a;

	installed = false;
	for (unsigned int i = 0; i < sizeof(owned) / sizeof(*owned); i++) {
		a = kept[owned[i]];
		a.flags |= SA_RESTORER;
		a.restorer = restorer;
		raw4(SYS_rt_sigaction, owned[i], &a, NULL, SIGS);
	}
}
