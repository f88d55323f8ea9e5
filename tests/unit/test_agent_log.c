// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the log of an enforced run leaves out: empty critical sections where no
 * plan is about locks any more, and memory that the log is not about. This test
 * is its own program under test: run with the name of a scene, it plays it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent_drive.h"
#include "plan/automaton.h"
#include "trace/trace.h"

#define SLOW   30 /* seconds that nothing here may take */
#define BUDGET 100
#define OFTEN  3000 /* calls; beyond 1000 they go the short way */
#define BLOCKS 200
#define NEVER  0x7000 /* sites that nobody comes to */

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;

NOTE void take(void)
{
	pthread_mutex_lock(&a);
	__asm__ volatile(""); /* it is no tail call */
}

NOTE void sections(int times)
{
	for (int i = 0; i < times; i++) {
		take();
		pthread_mutex_unlock(&a);
	}
}

static void *many(void *arg)
{
	sections(OFTEN);
	return arg;
}

static void play_sections(void)
{
	pthread_t t;

	sections(1);
	pthread_create(&t, NULL, many, NULL);
	pthread_join(t, NULL);
}

static void play_holds(void)
{
	sections(OFTEN);
	take();
	raise(SIGKILL);
}

NOTE void touch(volatile short *at)
{
	*at = 1;
}

/* Far from its ends, which neighbours share cache lines with. */
static void play_heap(void)
{
	char *p = malloc(8192);
	pthread_mutex_t *m = malloc(8192);
	void *volatile q;

	pthread_mutex_init(m, NULL);
	for (int i = 0; i < BLOCKS; i++) {
		q = malloc(100);
		free(q);
	}
	touch((short *)(p + 4096));
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	for (int i = 0; i < BLOCKS; i++) {
		q = malloc(100);
		free(q);
	}
	pthread_mutex_destroy(m);
	free(p);
}

/* ---- the other side ---- */

static struct drive drive;
static uint32_t lock_site, unlock_site, touch_site;
static int killed_by; /* the scene; 0: it ends by itself */

static void note(struct drive *d, const struct maple_event *e)
{
	if (e->kind == MAPLE_EV_LOCK)
		lock_site = e->site;
	else if (e->kind == MAPLE_EV_UNLOCK)
		unlock_site = e->site;
	else if (e->kind == MAPLE_EV_WRITE && e->size == 2)
		touch_site = e->site;
}

static void run_scene(const char *name)
{
	static char path[1024];
	char *argv[] = { path, (char *)name, NULL };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int status;

	assert_true(n > 0);
	path[n] = 0;
	status = drive_run(&drive, argv, SLOW);
	assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : status,
			 killed_by);
}

/* The scene once as it is, then with the order of @e0 before @e1. */
static void observe(const char *scene)
{
	drive.event = note;
	run_scene(scene);
	drive.event = NULL;
}

static void force(const char *scene, uint32_t e0, unsigned int kind0,
		  uint32_t e1, unsigned int kind1)
{
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { .site = e0, .kind = kind0 },
		       { .site = e1, .kind = kind1 } },
	};

	drive.shm->mode = MAPLE_SHM_ENFORCE;
	drive.shm->sched = MAPLE_SCHEDULE_PLAN;
	assert_int_equal(maple_plan_init(&drive.shm->plan, &iroot, 1, 0, 1), 0);
	run_scene(scene);
	assert_int_equal(drive.shm->stats.lost, 0);
}

static int set_up(void **state)
{
	drive_open(&drive);
	killed_by = 0;
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	drive.shm->cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	drive.shm->budget = BUDGET;
	return 0;
}

static int tear_down(void **state)
{
	drive_close(&drive);
	return 0;
}

static const uint64_t *kinds(void)
{
	return drive.kinds;
}

static void all_sections(void)
{
	assert_int_equal(kinds()[MAPLE_EV_LOCK], 1 + OFTEN);
	assert_int_equal(kinds()[MAPLE_EV_UNLOCK], 1 + OFTEN);
	assert_int_equal(kinds()[MAPLE_EV_QUIET], 0);
}

/* @more were logged before any could be left out. */
static void budget_of_sections(unsigned int more)
{
	assert_int_equal(kinds()[MAPLE_EV_LOCK], more + BUDGET);
	assert_int_equal(kinds()[MAPLE_EV_UNLOCK], more + BUDGET);
	assert_int_equal(kinds()[MAPLE_EV_QUIET], 2);
	/* Calls of 0.1 still mean progress up to the thousandth. */
	assert_in_range(drive.shm->thread[1].events, 1000, 2000 + 2 * BUDGET);
	assert_int_equal(drive.shm->held[1].n, 0);
}

static void test_order_of_memory(void **state)
{
	force("sections", NEVER, MAPLE_EV_WRITE, NEVER + 1, MAPLE_EV_READ);
	budget_of_sections(0);
	drive.shm->budget = 0;
	force("sections", NEVER, MAPLE_EV_WRITE, NEVER + 1, MAPLE_EV_READ);
	all_sections();
}

/* The observer is to see whether anything came between. */
static void test_order_of_locks(void **state)
{
	force("sections", MAPLE_SITE_CALL | NEVER, MAPLE_EV_UNLOCK,
	      MAPLE_SITE_CALL | (NEVER + 1), MAPLE_EV_LOCK);
	all_sections();
}

static void test_order_is_done(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;

	observe("sections");
	force("sections", unlock_site, MAPLE_EV_UNLOCK, lock_site,
	      MAPLE_EV_LOCK);
	assert_int_equal(r->exposed, 1);
	assert_int_equal(kinds()[MAPLE_EV_EXPOSED], 1);
	/* Up to the LOCK that exposed it; then budgets are whole. */
	budget_of_sections(2);
}

/* One that follows and has not begun keeps all of them. */
static void test_order_follows(void **state)
{
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { .site = MAPLE_SITE_CALL | NEVER,
			 .kind = MAPLE_EV_UNLOCK },
		       { .site = MAPLE_SITE_CALL | (NEVER + 1),
			 .kind = MAPLE_EV_LOCK } },
	};

	observe("sections");
	assert_int_equal(maple_plan_init(&drive.shm->then[0], &iroot, 1, 0, 1),
			 0);
	drive.shm->nthen = 1;
	force("sections", unlock_site, MAPLE_EV_UNLOCK, lock_site,
	      MAPLE_EV_LOCK);
	assert_int_equal(kinds()[MAPLE_EV_EXPOSED], 1);
	all_sections();
}

static void test_memory(void **state)
{
	observe("heap");
	assert_true(kinds()[MAPLE_EV_FREE] >= 2 * BLOCKS + 2);
	force("heap", touch_site, MAPLE_EV_WRITE, NEVER, MAPLE_EV_READ);
	assert_int_equal(kinds()[MAPLE_EV_WRITE], 1);
	assert_int_equal(kinds()[MAPLE_EV_ALLOC], 0);
	/* The one that was written to, and the mutex. */
	assert_int_equal(kinds()[MAPLE_EV_FREE], 2);
	/* All of them mean progress. */
	assert_true(drive.shm->thread[0].events >= 4 * BLOCKS);
	drive.shm->names = true;
	force("heap", touch_site, MAPLE_EV_WRITE, NEVER, MAPLE_EV_READ);
	assert_true(kinds()[MAPLE_EV_ALLOC] >= 2 * BLOCKS + 2);
	assert_true(kinds()[MAPLE_EV_FREE] >= 2 * BLOCKS + 2);
}

/* Who holds what is known all the same, whatever becomes of it. */
static void test_holds(void **state)
{
	struct maple_trace_ring ring;
	struct maple_event event;

	killed_by = SIGKILL;
	force("holds", NEVER, MAPLE_EV_WRITE, NEVER + 1, MAPLE_EV_READ);
	maple_trace_ring_init(&ring, drive.shm);
	assert_true(maple_trace_ring_next(&ring, true, &event));
	assert_int_equal(event.kind, MAPLE_EV_LOCK);
	assert_int_equal(event.thread, 0);
	assert_false(maple_trace_ring_next(&ring, true, &event));
}

static int play(const char *name)
{
	if (!strcmp(name, "sections"))
		play_sections();
	else if (!strcmp(name, "heap"))
		play_heap();
	else if (!strcmp(name, "holds"))
		play_holds();
	else
		return 99;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order_of_memory), TEST(test_order_of_locks),
		TEST(test_order_is_done),   TEST(test_order_follows),
		TEST(test_memory),	    TEST(test_holds),
	};

	if (argc > 1)
		return play(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
