// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Processes, exec, priorities, affinities, signals, libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pty.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include "mock_agent.h"

static char true_path[] = "/bin/true";
static char *const true_argv[] = { true_path, NULL };

/* What the child did reaches us by its exit status. */
static int status_of(pid_t pid)
{
	int status = -1;

	maple_self.inside++;
	waitpid(pid, &status, 0);
	maple_self.inside--;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In the child of a fork: it has left the run, once. */
static void tell_detached(void)
{
	unsigned int i, left = 0;

	for (i = 0; i < mock_n; i++)
		left += mock_log[i].kind == DETACH;
	syscall(SYS_exit_group, left == 1 && !maple_agent_on() ? 42 : 1);
}

static void test_fork(void **state)
{
	pid_t pid = fork();
	int master;

	if (!pid)
		tell_detached();
	assert_int_equal(status_of(pid), 42);
	pid = _Fork();
	if (!pid)
		tell_detached();
	assert_int_equal(status_of(pid), 42);
	pid = forkpty(&master, NULL, NULL, NULL); /* forks inside libc */
	if (!pid)
		tell_detached();
	assert_int_equal(status_of(pid), 42);
	expect("");
}

/* The child that shares our memory must not take us out of the run. */
static void test_vfork(void **state)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(7);
	assert_int_equal(status_of(pid), 7);
	expect("");
	assert_true(maple_agent_on());
}

static void own_everything(void)
{
	cpu_set_t cpus;

	maple_self.inside = 1;
	maple_shm->sched = MAPLE_SCHEDULE_OLDER;
	maple_shm->cpu = 0;
	maple_shm->stats.pinned = 1;
	maple_shm->pid = maple_agent_pid = getpid();
	maple_shm->thread[0].tid = getpid();
	maple_shm->old_policy = sched_getscheduler(0);
	maple_shm->old_priority = 0;
	maple_shm->old_nice = 3;
	sched_getaffinity(0, sizeof(maple_shm->old_affinity),
			  (cpu_set_t *)maple_shm->old_affinity);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
	maple_self.inside = 0;
}

static void own_nothing(void)
{
	maple_self.inside = 1;
	sched_setaffinity(0, sizeof(maple_shm->old_affinity),
			  (cpu_set_t *)maple_shm->old_affinity);
}

/* Whether the CPUs that a child counts are those from before the run. */
static char count_command[] = "exit $(nproc)";

static int native_cpus(void)
{
	return CPU_COUNT_S(sizeof(maple_shm->old_affinity),
			   (cpu_set_t *)maple_shm->old_affinity);
}

static void test_spawn(void **state)
{
	char shell[] = "sh", option[] = "-c";
	char *const argv[] = { shell, option, count_command, NULL };
	cpu_set_t cpus;
	int a, b, c;
	pid_t pid;
	FILE *f;

	own_everything();
	posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	a = status_of(pid);
	posix_spawnp(&pid, "sh", NULL, NULL, argv, environ);
	b = status_of(pid);
	c = system(count_command);
	f = popen(count_command, "r");
	maple_self.inside = 1;
	assert_int_equal(a, native_cpus());
	assert_int_equal(b, native_cpus());
	assert_int_equal(WEXITSTATUS(c), native_cpus());
	assert_int_equal(WEXITSTATUS(pclose(f)), native_cpus());
	/* And we are where we were. */
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_true(CPU_COUNT(&cpus) == 1 && CPU_ISSET(0, &cpus));
	maple_self.inside = 0;
	expect("block block block block");
	own_nothing();
}

/* What fails comes back; what works is another program. */
static void test_exec(void **state)
{
	static const char no[] = "/no/such/program";
	char *const argv[] = { NULL };
	int i, ret = 0;
	pid_t pid;

	for (i = 0; i < 9; i++) {
		errno = 0;
		switch (i) {
		case 0:
			ret = execve(no, argv, environ);
			break;
		case 1:
			ret = execv(no, argv);
			break;
		case 2:
			ret = execvp(no, argv);
			break;
		case 3:
			ret = execvpe(no, argv, environ);
			break;
		case 4:
			ret = execl(no, no, "a", NULL);
			break;
		case 5:
			ret = execlp(no, no, NULL);
			break;
		case 6:
			ret = execle(no, no, "a", NULL, environ);
			break;
		case 7:
			ret = fexecve(-1, true_argv, environ);
			break;
		case 8:
			ret = execveat(-1, no, argv, environ, 0);
			break;
		}
		assert_int_equal(ret, -1);
		assert_int_equal(errno, i == 7 ? EINVAL : ENOENT);
		expect("detach attach");
	}
	maple_self.inside = 1;
	pid = fork();
	if (!pid) {
		maple_self.inside = 0;
		execl("/bin/sh", "sh", "-c", "exit $(($1 + $2))", "x", "30",
		      "12", NULL);
	}
	assert_int_equal(status_of(pid), 42);
	pid = fork();
	if (!pid) {
		char variable[] = "STATUS=43";
		char *const env[] = { variable, NULL };

		maple_self.inside = 0;
		execle("/bin/sh", "sh", "-c", "exit $STATUS", NULL, env);
	}
	assert_int_equal(status_of(pid), 43);
}

static void (*const exits[])(int) = { exit, _exit, _Exit, quick_exit };

/* Said in the program itself, not in a child that shares its memory. */
static void test_exit(void **state)
{
	unsigned int i, *said;
	pid_t pid;

	maple_self.inside = 1;
	for (i = 0; i < 8; i++) {
		said = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pid = fork();
		if (!pid) {
			maple_agent_pid = i < 4 ? getpid() : getppid();
			maple_shm->pid = maple_agent_pid;
			mock_said = said;
			maple_self.inside = 0;
			exits[i % 4](i + 10);
		}
		assert_int_equal(status_of(pid), i + 10);
		assert_int_equal(*said, i < 4);
	}
}

static void *say_sched(void *arg)
{
	struct sched_param param = { -1 };
	int policy = -1;

	pthread_getschedparam(pthread_self(), &policy, &param);
	return (void *)(intptr_t)(policy * 100 + param.sched_priority);
}

/* The program hears what it asked for; the kernel nothing. */
static void test_priorities(void **state)
{
	struct sched_param five = { 5 }, zero = { 0 }, got = { -1 };
	int policy = syscall(SYS_sched_getscheduler, 0), p = -1;
	long nice_value = syscall(SYS_getpriority, PRIO_PROCESS, 0);
	void *inherited;
	pthread_t t;

	own_everything();
	assert_int_equal(sched_getscheduler(0), policy);
	assert_int_equal(getpriority(PRIO_PROCESS, 0), 3);
	assert_int_equal(sched_setscheduler(0, SCHED_RR, &five), 0);
	assert_int_equal(sched_getscheduler(getpid()), SCHED_RR);
	assert_int_equal(sched_getparam(0, &got), 0);
	assert_int_equal(got.sched_priority, 5);
	assert_int_equal(sched_setscheduler(0, SCHED_RR, &zero), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sched_setscheduler(0, 99, &zero), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(pthread_setschedprio(pthread_self(), 7), 0);
	assert_int_equal(pthread_getschedparam(pthread_self(), &p, &got), 0);
	assert_int_equal(p * 100 + got.sched_priority, SCHED_RR * 100 + 7);
	pthread_create(&t, NULL, say_sched, NULL);
	pthread_join(t, &inherited);
	assert_int_equal((intptr_t)inherited, SCHED_RR * 100 + 7);
	assert_int_equal(
		pthread_setschedparam(pthread_self(), SCHED_OTHER, &zero), 0);
	assert_int_equal(sched_setparam(0, &five), -1);
	assert_int_equal(sched_setparam(0, &zero), 0);
	assert_int_equal(nice(4), 7);
	assert_int_equal(nice(100), 19);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, -5), 0);
	assert_int_equal(getpriority(PRIO_PROCESS, getpid()), -5);
	assert_int_equal(syscall(SYS_sched_getscheduler, 0), policy);
	assert_int_equal(syscall(SYS_getpriority, PRIO_PROCESS, 0), nice_value);
	/* Nobody's: the kernel answers. */
	assert_int_equal(sched_setscheduler(0x7fffff, SCHED_OTHER, &zero), -1);
	assert_int_equal(errno, ESRCH);
	own_nothing();
}

static void test_affinity(void **state)
{
	cpu_set_t real, cpus, none;
	int n;

	CPU_ZERO(&none);
	own_everything();
	n = native_cpus();
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_int_equal(CPU_COUNT(&cpus), n);
	assert_int_equal(
		pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus), 0);
	assert_int_equal(CPU_COUNT(&cpus), n);
	assert_int_equal(sched_getaffinity(0, 1, &cpus), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(sched_setaffinity(0, sizeof(none), &none), -1);
	assert_int_equal(errno, EINVAL);
	CPU_SET(n - 1, &none);
	assert_int_equal(
		pthread_setaffinity_np(pthread_self(), sizeof(none), &none), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_true(CPU_EQUAL(&cpus, &none));
	CPU_ZERO(&real);
	assert_true(syscall(SYS_sched_getaffinity, 0, sizeof(real), &real) > 0);
	assert_true(CPU_COUNT(&real) == 1 && CPU_ISSET(0, &real));
	own_nothing();
}

static void test_yield(void **state)
{
	mock_yields = 0;
	sched_yield();
	thrd_yield();
	assert_int_equal(mock_yields, 2);
}

static void on_signal(int signo)
{
}

static void test_signals(void **state)
{
	struct sigaction act = { .sa_handler = on_signal }, old;

	mock_owned = SIGSEGV;
	assert_int_equal(sigaction(SIGSEGV, &act, NULL), 0);
	assert_int_equal(sigaction(SIGSEGV, NULL, &old), 0);
	assert_ptr_equal(old.sa_handler, on_signal);
	assert_ptr_equal(signal(SIGSEGV, SIG_IGN), on_signal);
	sigaction(SIGSEGV, NULL, &old);
	assert_int_equal(old.sa_flags, SA_RESTART);
	assert_ptr_equal(sysv_signal(SIGSEGV, on_signal), SIG_IGN);
	expect("action action action action action");
	/* The kernel knows nothing of it, and others are none of ours. */
	mock_owned = 0;
	sigaction(SIGSEGV, NULL, &old);
	assert_ptr_not_equal(old.sa_handler, on_signal);
	assert_ptr_equal(signal(SIGUSR1, on_signal), SIG_DFL);
	assert_ptr_equal(signal(SIGUSR1, SIG_DFL), on_signal);
	expect("");
}

static int handled;
static siginfo_t *told;

static void on_end(int signo, siginfo_t *info, void *context)
{
	handled = signo;
	told = info;
}

/* As the old form of a handler. */
#define ON_END ((sighandler_t)(void (*)(void))on_end)

static sighandler_t in_kernel(int signo)
{
	struct {
		sighandler_t handler;
		unsigned long flags, restorer, mask;
	} act;

	assert_int_equal(syscall(SYS_rt_sigaction, signo, NULL, &act, 8), 0);
	return act.handler;
}

/* Who is told to end is called by the agent, and never sees that. */
static void test_signals_that_end(void **state)
{
	struct sigaction act = { .sa_sigaction = on_end,
				 .sa_flags = SA_SIGINFO },
			 old;
	sigset_t set;
	int signo = 0;

	assert_int_equal(sigaction(SIGTERM, &act, &old), 0);
	assert_ptr_equal(old.sa_handler, SIG_DFL);
	assert_ptr_not_equal(in_kernel(SIGTERM), ON_END);
	expect("");
	raise(SIGTERM);
	assert_int_equal(handled, SIGTERM);
	assert_non_null(told);
	expect("stop");
	/* Somebody who puts back what he found. */
	assert_ptr_equal(signal(SIGTERM, on_signal), ON_END);
	assert_int_equal(sigaction(SIGTERM, &act, &old), 0);
	assert_ptr_equal(old.sa_handler, on_signal);
	act = old;
	assert_int_equal(sigaction(SIGTERM, &act, &old), 0);
	assert_ptr_equal(old.sa_handler, ON_END);
	/* What is refused changes nothing. */
	assert_int_equal(sigaction(SIGKILL, &act, NULL), -1);
	handled = 0;
	assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
	assert_ptr_equal(signal(SIGTERM, SIG_IGN), ON_END);
	raise(SIGTERM);
	assert_int_equal(handled, 0);
	expect("");
	assert_ptr_equal(signal(SIGTERM, SIG_DFL), SIG_IGN);
	/* One that it waits for. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGINT);
	assert_int_equal(sigwait(&set, &signo), 0);
	assert_int_equal(signo, SIGINT);
	expect("block stop");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool really_blocked(int signo)
{
	uint64_t set = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, 8);
	return set >> (signo - 1) & 1;
}

static void test_masks(void **state)
{
	sigset_t all, old;

	mock_owned = SIGTRAP;
	sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &all, &old), 0);
	assert_int_equal(sigismember(&old, SIGTRAP), 0);
	assert_true(really_blocked(SIGUSR1));
	assert_false(really_blocked(SIGTRAP));
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &old), 0);
	assert_int_equal(sigismember(&old, SIGTRAP), 1);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &all, &old), 0);
	assert_int_equal(sigismember(&old, SIGTRAP), 1);
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &old), 0);
	assert_int_equal(sigismember(&old, SIGTRAP), 0);
	assert_false(really_blocked(SIGUSR1));
	mock_owned = 0;
	assert_int_equal(sigprocmask(SIG_SETMASK, &all, &old), 0);
	assert_true(really_blocked(SIGTRAP));
	assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void test_images(void **state)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);

	assert_non_null(lib);
	assert_int_equal(dlclose(lib), 0);
	expect("images images");
	assert_null(dlopen("libnone-such.so", RTLD_NOW));
	assert_true(strstr(dlerror(), "libnone-such.so") != NULL);
	lib = dlopen(NULL, RTLD_NOW);
	assert_non_null(lib);
	dlclose(lib);
	lib = dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW);
	assert_non_null(lib);
	dlclose(lib);
}

#define T(name) cmocka_unit_test_setup_teardown(name, mock_setup, mock_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_fork),	  T(test_vfork),
		T(test_spawn),	  T(test_exec),
		T(test_exit),	  T(test_priorities),
		T(test_affinity), T(test_yield),
		T(test_signals),  T(test_signals_that_end),
		T(test_masks),	  T(test_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
