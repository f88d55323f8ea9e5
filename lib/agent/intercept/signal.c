// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that the agent needs for itself: the program may believe that its
 * handlers are installed, and that SIGTRAP is blocked. A forked child keeps
 * the agent's handlers, and so this, too.
 *
 * Who is told to end by a signal serves no more, so the handlers of such signals
 * are called by the agent's own, which notes it. That, too, nobody sees.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
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

static const int ends[] = { SIGTERM, SIGINT, SIGQUIT };

#define ENDS (sizeof(ends) / sizeof(*ends))

/* Each form of a handler as the old one. */
#define HANDLER(fn) ((sighandler_t)(void (*)(void))(fn))

static sighandler_t called[ENDS]; /* what the program has installed last */

/* Where the program's handler of @signo is; NULL: it does not end a server. */
static sighandler_t *called_for(int signo)
{
	for (unsigned int i = 0; i < ENDS; i++)
		if (ends[i] == signo)
			return &called[i];
	return NULL;
}

static void note_stop(int signo)
{
	if (called_for(signo) && maple_agent_on())
		maple_agent_note(MAPLE_EV_STOP, MAPLE_SITE_NONE, NULL, 0, 0, 0);
}

/* All three are there, whatever the handler was installed as. */
static void on_end(int signo, siginfo_t *info, void *context)
{
	struct sigaction act = { .sa_handler = *called_for(signo) };

	note_stop(signo);
	act.sa_sigaction(signo, info, context);
}

/*
 * What the kernel is to call for @handler, and what the program is to believe
 * that it called before. The one that is remembered may be called a little
 * before it is installed.
 */
static sighandler_t wrap(int signo, sighandler_t handler)
{
	sighandler_t *of = called_for(signo);

	if (!of || handler == SIG_DFL || handler == SIG_IGN ||
	    handler == SIG_ERR)
		return handler;
	if (handler != HANDLER(on_end))
		*of = handler;
	return HANDLER(on_end);
}

static sighandler_t unwrap(sighandler_t handler, sighandler_t was)
{
	return handler == HANDLER(on_end) ? was : handler;
}

/* What is remembered of @signo now. */
static sighandler_t remembered(int signo)
{
	return called_for(signo) ? *called_for(signo) : SIG_DFL;
}

static void remember(int signo, sighandler_t handler)
{
	if (called_for(signo))
		*called_for(signo) = handler;
}

MAPLE_EXPORT int sigaction(int signo, const struct sigaction *act,
			   struct sigaction *old)
{
	sighandler_t was = remembered(signo);
	struct sigaction ours;
	int ret;

	if (maple_agent_fault_owns(signo))
		return maple_agent_fault_action(signo, act, old);
	if (act) {
		note_handler(signo, act->sa_handler);
		ours = *act;
		ours.sa_handler = wrap(signo, act->sa_handler);
		act = &ours;
	}
	ret = REAL(sigaction)(signo, act, old);
	if (ret < 0)
		remember(signo, was);
	else if (old)
		old->sa_handler = unwrap(old->sa_handler, was);
	return ret;
}

static sighandler_t install(int signo, sighandler_t handler,
			    sighandler_t (*real)(int, sighandler_t))
{
	sighandler_t was = remembered(signo), had;

	note_handler(signo, handler);
	had = real(signo, wrap(signo, handler));
	if (had == SIG_ERR)
		remember(signo, was);
	return unwrap(had, was);
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
	if (!maple_agent_fault_owns(signo))
		return install(signo, handler, REAL(signal));
	return act_plainly(signo, handler, SA_RESTART);
}

MAPLE_EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler)
{
	return signal(signo, handler);
}

static sighandler_t signal_once(int signo, sighandler_t handler)
{
	if (!maple_agent_fault_owns(signo))
		return install(signo, handler, REAL(__sysv_signal));
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

/* ---- Signals that are waited for. ---- */

static void about_to_wait(const void *caller)
{
	if (maple_agent_on())
		maple_agent_note(MAPLE_EV_BLOCK,
				 maple_agent_call(caller, MAPLE_EV_BLOCK), NULL,
				 0, 0, 0);
}

MAPLE_REAL(sigwait);
MAPLE_REAL(sigwaitinfo);
MAPLE_REAL(sigtimedwait);

MAPLE_EXPORT int sigwait(const sigset_t *set, int *signo)
{
	int ret;

	about_to_wait(CALLER);
	ret = REAL(sigwait)(set, signo);
	if (ret == 0)
		note_stop(*signo);
	return ret;
}

MAPLE_EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	int ret;

	about_to_wait(CALLER);
	ret = REAL(sigwaitinfo)(set, info);
	if (ret > 0)
		note_stop(ret);
	return ret;
}

MAPLE_EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info,
			      const struct timespec *timeout)
{
	int ret;

	about_to_wait(CALLER);
	ret = REAL(sigtimedwait)(set, info, timeout);
	if (ret > 0)
		note_stop(ret);
	return ret;
}

/* ---- Signals that are read. ---- */

#define FDS 1024 /* beyond, they are not looked at */

static bool reads_signals[FDS]; /* was made by signalfd() once */

MAPLE_REAL(signalfd);

MAPLE_EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	int made = REAL(signalfd)(fd, set, flags);

	if (made >= 0 && made < FDS)
		reads_signals[made] = true;
	return made;
}

/* The program may have closed it, and have another file by this number. */
static bool still_reads_signals(int fd)
{
	static const char what[] = "anon_inode:[signalfd]";
	char link[32], target[sizeof(what)];
	int saved = errno;
	ssize_t n, i = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, target, sizeof(target));
	errno = saved;
	/* memcmp() would be ours: a read of the program's. */
	while (i < n && target[i] == what[i])
		i++;
	return n == sizeof(what) - 1 && i == n;
}

/* maple_signals_read - the program has read @n bytes at @buf from @fd */
void maple_signals_read(int fd, const void *buf, ssize_t n)
{
	const struct signalfd_siginfo *info = buf;

	if (fd < 0 || fd >= FDS || !reads_signals[fd] ||
	    n < (ssize_t)sizeof(*info) || !still_reads_signals(fd))
		return;
	for (size_t i = 0; i < n / sizeof(*info); i++)
		note_stop(info[i].ssi_signo);
}

/* ---- Masks. ---- */

/*
 * *@set is what to ask for instead of @from: without SIGTRAP, where
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
