// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The past of a thread that waits and that nobody wakes: what it had read
 * before it slept, who wrote that and when, and who has signalled what it
 * waits on. A lost wake-up is told by these.
 *
 * The log of an enforced run has the accesses that its plans are about. So
 * such an order is run once more, with the accesses watched that may have led
 * to the wait (confirm.c).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "past.h"
#include "story.h"

#define READS  2  /* that are told, the last first */
#define RECENT 32 /* of the thread's events before the wait */

struct past {
	struct maple_campaign *c;
	struct maple_trial *trial;
	uint16_t self;
	int64_t slept; /* its last event in the log; -1: none */
	FILE *out;
};

static bool writes(const struct maple_event *e, const struct maple_event *read)
{
	return (e->kind == MAPLE_EV_WRITE || e->kind == MAPLE_EV_UPDATE) &&
	       e->addr < read->addr + read->size &&
	       read->addr < e->addr + e->size;
}

/* The last write of another thread to what @log[@read] has read; or -1. */
static int64_t last_write(const struct past *p, int64_t read)
{
	const struct maple_event *log = p->trial->log;
	int64_t i = p->trial->nlog;

	while (i-- > 0)
		if (log[i].thread != p->self && writes(&log[i], &log[read]))
			break;
	return i;
}

/* " at pool.c:29", as far as it is known. */
static void print_at(const struct past *p, uint32_t site)
{
	struct maple_place place = { 0 };
	char text[256];

	if (!maple_registry_place(p->c->registry, site, &place) &&
	    *maple_story_place(&place, text, sizeof(text)))
		fprintf(p->out, " at %s", text);
	maple_place_deinit(&place);
}

/* Who it was, by number. */
static const char *name_of(const struct past *p, uint16_t thread)
{
	const struct maple_run *run = &p->trial->run;

	return thread < run->nthreads ? run->threads[thread].name : "?";
}

static bool value_of(const struct maple_event *e, const struct maple_naming *n,
		     char *text, size_t size)
{
	if (!(e->flags & MAPLE_EVF_VALUED) || !e->size || e->size > 8)
		return false;
	maple_variable_value(n->typed ? &n->variable : NULL,
			     e->value & UINT64_MAX >> (64 - 8 * e->size),
			     e->size, text, size);
	return true;
}

static void tell_read(const struct past *p, int64_t read, int64_t write)
{
	const struct maple_event *r = &p->trial->log[read];
	const struct maple_event *w = &p->trial->log[write];
	struct maple_asked asked = {
		.addr = r->addr, .size = r->size, .site = r->site, .until = r
	};
	struct maple_naming n;
	char value[64];

	assert(r->thread == p->self && w->thread != p->self);
	maple_story_name(p->c, p->trial, &asked, &n);
	fprintf(p->out, "%sit had read %s", ftell(p->out) ? "\n" : "",
		n.name ? n.name : "what is not known");
	if (value_of(r, &n, value, sizeof(value)))
		fprintf(p->out, " = %s", value);
	print_at(p, r->site);
	fprintf(p->out, "; %s wrote ", name_of(p, w->thread));
	if (w->addr == r->addr && w->size == r->size &&
	    value_of(w, &n, value, sizeof(value)))
		fprintf(p->out, "%s to ", value);
	fputs("it", p->out);
	print_at(p, w->site);
	fprintf(p->out, ", %s that", write > read ? "after" : "before");
	maple_naming_deinit(&n);
}

/* What it had read last, if others have written it. */
static void tell_reads(const struct past *p)
{
	const struct maple_event *log = p->trial->log;
	unsigned int told = 0, seen = 0;
	uint64_t before = 0;
	int64_t write;

	for (int64_t i = p->slept; i >= 0 && told < READS && seen < RECENT;
	     i--) {
		if (log[i].thread != p->self)
			continue;
		seen++;
		if ((log[i].kind != MAPLE_EV_READ &&
		     log[i].kind != MAPLE_EV_UPDATE) ||
		    (told && log[i].addr == before))
			continue;
		write = last_write(p, i);
		if (write < 0)
			continue;
		tell_read(p, i, write);
		before = log[i].addr;
		told++;
	}
}

static bool signals(const struct maple_event *e, uint64_t condition)
{
	return (e->kind == MAPLE_EV_SIGNAL || e->kind == MAPLE_EV_BROADCAST) &&
	       e->addr == condition;
}

/* Who has signalled the condition that it waits on, and when. */
static void tell_signal(const struct past *p)
{
	const struct maple_event *log = p->trial->log;
	int64_t wait = p->slept, i = p->trial->nlog;
	char *name;

	while (wait >= 0 &&
	       (log[wait].thread != p->self || log[wait].kind != MAPLE_EV_WAIT))
		wait--;
	if (wait < 0)
		return;
	while (i-- > 0)
		if (signals(&log[i], log[wait].addr))
			break;
	name = maple_story_variable(p->c, p->trial, log[wait].addr, &log[wait]);
	if (i < 0) {
		/* A log with gaps proves nothing of the kind. */
		if (!p->trial->run.lost && p->trial->nlog < MAPLE_LOG_MAX)
			fprintf(p->out, "%snobody has signalled %s",
				ftell(p->out) ? "\n" : "", name ? name : "it");
	} else {
		fprintf(p->out, "%s%s %s %s", ftell(p->out) ? "\n" : "",
			name_of(p, log[i].thread),
			log[i].kind == MAPLE_EV_SIGNAL ? "signalled"
						       : "broadcast",
			name ? name : "it");
		print_at(p, log[i].site);
		fprintf(p->out, ", %s it waited", i < wait ? "before" : "after");
	}
	free(name);
}

/*
 * maple_past_tell - what came before thread @self of @trial slept, a sentence
 * a line, to be freed; NULL if the log says nothing
 */
char *maple_past_tell(struct maple_campaign *c, struct maple_trial *trial,
		      uint16_t self)
{
	struct past p = { c, trial, self, trial->nlog, NULL };
	char *text = NULL;
	size_t size;

	while (p.slept-- > 0)
		if (trial->log[p.slept].thread == self)
			break;
	if (p.slept < 0)
		return NULL;
	p.out = open_memstream(&text, &size);
	if (!p.out)
		return NULL;
	tell_reads(&p);
	/* Who was woken since waits for something else. */
	if (trial->holding.resting[self].kind == MAPLE_EV_WAIT)
		tell_signal(&p);
	if (fclose(p.out) || !*text) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- what one more run is to watch ---- */

/* maple_past_wanted - whether @f would be clearer for a past */
bool maple_past_wanted(const struct maple_finding *f)
{
	bool hung = f->kind == MAPLE_FAILURE_DEADLOCK ||
		    f->kind == MAPLE_FAILURE_HANG;

	for (unsigned int i = 0; hung && !f->nedges && i < f->nstacks; i++)
		if (maple_story_waiting(&f->stacks[i]))
			return true;
	return false;
}

static void add_guard(struct maple_plan *plan, uint32_t site)
{
	uint32_t i;

	for (i = 0; i < plan->nsteps; i++)
		if (plan->step[i].site == site)
			return;
	for (i = 0; i < plan->nguards; i++)
		if (plan->guard[i] == site)
			return;
	if (plan->nguards < MAPLE_PLAN_GUARDS)
		plan->guard[plan->nguards++] = site;
}

/* Whether the site is in the function in which a thread of @f waits. */
static bool is_near(struct maple_campaign *c, const struct maple_finding *f,
		    uint32_t site)
{
	struct maple_place place = { 0 };
	const struct maple_frame *top;
	bool near = false;

	if (maple_registry_place(c->registry, site, &place))
		return false;
	for (unsigned int i = 0; i < f->nstacks && !near; i++) {
		top = maple_story_waiting(&f->stacks[i])
			      ? maple_story_top(c, &f->stacks[i])
			      : NULL;
		near = top && top->place.function && place.function &&
		       !strcmp(top->place.function, place.function);
	}
	maple_place_deinit(&place);
	return near;
}

/*
 * maple_past_watch - adds to @plan the sites whose accesses may have led to
 * the waits of @f: those on shared memory in the functions that wait, and all
 * on the same memory. Where the program has few shared ones, all of them.
 */
void maple_past_watch(struct maple_campaign *c, const struct maple_finding *f,
		      struct maple_plan *plan)
{
	uint32_t shared[MAPLE_PLAN_GUARDS], more[MAPLE_PLAN_GUARDS];
	uint32_t room = MAPLE_PLAN_GUARDS - plan->nguards, n = 0;
	uint32_t sites = c->strategy->around ? c->strategy->sites(c->system)
					     : 0;

	assert(plan->nguards + room == MAPLE_PLAN_GUARDS);
	for (uint32_t site = 0; site < sites; site++) {
		unsigned int nmore;

		if (!c->strategy->around(c->system, site, more, 1))
			continue;
		if (n < MAPLE_PLAN_GUARDS)
			shared[n] = site;
		n++;
		if (!is_near(c, f, site))
			continue;
		nmore = c->strategy->around(c->system, site, more,
					    MAPLE_PLAN_GUARDS);
		for (unsigned int i = 0; i < nmore; i++)
			add_guard(plan, more[i]);
	}
	for (uint32_t i = 0; i < n && n <= room; i++)
		add_guard(plan, shared[i]);
}
