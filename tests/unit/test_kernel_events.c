// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the observer's records come to: the events that the agent would make.
 *
 * beside: guests
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "backend/kernel/ebpf/events.h"

#define CALLER 0x4000

static struct maple_kernel_events *events;
static struct maple_event got[64];
static unsigned int ngot;
static const struct maple_mappings no_mappings;
static const struct maple_uapi_probe probes[] = {
	{ .number = 100, .kind = MAPLE_EV_READ, .size = 4 },
	{ .number = 101, .kind = MAPLE_EV_WRITE, .size = 4 },
	{ .number = 102,
	  .kind = MAPLE_EV_UPDATE,
	  .flags = MAPLE_PROBE_ATOMIC | MAPLE_PROBE_BEHIND },
};

static void take(void *ctx, const struct maple_event *event)
{
	assert_true(ngot < 64);
	got[ngot++] = *event;
}

static const struct maple_run_sink sink = { .event = take };

static int start(void **state)
{
	events = calloc(1, sizeof(*events));
	events->registry = maple_registry_create();
	events->mappings = &no_mappings;
	events->probe = probes;
	events->nprobes = 3;
	events->pinned = true;
	events->sink = &sink;
	maple_kernel_events_start(events);
	ngot = 0;
	return 0;
}

static int stop(void **state)
{
	maple_kernel_events_deinit(events);
	maple_registry_destroy(events->registry);
	free(events);
	return 0;
}

static void say(struct maple_observe_record r)
{
	maple_kernel_events_take(events, &r);
}

static void access_at(unsigned int thread, unsigned int index)
{
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_ACCESS,
					   .thread = thread,
					   .index = index,
					   .addr = 0x1000,
					   .size = 4 });
}

static uint32_t row(const char *name)
{
	unsigned int n;
	const struct maple_function *f = maple_functions(&n);

	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return i;
	fail_msg("no row for %s", name);
	return 0;
}

static struct maple_observe_record call(const char *name, uint64_t a,
					uint64_t b, uint64_t c)
{
	return (struct maple_observe_record){ .what = MAPLE_OBSERVED_ENTRY,
					      .index = row(name),
					      .caller = CALLER,
					      .addr = a,
					      .other = b,
					      .extra = c };
}

static void returns(struct maple_observe_record r, uint64_t value)
{
	r.what = MAPLE_OBSERVED_RETURN;
	r.extra = value;
	say(r);
}

static void begin(unsigned int thread)
{
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_START,
					   .thread = thread,
					   .caller = 0x7000 + thread,
					   .aux = 500 + thread });
}

/* The event before last is what is meant, where one is still held back. */
static void kinds(const char *expect)
{
	static const char letters[] = "?RW*LU??CSXJ!bwkioptnd??af??Bq";
	char seen[65] = "";

	maple_kernel_events_end(events);
	for (unsigned int i = 0; i < ngot; i++)
		seen[i] = letters[got[i].kind];
	assert_string_equal(seen, expect);
}

static void test_accesses(void **state)
{
	access_at(0, 0);
	access_at(0, 1);
	access_at(0, 2);
	kinds("RW*");
	assert_int_equal(got[0].site, 100);
	assert_int_equal(got[0].clock, 1);
	assert_int_equal(got[2].clock, 3);
	assert_int_equal(got[2].flags, MAPLE_EVF_ATOMIC | MAPLE_EVF_EXACT);
	assert_int_equal(got[0].flags, 0);
	access_at(0, 9);
	assert_int_equal(events->bad, 1);
}

/* Whoever lost the CPU between its record and its access may not be done. */
static void test_pending(void **state)
{
	access_at(0, 0);
	access_at(1, 1);
	access_at(1, 1);
	kinds("RWW");
	assert_int_equal(got[0].flags, MAPLE_EVF_PENDING);
	assert_int_equal(got[1].flags, 0);
	assert_int_equal(got[2].flags, MAPLE_EVF_PENDING);
}

static void test_unpinned(void **state)
{
	events->pinned = false;
	access_at(0, 0);
	access_at(1, 1);
	access_at(1, 1);
	assert_int_equal(got[0].flags, 0);
}

static void test_threads(void **state)
{
	begin(0);
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_CREATE,
					   .caller = CALLER,
					   .aux = 1,
					   .other = 501 });
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_CREATE,
					   .caller = CALLER,
					   .aux = 2,
					   .other = 502 });
	say((struct maple_observe_record){
		.what = MAPLE_OBSERVED_CREATE, .thread = 2, .aux = 3 });
	begin(3);
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_EXIT,
					   .thread = 3 });
	kinds("SCCCSX");
	assert_int_equal(got[1].aux, 1);
	assert_int_equal(got[1].site, got[2].site);
	assert_true(got[1].site & MAPLE_SITE_CALL);
	assert_int_equal(got[3].site, MAPLE_SITE_NONE);
	assert_string_equal(events->thread[0].name, "0");
	assert_string_equal(events->thread[2].name, "0.2");
	assert_string_equal(events->thread[3].name, "0.2.1");
	assert_int_equal(events->thread[3].tid, 503);
	assert_int_equal(events->nthreads, 4);
	assert_true(events->renewed);
}

static void test_lock(void **state)
{
	struct maple_observe_record r = call("pthread_mutex_lock", 0x50, 0, 0);

	say(r);
	returns(r, 0);
	say(call("pthread_mutex_unlock", 0x50, 0, 0));
	r = call("pthread_mutex_trylock", 0x50, 0, 0);
	say(r);
	returns(r, EBUSY);
	say(r);
	returns(r, EOWNERDEAD);
	kinds("BLUBBL");
	assert_int_equal(got[1].flags, MAPLE_EVF_EXACT);
	assert_int_equal(got[1].addr, 0x50);
	assert_int_equal(got[1].size, 1);
	assert_int_equal(got[5].flags, MAPLE_EVF_EXACT | MAPLE_EVF_MAYFAIL);
}

/* The side that is let go of is known by the lock's writer. */
static void test_rwlock(void **state)
{
	struct maple_observe_record r =
		call("pthread_rwlock_rdlock", 0x50, 0, 0);

	say(r);
	returns(r, 0);
	r = call("pthread_rwlock_unlock", 0x50, 0, 0);
	say(r);
	r.size = 1234;
	say(r);
	kinds("BLUU");
	assert_int_equal(got[1].flags, MAPLE_EVF_EXACT | MAPLE_EVF_SHARED);
	assert_int_equal(got[2].flags, MAPLE_EVF_SHARED);
	assert_int_equal(got[3].flags, 0);
}

/* To make a spin lock is not to let go of it. */
static void test_spin(void **state)
{
	struct maple_observe_record r = call("pthread_spin_lock", 0x50, 0, 0);

	say(call("pthread_spin_unlock", 0x50, 0, 0));
	say(r);
	returns(r, 0);
	say(call("pthread_spin_unlock", 0x50, 0, 0));
	say(call("pthread_spin_unlock", 0x50, 0, 0));
	kinds("BLU");
}

static void test_wait(void **state)
{
	struct maple_observe_record r =
		call("pthread_cond_timedwait", 0x60, 0x50, 0);

	say(r);
	returns(r, ETIMEDOUT);
	say(r);
	returns(r, ENOTRECOVERABLE);
	kinds("UwBkLUwBk");
	assert_int_equal(got[0].addr, 0x50);
	assert_int_equal(got[1].addr, 0x60);
	assert_int_equal(got[1].flags, MAPLE_EVF_MAYWAIT);
	assert_int_equal(got[3].flags, MAPLE_EVF_TIMEOUT);
	assert_int_equal(got[4].flags, MAPLE_EVF_EXACT);
}

static void test_join(void **state)
{
	struct maple_observe_record r = call("pthread_join", 0x7002, 0, 0);

	begin(0);
	begin(1);
	begin(2);
	say(r);
	returns(r, EINVAL);
	returns(r, 0);
	kinds("SSSBJ");
	assert_int_equal(got[4].aux, 2);
}

/* Who comes back first need not be who ran it. */
static void test_once(void **state)
{
	struct maple_observe_record one = call("pthread_once", 0x70, 0, 0);
	struct maple_observe_record two = one;

	begin(0);
	begin(1);
	two.thread = 1;
	two.size = 1; /* in progress */
	say(one);
	say(two);
	returns(two, 0);
	returns(one, 0);
	kinds("SSBBndd");
	assert_int_equal(got[4].kind, MAPLE_EV_ONCE);
	assert_int_equal(got[4].thread, 0);
	assert_int_equal(got[5].kind, MAPLE_EV_ONCED);
	assert_int_equal(got[5].thread, 1);
	assert_int_equal(got[6].kind, MAPLE_EV_ONCED);
	assert_int_equal(got[6].thread, 0);
}

static void test_memory(void **state)
{
	struct maple_observe_record r;

	say(call("memcpy", 0x10, 0x20, 7));
	say(call("memcpy", 0x10, 0x20, 0));
	say(call("bzero", 0x10, 5, 99));
	r = call("strcat", 0x100, 0x200, 0);
	r.size = 4;
	r.aux = 11;
	say(r);
	r = call("strncpy", 0x100, 0x200, 9);
	r.size = 4;
	say(r);
	r = call("memrchr", 0x100, 'x', 10);
	r.size = 3;
	say(r);
	kinds("RWWRRWRWR");
	assert_int_equal(got[0].addr, 0x20);
	assert_int_equal(got[0].size, 7);
	assert_int_equal(got[0].flags, MAPLE_EVF_MEMFN);
	assert_int_equal(got[2].size, 5);
	assert_int_equal(got[3].size, 11);
	assert_int_equal(got[5].addr, 0x10a);
	assert_int_equal(got[5].size, 4);
	assert_int_equal(got[7].size, 9);
	assert_int_equal(got[8].addr, 0x103);
	assert_int_equal(got[8].size, 7);
}

static void test_life(void **state)
{
	struct maple_observe_record r = call("free", 0x10, 0, 0);

	r.size = 24;
	say(r);
	say(call("free", 0, 0, 0));
	r = call("pthread_mutex_destroy", 0x50, 0, 0);
	say(r);
	returns(r, EBUSY);
	returns(r, 0);
	kinds("ff");
	assert_int_equal(got[0].value, 24);
	assert_int_equal(got[1].value, sizeof(pthread_mutex_t));
}

static void test_quiet(void **state)
{
	say((struct maple_observe_record){
		.what = MAPLE_OBSERVED_QUIET, .index = 1, .addr = 5 });
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_QUIET_CALL,
					   .caller = CALLER });
	kinds("qq");
	assert_int_equal(got[0].site, 101);
	assert_true(got[1].site & MAPLE_SITE_CALL);
}

/* What makes no sense is counted and harms nobody. */
static void test_nonsense(void **state)
{
	say((struct maple_observe_record){ .what = 99 });
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_ACCESS,
					   .thread = MAPLE_THREADS });
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_ENTRY,
					   .index = 4000 });
	say((struct maple_observe_record){ .what = MAPLE_OBSERVED_CREATE,
					   .aux = MAPLE_THREADS });
	kinds("");
	assert_int_equal(events->bad, 4);
}

/* Every row whose return matters is told so to the observer. */
static void test_functions(void **state)
{
	struct maple_observe_function f;
	unsigned int n;
	const struct maple_function *table = maple_functions(&n);

	assert_true(n <= MAPLE_OBSERVE_FUNCTIONS);
	for (unsigned int i = 0; i < n; i++) {
		maple_kernel_function(&table[i], &f);
		assert_int_equal(!!(f.flags & MAPLE_OBSERVE_RETURN),
				 !!(table[i].flags & MAPLE_PROBE_RETURN));
		if (table[i].form >= MAPLE_FN_LENGTH)
			assert_int_not_equal(f.measure, MAPLE_MEASURE_NOTHING);
	}
	maple_kernel_function(&table[row("pthread_rwlock_unlock")], &f);
	assert_int_equal(f.measure, MAPLE_MEASURE_WORD);
	assert_int_equal(f.peek,
			 offsetof(pthread_rwlock_t, __data.__cur_writer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_accesses), TEST(test_pending),  TEST(test_unpinned),
		TEST(test_threads),  TEST(test_lock),	  TEST(test_rwlock),
		TEST(test_spin),     TEST(test_wait),	  TEST(test_join),
		TEST(test_once),     TEST(test_memory),	  TEST(test_life),
		TEST(test_quiet),    TEST(test_nonsense), TEST(test_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
