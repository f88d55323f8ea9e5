// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The strategy rank, and the published ones beside it, held against programs of
 * a few operations: each run that is asked for is carried out by the policy
 * itself. What all schedules within a bound come to is worked out by trying all
 * of them.
 *
 * beside: guests
 */
#include <errno.h>
#include "policy_rig.h"
#include "study_rig.h"
#include "base/mix.h"
#include "order/model.h"
#include "strategy/maple/classes.h"
#include "strategy/rank/ranking.h"

#define PROGRAMS 60
#define FEW	 10 /* ... where there are several ways */
#define BOUND	 2
#define MOST	 4096 /* orders of a program */

enum { DATA = 1, LOCKED = 3 }; /* addresses: two of data, two of locks */

/* ---- Programs. ---- */

static void add(struct rig_program *program, unsigned int t, uint32_t kind,
		uint64_t addr)
{
	unsigned int *n = &program->nops[t];

	program->op[t][(*n)++] = (struct rig_op){
		.site = 10 * (t + 1) + *n,
		.kind = kind,
		.addr = addr,
		.peek = kind == MAPLE_EV_LOCK,
		.flags = kind == MAPLE_EV_UNLOCK ? RIG_UNCONTROLLED : 0,
	};
}

/* Two or three threads, with a section each, now and then. */
static void make(struct rig_program *program, unsigned int seed)
{
	*program = (struct rig_program){ .nthreads = 2 + seed % 2 };
	srand(seed);
	for (unsigned int t = 0; t < program->nthreads; t++) {
		bool locks = rand() % 2;
		uint64_t lock = LOCKED + rand() % 2;

		if (rand() % 2)
			add(program, t, MAPLE_EV_READ + rand() % 2, DATA);
		if (locks)
			add(program, t, MAPLE_EV_LOCK, lock);
		for (int i = 1 + rand() % 2; i; i--)
			add(program, t, MAPLE_EV_READ + rand() % 2,
			    DATA + rand() % 2);
		if (locks)
			add(program, t, MAPLE_EV_UNLOCK, lock);
	}
}

/* ---- What an order comes to. ---- */

static bool depend(const struct rig_op *a, const struct rig_op *b)
{
	return a->addr == b->addr &&
	       (a->kind != MAPLE_EV_READ || b->kind != MAPLE_EV_READ);
}

/*
 * The same for orders in which all that depends on each other comes in the same
 * order, and for no others: how many operations, one after the other, each one
 * waits for.
 */
static uint64_t signature(const struct rig_program *program,
			  const unsigned int *step, unsigned int n)
{
	unsigned int level[RIG_STEPS], at[RIG_THREADS + 1] = { 0 };
	const struct rig_op *op[RIG_STEPS];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		op[i] = &program->op[step[i] - 1][at[step[i]]++];
		level[i] = 0;
		for (unsigned int k = 0; k < i; k++)
			if ((step[k] == step[i] || depend(op[k], op[i])) &&
			    level[k] >= level[i])
				level[i] = level[k] + 1;
		sum += maple_mix(op[i]->site, level[i]);
	}
	return sum;
}

struct orders {
	uint64_t sum[MOST];
	unsigned int n;
};

static void note(struct orders *o, uint64_t sum)
{
	for (unsigned int i = 0; i < o->n; i++)
		if (o->sum[i] == sum)
			return;
	assert_true(o->n < MOST);
	o->sum[o->n++] = sum;
}

static bool has(const struct orders *o, uint64_t sum)
{
	for (unsigned int i = 0; i < o->n; i++)
		if (o->sum[i] == sum)
			return true;
	return false;
}

/* ---- All schedules, by trying. ---- */

/* What it takes to go on with a thread that is not the usual one. */
enum price {
	EACH,	  /* one */
	PREEMPTS, /* one, unless the last one cannot go on */
	DELAYS,	  /* as many as are passed over */
};

static const struct maple_strategy *strategy = &maple_strategy_rank;
static enum price price;

struct trying {
	const struct rig_program *program;
	bool youngest;
	unsigned int at[RIG_THREADS + 1], step[RIG_STEPS], n;
	unsigned int owner[8];
	struct orders *orders;
};

static const struct rig_op *next_op(const struct trying *t, unsigned int thread)
{
	return t->at[thread] < t->program->nops[thread - 1]
		       ? &t->program->op[thread - 1][t->at[thread]]
		       : NULL;
}

static bool can_go(const struct trying *t, unsigned int thread)
{
	const struct rig_op *op = thread ? next_op(t, thread) : NULL;

	return op && (op->kind != MAPLE_EV_LOCK || !t->owner[op->addr]);
}

static void do_one(struct trying *t, unsigned int thread)
{
	const struct rig_op *op = next_op(t, thread);

	if (op->kind == MAPLE_EV_LOCK)
		t->owner[op->addr] = thread;
	else if (op->kind == MAPLE_EV_UNLOCK)
		t->owner[op->addr] = 0;
	t->step[t->n++] = thread;
	t->at[thread]++;
}

static unsigned int price_of(const struct trying *t, unsigned int now,
			     unsigned int usual, unsigned int next)
{
	unsigned int n = 0, all = t->program->nthreads;

	if (next == usual || price == EACH)
		return next != usual;
	if (price == PREEMPTS)
		return can_go(t, now);
	for (unsigned int i = usual; i != next;) {
		i = i % all + 1;
		n += can_go(t, i);
	}
	return n;
}

/* @now ran last, or none did; @left is what turns may cost. */
static void try_all(const struct trying *from, unsigned int now,
		    unsigned int left)
{
	unsigned int usual = can_go(from, now) ? now : 0;

	for (unsigned int i = 1; i <= from->program->nthreads && !usual; i++) {
		unsigned int t =
			from->youngest ? from->program->nthreads + 1 - i : i;

		if (can_go(from, t))
			usual = t;
	}
	if (!usual) {
		note(from->orders,
		     signature(from->program, from->step, from->n));
		return;
	}
	for (unsigned int t = 1; t <= from->program->nthreads; t++) {
		struct trying then = *from;
		unsigned int costs = price_of(from, now, usual, t);

		if (!can_go(from, t) || costs > left)
			continue;
		do_one(&then, t);
		/* What is no point goes with what is before it. */
		while (next_op(&then, t) &&
		       next_op(&then, t)->flags & RIG_UNCONTROLLED)
			do_one(&then, t);
		try_all(&then, t, left - costs);
	}
}

static void brute_force(const struct rig_program *program, struct orders *orders)
{
	orders->n = 0;
	for (int youngest = 0; youngest < 2; youngest++) {
		struct trying t = { .program = program,
				    .youngest = youngest,
				    .orders = orders };

		try_all(&t, 0, BOUND);
	}
}

/* ---- The strategy. ---- */

static struct maple_event events[RIG_STEPS];
static uint32_t nevents;
static bool goes_quiet; /* the first site of thread 1 */
static bool lets_go;	/* the run, which is native from then on */

static void put_event(unsigned int thread, uint32_t kind, uint32_t site,
		      uint64_t addr, uint32_t aux)
{
	events[nevents++] = (struct maple_event){
		.thread = (uint16_t)thread,
		.kind = (uint8_t)kind,
		.site = site,
		.addr = 0x1000 + 8 * addr,
		.size = 4,
		.aux = aux,
	};
}

/* What the rig's last run would have told. */
static void tell_events(const struct rig_program *program)
{
	unsigned int at[RIG_THREADS + 1] = { 0 };

	nevents = 0;
	for (unsigned int t = 1; t <= program->nthreads; t++) {
		put_event(0, MAPLE_EV_CREATE, 1, 0, t);
		put_event(t, MAPLE_EV_START, 2, 0, 0);
	}
	if (goes_quiet)
		put_event(1, MAPLE_EV_QUIET, program->op[0][0].site, 0, 0);
	for (unsigned int i = 0; i < rig.nsteps; i++) {
		unsigned int t = rig.step[i];
		const struct rig_op *op = &program->op[t - 1][at[t]++];

		put_event(t, op->kind, op->site, op->addr, rig.hit[i]);
		if (at[t] == program->nops[t - 1])
			put_event(t, MAPLE_EV_EXIT, 2, 0, 0);
	}
}

static void run_list(const struct rig_program *program,
		     const struct maple_policy_order *order,
		     const struct maple_switches *list)
{
	rig_order(MAPLE_POLICY_LIST, 1)->base = order->base;
	rig.setup.list = list->entry;
	rig.setup.nlist = list->n;
	rig.setup.name = list->name;
	rig.setup.nnames = list->nnames;
	rig_run(program);
	tell_events(program);
}

struct seat {
	void *self;
	struct maple_job job;
	struct maple_error err;
};

static void sit(struct seat *s, bool exhaust)
{
	memset(s, 0, sizeof(*s));
	options = (struct maple_campaign_options){
		.exhaust = exhaust,
		.bounds.preemptions = exhaust ? BOUND : 0,
	};
	study.registry = maple_registry_create();
	assert_non_null(study.registry);
	assert_int_equal(strategy->open(strategy, &study, &s->self, &s->err), 0);
}

static void stand_up(struct seat *s)
{
	strategy->close(s->self);
	maple_registry_destroy(study.registry);
}

static enum maple_next ask(struct seat *s)
{
	enum maple_next next;
	int e = 0;

	s->job = (struct maple_job){ .seed = 1 };
	next = strategy->next(s->self, &s->job, &s->err, &e);
	assert_int_equal(e, 0);
	return next;
}

/* The run that was asked for, and what is said of it; @lost events. */
static void carry_out(struct seat *s, const struct rig_program *program,
		      uint64_t lost)
{
	struct maple_run_thread threads[RIG_THREADS + 1] = { 0 };
	struct maple_run run = { .delivered = true,
				 .lost = lost,
				 .released = lets_go,
				 .threads = threads,
				 .nthreads = program->nthreads + 1,
				 .nnames = program->nthreads + 1 };
	struct maple_job_end end = { .run = &run };

	run_list(program, &s->job.policy, &s->job.switches);
	run.names = rig.name;
	run.decided = rig.log;
	run.ndecided = rig.nlog;
	run.counts = rig.counts;
	for (unsigned int t = 0; t <= program->nthreads; t++)
		memcpy(threads[t].name, rig.name[t].text, MAPLE_POLICY_NAME);
	for (uint32_t i = 0; i < nevents; i++)
		strategy->event(s->self, &s->job, &events[i]);
	assert_int_equal(strategy->ended(s->self, &s->job, &end, &s->err), 0);
	maple_switches_deinit(&s->job.switches);
	free(s->job.alone);
}

static struct maple_bound bound(struct seat *s)
{
	struct maple_standing standing;

	strategy->standing(s->self, &standing);
	return standing.bound;
}

static void exhausts(void)
{
	static struct orders all, seen;
	struct rig_program program;
	unsigned int more = 0;

	for (unsigned int seed = 0; seed < PROGRAMS; seed++) {
		struct seat s;

		make(&program, seed);
		brute_force(&program, &all);
		seen.n = 0;
		sit(&s, true);
		while (ask(&s) == MAPLE_NEXT_RUN) {
			assert_false(s.job.idle);
			carry_out(&s, &program, 0);
			note(&seen, signature(&program, rig.step, rig.nsteps));
		}
		assert_int_equal(bound(&s).unsure, 0);
		assert_int_equal(bound(&s).dropped, 0);
		assert_true(bound(&s).schedules >= seen.n);
		assert_int_equal(bound(&s).orders, all.n);
		for (unsigned int i = 0; i < all.n; i++)
			assert_true(has(&seen, all.sum[i]));
		for (unsigned int i = 0; i < seen.n; i++)
			assert_true(has(&all, seen.sum[i]));
		more += all.n > 2;
		stand_up(&s);
	}
	assert_true(more > PROGRAMS / 2);
	rig_clear();
}

static uint64_t other_number(const struct maple_study *its, uint64_t salt)
{
	return number(its, salt + 1);
}

/* What a campaign does in its first runs, as one number. */
static uint64_t begins_with(const struct rig_program *program, bool shared,
			    bool other)
{
	uint64_t sum = 0;
	struct seat s;

	study.shared = shared;
	study.random = other ? other_number : number;
	sit(&s, false);
	for (unsigned int run = 0; run < 8; run++) {
		assert_int_equal(ask(&s), MAPLE_NEXT_RUN);
		carry_out(&s, program, 0);
		sum = sum * 31 + signature(program, rig.step, rig.nsteps);
	}
	stand_up(&s);
	study.shared = false;
	study.random = number;
	return sum;
}

/* Else two campaigns on one program would do the same, whatever their seeds. */
static void whoever_shares_a_memo_does_as_its_seed_says(void **state)
{
	struct rig_program program;
	unsigned int others = 0;

	for (unsigned int seed = 0; seed < PROGRAMS; seed++) {
		make(&program, seed);
		others += begins_with(&program, true, false) !=
			  begins_with(&program, true, true);
		assert_true(begins_with(&program, false, false) ==
			    begins_with(&program, false, true));
	}
	assert_true(others > PROGRAMS / 4);
	rig_clear();
}

static void a_bound_is_exhausted(void **state)
{
	exhausts();
}

static void a_published_bound_is_exhausted(void **state)
{
	static const struct {
		const struct maple_strategy *strategy;
		enum price price;
	} all[] = {
		{ &maple_strategy_chess, PREEMPTS },
		{ &maple_strategy_delay, DELAYS },
		{ &maple_strategy_rankchecker, PREEMPTS },
	};

	for (unsigned int i = 0; i < 3; i++) {
		strategy = all[i].strategy;
		price = all[i].price;
		exhausts();
	}
	strategy = &maple_strategy_rank;
	price = EACH;
}

/* ---- Hardly any room. ---- */

/* rank, with room for so few lists that most wait for their turn to be made. */
struct narrow {
	struct maple_profiling profiling;
	struct maple_ranking ranking;
};

MAPLE_PROFILED(struct narrow);

static uint32_t room;
static unsigned int rerun; /* runs that were one before */

static int open_narrow(const struct maple_strategy *its,
		       struct maple_study *its_study, void **self,
		       struct maple_error *err)
{
	struct narrow *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	maple_profiling_init(&s->profiling, its_study, true);
	maple_ranking_init(&s->ranking, MAPLE_RANK_NEWS, its_study->options);
	s->ranking.lists.most = room;
	*self = s;
	return 0;
}

static enum maple_next next_narrow(void *self, struct maple_job *job,
				   struct maple_error *err, int *e)
{
	struct narrow *s = self;
	enum maple_next next =
		maple_ranking_begin(&s->ranking, &s->profiling, job, err, e);

	assert_true(s->ranking.lists.n <= room);
	rerun += next == MAPLE_NEXT_RUN &&
		 ((struct maple_rank_list *)job->aim)->again;
	return next;
}

static int ended_narrow(void *self, struct maple_job *job,
			const struct maple_job_end *end, struct maple_error *err)
{
	struct narrow *s = self;
	int e = maple_profiling_ended(&s->profiling, job, end, err);

	assert_int_equal(e, 0);
	return maple_ranking_ended(&s->ranking, &s->profiling, job, end, err);
}

static void standing_narrow(const void *self, struct maple_standing *standing)
{
	const struct narrow *s = self;

	maple_ranking_bound(&s->ranking, &standing->bound);
}

static void close_narrow(void *self)
{
	struct narrow *s = self;

	maple_ranking_deinit(&s->ranking);
	maple_profiling_deinit(&s->profiling);
	free(s);
}

static const struct maple_strategy narrow = {
	.name = "narrow",
	.classes = maple_classes,
	.open = open_narrow,
	.next = next_narrow,
	.event = maple_profiled_event,
	.ended = ended_narrow,
	.standing = standing_narrow,
	.close = close_narrow,
};

/* None is lost: as many schedules as there are where there is room for all. */
static void what_has_no_room_is_put_later(void **state)
{
	static const uint32_t rooms[] = { MAPLE_RANK_LISTS, 3, 2 };
	static uint64_t schedules[FEW];
	static struct orders all;
	struct rig_program program;
	struct seat s;

	strategy = &narrow;
	for (unsigned int i = 0; i < 3; i++) {
		room = rooms[i];
		rerun = 0;
		for (unsigned int seed = 0; seed < FEW; seed++) {
			make(&program, seed);
			brute_force(&program, &all);
			sit(&s, true);
			while (ask(&s) == MAPLE_NEXT_RUN)
				carry_out(&s, &program, 0);
			assert_int_equal(bound(&s).unsure, 0);
			assert_int_equal(bound(&s).dropped, 0);
			assert_int_equal(bound(&s).orders, all.n);
			if (!i)
				schedules[seed] = bound(&s).schedules;
			assert_int_equal(bound(&s).schedules, schedules[seed]);
			stand_up(&s);
		}
		assert_int_equal(rerun > FEW, i > 0);
	}
	strategy = &maple_strategy_rank;
	rig_clear();
}

/* Nobody knows what a run did that was not seen to its end. */
static void loses(uint64_t lost, bool quiet)
{
	struct rig_program program;
	struct seat s;
	unsigned int runs = 0;

	make(&program, 1);
	sit(&s, true);
	while (ask(&s) == MAPLE_NEXT_RUN) {
		bool now = ++runs % 3 == 0;

		goes_quiet = quiet && now;
		carry_out(&s, &program, now ? lost : 0);
	}
	goes_quiet = false;
	assert_true(bound(&s).unsure > 0);
	stand_up(&s);
	rig_clear();
}

static void what_was_lost_is_not_exhausted(void **state)
{
	loses(1, false);
}

static void what_was_let_go_is_not_exhausted(void **state)
{
	lets_go = true;
	loses(0, false);
	lets_go = false;
}

/* ... nor what a site did that has used up its budget. */
static void what_went_quiet_is_not_exhausted(void **state)
{
	loses(0, true);
}

/* Runs, which nobody carries out, until none is left. */
static unsigned int runs_left(struct maple_ranking *r, struct maple_profiling *p)
{
	unsigned int n = 0;

	for (;; n++) {
		struct maple_job job = { .seed = 1 };
		struct maple_error err;
		int e;

		if (maple_ranking_begin(r, p, &job, &err, &e) != MAPLE_NEXT_RUN)
			return n;
		assert_int_equal(e, 0);
		maple_ranking_drop(r, &job);
		maple_profiling_drop(p, &job);
		maple_switches_deinit(&job.switches);
		free(job.alone);
	}
}

/* What was run is to be run again when a variable turns out to be shared. */
static void what_the_net_tells_begins_all_anew(void **state)
{
	for (int exhaust = 0; exhaust < 2; exhaust++) {
		struct maple_profiling p;
		struct maple_ranking r;

		options = (struct maple_campaign_options){ .exhaust = exhaust };
		study.registry = maple_registry_create();
		maple_profiling_init(&p, &study, true);
		maple_ranking_init(&r, MAPLE_RANK_NEWS, &options);
		/* The two bases, and all turns of them. */
		assert_int_equal(runs_left(&r, &p), exhaust ? 4 : 2);
		assert_int_equal(runs_left(&r, &p), 0);
		p.net.told++;
		assert_int_equal(runs_left(&r, &p), 2);
		assert_int_equal(r.schedules, exhaust ? 2 : 0);
		assert_int_equal(runs_left(&r, &p), 0);
		maple_ranking_deinit(&r);
		maple_profiling_deinit(&p);
		maple_registry_destroy(study.registry);
	}
}

/* Fewer runs than there are schedules, and nearly all orders that there are. */
static void races_come_first(void **state)
{
	static struct orders all, seen;
	struct rig_program program;
	unsigned int orders = 0, found = 0, runs = 0, schedules = 0;

	for (unsigned int seed = 0; seed < PROGRAMS; seed++) {
		struct seat s;

		make(&program, seed);
		brute_force(&program, &all);
		seen.n = 0;
		sit(&s, false);
		while (ask(&s) == MAPLE_NEXT_RUN && !s.job.idle) {
			carry_out(&s, &program, 0);
			note(&seen, signature(&program, rig.step, rig.nsteps));
			runs++;
		}
		/* It goes on at random. */
		assert_int_equal(s.job.policy.policy, MAPLE_POLICY_POS);
		assert_true(s.job.wanted > 0);
		strategy->drop(s.self, &s.job);
		free(s.job.alone);
		stand_up(&s);
		orders += all.n;
		for (unsigned int i = 0; i < all.n; i++)
			found += has(&seen, all.sum[i]);
		sit(&s, true);
		while (ask(&s) == MAPLE_NEXT_RUN)
			carry_out(&s, &program, 0);
		schedules += (unsigned int)bound(&s).schedules;
		stand_up(&s);
	}
	print_message("# %u orders, %u found in %u runs; %u schedules\n",
		      orders, found, runs, schedules);
	assert_true(found * 10 >= orders * 9);
	assert_true(runs * 2 < schedules);
	rig_clear();
}

/* ---- What is foreseen. ---- */

struct foretelling {
	const struct rig_program *program;
	struct maple_order_model *model;
	struct maple_order_choices choices;
	struct maple_policy_switch log[64];
	uint32_t foreseen, turns;
	bool youngest;
};

static uint64_t hash_of(const struct maple_order_model *model,
			const uint32_t *order)
{
	static const uint64_t names[RIG_THREADS + 1] = { 1, 2, 3, 4, 5,
							 6, 7, 8, 9 };

	return maple_order_hash(model, order, names);
}

/* These programs have no branches: what is foreseen is what happens. */
static bool on_turn(void *ctx, const struct maple_order_turn *turn)
{
	static struct maple_policy_name names[] = {
		{ "0" }, { "0.1" }, { "0.2" }, { "0.3" }
	};
	struct foretelling *f = ctx;
	uint32_t choice = f->choices.last[turn->at], order[RIG_STEPS];
	struct maple_order_model *model;
	uint64_t hash;
	struct maple_policy_switch entry;
	struct maple_switches list = {
		.n = 1, .entry = &entry, .nnames = 4, .name = names
	};
	struct maple_policy_order how = { .base = f->youngest };

	if (choice != MAPLE_ORDER_NONE)
		entry = f->log[choice];
	else
		entry = (struct maple_policy_switch){
			.thread = (uint16_t)f->model->event[turn->at].thread,
			.what = MAPLE_POLICY_AT,
			.site = f->model->event[turn->at].place,
			.hit = f->model->event[turn->at].hit,
		};
	if (entry.next == turn->next || entry.thread == turn->next)
		return true;
	entry.next = (uint16_t)turn->next;
	f->turns++;
	if (!maple_order_foresee(f->model, &entry, 1, f->youngest, order))
		return true;
	f->foreseen++;
	hash = hash_of(f->model, order);
	run_list(f->program, &how, &list);
	assert_int_equal(
		maple_order_model_build(events, nevents, false, &model), 0);
	assert_int_equal(hash_of(model, NULL), hash);
	maple_order_model_free(model);
	return true;
}

static void what_is_foreseen_happens(void **state)
{
	struct rig_program program;
	uint32_t foreseen = 0, turns = 0;

	for (unsigned int seed = 0; seed < PROGRAMS; seed++) {
		struct foretelling f = { .program = &program,
					 .youngest = seed & 1 };
		struct maple_policy_order how = { .base = f.youngest };
		struct maple_switches none = { 0 };

		make(&program, seed);
		run_list(&program, &how, &none);
		assert_true(rig.nlog < 64);
		memcpy(f.log, rig.log, rig.nlog * sizeof(*rig.log));
		assert_int_equal(maple_order_model_build(events, nevents, false,
							 &f.model),
				 0);
		assert_int_equal(maple_order_choices_find(f.model, events,
							  nevents, f.log,
							  rig.nlog, &f.choices),
				 0);
		assert_int_equal(maple_order_everywhere(f.model, on_turn, &f),
				 0);
		foreseen += f.foreseen;
		turns += f.turns;
		maple_order_choices_deinit(&f.choices);
		maple_order_model_free(f.model);
	}
	print_message("# %u turns, %u foreseen\n", turns, foreseen);
	assert_true(foreseen * 2 > turns && turns > PROGRAMS);
	rig_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_is_exhausted),
		cmocka_unit_test(whoever_shares_a_memo_does_as_its_seed_says),
		cmocka_unit_test(a_published_bound_is_exhausted),
		cmocka_unit_test(what_was_lost_is_not_exhausted),
		cmocka_unit_test(what_was_let_go_is_not_exhausted),
		cmocka_unit_test(what_went_quiet_is_not_exhausted),
		cmocka_unit_test(what_has_no_room_is_put_later),
		cmocka_unit_test(what_the_net_tells_begins_all_anew),
		cmocka_unit_test(races_come_first),
		cmocka_unit_test(what_is_foreseen_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
