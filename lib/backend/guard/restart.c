// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A thread that is stopped while it waits in a system call is called out of
 * it. Most calls the kernel then begins anew by itself. A few end with EINTR,
 * which a program without handlers of signals never sees otherwise: where no
 * signal has come they are to be begun anew like the others.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include "restart.h"

#define SYSCALL 0x050f /* the instruction */

/* What the kernel leaves in rax of a call that it begins anew; not in libc. */
#define RESTARTSYS    (-512)
#define RESTARTNOINT  (-513)
#define RESTARTNOHAND (-514)
#define RESTARTBLOCK  (-516)

/* Whether a call that ends with EINTR has done nothing yet. */
static bool waits_only(long nr)
{
	static const short calls[] = {
		SYS_epoll_wait,	  SYS_epoll_pwait,
		SYS_semop,	  SYS_semtimedop,
		SYS_msgrcv,	  SYS_msgsnd,
		SYS_recvfrom,	  SYS_recvmsg,
		SYS_accept,	  SYS_accept4,
		SYS_read,	  SYS_rt_sigtimedwait,
		SYS_io_getevents, 441 /* epoll_pwait2 */,
	};

	for (unsigned int i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return false;
}

/* /proc/TID has the thread's own, whether it is the main one or not. */
static bool has_signal(pid_t tid)
{
	unsigned long long bits, blocked = 0, pending = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigPnd: %llx", &bits) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &bits) == 1)
			pending |= bits;
		else if (sscanf(line, "SigBlk: %llx", &bits) == 1)
			blocked = bits;
	}
	fclose(file);
	return pending & ~blocked;
}

/*
 * maple_restart - whether thread @tid, a tracee that has stopped with @regs and
 * is to get no signal, was called out of a wait in the kernel; with *@again it
 * goes back into it, also after it has done something else
 */
bool maple_restart(pid_t tid, const struct user_regs_struct *regs,
		   struct user_regs_struct *again)
{
	long nr = (long)regs->orig_rax, ret = (long)regs->rax;

	assert(tid > 0);
	if (nr < 0 || (ret != RESTARTSYS && ret != RESTARTNOINT &&
		       ret != RESTARTNOHAND && ret != RESTARTBLOCK &&
		       !(ret == -EINTR && waits_only(nr) && !has_signal(tid))))
		return false;
	if ((ptrace(PTRACE_PEEKTEXT, tid, regs->rip - 2, NULL) & 0xffff) !=
	    SYSCALL)
		return false;
	*again = *regs;
	again->rip -= 2;
	again->rax = (uint64_t)(ret == RESTARTBLOCK ? SYS_restart_syscall : nr);
	again->orig_rax = (uint64_t)-1;
	return true;
}
