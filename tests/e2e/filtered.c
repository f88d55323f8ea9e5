// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A strict filter of system calls: only what this program itself needs, and
 * that threads need to end, is let through; anything else kills it.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LET(nr)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&lock);
		count++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		LET(SYS_write),
		LET(SYS_exit_group),
		LET(SYS_exit),
		LET(SYS_futex),
		LET(SYS_clone3),
		LET(SYS_mmap),
		LET(SYS_mprotect),
		LET(SYS_munmap),
		LET(SYS_madvise),
		LET(SYS_rseq),
		LET(SYS_newfstatat),
		LET(SYS_set_robust_list),
		LET(SYS_brk),
		LET(SYS_rt_sigprocmask),
		LET(SYS_getrandom),
		LET(SYS_rt_sigaction),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };
	pthread_t threads[2];

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (argc > 1 && !strcmp(argv[1], "syscall"))
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	else
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", count);
	return 0;
}
