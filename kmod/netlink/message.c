// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages. While the kernel has a family take a message, it holds a lock of
 * generic netlink's for reading. Who registers a family waits for that lock,
 * and everybody else's messages wait behind him. So nothing that may wait is
 * done there: not for a process' memory, as probes do, nor for another message
 * of the same socket.
 *
 * A message is copied instead, and the sender carries it out on its way back
 * to user space, when it has left the locks: it has its own priority, files,
 * credentials and control group there, and the answer is in its socket before
 * send() returns. Messages that were sent at once are carried out in the order
 * in which they came. Their socket stays open until they are, so none of them
 * ever meets its release.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/sock.h>
#include "../kmod.h"
#include "message.h"

#define AT_ONCE 64 /* messages of one thread that are not carried out yet */

static LIST_HEAD(messages); /* oldest first */
static DEFINE_SPINLOCK(messages_lock);

static void message_free(struct maple_message *m)
{
	if (m->file)
		fput(m->file);
	if (m->skb) {
		m->skb->sk = NULL; /* it was never accounted to it */
		kfree_skb(m->skb);
	}
	kfree(m);
}

/* A copy of the message in @skb, and of what an answer takes. */
static int copy(struct maple_message *m, const struct sk_buff *skb,
		const struct genl_info *info)
{
	const struct nlmsghdr *from = info->nlhdr;
	struct nlmsghdr *head;
	int e;

	m->skb = alloc_skb(NLMSG_ALIGN(from->nlmsg_len), MAPLE_GFP);
	if (!m->skb)
		return -ENOMEM;
	NETLINK_CB(m->skb) = NETLINK_CB(skb);
	m->skb->sk = skb->sk;
	head = skb_put_data(m->skb, from, from->nlmsg_len);
	m->info = *info;
	m->info.nlhdr = head;
	m->info.genlhdr = nlmsg_data(head);
	m->info.attrs = m->attrs;
	m->info.extack = &m->extack;
	e = nlmsg_parse_deprecated(head, GENL_HDRLEN, m->attrs, MAPLE_A_MAX,
				   NULL, info->extack);
	return e;
}

static void take_file(struct maple_message *m)
{
	const struct nlattr *attr = m->attrs[MAPLE_A_PIDFD];

	attr = attr ?: m->attrs[MAPLE_A_FD];
	if (attr)
		m->file = fget(nla_get_s32(attr));
}

/* The oldest message of the caller; it is on the list no more. */
static struct maple_message *next_message(void)
{
	struct maple_message *m, *found = NULL;

	spin_lock(&messages_lock);
	list_for_each_entry(m, &messages, list)
		if (m->task == current) {
			found = m;
			list_del(&m->list);
			break;
		}
	spin_unlock(&messages_lock);
	return found;
}

static void answer(struct maple_message *m, int e)
{
	struct nlmsghdr *head = nlmsg_hdr(m->skb);

	if (e || head->nlmsg_flags & NLM_F_ACK)
		netlink_ack(m->skb, head, e, &m->extack);
}

/* All of the caller's; the work is the first one's. */
static void messages_work(struct callback_head *work)
{
	struct maple_message *m;
	struct file *socket;

	while ((m = next_message())) {
		answer(m, m->run(m));
		socket = m->socket;
		message_free(m);
		fput(socket);
		/* Who runs this is waited for by synchronize_rcu_tasks(). */
		module_put(THIS_MODULE);
	}
}

/* Puts @m behind the caller's other ones. */
static int queue(struct maple_message *m, struct netlink_ext_ack *extack)
{
	struct maple_message *other;
	unsigned int n = 0;
	int e = 0;

	spin_lock(&messages_lock);
	list_for_each_entry(other, &messages, list)
		n += other->task == current;
	if (n == AT_ONCE)
		e = -ENOBUFS;
	else
		list_add_tail(&m->list, &messages);
	spin_unlock(&messages_lock);
	if (e)
		NL_SET_ERR_MSG(
			extack,
			"too many messages at once: send the next one when one has been answered");
	if (e || n)
		return e;
	e = maple_work_here(&m->work, messages_work);
	if (e) {
		spin_lock(&messages_lock);
		list_del(&m->list);
		spin_unlock(&messages_lock);
	}
	return e;
}

/*
 * maple_message_later - has @run carry out the message when the sender, the
 * caller, has left the locks; it is answered by what that returns
 *
 * Returns -EINTR, which the kernel answers nothing to, or why it cannot be.
 */
int maple_message_later(struct sk_buff *skb, struct genl_info *info,
			int (*run)(struct maple_message *m))
{
	struct socket *socket = NETLINK_CB(skb).sk->sk_socket;
	struct maple_message *m;
	int e;

	if (!socket || !socket->file || current->flags & PF_KTHREAD)
		return -EOPNOTSUPP; /* sessions are programs' */
	m = kzalloc(sizeof(*m), MAPLE_GFP);
	if (!m)
		return -ENOMEM;
	m->run = run;
	m->task = current;
	e = maple_rights_sender(skb, &m->sender, info->extack);
	e = e ?: copy(m, skb, info);
	if (e)
		goto err_free;
	take_file(m);
	if (!try_module_get(THIS_MODULE)) {
		NL_SET_ERR_MSG(info->extack, "maple.ko is being unloaded");
		e = -ENODEV;
		goto err_free;
	}
	m->socket = get_file(socket->file);
	e = queue(m, info->extack);
	if (!e)
		return -EINTR;
	fput(m->socket);
	module_put(THIS_MODULE);
err_free:
	message_free(m);
	return e;
}
