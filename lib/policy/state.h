/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of lib/policy; contracts stand at the definitions. */
#ifndef MAPLE_POLICY_STATE_H
#define MAPLE_POLICY_STATE_H

#include "policy.h"

#define MAPLE_POLICY_SEEN  16 /* places whose values a thread remembers */
#define MAPLE_POLICY_FIRST 16 /* sites of a thread that need no more memory */
#define MAPLE_POLICY_WORDS (MAPLE_THREADS / 64)
#define MAPLE_POLICY_NONE  MAPLE_POLICY_NOBODY /* no thread, no name, no entry */

/* How often a thread was at a site, and what a list says of it there. */
struct maple_policy_hit {
	uint32_t site;
	uint32_t count;
	uint32_t entry; /* LIST: of this site, not passed yet; or NONE */
	uint32_t used;
};

struct maple_policy_hits {
	uint32_t n, mask; /* mask 0: none yet */
	struct maple_policy_hit *slot;
	struct maple_policy_hit first[2 * MAPLE_POLICY_FIRST];
};

struct maple_policy_thread {
	struct maple_policy_op op; /* its last point */
	uint32_t hit;		   /* ... was its how-manieth of op.site */
	uint32_t from, from_hit;   /* the one before it */
	bool live;
	bool due;	 /* it is to give way */
	bool gave;	 /* ... by a call, and not for what it reads */
	bool hasty;	 /* its wait may time out at any time */
	bool blind;	 /* it may be chosen while another one has its lock */
	uint32_t name;	 /* index in the setup's, or NONE */
	uint64_t random; /* of its own: nobody's coming changes it */
	int64_t priority;
	/* SURW: interesting accesses to come, its own and of the unborn */
	uint32_t weight, unborn;
	/* spin.c */
	uint32_t repeats, patience, nseen;
	uint64_t seen[MAPLE_POLICY_SEEN], value[MAPLE_POLICY_SEEN];
	struct maple_policy_hits *hits;
	struct maple_policy_hits own;
};

struct maple_policy {
	struct maple_policy_setup setup;
	const struct maple_policy_kind_ops *kind;
	uint32_t chosen; /* or NOBODY */
	uint32_t last;	 /* who was it before NOBODY */
	uint32_t nlive;
	uint32_t nwords; /* of parked, that may have a bit set */
	uint64_t parked[MAPLE_POLICY_WORDS];
	uint64_t random; /* for who decides */
	/* time.c: now; threads before what ends by itself; who was let go for it */
	uint64_t now;
	uint32_t ntimed;
	uint32_t jumped;
	enum {
		MAPLE_POLICY_UNASKED,
		MAPLE_POLICY_NO,
		MAPLE_POLICY_YES
	} outside;
	uint32_t asker, asked; /* who came to the last point; points since */
	uint32_t ncandidates;
	uint32_t candidate[MAPLE_THREADS];
	/* PCT */
	uint64_t total;	 /* points so far */
	int64_t lowest;	 /* below every priority so far */
	uint32_t change; /* the next one; SEEK: the next step */
	uint32_t rank[MAPLE_POLICY_CHANGES];
	/* SURW; SEEK: who did the first step */
	uint32_t intended;
	/* LIST: entries that are not passed yet; the last one that was */
	uint32_t left, passed;
	bool strays; /* it has not come to its entries in their order */
	bool spun;   /* the choice is one that a spin has led to */
	/* the entry of the same thread and site that follows; by name */
	uint32_t *follows;
	struct maple_policy_hits **by_name;
	uint32_t *thread_of; /* by name; NONE: not born */
	struct maple_policy_thread thread[MAPLE_THREADS];
};

/* Where the policies differ; each may be NULL but pick. */
struct maple_policy_kind_ops {
	void (*start)(struct maple_policy *p);
	void (*born)(struct maple_policy *p, uint32_t t, uint32_t by);
	void (*announce)(struct maple_policy *p, uint32_t t);
	/* one more point of the run, @t's, before the choice there */
	void (*point)(struct maple_policy *p, uint32_t t);
	/* @t spins, and others are candidates */
	void (*spin)(struct maple_policy *p, uint32_t t);
	/* of candidate[], at a point of @t's, or since it has blocked */
	uint32_t (*pick)(struct maple_policy *p, uint32_t t,
			 enum maple_policy_what what);
	void (*execute)(struct maple_policy *p, uint32_t t);
};

/* Nobody of this CPU comes between, nor do we pay for other CPUs. */
static inline void maple_policy_add(uint64_t *to)
{
	__asm__ volatile("incq %0" : "+m"(*to) : : "cc");
}

/* Whether @t stands before an access to the variable of the order. */
static inline bool maple_policy_is_interesting(const struct maple_policy *p,
					       uint32_t t)
{
	const struct maple_policy_order *o = p->setup.order;
	const struct maple_policy_op *op = &p->thread[t].op;

	return o->size && op->addr < o->addr + o->size &&
	       o->addr < op->addr + op->size;
}

/* rank.c: POS and PCT; walk.c, surw.c, list.c, seek.c */
extern const struct maple_policy_kind_ops maple_policy_walk, maple_policy_pos,
	maple_policy_pct, maple_policy_surw, maple_policy_list,
	maple_policy_seek;

/* policy.c */
void maple_policy_take_over(struct maple_policy *p, uint32_t t);

/* random.c */
uint64_t maple_policy_below(uint64_t *state, uint64_t n);
uint64_t maple_policy_seed(uint64_t seed, uint64_t stream);
bool maple_policy_drawn(uint64_t *state, uint32_t one_in);

/* rank.c */
uint32_t maple_policy_highest(const struct maple_policy *p, uint32_t n);
void maple_policy_sink(struct maple_policy *p, uint32_t t);

/* hits.c */
struct maple_policy_hit *maple_policy_hit(struct maple_policy *p,
					  struct maple_policy_hits *hits,
					  uint32_t site);

/* time.c */
void maple_policy_time_start(struct maple_policy *p);
void maple_policy_time_announce(struct maple_policy *p, uint32_t t);
void maple_policy_time_execute(struct maple_policy *p, uint32_t t);
bool maple_policy_timed_out(struct maple_policy *p, uint32_t t);
bool maple_policy_ends_early(struct maple_policy *p, uint32_t t);
bool maple_policy_is_early(const struct maple_policy *p, uint32_t t);
bool maple_policy_next_timeout(struct maple_policy *p, uint32_t self);

/* spin.c */
bool maple_policy_spins(struct maple_policy *p, uint32_t t);
void maple_policy_gave_way(struct maple_policy *p, uint32_t t);

#endif
