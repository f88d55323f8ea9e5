/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A campaign under way; internal to this folder. */
#ifndef MAPLE_CAMPAIGN_INTERNAL_H
#define MAPLE_CAMPAIGN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/campaign.h>
#include "../backend/pair.h"
#include "base/clock.h"
#include "../image/registry.h"
#include "../plan/plan.h"
#include "../strategy/strategy.h"
#include "campaign/subject/attached.h"
#include "campaign/subject/subject.h"
#include "campaign/story/belongs.h"
#include "campaign/story/early.h"
#include "campaign/story/holding.h"
#include "campaign/story/violated.h"
#include "campaign/subject/io.h"
#include "lane.h"
#include "campaign/reach/reached.h"

#define MAPLE_BASELINE_RUNS 3
/* Events that a site records, until a thread appears: tests/bench/budget. */
#define MAPLE_BUDGET  300
#define MAPLE_LOG_MAX (1u << 20) /* events kept of an enforced run */

/* What a run came to. */
struct maple_judgement {
	enum maple_failure failure;
	int signo;
	int status; /* EXIT: the exit status; ORACLE: the oracle's */
	char what[256];
	bool unjudged;		 /* no verdict, as @what says: */
	enum maple_unjudged why; /* ... for this reason */
};

struct maple_campaign;

/* The shell of the next round, which waits: round.c. */
struct maple_round_next {
	pid_t pid; /* 0: there is none */
	int go, words;
};

/* Rounds of requests to one server, while the run lasts: round.c. */
struct maple_round {
	const char *text;      /* of the command; NULL: no rounds */
	unsigned int *listens; /* sockets; 0: not known yet */
	struct maple_round_next *shell;
	double began, next;    /* the run; when it may be tried again */
	double driven, ended;  /* the command's start and end; 0: not yet */
	double spent, fastest; /* in commands that have ended; 0: in none */
	pid_t job;	       /* the command, while it runs; */
	int ends;	       /* ... a descriptor that tells its end; or -1 */
	int words;	       /* what it prints; -1: nothing */
	int status;	       /* as the shell says it */
	bool done, unready;    /* the latter: it can never be told */
	unsigned int number;   /* of rounds that this server has had */
	unsigned int exactly;  /* so many are wanted; 0: as many as pay, */
	unsigned int most;     /* ... but no more than that */
	bool native;	       /* they pay whatever happens; a failure of a
				  later one is no verdict */
	int spoilt;	       /* ... its status, if there was one */
	bool moved;	       /* some plan has gone on in this round */
};

/* What a run is for; the memo keeps its name. */
enum maple_purpose {
	MAPLE_FOR_BASELINE,
	MAPLE_FOR_PROFILE,
	MAPLE_FOR_ENFORCED,
	MAPLE_FOR_CONTROLLED,
	MAPLE_FOR_CONFIRM,
	MAPLE_FOR_ATTRIBUTE, /* to find out which order it was */
	MAPLE_FOR_SHORTENED, /* which switches it takes */
	MAPLE_FOR_KNOWN,     /* whether what was found once is still there */
};

/* One run as the campaign sees it. */
struct maple_trial {
	struct maple_job job;
	struct maple_campaign *campaign;
	bool studied; /* the strategy's, and not ours for a control */
	bool told;    /* ... which has heard what came of it */
	struct maple_part_runs *part; /* the failure is its; NULL: nobody's */
	enum maple_purpose purpose;
	bool flip;

	struct maple_run run;
	struct maple_judgement judgement;
	bool stopped;		/* cut short by us: to be ignored */
	bool names;		/* the log says where memory comes from, */
	bool unnamed;		/* ... and does not, but somebody has asked */
	bool values;		/* CONTROL, LIST: there is a log, with values */
	struct maple_io_run io; /* its files; -1: none */
	char *output;		/* what it printed, the last 64 KiB */
	char *oracle; /* what --oracle printed of it, if it has failed */
	char *report; /* ... of that, what a sanitizer reported; or NULL */
	bool threads_seen;
	bool ran[MAPLE_THREADS];  /* threads that did anything */
	struct maple_early early; /* not told to the strategy yet */
	uint64_t space;		  /* if asked for, nonzero: its RLIMIT_AS */
	bool ask_call;		  /* run.call is wanted */
	bool narrow;		  /* on one CPU, as the kernel schedules it */

	struct maple_round round; /* --between, */
	unsigned int rounds;	  /* ... the order's; 0: as many as pay */

	/* Of the log. */
	struct maple_event *log;
	uint32_t nlog, log_room;
	struct maple_holding holding;  /* where the events ended */
	struct maple_witness *witness; /* over atomic sets; NULL: nobody asks */
	struct maple_reached reached;
};

struct maple_campaign {
	const struct maple_campaign_options *options;
	struct maple_memo *memo;
	struct maple_campaign_result *result;
	struct maple_error *err;

	const struct maple_subject *subject;
	struct maple_attached *attached; /* the subject's, if it was joined */
	bool ended;			 /* ... a stretch has seen it end */
	bool is_ready;			 /* options->ready has been told */
	unsigned int returns;		 /* of mapled, that were told of */
	unsigned int exposed_before;	 /* ... orders forced so far */
	char *program;			 /* resolved path of argv[0] */
	char *cwd;	      /* where it is, as far as is known, or NULL */
	const char *requests; /* who makes them, to the memo, or NULL */
	char *agent;
	struct maple_registry *registry;
	struct maple_lanes lanes;
	const char *backend; /* its name */
	struct maple_io io;
	uint64_t seed;
	double began, timeout;
	double deadline; /* on maple_clock_now()'s clock; 0: none */

	/* Baseline. */
	int expected;	      /* exit status */
	bool undefined;	      /* UBSan may be in the program */
	char *between;	      /* the command of its rounds, or NULL */
	char *input;	      /* --input, or what stands for it in the memo */
	unsigned int listens; /* its sockets when it is ready; 0: not known */
	double native_seconds, native_cpu;
	struct maple_round_next next_round;
	double round_seconds;  /* ... what the command takes at least, */
	unsigned int borne[2]; /* ... and how often a server bears it: the
				  worst of the native runs and the next one */

	/* Memo. */
	int64_t memo_campaign, memo_program;
	unsigned int news; /* for the memo, of the run that ends next */
	bool told_full;	   /* that the memo keeps no more of it */
	bool told_let_go;  /* that a run was over its time */
	bool sleeps;	   /* there are no real-time priorities */
	uint32_t carried;  /* images that were looked up in older builds */
	struct maple_known_site *known; /* memory.c */
	struct maple_reached reached;	/* by any run */

	const struct maple_strategy *strategy;
	struct maple_study study;
	void *system; /* the strategy's own; NULL: not open */

	unsigned int run_number;
	unsigned int dry_runs;
	double explored, last_news;  /* when it began, when there was any */
	unsigned int search_until;   /* runs: for what differs; 0: no search */
	struct maple_unseen *unseen; /* threads, and whether they have run */
	bool threads_seen;	     /* some run had a second thread */
	bool delivered;		     /* some run was, and judged, */
	bool observed;		     /* ... a profile run of the exploration, */
	bool enforced;		     /* ... an enforced one, */
	bool controlled;	     /* ... a controlled one, to its end */
	char stranger[256];    /* another program that had threads, or "" */
	char why_not[256];     /* of the last run that was not delivered */
	bool unsupported;      /* ... which is this machine's */
	unsigned int unjudged; /* runs in a row without a verdict */
	bool gave_up;	       /* no other run is to begin, */
	char given_up[512];    /* ... and why */
	enum maple_phase phase;
	double last_progress;

	struct maple_violated_sum violated;
	struct maple_belongs belongs;

	/* Known findings. */
	bool replayed;
	struct maple_finding **gone; /* whose order this build does not have */
	unsigned int ngone;
};

/* campaign.c */
int maple_campaign_run_by(const struct maple_strategy *strategy,
			  const struct maple_campaign_options *options,
			  struct maple_memo *memo,
			  struct maple_campaign_result **result,
			  struct maple_error *err);

/* pace.c */
void maple_campaign_notice(struct maple_campaign *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void maple_campaign_ready(struct maple_campaign *c);
void maple_campaign_progress(struct maple_campaign *c, bool run_ended);
void maple_campaign_count(struct maple_campaign *c);
void maple_campaign_enter(struct maple_campaign *c, enum maple_phase phase);
double maple_campaign_time_left(const struct maple_campaign *c);
bool maple_campaign_over(struct maple_campaign *c);
bool maple_campaign_enough(void *ctx);
bool maple_campaign_may_go_on(struct maple_campaign *c);
uint64_t maple_campaign_seed(const struct maple_campaign *c, uint64_t salt);

/* baseline.c */
int maple_baseline(struct maple_campaign *c);

/* setup.c */
int maple_campaign_open(struct maple_campaign *c);
void maple_campaign_close(struct maple_campaign *c);
char *maple_campaign_find_agent(const char *given);
int maple_campaign_find_program(const char *name, char **path,
				struct maple_error *err);
int maple_campaign_check_program(const char *path, const char *exe,
				 struct maple_error *err);

/* shell.c */
#define MAPLE_SHELL_STOPPED -2

/* A command of the user's. */
struct maple_shell_command {
	const char *option, *text;
	char *const *more; /* settings, NAME=VALUE, for its environment */
	unsigned int nmore;
	int words;    /* where what it prints goes; -1: where ours goes */
	double grace; /* seconds to end in, when the campaign is over */
};

int maple_shell(struct maple_campaign *c,
		const struct maple_shell_command *command);
int maple_shell_start(const struct maple_shell_command *command, pid_t *pid);
int maple_shell_ahead(const struct maple_shell_command *command, int *go,
		      pid_t *pid);
void maple_shell_go(int go, pid_t target);

/* round.c */
void maple_round_begin(struct maple_campaign *c, struct maple_trial *trial);
void maple_round_event(struct maple_round *round,
		       const struct maple_event *event);
bool maple_round_over(struct maple_round *round, pid_t pid);
void maple_round_end(struct maple_round *round, char **words);
void maple_round_judge(struct maple_campaign *c, struct maple_trial *trial);
void maple_round_left(struct maple_trial *trial);
uint32_t maple_round_slice_us(const struct maple_campaign *c);
void maple_round_close(struct maple_campaign *c);
int maple_round_check(struct maple_campaign *c);

/* sockets.c */
unsigned int maple_sockets_listening(pid_t pid);
unsigned int maple_sockets_in_tables(pid_t pid);
unsigned long maple_sockets_line(const char *line, bool local);

/* trial.c */
struct maple_switches maple_trial_switches(const struct maple_trial *trial);
int maple_trial_run(struct maple_campaign *c, struct maple_trial *trial);
void maple_trial_deinit(struct maple_trial *trial);

/* study.c */
void maple_study_init(struct maple_campaign *c);
int maple_study_open(struct maple_campaign *c);
void maple_study_leave(struct maple_campaign *c);
void maple_study_close(struct maple_campaign *c);
int maple_study_program(struct maple_campaign *c, uint32_t image);
void maple_study_take(struct maple_campaign *c, struct maple_trial *trial);
int maple_study_next(struct maple_campaign *c, struct maple_trial *trial,
		     enum maple_next *next);
void maple_study_event(void *ctx, const struct maple_event *event);
int maple_study_ended(struct maple_campaign *c, struct maple_trial *trial);
void maple_study_drop(struct maple_campaign *c, struct maple_trial *trial);
void maple_study_alone(struct maple_campaign *c, struct maple_trial *trial);

/* delivery.c */
char *maple_delivery_left_out(const struct maple_campaign *c, uint32_t unshared);
void maple_delivery_splits(const struct maple_campaign *c,
			   struct maple_delivery *delivery);
void maple_delivery_raise(struct maple_delivery *d,
			  const struct maple_delivery *run);

/* memory.c */
int maple_campaign_claim(struct maple_campaign *c,
			 struct maple_goal *const *goals, size_t n);
int maple_campaign_release(struct maple_campaign *c,
			   struct maple_goal *const *goals, size_t n);
int maple_campaign_learn(struct maple_campaign *c,
			 struct maple_goal *const *goals, size_t n);
const char *maple_campaign_print(struct maple_campaign *c, uint32_t site,
				 const char **function);
bool maple_campaign_is_late(const struct maple_campaign *c);
int maple_campaign_carry(struct maple_campaign *c);
void maple_campaign_unknow(struct maple_campaign *c);

/* judge.c */
void maple_judge(struct maple_campaign *c, struct maple_trial *trial,
		 const struct maple_io_run *io);
void maple_judge_status(const struct maple_campaign *c,
			struct maple_trial *trial);
int maple_judge_oracle(struct maple_campaign *c, char *const *more,
		       unsigned int n, char **words);
void maple_judge_death(const struct maple_run *run, struct maple_judgement *j);

/* findings.c */
bool maple_findings_are_one(const struct maple_campaign *c,
			    const struct maple_finding *a,
			    const struct maple_finding *b);
int maple_findings_add(struct maple_campaign *c, struct maple_trial *trial);
int maple_findings_take(struct maple_campaign *c, struct maple_finding *finding,
			struct maple_trial *trial);
int maple_findings_keep(struct maple_campaign *c, struct maple_finding *finding,
			struct maple_trial *trial);
int maple_findings_store(struct maple_campaign *c,
			 const struct maple_finding *finding);
int maple_findings_replace(struct maple_finding *finding,
			   const struct maple_finding *of,
			   struct maple_error *err);
bool maple_findings_enough(const struct maple_campaign *c);
void maple_findings_tell(struct maple_campaign *c);

/* known.c */
int maple_known_replay(struct maple_campaign *c);
int maple_known_mended(struct maple_campaign *c);
void maple_known_deinit(struct maple_campaign *c);

/* unseen.c */
int maple_unseen_learn(struct maple_campaign *c,
		       const struct maple_trial *trial);
bool maple_unseen_any(const struct maple_campaign *c);
char *maple_unseen_names(const struct maple_campaign *c);
void maple_unseen_deinit(struct maple_campaign *c);

/* conclude.c */
int maple_conclude(struct maple_campaign *c);

/* unjudged.c */
void maple_unjudged(struct maple_judgement *j, enum maple_unjudged why,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool maple_unjudged_says(int status);
void maple_unjudged_death(const struct maple_run *run,
			  struct maple_judgement *j);
void maple_unjudged_not(struct maple_campaign *c);
void maple_unjudged_take(struct maple_campaign *c, struct maple_trial *trial);
void maple_unjudged_hang(struct maple_campaign *c,
			 const struct maple_finding *finding, const char *why);
void maple_campaign_give_up(struct maple_campaign *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool maple_campaign_gave_up(const struct maple_campaign *c);

/* disturbed.c */
int maple_disturbed(struct maple_campaign *c,
		    const struct maple_finding *finding,
		    const struct maple_trial *trial, bool *is);
int maple_disturbed_control(struct maple_campaign *c,
			    const struct maple_finding *finding,
			    const struct maple_trial *trial, bool *refuted);

/* story.c */
struct maple_finding *maple_story_tell(struct maple_campaign *c,
				       struct maple_trial *trial);

/* confirm.c */
int maple_confirm(struct maple_campaign *c, struct maple_finding *finding,
		  struct maple_trial *trial);
unsigned int maple_confirm_times(const struct maple_campaign *c);
bool maple_confirm_is_possible(const struct maple_campaign *c);
bool maple_confirm_is_needed(const struct maple_trial *trial);
int maple_confirm_again(struct maple_campaign *c,
			const struct maple_trial *order,
			struct maple_trial *trial);
int maple_confirm_attribute(struct maple_campaign *c, struct maple_trial *trial);
int maple_confirm_details(struct maple_campaign *c,
			  const struct maple_trial *trial,
			  struct maple_finding **finding);
bool maple_confirm_same(const struct maple_finding *finding,
			const struct maple_trial *trial);

/* under.c */
int maple_under_check(struct maple_campaign *c, const struct maple_trial *order);
int maple_under_begin(struct maple_campaign *c, const struct maple_trial *trial,
		      struct maple_run_debugger *debugger);
void maple_under_end(struct maple_run_debugger *debugger);

/* conclude.c */
bool maple_campaign_untried(const struct maple_campaign *c);

/* trial.c */
bool maple_campaign_lacks(const struct maple_campaign *c,
			  const struct maple_trial *order);

/* shorten.c */
int maple_shorten(struct maple_campaign *c, struct maple_trial *trial);

/* planfile.c */
struct maple_planfile {
	int expected;	      /* exit status */
	double timeout;	      /* of a run, in seconds */
	unsigned int refound; /* sites that are another build's by now */
};

char *maple_planfile_between(const char *text);
char *maple_planfile_write(struct maple_campaign *c,
			   const struct maple_trial *trial, bool lasts);
char *maple_planfile_write_lists(struct maple_campaign *c,
				 const struct maple_switches *lists, size_t n,
				 size_t most);
size_t maple_planfile_read_lists(struct maple_campaign *c, const char *text,
				 struct maple_switches **lists,
				 size_t *left_out);
int maple_planfile_read(struct maple_campaign *c, const char *text,
			struct maple_trial *trial, struct maple_planfile *file);

#endif
