// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Commands of the user's: what prepares a run, what judges it. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "internal.h"

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
	memcpy(envp, more, n * sizeof(*envp));
	for (e = environ; *e; e++) {
		for (i = 0; i < n; i++)
			if (!strncmp(*e, more[i], strcspn(more[i], "=") + 1))
				break;
		if (i == n)
			envp[k++] = *e;
	}
	return envp;
}

/*
 * maple_shell - has /bin/sh run @command, others' turns going on meanwhile
 * @more: @n settings, NAME=VALUE, for its environment
 * @out: where what it prints goes; -1: where ours goes
 *
 * Our own environment stays as it is: other threads read it. Returns the wait
 * status; -1 when there was no shell.
 */
int maple_shell(struct maple_campaign *c, const char *command,
		char *const *more, unsigned int n, int out)
{
	char *const argv[] = { "sh", "-c", (char *)command, NULL };
	struct maple_lane *lane = maple_lane_leave(c);
	char **envp = environment(more, n);
	posix_spawn_file_actions_t files;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	if (out >= 0) {
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
	}
	if (envp && !posix_spawn(&pid, "/bin/sh", &files, NULL, argv, envp))
		while (waitpid(pid, &status, 0) < 0)
			if (errno != EINTR) {
				status = -1;
				break;
			}
	free(envp);
	posix_spawn_file_actions_destroy(&files);
	maple_lane_enter(lane);
	return status;
}
