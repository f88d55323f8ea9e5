// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is a deadlock, what is not, and whose stack is whose. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "backend/process.h"
#include "backend/stack.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;

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

static pid_t child(void (*body)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		body();
		_exit(0);
	}
	usleep(300000);
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

static bool has(const struct maple_stack *stack, const char *function)
{
	unsigned int i;

	for (i = 0; i < stack->nframes; i++)
		if (stack->frames[i].place.function &&
		    !strcmp(stack->frames[i].place.function, function))
			return true;
	return false;
}

static void stacks_of_both(void **state)
{
	struct maple_error err = { "" };
	struct maple_stack *stacks;
	unsigned int n, i, first = 0, other = 0;
	pid_t pid = child(deadlock);

	if (maple_stack_collect(pid, &stacks, &n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(n, 2);
	for (i = 0; i < n; i++) {
		first += stacks[i].tid == pid && has(&stacks[i], "wait_for_b");
		other += stacks[i].tid != pid && has(&stacks[i], "second");
	}
	assert_int_equal(first, 1);
	assert_int_equal(other, 1);
	maple_stack_destroy(stacks, n);
	end(pid);
	assert_int_not_equal(maple_stack_collect(pid, &stacks, &n, &err), 0);
	assert_null(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlock_is_stuck),
		cmocka_unit_test(others_are_not),
		cmocka_unit_test(stacks_of_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
