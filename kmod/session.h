/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions, as netlink.c and its parts see them. Internal to the module; the
 * contracts stand at the definitions.
 */
#ifndef MAPLE_KMOD_SESSION_H
#define MAPLE_KMOD_SESSION_H

#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <maple/uapi.h>
#include "../lib/plan/automaton.h"

struct maple_session;

struct maple_session_order {
	struct pid *target; /* not yet execed, or stopped; its leader */
	int cpu;	    /* -1: not pinned */
	u32 sched;	    /* enum maple_uapi_sched */
	u64 seed;
	u32 changes; /* of PCT; at most MAPLE_CHANGES_MAX */
	u32 deadline_ms;
	const struct maple_plan *plan; /* NULL: none; validated by us */
	bool may_trace; /* the sender, whatever process there is, */
	bool strict;	/* ... but is to have no more rights than its target */
	bool bound;	/* ... but only as long as its target keeps its own */
};

/* ia32's, and x32's: what probes say of operands is not so there. */
static inline bool maple_is_32bit(struct task_struct *task)
{
	return test_tsk_thread_flag(task, TIF_ADDR32);
}

int maple_session_create(const struct maple_session_order *order,
			 struct maple_session **session,
			 struct netlink_ext_ack *extack);
int maple_session_probe(struct maple_session *session, struct file *file,
			const struct maple_uapi_probe *probes, unsigned int n,
			struct netlink_ext_ack *extack);
int maple_session_sites(struct maple_session *session, struct file *file,
			const struct maple_uapi_site *sites, unsigned int n,
			struct netlink_ext_ack *extack);
void maple_session_release(struct maple_session *session);
void maple_session_resume(struct maple_session *session); /* after a crash */
u32 maple_session_state(struct maple_session *session);
const char *maple_session_why(struct maple_session *session);
bool maple_session_result(struct maple_session *session,
			  struct maple_auto_result *result);
void maple_session_counters(struct maple_session *session,
			    struct maple_counters *counters);
unsigned int maple_session_threads(struct maple_session *session);
int maple_session_thread(struct maple_session *session, unsigned int number,
			 struct maple_uapi_thread *thread);
bool maple_session_crash(struct maple_session *session,
			 struct maple_uapi_crash *crash);
unsigned int maple_session_log(struct maple_session *session,
			       struct maple_log_entry *entries,
			       unsigned int max);
unsigned int maple_session_returns(struct maple_session *session,
				   unsigned int number,
				   struct maple_uapi_return *returns,
				   unsigned int max);
void maple_session_destroy(struct maple_session *session);

/* what INFO tells */
u32 maple_session_features(void);
#define MAPLE_SESSION_PROBES 4096 /* of a session */
#define MAPLE_SESSION_SITES  1024
#define MAPLE_RETURNS	     16	   /* open at a time that are known */
#define MAPLE_SESSION_LOG    65536 /* entries */

/* netlink.c */
int maple_netlink_init(void);
void maple_netlink_exit(void);

#endif
