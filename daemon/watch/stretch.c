// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A stretch is the very job that its user would begin by `mapled attach
 * --detach`: begun by mapletest, as that user, with that user's rights, limits
 * and memo. So nothing is joined here that its user could not join.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../session.h"
#include "../stat.h"
#include "stretch.h"

#define BEGIN_MS 120000 /* until a job has its number, or is refused */
#define STOP_S	 30.0
#define GONE	 3 /* the child's status: the process is another one by now */

/* ---- what a job says ---- */

/* The folder of all jobs of who we are; false: there is none. */
static bool find_place(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (state && *state == '/')
		n = snprintf(path, size, "%s/maple/jobs", state);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.local/state/maple/jobs", home);
	else
		return false;
	return n < (int)size;
}

static int look(const void *ctx, void *answer)
{
	struct maple_stretch_news *news = answer;
	struct maple_detached_info job;
	struct maple_error err;
	struct maple_stat stat;
	char place[PATH_MAX];
	int e;

	if (!find_place(place, sizeof(place)))
		return -ENOENT;
	e = maple_detached_look(place, *(const uint64_t *)ctx, &job, &err);
	if (e)
		return e;
	*news = (struct maple_stretch_news){ .state = job.state,
					     .status = job.status,
					     .pid = job.pid,
					     .runs = job.runs,
					     .findings = job.findings };
	if (job.npoints) {
		news->predicted = job.curve[job.npoints - 1].predicted;
		news->exposed = job.curve[job.npoints - 1].exposed;
	}
	if (maple_stat_read(job.pid, &stat))
		news->started = stat.started;
	else
		news->pid = 0;
	maple_detached_info_deinit(&job);
	return 0;
}

static int stop(const void *ctx, void *answer)
{
	char place[PATH_MAX];
	struct maple_error err;

	return find_place(place, sizeof(place))
		       ? maple_detached_stop(place, *(const uint64_t *)ctx,
					     STOP_S, &err)
		       : -ENOENT;
}

static int forget(const void *ctx, void *answer)
{
	char place[PATH_MAX];
	struct maple_error err;

	return find_place(place, sizeof(place))
		       ? maple_detached_remove(place, *(const uint64_t *)ctx,
					       &err)
		       : -ENOENT;
}

int maple_stretch_look(const struct maple_watch_user *user, uint64_t number,
		       struct maple_stretch_news *news)
{
	return maple_watch_user_do(user, look, &number, news, sizeof(*news));
}

int maple_stretch_stop(const struct maple_watch_user *user, uint64_t number)
{
	char unused;

	return maple_watch_user_do(user, stop, &number, &unused, 1);
}

int maple_stretch_remove(const struct maple_watch_user *user, uint64_t number)
{
	char unused;

	return maple_watch_user_do(user, forget, &number, &unused, 1);
}

/* ---- how it begins ---- */

struct words {
	char pid[16], time[32], db[PATH_MAX + 16];
	const char *argv[24];
	unsigned int n;
};

static void fill_words(struct words *w, const struct maple_watch_line *line,
		       const struct maple_watch_user *user, pid_t pid,
		       const char *socket)
{
	static const char *const always[] = { "mapletest", "attach", "--detach",
					      "--quiet", "--keep-going" };

	for (w->n = 0; w->n < sizeof(always) / sizeof(*always); w->n++)
		w->argv[w->n] = always[w->n];
	snprintf(w->time, sizeof(w->time), "--max-time=%gs", line->stretch);
	w->argv[w->n++] = w->time;
	if (!line->force)
		w->argv[w->n++] = "--observe";
	if (socket) {
		w->argv[w->n++] = "--socket";
		w->argv[w->n++] = socket;
	}
	/* As attach of root's has it. */
	if (*user->place) {
		snprintf(w->db, sizeof(w->db), "--db=%s/memo.db", user->place);
		w->argv[w->n++] = w->db;
	}
	snprintf(w->pid, sizeof(w->pid), "%d", (int)pid);
	w->argv[w->n++] = w->pid;
	w->argv[w->n] = NULL;
}

_Noreturn static void become_tool(const struct maple_watch_line *line,
				  const struct maple_watch_user *user,
				  const struct maple_scan_process *process,
				  const char *socket, const int out[2],
				  const int err[2])
{
	char tool[PATH_MAX + 32];
	struct words words;
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Looked for by us: the user has another PATH. */
	maple_session_tool(tool, sizeof(tool));
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out[1], STDOUT_FILENO) < 0 ||
	    dup2(err[1], STDERR_FILENO) < 0 || chdir("/"))
		_exit(125);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (maple_watch_user_become(user)) {
		dprintf(STDERR_FILENO, "mapled watch cannot become %s: %s\n",
			user->name, strerror(errno));
		_exit(125);
	}
	if (!maple_scan_is(line, process))
		_exit(GONE);
	fill_words(&words, line, user, process->pid, socket);
	execvp(tool, (char *const *)words.argv);
	dprintf(STDERR_FILENO, "%s: %s; sudo apt install mapletest\n", tool,
		strerror(errno));
	_exit(125);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* All that comes of both until both are closed; false: that takes too long. */
static bool read_both(const int fds[2], char text[2][MAPLE_ERROR_MAX])
{
	struct pollfd from[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
	long left, until = now_ms() + BEGIN_MS;
	size_t used[2] = { 0, 0 };
	char some[256];

	while (from[0].fd >= 0 || from[1].fd >= 0) {
		left = until - now_ms();
		if (left <= 0 || poll(from, 2, (int)left) == 0)
			return false;
		for (int i = 0; i < 2; i++) {
			ssize_t n = 0;

			if (from[i].fd < 0 || !from[i].revents)
				continue;
			n = read(from[i].fd, some, sizeof(some));
			if (n <= 0)
				from[i].fd = -1;
			for (ssize_t k = 0; k < n; k++)
				if (used[i] < MAPLE_ERROR_MAX - 1)
					text[i][used[i]++] = some[k];
		}
	}
	return true;
}

/* The last line of what mapletest has said, without its name. */
static const char *last_line(char *text)
{
	char *line;

	for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
		text[n - 1] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return strncmp(line, "mapletest: ", 11) ? line : line + 11;
}

static int finish(pid_t child, bool whole, char text[2][MAPLE_ERROR_MAX],
		  const struct maple_scan_process *process, uint64_t *number,
		  struct maple_error *err)
{
	const char *line;
	int status = 0;

	if (!whole)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	*number = strtoull(text[0], NULL, 10);
	if (WIFEXITED(status) && !WEXITSTATUS(status) && *number)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == GONE)
		return maple_error_set(err, ESRCH, "process %d has ended",
				       (int)process->pid);
	line = last_line(text[1]);
	if (!whole)
		line = "mapletest attach did not begin in two minutes";
	return maple_error_set(err, EPERM, "%.400s",
			       *line ? line : "mapletest attach was killed");
}

int maple_stretch_begin(const struct maple_watch_line *line,
			const struct maple_watch_user *user,
			const struct maple_scan_process *process,
			const char *socket, uint64_t *number,
			struct maple_error *err)
{
	char text[2][MAPLE_ERROR_MAX] = { "", "" };
	int out[2], errs[2];
	pid_t child;
	bool whole;

	if (pipe2(out, O_CLOEXEC))
		return maple_error_set(err, errno, "no pipe: %m");
	if (pipe2(errs, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return maple_error_set(err, errno, "no pipe: %m");
	}
	child = fork();
	if (!child)
		become_tool(line, user, process, socket, out, errs);
	close(out[1]);
	close(errs[1]);
	whole = child > 0 && read_both((const int[2]){ out[0], errs[0] }, text);
	close(out[0]);
	close(errs[0]);
	if (child < 0)
		return maple_error_set(err, EAGAIN, "no child: %m");
	return finish(child, whole, text, process, number, err);
}
