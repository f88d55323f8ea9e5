// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that the agent needs for itself: the program may believe that its
 * handlers are installed, and that SIGTRAP is blocked. A forked child keeps
 * the agent's handlers, and so this, too.
 */
#include <errno.h>
#include <signal.h>
#include "intercept.h"

/* No header of today declares it. */
sighandler_t bsd_signal(int signo, sighandler_t handler);

MAPLE_REAL(sigaction);
MAPLE_REAL(signal);
MAPLE_REAL(__sysv_signal);
MAPLE_REAL(sigprocmask);
MAPLE_REAL_VERSION(pthread_sigmask, "GLIBC_2.32");
MAPLE_REAL(pthread_attr_setsigmask_np);

/* The calling thread believes that it has SIGTRAP blocked. */
static __thread bool trap_blocked __attribute__((tls_model("initial-exec")));

static void note_handler(int signo, sighandler_t handler)
{
	if (handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR)
		maple_sleepers_handle(signo);
}

MAPLE_EXPORT int sigaction(int signo, const struct sigaction *act,
			   struct sigaction *old)
{
	if (act && !maple_agent_fault_owns(signo))
		note_handler(signo, act->sa_handler);
	if (!maple_agent_fault_owns(signo))
		return REAL(sigaction)(signo, act, old);
	return maple_agent_fault_action(signo, act, old);
}

/*
 * The old ways to say it, for owned signals, as libc translates them
 * (siginterrupt() aside).
 */
static sighandler_t act_plainly(int signo, sighandler_t handler, int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (!(flags & SA_NODEFER))
		sigaddset(&act.sa_mask, signo);
	if (maple_agent_fault_action(signo, &act, &old) < 0)
		return SIG_ERR;
	return old.sa_handler;
}

MAPLE_EXPORT sighandler_t signal(int signo, sighandler_t handler)
{
	if (!maple_agent_fault_owns(signo)) {
		note_handler(signo, handler);
		return REAL(signal)(signo, handler);
	}
	return act_plainly(signo, handler, SA_RESTART);
}

MAPLE_EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler)
{
	return signal(signo, handler);
}

static sighandler_t signal_once(int signo, sighandler_t handler)
{
	if (!maple_agent_fault_owns(signo)) {
		note_handler(signo, handler);
		return REAL(__sysv_signal)(signo, handler);
	}
	return act_plainly(signo, handler, SA_RESETHAND | SA_NODEFER);
}

MAPLE_EXPORT sighandler_t sysv_signal(int signo, sighandler_t handler)
{
	return signal_once(signo, handler);
}

MAPLE_EXPORT sighandler_t __sysv_signal(int signo, sighandler_t handler)
{
	return signal_once(signo, handler);
}

/*
 * Masks. *@set is what to ask for instead of @from: without SIGTRAP, where
 * it would come to be blocked.
 */
static const sigset_t *without_trap(sigset_t *set, const sigset_t *from)
{
	*set = *from;
	sigdelset(set, SIGTRAP);
	return set;
}

static void believe(int how, bool trap, sigset_t *old)
{
	if (old && trap_blocked)
		sigaddset(old, SIGTRAP);
	if (how == SIG_SETMASK)
		trap_blocked = trap;
	else if (trap)
		trap_blocked = how == SIG_BLOCK;
}

#define MASK(name)                                                         \
	MAPLE_EXPORT int name(int how, const sigset_t *set, sigset_t *old) \
	{                                                                  \
		sigset_t other;                                            \
		bool trap;                                                 \
		int ret;                                                   \
                                                                           \
		if (!maple_agent_fault_owns(SIGTRAP))                      \
			return REAL(name)(how, set, old);                  \
		if (!set) {                                                \
			ret = REAL(name)(how, set, old);                   \
			if (ret == 0)                                      \
				believe(SIG_BLOCK, false, old);            \
			return ret;                                        \
		}                                                          \
		trap = sigismember(set, SIGTRAP) == 1;                     \
		ret = REAL(name)(how, without_trap(&other, set), old);     \
		if (ret == 0)                                              \
			believe(how, trap, old);                           \
		return ret;                                                \
	}

MASK(sigprocmask)
MASK(pthread_sigmask)

/* The thread that is born with it would begin with SIGTRAP blocked. */
MAPLE_EXPORT int pthread_attr_setsigmask_np(pthread_attr_t *attr,
					    const sigset_t *set)
{
	sigset_t other;

	if (set && maple_agent_fault_owns(SIGTRAP))
		set = without_trap(&other, set);
	return REAL(pthread_attr_setsigmask_np)(attr, set);
}
