// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What happened in which order: the plan's steps as the log of the run has
 * them. The automaton says in the log when a step has been executed.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "story.h"

#define NEAR 1024 /* events of a log between an access and its STEP */

const char maple_story_letter[] = {
	[MAPLE_EV_READ] = 'R',	 [MAPLE_EV_WRITE] = 'W',
	[MAPLE_EV_LOCK] = 'L',	 [MAPLE_EV_UNLOCK] = 'U',
	[MAPLE_EV_NOTIFY] = 'S', [MAPLE_EV_SLEEP] = 'C',
};

/* One plan of the run, and where in the log its steps were executed. */
struct order {
	const struct maple_plan *plan;
	int64_t access[MAPLE_PLAN_STEPS]; /* -1: never */
	int64_t step[MAPLE_PLAN_STEPS];	  /* what the automaton said of it */
	bool again; /* the attempt that these are of was given up */
};

/* In the order in which their turns came. */
struct orders {
	struct order at[1 + MAPLE_RUN_THEN];
	unsigned int n;
};

static bool is_step(const struct maple_plan_step *step,
		    const struct maple_event *e)
{
	if (e->site != step->site || !maple_event_is_access(e->kind))
		return false;
	return e->kind == step->kind || (e->kind == MAPLE_EV_UPDATE &&
					 maple_event_is_memory(step->kind));
}

/* The access that the STEP at @log[@i] is about: its thread's last one. */
static int64_t find_step(const struct maple_trial *trial,
			 const struct maple_plan *plan, int64_t i)
{
	const struct maple_event *said = &trial->log[i];
	int64_t first = i > NEAR ? i - NEAR : 0;

	while (i-- > first)
		if (trial->log[i].thread == said->thread &&
		    is_step(&plan->step[said->aux], &trial->log[i]))
			return i;
	return -1;
}

static void forget_steps(struct order *order)
{
	for (int s = 0; s < MAPLE_PLAN_STEPS; s++)
		order->access[s] = order->step[s] = -1;
	order->again = false;
}

static void begin_order(struct orders *o, const struct maple_plan *plan)
{
	assert(o->n < sizeof(o->at) / sizeof(*o->at));
	o->at[o->n].plan = plan;
	forget_steps(&o->at[o->n++]);
}

/*
 * Where in the log each step of each plan was executed, in the plan's last
 * attempt that came to a step at all.
 */
static void find_orders(const struct maple_trial *trial, struct orders *o)
{
	const struct maple_event *e;
	struct order *now;

	o->n = 0;
	begin_order(o, &trial->job.plan);
	for (int64_t i = 0; i < (int64_t)trial->nlog; i++) {
		e = &trial->log[i];
		now = &o->at[o->n - 1];
		if (e->kind == MAPLE_EV_NEXT && e->aux < trial->job.nthen &&
		    o->n <= trial->job.nthen)
			begin_order(o, &trial->job.then[e->aux]);
		if (e->kind == MAPLE_EV_GIVEUP)
			now->again = true;
		if (e->kind != MAPLE_EV_STEP || e->aux >= now->plan->nsteps)
			continue;
		if (now->again)
			forget_steps(now);
		now->access[e->aux] = find_step(trial, now->plan, i);
		now->step[e->aux] = i;
	}
	assert(o->n <= 1 + trial->job.nthen);
}

/*
 * maple_story_address - @site's address in @run; 0 if its image was not loaded
 */
uint64_t maple_story_address(const struct maple_campaign *c,
			     const struct maple_run *run, uint32_t site)
{
	struct maple_site_info info;
	unsigned int i;

	if (maple_registry_site(c->registry, site, &info))
		return 0;
	for (i = 0; i < run->nimages; i++)
		if (run->images[i].index == info.image)
			return run->images[i].bias + info.offset;
	return 0;
}

/* A moment under way: of which step, and what the log has of it. */
struct making {
	struct maple_campaign *c;
	struct maple_trial *trial;
	const struct order *order;
	unsigned int s;
	struct maple_event wait; /* of who waits: no log has it */
};

/* Whether @s is the first step of its role that was not executed. */
static bool is_next(const struct order *order, unsigned int s)
{
	for (unsigned int i = 0; i < s; i++)
		if (order->access[i] < 0 &&
		    order->plan->step[i].role == order->plan->step[s].role)
			return false;
	return order->access[s] < 0;
}

/*
 * The lock that a thread of the deadlock waits for is that of the step that
 * acquired it; the thread is that of the same role's step.
 */
static bool blocked(struct making *m)
{
	const struct maple_trial *trial = m->trial;
	const struct order *order = m->order;
	const struct maple_plan_step *step = order->plan->step;
	bool acquired = false, began = false;
	unsigned int s = m->s;

	if (trial->run.end != MAPLE_END_DEADLOCK ||
	    step[s].kind != MAPLE_EV_LOCK)
		return false;
	for (unsigned int i = 0; i < s; i++) {
		if (order->access[i] < 0)
			continue;
		if (step[i].var == step[s].var) {
			m->wait.addr = trial->log[order->access[i]].addr;
			acquired = true;
		}
		if (step[i].role == step[s].role) {
			m->wait.thread = trial->log[order->access[i]].thread;
			began = true;
		}
	}
	return acquired && began;
}

/* How far the step came; *@e: its event, NULL if there is none. */
static enum maple_reach reach(struct making *m, const struct maple_event **e)
{
	const struct maple_run *run = &m->trial->run;
	const struct order *order = m->order;
	uint32_t site = order->plan->step[m->s].site;

	*e = NULL;
	if (order->access[m->s] >= 0) {
		*e = &m->trial->log[order->access[m->s]];
		return MAPLE_REACH_DONE;
	}
	if (!is_next(order, m->s))
		return MAPLE_REACH_NOT;
	if (blocked(m)) {
		*e = &m->wait;
		return MAPLE_REACH_NOW;
	}
	/* The step that crashed never came to its end. */
	if (run->pc && run->pc == maple_story_address(m->c, run, site))
		return MAPLE_REACH_NOW;
	return MAPLE_REACH_NOT;
}

/* Who executed a step of @role, or waits there; else who was meant to. */
static const char *thread_of(const struct making *m, unsigned int role)
{
	const struct maple_trial *trial = m->trial;
	const struct maple_run *run = &trial->run;
	const struct order *order = m->order;

	for (unsigned int i = 0; i < order->plan->nsteps; i++) {
		const struct maple_event *e;

		if (order->access[i] < 0 || order->plan->step[i].role != role)
			continue;
		e = &trial->log[order->access[i]];
		if (e->thread < run->nthreads)
			return run->threads[e->thread].name;
	}
	return order->plan->hint[role];
}

static char *value_of(const struct maple_naming *n, uint64_t value,
		      uint32_t size)
{
	char text[64];

	maple_variable_value(n->typed ? &n->variable : NULL, value, size, text,
			     sizeof(text));
	return strdup(text);
}

/* What was read or written, where the log has it. */
static void tell_values(struct maple_moment *moment, const struct maple_event *e,
			uint64_t was, const struct maple_naming *n)
{
	uint64_t mask;

	if (!(e->flags & MAPLE_EVF_VALUED) || !maple_event_is_memory(e->kind) ||
	    !e->size || e->size > sizeof(mask))
		return;
	mask = UINT64_MAX >> (64 - 8 * e->size);
	was &= mask;
	/* What an UPDATE has read stands there no more. */
	if (moment->kind == 'R')
		moment->value = value_of(
			n, e->kind == MAPLE_EV_UPDATE ? was : e->value & mask,
			e->size);
	else
		moment->value = value_of(n, e->value & mask, e->size);
	if (moment->kind == 'W')
		moment->was = value_of(n, was, e->size);
}

static void tell_variable(struct maple_campaign *c, struct maple_trial *trial,
			  const struct maple_making *making,
			  struct maple_moment *moment)
{
	const struct maple_event *e = making->e;
	struct maple_asked asked = {
		.addr = e ? e->addr : 0,
		.size = e && e->size ? e->size : 1,
		.site = making->site,
		.until = making->until ? making->until : e,
	};
	struct maple_naming n;

	maple_story_name(c, trial, &asked, &n);
	moment->address = asked.addr;
	moment->variable = n.name || !moment->frees ? n.name : strdup("memory");
	moment->origin = n.origin;
	if (n.typed)
		moment->type = strdup(n.variable.type);
	if (e)
		tell_values(moment, e, making->was, &n);
	n.name = n.origin = NULL;
	maple_naming_deinit(&n);
}

/*
 * maple_story_moment - @moment, which is zero, becomes what @making says;
 * event, from and order are the caller's
 */
void maple_story_moment(struct maple_campaign *c, struct maple_trial *trial,
			const struct maple_making *making,
			struct maple_moment *moment)
{
	assert(!moment->thread && !moment->variable && !moment->place.image);
	maple_registry_place(c->registry, making->site, &moment->place);
	moment->kind = maple_story_letter[making->kind];
	moment->half = making->half;
	moment->frees = making->frees;
	moment->role = making->role;
	moment->reach = making->reach;
	moment->thread = strdup(making->thread);
	tell_variable(c, trial, making, moment);
}

/* Whether the write at @site is the end of memory: the log says it beside. */
static bool is_end(const struct maple_trial *trial, uint32_t site)
{
	for (uint32_t i = 0; i < trial->nlog; i++)
		if (trial->log[i].kind == MAPLE_EV_FREE &&
		    trial->log[i].site == site)
			return true;
	return false;
}

/* Adds where call @site is to *@text; false: nobody knows, or no memory. */
static bool add_caller(const struct maple_campaign *c, uint32_t site,
		       char **text)
{
	struct maple_place place;
	char line[16] = "", *more = NULL;

	if (maple_registry_place(c->registry, site, &place))
		return false;
	if (place.line)
		snprintf(line, sizeof(line), ":%u", place.line);
	if (place.function &&
	    asprintf(&more, "%s%s%s%s", *text ? *text : "", *text ? ", " : "",
		     place.function, line) < 0)
		more = NULL;
	maple_place_deinit(&place);
	if (!more)
		return false;
	free(*text);
	*text = more;
	return true;
}

/*
 * maple_story_callers - where the function of an access with @context was
 * called from, outward, to be freed; or NULL
 */
char *maple_story_callers(const struct maple_campaign *c, uint32_t context)
{
	uint32_t calls[MAPLE_REGISTRY_CALLERS];
	unsigned int n = maple_registry_callers(c->registry, context, calls);
	char *text = NULL;

	for (unsigned int i = 0; i < n; i++)
		if (!add_caller(c, calls[i], &text))
			break;
	return text;
}

static void add_moment(struct maple_finding *f, struct making *m,
		       unsigned int first)
{
	const struct maple_plan *plan = m->order->plan;
	const struct maple_plan_step *step = &plan->step[m->s];
	const struct maple_trial *trial = m->trial;
	struct maple_moment *moment = &f->moments[f->nmoments++];
	struct maple_making making = {
		.site = step->site,
		.kind = step->kind,
		.half = maple_plan_splits(plan, step->site),
		.frees = step->kind == MAPLE_EV_WRITE &&
			 is_end(trial, step->site),
		.role = step->role,
		.thread = thread_of(m, step->role),
	};

	making.reach = reach(m, &making.e);
	/* What is not in the log itself never came to its end. */
	if (making.e == &m->wait && trial->log)
		making.until = trial->log + trial->nlog;
	if (m->order->step[m->s] >= 0)
		making.was = trial->log[m->order->step[m->s]].value;
	maple_story_moment(m->c, m->trial, &making, moment);
	if (step->context != MAPLE_CONTEXT_ANY)
		moment->callers = maple_story_callers(m->c, step->context);
	moment->event = step->event;
	moment->from = step->dep >= 0 ? (int)first + step->dep : -1;
}

static bool replace(char **to, const char *from)
{
	free(*to);
	*to = from ? strdup(from) : NULL;
	return *to;
}

/* A name that leaves an index out says less than one that has it. */
static bool is_better(const struct maple_moment *a, const struct maple_moment *b)
{
	if (!a->variable || !b->variable)
		return a->variable;
	if (!a->type || !b->type)
		return a->type;
	return !strstr(a->variable, "[]") && strstr(b->variable, "[]");
}

/*
 * maple_story_share_names - moments that are about one variable call it by one
 * name, though each of their functions may have its own for it: the best one,
 * of the first moment
 * @plan: whose steps they are, in order; NULL: of none
 */
void maple_story_share_names(struct maple_moment *moments, unsigned int n,
			     const struct maple_plan *plan)
{
	assert(!plan || n == plan->nsteps); /* each is a step's */
	for (unsigned int i = 0; i < n; i++) {
		struct maple_moment *m = &moments[i], *best = m;

		for (unsigned int k = 0; k < n; k++) {
			struct maple_moment *other = &moments[k];
			bool same = m->address && other->address
					    ? m->address == other->address
					    : plan && plan->step[i].var ==
							      plan->step[k].var;

			if (same && other->address &&
			    (is_better(other, best) ||
			     (k < i && !is_better(best, other))))
				best = other;
		}
		if (best == m)
			continue;
		replace(&m->variable, best->variable);
		replace(&m->type, best->type);
		replace(&m->origin, best->origin);
	}
}

/* maple_story_order - fills in @f's moments: what happened in which order */
void maple_story_order(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial)
{
	struct orders orders;

	find_orders(trial, &orders);
	f->moments = calloc(orders.n * MAPLE_PLAN_STEPS, sizeof(*f->moments));
	if (!f->moments)
		return;
	for (unsigned int i = 0; i < orders.n; i++) {
		struct making m = { c, trial, &orders.at[i], 0, { 0 } };
		unsigned int first = f->nmoments;

		for (m.s = 0; m.s < m.order->plan->nsteps; m.s++) {
			f->moments[f->nmoments].order = i;
			add_moment(f, &m, first);
		}
		maple_story_share_names(f->moments + first, f->nmoments - first,
					m.order->plan);
	}
}
