/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What maple.ko and user space say to each other: the generic netlink family
 * "maple" (kmod/maple.yaml says it once more, for machines), and the entries
 * of the log that the module and the eBPF observer write.
 *
 * A session forces a plan, or mere priorities, on one target process. It
 * belongs to the socket that started it, one per socket; several sockets may
 * have theirs at once. When the socket closes, for whatever reason, every
 * thread of the target gets its policy, priority and affinity back, probes
 * and watchpoints go, and only then is who closed it in user space again, or
 * seen to have exited. (A socket whose last descriptor is in an unread message
 * of another socket is closed by the kernel, which does that soon.) The module
 * cannot be unloaded while a session is open.
 *
 * A message is answered before send() returns. While it waits, for the memory
 * of its target for example, it holds no lock of netlink's; other messages of
 * its socket wait for it. Those in one buffer are carried out in their order;
 * of more than 64 the others are refused (-ENOBUFS).
 *
 *   INFO            what this module can do; anybody's, without a session
 *   START           on a target that stands still (stopped, or not execed)
 *   PROBE ...       file by file
 *                   the target runs; meanwhile, again and again:
 *   LOG, STATUS     what has happened since, how it stands
 *   RELEASE         scheduled as it was before, but still watched
 *   RETURNS         what its threads' stacks do not say any more
 *   RESUME          a crashed target, held for us to look at, goes on
 *   STOP            or closing the socket
 *
 * Whoever sends anything but INFO needs CAP_SYS_ADMIN, or CAP_PERFMON (for
 * probes and watchpoints, as perf does) with CAP_SYS_NICE (for priorities),
 * in the first user namespace; and CAP_SYS_PTRACE as well for a target that it
 * could not trace without, as ptrace(2) says: of other user or group ids, of
 * another user namespace, with more capabilities, or not dumpable.
 *
 * A session is for the rights that its target had at START, unless the sender
 * has CAP_SYS_PTRACE and says neither STRICT nor BOUND. When the target gets
 * others, by exec or in any other way, it is MAPLE_SESSION_BARRED before the
 * target does anything with them: nothing more is logged, held, watched or
 * scheduled. A STRICT session is barred by a target that is not dumpable, a
 * BOUND one is not.
 *
 * Every refusal carries a text (extack) that names cause and mend. Unknown
 * attributes, flags that are not defined and reserved fields that are not 0
 * are refused. Structures are in the machine's own byte order; arrays of them
 * are packed into one attribute, whose length is a multiple of their size.
 */
#ifndef MAPLE_UAPI_H
#define MAPLE_UAPI_H

#include <linux/types.h>
#include <maple/event.h>

#define MAPLE_GENL_NAME	   "maple"
#define MAPLE_GENL_VERSION 4 /* of all of this; it must be the same */

/* What a module can do: MAPLE_A_FEATURES, a u32. */
enum maple_feature {
	MAPLE_FEATURE_ENFORCE = 1,  /* START with a plan */
	MAPLE_FEATURE_SCHEDULE = 2, /* START without one: priorities */
	MAPLE_FEATURE_WATCH = 4,    /* hardware watchpoints */
	MAPLE_FEATURE_CRASH = 8,    /* keeps a crashed target standing */
};

/* All but INFO and START: -ENOTCONN when the socket has no session. */
enum maple_cmd {
	MAPLE_CMD_UNSPEC,
	/* -> VERSION, FEATURES, MAX_PROBES, MAX_SITES, LOG_SIZE, PLAN_SIZE */
	MAPLE_CMD_INFO,
	/*
	 * VERSION, PIDFD, CPU, SCHED, DEADLINE, [SEED], [CHANGES], [STRICT],
	 * [BOUND], [PLAN] with SCHED_PLAN only. -EBUSY: the socket or the
	 * target has a session.
	 */
	MAPLE_CMD_START,
	/*
	 * FD, and PROBES or SITES: adds to the session what it has to know of
	 * one file. Probes of one offset go into one message; at the entry of
	 * a function they are carried out in the order given, at its return
	 * in the reverse one. All of a message are put in place or, with an
	 * error, none. May be repeated, also while the target runs.
	 */
	MAPLE_CMD_PROBE,
	/* native scheduling of all threads for the rest of the run */
	MAPLE_CMD_RELEASE,
	/*
	 * [FROM] -> STATE, NTHREADS, COUNTERS, [RESULT], [CRASH], [REASON],
	 * THREADS: from thread FROM (or 0) on, as many as fit; ask again from
	 * the next one.
	 */
	MAPLE_CMD_STATUS,
	/* -> LOG: the oldest entries, as many as fit, taken out; may be none */
	MAPLE_CMD_LOG,
	/* a crashed target, which has been looked at, goes on to its end */
	MAPLE_CMD_RESUME,
	/* ends the session as closing the socket does; another may follow */
	MAPLE_CMD_STOP,
	/*
	 * FROM -> RETURNS: where thread FROM will return to from the functions
	 * whose return is probed. On the stack, the kernel has put an address
	 * of its own there. Only of a thread that is stopped is it exact.
	 */
	MAPLE_CMD_RETURNS,
	__MAPLE_CMD_MAX,
};
#define MAPLE_CMD_MAX (__MAPLE_CMD_MAX - 1)

enum maple_attr {
	MAPLE_A_UNSPEC,
	MAPLE_A_VERSION,    /* u32, MAPLE_GENL_VERSION of the sender */
	MAPLE_A_FEATURES,   /* u32, enum maple_feature */
	MAPLE_A_MAX_PROBES, /* u32, of a session */
	MAPLE_A_MAX_SITES,  /* u32, of a session */
	MAPLE_A_LOG_SIZE,   /* u32, entries that the log has room for */
	MAPLE_A_PLAN_SIZE,  /* u32, sizeof(struct maple_plan) */
	MAPLE_A_PIDFD,	    /* s32, a pidfd of the sender's: the target */
	MAPLE_A_CPU,	    /* s32, to pin all threads to; -1: not pinned */
	MAPLE_A_SCHED,	    /* u32, enum maple_uapi_sched */
	MAPLE_A_SEED,	    /* u64, of every random choice; 0 if absent */
	MAPLE_A_CHANGES,    /* u32, change points of PCT; 0 if absent */
	MAPLE_A_DEADLINE,   /* u32, ms until the watchdog releases the target,
			       1 to MAPLE_DEADLINE_MAX */
	MAPLE_A_PLAN,	    /* binary, struct maple_plan */
	MAPLE_A_FD,	    /* s32, a regular file that the sender has open */
	MAPLE_A_PROBES,	    /* binary, struct maple_uapi_probe [] */
	MAPLE_A_SITES,	    /* binary, struct maple_uapi_site [] */
	MAPLE_A_FROM,	    /* u32, number of a thread */
	MAPLE_A_STATE,	    /* u32, enum maple_session_state */
	MAPLE_A_NTHREADS,   /* u32, threads there have been */
	MAPLE_A_COUNTERS,   /* binary, struct maple_counters */
	MAPLE_A_RESULT,	    /* binary, struct maple_auto_result; with a plan */
	MAPLE_A_CRASH,	    /* binary, struct maple_uapi_crash; if there was */
	MAPLE_A_THREADS,    /* binary, struct maple_uapi_thread [] */
	MAPLE_A_LOG,	    /* binary, struct maple_log_entry [] */
	MAPLE_A_RETURNS,    /* binary, struct maple_uapi_return [] */
	MAPLE_A_STRICT,	    /* flag, whatever rights the sender has */
	MAPLE_A_REASON,	    /* string, why it is MAPLE_SESSION_BARRED */
	MAPLE_A_BOUND,	    /* flag, without CAP_SYS_PTRACE as STRICT */
	__MAPLE_A_MAX,
};
#define MAPLE_A_MAX (__MAPLE_A_MAX - 1)

/* An attribute's length has 16 bits; messages are kept to half of that. */
#define MAPLE_PER_MESSAGE  512 /* at most, of any array */
#define MAPLE_CHANGES_MAX  64
#define MAPLE_REASON_MAX   256 /* with its NUL */
#define MAPLE_DEADLINE_MAX (24 * 3600 * 1000)

/*
 * How threads get their priorities; all but the last as in lib/backend. The
 * change points of PCT are not the module's affair, but the priorities that
 * they lead to, 1 to CHANGES, are below those that threads begin with.
 */
enum maple_uapi_sched {
	MAPLE_UAPI_NATIVE,   /* left alone, not pinned */
	MAPLE_UAPI_OLDER,    /* SCHED_FIFO, older threads first */
	MAPLE_UAPI_YOUNGER,  /* SCHED_FIFO, younger threads first */
	MAPLE_UAPI_PCT,	     /* SCHED_FIFO, at random */
	MAPLE_UAPI_PCTLARGE, /* nice values, at random, below 18 */
	MAPLE_UAPI_PLAN,     /* SCHED_FIFO, as the automaton says */
	__MAPLE_UAPI_SCHED_MAX,
};

enum maple_session_state {
	MAPLE_SESSION_ARMED, /* the target has not made a thread or a hit */
	MAPLE_SESSION_RUNNING,
	/*
	 * A fatal signal: the thread that it is for stands before it, above
	 * all others, until RESUME, a tracer's coming (PTRACE_SEIZE), or
	 * MAPLE_CRASH_MS: whoever is to look may be decoding a library, for
	 * seconds where that is slow, since the log named a call from it.
	 */
	MAPLE_SESSION_CRASHED,
	MAPLE_SESSION_RELEASED, /* native again, on request */
	MAPLE_SESSION_DEADLINE, /* ... because the deadline passed */
	MAPLE_SESSION_STARVED,	/* ... because its CPU starved */
	MAPLE_SESSION_GONE,	/* the target has ended */
	MAPLE_SESSION_BARRED,	/* the target runs with other rights */
};

#define MAPLE_CRASH_MS	 6000

#define MAPLE_REG_ABSENT 0xff /* instead of a register */

enum maple_probe_flag {
	MAPLE_PROBE_CALL = 1,	    /* a function: arguments at its entry */
	MAPLE_PROBE_RETURN = 2,	    /* ... and told of when it has returned */
	MAPLE_PROBE_ATOMIC = 4,	    /* a LOCK prefix or XCHG */
	MAPLE_PROBE_REP = 8,	    /* up to rcx * size bytes */
	MAPLE_PROBE_RIP = 16,	    /* disp is the distance from the probe: add
				       the address at which offset is mapped */
	MAPLE_PROBE_ZERO = 32,	    /* happened only if it returned 0 */
	MAPLE_PROBE_WANTED = 64,    /* the plan names it: ask the automaton */
	MAPLE_PROBE_NONZERO = 128,  /* happened only if it returned non-0 */
	MAPLE_PROBE_SHARED = 256,   /* the read side of a rwlock */
	MAPLE_PROBE_MAYFAIL = 512,  /* a trylock */
	MAPLE_PROBE_BEHIND = 1024,  /* offset is that of the next instruction:
				       the access has happened there */
	MAPLE_PROBE_AHEAD = 2048,   /* offset is that of the one before */
	MAPLE_PROBE_MAYWAIT = 4096, /* a wait with a timeout */
};
#define MAPLE_PROBE_FLAGS 8191 /* all of them */

/*
 * One probe: where it is and how the access is read off the registers. An
 * operand is base + index * scale + disp; of a call, base is the register of
 * the argument that is the object. Sites of one instruction with two operands
 * are two probes at one offset, and so are the two objects of a call, the
 * mutex and the condition of a wait, say.
 */
struct maple_uapi_probe {
	__u64 offset; /* in the file, of the instruction */
	__u64 next;   /* in the file, of the next one; 0 for a call */
	__s64 disp;
	__u64 reserved; /* 0 */
	__u32 number;	/* of the site; MAPLE_SITE_NONE for a call */
	__u32 size;	/* bytes accessed; at least 1 unless a call */
	__u16 flags;	/* enum maple_probe_flag */
	__u8 kind;	/* enum maple_event_kind; of a call, at its entry */
	__u8 after;	/* of a call: the kind at its return; or NONE */
	__u8 base;	/* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... 15 r15; */
	__u8 index;	/* ... or ABSENT */
	__u8 scale;	/* 1, 2, 4, 8; 0 without an index */
	__u8 aux;	/* register of a call's second argument; or ABSENT */
};

/*
 * A call site that the plan names: calls of probed functions that return to
 * offset in this file have the number, the plan's steps, gates and covers go
 * by it. All others have MAPLE_SITE_NONE in the log, and their return address
 * in caller.
 */
struct maple_uapi_site {
	__u64 offset;	/* in the file, of the return address */
	__u32 number;	/* with MAPLE_SITE_CALL set, never NONE */
	__u32 reserved; /* 0 */
};

/* An entry of the log. Its events are those of <maple/event.h>. */
struct maple_log_entry {
	struct maple_event event;
	__u64 caller; /* return address, where the site is that of a call */
};

/* A thread of the target, living or dead. */
struct maple_uapi_thread {
	__s32 tid;     /* in the pid namespace of who asks */
	__u16 number;  /* in order of appearance; the first is 0 */
	__u16 parent;  /* number, or MAPLE_THREAD_NONE */
	__u64 pthread; /* its thread pointer, which is its pthread_t */
	__u32 alive;
	__u32 at;      /* site whose access it stands before, + 1; 0: none */
	char name[32]; /* "0.2.1": the first child of the second of main */
};

/*
 * The first fatal signal that a thread got for what it did itself (a fault,
 * abort()), with the default action.
 */
struct maple_uapi_crash {
	__s32 signo;
	__s32 tid;	/* in the pid namespace of who asks */
	__u64 address;	/* si_addr of a fault; else 0 */
	__u64 pc;	/* of the thread, in user space */
	__u32 thread;	/* number, or MAPLE_THREAD_NONE */
	__u32 standing; /* 1 while it is held */
};

/* A return address that is not on the stack any more. */
struct maple_uapi_return {
	__u64 slot;   /* where it stood */
	__u64 caller; /* what it was */
};

/* What the session delivered so far; verdicts rest on these. */
struct maple_counters {
	__u64 hits;	    /* of memory-access sites */
	__u64 calls;	    /* of functions */
	__u64 lost;	    /* events that found no room */
	__u64 spins;	    /* threads demoted for spinning */
	__u64 holds;	    /* timed holds, */
	__u64 timeouts;	    /* ... and those that ran out */
	__u64 watches;	    /* watchpoints armed, per thread */
	__u64 watch_hits;   /* accesses they saw, */
	__u64 watch_told;   /* ... that no probe had announced */
	__u64 pinned;	    /* threads whose affinity was set, */
	__u64 priorities;   /* ... whose policy and priority were, */
	__u64 refused;	    /* ... and that could not be set */
	__u64 probes;	    /* in place */
	__u64 unreached;    /* not: no probe can be there */
	__u64 threads_over; /* threads beyond MAPLE_THREADS: left alone */
};

static_assert(sizeof(struct maple_uapi_probe) == 48, "the form is fixed");
static_assert(sizeof(struct maple_uapi_site) == 16, "the form is fixed");
static_assert(sizeof(struct maple_log_entry) == 48, "the form is fixed");
static_assert(sizeof(struct maple_uapi_thread) == 56, "the form is fixed");
static_assert(sizeof(struct maple_uapi_crash) == 32, "the form is fixed");
static_assert(sizeof(struct maple_uapi_return) == 16, "the form is fixed");
static_assert(sizeof(struct maple_counters) == 15 * 8, "the form is fixed");
static_assert(__builtin_offsetof(struct maple_uapi_probe, flags) == 40 &&
		      __builtin_offsetof(struct maple_uapi_thread, at) == 20 &&
		      __builtin_offsetof(struct maple_uapi_crash, pc) == 16 &&
		      __builtin_offsetof(struct maple_log_entry, caller) == 40,
	      "no padding but what is said");

#endif
