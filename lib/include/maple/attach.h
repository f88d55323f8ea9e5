/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A campaign on a program that runs already: it is joined, observed while its
 * own load runs, orders are forced on it one after the other, and it is left
 * as it was. Nothing here stops or kills it.
 *
 * A run of such a campaign is a stretch of the program's life. What cannot be
 * had: a baseline, a replay of a finding, so no control, and what the program
 * prints.
 *
 * Context: a struct maple_attached belongs to one thread and one campaign.
 */
#ifndef MAPLE_ATTACH_H
#define MAPLE_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_attached;

/*
 * maple_attach_open - looks at process @pid, and takes it for a campaign
 * @attached: to be closed with maple_attach_close()
 *
 * For struct maple_campaign_options.attached. Errors, all with cause and mend:
 * -ESRCH there is no such process, or it ends; -EINVAL it is us, init, a
 * kernel thread, or no process but a thread; -EPERM it is another user's;
 * -ENOTSUP it is no x86-64 program, or its file was replaced; -EBUSY somebody
 * traces it or is attached.
 */
int maple_attach_open(pid_t pid, struct maple_attached **attached,
		      struct maple_error *err);

/*
 * maple_attach_become - root becomes the user that the process runs as
 *
 * A campaign reads what that user has written: programs, libraries, debug
 * information. So it is done with that user's rights, for good: of root's, only
 * CAP_BPF, CAP_PERFMON and CAP_SYS_NICE are kept, and no program that is
 * executed gets any. A child, the warden, stays root; it does what takes rights
 * on that one process (its memory map, its threads' registers, maple.ko) until
 * maple_attach_close(), or until the process has other rights than now. HOME,
 * USER and LOGNAME are set as for that user, and XDG's are unset.
 *
 * For who is not root there is nothing to do. Context: the calling process has
 * one thread and is about this campaign alone; its files are open. Errors:
 * -ESRCH the process has another program or other rights by now; -EACCES the
 * user cannot read the program; what the kernel refuses. After an error the
 * process had best end.
 */
int maple_attach_become(struct maple_attached *attached,
			struct maple_error *err);

/* What a campaign in the sandbox needs beside the process. */
struct maple_attach_rest {
	const char *const *writes; /* files and folders; NULL at the end */
	const char *agent;	   /* as in the campaign's options, and */
	const char *backend;
	const char *observer;
	bool mapled; /* it connects to mapled again, when that is restarted */
	bool server; /* the memo's server */
};

/*
 * maple_attach_confine - the calling process goes into a sandbox, for good
 *
 * From now on it reads what the process has mapped now, debug information of
 * that, and what is everybody's; writes what @rest names and its own cache;
 * executes nothing, traces nobody, and has no network and no capabilities but
 * those with which it observes. What it may do to the process two children do
 * that stay outside, until maple_attach_close(). docs/kernel.md has the list.
 *
 * A kernel without Landlock confines no files: maple_attach_confines() tells.
 * Context: the calling process has one thread, and, if it was root, is the
 * process's user already. Errors: -EBUSY it has several threads; what the
 * kernel refuses. After an error the process had best end.
 */
int maple_attach_confine(struct maple_attached *attached,
			 const struct maple_attach_rest *rest,
			 struct maple_error *err);

/* maple_attach_confines - whether this kernel confines files; from inside the
   sandbox nobody can tell */
bool maple_attach_confines(void);

/*
 * maple_attach_user - by whose rights it acted when it was opened
 * @hidden: a user other than root, who may not trace it: it has capabilities,
 *          or other ids as well, or is not dumpable. What is learned of it is
 *          then not that user's to read.
 *
 * Returns 0 or -errno.
 */
int maple_attach_user(const struct maple_attached *attached, uid_t *uid,
		      bool *hidden);

/* maple_attach_argv - its command line, as long as @attached lives */
char *const *maple_attach_argv(const struct maple_attached *attached);

void maple_attach_close(struct maple_attached *attached); /* takes NULL */

/*
 * maple_attach_end - asks who is attached to @pid to leave it, as Ctrl-C does
 *
 * Where all who were attached have been killed, what they have left in the
 * process is taken out; root becomes the process's user for that. Returns 0
 * once nobody, and nothing, is there. Errors: -ESRCH nobody was; -EPERM he was
 * started by another user; -ETIMEDOUT he does not come to an end.
 */
int maple_attach_end(pid_t pid, struct maple_error *err);

#endif
