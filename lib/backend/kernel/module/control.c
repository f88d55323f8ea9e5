// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The commands of maple.ko: a function each. A session lives as long as its
 * struct maple_control.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "exchange.h"

static int simple(struct maple_control *control, enum maple_cmd command,
		  const char *what, struct maple_error *err)
{
	struct maple_exchange_answer answer = { 0 };

	return maple_exchange(control,
			      maple_exchange_message(control, command, 0),
			      &answer, what, err);
}

static void take_u32(struct nlattr **attrs, int number, uint32_t *value)
{
	struct nlattr *attr = attrs[number];

	if (attr && nla_len(attr) == sizeof(*value))
		*value = nla_get_u32(attr);
}

/* Whether it is there; what is longer than we know is none of ours. */
static bool take_struct(struct nlattr **attrs, int number, void *to, size_t size)
{
	struct nlattr *attr = attrs[number];

	if (!attr || nla_len(attr) != (int)size)
		return false;
	memcpy(to, nla_data(attr), size);
	return true;
}

static void take_info(void *ctx, struct nlattr **attrs)
{
	struct maple_control_info *info = ctx;

	take_u32(attrs, MAPLE_A_VERSION, &info->version);
	take_u32(attrs, MAPLE_A_FEATURES, &info->features);
	take_u32(attrs, MAPLE_A_MAX_PROBES, &info->max_probes);
	take_u32(attrs, MAPLE_A_MAX_SITES, &info->max_sites);
	take_u32(attrs, MAPLE_A_LOG_SIZE, &info->log_size);
	take_u32(attrs, MAPLE_A_PLAN_SIZE, &info->plan_size);
}

/*
 * maple_control_info - what the module is and can
 *
 * Errors: -EPROTO when it speaks another version, or was built from another
 * form of the plan, than we.
 */
int maple_control_info(struct maple_control *control,
		       struct maple_control_info *info, struct maple_error *err)
{
	struct maple_exchange_answer answer = { .take = take_info, .ctx = info };
	int e;

	memset(info, 0, sizeof(*info));
	e = maple_exchange(control,
			   maple_exchange_message(control, MAPLE_CMD_INFO, 0),
			   &answer, "cannot ask maple.ko", err);
	if (e)
		return e;
	if (info->version != MAPLE_GENL_VERSION ||
	    info->plan_size != sizeof(struct maple_plan))
		return maple_error_set(
			err, EPROTO,
			"maple.ko speaks version %u with plans of %u bytes, "
			"this mapletest %u with %zu: install both from one "
			"release",
			info->version, info->plan_size, MAPLE_GENL_VERSION,
			sizeof(struct maple_plan));
	return 0;
}

/* maple_control_start - a session on the process of @order's pidfd */
int maple_control_start(struct maple_control *control,
			const struct maple_control_order *order,
			struct maple_error *err)
{
	struct nl_msg *msg = maple_exchange_message(control, MAPLE_CMD_START,
						    sizeof(*order->plan));
	struct maple_exchange_answer answer = { 0 };

	if (msg &&
	    (nla_put_u32(msg, MAPLE_A_VERSION, MAPLE_GENL_VERSION) ||
	     nla_put_s32(msg, MAPLE_A_PIDFD, order->pidfd) ||
	     nla_put_s32(msg, MAPLE_A_CPU, order->cpu) ||
	     nla_put_u32(msg, MAPLE_A_SCHED, order->sched) ||
	     nla_put_u64(msg, MAPLE_A_SEED, order->seed) ||
	     nla_put_u32(msg, MAPLE_A_CHANGES, order->changes) ||
	     nla_put_u32(msg, MAPLE_A_DEADLINE, order->deadline_ms) ||
	     (order->plan &&
	      nla_put(msg, MAPLE_A_PLAN, sizeof(*order->plan), order->plan)))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return maple_exchange(control, msg, &answer, "cannot start a session",
			      err);
}

static int send_array(struct maple_control *control, int fd,
		      enum maple_attr attr, const void *array, size_t size,
		      const char *what, struct maple_error *err)
{
	struct nl_msg *msg =
		maple_exchange_message(control, MAPLE_CMD_PROBE, size);
	struct maple_exchange_answer answer = { 0 };

	if (msg && (nla_put_s32(msg, MAPLE_A_FD, fd) ||
		    nla_put(msg, attr, (int)size, array))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return maple_exchange(control, msg, &answer, what, err);
}

/*
 * maple_control_probes - puts probes into the file behind @fd
 * @probes: those of one offset side by side
 *
 * Errors: as the module says; then some of them may be in place, by the
 * message; the session had best be ended.
 */
int maple_control_probes(struct maple_control *control, int fd,
			 const struct maple_uapi_probe *probes, size_t n,
			 struct maple_error *err)
{
	size_t k;
	int e = 0;

	for (; n && !e; probes += k, n -= k) {
		k = n < MAPLE_PER_MESSAGE ? n : MAPLE_PER_MESSAGE;
		while (k < n && k > 1 &&
		       probes[k].offset == probes[k - 1].offset)
			k--;
		assert(k && k <= n && k <= MAPLE_PER_MESSAGE);
		e = send_array(control, fd, MAPLE_A_PROBES, probes,
			       k * sizeof(*probes), "cannot put probes", err);
	}
	return e;
}

/* maple_control_sites - the numbers of call sites in the file behind @fd */
int maple_control_sites(struct maple_control *control, int fd,
			const struct maple_uapi_site *sites, size_t n,
			struct maple_error *err)
{
	size_t k;
	int e = 0;

	for (; n && !e; sites += k, n -= k) {
		k = n < MAPLE_PER_MESSAGE ? n : MAPLE_PER_MESSAGE;
		e = send_array(control, fd, MAPLE_A_SITES, sites,
			       k * sizeof(*sites), "cannot name call sites",
			       err);
	}
	return e;
}

int maple_control_release(struct maple_control *control, struct maple_error *err)
{
	return simple(control, MAPLE_CMD_RELEASE, "cannot release", err);
}

int maple_control_resume(struct maple_control *control, struct maple_error *err)
{
	return simple(control, MAPLE_CMD_RESUME, "cannot resume", err);
}

int maple_control_stop(struct maple_control *control, struct maple_error *err)
{
	return simple(control, MAPLE_CMD_STOP, "cannot end the session", err);
}

struct status_take {
	struct maple_control_status *status;
	uint32_t from, got; /* threads */
};

static void take_threads(struct status_take *take, struct nlattr *attr)
{
	struct maple_control_status *status = take->status;
	uint32_t n = attr ? nla_len(attr) / sizeof(*status->threads) : 0;

	if (!maple_array_resize(status->threads, take->from + n + 1))
		return;
	if (n)
		memcpy(status->threads + take->from, nla_data(attr),
		       n * sizeof(*status->threads));
	take->got = n;
}

static void take_status(void *ctx, struct nlattr **attrs)
{
	struct status_take *take = ctx;
	struct maple_control_status *s = take->status;

	take_u32(attrs, MAPLE_A_STATE, &s->state);
	take_u32(attrs, MAPLE_A_NTHREADS, &s->nthreads);
	take_struct(attrs, MAPLE_A_COUNTERS, &s->counters, sizeof(s->counters));
	take_struct(attrs, MAPLE_A_RESULT, &s->result, sizeof(s->result));
	s->crashed =
		take_struct(attrs, MAPLE_A_CRASH, &s->crash, sizeof(s->crash));
	if (attrs[MAPLE_A_REASON])
		nla_strlcpy(s->reason, attrs[MAPLE_A_REASON], sizeof(s->reason));
	take_threads(take, attrs[MAPLE_A_THREADS]);
}

/*
 * maple_control_status - how the session stands
 * @threads: with all threads; else with as many as come anyhow
 * @status: free its threads
 */
int maple_control_status(struct maple_control *control, bool threads,
			 struct maple_control_status *status,
			 struct maple_error *err)
{
	struct status_take take = { .status = status };
	struct nl_msg *msg;
	int e;

	memset(status, 0, sizeof(*status));
	do {
		struct maple_exchange_answer answer = { .take = take_status,
							.ctx = &take };

		take.got = 0;
		msg = maple_exchange_message(control, MAPLE_CMD_STATUS, 0);
		if (msg)
			nla_put_u32(msg, MAPLE_A_FROM, take.from);
		e = maple_exchange(control, msg, &answer,
				   "cannot ask for the status", err);
		take.from += take.got;
	} while (!e && threads && take.got && take.from < status->nthreads);
	status->nthreads = take.from;
	if (!e)
		return 0;
	free(status->threads);
	memset(status, 0, sizeof(*status));
	return e;
}

struct log_take {
	struct maple_log_entry *entries;
	int n;
};

static void take_log(void *ctx, struct nlattr **attrs)
{
	struct nlattr *attr = attrs[MAPLE_A_LOG];
	struct log_take *take = ctx;
	size_t size = attr ? (size_t)nla_len(attr) : 0;

	if (size > MAPLE_PER_MESSAGE * sizeof(*take->entries))
		return;
	take->n = (int)(size / sizeof(*take->entries));
	if (size)
		memcpy(take->entries, nla_data(attr),
		       take->n * sizeof(*take->entries));
}

/*
 * maple_control_log - the oldest entries of the log, which are taken out
 *
 * Returns how many; 0: there is none now.
 */
int maple_control_log(struct maple_control *control,
		      struct maple_log_entry entries[MAPLE_PER_MESSAGE],
		      struct maple_error *err)
{
	struct log_take take = { .entries = entries };
	struct maple_exchange_answer answer = { .take = take_log, .ctx = &take };
	int e = maple_exchange(
		control, maple_exchange_message(control, MAPLE_CMD_LOG, 0),
		&answer, "cannot read the log", err);

	assert(take.n >= 0 && take.n <= MAPLE_PER_MESSAGE);
	return e ? e : take.n;
}

struct returns_take {
	struct maple_uapi_return *returns;
	int n;
};

static void take_returns(void *ctx, struct nlattr **attrs)
{
	struct nlattr *attr = attrs[MAPLE_A_RETURNS];
	struct returns_take *take = ctx;
	size_t size = attr ? (size_t)nla_len(attr) : 0;

	if (size > MAPLE_PER_MESSAGE * sizeof(*take->returns))
		return;
	take->n = (int)(size / sizeof(*take->returns));
	if (size)
		memcpy(take->returns, nla_data(attr),
		       take->n * sizeof(*take->returns));
}

/*
 * maple_control_returns - where thread number @thread will return to from
 * functions whose return is probed
 *
 * Returns how many.
 */
int maple_control_returns(struct maple_control *control, uint32_t thread,
			  struct maple_uapi_return returns[MAPLE_PER_MESSAGE],
			  struct maple_error *err)
{
	struct nl_msg *msg =
		maple_exchange_message(control, MAPLE_CMD_RETURNS, 0);
	struct returns_take take = { .returns = returns };
	struct maple_exchange_answer answer = { .take = take_returns,
						.ctx = &take };
	int e;

	if (msg)
		nla_put_u32(msg, MAPLE_A_FROM, thread);
	e = maple_exchange(control, msg, &answer,
			   "cannot ask for return addresses", err);
	return e ? e : take.n;
}
