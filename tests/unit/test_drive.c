// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The driver of the automaton: in which order it calls what the agent, the
 * module or the simulator does, and what it has them log.
 *
 * beside: guests
 */
#include "automaton_rig.h"
#include "plan/drive.h"

#define CALLS 64

/* What was called, a letter each, and a script of how others move. */
struct recorder {
	char calls[CALLS];
	unsigned int ncalls, moves, slept_at;
	enum maple_wait_end others; /* thread 9's wait */
	uint64_t watched;	    /* size */
	void (*elsewhere)(void);    /* while the CPU is gone, once */
};

static struct maple_drive drive;
static struct recorder *rec;

static void called(char c)
{
	assert_true(rec->ncalls < CALLS - 1);
	rec->calls[rec->ncalls++] = c;
}

static void on_again(void *who, struct maple_waits *waits)
{
	assert_ptr_equal(who, rec);
	called('a');
	*waits = (struct maple_waits){ 0 };
	maple_waits_add(waits, 9, rec->others);
}

static void on_watch(void *who, uint64_t addr, uint64_t size)
{
	rec->watched = size;
	assert_true(!size || addr == X);
}

static void on_level(void *who, unsigned int t, unsigned int p)
{
	prio[t] = p;
}

static void on_log(void *who, unsigned int kind, const struct maple_access *acc,
		   uint32_t aux)
{
	bool of_access = kind == MAPLE_EV_HOLD || kind == MAPLE_EV_RELEASE;

	assert_int_equal(of_access, acc != NULL);
	called(kind == MAPLE_EV_HOLD	  ? 'H'
	       : kind == MAPLE_EV_RELEASE ? 'R'
	       : kind == MAPLE_EV_STEP	  ? (char)('0' + aux)
	       : kind == MAPLE_EV_GIVEUP  ? 'G'
	       : kind == MAPLE_EV_EXPOSED ? 'E'
					  : '?');
}

static uint32_t on_leave(void *who)
{
	void (*elsewhere)(void) = rec->elsewhere;

	called('l');
	rec->elsewhere = NULL;
	if (elsewhere)
		elsewhere();
	return ++rec->moves;
}

static void on_sleep(void *who, uint32_t moves)
{
	called('s');
	rec->slept_at = moves;
	rec->others = MAPLE_ENDS_NEVER;
}

static bool on_stands(void *who, enum maple_verdict verdict)
{
	return verdict == MAPLE_GO && !maple_auto_moved(a, 0);
}

static const struct maple_drive_ops ops = {
	.again = on_again,
	.watch = on_watch,
	.level = on_level,
	.log = on_log,
	.leave = on_leave,
	.sleep = on_sleep,
	.stands = on_stands,
};

static void leave(void)
{
	maple_drive_leave(&drive, MAPLE_THREAD_NONE, &ops, rec);
}

static void start(struct recorder *r)
{
	rec = r;
	plan_for(MAPLE_IDIOM_1, W, R, 0, 0);
	rig_start(0);
	maple_drive_start(&drive, a, &plan);
	for (unsigned int t = 0; t < 2; t++)
		maple_auto_start(a, t, 0);
	maple_drive_levels(&drive, MAPLE_THREAD_NONE, &ops, rec);
}

static void stand(unsigned int t, uint32_t site, uint32_t kind)
{
	struct maple_access acc = access_at(site, kind, X);

	maple_drive_before(&drive, t, &acc, &ops, rec);
}

static void end(unsigned int t, uint32_t site, uint32_t kind)
{
	struct maple_access acc = access_at(site, kind, X);

	maple_auto_after(a, t, &acc, 1);
	leave();
}

/* Nothing holds it, so nothing is said, and the automaton is left once. */
static void test_passes(void **state)
{
	struct recorder r = { 0 };

	start(&r);
	stand(0, GUARD, W);
	assert_string_equal(r.calls, "l");
}

/* Q comes to its step meanwhile; then it is P's turn. */
static void arrive(void)
{
	struct maple_access acc = access_at(E1, R, X);

	assert_int_equal(maple_auto_before(a, 1, &acc), MAPLE_HELD);
}

static void test_held(void **state)
{
	struct recorder r = { .elsewhere = arrive };

	start(&r);
	stand(0, E0, W);
	assert_string_equal(r.calls, "HlalR");
	assert_int_equal(prio[0], HIGH);
	assert_int_equal(r.watched, 0);
	end(0, E0, W);
	assert_true(r.watched > 0);
	assert_string_equal(r.calls, "HlalR0l");
	end(1, E1, R);
	assert_int_equal(r.watched, 0);
	assert_string_equal(r.calls, "HlalR0l1El");
	leave(); /* each is said once */
	assert_string_equal(r.calls, "HlalR0l1Ell");
	assert_int_equal(drive.said.exposed, 1);
}

/* Somebody's wait ends soon: a slice, from the moves that leave() told. */
static void test_sleeps(void **state)
{
	struct recorder r = { .others = MAPLE_ENDS_SOON };

	start(&r);
	maple_auto_start(a, 9, 0);
	stand(0, E0, W);
	assert_string_equal(r.calls, "HlalsalR");
	assert_int_equal(r.slept_at, 2);
}

/* Who was told to go does not, once others have moved. */
static void intrude(void)
{
	struct maple_access acc = access_at(E0, W, X);

	assert_int_equal(maple_auto_before(a, 1, &acc), MAPLE_HELD);
}

static void test_moved(void **state)
{
	struct recorder r = { .elsewhere = intrude };

	start(&r);
	stand(0, GUARD, W);
	assert_string_equal(r.calls, "lal");
}

/* An attempt has 50 ms of CPU time from its last step, told each 10. */
static void test_tick(void **state)
{
	struct recorder r = { 0 };

	start(&r);
	stand(0, E0, W);
	end(0, E0, W);
	maple_drive_tick(&drive, 100);
	maple_drive_tick(&drive, 149);
	leave();
	assert_int_equal(drive.said.attempts, 0);
	maple_drive_tick(&drive, 155); /* too soon to be told */
	leave();
	assert_int_equal(drive.said.attempts, 0);
	maple_drive_tick(&drive, 160);
	leave();
	assert_int_equal(drive.said.attempts, 1);
	assert_int_equal(r.calls[r.ncalls - 2], 'G');
	maple_drive_tick(&drive, 300); /* counted anew */
	leave();
	assert_int_equal(drive.said.attempts, 1);
}

/* What the plan before has come to is not said of the next. */
static void test_follow(void **state)
{
	struct recorder r = { .elsewhere = arrive };

	start(&r);
	stand(0, E0, W);
	end(0, E0, W);
	end(1, E1, R);
	assert_int_equal(drive.said.finished, 1);
	maple_drive_follow(&drive, &plan);
	assert_int_equal(drive.said.finished, 0);
	memset(r.calls, 0, sizeof(r.calls));
	r.ncalls = 0;
	leave();
	assert_string_equal(r.calls, "l");
}

/* Two steps between two calls: the log would have one of them. */
static void test_broken(void **state)
{
	struct recorder r = { 0 };

	start(&r);
	stand(0, E0, W);
	a->result.executed += 2;
	leave();
	assert_int_equal(drive.said.broken, 1);
	assert_int_equal(drive.said.finished, 1);
}

static int tear_down(void **state)
{
	rig_done();
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_passes), TEST(test_held), TEST(test_sleeps),
		TEST(test_moved),  TEST(test_tick), TEST(test_follow),
		TEST(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
