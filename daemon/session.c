// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled attach, mapled detach: to join a running program and to leave it;
 * mapled jobs: what has been joined so that it goes on without a terminal.
 *
 * All that is known of the program is found out by mapletest, with its
 * caller's rights and not with mapled's; so attach is mapletest's, and finds
 * mapled like any other campaign. So are jobs, which are their user's own.
 *
 * By way of pkexec it is somebody else who asks than the one whose rights it
 * has: he may join another user's program, and that is all. What names a
 * command, a file or a socket is root's to say, and so is the environment. What
 * he has begun ends with his terminal, too: a job would be root's, whom nobody
 * asks again, and he could neither see nor stop it.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/attach.h>
#include "session.h"
#include "watch/watch.h"

#define STATUS_USAGE  2
#define STATUS_FAILED 125
#define TOOL	      "mapletest"

/* maple_session_tool - mapletest: beside us, as in a build tree, or where both
   are installed */
void maple_session_tool(char *path, size_t size)
{
	static const char *const places[] = { "%s/" TOOL, "%s/../bin/" TOOL };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *folder;

	if (n > 0) {
		self[n] = '\0';
		folder = dirname(self);
		for (unsigned int i = 0; i < 2; i++) {
			snprintf(path, size, places[i], folder);
			if (!access(path, X_OK))
				return;
		}
	}
	snprintf(path, size, "%s", TOOL);
}

/* What pkexec's caller may say; @takes: with a value. */
static const struct permitted {
	const char *name;
	bool takes;
} permitted[] = {
	{ "max-time", true },	 { "timeout", true },
	{ "keep-going", false }, { "seed", true },
	{ "order", true },	 { "idioms", true },
	{ "input", true },	 { "include", true },
	{ "exclude", true },	 { "skip-unsupported", false },
	{ "format", true },	 { "quiet", false },
	{ "verbose", false },	 { "help", false },
	{ "observe", false },
};

/* The option that @word is, by its whole name; NULL: none of these. */
static const struct permitted *permit(const char *word)
{
	size_t n = strcspn(word + 2, "=");

	for (size_t i = 0; i < sizeof(permitted) / sizeof(*permitted); i++)
		if (strlen(permitted[i].name) == n &&
		    !strncmp(permitted[i].name, word + 2, n) &&
		    (permitted[i].takes || !word[2 + n]))
			return &permitted[i];
	return NULL;
}

/* Whether all of @argv may be said by who is not root himself. */
static int check_words(char **argv)
{
	const struct permitted *p;

	for (argv += 2; *argv; argv++) {
		if (**argv != '-')
			continue;
		p = argv[0][1] == '-' ? permit(*argv) : NULL;
		if (!p) {
			fprintf(stderr,
				"mapled: '%.60s' takes root, not an "
				"administrator's consent: with sudo, mapletest "
				"attach has all options; man mapled lists "
				"those that are permitted\n",
				*argv);
			return STATUS_USAGE;
		}
		if (p->takes && !strchr(*argv, '=') && !*++argv)
			break;
	}
	return 0;
}

/* Becomes mapletest, with the same words, or returns a status. */
static int become_tool(char **argv)
{
	char path[PATH_MAX + 32];

	maple_session_tool(path, sizeof(path));
	argv[0] = TOOL;
	execvp(path, argv);
	fprintf(stderr, "mapled: %s: %s; sudo apt install mapletest\n", path,
		strerror(errno));
	return STATUS_FAILED;
}

/* maple_session_attach - becomes `mapletest attach`, or returns a status */
int maple_session_attach(char **argv)
{
	bool lent = getenv("PKEXEC_UID");

	if (lent && check_words(argv))
		return STATUS_USAGE;
	if (lent && (clearenv() || setenv("PATH", "/usr/sbin:/usr/bin", 1) ||
		     setenv("HOME", "/root", 1)))
		return STATUS_FAILED;
	return become_tool(argv);
}

/* maple_session_jobs - becomes `mapletest jobs`, or returns a status */
int maple_session_jobs(char **argv)
{
	/* They are root's: he has begun none, and is to end none. */
	if (getenv("PKEXEC_UID")) {
		fprintf(stderr, "mapled: jobs are each user's own: mapled jobs "
				"without pkexec lists yours, and with sudo "
				"root's\n");
		return STATUS_USAGE;
	}
	/* Ahead of the list, for people. */
	if (!argv[2])
		maple_watch_tell(stdout);
	return become_tool(argv);
}

/* maple_session_detach - returns the exit status */
int maple_session_detach(int argc, char **argv)
{
	struct maple_error err = { "" };
	char *end = NULL;
	long pid = argc == 3 ? strtol(argv[2], &end, 10) : 0;

	if (pid <= 0 || pid > INT_MAX || *end) {
		fprintf(stderr, "mapled: which process? mapled detach PID\n");
		return STATUS_USAGE;
	}
	if (!maple_attach_end((pid_t)pid, &err))
		return 0;
	fprintf(stderr, "mapled: %s\n", err.text);
	return STATUS_FAILED;
}
