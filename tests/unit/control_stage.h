/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the tests of controlled runs share: programs, and runs of them. */
#ifndef CONTROL_STAGE_H
#define CONTROL_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "base/clock.h"
#include "bench/alone.h"

#define REPLAYS 20
#define SITES	4096
#define LIMIT	5 /* seconds for a run */

/* A program and its CPU, as long as a test needs them: see leave_stages(). */
struct play {
	struct alone alone;
	char *argv[4];
	char program[4096];
	bool open;
};

static struct play plays[2];

struct stage {
	struct play *play;
	uint32_t budget;
	struct maple_run run; /* the last one */
	uint64_t events;      /* ... of it */
	uint64_t quiet;
	uint64_t born;		  /* accesses that main() has not made */
	uint32_t accesses[SITES]; /* by site, calls left out */
};

/* @name and its argument, or NULL. */
static inline void open_stage(struct stage *s, const char *name, const char *arg)
{
	struct play *play = &plays[plays[0].open];
	char *end;

	assert_false(play->open);
	*s = (struct stage){ .play = play };
	snprintf(play->program, sizeof(play->program), "%s", alone_agent());
	end = strrchr(play->program, '/');
	snprintf(end, play->program + sizeof(play->program) - end, "/tests/%s",
		 name);
	play->argv[0] = play->program;
	play->argv[1] = (char *)arg;
	alone_open(&play->alone, play->argv);
	play->open = true;
}

static inline void close_play(struct play *play)
{
	alone_close(&play->alone);
	play->open = false;
}

static inline void close_stage(struct stage *s)
{
	maple_run_deinit(&s->run);
	close_play(s->play);
}

/* A test that fails keeps no CPU: the next one would wait for it. */
static inline int leave_stages(void **state)
{
	for (size_t i = 0; i < sizeof(plays) / sizeof(*plays); i++)
		if (plays[i].open)
			close_play(&plays[i]);
	return 0;
}

static inline void count_event(void *ctx, const struct maple_event *event)
{
	struct stage *s = ctx;

	s->events++;
	s->quiet += event->kind == MAPLE_EV_QUIET;
	if (!maple_event_is_memory(event->kind) || event->site >= SITES)
		return;
	s->accesses[event->site]++;
	s->born += event->thread > 0;
}

static inline void control(struct stage *s,
			   const struct maple_run_control *control, bool fresh)
{
	const struct maple_run_sink sink = { .ctx = s, .event = count_event };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = control,
		.budget = s->budget,
		.timeout = LIMIT,
		.fresh = fresh,
		.in = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	struct maple_error err;

	order.out = order.err = order.in;
	s->events = s->quiet = s->born = 0;
	memset(s->accesses, 0, sizeof(s->accesses));
	maple_run_deinit(&s->run);
	if (maple_backend_run(s->play->alone.backend, NULL, &order, &sink,
			      &s->run, &err))
		fail_msg("%s", err.text);
	close(order.in);
	if (!s->run.delivered)
		fail_msg("%s", s->run.why_not);
}

static inline bool failed(const struct maple_run *run)
{
	assert_true(run->end == MAPLE_END_ITSELF ||
		    run->end == MAPLE_END_DEADLOCK);
	return run->end == MAPLE_END_DEADLOCK || run->status;
}

/* What can be said of a schedule by a policy alone. */
static inline void order_by(struct maple_policy_order *o,
			    enum maple_policy_kind policy, uint64_t seed)
{
	*o = (struct maple_policy_order){ .policy = policy, .seed = seed };
	/* Two points of the first ten or so. */
	o->nchanges = 2;
	o->change[0] = 1 + seed % 7;
	o->change[1] = o->change[0] + seed / 7 % 7;
}

/* The policies that walk by themselves, one after the other. */
static inline enum maple_policy_kind nth_policy(unsigned int i)
{
	static const enum maple_policy_kind policies[] = { MAPLE_POLICY_RW,
							   MAPLE_POLICY_POS,
							   MAPLE_POLICY_PCT,
							   MAPLE_POLICY_SURW };

	return policies[i % 4];
}

/* The first run that fails, of @most; 0: none did. */
static inline unsigned int
search(struct stage *s, enum maple_policy_kind policy, unsigned int most)
{
	struct maple_run_control c = { 0 };

	for (unsigned int i = 1; i <= most; i++) {
		order_by(&c.order, policy, i);
		control(s, &c, false);
		if (failed(&s->run))
			return i;
	}
	return 0;
}

/* The last run's schedule; *@was owns what it is made of. */
static inline struct maple_run_control schedule_of(struct stage *s,
						   struct maple_run *was)
{
	*was = s->run;
	s->run = (struct maple_run){ 0 };
	assert_int_equal(was->counts.over + was->counts.uncounted, 0);
	return (struct maple_run_control){
		.order.policy = MAPLE_POLICY_LIST,
		.list = was->decided,
		.nlist = was->ndecided,
		.names = was->names,
		.nnames = was->nnames,
	};
}

/* Where the other one was last may be a site that no entry names. */
static inline bool same_switch(const struct maple_policy_switch *a,
			       const struct maple_policy_switch *b)
{
	return a->thread == b->thread && a->next == b->next &&
	       a->what == b->what && a->site == b->site && a->hit == b->hit;
}

static inline bool same_decisions(const struct maple_run *a,
				  const struct maple_run *b)
{
	if (a->ndecided != b->ndecided)
		return false;
	for (uint32_t i = 0; i < a->ndecided; i++)
		if (!same_switch(&a->decided[i], &b->decided[i]))
			return false;
	return true;
}

/* The last run again, @REPLAYS times, half of them executed. */
static inline void replay(struct stage *s)
{
	struct maple_run was;
	struct maple_run_control c = schedule_of(s, &was);

	for (unsigned int i = 0; i < REPLAYS; i++) {
		control(s, &c, i & 1);
		assert_int_equal(s->run.counts.missed, 0);
		assert_int_equal(s->run.end, was.end);
		if (was.end == MAPLE_END_ITSELF)
			assert_int_equal(s->run.status, was.status);
		assert_true(same_decisions(&s->run, &was));
	}
	maple_run_deinit(&was);
}

#define T(name) cmocka_unit_test_teardown(name, leave_stages)

/* A few runs of each policy; none of them fails, and all of them repeat. */
static inline void stay_clean(const char *program, const char *arg,
			      unsigned int runs, bool asleep)
{
	struct maple_run_control c = { 0 };
	struct stage s;

	open_stage(&s, program, arg);
	s.play->alone.backend->options.sleeps = asleep;
	for (unsigned int i = 0; i < 4 * runs; i++) {
		order_by(&c.order, nth_policy(i), i);
		c.order.blind = i / 4 % 2;
		c.log = i / 8 % 2;
		control(&s, &c, false);
		if (s.run.end != MAPLE_END_ITSELF || s.run.status)
			fail_msg("%s, policy %u, seed %u: end %d, status %x",
				 program, nth_policy(i), i, s.run.end,
				 s.run.status);
	}
	close_stage(&s);
}

#endif
