// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Both ends of the way to maple.ko over somebody else: mapled, or the warden of
 * a process that we have joined. See maple/module.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netlink/genl/genl.h>
#include <maple/module.h>
#include "host/host.h"
#include "backend/guard/door.h"
#include "exchange.h"

struct maple_module {
	struct maple_control *control;
};

/* ---- with whom it is ---- */

int maple_module_open(struct maple_module **made, struct maple_error *err)
{
	struct maple_module *m = calloc(1, sizeof(*m));
	int e;

	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	e = maple_control_open(&m->control, err);
	if (e)
		free(m);
	else
		*made = m;
	return e;
}

void maple_module_close(struct maple_module *module)
{
	if (!module)
		return;
	maple_control_close(module->control);
	free(module);
}

/* The attributes of @head in order, those that we know. */
static int parse(const void *data, size_t size, struct nlattr **attrs,
		 struct maple_error *err)
{
	if (nla_parse(attrs, MAPLE_A_MAX, (struct nlattr *)data, (int)size,
		      NULL) < 0)
		return maple_error_set(err, EBADMSG, "these are no attributes");
	return 0;
}

static bool get_s32(const struct nlattr *attr, int32_t *value)
{
	if (!attr || nla_len(attr) != sizeof(*value))
		return false;
	memcpy(value, nla_data(attr), sizeof(*value));
	return true;
}

static int put(struct nl_msg *msg, struct nlattr **attrs, int fd)
{
	int32_t number = fd;

	for (int i = 1; i <= MAPLE_A_MAX; i++) {
		bool is_fd = i == MAPLE_A_PIDFD || i == MAPLE_A_FD;

		if (!attrs[i])
			continue;
		if (nla_put(msg, i,
			    is_fd ? (int)sizeof(number) : nla_len(attrs[i]),
			    is_fd ? &number : nla_data(attrs[i])))
			return -ENOMEM;
	}
	return 0;
}

static uint32_t count(const struct nlattr *attr, size_t size)
{
	return attr ? (uint32_t)((size_t)nla_len(attr) / size) : 0;
}

int maple_module_needs(const struct maple_module_request *request,
		       struct maple_module_need *need, struct maple_error *err)
{
	struct nlattr *attrs[MAPLE_A_MAX + 1];
	int e = parse(request->attributes, request->size, attrs, err);
	int32_t ms = 0, cpu = -1, sched = MAPLE_UAPI_NATIVE;

	if (e)
		return e;
	get_s32(attrs[MAPLE_A_DEADLINE], &ms);
	get_s32(attrs[MAPLE_A_CPU], &cpu);
	get_s32(attrs[MAPLE_A_SCHED], &sched);
	need->deadline_ms = (uint32_t)ms;
	need->unpinned = cpu < 0 && sched != MAPLE_UAPI_NATIVE;
	need->sites =
		count(attrs[MAPLE_A_PROBES], sizeof(struct maple_uapi_probe)) +
		count(attrs[MAPLE_A_SITES], sizeof(struct maple_uapi_site));
	return 0;
}

struct answer_take {
	struct maple_wire_buffer *to;
	int error;
};

static void take(void *ctx, struct nlattr **attrs)
{
	static const char padding[NLA_ALIGNTO];
	struct answer_take *t = ctx;

	for (int i = 1; i <= MAPLE_A_MAX && !t->error; i++) {
		size_t size = attrs[i] ? attrs[i]->nla_len : 0;

		if (!size)
			continue;
		t->error = maple_wire_append(t->to, attrs[i], size);
		if (!t->error)
			t->error = maple_wire_append(t->to, padding,
						     NLA_ALIGN(size) - size);
	}
}

int maple_module_ask(struct maple_module *module,
		     const struct maple_module_request *request,
		     struct maple_wire_buffer *answer, struct maple_error *err)
{
	struct answer_take to = { .to = answer };
	struct maple_exchange_answer a = { .take = take, .ctx = &to };
	struct nlattr *attrs[MAPLE_A_MAX + 1];
	struct nl_msg *msg;
	bool starts = request->command == MAPLE_CMD_START;
	int32_t cpu = -1;
	int e = parse(request->attributes, request->size, attrs, err);

	if (e)
		return e;
	if ((attrs[MAPLE_A_PIDFD] || attrs[MAPLE_A_FD]) != (request->fd >= 0) ||
	    (attrs[MAPLE_A_PIDFD] && attrs[MAPLE_A_FD]))
		return maple_error_set(err, EBADMSG,
				       "one file goes with one attribute");
	if (starts && (!get_s32(attrs[MAPLE_A_CPU], &cpu) ||
		       (cpu != -1 && cpu != request->cpu &&
			request->cpu != MAPLE_MODULE_ANY_CPU)))
		return maple_error_set(
			err, EACCES, "CPU %d is not lent to this client", cpu);
	msg = maple_exchange_message(module->control, request->command,
				     request->size + 64);
	if (msg &&
	    (put(msg, attrs, request->fd) ||
	     (starts && request->strict && nla_put_flag(msg, MAPLE_A_STRICT)) ||
	     (starts && request->bound && nla_put_flag(msg, MAPLE_A_BOUND)))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	e = maple_exchange(module->control, msg, &a, "maple.ko", err);
	return e	  ? e
	       : to.error ? maple_error_set(err, ENOMEM, "out of memory")
			  : 0;
}

/* ---- who asks for it ---- */

/* What file a message is about; -1: none. */
static int file_of(struct nlattr **attrs)
{
	int32_t fd;

	if (get_s32(attrs[MAPLE_A_PIDFD], &fd) ||
	    get_s32(attrs[MAPLE_A_FD], &fd))
		return fd;
	return -1;
}

/* What came of it, there. */
struct relayed {
	int error; /* of maple.ko, in its words */
	char text[MAPLE_ERROR_MAX];
	const void *attributes; /* until the next, or with it: */
	size_t size;
	void *owned; /* free() */
};

static int by_host(struct maple_control *control, unsigned int command,
		   const void *data, size_t size, int fd, struct relayed *r,
		   struct maple_error *err)
{
	struct maple_host_answer from;
	const struct maple_wire_answer *m = &from.message.answer;
	int e = maple_host_module(control->host, control->session, command,
				  data, size, fd, &from, err);

	if (e)
		return e;
	r->error = (int)(m->error & 4095);
	snprintf(r->text, sizeof(r->text), "%s", m->text ? m->text : "");
	r->attributes = m->attributes.data;
	r->size = m->attributes.size;
	return 0;
}

static int by_warden(struct maple_control *control, unsigned int command,
		     const void *data, size_t size, int fd, struct relayed *r,
		     struct maple_error *err)
{
	struct maple_door_answer from;
	int e = maple_door_module(control->session, command, data, size, fd,
				  &from, err);

	if (e)
		return e;
	r->owned = from.attributes;
	if (from.error == -ENOENT)
		return maple_error_set(err, ENOENT, "%s", from.text);
	r->error = -from.error;
	memcpy(r->text, from.text, sizeof(r->text));
	r->attributes = from.attributes;
	r->size = from.size;
	return 0;
}

/*
 * maple_forward - maple_exchange(), by way of mapled or of the warden
 *
 * Does not free @msg.
 */
int maple_forward(struct maple_control *control, struct nl_msg *msg,
		  struct maple_exchange_answer *answer, const char *what,
		  struct maple_error *err)
{
	const struct genlmsghdr *head = nlmsg_data(nlmsg_hdr(msg));
	const void *data = genlmsg_attrdata(head, 0);
	size_t size = (size_t)genlmsg_attrlen(head, 0);
	struct nlattr *attrs[MAPLE_A_MAX + 1];
	struct relayed r = { 0 };
	struct maple_error why = { "" };
	int e = parse(data, size, attrs, err), fd;

	if (e)
		return e;
	fd = file_of(attrs);
	e = (control->host ? by_host : by_warden)(control, head->cmd, data,
						  size, fd, &r, &why);
	/* They say so themselves; the module is not there to refuse anything. */
	if (e == -ENOENT)
		e = maple_error_set(err, ENOENT, "%s", why.text);
	else if (e || r.error)
		e = maple_error_set(err, e ? -e : r.error, "%.100s: %.350s",
				    what, e ? why.text : r.text);
	else
		e = parse(r.attributes, r.size, attrs, err);
	answer->done = true;
	if (!e && answer->take)
		answer->take(answer->ctx, attrs);
	free(r.owned);
	return e;
}

/* maple_forward_close - ends the session that is had for us */
void maple_forward_close(struct maple_control *control)
{
	struct maple_host_answer from;
	struct maple_door_answer answer = { 0 };

	if (control->host) {
		maple_host_module(control->host, control->session,
				  MAPLE_CMD_UNSPEC, NULL, 0, -1, &from, NULL);
		return;
	}
	maple_door_module(control->session, MAPLE_CMD_UNSPEC, NULL, 0, -1,
			  &answer, NULL);
	free(answer.attributes);
}
