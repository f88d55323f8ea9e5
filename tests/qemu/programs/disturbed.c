// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sessions that are disturbed while they enforce:
 *   disturbed HOW N SEED VICTIM
 * HOW:
 *   wishes   the target changes its own policies, nice values and CPUs
 *   strays   ... while one thread has to be put in its place all the time
 *   stops    it is stopped and continued, again and again
 *   traced   every thread is traced, stopped, stepped and let go
 *   debugged every system call of all threads stops for a tracer, who was
 *            there before the session, and is when it ends
 *   execs    it execs itself, at any moment
 *   two      two targets at once, each with a session
 * After each, the session works, or knows that its target is over, and when
 * it has ended every thread is as it was, or as it has asked to be.
 */
#include <sys/ptrace.h>
#include "victims.h"

/* The session lives, and sees what the target does. */
static void session_works(struct maple_control *c)
{
	struct maple_counters was, is;
	uint32_t state = session_look(c, &was);
	int ms;

	for (ms = 0; ms < PATIENCE; ms++) {
		state = session_look(c, &is);
		if (state > MAPLE_SESSION_RUNNING)
			break;
		if (is.hits > was.hits)
			return;
		nap(1000);
	}
	fail("state %u, %llu hits", state, (unsigned long long)is.hits);
}

/* Ends the session; the victim is as it was, at once and later. */
static unsigned int finish(struct maple_control *c, struct victim *v)
{
	unsigned int checked;

	maple_control_close(c);
	checked = victim_check(v);
	victim_runs(v);
	checked += victim_check(v);
	victim_end(v);
	return checked;
}

/* How many of its threads are scheduled by the session. */
static unsigned int forced(const struct victim *v)
{
	struct victim_native is;
	unsigned int i, n = 0;

	for (i = 0; i < v->page->n && i < VICTIM_THREADS; i++)
		if (!native_get(v->page->thread[i].tid, &is))
			n += is.policy == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
			     is.cpus == 1 << CPU;
	return n;
}

static unsigned int changes(const char *mode, unsigned int how, const char *path)
{
	struct maple_control *c;
	unsigned int told;
	struct victim v;
	int ms;

	victim_start(&v, path, mode);
	told = v.page->n;
	c = session_on(&v, how, LONG);
	victim_go(&v);
	/* Everyone but main asks once more. */
	for (ms = 0; ms < PATIENCE && v.page->n < 2 * told - 1; ms++)
		nap(1000);
	if (ms == PATIENCE)
		fail("%u of %u threads asked", v.page->n - told, told - 1);
	session_works(c);
	/* Each is in the list twice, and most are in their places soon. */
	for (ms = 0; ms < PATIENCE && forced(&v) < told; ms++)
		nap(1000);
	if (ms == PATIENCE)
		fail("the threads are not put in their places again");
	return finish(c, &v);
}

static unsigned int wishes(unsigned int how, const char *path)
{
	return changes("wishes", how, path);
}

static unsigned int strays(unsigned int how, const char *path)
{
	return changes("strays", how, path);
}

static unsigned int stops(unsigned int how, const char *path)
{
	struct maple_control *c;
	struct victim v;

	victim_start(&v, path, NULL);
	c = session_on(&v, how, LONG);
	victim_go(&v);
	for (int i = 0; i < 10; i++) {
		nap(any(20000));
		victim_stop(&v);
		session_look(c, NULL);
		if (i == 9 && how % 2) { /* ended while it is stopped */
			maple_control_close(c);
			victim_check(&v);
			c = session_open();
		}
		victim_go(&v);
	}
	if (how % 2 == 0)
		session_works(c);
	return finish(c, &v);
}

/* A thread may end at any time, so what fails is no failure. */
static void trace(pid_t tid)
{
	int status, steps = (int)any(6);

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	while (waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		if (steps-- <= 0) {
			ptrace(PTRACE_DETACH, tid, NULL, NULL);
			return;
		}
		ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL);
	}
}

static unsigned int traced(unsigned int how, const char *path)
{
	struct maple_control *c;
	struct victim v;
	unsigned int i;

	victim_start(&v, path, NULL);
	c = session_on(&v, how, LONG);
	victim_go(&v);
	for (int round = 0; round < 3; round++) {
		nap(any(20000));
		for (i = 1; i < 12; i++) /* the first is main, who waits */
			trace(v.page->thread[i].tid);
	}
	session_works(c);
	return finish(c, &v);
}

/* Goes on to the next system call, or stays in its group's stop. */
static void resume(pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return;
	}
	if (status >> 16 || sig == (SIGTRAP | 0x80) || sig == SIGTRAP)
		sig = 0;
	ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(long)sig);
}

/* As a debugger does that has so many stops to see to; false when too few. */
static bool debug(unsigned int stops)
{
	int status, ms;
	pid_t tid;

	for (ms = 0; stops && ms < PATIENCE;) {
		tid = waitpid(-1, &status, WNOHANG | __WALL);
		if (tid < 0)
			return false;
		if (tid == 0) {
			nap(1000);
			ms++;
		} else if (WIFSTOPPED(status)) {
			resume(tid, status);
			stops--;
			ms = 0;
		}
	}
	return !stops;
}

static unsigned int debugged(unsigned int how, const char *path)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	unsigned int checked, n, i;
	struct maple_control *c;
	struct victim v;

	victim_start(&v, path, NULL);
	n = v.page->n;
	for (i = 0; i < n; i++)
		if (ptrace(PTRACE_SEIZE, v.page->thread[i].tid, NULL, options))
			fail("seize: %s", strerror(errno));
	c = session_on(&v, how, LONG);
	victim_go(&v);
	if (!debug(500 + any(200)))
		fail("it does not run under a tracer and a session");
	/* It ends while they stand, in and out of system calls. */
	maple_control_close(c);
	checked = victim_check(&v);
	if (!debug(500))
		fail("it does not run under a tracer that is left");
	checked += victim_check(&v);
	victim_end(&v);
	while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
		;
	return checked;
}

static unsigned int execs(unsigned int how, const char *path)
{
	struct maple_control *c;
	unsigned int checked;
	struct victim v;
	int status, ms;

	victim_start(&v, path, "exec");
	c = session_on(&v, how, LONG);
	victim_go(&v);
	if (how % 4 == 3) /* whatever comes first, the exec or the end */
		nap(any(100000));
	else
		victim_await_stop(&v);
	for (ms = 0; how % 4 != 3 && ms < PATIENCE; ms++) {
		if (session_look(c, NULL) == MAPLE_SESSION_GONE)
			break;
		nap(1000);
	}
	if (ms == PATIENCE)
		fail("the session does not know of the exec");
	maple_control_close(c);
	checked = victim_check(&v);
	if (how % 4 == 3 && (waitpid(v.pid, &status, WUNTRACED) != v.pid ||
			     !WIFSTOPPED(status)))
		fail("the victim ended: %#x", status);
	checked += victim_check(&v);
	victim_end(&v);
	return checked;
}

static unsigned int two(unsigned int how, const char *path)
{
	struct maple_control *c[2];
	unsigned int checked;
	struct victim v[2];

	for (int i = 0; i < 2; i++) {
		victim_start(&v[i], path, NULL);
		c[i] = session_on(&v[i], how + (unsigned int)i, LONG);
	}
	for (int i = 0; i < 2; i++)
		victim_go(&v[i]);
	nap(any(50000));
	for (int i = 0; i < 2; i++)
		session_works(c[i]);
	checked = finish(c[how % 2], &v[how % 2]);
	session_works(c[!(how % 2)]);
	return checked + finish(c[!(how % 2)], &v[!(how % 2)]);
}

static const struct {
	const char *name;
	unsigned int (*run)(unsigned int how, const char *path);
} ways[] = {
	{ "wishes", wishes }, { "strays", strays },	{ "stops", stops },
	{ "traced", traced }, { "debugged", debugged }, { "execs", execs },
	{ "two", two },
};

int main(int argc, char **argv)
{
	unsigned int n, checked = 0;

	if (argc != 5)
		fail("usage: disturbed HOW N SEED VICTIM");
	n = (unsigned int)atoi(argv[2]);
	seed = (unsigned int)atoi(argv[3]);
	for (unsigned int k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
		if (strcmp(ways[k].name, argv[1]) != 0)
			continue;
		for (unsigned int i = 0; i < n; i++)
			checked += ways[k].run(i, argv[4]);
		printf("%s: %u times, %u threads checked\n", argv[1], n,
		       checked);
		return 0;
	}
	fail("no way is called %s", argv[1]);
}
