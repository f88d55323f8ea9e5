// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: whether a message asks for something that can be; whether its
 * sender may, rights.c says. Whatever is refused here is refused with a text
 * that names the cause and the mend; sizes and ranges of attributes have been
 * checked before, by the policies in netlink.c.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "../kmod.h"
#include "../compat.h"
#include "request.h"
#include "rights.h"

/* maple_request_refuse - @e, with @why as the text and @attr as the culprit */
int maple_request_refuse(struct genl_info *info, int attr, int e,
			 const char *why)
{
	info->extack->_msg = why;
	NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	return e;
}

/* maple_request_complete - whether all @n of @attrs are there */
int maple_request_complete(struct genl_info *info, const u8 *attrs, size_t n)
{
	while (n--) {
		if (info->attrs[attrs[n]])
			continue;
		NL_SET_ERR_MSG(
			info->extack,
			"an attribute that the command needs is missing: see enum maple_cmd in maple/uapi.h");
		return -EINVAL;
	}
	return 0;
}

/* ---- what it is about ---- */

static int check_target(struct genl_info *info, struct pid *pid)
{
	struct task_struct *task = get_pid_task(pid, PIDTYPE_TGID);
	const char *why = NULL;

	if (!task)
		return maple_request_refuse(
			info, MAPLE_A_PIDFD, -ESRCH,
			"the target has ended, or the pidfd is that of a thread: open one of the process");
	if (task->flags & PF_KTHREAD) {
		why = "the target is a kernel thread: name a program";
	} else if (task_tgid_nr(task) == 1) {
		why = "init is no target: the machine could not go on without it";
	} else if (same_thread_group(task, current)) {
		why = "the target is the sender itself, who could not end the session: fork";
	} else if (maple_is_32bit(task)) {
		why = "the target is a 32-bit program, which maple does not know: build it for 64 bits";
	}
	put_task_struct(task);
	return why ? maple_request_refuse(info, MAPLE_A_PIDFD, -EINVAL, why)
		   : 0;
}

/*
 * maple_request_target - the target that PIDFD names, if it can be one
 * @file: the one of that number; NULL: there was none
 *
 * Returns a reference to be put, or an error with its text.
 */
struct pid *maple_request_target(struct genl_info *info, struct file *file)
{
	struct pid *pid;
	int e;

	if (!file)
		return ERR_PTR(maple_request_refuse(
			info, MAPLE_A_PIDFD, -EBADF,
			"the pidfd is no open file of the sender"));
	pid = get_pid(maple_pidfd_pid(file));
	if (!pid)
		return ERR_PTR(maple_request_refuse(
			info, MAPLE_A_PIDFD, -EINVAL,
			"that file is no pidfd: open one with pidfd_open()"));
	e = check_target(info, pid);
	if (!e)
		return pid;
	put_pid(pid);
	return ERR_PTR(e);
}

/* maple_request_order - whether START asks for something that can be */
int maple_request_order(struct genl_info *info,
			const struct maple_session_order *order)
{
	const char *why;

	if ((order->sched == MAPLE_UAPI_PLAN) != !!order->plan)
		return maple_request_refuse(
			info, MAPLE_A_SCHED, -EINVAL,
			"MAPLE_UAPI_PLAN takes a plan, and a plan takes MAPLE_UAPI_PLAN");
	why = order->plan ? maple_plan_fault(order->plan) : NULL;
	if (why)
		return maple_request_refuse(info, MAPLE_A_PLAN, -EINVAL, why);
	if (order->cpu >= (int)nr_cpu_ids ||
	    (order->cpu >= 0 && !cpu_online(order->cpu)))
		return maple_request_refuse(
			info, MAPLE_A_CPU, -EINVAL,
			"that CPU is not online: choose another, or -1");
	why = maple_rights_order(order);
	return why ? maple_request_refuse(info, MAPLE_A_CPU, -EPERM, why) : 0;
}

/*
 * maple_request_file - whether FD names a file that has code
 * @file: the one of that number; NULL: there was none
 */
int maple_request_file(struct genl_info *info, struct file *file)
{
	if (!file)
		return maple_request_refuse(
			info, MAPLE_A_FD, -EBADF,
			"that is no open file of the sender");
	/* A pidfd says that it is one too, but it is empty. */
	if (S_ISREG(file_inode(file)->i_mode) && i_size_read(file_inode(file)))
		return 0;
	return maple_request_refuse(info, MAPLE_A_FD, -EINVAL,
				    "only a regular file has code to probe");
}

/* What a probe may be, whatever its file holds; a reason if it is not. */
static const char *probe_fault(const void *probe)
{
	const struct maple_uapi_probe *p = probe;
	bool call = p->flags & MAPLE_PROBE_CALL;

	if (p->reserved)
		return "a reserved field of a probe is not 0: send 0";
	if (p->flags & ~MAPLE_PROBE_FLAGS)
		return "a probe has a flag that this module does not know: update maple.ko";
	if ((p->base > 15 && p->base != MAPLE_REG_ABSENT) ||
	    (p->index > 15 && p->index != MAPLE_REG_ABSENT) ||
	    (p->aux > 15 && p->aux != MAPLE_REG_ABSENT))
		return "a probe names a register beyond r15: send 0 to 15, or 255 for none";
	if (p->index == MAPLE_REG_ABSENT
		    ? p->scale != 0
		    : p->scale != 1 && p->scale != 2 && p->scale != 4 &&
			      p->scale != 8)
		return "a probe's scale is 1, 2, 4 or 8 with an index, 0 without";
	if ((p->flags & MAPLE_PROBE_BEHIND) && (p->flags & MAPLE_PROBE_AHEAD))
		return "a probe is behind its access or ahead of it, not both";
	if (p->kind > MAPLE_EV_QUIET || p->after > MAPLE_EV_QUIET)
		return "a probe's kind is none that a program can do: see enum maple_event_kind";
	if (call)
		return p->number == MAPLE_SITE_NONE
			       ? NULL
			       : "the probe of a call has no number of its own: send MAPLE_SITE_NONE";
	if (p->flags & (MAPLE_PROBE_RETURN | MAPLE_PROBE_ZERO |
			MAPLE_PROBE_NONZERO | MAPLE_PROBE_SHARED |
			MAPLE_PROBE_MAYFAIL | MAPLE_PROBE_MAYWAIT) ||
	    p->after)
		return "a probe of an access has what only calls have: set MAPLE_PROBE_CALL, or leave it";
	if (!maple_event_is_memory(p->kind))
		return "a probe of an access reads, writes or updates: its kind is another";
	if (!p->size || (p->number & MAPLE_SITE_CALL))
		return "a probe of an access has a size, and a number without MAPLE_SITE_CALL";
	return NULL;
}

static const char *site_fault(const void *site)
{
	const struct maple_uapi_site *s = site;

	if (s->reserved)
		return "a reserved field of a site is not 0: send 0";
	if (!(s->number & MAPLE_SITE_CALL) || s->number == MAPLE_SITE_NONE)
		return "a call site's number has MAPLE_SITE_CALL set and is not MAPLE_SITE_NONE";
	return NULL;
}

/*
 * A copy of the elements of attribute @type, each of them without a @fault; an
 * attribute is not aligned for them. To be freed with kfree(), or an error
 * with its text.
 */
static void *copy_sound(struct genl_info *info, unsigned int type, size_t size,
			const char *(*fault)(const void *), unsigned int *n)
{
	const struct nlattr *attr = info->attrs[type];
	const char *why = NULL;
	unsigned int i;
	char *copy;

	copy = kmemdup(nla_data(attr), nla_len(attr), MAPLE_GFP);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	*n = nla_len(attr) / size;
	for (i = 0; i < *n && !why; i++)
		why = fault(copy + i * size);
	if (!why)
		return copy;
	kfree(copy);
	return ERR_PTR(maple_request_refuse(info, type, -EINVAL, why));
}

/* maple_request_probes - a copy of the probes that came, as copy_sound() */
struct maple_uapi_probe *maple_request_probes(struct genl_info *info,
					      unsigned int *n)
{
	return copy_sound(info, MAPLE_A_PROBES, sizeof(struct maple_uapi_probe),
			  probe_fault, n);
}

/* maple_request_sites - a copy of the sites that came, as copy_sound() */
struct maple_uapi_site *maple_request_sites(struct genl_info *info,
					    unsigned int *n)
{
	return copy_sound(info, MAPLE_A_SITES, sizeof(struct maple_uapi_site),
			  site_fault, n);
}
