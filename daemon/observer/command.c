// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * mapled observer: a service beside mapled that loads and attaches the eBPF
 * observer for campaigns whose user may not. It has CAP_BPF and CAP_PERFMON,
 * and nothing else that its user has not.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>
#include <maple/observer.h>
#include "../journal.h"
#include "../options.h"
#include "observer.h"

#define BACKLOG 16

static const struct maple_daemon_command command = {
	"mapled observer",
	"mapled observer observes processes by eBPF for mapletest, where its user "
	"may\nnot; see mapled(8).\n\nusage: mapled observer [options]",
	"exit status: 0 stopped, 2 usage, 125 it could not do its work",
	{ { "socket", "PATH",
	    "listen there (default: " MAPLE_OBSERVER_SOCKET
	    ");\n                     its mode says who may connect" } },
};

enum { SOCKET };

static bool is_served(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool served = fd >= 0 && !connect(fd, (const struct sockaddr *)addr,
					  sizeof(*addr));

	if (fd >= 0)
		close(fd);
	return served;
}

/* Our user's and our group's. */
static int listen_at(const char *path, struct maple_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t before;
	int fd, e = 0;

	if (strlen(path) >= sizeof(addr.sun_path))
		return maple_error_set(err, ENAMETOOLONG, "%s is too long",
				       path);
	strcpy(addr.sun_path, path);
	if (is_served(&addr))
		return maple_error_set(err, EADDRINUSE,
				       "another observer listens at %s", path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	before = umask(0117);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(fd, BACKLOG))
		e = maple_error_set(err, errno, "no socket %s: %m", path);
	umask(before);
	if (!e)
		return fd;
	if (fd >= 0)
		close(fd);
	return e;
}

/* Of systemd, or our own. */
static int get_socket(const char *path, struct maple_error *err)
{
	int n = sd_listen_fds(1);

	if (n > 1 || (n == 1 && sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX,
					     SOCK_SEQPACKET, 1) <= 0))
		return maple_error_set(err, EINVAL,
				       "systemd hands over something else than "
				       "one seqpacket socket: see "
				       "mapled-observer.socket");
	return n == 1 ? SD_LISTEN_FDS_START : listen_at(path, err);
}

/* maple_observer_command - `mapled observer`; returns the exit status */
int maple_observer_command(int argc, char **argv)
{
	const char *given[MAPLE_OPTIONS];
	struct maple_error err = { "" };
	int sock, e;

	if (!maple_options_read(&command, argc - 1, argv + 1, given, &e))
		return e;
	sock = get_socket(given[SOCKET] ? given[SOCKET] : MAPLE_OBSERVER_SOCKET,
			  &err);
	if (sock < 0) {
		maple_journal(LOG_ERR, NULL, "%s", err.text);
		return STATUS_FAILED;
	}
	sd_notify(0, "READY=1");
	e = maple_observer_run(sock);
	if (e)
		maple_journal(LOG_ERR, NULL, "the observer ends: %s",
			      strerror(-e));
	return e ? STATUS_FAILED : 0;
}
