// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Correct programs that look as if they failed. Two threads share a counter,
 * under a lock; what else happens is the first argument's.
 *
 *   alarm [MS] a handler posts the semaphore that all wait for, after 0.6 s
 *   timer [MS] the same by timer_create()
 *   child [MS] a child process posts it, in memory that is shared
 *   preloaded  status 3 if the agent is loaded
 *   patched    status 3, by SIGTRAP, if its own code was changed
 *   limited    has memory for itself, and for nobody else
 *   filtered   only what the agent does is forbidden, on pain of death
 *   status N   ends with N
 *   once N F   ends with N if file F is there, and removes it
 *   slowly     takes a while
 *   busy       takes 0.15 s of a CPU
 *   dies N     sends itself signal N, if the agent is loaded
 *   hangs F    once, if file F is there: removes it, and never ends
 *   many       three million accesses a thread: slow where each is a point
 *
 * And one that is wrong, and never waits:
 *
 *   spins      a thread says too early that it can be told to stop
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static sem_t *gate;
static long later_ms = 600; /* longer than it takes to claim a deadlock */

static void *count(void *arg)
{
	pthread_mutex_lock(&lock);
	counter++;
	pthread_mutex_unlock(&lock);
	while (gate && sem_wait(gate))
		;
	return NULL;
}

static void open_gate(int signo)
{
	sem_post(gate);
	sem_post(gate);
}

static void make_gate(void)
{
	gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(gate, 1, 0);
}

static void make_own_gate(void)
{
	static sem_t own;

	gate = &own;
	sem_init(gate, 0, 0);
}

static void set_alarm(void)
{
	struct itimerval when = { .it_value = { later_ms / 1000,
						later_ms % 1000 * 1000 } };

	make_own_gate();
	signal(SIGALRM, open_gate);
	setitimer(ITIMER_REAL, &when, NULL);
}

static void set_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGTERM };
	struct itimerspec when = { .it_value = { later_ms / 1000,
						 later_ms % 1000 * 1000000 } };
	timer_t timer;

	make_own_gate();
	signal(SIGTERM, open_gate);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &when, NULL);
}

static void have_child(void)
{
	make_gate();
	if (fork())
		return;
	usleep(later_ms * 1000);
	open_gate(0);
	_exit(0);
}

static int is_loaded(const char *what)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, what) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* Its sum is the same in all runs, unless somebody writes into it. */
static void check_code(void)
{
	const unsigned char *code = (const unsigned char *)count;
	unsigned int sum = 0, before;
	FILE *self = fopen("/proc/self/exe", "r");
	extern const char __executable_start[];

	if (!self)
		abort();
	fseek(self, (long)(code - (const unsigned char *)__executable_start),
	      SEEK_SET);
	for (int i = 0; i < 64; i++) {
		before = (unsigned int)fgetc(self);
		sum |= before ^ code[i];
	}
	fclose(self);
	if (sum)
		raise(SIGTRAP);
}

#define KILLS(call)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* Not by a function of libc's, of which the agent would know. */
static long by_hand(long number, long a, long b, const void *c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void filter(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		KILLS(SYS_sched_setscheduler),
		KILLS(SYS_sched_setaffinity),
		KILLS(SYS_sched_setattr),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_hand(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

/* Twice what it takes: two stacks of 8 MB, and libc. */
static void limit(void)
{
	struct rlimit space = { 40 << 20, 40 << 20 };

	if (setrlimit(RLIMIT_AS, &space))
		abort();
	usleep(20000);
}

static void hang(void)
{
	sem_t never;

	sem_init(&never, 0, 0);
	signal(SIGUSR1, open_gate); /* somebody might */
	for (;;)
		sem_wait(&never);
}

/* All of them by one instruction. */
static __attribute__((noinline)) void add(int times)
{
	while (times--)
		__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
}

static void *add_many(void *arg)
{
	add(3000000);
	return NULL;
}

static int begun, stop;

static void *spin(void *arg)
{
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		;
	return NULL;
}

static int stop_spinning(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spin, NULL))
		abort();
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	return pthread_join(thread, NULL);
}

static int work(char **argv)
{
	bool many = !strcmp(argv[1], "many");
	pthread_t threads[2];
	int i;

	add(many);
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, many ? add_many : count,
				   NULL))
			abort();
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (!strcmp(argv[1], "patched"))
		check_code();
	if (!strcmp(argv[1], "preloaded") && is_loaded("libmaple-agent.so"))
		return 3;
	if (!strcmp(argv[1], "status"))
		return atoi(argv[2]);
	if (!strcmp(argv[1], "once") && !unlink(argv[3]))
		return atoi(argv[2]);
	if (!strcmp(argv[1], "hangs") && !unlink(argv[2]))
		hang();
	if (!strcmp(argv[1], "slowly"))
		usleep(300000);
	while (!strcmp(argv[1], "busy") && clock() < CLOCKS_PER_SEC * 15 / 100)
		;
	if (!strcmp(argv[1], "dies") && is_loaded("libmaple-agent.so"))
		kill(getpid(), atoi(argv[2]));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (argc > 2)
		later_ms = atol(argv[2]);
	if (!strcmp(argv[1], "spins"))
		return stop_spinning();
	if (!strcmp(argv[1], "alarm"))
		set_alarm();
	else if (!strcmp(argv[1], "timer"))
		set_timer();
	else if (!strcmp(argv[1], "child"))
		have_child();
	else if (!strcmp(argv[1], "limited"))
		limit();
	else if (!strcmp(argv[1], "filtered"))
		filter();
	return work(argv);
}
