// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A target that is to survive whatever is done to it and its session:
 *   victim FD [MODE]
 * FD: of a struct victim_page. Each of its threads is scheduled in a way of
 * its own, and says so there. Then it stops, and when it is continued it
 * stores, loads and adds at its labels, creates threads and forks, for ever.
 * Modes:
 *   wishes   without new threads; instead each thread asks for another
 *            scheduling once more, and says so
 *   strays   the same, and one of them asks for its CPUs again and again
 *   exec     each continuation ends with an exec of itself, which stops again
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "victim.h"

#define WORKERS 10

extern const char insn_store[], next_store[], insn_load[], next_load[],
	insn_lock[], next_lock[], insn_never[], next_never[];
extern const char __ehdr_start[];

static struct victim_page *page;
static volatile long value, count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static char **args;
static bool wishes, strays, execs;

static __attribute__((noinline)) void store(volatile long *to)
{
	__asm__ volatile(".globl insn_store, next_store\n"
			 "insn_store: movq $1,(%0)\n"
			 "next_store: nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static __attribute__((noinline)) long load(volatile long *from)
{
	long got;

	__asm__ volatile(".globl insn_load, next_load\n"
			 "insn_load: movq (%1),%0\n"
			 "next_load: nop\n"
			 : "=&a"(got)
			 : "D"(from)
			 : "memory");
	return got;
}

static __attribute__((noinline)) void add(volatile long *to)
{
	__asm__ volatile(".globl insn_lock, next_lock\n"
			 "insn_lock: lock incq (%0)\n"
			 "next_lock: nop\n"
			 :
			 : "D"(to)
			 : "memory", "cc");
}

static __attribute__((noinline)) void never(volatile long *to)
{
	__asm__ volatile(".globl insn_never, next_never\n"
			 "insn_never: movq $2,(%0)\n"
			 "next_never: nop\n"
			 :
			 : "D"(to)
			 : "memory");
}

static void die(const char *what)
{
	fprintf(stderr, "victim: %s: %s\n", what, strerror(errno));
	exit(3);
}

static void tell_label(enum victim_label i, const char *insn, const char *next)
{
	page->label[i].offset = insn - __ehdr_start;
	page->label[i].next = next - __ehdr_start;
	memcpy(page->label[i].bytes, insn, VICTIM_BYTES);
}

/* Of the calling thread, from now on. */
static void tell(const struct victim_native *native, bool process)
{
	unsigned int i = atomic_fetch_add(&page->n, 1) % VICTIM_THREADS;

	page->thread[i].native = *native;
	page->thread[i].process = process;
	page->thread[i].tid = (int)syscall(SYS_gettid);
}

static bool go_to(unsigned long numbers)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (int i = 0; i < 2; i++)
		if (numbers >> i & 1)
			CPU_SET(i, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void become(const struct victim_native *native)
{
	struct sched_param param = { native->priority };

	if (sched_setscheduler(0, native->policy, &param) ||
	    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), native->nice) ||
	    !go_to(native->cpus))
		die("scheduling");
	tell(native, false);
}

/* What a child of a thread of kind @i gets, by RESET_ON_FORK. */
static const struct victim_native *inherited(long i)
{
	return &victim_natives[i == 3 ? 0 : i];
}

static void *brief(void *arg)
{
	tell(inherited((long)arg), false);
	store(&value);
	load(&value);
	return NULL;
}

static void breed(long i, unsigned int *seed)
{
	pthread_t thread;
	pid_t pid;

	if (rand_r(seed) % 2) {
		/* Refused while another thread execs. */
		if (pthread_create(&thread, NULL, brief, (void *)i) == 0)
			pthread_join(thread, NULL);
		return;
	}
	pid = fork();
	if (!pid) {
		tell(inherited(i), true);
		do
			usleep(50000);
		while (page->keep);
		_exit(0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* The native one after the next, which is another one each time. */
static const struct victim_native *wished_by(long i)
{
	return &victim_natives[(i + 2) % VICTIM_NATIVES];
}

static void wish(long i)
{
	static _Atomic unsigned int wished[WORKERS];

	if (wished[i]++ == 0)
		become(wished_by(i));
}

static void *work(void *arg)
{
	long i = (long)arg;
	unsigned int seed = (unsigned int)i + 1;

	become(&victim_natives[i % VICTIM_NATIVES]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (unsigned int round = 1; !page->quit; round++) {
		if (page->quit < 0)
			never(&value);
		if (i % 2)
			load(&value);
		else
			store(&value);
		add(&count);
		pthread_mutex_lock(&mutex);
		page->progress++;
		pthread_mutex_unlock(&mutex);
		if (wishes && round == 20)
			wish(i);
		else if (!wishes && rand_r(&seed) % 8 == 0)
			breed(i % VICTIM_NATIVES, &seed);
		if (strays && i == 0 && round > 20)
			go_to(wished_by(i)->cpus);
		if (execs && i == 0 && round == 40)
			execv("/proc/self/exe", args);
		if (rand_r(&seed) % 4 == 0)
			usleep(rand_r(&seed) % 2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[WORKERS];

	args = argv;
	strays = argc > 2 && !strcmp(argv[2], "strays");
	wishes = strays || (argc > 2 && !strcmp(argv[2], "wishes"));
	execs = argc > 2 && !strcmp(argv[2], "exec");
	page = argc > 1 ? mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			       MAP_SHARED, atoi(argv[1]), 0)
			: MAP_FAILED;
	if (page == MAP_FAILED)
		die("no page");
	tell_label(VICTIM_STORE, insn_store, next_store);
	tell_label(VICTIM_LOAD, insn_load, next_load);
	tell_label(VICTIM_LOCK, insn_lock, next_lock);
	tell_label(VICTIM_NEVER, insn_never, next_never);
	become(&victim_natives[0]);
	pthread_barrier_init(&barrier, NULL, WORKERS + 1);
	for (long i = 0; i < WORKERS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			die("pthread_create");
	pthread_barrier_wait(&barrier);
	page->ready++;
	raise(SIGSTOP);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
