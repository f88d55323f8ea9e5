// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "maple": takes messages apart, has request.c
 * check them, and hands them to the session of their socket. What they mean is
 * said in <maple/uapi.h>; kmod/maple.yaml says the same for machines.
 *
 * A socket is known by its port id, which it keeps until it is closed; so a
 * message of it can never meet the release of the same socket, but two of its
 * messages can meet each other (parallel_ops): a client's mutex puts them in
 * order. The table's key stays taken until a session has ended altogether.
 */
#include <linux/file.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/genetlink.h>
#include "request.h"

struct client {
	struct kref ref;
	struct mutex lock; /* protects session; held while it is used */
	struct maple_session *session; /* NULL before and after its life */
};

static DEFINE_XARRAY(clients); /* by port id; its own lock protects it */
static struct genl_family family;

/* ---- the form of messages ---- */

static int check_array(const struct nlattr *attr, size_t size,
		       struct netlink_ext_ack *extack)
{
	if (nla_len(attr) && !(nla_len(attr) % size) &&
	    nla_len(attr) / size <= MAPLE_PER_MESSAGE)
		return 0;
	NL_SET_ERR_MSG_ATTR(
		extack, attr,
		"an array has 1 to 512 whole elements: were both sides built from one maple/uapi.h?");
	return -EINVAL;
}

static int check_probes(const struct nlattr *attr,
			struct netlink_ext_ack *extack)
{
	return check_array(attr, sizeof(struct maple_uapi_probe), extack);
}

static int check_sites(const struct nlattr *attr, struct netlink_ext_ack *extack)
{
	return check_array(attr, sizeof(struct maple_uapi_site), extack);
}

static struct netlink_range_validation deadline_range = {
	.min = 1,
	.max = MAPLE_DEADLINE_MAX,
};

static const struct nla_policy start_policy[] = {
	[MAPLE_A_VERSION] = { .type = NLA_U32 },
	[MAPLE_A_PIDFD] = NLA_POLICY_MIN(NLA_S32, 0),
	[MAPLE_A_CPU] = NLA_POLICY_MIN(NLA_S32, -1),
	[MAPLE_A_SCHED] = NLA_POLICY_MAX(NLA_U32, __MAPLE_UAPI_SCHED_MAX - 1),
	[MAPLE_A_SEED] = { .type = NLA_U64 },
	[MAPLE_A_CHANGES] = NLA_POLICY_MAX(NLA_U32, MAPLE_CHANGES_MAX),
	[MAPLE_A_DEADLINE] = NLA_POLICY_FULL_RANGE(NLA_U32, &deadline_range),
	[MAPLE_A_PLAN] = NLA_POLICY_EXACT_LEN(sizeof(struct maple_plan)),
};

static const struct nla_policy probe_policy[] = {
	[MAPLE_A_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[MAPLE_A_PROBES] = NLA_POLICY_VALIDATE_FN(NLA_BINARY, check_probes),
	[MAPLE_A_SITES] = NLA_POLICY_VALIDATE_FN(NLA_BINARY, check_sites),
};

static const struct nla_policy status_policy[] = {
	[MAPLE_A_FROM] = { .type = NLA_U32 },
};

/* ---- sockets and their sessions ---- */

static void client_free(struct kref *ref)
{
	kfree(container_of(ref, struct client, ref));
}

/*
 * The client of the message's socket, locked, its session alive; the way back
 * is client_put().
 */
static struct client *client_get(struct sk_buff *skb, struct genl_info *info)
{
	struct client *client;
	int e = maple_request_sender(skb, info);

	if (e)
		return ERR_PTR(e);
	xa_lock(&clients);
	client = xa_load(&clients, info->snd_portid);
	if (client)
		kref_get(&client->ref);
	xa_unlock(&clients);
	if (client) {
		mutex_lock(&client->lock);
		if (client->session)
			return client;
		mutex_unlock(&client->lock);
		kref_put(&client->ref, client_free);
	}
	NL_SET_ERR_MSG(info->extack,
		       "this socket has no session: send MAPLE_CMD_START first");
	return ERR_PTR(-ENOENT);
}

static void client_put(struct client *client)
{
	mutex_unlock(&client->lock);
	kref_put(&client->ref, client_free);
}

/*
 * Ends the session of a locked client and takes it out of the table. Messages
 * that found it before still hold references and wait for its lock; they then
 * see that there is no session. The module's reference goes last, and may: our
 * caller is either a command, which unloading waits for in
 * genl_unregister_family(), or the notifier, which it waits for as well.
 */
static void client_end(struct client *client, u32 portid)
{
	lockdep_assert_held(&client->lock);
	maple_session_destroy(client->session);
	client->session = NULL;
	xa_erase(&clients, portid);
	kref_put(&client->ref, client_free); /* the table's */
	module_put(THIS_MODULE);
}

static int on_netlink(struct notifier_block *nb, unsigned long event, void *data)
{
	struct netlink_notify *n = data;
	struct client *client;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC ||
	    !net_eq(n->net, &init_net))
		return NOTIFY_DONE;
	xa_lock(&clients);
	client = xa_load(&clients, n->portid);
	if (client)
		kref_get(&client->ref);
	xa_unlock(&clients);
	if (!client)
		return NOTIFY_DONE;
	mutex_lock(&client->lock);
	if (client->session)
		client_end(client, n->portid);
	client_put(client);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_netlink };

/* ---- the commands ---- */

/* A reply of @size bytes' payload; *@head is for genlmsg_end(). */
static struct sk_buff *reply_begin(struct genl_info *info, size_t size,
				   void **head)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	if (!skb)
		return NULL;
	*head = genlmsg_put_reply(skb, info, &family, 0, info->genlhdr->cmd);
	if (*head)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

static int reply_end(struct genl_info *info, struct sk_buff *skb, void *head,
		     int e)
{
	if (WARN_ON_ONCE(e)) { /* its room was counted wrongly */
		nlmsg_free(skb);
		return e;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

static int do_info(struct sk_buff *skb, struct genl_info *info)
{
	const struct {
		int attr;
		u32 value;
	} facts[] = {
		{ MAPLE_A_VERSION, MAPLE_GENL_VERSION },
		{ MAPLE_A_FEATURES, maple_session_features() },
		{ MAPLE_A_MAX_PROBES, MAPLE_SESSION_PROBES },
		{ MAPLE_A_MAX_SITES, MAPLE_SESSION_SITES },
		{ MAPLE_A_LOG_SIZE, MAPLE_SESSION_LOG },
		{ MAPLE_A_PLAN_SIZE, sizeof(struct maple_plan) },
	};
	struct sk_buff *reply;
	unsigned int i;
	void *head;
	int e = 0;

	reply = reply_begin(
		info, ARRAY_SIZE(facts) * nla_total_size(sizeof(u32)), &head);
	if (!reply)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(facts) && !e; i++)
		e = nla_put_u32(reply, facts[i].attr, facts[i].value);
	return reply_end(info, reply, head, e);
}

/* The key is taken first: whoever comes second to this socket is told so. */
static int client_start(struct genl_info *info,
			const struct maple_session_order *order)
{
	struct client *client = kzalloc(sizeof(*client), GFP_KERNEL);
	int e;

	if (!client)
		return -ENOMEM;
	kref_init(&client->ref);
	mutex_init(&client->lock);
	mutex_lock(&client->lock);
	e = xa_insert(&clients, info->snd_portid, client, GFP_KERNEL);
	if (e == -EBUSY)
		NL_SET_ERR_MSG(
			info->extack,
			"this socket has a session already: send MAPLE_CMD_STOP first, or open another socket");
	if (e)
		goto err_put;
	kref_get(&client->ref); /* the table's */
	e = maple_session_create(order, &client->session, info->extack);
	if (!e)
		goto out;
	client->session = NULL;
	xa_erase(&clients, info->snd_portid);
	kref_put(&client->ref, client_free);
err_put:
out:
	client_put(client);
	return e;
}

static int do_start(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 needs[] = { MAPLE_A_VERSION, MAPLE_A_PIDFD, MAPLE_A_CPU,
				    MAPLE_A_SCHED, MAPLE_A_DEADLINE };
	struct nlattr **attrs = info->attrs;
	struct maple_session_order order = {};
	struct maple_plan *plan = NULL;
	int e;

	e = maple_request_sender(skb, info);
	e = e ?: maple_request_complete(info, needs, ARRAY_SIZE(needs));
	if (e)
		return e;
	if (nla_get_u32(attrs[MAPLE_A_VERSION]) != MAPLE_GENL_VERSION)
		return maple_request_refuse(
			info, MAPLE_A_VERSION, -EPROTO,
			"maple.ko and the sender are of different versions: install both from one release");
	if (!try_module_get(THIS_MODULE)) {
		NL_SET_ERR_MSG(info->extack, "maple.ko is being unloaded");
		return -ENODEV;
	}
	if (attrs[MAPLE_A_PLAN]) { /* aligned, which an attribute is not */
		plan = kmemdup(nla_data(attrs[MAPLE_A_PLAN]), sizeof(*plan),
			       GFP_KERNEL);
		e = plan ? 0 : -ENOMEM;
		if (e)
			goto err_module;
	}
	order.cpu = nla_get_s32(attrs[MAPLE_A_CPU]);
	order.sched = nla_get_u32(attrs[MAPLE_A_SCHED]);
	order.deadline_ms = nla_get_u32(attrs[MAPLE_A_DEADLINE]);
	if (attrs[MAPLE_A_SEED])
		order.seed = nla_get_u64(attrs[MAPLE_A_SEED]);
	if (attrs[MAPLE_A_CHANGES])
		order.changes = nla_get_u32(attrs[MAPLE_A_CHANGES]);
	order.plan = plan;
	e = maple_request_order(info, &order);
	if (e)
		goto err_plan;
	order.target = maple_request_target(skb, info);
	if (IS_ERR(order.target)) {
		e = PTR_ERR(order.target);
		goto err_plan;
	}
	e = client_start(info, &order);
	put_pid(order.target);
err_plan:
	kfree(plan); /* the session has a copy */
err_module:
	if (e)
		module_put(THIS_MODULE);
	return e;
}

static int probe(struct maple_session *session, struct genl_info *info,
		 struct file *file)
{
	struct maple_uapi_probe *probes;
	unsigned int n;
	int e;

	probes = maple_request_probes(info, &n);
	if (IS_ERR(probes))
		return PTR_ERR(probes);
	e = maple_session_probe(session, file, probes, n, info->extack);
	kfree(probes);
	return e;
}

static int name_sites(struct maple_session *session, struct genl_info *info,
		      struct file *file)
{
	struct maple_uapi_site *sites;
	unsigned int n;
	int e;

	sites = maple_request_sites(info, &n);
	if (IS_ERR(sites))
		return PTR_ERR(sites);
	e = maple_session_sites(session, file, sites, n, info->extack);
	kfree(sites);
	return e;
}

static int do_probe(struct sk_buff *skb, struct genl_info *info)
{
	static const u8 needs[] = { MAPLE_A_FD };
	struct client *client = client_get(skb, info);
	struct file *file;
	int e;

	if (IS_ERR(client))
		return PTR_ERR(client);
	e = maple_request_complete(info, needs, ARRAY_SIZE(needs));
	if (e)
		goto out;
	if (!info->attrs[MAPLE_A_PROBES] == !info->attrs[MAPLE_A_SITES]) {
		e = -EINVAL;
		NL_SET_ERR_MSG(
			info->extack,
			"a file comes with either probes or sites: send two messages");
		goto out;
	}
	file = maple_request_file(info);
	if (IS_ERR(file)) {
		e = PTR_ERR(file);
		goto out;
	}
	e = info->attrs[MAPLE_A_PROBES]
		    ? probe(client->session, info, file)
		    : name_sites(client->session, info, file);
	fput(file);
out:
	client_put(client);
	return e;
}

static int do_release(struct sk_buff *skb, struct genl_info *info)
{
	struct client *client = client_get(skb, info);

	if (IS_ERR(client))
		return PTR_ERR(client);
	maple_session_release(client->session);
	client_put(client);
	return 0;
}

static int do_resume(struct sk_buff *skb, struct genl_info *info)
{
	struct client *client = client_get(skb, info);

	if (IS_ERR(client))
		return PTR_ERR(client);
	maple_session_resume(client->session);
	client_put(client);
	return 0;
}

static int put_threads(struct sk_buff *reply, struct maple_session *session,
		       u32 from)
{
	u32 i, n = 0, all = maple_session_threads(session);
	struct maple_uapi_thread *threads;
	int e;

	threads = kcalloc(MAPLE_PER_MESSAGE, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	for (i = from; i < all && n < MAPLE_PER_MESSAGE; i++)
		if (!maple_session_thread(session, i, &threads[n]))
			n++;
	e = nla_put_u32(reply, MAPLE_A_NTHREADS, all);
	e = e ?: nla_put(reply, MAPLE_A_THREADS, n * sizeof(*threads), threads);
	kfree(threads);
	return e;
}

static int put_status(struct sk_buff *reply, struct maple_session *session)
{
	struct maple_auto_result result;
	struct maple_counters counters;
	struct maple_uapi_crash crash;
	int e;

	maple_session_counters(session, &counters);
	e = nla_put_u32(reply, MAPLE_A_STATE, maple_session_state(session));
	e = e ?: nla_put(reply, MAPLE_A_COUNTERS, sizeof(counters), &counters);
	if (maple_session_result(session, &result))
		e = e ?: nla_put(reply, MAPLE_A_RESULT, sizeof(result), &result);
	if (maple_session_crash(session, &crash))
		e = e ?: nla_put(reply, MAPLE_A_CRASH, sizeof(crash), &crash);
	return e;
}

static int do_status(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *from = info->attrs[MAPLE_A_FROM];
	size_t size = 2 * nla_total_size(sizeof(u32)) +
		      nla_total_size(sizeof(struct maple_counters)) +
		      nla_total_size(sizeof(struct maple_auto_result)) +
		      nla_total_size(sizeof(struct maple_uapi_crash)) +
		      nla_total_size(MAPLE_PER_MESSAGE *
				     sizeof(struct maple_uapi_thread));
	struct client *client = client_get(skb, info);
	struct sk_buff *reply;
	int e = -ENOMEM;
	void *head;

	if (IS_ERR(client))
		return PTR_ERR(client);
	reply = reply_begin(info, size, &head);
	if (reply) {
		e = put_status(reply, client->session);
		e = e
			    ?: put_threads(reply, client->session,
					   from ? nla_get_u32(from) : 0);
		e = reply_end(info, reply, head, e);
	}
	client_put(client);
	return e;
}

static int do_log(struct sk_buff *skb, struct genl_info *info)
{
	size_t size = MAPLE_PER_MESSAGE * sizeof(struct maple_log_entry);
	struct client *client = client_get(skb, info);
	struct maple_log_entry *entries;
	struct sk_buff *reply = NULL;
	unsigned int n;
	int e = -ENOMEM;
	void *head;

	if (IS_ERR(client))
		return PTR_ERR(client);
	/* All memory first: what is taken out of the log must arrive. */
	entries = kmalloc(size, GFP_KERNEL);
	if (entries)
		reply = reply_begin(info, nla_total_size(size), &head);
	if (reply) {
		n = maple_session_log(client->session, entries,
				      MAPLE_PER_MESSAGE);
		e = nla_put(reply, MAPLE_A_LOG, n * sizeof(*entries), entries);
		e = reply_end(info, reply, head, e);
	}
	kfree(entries);
	client_put(client);
	return e;
}

static int do_returns(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *from = info->attrs[MAPLE_A_FROM];
	struct maple_uapi_return returns[MAPLE_RETURNS];
	struct client *client = client_get(skb, info);
	struct sk_buff *reply;
	unsigned int n;
	int e = -ENOMEM;
	void *head;

	if (IS_ERR(client))
		return PTR_ERR(client);
	n = maple_session_returns(client->session, from ? nla_get_u32(from) : 0,
				  returns, ARRAY_SIZE(returns));
	reply = reply_begin(info, nla_total_size(sizeof(returns)), &head);
	if (reply) {
		e = nla_put(reply, MAPLE_A_RETURNS, n * sizeof(*returns),
			    returns);
		e = reply_end(info, reply, head, e);
	}
	client_put(client);
	return e;
}

static int do_stop(struct sk_buff *skb, struct genl_info *info)
{
	struct client *client = client_get(skb, info);

	if (IS_ERR(client))
		return PTR_ERR(client);
	client_end(client, info->snd_portid);
	client_put(client);
	return 0;
}

/* ---- the family ---- */

#define WITH(p) .policy = (p), .maxattr = ARRAY_SIZE(p) - 1

/* Commands without a policy take no attribute at all. */
static const struct genl_ops ops[] = {
	{ .cmd = MAPLE_CMD_INFO, .doit = do_info },
	{ .cmd = MAPLE_CMD_START, .doit = do_start, WITH(start_policy) },
	{ .cmd = MAPLE_CMD_PROBE, .doit = do_probe, WITH(probe_policy) },
	{ .cmd = MAPLE_CMD_RELEASE, .doit = do_release },
	{ .cmd = MAPLE_CMD_STATUS, .doit = do_status, WITH(status_policy) },
	{ .cmd = MAPLE_CMD_LOG, .doit = do_log },
	{ .cmd = MAPLE_CMD_RESUME, .doit = do_resume },
	{ .cmd = MAPLE_CMD_STOP, .doit = do_stop },
	{ .cmd = MAPLE_CMD_RETURNS, .doit = do_returns, WITH(status_policy) },
};

static struct genl_family family __ro_after_init = {
	.name = MAPLE_GENL_NAME,
	.version = MAPLE_GENL_VERSION,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.module = THIS_MODULE,
	.parallel_ops = true,
};

MODULE_ALIAS_GENL_FAMILY(MAPLE_GENL_NAME);

/* maple_netlink_init - opens the module to messages; the last step of loading */
int __init maple_netlink_init(void)
{
	int e;

	static_assert(MAPLE_CMD_MAX == ARRAY_SIZE(ops));
	static_assert(MAPLE_PER_MESSAGE * sizeof(struct maple_uapi_thread) <
		      32 * 1024);
	e = netlink_register_notifier(&notifier);
	if (e)
		return e;
	e = genl_register_family(&family);
	if (e)
		netlink_unregister_notifier(&notifier);
	return e;
}

/*
 * maple_netlink_exit - closes it; every session has ended by then, or their
 * references would have kept us from here
 */
void maple_netlink_exit(void)
{
	genl_unregister_family(&family);
	netlink_unregister_notifier(&notifier);
	WARN_ON_ONCE(!xa_empty(&clients));
	xa_destroy(&clients);
}
