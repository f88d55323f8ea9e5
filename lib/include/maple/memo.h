/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The memo database: what is known of programs, goals, runs and findings,
 * kept in SQLite, or at a PostgreSQL server (algorithms.md 9).
 *
 * Every change is a transaction of its own unless it stands between
 * maple_memo_begin() and maple_memo_commit(), so what a call has written
 * survives the death of the target, of the tool and of the machine.
 *
 * Context: a struct maple_memo belongs to one thread; several processes may
 * have the same database open, a writer waits up to ten seconds for another, at
 * a server 30. Do not carry one across fork().
 *
 * Ownership: strings that go in are copied, what comes out belongs to the
 * caller. Row numbers (int64_t) are positive; 0 means none.
 *
 * Errors, of every function that returns int: -ENOSPC the disk is full,
 * -EBUSY another process holds the database, -EROFS it cannot be written,
 * -EBADMSG it is damaged or no memo database, -EIO, -ENOMEM. The database
 * then is as it was before the transaction.
 *
 * At a server a connection that is lost is made again, up to 30 s later (or
 * MAPLE_SERVER_WAIT in the environment, in seconds), and the transaction under
 * way with it: nothing is lost, and nothing done twice.
 * Else it is -ENOTCONN the server stays away, or -EAGAIN others have written
 * what the transaction relied on; it is to be given up. With a spool
 * (maple_memo_spool()) neither -ENOTCONN nor -ENOSPC ends what a campaign writes.
 */
#ifndef MAPLE_MEMO_H
#define MAPLE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <maple/error.h>
#include <maple/finding.h>
#include <maple/goal.h>

struct maple_memo;

enum maple_memo_flag {
	MAPLE_MEMO_READONLY = 1, /* must exist; nothing will be written */
	MAPLE_MEMO_FILE = 2,	 /* no server's, whatever the path says */
};

/*
 * maple_memo_open - opens the database at @path, creates or migrates it
 * @path: a file whose directory exists, ":memory:", or "postgresql://..." as
 * libpq takes it, without a password: others see it in the list of processes
 * @flags: enum maple_memo_flag
 *
 * Errors besides the common ones: -ENOTSUP a newer maple wrote it, -ENOENT,
 * -EACCES, ... when the file cannot be opened; of a server -ENOPKG libpq is not
 * there, -EINVAL the path has a password, or a file is wanted. A file that is
 * damaged or is no memo database is left as it is.
 */
int maple_memo_open(const char *path, unsigned int flags,
		    struct maple_memo **memo, struct maple_error *err);
void maple_memo_close(struct maple_memo *memo);

/*
 * maple_memo_spool - when the server is lost from now on, or its disk is full,
 * the memo goes on in a file of @folder, a spool, until the server is there again
 * @folder: made if need be; its parent is there
 * @notice: is told so, and when the server is back; or NULL
 *
 * In the spool is what was written since, and what that relies on; what others
 * know is not there. Nothing is claimed then, and carrying over a rebuild, or
 * forgetting a program, fails as without a spool. For a file, and mapled's
 * memo, this does nothing.
 *
 * When the server is back the spool is delivered to it, and it is the memo; that
 * happens as a transaction or a campaign begins. Numbers of goals and runs go on
 * to mean what they did. A campaign that itself began in a spool stays there.
 *
 * maple_memo_spooled - the spool's path, once it is the memo; else NULL
 */
int maple_memo_spool(struct maple_memo *memo, const char *folder,
		     void (*notice)(void *ctx, const char *text), void *ctx,
		     struct maple_error *err);
const char *maple_memo_spooled(const struct maple_memo *memo);

struct maple_memo_delivery {
	unsigned int delivered; /* spools, which are gone now */
	unsigned int before;	/* were delivered already, and are gone now */
	unsigned int busy;	/* a campaign still writes them */
	unsigned int others;	/* belong to other servers */
	uint64_t runs;		/* in those that were delivered */
};

/*
 * maple_memo_deliver - what the spools of @folder have, to @memo, at a server
 *
 * Each is delivered whole, once, and removed. With an error those before it
 * were delivered, and it and the rest stay as they are.
 */
int maple_memo_deliver(struct maple_memo *memo, const char *folder,
		       struct maple_memo_delivery *delivery,
		       struct maple_error *err);

/* maple_memo_check - the database's own check of what it has; -EBADMSG */
int maple_memo_check(struct maple_memo *memo, struct maple_error *err);

/*
 * maple_memo_begin, maple_memo_commit - one transaction around many calls
 *
 * Of a database that this process has open; mapled's is not to be held: these
 * do nothing there, and each call is kept at once. Thousands of marks take
 * milliseconds this way. They do not nest. If a call in between fails,
 * maple_memo_rollback() leaves nothing of them.
 */
int maple_memo_begin(struct maple_memo *memo, struct maple_error *err);
int maple_memo_commit(struct maple_memo *memo, struct maple_error *err);
void maple_memo_rollback(struct maple_memo *memo);

/*
 * maple_memo_input - the name of an input that was given none: the command
 * @requests: what it is asked beside, or NULL
 *
 * To be freed; NULL without memory.
 *
 * maple_memo_command - the command that @input is by such a name; NULL if it is
 * none. It is part of @input.
 */
char *maple_memo_input(char *const *argv, const char *requests);
const char *maple_memo_command(const char *input);

/* A job, by whose it is: each user has a first one. */
struct maple_memo_job {
	uint64_t number; /* 0: none */
	uid_t user;	 /* who began it, who may not be who carries it out */
};

struct maple_memo_campaign {
	char *const *argv;
	const char *cwd;
	const char *input;    /* --input, or maple_memo_input() */
	const char *exe;      /* --exe, or NULL */
	const char *strategy; /* "ranked", "paper", "native", ... */
	uint64_t seed;
	const char *version; /* of maple */
	const char *backend; /* the pair, chosen once; or NULL */
	/* Of what mapled keeps; else zero. */
	const char *name; /* that nothing else has */
	uint64_t owner;	  /* uid of whose it is, plus one */
	bool apart;	  /* nothing is inherited by this input, or from it */
	struct maple_memo_job job; /* that it is */
};

/*
 * maple_memo_campaign_begin, maple_memo_campaign_end - bracket a campaign
 * @outcome: maple_outcome_name(), or why it ended early
 * @unobserved: of the program, as its result says; or NULL
 * @parts: of its strategy, as maple_campaign_parts() says it; or NULL
 *
 * A campaign without an end was killed.
 */
int maple_memo_campaign_begin(struct maple_memo *memo,
			      const struct maple_memo_campaign *campaign,
			      int64_t *id, struct maple_error *err);
int maple_memo_campaign_end(struct maple_memo *memo, int64_t campaign,
			    const char *outcome, const char *unobserved,
			    const char *parts, struct maple_error *err);

/*
 * maple_memo_program - the program that @campaign tests, once it is known
 * @build_id: of the executable under test, hex
 * @path: where it was this time
 * @program: the row of (build-id, the campaign's input key)
 *
 * Until then runs of the campaign have no program and no marks can be made.
 */
int maple_memo_program(struct maple_memo *memo, int64_t campaign,
		       const char *build_id, const char *path, int64_t *program,
		       struct maple_error *err);

/* A site that a goal uses, in the form that lasts. Unknown strings are NULL. */
struct maple_memo_event {
	const char *build_id; /* of the image, hex; required */
	const char *image;    /* its path */
	uint64_t offset;
	bool call; /* a call site of an interposed function */
	char kind; /* 'R', 'W', 'L', 'U', 'S', 'C' */
	const char *function;
	const char *file;
	unsigned int line;
	const char *fingerprint; /* what lasts of it over a rebuild */
	uint64_t context;	 /* hash of who called; 0: whoever did */
};

/* A goal is its class and what it uses, in that order. */
struct maple_memo_goal_key {
	const char *class; /* by name; not owned */
	unsigned int n;	   /* 1 to MAPLE_GOAL_USES */
	struct maple_memo_event use[MAPLE_GOAL_USES];
};

/*
 * maple_memo_goal - the row of a goal, made if it is new
 *
 * This and maple_memo_state() are not for mapled's: maple_memo_learn() is.
 * Errors: -EINVAL it is no class, or it uses nothing, or too much.
 */
int maple_memo_goal(struct maple_memo *memo,
		    const struct maple_memo_goal_key *key, int64_t *goal,
		    struct maple_error *err);

/* A build of an image, for maple_memo_carry(). */
struct maple_memo_build {
	const char *build_id, *path;
	/*
	 * Finds the site that has @fingerprint in this build and fills in
	 * @now but for build_id, image and kind; its strings live until the
	 * next call. Returns 0, -ENOMEM, or another -errno: it is not there,
	 * or not there once.
	 */
	int (*find)(void *ctx, const char *fingerprint, bool call,
		    struct maple_memo_event *now);
	void *ctx;
};

/*
 * maple_memo_carry - takes over what is known of older builds of an image
 * @carried: how many goals were, for @build's sites in place of the old ones
 *
 * An older build is another image of the same path; if there is none, one of
 * the same name elsewhere with at least half of its sites found in this one.
 * A goal is taken over when each of its sites in the older build is found; so
 * none is that uses a site in an edited function. Done once for each pair
 * of builds. With a NULL find nothing is taken over, now or later.
 */
int maple_memo_carry(struct maple_memo *memo,
		     const struct maple_memo_build *build,
		     unsigned int *carried, struct maple_error *err);

/*
 * The two steps of which maple_memo_carry() is made, for when the binary is
 * on one side and the database on the other.
 *
 * maple_memo_older - the newest older build not yet seen, and its sites
 * @old: image 0 if there is none; free with maple_memo_old_deinit()
 * maple_memo_carried - which of its sites this build has; takes over the rest
 * @count: how many goals were
 */
struct maple_memo_print {
	int64_t site;
	bool call;
	char *fingerprint;
};

struct maple_memo_old {
	int64_t image;
	bool by_name; /* elsewhere, of the same name */
	size_t n;
	struct maple_memo_print *prints;
};

struct maple_memo_carried {
	int64_t image;
	bool by_name;
	size_t n, of; /* of that many sites n were found */
	const int64_t *site;
	const struct maple_memo_event *found; /* in this build */
};

int maple_memo_older(struct maple_memo *memo, const char *build_id,
		     const char *path, struct maple_memo_old *old,
		     struct maple_error *err);
void maple_memo_old_deinit(struct maple_memo_old *old);
int maple_memo_carried(struct maple_memo *memo, const char *build_id,
		       const char *path,
		       const struct maple_memo_carried *carried,
		       unsigned int *count, struct maple_error *err);

enum maple_memo_mark {
	MAPLE_MEMO_PREDICTED,
	MAPLE_MEMO_OBSERVED, /* exposed without being forced */
	MAPLE_MEMO_ATTEMPT,  /* a try starts; counts even if it never ends */
	MAPLE_MEMO_EXPOSED,  /* exposed by force */
	MAPLE_MEMO_FAILED,   /* a try ended without exposing it */
	MAPLE_MEMO_BROKE,    /* a run that forced it failed */
	MAPLE_MEMO_MENDED,   /* ... and what failed then does so no more */
	MAPLE_MEMO_MARKS,
};

/* maple_memo_mark - notes what happened to @goal in @program */
int maple_memo_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		    enum maple_memo_mark mark, struct maple_error *err);

/* Of an input that stands apart, what is known with it alone. */
struct maple_memo_state {
	bool predicted;	       /* with this input */
	bool exposed;	       /* observed or forced, with any input, ... */
	bool broke;	       /* ... and not this: a run failed of it */
	unsigned int failed;   /* tries that failed, over all inputs */
	unsigned int attempts; /* tries started with this input */
};

/*
 * maple_memo_state - what is known of @goal for @program's executable
 *
 * One whose sites all lie in libraries is exposed when it was in any program
 * that uses them. A goal never marked has an all-zero state.
 */
int maple_memo_state(struct maple_memo *memo, int64_t program, int64_t goal,
		     struct maple_memo_state *state, struct maple_error *err);

/*
 * Claims: of campaigns that share a memo at a server each tries other goals at
 * a time. A claim is the struct maple_memo's that made it, until it releases
 * it, closes or dies; while the server is away nobody has any, and then it is
 * made again, unless another one was faster.
 *
 * maple_memo_shares - whether there are claims; in files, and with mapled,
 * there are none, and nothing is claimed or released
 *
 * maple_memo_claim - claims those of @n goals of @program that nobody has
 * @claims: taken: another one has it; else it is ours, and state is what is
 * known of it by now, after whoever had it before
 *
 * maple_memo_release - @goals are nobody's; what was found out about them is to
 * be kept before
 *
 * Neither stands in a transaction.
 */
struct maple_memo_claim {
	int64_t goal;
	bool taken;		       /* out */
	struct maple_memo_state state; /* out, unless it is taken */
};

bool maple_memo_shares(const struct maple_memo *memo);
int maple_memo_claim(struct maple_memo *memo, int64_t program,
		     struct maple_memo_claim *claims, size_t n,
		     struct maple_error *err);
int maple_memo_release(struct maple_memo *memo, int64_t program,
		       const int64_t *goals, size_t n, struct maple_error *err);

/* What a run has taught about a goal. */
struct maple_memo_lesson {
	struct maple_memo_goal_key key;
	unsigned int marks;	       /* a bit for each enum maple_memo_mark */
	int64_t goal;		       /* out: its row */
	struct maple_memo_state state; /* out: what was known before */
};

/*
 * maple_memo_learn - goals, what is known of them, and marks on them, at once
 *
 * The same as maple_memo_goal(), _state() and _mark() one by one, and much
 * less to say. Either all of it is kept or, with an error, perhaps part.
 */
int maple_memo_learn(struct maple_memo *memo, int64_t program,
		     struct maple_memo_lesson *lessons, size_t n,
		     struct maple_error *err);

struct maple_memo_run {
	const char *kind; /* "baseline", "profile", "enforced", "confirm" */
	int64_t goal;	  /* the one that is forced, or 0 */
	const char *plan; /* JSON, or NULL */
	uint64_t seed;
	/* which try of @goal, by all campaigns with this input; 0: none */
	unsigned int attempt;
	bool flip; /* the control: first dependency reversed */
};

/* How a try ended; the first that holds. */
enum maple_memo_reason {
	MAPLE_MEMO_REASON_NONE, /* no try */
	MAPLE_MEMO_REASON_EXPOSED,
	MAPLE_MEMO_REASON_REFUSED,     /* claimed, the observer disagrees */
	MAPLE_MEMO_REASON_UNDELIVERED, /* the run was not enforced */
	MAPLE_MEMO_REASON_FAILED,      /* the program failed before */
	MAPLE_MEMO_REASON_UNREACHED,   /* no thread came to some event */
	MAPLE_MEMO_REASON_GAVE_UP,     /* begun, and given up by rule */
	MAPLE_MEMO_REASON_UNMET,       /* each was reached, never together */
	MAPLE_MEMO_REASONS,
};

/* maple_memo_reason_name - "exposed", "refused", ... as it is stored */
const char *maple_memo_reason_name(enum maple_memo_reason reason);

struct maple_memo_run_end {
	const char *verdict; /* "pass", or maple_failure_name() */
	int signo;
	int status;
	double seconds;	    /* wall */
	double cpu_seconds; /* of the target; 0 if not known */
	bool delivered;	    /* it was really observed or enforced */
	bool exposed;
	bool claimed; /* the scheduler says so; the observer decides */
	enum maple_memo_reason reason; /* of an enforced run */
	bool rested;	   /* its candidate was put to rest before */
	unsigned int news; /* goals exposed that nobody had exposed before */
};

/*
 * maple_memo_run_begin, maple_memo_run_end - bracket a run
 * @run: its number; those of one campaign rise. At a server that of another
 * campaign's run may be lower and it may have begun later.
 *
 * A run without an end was cut short by the death of the tool.
 */
int maple_memo_run_begin(struct maple_memo *memo, int64_t campaign,
			 const struct maple_memo_run *start, int64_t *run,
			 struct maple_error *err);
int maple_memo_run_end(struct maple_memo *memo, int64_t run,
		       const struct maple_memo_run_end *end,
		       struct maple_error *err);

/*
 * maple_memo_finding_store - keeps @finding, by its id
 *
 * It is that of whoever owns the campaign. Seen before, by the same user: the
 * new one replaces the old, but for the date of the first; times_seen grows
 * with each campaign that sees it.
 */
int maple_memo_finding_store(struct maple_memo *memo, int64_t campaign,
			     const struct maple_finding *finding,
			     struct maple_error *err);

/*
 * maple_memo_full - why nothing more is kept, or NULL
 *
 * mapled may have no room for more of a user's. From then on all that a
 * campaign tells the memo succeeds and is not kept; only a finding is tried
 * each time, and fails, with -EDQUOT or -ENOSPC, when it is not kept. Numbers
 * of what is not kept are MAPLE_MEMO_UNKEPT.
 */
#define MAPLE_MEMO_UNKEPT (-1)
const char *maple_memo_full(const struct maple_memo *memo);

#define MAPLE_MEMO_ANYBODY (-1)

/*
 * maple_memo_finding_load - a finding by its id or the beginning of it
 * @owner: a uid, or MAPLE_MEMO_ANYBODY
 *
 * Its owner is the one who ran the campaign, as far as that can be known: what
 * is in a file that belongs neither to root nor to us is all its owner's.
 * Errors: -ENOENT there is none, -ENOTUNIQ several begin so, or have that id.
 */
int maple_memo_finding_load(struct maple_memo *memo, const char *id,
			    int64_t owner, struct maple_finding **finding,
			    struct maple_error *err);

/*
 * maple_memo_findings - all findings, or those of one program, oldest first;
 * violations of atomic sets among them, see maple_violations_part()
 * @program: 0 for all
 * @findings: free with maple_memo_findings_destroy()
 */
int maple_memo_findings(struct maple_memo *memo, int64_t program,
			struct maple_finding ***findings, size_t *n,
			struct maple_error *err);
/*
 * maple_memo_known - those of @program, of its older builds, and of programs
 * of its name elsewhere, with its input; its own come first; no violations
 */
int maple_memo_known(struct maple_memo *memo, int64_t program,
		     struct maple_finding ***findings, size_t *n,
		     struct maple_error *err);
void maple_memo_findings_destroy(struct maple_finding **findings, size_t n);

#define MAPLE_MEMO_CORPUS_TEXT	(256u << 10) /* bytes, NUL included */
#define MAPLE_MEMO_CORPUS_LISTS 64u

/*
 * maple_memo_corpus_keep - keeps @text, what @strategy is to go on with when
 * @campaign's user tests its program again, in place of what was kept before
 * @strategy: its name, or MAPLE_MEMO_REACHED, which none has
 * @text: a JSON array, of up to MAPLE_MEMO_CORPUS_LISTS objects
 *
 * Errors: -EMSGSIZE it is too long; -EINVAL the campaign has no program yet.
 *
 * maple_memo_corpus_recall - what is kept of the program of @campaign; if there
 * is nothing, of the build of it at the same path, with the same input, that
 * something was kept of last
 * @text: to be freed; NULL: there is nothing
 *
 * Only what the campaign's user has kept: what is in a file that belongs
 * neither to root nor to us is its owner's.
 */
int maple_memo_corpus_keep(struct maple_memo *memo, int64_t campaign,
			   const char *strategy, const char *text,
			   struct maple_error *err);
int maple_memo_corpus_recall(struct maple_memo *memo, int64_t campaign,
			     const char *strategy, char **text,
			     struct maple_error *err);

/* The name under which a campaign keeps what its runs have executed. */
#define MAPLE_MEMO_REACHED "reached"

/*
 * maple_memo_reached - what runs of @program's executable have executed, with
 * whatever input, and which orders they have shown
 * @texts: JSON; an array of {"image": a build-id, "sites": TEXT} as was kept as
 * MAPLE_MEMO_REACHED, or {"class": an order's class, "forced": [offsets of its
 * sites, in its order; -1: a call, or of another image]}, or {"found": [of each
 * moment of a finding [its event, the one that it comes right after or -1, its
 * offset as text, null: of another image]]}; free with maple_memo_texts_destroy()
 */
int maple_memo_reached(struct maple_memo *memo, int64_t program, char ***texts,
		       size_t *n, struct maple_error *err);
void maple_memo_texts_destroy(char **texts, size_t n);

/* maple_memo_sample - the coverage of the program after @run */
int maple_memo_sample(struct maple_memo *memo, int64_t run,
		      const struct maple_coverage *coverage,
		      struct maple_error *err);

struct maple_memo_sample {
	int64_t run;
	struct maple_coverage coverage;
};

/*
 * maple_memo_samples - the samples of @program's runs from @since on
 * @samples: free with maple_memo_samples_destroy()
 */
int maple_memo_samples(struct maple_memo *memo, int64_t program, int64_t since,
		       struct maple_memo_sample **samples, size_t *n,
		       struct maple_error *err);
void maple_memo_samples_destroy(struct maple_memo_sample *samples, size_t n);

/*
 * maple_memo_coverage - what the marks of @program add up to now
 * @coverage: free with maple_coverage_deinit()
 */
int maple_memo_coverage(struct maple_memo *memo, int64_t program,
			struct maple_coverage *coverage,
			struct maple_error *err);

/* How well the scheduler did what it was asked, of goals of one class. */
struct maple_class_tries {
	char name[MAPLE_CLASS_NAME];
	uint64_t attempted; /* goals it was tried on */
	uint64_t forced;    /* ... and exposed */
	/* ... and did not, by the last try; NONE: no run is known */
	uint64_t failures[MAPLE_MEMO_REASONS];
	/* goals tried only when put to rest, as unlikely; not in these */
	uint64_t rested;
	uint64_t rested_forced;
};

struct maple_memo_success {
	unsigned int nclasses;
	struct maple_class_tries *class;
	uint64_t claims;  /* runs in which it said to have exposed it */
	uint64_t refused; /* ... and the observer disagreed */
};

/*
 * maple_memo_success - what the tries with @program came to
 * @success: free with maple_memo_success_deinit()
 */
int maple_memo_success(struct maple_memo *memo, int64_t program,
		       struct maple_memo_success *success,
		       struct maple_error *err);
void maple_memo_success_deinit(struct maple_memo_success *success);

/* maple_memo_tries - as maple_coverage_class() */
struct maple_class_tries *maple_memo_tries(struct maple_memo_success *success,
					   const char *name);

struct maple_memo_program_info {
	int64_t id;
	char *build_id, *path;
	char *input; /* as the campaigns' */
	unsigned int campaigns, runs, findings;
	uint64_t last_used; /* seconds since the epoch */
	char *unobserved;   /* by the last campaign that has ended, or NULL */
	char *parts; /* of strategies, summed over all that have ended, as
			maple_campaign_parts() says it; or NULL */
	struct maple_coverage coverage;
};

/*
 * maple_memo_programs - every program the database knows, last used first
 * @programs: free with maple_memo_programs_destroy()
 */
int maple_memo_programs(struct maple_memo *memo,
			struct maple_memo_program_info **programs, size_t *n,
			struct maple_error *err);
void maple_memo_programs_destroy(struct maple_memo_program_info *programs,
				 size_t n);

/*
 * Where campaigns were, as far as it may matter to what they found: one for
 * each machine with a CPU model, a kernel and a pair of backends. Unset strings
 * are NULL: a campaign of an earlier version, which kept none.
 */
struct maple_memo_machine {
	char *name, *cpu, *kernel, *backend;
	uint64_t campaigns, runs;
	uint64_t news;	     /* goals that were exposed there first */
	uint64_t findings;   /* made there first */
	uint64_t last_heard; /* seconds since the epoch */
};

/* An hour in which there was something; hours are UTC's. */
struct maple_memo_hour {
	uint64_t since; /* seconds since the epoch */
	uint64_t runs;	/* that began in it */
	uint64_t news, findings;
};

/*
 * maple_memo_machines - where the memo's campaigns were, by name
 * @always: else none is told unless there are two machines at least
 * @machines: free with maple_memo_machines_destroy()
 *
 * maple_memo_hours - what was done when, all machines together, oldest first
 * @hours: to be freed
 */
int maple_memo_machines(struct maple_memo *memo, bool always,
			struct maple_memo_machine **machines, size_t *n,
			struct maple_error *err);
void maple_memo_machines_destroy(struct maple_memo_machine *machines, size_t n);
int maple_memo_hours(struct maple_memo *memo, struct maple_memo_hour **hours,
		     size_t *n, struct maple_error *err);

/*
 * maple_memo_here - this machine, as campaigns on it are kept: name, cpu, kernel
 *
 * To be freed with maple_memo_machines_destroy(); NULL without memory.
 */
struct maple_memo_machine *maple_memo_here(void);

/*
 * maple_memo_forget_program - drops marks, findings, runs, campaigns, and what
 * strategies have kept
 * @keep: a campaign that stays, the one under way, or 0
 */
int maple_memo_forget_program(struct maple_memo *memo, int64_t program,
			      int64_t keep, struct maple_error *err);
/* maple_memo_forget_finding - @owner's, by its whole id, if it is there */
int maple_memo_forget_finding(struct maple_memo *memo, const char *id,
			      uid_t owner, struct maple_error *err);
int maple_memo_forget_all(struct maple_memo *memo, struct maple_error *err);

/*
 * maple_memo_merge - takes over everything that the database at @path knows
 *
 * A union: what is exposed in either is exposed; of attempts, failures and
 * times seen the greater number counts, since the two may have them from one
 * origin; a finding stays its owner's; campaigns and runs come once, however
 * often they are merged; of what strategies keep there is as much as has room,
 * the newer first. @path is only read; it may have an older schema, and
 * it is copied to memory. Either may be a file or a server's.
 *
 * Errors: as maple_memo_open() with MAPLE_MEMO_READONLY; @memo then is as it
 * was.
 */
int maple_memo_merge(struct maple_memo *memo, const char *path,
		     struct maple_error *err);

/*
 * For mapled alone, which lets several clients write to one database.
 *
 * maple_memo_resume - whether @campaign is @owner's (plus one) and has @name
 * @program: its program, or 0; -ENOENT if it is not
 * maple_memo_done - 1 if request @serial was the last that was done for
 * @campaign, with its answer; else 0
 * maple_memo_note - it is from now on; in the transaction that does it
 * @bytes: that it has added, about; they are charged to the campaign
 * maple_memo_charge - the same of a request that has no serial
 * maple_memo_usage - what campaigns and findings of @owner take, about
 * maple_memo_limit - the database grows no bigger than @bytes; what does not
 * fit fails with -ENOSPC
 * maple_memo_room - that, unless so many @bytes more would fit
 * maple_memo_run_campaign - whose run it is; 0: nobody's
 * maple_memo_foreign - how many campaigns on @program's executable, and
 * findings of it, others own
 */
int maple_memo_resume(struct maple_memo *memo, int64_t campaign,
		      const char *name, uint64_t owner, int64_t *program,
		      struct maple_error *err);
int maple_memo_done(struct maple_memo *memo, int64_t campaign, uint32_t serial,
		    int64_t *answer, struct maple_error *err);
int maple_memo_note(struct maple_memo *memo, int64_t campaign, uint32_t serial,
		    int64_t answer, uint64_t bytes, struct maple_error *err);
int maple_memo_charge(struct maple_memo *memo, int64_t campaign, uint64_t bytes,
		      struct maple_error *err);
int maple_memo_usage(struct maple_memo *memo, uid_t owner, uint64_t *bytes,
		     struct maple_error *err);
int maple_memo_limit(struct maple_memo *memo, uint64_t bytes,
		     struct maple_error *err);
int maple_memo_room(struct maple_memo *memo, uint64_t bytes,
		    struct maple_error *err);
int maple_memo_run_campaign(struct maple_memo *memo, int64_t run,
			    int64_t *campaign, struct maple_error *err);
int maple_memo_foreign(struct maple_memo *memo, int64_t program, uint64_t owner,
		       int64_t *n, struct maple_error *err);

/*
 * maple_memo_watch - what is asked of @memo from now on fails, with -EIO, as
 * soon as @stop returns non-zero; it is asked every now and then
 * maple_memo_interrupt - what is being asked fails now; from any thread
 */
void maple_memo_watch(struct maple_memo *memo, int (*stop)(void *ctx),
		      void *ctx);
void maple_memo_interrupt(struct maple_memo *memo);

/*
 * maple_memo_export - every table as one JSON object, to @out, but for what
 * strategies keep, which is its owner's alone
 */
int maple_memo_export(struct maple_memo *memo, FILE *out,
		      struct maple_error *err);

#endif
