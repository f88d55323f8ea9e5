/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A campaign: baseline, profile, enforce, judge, confirm, remember, on one
 * program (algorithms.md 8).
 *
 * Context: a campaign runs in the calling thread, which should be allowed on
 * a CPU other than the target's, and with several jobs in a thread for each;
 * one campaign per process at a time, because it waits for child processes and
 * handles SIGINT, SIGTERM and SIGHUP while it runs.
 */
#ifndef MAPLE_CAMPAIGN_H
#define MAPLE_CAMPAIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>
#include <maple/finding.h>
#include <maple/goal.h>
#include <maple/iroot.h>
#include <maple/memo.h>
#include <maple/sites.h>
#include <maple/suppressions.h>
#include <maple/violation.h>

struct maple_atomic_sets;
struct maple_attached;
struct maple_host;
struct maple_progress;

enum maple_order { MAPLE_ORDER_RANKED, MAPLE_ORDER_PAPER };

#define MAPLE_DEPTH_MAX 16
#define MAPLE_JOBS_MAX	256
#define MAPLE_TURNS_MAX 8 /* preemptions of a schedule of rank */

/*
 * maple_strategy_name - what may decide which run is next, the @i-th: "auto",
 * the default, "maple", ...; NULL behind the last one
 */
const char *maple_strategy_name(unsigned int i);

/*
 * maple_campaign_classes - reads a list of the default strategy's classes, such
 * as "1-3,5", for the field of this name
 *
 * Returns NULL, or what was expected.
 */
const char *maple_campaign_classes(const char *text, unsigned int *classes);

/* Zero is the default of every field but those that say otherwise. */
/* What a schedule of rank may have at most of each; 0: what it has by itself. */
struct maple_bounds {
	unsigned int preemptions;
	unsigned int variables; /* that threads stand before at these */
	unsigned int threads;	/* that take part in them */
};

struct maple_campaign_options {
	char *const *argv; /* program and arguments; required */
	/*
	 * It runs already: <maple/attach.h>. Then timeout is how long an order
	 * is tried, and what is about starting a program has no meaning.
	 */
	struct maple_attached *attached;
	const char *exe;   /* --exe GLOB */
	const char *input; /* --input KEY; NULL: it is known by argv */
	/*
	 * What other inputs have exposed says nothing about this one; nor does
	 * it where none is named.
	 */
	bool apart;
	const char *const *include; /* --include globs, NULL-terminated */
	const char *const *exclude;
	const char *oracle;	   /* --oracle CMD, by /bin/sh */
	const char *expect_output; /* --expect-output FILE */
	const char *setup;	   /* --setup CMD, before each run */
	const char *teardown;	   /* --teardown CMD, after each run */
	const char *between;	   /* --between CMD, drives a server's round */
	const char *under;	   /* --under CMD, the debugger of a replay */
	const char *agent;	   /* path of libmaple-agent.so; NULL: search */
	const char *backend;	   /* --backend; NULL: the best there is, of a
				      replay: those of the finding */
	const char *strategy;	   /* a name of these; NULL: the default */
	enum maple_order order;
	enum maple_sites sites; /* not ALL: only where eBPF observes */
	unsigned int depth;	/* PCT's, to MAPLE_DEPTH_MAX; 0: 3 */
	unsigned int classes;	/* of goals: bit i, the i-th from 1; 0: all */
	uint64_t seed;		/* 0: from the system */
	double max_time;	/* seconds; 0: no limit */
	/* To wait for a CPU; up to 0: max_time, but 120 at most. */
	double patience;
	unsigned int max_runs; /* but baseline and confirming; 0: no limit */
	double timeout;	       /* of one run, seconds; 0: from baseline */
	/*
	 * Targets that run at once, each on a CPU of its own; 0: 1. With more
	 * than one a seed does not tell all of a campaign any more.
	 */
	unsigned int jobs;
	unsigned int together; /* orders forced in one run; 0: what the
				  backend can; 1: one */
	unsigned int attempts; /* per candidate and input; 0: each way */
	unsigned int confirm;  /* replays and flips; default 5 */
	bool no_confirm;
	bool keep_going;
	bool observe;	 /* of one that runs already: force nothing */
	bool violations; /* those of atomic sets are told */
	/* Sets that are declared: implies violations. Not owned, or NULL. */
	const struct maple_atomic_sets *atomic_sets;
	bool strict_sets;    /* a violation of one of these is a failure */
	bool baseline_fails; /* go on although the baseline fails */
	/* What PROG exits with when all is well, plus one; 0: with status 0. */
	unsigned int expect_exit;
	bool fresh;	   /* forget what the memo knows of it first */
	bool no_heap_fill; /* freed memory is left as it is */
	bool whole;	   /* a server's start-up is tried as well */
	bool real_time;	   /* controlled runs have no time of their own */
	/*
	 * As where real-time priorities are refused: who is held in a controlled
	 * run sleeps, and no order is forced. What needs them is -EINVAL.
	 */
	bool no_priorities;
	bool patterns;		    /* they are counted, in place of iRoots */
	bool until_covered;	    /* pcr: ends when no pattern is left */
	struct maple_bounds bounds; /* rank */
	bool exhaust; /* rank: all schedules within bounds, and no others */
	bool exec;    /* --exec: execute each run, fork none */
	bool quiet_target; /* its output goes nowhere but findings */
	/*
	 * mapled, which lends CPU, priorities and maple.ko; or NULL: we have
	 * to have them. The memo is another matter: maple_host_memo().
	 */
	struct maple_host *host;
	/*
	 * Where the observer's service listens, for who may not load eBPF:
	 * MAPLE_OBSERVER_SOCKET; NULL: it is not asked.
	 */
	const char *observer;
	/* What is not to count; its counts of use change. Or NULL. */
	struct maple_suppressions *suppressions;

	/*
	 * Called by one thread of the campaign's at a time: on each change of
	 * phase, after each run, and a few times a second while one lasts.
	 */
	void (*progress)(void *ctx, const struct maple_progress *progress);
	/* Notices for the user: one sentence each. */
	void (*notice)(void *ctx, const char *text);
	/*
	 * Nothing stands against the campaign any more that is known before a
	 * run: the first one is next, or the wait for a CPU, of which a notice
	 * has told. Called once, by the thread that began the campaign. Or NULL.
	 */
	void (*ready)(void *ctx);
	/* The job that it is, from then on; or NULL. */
	const struct maple_memo_job *job;
	/* What it has been waiting for for some seconds, nothing being run;
	   a notice has said the same. Or NULL. */
	void (*waits)(void *ctx, const char *text);
	/* Each finding, when it is confirmed. Not owned. */
	void (*finding)(void *ctx, const struct maple_finding *finding);
	void *ctx;
};

enum maple_phase {
	MAPLE_PHASE_BASELINE,
	MAPLE_PHASE_PROFILE,
	MAPLE_PHASE_ENFORCE,
	MAPLE_PHASE_CONTROL,
	MAPLE_PHASE_CONFIRM,
	MAPLE_PHASE_DONE,
};

/* maple_phase_name - "baseline", "profile", ... */
const char *maple_phase_name(enum maple_phase phase);

struct maple_runs {
	unsigned int baseline, profile, enforced, controlled, confirm;
	unsigned int again;  /* enforced ones of an order exposed before */
	unsigned int rounds; /* of requests, --between, in all of them */
};

/* maple_runs_made - those that look for something: --max-runs counts these */
static inline unsigned int maple_runs_made(const struct maple_runs *runs)
{
	return runs->profile + runs->enforced + runs->controlled;
}

struct maple_progress {
	enum maple_phase phase;
	bool run_ended; /* a run ended; false: a sign of life */
	struct maple_runs runs;
	double seconds;			/* since the campaign began */
	double seconds_left;		/* until max_time; negative: no limit */
	uint64_t candidates;		/* left to try */
	struct maple_coverage coverage; /* not owned */
	unsigned int findings;
	unsigned int dry_runs; /* runs in a row without a new iRoot */
};

/* What one of the parts of a strategy did, or all of a strategy of one part. */
struct maple_part_runs {
	const char *name;  /* "pcr"; not owned */
	unsigned int runs; /* that were its own; but baseline and confirming */
	unsigned int news; /* of these, runs that showed what no run had */
	unsigned int findings; /* that its runs were the first to show */
	double seconds;	       /* that its runs took */
};

enum maple_outcome {
	MAPLE_CLEAN, /* delivered, nothing found */
	MAPLE_FOUND,
	MAPLE_UNDELIVERED, /* nothing was observed or enforced: see why */
};

/* maple_outcome_name - "clean", "finding", "undelivered" */
const char *maple_outcome_name(enum maple_outcome outcome);

/* Why a campaign ended. */
enum maple_stop {
	MAPLE_STOP_SATURATED, /* nothing left to try, and no news for long */
	MAPLE_STOP_FOUND,     /* it has what it was after */
	MAPLE_STOP_TIME,      /* max_time */
	MAPLE_STOP_RUNS,      /* max_runs */
	MAPLE_STOP_ASKED,     /* by a signal, or whoever detached */
	MAPLE_STOP_GONE,      /* a joined program has ended */
	MAPLE_STOP_GAVE_UP,   /* no run could be judged, or all are ours */
};

/* maple_stop_name - "saturated", "finding", "time limit", ... */
const char *maple_stop_name(enum maple_stop stop);

/* Why a run was not judged: it counts neither as passed nor as failed. */
enum maple_unjudged {
	MAPLE_UNJUDGED_KILLED,	/* by a signal from outside the program */
	MAPLE_UNJUDGED_SAID,	/* program, setup or oracle: status 77 or 125 */
	MAPLE_UNJUDGED_STARVED, /* over its time limit for want of a CPU */
	MAPLE_UNJUDGED_HUNG,	/* over its time limit, and never again */
	MAPLE_UNJUDGEDS
};

/* maple_unjudged_name - "killed", "said", "starved", "hung" */
const char *maple_unjudged_name(enum maple_unjudged why);

/* What controlled runs came to, all together: those that were not let go. */
struct maple_control_sum {
	uint64_t runs;
	uint64_t points;   /* while another thread was alive, */
	uint64_t open;	   /* ... with more than one that could go on */
	uint64_t switches; /* ... at which another one was chosen */
	double seconds;	   /* from main() to their ends */
};

/* What was and was not observed, for --verbose. */
struct maple_delivery {
	uint64_t sites, hits[4]; /* by way: jump, neighbours, pun, trap */
	uint64_t unreached;	 /* sites no jump leads to */
	uint64_t apart;		 /* sites left out by what the binary tells */
	uint64_t lost;		 /* events dropped */
	/* More than there is room for, the most of a run: not observed. */
	uint64_t threads_over, images_over, calls_over;
	uint64_t undelivered_runs;
	uint64_t let_go; /* runs over their time, native from then on */
	uint64_t unjudged[MAPLE_UNJUDGEDS]; /* runs, by reason */
	struct maple_control_sum control;
	char *left_out; /* sites left out by reason, as text */
	/* Plain read-modify-write instructions of what was decoded, ... */
	uint64_t splits;    /* ... that an order can come in the middle of, */
	uint64_t whole;	    /* ... that it cannot; */
	uint64_t startup;   /* orders not tried: of a server's start-up */
	uint64_t not_split; /* orders not tried: maple.ko splits nothing */
};

/* Who watched and who forced: "agent", "ebpf", "module". */
struct maple_backends {
	const char *observe, *enforce; /* not owned; or "none" */
	char why[256]; /* why these, and what stands against the better */
};

/* Things of which a cap of observer or predictor lets some go. */
enum maple_cut {
	MAPLE_CUT_LOCATIONS,	/* accesses to more locations or threads */
	MAPLE_CUT_BYTES,	/* of large accesses */
	MAPLE_CUT_SUMMARIES,	/* accesses that are told apart, per location */
	MAPLE_CUT_SPANS,	/* epochs of each of these */
	MAPLE_CUT_SYNCS,	/* synchronisation objects and signals */
	MAPLE_CUT_IROOTS,	/* in one run */
	MAPLE_CUT_GUARDS,	/* locations kept for guards */
	MAPLE_CUT_RECENT,	/* accesses in the vulnerability window */
	MAPLE_CUT_WALKS,	/* searches for local pairs */
	MAPLE_CUT_PAIRS,	/* local pairs */
	MAPLE_CUT_STRETCHES,	/* epochs of accesses in local pairs */
	MAPLE_CUT_EDGES,	/* dependencies of these */
	MAPLE_CUT_CORRELATIONS, /* of local pairs with dependencies */
	MAPLE_CUT_SEQUENCES,	/* searches for what has several dependencies */
	MAPLE_CUT_CAUSES,	/* what threads knew of each other */
	MAPLE_CUTS,
};

/* maple_cut_name - "locations", "bytes", ... */
const char *maple_cut_name(enum maple_cut cut);

/* What observer and predictor were given, over all runs, and let go. */
struct maple_prediction {
	uint64_t events;
	uint64_t cut[MAPLE_CUTS]; /* what cap, how often; 0: not at all */
};

/* What --exhaust came to: all schedules within bounds, or why not all. */
struct maple_bound {
	struct maple_bounds bounds; /* 0: none */
	const char *counted; /* against bounds.preemptions: "preemption", or
				"delay"; static */
	uint64_t schedules;  /* that were run */
	uint64_t orders; /* that these came to: of accesses that depend on each
			    other, locks and the like; as far as they were
			    seen to their end */
	/* that did not do what they say, or were not seen to their end */
	uint64_t unsure;
	uint64_t dropped; /* that were not run, as there was no room for them */
	bool exhausted;
};

struct maple_campaign_result {
	enum maple_outcome outcome;
	uint64_t seed;
	double seconds;
	struct maple_runs runs;
	unsigned int first_finding_runs; /* 0: none */
	double first_finding_seconds;
	unsigned int nfindings;
	struct maple_finding **findings;    /* owned */
	unsigned int nsuppressed;	    /* findings that do not count */
	struct maple_finding **suppressed;  /* owned; not confirmed */
	unsigned int nfixed;		    /* known ones that fail no more */
	struct maple_finding **fixed;	    /* owned */
	struct maple_coverage coverage;	    /* owned */
	struct maple_violations violations; /* owned */
	unsigned int nparts;
	struct maple_part_runs *parts; /* of the strategy; owned */
	/* The sum of coverage.left; and of these: what is like them failed. */
	uint64_t candidates_left, candidates_resting;
	unsigned int dry_runs;
	enum maple_stop stop;
	bool exhausted;	 /* nothing was left to try: stop is SATURATED */
	bool shared_cpu; /* another campaign had the target's CPU as well */
	bool sleeps; /* there were no real-time priorities: none was forced */
	struct maple_bound bound; /* of options->exhaust */
	char *unseen;	  /* threads that never ran, "0.2, 0.3"; or NULL */
	char *unobserved; /* images, programs, events, as text; or NULL */
	char *cut_short;  /* "--setup 'X'", under way at the end; or NULL */
	struct maple_delivery delivery;
	struct maple_backends backends;
	struct maple_prediction prediction;
	char *undelivered;    /* why, and the mend; NULL unless UNDELIVERED */
	bool unsupported;     /* ... which is this machine's, or PROG says so */
	bool single_threaded; /* UNDELIVERED: it never had a second thread */
	bool interrupted;     /* by a signal */
};

/*
 * maple_campaign_backend - the name of the @i-th backend in this build:
 * "agent", "ebpf", "module"; NULL behind the last one
 */
const char *maple_campaign_backend(unsigned int i);

/* maple_campaign_knows_backend - whether @name can be an option's backend */
bool maple_campaign_knows_backend(const char *name);

/*
 * maple_campaign_run - runs a whole campaign
 * @memo: open database; may not be NULL (":memory:" will do)
 * @result: to be freed with maple_campaign_result_destroy(); set on success
 *
 * Returns 0 when the campaign could be carried out, whatever it found.
 * Errors: -ENOENT the program is not there (exit status 127), -ENOEXEC or
 * -EACCES it cannot be run (126), anything else: the tool cannot do its work
 * (125), -EPERM among them when real-time priorities are refused. What this
 * machine cannot do, or what the program's own status 77 or 125 declines, is
 * -EPERM, -ENOTSUP or -ENOSYS, and nothing else is.
 */
int maple_campaign_run(const struct maple_campaign_options *options,
		       struct maple_memo *memo,
		       struct maple_campaign_result **result,
		       struct maple_error *err);
void maple_campaign_result_destroy(struct maple_campaign_result *result);

/*
 * maple_campaign_parts - what each part of the strategy did, as a JSON array
 *
 * [{"name":"pcr","runs":7,"news":2,"findings":1,"seconds":0.4},...]; to be
 * freed; NULL: no memory.
 */
char *maple_campaign_parts(const struct maple_campaign_result *result);

/*
 * maple_campaign_replay - reruns what @finding recorded, @times times
 * @flip: run its control instead: the first dependency reversed
 * @fails: how many of the runs failed as the finding did
 *
 * With options->under each run is under a gdb that stops at each switch of the
 * schedule. It has the caller's terminal; SIGINT and SIGQUIT are ignored here,
 * and there is no time limit for what it holds. Errors: -ENOTSUP the finding
 * has no switches, or there is no such gdb; -ECANCELED the debugger was killed,
 * or has killed the program.
 */
int maple_campaign_replay(const struct maple_campaign_options *options,
			  const struct maple_finding *finding,
			  unsigned int times, bool flip, unsigned int *fails,
			  struct maple_error *err);

/*
 * One answer of maple_campaign_probe(): what works on this machine, and the
 * command that mends what does not.
 */
struct maple_probe {
	const char *name; /* "real-time priorities" */
	enum { MAPLE_PROBE_OK, MAPLE_PROBE_MISSING, MAPLE_PROBE_INFO } state;
	char text[256]; /* what was seen */
	char mend[256]; /* the command, or "" */
};

/*
 * maple_campaign_probe - what maple can do here, for `mapletest doctor`
 * @argv: a program to look at as well, or NULL
 * @host: mapled, whose help counts, or NULL
 * @observer: as in the campaign's options
 * @probes: filled with up to @max answers
 *
 * Returns how many were filled.
 */
unsigned int maple_campaign_probe(char *const *argv, const char *agent,
				  struct maple_host *host, const char *observer,
				  struct maple_probe *probes, unsigned int max);

#endif
