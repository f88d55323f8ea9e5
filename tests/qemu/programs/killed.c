// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * kill -9, at random moments, of one end of a session:
 *   killed owner|target N SEED VICTIM
 * Then the session is over, and all that is left of the target is as it was.
 */
#include "victims.h"

/* Sessions on @v, one after the other, until it is killed. */
static void own(const struct victim *v, unsigned int how)
{
	struct maple_control *c = session_open();
	struct maple_error err;

	for (;; how++) {
		if (session_start(c, v, how, 60000, &err) ||
		    session_probes(c, v, &err))
			fail("session: %s", err.text);
		victim_go(v);
		for (unsigned int i = any(20); i > 0; i--) {
			session_look(c, NULL);
			nap(2000);
		}
		if (maple_control_stop(c, &err))
			fail("stop: %s", err.text);
	}
}

static void kill_owner(unsigned int n, const char *path)
{
	struct victim v = { 0 };
	unsigned int i, checked = 0;
	int status;
	pid_t pid;

	for (i = 0; i < n; i++) {
		if (i % 10 == 0)
			victim_start(&v, path, NULL);
		pid = fork();
		if (!pid) {
			own(&v, i);
			_exit(0);
		}
		nap(any(80000));
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			fail("the owner ended before: %#x", status);
		checked += victim_check(&v);
		victim_go(&v);
		victim_runs(&v);
		checked += victim_check(&v);
		victim_stop(&v);
		checked += victim_check(&v);
		if (i % 10 == 9 || i == n - 1)
			victim_end(&v);
	}
	printf("owner: %u killed, %u threads checked\n", n, checked);
}

static void await_fork(const struct victim *v)
{
	for (int ms = 0; ms < PATIENCE; ms++) {
		for (unsigned int i = 0; i < v->page->n && i < VICTIM_THREADS;
		     i++)
			if (v->page->thread[i].process && v->page->thread[i].tid)
				return;
		nap(1000);
	}
	fail("the target does not fork");
}

/* Half of the times something is there for sure that it has forked. */
static void kill_target(unsigned int n, const char *path)
{
	unsigned int i, gone = 0, checked = 0;
	struct maple_control *c;
	struct victim v;
	int status, ms;

	for (i = 0; i < n; i++) {
		victim_start(&v, path, NULL);
		c = session_on(&v, i, LONG);
		v.page->keep = i % 4 > 1;
		victim_go(&v);
		if (v.page->keep)
			await_fork(&v);
		nap(any(80000));
		kill(v.pid, SIGKILL);
		if (waitpid(v.pid, &status, 0) != v.pid || status != SIGKILL)
			fail("the target ended before: %#x", status);
		for (ms = 0; ms < PATIENCE &&
			     session_look(c, NULL) != MAPLE_SESSION_GONE;
		     ms++)
			nap(1000);
		if (ms == PATIENCE)
			fail("the session does not know of the target's end");
		gone++;
		maple_control_close(c);
		checked += victim_check(&v);
		victim_end(&v);
	}
	printf("target: %u killed, %u sessions gone, %u survivors checked\n", n,
	       gone, checked);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		fail("usage: killed owner|target N SEED VICTIM");
	seed = (unsigned int)atoi(argv[3]);
	if (!strcmp(argv[1], "owner"))
		kill_owner((unsigned int)atoi(argv[2]), argv[4]);
	else
		kill_target((unsigned int)atoi(argv[2]), argv[4]);
	return 0;
}
