/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The shared memory file between a campaign and the agent in its target. The
 * campaign creates it (a memfd that the agent opens through the path in
 * MAPLE_AGENT), fills in the order of the run, and reads what comes back; it
 * outlives the target however that ends. The file stays for the whole
 * campaign: images and call sites keep their index from run to run, which is
 * what makes site numbers last.
 *
 * Who writes what is said field by field: [c] the campaign, [a] the agent.
 */
#ifndef MAPLE_AGENT_SHM_H
#define MAPLE_AGENT_SHM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/event.h>
#include "abi/schedule.h"
#include "plan/plan.h"
#include "policy/policy.h"

#define MAPLE_SHM_MAGIC	   0x314d4853454c504dull
#define MAPLE_SHM_VERSION  20
#define MAPLE_SHM_ENV	   "MAPLE_AGENT"  /* /proc/PID/fd/N of the file */
#define MAPLE_SHM_ASAN	   "ASAN_OPTIONS" /* with --exe */
#define MAPLE_SHM_MARK	   "MAPLE_" /* before the name of the user's own */
#define MAPLE_SHM_AHEAD	   '+'	    /* before it: the run is ordered on fd 0 */
#define MAPLE_SHM_IMAGES   256
#define MAPLE_SHM_CALLS	   65536
#define MAPLE_SHM_CONTEXTS 1024 /* of which it is said what they are */
#define MAPLE_SHM_DEPTH	   4	/* return addresses of a context */
#define MAPLE_SHM_PATH	   1024
#define MAPLE_SHM_BUILD_ID 32
#define MAPLE_SHM_NAME	   MAPLE_PLAN_NAME /* and MAPLE_POLICY_NAME */
#define MAPLE_SHM_EXE	   256
#define MAPLE_SHM_RING	   (1u << 19) /* events, 20 MB: RLIMIT_AS counts them all */
#define MAPLE_SHM_CHANGES  64
#define MAPLE_SHM_THEN	   7	/* plans that may follow a run's first */
#define MAPLE_SHM_NET	   4	/* variables that a controlled run watches */
#define MAPLE_SHM_HELD	   8	/* locks of a thread that section.c follows */
#define MAPLE_SHM_MAPS	   8192 /* mappings of the agent in a joined process */
#define MAPLE_SHM_WILL	   (MAPLE_THREADS * 144 + 1024) /* bytes */

/* What the agent does in the target. */
enum maple_shm_mode {
	MAPLE_SHM_IDLE,	   /* nothing: stay out of the way */
	MAPLE_SHM_OBSERVE, /* record events at all sites of the images */
	MAPLE_SHM_ENFORCE, /* patch the plan's sites, run the automaton */
	MAPLE_SHM_SCHED,   /* priorities and thread events only */
	MAPLE_SHM_CONTROL, /* decide at each point who goes on */
};

/* Where the agent in the process that runs the program under test stands. */
enum maple_shm_state {
	MAPLE_AGENT_ABSENT,  /* no agent has come up in the right program */
	MAPLE_AGENT_ASKING,  /* waits until the campaign has filled tables */
	MAPLE_AGENT_RUNNING, /* the program runs */
	MAPLE_AGENT_CRASHED, /* a fatal signal: see crash; waits for CONTINUE */
	MAPLE_AGENT_EXITING, /* exit() or the like was reached */
	MAPLE_AGENT_REPLACED, /* exec: another program runs in its place */
};

enum maple_shm_image_state {
	MAPLE_IMAGE_NEW,    /* [a] seen, nothing known yet */
	MAPLE_IMAGE_LEFT,   /* [c] not to be patched */
	MAPLE_IMAGE_READY,  /* [c] table stands at table_at */
	MAPLE_IMAGE_FAILED, /* [c] could not be decoded */
};

/* Whether the run is under a debugger. */
enum maple_shm_debugger {
	MAPLE_DEBUGGER_NONE,	/* [c] no, or not any more */
	MAPLE_DEBUGGER_WANTED,	/* [c] it is to be, from before main() on */
	MAPLE_DEBUGGER_AWAITED, /* [a] the process waits for it */
	MAPLE_DEBUGGER_THERE,	/* [c] it traces the process */
};

/* Whether the process is to be one that runs are forked from, stem.c. */
enum maple_stem {
	MAPLE_STEM_NONE,   /* [c] no: it is the run itself */
	MAPLE_STEM_WANTED, /* [c] yes; the rest is what it answers: */
	MAPLE_STEM_READY,
	/* that it cannot be, for what the program has before main() */
	MAPLE_STEM_THREADS,
	MAPLE_STEM_FILES,
	MAPLE_STEM_CHILDREN,
	MAPLE_STEM_TIMERS,
	MAPLE_STEM_MEMORY,
	MAPLE_STEM_LIBC, /* or because libc or the kernel are too strange */
	MAPLE_STEMS
};

#define MAPLE_STEM_FD 3 /* its socket: orders come in, answers go out */

/*
 * An order for a run; with it come the descriptors to be 0, 1 and 2. To a stem,
 * or on its standard input to a process that was executed ahead.
 */
struct maple_stem_order {
	uint32_t own_group; /* a process group of its own */
};

/*
 * The first one says what came of WANTED, the others answer an order. Of a
 * process that was executed ahead there is only that one, without WANTED.
 */
struct maple_stem_answer {
	int32_t value; /* enum maple_stem; the run's pid, or -errno */
};

struct maple_shm_image {
	char path[MAPLE_SHM_PATH];	      /* [a] */
	uint8_t build_id[MAPLE_SHM_BUILD_ID]; /* [a] zero if none */
	uint32_t build_id_len;		      /* [a] */
	uint32_t state;			      /* enum maple_shm_image_state */
	uint64_t bias;			      /* [a] this run's load bias */
	uint64_t lo, hi;		      /* [a] this run's mapped range */
	uint32_t loaded;		      /* [a] mapped in this run */
	uint32_t is_main;		      /* [a] the executable itself */
	uint64_t table_at;  /* [c] offset of its table in the tables file */
	uint32_t site_base; /* [c] number of its first site */
	uint32_t nsites;    /* [c] */
	uint32_t patched;   /* [a] groups patched in this run */
	uint32_t unpatched; /* [a] groups that could not be reached */
};

/*
 * The call site of an interposed function; its number is CALL | index. With
 * VARIABLE in its offset it is none: it stands for all accesses to the 8 bytes
 * there that code without sites makes.
 */
#define MAPLE_SHM_VARIABLE (1ull << 62)

struct maple_shm_call {
	uint32_t image;	 /* index, or ~0 outside all images */
	uint16_t kind;	 /* enum maple_event_kind of its first event */
	uint16_t alone;	 /* [c] a controlled run passes its accesses by */
	uint64_t offset; /* of the return address, an ELF address */
};

/* Who called: an access's context, in place CONTEXT % CONTEXTS or soon behind. */
struct maple_shm_context {
	uint32_t context; /* MAPLE_CONTEXT_; 0: nothing is here */
	uint32_t n;	  /* written last; 0: not yet all there */
	struct maple_shm_caller {
		uint32_t image;
		uint64_t offset; /* of the return address, an ELF address */
	} by[MAPLE_SHM_DEPTH];	 /* the nearest first */
};

struct maple_shm_thread {
	int32_t tid;		   /* [a] 0: never started */
	uint32_t alive;		   /* [a] */
	uint32_t parent;	   /* [a] thread number, or MAPLE_THREAD_NONE */
	uint32_t born;		   /* [a] children created so far */
	char name[MAPLE_SHM_NAME]; /* [a] "0.2.1" */
	uint32_t prio;	  /* [a] real-time priority it should have; 0: none */
	uint32_t demoted; /* [c] the campaign holds it below everyone */
	uint64_t events;  /* [a] events so far, quiet sites not counted */
	uint64_t pthread; /* [a] its pthread_t */
	uint32_t at;	  /* [a] site whose hook it is in, + 1; 0: none */
	uint32_t joins;	  /* [a] it waits for another's end, however long */
};

/* The locks that a thread holds, while section.c follows, outermost first. [a] */
struct maple_shm_held {
	uint32_t n;
	uint32_t late; /* the LOCKs of the last ones are not in the ring yet */
	struct maple_shm_lock {
		uint64_t addr;
		uint64_t way;  /* how the thread came to it: section.c */
		uint32_t site; /* of its LOCK, as all that follows */
		uint32_t clock;
		uint32_t sp;
		uint32_t flags;
		uint32_t aux; /* controlled: the hit of its site */
	} lock[MAPLE_SHM_HELD];
};

struct maple_shm_crash {
	int32_t signo; /* [a] */
	int32_t tid;
	uint32_t thread;
	int32_t sender;	  /* the process that sent it; 0: none, a fault */
	uint64_t address; /* si_addr */
	uint64_t pc;	  /* the program's own */
};

/* What the run delivered; verdicts rest on these. All [a]. */
struct maple_shm_stats {
	uint32_t pinned;     /* affinity set */
	uint32_t priorities; /* sched_setscheduler succeeded */
	uint32_t refused;    /* ... and failed */
	uint32_t refused_errno;
	uint64_t lost;	       /* events dropped, ring full */
	uint64_t quieted;      /* sites that used up their budget */
	uint64_t retired;      /* groups taken out because they were quiet */
	uint64_t nested;       /* hits inside the agent's own hook */
	uint64_t hits[4];      /* executed hits by enum maple_way */
	uint64_t calls;	       /* hits of interposed call sites */
	uint64_t threads_over; /* threads beyond MAPLE_THREADS */
	uint64_t calls_over;   /* call sites beyond MAPLE_SHM_CALLS */
	uint64_t images_over;
	uint64_t watches;	  /* watchpoints armed */
	uint64_t watches_refused; /* ... and not to be had: then off */
	uint64_t watch_hits;	  /* writes they saw */
	uint64_t watch_told;	  /* ... that no hook had announced */
	uint64_t changes_done;	  /* change points reached */
	uint64_t sealed;	  /* it filters its system calls: we left */
};

/* Runs that are forked from one process: what is patched in it differs. */
enum maple_shm_stem {
	MAPLE_SHM_STEM_PROFILE,
	MAPLE_SHM_STEM_CONTROL,
	MAPLE_SHM_STEM_OTHER,
	MAPLE_SHM_STEMS
};

/* CONTROL: what the run is to do, and did. */
struct maple_shm_control {
	struct maple_policy_order order;  /* [c] */
	uint32_t nlist, nnames, nweights; /* [c] */
	uint32_t log; /* [c] accesses are recorded, so many of each site */
	struct maple_policy_counts counts; /* [a] */
	uint32_t ndecided;		   /* [a] */
	/*
	 * [c] LIST, with log: accesses are recorded with values, at sites that
	 * no entry is about as well, which are no points
	 */
	uint32_t values;
	uint32_t reads;	 /* [c] with log: what accesses read is recorded */
	uint32_t sleeps; /* [c] who stands at a point sleeps: no priorities */
	/* [c] what to watch, beside what its list is about: VARIABLE's calls */
	uint32_t nnet, net[MAPLE_SHM_NET];
	struct maple_policy_name name[MAPLE_THREADS];	       /* [c] */
	uint32_t weight[MAPLE_THREADS];			       /* [c] by name */
	struct maple_policy_switch list[MAPLE_POLICY_ENTRIES]; /* [c] */
	struct maple_policy_switch decided[MAPLE_POLICY_ENTRIES]; /* [a] */
};

/* Of a process that ran before the agent came. */
struct maple_shm_joined {
	uint32_t pinned; /* [c] its threads are to share one CPU */
	uint32_t n;	 /* [c] threads that are stopped */
	struct {
		int32_t tid;	  /* [c] */
		uint64_t pointer; /* [c] its thread pointer */
		uint64_t pc;	  /* [c], [a] where it is to go on */
	} thread[MAPLE_THREADS];
	uint64_t self;	   /* [a] where its maple_self is, from its pointer */
	uint64_t restorer; /* [a] what handlers of signals return to */
	uint32_t handlers; /* [a] threads that the agent has handle a signal */
	uint32_t nmaps;	   /* [a] memory that goes when the agent does: */
	struct {
		uint64_t at, size;
	} map[MAPLE_SHM_MAPS]; /* [a] */
	uint64_t at;	       /* [a] where the agent has mapped this file */
	/* [c] how it gets out, for whom finds it: struct maple_join_state */
	uint64_t will[MAPLE_SHM_WILL / 8];
};

struct maple_shm {
	/* Handshake. */
	uint64_t magic;	  /* [c] */
	uint32_t version; /* [c] */
	uint32_t size;	  /* [c] sizeof(struct maple_shm) */

	/*
	 * [a] Of the stem of profile runs, of controlled ones, and of that of
	 * others: the run that it has forked ahead and nobody has ordered yet;
	 * -1: it is being forked, 0: none. A futex word, which guards read: on
	 * the first page.
	 */
	int32_t spare[MAPLE_SHM_STEMS];

	/* The order of this run. All [c], set before the program starts. */
	uint32_t mode;	    /* enum maple_shm_mode */
	uint32_t sched;	    /* enum maple_schedule */
	int32_t cpu;	    /* to pin to, or -1 */
	uint32_t budget;    /* events a site may record; 0: no limit */
	uint32_t trap_rest; /* trap at observed sites that no jump reaches */
	uint32_t stem;	    /* enum maple_stem */
	uint32_t nchanges;
	uint32_t lossless; /* threads on one CPU wait in a full ring while it is
			      read; else events are lost */
	uint64_t seed;
	char exe[MAPLE_SHM_EXE]; /* glob of the executable's path or basename;
				    "": the first program that loads us */
	char tables[64];	 /* path of the tables file */
	struct {
		uint32_t site; /* change point: at this site's ... */
		uint32_t hit;  /* ... how-manieth hit in the whole run */
	} change[MAPLE_SHM_CHANGES];
	struct maple_plan plan;
	uint32_t nthen;	   /* plans that follow it, in what order sites say */
	uint32_t names;	   /* where memory comes from is recorded, too */
	uint32_t fill;	   /* freed memory is filled and kept for a while */
	uint32_t slice_us; /* how long a slice is; 0: as the plan says */
	struct maple_plan then[MAPLE_SHM_THEN];

	/*
	 * Control. `state` is [a]'s, `go` is [c]'s; both are futex words, and
	 * so is `debugger`. The agent raises `asks` when it sees an image in state
	 * NEW, and waits until `answers` has caught up (ten seconds at most).
	 */
	uint32_t state;	      /* enum maple_shm_state */
	uint32_t asks;	      /* [a] */
	uint32_t answers;     /* [c] */
	uint32_t go;	      /* [c] CRASHED may go on */
	uint32_t debugger;    /* enum maple_shm_debugger */
	int32_t pid;	      /* [a] the process under test */
	int32_t settled;      /* [a] pid of the one that made threads, or 0 */
	uint32_t standbys;    /* [a] forked children that might yet */
	int32_t stranger_pid; /* [a] of another program that made threads, */
	char stranger[MAPLE_SHM_EXE]; /* [a] ... and its path */
	int32_t old_policy;	      /* [a] before we changed them */
	int32_t old_priority;
	int32_t old_nice;
	uint64_t old_affinity[16];
	uint64_t entered; /* [a] when it went off to main(), raw_now(); or 0 */
	struct maple_shm_crash crash;
	uint64_t sent; /* [a] bit i: it has sent itself signal i + 1 */
	struct maple_shm_stats stats;
	uint64_t auto_result[16]; /* [a] struct maple_auto_result */
	uint64_t then_result[MAPLE_SHM_THEN][16]; /* [a] of those that follow, */
	uint64_t begun;				  /* [a] ... bit i: it began */

	uint32_t nthreads; /* [a] */
	uint32_t nimages;  /* [a] appends, [c] may read */
	uint32_t ncalls;   /* [a] appends */
	uint32_t let_go;   /* [c] it took too long: its threads are native */
	struct maple_shm_thread thread[MAPLE_THREADS];
	struct maple_shm_held held[MAPLE_THREADS];
	struct maple_shm_image image[MAPLE_SHM_IMAGES];
	struct maple_shm_call call[MAPLE_SHM_CALLS];
	struct maple_shm_context context[MAPLE_SHM_CONTEXTS]; /* [a] */
	struct maple_shm_control control;

	/*
	 * The ring. A writer takes a slot by adding to head, fills it, and
	 * writes kind last; the reader sets kind to NONE again before it
	 * raises tail. A full ring drops events and counts them. Each end has
	 * its own cache lines, and neither looks at the other's at each event.
	 */
	uint64_t head __attribute__((aligned(128))); /* [a] */
	uint64_t tail __attribute__((aligned(128))); /* [c] */
	struct maple_event ring[MAPLE_SHM_RING] __attribute__((aligned(128)));

	struct maple_shm_joined joined; /* last: others do not map it */
};

/*
 * So many bytes an agent maps that its program began with; they count against
 * the program's address space. In a process that was joined: all.
 */
#define MAPLE_SHM_LAUNCHED offsetof(struct maple_shm, joined)

/* Which stem a run of this kind is forked from. */
static inline enum maple_shm_stem maple_shm_stem_of(const struct maple_shm *shm)
{
	return shm->mode == MAPLE_SHM_OBSERVE	? MAPLE_SHM_STEM_PROFILE
	       : shm->mode == MAPLE_SHM_CONTROL ? MAPLE_SHM_STEM_CONTROL
						: MAPLE_SHM_STEM_OTHER;
}

/* Whether the run decides about priorities and the CPU. */
static inline bool maple_shm_owns_sched(const struct maple_shm *shm)
{
	return !maple_schedule_is_free(shm->sched);
}

/* Whether its threads are to have real-time priorities. */
static inline bool maple_shm_has_priorities(const struct maple_shm *shm)
{
	return maple_shm_owns_sched(shm) &&
	       !(shm->sched == MAPLE_SCHEDULE_CONTROL && shm->control.sleeps);
}

#endif
