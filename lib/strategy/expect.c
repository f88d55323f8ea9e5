// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What policies are told of the run to come (algorithms.md 10).
 *
 * PCT: a mean of the points of the runs so far. One that spun counts as four
 * times the mean: else all change points move behind the end of the others.
 * PCTVB: of the accesses to a variable, drawn as SURW's.
 *
 * SURW: a variable is a granule of 8 bytes that two threads were at, one of
 * them not to read; a lock is its first byte's. It is drawn by classes first,
 * those of the same sites, so that an array is no likelier than a flag. Its
 * counts are those of the last controlled run, begun when a second thread is
 * created. A lane's runs are forked from one process, so addresses are the
 * same; where they are not, nothing is interesting, and the base alone decides.
 * A run that was executed for itself lay elsewhere: it says nothing of where
 * the next one has its variables.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/array.h"
#include "base/mix.h"
#include "expect.h"

#define GRANULE	  8
#define VARIABLES (1u << 16) /* those that come first; the others never */
#define SITES	  64	     /* of a variable, that tell its class */
#define GRANULES  8	     /* of one access */
#define OUTLIER	  4	     /* times the mean, at most */
#define MEAN	  8	     /* runs that a mean is of, about */
#define MANY	  100000     /* points: a hand-over at each takes too long */
#define EACH	  20000	     /* points with a choice at each conflict, */
#define ANEW	  1000	     /* ... and choices of a run beyond that */

struct thread_count {
	uint32_t thread, n;
};

struct maple_expect_variable {
	uint64_t addr;	/* the key */
	uint64_t class; /* sum over its sites */
	uint32_t order;
	bool changes; /* some access does more than read */
	uint32_t nsites, room_sites, nthreads, room_threads;
	uint32_t *site;
	struct thread_count *count;
	UT_hash_handle hh;
};

static struct maple_expect_variable *get(struct maple_variables *v,
					 uint64_t addr)
{
	struct maple_expect_variable *found;

	HASH_FIND(hh, v->table, &addr, sizeof(addr), found);
	if (found || HASH_COUNT(v->table) >= VARIABLES)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->addr = addr;
	found->order = HASH_COUNT(v->table);
	assert(found->order < VARIABLES);
	HASH_ADD(hh, v->table, addr, sizeof(addr), found);
	return found;
}

static void add_site(struct maple_expect_variable *at, uint32_t site)
{
	for (uint32_t i = 0; i < at->nsites; i++)
		if (at->site[i] == site)
			return;
	assert(at->nsites <= SITES);
	if (at->nsites == SITES ||
	    !maple_array_reserve(at->site, at->nsites, at->room_sites))
		return;
	at->site[at->nsites++] = site;
	at->class += maple_mixed(site + 1ull);
}

static void add_count(struct maple_expect_variable *at, uint32_t thread)
{
	for (uint32_t i = 0; i < at->nthreads; i++) {
		if (at->count[i].thread == thread) {
			at->count[i].n++;
			return;
		}
	}
	if (maple_array_reserve(at->count, at->nthreads, at->room_threads))
		at->count[at->nthreads++] = (struct thread_count){ thread, 1 };
}

/* What is a point of a controlled run, and has an address. */
static bool is_point(const struct maple_event *event)
{
	switch (event->kind) {
	case MAPLE_EV_READ:
	case MAPLE_EV_WRITE:
	case MAPLE_EV_UPDATE:
	case MAPLE_EV_LOCK:
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
	case MAPLE_EV_BARRIER_IN:
	case MAPLE_EV_POST:
	case MAPLE_EV_TAKE:
		return event->addr && event->site != MAPLE_SITE_NONE;
	default:
		return false;
	}
}

/* maple_variables_note - @event of a controlled run, in order */
void maple_variables_note(struct maple_variables *v,
			  const struct maple_event *event)
{
	uint64_t first = event->addr / GRANULE, last = first;
	struct maple_expect_variable *at;

	v->begun |= event->kind == MAPLE_EV_CREATE;
	if (!v->begun || !is_point(event))
		return;
	if (maple_event_is_memory(event->kind) && event->size)
		last = (event->addr + event->size - 1) / GRANULE;
	for (uint64_t i = first; i <= last && i < first + GRANULES; i++) {
		at = get(v, i * GRANULE);
		if (!at)
			return;
		at->changes |= event->kind != MAPLE_EV_READ;
		add_site(at, event->site);
		add_count(at, event->thread);
	}
}

/* maple_variables_visit - each of them, in the order of their first accesses */
void maple_variables_visit(const struct maple_variables *v,
			   void (*visit)(void *ctx, uint64_t addr,
					 uint32_t threads, uint32_t accesses),
			   void *ctx)
{
	for (const struct maple_expect_variable *at = v->table; at;
	     at = at->hh.next) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < at->nthreads; i++)
			n += at->count[i].n;
		visit(ctx, at->addr, at->nthreads, n);
	}
}

/* maple_variables_deinit - frees what it is made of */
void maple_variables_deinit(struct maple_variables *v)
{
	struct maple_expect_variable *at, *next;

	HASH_ITER (hh, v->table, at, next) {
		HASH_DEL(v->table, at);
		free(at->site);
		free(at->count);
		free(at);
	}
	memset(v, 0, sizeof(*v));
}

static void learn_points(struct maple_expect *x, uint64_t points)
{
	uint64_t most = x->points * OUTLIER;

	if (!x->controlled || !x->points)
		x->points = points;
	else
		x->points = (x->points * (MEAN - 1) +
			     (points < most ? points : most) + MEAN - 1) /
			    MEAN;
	x->controlled = true;
}

/* Whether images lay elsewhere in @run than in the last one learnt from. */
static bool has_moved(const struct maple_expect_lane *l,
		      const struct maple_run *run)
{
	for (uint32_t i = 0; i < l->nimages; i++)
		for (unsigned int k = 0; k < run->nimages; k++)
			if (l->images[i].index == run->images[k].index &&
			    l->images[i].bias != run->images[k].bias)
				return true;
	return false;
}

/*
 * maple_expect_learn - @run was a controlled one of @lane, and whole: what it
 * did is expected of the next, unless its images had moved. If those of the
 * next have as well, that is learnt from: runs are forked from another process.
 * Takes @v over, or leaves it.
 */
void maple_expect_learn(struct maple_expect *x, struct maple_variables *v,
			const struct maple_run *run, unsigned int lane)
{
	struct maple_expect_lane *l = &x->lane[lane % MAPLE_EXPECT_LANES];

	learn_points(x, run->counts.points);
	l->moved = !l->moved && has_moved(l, run);
	if (l->moved)
		return;
	maple_variables_deinit(&l->variables);
	l->nnames = l->nimages = 0;
	if (!maple_array_resize(l->names, run->nthreads + 1) ||
	    !maple_array_resize(l->images, run->nimages + 1))
		return;
	l->variables = *v;
	memset(v, 0, sizeof(*v));
	l->nimages = run->nimages;
	if (l->nimages)
		memcpy(l->images, run->images, l->nimages * sizeof(*l->images));
	l->nnames = run->nthreads;
	for (uint32_t i = 0; i < l->nnames; i++)
		memcpy(l->names[i].text, run->threads[i].name,
		       MAPLE_POLICY_NAME);
}

static const struct maple_expect_lane *lane_of(const struct maple_expect *x,
					       const struct maple_study *study)
{
	return &x->lane[study->lane % MAPLE_EXPECT_LANES];
}

/* Each class is as likely as the others, and so is each variable of one. */
static const struct maple_expect_variable *draw(const struct maple_expect *x,
						const struct maple_study *study,
						uint64_t seed)
{
	const struct maple_expect_variable *best = NULL;
	uint64_t class, own, best_class = 0, best_own = 0;

	for (const struct maple_expect_variable *v =
		     lane_of(x, study)->variables.table;
	     v; v = v->hh.next) {
		if (v->nthreads < 2 || !v->changes)
			continue;
		class = study->random(study, seed ^ v->class);
		own = study->random(study, seed + v->order);
		if (best && (class > best_class ||
			     (class == best_class && own >= best_own)))
			continue;
		best = v;
		best_class = class;
		best_own = own;
	}
	return best;
}

static int order_surw(const struct maple_expect *x,
		      const struct maple_study *study, struct maple_job *job)
{
	uint64_t seed = study->random(study, job->seed + 1);
	const struct maple_expect_variable *v = draw(x, study, seed);
	const struct maple_expect_lane *l = lane_of(x, study);
	const struct thread_count *count;

	job->policy.base = x->points > MANY ? MAPLE_POLICY_STRAIGHT
					    : seed % MAPLE_POLICY_BASES;
	if (!v)
		return 0;
	assert(v->nthreads > 1 && v->changes);
	job->policy.addr = v->addr;
	job->policy.size = GRANULE;
	assert(!job->expected.name && !job->expected.weight);
	job->expected.name = calloc(l->nnames + 1, sizeof(*l->names));
	job->expected.weight = calloc(l->nnames + 1, sizeof(uint32_t));
	if (!job->expected.name || !job->expected.weight)
		return -ENOMEM;
	job->expected.n = l->nnames;
	memcpy(job->expected.name, l->names, l->nnames * sizeof(*l->names));
	for (uint32_t i = 0; i < v->nthreads; i++) {
		count = &v->count[i];
		if (count->thread < l->nnames)
			job->expected.weight[count->thread] = count->n;
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* @v: all lie at accesses to it; NULL: anywhere. */
static void order_pct(const struct maple_expect *x,
		      const struct maple_study *study, struct maple_job *job,
		      const struct maple_expect_variable *v,
		      unsigned int changes)
{
	struct maple_policy_order *o = &job->policy;
	uint64_t points = x->points ? x->points : 1;
	uint64_t seed = study->random(study, job->seed + 1);

	if (v) {
		o->addr = v->addr;
		o->size = GRANULE;
		points = 0;
		for (uint32_t i = 0; i < v->nthreads; i++)
			points += v->count[i].n;
	}
	o->nchanges = changes < MAPLE_POLICY_CHANGES ? changes
						     : MAPLE_POLICY_CHANGES;
	assert(points); /* whoever is drawn was come to */
	for (uint32_t i = 0; i < o->nchanges; i++)
		o->change[i] = 1 + study->random(study, seed + i) % points;
	qsort(o->change, o->nchanges, sizeof(*o->change), ascending);
}

/* maple_expect_one_in - of how many conflicts, and waits for locks, one counts */
uint32_t maple_expect_one_in(const struct maple_expect *x)
{
	return x->controlled && x->points > EACH ? x->points / ANEW : 1;
}

/*
 * maple_expect_order - @job is to be a controlled run by @policy
 * @changes: PCT's depth - 1
 * @bound: PCT's change points are at one variable, 1 to @changes of them
 *
 * Returns 0 or -ENOMEM; what is in @job is the campaign's in any case.
 */
int maple_expect_order(const struct maple_expect *x,
		       const struct maple_study *study, struct maple_job *job,
		       enum maple_policy_kind policy, unsigned int changes,
		       bool bound)
{
	uint64_t seed = study->random(study, job->seed + 2);

	job->kind = MAPLE_RUN_CONTROL;
	job->policy = (struct maple_policy_order){
		.policy = policy,
		.seed = job->seed,
		/* Whether who waits for a lock may be chosen (rule 8). */
		.blind = study->random(study, job->seed) & 1,
		.real_time = study->options->real_time,
		.one_in = maple_expect_one_in(x),
	};
	if (policy == MAPLE_POLICY_PCT)
		order_pct(x, study, job, bound ? draw(x, study, seed) : NULL,
			  bound && changes ? 1 + (unsigned int)(seed % changes)
					   : changes);
	return policy == MAPLE_POLICY_SURW ? order_surw(x, study, job) : 0;
}

/* maple_expect_deinit - frees what it is made of */
void maple_expect_deinit(struct maple_expect *x)
{
	for (unsigned int i = 0; i < MAPLE_EXPECT_LANES; i++) {
		maple_variables_deinit(&x->lane[i].variables);
		free(x->lane[i].names);
		free(x->lane[i].images);
	}
	memset(x, 0, sizeof(*x));
}
