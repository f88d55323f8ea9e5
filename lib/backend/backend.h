/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a campaign asks of a backend, and the one form of the answer. A
 * backend carries out one run at a time: it starts the program, observes or
 * enforces, hands out events while the program runs, and ends with a
 * struct maple_run that says what came of it and whether it was delivered.
 *
 * Three can be had: the agent observes and enforces from inside the program,
 * eBPF observes and maple.ko enforces from outside. A campaign works with a
 * pair of them, pair.h.
 */
#ifndef MAPLE_BACKEND_BACKEND_H
#define MAPLE_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/event.h>
#include <maple/finding.h>
#include <maple/sites.h>
#include "../abi/schedule.h"
#include "../image/registry.h"
#include "../plan/automaton.h"
#include "../policy/policy.h"
#include "cpu.h"

enum maple_run_kind {
	MAPLE_RUN_NATIVE,
	MAPLE_RUN_PROFILE,
	MAPLE_RUN_ENFORCE,
	/* only priorities, beside one that observes and cannot set them */
	MAPLE_RUN_SCHEDULE,
	/* at each point a policy says which thread goes on: ops->controls */
	MAPLE_RUN_CONTROL,
};

#define MAPLE_RUN_CHANGES 64
#define MAPLE_RUN_NET	  4 /* variables that a run watches */
#define MAPLE_RUN_THEN	  7 /* plans that follow the first, at most */

/*
 * What a run leaves alone, of what has a number: the site, and the accesses
 * that functions do for the call. Calls of controlled runs only.
 */
enum maple_alone { MAPLE_ALONE_SITE = 1, MAPLE_ALONE_CALL = 2 };

struct maple_change {
	uint32_t site;
	uint32_t hit; /* how-manieth hit of the site in the whole run; of MEET's
			 first one: not 0 if one thread is to go later */
};

/*
 * What a controlled run is to do. Its points are what the order does not leave
 * alone, and all calls that synchronise. With LIST, and no log, no
 * order says what to leave alone: its points are the sites of the list's
 * entries, ARRIVED included.
 * What it points to is the caller's, and outlives the run.
 */
struct maple_run_control {
	struct maple_policy_order order;
	/*
	 * LIST: thread and next of the entries are indices of @names. Entries
	 * of one thread stand in the order in which it comes to them, as in a
	 * log; those of different threads may stand in any.
	 */
	const struct maple_policy_switch *list;
	uint32_t nlist; /* MAPLE_POLICY_ENTRIES at most; else the run is refused */
	/* lasting names, for the list and for weights */
	const struct maple_policy_name *names;
	uint32_t nnames; /* MAPLE_THREADS at most */
	/*
	 * SURW: for each name how many interesting accesses it will make; NULL:
	 * none. A name that is not born counts for who is to create it.
	 */
	const uint32_t *weight;
	bool log; /* events of points and calls go to sink->event, as in PROFILE */
	/*
	 * LIST: ... and of all sites that the order does not leave alone, which
	 * are no points, with values, and what else <maple/event.h> has of such
	 * runs. It has to be executed: order->fresh.
	 */
	bool values;
	/* ... with the values that are read, of up to 8 bytes */
	bool reads;
	/*
	 * Variables (maple_registry_variable()) that are watched beside those
	 * that the list is about; accesses that code without sites makes to
	 * them are points
	 */
	const uint32_t *net;
	uint32_t nnet; /* MAPLE_RUN_NET at most */
};

/*
 * The debugger that a run is under. It is started when the program stands
 * before main(), is to trace it, and lets it go when it likes; as long as it
 * traces it there is no time limit.
 */
struct maple_run_debugger {
	const char *command; /* of a shell, which gets options of gdb's more */
	int script; /* a descriptor: what gdb is to do first, with MAPLE_PID */
	void (*notice)(void *ctx, const char *text);
	void *ctx;
};

struct maple_run_order {
	enum maple_run_kind kind;
	enum maple_schedule schedule;  /* PROFILE, SCHEDULE */
	const struct maple_plan *plan; /* ENFORCE */
	const struct maple_plan *then; /* that follow it, up to ops->follow */
	uint32_t nthen;
	uint64_t seed;
	uint32_t nchanges;
	struct maple_change change[MAPLE_RUN_CHANGES];
	uint32_t budget; /* events of accesses a site records; 0: no limit */
	bool lossless; /* threads on one CPU wait for whoever takes its events */
	const struct maple_run_control *control; /* CONTROL */
	/* CONTROL: where ops->awaits, or NULL */
	const struct maple_run_debugger *debugger;
	/* PROFILE, CONTROL: by number, what is left alone: enum maple_alone */
	const uint8_t *alone;
	uint32_t nalone;
	double timeout; /* seconds until it counts as hung */
	/*
	 * ... until it is let go, if that is earlier; or 0. CONTROL: seconds;
	 * others: of the CPU
	 */
	double hold;
	double grace; /* seconds that it then gets, scheduled natively */
	int in, out, err;
	bool own_group;
	bool fresh;  /* executed for itself, at addresses of its own */
	bool stacks; /* of all threads, when the run fails */
	bool names;  /* where memory comes from is to be in the log */
	bool fill;   /* ENFORCE: freed memory is filled, and kept for a while */
	/* ENFORCE: how long a slice is (agent); 0: as the plan says, in ms */
	uint32_t slice_us;
	bool ask_call;	/* run.call is wanted, whatever that costs */
	bool narrow;	/* all that it may run on is the campaign's CPU */
	bool outsiders; /* commands of the user's may send it signals */
};

#define MAPLE_RUN_SOON (-2)

/* Called in the caller's thread while the run lasts. */
struct maple_run_sink {
	void *ctx;
	/* an event happened */
	void (*event)(void *ctx, const struct maple_event *event);
	/*
	 * a few hundred times a second; false ends the run. @pid is 0 when the
	 * program has ended, and its debugger not
	 */
	bool (*tick)(void *ctx, pid_t pid);
	/*
	 * as often, and when *@news, a descriptor or -1, may be read; or soon
	 * again, where it is MAPLE_RUN_SOON: whether the run has done what it
	 * is for; NULL: it ends
	 */
	bool (*enough)(void *ctx, pid_t pid, int *news);
};

enum maple_end {
	MAPLE_END_ITSELF,
	MAPLE_END_DEADLOCK, /* every thread waited for another; killed */
	MAPLE_END_HANG,	    /* over the timeout; killed */
	MAPLE_END_STOPPED,  /* by tick(); killed, or left if it had joined us */
	MAPLE_END_SLOW,	    /* it is we who take so long; killed, no verdict */
	MAPLE_END_STARVED,  /* it got no CPU; killed, no verdict */
	MAPLE_END_LEFT,	    /* it had joined us; its time with us is over */
	MAPLE_END_ENOUGH,   /* said by enough(); killed */
};

struct maple_run_thread {
	char name[MAPLE_PLAN_NAME];
	int tid;
	uint64_t pthread; /* its pthread_t */
	uint32_t at;	  /* site whose hook it was in, + 1; 0: none */
};

/* A thread that slept, without a timeout, when the run was ended. */
struct maple_run_wait {
	int tid;
	uint64_t futex; /* the word that it slept on */
};

/* Where an image of the registry lay in this run. */
struct maple_run_image {
	uint32_t index; /* in the registry */
	bool is_main;
	uint64_t bias, lo, hi;
};

struct maple_run {
	enum maple_end end;
	int status;   /* as from waitpid */
	bool unknown; /* ... but nobody could wait for it */
	double seconds, cpu_seconds;
	double entered; /* when it got to its own code; 0: not known */
	double ended;	/* both by maple_clock_now() */
	int call;	/* asked for: what it got SIGSYS for; -1: none */
	bool released;	/* over its limit, and native from then on */

	bool delivered;
	char why_not[256]; /* unless delivered: the cause and the mend */
	bool unsupported;  /* ... which is this machine's, not the program's */
	/* killed, or as far as is known, by somebody who is no part of it */
	bool outside;
	char stranger[256]; /* another program that had threads, or "" */

	struct maple_auto_result automaton;
	uint32_t begun; /* bit i: order->then[i] was */
	struct maple_auto_result then[MAPLE_RUN_THEN];
	int signo; /* fatal signal, while it still stood; or 0 */
	int failed_tid;
	uint64_t fault, pc;
	unsigned int nstacks;
	struct maple_stack *stacks;
	char no_stacks[MAPLE_ERROR_MAX]; /* why there are none, though asked
					    for; or "" */

	unsigned int nthreads;
	struct maple_run_thread *threads;
	unsigned int nwaits; /* with DEADLOCK and HANG */
	struct maple_run_wait *waits;
	unsigned int nimages;
	struct maple_run_image *images;
	uint64_t sites, hits[MAPLE_WAYS], calls, lost, unreached, spins;
	/* More than there is room for: neither observed nor ordered. */
	uint64_t threads_over, images_over, calls_over;
	uint64_t apart;	  /* sites left out by what the binary tells */
	uint64_t changes; /* change points come to; MEET: meetings */

	/*
	 * CONTROL: the schedule that the run had, in the order of its choices,
	 * and the names of its threads by number: to follow it, give both to
	 * another order as list and names. It is all of it if counts.over and
	 * counts.uncounted are 0.
	 */
	struct maple_policy_counts counts;
	uint32_t ndecided;
	struct maple_policy_switch *decided;
	uint32_t nnames;
	struct maple_policy_name *names;
};

struct maple_host;
struct maple_launch;
struct maple_launch_order;

/*
 * A process that ran before us and will after us. A run is then a stretch of
 * its life: it ends after the order's timeout, or soon after the order was
 * carried out, and nothing on any way out stops or kills it.
 */
struct maple_joined {
	pid_t pid;
	int pidfd;
};

struct maple_backend_options {
	const char *program; /* its path; NULL: none yet, for a probe */
	char *const *argv;
	const char *exe;
	const char *const *include;
	const char *const *exclude;
	const char *agent;	/* path of libmaple-agent.so, or NULL */
	bool exec;		/* each run is executed, none forked */
	enum maple_sites sites; /* of eBPF's probes */
	bool on_time;		/* ... and not before its turn */
	/*
	 * There are no real-time priorities. Who is held in a controlled run
	 * sleeps; all other kinds of runs are to be NATIVE ones.
	 */
	bool sleeps;
	struct maple_registry *registry;
	const struct maple_cpu *cpu; /* the target's */
	struct maple_host *host;     /* mapled, or NULL */
	const char *observer; /* where its service listens; NULL: asks none */
	const struct maple_joined *joined; /* or NULL: we start it */
	void (*notice)(void *ctx, const char *text);
	void *ctx;
};

struct maple_backend;

/*
 * How a run is carried out and watched over: filled in by a backend for
 * run.c. Site numbers are the registry's on both sides of this interface.
 */
struct maple_backend_ops {
	const char *name;
	bool inside; /* works in the program's own threads */
	/* holds a crashed program itself; if nobody does, the guard will */
	bool keeps_crashed;
	/* plans that may follow the first in a run; to MAPLE_RUN_THEN */
	unsigned int follow;
	bool conditions;  /* ... and can force events of conditions */
	bool ends;	  /* ... and the end of memory, as a write */
	bool heeds_names; /* order.names; the log of others always has them */
	/* sets the priorities of profile runs; else somebody beside it does */
	bool schedules;
	bool turns; /* ... TURNS as well */
	/*
	 * carries out CONTROL; not where another campaign has the CPU, too
	 * (cpu->shared): its threads would stall ours at any point
	 */
	bool controls;
	/* can let a plan come between the halves of one instruction */
	bool splits;
	/* tells callers apart, and can keep a step of a plan to some of them */
	bool callers;
	/* before the program starts; may set *@envp, to be freed */
	int (*prepare)(struct maple_backend *b,
		       const struct maple_run_order *order, char ***envp,
		       struct maple_error *err);
	/*
	 * After prepare(): the launch that the run is under way in, forked
	 * from a process that was prepared before, or executed before; NULL
	 * when it is to be executed as @start says. NULL: it always is.
	 */
	struct maple_launch *(*fork)(struct maple_backend *b,
				     const struct maple_launch_order *start);
	/*
	 * Process @pid stands at its entry point, everything that it is
	 * linked with is mapped, and goes on when this returns; or it was
	 * joined, and runs. NULL: it is not stopped.
	 */
	int (*attach)(struct maple_backend *b, pid_t pid,
		      struct maple_error *err);
	/* again and again; returns the pid to watch, 0 while there is none */
	pid_t (*serve)(struct maple_backend *b,
		       const struct maple_run_sink *sink, struct maple_run *run);
	/* whether what is left of an ended program matters; NULL: no */
	bool (*lingers)(struct maple_backend *b, double since);
	/* the process that waits for its debugger, or 0; NULL: none does */
	pid_t (*awaits)(struct maple_backend *b);
	/* that is there, or there no more */
	void (*debugged)(struct maple_backend *b, bool there);
	/* the program is gone, whether it was attached to or not */
	void (*finish)(struct maple_backend *b,
		       const struct maple_run_sink *sink, struct maple_run *run);
	/*
	 * Where a function returns to whose return address, at @slot of a
	 * stopped thread's stack, has been replaced for this backend; 0: not
	 * known. NULL: it replaces none.
	 */
	uint64_t (*return_of)(struct maple_backend *b, uint64_t slot);
	/* whether the order has been carried out; NULL: it takes all its time */
	bool (*done)(struct maple_backend *b);
	/* how the joined process has ended; NULL, false: not known */
	bool (*ended)(struct maple_backend *b, int *status);
	/* native scheduling for all threads, for the rest of the run */
	void (*release)(struct maple_backend *b);
	void (*destroy)(struct maple_backend *b);
};

struct maple_backend {
	const struct maple_backend_ops *ops;
	struct maple_backend_options options;
	const struct maple_run_order *order; /* while a run lasts */
};

/* Whether a backend can be used, and what is missing if not. */
struct maple_ability {
	int error;	/* 0: it can; else -errno */
	char text[256]; /* what was seen */
	char mend[256]; /* the command that mends it, or "" */
};

/* agent/agent.c, agent/probe.c */
int maple_backend_agent_create(const struct maple_backend_options *options,
			       struct maple_backend **backend,
			       struct maple_error *err);
void maple_agent_probe(const struct maple_backend_options *options,
		       struct maple_ability *ability);
/* agent/joined.c: of options->joined */
void maple_agent_joined_probe(const struct maple_backend_options *options,
			      struct maple_ability *ability);
bool maple_agent_joined_forces(const struct maple_backend_options *options);
int maple_agent_joined_mend(pid_t pid, bool *mended, struct maple_error *err);
/* kernel/observe.c */
int maple_backend_ebpf_create(const struct maple_backend_options *options,
			      struct maple_backend **backend,
			      struct maple_error *err);
void maple_ebpf_probe(const struct maple_backend_options *options,
		      struct maple_ability *ability);

/* kernel/enforce.c */
int maple_backend_module_create(const struct maple_backend_options *options,
				struct maple_backend **backend,
				struct maple_error *err);
void maple_module_probe(const struct maple_backend_options *options,
			struct maple_ability *ability);
void maple_module_mend(const char *release, const char *root, char *mend,
		       size_t size);

/* kernel/filtered.c: whether a seccomp filter can kill for our probes */
bool maple_uretprobe_is_filtered(void);

/* run.c; @beside gets order's SCHEDULE, or is NULL */
int maple_backend_run(struct maple_backend *b, struct maple_backend *beside,
		      const struct maple_run_order *order,
		      const struct maple_run_sink *sink, struct maple_run *run,
		      struct maple_error *err);
void maple_backend_destroy(struct maple_backend *b);
int maple_backend_errno(int e);

/* outcome.c */
struct maple_stack_returns;
void maple_run_waits(struct maple_run *run, pid_t pid);
void maple_run_stacks(struct maple_run *run, const struct maple_run_order *order,
		      pid_t pid, const struct maple_stack_returns *returns);
int maple_run_sent(int status);
void maple_run_deinit(struct maple_run *run);

/* realtime.c */
int maple_realtime_probe(struct maple_host *host, struct maple_error *err);
void maple_realtime_allow(void);
int maple_realtime_rise(pid_t tid, int policy, int priority);

#endif
