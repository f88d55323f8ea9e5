/* SPDX-License-Identifier: GPL-2.0-only */
/* Checking requests, for netlink.c; contracts stand at the definitions. */
#ifndef MAPLE_KMOD_REQUEST_H
#define MAPLE_KMOD_REQUEST_H

#include <net/genetlink.h>
#include "../session.h"

int maple_request_refuse(struct genl_info *info, int attr, int e,
			 const char *why);
int maple_request_complete(struct genl_info *info, const u8 *attrs, size_t n);
int maple_request_order(struct genl_info *info,
			const struct maple_session_order *order);
struct pid *maple_request_target(struct genl_info *info, struct file *file);
int maple_request_file(struct genl_info *info, struct file *file);
struct maple_uapi_probe *maple_request_probes(struct genl_info *info,
					      unsigned int *n);
struct maple_uapi_site *maple_request_sites(struct genl_info *info,
					    unsigned int *n);

#endif
