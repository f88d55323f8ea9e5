// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * simulate - how many feasible iRoots does the automaton expose?
 *
 * Random programs; the iRoots that an exhaustive search proves feasible and
 * that two plain runs do not expose; four tries each. Fails if too few are
 * exposed, if any claim is false, any thread stays held, any run never ends,
 * any invariant breaks, or if there was nothing to test.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../any_plan.h"
#include "simulate.h"

#define CAP	  4 /* iRoots of an idiom tested per program */
#define TRIES	  4
#define SHAPES	  20 /* runs with plans of any shape, a program */
#define THRESHOLD 97 /* percent exposed in two tries, without sleeps; */
#define OF_SETS	  98 /* ... of orders of units */

struct counts {
	long feasible, two, four, false_claims, held, livelocks, broken;
};

struct options {
	long programs;
	uint64_t seed;
	int family; /* -1: all in turn */
	bool sleeps, verbose;
};

/* Of runs with several plans. */
static struct {
	long runs, begun, exposed, first, false_claims, held, livelocks, broken;
} together;

/* Of runs with plans that are no iRoot's. */
static struct {
	long runs, exposed, steps, held, livelocks, broken;
} shapes;

static struct counts by_idiom[MAPLE_IDIOMS], by_family[FAMILIES];

static void counts_add(struct counts *to, const struct counts *c)
{
	to->feasible += c->feasible;
	to->two += c->two;
	to->four += c->four;
	to->false_claims += c->false_claims;
	to->held += c->held;
	to->livelocks += c->livelocks;
	to->broken += c->broken;
}

static bool exposed_in(const struct program *p, const struct run *run,
		       const struct maple_iroot *iroot)
{
	if (iroot->idiom >= MAPLE_SET_1)
		return units_exposed(&run->log, iroot);
	return iroot->idiom == MAPLE_IDIOM_DEADLOCK
		       ? check_deadlock(p, run, iroot)
		       : check_exposed(&run->log, iroot);
}

/* What is said of a run whose automaton has claimed @iroot. */
static bool claimed(const struct run *run, const struct maple_iroot *iroot)
{
	return iroot->idiom < MAPLE_SET_1 || units_claimed(&run->log, iroot);
}

static void print_run(unsigned int attempt, const struct run *run)
{
	static const char *const kinds[] = { "?", "R", "W", "RW", "L", "U" };

	printf("  try %u%s%s, gave up %u:", attempt,
	       run->result.exposed ? ", CLAIM" : "",
	       run->end == DEADLOCK   ? ", DEADLOCK"
	       : run->end == LIVELOCK ? ", LIVELOCK"
				      : "",
	       run->result.attempts);
	for (int i = 0; i < run->log.n && i < 120; i++)
		printf(" T%d:%s%x@%u", run->log.e[i].thread,
		       kinds[run->log.e[i].kind], run->log.e[i].addr,
		       run->log.e[i].site);
	printf("\n");
}

static void print_plan(const struct program *p, const struct tuple *t,
		       const char *what, long number, int family)
{
	printf("%s: program %ld (%s), idiom %u:", what, number,
	       family_names[family], t->iroot.idiom);
	for (unsigned int e = 0; e < maple_iroot_events(t->iroot.idiom); e++)
		printf(" kind %u@%u", t->iroot.e[e].kind, t->iroot.e[e].site);
	printf(", P T%d Q T%d\n", t->p, t->q);
	program_print(p);
}

static struct counts test_plan(const struct program *p, const struct run *plain,
			       const struct tuple *tuple,
			       const struct options *o, long number, int family)
{
	static struct run run[TRIES];
	struct counts c = { .feasible = 1 };
	int tries = 0, wrong = 0;

	while (tries < TRIES && !c.four) {
		struct maple_plan plan;
		bool exposed;

		profile_plan(p, plain, tuple, tries + 1,
			     o->seed * 31 + number * TRIES + tries, &plan);
		if (!maple_plan_valid(&plan))
			abort();
		machine_run(p, &plan, 1, false, &run[tries]);
		exposed = exposed_in(p, &run[tries], &tuple->iroot);
		c.two |= exposed && tries < 2;
		c.four |= exposed;
		wrong += run[tries].result.exposed && !exposed &&
			 claimed(&run[tries], &tuple->iroot);
		c.held += run[tries].held;
		c.livelocks += run[tries].end == LIVELOCK;
		c.broken += run[tries].result.broken;
		tries++;
	}
	c.false_claims = wrong;
	if (o->verbose &&
	    (!c.two || wrong || c.held || c.livelocks || c.broken)) {
		print_plan(p, tuple,
			   wrong	 ? "FALSE"
			   : c.livelocks ? "LIVELOCK"
			   : c.broken	 ? "BROKEN"
			   : c.four	 ? "LATE"
					 : "MISSED",
			   number, family);
		for (int i = 0; i < tries; i++)
			print_run(i + 1, &run[i]);
	}
	return c;
}

/*
 * The first tries of all that is left to expose, as many as go into one run:
 * what they claim must be true as well, and more must come of a run than of
 * one with a single plan.
 */
static void test_together(const struct program *p, const struct run *plain,
			  struct tuple *const *tuple, unsigned int n,
			  const struct options *o, long number)
{
	static struct maple_plan plan[MAX_PLANS];
	static struct run run;
	unsigned int i;
	bool exposed;

	for (i = 0; i < n; i++) {
		profile_plan(p, plain, tuple[i], 1, o->seed * 37 + number + i,
			     &plan[i]);
		plan[i].flags |= MAPLE_PLAN_FOLLOWED;
	}
	machine_run(p, plan, n, false, &run);
	together.runs++;
	together.held += run.held;
	together.livelocks += run.end == LIVELOCK;
	for (i = 0; i < n; i++) {
		if (!(run.begun >> i & 1))
			continue;
		exposed = exposed_in(p, &run, &tuple[i]->iroot);
		together.begun++;
		together.exposed += exposed;
		together.first += exposed && !i;
		together.false_claims += run.all[i].exposed && !exposed &&
					 claimed(&run, &tuple[i]->iroot);
		together.broken += run.all[i].broken;
	}
}

/*
 * Plans of any shape, of what @p does: nothing is promised of them but that
 * each run comes to its end, and leaves nobody held. Two follow each other.
 */
static void test_shapes(const struct program *p, uint64_t seed)
{
	struct maple_iroot_event at[MAX_THREADS * MAX_OPS];
	static struct maple_plan plan[2];
	static struct run run;
	unsigned int n = 0;

	for (int t = 0; t < p->nthreads; t++) {
		for (int i = 0; i < p->nops[t]; i++) {
			const struct op *op = &p->op[t][i];

			if (op_is_access(op))
				at[n++] = (struct maple_iroot_event){
					op->site, op->access
				};
		}
	}
	for (int i = 0; i < SHAPES && n; i++) {
		for (int k = 0; k < 2; k++) {
			any_plan(&plan[k], &seed, at, n);
			if (!maple_plan_valid(&plan[k]))
				abort();
		}
		machine_run(p, plan, 2, false, &run);
		shapes.runs++;
		shapes.held += run.held;
		shapes.livelocks += run.end == LIVELOCK;
		for (int k = 0; k < 2; k++) {
			if (!(run.begun >> k & 1))
				continue;
			shapes.exposed += run.all[k].exposed;
			shapes.steps += run.all[k].executed;
			shapes.broken += run.all[k].broken;
		}
	}
}

static bool test_program(const struct options *o, long number, int family)
{
	static struct run plain[2];
	struct random r = { o->seed * 1000003 + number * 17 + 1 };
	struct tuple *some[MAX_PLANS];
	unsigned int nsome = 0;
	static struct tuples list;
	struct program p;
	bool ended = false;

	if (!program_make(&p, &r, family))
		return false;
	for (int i = 0; i < 2; i++) {
		machine_run(&p, NULL, 0, i, &plain[i]);
		ended |= plain[i].end == ENDED;
	}
	if (!ended)
		return false;
	search_feasible(&p, &r, CAP, &list);
	for (int i = 0; i < list.n; i++) {
		const struct tuple *t = &list.tuple[i];
		struct counts c;

		if (!profile_saw(plain, &t->iroot) ||
		    exposed_in(&p, &plain[0], &t->iroot) ||
		    exposed_in(&p, &plain[1], &t->iroot))
			continue;
		c = test_plan(&p, plain, t, o, number, family);
		counts_add(&by_idiom[t->iroot.idiom], &c);
		counts_add(&by_family[family], &c);
		/* Those of sets never ride along. */
		if (t->iroot.idiom < MAPLE_IDIOM_DEADLOCK && nsome < MAX_PLANS)
			some[nsome++] = &list.tuple[i];
	}
	if (nsome > 1)
		test_together(&p, plain, some, nsome, o, number);
	test_shapes(&p, o->seed * 41 + (uint64_t)number);
	return true;
}

static double percent(long n, long of)
{
	return of ? 100.0 * n / of : 0;
}

static void print_row(const char *name, const struct counts *c)
{
	printf("%-9s %8ld %8.1f%% %8.1f%% %7ld %6ld %10ld %7ld\n", name,
	       c->feasible, percent(c->two, c->feasible),
	       percent(c->four, c->feasible), c->false_claims, c->held,
	       c->livelocks, c->broken);
}

static struct counts print_tables(void)
{
	static const char *const names[MAPLE_IDIOMS] = {
		"",	   "idiom 1", "idiom 2", "idiom 3",
		"idiom 4", "idiom 5", "idiom 6", "deadlock",
		"set 1",   "set 2",   "set 3",	 "set 4",
	};
	struct counts sum = { 0 };

	printf("%-9s %8s %9s %9s %7s %6s %10s %7s\n", "", "feasible",
	       "two tries", "four", "false", "held", "livelocks", "broken");
	for (int i = 1; i < MAPLE_IDIOMS; i++) {
		print_row(names[i], &by_idiom[i]);
		counts_add(&sum, &by_idiom[i]);
	}
	print_row("all", &sum);
	printf("\n");
	for (int f = 0; f < FAMILIES; f++) {
		if (by_family[f].feasible)
			print_row(family_names[f], &by_family[f]);
	}
	printf("\nin %ld runs with up to %d plans: %ld begun, %ld exposed (the "
	       "first alone %ld), %ld false, %ld held, %ld livelocks, %ld "
	       "broken\n",
	       together.runs, MAX_PLANS, together.begun, together.exposed,
	       together.first, together.false_claims, together.held,
	       together.livelocks, together.broken);
	printf("in %ld runs with plans of any shape: %ld steps, %ld exposed, "
	       "%ld held, %ld livelocks, %ld broken\n",
	       shapes.runs, shapes.steps, shapes.exposed, shapes.held,
	       shapes.livelocks, shapes.broken);
	return sum;
}

static int family_of(const char *name)
{
	for (int f = 0; f < FAMILIES; f++) {
		if (!strcmp(name, family_names[f]))
			return f;
	}
	fprintf(stderr, "simulate: no family '%s'; there are:", name);
	for (int f = 0; f < FAMILIES; f++)
		fprintf(stderr, " %s", family_names[f]);
	fprintf(stderr, "\n");
	exit(2);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{ "programs", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "family", required_argument, NULL, 'f' },
		{ "sleeps", no_argument, NULL, 'z' },
		{ "self-test", no_argument, NULL, 't' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'n':
			o->programs = strtol(optarg, NULL, 0);
			break;
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			o->family = family_of(optarg);
			break;
		case 'z':
			o->sleeps = true;
			break;
		case 't':
			exit(check_self_test() || units_self_test() ? 1 : 0);
		case 'v':
			o->verbose = true;
			break;
		default:
			fprintf(stderr, "usage: simulate [--programs N] "
					"[--seed S] [--family F] [--sleeps] "
					"[--self-test] [--verbose]\n");
			exit(2);
		}
	}
}

static bool sets_pass(const struct options *o)
{
	bool wanted = o->family < 0 || o->family == FAMILY_OBJECTS;
	struct counts sets = { 0 };

	for (int i = MAPLE_SET_1; i < MAPLE_IDIOMS; i++)
		counts_add(&sets, &by_idiom[i]);
	if (wanted && !sets.feasible) {
		printf("simulate: no order of units was tested\n");
		return false;
	}
	if (100 * sets.two >= OF_SETS * sets.feasible)
		return true;
	printf("simulate: fewer than %d %% of units' orders exposed in two "
	       "tries\n",
	       OF_SETS);
	return false;
}

static bool passes(const struct options *o, const struct counts *sum)
{
	bool sleepy = o->sleeps || o->family == FAMILY_SLEEPS;
	bool good = true;

	if (!sum->feasible) {
		printf("simulate: no feasible plan was tested\n");
		good = false;
	}
	if (sum->false_claims || sum->held || sum->livelocks || sum->broken) {
		printf("simulate: false, held, livelocks, broken must be 0\n");
		good = false;
	}
	if (together.false_claims || together.held || together.livelocks ||
	    together.broken) {
		printf("simulate: nor any of that with several plans\n");
		good = false;
	}
	if (together.exposed <= together.first) {
		printf("simulate: no plan that follows was exposed\n");
		good = false;
	}
	if (shapes.held || shapes.livelocks || shapes.broken) {
		printf("simulate: nor any of that with plans of any shape\n");
		good = false;
	}
	if (!shapes.exposed || shapes.steps < shapes.runs) {
		printf("simulate: too little came of plans of any shape\n");
		good = false;
	}
	if (!sleepy && 100 * sum->two < THRESHOLD * sum->feasible) {
		printf("simulate: fewer than %d %% exposed in two tries\n",
		       THRESHOLD);
		good = false;
	}
	return (sleepy || sets_pass(o)) && good;
}

/*
 * Half of the programs are of the first five families, on which the figures
 * of algorithms.md 7 rest; the rest are of those that they left out.
 */
static int family_in_turn(long i)
{
	const int first = FAMILY_NESTED, rest = FAMILY_SLEEPS - first;

	return i % 2 ? first + i / 2 % rest : i / 2 % first;
}

int main(int argc, char **argv)
{
	struct options o = { .programs = 1000, .seed = 1, .family = -1 };
	struct counts sum;
	long usable = 0;

	parse(argc, argv, &o);
	/* A checker that accepts anything would pass everything. */
	if (check_self_test() || units_self_test())
		return 1;
	for (long i = 0; i < o.programs; i++) {
		int family = o.family >= 0 ? o.family
			     : o.sleeps	   ? FAMILY_SLEEPS
					   : family_in_turn(i);

		usable += test_program(&o, i, family);
	}
	printf("%ld programs, %ld of them usable, seed %llu\n\n", o.programs,
	       usable, (unsigned long long)o.seed);
	sum = print_tables();
	return passes(&o, &sum) ? 0 : 1;
}
