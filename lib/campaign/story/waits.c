// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Why nothing goes on: what each thread waits for at the end of a run, who
 * has it, and the cycle that this makes.
 *
 * The kernel says on which word a thread sleeps (run->waits); what the word
 * is part of follows from the run's events: a lock that somebody holds, a
 * condition or a barrier that the thread has come to, or the end of a thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "past.h"
#include "story.h"

#define COND_SIZE   48	 /* of a pthread_cond_t */
#define THREAD_SIZE 4096 /* more than glibc keeps behind a pthread_t */
#define NOBODY	    MAPLE_THREAD_NONE

/* One thread that waits for a lock. */
struct link {
	struct maple_stack *stack;
	const struct maple_held *held;
};

struct waits {
	struct maple_campaign *c;
	struct maple_finding *f;
	struct maple_trial *trial;
	struct link link[MAPLE_THREADS]; /* by number; no lock: held is NULL */
};

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static struct maple_place copy_place(const struct maple_place *from)
{
	struct maple_place to = *from;

	to.image = copy(from->image);
	to.build_id = copy(from->build_id);
	to.function = copy(from->function);
	to.file = copy(from->file);
	to.signature = copy(from->signature);
	to.inlined = copy(from->inlined);
	to.inlined_file = copy(from->inlined_file);
	return to;
}

static uint16_t number_of(const struct maple_run *run, int tid)
{
	for (unsigned int i = 0; i < run->nthreads && i < MAPLE_THREADS; i++)
		if (run->threads[i].tid == tid)
			return i;
	return NOBODY;
}

/* The thread for whose end the word at @futex stands. */
static uint16_t joined(const struct maple_run *run, uint64_t futex)
{
	for (unsigned int i = run->nthreads; i-- > 0;)
		if (run->threads[i].pthread &&
		    futex - run->threads[i].pthread < THREAD_SIZE)
			return i;
	return NOBODY;
}

static char *name_of(struct waits *w, uint64_t addr)
{
	struct maple_trial *t = w->trial;
	char *text = maple_story_variable(w->c, t, addr,
					  t->log ? t->log + t->nlog : NULL);

	if (!text && asprintf(&text, "0x%llx", (unsigned long long)addr) < 0)
		text = NULL;
	return text;
}

static bool stands(const struct waits *w, const char *thread)
{
	for (unsigned int i = 0; i < w->f->nstacks; i++)
		if (w->f->stacks[i].thread &&
		    !strcmp(w->f->stacks[i].thread, thread))
			return true;
	return false;
}

static char *say_lock(struct waits *w, const struct maple_stack *stack,
		      const struct maple_held *held, uint16_t self)
{
	const struct maple_frame *top = maple_story_top(w->c, stack);
	const char *holder = w->trial->run.threads[held->thread].name;
	char at[256] = "", since[256] = "", *name = name_of(w, held->lock);
	struct maple_place place = { 0 };
	char *text;

	if (top)
		maple_story_place(&top->place, at, sizeof(at));
	if (!maple_registry_place(w->c->registry, held->site, &place))
		maple_story_place(&place, since, sizeof(since));
	maple_place_deinit(&place);
	if (asprintf(&text, "waits for %s%s%s, held by %s%s%s%s",
		     name ? name : "?", *at ? " at " : "", at,
		     held->thread == self ? "itself" : holder,
		     stands(w, holder) ? "" : ", which has ended,",
		     *since ? " since " : "", since) < 0)
		text = NULL;
	free(name);
	return text;
}

static char *say_other(struct waits *w, const struct maple_stack *stack,
		       const char *what, uint64_t addr)
{
	const struct maple_frame *top = maple_story_top(w->c, stack);
	char *name = name_of(w, addr), *text, at[256] = "";

	if (top)
		maple_story_place(&top->place, at, sizeof(at));
	if (asprintf(&text, "%s %s%s%s", what, name ? name : "?",
		     *at ? " at " : "", at) < 0)
		text = NULL;
	free(name);
	return text;
}

static char *say(struct waits *w, struct maple_stack *stack, uint16_t self,
		 uint64_t futex)
{
	const struct maple_run *run = &w->trial->run;
	const struct maple_holding *h = &w->trial->holding;
	const struct maple_held *held = maple_holding_find(h, futex, self);
	const struct maple_resting *rests = &h->resting[self];
	uint16_t other = joined(run, futex);
	char *text;

	/* A waiter that was woken and wants its mutex back rests no more. */
	if (rests->kind && futex - rests->addr < COND_SIZE)
		return say_other(w, stack,
				 rests->kind == MAPLE_EV_WAIT
					 ? "waits for a signal on"
					 : "waits at barrier",
				 rests->addr);
	if (held && held->thread < run->nthreads) {
		w->link[self] = (struct link){ stack, held };
		return say_lock(w, stack, held, self);
	}
	if (other != NOBODY) {
		if (asprintf(&text, "joins %s", run->threads[other].name) < 0)
			text = NULL;
		return text;
	}
	return say_other(w, stack, "waits for", futex);
}

static void add_edge(struct waits *w, uint16_t self)
{
	const struct link *link = &w->link[self];
	const struct maple_frame *top = maple_story_top(w->c, link->stack);
	struct maple_finding *f = w->f;
	struct maple_edge *edge = &f->edges[f->nedges++];
	const struct maple_run *run = &w->trial->run;

	assert(link->held && self < run->nthreads);
	assert(link->held->thread < run->nthreads);
	edge->thread = strdup(run->threads[self].name);
	edge->holder = strdup(run->threads[link->held->thread].name);
	edge->variable = name_of(w, link->held->lock);
	edge->address = link->held->lock;
	if (top)
		edge->place = copy_place(&top->place);
	maple_registry_place(w->c->registry, link->held->site, &edge->since);
}

/* From @first to holder to holder, until one comes again: if it is @first. */
static bool closes(struct waits *w, uint16_t first, unsigned int *length)
{
	uint16_t t = first;

	for (*length = 0; *length < MAPLE_THREADS && w->link[t].held;) {
		t = w->link[t].held->thread;
		++*length;
		if (t == first)
			return true;
	}
	return false;
}

/* The cycle with the oldest thread, beginning with it. */
static void tell_cycle(struct waits *w)
{
	unsigned int n = 0;
	uint16_t t = 0;

	while (t < MAPLE_THREADS && !closes(w, t, &n))
		t++;
	if (t == MAPLE_THREADS)
		return;
	w->f->edges = calloc(n, sizeof(*w->f->edges));
	for (; w->f->edges && n; n--) {
		add_edge(w, t);
		t = w->link[t].held->thread;
	}
}

/* maple_story_waiting - whether it waits, and not just for a thread's end */
bool maple_story_waiting(const struct maple_stack *stack)
{
	return stack->state && strncmp(stack->state, "joins ", 6) != 0;
}

/* maple_story_waits - says of each of @f's threads what it waits for */
void maple_story_waits(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial)
{
	struct waits *w = calloc(1, sizeof(*w));
	const struct maple_run *run = &trial->run;
	uint16_t self;

	if (!w)
		return;
	*w = (struct waits){ .c = c, .f = f, .trial = trial };
	for (unsigned int i = 0; i < f->nstacks; i++) {
		self = number_of(run, f->stacks[i].tid);
		for (unsigned int k = 0; self != NOBODY && k < run->nwaits; k++)
			if (run->waits[k].tid == f->stacks[i].tid)
				f->stacks[i].state = say(w, &f->stacks[i], self,
							 run->waits[k].futex);
	}
	tell_cycle(w);
	/* A cycle of locks tells all. */
	for (unsigned int i = 0; i < f->nstacks && !f->nedges; i++) {
		self = number_of(run, f->stacks[i].tid);
		if (self != NOBODY && maple_story_waiting(&f->stacks[i]))
			f->stacks[i].before = maple_past_tell(c, trial, self);
	}
	free(w);
}
