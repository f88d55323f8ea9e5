// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether somebody but its own threads can wake a process all of whose threads
 * wait at futexes without a timeout. It decides between a deadlock, which is
 * claimed at once, and a wait that may end: that one is a hang when the time
 * limit says so. So what is in doubt can be woken.
 *
 * A futex in memory of the process's own is woken by its own threads alone,
 * and there all of them wait. Files, sockets, pipes and timerfds then wake
 * nobody: no thread waits at one. What is left:
 *
 *   a word in shared memory    another process may have it
 *   a signal's handler         runs in a thread that waits, and may post a
 *                              semaphore or interrupt the wait
 *
 * Handlers that end a program or follow a terminal or a child (TERM, INT, HUP,
 * CHLD, WINCH, ...) are in many programs that nobody sends anything. They count
 * where somebody is known who may: a timer, a process of the same tree, or a
 * command of the user's. A handler of any other signal says by itself that it
 * is waited for. Handlers of faults run for faults only.
 *
 * Not for cycles of locks, which nobody from outside can open: process.c.
 */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "backend/guard/door.h"
#include "process.h"
#include "wakers.h"

#define THREADS 4096
#define BIT(n)	(1ull << ((n)-1))

/* libc's own, for pthread_cancel() and setuid(): from its own threads. */
#define OF_LIBC (BIT(32) | BIT(33))

static const uint64_t faults = BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) |
			       BIT(SIGILL) | BIT(SIGABRT) | BIT(SIGSYS) |
			       BIT(SIGTRAP) | OF_LIBC;

/* Installed by many programs that wait for none of them. */
static const uint64_t customary = BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) |
				  BIT(SIGTERM) | BIT(SIGPIPE) | BIT(SIGCHLD) |
				  BIT(SIGCONT) | BIT(SIGTSTP) | BIT(SIGTTIN) |
				  BIT(SIGTTOU) | BIT(SIGWINCH) | BIT(SIGXCPU) |
				  BIT(SIGXFSZ) | BIT(SIGPWR);

/* Whoever is gone must not be looked up by name: process.c. */
static FILE *open_of(pid_t pid, const char *name)
{
	if (!maple_process_has(pid, pid))
		return NULL;
	return maple_door_read(pid, name);
}

/* ---- shared memory ---- */

/*
 * Whether other processes may have what is mapped by @line. Memory without a
 * name comes to processes by fork alone.
 */
static bool is_others(const char *line, bool kin)
{
	const char *path = strchr(line, '/');

	if (strcspn(line, " ") + 4 >= strlen(line) ||
	    line[strcspn(line, " ") + 4] != 's')
		return false;
	return kin || !path || strncmp(path, "/dev/zero (deleted)", 19);
}

/* Whether any of the @n @words is where other processes may have it. */
static bool are_shared(pid_t pid, const uint64_t *words, int n, bool kin)
{
	FILE *file = open_of(pid, "maps");
	bool found = !file;
	uint64_t lo, hi;
	char line[512];

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &lo, &hi) != 2 ||
		    !is_others(line, kin))
			continue;
		for (int i = 0; i < n; i++)
			found |= words[i] >= lo && words[i] < hi;
	}
	if (file)
		fclose(file);
	return found;
}

/* ---- signals ---- */

static bool find_caught(pid_t pid, uint64_t *caught)
{
	FILE *file = open_of(pid, "status");
	bool found = false;
	char line[256];

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "SigCgt: %" SCNx64, caught) == 1;
	if (file)
		fclose(file);
	return found;
}

/* Whether a timer of timer_create() sends one of @signals. */
static bool has_timer(pid_t pid, uint64_t signals)
{
	FILE *file = open_of(pid, "timers");
	bool found = !file;
	char line[256];
	int signo;

	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "signal: %d", &signo) == 1 && signo > 0 &&
			signo <= 64 && signals & BIT(signo);
	if (file)
		fclose(file);
	return found;
}

/* ---- relatives ---- */

static bool lives(pid_t pid)
{
	uint64_t ns;
	char state;

	return maple_process_cpu(pid, pid, &ns, &state) && state != 'Z' &&
	       state != 'X';
}

static unsigned int add_children(pid_t pid, pid_t *pids, unsigned int max)
{
	pid_t tids[THREADS];
	int t = maple_process_threads(pid, tids, THREADS);
	unsigned int n = 0;

	while (t--)
		n += maple_process_children(pid, tids[t], pids + n, max - n);
	assert(n <= max);
	return n;
}

/* Whether some process of @pid's tree lives beside it. */
static bool has_kin(const struct maple_wakers *w, pid_t pid)
{
	pid_t found[MAPLE_PROCESS_CHILDREN] = { w->root ? w->root : pid };
	unsigned int i, n = 1;

	for (i = 0; i < n; i++) {
		if (i && found[i] != pid && found[i] != w->spares[0] &&
		    found[i] != w->spares[1] && lives(found[i]))
			return true;
		n += add_children(found[i], found + n,
				  MAPLE_PROCESS_CHILDREN - n);
	}
	assert(n <= MAPLE_PROCESS_CHILDREN);
	return false;
}

/*
 * maple_wakers_exist - whether somebody else may wake a thread of @pid, all of
 * which maple_process_stuck() has found to wait for each other
 */
bool maple_wakers_exist(const struct maple_wakers *w, pid_t pid)
{
	bool kin = has_kin(w, pid);
	uint64_t words[THREADS], caught;
	pid_t tids[THREADS];
	int i, n = maple_process_threads(pid, tids, THREADS);

	for (i = 0; i < n; i++)
		if (maple_process_wait(pid, tids[i], &words[i]) !=
		    MAPLE_WAIT_FOREVER)
			return true; /* it has been woken */
	if (are_shared(pid, words, n, kin) || !find_caught(pid, &caught))
		return true;
	caught &= ~faults;
	if (caught & ~customary)
		return true;
	return caught && (kin || w->outsiders || has_timer(pid, caught));
}
