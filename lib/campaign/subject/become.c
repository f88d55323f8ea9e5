// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Root joins a process, and becomes its user: see maple_attach_become().
 *
 * What is left is what it takes to observe and to force from outside, which
 * concerns no files: eBPF, uprobes, real-time priorities. The rest is the
 * warden's.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/array.h"
#include "backend/guard/door.h"
#include "backend/kernel/ebpf/attach.h"
#include "backend/guard/warden.h"
#include "sandbox/sandbox.h"
#include "attached.h"

struct owner {
	uid_t uid;
	gid_t gid, *groups;
	size_t ngroups;
};

static int add_group(struct owner *owner, gid_t gid)
{
	if (!maple_array_resize(owner->groups, owner->ngroups + 1))
		return -ENOMEM;
	owner->groups[owner->ngroups++] = gid;
	return 0;
}

static int read_groups(const char *text, struct owner *owner)
{
	char *end;
	int e = 0;

	for (; !e && *text != '\n'; text = end) {
		unsigned long gid = strtoul(text, &end, 10);

		if (end == text)
			break;
		e = add_group(owner, (gid_t)gid);
	}
	return e;
}

/*
 * By whose rights the process acts: those of a set-user-id program are its
 * file's owner's.
 */
static int read_owner(const char *rights, struct owner *owner)
{
	const char *uid = strstr(rights, "Uid:"), *gid = strstr(rights, "Gid:");
	const char *groups = strstr(rights, "Groups:");

	if (!uid || !gid || !groups ||
	    sscanf(uid, "Uid: %*u %u", &owner->uid) != 1 ||
	    sscanf(gid, "Gid: %*u %u", &owner->gid) != 1)
		return -EPROTO;
	return read_groups(groups + strlen("Groups:"), owner);
}

/*
 * Those that there are of them; whether they do is for eBPF to say. A process
 * of root's, with all capabilities, is traced by who has the capability, and
 * whoever traces it has all of root's rights anyhow.
 */
static int keep_capabilities(uid_t uid)
{
	const uint64_t roots = 1ull << CAP_SYS_PTRACE | 1ull << CAP_SYS_RESOURCE;
	const uint64_t kept = 1ull << CAP_BPF | 1ull << CAP_PERFMON |
			      1ull << CAP_SYS_NICE | (uid ? 0 : roots);

	return maple_sandbox_drop(kept);
}

static int change(const struct owner *owner)
{
	if (prctl(PR_SET_KEEPCAPS, 1) ||
	    setgroups(owner->ngroups, owner->groups) ||
	    setresgid(owner->gid, owner->gid, owner->gid) ||
	    setresuid(owner->uid, owner->uid, owner->uid))
		return -errno;
	return keep_capabilities(owner->uid);
}

/* As a login would have it; what was said for root is root's. */
static void change_environment(uid_t uid)
{
	static const char *const roots[] = { "XDG_STATE_HOME", "XDG_CACHE_HOME",
					     "XDG_CONFIG_HOME", "XDG_DATA_HOME",
					     "XDG_RUNTIME_DIR" };
	const struct passwd *pw = getpwuid(uid);

	if (!uid)
		return;
	for (unsigned int i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		unsetenv(roots[i]);
	setenv("HOME", pw ? pw->pw_dir : "/nonexistent", 1);
	if (!pw)
		return;
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
}

static int become(struct maple_attached *a, const struct owner *owner,
		  struct maple_error *err)
{
	pid_t pid = a->joined.pid;
	int e;

	/* Each probe may take an open file, and more take root. */
	maple_attach_limit();
	e = maple_door_warden(pid, a->joined.pidfd, &a->was, err);
	if (e)
		return e;
	e = change(owner);
	if (e)
		return maple_error_set(err, -e,
				       "mapletest cannot become the user that "
				       "process %d runs as: %s",
				       pid, strerror(-e));
	change_environment(owner->uid);
	if (!access(a->exe, R_OK))
		return 0;
	return maple_error_set(err, EACCES,
			       "%.100s cannot be read by user %u, who process "
			       "%d runs as: sudo chmod a+r it",
			       a->exe, owner->uid, pid);
}

/* Whether real, effective, saved and file system id are one. */
static bool is_one(const char *rights, const char *name)
{
	const char *at = strstr(rights, name);
	unsigned int id[4];

	return at &&
	       sscanf(at + strlen(name), "%u %u %u %u", &id[0], &id[1], &id[2],
		      &id[3]) == 4 &&
	       id[0] == id[1] && id[0] == id[2] && id[0] == id[3];
}

/* Whether ptrace(2) would be refused to a program that the user starts. */
static bool is_hidden(const char *rights, uid_t uid)
{
	const char *caps = strstr(rights, "CapPrm:");
	const char *files = strstr(rights, "Files:");
	unsigned long long cap;
	unsigned int owner;

	return !caps || sscanf(caps, "CapPrm: %llx", &cap) != 1 || cap ||
	       !files || sscanf(files, "Files: %u", &owner) != 1 ||
	       owner != uid || !is_one(rights, "Uid:") ||
	       !is_one(rights, "Gid:");
}

/* maple_attach_user - see maple/attach.h */
int maple_attach_user(const struct maple_attached *a, uid_t *uid, bool *hidden)
{
	const char *rights = a->was.rights;
	struct owner owner = { 0 };
	int e = rights ? read_owner(rights, &owner) : -ESRCH;

	free(owner.groups);
	if (e)
		return e;
	*uid = owner.uid;
	*hidden = owner.uid && is_hidden(rights, owner.uid);
	return 0;
}

/* maple_attach_become - see maple/attach.h */
int maple_attach_become(struct maple_attached *a, struct maple_error *err)
{
	pid_t pid = a->joined.pid;
	struct owner owner = { 0 };
	int e;

	if (geteuid())
		return 0;
	e = maple_identify_again(pid, a->joined.pidfd, &a->was);
	if (e == -EPERM || (!e && read_owner(a->was.rights, &owner)))
		e = maple_error_set(err, ESRCH,
				    "process %d has executed another program, "
				    "or changed its rights: attach to it again",
				    pid);
	else if (e)
		e = maple_error_set(err, ESRCH,
				    "process %d has ended: start it again", pid);
	else
		e = become(a, &owner, err);
	free(owner.groups);
	return e;
}
