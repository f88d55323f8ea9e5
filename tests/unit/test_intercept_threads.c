// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Locks, conditions, barriers, semaphores, once, threads: what they tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <threads.h>
#include <time.h>
#include "mock_agent.h"

static struct timespec now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t;
}

static struct timespec soon(clockid_t clock)
{
	struct timespec t = now(clock);

	t.tv_sec += 20;
	return t;
}

/* Asserts may not run while the log is being kept. */
#define same(call, result)                            \
	do {                                          \
		int same_ret = (call);                \
		uint32_t same_in = maple_self.inside; \
		maple_self.inside = 1;                \
		assert_int_equal(same_ret, result);   \
		maple_self.inside = same_in;          \
	} while (0)

static void test_mutex(void **state)
{
	struct timespec t = now(CLOCK_REALTIME), m = now(CLOCK_MONOTONIC);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	same(pthread_mutex_lock(&mutex), 0);
	same(pthread_mutex_trylock(&mutex), EBUSY);
	same(pthread_mutex_timedlock(&mutex, &t), ETIMEDOUT);
	same(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &m), ETIMEDOUT);
	same(pthread_mutex_unlock(&mutex), 0);
	assert_ptr_equal(mock_log[0].addr, &mutex);
	assert_int_equal(mock_log[0].size, 1);
	expect("<lock lock> <lock/Y lock!/Y <lock lock! <lock lock! "
	       "<unlock unlock>");
	same(pthread_mutex_trylock(&mutex), 0);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_timedlock(&mutex, &t), 0);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &t), 0);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_destroy(&mutex), 0);
	expect("<lock/Y lock>/Y <unlock unlock> <lock lock> <unlock unlock> "
	       "<lock lock> <unlock unlock> free");
}

static void test_mutex_kinds(void **state)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&mutex, &attr);
	same(pthread_mutex_lock(&mutex), 0);
	same(pthread_mutex_lock(&mutex), 0);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_unlock(&mutex), 0);
	expect("<lock lock> <lock lock> <unlock unlock> <unlock unlock>");
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &attr);
	same(pthread_mutex_unlock(&mutex), EPERM);
	same(pthread_mutex_lock(&mutex), 0);
	same(pthread_mutex_lock(&mutex), EDEADLK);
	expect("<unlock unlock! <lock lock> <lock lock!");
}

static void *die_with_it(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void test_mutex_robust(void **state)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attr);
	pthread_create(&t, NULL, die_with_it, &mutex);
	pthread_join(t, NULL);
	expect("create block join");
	same(pthread_mutex_lock(&mutex), EOWNERDEAD);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_lock(&mutex), ENOTRECOVERABLE);
	expect("<lock lock> <unlock unlock> <lock lock!");
}

static void test_rwlock(void **state)
{
	struct timespec t = now(CLOCK_REALTIME), m = now(CLOCK_MONOTONIC);
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

	same(pthread_rwlock_rdlock(&l), 0);
	same(pthread_rwlock_tryrdlock(&l), 0);
	same(pthread_rwlock_trywrlock(&l), EBUSY);
	same(pthread_rwlock_timedwrlock(&l, &t), ETIMEDOUT);
	same(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &m), ETIMEDOUT);
	same(pthread_rwlock_unlock(&l), 0);
	same(pthread_rwlock_unlock(&l), 0);
	expect("<lock/S lock>/S <lock/S/Y lock>/S/Y <lock/Y lock!/Y <lock lock! "
	       "<lock lock! <unlock/S unlock>/S <unlock/S unlock>/S");
	same(pthread_rwlock_wrlock(&l), 0);
	same(pthread_rwlock_tryrdlock(&l), EBUSY);
	same(pthread_rwlock_unlock(&l), 0);
	expect("<lock lock> <lock/S/Y lock!/S/Y <unlock unlock>");
	same(pthread_rwlock_timedrdlock(&l, &t), 0);
	same(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &m), 0);
	same(pthread_rwlock_unlock(&l), 0);
	same(pthread_rwlock_unlock(&l), 0);
	same(pthread_rwlock_destroy(&l), 0);
	expect("<lock/S lock>/S <lock/S lock>/S <unlock/S unlock>/S "
	       "<unlock/S unlock>/S free");
}

static pthread_spinlock_t spin;

static void *release_spin(void *arg)
{
	const struct timespec pause = { 0, 20000000 };

	nanosleep(&pause, NULL);
	pthread_spin_unlock(&spin);
	return NULL;
}

static void test_spin(void **state)
{
	pthread_t t;

	pthread_spin_init(&spin, 0);
	same(pthread_spin_lock(&spin), 0);
	same(pthread_spin_trylock(&spin), EBUSY);
	same(pthread_spin_unlock(&spin), 0);
	expect("<lock lock> <lock/Y lock!/Y <unlock unlock>");
	/* Under real-time priorities a round that fails is a yield. */
	maple_shm->sched = MAPLE_SCHEDULE_OLDER;
	maple_self.inside = 1;
	pthread_spin_lock(&spin);
	pthread_create(&t, NULL, release_spin, NULL);
	maple_self.inside = 0;
	mock_n = 0;
	same(pthread_spin_lock(&spin), 0);
	expect("<lock lock>");
	mock_stop();
	assert_true(mock_yields > 0);
	pthread_join(t, NULL);
}

static void test_c11_locks(void **state)
{
	struct timespec t = now(CLOCK_REALTIME);
	mtx_t m;

	mtx_init(&m, mtx_timed);
	same(mtx_lock(&m), thrd_success);
	same(mtx_trylock(&m), thrd_busy);
	same(mtx_timedlock(&m, &t), thrd_timedout);
	same(mtx_unlock(&m), thrd_success);
	mtx_destroy(&m);
	expect("<lock lock> <lock/Y lock!/Y <lock lock! <unlock unlock> free");
}

/* Only what was acquired, and what is released, is told. */
static void test_unwanted_locks(void **state)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	mock_unwanted = true;
	same(pthread_mutex_lock(&mutex), 0);
	same(pthread_mutex_trylock(&mutex), EBUSY);
	same(pthread_mutex_unlock(&mutex), 0);
	same(pthread_mutex_trylock(&mutex), 0);
	mock_stop();
	assert_ptr_equal(mock_log[0].addr, &mutex);
	assert_int_not_equal(mock_log[0].site, MAPLE_SITE_NONE);
	assert_int_not_equal(mock_log[0].site, mock_log[1].site);
	expect("lock~ unlock~ lock~/Y");
	same(pthread_rwlock_rdlock(&l), 0);
	same(pthread_rwlock_unlock(&l), 0);
	same(pthread_rwlock_wrlock(&l), 0);
	same(pthread_rwlock_unlock(&l), 0);
	expect("lock~/S unlock~/S lock~ unlock~");
	mock_unwanted = false;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static mtx_t mutex11;
static cnd_t cond11;
static int flag;

static void *raise_flag(void *arg)
{
	pthread_mutex_lock(&mutex);
	flag = 1;
	if (arg)
		pthread_cond_broadcast(&cond);
	else
		pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* A wait that is signalled, by a thread that can only run inside it. */
static void wait_once(int (*wait)(void), void *broadcast, const char *words)
{
	pthread_t t;

	flag = 0;
	pthread_mutex_lock(&mutex);
	pthread_create(&t, NULL, raise_flag, broadcast);
	mock_n = 0;
	while (!flag)
		same(wait(), 0);
	expect(words);
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
	mock_n = 0;
}

static int wait_plain(void)
{
	return pthread_cond_wait(&cond, &mutex);
}

static int wait_timed(void)
{
	struct timespec t = soon(CLOCK_REALTIME);

	return pthread_cond_timedwait(&cond, &mutex, &t);
}

static int wait_clock(void)
{
	struct timespec t = soon(CLOCK_MONOTONIC);

	return pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t);
}

static void test_cond(void **state)
{
	struct timespec t = now(CLOCK_REALTIME), m = now(CLOCK_MONOTONIC);

	wait_once(wait_plain, NULL,
		  "<unlock unlock> <sleep wait sleep> block wake lock>");
	wait_once(wait_timed, &t,
		  "<unlock unlock> <sleep wait/M sleep> block wake lock>");
	wait_once(wait_clock, NULL,
		  "<unlock unlock> <sleep wait/M sleep> block wake lock>");
	pthread_mutex_lock(&mutex);
	mock_n = 0;
	same(pthread_cond_timedwait(&cond, &mutex, &t), ETIMEDOUT);
	expect("<unlock unlock> <sleep wait/M sleep> block wake/T lock>");
	same(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &m),
	     ETIMEDOUT);
	expect("<unlock unlock> <sleep wait/M sleep> block wake/T lock>");
	same(pthread_cond_signal(&cond), 0);
	same(pthread_cond_broadcast(&cond), 0);
	expect("<notify signal notify> <notify broadcast notify>");
	pthread_mutex_unlock(&mutex);
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void *wait_forever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	flag = 1;
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

static void test_cond_cancelled(void **state)
{
	void *result = NULL;
	int waits = 0;
	pthread_t t;

	flag = 0;
	pthread_create(&t, NULL, wait_forever, NULL);
	maple_self.inside = 1;
	while (!waits) {
		pthread_mutex_lock(&mutex);
		waits = flag;
		pthread_mutex_unlock(&mutex);
		usleep(1000);
	}
	maple_self.inside = 0;
	pthread_cancel(t);
	pthread_join(t, &result);
	same(result == PTHREAD_CANCELED, 1);
	expect_of(
		1,
		"born <lock lock> <unlock unlock> <sleep wait sleep> block wake/T "
		"lock> <unlock unlock> ended");
	same(pthread_mutex_trylock(&mutex), 0);
	same(pthread_mutex_unlock(&mutex), 0);
}

static int raise_flag11(void *arg)
{
	mtx_lock(&mutex11);
	flag = 1;
	cnd_signal(&cond11);
	mtx_unlock(&mutex11);
	return -7;
}

static void test_c11_cond(void **state)
{
	struct timespec t = now(CLOCK_REALTIME);
	int result = 0;
	thrd_t thread;

	flag = 0;
	mtx_init(&mutex11, mtx_plain);
	cnd_init(&cond11);
	mtx_lock(&mutex11);
	same(cnd_timedwait(&cond11, &mutex11, &t), thrd_timedout);
	expect("<lock lock> <unlock unlock> <sleep wait/M sleep> block wake/T lock>");
	same(thrd_create(&thread, raise_flag11, NULL), thrd_success);
	expect("create");
	while (!flag)
		same(cnd_wait(&cond11, &mutex11), thrd_success);
	expect("<unlock unlock> <sleep wait sleep> block wake lock>");
	mtx_unlock(&mutex11);
	same(thrd_join(thread, &result), thrd_success);
	same(result, -7);
	same(cnd_broadcast(&cond11), thrd_success);
	expect("<unlock unlock> block join <notify broadcast notify>");
}

static pthread_barrier_t barrier;

static void *meet(void *arg)
{
	return (void *)(intptr_t)pthread_barrier_wait(&barrier);
}

static void test_barrier(void **state)
{
	void *other;
	pthread_t t;
	int mine;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, meet, NULL);
	mine = pthread_barrier_wait(&barrier);
	pthread_join(t, &other);
	same(mine + (int)(intptr_t)other, PTHREAD_BARRIER_SERIAL_THREAD);
	expect("create in block out block join");
}

static void test_sem(void **state)
{
	struct timespec t = now(CLOCK_REALTIME), m = now(CLOCK_MONOTONIC);
	sem_t s;

	sem_init(&s, 0, 0);
	same(sem_trywait(&s), -1);
	same(errno, EAGAIN);
	same(sem_timedwait(&s, &t), -1);
	same(errno, ETIMEDOUT);
	same(sem_clockwait(&s, CLOCK_MONOTONIC, &m), -1);
	same(errno, ETIMEDOUT);
	expect("block block block");
	same(sem_post(&s), 0);
	same(sem_wait(&s), 0);
	same(sem_post(&s), 0);
	same(sem_timedwait(&s, &t), 0);
	same(sem_post(&s), 0);
	same(sem_clockwait(&s, CLOCK_MONOTONIC, &m), 0);
	same(sem_post(&s), 0);
	same(sem_trywait(&s), 0);
	expect("post block take post block take/M post block take/M "
	       "post block take");
}

/* A server serves from the first connection that it accepts on. */
static void test_accept(void **state)
{
	/* Of a name that the kernel chooses. */
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(name);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int client[2], served[2];

	same(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t)), 0);
	same(listen(listener, 2), 0);
	same(getsockname(listener, (struct sockaddr *)&name, &length), 0);
	same(accept(listener, NULL, NULL), -1);
	same(errno, EAGAIN);
	expect("block");
	for (int i = 0; i < 2; i++) {
		client[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		same(connect(client[i], (struct sockaddr *)&name, length), 0);
	}
	served[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	served[1] = accept(listener, NULL, NULL);
	same(served[0] < 0, false);
	same(served[1] < 0, false);
	expect("block serve block");
	for (int i = 0; i < 2; i++) {
		close(served[i]);
		close(client[i]);
	}
	close(listener);
}

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static once_flag flag11 = ONCE_FLAG_INIT;
static int ran;

static void run_inner(void)
{
	ran++;
}

static void run_outer(void)
{
	pthread_once(&inner, run_inner);
	ran += 10;
}

static void test_once(void **state)
{
	same(pthread_once(&outer, run_outer), 0);
	same(ran, 11);
	same(pthread_once(&outer, run_outer), 0);
	same(ran, 11);
	call_once(&flag11, run_inner);
	call_once(&flag11, run_inner);
	same(ran, 12);
	assert_ptr_equal(mock_log[2].addr, &inner);
	assert_ptr_equal(mock_log[4].addr, &outer);
	expect("block block once onced once onced block onced "
	       "block once onced block onced");
}

static pthread_key_t key;
static int key_rounds;

static void key_end(void *value)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	if (++key_rounds < 3)
		pthread_setspecific(key, value);
}

static void *end_by(void *arg)
{
	pthread_setspecific(key, &key);
	if (arg)
		pthread_exit(arg);
	return NULL;
}

/* However a thread ends, that is the last that is heard of it. */
static void test_thread_end(void **state)
{
	static const char words[] =
		"born <lock lock> <unlock unlock> <lock lock> "
		"<unlock unlock> <lock lock> <unlock unlock> ended";
	pthread_t t;

	pthread_key_create(&key, key_end);
	key_rounds = 0;
	same(pthread_create(&t, NULL, end_by, NULL), 0);
	same(pthread_join(t, NULL), 0);
	expect_of(1, words);
	key_rounds = 0;
	same(pthread_create(&t, NULL, end_by, &key), 0);
	same(pthread_join(t, NULL), 0);
	expect_of(2, words);
}

static void *idle(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

static void test_join(void **state)
{
	struct timespec t = now(CLOCK_REALTIME), m = now(CLOCK_MONOTONIC);
	pthread_t thread;
	void *result;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, idle, &barrier);
	same(pthread_tryjoin_np(thread, &result), EBUSY);
	same(pthread_timedjoin_np(thread, &result, &t), ETIMEDOUT);
	same(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &m),
	     ETIMEDOUT);
	expect("create block block block");
	pthread_barrier_wait(&barrier);
	same(pthread_join(thread, &result), 0);
	same(result == &barrier, 1);
	assert_int_equal(mock_log[mock_n - 1].aux, 1);
	expect("in block out block join");
}

static void *show_attr(void *arg)
{
	int policy = -1;
	pthread_attr_t attr;
	size_t size;

	maple_self.inside++;
	policy = sched_getscheduler(0);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstacksize(&attr, &size);
	pthread_attr_destroy(&attr);
	maple_self.inside--;
	*(size_t *)arg = size;
	return (void *)(intptr_t)policy;
}

/* Born with its priority, with the rest as the program wants it. */
static void test_create_attr(void **state)
{
	size_t size = 0;
	pthread_attr_t attr;
	cpu_set_t cpus;
	pthread_t t;
	void *policy;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 18);
	CPU_ZERO(&cpus);
	CPU_SET(1000, &cpus); /* there is none */
	pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	mock_n = 0; /* CPU_ZERO() may be a call of memset() */
	same(pthread_create(&t, &attr, show_attr, &size), EINVAL);
	expect("create drop");
	maple_shm->sched = MAPLE_SCHEDULE_OLDER;
	same(pthread_create(&t, &attr, show_attr, &size), 0);
	same(pthread_join(t, &policy), 0);
	same((int)(intptr_t)policy, SCHED_OTHER);
	same(size, 1 << 18);
	mock_prio = 1;
	same(pthread_create(&t, &attr, show_attr, &size), 0);
	same(pthread_join(t, &policy), 0);
	mock_stop();
	/* Without the right to it a thread is born all the same. */
	if (geteuid() == 0)
		assert_int_equal((int)(intptr_t)policy, SCHED_FIFO);
	pthread_attr_destroy(&attr);
}

static void *join_me(void *arg)
{
	return NULL;
}

static void test_too_many(void **state)
{
	pthread_t t;

	maple_shm->nthreads = MAPLE_THREADS;
	same(pthread_create(&t, NULL, join_me, NULL), 0);
	same(pthread_join(t, NULL), 0);
	maple_shm->nthreads = 1;
	expect("block");
}

static void *many(void *arg)
{
	int i;

	for (i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		++*(int *)arg;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

/* Every thread's log is whole, and nothing is mixed up between them. */
static void test_many(void **state)
{
	unsigned int i, held = 0, count[5] = { 0 };
	pthread_t t[4];
	int n = 0;

	for (i = 0; i < 4; i++)
		same(pthread_create(&t[i], NULL, many, &n), 0);
	for (i = 0; i < 4; i++)
		same(pthread_join(t[i], NULL), 0);
	mock_stop();
	assert_int_equal(n, 400);
	for (i = 0; i < mock_n; i++) {
		const struct mock_call *c = &mock_log[i];

		assert_true(c->thread < 5);
		if (c->what == AFTER && c->kind == MAPLE_EV_LOCK) {
			assert_int_equal(held, 0);
			held = c->thread;
			count[c->thread]++;
		} else if (c->what == BEFORE && c->kind == MAPLE_EV_UNLOCK) {
			assert_int_equal(held, c->thread);
			held = 0;
		}
	}
	for (i = 1; i < 5; i++)
		assert_int_equal(count[i], 100);
}

/* Inside the agent, and in threads that are not of the run: silence. */
static void test_silence(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	maple_self.inside = 1;
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	maple_self.inside = 0;
	maple_self.number = MAPLE_THREAD_NONE;
	pthread_mutex_lock(&m);
	free(malloc(10));
	pthread_mutex_unlock(&m);
	maple_self.number = 0;
	expect("");
}

/* What a thread did before it sleeps has happened. */
static void test_block(void **state)
{
	const struct timespec t = { 0, 1 };
	char byte = 'a';
	int fds[2];

	same(pipe(fds), 0);
	same(write(fds[1], &byte, 1), 1);
	same(read(fds[0], &byte, 1), 1);
	same(read(-1, &byte, 1), -1);
	same(errno, EBADF);
	expect("block block");
	same(usleep(1), 0);
	same(nanosleep(&t, NULL), 0);
	same(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), 0);
	same(thrd_sleep(&t, NULL), 0);
	same(poll(NULL, 0, 0), 0);
	expect("block block block block block");
	close(fds[0]);
	close(fds[1]);
}

/* To sleep for no time is no sleep, but lets others come first. */
static void test_no_sleep(void **state)
{
	const struct timespec t = { 0, 0 };

	mock_yields = 0;
	same(sleep(0), 0);
	same(usleep(0), 0);
	same(nanosleep(&t, NULL), 0);
	same(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), 0);
	same(thrd_sleep(&t, NULL), 0);
	expect("");
	same(mock_yields, 5);
	same(nanosleep(NULL, NULL), -1);
	same(errno, EFAULT);
}

#define T(name) cmocka_unit_test_setup_teardown(name, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_mutex),		T(test_mutex_kinds),
		T(test_mutex_robust),	T(test_unwanted_locks),
		T(test_rwlock),		T(test_spin),
		T(test_c11_locks),	T(test_cond),
		T(test_cond_cancelled), T(test_c11_cond),
		T(test_barrier),	T(test_sem),
		T(test_accept),		T(test_once),
		T(test_thread_end),	T(test_block),
		T(test_no_sleep),	T(test_join),
		T(test_create_attr),	T(test_too_many),
		T(test_many),		T(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
