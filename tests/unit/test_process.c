// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is a deadlock, what is not, and whose stack is whose. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/process.h"
#include "backend/stack.h"
#include "backend/wakers.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

#define SPINS 200000000 /* ns: who has used that much goes on like this */

__attribute__((noinline)) static void wait_for_b(void)
{
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
}

static void *second(void *arg)
{
	pthread_mutex_lock(&b);
	usleep(50000);
	pthread_mutex_lock(&a);
	return NULL;
}

static void deadlock(void)
{
	pthread_t t;

	pthread_mutex_lock(&a);
	pthread_create(&t, NULL, second, NULL);
	usleep(50000);
	wait_for_b();
}

static void timed(void)
{
	struct timespec t = { .tv_sec = time(NULL) + 60 };

	pthread_mutex_lock(&a);
	pthread_mutex_timedlock(&a, &t);
}

static void busy(void)
{
	pthread_t t;

	pthread_mutex_lock(&a);
	pthread_create(&t, NULL, second, NULL);
	for (;;)
		;
}

/*
 * Runs @body in a process of its own. It has come to where it stays: nothing
 * of it wants to run for longer than it sleeps by itself, or it runs on.
 */
static pid_t child(void (*body)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		/* It does not outlive a test that fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	for (int quiet = 0; quiet < 8 && maple_process_used(pid) < SPINS;) {
		usleep(20000);
		quiet = maple_process_wants_cpu(pid) ? 0 : quiet + 1;
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void deadlock_is_stuck(void **state)
{
	uint64_t one, two;
	pid_t pid = child(deadlock);

	assert_true(maple_process_stuck(pid, &one));
	usleep(50000);
	assert_true(maple_process_stuck(pid, &two));
	assert_true(one == two);
	end(pid);
}

static void others_are_not(void **state)
{
	void (*bodies[])(void) = { timed, busy, (void (*)(void))pause };
	uint64_t stamp;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		pid = child(bodies[i]);
		assert_false(maple_process_stuck(pid, &stamp));
		end(pid);
	}
	assert_false(maple_process_stuck(pid, &stamp));
}

/* ---- who else can wake them ---- */

static void post(int signo)
{
}

static void wait_forever(sem_t *sem)
{
	for (;;)
		sem_wait(sem);
}

static void own_semaphore(void)
{
	sem_t sem;

	sem_init(&sem, 0, 0);
	wait_forever(&sem);
}

static void own_handlers(void)
{
	signal(SIGTERM, post);
	signal(SIGINT, post);
	signal(SIGCHLD, post);
	signal(SIGSEGV, post);
	own_semaphore();
}

static void old_child(void)
{
	if (!fork())
		_exit(0);
	own_handlers();
}

static void ring_with_handlers(void)
{
	signal(SIGALRM, post);
	deadlock();
}

static void shared_alone(void)
{
	sem_t *sem = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	sem_init(sem, 1, 0);
	wait_forever(sem);
}

static void shared_with_child(void)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	shared_alone();
}

static void shared_by_name(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	sem_t *sem;

	assert_int_equal(ftruncate(fd, 4096), 0);
	sem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sem_init(sem, 1, 0);
	wait_forever(sem);
}

static void alarmed(void)
{
	signal(SIGALRM, post);
	alarm(60);
	own_semaphore();
}

static void awaits_a_signal(void)
{
	signal(SIGUSR1, post);
	own_semaphore();
}

static void timed_by(int signo)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = signo };
	struct itimerspec when = { .it_value.tv_sec = 60 };
	timer_t timer;

	signal(SIGTERM, post);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &when, NULL);
	own_semaphore();
}

static void timed_by_its_handler(void)
{
	timed_by(SIGTERM);
}

static void timed_by_its_death(void)
{
	timed_by(SIGHUP);
}

static void handlers_and_child(void)
{
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	own_handlers();
}

static const struct {
	void (*body)(void);
	bool ring, outsiders, woken;
} waits[] = {
	{ deadlock, .ring = true },
	{ ring_with_handlers, .ring = true, .woken = true },
	{ own_semaphore },
	{ own_semaphore, .outsiders = true },
	{ own_handlers },
	{ own_handlers, .outsiders = true, .woken = true },
	{ old_child },
	{ shared_alone },
	{ timed_by_its_death },
	{ shared_with_child, .woken = true },
	{ shared_by_name, .woken = true },
	{ alarmed, .woken = true },
	{ awaits_a_signal, .woken = true },
	{ timed_by_its_handler, .woken = true },
	{ handlers_and_child, .woken = true },
};

#define WAITS (sizeof(waits) / sizeof(*waits))

static void who_can_wake_them(void **state)
{
	struct maple_wakers wakers = { 0 };
	pid_t pids[WAITS];
	uint64_t stamp;
	unsigned int i;

	for (i = 0; i < WAITS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			waits[i].body();
			_exit(0);
		}
	}
	usleep(400000);
	for (i = 0; i < WAITS; i++) {
		wakers.outsiders = waits[i].outsiders;
		if (!maple_process_stuck(pids[i], &stamp))
			fail_msg("%u is not stuck", i);
		if (maple_process_cycle(pids[i], &stamp) != waits[i].ring)
			fail_msg("%u: a ring or none", i);
		if (maple_wakers_exist(&wakers, pids[i]) != waits[i].woken)
			fail_msg("%u can be woken, or cannot", i);
	}
	for (i = 0; i < WAITS; i++)
		end(pids[i]);
}

/* Below one root, others count, but those that are left out. */
static void relatives_can(void **state)
{
	struct maple_wakers wakers = { .root = getpid() };
	pid_t pid = child(own_handlers), other = child((void (*)(void))pause);

	assert_true(maple_wakers_exist(&wakers, pid));
	wakers.spares[1] = other;
	assert_false(maple_wakers_exist(&wakers, pid));
	wakers.spares[1] = 0;
	kill(other, SIGKILL);
	usleep(100000); /* a zombie, which does nothing any more */
	assert_false(maple_wakers_exist(&wakers, pid));
	end(other);
	end(pid);
}

static void spin(void)
{
	for (;;)
		;
}

static void time_is_counted(void **state)
{
	pid_t pid = child(spin), idle = child((void (*)(void))pause);
	uint64_t used = maple_process_used(pid);

	assert_true(maple_process_wants_cpu(pid));
	assert_false(maple_process_wants_cpu(idle));
	assert_true(used > 1000000);
	usleep(100000);
	assert_true(maple_process_used(pid) > used);
	used = maple_process_used(idle);
	assert_true(used);
	usleep(100000);
	assert_true(maple_process_used(idle) == used);
	end(pid);
	end(idle);
	assert_int_equal(maple_process_used(pid), 0);
}

/* Also while others still look at what is left of it. */
static void who_is_gone_is_not_looked_up(void **state)
{
	pid_t pid = child((void (*)(void))pause), tid;
	char path[64], letter;
	uint64_t ns;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(maple_process_threads(pid, &tid, 1), 1);
	assert_int_equal(tid, pid);
	assert_true(maple_process_cpu(pid, pid, &ns, &letter));
	assert_true(maple_process_has(pid, pid));
	/* Its number is not one of ours, though somebody has it. */
	assert_false(maple_process_has(getpid(), pid));
	end(pid);
	assert_false(maple_process_has(pid, pid));
	assert_int_equal(maple_process_threads(pid, &tid, 1), 0);
	assert_false(maple_process_cpu(pid, pid, &ns, &letter));
	assert_int_equal(maple_process_wait(pid, pid, NULL), MAPLE_WAIT_GONE);
	close(fd);
}

static bool has(const struct maple_stack *stack, const char *function)
{
	unsigned int i;

	for (i = 0; i < stack->nframes; i++)
		if (stack->frames[i].place.function &&
		    !strcmp(stack->frames[i].place.function, function))
			return true;
	return false;
}

static int tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (tracer < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &tracer);
	fclose(f);
	return tracer;
}

static void stacks_of_both(void **state)
{
	struct maple_error err = { "" };
	struct maple_stack *stacks;
	unsigned int n, i, first = 0, other = 0;
	pid_t pid = child(deadlock);

	if (maple_stack_collect(pid, NULL, &stacks, &n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(tracer_of(pid), 0);
	assert_int_equal(n, 2);
	for (i = 0; i < n; i++) {
		first += stacks[i].tid == pid && has(&stacks[i], "wait_for_b");
		other += stacks[i].tid != pid && has(&stacks[i], "second");
	}
	assert_int_equal(first, 1);
	assert_int_equal(other, 1);
	maple_stack_destroy(stacks, n);
	end(pid);
	assert_int_not_equal(maple_stack_collect(pid, NULL, &stacks, &n, &err),
			     0);
	assert_null(stacks);
}

#define CROWD 100

static void *wait_in_crowd(void *arg)
{
	pause();
	return arg;
}

static void crowd(void)
{
	pthread_t thread;

	for (int i = 0; i < CROWD; i++)
		pthread_create(&thread, NULL, wait_in_crowd, NULL);
	wait_in_crowd(NULL);
}

static void stacks_of_a_crowd(void **state)
{
	struct maple_error err = { "" };
	struct maple_stack *stacks;
	unsigned int n, i, found = 0;
	pid_t pid = child(crowd), tids[2 * CROWD];

	while (maple_process_threads(pid, tids, 2 * CROWD) <= CROWD)
		usleep(1000);
	if (maple_stack_collect(pid, NULL, &stacks, &n, &err))
		fail_msg("%s", err.text);
	for (i = 0; i < n; i++)
		found += stacks[i].nframes > 0;
	assert_int_equal(found, CROWD + 1);
	maple_stack_destroy(stacks, n);
	end(pid);
}

/* By its executable, wherever below us it is. */
static void found_below(void **state)
{
	pid_t shell = fork(), got = 0;

	if (!shell) {
		execl("/bin/sh", "sh", "-c", "sleep 60; true", NULL);
		_exit(127);
	}
	for (int i = 0; i < 500 && !got; i++) {
		usleep(10000);
		got = maple_process_find(getpid(), "sleep");
	}
	assert_true(got > 0 && got != shell);
	assert_int_equal(maple_process_find(shell, "*/sleep"), got);
	assert_int_equal(maple_process_find(got, "sleep"), got);
	assert_int_equal(maple_process_find(shell, "slee"), 0);
	assert_true(maple_process_runs(got, "s?eep"));
	kill(got, SIGKILL);
	end(shell);
	assert_int_equal(maple_process_find(shell, "sleep"), 0);
}

static pid_t sleeps_as(const char *dir, const char *file, const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		if (chdir(dir))
			_exit(126);
		execl(file, name, "60", NULL);
		_exit(127);
	}
	usleep(200000);
	return pid;
}

/* By the link that it was executed by, but not by what only says so. */
static void found_by_its_link(void **state)
{
	char dir[] = "/tmp/maple-link-XXXXXX", path[64], script[64];
	pid_t pid;
	FILE *out;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/nap", dir);
	assert_int_equal(symlink("/bin/sleep", path), 0);
	pid = sleeps_as("/", path, "sleep");
	assert_true(maple_process_runs(pid, "nap"));
	assert_true(maple_process_runs(pid, "*/nap"));
	assert_true(maple_process_runs(pid, "sleep"));
	assert_false(maple_process_runs(pid, "na"));
	end(pid);
	pid = sleeps_as(dir, "./nap", "sleep");
	assert_true(maple_process_runs(pid, "nap"));
	end(pid);
	pid = sleeps_as("/", "/bin/sleep", "nap");
	assert_false(maple_process_runs(pid, "nap"));
	end(pid);
	snprintf(script, sizeof(script), "%s/script", dir);
	out = fopen(script, "w");
	assert_non_null(out);
	fputs("#!/bin/sh\nsleep 60\ntrue\n", out);
	fclose(out);
	assert_int_equal(chmod(script, 0700), 0);
	pid = sleeps_as("/", script, "script");
	assert_false(maple_process_runs(pid, "script"));
	kill(maple_process_find(pid, "sleep"), SIGKILL);
	end(pid);
	unlink(script);
	unlink(path);
	rmdir(dir);
}

/* What a uprobe does to a function whose return is probed. */
static struct hidden {
	uint64_t slot, caller, place;
	unsigned int asked;
} * hidden;

static __attribute__((noinline)) void hide_return(void)
{
	volatile uint64_t *slot = (uint64_t *)__builtin_frame_address(0) + 1;

	hidden->slot = (uint64_t)slot;
	hidden->caller = *slot;
	*slot = hidden->place;
	pause();
	*slot = hidden->caller;
}

static __attribute__((noinline)) void calls_hidden(void)
{
	hide_return();
	__asm__ volatile(""); /* no jump in its stead */
}

static uint64_t find_hidden(void *ctx, uint64_t slot)
{
	struct hidden *h = ctx;

	h->asked++;
	return slot == h->slot ? h->caller : 0;
}

static unsigned int frames_of(pid_t pid,
			      const struct maple_stack_returns *returns,
			      const char *function)
{
	struct maple_error err = { "" };
	struct maple_stack *stacks;
	unsigned int n, found;

	if (maple_stack_collect(pid, returns, &stacks, &n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(n, 1);
	assert_true(has(&stacks[0], "hide_return"));
	found = has(&stacks[0], function);
	maple_stack_destroy(stacks, n);
	return found;
}

/* A mapping of that name, and a return address in it, are all that it takes. */
static void replaced_returns(void **state)
{
	char path[] = "/tmp/maple.XXXXXX", file[64];
	struct maple_stack_returns returns = { NULL, find_hidden };
	pid_t pid;
	int fd;

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/[uprobes]", path);
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 4096), 0);
	hidden = mmap(NULL, sizeof(*hidden), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hidden->place = (uint64_t)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	returns.ctx = hidden;
	pid = child(calls_hidden);
	assert_int_equal(frames_of(pid, NULL, "calls_hidden"), 0);
	assert_int_equal(frames_of(pid, &returns, "calls_hidden"), 1);
	assert_int_not_equal(hidden->asked, 0);
	end(pid);
	munmap((void *)hidden->place, 4096);
	munmap(hidden, sizeof(*hidden));
	close(fd);
	unlink(file);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlock_is_stuck),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(who_can_wake_them),
		cmocka_unit_test(relatives_can),
		cmocka_unit_test(time_is_counted),
		cmocka_unit_test(who_is_gone_is_not_looked_up),
		cmocka_unit_test(stacks_of_both),
		cmocka_unit_test(stacks_of_a_crowd),
		cmocka_unit_test(replaced_returns),
		cmocka_unit_test(found_below),
		cmocka_unit_test(found_by_its_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
