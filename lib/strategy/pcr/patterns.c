// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is known of the patterns of a program. A run shows some, and another
 * order of it may show others: for these an order is solved for, of which two
 * at a time wait to be run. For a pattern that a run showed no more are solved
 * for, and one that two runs were made for is done with, whichever campaigns
 * with the memo have made them. A pattern is claimed while it is tried.
 *
 * Pairs come first: most bugs take no more, where the paper has the longest
 * first.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/table.h"
#include "../claims.h"
#include "patterns.h"

#define PATTERNS  19   /* classes of them */
#define TRIES	  2    /* runs for a pattern that do not show it */
#define WAITING	  2    /* orders of a pattern that wait */
#define PROMISING 4000 /* events of a run, whose orders are drawn up on paper */
#define ENTRIES	  256  /* of a schedule */
#define FREE	  2.0  /* seconds that may be solved, whatever the runs took */
#define MOST	  2.0  /* ... after one run, */
#define LEAST	  0.002 /* ... and at least */

const char *const maple_pattern_classes[PATTERNS + 1] = {
	"pattern 1",  "pattern 2",  "pattern 3",  "pattern 4",	"pattern 5",
	"pattern 6",  "pattern 7",  "pattern 8",  "pattern 9",	"pattern 10",
	"pattern 11", "pattern 12", "pattern 13", "pattern 14", "pattern 15",
	"pattern 16", "pattern 17", "pattern 18", "pattern 19", NULL,
};

const struct maple_controlled maple_patterns_how = {
	.leaves = MAPLE_LEAVES_LONE, /* who is left alone has no patterns */
	.keeps = true,
};

struct maple_patterns_key {
	struct maple_pattern pattern;
	struct maple_goal goal;
	bool predicted, covered;
	bool busy;  /* an order of it is under way */
	bool broke; /* a run failed of it, in an earlier campaign */
	unsigned int tries, waiting;
	unsigned int shown; /* runs that showed it */
	uint32_t last;	    /* ... of which the last one, by number */
	bool refuted;	    /* no order was there for it, some time; */
	bool unknown;	    /* ... or it was too much to search */
	bool told;
	UT_hash_handle hh;
};

/* What a run brought: some pattern, for the first time. */
struct news {
	bool covered, predicted;
};

struct learning {
	struct maple_patterns *p;
	struct maple_study *study;
	const struct maple_order_model *model;
	const struct maple_event *event; /* that it is of */
	const struct maple_policy_name *names;
	uint32_t nnames;
	struct maple_patterns_key *aim;
	bool tries; /* an order of @aim */
	bool harmless;
	double seconds, until;
	struct news news;
	/* What the memo is to be told. */
	struct maple_patterns_key **told;
	uint32_t n, room;
	int error;
};

static struct maple_patterns_key *key_of(struct maple_goal *goal)
{
	return (struct maple_patterns_key *)((char *)goal -
					     offsetof(struct maple_patterns_key,
						      goal));
}

static void name_goal(struct maple_patterns_key *key)
{
	struct maple_goal *g = &key->goal;

	assert(key->pattern.number && key->pattern.number <= PATTERNS);
	g->class = maple_pattern_classes[key->pattern.number - 1];
	g->n = maple_pattern_steps(key->pattern.number);
	assert(g->n && g->n <= MAPLE_GOAL_USES);
	for (unsigned int i = 0; i < g->n; i++) {
		g->use[i].site = key->pattern.site[i];
		g->use[i].kind = maple_pattern_step(key->pattern.number, i).kind;
	}
}

static struct maple_patterns_key *get(struct learning *l,
				      const struct maple_pattern *pattern)
{
	struct maple_patterns_key *key;

	HASH_FIND(hh, l->p->keys, pattern, sizeof(*pattern), key);
	if (key)
		return key;
	key = calloc(1, sizeof(*key));
	if (key) {
		key->pattern = *pattern;
		name_goal(key);
		HASH_ADD(hh, l->p->keys, pattern, sizeof(key->pattern), key);
		if (key->hh.tbl)
			return key;
		free(key);
	}
	l->error = -ENOMEM;
	return NULL;
}

static void mark(struct learning *l, struct maple_patterns_key *key,
		 enum maple_memo_mark mark)
{
	if (!key->told && !maple_array_reserve(l->told, l->n, l->room)) {
		l->error = -ENOMEM;
		return;
	}
	if (!key->told)
		l->told[l->n++] = key;
	key->told = true;
	key->goal.marks |= 1u << mark;
}

static bool on_shown(void *ctx, const struct maple_order_goal *goal)
{
	struct learning *l = ctx;
	struct maple_patterns_key *key = get(l, &goal->pattern);

	if (!key)
		return false;
	key->shown += l->p->runs != key->last;
	key->last = l->p->runs;
	if (key->covered || !l->harmless)
		return true;
	key->covered = true;
	mark(l, key, key == l->aim ? MAPLE_MEMO_EXPOSED : MAPLE_MEMO_OBSERVED);
	return !l->error;
}

static bool is_left(const struct maple_patterns_key *key)
{
	return !key->covered && key->tries < TRIES;
}

/*
 * Whether an order that waits is still to be run. One that was shown on the way
 * may do harm elsewhere: it has one run of its own.
 */
static bool is_due(const struct maple_patterns_key *key)
{
	return key->tries < (key->covered ? 1 : TRIES);
}

struct promising {
	struct learning *l;
	struct maple_patterns_order *order;
};

static bool on_promised(void *ctx, const struct maple_order_goal *goal)
{
	struct promising *x = ctx;
	struct maple_patterns_order *o = x->order;
	struct maple_patterns_key *key = get(x->l, &goal->pattern);

	if (!key || key->shown)
		return key;
	for (uint32_t i = 0; i < o->nshows; i++)
		if (o->shows[i] == key)
			return true;
	if (!maple_array_reserve(o->shows, o->nshows, o->room))
		return false;
	o->shows[o->nshows++] = key;
	return true;
}

/* Tells @sink what the run's events would show in the order of the @n in @at. */
static void show_on_paper(struct learning *l, const uint32_t *at, uint32_t n,
			  maple_order_sink sink, void *ctx)
{
	struct maple_event *event = malloc((n + 1u) * sizeof(*event));
	struct maple_order_model *model = NULL;

	for (uint32_t i = 0; i < n && event; i++) {
		assert(at[i] < maple_order_events(l->model));
		event[i] = l->event[maple_order_origin(l->model, at[i]).event];
	}
	if (event && !maple_order_model_build(event, n, false, &model))
		maple_order_shown(model, sink, ctx);
	maple_order_model_free(model);
	free(event);
}

/*
 * What @found shows on paper, with all else behind it as the run had it: more
 * than it was solved for. That locks may be held there is left aside.
 */
static void promise(struct learning *l, const struct maple_order_goal *goal,
		    const struct maple_order_found *found,
		    struct maple_patterns_order *order)
{
	struct promising x = { l, order };
	uint32_t n = maple_order_events(l->model), many = 0;
	unsigned int steps = maple_pattern_steps(goal->pattern.number);
	uint32_t *at;
	bool *done;

	if (n > PROMISING)
		return;
	at = malloc((n + 1u) * sizeof(*at));
	done = calloc(n + 1u, sizeof(*done));
	for (uint32_t i = 0; i < n + found->n + steps && at && done; i++) {
		uint32_t e = i < found->n	    ? found->event[i]
			     : i < found->n + steps ? goal->event[i - found->n]
						    : i - found->n - steps;

		if (done[e])
			continue;
		done[e] = true;
		at[many++] = e;
	}
	if (at && done)
		show_on_paper(l, at, many, on_promised, &x);
	free(at);
	free(done);
}

struct looking {
	const struct maple_patterns *p;
	bool news;
};

static bool on_paper(void *ctx, const struct maple_order_goal *goal)
{
	struct looking *x = ctx;
	struct maple_patterns_key *key;

	HASH_FIND(hh, x->p->keys, &goal->pattern, sizeof(goal->pattern), key);
	x->news = !key || !key->shown;
	return !x->news;
}

/* Whether turns of the threads would show, on paper, what no run has. */
static bool turns_show(struct learning *l, bool back)
{
	struct looking x = { .p = l->p };
	uint32_t n = maple_order_events(l->model);
	uint32_t *at = malloc((n + 1u) * sizeof(*at));

	if (at && maple_order_foresee_turns(l->model, back, at))
		show_on_paper(l, at, n, on_paper, &x);
	free(at);
	return x.news;
}

static int put(struct learning *l, struct maple_patterns_key *key,
	       const struct maple_order_goal *goal,
	       const struct maple_order_found *found,
	       const struct maple_policy_switch *list, uint32_t n)
{
	struct maple_patterns *p = l->p;
	struct maple_switches from = {
		.n = n,
		.nnames = l->nnames,
		.entry = (struct maple_policy_switch *)list,
		.name = (struct maple_policy_name *)l->names,
	};
	struct maple_patterns_order *order;

	assert(key->waiting < WAITING);
	if (!maple_array_reserve(p->order, p->norders, p->room))
		return -ENOMEM;
	order = &p->order[p->norders];
	*order = (struct maple_patterns_order){ .key = key,
						.number = p->found++ };
	if (maple_switches_copy(&order->list, &from))
		return -ENOMEM;
	if (p->promises)
		promise(l, goal, found, order);
	p->norders++;
	key->waiting++;
	return 0;
}

static void predict(struct learning *l, struct maple_patterns_key *key)
{
	if (key->predicted)
		return;
	key->predicted = true;
	mark(l, key, MAPLE_MEMO_PREDICTED);
	l->news.predicted = true;
}

static bool on_wanted(void *ctx, const struct maple_order_goal *goal)
{
	struct learning *l = ctx;
	struct maple_patterns_key *key = get(l, &goal->pattern);
	struct maple_policy_switch list[ENTRIES];
	struct maple_order_found order;
	uint32_t n;

	if (!key)
		return false;
	if (l->p->mode == MAPLE_PATTERNS_SEEK) {
		/* Of locks and conditions the table has none. */
		if (goal->pattern.number <= 17 && !key->covered)
			predict(l, key);
		return !l->error && maple_clock_now() < l->until;
	}
	if (!is_left(key) || key->waiting >= WAITING)
		return true;
	switch (maple_order_solve(l->model, goal, &order)) {
	case MAPLE_ORDER_FOUND:
		predict(l, key);
		n = maple_order_schedule(l->model, goal, &order, list, ENTRIES);
		if (n && put(l, key, goal, &order, list, n))
			l->error = -ENOMEM;
		maple_order_deinit(&order);
		break;
	case MAPLE_ORDER_REFUTED:
		key->refuted = true;
		break;
	default:
		key->unknown = true;
	}
	return !l->error && maple_clock_now() < l->until;
}

/* Whether the older threads' turns bring nothing, and the younger ones' do. */
static bool takes_turns_back(struct learning *l)
{
	return l->p->promises && maple_order_events(l->model) <= PROMISING &&
	       !turns_show(l, false) && turns_show(l, true);
}

/* What the memo knows of @key is taken over. */
static void take_over(struct maple_patterns_key *key)
{
	const struct maple_memo_state *known = &key->goal.known;

	key->covered |= known->exposed;
	/* What broke a run is worth all its tries anew. */
	if (!key->broke && !known->broke && known->attempts > key->tries)
		key->tries = known->attempts;
}

/* The memo has heard of @key. */
static void told(struct learning *l, struct maple_patterns_key *key, bool first)
{
	const unsigned int shown = 1u << MAPLE_MEMO_OBSERVED |
				   1u << MAPLE_MEMO_EXPOSED;

	if (key->goal.marks & shown && !key->goal.known.exposed)
		l->news.covered = true;
	if (first) {
		key->broke = key->goal.known.broke;
		take_over(key);
	}
	key->covered |= key->goal.known.exposed;
	key->goal.marks = 0;
	key->told = false;
}

/* The memo hears of it, and says what it knew. */
static int tell(struct learning *l, struct maple_error *err)
{
	struct maple_goal **goals = calloc(l->n + 1u, sizeof(*goals));
	bool *first = calloc(l->n + 1u, sizeof(*first));
	int e = 0;

	if (!goals || !first)
		e = maple_error_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < l->n && !e; i++) {
		assert(l->told[i]->told);
		goals[i] = &l->told[i]->goal;
		first[i] = !goals[i]->row;
	}
	if (!e)
		e = l->study->learn(l->study, goals, l->n, err);
	for (uint32_t i = 0; i < l->n && !e; i++)
		told(l, l->told[i], first[i] && goals[i]->row);
	free(goals);
	free(first);
	return e;
}

/* What came of the run for the pattern that it was for. */
static void judge(struct learning *l)
{
	if (!l->harmless)
		mark(l, l->aim, MAPLE_MEMO_BROKE);
	else if (l->aim->last != l->p->runs)
		mark(l, l->aim, MAPLE_MEMO_FAILED);
}

static int learn(struct learning *l, const struct maple_kept *kept,
		 struct maple_error *err)
{
	struct maple_order_model *model;

	l->until = maple_clock_now() + l->seconds;
	l->error = maple_order_model_build(kept->event, kept->n, false, &model);
	if (!l->error) {
		l->model = model;
		l->event = kept->event;
		maple_order_shown(model, on_shown, l);
		if (l->tries)
			judge(l);
		if (l->p->runs == 1)
			l->p->back = takes_turns_back(l);
		l->p->cut = kept->cut;
		if (!l->error && l->p->mode != MAPLE_PATTERNS_COUNT)
			l->p->cut |= !maple_order_wanted(model, on_wanted, l);
		maple_order_model_free(model);
	}
	return l->error ? maple_error_set(err, ENOMEM, "out of memory")
			: tell(l, err);
}

int maple_patterns_ended(struct maple_patterns *p,
			 const struct maple_profiling *profiling,
			 struct maple_job *job, const struct maple_job_end *end,
			 struct maple_error *err)
{
	const struct maple_run *run = end->run;
	struct maple_study *study = profiling->study;
	struct learning l = {
		.p = p,
		.study = study,
		.names = run->names,
		.nnames = run->nnames,
		.aim = job->goal ? key_of(job->goal) : NULL,
		.tries = job->attempt,
		.harmless = !end->failed,
	};
	double began = maple_clock_now();
	int e;

	p->credit += run->seconds + (p->runs ? 0 : FREE);
	l.seconds = p->credit < LEAST  ? LEAST
		    : p->credit > MOST ? MOST
				       : p->credit;
	p->cut = true;
	p->runs++;
	if (l.tries)
		l.aim->busy = false;
	if (end->absent || run->lost || !run->names || !profiling->kept.n ||
	    study->over(study->ctx))
		return 0;
	e = learn(&l, &profiling->kept, err);
	job->exposed = l.tries && l.harmless && l.aim->last == p->runs;
	p->credit -= maple_clock_now() - began;
	free(l.told);
	if (l.aim && !l.tries)
		l.aim->tries++;
	p->barren = l.news.covered || l.news.predicted ? 0 : p->barren + 1;
	job->news |= !p->barren;
	return e;
}

static bool syncs(const struct maple_patterns_key *key)
{
	return key->pattern.number > 17;
}

/* Two steps take one dependency, all others more. */
static bool is_short(const struct maple_patterns_key *key)
{
	return maple_pattern_steps(key->pattern.number) == 2;
}

static uint32_t promised(const struct maple_patterns_order *o)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->nshows; i++)
		n += !o->shows[i]->shown;
	return n;
}

/*
 * Fewest tries, then locks and conditions, of which there are few, then what is
 * short, what promises most, and what was found first.
 */
static bool is_better(const struct maple_patterns_order *a,
		      const struct maple_patterns_order *b)
{
	if (a->key->tries != b->key->tries)
		return a->key->tries < b->key->tries;
	if (syncs(a->key) != syncs(b->key))
		return syncs(a->key);
	if (is_short(a->key) != is_short(b->key))
		return is_short(a->key);
	if (promised(a) != promised(b))
		return promised(a) > promised(b);
	return a->number < b->number;
}

static void forget(struct maple_patterns_order *order)
{
	maple_switches_deinit(&order->list);
	free(order->shows);
}

/* What is no longer due is taken out. */
static void sweep(struct maple_patterns *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->norders; i++) {
		if (is_due(p->order[i].key)) {
			p->order[n++] = p->order[i];
			continue;
		}
		assert(p->order[i].key->waiting); /* this one, at least */
		p->order[i].key->waiting--;
		forget(&p->order[i]);
	}
	p->norders = n;
}

/* The best one that nobody tries, here or elsewhere; NULL: there is none. */
static struct maple_patterns_order *find_best(struct maple_patterns *p)
{
	struct maple_patterns_order *best = NULL;

	sweep(p);
	for (uint32_t i = 0; i < p->norders; i++) {
		struct maple_patterns_order *o = &p->order[i];

		if (o->key->busy ||
		    maple_claims_elsewhere(&o->key->goal, p->now))
			continue;
		if (!best || is_better(o, best))
			best = o;
	}
	return best;
}

/* Whether @goal, which is ours, is still to be tried. */
static bool is_due_still(void *ctx, struct maple_goal *goal)
{
	take_over(key_of(goal));
	return is_due(key_of(goal));
}

/* The same, claimed. @e: 0, or -errno */
static struct maple_patterns_order *claim_best(struct maple_patterns *p,
					       struct maple_study *study,
					       struct maple_error *err, int *e)
{
	struct maple_patterns_order *best;

	p->now = maple_clock_now();
	*e = 0;
	/* What is not ours is passed over then, what is not due swept. */
	while ((best = find_best(p))) {
		struct maple_goal *goal = &best->key->goal;
		unsigned int ours = 1;

		*e = maple_claims_take(study, &goal, &ours, p->now,
				       is_due_still, NULL, err);
		if (ours || *e)
			break;
	}
	return best;
}

bool maple_patterns_begin(struct maple_patterns *p,
			  struct maple_profiling *profiling,
			  struct maple_job *job, struct maple_error *err, int *e)
{
	struct maple_patterns_order *best =
		claim_best(p, profiling->study, err, e);
	struct maple_patterns_order order;

	if (!best || *e)
		return best;
	order = *best;
	*best = p->order[--p->norders];
	assert(order.key->waiting && is_due(order.key));
	order.key->waiting--;
	order.key->busy = true;
	job->attempt = ++order.key->tries;
	job->budget = MAPLE_PATTERNS_BUDGET;
	job->goal = &order.key->goal;
	*e = maple_profiling_follow(profiling, job, &maple_patterns_how,
				    &order.list, err);
	free(order.shows);
	return true;
}

void maple_patterns_drop(struct maple_job *job)
{
	struct maple_patterns_key *key;

	if (!job->attempt)
		return;
	key = key_of(job->goal);
	assert(key->busy && key->tries);
	key->busy = false;
	key->tries--;
}

bool maple_patterns_any(const struct maple_patterns *p)
{
	for (uint32_t i = 0; i < p->norders; i++) {
		const struct maple_goal *goal = &p->order[i].key->goal;

		if (!(goal->since > 0) || maple_claims_waits(goal, p->now))
			return true;
	}
	return false;
}

/* Those that were shown, or looked for, least, are as likely as each other. */
static struct maple_patterns_key *draw(const struct maple_patterns *p,
				       const struct maple_study *study,
				       uint64_t seed)
{
	struct maple_patterns_key *key, *best = NULL;
	uint64_t n = 0;

	for (key = p->keys; key; key = key->hh.next) {
		unsigned int least = best ? best->shown + best->tries : ~0u,
			     had = key->shown + key->tries;

		if (key->pattern.number > 17 || had > least)
			continue;
		n = had < least ? 1 : n + 1;
		if (!(study->random(study, seed + n) % n))
			best = key;
	}
	return best;
}

int maple_patterns_seek(const struct maple_patterns *p,
			struct maple_profiling *profiling,
			struct maple_job *job, struct maple_error *err)
{
	struct maple_patterns_key *key = draw(p, profiling->study, job->seed);
	int e = maple_profiling_control(profiling, job, &maple_patterns_how,
					MAPLE_POLICY_SEEK, err);

	job->budget = MAPLE_PATTERNS_BUDGET;
	if (!key || e)
		return e;
	job->goal = &key->goal;
	assert(key->goal.n <= MAPLE_POLICY_CHANGES);
	job->policy.nchanges = key->goal.n;
	for (unsigned int i = 0; i < key->goal.n; i++) {
		uint32_t site = key->pattern.site[i];
		bool other = maple_pattern_step(key->pattern.number, i).other;

		job->policy.change[i] = 2ull * site + other;
		maple_job_keep(job, site);
	}
	return 0;
}

void maple_patterns_count(const struct maple_patterns *p,
			  struct maple_coverage *coverage)
{
	const struct maple_patterns_key *key;

	maple_coverage_clear(coverage);
	for (key = p->keys; key; key = key->hh.next) {
		struct maple_class_count *c =
			&coverage->class[key->pattern.number - 1];

		assert(key->pattern.number <= coverage->nclasses);
		bool met = key->covered || key->shown;

		if (!key->predicted && !met) {
			c->barred += key->refuted && !key->unknown;
			continue;
		}
		c->predicted++;
		if (met)
			c->exposed++;
		else if (p->mode == MAPLE_PATTERNS_SEEK ||
			 (is_left(key) && key->waiting))
			c->left++;
		else
			c->failed++;
	}
}

void maple_patterns_deinit(struct maple_patterns *p)
{
	for (uint32_t i = 0; i < p->norders; i++)
		forget(&p->order[i]);
	free(p->order);
	maple_table_clear(p->keys);
	*p = (struct maple_patterns){ 0 };
}
