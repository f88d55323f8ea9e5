/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the eBPF observer and its loader share: the operand records and
 * functions that go in, and the records that come out. One version: both
 * sides are of one build.
 */
#ifndef MAPLE_BPF_OBSERVE_H
#define MAPLE_BPF_OBSERVE_H

#ifdef __KERNEL__
#error "for the observer and its loader, not for the module"
#endif

#include <linux/types.h>
#include <maple/uapi.h>

#define MAPLE_OBSERVE_PROBES	65536 /* sites of one run, at most */
#define MAPLE_OBSERVE_FUNCTIONS 512   /* rows of the table of functions */
#define MAPLE_OBSERVE_CALLERS	16384 /* call sites with a budget */
#define MAPLE_OBSERVE_RETURNS	16384 /* return addresses that are known */
#define MAPLE_OBSERVE_THREADS	2048  /* alive at a time */
#define MAPLE_OBSERVE_RUNTIMES	8
#define MAPLE_OBSERVE_FRAMES	8	   /* calls within calls */
#define MAPLE_OBSERVE_RING	(1u << 24) /* bytes */
#define MAPLE_OBSERVE_TEXT	4096 /* bytes of a string that are looked at */
#define MAPLE_OBSERVE_CHAIN	4    /* probes at one offset */

/* aux of an access's probe: the next record is of this offset, too. */
#define MAPLE_OBSERVE_MORE 1

/* What is measured at the entry of a function, into size and aux. */
enum maple_observe_measure {
	MAPLE_MEASURE_NOTHING,
	MAPLE_MEASURE_WORD,   /* 4 bytes at argument 0 + peek */
	MAPLE_MEASURE_BLOCK,  /* what the heap block at argument 0 can hold */
	MAPLE_MEASURE_STRING, /* argument text; at most argument limit */
	MAPLE_MEASURE_COMMON, /* arguments 0 and 1, to the first difference */
	MAPLE_MEASURE_FOLDED, /* ... where case makes none */
	MAPLE_MEASURE_CHAR,   /* argument 0 up to byte argument 1 or the end */
	MAPLE_MEASURE_BYTE,   /* ... of argument 2 bytes */
	MAPLE_MEASURE_LAST,   /* the bytes before the last of these */
	MAPLE_MEASURE_APPEND, /* argument 1, and argument 0 into aux */
};

enum maple_observe_flag {
	MAPLE_OBSERVE_RETURN = 1, /* its return is of interest */
	MAPLE_OBSERVE_OPEN = 2,	  /* the program's own code may run in it */
	MAPLE_OBSERVE_CREATE = 4, /* makes a thread */
	MAPLE_OBSERVE_BUDGET = 8, /* its call sites have a budget */
};

#define MAPLE_OBSERVE_NO_LIMIT 0xff

struct maple_observe_function {
	__u8 flags;   /* enum maple_observe_flag */
	__u8 measure; /* enum maple_observe_measure */
	__u8 text;    /* number of the argument that is the string */
	__u8 limit;   /* ... that is its limit; or NO_LIMIT */
	__u32 peek;
};

enum maple_observe_what {
	MAPLE_OBSERVED_ACCESS = 1, /* at probe index */
	MAPLE_OBSERVED_QUIET,	   /* probe index */
	MAPLE_OBSERVED_QUIET_CALL, /* caller */
	MAPLE_OBSERVED_ENTRY,	   /* function index */
	MAPLE_OBSERVED_RETURN,
	MAPLE_OBSERVED_CREATE, /* aux: number of the child; other: its tid */
	MAPLE_OBSERVED_START,  /* aux: tid; caller: thread pointer */
	MAPLE_OBSERVED_EXIT,
};

struct maple_observe_record {
	__u64 addr;   /* ACCESS; argument 0; START: the stack */
	__u64 other;  /* ACCESS: the value; argument 1; START: its size */
	__u64 extra;  /* argument 2; RETURN: what it returned */
	__u64 caller; /* return address of a call */
	__u32 index;
	__u32 size; /* ACCESS: bytes; ENTRY: what was measured */
	__u32 aux;
	__u32 sp;
	__u16 thread;
	__u8 what; /* enum maple_observe_what */
	__u8 pad[5];
};

struct maple_observe_range {
	__u64 lo, hi;
};

/* How often, in which epoch. */
struct maple_observe_count {
	__u32 epoch, n;
};

/*
 * The cookie of a site's probe: its index, and the generation in which it was
 * put there. Of so many probes behind each other only those of the present
 * generation count, so that another set of them can take over at one blow.
 */
#define MAPLE_OBSERVE_BATCH   64
#define MAPLE_OBSERVE_BATCHES (MAPLE_OBSERVE_PROBES / MAPLE_OBSERVE_BATCH)
#define MAPLE_OBSERVE_COOKIE(index, generation) \
	((__u64)(index) | (__u64)(generation) << 32)

/* Set before the target goes, except for what the observer counts. */
struct maple_observe_session {
	__u64 dev, ino; /* of our pid namespace */
	__u64 start;  /* when the target began, in /proc's ticks; 0: any time */
	__u32 pid;    /* of the target, in it; its exec is noted from then on */
	__u32 heard;  /* ... and what it does is */
	__u32 budget; /* 0: none */
	__u32 runtimes;
	__u32 is_static;
	__u32 gone;	    /* another program has taken its place */
	__u32 kernel_pid;   /* the target's in the kernel; 0: not known yet */
	__u32 epoch;	    /* budgets of another epoch count from 0 */
	__u32 nthreads;	    /* numbers given out */
	__u32 threads_over; /* threads beyond MAPLE_THREADS */
	__u32 joined;	    /* it ran before us: threads come as they show up */
	__u32 pad;
	__u64 seq;	   /* records so far */
	__u64 lost;	   /* ... that found no room, and what else did not */
	__u64 hits, calls; /* accesses and calls recorded */
	__u64 quieted;	   /* sites that have used up their budget */
	__u64 condensed;   /* accesses that say nothing new */
	__u64 trampoline;  /* where probed functions return to; 0: not known */
	struct maple_observe_range runtime[MAPLE_OBSERVE_RUNTIMES];
	__u32 generation[MAPLE_OBSERVE_BATCHES];
};

/* How a process ended that is not ours to wait for; outlives sessions. */
struct maple_observe_end {
	__u64 dev, ino; /* of our pid namespace */
	__u64 start;	/* as of a session */
	__u32 pid;	/* whose; 0: nobody's */
	__u32 seen;
	__s32 status; /* as from waitpid */
	__u32 pad;
};

#define MAPLE_OBSERVE_ARMED 64 /* threads each of which renews the budgets */

/* Whether thread @number does: what is shared then may be seen again. */
static inline int maple_observe_renews(__u32 number)
{
	return number < MAPLE_OBSERVE_ARMED || !(number & (number - 1));
}

static_assert(sizeof(struct maple_observe_record) == 56, "no holes");

#endif
