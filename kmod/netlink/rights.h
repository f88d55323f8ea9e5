/* SPDX-License-Identifier: GPL-2.0-only */
/* Who may have a session, on which process, for how long. */
#ifndef MAPLE_KMOD_RIGHTS_H
#define MAPLE_KMOD_RIGHTS_H

#include <linux/cred.h>
#include <linux/netlink.h>
#include "../kmod.h"

struct linux_binprm;

/* Of whom a message is, as it was when he sent it. */
struct maple_sender {
	bool may_trace; /* whatever process there is */
};

int maple_rights_sender(struct sk_buff *skb, struct maple_sender *sender,
			struct netlink_ext_ack *extack);
const char *maple_rights_order(const struct maple_session_order *order);
void maple_rights_init(struct maple_session *s,
		       const struct maple_session_order *order,
		       struct task_struct *leader);
const char *maple_rights_grant(struct maple_session *s,
			       const struct maple_session_order *order,
			       struct task_struct *leader);
void maple_rights_deinit(struct maple_session *s);
bool maple_rights_exec(struct maple_session *s, const struct linux_binprm *bprm);
bool maple_rights_ask(struct maple_session *s, const struct mm_struct *mm);
bool maple_rights_look(struct maple_thread *t);

/*
 * maple_rights_kept - whether the session may still see and steer the caller,
 * a thread of its target; if not, it is cut
 * @mm: the caller's, or what is to become it; NULL: it has none any more
 *
 * Context: any but NMI.
 */
static inline bool maple_rights_kept(struct maple_session *s,
				     const struct mm_struct *mm)
{
	if (READ_ONCE(s->ended))
		return false;
	return !s->rights ||
	       (current_real_cred() == READ_ONCE(s->seen) && mm &&
		(s->bound || maple_dumpable(current, mm))) ||
	       maple_rights_ask(s, mm);
}

#endif
