// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way to maple.ko: a socket of generic netlink, one message at a time, and
 * for each an answer. What the kernel refuses comes back with its own text.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include "host/host.h"
#include "backend/guard/door.h"
#include "exchange.h"

#define BUFFER 65536 /* a message of the module's takes half of it */

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[MAPLE_A_MAX + 1];
	struct maple_exchange_answer *answer = arg;

	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, MAPLE_A_MAX, NULL) &&
	    answer->take)
		answer->take(answer->ctx, attrs);
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	((struct maple_exchange_answer *)arg)->done = true;
	return NL_STOP;
}

/*
 * An error message echoes the head of ours; the text stands behind it, as an
 * attribute that libnl of Debian 12 does not know.
 */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct nlmsghdr *head = (struct nlmsghdr *)error - 1;
	struct maple_exchange_answer *answer = arg;
	size_t skip = sizeof(*error);
	struct nlattr *attr;

	answer->error = error->error;
	answer->done = true;
	if (!(head->nlmsg_flags & NLM_F_ACK_TLVS))
		return NL_STOP;
	if (!(head->nlmsg_flags & NLM_F_CAPPED))
		skip += error->msg.nlmsg_len - NLMSG_HDRLEN;
	if (skip > (size_t)nlmsg_datalen(head))
		return NL_STOP;
	attr = nla_find((struct nlattr *)((char *)error + NLMSG_ALIGN(skip)),
			nlmsg_datalen(head) - (int)NLMSG_ALIGN(skip),
			NLMSGERR_ATTR_MSG);
	if (attr)
		nla_strlcpy(answer->text, attr, sizeof(answer->text));
	return NL_STOP;
}

/*
 * maple_exchange - sends @msg, which is freed, and takes the answer in
 * @msg: NULL: there was no memory for it
 * @what: the error's beginning, "cannot ..."
 *
 * Errors: what the kernel refuses with, in its own words; -EIO when the two
 * do not understand each other at all.
 */
int maple_exchange(struct maple_control *control, struct nl_msg *msg,
		   struct maple_exchange_answer *answer, const char *what,
		   struct maple_error *err)
{
	struct nl_cb *cb = NULL;
	int e;

	assert(!answer->done); /* it is of one message */
	if (!control->sock && msg) {
		e = maple_forward(control, msg, answer, what, err);
		nlmsg_free(msg);
		return e;
	}
	cb = nl_cb_alloc(NL_CB_DEFAULT);
	e = msg && cb ? nl_send_auto(control->sock, msg) : -NLE_NOMEM;
	nlmsg_free(msg);
	if (cb) {
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, answer);
		nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, answer);
		nl_cb_err(cb, NL_CB_CUSTOM, on_error, answer);
	}
	while (e >= 0 && !answer->done)
		e = nl_recvmsgs(control->sock, cb);
	nl_cb_put(cb);
	if (!answer->done)
		return maple_error_set(err, EIO, "%s: netlink: %s", what,
				       nl_geterror(e));
	if (!answer->error)
		return 0;
	return maple_error_set(err, -answer->error, "%s: %s", what,
			       *answer->text ? answer->text
					     : strerror(-answer->error));
}

/*
 * maple_exchange_message - @command, with room for @size bytes; NULL when out
 * of memory
 */
struct nl_msg *maple_exchange_message(struct maple_control *control,
				      enum maple_cmd command, size_t size)
{
	struct nl_msg *msg =
		nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + size + 256);

	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, control->family,
				0, 0, command, MAPLE_GENL_VERSION)) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

/*
 * maple_control_open - a socket to maple.ko, which may hold one session
 *
 * Errors: -ENOENT when the module is not there (asking for it has the kernel
 * load it, where it is installed).
 */
int maple_control_open(struct maple_control **made, struct maple_error *err)
{
	struct maple_control *control = calloc(1, sizeof(*control));
	int e, one = 1;

	if (control)
		control->sock = nl_socket_alloc();
	if (!control || !control->sock) {
		free(control);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	e = genl_connect(control->sock);
	if (e) {
		maple_error_set(err, EPROTONOSUPPORT, "no generic netlink: %s",
				nl_geterror(e));
		e = -EPROTONOSUPPORT;
		goto fail;
	}
	nl_socket_set_msg_buf_size(control->sock, BUFFER);
	/* Without it, errors come back as numbers alone. */
	setsockopt(nl_socket_get_fd(control->sock), SOL_NETLINK,
		   NETLINK_EXT_ACK, &one, sizeof(one));
	control->family = genl_ctrl_resolve(control->sock, MAPLE_GENL_NAME);
	if (control->family < 0) {
		e = maple_error_set(err, ENOENT, "maple.ko is not loaded");
		goto fail;
	}
	*made = control;
	return 0;
fail:
	maple_control_close(control);
	return e;
}

/*
 * maple_control_open_by - the same, but it is @host that talks to maple.ko, or
 * the warden, where there is one
 * @host: NULL: we do
 */
int maple_control_open_by(struct maple_host *host, struct maple_control **made,
			  struct maple_error *err)
{
	struct maple_control_info info;
	struct maple_control *control;
	int e;

	if (!host && !maple_door_has_warden())
		return maple_control_open(made, err);
	control = calloc(1, sizeof(*control));
	if (!control)
		return maple_error_set(err, ENOMEM, "out of memory");
	if (maple_door_has_warden() && (!host || maple_door_is_roots())) {
		control->session = maple_door_number();
	} else {
		control->host = host;
		control->session = maple_host_session(host);
	}
	e = maple_control_info(control, &info, err);
	if (e)
		maple_control_close(control);
	else
		*made = control;
	return e;
}

/* maple_control_close - ends the session, if there is one; takes NULL */
void maple_control_close(struct maple_control *control)
{
	if (!control)
		return;
	if (!control->sock)
		maple_forward_close(control);
	nl_socket_free(control->sock);
	free(control);
}
