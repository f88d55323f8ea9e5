// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The service: its socket, from systemd or made here, its database, its loop.
 * Everything happens in one thread, a request at a time, but for what may last:
 * aside.c.
 */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <systemd/sd-daemon.h>
#include "requests/aside.h"
#include "client.h"
#include "journal.h"
#include "limits/lease.h"
#include "limits/limits.h"
#include "limits/queue.h"
#include "requests/reading.h"
#include "server.h"
#include "parting.h"
#include "target.h"
#include "limits/turns.h"

#define UNNAMED ".new" /* the socket until it is ready */
#define BACKLOG 128

/* ---- clients ---- */

static int on_connection(sd_event_source *source, int fd, uint32_t events,
			 void *ctx)
{
	struct maple_server *s = ctx;
	int sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (sock < 0)
		return 0;
	maple_client_create(s, sock);
	return 0;
}

/* ---- the socket ---- */

/* Whether somebody listens at the path, so that it is not ours to take. */
static bool is_served(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool served = fd >= 0 && !connect(fd, (const struct sockaddr *)addr,
					  sizeof(*addr));

	if (fd >= 0)
		close(fd);
	return served;
}

/* Who may connect: as the unit's SocketMode= and SocketGroup=. */
static void set_owner(const struct maple_daemon_settings *settings,
		      const char *path)
{
	const struct group *group = getgrnam(settings->group);
	char *end;
	gid_t gid = (gid_t)strtoul(settings->group, &end, 10);

	if (!*settings->group || *end)
		gid = group ? group->gr_gid : (gid_t)-1;
	if (gid != (gid_t)-1 && chown(path, (uid_t)-1, gid))
		maple_journal(LOG_WARNING, NULL, "%s is not group %s's: %m",
			      settings->socket, settings->group);
}

/* It gets its name when all is right, so that nobody is refused before. */
static int listen_at(struct maple_server *server, struct maple_error *err)
{
	const struct maple_daemon_settings *settings = &server->settings;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t before;
	int fd, e = 0;

	if (strlen(settings->socket) + strlen(UNNAMED) >= sizeof(addr.sun_path))
		return maple_error_set(err, ENAMETOOLONG, "%s is too long",
				       settings->socket);
	strcpy(addr.sun_path, settings->socket);
	if (is_served(&addr))
		return maple_error_set(err, EADDRINUSE,
				       "another mapled listens at %s",
				       settings->socket);
	strcat(addr.sun_path, UNNAMED);
	unlink(addr.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	before = umask(0117);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		e = maple_error_set(err, errno, "no socket %s: %m",
				    settings->socket);
	umask(before);
	if (!e)
		set_owner(settings, addr.sun_path);
	if (!e && (listen(fd, BACKLOG) || stat(addr.sun_path, &server->made) ||
		   rename(addr.sun_path, settings->socket)))
		e = maple_error_set(err, errno, "%s: %m", settings->socket);
	if (!e)
		return fd;
	if (fd >= 0) {
		close(fd);
		unlink(addr.sun_path);
	}
	return e;
}

/* Not what systemd has made, nor what is a successor's by now. */
static void remove_socket(const struct maple_server *server)
{
	const char *path = server->settings.socket;
	struct stat now;

	if (server->made.st_ino && !stat(path, &now) &&
	    now.st_dev == server->made.st_dev &&
	    now.st_ino == server->made.st_ino && unlink(path))
		maple_journal(LOG_WARNING, NULL, "%s is left behind: %m", path);
}

/* Of systemd, or our own. */
static int get_socket(struct maple_server *server, struct maple_error *err)
{
	int n = sd_listen_fds(1);

	if (n > 1 || (n == 1 && sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX,
					     SOCK_STREAM, 1) <= 0))
		return maple_error_set(err, EINVAL,
				       "systemd hands over something else than "
				       "one stream socket: see mapled.socket");
	return n == 1 ? SD_LISTEN_FDS_START : listen_at(server, err);
}

/* ---- life ---- */

/*
 * maple_server_cpus - fills in what the settings leave open: all but the first
 * CPU, if there is another; -EINVAL when none of those in them can be had
 */
int maple_server_cpus(struct maple_daemon_settings *settings,
		      struct maple_error *err)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return maple_error_set(err, errno, "our CPUs: %m");
	if (!CPU_COUNT(&settings->cpus)) {
		settings->cpus = ours;
		CPU_CLR(0, &settings->cpus);
		if (!CPU_COUNT(&settings->cpus))
			settings->cpus = ours;
		return 0;
	}
	CPU_AND(&ours, &ours, &settings->cpus);
	if (!CPU_COUNT(&ours))
		return maple_error_set(err, EINVAL,
				       "mapled may use none of the CPUs in the "
				       "settings: see 'cpus' in mapled.conf, "
				       "and taskset");
	settings->cpus = ours;
	return 0;
}

static int add_signals(struct maple_server *s)
{
	sigset_t set;
	int e;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Without a handler the loop ends. */
	e = sd_event_add_signal(s->event, NULL, SIGTERM, NULL, NULL);
	return e < 0 ? e
		     : sd_event_add_signal(s->event, NULL, SIGINT, NULL, NULL);
}

static int open_loop(struct maple_server *s, int sock, struct maple_error *err)
{
	int e = sd_event_default(&s->event);

	if (e >= 0)
		e = add_signals(s);
	if (e >= 0)
		e = sd_event_add_io(s->event, NULL, sock, EPOLLIN,
				    on_connection, s);
	if (e >= 0)
		e = sd_event_set_watchdog(s->event, true);
	if (e < 0)
		return maple_error_set(err, -e, "no event loop: %s",
				       strerror(-e));
	e = maple_journal_init(s, err);
	if (!e)
		e = maple_queue_init(s, err);
	if (!e)
		e = maple_turns_init(s, err);
	maple_reading_init(s);
	return e ? e : maple_aside_init(s, err);
}

/*
 * What is lent is lent whole: we ourselves run elsewhere, if there is a CPU
 * that is not for lending.
 */
static void leave_cpus(const struct maple_daemon_settings *settings)
{
	cpu_set_t ours, lent;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return;
	CPU_AND(&lent, &ours, &settings->cpus);
	CPU_XOR(&ours, &ours, &lent);
	if (CPU_COUNT(&ours))
		sched_setaffinity(0, sizeof(ours), &ours);
}

/* Each client has several files open. */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* maple_server_open - everything but running; settings are filled in */
int maple_server_open(struct maple_server *server, struct maple_error *err)
{
	int sock, e = maple_server_cpus(&server->settings, err);

	raise_files();
	if (!e)
		e = maple_lease_init(server, err);
	if (!e)
		e = maple_memo_open(server->settings.database, MAPLE_MEMO_FILE,
				    &server->memo, err);
	if (!e)
		e = maple_memo_limit(
			server->memo,
			maple_limit_of(server, MAPLE_LIMIT_ALL_MEMO), err);
	if (e)
		return e;
	leave_cpus(&server->settings);
	sock = get_socket(server, err);
	return sock < 0 ? sock : open_loop(server, sock, err);
}

/* maple_server_run - until SIGTERM or SIGINT */
int maple_server_run(struct maple_server *server, struct maple_error *err)
{
	int e;

	maple_journal(LOG_INFO, NULL, "ready: %d CPUs to lend, memo in %s",
		      CPU_COUNT(&server->settings.cpus),
		      server->settings.database);
	sd_notify(0, "READY=1");
	e = sd_event_loop(server->event);
	sd_notify(0, "STOPPING=1");
	return e < 0 ? maple_error_set(err, -e, "the event loop: %s",
				       strerror(-e))
		     : 0;
}

/* maple_server_close - campaigns under way wait for the next mapled */
void maple_server_close(struct maple_server *server)
{
	remove_socket(server);
	server->closing = true;
	while (server->clients)
		maple_client_destroy(server->clients);
	maple_target_close(server);
	maple_parting_close(server);
	maple_limits_close(server);
	maple_journal_deinit(server);
	sd_event_source_disable_unref(server->retry);
	sd_event_source_disable_unref(server->turn);
	sd_event_source_disable_unref(server->pause);
	sd_event_source_disable_unref(server->aside);
	sd_event_unref(server->event);
	maple_memo_close(server->memo);
	maple_settings_deinit(&server->settings);
}
