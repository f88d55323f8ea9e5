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

/* maple_attach_argv - its command line, as long as @attached lives */
char *const *maple_attach_argv(const struct maple_attached *attached);

void maple_attach_close(struct maple_attached *attached); /* takes NULL */

/*
 * maple_attach_end - asks who is attached to @pid to leave it, as Ctrl-C does
 *
 * Returns 0 once that has happened. Errors: -ESRCH nobody is; -EPERM he was
 * started by another user; -ETIMEDOUT he does not come to an end.
 */
int maple_attach_end(pid_t pid, struct maple_error *err);

#endif
