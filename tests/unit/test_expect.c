// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What policies are told of the run to come.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "strategy/expect.h"
#include "strategy/net.h"

static uint64_t number(const struct maple_study *study, uint64_t salt)
{
	uint64_t z = salt * 0x9e3779b97f4a7c15ull + 7;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static const struct maple_campaign_options plain;
static struct maple_study study = { .random = number, .options = &plain };

static void came(struct maple_variables *v, unsigned int kind, uint16_t thread,
		 uint32_t site, uint64_t addr)
{
	struct maple_event event = { .kind = kind,
				     .size = 4,
				     .thread = thread,
				     .site = site,
				     .addr = addr };

	maple_variables_note(v, &event);
}

/*
 * A whole run of threads 0, 0.1, 0.2: two words of an array that both workers
 * are at, a flag, what is only read, and what is one thread's.
 */
static void expect_of(struct maple_expect *x, uint64_t points)
{
	static struct maple_run_thread threads[3] = { { .name = "0" },
						      { .name = "0.1" },
						      { .name = "0.2" } };
	struct maple_run run = { .nthreads = 3,
				 .threads = threads,
				 .counts.points = points };
	struct maple_variables v = { 0 };

	came(&v, MAPLE_EV_WRITE, 0, 9, 0x3000); /* nobody else was there */
	came(&v, MAPLE_EV_CREATE, 0, 8, 0);
	for (uint16_t t = 1; t < 3; t++) {
		came(&v, MAPLE_EV_READ, t, 1, 0x1000);
		came(&v, MAPLE_EV_WRITE, t, 2, 0x1004);
		came(&v, MAPLE_EV_READ, t, 1, 0x1008);
		came(&v, MAPLE_EV_WRITE, t, 2, 0x100c);
		came(&v, MAPLE_EV_READ, t, 3, 0x4000);
		came(&v, MAPLE_EV_WRITE, t, 5, 0x5000 + 8 * t);
	}
	came(&v, MAPLE_EV_READ, 0, 3, 0x3000);
	came(&v, MAPLE_EV_LOCK, 1, MAPLE_SITE_CALL | 4, 0x3000);
	maple_expect_learn(x, &v, &run, 0);
	assert_null(v.table);
	maple_variables_deinit(&v);
}

/* A run of @lane with an image at @bias, and a flag in it. */
static void ran_at(struct maple_expect *x, unsigned int lane, uint64_t bias)
{
	struct maple_run_thread threads[2] = { { .name = "0" },
					       { .name = "0.1" } };
	struct maple_run_image image = { .index = 3, .bias = bias };
	struct maple_run run = { .nthreads = 2,
				 .threads = threads,
				 .nimages = 1,
				 .images = &image };
	struct maple_variables v = { 0 };

	came(&v, MAPLE_EV_CREATE, 0, 8, 0);
	came(&v, MAPLE_EV_WRITE, 0, 1, bias + 0x10);
	came(&v, MAPLE_EV_READ, 1, 2, bias + 0x10);
	maple_expect_learn(x, &v, &run, lane);
	maple_variables_deinit(&v);
}

/* What is interesting in the next run of @lane, by @policy. */
static uint64_t drawn(const struct maple_expect *x, unsigned int lane,
		      enum maple_policy_kind policy)
{
	struct maple_job job = { .seed = 1 };

	study.lane = lane;
	assert_int_equal(maple_expect_order(x, &study, &job, policy, 2, true),
			 0);
	study.lane = 0;
	free(job.expected.name);
	free(job.expected.weight);
	return job.policy.addr;
}

/* One run in many is executed for itself, and lies elsewhere. */
static void addresses_are_those_of_the_runs_before(void **state)
{
	static const enum maple_policy_kind policy[] = { MAPLE_POLICY_SURW,
							 MAPLE_POLICY_PCT };

	for (unsigned int i = 0; i < 2; i++) {
		struct maple_expect x = { 0 };

		ran_at(&x, 0, 0x10000);
		ran_at(&x, 0, 0x70000);
		assert_int_equal(drawn(&x, 0, policy[i]), 0x10010);
		ran_at(&x, 0, 0x10000);
		ran_at(&x, 0, 0x80000);
		assert_int_equal(drawn(&x, 0, policy[i]), 0x10010);
		/* Forked from another process from now on. */
		ran_at(&x, 0, 0x80000);
		assert_int_equal(drawn(&x, 0, policy[i]), 0x80010);
		/* Each lane forks from a process of its own. */
		assert_int_equal(drawn(&x, 1, policy[i]), 0);
		ran_at(&x, 1, 0x30000);
		assert_int_equal(drawn(&x, 1, policy[i]), 0x30010);
		assert_int_equal(drawn(&x, 0, policy[i]), 0x80010);
		maple_expect_deinit(&x);
	}
}

static void surw_draws_a_class_and_is_told_its_counts(void **state)
{
	struct maple_expect x = { 0 };
	unsigned int array = 0, flag = 0, base[MAPLE_POLICY_BASES] = { 0 };
	struct maple_job job;

	/* Before any run nothing is interesting. */
	job = (struct maple_job){ .seed = 1 };
	assert_int_equal(maple_expect_order(&x, &study, &job, MAPLE_POLICY_SURW,
					    2, false),
			 0);
	assert_int_equal(job.policy.size, 0);
	assert_null(job.expected.weight);
	expect_of(&x, 20);
	for (uint64_t seed = 0; seed < 600; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_SURW, 2, false),
				 0);
		assert_int_equal(job.kind, MAPLE_RUN_CONTROL);
		assert_int_equal(job.policy.size, 8);
		assert_int_equal(job.expected.n, 3);
		assert_string_equal(job.expected.name[2].text, "0.2");
		base[job.policy.base]++;
		if (job.policy.addr == 0x3000) {
			flag++;
			assert_int_equal(job.expected.weight[0], 1);
			assert_int_equal(job.expected.weight[1], 1);
			assert_int_equal(job.expected.weight[2], 0);
		} else {
			assert_in_range(job.policy.addr, 0x1000, 0x1008);
			array++;
			assert_int_equal(job.expected.weight[0], 0);
			assert_int_equal(job.expected.weight[1], 2);
			assert_int_equal(job.expected.weight[2], 2);
		}
		free(job.expected.name);
		free(job.expected.weight);
	}
	assert_in_range(flag, 240, 360);
	assert_int_equal(flag + array, 600);
	for (unsigned int i = 0; i < MAPLE_POLICY_BASES; i++)
		assert_in_range(base[i], 150, 250);
	maple_expect_deinit(&x);
}

static void pct_spreads_its_change_points_over_a_run(void **state)
{
	struct maple_expect x = { .points = 7000 }; /* of a profile run */
	uint64_t high = 0, low = ~0ull;
	struct maple_job job;

	expect_of(&x, 1000);
	assert_int_equal(x.points, 1000);
	/* One that spun is no reason to change them much. */
	expect_of(&x, 60000000);
	assert_in_range(x.points, 1000, 1500);
	for (unsigned int i = 0; i < 100; i++)
		expect_of(&x, 1000);
	assert_in_range(x.points, 1000, 1010);
	for (uint64_t seed = 0; seed < 300; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_PCT, 3, false),
				 0);
		assert_int_equal(job.policy.nchanges, 3);
		assert_true(job.policy.change[0] <= job.policy.change[1] &&
			    job.policy.change[1] <= job.policy.change[2]);
		if (job.policy.change[0] < low)
			low = job.policy.change[0];
		if (job.policy.change[2] > high)
			high = job.policy.change[2];
	}
	assert_in_range(low, 1, 30);
	assert_in_range(high, 970, x.points);
	maple_expect_deinit(&x);
}

/* ... or over the accesses to one variable, of which there are few. */
static void pctvb_changes_at_one_variable(void **state)
{
	struct maple_expect x = { 0 };
	unsigned int depth[4] = { 0 }, flag = 0;
	struct maple_job job;

	/* Before any run there is none. */
	job = (struct maple_job){ .seed = 1 };
	assert_int_equal(
		maple_expect_order(&x, &study, &job, MAPLE_POLICY_PCT, 3, true),
		0);
	assert_int_equal(job.policy.size, 0);
	expect_of(&x, 1000);
	for (uint64_t seed = 0; seed < 300; seed++) {
		job = (struct maple_job){ .seed = seed << 8 };
		assert_int_equal(maple_expect_order(&x, &study, &job,
						    MAPLE_POLICY_PCT, 3, true),
				 0);
		assert_int_equal(job.policy.size, 8);
		assert_in_range(job.policy.nchanges, 1, 3);
		depth[job.policy.nchanges]++;
		flag += job.policy.addr == 0x3000;
		for (uint32_t i = 0; i < job.policy.nchanges; i++)
			assert_in_range(job.policy.change[i], 1,
					job.policy.addr == 0x3000 ? 2 : 4);
	}
	assert_in_range(flag, 110, 190);
	for (unsigned int i = 1; i <= 3; i++)
		assert_in_range(depth[i], 60, 140);
	maple_expect_deinit(&x);
}

/* Runs, of @most, that watch @site. */
static unsigned int watched(struct maple_net *net, uint32_t site,
			    unsigned int most)
{
	unsigned int n = 0;

	for (unsigned int run = 0; run < most; run++) {
		struct maple_job job = { 0 };

		maple_net_order(net, &job);
		assert_in_range(job.nnet, 0, MAPLE_RUN_NET);
		for (uint32_t i = 0; i < job.nnet; i++)
			n += job.net[i] == site;
	}
	return n;
}

/*
 * Each variable has its turn, twice; what would trap too often has none, and
 * where something was seen it is watched in all runs.
 */
static void nets_take_turns(void **state)
{
	struct maple_net_variable v[] = {
		{ .site = 1, .threads = 1, .accesses = 5 },
		{ .site = 2, .threads = 2, .accesses = 5 },
		{ .site = 3, .threads = 2, .accesses = 5000 },
		{ .site = 4, .threads = 1, .accesses = 6 },
		{ .site = 5, .threads = 1, .accesses = 7 },
		{ .site = 6, .threads = 1, .accesses = 8 },
	};
	struct maple_net net = { .n = 6, .variable = v };
	struct maple_job job = { 0 };

	maple_net_order(&net, &job);
	assert_int_equal(job.nnet, MAPLE_RUN_NET);
	assert_int_equal(job.net[0], 2); /* most threads first */
	assert_int_equal(watched(&net, 6, 100), 2);
	assert_int_equal(watched(&net, 1, 100), 0);
	assert_int_equal(v[0].tried + v[1].tried + v[3].tried + v[4].tried, 8);
	assert_int_equal(v[2].tried, 0);
	maple_net_tell(&net, 4);
	maple_net_tell(&net, 4);
	maple_net_tell(&net, 99);
	assert_int_equal(net.told, 1);
	assert_int_equal(watched(&net, 4, 50), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_those_of_the_runs_before),
		cmocka_unit_test(surw_draws_a_class_and_is_told_its_counts),
		cmocka_unit_test(pct_spreads_its_change_points_over_a_run),
		cmocka_unit_test(pctvb_changes_at_one_variable),
		cmocka_unit_test(nets_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
