// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Facts for plans, locations, caps: what the traces of the oracle leave out.
 *
 * beside: guests
 */
#include "predict_rig.h"

static void test_occurrence_and_class(void **state)
{
	const struct maple_predict_facts *f;

	begin(NULL);
	create(1);
	for (unsigned int i = 0; i < 3; i++)
		data(0, W, 1, X + 64 * i, 4); /* only the third is on X + 128 */
	data(0, R, 2, X + 512, 4);
	data(1, R, 3, X + 128, 4);
	data(1, R, 3, X + 128, 4);
	data(1, R, 4, X + 512, 4);
	end();
	f = facts_of(W, 1, R, 3);
	assert_int_equal(f->e[0].thread, 0);
	assert_int_equal(f->e[0].occurrence, 2);
	assert_int_equal(f->e[0].class, 2);
	assert_int_equal(f->e[1].thread, 1);
	assert_int_equal(f->e[1].occurrence, 0);
	assert_int_equal(f->e[1].class, 3);
	assert_true(f->disjoint);
	assert_false(f->ordered);
	assert_int_equal(f->e[0].ngates, 0);
	facts_of(R, 3, W, 1);
	assert_int_equal(npred, 2);
}

/* The run's last access has no class. */
static void test_class_unknown(void **state)
{
	begin(NULL);
	create(1);
	data(0, W, 1, X, 4);
	data(1, R, 2, X, 4);
	end();
	assert_int_equal(facts_of(W, 1, R, 2)->e[1].class, MAPLE_SITE_NONE);
}

static void test_ordered(void **state)
{
	begin(NULL);
	data(0, W, 1, X, 4);
	create(1);
	data(1, R, 2, X, 4);
	data(1, W, 3, X + 64, 4);
	sync(0, MAPLE_EV_JOIN, CALL | 1, 0, 1);
	data(0, R, 4, X + 64, 4);
	end();
	assert_int_equal(npred, 2);
	assert_true(facts_of(W, 1, R, 2)->ordered);
	assert_true(facts_of(W, 3, R, 4)->ordered);
}

static void locked(unsigned int t, uint32_t call, uint64_t mutex, uint8_t kind,
		   uint32_t site, uint64_t addr)
{
	sync(t, MAPLE_EV_LOCK, CALL | call, mutex, 0);
	data(t, kind, site, addr, 4);
	sync(t, MAPLE_EV_UNLOCK, CALL | (call + 1), mutex, 0);
}

static void test_gates(void **state)
{
	const struct maple_predict_facts *f;

	begin(NULL);
	create(1);
	sync(0, MAPLE_EV_LOCK, CALL | 10, M, 0);
	locked(0, 12, M + 64, W, 1, X);
	sync(0, MAPLE_EV_UNLOCK, CALL | 14, M, 0);
	for (uint32_t i = 0; i < 6; i++)
		locked(1, 20 + 2 * i, M + 128 + 64 * i, R, 2, X);
	end();
	f = facts_of(W, 1, R, 2);
	assert_int_equal(f->e[0].ngates, 1);
	assert_int_equal(f->e[0].gate[0], CALL | 10);
	assert_int_equal(f->e[1].ngates, 4);
	assert_int_equal(f->e[1].gate[3], CALL | 26);
	assert_true(f->gates_cut);
	assert_true(f->disjoint);
}

/* One iRoot at two places: the one that no lock guards is the better. */
static void test_best_facts(void **state)
{
	const struct maple_predict_facts *f;

	begin(NULL);
	create(1);
	locked(0, 10, M, W, 1, X);
	locked(1, 12, M, R, 2, X);
	data(0, W, 1, X + 64, 4);
	data(1, R, 2, X + 64, 4);
	end();
	f = facts_of(W, 1, R, 2);
	assert_true(f->disjoint);
	assert_int_equal(f->e[0].occurrence, 1);
	assert_int_equal(f->e[1].occurrence, 1);
}

static void test_guards(void **state)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { 1, W }, { 2, R } },
	};
	uint32_t sites[8];

	begin(NULL);
	create(1);
	data(0, W, 1, X, 4); /* 1 2 3 met on X */
	data(1, R, 2, X, 4);
	data(1, W, 3, X, 4);
	data(1, W, 4, X + 64, 4); /* 1 4 on another */
	data(0, W, 1, X + 64, 4);
	data(0, W, 5, X + 128, 4); /* 5 with neither */
	data(1, W, 6, X + 128, 4);
	data(0, W, 1, X + 192, 4); /* 1 and 7 on one that is not shared */
	data(0, W, 7, X + 192, 4);
	raw((struct maple_event){
		.thread = 0, .kind = MAPLE_EV_FREE, .addr = X, .value = 128 });
	finish();
	assert_int_equal(maple_predict_guards(p, &iroot, sites, 8), 4);
	assert_int_equal(sites[0], 1);
	assert_int_equal(sites[1], 2);
	assert_int_equal(sites[2], 3);
	assert_int_equal(sites[3], 4);
	assert_int_equal(maple_predict_guards(p, &iroot, sites, 3), 3);
	iroot.e[0].site = iroot.e[1].site = 99;
	assert_int_equal(maple_predict_guards(p, &iroot, sites, 8), 0);
	maple_predict_destroy(p);
}

static void free_block(unsigned int t, uint32_t site, uint64_t addr,
		       uint64_t size)
{
	raw((struct maple_event){ .thread = (uint16_t)t,
				  .kind = MAPLE_EV_FREE,
				  .site = site,
				  .addr = addr,
				  .value = size });
}

/* What a server does only when it was told to end is none of its service. */
static void test_shutdown(void **state)
{
	for (int stops = 0; stops < 2; stops++) {
		begin(NULL);
		create(1);
		create(2);
		sync(1, MAPLE_EV_SERVE, MAPLE_SITE_NONE, 0, 0);
		data(0, W, 1, X, 4);
		data(1, R, 3, X + 8, 4);
		if (stops)
			sync(0, MAPLE_EV_STOP, MAPLE_SITE_NONE, 0, 0);
		data(2, W, 2, X, 4);
		data(2, W, 4, X + 8, 4);
		data(2, W, 1, X + 16, 4); /* served before as well */
		data(0, R, 3, X + 16, 4);
		end();
		assert_int_equal(facts_of(W, 2, W, 1)->startup, stops);
		assert_int_equal(facts_of(W, 4, R, 3)->startup, stops);
		assert_false(facts_of(R, 3, W, 1)->startup);
	}
}

/* What a server does no more once it serves is its start-up. */
static void test_startup(void **state)
{
	for (int serves = 0; serves < 2; serves++) {
		begin(NULL);
		create(1);
		create(2);
		data(0, W, 1, X, 4);
		data(0, W, 2, X + 8, 4);
		data(0, W, 5, X + 16, 4);
		data(0, MAPLE_EV_QUIET, 5, 0, 0);
		if (serves)
			sync(1, MAPLE_EV_SERVE, MAPLE_SITE_NONE, 0, 0);
		data(2, W, 2, X + 24, 4); /* this one comes again */
		data(1, R, 3, X, 4);
		data(1, R, 4, X + 8, 4);
		data(1, R, 6, X + 16, 4);
		end();
		assert_int_equal(facts_of(R, 3, W, 1)->startup, serves);
		assert_false(facts_of(R, 4, W, 2)->startup);
		/* Who knows whether that was executed again? */
		assert_false(facts_of(R, 6, W, 5)->startup);
	}
}

/* The end of memory is a write to all that others have touched of it. */
static void test_end_of_memory(void **state)
{
	struct maple_predict_options ends = { .ends = true };
	const struct maple_predict_facts *f;

	begin(&ends);
	create(1);
	data(0, W, 1, X + 512, 4);
	free_block(0, CALL | 5, X + 512, 64); /* nobody else's */
	data(1, R, 2, X + 8, 4);
	data(1, R, 3, X + 64, 4); /* behind the block */
	free_block(0, CALL | 5, X, 64);
	data(1, W, 4, X + 8, 4); /* whose memory it is now */
	end();
	assert_int_equal(nobs, 1);
	assert_int_equal(find(obs, nobs, R, 2, W, CALL | 5), 0);
	assert_int_equal(npred, 2);
	f = facts_of(W, CALL | 5, R, 2);
	assert_true(f->e[0].frees && !f->e[1].frees);
	assert_int_equal(f->e[0].occurrence, 1);
	f = facts_of(R, 2, W, CALL | 5);
	assert_true(f->e[1].frees && !f->e[0].frees);
	begin(NULL);
	create(1);
	data(1, R, 2, X + 8, 4);
	free_block(0, CALL | 5, X, 64);
	end();
	assert_int_equal(nobs + npred, 0);
}

/* Of a mapping larger than all that is known, and of a log that observes. */
static void test_end_of_a_mapping(void **state)
{
	struct maple_predict_options ends = { .ends = true, .no_predict = true };

	begin(&ends);
	create(1);
	data(1, W, 2, X + (1 << 20), 4);
	free_block(0, CALL | 5, X, 1ull << 40);
	data(0, W, CALL | 5, X + (1 << 20), 4); /* as the agent's log has it */
	data(1, R, 2, X + (1 << 20), 4);
	end();
	assert_int_equal(npred, 0);
	assert_int_equal(nobs, 2);
	assert_true(find(obs, nobs, W, 2, W, CALL | 5) >= 0);
	assert_true(find(obs, nobs, W, CALL | 5, R, 2) >= 0);

	/* To the end of the address space, behind which comes its beginning. */
	begin(&ends);
	create(1);
	for (unsigned int i = 0; i < 16; i++)
		data(1, W, 2, X + i * 4096, 4);
	free_block(0, CALL | 5, UINT64_MAX - 300, UINT64_MAX);
	end();
	assert_int_equal(nobs + npred, 0);
}

/* A lock's first byte is no data, neither before nor after. */
static void test_lock_is_no_data(void **state)
{
	begin(NULL);
	create(1);
	data(0, W, 1, M, 4);
	sync(0, MAPLE_EV_LOCK, CALL | 1, M, 0);
	sync(0, MAPLE_EV_UNLOCK, CALL | 2, M, 0);
	data(1, W, 3, M, 1);
	data(1, W, 4, M, 4); /* the other three bytes are data */
	end();
	assert_int_equal(npred, 2);
	facts_of(W, 1, W, 4);
	facts_of(W, 4, W, 1);
	assert_int_equal(nobs, 1);
}

static void test_stack_reuse(void **state)
{
	struct maple_event start = {
		.thread = 1, .kind = MAPLE_EV_START, .addr = X, .size = 4096
	};

	begin(NULL);
	create(1);
	raw(start);
	data(1, W, 1, X + 100, 4);
	data(1, W, 2, X + 5000, 4);
	sync(1, MAPLE_EV_EXIT, CALL | 1, 0, 0);
	create(2);
	start.thread = 2;
	raw(start);
	data(2, W, 3, X + 100, 4);
	data(2, W, 4, X + 5000, 4);
	end();
	assert_int_equal(npred, 2);
	facts_of(W, 2, W, 4);
	assert_int_equal(nobs, 1);
}

/* A copy of a megabyte costs what the cap says, and claims nothing beyond. */
static void test_big_copy(void **state)
{
	begin(NULL);
	create(1);
	create(2);
	data(0, W, 1, X, 4);
	data(0, W, 2, X + 100000, 4);
	data(1, W, 3, X, 1 << 20);
	data(2, R, 4, X, 4);
	data(2, R, 5, X + 100000, 4); /* not W2 => R5: 3 came between */
	end();
	assert_int_equal(stats.cut_bytes, (1 << 20) - 65536);
	assert_true(stats.locations <= 65536 / 256 + 2);
	assert_int_equal(nobs, 2);
	assert_true(find(obs, nobs, W, 1, W, 3) >= 0);
	assert_true(find(obs, nobs, W, 3, R, 4) >= 0);
	facts_of(W, 3, R, 4);
	assert_int_equal(find(pred, npred, W, 3, R, 5), -1);
}

static void test_caps(void **state)
{
	struct maple_predict_options options = {
		.max_locations = 2,
		.max_summaries = 3,
		.max_spans = 4,
	};

	begin(&options);
	create(1);
	for (uint32_t i = 0; i < 10; i++)
		data(0, W, i, X + 64 * i, 4);
	for (uint32_t i = 0; i < 10; i++)
		data(1, R, 20 + i, X, 4);
	for (uint32_t i = 0; i < 10; i++) {
		data(0, W, 40, X, 4);
		sync(0, MAPLE_EV_POST, CALL | 1, M, 0);
	}
	data(1, R, 41, X, 4);
	end();
	assert_int_equal(stats.locations, 2);
	assert_int_equal(stats.cut_locations, 8);
	assert_true(stats.cut_summaries > 0);
	assert_true(npred > 0);

	options = (struct maple_predict_options){ .max_spans = 4 };
	begin(&options);
	create(1);
	data(0, W, 1, X, 4);
	for (uint32_t i = 0; i < 20; i++) {
		data(0, W, 2, X, 4);
		sync(0, MAPLE_EV_POST, CALL | 1, M, 0);
	}
	data(1, R, 3, X, 4);
	end();
	assert_true(stats.cut_spans >= 15);
	facts_of(W, 1, R, 3); /* a summary outlives the cap */
	facts_of(W, 2, R, 3);

	options = (struct maple_predict_options){ .max_entries = 1 };
	begin(&options);
	create(1);
	create(2);
	data(0, W, 1, X, 4);
	data(1, W, 2, X, 4);
	data(0, R, 3, X, 4);
	end();
	assert_int_equal(stats.cut_locations, 1);
	assert_int_equal(nobs, 0); /* not known is not claimed */
}

static void test_pruned(void **state)
{
	begin(NULL);
	create(1);
	for (uint32_t i = 0; i < 5000; i++) {
		data(0, W, 1, X, 4);
		sync(0, MAPLE_EV_POST, CALL | 1, M, 0);
		sync(1, MAPLE_EV_TAKE, CALL | 2, M, 0);
		data(1, R, 2, X, 4);
		sync(1, MAPLE_EV_POST, CALL | 3, M + 64, 0);
		sync(0, MAPLE_EV_TAKE, CALL | 4, M + 64, 0);
	}
	end();
	assert_true(stats.removed > 9000);
	assert_int_equal(stats.cut_spans, 0);
	assert_int_equal(npred, 2);
	assert_true(facts_of(W, 1, R, 2)->ordered);
	assert_true(facts_of(R, 2, W, 1)->ordered);
}

static void test_nonsense(void **state)
{
	struct maple_event e;

	assert_int_equal(maple_predict_create(NULL, NULL, &p), 0);
	srandom(3);
	for (unsigned int i = 0; i < 200000; i++) {
		for (size_t j = 0; j < sizeof(e); j++)
			((uint8_t *)&e)[j] = (uint8_t)random();
		e.kind %= 40;
		if (i % 2) {
			e.thread %= 8;
			e.addr = X + e.addr % 4096;
			e.size %= 300;
			e.aux %= 8;
			e.site %= 8;
			e.value %= 512;
		}
		assert_int_equal(maple_predict_event(p, &e), 0);
	}
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_stats(p, &stats);
	assert_true(stats.bad_events > 0);
	assert_int_equal(maple_predict_event(p, &e), -EINVAL);
	assert_int_equal(maple_predict_finish(p), -EINVAL);
	maple_predict_destroy(p);
	maple_predict_destroy(NULL);
}

static void test_switched_off(void **state)
{
	struct maple_predict_options options = { .no_observe = true };

	for (unsigned int i = 0; i < 2; i++) {
		begin(&options);
		create(1);
		data(0, W, 1, X, 4);
		data(1, R, 2, X, 4);
		end();
		assert_int_equal(nobs, i);
		assert_int_equal(npred, 2 * !i);
		options.no_observe = false;
		options.no_predict = true;
	}
}

/* The site is executed three times, and what follows differs. */
static void test_classes(void **state)
{
	const struct maple_predict_end *end;

	begin(NULL);
	create(1);
	data(1, R, 1, X, 4);
	data(1, R, 5, X + 64, 4);
	data(1, R, 1, X, 4);
	data(1, R, 5, X + 64, 4);
	data(1, R, 1, X, 4);
	data(1, R, 6, X + 64, 4);
	data(0, W, 2, X, 4);
	finish();
	end = &facts_of(R, 1, W, 2)->e[0];
	assert_int_equal(end->nclasses, 2);
	assert_int_equal(end->class_site[0], 5);
	assert_int_equal(end->class_occurrence[0], 0);
	assert_int_equal(end->class_site[1], 6);
	assert_int_equal(end->class_occurrence[1], 2);
	maple_predict_destroy(p);
}

/* The lock calls around what touches the location, then what ends them. */
static void test_covers(void **state)
{
	uint32_t covers[8];

	begin(NULL);
	create(1);
	sync(1, MAPLE_EV_LOCK, CALL | 1, M, 0);
	data(1, R, 1, X, 4);
	sync(1, MAPLE_EV_UNLOCK, CALL | 2, M, 0);
	sync(1, MAPLE_EV_LOCK, CALL | 3, M, 0);
	data(1, R, 7, X + 64, 4);
	sync(1, MAPLE_EV_UNLOCK, CALL | 4, M, 0);
	data(0, W, 2, X, 4);
	finish();
	assert_int_equal(maple_predict_covers(p, &pred[0], covers, 8), 2);
	assert_int_equal(covers[0], CALL | 1);
	assert_int_equal(covers[1], CALL | 2);
	assert_int_equal(maple_predict_covers(p, &pred[0], covers, 1), 1);
	maple_predict_destroy(p);
}

static void test_unserializable(void **state)
{
	struct maple_predict_options options = { .idioms = 1u << MAPLE_IDIOM_2 |
							   1u << MAPLE_IDIOM_4 };
	unsigned int twos = 0;

	begin(&options);
	create(1);
	data(1, R, 1, X, 4);
	data(1, R, 3, X, 4);
	data(1, R, 4, X + 64, 4);
	data(0, W, 2, X, 4);
	data(0, W, 5, X + 64, 4);
	finish();
	for (unsigned int i = 0; i < npred; i++) {
		assert_int_equal(facts[i].unserializable,
				 pred[i].idiom == MAPLE_IDIOM_2);
		assert_true(facts[i].disjoint);
		assert_false(facts[i].ordered);
		assert_int_equal(facts[i].e[0].thread,
				 pred[i].e[0].site == 1 ||
					 pred[i].e[0].site == 3);
		twos += pred[i].idiom == MAPLE_IDIOM_2;
	}
	assert_int_equal(twos, 1);
	assert_true(npred > twos);
	maple_predict_destroy(p);
}

static bool enough(void *ctx)
{
	return --*(int *)ctx <= 0;
}

/* Locations that two threads share, 40 of them; which iRoots come of it. */
static unsigned int predictions_of_many(int asks)
{
	struct maple_predict_options o = {
		.over = asks ? enough : NULL,
		.ctx = &asks,
	};

	begin(&o);
	create(1);
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < 40; i++)
			data(t, W, 1000 * t + i, 0x100000 + 64 * i, 4);
	end();
	return npred;
}

/* When time is up, what is known by then is told, and the rest is counted. */
static void test_given_up(void **state)
{
	unsigned int all = predictions_of_many(0), some;

	assert_int_equal(stats.cut_locations, 0);
	some = predictions_of_many(2);
	assert_true(all >= 40);
	assert_in_range(some, 1, all - 1);
	assert_in_range(stats.cut_locations, 1, 39);
}

/* Sites from 50 on cannot be split. */

/* A section of thread @t: it reads, if @reads, and writes, in order. */
static void counts(unsigned int t, bool reads, uint32_t site)
{
	sync(t, MAPLE_EV_LOCK, CALL | site, M, 0);
	if (reads)
		data(t, R, site, X, 4);
	data(t, W, site + 1, X, 4);
	data(t, W, site + 2, X, 4);
	sync(t, MAPLE_EV_UNLOCK, CALL | (site + 1), M, 0);
}

/* Who counts reads first, and writes all the same after another's read. */
static void test_reads_first(void **state)
{
	struct maple_predict_options options = { .reads_first = true };

	for (int ours = 0; ours < 2; ours++) {
		begin(ours ? &options : NULL);
		create(1);
		create(2);
		counts(1, true, 10);
		sync(2, MAPLE_EV_LOCK, CALL | 20, M, 0);
		data(2, R, 20, X, 4);
		data(2, R, 21, X, 4);
		sync(2, MAPLE_EV_UNLOCK, CALL | 21, M, 0);
		end();
		assert_int_equal(find(pred, npred, R, 21, W, 11) >= 0, ours);
		/* One read of the reader's comes after, or a write before. */
		assert_int_equal(find(pred, npred, R, 20, W, 11), -1);
		assert_int_equal(find(pred, npred, R, 21, W, 12), -1);
		assert_true(find(pred, npred, W, 12, R, 20) >= 0);
	}
	/* Not a write after a write: the read in between sees that. */
	begin(&options);
	create(1);
	create(2);
	counts(1, true, 10);
	counts(2, false, 20);
	end();
	assert_int_equal(find(pred, npred, W, 22, W, 11), -1);
	assert_true(find(pred, npred, W, 12, W, 21) >= 0);
	/* What was read in a section before says nothing of this one. */
	begin(&options);
	create(1);
	create(2);
	sync(1, MAPLE_EV_LOCK, CALL | 10, M + 64, 0);
	counts(1, true, 10);
	counts(1, true, 30);
	sync(1, MAPLE_EV_UNLOCK, CALL | 11, M + 64, 0);
	sync(2, MAPLE_EV_LOCK, CALL | 20, M + 64, 0);
	data(2, R, 20, X, 4);
	sync(2, MAPLE_EV_UNLOCK, CALL | 21, M + 64, 0);
	end();
	assert_true(find(pred, npred, R, 20, W, 11) >= 0);
	assert_int_equal(find(pred, npred, R, 20, W, 31), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_first),
		cmocka_unit_test(test_occurrence_and_class),
		cmocka_unit_test(test_class_unknown),
		cmocka_unit_test(test_ordered),
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_best_facts),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_startup),
		cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_end_of_memory),
		cmocka_unit_test(test_end_of_a_mapping),
		cmocka_unit_test(test_lock_is_no_data),
		cmocka_unit_test(test_stack_reuse),
		cmocka_unit_test(test_big_copy),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_pruned),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_switched_off),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_unserializable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
