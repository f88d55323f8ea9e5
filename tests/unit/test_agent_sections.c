// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Critical sections over their budget: which of them an observing run records.
 * This test is its own program under test: run with the name of a scene, it
 * plays it. What a scene is about comes behind its marks, writes of one byte.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent_drive.h"
#include "trace/trace.h"

#define SLOW   30 /* seconds that nothing here may take */
#define BUDGET 100
#define OFTEN  1000

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile char mark;
static volatile short word;

/* One call site each for all locks, as in a program that wraps them. */
NOTE void take(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	__asm__ volatile(""); /* it is no tail call */
}

NOTE void give(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
	__asm__ volatile("");
}

static void empty(pthread_mutex_t *m, int times)
{
	for (int i = 0; i < times; i++) {
		take(m);
		give(m);
	}
}

static void nested(pthread_mutex_t *outer, pthread_mutex_t *inner, int times)
{
	for (int i = 0; i < times; i++) {
		take(outer);
		take(inner);
		give(inner);
		give(outer);
	}
}

static void *nested_there(void *arg)
{
	empty(&a, OFTEN);
	mark = 0;
	nested(&a, &b, 3);
	return NULL;
}

static void scene_nested(void)
{
	pthread_t t;

	mark = 0;
	nested(&a, &b, 3);
	nested(&b, &a, 3);
	pthread_create(&t, NULL, nested_there, NULL);
	pthread_join(t, NULL);
}

static void scene_crossing(void)
{
	mark = 0;
	take(&a);
	take(&b);
	give(&a);
	give(&b);
}

/* The access is one of many under the lock, and the first of its kind. */
static void scene_write(void)
{
	mark = 0;
	take(&a);
	word = 1;
	give(&a);
	empty(&a, 1);
}

static void scene_free(void)
{
	void *volatile p = malloc(100);

	mark = 0;
	take(&a);
	free(p);
	give(&a);
}

static void scene_signal(void)
{
	mark = 0;
	take(&a);
	pthread_cond_signal(&cond);
	give(&a);
}

/* The release is one that is seldom made. */
static void scene_way_out(void)
{
	mark = 0;
	take(&a);
	pthread_mutex_unlock(&a);
}

static void scene_dies(void)
{
	mark = 0;
	take(&a);
	take(&b);
	give(&b);
	raise(SIGKILL);
}

static void scene_alone(void)
{
	mark = 0;
}

static const struct {
	const char *name;
	void (*play)(void);
	const char *told; /* t and g: take and give of a; T and G: of b */
} scenes[] = {
	{ "alone", scene_alone, "" },
	/* once each way, once in each thread */
	{ "nested", scene_nested, "tTGgTtgG" },
	{ "crossing", scene_crossing, "tTgG" },
	{ "write", scene_write, "twg" },
	{ "free", scene_free, "f" },
	{ "signal", scene_signal, "tsg" },
	{ "way out", scene_way_out, "tg" },
	/* for the pair; the release of b tells that it is over */
	{ "dies", scene_dies, "tTG" },
};

#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

static struct drive drive;
static char told[512];
static unsigned int marks;
static uint64_t first, of_a, blocks;

static void tell(char what)
{
	size_t n = strlen(told);

	if (marks && n < sizeof(told) - 1)
		told[n] = what;
}

static void listen(struct drive *d, const struct maple_event *e)
{
	bool other;

	if (e->thread && marks == 1 &&
	    !(e->kind == MAPLE_EV_WRITE && e->size == 1))
		return; /* it gets over its budget */
	if (e->kind == MAPLE_EV_LOCK && !first)
		first = e->addr; /* a's, as empty() has it */
	other = e->addr != first;
	of_a += e->kind == MAPLE_EV_LOCK && !other;
	blocks += e->kind == MAPLE_EV_BLOCK && e->addr == first;
	if (e->kind == MAPLE_EV_WRITE && e->size == 1) {
		if (marks++)
			tell('|');
	}
	if (e->kind == MAPLE_EV_WRITE && e->size == 2)
		tell('w');
	else if (e->kind == MAPLE_EV_LOCK)
		tell(other ? 'T' : 't');
	else if (e->kind == MAPLE_EV_UNLOCK)
		tell(other ? 'G' : 'g');
	else if (e->kind == MAPLE_EV_SIGNAL)
		tell('s');
	else if (e->kind == MAPLE_EV_FREE && !e->thread)
		tell('f');
}

static int run_scene(const char *name)
{
	static char path[1024];
	char *argv[] = { path, (char *)name, NULL };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = 0;
	memset(told, 0, sizeof(told));
	marks = 0;
	first = of_a = blocks = 0;
	return drive_run(&drive, argv, SLOW);
}

static int set_up(void **state)
{
	drive_open(&drive);
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	drive.shm->cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	drive.shm->budget = BUDGET;
	drive.event = listen;
	return 0;
}

static int tear_down(void **state)
{
	drive_close(&drive);
	return 0;
}

static void test_empty(void **state)
{
	assert_int_equal(run_scene("alone"), 0);
	assert_int_equal(of_a, BUDGET);
	assert_int_equal(blocks, BUDGET - 1); /* the first is not known yet */
	assert_int_equal(drive.kinds[MAPLE_EV_UNLOCK], BUDGET);
	assert_int_equal(drive.shm->stats.quieted, 2);
	assert_true(drive.shm->thread[0].events > OFTEN); /* it got on */
	drive.shm->budget = 0;
	assert_int_equal(run_scene("alone"), 0);
	assert_int_equal(of_a, OFTEN);
	assert_int_equal(blocks, OFTEN - 1);
}

static void test_told(void **state)
{
	for (size_t i = 0; i < SCENES; i++) {
		int status = run_scene(scenes[i].name);

		if (WIFSIGNALED(status))
			assert_int_equal(WTERMSIG(status), SIGKILL);
		else
			assert_int_equal(status, 0);
		told[strcspn(told, "|")] = '\0'; /* what other threads did */
		if (strcmp(told, scenes[i].told))
			fail_msg("%s: told \"%s\", expected \"%s\"",
				 scenes[i].name, told, scenes[i].told);
	}
}

/* The ways of another thread are its own. */
static void test_other_thread(void **state)
{
	assert_int_equal(run_scene("nested"), 0);
	assert_int_equal(marks, 2);
	assert_non_null(strstr(told, "|tTGg"));
	assert_null(strstr(strchr(told, '|'), "tTGgt"));
}

/* It has a when it dies, whatever was recorded last. */
static void test_dies(void **state)
{
	struct maple_trace_ring ring;
	struct maple_event event;

	run_scene("dies");
	maple_trace_ring_init(&ring, drive.shm);
	assert_false(maple_trace_ring_next(&ring, true, &event));
	run_scene("holds");
	maple_trace_ring_init(&ring, drive.shm);
	assert_true(maple_trace_ring_next(&ring, true, &event));
	assert_int_equal(event.kind, MAPLE_EV_LOCK);
	assert_int_equal(event.addr, first);
	assert_int_equal(event.thread, 0);
	assert_false(maple_trace_ring_next(&ring, true, &event));
}

static int play(const char *name)
{
	empty(&a, OFTEN);
	if (!strcmp(name, "holds")) {
		take(&a);
		raise(SIGKILL);
	}
	for (size_t i = 0; i < SCENES; i++)
		if (!strcmp(scenes[i].name, name)) {
			scenes[i].play();
			return 0;
		}
	return 99;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),
		TEST(test_told),
		TEST(test_other_thread),
		TEST(test_dies),
	};

	if (argc > 1)
		return play(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
