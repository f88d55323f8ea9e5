// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Commands of the user's: what prepares a run, what judges it, what clears up
 * after it.
 *
 * When the campaign is over, a command has a while to end by itself; then it
 * is asked to (SIGTERM), then killed. So that this reaches whatever it has
 * started it has a process group of its own. On a terminal it is a job in the
 * background, which comes to the foreground if it wants to ask for something.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "campaign/internal.h"
#include "interrupt.h"

#define LOOK_MS	   50  /* between two looks at the clock */
#define KILL_AFTER 1.0 /* seconds from being asked to being killed */

#define GATE	   9 /* a descriptor of a shell's that waits, and is named here: */
static const char waits[] = "IFS= read -r MAPLE_PID <&9 || exit\n"
			    "exec 9<&-; export MAPLE_PID\n"
			    "eval \"shift\n$1\"";

struct job {
	pid_t pid;
	double late; /* when it will be asked to end; 0: not at all yet */
	bool asked, killed;
};

/* Those in @more win over ours; to be freed, not its strings. */
static char **environment(char *const *more, unsigned int n)
{
	size_t ours = 0, k = n;
	unsigned int i;
	char **envp, **e;

	for (e = environ; *e; e++)
		ours++;
	envp = calloc(ours + n + 1, sizeof(*envp));
	if (!envp)
		return NULL;
	for (i = 0; i < n; i++)
		envp[i] = more[i];
	for (e = environ; *e; e++) {
		for (i = 0; i < n; i++)
			if (!strncmp(*e, more[i], strcspn(more[i], "=") + 1))
				break;
		if (i == n)
			envp[k++] = *e;
	}
	return envp;
}

/* Has /bin/sh run @argv for @command, with @gate as its GATE; -1: without. */
static int start(const struct maple_shell_command *command, char *const *argv,
		 int gate, pid_t *pid)
{
	char **envp = environment(command->more, command->nmore);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int e;

	if (!envp)
		return ENOMEM;
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	if (command->words >= 0) {
		posix_spawn_file_actions_adddup2(&files, command->words,
						 STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&files, command->words,
						 STDERR_FILENO);
	}
	if (gate >= 0)
		posix_spawn_file_actions_adddup2(&files, gate, GATE);
	e = posix_spawn(pid, "/bin/sh", &files, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	free(envp);
	return e;
}

/* maple_shell_start - the same without waiting for it; returns an errno */
int maple_shell_start(const struct maple_shell_command *command, pid_t *pid)
{
	char *const argv[] = { "sh", "-c", (char *)command->text, NULL };

	return start(command, argv, -1, pid);
}

/*
 * maple_shell_ahead - a shell that waits to be told to run @command, which is
 * about a process that may not be there yet; returns an errno
 * @go: for maple_shell_go(), or to be closed: then it ends
 */
int maple_shell_ahead(const struct maple_shell_command *command, int *go,
		      pid_t *pid)
{
	char *const argv[] = {
		"sh", "-c", (char *)waits, "sh", (char *)command->text, NULL
	};
	int ends[2], e;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return errno;
	e = start(command, argv, ends[1], pid);
	close(ends[1]);
	*go = ends[0];
	if (e)
		close(ends[0]);
	return e;
}

/* maple_shell_go - now; MAPLE_PID is @target. Its end tells if it was dead. */
void maple_shell_go(int go, pid_t target)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%d\n", target);

	(void)!send(go, line, (size_t)n, MSG_NOSIGNAL);
	close(go);
}

/* Whoever is not in the foreground may do this only with SIGTTOU blocked. */
static void give_terminal(pid_t group)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	sigset_t set, before;

	if (tty < 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	tcsetpgrp(tty, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(tty);
}

static void hurry(struct maple_campaign *c,
		  const struct maple_shell_command *command, struct job *job)
{
	double at = maple_clock_now();

	if (!job->late && (maple_interrupt_asked() || maple_campaign_over(c)))
		job->late = at + command->grace;
	if (!job->late || at < job->late)
		return;
	if (!job->asked)
		kill(-job->pid, SIGTERM);
	else if (!job->killed && at > job->late + KILL_AFTER)
		job->killed = !kill(-job->pid, SIGKILL);
	job->asked = true;
}

/* Returns its wait status. */
static int await(struct maple_campaign *c,
		 const struct maple_shell_command *command, struct job *job)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, job->pid, 0),
			      .events = POLLIN };
	bool foreground = false;
	int status = -1, got;

	for (;;) {
		poll(&pfd, 1, LOOK_MS);
		got = waitpid(job->pid, &status, WNOHANG | WUNTRACED);
		if (got == job->pid && WIFSTOPPED(status)) {
			foreground = WSTOPSIG(status) == SIGTTIN ||
				     WSTOPSIG(status) == SIGTTOU;
			if (foreground)
				give_terminal(job->pid);
			kill(-job->pid, SIGCONT);
		} else if (got == job->pid || (got < 0 && errno != EINTR)) {
			break;
		}
		hurry(c, command, job);
	}
	if (foreground)
		give_terminal(getpgrp());
	if (pfd.fd >= 0)
		close(pfd.fd);
	return got < 0 ? -1 : status;
}

static int note_stopped(struct maple_campaign *c,
			const struct maple_shell_command *command)
{
	struct maple_campaign_result *r = c->result;

	maple_campaign_notice(c, "%s '%.200s' was not done in time: stopped",
			      command->option, command->text);
	if (!r->cut_short && asprintf(&r->cut_short, "%s '%s'", command->option,
				      command->text) < 0)
		r->cut_short = NULL;
	return MAPLE_SHELL_STOPPED;
}

/*
 * maple_shell - has /bin/sh run @command, others' turns going on meanwhile
 *
 * Our own environment stays as it is: other threads read it. Returns the wait
 * status; -1 when there was no shell; MAPLE_SHELL_STOPPED when it had not done
 * what it was to do, and the campaign was over.
 */
int maple_shell(struct maple_campaign *c,
		const struct maple_shell_command *command)
{
	struct maple_lane *lane = maple_lane_leave(c);
	struct job job = { 0 };
	int status = -1;

	if (!maple_shell_start(command, &job.pid))
		status = await(c, command, &job);
	/* What it has left in its group was as much in its way. */
	if (job.asked)
		kill(-job.pid, SIGKILL);
	maple_lane_enter(lane);
	return job.asked ? note_stopped(c, command) : status;
}
