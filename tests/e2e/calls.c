// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Calls what the agent stands before, with one thread and with several, and
 * prints what came of it: the same in every run, with and without the agent.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#define WORKERS 4
#define ROUNDS	200

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag flag11 = ONCE_FLAG_INIT;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_key_t key;
static sem_t sem;
static mtx_t mutex11;
static long n_mutex, n_rwlock, n_spin, n_mutex11, n_once, n_serial, n_key;
static int turn;

static void init_once(void)
{
	n_once++;
}

static void end_key(void *value)
{
	pthread_mutex_lock(&mutex);
	n_key++;
	pthread_mutex_unlock(&mutex);
}

static void *work(void *arg)
{
	int i;

	pthread_setspecific(key, arg);
	pthread_once(&once, init_once);
	call_once(&flag11, init_once);
	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		n_mutex++;
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_wrlock(&rwlock);
		n_rwlock++;
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_rdlock(&rwlock);
		if (n_rwlock < i)
			abort();
		pthread_rwlock_unlock(&rwlock);
		pthread_spin_lock(&spin);
		n_spin++;
		pthread_spin_unlock(&spin);
		mtx_lock(&mutex11);
		n_mutex11++;
		mtx_unlock(&mutex11);
		if (i % 50 == 0)
			sched_yield();
	}
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
		__atomic_add_fetch(&n_serial, 1, __ATOMIC_SEQ_CST);
	sem_post(&sem);
	if ((uintptr_t)arg % 2)
		pthread_exit(arg);
	return arg;
}

static void workers(void)
{
	pthread_t t[WORKERS];
	uintptr_t i, sum = 0;
	void *result;

	pthread_barrier_init(&barrier, NULL, WORKERS);
	pthread_spin_init(&spin, 0);
	pthread_key_create(&key, end_key);
	sem_init(&sem, 0, 0);
	mtx_init(&mutex11, mtx_plain);
	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(i + 1)))
			abort();
	for (i = 0; i < WORKERS; i++)
		sem_wait(&sem);
	for (i = 0; i < WORKERS; i++) {
		pthread_join(t[i], &result);
		sum += (uintptr_t)result;
	}
	printf("workers %lu: %ld %ld %ld %ld once %ld serial %ld keys %ld\n",
	       sum, n_mutex, n_rwlock, n_spin, n_mutex11, n_once, n_serial,
	       n_key);
}

/* Two threads take turns. */
static void *pong(void *arg)
{
	int i;

	pthread_mutex_lock(&mutex);
	for (i = 0; i < ROUNDS; i++) {
		while (turn != (int)(intptr_t)arg)
			pthread_cond_wait(&cond, &mutex);
		turn = !turn;
		pthread_cond_broadcast(&cond);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push((void (*)(void *))(uintptr_t)pthread_mutex_unlock,
			     &mutex);
	turn = 7;
	pthread_cond_signal(&cond);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

static void conditions(void)
{
	struct timespec now;
	void *result;
	pthread_t t;
	int late;

	pthread_create(&t, NULL, pong, (void *)1);
	pong(NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, wait_for_ever, NULL);
	pthread_mutex_lock(&mutex);
	while (turn != 7)
		pthread_cond_wait(&cond, &mutex);
	clock_gettime(CLOCK_REALTIME, &now);
	late = pthread_cond_timedwait(&cond, &mutex, &now);
	pthread_mutex_unlock(&mutex);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("conditions: late %d cancelled %d mutex %d\n", late,
	       result == PTHREAD_CANCELED, pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
}

static int child11(void *arg)
{
	thrd_exit(*(int *)arg);
}

static void *detached(void *arg)
{
	sem_post(arg);
	return NULL;
}

static void threads(void)
{
	pthread_attr_t attr;
	struct sched_param param;
	int n = -3, result = 0, policy;
	pthread_t t;
	thrd_t c;

	thrd_create(&c, child11, &n);
	thrd_join(c, &result);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 1 << 20);
	pthread_create(&t, &attr, detached, &sem);
	sem_wait(&sem);
	pthread_getschedparam(pthread_self(), &policy, &param);
	printf("threads: %d policy %d %d cpus %ld\n", result, policy,
	       param.sched_priority, sysconf(_SC_NPROCESSORS_ONLN));
}

static void *churn(void *arg)
{
	unsigned int i, j, seed = (uintptr_t)arg;
	char *p[32] = { 0 };

	for (i = 0; i < 2000; i++) {
		seed = seed * 1103515245 + 12345;
		j = seed >> 16 & 31;
		p[j] = realloc(p[j], 1 + (seed >> 21) % 300);
		memset(p[j], j, 1 + (seed >> 21) % 300);
	}
	for (j = 0; j < 32; j++)
		free(p[j]);
	return NULL;
}

static void memory(void)
{
	char a[64] = "abc", *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t[WORKERS];
	uintptr_t i;

	for (i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, churn, (void *)i);
	for (i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	strcat(a, "def");
	memmove(a + 2, a, 7);
	strncpy(p, a, 4096);
	p = mremap(p, 8192, 65536, MREMAP_MAYMOVE);
	printf("memory: %s %zu %d %s\n", p, strlen(p), strcmp(p, a) == 0,
	       strchr(p, 'd'));
	munmap(p, 65536);
}

static void *fork_here(void *arg)
{
	cpu_set_t cpus;
	pid_t pid = fork();
	int status;

	if (!pid) {
		sched_getaffinity(0, sizeof(cpus), &cpus);
		_exit(sched_getscheduler(0) * 10 + CPU_COUNT(&cpus));
	}
	waitpid(pid, &status, 0);
	return (void *)(intptr_t)WEXITSTATUS(status);
}

static void processes(void)
{
	char line[64] = "";
	cpu_set_t cpus;
	void *child;
	pthread_t t;
	int status, error;
	FILE *f;

	fflush(stdout);
	pthread_create(&t, NULL, fork_here, NULL);
	pthread_join(t, &child);
	status = system("exit $(nproc)");
	f = popen("nproc", "r");
	if (!fgets(line, sizeof(line), f))
		abort();
	pclose(f);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	errno = 0;
	execl("/no/such/program", "x", NULL);
	error = errno;
	printf("processes: %ld %d %s exec %d cpus %d\n", (long)child,
	       WEXITSTATUS(status), line, error, CPU_COUNT(&cpus));
}

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught += signo;
	sem_post(&sem);
}

static void signals(void)
{
	struct sigaction act = { .sa_handler = on_signal }, old;
	sigset_t all, was;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &was);
	pthread_sigmask(SIG_UNBLOCK, &all, NULL);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGSEGV, NULL, &old);
	raise(SIGUSR1);
	raise(SIGSEGV);
	sem_wait(&sem);
	sem_wait(&sem);
	printf("signals: %d same %d trap %d default %d\n", caught,
	       old.sa_handler == on_signal, sigismember(&was, SIGTRAP),
	       signal(SIGTRAP, SIG_IGN) == SIG_DFL);
}

int main(void)
{
	workers();
	conditions();
	threads();
	memory();
	processes();
	signals();
	fflush(stdout);
	/* The run ends in another program. */
	execlp("sh", "sh", "-c", "echo replaced on $(nproc)", NULL);
	return 1;
}
