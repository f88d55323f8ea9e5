// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapled watch: its options, where its knowledge is kept, and that it is one. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>
#include "../journal.h"
#include "../options.h"
#include "../settings.h"
#include "service.h"
#include "watch.h"

#define FOLDER "/var/lib/mapled-watch" /* root's; as the unit's */

static const struct maple_daemon_command command = {
	"mapled watch",
	"mapled watch attaches to what mapled.conf names, for a stretch now and "
	"then,\nand keeps in the memo what it sees; see mapled(8).\n\n"
	"usage: mapled watch [options]",
	"exit status: 0 stopped, or nothing is to be watched; 2 usage or wrong\n"
	"settings; 125 it could not do its work",
	{ { "status", NULL, "what is watched, what it cost, what came of it" },
	  { "config", "FILE",
	    "the settings (default: " MAPLE_SETTINGS_FILE ")" },
	  { "state", "FILE", "where it keeps what it knows of stretches" },
	  { "socket", "PATH",
	    "where mapled listens, for the jobs; it must answer" } },
};

enum { STATUS, CONFIG, STATE, SOCKET };

static int say(int status, const char *text)
{
	return maple_options_say(&command, status, text);
}

/* The default place, by who we are; false: there is none. */
static bool find_state(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (!geteuid())
		n = snprintf(path, size, FOLDER "/state");
	else if (state && *state == '/')
		n = snprintf(path, size, "%s/maple/watch", state);
	else if (home && *home == '/')
		n = snprintf(path, size, "%s/.local/state/maple/watch", home);
	else
		return false;
	return n < (int)size;
}

static int make_folders(const char *path)
{
	char *copy = strdup(path);
	int e = copy ? 0 : -ENOMEM;

	for (char *p = copy ? strchr(copy + 1, '/') : NULL; p && !e;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(copy, geteuid() ? 0700 : 0755) && errno != EEXIST)
			e = -errno;
		*p = '/';
	}
	free(copy);
	return e;
}

/* Nobody else keeps the same; it is given back when we end. */
static int lock(const char *path, struct maple_error *err)
{
	char name[PATH_MAX + 8];
	int fd, e = make_folders(path);

	snprintf(name, sizeof(name), "%s.lock", path);
	fd = e ? -1 : open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return maple_error_set(err, e ? -e : errno,
				       "%s: %s; --state FILE names another "
				       "place",
				       name, strerror(e ? -e : errno));
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	close(fd);
	return maple_error_set(err, EBUSY,
			       "another mapled watch keeps %s: end that one, or "
			       "name another place with --state FILE",
			       path);
}

static gid_t group_of(const char *name)
{
	const struct group *group = getgrnam(name);
	char *end;
	gid_t gid = (gid_t)strtoul(name, &end, 10);

	if (*name && !*end)
		return gid;
	return group ? group->gr_gid : (gid_t)-1;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void serve(struct maple_watch *w,
		  const struct maple_daemon_settings *settings)
{
	static struct maple_watch_state before;

	maple_watch_state_read(&before, w->path);
	maple_watch_state_take(&w->state, &settings->watch, &before,
			       (int64_t)time(NULL));
	w->gid = geteuid() ? (gid_t)-1 : group_of(settings->group);
	w->signals = open_signals();
	maple_journal(LOG_INFO, NULL, "watch: %u lines of mapled.conf",
		      w->state.n);
	sd_notify(0, "READY=1");
	maple_watch_run(w);
	sd_notify(0, "STOPPING=1");
}

static int watch(const char *const *given, const char *path)
{
	static struct maple_watch w;
	struct maple_daemon_settings settings;
	struct maple_error err = { "out of memory" };
	int status = 0, e = maple_settings_init(&settings);

	w.path = path;
	w.socket = given[SOCKET];
	if (!e)
		e = maple_settings_read(&settings,
					given[CONFIG] ? given[CONFIG]
						      : MAPLE_SETTINGS_FILE,
					&err);
	if (e == -ENOENT && !given[CONFIG])
		e = 0;
	if (e) {
		status = say(e == -EINVAL ? STATUS_USAGE : STATUS_FAILED,
			     err.text);
	} else if (!settings.watch.n) {
		sd_notify(0, "READY=1");
		say(0, "nothing is watched: mapled.conf has no line 'watch = "
		       "USER EXECUTABLE', see mapled.conf(5)");
	} else if (lock(path, &err)) {
		status = say(STATUS_FAILED, err.text);
	} else {
		serve(&w, &settings);
	}
	maple_settings_deinit(&settings);
	w.path = w.socket = NULL; /* the caller's, who is done */
	return status;
}

static int tell(FILE *out, const char *path)
{
	static struct maple_watch_state state;
	int e = maple_watch_state_read(&state, path);

	if (!e)
		maple_watch_state_print(out, &state, (int64_t)time(NULL));
	return e;
}

int maple_watch_command(int argc, char **argv)
{
	const char *given[MAPLE_OPTIONS];
	char path[PATH_MAX], text[PATH_MAX + 128];
	int e;

	if (!maple_options_read(&command, argc - 1, argv + 1, given, &e))
		return e;
	if (given[STATE] && strlen(given[STATE]) >= sizeof(path))
		return say(STATUS_USAGE, "the name of --state is too long");
	if (given[STATE])
		strcpy(path, given[STATE]);
	else if (!find_state(path, sizeof(path)))
		return say(STATUS_FAILED, "neither HOME nor XDG_STATE_HOME is "
					  "set: name a place with --state FILE");
	if (!given[STATUS])
		return watch(given, path);
	e = tell(stdout, path);
	/* A service that has not begun yet, or may not be asked. */
	if (e == -ENOENT && !given[STATE] && geteuid())
		e = tell(stdout, FOLDER "/state");
	if (!e)
		return 0;
	snprintf(text, sizeof(text), "%s: %s; %s", path, strerror(-e),
		 e == -ENOENT ? "nothing has been watched yet"
			      : "members of mapled's group may ask");
	return say(STATUS_FAILED, text);
}

void maple_watch_tell(FILE *out)
{
	char path[PATH_MAX];
	bool told = !tell(out, FOLDER "/state");

	if (geteuid() && find_state(path, sizeof(path)))
		told |= !tell(out, path);
	/* What follows comes from another program. */
	if (told)
		putc('\n', out);
	fflush(out);
}
