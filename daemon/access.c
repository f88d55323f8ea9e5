// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may what. The kernel says who the peer is; whoever is root, in our
 * group, or who started us, may use us, on processes of its own. A process is
 * always meant by a pidfd; its number is looked at only while that says that
 * it is alive, so that it is no other's.
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Real, effective, saved and file system uid, and so the gids. */
struct ids {
	uid_t uid[4];
	gid_t gid[4];
	struct maple_access_marks marks;
};

static int read_status(FILE *file, struct ids *ids)
{
	uid_t *u = ids->uid;
	gid_t *g = ids->gid;
	char line[256];
	int found = 0;

	while (fgets(line, sizeof(line), file)) {
		found += sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2],
				&u[3]) == 4;
		found += sscanf(line, "Gid: %u %u %u %u", &g[0], &g[1], &g[2],
				&g[3]) == 4;
		found += sscanf(line, "CapPrm: %" SCNx64,
				&ids->marks.capabilities) == 1;
	}
	return found == 3 ? 0 : -ESRCH;
}

/* Who numbers users as we do, in a user namespace. */
static bool is_mapped_alike(int pid)
{
	char path[64], ours[512] = "", theirs[512] = "";
	FILE *file = fopen("/proc/self/uid_map", "re");

	if (file) {
		ours[fread(ours, 1, sizeof(ours) - 1, file)] = '\0';
		fclose(file);
	}
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	file = fopen(path, "re");
	if (file) {
		theirs[fread(theirs, 1, sizeof(theirs) - 1, file)] = '\0';
		fclose(file);
	}
	return *ours && !strcmp(ours, theirs);
}

/*
 * Its user namespace; 0: it is not known. Who may not look there, as the
 * observer may not, takes one that is mapped as ours for ours: nobody makes
 * another one like that but root.
 */
static uint64_t user_ns_of(int pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (!stat(path, &st))
		return st.st_ino;
	return errno == EACCES && is_mapped_alike(pid) &&
			       !stat("/proc/self/ns/user", &st)
		       ? st.st_ino
		       : 0;
}

/* The files of a process that is not dumpable are root's. */
static int read_ids(int pid, struct ids *ids)
{
	struct stat st;
	char path[64];
	int e = -ESRCH;
	FILE *file;

	memset(ids, 0, sizeof(*ids));
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (file) {
		e = fstat(fileno(file), &st) ? -ESRCH : read_status(file, ids);
		fclose(file);
	}
	if (e)
		return e;
	ids->marks.dumpable = st.st_uid == ids->uid[1];
	ids->marks.user_ns = user_ns_of(pid);
	return 0;
}

static bool all_are(const unsigned int id[4], unsigned int want)
{
	return id[0] == want && id[1] == want && id[2] == want && id[3] == want;
}

/* Why a process with @ids is not the client's for @use; NULL: it is. */
static const char *fault(const struct maple_client *client,
			 const struct ids *ids, enum maple_access_use use)
{
	const struct maple_access_marks *ours = &client->marks;
	uid_t want = client->peer.uid;

	if (use == MAPLE_ACCESS_END ? ids->uid[0] != want
				    : !all_are(ids->uid, want))
		return "is another user's";
	if (use == MAPLE_ACCESS_END)
		return NULL;
	if (!all_are(ids->gid, client->peer.gid))
		return "runs with another group's rights";
	if (use == MAPLE_ACCESS_LIMITS)
		return NULL;
	if (!ids->marks.user_ns || ids->marks.user_ns != ours->user_ns)
		return "runs in another user namespace";
	if (ids->marks.capabilities & ~ours->capabilities)
		return "has capabilities of its own";
	if (!ids->marks.dumpable)
		return "may not be traced";
	return NULL;
}

/*
 * maple_access_process - whether the client may do that with the process
 * behind @pidfd
 *
 * To end one it is enough that the client has started it, though it may run
 * with other rights (a set-user-id program). To trace one takes all that
 * ptrace(2) asks for.
 *
 * Errors: -ESRCH it is gone, -EPERM.
 */
int maple_access_process(const struct maple_client *client, int pidfd,
			 enum maple_access_use use, struct maple_error *err)
{
	int pid = maple_wire_process(pidfd);
	const char *why;
	struct ids ids;

	if (!pid || read_ids(pid, &ids) || !maple_wire_process(pidfd))
		return maple_error_set(err, ESRCH, "the process is gone");
	why = client->is_root ? NULL : fault(client, &ids, use);
	if (!why)
		return 0;
	return maple_error_set(err, EPERM,
			       "process %d %s: that takes root, or what polkit "
			       "permits (man mapled)",
			       pid, why);
}

/*
 * maple_access_self - whether @pidfd is the client itself
 *
 * What it may trace is what it could trace now. One that may not be traced may
 * have become another program since it connected: its capabilities do not
 * count.
 */
int maple_access_self(struct maple_client *client, int pidfd,
		      struct maple_error *err)
{
	int pid = maple_wire_process(pidfd);
	struct ids ids;

	if (!pid || pid != client->peer.pid || read_ids(pid, &ids) ||
	    !maple_wire_process(pidfd))
		return maple_error_set(err, EPERM,
				       "process %d says that it is %d",
				       client->peer.pid, pid);
	client->marks = ids.marks;
	if (!ids.marks.dumpable)
		client->marks.capabilities = 0;
	return 0;
}
