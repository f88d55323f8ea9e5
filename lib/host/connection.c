// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The connection to mapled: made, used, made again. After a new one, mapled is
 * told what the old one was about, so that nobody above notices.
 */
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <maple/version.h>
#include "host/host.h"

#define HELLO_MS 10000 /* for what needs no database */

/* maple_host_disconnect - the connection is of no more use */
void maple_host_disconnect(struct maple_host *host)
{
	if (host->sock >= 0)
		close(host->sock);
	host->sock = -1;
	host->in.size = host->taken = 0;
	while (host->nfds)
		close(host->fds[--host->nfds]);
}

static int gone(const struct maple_host *host, int e, struct maple_error *err)
{
	return maple_error_set(err, ECONNRESET, "mapled at %s has gone: %s",
			       host->path, strerror(e));
}

static int lost(struct maple_host *host, int e, struct maple_error *err)
{
	maple_host_disconnect(host);
	return gone(host, e, err);
}

/*
 * One request, under the present serial. -ECONNRESET when mapled listens no
 * more: what it said before can still be received.
 */
static int put(struct maple_host *host, unsigned int type, const void *message,
	       const int *fds, unsigned int nfds, struct maple_error *err)
{
	size_t done = 0;
	ssize_t n;
	int e;

	host->out.size = 0;
	e = maple_wire_frame(&host->out, type, message, host->serial, nfds, err);
	if (e)
		return e;
	if (host->sock < 0)
		return gone(host, EPIPE, err);
	while (done < host->out.size) {
		n = maple_wire_send(host->sock, host->out.data + done,
				    host->out.size - done, fds, done ? 0 : nfds);
		if (n <= 0)
			return gone(host, n ? (int)-n : EPIPE, err);
		done += n;
	}
	return 0;
}

/*
 * maple_host_send - one request, under the present serial
 *
 * Errors: -ECONNRESET when the connection is no more, -EMSGSIZE.
 */
int maple_host_send(struct maple_host *host, unsigned int type,
		    const void *message, const int *fds, unsigned int nfds,
		    struct maple_error *err)
{
	int e = put(host, type, message, fds, nfds, err);

	if (e == -ECONNRESET)
		maple_host_disconnect(host);
	return e;
}

/* 0: there is something; -EINTR only where one waits without end. */
static int await(struct maple_host *host, int timeout_ms,
		 struct maple_error *err)
{
	struct pollfd pfd = { .fd = host->sock, .events = POLLIN };
	int n;

	do
		n = poll(&pfd, 1, timeout_ms);
	while (n < 0 && errno == EINTR && timeout_ms >= 0);
	if (n > 0)
		return 0;
	if (n < 0 && errno == EINTR)
		return maple_error_set(err, EINTR, "interrupted");
	maple_host_disconnect(host);
	return maple_error_set(err, ETIMEDOUT,
			       "mapled at %s does not answer: systemctl status "
			       "mapled",
			       host->path);
}

static int more(struct maple_host *host, int timeout_ms, struct maple_error *err)
{
	char data[16384];
	ssize_t n;
	int e = await(host, timeout_ms, err);

	if (e)
		return e;
	n = maple_wire_receive(host->sock, data, sizeof(data), host->fds,
			       &host->nfds, 2 * MAPLE_WIRE_FDS);
	if (n <= 0)
		return lost(host, n ? (int)-n : EPIPE, err);
	if (maple_wire_append(&host->in, data, n))
		return maple_error_set(err, ENOMEM, "out of memory");
	return 0;
}

/* The file descriptors of a frame, which came before its last byte. */
static int take_fds(struct maple_host *host, struct maple_host_answer *answer,
		    struct maple_error *err)
{
	answer->fd = -1;
	if (host->nfds < answer->head.fds)
		return maple_error_set(err, EPROTO,
				       "mapled sent no file descriptor");
	if (answer->head.fds) {
		answer->fd = host->fds[0];
		memmove(host->fds, host->fds + 1,
			--host->nfds * sizeof(*host->fds));
	}
	return 0;
}

/* Whether a whole frame is there: 1, 0, or -EPROTO. */
static int complete(struct maple_host *host, struct maple_wire_head *head,
		    struct maple_error *err)
{
	int e;

	if (host->in.size < sizeof(*head))
		return 0;
	memcpy(head, host->in.data, sizeof(*head));
	e = maple_wire_head_check(head, false, err);
	return e ? e : host->in.size - sizeof(*head) >= head->size;
}

/* What was answered before has been used by now. */
static void forget_last(struct maple_host *host)
{
	if (host->taken)
		memmove(host->in.data, host->in.data + host->taken,
			host->in.size - host->taken);
	host->in.size -= host->taken;
	host->taken = 0;
}

/*
 * maple_host_receive - the next answer
 * @timeout_ms: -1: for ever, but -EINTR when a signal comes
 *
 * Errors: -ECONNRESET, -ETIMEDOUT, -EPROTO; then the connection is closed.
 */
int maple_host_receive(struct maple_host *host, int timeout_ms,
		       struct maple_host_answer *answer, struct maple_error *err)
{
	struct maple_wire_head *head = &answer->head;
	int e;

	answer->fd = -1;
	if (host->sock < 0)
		return lost(host, EPIPE, err);
	forget_last(host);
	while (!(e = complete(host, head, err))) {
		e = more(host, timeout_ms, err);
		if (e)
			return e;
	}
	if (e > 0)
		e = maple_wire_get(head->type, host->in.data + sizeof(*head),
				   head->size, &answer->message, err);
	if (!e)
		e = take_fds(host, answer, err);
	if (e) {
		maple_host_disconnect(host);
		return e;
	}
	host->taken = sizeof(*head) + head->size;
	return 0;
}

/*
 * maple_host_listen - waits until there is something to receive
 *
 * Returns 0, -ETIMEDOUT, or -EINTR when a signal came; the connection stays.
 */
int maple_host_listen(struct maple_host *host, double seconds,
		      struct maple_error *err)
{
	struct pollfd pfd = { .fd = host->sock, .events = POLLIN };
	int n;

	if (host->sock < 0 || host->in.size > host->taken)
		return 0;
	n = poll(&pfd, 1, (int)(seconds * 1000));
	if (n > 0)
		return 0;
	return n ? maple_error_set(err, EINTR, "interrupted") : -ETIMEDOUT;
}

/* ---- a new connection ---- */

static int refused(const struct maple_host_answer *answer,
		   struct maple_error *err)
{
	const struct maple_wire_refused *r = &answer->message.refused;

	return maple_error_set(
		err, r->error && r->error < 4096 ? (int)r->error : EIO, "%s",
		r->text ? r->text : "mapled refuses");
}

/*
 * A request whose answer must be of @expected; not repeated. Who is refused a
 * connection may find nobody to say HELLO to, but was told why.
 */
static int exchange(struct maple_host *host, unsigned int type,
		    const void *message, const int *fds, unsigned int nfds,
		    unsigned int expected, struct maple_host_answer *answer,
		    struct maple_error *err)
{
	int e = put(host, type, message, fds, nfds, err);

	if (!e || e == -ECONNRESET)
		e = maple_host_receive(host, HELLO_MS, answer, err);
	if (!e && answer->head.type == MAPLE_WIRE_REFUSED)
		e = refused(answer, err);
	else if (!e && answer->head.type != expected)
		e = maple_error_set(err, EPROTO, "mapled answers with %s",
				    maple_wire_name(answer->head.type));
	return e;
}

/* Whose socket it is says who may use it. */
static int not_for_us(const struct maple_host *host, struct maple_error *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const struct group *group;
	char name[32], number[32];
	struct stat st;

	if (stat(host->path, &st) || !st.st_gid || !(st.st_mode & S_IWGRP))
		return maple_error_set(err, EACCES,
				       "mapled at %s is not for you: it takes "
				       "root",
				       host->path);
	group = getgrgid(st.st_gid);
	snprintf(number, sizeof(number), "%u", st.st_gid);
	snprintf(name, sizeof(name), "user-%u", geteuid());
	return maple_error_set(err, EACCES,
			       "mapled at %s is not for you: sudo usermod -aG "
			       "%s %s, then log in again",
			       host->path, group ? group->gr_name : number,
			       user ? user->pw_name : name);
}

static int open_socket(struct maple_host *host, struct maple_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int e;

	if (strlen(host->path) >= sizeof(addr.sun_path))
		return maple_error_set(err, ENAMETOOLONG, "%s is too long",
				       host->path);
	strcpy(addr.sun_path, host->path);
	host->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (host->sock < 0)
		return maple_error_set(err, errno, "no socket: %m");
	if (!connect(host->sock, (struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	e = errno;
	maple_host_disconnect(host);
	if (e == EACCES)
		return not_for_us(host, err);
	return maple_error_set(err, e, "no mapled at %s: %s", host->path,
			       strerror(e));
}

static int say_hello(struct maple_host *host, struct maple_error *err)
{
	struct maple_wire_hello hello = { MAPLE_WIRE_VERSION, MAPLE_VERSION };
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), e;
	struct maple_host_answer answer;
	const struct maple_wire_welcome *w = &answer.message.welcome;

	if (pidfd < 0)
		return maple_error_set(err, errno, "no pidfd of us: %m");
	e = exchange(host, MAPLE_WIRE_HELLO, &hello, &pidfd, 1,
		     MAPLE_WIRE_WELCOME, &answer, err);
	close(pidfd);
	if (e)
		return e;
	host->info = (struct maple_host_info){
		.is_root = w->is_root,
		.cpus = w->cpus,
		.leased = w->leased,
		.waiting = w->waiting,
		.clients = w->clients,
	};
	snprintf(host->info.release, sizeof(host->info.release), "%s",
		 w->release ? w->release : "?");
	snprintf(host->info.database, sizeof(host->info.database), "%s",
		 w->database ? w->database : "?");
	return 0;
}

/* maple_host_says - what is told of the process that we have joined */
struct maple_wire_joined maple_host_says(const struct maple_host *host)
{
	return (struct maple_wire_joined){
		{ host->spared, host->nspared * sizeof(*host->spared) }
	};
}

/* Tells a mapled that knows nothing of us what there was. */
static int take_up(struct maple_host *host, struct maple_error *err)
{
	const struct maple_wire_job again = { .again = true };
	struct maple_host_answer answer;
	int e = 0;

	/* A job that runs goes on, though it may be one too many by now. */
	if (host->is_job)
		e = exchange(host, MAPLE_WIRE_JOB, &again, NULL, 0,
			     MAPLE_WIRE_NUMBER, &answer, err);
	if (e && e != -EDQUOT)
		return e;
	e = 0;
	if (host->campaign) {
		const struct maple_wire_resume resume = { host->campaign,
							  host->name,
							  host->job.number,
							  host->job.user };

		e = exchange(host, MAPLE_WIRE_RESUME, &resume, NULL, 0,
			     MAPLE_WIRE_NUMBER, &answer, err);
		/* Not as if nobody were there. */
		e = e == -ENOENT ? -ESTALE : e;
	}
	if (!e && host->lock >= 0) {
		const struct maple_wire_lease lease = { .held = host->cpu };

		e = exchange(host, MAPLE_WIRE_LEASE, &lease, &host->lock, 1,
			     MAPLE_WIRE_LEASED, &answer, err);
		if (!e && answer.fd >= 0)
			close(answer.fd);
	}
	if (!e && host->ntargets) {
		const struct maple_wire_target target = { host->ntargets };

		e = exchange(host, MAPLE_WIRE_TARGET, &target, host->target,
			     host->ntargets, MAPLE_WIRE_NUMBER, &answer, err);
	}
	/* What mapled does at our end is no reason to end. */
	if (!e && host->joined >= 0) {
		const struct maple_wire_joined joined = maple_host_says(host);

		e = exchange(host, MAPLE_WIRE_JOINED, &joined, &host->joined, 1,
			     MAPLE_WIRE_NUMBER, &answer, err);
		e = e == -EPERM || e == -ESRCH ? 0 : e;
	}
	return e;
}

/* maple_host_connect - a connection, greeted, and as far as the last one was */
int maple_host_connect(struct maple_host *host, struct maple_error *err)
{
	int e = open_socket(host, err);

	if (!e)
		e = say_hello(host, err);
	if (!e)
		e = take_up(host, err);
	if (e)
		maple_host_disconnect(host);
	return e;
}

int maple_host_open(const char *path, struct maple_host **made,
		    struct maple_error *err)
{
	struct maple_host *host = calloc(1, sizeof(*host));
	int e = -ENOMEM;

	if (host) {
		host->sock = host->lock = host->cpu = host->joined = -1;
		host->path = strdup(path);
	}
	if (host && host->path)
		e = maple_host_connect(host, err);
	else
		maple_error_set(err, ENOMEM, "out of memory");
	if (e)
		maple_host_close(host);
	else
		*made = host;
	return e;
}

void maple_host_close(struct maple_host *host)
{
	if (!host)
		return;
	maple_host_disconnect(host);
	while (host->ntargets)
		close(host->target[--host->ntargets]);
	if (host->lock >= 0)
		close(host->lock);
	if (host->joined >= 0)
		close(host->joined);
	free(host->out.data);
	free(host->in.data);
	free(host->path);
	free(host);
}

const struct maple_host_info *maple_host_info(const struct maple_host *host)
{
	return &host->info;
}
