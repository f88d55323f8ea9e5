// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The agent in real programs, its own (agent_stage.h): orders that are forced. */
#include "agent_stage.h"

/* Idiom 1 in the given order, @times times. */
static void force(const char *scene, unsigned int first, unsigned int second,
		  int result, unsigned int times)
{
	struct maple_shm *shm = drive.shm;
	const struct maple_auto_result *r = (void *)shm->auto_result;
	uint32_t w, rd;
	struct maple_iroot iroot = { .idiom = MAPLE_IDIOM_1 };
	unsigned int done = 0, exposed = 0;

	run_pair(scene);
	w = site_in(write_it, MAPLE_EV_WRITE);
	rd = site_in(read_it, MAPLE_EV_READ);
	iroot.e[0].site = first == MAPLE_EV_WRITE ? w : rd;
	iroot.e[0].kind = first;
	iroot.e[1].site = second == MAPLE_EV_WRITE ? w : rd;
	iroot.e[1].kind = second;
	for (unsigned int i = 0; i < times; i++) {
		shm->mode = MAPLE_SHM_ENFORCE;
		shm->sched = MAPLE_SCHEDULE_PLAN;
		assert_int_equal(
			maple_plan_init(&shm->plan, &iroot, 1 + i % 4, 0, i), 0);
		shm->plan.guard[0] = w;
		shm->plan.guard[1] = rd;
		shm->plan.nguards = 2;
		done += run_pair(scene) == result;
		exposed += r->exposed;
		assert_int_equal(r->broken, 0);
		assert_true(drive.exact >= 2);
	}
	assert_int_equal(done, times);
	assert_int_equal(exposed, times);
	assert_true(drive.kinds[MAPLE_EV_EXPOSED] == 1);
	assert_int_equal(drive.kinds[MAPLE_EV_STEP], r->executed);
	assert_true(r->executed >= 2);
	/* Of locks that are not the plan's as well. */
	assert_int_equal(drive.kinds[MAPLE_EV_LOCK], 1);
	assert_int_equal(drive.kinds[MAPLE_EV_UNLOCK], 1);
}

static void test_force(void **state)
{
	force("write_read", MAPLE_EV_READ, MAPLE_EV_WRITE, 0, 100);
}

static void test_force_back(void **state)
{
	force("read_write", MAPLE_EV_WRITE, MAPLE_EV_READ, 1, 100);
}

/* What write_it() writes is what read_it() reads next; they have run once. */
static void order_write_read(void)
{
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { .site = site_in(write_it, MAPLE_EV_WRITE),
			 .kind = MAPLE_EV_WRITE },
		       { .site = site_in(read_it, MAPLE_EV_READ),
			 .kind = MAPLE_EV_READ } },
	};

	drive.shm->mode = MAPLE_SHM_ENFORCE;
	drive.shm->sched = MAPLE_SCHEDULE_PLAN;
	assert_int_equal(maple_plan_init(&drive.shm->plan, &iroot, 1, 0, 1), 0);
}

/* The agent forces no plan that is not well-formed: the program just runs. */
static void test_unsound(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;
	struct maple_plan *then = drive.shm->then;

	run_pair("write_read");
	order_write_read();
	assert_int_equal(run_pair("write_read"), 1);
	assert_int_equal(r->exposed, 1);
	drive.shm->plan.step[1].role = 200;
	run_pair("write_read");
	assert_int_equal(drive.kinds[MAPLE_EV_STEP], 0);
	order_write_read();
	then[0] = drive.shm->plan;
	then[0].step[1].dep = 100;
	drive.shm->nthen = 1;
	run_pair("write_read");
	assert_int_equal(drive.kinds[MAPLE_EV_STEP], 0);
}

/*
 * What no hook sees between the two steps is seen by a watchpoint, where one
 * may be had; where not, the automaton believes that they were adjacent.
 */
static void test_unseen_write(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;
	const struct maple_shm_stats *stats = &drive.shm->stats;
	struct maple_shm *shm = drive.shm;

	assert_int_equal(run_pair("unseen"), 2);
	order_write_read();
	shm->plan.guard[0] = shm->plan.step[0].site;
	shm->plan.guard[1] = shm->plan.step[1].site;
	shm->plan.nguards = 2;
	assert_int_equal(run_pair("unseen"), 2);
	assert_int_equal(r->broken, 0);
	if (stats->watches_refused) {
		assert_int_equal(stats->watch_hits, 0);
		assert_int_equal(r->exposed, 1);
		return;
	}
	assert_true(stats->watches > 0);
	assert_true(stats->watch_told > 0);
	assert_int_equal(r->exposed, 0);
	assert_int_equal(r->attempts, 1);
}

/* Freed memory is filled and kept, and freed twice it is as natively. */
static void test_buried(void **state)
{
	int status;

	assert_int_equal(run_pair("write_read"), 1);
	order_write_read();
	assert_int_equal(WEXITSTATUS(run_scene("buried")), 10);
	drive.shm->fill = 1;
	assert_int_equal(WEXITSTATUS(run_scene("buried")), 13);
	status = run_scene("twice");
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* A plan that is done costs nothing more, however often its sites are met. */
static void test_force_hot(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;
	struct maple_shm *shm = drive.shm;

	assert_int_equal(WEXITSTATUS(run_scene("hot_after")), 11);
	order_write_read();
	shm->plan.guard[0] = site_in(turn, MAPLE_EV_WRITE);
	shm->plan.nguards = 1;
	wanted_site = shm->plan.guard[0];
	wanted_seen = 0;
	drive.event = look_for;
	assert_int_equal(WEXITSTATUS(run_scene("hot_after")), 11);
	assert_int_equal(r->exposed, 1);
	assert_in_range(wanted_seen, 500, 1001);
	assert_int_equal(shm->stats.retired, 1);
	assert_in_range(shm->stats.hits[0] + shm->stats.hits[1], 1000, 1100);
}

static void note_put(struct drive *d, const struct maple_event *e)
{
	if (e->flags & MAPLE_EVF_MEMFN && e->kind == MAPLE_EV_WRITE &&
	    e->size == sizeof(int))
		wanted_site = e->site;
}

/* A call that was let pass thousands of times is held where it matters. */
static void test_force_hot_call(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;
	struct maple_shm *shm = drive.shm;

	drive.event = note_put;
	wanted_site = MAPLE_SITE_NONE;
	assert_int_equal(run_pair("hot_call"), 2);
	assert_int_not_equal(wanted_site, MAPLE_SITE_NONE);
	order_write_read();
	shm->plan.guard[0] = wanted_site;
	shm->plan.nguards = 1;
	assert_int_equal(run_pair("hot_call"), 1);
	assert_int_equal(r->exposed, 1);
	assert_int_equal(r->broken, 0);
}

/* Another thread's write comes in the middle of one instruction. */
static void order_split(unsigned int attempt)
{
	uint32_t site = site_in(bump, MAPLE_EV_UPDATE);
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_2,
		.e = { { site, MAPLE_EV_READ },
		       { site, MAPLE_EV_WRITE },
		       { site, MAPLE_EV_WRITE } },
	};

	drive.shm->mode = MAPLE_SHM_ENFORCE;
	drive.shm->sched = MAPLE_SCHEDULE_PLAN;
	assert_int_equal(
		maple_plan_init(&drive.shm->plan, &iroot, attempt, 0, attempt),
		0);
	wanted_site = site;
}

static struct maple_event halves[8];
static unsigned int nhalves;

static void note_half(struct drive *d, const struct maple_event *e)
{
	if (e->site == wanted_site && maple_event_is_memory(e->kind) &&
	    nhalves < 8)
		halves[nhalves++] = *e;
}

/* The log has both halves, the writes last, and each thread has one of each. */
static void check_halves(void)
{
	unsigned int reads[3] = { 0 }, writes[3] = { 0 };

	assert_int_equal(nhalves, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(halves[i].kind,
				 i < 2 ? MAPLE_EV_READ : MAPLE_EV_WRITE);
		assert_in_range(halves[i].thread, 1, 2);
		assert_int_equal(halves[i].value, i == 3 ? 1 : i / 2);
		(i < 2 ? reads : writes)[halves[i].thread]++;
	}
	assert_true(reads[1] == 1 && reads[2] == 1);
	assert_true(writes[1] == 1 && writes[2] == 1);
}

static void test_force_split(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;

	assert_int_equal(WEXITSTATUS(run_scene("bump")), 12);
	drive.event = note_half;
	for (unsigned int i = 0; i < 40; i++) {
		order_split(1 + i % 4);
		nhalves = 0;
		assert_int_equal(WEXITSTATUS(run_scene("bump")), 11);
		assert_int_equal(r->exposed, 1);
		assert_int_equal(r->broken, 0);
		check_halves();
	}
}

/* A plan that is not about its middle leaves an instruction whole. */
static void test_force_whole(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;

	assert_int_equal(WEXITSTATUS(run_scene("bump")), 12);
	order_split(1);
	maple_plan_flip(&drive.shm->plan);
	drive.event = note_half;
	nhalves = 0;
	assert_int_equal(WEXITSTATUS(run_scene("bump")), 12);
	assert_int_equal(r->exposed, 1);
	assert_int_equal(nhalves, 2);
	assert_int_equal(halves[0].kind, MAPLE_EV_UPDATE);
	assert_int_equal(halves[1].kind, MAPLE_EV_UPDATE);
}

/* A fault in either half is the instruction's, which has done nothing yet. */
static void test_split_fault(void **state)
{
	assert_int_equal(WEXITSTATUS(run_scene("bump")), 12);
	order_split(1);
	assert_int_equal(run_scene("guard_read"), 0);
	assert_int_equal(run_scene("guard_write"), 0);
	assert_int_equal(drive.shm->crash.signo, 0);
}

static uint32_t asked[8], nasked, stepped;

static void note_caller(struct drive *d, const struct maple_event *e)
{
	static uint32_t last;

	if (e->site == wanted_site && e->kind == MAPLE_EV_READ) {
		last = e->aux;
		if (nasked < 8)
			asked[nasked++] = last;
	}
	if (e->kind == MAPLE_EV_STEP && !e->aux)
		stepped = last;
}

/* The read of get_it(), asked for by @context, and the write right after it. */
static void order_callers(uint32_t context)
{
	const struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { site_in(get_it, MAPLE_EV_READ), MAPLE_EV_READ },
		       { site_in(write_it, MAPLE_EV_WRITE), MAPLE_EV_WRITE } },
	};

	drive.shm->mode = MAPLE_SHM_ENFORCE;
	drive.shm->sched = MAPLE_SCHEDULE_PLAN;
	assert_int_equal(maple_plan_init(&drive.shm->plan, &iroot, 3, 0, 1), 0);
	drive.shm->plan.step[0].context = context;
	wanted_site = iroot.e[0].site;
	nasked = stepped = 0;
}

/* Who called get_it(), from the nearest on: what @context is said to be. */
static void check_callers(uint32_t context, const void *nearest,
			  const void *farther)
{
	const struct maple_shm_context *c = NULL;
	uint64_t from[] = { offset_of(nearest), offset_of(farther) };

	for (uint32_t i = 0; i < MAPLE_SHM_CONTEXTS; i++)
		if (drive.shm->context[i].context == context)
			c = &drive.shm->context[i];
	assert_non_null(c);
	assert_int_equal(c->n, 2); /* a thread's first one is libc's to call */
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(c->by[i].image, 0);
		assert_in_range(c->by[i].offset, from[i] + 1, from[i] + 80);
	}
}

/* An access says who called, and a step can be about one of the callers. */
static void test_force_callers(void **state)
{
	const struct maple_auto_result *r = (void *)drive.shm->auto_result;
	uint32_t context[2];

	drive.event = note_caller;
	run_scene("callers");
	order_callers(MAPLE_CONTEXT_ANY);
	run_scene("callers");
	assert_int_equal(nasked, 2);
	memcpy(context, asked, sizeof(context));
	assert_true(context[0] >= MAPLE_CONTEXT_LEAST);
	assert_true(context[1] >= MAPLE_CONTEXT_LEAST);
	assert_int_not_equal(context[0], context[1]);
	check_callers(context[0], ask_first, ask_both);
	check_callers(context[1], ask_second, ask_both);
	for (unsigned int i = 0; i < 40; i++) {
		order_callers(context[i % 2]);
		run_scene("callers");
		assert_int_equal(r->exposed, 1);
		assert_int_equal(r->broken, 0);
		assert_int_equal(stepped, context[i % 2]);
		assert_int_equal(nasked, 2);
		assert_memory_equal(asked, context, sizeof(context));
	}
	/* Nobody else's: then it is nobody's. */
	order_callers(context[0] ^ 1 << 20);
	run_scene("callers");
	assert_int_equal(r->exposed, 0);
	assert_int_equal(nasked, 2);
}

static void test_force_sleeper(void **state)
{
	force("slow_write", MAPLE_EV_WRITE, MAPLE_EV_READ, 1, 50);
}

/* Where no jump fits, a trap does, if the plan needs the site. */
static void test_force_traps(void **state)
{
	drive.traps = true;
	drive.shm->trap_rest = 1;
	force("write_read", MAPLE_EV_READ, MAPLE_EV_WRITE, 0, 10);
	assert_true(drive.shm->stats.hits[MAPLE_WAY_TRAP] > 0);
	drive.shm->mode = MAPLE_SHM_OBSERVE;
	drive.shm->sched = MAPLE_SCHEDULE_OLDER;
	assert_int_equal(run_scene("handler"), 0);
	assert_int_equal(run_scene("library"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_buried),	   TEST(test_force),
		TEST(test_force_back),	   TEST(test_unsound),
		TEST(test_unseen_write),   TEST(test_force_hot),
		TEST(test_force_sleeper),  TEST(test_force_traps),
		TEST(test_force_hot_call), TEST(test_force_split),
		TEST(test_force_whole),	   TEST(test_split_fault),
		TEST(test_force_callers),
	};

	return PLAY_OR_TEST(argc, argv, tests);
}
