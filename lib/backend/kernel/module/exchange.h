/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* One message to maple.ko and its answer; internal to control.c. */
#ifndef MAPLE_BACKEND_KERNEL_EXCHANGE_H
#define MAPLE_BACKEND_KERNEL_EXCHANGE_H

#include <netlink/attr.h>
#include <netlink/msg.h>
#include "control.h"

struct maple_control {
	struct nl_sock *sock; /* NULL: by way of the host, */
	int family;
	struct maple_host *host; /* ... or, NULL, of the warden */
	int64_t session;	 /* their name for it */
};

/* What comes of an exchange. */
struct maple_exchange_answer {
	void (*take)(void *ctx, struct nlattr **attrs); /* a reply; or NULL */
	void *ctx;
	bool done;
	int error;			/* -errno */
	char text[MAPLE_ERROR_MAX / 2]; /* the kernel's, or "" */
};

struct nl_msg *maple_exchange_message(struct maple_control *control,
				      enum maple_cmd command, size_t size);
int maple_exchange(struct maple_control *control, struct nl_msg *msg,
		   struct maple_exchange_answer *answer, const char *what,
		   struct maple_error *err);

/* forward.c */
int maple_forward(struct maple_control *control, struct nl_msg *msg,
		  struct maple_exchange_answer *answer, const char *what,
		  struct maple_error *err);
void maple_forward_close(struct maple_control *control);

#endif
