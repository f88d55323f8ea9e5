/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Observer and predictor of one run (algorithms.md 3 to 5). Feed it the run's
 * events in order; it says which iRoots this order exposed and which others
 * the program could expose. One instance per run, one thread at a time; the
 * contracts stand at the definitions in predict.c and feed.c.
 */
#ifndef MAPLE_PREDICT_H
#define MAPLE_PREDICT_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include <maple/iroot.h>

#define MAPLE_PREDICT_GATES   4
#define MAPLE_PREDICT_CLASSES 4

struct maple_predict;

/* Zero is the default of every field. */
struct maple_predict_options {
	unsigned int idioms; /* bit i: idiom i; 0: all there are */
	bool no_observe;     /* the order of events means nothing */
	bool no_predict;
	bool no_conditions;  /* no iRoots of signals and waits */
	bool ends;	     /* the end of memory is a write to all of it */
	bool reads_first;    /* a write under a lock may follow another's read
				though its own section has read before */
	unsigned int window; /* vw, for compound idioms; 0: 1000 */
	uint32_t max_locations; /* ranges; 0: 1048576 */
	uint32_t max_entries;	/* ... times threads that touched each, at
				   about 300 bytes; 0: 2097152 */
	uint32_t max_summaries; /* accesses kept per location; 0: 1024 */
	uint32_t max_spans;	/* clocks kept per summary; 0: 256 */
	uint32_t max_bytes;	/* looked at per access; 0: 65536 */
	uint32_t max_pairs;	/* local pairs, at about 300 bytes; 0: 524288 */
	uint32_t collect;	/* prune after so many new epochs; 0: 4 */
	bool (*over)(void *ctx); /* whether what takes longer is to come to an
				    end; NULL: it takes its time */
	void *ctx;		 /* ... of over() */
	/*
	 * Whether another CPU can come between the read and the write of
	 * the read-modify-write at @site; NULL: never
	 */
	bool (*splits)(void *ctx, uint32_t site);
	void *splits_ctx;
};

/*
 * Where and when profiling saw one event of a predicted iRoot. Executions of
 * the site by the thread are told apart by class, the site executed next:
 * first the class of the execution that the prediction rests on, then others
 * in the order in which they were seen.
 */
struct maple_predict_end {
	uint32_t thread;     /* its number in this run */
	uint32_t occurrence; /* how-manieth time it executed the site, from 0 */
	uint32_t class;	     /* site it executed next, or MAPLE_SITE_NONE */
	uint32_t nclasses;   /* at least 1 */
	uint32_t class_site[MAPLE_PREDICT_CLASSES];
	uint32_t class_occurrence[MAPLE_PREDICT_CLASSES]; /* the first one */
	uint32_t ngates; /* outermost lock calls that covered the site */
	uint32_t gate[MAPLE_PREDICT_GATES];
	bool frees; /* it is the end of memory */
};

/* How the program itself was seen to order the events of a dependency. */
enum maple_against {
	MAPLE_OPEN,	/* not at all, at least once */
	MAPLE_INFORMED, /* in a section that read what the other's wrote */
	MAPLE_AGAINST,	/* before: another order would read something else; or
			   all of it is memory that is handed on */
};

struct maple_predict_facts {
	struct maple_predict_end e[MAPLE_IROOT_EVENTS];
	bool disjoint;	     /* no lock excludes the events of any dependency */
	bool ordered;	     /* happens-before forces some dependency */
	bool unserializable; /* idioms 2, 3: W-W-W or one of AVIO's four */
	bool gates_cut;	     /* there were more gates than fit */
	bool startup;	     /* some event is of a server's start-up or end */
	uint8_t against;     /* enum maple_against, the least of all places */
};

/*
 * What the caller wants to hear. Each iRoot comes at most once per run and
 * callback: observed() as soon as it is certain that it happened, which with
 * quiet sites may be in maple_predict_finish(); predicted() in there, in the
 * order in which they were found.
 */
struct maple_predict_sink {
	void (*observed)(void *ctx, const struct maple_iroot *iroot);
	void (*predicted)(void *ctx, const struct maple_iroot *iroot,
			  const struct maple_predict_facts *facts);
	void *ctx;
};

/* What was seen, and what a cap or a doubt cut away. */
struct maple_predict_stats {
	uint64_t events;
	uint64_t locations;	      /* now */
	uint64_t observed, predicted; /* iRoots */
	uint64_t searches;	      /* full scans of a location's history */
	uint64_t removed;	/* entries that nothing could need any more */
	uint64_t unsure;	/* accesses whose order was not certain */
	uint64_t bad_events;	/* not understood: no such thread or kind */
	uint64_t cut_locations; /* accesses not kept: max_locations, _entries;
				   locations not gone through: over() */
	uint64_t cut_bytes;	/* bytes not looked at: max_bytes */
	uint64_t cut_summaries; /* max_summaries */
	uint64_t cut_spans;	/* max_spans */
	uint64_t cut_syncs;	/* synchronisation objects and signals */
	uint64_t cut_iroots;	/* iRoots of one run, 1048576 */
	uint64_t cut_guards;	/* locations not kept for guards */
	uint64_t cut_recent;	/* accesses that left a window too early */
	uint64_t cut_walks;	/* local pairs not looked for */
	uint64_t cut_pairs;	/* local pairs not kept, or forgotten */
	uint64_t cut_stretches; /* clocks of accesses in local pairs */
	uint64_t cut_edges;	/* dependencies to correlate them with */
	uint64_t cut_correlations; /* local pairs not correlated, also: over() */
	uint64_t cut_causes;	   /* knowledge of other threads not kept */
	uint64_t cut_sequences; /* observer: compound idioms not looked for */
	uint64_t no_memory;	/* allocations that failed */
};

int maple_predict_create(const struct maple_predict_options *options,
			 const struct maple_predict_sink *sink,
			 struct maple_predict **predict);
int maple_predict_event(struct maple_predict *p,
			const struct maple_event *event);
int maple_predict_finish(struct maple_predict *p);
unsigned int maple_predict_guards(const struct maple_predict *p,
				  const struct maple_iroot *iroot,
				  uint32_t *sites, unsigned int max);
bool maple_predict_shared(const struct maple_predict *p, uint32_t site);
unsigned int maple_predict_covers(const struct maple_predict *p,
				  const struct maple_iroot *iroot,
				  uint32_t *sites, unsigned int max);
void maple_predict_stats(const struct maple_predict *p,
			 struct maple_predict_stats *stats);
void maple_predict_destroy(struct maple_predict *p);

#endif
