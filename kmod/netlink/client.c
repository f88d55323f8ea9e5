// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients: sockets that have a session, from its start until it was stopped or
 * they were closed.
 *
 * A socket is known by its port id, which it keeps until it is closed. A message
 * of it can never meet the release of the same socket, since that stays open
 * until the message has been answered (message.c), but two of its messages can
 * meet each other: a client's mutex puts them in order. On STOP the table's key
 * stays taken until the session has ended altogether. When the socket is
 * closed it may be another's at once.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "client.h"
#include "../kmod.h"

static DEFINE_XARRAY(clients); /* by port id; its own lock protects it */

static void free_client(struct kref *ref)
{
	kfree(container_of(ref, struct maple_netlink_client, ref));
}

/* The client of a port, locked, its session alive; NULL if it has none. */
static struct maple_netlink_client *find(u32 portid)
{
	struct maple_netlink_client *client;

	xa_lock(&clients);
	client = xa_load(&clients, portid);
	if (client)
		kref_get(&client->ref);
	xa_unlock(&clients);
	if (!client)
		return NULL;
	mutex_lock(&client->lock);
	if (client->session)
		return client;
	maple_client_put(client);
	return NULL;
}

/*
 * maple_client_get - the client of the message's socket, locked, its session
 * alive; the way back is maple_client_put()
 */
struct maple_netlink_client *maple_client_get(struct genl_info *info)
{
	struct maple_netlink_client *client = find(info->snd_portid);

	if (client)
		return client;
	NL_SET_ERR_MSG(info->extack,
		       "this socket has no session: send MAPLE_CMD_START first");
	return ERR_PTR(-ENOTCONN);
}

void maple_client_put(struct maple_netlink_client *client)
{
	mutex_unlock(&client->lock);
	kref_put(&client->ref, free_client);
}

/*
 * maple_client_start - a session for the message's socket, which has none
 *
 * The key is taken first: whoever comes second to this socket is told so.
 */
int maple_client_start(struct genl_info *info,
		       const struct maple_session_order *order)
{
	struct maple_netlink_client *client;
	int e = -ENOMEM;

	if (!try_module_get(THIS_MODULE)) {
		NL_SET_ERR_MSG(info->extack, "maple.ko is being unloaded");
		return -ENODEV;
	}
	client = kzalloc(sizeof(*client), MAPLE_GFP);
	if (!client)
		goto err_module;
	kref_init(&client->ref);
	mutex_init(&client->lock);
	mutex_lock(&client->lock);
	e = xa_insert(&clients, info->snd_portid, client, MAPLE_GFP);
	if (e == -EBUSY)
		NL_SET_ERR_MSG(
			info->extack,
			"this socket has a session already: send MAPLE_CMD_STOP first, or open another socket");
	if (e)
		goto err_client;
	kref_get(&client->ref); /* the table's */
	e = maple_session_create(order, &client->session, info->extack);
	if (e)
		goto err_table;
	maple_client_put(client);
	return 0;
err_table:
	client->session = NULL;
	xa_erase(&clients, info->snd_portid);
	kref_put(&client->ref, free_client);
err_client:
	maple_client_put(client);
err_module:
	module_put(THIS_MODULE);
	return e;
}

/*
 * maple_client_end - ends the session of a locked client and takes it out of
 * the table
 *
 * Messages that found it before still hold references and wait for its lock;
 * they then see that there is no session. The module's reference goes last:
 * our caller has one of its own.
 */
void maple_client_end(struct maple_netlink_client *client, u32 portid)
{
	lockdep_assert_held(&client->lock);
	maple_session_destroy(client->session);
	client->session = NULL;
	xa_erase(&clients, portid);
	kref_put(&client->ref, free_client); /* the table's */
	module_put(THIS_MODULE);
}

/* ---- sockets that are closed ---- */

/* The end of a client that is in no table any more, nor in any message. */
static void end(struct maple_netlink_client *client)
{
	mutex_lock(&client->lock);
	maple_session_destroy(client->session);
	client->session = NULL;
	maple_client_put(client);
	/* Who runs this is waited for in maple_exit(). */
	module_put(THIS_MODULE);
}

static void end_by_closer(struct callback_head *work)
{
	end(container_of(work, struct maple_netlink_client, by_closer));
}

static void end_by_worker(struct work_struct *work)
{
	end(container_of(work, struct maple_netlink_client, by_worker));
}

/*
 * The kernel tells of the end of a socket under a lock that registering for
 * such news, and then every socket's end, waits for. So the session is ended
 * later, but before who closes the socket is in user space again, or has
 * exited. Where the socket had its end in no program's hands (in a message of
 * another one, say), a worker does it.
 */
static int on_netlink(struct notifier_block *nb, unsigned long event, void *data)
{
	struct netlink_notify *n = data;
	struct maple_netlink_client *client;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC ||
	    !net_eq(n->net, &init_net))
		return NOTIFY_DONE;
	client = xa_erase(&clients, n->portid);
	if (!client)
		return NOTIFY_DONE;
	if (!(current->flags & PF_KTHREAD) &&
	    !maple_work_here(&client->by_closer, end_by_closer))
		return NOTIFY_DONE;
	INIT_WORK(&client->by_worker, end_by_worker);
	queue_work(maple_workers, &client->by_worker);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_netlink };

/* maple_client_init - from here on the end of a socket is seen */
int __init maple_client_init(void)
{
	return netlink_register_notifier(&notifier);
}

/* maple_client_exit - the family is gone, and every session has ended */
void maple_client_exit(void)
{
	netlink_unregister_notifier(&notifier);
	WARN_ON_ONCE(!xa_empty(&clients));
	xa_destroy(&clients);
}
