/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A plan: what the automaton is asked to force in one run. Plain data of one
 * size, without pointers, so that it can be copied into the agent's shared
 * memory file and into the kernel. Freestanding, like all of lib/plan.
 */
#ifndef MAPLE_PLAN_H
#define MAPLE_PLAN_H

#include <maple/event.h>
#include <maple/iroot.h>

#define MAPLE_PLAN_SLICE_MS 100 /* at most; ten a step, fifty a run */
#define MAPLE_PLAN_STEPS    8	/* any sequence of steps; iRoots need 4 */
#define MAPLE_PLAN_ROLES    2
#define MAPLE_PLAN_VARS	    2
#define MAPLE_PLAN_WAYS	    5	/* tries that differ, the last only by gates */
#define MAPLE_PLAN_GATES    4	/* outermost lock calls known per step */
#define MAPLE_PLAN_GUARDS   256 /* sites that touch the plan's locations */
#define MAPLE_PLAN_COVERS   32	/* lock calls around guards */
#define MAPLE_PLAN_NAME	    32	/* a thread name, "0.2.1", with its NUL */

/*
 * Who called the function that an access is in: a hash of the return addresses,
 * in an access and in a step that is about these callers alone.
 */
#define MAPLE_CONTEXT_ANY   0u /* of a step: whoever called */
#define MAPLE_CONTEXT_NONE  0u /* of an access: not known, or it has no caller */
#define MAPLE_CONTEXT_ALL   1u /* ... it stands for those of all callers */
#define MAPLE_CONTEXT_LEAST 2u /* ... of the others */

enum maple_plan_flag {
	MAPLE_PLAN_GATED = 1,	 /* hold threads before a step's gate too */
	MAPLE_PLAN_HINTED = 2,	 /* heed thread names and occurrences */
	MAPLE_PLAN_YOUNGER = 4,	 /* unhinted order: younger threads first */
	MAPLE_PLAN_Q_FIRST = 8,	 /* hinted order: Q highest, P lowest */
	MAPLE_PLAN_ROTATED = 16, /* idiom 5 as e2 e0 e3 e1 */
	MAPLE_PLAN_FLIPPED = 32, /* the first dependency reversed */
	MAPLE_PLAN_TURNING = 64, /* go on in the next try's way when stuck */
	MAPLE_PLAN_FOLLOWED =
		128, /* other plans wait: stuck in all ways, end */
};

/* What is a try's way: the flags that a turn changes. */
#define MAPLE_PLAN_WAY                                               \
	(MAPLE_PLAN_GATED | MAPLE_PLAN_HINTED | MAPLE_PLAN_YOUNGER | \
	 MAPLE_PLAN_Q_FIRST)

struct maple_plan_step {
	uint32_t site;
	uint8_t kind;	     /* READ, WRITE, LOCK, UNLOCK */
	uint8_t role;	     /* of an iRoot: 0 is P, 1 is Q */
	uint8_t var;	     /* of an iRoot: 0 is X, 1 is Y */
	int8_t dep;	     /* earlier step it depends on immediately, or -1 */
	int8_t pair;	     /* earlier step, of the same role, that its local
				pair starts with, or -1 */
	uint8_t event;	     /* its index in the iRoot */
	uint16_t pre;	     /* bit i: step i, an earlier one, must be done
				before; dep is among them */
	uint32_t occurrence; /* hint: how-manieth execution by the thread,
				from 1; 0: any */
	uint32_t context;    /* only what these callers had it do; or ANY */
	uint32_t ngates;
	uint32_t gate[MAPLE_PLAN_GATES]; /* lock call sites */
};

struct maple_plan {
	uint32_t idiom; /* of the iRoot; 0: it is no iRoot's */
	uint32_t nsteps;
	uint32_t flags;	  /* enum maple_plan_flag */
	uint32_t attempt; /* which try this is, from 1 */
	/* a held thread's sleep at a time, for a wait that ends by itself */
	uint32_t slice_ms;
	uint32_t pad;
	uint64_t seed; /* every random choice of the run flows from it */
	struct maple_plan_step step[MAPLE_PLAN_STEPS];
	char hint[MAPLE_PLAN_ROLES][MAPLE_PLAN_NAME]; /* "" if unknown */
	uint32_t nguards;
	uint32_t guard[MAPLE_PLAN_GUARDS];
	/*
	 * outermost lock calls under which profiling saw guard sites, and
	 * the unlock calls that end these and the gates (they tell when a
	 * trylock would not fail)
	 */
	uint32_t ncovers;
	uint32_t cover[MAPLE_PLAN_COVERS];
};

/*
 * maple_plan_init - fills *@plan with the steps of @iroot
 * @attempt: 1 to 5 choose direction, hints, gates and rotation as in
 *           algorithms.md 7, rule 7; with @paper, only the complementary
 *           schedules are used
 *
 * Guards, covers, gates, occurrences and names are left empty for the caller.
 * Returns 0, or -1 if @iroot is none.
 */
int maple_plan_init(struct maple_plan *plan, const struct maple_iroot *iroot,
		    unsigned int attempt, int paper, uint64_t seed);

/* maple_plan_roles - bit r: @name is the hint for role r */
unsigned int maple_plan_roles(const struct maple_plan *plan, const char *name);

/* maple_plan_way - the flags of try @attempt, from 1, that are its way */
uint32_t maple_plan_way(unsigned int attempt);

/*
 * maple_plan_flip - the control of a finding: *@plan with its first
 * dependency reversed, everything else (sites, hints, seed) kept
 *
 * Only the first dependency's two steps remain, executed the other way round.
 */
void maple_plan_flip(struct maple_plan *plan);

/*
 * maple_plan_begins - whether who comes to @site may begin with @plan: it is a
 * role's first step, or a gate of one
 */
int maple_plan_begins(const struct maple_plan *plan, uint32_t site);

/*
 * maple_plan_iroot - the iRoot that @plan was made of; -1 if *@plan, which is
 * well-formed, has not the steps that maple_plan_init() and maple_plan_flip()
 * make of one
 */
int maple_plan_iroot(const struct maple_plan *plan, struct maple_iroot *iroot);

/*
 * maple_plan_splits - whether *@plan is about what comes between the two halves
 * of the read-modify-write at @site: it then reports two accesses, a READ and a
 * WRITE, where it would report one UPDATE
 */
int maple_plan_splits(const struct maple_plan *plan, uint32_t site);

/*
 * maple_plan_fault - why the automaton must not be given *@plan, as a sentence
 * without its full stop; NULL if @plan is well-formed, of whatever shape
 */
const char *maple_plan_fault(const struct maple_plan *plan);

static inline int maple_plan_valid(const struct maple_plan *plan)
{
	return !maple_plan_fault(plan);
}

#endif
