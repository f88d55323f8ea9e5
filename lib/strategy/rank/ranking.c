// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The runs of rank: which list is next, and what a run's own events say of
 * lists that are one turn further.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/mix.h"
#include "../naming.h"
#include "ranking.h"

#define BUDGET	    10000 /* events that a site records */
#define OFTEN	    64	  /* races of the same sites that one run brings */
#define FORESEEN    20000 /* events of a run that others are foreseen from */
#define KEPT	    (1u << 22) /* ... of all such that are kept */
#define PREEMPTIONS 5 /* of a list, unless something else is asked for */
#define VARIABLES   4
#define EXHAUSTED   2	       /* preemptions, with --exhaust */
#define DRAWS	    0x72616e6b /* of the campaign's random numbers */

struct expanding {
	struct maple_ranking *s;
	const struct maple_kept *kept;
	const struct maple_rank_list *list; /* what the run was to do */
	const struct maple_run *run;
	struct maple_rank_trace *trace;
	struct maple_order_choices choices;
	uint32_t came[MAPLE_RANK_TURNS];  /* by turn: choice, or NONE */
	struct maple_rank_seen *pairs;	  /* of this run, and */
	struct maple_rank_seen *accesses; /* VARIABLES: by variable */
	uint64_t *variable;		  /* by event of the model: its name */
	bool full;			  /* there is no room for all of them */
	int error;
};

static int no_memory(struct maple_error *err)
{
	return maple_error_set(err, ENOMEM, "out of memory");
}

void maple_ranking_init(struct maple_ranking *s, enum maple_rank_way way,
			const struct maple_campaign_options *o)
{
	bool ours = way == MAPLE_RANK_NEWS;

	*s = (struct maple_ranking){ .bounds = o->bounds,
				     .exhausts = o->exhaust,
				     .lists.way = way,
				     .lists.most = MAPLE_RANK_LISTS };
	s->everywhere = !ours;
	s->how = (struct maple_controlled){
		.keeps = true,
		.leaves = o->exhaust ? MAPLE_LEAVES_NONE : MAPLE_LEAVES_OFTEN,
	};
	if (!s->bounds.preemptions && (ours || o->exhaust))
		s->bounds.preemptions = o->exhaust ? EXHAUSTED : PREEMPTIONS;
	if (!s->bounds.variables && ours && !o->exhaust)
		s->bounds.variables = VARIABLES;
}

/* ---- What is run next. ---- */

static uint32_t number_of(struct maple_rank_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (!strncmp(names->name[i].text, name, MAPLE_POLICY_NAME))
			return i;
	if (!maple_array_reserve(names->name, names->n, names->room))
		return MAPLE_ORDER_NONE;
	snprintf(names->name[names->n].text, MAPLE_POLICY_NAME, "%s", name);
	return names->n++;
}

/* In the numbers of the run that it was made from. */
static void by_run(const struct maple_rank_list *list,
		   struct maple_policy_switch *entry)
{
	const struct maple_rank_trace *t = list->from;

	assert(list->n <= MAPLE_RANK_TURNS);
	for (unsigned int i = 0; i < list->n; i++) {
		entry[i] = list->turn[i].entry;
		for (uint32_t k = 0; k < t->nthreads; k++) {
			if (t->name[k] == list->turn[i].entry.thread)
				entry[i].thread = (uint16_t)k;
			if (t->name[k] == list->turn[i].entry.next)
				entry[i].next = (uint16_t)k;
		}
	}
}

static uint64_t hash(const struct maple_rank_trace *t, const uint32_t *order)
{
	uint64_t *name = calloc(t->nthreads + 1u, sizeof(*name)), sum = 0;

	for (uint32_t i = 0; i < t->nthreads && name; i++)
		name[i] = t->name[i] + 1ull;
	if (name)
		sum = maple_order_hash(t->model, order, name);
	free(name);
	return sum;
}

/* Whether what it would do has been done, for no more turns. */
static bool is_known(struct maple_ranking *s, const struct maple_rank_list *list)
{
	struct maple_policy_switch entry[MAPLE_RANK_TURNS];
	const uint32_t *turns = NULL;
	uint32_t *order;

	if (!list->from || s->everywhere)
		return false;
	assert(!list->again);
	order = malloc((list->from->n + 1u) * sizeof(*order));
	by_run(list, entry);
	if (order && maple_order_foresee(list->from->model, entry, list->n,
					 list->youngest, order))
		turns = maple_rank_count(&s->traces, hash(list->from, order));
	free(order);
	return turns && *turns;
}

static int follow(struct maple_ranking *s, struct maple_profiling *p,
		  struct maple_job *job, struct maple_rank_list *list,
		  struct maple_error *err)
{
	struct maple_policy_switch entry[MAPLE_RANK_TURNS];
	struct maple_switches from = {
		.n = list->n,
		.entry = entry,
		.nnames = s->names.n,
		.name = s->names.name,
	}, made;
	int e;

	for (unsigned int i = 0; i < list->n; i++)
		entry[i] = list->turn[i].entry;
	if ((!list->again && maple_rank_tried(&s->lists, list)) ||
	    maple_switches_copy(&made, &from)) {
		maple_rank_list_free(list);
		return no_memory(err);
	}
	job->budget = BUDGET;
	job->aim = list;
	e = maple_profiling_follow(p, job, &s->how, &made, err);
	/* The same beginning is to be the same again. */
	job->policy.seed = 1;
	job->policy.base = list->youngest ? MAPLE_POLICY_YOUNGEST
					  : MAPLE_POLICY_OLDEST;
	job->policy.made = true;
	return e;
}

static int put_bases(struct maple_ranking *s)
{
	for (int youngest = 0; youngest < 2; youngest++) {
		struct maple_rank_list base = { .youngest = youngest };

		if (maple_rank_put(&s->lists, &base))
			return -ENOMEM;
	}
	return 0;
}

/* Everything again. */
static int begin_anew(struct maple_ranking *s)
{
	maple_rank_lists_clear(&s->lists);
	maple_rank_forget(&s->traces);
	s->unsure = s->schedules = 0;
	return put_bases(s);
}

/* ... with all turns. */
static int widen(struct maple_ranking *s)
{
	/* Whose run is not over yet would be of the lists that go. */
	assert(!s->everywhere && !s->underway);
	s->everywhere = true;
	return begin_anew(s);
}

/* The next list that is to be run; NULL: none is left. */
static struct maple_rank_list *take(struct maple_ranking *s)
{
	struct maple_rank_list *list = maple_rank_pop(&s->lists);

	while (list && is_known(s, list)) {
		maple_rank_list_free(list);
		list = maple_rank_pop(&s->lists);
	}
	return list;
}

enum maple_next maple_ranking_begin(struct maple_ranking *s,
				    struct maple_profiling *p,
				    struct maple_job *job,
				    struct maple_error *err, int *e)
{
	struct maple_rank_list *list;

	*e = 0;
	/* Where unknown code was seen there are events that no run had. */
	s->begun &= s->told == p->net.told;
	s->told = p->net.told;
	if (p->study->shared && !s->everywhere)
		s->lists.draws = p->study->random(p->study, DRAWS) | 1;
	if (!s->begun && begin_anew(s)) {
		*e = no_memory(err);
		return MAPLE_NEXT_RUN;
	}
	s->begun = true;
	list = take(s);
	if (!list && s->underway)
		return MAPLE_NEXT_WAIT;
	if (!list && s->exhausts && !s->everywhere) {
		if (widen(s)) {
			*e = no_memory(err);
			return MAPLE_NEXT_RUN;
		}
		list = take(s);
	}
	if (!list)
		return MAPLE_NEXT_DONE;
	s->underway++;
	s->schedules += s->everywhere && !list->again;
	*e = follow(s, p, job, list, err);
	return MAPLE_NEXT_RUN;
}

/* ---- What it did. ---- */

/* What @e of the model was in the run. */
static const struct maple_event *event_of(const struct expanding *x, uint32_t e)
{
	return &x->kept->event[maple_order_origin(x->trace->model, e).event];
}

/* A race is known by its sites, and by whether it is its own turn. */
static uint64_t pair_of(const struct expanding *x,
			const struct maple_order_turn *turn)
{
	const struct maple_event *e, *f;
	uint64_t pair;

	if (turn->f == MAPLE_ORDER_NONE)
		return 0;
	e = event_of(x, turn->e);
	f = event_of(x, turn->f);
	pair = maple_mix((uint64_t)e->site << 8 | e->kind,
			 (uint64_t)f->site << 8 | f->kind);
	return maple_mix(pair, turn->at == turn->e) | 1;
}

/* What a thread stands before that is to stand still: whose, and how often. */
static void tell_variable(struct expanding *x, uint32_t at,
			  struct maple_rank_turn *turn)
{
	const uint32_t *accesses;

	turn->variable = x->variable[at];
	/* Where these count no preemption they count no variable. */
	if (turn->free && (x->s->lists.way == MAPLE_RANK_CHESS ||
			   x->s->lists.way == MAPLE_RANK_VARIABLES))
		turn->variable = 0;
	if (x->s->lists.way != MAPLE_RANK_VARIABLES)
		return;
	accesses = maple_rank_count(&x->accesses, x->variable[at]);
	turn->accesses = accesses ? *accesses : 0;
}

/* What each event of the model is at, by a name. -ENOMEM, or 0 */
static int name_variables(struct expanding *x)
{
	struct maple_locations *n =
		maple_locations_create(x->run, x->kept->event);
	int e = n ? 0 : -ENOMEM;

	x->variable = calloc(x->trace->n + 1u, sizeof(*x->variable));
	if (!x->variable)
		e = -ENOMEM;
	for (uint32_t i = 0; i < x->trace->n && !e; i++) {
		uint64_t addr = event_of(x, i)->addr;

		e = maple_locations_go_on(
			n, maple_order_origin(x->trace->model, i).event);
		x->variable[i] = addr ? maple_locations_of(n, addr) : 0;
	}
	maple_locations_destroy(n);
	return e;
}

/* How often the run came to each variable. -ENOMEM, or 0 */
static int count_accesses(struct expanding *x)
{
	for (uint32_t i = 0; i < x->trace->n; i++) {
		uint32_t *n = maple_rank_count(&x->accesses, x->variable[i]);

		if (!n)
			return -ENOMEM;
		++*n;
	}
	return 0;
}

/* Where it is that @turn is taken; false: no entry can say so. */
static bool place(const struct expanding *x, const struct maple_order_turn *turn,
		  struct maple_policy_switch *entry)
{
	struct maple_order_origin at =
		maple_order_origin(x->trace->model, turn->at);
	uint32_t choice = x->choices.last[turn->at];
	uint32_t thread = event_of(x, turn->at)->thread;

	*entry = (struct maple_policy_switch){ .what = MAPLE_POLICY_AT,
					       .site = at.site,
					       .hit = at.hit,
					       .next_site = MAPLE_SITE_NONE };
	if (choice != MAPLE_ORDER_NONE) {
		const struct maple_policy_switch *had = &x->run->decided[choice];

		entry->what = had->what;
		entry->site = had->site;
		entry->hit = had->hit;
		thread = had->thread;
		if (had->next == turn->next)
			return false;
	}
	if (thread == turn->next || thread >= x->trace->nthreads)
		return false;
	entry->thread = (uint16_t)x->trace->name[thread];
	entry->next = (uint16_t)x->trace->name[turn->next];
	return true;
}

/* @list, whose last turn is new, unless it is beyond bounds; false: no more */
static bool put(struct expanding *x, struct maple_rank_list *list, bool foreseen)
{
	struct maple_ranking *s = x->s;
	uint64_t pair = list->turn[list->n - 1].pair;
	uint32_t *often;

	if (!maple_rank_allows(s->lists.way, &s->bounds, list))
		return true;
	if (pair) {
		often = maple_rank_count(&x->pairs, pair);
		if (!often || (*often)++ >= OFTEN)
			return often || !(x->error = -ENOMEM);
	}
	list->from = foreseen && x->trace->n <= FORESEEN && s->alive <= KEPT
			     ? x->trace
			     : NULL;
	x->error = maple_rank_put(&s->lists, list);
	x->full = x->error == -ENOSPC;
	if (x->full)
		x->error = 0;
	return !x->error && !x->full;
}

static bool on_turn(void *ctx, const struct maple_order_turn *turn)
{
	struct expanding *x = ctx;
	struct maple_rank_turn turns[MAPLE_RANK_TURNS + 1];
	struct maple_rank_list list = { .turn = turns,
					.youngest = x->list->youngest };
	uint32_t choice = x->choices.last[turn->at], over = turn->over;
	/* Where the base chose somebody else, its thread could not go on. */
	bool free = choice != MAPLE_ORDER_NONE;
	struct maple_rank_turn *last;

	for (unsigned int i = 0; i < x->list->n; i++) {
		uint32_t came = x->came[i];

		/* In its place: what it passed over is passed over again. */
		if (came == choice && choice != MAPLE_ORDER_NONE) {
			over += x->list->turn[i].over;
			free = x->list->turn[i].free;
		}
		if (came == MAPLE_ORDER_NONE || came == choice ||
		    x->choices.at[came] > turn->at)
			continue;
		list.turn[list.n++] = x->list->turn[i];
	}
	assert(list.n <= x->list->n);
	last = &list.turn[list.n];
	if (!place(x, turn, &last->entry))
		return true;
	last->pair = pair_of(x, turn);
	last->over = over;
	last->free = free;
	tell_variable(x, turn->at, last);
	list.n++;
	return put(x, &list, true);
}

/* The choice of the run that handed over while the wait of @e lasted, or NONE. */
static uint32_t waited(const struct expanding *x, const struct maple_event *e)
{
	/* Of a condition's wait the second point is where the thread waits. */
	uint32_t hit = e->aux + (e->kind == MAPLE_EV_WAIT);

	for (uint32_t k = 0; k < x->run->ndecided; k++) {
		const struct maple_policy_switch *had = &x->run->decided[k];

		if (had->what == MAPLE_POLICY_AT && had->thread == e->thread &&
		    had->site == e->site && had->hit == hit)
			return had->next == e->thread ? MAPLE_ORDER_NONE : k;
	}
	return MAPLE_ORDER_NONE;
}

/* The same up to the wait at event @at of the model, which ends early then. */
static bool end_early(struct expanding *x, uint32_t at)
{
	struct maple_rank_turn turns[MAPLE_RANK_TURNS + 1];
	struct maple_rank_list list = { .turn = turns,
					.youngest = x->list->youngest };
	const struct maple_event *e = event_of(x, at);
	uint32_t choice = waited(x, e);
	struct maple_rank_turn *last;

	if (choice == MAPLE_ORDER_NONE || e->thread >= x->trace->nthreads)
		return true;
	for (unsigned int i = 0; i < x->list->n; i++)
		if (x->came[i] < choice)
			turns[list.n++] = x->list->turn[i];
	last = &turns[list.n++];
	*last = (struct maple_rank_turn){
		.entry = x->run->decided[choice],
		.pair = maple_mix((uint64_t)e->site << 8 | e->kind,
				  MAPLE_EVF_TIMEOUT) |
			1,
		.variable = x->variable[at],
		.over = 1,
	};
	last->entry.thread = (uint16_t)x->trace->name[e->thread];
	last->entry.next = last->entry.thread;
	last->entry.next_site = MAPLE_SITE_NONE;
	last->entry.next_hit = 0;
	return put(x, &list, false);
}

/*
 * A wait with a timeout may end by itself while what it waits for has not come.
 * The schedules of a bound have none of these.
 */
static void end_waits(struct expanding *x)
{
	bool more = !x->s->everywhere && !x->s->exhausts;

	for (uint32_t i = 0; i < x->trace->n && more && !x->error && !x->full;
	     i++)
		if (event_of(x, i)->flags & MAPLE_EVF_MAYWAIT &&
		    event_of(x, i)->kind != MAPLE_EV_WAKE)
			more = end_early(x, i);
}

/* Which of its turns came true, and where. */
static bool find_turns(struct expanding *x)
{
	bool all = true;

	for (unsigned int i = 0; i < x->list->n; i++) {
		const struct maple_policy_switch *e = &x->list->turn[i].entry;

		x->came[i] = MAPLE_ORDER_NONE;
		for (uint32_t k = 0; k < x->run->ndecided; k++) {
			const struct maple_policy_switch *had =
				&x->run->decided[k];

			if (had->what == e->what && had->site == e->site &&
			    had->hit == e->hit &&
			    x->trace->name[had->thread] == e->thread &&
			    x->trace->name[had->next] == e->next)
				x->came[i] = k;
		}
		all &= x->came[i] != MAPLE_ORDER_NONE;
	}
	return all;
}

static struct maple_rank_trace *make_trace(struct maple_ranking *s,
					   const struct maple_kept *kept,
					   const struct maple_run *run)
{
	struct maple_rank_trace *t = calloc(1, sizeof(*t));
	bool named = true;

	if (!t || maple_order_model_build(kept->event, kept->n, s->everywhere,
					  &t->model)) {
		free(t);
		return NULL;
	}
	t->n = maple_order_events(t->model);
	t->nthreads = maple_order_threads(t->model);
	t->refs = 1;
	t->alive = &s->alive;
	s->alive += t->n;
	t->name = calloc(run->nnames + t->nthreads + 1u, sizeof(*t->name));
	for (uint32_t i = 0; i < run->nnames && t->name; i++) {
		t->name[i] = number_of(&s->names, run->names[i].text);
		named &= t->name[i] != MAPLE_ORDER_NONE;
	}
	if (t->name && named && run->nnames >= t->nthreads)
		return t;
	maple_rank_trace_put(t);
	return NULL;
}

/* Whether it is the first run of its kind, or had to be asked for less. */
static bool is_new(struct expanding *x)
{
	uint64_t sum = hash(x->trace, NULL);
	uint32_t *turns = maple_rank_count(&x->s->traces, sum);

	/* For each set of variables the search is another one. */
	if (turns && x->s->lists.way == MAPLE_RANK_VARIABLES)
		turns = maple_rank_count(
			&x->s->searched,
			maple_mix(sum, maple_rank_variables(x->list)));
	if (!turns)
		return !(x->error = -ENOMEM);
	if (*turns && *turns <= x->list->n + 1)
		return false;
	*turns = x->list->n + 1;
	return true;
}

/* Whether its lists are to be looked at: where nothing is left out, always. */
static bool goes_on(struct expanding *x)
{
	bool all = x->s->everywhere &&
		   (x->s->exhausts || x->s->lists.way != MAPLE_RANK_VARIABLES);

	return is_new(x) || ((all || x->list->again) && !x->error);
}

/* @full: there was no room for all that it brings */
static int expand(struct maple_ranking *s, const struct maple_rank_list *list,
		  const struct maple_kept *kept, const struct maple_run *run,
		  bool *full)
{
	struct expanding x = { .s = s, .kept = kept, .list = list, .run = run };

	x.trace = make_trace(s, kept, run);
	if (!x.trace)
		return -ENOMEM;
	/* What did not come true was done by another list, or never can be. */
	s->unsure += !find_turns(&x) || maple_order_is_cut(x.trace->model);
	if (!x.error)
		x.error = name_variables(&x);
	if (!x.error && s->lists.way == MAPLE_RANK_VARIABLES)
		x.error = count_accesses(&x);
	if (!x.error && goes_on(&x)) {
		x.error = maple_order_choices_find(x.trace->model, kept->event,
						   kept->n, run->decided,
						   run->ndecided, &x.choices);
		if (!x.error)
			x.error = (s->everywhere ? maple_order_everywhere
						 : maple_order_races)(
				x.trace->model, on_turn, &x);
		end_waits(&x);
		maple_order_choices_deinit(&x.choices);
	}
	maple_rank_forget(&x.pairs);
	maple_rank_forget(&x.accesses);
	free(x.variable);
	maple_rank_trace_put(x.trace);
	*full = x.full;
	return x.error;
}

int maple_ranking_ended(struct maple_ranking *s,
			const struct maple_profiling *p, struct maple_job *job,
			const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_rank_list *list = job->aim;
	const struct maple_run *run = end->run;
	bool full = false;
	int e = 0;

	assert(s->underway && list);
	s->underway--;
	job->aim = NULL;
	if (end->absent || run->lost || run->released || run->counts.over ||
	    run->counts.uncounted || !p->kept.n || p->kept.cut)
		s->unsure++;
	else if (expand(s, list, &p->kept, run, &full))
		e = no_memory(err);
	if (full)
		maple_rank_later(&s->lists, list);
	else
		maple_rank_list_free(list);
	return e;
}

void maple_ranking_drop(struct maple_ranking *s, struct maple_job *job)
{
	assert(s->underway && job->aim);
	s->underway--;
	s->unsure++;
	maple_rank_list_free(job->aim);
	job->aim = NULL;
}

void maple_ranking_bound(const struct maple_ranking *s,
			 struct maple_bound *bound)
{
	*bound = (struct maple_bound){
		.bounds = s->bounds,
		.counted = s->lists.way == MAPLE_RANK_DELAYS ? "delay"
							     : "preemption",
		.schedules = s->schedules,
		.orders = maple_rank_numbers(s->traces),
		.unsure = s->unsure,
		.dropped = s->lists.dropped,
	};
}

void maple_ranking_deinit(struct maple_ranking *s)
{
	maple_rank_lists_clear(&s->lists);
	maple_rank_forget(&s->traces);
	maple_rank_forget(&s->searched);
	free(s->names.name);
	*s = (struct maple_ranking){ 0 };
}
