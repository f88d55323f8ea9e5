// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Handles its own SIGSEGV and recovers by siglongjmp, in two threads, again and
 * again. The handler insists on the true program counter and address.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { ROUNDS = 20 };

extern const char faulting[]; /* the label in touch() */

static __thread sigjmp_buf back;
static int recovered, untrue;
static int *forbidden;

static void recover(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (uc->uc_mcontext.gregs[REG_RIP] != (greg_t)(uintptr_t)faulting ||
	    info->si_addr != forbidden)
		__atomic_add_fetch(&untrue, 1, __ATOMIC_RELAXED);
	siglongjmp(back, 1);
}

static __attribute__((noinline)) void touch(int *where)
{
	asm volatile(".globl faulting\n"
		     "faulting: movl $1, (%0)"
		     :
		     : "r"(where)
		     : "memory");
}

static void *work(void *arg)
{
	for (volatile int i = 0; i < ROUNDS; i = i + 1) {
		if (sigsetjmp(back, 1) == 0)
			touch(forbidden);
		else
			__atomic_add_fetch(&recovered, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = recover,
				    .sa_flags = SA_SIGINFO };
	pthread_t threads[2];

	forbidden =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("recovered %d, untrue %d\n", recovered, untrue);
	return recovered != 2 * ROUNDS || untrue != 0;
}
