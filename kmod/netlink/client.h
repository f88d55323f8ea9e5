/* SPDX-License-Identifier: GPL-2.0-only */
/* Sockets and their sessions, for netlink.c. */
#ifndef MAPLE_KMOD_CLIENT_H
#define MAPLE_KMOD_CLIENT_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/task_work.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include "../session.h"

struct maple_netlink_client {
	struct kref ref;
	struct mutex lock; /* protects session; held while it is used */
	struct maple_session *session;	/* NULL before and after its life */
	struct callback_head by_closer; /* the end: by who closes the socket, */
	struct work_struct by_worker;	/* ... or by a kernel thread */
};

int maple_client_start(struct genl_info *info,
		       const struct maple_session_order *order);
struct maple_netlink_client *maple_client_get(struct genl_info *info);
void maple_client_put(struct maple_netlink_client *client);
void maple_client_end(struct maple_netlink_client *client, u32 portid);

int maple_client_init(void);
void maple_client_exit(void);

#endif
