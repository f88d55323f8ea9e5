// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What is told of a run by switches, from its log: campaign/story/crossing.c.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "campaign/story/story.h"

#define MOST  64
#define X     0x1000
#define Y     0x2000
#define LOCK  0x3000
#define OTHER 0x4000

static struct maple_campaign campaign;
static struct maple_trial trial;
static struct maple_finding finding;
static struct maple_event log_[MOST];
static struct maple_run_thread threads[] = { { .name = "0" },
					     { .name = "0.1" },
					     { .name = "0.2" } };
static struct maple_policy_name names[] = { { "0" }, { "0.1" }, { "0.2" } };
static struct maple_policy_switch entries[4];

static int set_up(void **state)
{
	campaign.registry = maple_registry_create();
	trial = (struct maple_trial){
		.job.kind = MAPLE_RUN_CONTROL,
		.job.switches = { .nnames = 3, .entry = entries, .name = names },
		.run.threads = threads,
		.run.nthreads = 3,
		.log = log_,
		.values = true,
	};
	finding = (struct maple_finding){ 0 };
	return 0;
}

static int tear_down(void **state)
{
	for (unsigned int i = 0; i < finding.nmoments; i++)
		maple_moment_deinit(&finding.moments[i]);
	free(finding.moments);
	free(finding.switches);
	maple_registry_destroy(campaign.registry);
	return 0;
}

static struct maple_event *put(uint16_t thread, uint8_t kind, uint32_t site,
			       uint64_t addr)
{
	struct maple_event *e = &log_[trial.nlog++];

	assert_true(trial.nlog < MOST);
	*e = (struct maple_event){ .thread = thread,
				   .kind = kind,
				   .site = site,
				   .addr = addr,
				   .size = 4 };
	return e;
}

/* An access, with what stood there before and does so now. */
static void access_to(uint16_t thread, uint8_t kind, uint32_t site,
		      uint64_t addr, uint64_t was, uint64_t value)
{
	struct maple_event *e = put(thread, kind, site, addr);

	e->value = value;
	e->flags = MAPLE_EVF_EXACT | MAPLE_EVF_VALUED;
	put(thread, MAPLE_EV_STEP, MAPLE_SITE_NONE, 0)->value = was;
}

/* The next entry of the list. */
static void entry(uint16_t thread, enum maple_policy_what what, uint32_t site,
		  uint16_t next)
{
	entries[trial.job.switches.n++] =
		(struct maple_policy_switch){ .thread = thread,
					      .next = next,
					      .what = what,
					      .site = site,
					      .hit = 1 };
}

/* The next entry, of @thread before an access; it is followed. */
static void stops(uint16_t thread, uint32_t site, uint16_t next, uint8_t kind,
		  uint64_t addr)
{
	entry(thread, MAPLE_POLICY_AT, site, next);
	put(thread, MAPLE_EV_NEXT, site, addr)->aux = trial.job.switches.n - 1;
	put(thread, MAPLE_EV_HOLD, site, addr)->aux = kind;
}

static void goes_on(uint16_t thread, uint32_t site)
{
	put(thread, MAPLE_EV_RELEASE, site, 0);
}

static void tell(void)
{
	maple_story_switches(&campaign, &finding, &trial);
}

static void counts(unsigned int preemptions, unsigned int variables,
		   unsigned int threads)
{
	assert_int_equal(finding.preemptions, preemptions);
	assert_int_equal(finding.variables, variables);
	assert_int_equal(finding.threads, threads);
}

/* Moment @i is @kind, by @thread, with what it depends on. */
static const struct maple_moment *is(unsigned int i, char kind,
				     const char *thread, int from)
{
	const struct maple_moment *m = &finding.moments[i];

	assert_true(i < finding.nmoments);
	assert_int_equal(m->kind, kind);
	assert_string_equal(m->thread, thread);
	assert_int_equal(m->from, from);
	return m;
}

/* What was read is written by another one, and then overwritten. */
static void test_lost_update(void **state)
{
	const struct maple_moment *m;

	access_to(1, MAPLE_EV_READ, 1, Y, 7, 7);
	access_to(1, MAPLE_EV_READ, 2, X, 100, 100);
	stops(1, 3, 2, MAPLE_EV_WRITE, X);
	access_to(2, MAPLE_EV_READ, 2, X, 100, 100);
	access_to(2, MAPLE_EV_UPDATE, 3, X, 100, 150);
	access_to(2, MAPLE_EV_READ, 1, Y, 7, 7);
	goes_on(1, 3);
	access_to(1, MAPLE_EV_WRITE, 3, X, 150, 130);
	tell();
	counts(1, 1, 2);
	assert_int_equal(finding.nmoments, 3);
	m = is(0, 'R', "0.1", -1);
	assert_string_equal(m->value, "100");
	assert_int_equal(m->role, 0);
	m = is(1, 'W', "0.2", 0);
	assert_string_equal(m->value, "150");
	assert_string_equal(m->was, "100");
	assert_int_equal(m->role, 1);
	m = is(2, 'W', "0.1", 1);
	assert_string_equal(m->value, "130");
	assert_string_equal(m->was, "150");
	assert_int_equal(m->address, X);
	assert_int_equal(m->reach, MAPLE_REACH_DONE);
	assert_string_equal(finding.switches, "thread 0.1 stops: 0.2 goes on");
}

/* It dies before the second half is written: of that the place is known. */
static void test_torn(void **state)
{
	const struct maple_moment *m;

	access_to(1, MAPLE_EV_WRITE, 1, X, 0, 1);
	stops(1, 2, 2, MAPLE_EV_WRITE, Y);
	access_to(2, MAPLE_EV_READ, 3, X, 1, 1);
	access_to(2, MAPLE_EV_READ, 4, Y, 0, 0);
	tell();
	assert_int_equal(finding.nmoments, 4);
	is(0, 'W', "0.1", -1);
	is(1, 'R', "0.2", 0);
	is(2, 'R', "0.2", -1);
	m = is(3, 'W', "0.1", 2);
	assert_int_equal(m->reach, MAPLE_REACH_NOT);
	assert_int_equal(m->address, Y);
	assert_null(m->value);
}

/* Locks are told where memory is not crossed, or in a deadlock. */
static void test_deadlock(void **state)
{
	trial.run.end = MAPLE_END_DEADLOCK;
	access_to(1, MAPLE_EV_WRITE, 1, X, 0, 1);
	put(1, MAPLE_EV_LOCK, 2, LOCK);
	stops(1, 3, 2, MAPLE_EV_LOCK, OTHER);
	access_to(2, MAPLE_EV_READ, 1, X, 1, 1);
	put(2, MAPLE_EV_LOCK, 4, OTHER);
	put(2, MAPLE_EV_HOLD, 5, LOCK)->aux = MAPLE_EV_LOCK;
	goes_on(1, 3);
	put(1, MAPLE_EV_BLOCK, 3, OTHER);
	goes_on(2, 5);
	put(2, MAPLE_EV_BLOCK, 5, LOCK);
	tell();
	assert_int_equal(finding.nmoments, 4);
	is(0, 'L', "0.1", -1);
	is(1, 'L', "0.2", -1);
	assert_int_equal(is(2, 'L', "0.1", 1)->reach, MAPLE_REACH_NOW);
	assert_int_equal(is(3, 'L', "0.2", 0)->reach, MAPLE_REACH_NOW);
}

/* A lock that was let go of is not crossed. */
static void test_released(void **state)
{
	put(1, MAPLE_EV_LOCK, 2, LOCK);
	put(1, MAPLE_EV_UNLOCK, 2, LOCK);
	stops(1, 3, 2, MAPLE_EV_WRITE, X);
	put(2, MAPLE_EV_LOCK, 2, LOCK);
	put(2, MAPLE_EV_UNLOCK, 2, LOCK);
	goes_on(1, 3);
	access_to(1, MAPLE_EV_WRITE, 3, X, 0, 1);
	tell();
	/* What it stood before is told all the same. */
	assert_int_equal(finding.nmoments, 1);
	is(0, 'W', "0.1", -1);
}

/* A new thread has stood at the place of an entry that had no other effect. */
static void test_arrival(void **state)
{
	entry(1, MAPLE_POLICY_BLOCKED, 3, 0);
	access_to(1, MAPLE_EV_READ, 2, X, 0, 0);
	put(1, MAPLE_EV_HOLD, 3, X)->aux = MAPLE_EV_WRITE;
	access_to(2, MAPLE_EV_WRITE, 4, X, 0, 5);
	goes_on(1, 3);
	access_to(1, MAPLE_EV_WRITE, 3, X, 5, 1);
	tell();
	assert_int_equal(finding.nmoments, 3);
	is(1, 'W', "0.2", 0);
	assert_string_equal(finding.switches, "thread 0.1 stops: 0.2 goes on");
}

/* Who was there first goes on after who is named. */
static void test_who_goes_first(void **state)
{
	entry(0, MAPLE_POLICY_BLOCKED, 1, 2);
	put(1, MAPLE_EV_HOLD, 3, X)->aux = MAPLE_EV_WRITE;
	put(2, MAPLE_EV_HOLD, 4, X)->aux = MAPLE_EV_READ;
	put(1, MAPLE_EV_NEXT, MAPLE_SITE_NONE, 0)->aux = 0;
	goes_on(2, 4);
	access_to(2, MAPLE_EV_READ, 4, X, 0, 0);
	goes_on(1, 3);
	access_to(1, MAPLE_EV_WRITE, 3, X, 0, 1);
	tell();
	assert_int_equal(finding.nmoments, 2);
	is(0, 'R', "0.2", -1);
	is(1, 'W', "0.1", 0);
	assert_string_equal(finding.switches,
			    "thread 0 waits, or ends: 0.2 goes on");
}

/* The end of memory is a write to all of it. */
static void test_freed(void **state)
{
	struct maple_event *e;

	access_to(1, MAPLE_EV_READ, 1, X, 0, 9);
	stops(1, 2, 2, MAPLE_EV_READ, Y + 8);
	e = put(2, MAPLE_EV_FREE, 3, Y);
	e->size = 0;
	e->value = 64;
	goes_on(1, 2);
	access_to(1, MAPLE_EV_READ, 2, Y + 8, 1, 1);
	tell();
	assert_int_equal(finding.nmoments, 2);
	assert_true(is(0, 'W', "0.2", -1)->frees);
	is(1, 'R', "0.1", 0);
}

/* What is no memory is a variable as well; who blocks is not preempted. */
static void test_bounds(void **state)
{
	stops(0, 1, 1, MAPLE_EV_WRITE, X);
	stops(1, 2, 0, MAPLE_EV_POST, Y);
	goes_on(0, 1);
	access_to(0, MAPLE_EV_WRITE, 1, X, 0, 1);
	entry(0, MAPLE_POLICY_BLOCKED, 3, 2);
	put(2, MAPLE_EV_NEXT, 3, 0)->aux = 2;
	stops(2, 1, 1, MAPLE_EV_WRITE, X);
	goes_on(1, 2);
	tell();
	counts(3, 2, 3);
}

/* Before nothing at all, there is no variable; an early end is no preemption. */
static void test_bounds_of_nothing(void **state)
{
	stops(0, 1, 1, MAPLE_EV_NONE, 0);
	entry(1, MAPLE_POLICY_ARRIVED, 1, 2);
	stops(1, 2, 1, MAPLE_EV_BLOCK, 0);
	tell();
	counts(1, 0, 2);
}

/* An entry that was not followed: at which variable nobody knows. */
static void test_bounds_unknown(void **state)
{
	stops(0, 1, 1, MAPLE_EV_WRITE, X);
	entry(1, MAPLE_POLICY_AT, 2, 0);
	tell();
	counts(2, 0, 2);
}

/* A run without a log has its sentences. */
static void test_no_log(void **state)
{
	entry(1, MAPLE_POLICY_AT, 3, 2);
	tell();
	assert_int_equal(finding.nmoments, 0);
	assert_string_equal(finding.switches, "thread 0.1 stops: 0.2 goes on");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lost_update),	   TEST(test_torn),
		TEST(test_deadlock),	   TEST(test_released),
		TEST(test_arrival),	   TEST(test_who_goes_first),
		TEST(test_freed),	   TEST(test_no_log),
		TEST(test_bounds),	   TEST(test_bounds_of_nothing),
		TEST(test_bounds_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
