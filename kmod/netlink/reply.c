// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replies: what the module and its sessions are, and what a session has seen,
 * as attributes. A reply's room is counted before it is filled.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include "../kmod.h"
#include "reply.h"

/* A reply of @size bytes' payload; *@head is for genlmsg_end(). */
static struct sk_buff *begin(struct genl_info *info,
			     const struct genl_family *family, size_t size,
			     void **head)
{
	struct sk_buff *skb = genlmsg_new(size, MAPLE_GFP);

	if (!skb)
		return NULL;
	*head = genlmsg_put_reply(skb, info, family, 0, info->genlhdr->cmd);
	if (*head)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

static int end(struct genl_info *info, struct sk_buff *skb, void *head, int e)
{
	WARN_ON_ONCE(e == -EMSGSIZE); /* its room was counted wrongly */
	if (e) {
		nlmsg_free(skb);
		return e;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

/* maple_reply_info - what this module is, and how much it takes */
int maple_reply_info(struct genl_info *info, const struct genl_family *family)
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

	reply = begin(info, family,
		      ARRAY_SIZE(facts) * nla_total_size(sizeof(u32)), &head);
	if (!reply)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(facts) && !e; i++)
		e = nla_put_u32(reply, facts[i].attr, facts[i].value);
	return end(info, reply, head, e);
}

static int put_threads(struct sk_buff *reply, struct maple_session *session,
		       u32 from)
{
	u32 i, n = 0, all = maple_session_threads(session);
	struct maple_uapi_thread *threads;
	int e;

	static_assert(MAPLE_PER_MESSAGE * sizeof(*threads) < 32 * 1024);
	threads = kcalloc(MAPLE_PER_MESSAGE, sizeof(*threads), MAPLE_GFP);
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

static int put_status(struct sk_buff *reply, struct maple_session *session,
		      u32 from)
{
	struct maple_auto_result result;
	struct maple_counters counters;
	const char *why = maple_session_why(session);
	struct maple_uapi_crash crash;
	int e;

	maple_session_counters(session, &counters);
	e = nla_put_u32(reply, MAPLE_A_STATE, maple_session_state(session));
	e = e ?: nla_put(reply, MAPLE_A_COUNTERS, sizeof(counters), &counters);
	if (maple_session_result(session, &result))
		e = e ?: nla_put(reply, MAPLE_A_RESULT, sizeof(result), &result);
	if (maple_session_crash(session, &crash))
		e = e ?: nla_put(reply, MAPLE_A_CRASH, sizeof(crash), &crash);
	if (why)
		e = e ?: nla_put_string(reply, MAPLE_A_REASON, why);
	return e ?: put_threads(reply, session, from);
}

/* maple_reply_status - how @session is, and its threads from FROM on */
int maple_reply_status(struct genl_info *info, const struct genl_family *family,
		       struct maple_session *session)
{
	const struct nlattr *from = info->attrs[MAPLE_A_FROM];
	size_t size = 2 * nla_total_size(sizeof(u32)) +
		      nla_total_size(sizeof(struct maple_counters)) +
		      nla_total_size(sizeof(struct maple_auto_result)) +
		      nla_total_size(sizeof(struct maple_uapi_crash)) +
		      nla_total_size(MAPLE_REASON_MAX) +
		      nla_total_size(MAPLE_PER_MESSAGE *
				     sizeof(struct maple_uapi_thread));
	struct sk_buff *reply;
	int e = -ENOMEM;
	void *head;

	reply = begin(info, family, size, &head);
	if (reply) {
		e = put_status(reply, session, from ? nla_get_u32(from) : 0);
		e = end(info, reply, head, e);
	}
	return e;
}

/* maple_reply_log - the next entries of the log, which are then out of it */
int maple_reply_log(struct genl_info *info, const struct genl_family *family,
		    struct maple_session *session)
{
	size_t size = MAPLE_PER_MESSAGE * sizeof(struct maple_log_entry);
	struct maple_log_entry *entries;
	struct sk_buff *reply = NULL;
	unsigned int n;
	int e = -ENOMEM;
	void *head;

	/* All memory first: what is taken out of the log must arrive. */
	entries = kmalloc(size, MAPLE_GFP);
	if (entries)
		reply = begin(info, family, nla_total_size(size), &head);
	if (reply) {
		n = maple_session_log(session, entries, MAPLE_PER_MESSAGE);
		e = nla_put(reply, MAPLE_A_LOG, n * sizeof(*entries), entries);
		e = end(info, reply, head, e);
	}
	kfree(entries);
	return e;
}

/* maple_reply_returns - where thread FROM's probed functions return to */
int maple_reply_returns(struct genl_info *info, const struct genl_family *family,
			struct maple_session *session)
{
	const struct nlattr *from = info->attrs[MAPLE_A_FROM];
	struct maple_uapi_return returns[MAPLE_RETURNS];
	struct sk_buff *reply;
	unsigned int n;
	int e = -ENOMEM;
	void *head;

	n = maple_session_returns(session, from ? nla_get_u32(from) : 0,
				  returns, ARRAY_SIZE(returns));
	reply = begin(info, family, nla_total_size(sizeof(returns)), &head);
	if (reply) {
		e = nla_put(reply, MAPLE_A_RETURNS, n * sizeof(*returns),
			    returns);
		e = end(info, reply, head, e);
	}
	return e;
}
