// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapled: options, and the service. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/version.h>
#include <maple/wire.h>
#include "journal.h"
#include "options.h"
#include "server.h"
#include "session.h"
#include "observer/observer.h"
#include "watch/watch.h"

static const struct maple_daemon_command command = {
	"mapled",
	"mapled lends CPUs, real-time priorities and maple.ko to mapletest, and "
	"keeps\nthe memo database of all.\n\n"
	"usage: mapled [options]\n       mapled attach [options] PID\n"
	"       mapled detach PID\n       mapled jobs [options] [N...]\n"
	"       mapled watch [options]\n       mapled observer [options]\n\n"
	"attach joins a program that runs, as 'mapletest attach' does;\n"
	"detach has whoever is attached to it leave it; jobs lists what\n"
	"was attached with --detach, as 'mapletest jobs' does; watch attaches\n"
	"by itself, now and then, to what mapled.conf names; observer loads\n"
	"eBPF for campaigns whose user may not.",
	"exit status: 0 stopped, 2 usage or wrong settings, 125 mapled could not "
	"do\nits work",
	{ { "socket", "PATH", "listen there, not where the settings say" },
	  { "db", "FILE", "the memo database, not that of the settings" },
	  { "config", "FILE",
	    "the settings (default: " MAPLE_SETTINGS_FILE ")" },
	  { "check-config", NULL,
	    "read the settings, say what is wrong, and end" },
	  { "protocol", NULL, "describe what is said over the socket, and end" },
	  { "version", NULL, "print the version" } },
};

enum { SOCKET, DB, CONFIG, CHECK_CONFIG, PROTOCOL, VERSION };

static int say(int status, const char *text)
{
	return maple_options_say(&command, status, text);
}

/* The default need not be there; what is asked for has to. */
static int read_settings(struct maple_daemon_settings *settings,
			 const char *file, struct maple_error *err)
{
	int e = maple_settings_read(settings, file ? file : MAPLE_SETTINGS_FILE,
				    err);

	return e == -ENOENT && !file ? 0 : e;
}

/* What is no error: mapled runs all the same, and so do the other lines. */
static void warn(const struct maple_daemon_settings *settings)
{
	const char *user;
	char text[192];
	size_t at = 0;

	while ((user = maple_watch_lines_stranger(&settings->watch, &at))) {
		snprintf(text, sizeof(text),
			 "there is no user %s (getent passwd lists all): "
			 "nothing is watched by the line of mapled.conf that "
			 "names one",
			 user);
		say(0, text);
	}
}

static int set(char **to, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	if (!value)
		return 0;
	free(*to);
	*to = copy;
	return copy ? 0 : -ENOMEM;
}

static int serve(const char *const *given)
{
	struct maple_error err = { "out of memory" };
	struct maple_server server = { 0 };
	int status = 0, e = maple_settings_init(&server.settings);

	if (!e)
		e = read_settings(&server.settings, given[CONFIG], &err);
	if (!e && given[CHECK_CONFIG])
		e = maple_server_cpus(&server.settings, &err);
	if (e) {
		status = e == -EINVAL ? STATUS_USAGE : STATUS_FAILED;
	} else if (!given[CHECK_CONFIG]) {
		if (set(&server.settings.socket, given[SOCKET]) ||
		    set(&server.settings.database, given[DB]) ||
		    maple_server_open(&server, &err) ||
		    maple_server_run(&server, &err))
			status = STATUS_FAILED;
	}
	if (status && given[CHECK_CONFIG])
		say(status, err.text);
	else if (given[CHECK_CONFIG])
		warn(&server.settings);
	else if (status)
		maple_journal(LOG_ERR, NULL, "%s", err.text);
	maple_server_close(&server);
	return status;
}

int main(int argc, char **argv)
{
	const char *given[MAPLE_OPTIONS];
	int status;

	if (argc > 1 && !strcmp(argv[1], "attach"))
		return maple_session_attach(argv);
	if (argc > 1 && !strcmp(argv[1], "jobs"))
		return maple_session_jobs(argv);
	if (argc > 1 && !strcmp(argv[1], "watch"))
		return maple_watch_command(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "observer"))
		return maple_observer_command(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "detach"))
		return maple_session_detach(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (!maple_options_read(&command, argc, argv, given, &status))
		return status;
	if (given[VERSION]) {
		printf("mapled %s, protocol %d\n", MAPLE_VERSION,
		       MAPLE_WIRE_VERSION);
		return 0;
	}
	if (given[PROTOCOL]) {
		maple_wire_describe(stdout);
		return 0;
	}
	return serve(given);
}
