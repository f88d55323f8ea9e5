/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_SETS_STATE_H
#define MAPLE_PREDICT_SETS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include "predict/before/clock.h"
#include "predict/before/lockset.h"
#include "predict/sites.h"
#include "predict/store/table.h"
#include "sets.h"

#define MAPLE_SETS_TOUCHES   16 /* of a unit */
#define MAPLE_SETS_OPEN	     64 /* units of a thread */
#define MAPLE_SETS_INSTANCES 6	/* of a shape, */
#define MAPLE_SETS_INTO_BITS 12
#define MAPLE_SETS_OF_THREAD 2 /* ... and of these, of one thread */
#define MAPLE_SETS_CACHE     1024

/* What a unit did to some bytes of its set, for the first time. */
struct maple_touch {
	uint64_t addr;
	uint32_t size, site;
	uint32_t occurrence; /* executions of the site by the thread before */
	uint32_t gate;	     /* outermost lock call, or MAPLE_SITE_NONE */
	uint8_t kinds;	     /* READ, WRITE or both */
	bool atomic;
	struct maple_lockset *locks; /* a reference */
	struct maple_epoch *epoch;   /* a reference */
	/* Of a witness, which needs neither of these: events before it, */
	uint64_t when;
	uint64_t until;	 /* ... and until it has happened for sure */
	uint64_t guards; /* locks that are held, a bit each; some share one */
	uint32_t context;
};

/* What one call of a function, or one round of a loop, did to one set. */
struct maple_done {
	struct maple_done *next; /* of a witness: of the same set */
	uint16_t thread;
	uint32_t n;
	struct maple_touch touch[];
};

/* Units that differ in nothing but when, and by whom, they were executed. */
struct maple_shape {
	uint64_t hash;		  /* of all that tells them apart; the key */
	struct maple_shape *next; /* of the same set */
	uint32_t n;
	struct maple_done *done[MAPLE_SETS_INSTANCES];
	UT_hash_handle hh;
};

/* What the user says that an access is to. */
struct maple_set_given {
	uint64_t base; /* of the object; 0: there is one alone */
	uint64_t number;
};

#define MAPLE_SETS_MANY UINT32_MAX

/* Memory that belongs together. */
struct maple_set {
	uint64_t start, end;
	uint64_t serial; /* which no other set ever has */
	bool gone;	 /* it ended: nothing of it is kept any more */
	uint32_t open;	 /* units of it */
	struct maple_shape *shapes;
	uint32_t doers; /* of these: one thread and 1, or MAPLE_SETS_MANY */
	struct maple_done *past;      /* of a witness: the latest first, */
	uint32_t npast;		      /* ... so many */
	struct maple_set_given given; /* the key of one that is given */
	struct maple_set *next;	      /* blocks of one neighbourhood */
	UT_hash_handle hh;	      /* of those that are given */
};

/* MAPLE_SETS_NEAR bytes of memory, and the blocks that begin there. */
struct maple_near {
	uint64_t number;
	struct maple_set *set;	  /* of what is in no block; or NULL */
	struct maple_set *blocks; /* or NULL */
	UT_hash_handle hh;
};

struct maple_open {
	struct maple_set *set;
	bool cut;
	uint32_t n;
	struct maple_touch touch[MAPLE_SETS_TOUCHES];
};

/* A unit that is open, as it is looked for: with each access. */
struct maple_begun {
	struct maple_set *set;
	uint32_t sp; /* low half */
	uint32_t at; /* in the thread's room; each place is somebody's */
};

struct maple_doer {
	struct maple_locks locks;
	struct maple_sitemap executed; /* uint32_t */
	bool doubtful;		       /* of a witness: its last access is */
	uint32_t n;
	struct maple_begun begun[MAPLE_SETS_OPEN]; /* outermost first */
	struct maple_open *room; /* MAPLE_SETS_OPEN, or NULL */
};

struct maple_sets_found {
	struct maple_iroot iroot;
	struct maple_predict_facts facts;
	UT_hash_handle hh;
};

struct maple_sets {
	struct maple_predict_sink sink;
	struct maple_sets_stats stats;
	struct maple_predict_stats unused; /* of clocks */
	struct maple_clocks clocks;
	struct maple_near *near;
	struct maple_near *cache[MAPLE_SETS_CACHE]; /* of it, by number */
	struct maple_shape *shapes;
	struct maple_sets_found *found;
	struct maple_witness *witness; /* NULL: they are to be predicted */
	struct maple_set *given;
	struct maple_belonging *belonging; /* by ascending site */
	size_t nbelonging;
	uint64_t sections, serial;
	/* Blocks that go on into neighbourhoods; some share a counter. */
	uint32_t into[1u << MAPLE_SETS_INTO_BITS];
	struct maple_doer *doer[MAPLE_THREADS];
};

/* blocks.c */
struct maple_set *maple_sets_at(struct maple_sets *sets, uint64_t addr);
void maple_sets_allocated(struct maple_sets *sets, uint64_t addr, uint64_t size);
void maple_sets_freed(struct maple_sets *sets, uint64_t addr, uint64_t size);
uint32_t maple_sets_number(const struct maple_sets *sets, uint32_t site);
bool maple_sets_knows(const struct maple_sets *sets, uint32_t site);
struct maple_set *maple_sets_of(struct maple_sets *sets,
				const struct maple_event *event);
void maple_sets_forget(struct maple_sets *sets);

/* units.c */
void maple_units_pass(struct maple_sets *sets, uint32_t thread, uint32_t sp);
void maple_units_access(struct maple_sets *sets,
			const struct maple_event *event);
void maple_units_quiet(struct maple_sets *sets, uint32_t site);
void maple_units_end(struct maple_sets *sets, uint32_t thread);

/* shapes.c */
void maple_shapes_done(struct maple_sets *sets, struct maple_open *unit,
		       uint32_t thread);
void maple_shapes_drop(struct maple_sets *sets, struct maple_set *set);
void maple_touches_put(struct maple_touch *touch, uint32_t n);

/* match.c */
void maple_sets_match(struct maple_sets *sets, const struct maple_done *p,
		      const struct maple_done *q, bool declared);

/* forms.c: what an iRoot of a set is executed as */
struct maple_set_form {
	unsigned int n;
	uint8_t order[MAPLE_IROOT_EVENTS]; /* events as they are executed */
	uint8_t q;			   /* bit i: event i is Q's */
	uint8_t y; /* bit i: event i is at the second location */
};

const struct maple_set_form *maple_set_form(uint32_t idiom);

/* A row of algorithms.md 17: a form and the kinds of its events. */
struct maple_set_row {
	uint8_t idiom;
	uint8_t kind[MAPLE_IROOT_EVENTS];
	uint8_t pattern; /* its number */
};

#define MAPLE_SET_ROWS 15
extern const struct maple_set_row maple_set_rows[MAPLE_SET_ROWS];

/* witness.c */
bool maple_witness_touch(struct maple_sets *sets,
			 const struct maple_event *event,
			 struct maple_touch *touch);
void maple_witness_done(struct maple_sets *sets, const struct maple_open *unit,
			uint32_t thread);
void maple_witness_drop(struct maple_set *set);

/* A unit that a witness compares with others: touches in the order of time. */
struct maple_witnessed {
	const struct maple_touch *touch;
	uint32_t n;
	uint16_t thread;
	uint32_t set; /* the declared one's number, or 0 */
};

void maple_witness_compare(struct maple_witness *witness,
			   const struct maple_witnessed *a,
			   const struct maple_witnessed *b);

#endif
