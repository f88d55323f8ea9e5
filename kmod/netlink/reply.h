/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers, for netlink.c; contracts stand at the definitions. */
#ifndef MAPLE_KMOD_REPLY_H
#define MAPLE_KMOD_REPLY_H

#include <net/genetlink.h>
#include "../session.h"

int maple_reply_info(struct genl_info *info, const struct genl_family *family);
int maple_reply_status(struct genl_info *info, const struct genl_family *family,
		       struct maple_session *session);
int maple_reply_log(struct genl_info *info, const struct genl_family *family,
		    struct maple_session *session);
int maple_reply_returns(struct genl_info *info, const struct genl_family *family,
			struct maple_session *session);

#endif
