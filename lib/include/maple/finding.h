/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A finding: a failed run, what forced it, and the control. Plain text
 * throughout, so that it can be stored, shown and read back long after the
 * binary is gone.
 *
 * Ownership: a maple_finding owns every pointer in it; free it with
 * maple_finding_destroy(). Unset strings are NULL.
 */
#ifndef MAPLE_FINDING_H
#define MAPLE_FINDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/violation.h>

enum maple_failure {
	MAPLE_FAILURE_NONE,
	MAPLE_FAILURE_SIGNAL,	 /* died by a signal */
	MAPLE_FAILURE_EXIT,	 /* exit status differs from the baseline's */
	MAPLE_FAILURE_DEADLOCK,	 /* all threads wait for each other */
	MAPLE_FAILURE_HANG,	 /* over the wall limit */
	MAPLE_FAILURE_ORACLE,	 /* --oracle said so */
	MAPLE_FAILURE_OUTPUT,	 /* output differs from --expect-output */
	MAPLE_FAILURE_SANITIZER, /* a sanitizer of the program's reported it */
	MAPLE_FAILURE_VIOLATION, /* none: an order of an atomic set, <violation.h> */
};

/* maple_failure_name - "signal", "exit", ... as in the JSON schema */
const char *maple_failure_name(enum maple_failure kind);

/*
 * A place in a binary, as far as it is known. The line is one that the user
 * may have written: where the compiler has put a library's code into it, that
 * function is named beside, and the line in the library.
 */
struct maple_place {
	char *image;	/* path */
	char *build_id; /* hex */
	uint64_t offset;
	char *function; /* short: "store::Cache::put" */
	char *file;
	unsigned int line;	   /* 0 if unknown */
	char *signature;	   /* "store::Cache<int>::put(int)", or NULL */
	char *inlined;		   /* "std::atomic::load", or NULL */
	char *inlined_file;	   /* or NULL */
	unsigned int inlined_line; /* 0 if unknown */
};

/* How far a step of a forced order had come when the program failed. */
enum maple_reach {
	MAPLE_REACH_DONE, /* executed */
	MAPLE_REACH_NOW,  /* being executed: it failed there, or waits there */
	MAPLE_REACH_NOT,
};

#define MAPLE_ROLES 64 /* threads that a finding tells of, at most */

/* maple_reach_name - "done", "now", "not" as in the JSON schema */
const char *maple_reach_name(enum maple_reach reach);

/*
 * A step of an order: one that was forced, in the order of the plan, or one
 * that switches made, in the order of time. Of what was not reached values are
 * not known, nor, if it was forced, its address.
 */
struct maple_moment {
	struct maple_place place;
	char kind;	   /* 'R', 'W', 'L', 'U', 'S', 'C' */
	unsigned int role; /* column, from 0, below MAPLE_ROLES */
	char *thread;	   /* "0.2" */
	char *variable;	   /* "balance", "cache->size", "main: sum[2]" */
	uint64_t address;
	unsigned int event; /* index in the goal */
	int from;	    /* moment on which it immediately depends, or -1 */
	unsigned int order; /* which of the run's orders, from 0 */
	enum maple_reach reach;
	char *type; /* of the variable: "unsigned int" */
	/*
	 * "stack of thread 0.1", "malloc at q.c:12 + 8"; where the run made
	 * several blocks there, "malloc at q.c:12 (2nd by 0.1) + 8".
	 */
	char *origin;
	char *value; /* read or written: "100", "0x55d0", "'a'" */
	char *was;   /* ... what stood there before it was written */
	bool half; /* of one instruction, which the order came in the middle of */
	bool frees; /* the write is the end of the memory: free(), munmap() */
	/*
	 * Of an order that is about certain callers: where the function was
	 * called from, outward, "show:31, reader:37"; else NULL
	 */
	char *callers;
};

struct maple_frame {
	struct maple_place place;
	uint64_t pc;
	/* Of the run itself, not kept; sp, bp: 0 if they are not known. */
	bool is_call; /* pc is a return address */
	uint64_t sp, bp;
};

/* A thread at the failure. */
struct maple_stack {
	char *thread; /* "0.1"; NULL if it is not one of ours */
	int tid;
	bool failed; /* it got the signal */
	char *state; /* "waits for mutex m, held by 0.2", or NULL */
	unsigned int nframes;
	struct maple_frame *frames;
	/*
	 * Of who waits: what it had read before, and who wrote or signalled
	 * that when, a sentence a line; or NULL
	 */
	char *before;
};

/* One thread of a cycle of locks: what it waits for, and who has that. */
struct maple_edge {
	char *thread;	/* "0.1" */
	char *variable; /* the lock */
	uint64_t address;
	struct maple_place place; /* where it waits */
	char *holder;		  /* the thread of the next edge */
	struct maple_place since; /* where that one acquired the lock */
};

struct maple_finding {
	char *id;    /* stable: hash of kind, top frames, iRoot */
	uid_t owner; /* whose campaign found it; kept beside it, not in it */
	enum maple_failure kind;
	char *title;	  /* "SIGSEGV in consume / close_queue" */
	char *what;	  /* "signal 11 (SIGSEGV), address 0x8" */
	int signo;	  /* SIGNAL */
	int status;	  /* EXIT, SANITIZER: exit status; ORACLE: its own */
	uint64_t address; /* SIGNAL: faulting address */

	/*
	 * The class of the goal whose order was forced, "idiom 1", as its
	 * strategy names it; NULL: found without forcing an order
	 */
	char *class;
	unsigned int nmoments;
	struct maple_moment *moments;
	unsigned int nstacks;
	struct maple_stack *stacks;
	unsigned int nedges; /* 0: no cycle of locks is known */
	struct maple_edge *edges;

	/*
	 * Of a controlled run: the switches that its failure takes, a sentence
	 * a line; of one that maple_finding_meets(), the meeting; or NULL.
	 * Preemptions among them, at how many variables (0: unknown, or none),
	 * and of how many threads all are: bounds within which a search of its
	 * own comes to it.
	 */
	char *switches;
	unsigned int preemptions, variables, threads;

	/*
	 * The control; attached: there is none, it ran before maple came. Of a
	 * controlled run flipped is without its last preemption; where it has
	 * none, without the last choice among those who may go on after a wait.
	 */
	bool attached;
	unsigned int forced_fails, forced_runs;
	unsigned int flipped_fails, flipped_runs;
	/* Only where the reversed order fails too: one thread after another. */
	unsigned int serial_fails, serial_runs;
	/* It fails by itself, too: so many of so many native runs. */
	unsigned int native_fails, native_runs;

	struct maple_violation violation; /* VIOLATION, else all zero */

	/* How to do it again. */
	char *plan; /* JSON of the plan; or NULL */
	uint64_t seed;
	unsigned int attempt;
	char **argv; /* NULL-terminated */
	char *cwd;
	char *exe;     /* --exe, or NULL */
	char *input;   /* --input, or NULL */
	char *backend; /* the pair that found it, as for --backend; or NULL */
	/* ... and the strategy, or the part of the default one; or NULL */
	char *strategy;
	/* Where it was made first, as far as its memo knows; or NULL */
	char *machine, *cpu, *kernel, *first_backend;
	char *replay; /* the command line for that; made, never stored */
	char *output; /* the end of what it printed in the failed run */
	char *oracle; /* ... and of what --oracle printed of that run */
	char *report; /* SANITIZER: its text, as it was printed */

	unsigned int run;  /* number of the run in its campaign */
	uint64_t found_at; /* first; seconds since the epoch */
	unsigned int times_seen;
	bool known;	   /* from an earlier campaign, and not mended since */
	uint64_t fixed_at; /* when it was seen to fail no more; 0: it does */
	bool told;	   /* the campaign's: its user has heard of it */
	char *suppressed;  /* by this suppression, "race:foo"; or NULL */
};

void maple_finding_destroy(struct maple_finding *finding);

/*
 * maple_finding_line - makes the command line that replays @finding
 *
 * From its id, if that is one: whoever stored a finding has no say in what its
 * readers are told to run. What ran in an attached program has none, nor has a
 * violation whose order was never forced. -ENOMEM.
 */
int maple_finding_line(struct maple_finding *finding);

/*
 * maple_finding_is_cause - whether the control says that the order is the
 * cause: of the runs in the reversed order at most one in five fails
 */
bool maple_finding_is_cause(const struct maple_finding *finding);

/*
 * maple_finding_meets - whether it takes two threads on two CPUs at the same
 * moment, as --strategy meet has them: switches then says where
 */
bool maple_finding_meets(const struct maple_finding *finding);

/* maple_finding_is_id - letters and digits alone, so that any shell takes it */
bool maple_finding_is_id(const char *text);

/* maple_moment_deinit - frees the strings of @moment, not @moment */
void maple_moment_deinit(struct maple_moment *moment);

/* maple_place_deinit - frees the strings of @place, not @place */
void maple_place_deinit(struct maple_place *place);

#endif
