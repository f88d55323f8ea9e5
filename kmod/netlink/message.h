/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that are carried out without generic netlink's locks. */
#ifndef MAPLE_KMOD_MESSAGE_H
#define MAPLE_KMOD_MESSAGE_H

#include <linux/list.h>
#include <linux/task_work.h>
#include <net/genetlink.h>
#include <maple/uapi.h>
#include "rights.h"

struct maple_message {
	struct genl_info info; /* whose attributes are a copy's */
	struct file *file;     /* that PIDFD or FD names; NULL: none */
	struct maple_sender sender;

	/* message.c's own */
	int (*run)(struct maple_message *m);
	struct list_head list;
	struct task_struct *task;
	struct file *socket;
	struct sk_buff *skb;
	struct nlattr *attrs[MAPLE_A_MAX + 1];
	struct netlink_ext_ack extack;
	struct callback_head work;
};

int maple_message_later(struct sk_buff *skb, struct genl_info *info,
			int (*run)(struct maple_message *m));

#endif
