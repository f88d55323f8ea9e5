// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "watchpoint.h"
#include "agent/raw.h"

void maple_watchpoint_attr(struct perf_event_attr *attr, uint32_t type,
			   uint64_t addr, uint64_t len, const void *data)
{
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(*attr),
		.sample_period = 1,
		.bp_type = type,
		.bp_addr = addr,
		.bp_len = len,
		.sigtrap = 1,
		.sig_data = (uint64_t)data,
		.remove_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

bool maple_watchpoint_open(struct maple_watchpoint *w,
			   struct perf_event_attr *attr, int tid)
{
	long low = raw6(SYS_perf_event_open, attr, tid, -1, -1,
			PERF_FLAG_FD_CLOEXEC, 0);
	long fd;

	if (raw_failed(low))
		return false;
	fd = raw3(SYS_fcntl, low, WATCHED_FD_DUP, WATCHED_FD_FIRST);
	raw1(SYS_close, low);
	if (raw_failed(fd))
		return false;
	w->fd = fd + 1;
	return !raw_failed(raw3(SYS_ioctl, fd, PERF_EVENT_IOC_ID, &w->id));
}

bool maple_watchpoint_is_ours(const struct maple_watchpoint *w)
{
	uint64_t id = 0;

	return w->fd &&
	       !raw_failed(raw3(SYS_ioctl, w->fd - 1, PERF_EVENT_IOC_ID, &id)) &&
	       id == w->id;
}

void maple_watchpoint_close(struct maple_watchpoint *w)
{
	if (maple_watchpoint_is_ours(w))
		raw1(SYS_close, w->fd - 1);
	*w = (struct maple_watchpoint){ 0 };
}
