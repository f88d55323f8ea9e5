// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs under maple, as a campaign makes them: with the predictor reading along
 * and with plans for what it predicted. Unlike in a campaign each profile run
 * is like the first: no site is left alone because it was not shared so far.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/agent/agent.h"
#include "campaign/internal.h"
#include "strategy/maple/profile.h"
#include "slowdown.h"

#define LEAST_TIMEOUT 10.0 /* seconds; a campaign's own limits */
#define TIMES_TIMEOUT 20.0
#define LEAST_SLICE   10 /* ms, as in campaign/study.c */

struct reader {
	struct maple_predict *predict; /* or NULL */
	struct maple_candidates *all;
	const struct maple_run *run;
};

static void on_event(void *ctx, const struct maple_event *event)
{
	struct reader *r = ctx;

	if (r->predict)
		maple_predict_event(r->predict, event);
}

static void on_observed(void *ctx, const struct maple_iroot *iroot)
{
	struct reader *r = ctx;
	struct maple_candidate *k;

	if (r->all && (k = maple_candidate_get(r->all, iroot)))
		maple_candidate_exposed(r->all, k);
}

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *facts)
{
	struct reader *r = ctx;
	struct maple_candidate *k;

	k = r->all ? maple_candidate_get(r->all, iroot) : NULL;
	if (!k)
		return;
	k->predicted = k->facts_known = true;
	k->facts = *facts;
	for (unsigned int i = 0; i < MAPLE_IROOT_EVENTS; i++)
		if (facts->e[i].thread < r->run->nthreads)
			memcpy(k->name[i],
			       r->run->threads[facts->e[i].thread].name,
			       MAPLE_PLAN_NAME);
}

static void on_notice(void *ctx, const char *text)
{
	fprintf(stderr, "slowdown: %s\n", text);
}

/* One run, timed; false if it is not to be counted, and says why. */
static bool run(struct bench *b, const char *kind, struct maple_run_order *order,
		struct reader *reader, struct maple_run *run)
{
	const struct maple_run_sink sink = { .ctx = reader, .event = on_event };
	struct maple_error err;
	struct bench_time t;
	double began, timeout = TIMES_TIMEOUT * b->native;
	int out = memfd_create("out", MFD_CLOEXEC);
	bool good = false;

	order->timeout = timeout < LEAST_TIMEOUT ? LEAST_TIMEOUT : timeout;
	order->in = b->null;
	order->out = order->err = out;
	order->own_group = true;
	began = maple_clock_now();
	if (maple_pair_run(b->pair, order, &sink, run, &err)) {
		bench_fail(b, kind, err.text);
		memset(run, 0, sizeof(*run));
		close(out);
		return false;
	}
	if (reader->predict)
		maple_predict_finish(reader->predict);
	t.total = run->ended - began;
	t.own = run->entered ? run->ended - run->entered : -1;
	t.after = maple_clock_now() - run->ended;
	t.lost = run->lost;
	t.kept = run->calls;
	for (unsigned int i = 0; i < MAPLE_WAYS; i++)
		t.kept += run->hits[i];
	if (!run->delivered && order->kind == MAPLE_RUN_PROFILE)
		bench_fail(b, kind, run->why_not);
	else if (run->end != MAPLE_END_ITSELF)
		bench_fail(b, kind, "it did not come to its end");
	else if (run->released)
		bench_fail(b, kind, "over its time limit");
	else
		good = bench_judge(b, kind, run->status, out);
	if (good)
		bench_say(b, kind, &t);
	close(out);
	return good;
}

static struct maple_predict *predictor(struct reader *reader)
{
	const struct maple_predict_options options = { 0 };
	const struct maple_predict_sink sink = { on_observed, on_predicted,
						 reader };
	struct maple_predict *p;

	if (maple_predict_create(&options, &sink, &p))
		bench_die("predictor", "out of memory");
	return p;
}

/* ... with what @reader wants to know; the caller destroys its predictor */
static bool profile(struct bench *b, const char *kind, unsigned int round,
		    struct reader *reader)
{
	bool all = !strcmp(kind, "all");
	struct maple_run_order order = {
		.kind = MAPLE_RUN_PROFILE,
		.schedule = round % 2 ? MAPLE_SCHEDULE_YOUNGER
				      : MAPLE_SCHEDULE_OLDER,
		.seed = round + 1,
		.budget = all ? 0 : MAPLE_BUDGET,
		.lossless = !all,
		.fresh = !strcmp(kind, "executed"),
	};
	struct maple_run r;
	bool good;

	reader->run = &r;
	/* The predictor would be too slow for all events, and none is kept. */
	reader->predict = all ? NULL : predictor(reader);
	good = run(b, kind, &order, reader, &r);
	maple_run_deinit(&r);
	return good;
}

/* bench_profile - one profile run: profile, executed or all */
void bench_profile(struct bench *b, const char *kind, unsigned int round)
{
	struct reader reader = { 0 };

	profile(b, kind, round, &reader);
	maple_predict_destroy(reader.predict);
}

/* Those that have not been seen, in an order that is always the same. */
static void draw(struct bench *b)
{
	struct maple_candidate *k, *next, *other;
	uint64_t seed = 42;
	unsigned int i, j;

	b->draw = calloc(b->candidate.n + 1, sizeof(k));
	HASH_ITER (hh, b->candidate.table, k, next)
		if (k->predicted && !k->exposed)
			b->draw[b->ndraw++] = k;
	for (i = b->ndraw; i > 1; i--) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		j = (seed >> 33) % i;
		other = b->draw[i - 1];
		b->draw[i - 1] = b->draw[j];
		b->draw[j] = other;
	}
	if (b->ndraw > b->candidates)
		b->ndraw = b->candidates;
}

/* Which of the program's sites write what another thread reads or writes. */
static void find_sites(struct bench *b)
{
	struct maple_candidate *k, *next;

	HASH_ITER (hh, b->candidate.table, k, next)
		for (unsigned int i = 0; i < maple_iroot_events(k->iroot.idiom);
		     i++) {
			uint32_t site = k->iroot.e[i].site;
			unsigned int n = 0;

			while (n < b->nsites && b->site[n] != site)
				n++;
			if (k->iroot.e[i].kind == MAPLE_EV_WRITE &&
			    n == b->nsites && n < BENCH_SITES)
				b->site[b->nsites++] = site;
		}
}

/*
 * bench_learn - the first profile run, in which the program is decoded, and
 * the candidates that it predicts
 */
void bench_learn(struct bench *b)
{
	struct reader reader = { .all = &b->candidate };
	struct maple_profiling p = { 0 };

	if (profile(b, "first", 0, &reader)) {
		draw(b);
		find_sites(b);
		p.predict = reader.predict;
		for (unsigned int i = 0; i < b->ndraw; i++)
			maple_profiling_guards(&p, b->draw[i]);
	}
	maple_predict_destroy(reader.predict);
}

/* What the run's time went to. */
static void count(const struct bench *b, const struct maple_candidate *k,
		  const struct maple_run *r)
{
	const struct maple_agent_backend *a = (void *)b->pair->enforce;
	const struct maple_shm_stats *s = &a->shm->stats;
	const struct maple_auto_result *m = &r->automaton;

	printf("count\t%s\t%.6f", b->name,
	       r->entered ? r->ended - r->entered : -1);
	printf("\tcpu %.3f idiom %u exposed %u finished %u reached %x steps %x"
	       " attempts %u executed %u holds %u slept %u spins %u",
	       r->cpu_seconds, k->iroot.idiom, m->exposed, m->finished,
	       m->reached, m->steps, m->attempts, m->executed, m->holds,
	       m->slept, m->spins);
	printf(" hits %llu traps %llu calls %llu watches %llu seen %llu told"
	       " %llu set %u retired %llu sites",
	       (unsigned long long)(s->hits[0] + s->hits[1] + s->hits[2]),
	       (unsigned long long)s->hits[3], (unsigned long long)s->calls,
	       (unsigned long long)s->watches, (unsigned long long)s->watch_hits,
	       (unsigned long long)s->watch_told, s->priorities,
	       (unsigned long long)s->retired);
	for (unsigned int i = 0; i < maple_iroot_events(k->iroot.idiom); i++)
		printf(" %x%c", k->iroot.e[i].site,
		       "?RWULU"[k->iroot.e[i].kind < 6 ? k->iroot.e[i].kind : 0]);
	printf("\n");
}

/* bench_enforce - the @nth of the candidates that were drawn, if there is one */
void bench_enforce(struct bench *b, unsigned int nth)
{
	struct maple_plan plan;
	struct maple_run_order order = {
		.kind = MAPLE_RUN_ENFORCE,
		.plan = &plan,
		.seed = nth + 1,
		.budget = MAPLE_BUDGET,
	};
	struct reader reader = { 0 };
	struct maple_run r;
	double slice = b->native * 1000 / 10;

	if (nth >= b->ndraw)
		return;
	if (maple_candidate_plan(b->draw[nth], 1, false, order.seed, &plan))
		bench_die("plan", "it is none");
	plan.slice_ms = slice > MAPLE_PLAN_SLICE_MS ? MAPLE_PLAN_SLICE_MS
			: slice < LEAST_SLICE	    ? LEAST_SLICE
						    : (uint32_t)slice;
	run(b, "enforced", &order, &reader, &r);
	count(b, b->draw[nth], &r);
	maple_run_deinit(&r);
}

/* bench_meet - a run in which two threads are to meet, on all CPUs */
void bench_meet(struct bench *b, unsigned int nth)
{
	uint64_t draw = (nth + 1) * 6364136223846793005ull >> 17;
	struct maple_run_order order = {
		.kind = MAPLE_RUN_PROFILE,
		.schedule = MAPLE_SCHEDULE_MEET,
		.seed = nth + 1,
		.budget = MAPLE_BUDGET,
		.lossless = true,
	};
	struct reader reader = { 0 };
	struct maple_run r;

	if (!b->nsites) {
		bench_fail(b, "meet", "no thread writes what another reads");
		return;
	}
	order.change[0].site = b->site[draw % b->nsites];
	order.change[1].site = b->site[draw / b->nsites % b->nsites];
	order.nchanges = 1 + (order.change[0].site != order.change[1].site);
	run(b, "meet", &order, &reader, &r);
	maple_run_deinit(&r);
}

void bench_open(struct bench *b)
{
	struct maple_pair_choice choice;
	struct maple_error err;

	b->options = (struct maple_backend_options){
		.program = b->path,
		.argv = b->argv,
		.exe = b->exe,
		.agent = maple_campaign_find_agent(NULL),
		.registry = maple_registry_create(),
		.notice = on_notice,
	};
	if (!b->options.registry)
		bench_die("registry", "out of memory");
	if (maple_realtime_probe(NULL, &err))
		bench_die("priorities", err.text);
	if (maple_pair_choose("agent", &b->options, &choice, &err) ||
	    /* Two threads that meet are on all CPUs: that one is not needed. */
	    maple_pair_create(&choice, &b->options, b->meets ? 0 : 600,
			      &b->pair, &err))
		bench_die("agent", err.text);
}

void bench_close(struct bench *b)
{
	maple_candidate_destroy(&b->candidate);
	maple_pair_destroy(b->pair);
	maple_registry_destroy(b->options.registry);
	free((char *)b->options.agent);
	free(b->draw);
	free(b->path);
}
