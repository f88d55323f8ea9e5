// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights: who may have a session at all, on which process, and for how long.
 *
 * A session is of the rights that its target had when it began, unless who
 * began it may trace everybody and said nothing else. The target is to be one
 * that they could trace; of a session that is "bound", the one that it was. This
 * is asked at every use, as a process may become another's while it runs: by
 * executing a program, where the kernel calls us before the new one is mapped;
 * by changing its credentials or forbidding to be traced, which nobody is told
 * of, so that hits, births, signals and the watchdog look. When they are gone
 * the session is cut: nothing more is told, held, watched or scheduled.
 *
 * To ask is to compare a pointer, with the credentials that were last found to
 * do, and two bits of the memory's flags.
 */
#include <linux/binfmts.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include "../kmod.h"
#include "rights.h"

#define MEND ": run mapletest as root"

/* Whether the session is to be bound by nobody's rights. */
static bool is_free(const struct maple_session_order *order)
{
	return order->may_trace && !order->strict && !order->bound;
}

/*
 * maple_rights_sender - whether the sender, the caller, may have sessions at
 * all, and what else he may
 */
int maple_rights_sender(struct sk_buff *skb, struct maple_sender *sender,
			struct netlink_ext_ack *extack)
{
	sender->may_trace = netlink_capable(skb, CAP_SYS_PTRACE);
	if (netlink_capable(skb, CAP_SYS_ADMIN) ||
	    (netlink_capable(skb, CAP_PERFMON) &&
	     netlink_capable(skb, CAP_SYS_NICE)))
		return 0;
	NL_SET_ERR_MSG(
		extack,
		"maple sessions take CAP_SYS_ADMIN, or CAP_PERFMON and CAP_SYS_NICE: run it as root");
	return -EPERM;
}

/*
 * maple_rights_order - whether @order asks for what only who may trace
 * everybody can have: real-time threads on all CPUs at once, with none left to
 * look after them
 *
 * Returns NULL, or the reason.
 */
const char *maple_rights_order(const struct maple_session_order *order)
{
	if (is_free(order) || order->cpu >= 0 ||
	    order->sched == MAPLE_UAPI_NATIVE ||
	    order->sched == MAPLE_UAPI_PCTLARGE)
		return NULL;
	return "real-time priorities go with a CPU: name one that the target is pinned to, or do it as root";
}

/* What makes @is another's than @was, or gives it more rights; NULL: nothing. */
static const char *change_fault(const struct cred *was, const struct cred *is)
{
	if (was->user_ns == is->user_ns && uid_eq(was->uid, is->uid) &&
	    uid_eq(was->euid, is->euid) && uid_eq(was->suid, is->suid) &&
	    gid_eq(was->gid, is->gid) && gid_eq(was->egid, is->egid) &&
	    gid_eq(was->sgid, is->sgid) &&
	    cap_issubset(is->cap_permitted, was->cap_permitted))
		return NULL;
	return "the program has other rights than it had: attach to it again";
}

/*
 * What keeps @us from tracing @them, as ptrace() would have it, whose own
 * check modules cannot ask; NULL: nothing
 */
static const char *cred_fault(const struct cred *us, bool bound,
			      const struct cred *them)
{
	if (bound)
		return change_fault(us, them);
	if (us->user_ns != them->user_ns)
		return "the program runs in another user namespace" MEND;
	if (!uid_eq(us->uid, them->uid) || !uid_eq(us->uid, them->euid) ||
	    !uid_eq(us->uid, them->suid))
		return "the program runs as another user" MEND;
	if (!gid_eq(us->gid, them->gid) || !gid_eq(us->gid, them->egid) ||
	    !gid_eq(us->gid, them->sgid))
		return "the program runs with another group's rights" MEND;
	if (!cap_issubset(them->cap_permitted, us->cap_permitted))
		return "the program has capabilities of its own" MEND;
	return NULL;
}

static const char *mm_fault(bool bound, const struct task_struct *task,
			    const struct mm_struct *mm)
{
	if (bound || !mm || maple_dumpable(task, mm))
		return NULL;
	return "the program may not be traced (PR_SET_DUMPABLE, or its file cannot be read)" MEND;
}

/* ---- at the beginning ---- */

static const char *task_fault(const struct cred *rights, bool bound,
			      struct task_struct *task)
{
	const char *why;

	rcu_read_lock();
	why = cred_fault(rights, bound, __task_cred(task));
	rcu_read_unlock();
	task_lock(task);
	why = why ?: mm_fault(bound, task, task->mm);
	task_unlock(task);
	return why;
}

/*
 * maple_rights_grant - whether @order's sender may have a session on @leader,
 * which is listed already: what changes from now on is seen
 *
 * Returns NULL, or the reason.
 */
const char *maple_rights_grant(struct maple_session *s,
			       const struct maple_session_order *order,
			       struct task_struct *leader)
{
	const char *why = NULL;

	if (!order->may_trace)
		why = task_fault(current_cred(), false, leader);
	if (!why && s->rights)
		why = task_fault(s->rights, s->bound, leader);
	return why ?: READ_ONCE(s->why);
}

/* maple_rights_init - @s is of the rights that @leader has now */
void maple_rights_init(struct maple_session *s,
		       const struct maple_session_order *order,
		       struct task_struct *leader)
{
	if (is_free(order))
		return;
	s->bound = order->may_trace && !order->strict;
	s->rights = get_task_cred(leader);
	s->seen = get_cred(s->rights);
}

/* maple_rights_deinit - Context: nobody holds the session any more */
void maple_rights_deinit(struct maple_session *s)
{
	put_cred(s->seen);
	put_cred(s->rights);
}

/* ---- at every use ---- */

static bool lose(struct maple_session *s, const char *why)
{
	cmpxchg(&s->why, NULL, why);
	maple_session_cut(s, MAPLE_SESSION_BARRED);
	return false;
}

/* They are held, so that no others can ever have their address. */
static void note(struct maple_session *s, const struct cred *cred)
{
	put_cred(xchg(&s->seen, get_cred(cred)));
}

/*
 * maple_rights_ask - the long form of maple_rights_kept(), which sees to it
 * that most often it is not needed
 *
 * Context: any but NMI.
 */
bool maple_rights_ask(struct maple_session *s, const struct mm_struct *mm)
{
	const struct cred *cred = current_real_cred();
	const char *why = cred_fault(s->rights, s->bound, cred)
				  ?: mm_fault(s->bound, current, mm);

	if (why)
		return lose(s, why);
	note(s, cred);
	return true;
}

/*
 * maple_rights_look - the same for another thread, by the watchdog
 *
 * Context: session->threads_lock.
 */
bool maple_rights_look(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	const struct cred *cred;
	const char *why = NULL;

	lockdep_assert_held(&s->threads_lock);
	if (!s->rights || !t->task)
		return true;
	rcu_read_lock();
	cred = __task_cred(t->task);
	if (cred != READ_ONCE(s->seen))
		why = cred_fault(s->rights, s->bound, cred);
	rcu_read_unlock();
	why = why ?: mm_fault(s->bound, t->task, maple_session_mm(s));
	return why ? lose(s, why) : true;
}

/*
 * maple_rights_exec - whether the program that @bprm is about, and the caller
 * has become, is still one for @s
 *
 * Context: atomic; before its first instruction.
 */
bool maple_rights_exec(struct maple_session *s, const struct linux_binprm *bprm)
{
	if (!s->rights)
		return true;
	if (bprm->secureexec)
		return lose(
			s,
			"the program is executed with rights of its own (set-user-id, set-group-id, or capabilities)" MEND);
	return maple_rights_ask(s, current->mm);
}
