// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server under load, for who attaches to it:  server KIND [THREADS [UID]]
 * Its threads serve requests from a pipe, one of which another process writes
 * every few milliseconds, so that as a rule there is none beside it. With UID
 * it gives up root for that user first, as servers do, and may not be traced by
 * that user from then on.
 *
 * crash     'g' looks whether there is a session and then uses it, 'r' takes
 *           it away for a moment, without a lock (R, W, R: idiom 2)
 * wrong     as crash, but 'g' looks again, lives on, and says "wrong"
 * deadlock  'g' and 'r' take two locks in opposite orders; main does not wait
 * clean     the session is used under its lock
 * traced    clean, and its parent traces it
 * filtered  clean, and a seccomp filter kills it for a uretprobe's system call
 */
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EVERY 10000000 /* ns */

struct session {
	long uses;
};

static struct session sessions[2];
static struct session *volatile session = &sessions[0];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t book = PTHREAD_MUTEX_INITIALIZER;
static long served;
static int requests[2];
static char kind;

static void use(void)
{
	if (session)
		session->uses++;
}

static void use_or_tell(void)
{
	static const char said[] = "wrong\n";

	/* It was there, and is no more. */
	if (!session || session)
		return;
	if (write(STDOUT_FILENO, said, sizeof(said) - 1) < 0)
		_exit(1);
}

static void renew(long n)
{
	session = NULL;
	session = &sessions[n % 2];
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	served++;
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}

static void serve(char request)
{
	long n;

	if (kind == 'd') {
		if (request == 'g')
			both(&guard, &book);
		else
			both(&book, &guard);
		return;
	}
	pthread_mutex_lock(&book);
	n = ++served;
	pthread_mutex_unlock(&book);
	if (kind == 'c')
		pthread_mutex_lock(&guard);
	if (request != 'g')
		renew(n);
	else if (kind == 'w')
		use_or_tell();
	else
		use();
	if (kind == 'c')
		pthread_mutex_unlock(&guard);
}

static void *worker(void *arg)
{
	char request;

	while (read(requests[0], &request, 1) == 1)
		serve(request);
	return NULL;
}

/* Ends with the server, whose pipe nobody reads then. */
static void load(void)
{
	struct timespec pause = { 0, EVERY };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(requests[0]);
	for (long n = 0; write(requests[1], n % 5 ? "g" : "r", 1) == 1; n++)
		nanosleep(&pause, NULL);
	_exit(0);
}

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 335, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(1);
}

static int give_up_root(int uid)
{
	return setgroups(0, NULL) || setresgid(uid, uid, uid) ||
	       setresuid(uid, uid, uid);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 3;
	pthread_t thread;

	kind = !strcmp(argv[1], "crash")  ? 'x'
	       : strchr("dw", argv[1][0]) ? argv[1][0]
					  : 'c';
	if (pipe(requests) || (argc > 3 && give_up_root(atoi(argv[3]))))
		return 1;
	if (!strcmp(argv[1], "traced")) {
		if (fork())
			return wait(NULL) < 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME);
	}
	if (!strcmp(argv[1], "filtered"))
		filter();
	if (!fork())
		load();
	close(requests[1]);
	while (threads-- > 0)
		pthread_create(&thread, NULL, worker, NULL);
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
