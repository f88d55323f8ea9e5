/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What maple.ko and user space say to each other: the generic netlink family
 * "maple" (kmod/maple.yaml says it once more, for machines), and the entries
 * of the log that the module and the eBPF observer write.
 *
 * A session belongs to the socket that started it. When that closes, for
 * whatever reason, every thread of the target gets its policy, priority and
 * affinity back, and probes and watchpoints go.
 */
#ifndef MAPLE_UAPI_H
#define MAPLE_UAPI_H

#include <linux/types.h>
#include <maple/event.h>

#define MAPLE_GENL_NAME	   "maple"
#define MAPLE_GENL_VERSION 1

/* What a module can do: MAPLE_A_FEATURES, a u32. */
enum maple_feature {
	MAPLE_FEATURE_ENFORCE = 1,  /* SESSION_START with a plan */
	MAPLE_FEATURE_SCHEDULE = 2, /* SESSION_START without one: priorities */
	MAPLE_FEATURE_WATCH = 4,    /* hardware watchpoints */
	MAPLE_FEATURE_MMAP = 8,	    /* reserved */
};

enum maple_cmd {
	MAPLE_CMD_UNSPEC,
	MAPLE_CMD_INFO,	   /* -> VERSION, FEATURES, limits, PLAN_SIZE */
	MAPLE_CMD_START,   /* PIDFD, CPU, SCHED, DEADLINE, [PLAN] */
	MAPLE_CMD_PROBE,   /* FD, PROBE...: adds probes in one file */
	MAPLE_CMD_RELEASE, /* native scheduling for the rest of the run */
	MAPLE_CMD_STATUS,  /* -> STATE, RESULT, COUNTERS, THREAD... */
	MAPLE_CMD_LOG,	   /* -> LOG: entries, oldest first, taken out */
	MAPLE_CMD_STOP,	   /* ends the session, as closing the socket does */
	__MAPLE_CMD_MAX,
};
#define MAPLE_CMD_MAX (__MAPLE_CMD_MAX - 1)

enum maple_attr {
	MAPLE_A_UNSPEC,
	MAPLE_A_VERSION,    /* u32 */
	MAPLE_A_FEATURES,   /* u32, enum maple_feature */
	MAPLE_A_MAX_PROBES, /* u32, of a session */
	MAPLE_A_PLAN_SIZE,  /* u32, sizeof(struct maple_plan) */
	MAPLE_A_PIDFD,	    /* s32, a pidfd of the sender's */
	MAPLE_A_CPU,	    /* s32, to pin to; -1: not pinned */
	MAPLE_A_SCHED,	    /* u32, enum maple_uapi_sched */
	MAPLE_A_SEED,	    /* u64 */
	MAPLE_A_DEADLINE,   /* u32, ms until the watchdog ends the session */
	MAPLE_A_PLAN,	    /* binary, struct maple_plan */
	MAPLE_A_FD,	    /* s32, a file of the sender's */
	MAPLE_A_PROBE,	    /* binary, struct maple_probe; repeated */
	MAPLE_A_STATE,	    /* u32, enum maple_session_state */
	MAPLE_A_RESULT,	    /* binary, struct maple_auto_result */
	MAPLE_A_COUNTERS,   /* binary, struct maple_counters */
	MAPLE_A_THREAD,	    /* binary, struct maple_uapi_thread; repeated */
	MAPLE_A_LOG,	    /* binary, struct maple_log_entry, many */
	MAPLE_A_PAD,
	__MAPLE_A_MAX,
};
#define MAPLE_A_MAX (__MAPLE_A_MAX - 1)

/* How threads get their priorities; the first three as in lib/backend. */
enum maple_uapi_sched {
	MAPLE_UAPI_NATIVE,  /* left alone, not pinned */
	MAPLE_UAPI_OLDER,   /* SCHED_FIFO, older threads first */
	MAPLE_UAPI_YOUNGER, /* SCHED_FIFO, younger threads first */
	MAPLE_UAPI_PLAN,    /* as the automaton says */
};

enum maple_session_state {
	MAPLE_SESSION_ARMED, /* the target has not made a thread or a hit */
	MAPLE_SESSION_RUNNING,
	MAPLE_SESSION_RELEASED, /* native again, on request */
	MAPLE_SESSION_DEADLINE, /* ... because the deadline passed */
	MAPLE_SESSION_STARVED,	/* ... because its CPU starved */
	MAPLE_SESSION_GONE,	/* the target has ended */
};

/* A register of a probe's operand. */
#define MAPLE_REG_ABSENT 0xff

enum maple_probe_flag {
	MAPLE_PROBE_CALL = 1,	   /* a function: arguments at its entry */
	MAPLE_PROBE_RETURN = 2,	   /* ... and told of when it has returned */
	MAPLE_PROBE_ATOMIC = 4,	   /* a LOCK prefix or XCHG */
	MAPLE_PROBE_REP = 8,	   /* up to rcx * size bytes */
	MAPLE_PROBE_RIP = 16,	   /* disp is an ELF address: add the bias */
	MAPLE_PROBE_ZERO = 32,	   /* happened only if it returned 0 */
	MAPLE_PROBE_WANTED = 64,   /* the plan names it: ask the automaton */
	MAPLE_PROBE_NONZERO = 128, /* happened only if it returned non-0 */
	MAPLE_PROBE_SHARED = 256,  /* the read side of a rwlock */
	MAPLE_PROBE_MAYFAIL = 512, /* a trylock */
	MAPLE_PROBE_BEHIND = 1024, /* offset is that of the next instruction:
				      the access has happened there */
	MAPLE_PROBE_AHEAD = 2048,  /* offset is that of the one before */
	MAPLE_PROBE_MAYWAIT = 4096,
};

/*
 * One probe: where it is and how the access is read off the registers. An
 * operand is base + index * scale + disp; of a call, base is the register of
 * the argument that is the object. Sites of one instruction with two operands
 * are two probes at one offset.
 */
struct maple_probe {
	__u64 offset; /* in the file, of the instruction */
	__u64 next;   /* in the file, of the next one; 0 for a call */
	__s64 disp;
	__u64 caller; /* reserved, 0 */
	__u32 number; /* of the site; NONE for a call */
	__u32 size;   /* bytes accessed */
	__u16 flags;  /* enum maple_probe_flag */
	__u8 kind;    /* enum maple_event_kind; of a call, at its entry */
	__u8 after;   /* of a call: the kind at its return; or NONE */
	__u8 base, index, scale; /* 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... */
	__u8 aux; /* register of a call's second argument; or ABSENT */
};

/* An entry of the log. */
struct maple_log_entry {
	struct maple_event event;
	__u64 caller; /* return address, where the site is that of a call */
};

struct maple_uapi_thread {
	__s32 tid;     /* as the target's own namespace has it */
	__u16 number;  /* in order of appearance */
	__u16 parent;  /* number, or MAPLE_THREAD_NONE */
	__u64 pthread; /* its thread pointer */
	__u32 alive;
	__u32 at;      /* site whose access it stands before, + 1; 0: none */
	char name[32]; /* "0.2.1" */
};

struct maple_counters {
	__u64 hits;	       /* of memory-access sites */
	__u64 calls;	       /* of functions */
	__u64 lost;	       /* log entries that found no room */
	__u64 spins;	       /* threads demoted for spinning */
	__u64 holds, timeouts; /* timed holds, and those that ran out */
	__u64 watches, watch_hits, watch_told;
	__u64 pinned, priorities, refused; /* threads */
	__u64 probes;			   /* in place */
	__u64 unreached; /* probes that could not be put in place */
	__u64 threads_over;
};

static_assert(sizeof(struct maple_probe) == 48, "the form is fixed");
static_assert(sizeof(struct maple_log_entry) == 48, "the form is fixed");
static_assert(sizeof(struct maple_uapi_thread) == 56, "the form is fixed");
static_assert(sizeof(struct maple_counters) == 15 * 8, "the form is fixed");

#endif
