// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who is attached to which process, and how he is asked to leave it.
 *
 * The claim is the name of an abstract socket, which the kernel takes back
 * when its owner dies. It names the process by its number and its start, so
 * that who comes later under the same number is another one. To connect means
 * to ask; he who is asked says "yes" and hangs up when he has left, or says
 * "no" to whom he does not know. Anybody can take a name: who is believed to be
 * attached is root, or a user who may be.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include "backend/backend.h"
#include "attached.h"

#define LEAVE_MS 60000 /* probes of a large program take their time */

static socklen_t address(const struct maple_attached *a,
			 struct sockaddr_un *addr)
{
	int len;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		       "maple-attached-%d-%llu", a->joined.pid, a->started);
	return offsetof(struct sockaddr_un, sun_path) + 1 + len;
}

/* Who has the name that @fd has connected to, of those who have no right to it. */
static bool is_taken(const struct maple_attached *a, int fd, struct ucred *by)
{
	socklen_t size = sizeof(*by);
	bool hidden;
	uid_t uid;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, by, &size) && by->uid &&
	       (maple_attach_user(a, &uid, &hidden) || by->uid != uid);
}

static int refuse_taken(const struct maple_attached *a, const struct ucred *by,
			struct maple_error *err)
{
	return maple_error_set(err, EBUSY,
			       "process %d of user %u has taken the name by "
			       "which maple attaches to process %d, and may "
			       "not attach to it: end that process first",
			       by->pid, by->uid, a->joined.pid);
}

/* Does not wait: who has taken the name might have us do so. */
static int connect_to(const struct maple_attached *a)
{
	struct sockaddr_un addr;
	socklen_t len = address(a, &addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int e;

	if (fd < 0 || !connect(fd, (struct sockaddr *)&addr, len))
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

static int refuse(const struct maple_attached *a, struct maple_error *err)
{
	int fd = connect_to(a);
	struct ucred by;
	bool taken = fd >= 0 && is_taken(a, fd, &by);

	if (fd >= 0)
		close(fd);
	if (taken)
		return refuse_taken(a, &by, err);
	return maple_error_set(err, EBUSY,
			       "maple is attached to process %d already: "
			       "`mapled detach %d` ends that",
			       a->joined.pid, a->joined.pid);
}

/* maple_detach_listen - claims @a; -EBUSY if somebody has it */
int maple_detach_listen(struct maple_attached *a, struct maple_error *err)
{
	struct sockaddr_un addr;
	socklen_t len = address(a, &addr);

	a->name = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->name < 0)
		return maple_error_set(err, errno, "no socket: %m");
	if (!bind(a->name, (struct sockaddr *)&addr, len))
		return listen(a->name, 4)
			       ? maple_error_set(err, errno, "no socket: %m")
			       : 0;
	if (errno != EADDRINUSE)
		return maple_error_set(err, errno, "no socket: %m");
	return refuse(a, err);
}

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* maple_detach_asked - whether somebody who may has asked us to leave it */
bool maple_detach_asked(struct maple_attached *a)
{
	int fd;

	while (a->asker < 0 &&
	       (fd = accept4(a->name, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		bool may = may_ask(fd);

		if (send(fd, may ? "y" : "n", 1, MSG_NOSIGNAL) == 1 && may)
			a->asker = fd;
		else
			close(fd);
	}
	return a->asker >= 0;
}

/* maple_detach_close - gives up the claim; who asked is told by that */
void maple_detach_close(struct maple_attached *a)
{
	if (a->name >= 0)
		close(a->name);
	if (a->asker >= 0)
		close(a->asker);
	a->name = a->asker = -1;
}

/* One byte of the answer: 'y', 'n', 0 for the end, or -errno. */
static int hear(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char said;
	ssize_t n;

	if (poll(&pfd, 1, LEAVE_MS) <= 0)
		return -ETIMEDOUT;
	n = recv(fd, &said, 1, 0);
	return n < 0 ? -errno : n ? said : 0;
}

static int ask(int fd, pid_t pid, struct maple_error *err)
{
	int said = hear(fd);

	if (said == 'n')
		return maple_error_set(err, EPERM,
				       "who is attached to process %d was "
				       "started by another user: run it as "
				       "root",
				       pid);
	while (said > 0)
		said = hear(fd);
	if (said == -ETIMEDOUT)
		return maple_error_set(err, ETIMEDOUT,
				       "who is attached to process %d does not "
				       "come to an end",
				       pid);
	return 0;
}

/*
 * Nobody is attached to process @pid; whoever was may have been killed, and all
 * that would have left it then.
 */
static int mend(pid_t pid, struct maple_error *err)
{
	struct maple_attached *a;
	bool mended = false;
	int e = maple_attach_open(pid, &a, err);

	if (e)
		return e;
	e = maple_attach_become(a, err);
	if (!e)
		e = maple_agent_joined_mend(pid, &mended, err);
	maple_attach_close(a);
	if (e || mended)
		return e;
	return maple_error_set(err, ESRCH, "nobody is attached to process %d",
			       pid);
}

/* maple_attach_end - see maple/attach.h */
int maple_attach_end(pid_t pid, struct maple_error *err)
{
	struct maple_attached a = { .name = -1, .asker = -1 };
	struct ucred by;
	int fd, e;

	e = maple_attached_look(pid, &a, err);
	if (e)
		return e;
	fd = connect_to(&a);
	if (fd < 0 && errno == ECONNREFUSED)
		return mend(pid, err);
	if (fd < 0)
		return maple_error_set(err, errno,
				       "who is attached to process %d does not "
				       "answer: `ss -xlp | grep "
				       "maple-attached-%d` says who that is",
				       pid, pid);
	a.joined.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	maple_identify(pid, a.joined.pidfd, &a.was);
	e = is_taken(&a, fd, &by) ? refuse_taken(&a, &by, err)
				  : ask(fd, pid, err);
	if (a.joined.pidfd >= 0)
		close(a.joined.pidfd);
	free(a.was.rights);
	close(fd);
	return e;
}
