// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Runs without maple: natively, and under somebody else. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "slowdown.h"

#define NATIVE_LIMIT 60 /* seconds */

static pid_t start(const struct bench *b, char *const *argv, bool pinned,
		   int out)
{
	pid_t pid = fork();
	cpu_set_t set = b->cpus;
	char text[16];

	if (pid)
		return pid;
	setpgid(0, 0);
	if (pinned) {
		CPU_ZERO(&set);
		CPU_SET(b->pair->cpu.number, &set);
		snprintf(text, sizeof(text), "%d", b->pair->cpu.number);
		setenv("MAPLE_BENCH_CPU", text, 1);
	}
	/* Who only starts the program pins it, and stays free as under us. */
	if (pinned && b->exe)
		set = b->cpus;
	sched_setaffinity(0, sizeof(set), &set);
	dup2(b->null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

/* False if it took more than @limit seconds, and was killed. */
static bool await(pid_t pid, double limit, int *status)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	bool ended = poll(&pfd, 1, (int)(limit * 1000)) == 1;

	if (!ended)
		kill(-pid, SIGKILL);
	waitpid(pid, status, 0);
	kill(-pid, SIGKILL);
	close(fd);
	return ended;
}

static double run(struct bench *b, const char *kind, char *const *argv,
		  bool pinned, double limit)
{
	struct bench_time t = { .own = -1, .after = -1 };
	int out = memfd_create("out", MFD_CLOEXEC), status;
	double began = maple_clock_now();
	pid_t pid = start(b, argv, pinned, out);
	bool ended;

	if (pid < 0)
		bench_die(argv[0], "cannot fork");
	ended = await(pid, limit, &status);
	t.total = maple_clock_now() - began;
	if (!ended)
		printf("over\t%s\t%s\t%.0f\n", b->name, kind, limit);
	else if (bench_judge(b, kind, status, out))
		bench_say(b, kind, &t);
	else
		t.total = 0;
	close(out);
	return ended ? t.total : 0;
}

/* bench_native - as the user runs it, or @pinned to the target's CPU */
void bench_native(struct bench *b, bool pinned)
{
	bool first = !b->native;
	double s = run(b,
		       first	? "warm"
		       : pinned ? "pinned"
				: "native",
		       b->argv, pinned, NATIVE_LIMIT);

	if (first && !s)
		bench_fail(b, "native", "it does not work without maple");
	if (first)
		b->native = s;
}

void bench_peer(struct bench *b, const struct bench_peer *peer)
{
	char *argv[] = { "sh", "-c", (char *)peer->command, NULL };

	run(b, peer->name, argv, false, b->limit);
}
