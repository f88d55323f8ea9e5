// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "maple": takes messages apart, has request.c
 * check them, hands them to the session of their socket, which client.c knows,
 * and has reply.c write the answers. All but INFO is carried out later, see
 * message.c. What they mean is said in <maple/uapi.h>; kmod/maple.yaml says the
 * same for machines.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include "client.h"
#include "../kmod.h"
#include "message.h"
#include "reply.h"
#include "request.h"
#include "rights.h"

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
	[MAPLE_A_STRICT] = { .type = NLA_FLAG },
	[MAPLE_A_BOUND] = { .type = NLA_FLAG },
};

static const struct nla_policy probe_policy[] = {
	[MAPLE_A_FD] = NLA_POLICY_MIN(NLA_S32, 0),
	[MAPLE_A_PROBES] = NLA_POLICY_VALIDATE_FN(NLA_BINARY, check_probes),
	[MAPLE_A_SITES] = NLA_POLICY_VALIDATE_FN(NLA_BINARY, check_sites),
};

static const struct nla_policy status_policy[] = {
	[MAPLE_A_FROM] = { .type = NLA_U32 },
};

/* ---- the commands ---- */

static int do_info(struct sk_buff *skb, struct genl_info *info)
{
	return maple_reply_info(info, &family);
}

static int start(struct maple_message *m)
{
	static const u8 needs[] = { MAPLE_A_VERSION, MAPLE_A_PIDFD, MAPLE_A_CPU,
				    MAPLE_A_SCHED, MAPLE_A_DEADLINE };
	struct maple_session_order order = {};
	struct genl_info *info = &m->info;
	struct nlattr **attrs = info->attrs;
	struct maple_plan *plan = NULL;
	int e;

	e = maple_request_complete(info, needs, ARRAY_SIZE(needs));
	if (e)
		return e;
	if (nla_get_u32(attrs[MAPLE_A_VERSION]) != MAPLE_GENL_VERSION)
		return maple_request_refuse(
			info, MAPLE_A_VERSION, -EPROTO,
			"maple.ko and the sender are of different versions: install both from one release");
	if (attrs[MAPLE_A_PLAN]) { /* aligned, which an attribute is not */
		plan = kmemdup(nla_data(attrs[MAPLE_A_PLAN]), sizeof(*plan),
			       MAPLE_GFP);
		if (!plan)
			return -ENOMEM;
	}
	order.cpu = nla_get_s32(attrs[MAPLE_A_CPU]);
	order.sched = nla_get_u32(attrs[MAPLE_A_SCHED]);
	order.deadline_ms = nla_get_u32(attrs[MAPLE_A_DEADLINE]);
	if (attrs[MAPLE_A_SEED])
		order.seed = nla_get_u64(attrs[MAPLE_A_SEED]);
	if (attrs[MAPLE_A_CHANGES])
		order.changes = nla_get_u32(attrs[MAPLE_A_CHANGES]);
	order.plan = plan;
	order.may_trace = m->sender.may_trace;
	order.strict = nla_get_flag(attrs[MAPLE_A_STRICT]);
	order.bound = nla_get_flag(attrs[MAPLE_A_BOUND]);
	e = maple_request_order(info, &order);
	if (e)
		goto out;
	order.target = maple_request_target(info, m->file);
	if (IS_ERR(order.target)) {
		e = PTR_ERR(order.target);
		goto out;
	}
	e = maple_client_start(info, &order);
	put_pid(order.target);
out:
	kfree(plan); /* the session has a copy */
	return e;
}

static int put_probes(struct maple_session *session, struct maple_message *m)
{
	struct maple_uapi_probe *probes;
	unsigned int n;
	int e;

	probes = maple_request_probes(&m->info, &n);
	if (IS_ERR(probes))
		return PTR_ERR(probes);
	e = maple_session_probe(session, m->file, probes, n, &m->extack);
	kfree(probes);
	return e;
}

static int name_sites(struct maple_session *session, struct maple_message *m)
{
	struct maple_uapi_site *sites;
	unsigned int n;
	int e;

	sites = maple_request_sites(&m->info, &n);
	if (IS_ERR(sites))
		return PTR_ERR(sites);
	e = maple_session_sites(session, m->file, sites, n, &m->extack);
	kfree(sites);
	return e;
}

static int probe_in(struct maple_session *session, struct maple_message *m)
{
	static const u8 needs[] = { MAPLE_A_FD };
	int e = maple_request_complete(&m->info, needs, ARRAY_SIZE(needs));

	if (e)
		return e;
	if (!m->attrs[MAPLE_A_PROBES] == !m->attrs[MAPLE_A_SITES]) {
		NL_SET_ERR_MSG(
			&m->extack,
			"a file comes with either probes or sites: send two messages");
		return -EINVAL;
	}
	e = maple_request_file(&m->info, m->file);
	if (e)
		return e;
	return m->attrs[MAPLE_A_PROBES] ? put_probes(session, m)
					: name_sites(session, m);
}

static int release_in(struct maple_session *session, struct maple_message *m)
{
	maple_session_release(session);
	return 0;
}

static int resume_in(struct maple_session *session, struct maple_message *m)
{
	maple_session_resume(session);
	return 0;
}

static int status_in(struct maple_session *session, struct maple_message *m)
{
	return maple_reply_status(&m->info, &family, session);
}

static int log_in(struct maple_session *session, struct maple_message *m)
{
	return maple_reply_log(&m->info, &family, session);
}

static int returns_in(struct maple_session *session, struct maple_message *m)
{
	return maple_reply_returns(&m->info, &family, session);
}

static int stop(struct maple_message *m)
{
	struct maple_netlink_client *client = maple_client_get(&m->info);

	if (IS_ERR(client))
		return PTR_ERR(client);
	maple_client_end(client, m->info.snd_portid);
	maple_client_put(client);
	return 0;
}

/* What is done with the session that the message's socket has. */
static int use(struct maple_message *m)
{
	static int (*const uses[])(struct maple_session * session,
				   struct maple_message * m) = {
		[MAPLE_CMD_PROBE] = probe_in,
		[MAPLE_CMD_LOG] = log_in,
		[MAPLE_CMD_RELEASE] = release_in,
		[MAPLE_CMD_RESUME] = resume_in,
		[MAPLE_CMD_STATUS] = status_in,
		[MAPLE_CMD_RETURNS] = returns_in,
	};
	struct maple_netlink_client *client = maple_client_get(&m->info);
	int e;

	if (IS_ERR(client))
		return PTR_ERR(client);
	e = uses[m->info.genlhdr->cmd](client->session, m);
	maple_client_put(client);
	return e;
}

static int do_start(struct sk_buff *skb, struct genl_info *info)
{
	return maple_message_later(skb, info, start);
}

static int do_use(struct sk_buff *skb, struct genl_info *info)
{
	return maple_message_later(skb, info, use);
}

static int do_stop(struct sk_buff *skb, struct genl_info *info)
{
	return maple_message_later(skb, info, stop);
}

/* ---- the family ---- */

#define WITH(p) .policy = (p), .maxattr = ARRAY_SIZE(p) - 1

/* Commands without a policy take no attribute at all. */
static const struct genl_ops ops[] = {
	{ .cmd = MAPLE_CMD_INFO, .doit = do_info },
	{ .cmd = MAPLE_CMD_START, .doit = do_start, WITH(start_policy) },
	{ .cmd = MAPLE_CMD_PROBE, .doit = do_use, WITH(probe_policy) },
	{ .cmd = MAPLE_CMD_RELEASE, .doit = do_use },
	{ .cmd = MAPLE_CMD_STATUS, .doit = do_use, WITH(status_policy) },
	{ .cmd = MAPLE_CMD_LOG, .doit = do_use },
	{ .cmd = MAPLE_CMD_RESUME, .doit = do_use },
	{ .cmd = MAPLE_CMD_STOP, .doit = do_stop },
	{ .cmd = MAPLE_CMD_RETURNS, .doit = do_use, WITH(status_policy) },
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
	e = maple_client_init();
	if (e)
		return e;
	e = genl_register_family(&family);
	if (e)
		maple_client_exit();
	return e;
}

/*
 * maple_netlink_exit - closes it; every session has ended by then, or their
 * references would have kept us from here
 */
void maple_netlink_exit(void)
{
	genl_unregister_family(&family);
	maple_client_exit();
}
