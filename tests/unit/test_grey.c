// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The strategy grey: what it counts of a run, what it keeps, where it cuts, and
 * what it asks for. The program is two threads that update one counter.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/grey/greybox.h"

#define PLACE 0x5000u
#define MOST  64

enum { INCREASE = 10, LOOK, CALLED };

static struct maple_event event[MOST];
static uint32_t nevents;
static struct maple_policy_switch entry[MOST];
static struct maple_policy_name names[] = { { "0" }, { "0.1" }, { "0.2" } };
static struct maple_run_thread threads[3];
static struct maple_run_image image = { 7, true, 0x1000, 0x1000, 0x9000 };
static struct maple_run run;

static struct maple_event *put(uint16_t thread, uint8_t kind, uint32_t site,
			       uint32_t hit)
{
	struct maple_event *e = &event[nevents++];

	assert_true(nevents <= MOST);
	*e = (struct maple_event){ .thread = thread,
				   .kind = kind,
				   .site = site,
				   .aux = hit,
				   .clock = nevents };
	if (maple_event_is_memory(kind)) {
		e->addr = PLACE;
		e->size = 4;
	}
	return e;
}

static void read_value(uint16_t thread, uint8_t kind, uint32_t site,
		       uint32_t hit, int32_t value)
{
	struct maple_event *e = put(thread, kind, site, hit);

	e->value = (uint32_t)value;
	e->flags = MAPLE_EVF_VALUED;
}

static void chose(uint16_t thread, enum maple_policy_what what, uint32_t site,
		  uint32_t hit, uint16_t next, uint32_t next_site,
		  uint32_t next_hit)
{
	assert_true(run.ndecided < MOST);
	entry[run.ndecided++] =
		(struct maple_policy_switch){ thread, next,	 what,	  site,
					      hit,    next_site, next_hit };
}

/* 0 creates 1 and 2, and waits; then 1, 2, and 1 again. */
static void a_run(void)
{
	nevents = 0;
	run = (struct maple_run){ .delivered = true,
				  .nthreads = 3,
				  .threads = threads,
				  .names = names,
				  .nnames = 3,
				  .images = &image,
				  .nimages = 1,
				  .decided = entry };
	put(0, MAPLE_EV_CREATE, CALLED, 1);
	put(1, MAPLE_EV_START, CALLED, 0);
	chose(1, MAPLE_POLICY_ARRIVED, INCREASE, 1, 0, MAPLE_SITE_NONE, 0);
	put(0, MAPLE_EV_CREATE, CALLED, 2);
	put(2, MAPLE_EV_START, CALLED, 0);
	chose(2, MAPLE_POLICY_ARRIVED, INCREASE, 1, 0, MAPLE_SITE_NONE, 0);
	chose(0, MAPLE_POLICY_BLOCKED, MAPLE_SITE_NONE, 0, 1, INCREASE, 1);
	read_value(1, MAPLE_EV_UPDATE, INCREASE, 1, 0);
	read_value(1, MAPLE_EV_READ, LOOK, 1, 1);
	chose(1, MAPLE_POLICY_AT, LOOK, 2, 2, INCREASE, 1);
	read_value(2, MAPLE_EV_UPDATE, INCREASE, 1, 1);
	read_value(2, MAPLE_EV_READ, LOOK, 1, 2);
	chose(2, MAPLE_POLICY_AT, LOOK, 2, 1, LOOK, 2);
	read_value(1, MAPLE_EV_READ, LOOK, 2, -2);
	read_value(1, MAPLE_EV_READ, LOOK, 3, 1000);
	chose(1, MAPLE_POLICY_BLOCKED, LOOK, 3, 2, LOOK, 2);
	read_value(2, MAPLE_EV_READ, LOOK, 2, 2);
}

struct told {
	struct maple_feature feature[MOST];
	uint32_t at[MOST], n;
};

static bool on_feature(void *ctx, const struct maple_feature *feature,
		       uint32_t at)
{
	struct told *told = ctx;

	assert_true(told->n < MOST);
	told->feature[told->n] = *feature;
	told->at[told->n++] = at;
	return true;
}

static void features(struct told *told)
{
	struct maple_order_model *model;

	*told = (struct told){ 0 };
	assert_int_equal(maple_order_model_build(event, nevents, false, &model),
			 0);
	assert_int_equal(maple_features(&run, event, model, on_feature, told),
			 0);
	maple_order_model_free(model);
}

static unsigned int count(const struct told *told, uint32_t a, uint32_t b,
			  int32_t value)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < told->n; i++)
		n += told->feature[i].a == a && told->feature[i].b == b &&
		     told->feature[i].value == value;
	return n;
}

static void a_feature_is_a_dependency_and_a_value(void **state)
{
	struct told told;

	a_run();
	features(&told);
	/* What it reads, and whom it writes over. */
	assert_int_equal(count(&told, INCREASE, INCREASE, 1), 1);
	assert_int_equal(count(&told, LOOK, INCREASE, 1), 1);
	assert_int_equal(count(&told, INCREASE, LOOK, -2), 1);
	/* That it looks once more is no dependency. */
	assert_int_equal(told.n, 3);
	for (uint32_t i = 0; i < told.n; i++)
		assert_int_equal(told.feature[i].location,
				 told.feature[0].location);
}

static void a_value_is_small_or_large_or_not_known(void **state)
{
	struct told told;

	a_run();
	event[8].value = 17; /* 1 looks for the second time */
	features(&told);
	assert_int_equal(count(&told, INCREASE, LOOK, MAPLE_FEATURE_LARGE), 1);
	event[8].value = (uint32_t)-16;
	features(&told);
	assert_int_equal(count(&told, INCREASE, LOOK, -16), 1);
	event[8].flags = 0;
	features(&told);
	assert_int_equal(count(&told, INCREASE, LOOK, MAPLE_FEATURE_NOTHING), 1);
	event[8].kind = MAPLE_EV_WRITE;
	features(&told);
	assert_int_equal(count(&told, LOOK, LOOK, MAPLE_FEATURE_NOTHING), 1);
}

/* All accesses are at @addr now; where is the first feature? */
static uint64_t location(uint64_t addr)
{
	struct told told;

	for (uint32_t i = 0; i < nevents; i++)
		if (maple_event_is_memory(event[i].kind))
			event[i].addr = addr;
	features(&told);
	assert_int_equal(told.n, 3);
	return told.feature[0].location;
}

static void a_location_has_a_name(void **state)
{
	uint64_t data, block, stack, other;

	a_run();
	data = location(PLACE);
	assert_int_not_equal(location(PLACE + 4), data);
	/* The image is elsewhere, and the place with it. */
	image = (struct maple_run_image){ 7, true, 0x21000, 0x21000, 0x29000 };
	assert_int_equal(location(PLACE + 0x20000), data);
	other = location(PLACE);
	image = (struct maple_run_image){ 7, true, 0x1000, 0x1000, 0x9000 };
	assert_int_not_equal(other, data);

	/* A block by who allocated it. */
	event[0] = (struct maple_event){ .kind = MAPLE_EV_ALLOC,
					 .addr = 0x100000,
					 .value = 64,
					 .site = CALLED };
	block = location(0x100010);
	event[0].addr = 0x300000;
	assert_int_equal(location(0x300010), block);
	assert_int_not_equal(location(0x300018), block);
	assert_int_not_equal(location(0x300040), block);

	/* A stack by whose it is. */
	event[1].addr = 0x700000;
	event[1].size = 0x1000;
	stack = location(0x700f00);
	event[1].addr = 0x800000;
	assert_int_equal(location(0x800f00), stack);
	assert_int_not_equal(location(0x800f08), stack);
}

/* Thread @t allocates 64 bytes at @addr; it is event @at. */
static void allocates(uint32_t at, uint16_t t, uint64_t addr)
{
	event[at] = (struct maple_event){ .kind = MAPLE_EV_ALLOC,
					  .thread = t,
					  .addr = addr,
					  .value = 64,
					  .site = CALLED };
}

/* Whoever allocates first: blocks are told apart by whose they are. */
static void a_block_is_its_threads(void **state)
{
	uint64_t one, two;

	a_run();
	allocates(0, 1, 0x100000);
	allocates(2, 2, 0x200000);
	one = location(0x100010);
	two = location(0x200010);
	assert_int_not_equal(one, two);
	allocates(0, 2, 0x100000);
	allocates(2, 1, 0x200000);
	assert_int_equal(location(0x200010), one);
	assert_int_equal(location(0x100010), two);
	/* A second one of one thread is another one, at one address too. */
	allocates(0, 1, 0x100000);
	one = location(0x100010);
	allocates(2, 1, 0x100000);
	assert_int_not_equal(location(0x100010), one);
	/* What was freed has no name but its address. */
	event[2].kind = MAPLE_EV_FREE;
	two = location(0x100010);
	allocates(0, 2, 0x100000);
	assert_int_equal(location(0x100010), two);
}

/* A thread by its lasting name, on a stack that another one had. */
static void a_stack_is_whose_it_was_last(void **state)
{
	uint64_t stack;

	a_run();
	event[3].addr = 0x700000;
	event[3].size = 0x1000;
	stack = location(0x700f00);
	event[1].addr = 0x700000;
	event[1].size = 0x1000;
	assert_int_equal(location(0x700f00), stack);
}

static struct maple_trail *a_trail(void)
{
	struct maple_order_model *model;
	struct maple_trail *trail;
	uint32_t *of;

	assert_int_equal(maple_order_model_build(event, nevents, false, &model),
			 0);
	assert_int_equal(maple_trail_create(&run, event, model, &trail, &of), 0);
	free(of);
	maple_order_model_free(model);
	return trail;
}

/* The step that is @thread's @hit-th at @site. */
static uint32_t step_at(const struct maple_trail *trail, uint32_t thread,
			uint32_t site, uint32_t hit)
{
	for (uint32_t i = 0; i < trail->n; i++)
		if (trail->step[i].thread == thread &&
		    trail->step[i].site == site && trail->step[i].hit == hit)
			return i;
	fail_msg("there is no such step");
	return 0;
}

static void a_step_knows_what_was_chosen_before(void **state)
{
	static const struct {
		uint32_t thread, site, hit, entries;
	} want[] = {
		{ 1, INCREASE, 1, 3 }, { 1, LOOK, 1, 3 }, { 2, INCREASE, 1, 4 },
		{ 2, LOOK, 1, 4 },     { 1, LOOK, 2, 5 }, { 1, LOOK, 3, 5 },
		{ 2, LOOK, 2, 6 },
	};
	struct maple_trail *trail;
	uint32_t at, before = 0;

	a_run();
	trail = a_trail();
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		at = step_at(trail, want[i].thread, want[i].site, want[i].hit);
		assert_int_equal(trail->step[at].entries, want[i].entries);
		assert_true(at >= before);
		before = at;
	}
	maple_trail_put(trail);
}

static void a_trail_is_cut_behind_a_step(void **state)
{
	struct maple_policy_switch *last;
	struct maple_switches list;
	struct maple_trail *trail;

	a_run();
	trail = a_trail();
	/* Who was chosen there goes on from there. */
	assert_int_equal(
		maple_trail_cut(trail, step_at(trail, 2, INCREASE, 1), &list),
		0);
	assert_int_equal(list.n, 4);
	assert_memory_equal(list.entry, entry, 4 * sizeof(*entry));
	maple_switches_deinit(&list);
	/* In between somebody else could go on: no, it does once more. */
	assert_int_equal(
		maple_trail_cut(trail, step_at(trail, 2, LOOK, 1), &list), 0);
	assert_int_equal(list.n, 5);
	last = &list.entry[4];
	assert_int_equal(last->what, MAPLE_POLICY_AT);
	assert_int_equal(last->thread, 2);
	assert_int_equal(last->next, 2);
	assert_int_equal(last->site, LOOK);
	assert_int_equal(last->hit, 1);
	assert_string_equal(list.name[2].text, "0.2");
	maple_switches_deinit(&list);
	maple_trail_put(trail);
}

static void learn(struct maple_corpus *c, uint64_t seed, uint32_t news)
{
	const struct maple_kept kept = { .event = event, .n = nevents };
	uint32_t n;

	assert_int_equal(maple_corpus_learn(c, &run, &kept, seed, &n), 0);
	assert_int_equal(n, news);
}

static void a_corpus_grows_by_what_is_new(void **state)
{
	struct maple_corpus c = { 0 };

	a_run();
	learn(&c, 1, 3);
	assert_int_equal(c.n, 3);
	for (uint64_t seed = 2; seed < 40; seed++)
		learn(&c, seed, 0);
	for (uint32_t i = 0; i < c.n; i++) {
		assert_int_equal(c.all[i]->hits, 39);
		assert_in_range(c.all[i]->n, 1, MAPLE_CORPUS_PREFIXES);
	}
	event[8].value = 5;
	learn(&c, 40, 1);
	/* What nobody refers to is gone. */
	assert_true(c.steps <= 4 * MAPLE_CORPUS_PREFIXES * 12);
	maple_corpus_forget(&c);
	assert_int_equal(c.n, 0);
	assert_int_equal(c.steps, 0);
	learn(&c, 1, 3);
	maple_corpus_forget(&c);
}

/* Nineteen runs alike, and one in which a thread is another one. */
static void learn_one_rare(struct maple_corpus *c)
{
	a_run();
	for (uint64_t seed = 1; seed < 20; seed++)
		learn(c, seed, seed == 1 ? 3 : 0);
	names[2] = (struct maple_policy_name){ "rare" };
	event[8].value = 5;
	learn(c, 40, 1);
	names[2] = (struct maple_policy_name){ "0.2" };
}

static void what_is_rare_is_drawn(void **state)
{
	unsigned int none = 0, rare = 0, often = 0;
	struct maple_corpus c = { 0 };
	struct maple_switches list;

	assert_int_equal(maple_corpus_draw(&c, 1, &list), 0);
	assert_int_equal(list.n, 0);
	learn_one_rare(&c);
	for (uint64_t seed = 1; seed < 4000; seed++) {
		assert_int_equal(maple_corpus_draw(&c, seed, &list), 0);
		if (!list.n)
			none++;
		else if (!strcmp(list.name[2].text, "rare"))
			rare++;
		else
			often++;
		maple_switches_deinit(&list);
	}
	/* One in four begins anew, and so does what is cut to nothing. */
	assert_true(none > 1000 && none < 3900);
	/* One feature of four, in four draws. */
	assert_true(rare > often);
	assert_true(often > 0);
	maple_corpus_forget(&c);
}

static void what_is_rarest_is_given_away_first(void **state)
{
	struct maple_switches list[MOST];
	struct maple_corpus c = { 0 };
	size_t n;

	assert_int_equal(maple_corpus_rarest(&c, list, MOST), 0);
	learn_one_rare(&c);
	assert_int_equal(maple_corpus_rarest(&c, list, 0), 0);
	assert_int_equal(maple_corpus_rarest(&c, list, 1), 1);
	assert_string_equal(list[0].name[2].text, "rare");
	assert_true(list[0].n > 0);
	maple_switches_deinit(&list[0]);
	/* No prefix twice, and of each feature one before a second. */
	n = maple_corpus_rarest(&c, list, MOST);
	assert_in_range(n, 4, 4 * MAPLE_CORPUS_PREFIXES);
	assert_string_equal(list[0].name[2].text, "rare");
	for (size_t i = 0; i < n; i++) {
		assert_true(list[i].n > 0);
		maple_switches_deinit(&list[i]);
	}
	maple_corpus_forget(&c);
}

/* ---- the strategy ---- */

static struct maple_campaign_options options;
static struct maple_prediction prediction;

static uint64_t number(const struct maple_study *study, uint64_t salt)
{
	uint64_t z = salt * 0x9e3779b97f4a7c15ull + 7;

	return (z ^ z >> 27) * 0x94d049bb133111ebull >> 7;
}

static bool never(void *ctx)
{
	return false;
}

static int tell(struct maple_study *study, struct maple_goal *const *goals,
		size_t n, struct maple_error *err)
{
	static int64_t rows;

	for (size_t i = 0; i < n; i++)
		if (!goals[i]->row)
			goals[i]->row = ++rows;
	return 0;
}

static int mark(struct maple_study *study, const struct maple_goal *goal,
		enum maple_memo_mark what, struct maple_error *err)
{
	return 0;
}

static struct maple_study study = {
	.options = &options,
	.lanes = 1,
	.controls = true,
	.prediction = &prediction,
	.random = number,
	.over = never,
	.learn = tell,
	.mark = mark,
};

static void free_job(struct maple_job *job)
{
	maple_switches_deinit(&job->switches);
	free(job->expected.name);
	free(job->expected.weight);
	free(job->alone);
}

/* One run of what was asked for, which did as ever. */
static void carry_out(const struct maple_strategy *s, void *self,
		      struct maple_job *job, bool failed)
{
	struct maple_job_end end = { .run = &run, .failed = failed };
	struct maple_error err;

	for (uint32_t i = 0; i < nevents; i++)
		s->event(self, job, &event[i]);
	assert_int_equal(s->ended(self, job, &end, &err), 0);
	assert_null(job->own);
	free_job(job);
}

static void it_goes_back_to_where_it_was(void **state)
{
	const struct maple_strategy *s = &maple_strategy_grey;
	unsigned int begun = 0, anew = 0;
	struct maple_error err;
	void *self;
	int e = 0;

	study.registry = maple_registry_create();
	assert_non_null(study.registry);
	assert_int_equal(s->open(s, &study, &self, &err), 0);
	a_run();
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct maple_job job = { .seed = seed };

		assert_int_equal(s->next(self, &job, &err, &e), MAPLE_NEXT_RUN);
		assert_int_equal(e, 0);
		if (seed <= 2) {
			assert_int_equal(job.kind, MAPLE_RUN_PROFILE);
			carry_out(s, self, &job, false);
			continue;
		}
		assert_int_equal(job.kind, MAPLE_RUN_CONTROL);
		assert_true(job.reads);
		if (job.policy.policy == MAPLE_POLICY_LIST) {
			assert_int_equal(job.policy.behind,
					 1 + MAPLE_POLICY_POS);
			assert_true(job.switches.n > 0);
			begun++;
		} else {
			assert_int_equal(job.policy.policy, MAPLE_POLICY_POS);
			assert_int_equal(job.policy.behind, 0);
			anew++;
		}
		/* What fails teaches nothing. */
		assert_true(begun == 0 || seed > 10);
		carry_out(s, self, &job, seed <= 10);
	}
	assert_true(begun > 20 && anew > 20);
	s->close(self);
	maple_registry_destroy(study.registry);
}

/* ---- what an earlier campaign has kept ---- */

#define RECALLED 5

static unsigned int asked;	/* for what was kept, so often */
static size_t recalled_n;	/* there are so many, */
static uint32_t kept_hit[MOST]; /* what was kept, by the first entries' hits */
static size_t kept_n;
static unsigned int kept_times;
static uint64_t cut_short; /* the run that nobody hears of; 0: none */

/* Lists of one entry, with a hit that tells them apart; the third is empty. */
static size_t recall(struct maple_study *s, const char *name,
		     struct maple_switches **lists)
{
	assert_string_equal(name, "grey");
	asked++;
	*lists = calloc(recalled_n + 1, sizeof(**lists));
	for (size_t i = 0; i < recalled_n; i++) {
		struct maple_policy_switch one = { .thread = 1,
						   .next = 2,
						   .site = LOOK,
						   .hit = 100 + (uint32_t)i };
		struct maple_switches from = { i != 2, 3, &one, names };

		assert_int_equal(maple_switches_copy(&(*lists)[i], &from), 0);
	}
	return recalled_n;
}

static void keep(struct maple_study *s, const char *name,
		 const struct maple_switches *lists, size_t n)
{
	assert_string_equal(name, "grey");
	assert_in_range(n, 1, MAPLE_MEMO_CORPUS_LISTS);
	kept_times++;
	kept_n = n;
	for (size_t i = 0; i < n; i++) {
		assert_true(lists[i].n > 0);
		kept_hit[i] = lists[i].entry[0].hit;
	}
}

/* A campaign of @runs by @s; how many of them began as was recalled. */
static unsigned int a_campaign(const struct maple_strategy *s, uint64_t runs)
{
	struct maple_error err;
	unsigned int had = 0, cut = 0;
	void *self;
	int e = 0;

	asked = kept_times = 0;
	kept_n = 0;
	study.registry = maple_registry_create();
	study.recall = recall;
	study.keep = keep;
	assert_int_equal(s->open(s, &study, &self, &err), 0);
	a_run();
	for (uint64_t seed = 1; seed <= runs; seed++) {
		struct maple_job job = { .seed = seed };

		assert_int_equal(s->next(self, &job, &err, &e), MAPLE_NEXT_RUN);
		if (job.switches.n == 1 && job.switches.entry[0].hit >= 100) {
			/* In their order, but for the empty one. */
			assert_int_equal(job.switches.entry[0].hit,
					 100 + had + cut + (had + cut >= 2));
			assert_int_equal(job.policy.behind,
					 1 + MAPLE_POLICY_POS);
			cut += seed == cut_short;
			had += seed != cut_short;
			if (s == &maple_strategy_grey)
				assert_int_equal(seed, 2 + had + cut);
		}
		if (seed == cut_short) {
			s->drop(self, &job);
			free_job(&job);
			continue;
		}
		carry_out(s, self, &job, false);
	}
	s->leave(self);
	s->close(self);
	maple_registry_destroy(study.registry);
	study.recall = NULL;
	study.keep = NULL;
	return had;
}

static void it_goes_on_with_what_was_kept(void **state)
{
	const struct maple_strategy *s = &maple_strategy_grey;

	recalled_n = RECALLED;
	assert_int_equal(a_campaign(s, 30), RECALLED - 1);
	assert_int_equal(asked, 1);
	/* All of them had their runs; what is kept is what these showed. */
	assert_int_equal(kept_times, 1);
	assert_true(kept_n > 0);
	for (size_t i = 0; i < kept_n; i++)
		assert_true(kept_hit[i] < 100);
}

static void what_had_no_run_is_kept_first(void **state)
{
	const struct maple_strategy *s = &maple_strategy_grey;

	recalled_n = RECALLED;
	assert_int_equal(a_campaign(s, 4), 2);
	assert_true(kept_n > 2);
	assert_int_equal(kept_hit[0], 103);
	assert_int_equal(kept_hit[1], 104);
	assert_true(kept_hit[2] < 100);
	/* But for the empty one, whose turn it was. */
	assert_int_equal(a_campaign(s, 3), 1);
	assert_int_equal(kept_hit[0], 101);
	assert_int_equal(kept_hit[1], 103);
	/* More than may be kept. */
	recalled_n = 2 * MOST;
	assert_int_equal(a_campaign(s, 3), 1);
	assert_int_equal(kept_n, MAPLE_MEMO_CORPUS_LISTS);
	assert_int_equal(kept_hit[MOST - 1], 100 + MOST + 1);
}

/* A run that is cut short has shown nothing. */
static void what_was_cut_short_had_no_run(void **state)
{
	const struct maple_strategy *s = &maple_strategy_grey;

	recalled_n = RECALLED;
	cut_short = 5; /* the last one of the campaign */
	assert_int_equal(a_campaign(s, 5), 2);
	assert_int_equal(kept_hit[0], 103);
	assert_int_equal(kept_hit[1], 104);
	assert_true(kept_hit[2] < 100);
	/* It may be cut short each time: the others come to their runs. */
	assert_int_equal(a_campaign(s, 30), RECALLED - 2);
	assert_int_equal(kept_hit[0], 103);
	assert_true(kept_hit[1] < 100);
	/* What none was recalled for is nothing to keep. */
	cut_short = 20;
	assert_int_equal(a_campaign(s, 30), RECALLED - 1);
	assert_true(kept_hit[0] < 100);
	cut_short = 0;
}

static void where_nothing_came_up_nothing_is_kept(void **state)
{
	const struct maple_strategy *s = &maple_strategy_grey;

	recalled_n = RECALLED;
	/* It never came to a run of its own: what was there stays. */
	assert_int_equal(a_campaign(s, 2), 0);
	assert_int_equal(asked, 0);
	assert_int_equal(kept_times, 0);
	recalled_n = 0;
	assert_int_equal(a_campaign(s, 0), 0);
	assert_int_equal(kept_times, 0);
}

/* It has a grey as well, which comes later. */
static void the_portfolio_passes_it_on(void **state)
{
	const struct maple_strategy *s = &maple_strategy_auto;
	bool once = false;

	recalled_n = RECALLED;
	study.alone = true; /* no orders are forced here */
	assert_int_equal(a_campaign(s, 1), 0);
	assert_int_equal(kept_times, 0);
	assert_int_equal(a_campaign(s, 800), RECALLED - 1);
	assert_int_equal(asked, 1);
	assert_int_equal(kept_times, 1);
	/* They come somewhere here: which of them is cut short is kept. */
	for (cut_short = 8; cut_short < 24; cut_short++) {
		unsigned int had = a_campaign(s, 800);

		assert_in_range(had, RECALLED - 2, RECALLED - 1);
		assert_int_equal(kept_hit[0] >= 100, had == RECALLED - 2);
		once |= had == RECALLED - 2;
	}
	assert_true(once);
	cut_short = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_feature_is_a_dependency_and_a_value),
		cmocka_unit_test(a_value_is_small_or_large_or_not_known),
		cmocka_unit_test(a_location_has_a_name),
		cmocka_unit_test(a_block_is_its_threads),
		cmocka_unit_test(a_stack_is_whose_it_was_last),
		cmocka_unit_test(a_step_knows_what_was_chosen_before),
		cmocka_unit_test(a_trail_is_cut_behind_a_step),
		cmocka_unit_test(a_corpus_grows_by_what_is_new),
		cmocka_unit_test(what_is_rare_is_drawn),
		cmocka_unit_test(what_is_rarest_is_given_away_first),
		cmocka_unit_test(it_goes_back_to_where_it_was),
		cmocka_unit_test(it_goes_on_with_what_was_kept),
		cmocka_unit_test(what_had_no_run_is_kept_first),
		cmocka_unit_test(what_was_cut_short_had_no_run),
		cmocka_unit_test(where_nothing_came_up_nothing_is_kept),
		cmocka_unit_test(the_portfolio_passes_it_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
