// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The agent in real programs: what it observes, and what the program notices.
 * Where a small program will do, this test is its own (agent_stage.h).
 */
#include "agent_stage.h"

static void test_observe(void **state)
{
	struct maple_shm *shm = drive.shm;

	assert_int_equal(run_pair("write_read"), 1);
	wanted_site = site_in(write_it, MAPLE_EV_WRITE);
	wanted_seen = 0;
	drive.event = look_for;
	assert_int_equal(run_pair("write_read"), 1);
	assert_int_equal(wanted_seen, 1);
	assert_int_equal(wanted_thread, 1);
	assert_int_equal(shm->stats.lost, 0);
	assert_int_equal(shm->nthreads, 3);
	assert_string_equal(shm->thread[2].name, "0.2");
	assert_int_equal(shm->thread[2].alive, 0);
	assert_int_equal(drive.kinds[MAPLE_EV_START], 3);
	assert_int_equal(drive.kinds[MAPLE_EV_CREATE], 2);
	assert_int_equal(drive.kinds[MAPLE_EV_JOIN], 2);
	assert_true(shm->image[0].is_main);
	assert_true(shm->image[0].patched > 0);
}

static void test_priorities(void **state)
{
	drive.shm->sched = MAPLE_SCHEDULE_YOUNGER;
	assert_int_equal(run_pair("read_write"), 0);
	assert_true(drive.shm->thread[2].prio > drive.shm->thread[1].prio);
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	assert_int_equal(run_pair("read_write"), 0);
	assert_true(drive.shm->thread[2].prio < drive.shm->thread[1].prio);
	drive.shm->sched = MAPLE_SCHEDULE_PCTLARGE;
	assert_int_equal(run_pair("read_write") & ~1, 0);
}

static uint32_t turns, turn_of;

static void count_turns(struct drive *d, const struct maple_event *e)
{
	if (e->kind != MAPLE_EV_LOCK || !e->thread)
		return;
	turns += e->thread != turn_of;
	turn_of = e->thread;
}

/* One after the other, or by turns. */
static void test_turns(void **state)
{
	drive.event = count_turns;
	turns = turn_of = 0;
	assert_int_equal(run_scene("lockers"), 0);
	assert_in_range(turns, 2, 3);
	drive.shm->sched = MAPLE_SCHEDULE_TURNS;
	turns = turn_of = 0;
	assert_int_equal(run_scene("lockers"), 0);
	assert_int_equal(drive.shm->thread[1].prio, drive.shm->thread[2].prio);
	assert_in_range(turns, 15, 20);
}

static void test_budget(void **state)
{
	uint32_t site;

	assert_int_equal(run_scene("turn"), 0);
	site = site_in(turn, MAPLE_EV_WRITE);
	wanted_site = site;
	wanted_seen = 0;
	drive.event = look_for;
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(wanted_seen, 10000);
	wanted_seen = 0;
	drive.shm->budget = 100;
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(wanted_seen, 100);
	assert_true(drive.shm->stats.quieted > 0);
}

static uint64_t all_events(void)
{
	uint64_t n = drive.shm->stats.lost;

	for (unsigned int i = 0;
	     i < sizeof(drive.kinds) / sizeof(drive.kinds[0]); i++)
		n += drive.kinds[i];
	return n;
}

/* Reads on when the ring is full. */
static void wait_till_full(struct drive *d, const struct maple_event *e)
{
	for (int i = 0; i < 20000 && !d->shm->stats.lost; i++)
		usleep(1000);
	d->event = NULL;
}

/* What a full ring drops is counted, whoever drops it. */
static void test_full_ring(void **state)
{
	uint64_t n;

	assert_int_equal(run_scene("turn"), 0);
	n = all_events() / 1000; /* but for the few around the loop */
	assert_int_equal(drive.shm->stats.lost, 0);
	drive.event = wait_till_full;
	assert_int_equal(run_scene("flood"), 0);
	assert_true(drive.shm->stats.lost > 0);
	assert_in_range(all_events(), 1000000 * n, 1000000 * n + 2000);
}

/* Reads on when there is hardly any room. */
static void wait_till_used(struct drive *d, const struct maple_event *e)
{
	volatile uint64_t *head = &d->shm->head;

	for (int i = 0; i < 20000 && *head < MAPLE_SHM_RING - MAPLE_THREADS; i++)
		usleep(1000);
	d->event = NULL;
}

/*
 * A run that waits for its reader loses nothing, and what is read too slowly
 * goes quiet.
 */
static void test_waits_for_room(void **state)
{
	assert_int_equal(run_scene("turn"), 0);
	wanted_site = site_in(turn, MAPLE_EV_WRITE);
	wanted_seen = 0;
	drive.shm->budget = 1u << 30;
	drive.shm->lossless = 1;
	drive.event = wait_till_used;
	assert_int_equal(run_scene("flood"), 0);
	assert_int_equal(drive.shm->stats.lost, 0);
	assert_true(drive.shm->stats.quieted > 0);
	assert_in_range(all_events(), MAPLE_SHM_RING - MAPLE_THREADS,
			2 * MAPLE_SHM_RING);
}

/* Nobody waits for ever for a reader that has stopped. */
static void test_reader_stops(void **state)
{
	drive.shm->lossless = 1;
	drive.event = wait_till_full;
	assert_int_equal(run_scene("flood"), 0);
	assert_true(drive.shm->stats.lost > 0);
}

/* A site that has gone quiet is left, and comes back with each thread. */
static void test_retire(void **state)
{
	assert_int_equal(run_scene("turn_again"), 0);
	wanted_site = site_in(turn, MAPLE_EV_WRITE);
	drive.event = look_for;
	drive.shm->budget = 100;
	for (int sched = MAPLE_SCHEDULE_OLDER; sched <= MAPLE_SCHEDULE_PCTLARGE;
	     sched++) {
		drive.shm->sched = sched;
		wanted_seen = 0;
		assert_int_equal(run_scene("turn_again"), 0);
		assert_in_range(wanted_seen, 300, 400);
		assert_true(drive.shm->stats.retired >= 1);
	}
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	wanted_seen = 0;
	assert_int_equal(run_scene("turn_again"), 0);
	assert_int_equal(wanted_seen, 300);
	assert_true(drive.shm->stats.retired >= 3);
	/* Side by side each of three threads gives back what is used up twice:
	 * before it is created, and when it begins. */
	drive.shm->sched = MAPLE_SCHEDULE_NATIVE;
	wanted_seen = 0;
	assert_int_equal(run_scene("turn_again"), 0);
	assert_in_range(wanted_seen, 200, 700);
	assert_int_equal(drive.shm->stats.retired, 0);
}

static void count_copies(struct drive *d, const struct maple_event *e)
{
	if (e->flags & MAPLE_EVF_MEMFN && e->size == 40)
		wanted_seen++;
}

static void test_call_budget(void **state)
{
	drive.event = count_copies;
	wanted_seen = 0;
	assert_int_equal(run_scene("copy"), 0);
	assert_int_equal(wanted_seen, 4000); /* each reads and writes */
	wanted_seen = 0;
	drive.shm->budget = 100;
	assert_int_equal(run_scene("copy"), 0);
	assert_int_equal(wanted_seen, 200);
	assert_in_range(drive.shm->stats.calls, 200, 1000); /* the rest pass */
	assert_true(drive.shm->stats.quieted >= 2);
	assert_int_equal(drive.kinds[MAPLE_EV_QUIET], drive.shm->stats.quieted);
}

static void test_change_point(void **state)
{
	assert_int_equal(run_scene("turn"), 0);
	drive.shm->sched = MAPLE_SCHEDULE_PCT;
	drive.shm->nchanges = 1;
	drive.shm->change[0].site = site_in(turn, MAPLE_EV_WRITE);
	drive.shm->change[0].hit = 5000;
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->stats.changes_done, 1);
	assert_int_equal(drive.shm->thread[0].prio, 1);
	drive.shm->change[0].hit = 10001;
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->stats.changes_done, 0);
}

/* Every change point sleeps, and nothing else is touched. */
static void test_random_delay(void **state)
{
	uint32_t i;

	assert_int_equal(run_scene("turn"), 0);
	drive.shm->sched = MAPLE_SCHEDULE_RANDDELAY;
	drive.shm->nchanges = 10;
	for (i = 0; i < 10; i++) {
		drive.shm->change[i].site = site_in(turn, MAPLE_EV_WRITE);
		drive.shm->change[i].hit = 10 * (i + 1);
	}
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->stats.changes_done, 10);
	assert_int_equal(drive.shm->stats.priorities, 0);
	assert_int_equal(drive.shm->stats.pinned, 0);
	assert_int_equal(drive.shm->thread[0].prio, 0);
}

/* More change points than there are levels below the usual ones. */
static void test_deep(void **state)
{
	uint32_t i;

	assert_int_equal(run_scene("turn"), 0);
	drive.shm->sched = MAPLE_SCHEDULE_PCT;
	drive.shm->nchanges = 15;
	for (i = 0; i < 15; i++) {
		drive.shm->change[i].site = site_in(turn, MAPLE_EV_WRITE);
		drive.shm->change[i].hit = 20000;
	}
	assert_int_equal(run_scene("turn"), 0);
	assert_in_range(drive.shm->thread[0].prio, 16, 83);
}

static void test_crash(void **state)
{
	const struct maple_shm_crash *crash = &drive.shm->crash;
	uint64_t at = offset_of(touch);
	int status = run_scene("crash");

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(crash->signo, SIGSEGV);
	assert_int_equal(crash->address, 0x456);
	assert_int_equal(crash->thread, 0);
	assert_in_range(crash->pc - drive.shm->image[0].bias, at, at + 32);
	status = run_scene("abort");
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_int_equal(crash->signo, SIGABRT);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_CRASHED);
}

static void test_handler(void **state)
{
	assert_int_equal(run_scene("handler"), 0);
	assert_int_equal(drive.shm->crash.signo, 0);
}

static void test_other_processes(void **state)
{
	assert_int_equal(run_scene("fork"), 0);
	assert_int_equal(run_scene("spawn"), 0);
	assert_int_equal(drive.shm->nthreads, 1);
}

static void test_end_of_stack(void **state)
{
	int status = run_scene("dig");

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(drive.shm->crash.signo, SIGSEGV);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_CRASHED);
}

/* Older threads first, and the older one waits for the younger. */
static void test_spin(void **state)
{
	assert_int_equal(run_pair("spin"), 0);
}

static void test_close(void **state)
{
	wanted_seen = 0;
	drive.event = look_for;
	run_scene("close");
	wanted_site = site_in(write_it, MAPLE_EV_WRITE);
	assert_int_equal(run_scene("close"), 0);
	assert_int_equal(wanted_seen, 1);
}

static void test_exec(void **state)
{
	wanted_seen = 0;
	drive.event = look_for;
	run_scene("turn");
	wanted_site = site_in(write_it, MAPLE_EV_WRITE);
	assert_int_equal(run_scene("exec"), 0);
	assert_int_equal(wanted_seen, 1);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_REPLACED);
}

static void test_library(void **state)
{
	static const char *const libz[] = { "*/libz.*", NULL };
	unsigned int patched = 0;

	drive.include = libz;
	assert_int_equal(run_scene("library"), 0);
	for (uint32_t i = 1; i < drive.shm->nimages; i++)
		patched += drive.shm->image[i].patched;
	assert_true(patched > 0);
}

static void test_stays_out(void **state)
{
	strcpy(drive.shm->exe, "some-other-*");
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_ABSENT);
	assert_int_equal(drive.shm->head, 0);
	strcpy(drive.shm->exe, "test_ag*");
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->state, MAPLE_AGENT_RUNNING);
	drive.shm->exe[0] = 0;
	drive.shm->mode = MAPLE_SHM_IDLE;
	assert_int_equal(run_scene("turn"), 0);
	assert_int_equal(drive.shm->head, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_observe),	    TEST(test_priorities),
		TEST(test_turns),	    TEST(test_full_ring),
		TEST(test_waits_for_room),  TEST(test_reader_stops),
		TEST(test_budget),	    TEST(test_call_budget),
		TEST(test_retire),	    TEST(test_change_point),
		TEST(test_random_delay),    TEST(test_deep),
		TEST(test_crash),	    TEST(test_handler),
		TEST(test_other_processes), TEST(test_stays_out),
		TEST(test_end_of_stack),    TEST(test_spin),
		TEST(test_close),	    TEST(test_exec),
		TEST(test_library),
	};

	return PLAY_OR_TEST(argc, argv, tests);
}
