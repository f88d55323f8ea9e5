// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Signals that the program sends to itself, its children included: noted, so
 * that a death by any other one is known to come from outside. In a controlled
 * run they wake who sleeps by the run's time.
 */
#include <signal.h>
#include <unistd.h>
#include "intercept.h"

MAPLE_REAL(kill);
MAPLE_REAL(killpg);
MAPLE_REAL(raise);
MAPLE_REAL(sigqueue);
MAPLE_REAL(tgkill);
MAPLE_REAL_VERSION(pthread_kill, "GLIBC_2.34");
MAPLE_REAL(pthread_sigqueue);

/* To @pid as kill() takes it: a process, or groups that it may be in. */
static void note(pid_t pid, int signo)
{
	struct maple_shm *shm = maple_shm;

	if (shm && signo > 0 && signo <= 64 && (pid <= 0 || pid == shm->pid))
		__atomic_fetch_or(&shm->sent, 1ull << (signo - 1),
				  __ATOMIC_RELAXED);
}

MAPLE_EXPORT int kill(pid_t pid, int signo)
{
	pid_t tid;

	note(pid, signo);
	tid = pid > 0 && pid == getpid()
		      ? (pid_t)maple_sleepers_wake(MAPLE_THREAD_NONE, signo)
		      : 0;
	return tid ? REAL(tgkill)(pid, tid, signo) : REAL(kill)(pid, signo);
}

MAPLE_EXPORT int killpg(pid_t group, int signo)
{
	note(0, signo);
	return REAL(killpg)(group, signo);
}

MAPLE_EXPORT int raise(int signo)
{
	note(getpid(), signo);
	return REAL(raise)(signo);
}

MAPLE_EXPORT int sigqueue(pid_t pid, int signo, const union sigval value)
{
	note(pid, signo);
	return REAL(sigqueue)(pid, signo, value);
}

MAPLE_EXPORT int tgkill(pid_t pid, pid_t tid, int signo)
{
	note(pid, signo);
	if (maple_shm && pid == getpid())
		for (uint32_t i = 0; i < maple_shm->nthreads; i++)
			if (maple_shm->thread[i].tid == tid)
				maple_sleepers_wake(i, signo);
	return REAL(tgkill)(pid, tid, signo);
}

static void wake(pthread_t thread, int signo)
{
	uint32_t number = maple_agent_thread_find(thread);

	if (number != MAPLE_THREAD_NONE)
		maple_sleepers_wake(number, signo);
}

MAPLE_EXPORT int pthread_kill(pthread_t thread, int signo)
{
	note(getpid(), signo);
	wake(thread, signo);
	return REAL(pthread_kill)(thread, signo);
}

MAPLE_EXPORT int pthread_sigqueue(pthread_t thread, int signo,
				  const union sigval value)
{
	note(getpid(), signo);
	wake(thread, signo);
	return REAL(pthread_sigqueue)(thread, signo, value);
}
