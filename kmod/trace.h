/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints for perf and bpftrace. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM maple

#if !defined(MAPLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MAPLE_TRACE_H

#include <linux/tracepoint.h>

/* clang-format off */

DECLARE_EVENT_CLASS(maple_access,
	TP_PROTO(int target, unsigned int thread, u32 site, u64 addr),
	TP_ARGS(target, thread, site, addr),
	TP_STRUCT__entry(
		__field(int, target)
		__field(unsigned int, thread)
		__field(u32, site)
		__field(u64, addr)
	),
	TP_fast_assign(
		__entry->target = target;
		__entry->thread = thread;
		__entry->site = site;
		__entry->addr = addr;
	),
	TP_printk("target=%d thread=%u site=%#x addr=%#llx", __entry->target,
		  __entry->thread, __entry->site, __entry->addr)
);

/* a thread comes to an access */
DEFINE_EVENT(maple_access, maple_hit,
	TP_PROTO(int target, unsigned int thread, u32 site, u64 addr),
	TP_ARGS(target, thread, site, addr));

/* ... and is held before it */
DEFINE_EVENT(maple_access, maple_hold,
	TP_PROTO(int target, unsigned int thread, u32 site, u64 addr),
	TP_ARGS(target, thread, site, addr));

/* ... and goes on */
DEFINE_EVENT(maple_access, maple_release,
	TP_PROTO(int target, unsigned int thread, u32 site, u64 addr),
	TP_ARGS(target, thread, site, addr));

DECLARE_EVENT_CLASS(maple_move,
	TP_PROTO(int target, unsigned int thread, u32 number),
	TP_ARGS(target, thread, number),
	TP_STRUCT__entry(
		__field(int, target)
		__field(unsigned int, thread)
		__field(u32, number)
	),
	TP_fast_assign(
		__entry->target = target;
		__entry->thread = thread;
		__entry->number = number;
	),
	TP_printk("target=%d thread=%u number=%u", __entry->target,
		  __entry->thread, __entry->number)
);

/* step number was executed */
DEFINE_EVENT(maple_move, maple_step,
	TP_PROTO(int target, unsigned int thread, u32 number),
	TP_ARGS(target, thread, number));

/* all steps were, after so many attempts given up */
DEFINE_EVENT(maple_move, maple_expose,
	TP_PROTO(int target, unsigned int thread, u32 number),
	TP_ARGS(target, thread, number));

/* attempt number ended without */
DEFINE_EVENT(maple_move, maple_giveup,
	TP_PROTO(int target, unsigned int thread, u32 number),
	TP_ARGS(target, thread, number));

TRACE_EVENT(maple_session,
	TP_PROTO(int target, int cpu, u32 sched, bool begins),
	TP_ARGS(target, cpu, sched, begins),
	TP_STRUCT__entry(
		__field(int, target)
		__field(int, cpu)
		__field(u32, sched)
		__field(bool, begins)
	),
	TP_fast_assign(
		__entry->target = target;
		__entry->cpu = cpu;
		__entry->sched = sched;
		__entry->begins = begins;
	),
	TP_printk("target=%d cpu=%d sched=%u %s", __entry->target,
		  __entry->cpu, __entry->sched,
		  __entry->begins ? "begins" : "ends")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
