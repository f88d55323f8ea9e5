// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether this kernel lets seccomp filters see its own uretprobes. From 6.11
 * a probed function returns by a system call, and until 6.14 (6.13.3, and the
 * 6.12 of that time) a filter that does not know it kills the process for it.
 * Two children try, since distributions mend what a version does not tell.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend/backend.h"

#define SYS_URETPROBE 335 /* on x86-64 */

enum { UNKNOWN, FILTERED, NO_SUCH_CALL };

/* The kernel kills for a uretprobe() that is not its own. */
static void child(bool filter)
{
	static const struct rlimit no_core = { 0, 0 };
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_URETPROBE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	setrlimit(RLIMIT_CORE, &no_core);
	signal(SIGILL, SIG_DFL);
	if (filter && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		_exit(UNKNOWN);
	if (syscall(SYS_URETPROBE) != -1)
		_exit(UNKNOWN);
	_exit(errno == EDOM	? FILTERED
	      : errno == ENOSYS ? NO_SUCH_CALL
				: UNKNOWN);
}

static int try(bool filter)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		child(filter);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return UNKNOWN;
	return WEXITSTATUS(status);
}

bool maple_uretprobe_is_filtered(void)
{
	return try(false) != NO_SUCH_CALL && try(true) == FILTERED;
}
