// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Lanes: targets that run at once, each on a CPU of its own (--jobs).
 *
 * Every lane has a thread, a pair of backends and a CPU. Which run comes next,
 * what it means and what is remembered is decided by whoever has the turn, as
 * if there were no others: the turn is a lock around the whole campaign. It is
 * given away while a run or a command of the user's lasts, nowhere else. So
 * what a run brings in as it goes on is its trial's, and becomes the
 * campaign's when it is over.
 *
 * A single lane has no thread of its own, and never waits for its turn.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../host/host.h"
#include "campaign/subject/interrupt.h"
#include "internal.h"

#define WAIT_NS 100000000 /* between two looks at signals and the clock */

/* ---- turns ---- */

/* Whose turn it is, if it is this thread that has it. */
static _Thread_local const struct maple_lane *mine;

/*
 * maple_lane_has_turn - whether the calling thread may touch the campaign: it
 * has the turn, or there are no lanes yet, or no more
 */
bool maple_lane_has_turn(const struct maple_campaign *c)
{
	return !c->lanes.lane || (mine && mine == c->lanes.turn);
}

/* The lock is ours: nobody has the turn. */
static void begin_turn(struct maple_lane *lane)
{
	struct maple_campaign *c = lane->c;

	assert(!c->lanes.turn && !mine);
	assert(lane >= c->lanes.lane && lane < c->lanes.lane + c->lanes.n);
	c->lanes.turn = lane;
	c->err = lane->err;
	mine = lane;
}

/* maple_lane_enter - waits until it is @lane's turn */
void maple_lane_enter(struct maple_lane *lane)
{
	struct maple_campaign *c = lane->c;

	assert(mine != lane); /* it would wait for itself */
	pthread_mutex_lock(&c->lanes.lock);
	begin_turn(lane);
}

/* maple_lane_try - whether it could be @lane's turn at once; then it is */
bool maple_lane_try(struct maple_lane *lane)
{
	struct maple_campaign *c = lane->c;

	if (pthread_mutex_trylock(&c->lanes.lock))
		return false;
	begin_turn(lane);
	return true;
}

/* maple_lane_leave - gives the turn away; returns whose it was */
struct maple_lane *maple_lane_leave(struct maple_campaign *c)
{
	struct maple_lane *lane = c->lanes.turn;

	assert(lane && mine == lane);
	c->lanes.turn = NULL;
	mine = NULL;
	pthread_mutex_unlock(&c->lanes.lock);
	return lane;
}

/* maple_lane_wait - gives the turn away until some run has ended, or a while */
void maple_lane_wait(struct maple_campaign *c)
{
	struct maple_lane *lane = c->lanes.turn;
	struct timespec at;

	assert(lane && mine == lane);
	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += WAIT_NS;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	c->lanes.turn = NULL;
	mine = NULL;
	pthread_cond_timedwait(&c->lanes.ended, &c->lanes.lock, &at);
	begin_turn(lane);
}

/* maple_lane_win - whoever has the turn ends the campaign: the others stop */
void maple_lane_win(struct maple_campaign *c)
{
	assert(maple_lane_has_turn(c) && c->lanes.turn);
	if (!c->lanes.winner)
		__atomic_store_n(&c->lanes.winner, c->lanes.turn,
				 __ATOMIC_RELEASE);
}

/*
 * maple_lane_hold - the runs of all but @lane stop, and none begins, until
 * this is called with NULL: it may be about to win
 */
void maple_lane_hold(struct maple_campaign *c, struct maple_lane *lane)
{
	assert(maple_lane_has_turn(c));
	assert(!lane || !c->lanes.holder || c->lanes.holder == lane);
	__atomic_store_n(&c->lanes.holder, lane, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&c->lanes.ended);
}

static bool is_other(struct maple_lane *const *which,
		     const struct maple_lane *lane)
{
	const struct maple_lane *other =
		__atomic_load_n(which, __ATOMIC_ACQUIRE);

	return other && other != lane;
}

/* maple_lane_waits - whether another lane has the campaign for itself */
bool maple_lane_waits(const struct maple_lane *lane)
{
	return is_other(&lane->c->lanes.holder, lane);
}

/* maple_lane_lost - ... or has ended it: what @lane does is in vain */
bool maple_lane_lost(const struct maple_lane *lane)
{
	return is_other(&lane->c->lanes.winner, lane) || maple_lane_waits(lane);
}

/* ---- from beginning to end ---- */

/* maple_lane_notice - one sentence for the user, of lane @ctx, at any time */
void maple_lane_notice(void *ctx, const char *text)
{
	struct maple_lane *lane = ctx;
	bool entered = mine != lane;

	/* Backends speak while a run lasts, too. */
	if (entered)
		maple_lane_enter(lane);
	maple_campaign_notice(lane->c, "%s", text);
	if (entered)
		maple_lane_leave(lane->c);
}

/* Who waits for a CPU stands before the first run, for as long as it takes. */
static void pass_first(void *ctx, const char *text)
{
	maple_lane_notice(ctx, text);
	maple_campaign_ready(((struct maple_lane *)ctx)->c);
}

/* One that lasts is told to those who want no notices as well. */
static void pass_wait(void *ctx, const char *text)
{
	const struct maple_campaign_options *o =
		((struct maple_lane *)ctx)->c->options;

	if (o->waits)
		o->waits(o->ctx, text);
}

/* More of them than can be had is the user's to know before anything runs. */
static int check_count(struct maple_campaign *c)
{
	const struct maple_campaign_options *o = c->options;
	int cpus = maple_cpu_count();
	unsigned int lent;

	if (cpus < 0)
		return maple_error_set(c->err, -cpus, "our CPUs: %s",
				       strerror(-cpus));
	if (c->lanes.n > (unsigned int)cpus)
		return maple_error_set(c->err, EINVAL,
				       "--jobs %u, but there are %d CPUs that "
				       "we may use: --jobs %d, or see taskset",
				       c->lanes.n, cpus, cpus);
	if (!o->host || c->lanes.n == 1)
		return 0;
	lent = maple_host_info(o->host)->cpus;
	if (c->lanes.n > lent)
		return maple_error_set(c->err, EINVAL,
				       "--jobs %u, but mapled lends %u CPUs: "
				       "--jobs %u, or more 'cpus' in "
				       "mapled.conf",
				       c->lanes.n, lent, lent);
	return 0;
}

/* Several lanes cannot share the connection that the memo uses. */
static int open_hosts(struct maple_campaign *c, struct maple_host **hosts)
{
	struct maple_lanes *l = &c->lanes;
	unsigned int i;
	int e = 0;

	hosts[0] = c->options->host;
	for (i = 0; i < l->n && l->n > 1 && !e; i++) {
		e = maple_host_open(c->options->host->path, &l->lane[i].host,
				    c->err);
		hosts[i] = l->lane[i].host;
	}
	return e;
}

static int take_cpus(struct maple_campaign *c,
		     const struct maple_pair_choice *choice,
		     struct maple_cpu *cpus, double patience)
{
	struct maple_lanes *l = &c->lanes;
	struct maple_patience with = {
		.seconds = patience,
		.notice = pass_first,
		.waits = pass_wait,
		.ctx = &l->lane[0],
		.ends = maple_interrupt_asked,
	};
	struct maple_host **hosts = calloc(l->n, sizeof(struct maple_host *));
	int got;

	/* Who is only observed stays where it is. */
	if (choice->alone) {
		cpus->number = cpus->lock = -1;
		free(hosts);
		return 1;
	}
	if (!hosts)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	if (c->options->host) {
		got = open_hosts(c, hosts);
		/* In a queue there is a turn for each: it ends by itself. */
		with.seconds = maple_campaign_time_left(c);
		if (!got)
			got = maple_cpu_lease_some(cpus, hosts, l->n, &with,
						   c->err);
	} else {
		got = maple_cpu_take_some(cpus, l->n, &with);
		if (got < 0)
			maple_error_set(c->err, -got,
					"no CPU for the target: %s",
					strerror(-got));
		else if (cpus->shared && !maple_campaign_time_left(c))
			got = maple_error_set(c->err, ETIMEDOUT,
					      "the time was over before another "
					      "campaign gave the CPU back: "
					      "raise --max-time");
	}
	free(hosts);
	return got;
}

static void say_cpus(struct maple_campaign *c, const struct maple_cpu *cpus,
		     unsigned int got)
{
	unsigned int i;

	if (got < c->lanes.n)
		maple_campaign_notice(c,
				      "--jobs %u: only %u of the CPUs could be "
				      "had, others have the rest",
				      c->lanes.n, got);
	if (cpus->alone && got > 1)
		maple_campaign_notice(c,
				      "every CPU has a target: other programs "
				      "on this machine will be slow");
	for (i = 0; i < got && got > 1; i++)
		if (cpus[i].number == 0)
			maple_campaign_notice(c, "CPU 0 is taken as well");
}

static int open_pairs(struct maple_campaign *c,
		      const struct maple_pair_choice *choice,
		      const struct maple_backend_options *backend,
		      struct maple_cpu *cpus, unsigned int got)
{
	struct maple_backend_options with = *backend;
	struct maple_lane *lane;
	unsigned int i;
	int e = 0;

	assert(got && got <= c->lanes.n);
	for (i = 0; i < got; i++) {
		lane = &c->lanes.lane[i];
		with.cpu = &cpus[i];
		with.host = lane->host ? lane->host : backend->host;
		with.notice = maple_lane_notice;
		with.ctx = lane;
		if (e)
			maple_cpu_give_back(&cpus[i]);
		else
			e = maple_pair_create(choice, &with, 0, &lane->pair,
					      c->err);
	}
	c->lanes.n = got;
	return e;
}

/*
 * maple_lanes_open - as many lanes as options->jobs says, or as there are CPUs
 * to be had, of the pair @choice; then it is the first one's turn
 * @patience: seconds to wait for the CPUs
 */
int maple_lanes_open(struct maple_campaign *c,
		     const struct maple_pair_choice *choice,
		     const struct maple_backend_options *backend,
		     double patience)
{
	struct maple_lanes *l = &c->lanes;
	struct maple_cpu *cpus;
	unsigned int i;
	int got, e;

	l->n = c->options->jobs ? c->options->jobs : 1;
	e = check_count(c);
	if (e) {
		l->n = 0;
		return e;
	}
	l->lane = calloc(l->n, sizeof(*l->lane));
	cpus = calloc(l->n, sizeof(*cpus));
	if (!l->lane || !cpus) {
		l->n = 0;
		free(l->lane);
		l->lane = NULL;
		free(cpus);
		return maple_error_set(c->err, ENOMEM, "out of memory");
	}
	for (i = 0; i < l->n; i++) {
		l->lane[i].c = c;
		l->lane[i].err = c->err;
	}
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->ended, NULL);
	maple_lane_enter(&l->lane[0]);
	got = e = take_cpus(c, choice, cpus, patience);
	if (got > 0) {
		say_cpus(c, cpus, got);
		e = open_pairs(c, choice, backend, cpus, got);
		if (!e && !choice->alone)
			e = maple_cpu_leave(&l->lane[0].pair->cpu,
					    maple_lane_notice, &l->lane[0]);
	}
	free(cpus);
	return e;
}

struct start {
	struct maple_lane *lane;
	int (*work)(struct maple_campaign *c);
};

static void *live(void *ctx)
{
	struct start *start = ctx;
	struct maple_lane *lane = start->lane;

	lane->err = &lane->own;
	lane->error = maple_cpu_leave(&lane->pair->cpu, maple_lane_notice, lane);
	maple_lane_enter(lane);
	if (!lane->error)
		lane->error = start->work(lane->c);
	if (lane->error)
		maple_lane_win(lane->c);
	maple_lane_leave(lane->c);
	return NULL;
}

/*
 * maple_lanes_run - has each lane do @work until all have; it is called with
 * the turn of one of them
 *
 * Returns 0, or what the first one that failed returned.
 */
int maple_lanes_run(struct maple_campaign *c,
		    int (*work)(struct maple_campaign *c))
{
	struct maple_lanes *l = &c->lanes;
	struct maple_error *err = c->err;
	struct start *starts;
	unsigned int i, n;
	int e = 0;

	if (l->n == 1)
		return work(c);
	starts = calloc(l->n, sizeof(*starts));
	if (!starts)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	for (n = 0; n < l->n && !e; n++) {
		starts[n] = (struct start){ &l->lane[n], work };
		e = pthread_create(&l->lane[n].thread, NULL, live, &starts[n]);
	}
	if (e) {
		n--;
		e = maple_error_set(c->err, e, "no thread: %s", strerror(e));
		maple_lane_win(c);
	}
	maple_lane_leave(c);
	for (i = 0; i < n; i++)
		pthread_join(l->lane[i].thread, NULL);
	assert(!l->turn);
	l->lane[0].err = err;
	maple_lane_enter(&l->lane[0]);
	/* The one that failed first stopped the others. */
	if (!e && l->winner && l->winner->error) {
		e = l->winner->error;
		*err = l->winner->own;
	}
	free(starts);
	return e;
}

/* maple_lanes_close - gives back all CPUs; whatever was opened */
void maple_lanes_close(struct maple_campaign *c)
{
	struct maple_lanes *l = &c->lanes;
	unsigned int i;

	if (!l->lane)
		return;
	assert(maple_lane_has_turn(c) && !l->underway);
	for (i = 0; i < l->n; i++) {
		assert(!l->lane[i].confirming);
		maple_pair_destroy(l->lane[i].pair);
		maple_host_close(l->lane[i].host);
	}
	maple_lane_leave(c);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->ended);
	free(l->lane);
	memset(l, 0, sizeof(*l));
}
