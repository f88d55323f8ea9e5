// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may what. The kernel says who the peer is; whoever is root, in our
 * group, or who started us, may use us, on processes of its own. A process is
 * always meant by a pidfd; its number is looked at only while that says that
 * it is alive, so that it is no other's.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "access.h"

#define GROUPS 1024

static bool in_group(const struct maple_client *c, gid_t group)
{
	gid_t groups[GROUPS];
	socklen_t size = sizeof(groups);

	if (c->peer.gid == group)
		return true;
	if (getsockopt(c->sock, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* maple_access_peer - who connected, and whether it may use us */
int maple_access_peer(struct maple_client *client, struct maple_error *err)
{
	const char *name = client->server->settings.group;
	socklen_t size = sizeof(client->peer);
	const struct group *group;
	char *end;
	gid_t gid = (gid_t)strtoul(name, &end, 10);
	bool known = *name && !*end;

	if (getsockopt(client->sock, SOL_SOCKET, SO_PEERCRED, &client->peer,
		       &size))
		return maple_error_set(err, errno, "who is it? %m");
	if (!known) {
		group = getgrnam(name);
		known = group;
		gid = group ? group->gr_gid : 0;
	}
	/* Who started us by hand has as many rights as we have. */
	client->is_root = client->peer.uid == 0 ||
			  client->peer.uid == geteuid();
	client->may_use = client->is_root || (known && in_group(client, gid));
	return 0;
}

/* maple_access_pid - the number of a process; 0: it is gone, or no pidfd */
int maple_access_pid(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	char path[64], line[128];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	if (file)
		fclose(file);
	/* It is readable once the process has ended. */
	return pid > 0 && poll(&pfd, 1, 0) == 0 ? pid : 0;
}

/* Real, effective, saved and file system uid, and so the gids. */
static int read_ids(int pid, uid_t uid[4], gid_t gid[4])
{
	char path[64], line[256];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		found += sscanf(line, "Uid: %u %u %u %u", &uid[0], &uid[1],
				&uid[2], &uid[3]) == 4;
		found += sscanf(line, "Gid: %u %u %u %u", &gid[0], &gid[1],
				&gid[2], &gid[3]) == 4;
	}
	if (file)
		fclose(file);
	return found == 2 ? 0 : -ESRCH;
}

/*
 * maple_access_process - whether the process behind @pidfd is the client's
 * @started: it is enough that the client has started it, though it may run
 *           with other rights (a set-user-id program)
 *
 * Errors: -ESRCH it is gone, -EPERM.
 */
int maple_access_process(const struct maple_client *client, int pidfd,
			 bool started, struct maple_error *err)
{
	uid_t uid[4], want = client->peer.uid;
	int pid = maple_access_pid(pidfd);
	gid_t gid[4];
	bool ours;

	if (!pid || read_ids(pid, uid, gid) || !maple_access_pid(pidfd))
		return maple_error_set(err, ESRCH, "the process is gone");
	if (client->is_root)
		return 0;
	ours = uid[0] == want;
	if (!started)
		ours &= uid[1] == want && uid[2] == want && uid[3] == want &&
			gid[0] == gid[1] && gid[1] == gid[2] &&
			gid[2] == gid[3];
	if (ours)
		return 0;
	return maple_error_set(err, EPERM,
			       "process %d is another user's: that takes "
			       "root, or what polkit permits (man mapled)",
			       pid);
}

/* maple_access_self - whether @pidfd is the client itself */
int maple_access_self(struct maple_client *client, int pidfd,
		      struct maple_error *err)
{
	int pid = maple_access_pid(pidfd);

	if (!pid || pid != client->peer.pid)
		return maple_error_set(err, EPERM,
				       "process %d says that it is %d",
				       client->peer.pid, pid);
	return 0;
}
