// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another module with a family of generic netlink and an ear for sockets' ends,
 * as it does no harm to have beside maple.ko.
 */
#include <linux/module.h>
#include <linux/netlink.h>
#include <net/genetlink.h>

static int do_nothing(struct sk_buff *skb, struct genl_info *info)
{
	return 0;
}

static const struct genl_ops ops[] = {
	{ .cmd = 1, .doit = do_nothing },
};

static struct genl_family family = {
	.name = "neighbour",
	.version = 1,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.module = THIS_MODULE,
};

static int on_netlink(struct notifier_block *nb, unsigned long event, void *data)
{
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_netlink };

static int __init neighbour_init(void)
{
	int e = netlink_register_notifier(&notifier);

	if (e)
		return e;
	e = genl_register_family(&family);
	if (e)
		netlink_unregister_notifier(&notifier);
	return e;
}

static void __exit neighbour_exit(void)
{
	genl_unregister_family(&family);
	netlink_unregister_notifier(&notifier);
}

module_init(neighbour_init);
module_exit(neighbour_exit);
MODULE_DESCRIPTION("A family of generic netlink beside maple's");
MODULE_LICENSE("GPL");
