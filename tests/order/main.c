// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * order_z3 [QUERIES [SEED]]: orders are solved for, and Z3 is asked the same.
 * Runs of small programs that are made up; of each, goals that are wanted and
 * others; what is refuted must have no order, and what is found must be one,
 * which is carried out on paper as well.
 *
 * Ends with `N queries, M agree`; status 0 only if all do, there were some, and
 * fewer than one in a hundred were given up.
 */
#include <stdio.h>
#include <stdlib.h>
#include "order.h"

#define PER_RUN 24

struct goals {
	struct maple_order_goal goal[PER_RUN];
	uint32_t n, seen;
};

struct sums {
	uint32_t queries, agree, found, refuted, unknown, unsure, branches;
	uint32_t by_number[MAPLE_PATTERNS];
};

/* Each with the same odds. */
static bool keep(void *ctx, const struct maple_order_goal *goal)
{
	struct goals *g = ctx;
	uint32_t at = g->n < PER_RUN ? g->n++ : dice(g->seen + 1);

	if (at < PER_RUN)
		g->goal[at] = *goal;
	g->seen++;
	return true;
}

static bool fits(const struct maple_order_model *m, uint32_t e, uint8_t kind)
{
	const struct maple_order_event *event = &m->event[e];

	return kind == MAPLE_EV_READ	? maple_order_reads(event)
	       : kind == MAPLE_EV_WRITE ? maple_order_writes(event)
					: event->kind == kind;
}

/* Some events that could be the steps of a pattern; false: they are not. */
static bool make_up(const struct maple_order_model *m,
		    struct maple_order_goal *goal)
{
	uint32_t number = 1 + dice(17);
	unsigned int n = maple_pattern_steps(number);

	*goal = (struct maple_order_goal){ .pattern.number = number };
	for (unsigned int i = 0; i < n; i++) {
		struct maple_pattern_step step = maple_pattern_step(number, i);
		uint32_t e = dice(m->n);

		goal->event[i] = e;
		if (!fits(m, e, step.kind))
			return false;
		for (unsigned int k = 0; k < i; k++) {
			struct maple_pattern_step other =
				maple_pattern_step(number, k);
			uint32_t o = goal->event[k];

			if (e == o ||
			    (step.other == other.other) !=
				    (m->event[e].thread == m->event[o].thread) ||
			    (step.place == other.place &&
			     !maple_order_overlap(m, e, o)))
				return false;
		}
	}
	return true;
}

static void say(const struct paper *p, const struct maple_order_goal *goal,
		const struct maple_order_found *order)
{
	for (uint32_t i = 0; i < p->nmodel; i++) {
		uint32_t e = p->of_model[i];
		const struct maple_event *event = &p->event[e];

		printf("  %u: thread %u kind %u addr %llx size %u aux %u%s\n",
		       i, event->thread, event->kind,
		       (unsigned long long)event->addr, event->size, event->aux,
		       event->flags & MAPLE_EVF_SHARED ? " shared" : "");
	}
	printf("  pattern %u:", goal->pattern.number);
	for (unsigned int i = 0; i < maple_pattern_steps(goal->pattern.number);
	     i++)
		printf(" %u", goal->event[i]);
	printf("\n  order of %u sure:", order->sure);
	for (uint32_t i = 0; i < order->n; i++)
		printf(" %u", order->event[i]);
	printf("\n");
}

/* What is wrong with the answer; NULL: nothing. */
static const char *judge(struct prover *z, const struct paper *p,
			 const struct maple_order_goal *goal,
			 const struct maple_order_cone *cone,
			 enum maple_order_answer answer,
			 const struct maple_order_found *order)
{
	uint32_t changed = cone->changed == MAPLE_ORDER_NONE
				   ? NONE
				   : p->of_model[cone->changed];
	int truth = prover_ask(z, goal, cone->sure, changed);

	if (truth < 0)
		return "Z3 does not know";
	if (answer == MAPLE_ORDER_REFUTED)
		return truth ? "refuted, but there is an order" : NULL;
	if (!truth)
		return "found, but there is no order";
	return paper_replay(p, goal, order, changed);
}

static void ask(struct prover *z, const struct paper *p,
		const struct maple_order_model *m,
		const struct maple_order_goal *goal, struct sums *sums)
{
	struct maple_order_found order;
	struct maple_order_cone cone;
	enum maple_order_answer small =
		maple_order_cone(m, goal, NULL, 0, &cone);
	enum maple_order_answer answer = maple_order_solve(m, goal, &order);
	const char *wrong = NULL;

	sums->branches += order.branches;
	if (small == MAPLE_ORDER_UNKNOWN) {
		sums->unsure++;
	} else {
		sums->queries++;
		sums->by_number[goal->pattern.number]++;
		if (answer == MAPLE_ORDER_UNKNOWN) {
			sums->unknown++;
		} else {
			sums->found += answer == MAPLE_ORDER_FOUND;
			sums->refuted += answer == MAPLE_ORDER_REFUTED;
			wrong = judge(z, p, goal, &cone, answer, &order);
		}
		sums->agree += !wrong;
	}
	if (wrong) {
		printf("query %u: %s\n", sums->queries, wrong);
		say(p, goal, &order);
	}
	if (small == MAPLE_ORDER_FOUND)
		free(cone.upto);
	maple_order_deinit(&order);
}

/* Whether the model has what is true of the run. */
static const char *judge_model(const struct paper *p,
			       const struct maple_order_model *m)
{
	if (m->n != p->nmodel)
		return "other events";
	for (uint32_t i = 0; i < m->n; i++) {
		const struct maple_event *e = &p->event[p->of_model[i]];
		const struct truth *truth = &p->truth[p->of_model[i]];
		uint32_t end = truth->end == NONE
				       ? MAPLE_ORDER_NONE
				       : p->truth[truth->end].in_model;

		if (m->event[i].kind != e->kind ||
		    m->event[i].thread != e->thread)
			return "another event";
		if (e->kind == MAPLE_EV_LOCK && m->event[i].mate != end)
			return "another end of a section";
	}
	return NULL;
}

static void run(struct prover *z, struct sums *sums, uint32_t most)
{
	struct paper p;
	struct maple_order_model *m;
	struct maple_order_goal goal;
	struct goals goals = { .n = 0 };
	const char *wrong;

	paper_run(&p);
	if (maple_order_model_build(p.event, p.n, false, &m)) {
		perror("order_z3");
		exit(1);
	}
	wrong = judge_model(&p, m);
	if (wrong) {
		printf("the model has %s\n", wrong);
		say(&p, &(struct maple_order_goal){ .pattern.number = 1 },
		    &(struct maple_order_found){ 0 });
		exit(1);
	}
	maple_order_wanted(m, keep, &goals);
	prover_begin(z, &p);
	for (uint32_t i = 0; i < goals.n && sums->queries < most; i++)
		ask(z, &p, m, &goals.goal[i], sums);
	for (uint32_t i = 0; i < 400 && m->n && sums->queries < most; i++)
		if (make_up(m, &goal))
			ask(z, &p, m, &goal, sums);
	prover_end(z);
	maple_order_model_free(m);
}

int main(int argc, char **argv)
{
	uint32_t most = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 5000;
	struct prover *z = prover_create();
	struct sums sums = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	dice_seed(argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	while (sums.queries < most)
		run(z, &sums, most);
	prover_destroy(z);
	printf("%u found, %u refuted, %u given up, %u branches; not asked, since "
	       "nobody knows what was read: %u\nby pattern:",
	       sums.found, sums.refuted, sums.unknown, sums.branches,
	       sums.unsure);
	for (uint32_t i = 1; i < MAPLE_PATTERNS; i++)
		printf(" %u", sums.by_number[i]);
	printf("\n%u queries, %u agree\n", sums.queries, sums.agree);
	return sums.queries && sums.agree == sums.queries && sums.found &&
			       sums.refuted && sums.unknown * 100 < sums.queries
		       ? 0
		       : 1;
}
