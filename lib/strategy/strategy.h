/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The seam between a campaign and a system that finds bugs.
 *
 * The campaign keeps what all systems share: baseline, lanes, runs, verdicts,
 * control, suppressions, memo, report. A strategy says what is run next, and is
 * told what came of it. A system is a folder beside this file, with one table
 * of functions; strategy.c has the list.
 *
 * Context: every function of a strategy is called with the campaign's turn,
 * one at a time, except event(), which is called while a run lasts, by the
 * thread of that run, beside anything else. So event() touches nothing but its
 * job.
 */
#ifndef MAPLE_STRATEGY_STRATEGY_H
#define MAPLE_STRATEGY_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/campaign.h>
#include <maple/error.h>
#include <maple/event.h>
#include "../backend/backend.h"
#include "../image/registry.h"
#include "../plan/plan.h"
#include "../predict/sets/sets.h"
#include "goal.h"
#include "switches.h"

/* SURW: how many accesses the threads of these names will make; both owned. */
struct maple_expected {
	uint32_t n;
	struct maple_policy_name *name;
	uint32_t *weight;
};

/*
 * What a run is to do, and what it came to. The campaign hands out a job that
 * is zero but for its seed; next() fills in the rest.
 */
struct maple_job {
	enum maple_run_kind kind;
	enum maple_schedule schedule; /* PROFILE */
	uint64_t seed;
	unsigned int part; /* of the strategy, that asked for it */
	double choice;	   /* ... after so many seconds, if it says so */
	uint32_t nchanges; /* PROFILE: where priorities change */
	struct maple_change change[MAPLE_RUN_CHANGES];
	/* ENFORCE: an order, and those that follow it. */
	struct maple_plan plan;
	unsigned int nthen;
	struct maple_plan then[MAPLE_RUN_THEN];
	bool fill; /* freed memory is filled, and kept for a while */
	/* CONTROL: who chooses; and LIST's schedule, owned, with what is named */
	struct maple_policy_order policy;
	struct maple_switches switches;
	struct maple_expected expected;
	/* CONTROL: variables whose unknown accesses are points, net.h */
	uint32_t nnet, net[MAPLE_RUN_NET];
	bool reads; /* CONTROL: events of reads have values */
	/* CONTROL: events that a site records; 0: as many as in others */
	uint32_t budget;
	/*
	 * Seconds, of other runs than CONTROL of the CPU, after which its
	 * schedule is let go; 0: when it is a hang.
	 */
	double hold;
	/* PROFILE, CONTROL: what is left alone, as in the run's order. Owned. */
	uint8_t *alone;
	uint32_t nalone;

	/* What @plan and @then are about; the strategy's. NULL: nothing. */
	struct maple_goal *goal;
	struct maple_goal *beside[MAPLE_RUN_THEN];
	/*
	 * Which try of @goal this is, over all campaigns with the memo, which
	 * is told; 0: none, though it may be forced.
	 */
	unsigned int attempt;
	bool again;	  /* @goal had been exposed before */
	bool rested;	  /* ... had been put to rest */
	uint32_t variant; /* of @goal, the strategy's; 0: none, it is all of it */
	/*
	 * Runs of this kind that brought nothing, the last ones in a row;
	 * whether nothing is left to try, so that this one looks for news only;
	 * and controlled runs that are still to bring nothing before it can be
	 * said that there is no news.
	 */
	unsigned int dry;
	bool idle;
	unsigned int wanted;
	void *own; /* the strategy's; gone after ended() or drop() */
	void *aim; /* ... as well */

	/* Filled in by ended(). */
	bool news;    /* something happened, or became known, first here */
	bool claimed; /* whoever enforced says that @goal was exposed */
	bool exposed; /* the observer says so */
	bool refused; /* claimed, and the observer does not */
	enum maple_memo_reason reason;
};

/* How a job's run ended. Nothing of it is the strategy's to keep. */
struct maple_job_end {
	const struct maple_run *run;
	bool failed; /* the verdict */
	bool absent; /* the program under test was not there, and the memo
			knows none */
	/* ENFORCE: what happened, in order, as far as the log has it */
	const struct maple_event *log;
	uint32_t nlog;
};

/*
 * What a strategy knows of the campaign, and may ask of it. It is the
 * campaign's, valid from open() to close(); fields change between calls.
 */
struct maple_study {
	const struct maple_campaign_options *options;
	struct maple_registry *registry;
	uint32_t main_image; /* in the registry; NONE until it was seen */
	unsigned int lanes;  /* runs at once */
	unsigned int lane;   /* next(), ended(): of these, whose run it is */
	/* seconds that a native run takes, and of the CPU; 0: unknown */
	double native, native_cpu;
	bool once; /* each run is a stretch of one life, and none comes again */
	/* What this machine's pair of backends can do. */
	bool alone;	 /* nobody enforces */
	bool controls;	 /* controlled runs can be had */
	bool meets;	 /* ... and those whose threads have CPUs to meet on */
	bool turns;	 /* profile runs may have threads take turns */
	bool splits;	 /* an order may come in the middle of an instruction */
	bool callers;	 /* ... be about some callers of a function alone */
	bool conditions; /* ... be about signals and waits */
	bool ends;	 /* ... and about the end of memory */
	unsigned int most; /* plans that may follow the first in a run */
	/* Sites of declared atomic sets, as far as they are known by now. */
	const struct maple_belonging *belonging;
	size_t nbelonging;
	bool shared; /* other campaigns may do the same at a time; see claim() */
	bool searching; /* a finding is there, and what differs is looked for */
	struct maple_prediction *prediction; /* sums, to be added to */
	void *ctx;
	/* a number that follows from the campaign's seed and @salt */
	uint64_t (*random)(const struct maple_study *study, uint64_t salt);
	/* whether time is up, and what takes long is to be left */
	bool (*over)(void *ctx);
	/*
	 * Tells the memo of @goals and the marks on them, in one go; fills in
	 * row and known where the memo had not been asked. Returns -errno.
	 */
	int (*learn)(struct maple_study *study, struct maple_goal *const *goals,
		     size_t n, struct maple_error *err);
	/*
	 * Claims @goals where campaigns share a memo, which is asked anew what
	 * is known of them: each is claimed then, or taken. Those of a job with
	 * attempt are released when it is over, others by release(). Where none
	 * do, they are neither. NULL: nobody does. Returns -errno.
	 */
	int (*claim)(struct maple_study *study, struct maple_goal *const *goals,
		     size_t n, struct maple_error *err);
	int (*release)(struct maple_study *study,
		       struct maple_goal *const *goals, size_t n,
		       struct maple_error *err);
	/* Tells it of one mark, which then stands. Returns -errno. */
	int (*mark)(struct maple_study *study, const struct maple_goal *goal,
		    enum maple_memo_mark mark, struct maple_error *err);
	/*
	 * Keeps @lists, under @name, for a campaign on this program to come, in
	 * place of those that were there: as many as there is room for, the
	 * first ones first; none: what was there stays. NULL: nobody does.
	 */
	void (*keep)(struct maple_study *study, const char *name,
		     const struct maple_switches *lists, size_t n);
	/*
	 * Those that this build can follow, once the program is known; they and
	 * the array are the caller's. Returns how many. NULL: there are none.
	 */
	size_t (*recall)(struct maple_study *study, const char *name,
			 struct maple_switches **lists);
};

/*
 * maple_job_leave - @job leaves alone what is in @alone, of which it takes a
 * copy; NULL: nothing. 0 or -ENOMEM.
 */
int maple_job_leave(struct maple_job *job, const uint8_t *alone, uint32_t n);

/* maple_job_keep - but not @site, or call */
void maple_job_keep(struct maple_job *job, uint32_t site);

enum maple_next {
	MAPLE_NEXT_RUN,	 /* the job is to be run */
	MAPLE_NEXT_WAIT, /* until some other run has ended */
	MAPLE_NEXT_DONE, /* nothing is left to try, ever */
};

/* What is left at a campaign's end, besides what count() says. */
struct maple_standing {
	uint64_t resting;   /* of what is left: what is like it failed */
	uint64_t startup;   /* left alone: of a server's start-up */
	uint64_t not_split; /* left alone: only a split instruction does it */
	uint32_t unshared;  /* sites left alone, not shared so far */
	bool untried; /* it has not seen enough to say what there is to try */
	/* Of one that forces no order: why it has tested nothing; or NULL. */
	const char *nothing;
	struct maple_bound bound; /* of options->exhaust */
};

#define MAPLE_NEEDS_CHANGES    1u /* priorities that change at accesses */
#define MAPLE_NEEDS_CONTROL    2u /* controlled runs, which a CPU is for alone */
#define MAPLE_NEEDS_PRIORITIES 4u /* those that an order is forced by */

struct maple_strategy {
	const char *name;
	/*
	 * Of its goals, by name, in the order in which they are shown, with
	 * NULL behind the last; count() counts by them. NULL: it has none.
	 */
	const char *const *classes;
	/* The one that does the same, and counts patterns; NULL: there is none. */
	const struct maple_strategy *patterned;
	/* Who of it asks for runs, by name, NULL behind; NULL: it does. */
	const char *const *parts;
	unsigned int needs; /* MAPLE_NEEDS_: of whoever runs its jobs */
	bool forces;	    /* orders: a campaign without one tested nothing */
	bool covers;	    /* it can end when all its goals are done with */
	bool exhausts;	    /* it can run all schedules within bounds */
	unsigned int variant; /* of a folder's; what it says is its own */
	/* *@self: its own; @study outlives it */
	int (*open)(const struct maple_strategy *strategy,
		    struct maple_study *study, void **self,
		    struct maple_error *err);
	/*
	 * What is run next. Each job with RUN comes back by ended() or drop(),
	 * and others may be asked for meanwhile. @e: 0, or -errno.
	 */
	enum maple_next (*next)(void *self, struct maple_job *job,
				struct maple_error *err, int *e);
	/* An event of a PROFILE or CONTROL run, in order, while it lasts. */
	void (*event)(void *self, struct maple_job *job,
		      const struct maple_event *event);
	/*
	 * The run was judged. May change @job, and tell the memo; with ENFORCE
	 * in the transaction that ends the run. Returns -errno.
	 */
	int (*ended)(void *self, struct maple_job *job,
		     const struct maple_job_end *end, struct maple_error *err);
	/* It was cut short, says nothing, or was never begun. */
	void (*drop)(void *self, struct maple_job *job);
	/* What became of its goals so far; @coverage has its classes. */
	void (*count)(const void *self, struct maple_coverage *coverage);
	void (*standing)(const void *self, struct maple_standing *standing);
	/*
	 * Up to @most of the sites that were seen on the memory that @site was
	 * seen on, @site first, as far as threads share it; 0: nobody does.
	 * NULL: never known.
	 */
	unsigned int (*around)(const void *self, uint32_t site, uint32_t *sites,
			       unsigned int most);
	uint32_t (*sites)(const void *self); /* that it can be asked about */
	/* The campaign is over, and may keep something. NULL: nothing. */
	void (*leave)(void *self);
	void (*close)(void *self);
};

extern const struct maple_strategy maple_strategy_auto, maple_strategy_maple,
	maple_strategy_native, maple_strategy_pctlarge,
	maple_strategy_randdelay, maple_strategy_rw, maple_strategy_pos,
	maple_strategy_surw, maple_strategy_pct, maple_strategy_pctvb,
	maple_strategy_pcr, maple_strategy_rank, maple_strategy_chess,
	maple_strategy_delay, maple_strategy_rankchecker, maple_strategy_grey,
	maple_strategy_maptest, maple_strategy_meet;

const struct maple_strategy *maple_strategy_find(const char *name);

#endif
