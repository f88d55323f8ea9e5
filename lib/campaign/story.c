// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From a failed run to a finding: what happened in which order, to which
 * variable, and what came of it. Everything becomes plain text here, while
 * the run's addresses still mean something.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "../image/image.h"
#include "internal.h"
#include "story.h"

/* ---- the interleaving ---- */

static const char letter[] = {
	[MAPLE_EV_READ] = 'R',
	[MAPLE_EV_WRITE] = 'W',
	[MAPLE_EV_LOCK] = 'L',
	[MAPLE_EV_UNLOCK] = 'U',
};

static bool is_step(const struct maple_plan_step *step,
		    const struct maple_event *e)
{
	if (e->site != step->site || !maple_event_is_access(e->kind))
		return false;
	return e->kind == step->kind ||
	       (e->kind == MAPLE_EV_UPDATE &&
		maple_event_is_memory(step->kind));
}

/*
 * Where in the log each step was executed for the last time: backwards from
 * the end, or from the exposure, and not beyond the last attempt given up.
 */
static void find_steps(const struct maple_trial *trial,
		       int64_t at[MAPLE_PLAN_STEPS])
{
	const struct maple_plan *plan = &trial->plan;
	bool exposed = trial->run.automaton.exposed;
	int64_t i, first = 0, last = (int64_t)trial->nlog - 1;
	int s;

	for (i = 0; i <= last; i++) {
		if (trial->log[i].kind == MAPLE_EV_GIVEUP)
			first = i;
		if (trial->log[i].kind == MAPLE_EV_EXPOSED)
			last = i;
	}
	for (s = plan->nsteps - 1; s >= 0; s--) {
		for (i = last; i >= first; i--)
			if (is_step(&plan->step[s], &trial->log[i]) &&
			    (!exposed ||
			     trial->log[i].thread ==
				     trial->run.automaton
					     .role[plan->step[s].role]))
				break;
		at[s] = i >= first ? i : -1;
		if (i >= first)
			last = i - 1;
	}
}

/* The site's address in this run; 0 if its image was not loaded. */
static uint64_t site_address(const struct maple_campaign *c,
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

static void add_moment(struct maple_campaign *c, struct maple_finding *f,
		       const struct maple_trial *trial,
		       const struct maple_plan_step *step,
		       const struct maple_event *e, int from)
{
	struct maple_moment *m = &f->moments[f->nmoments++];
	const struct maple_run *run = &trial->run;
	const struct maple_event *until = e;

	maple_registry_place(c->registry, step->site, &m->place);
	m->kind = letter[step->kind];
	m->role = step->role;
	m->event = step->event;
	m->from = from;
	m->thread = strdup(e && e->thread < run->nthreads ?
				   run->threads[e->thread].name :
				   trial->plan.hint[step->role]);
	if (!e)
		return;
	/* What is not in the log itself never came to its end. */
	if (e < trial->log || e >= trial->log + trial->nlog)
		until = trial->log + trial->nlog;
	m->address = e->addr;
	m->variable = maple_story_variable(c, trial, e->addr, until);
}

/*
 * The lock that a thread of the deadlock waits for is that of the step that
 * acquired it; the thread is that of the same role's step.
 */
static bool blocked(const struct maple_trial *trial, unsigned int s,
		    const int64_t at[MAPLE_PLAN_STEPS], struct maple_event *e)
{
	const struct maple_plan *plan = &trial->plan;
	bool acquired = false, began = false;

	if (trial->run.end != MAPLE_END_DEADLOCK || at[s] >= 0 ||
	    plan->step[s].kind != MAPLE_EV_LOCK)
		return false;
	for (unsigned int i = 0; i < s; i++) {
		if (at[i] < 0)
			continue;
		if (plan->step[i].var == plan->step[s].var) {
			e->addr = trial->log[at[i]].addr;
			acquired = true;
		}
		if (plan->step[i].role == plan->step[s].role) {
			e->thread = trial->log[at[i]].thread;
			began = true;
		}
	}
	return acquired && began;
}

static void tell_order(struct maple_campaign *c, struct maple_finding *f,
		       const struct maple_trial *trial)
{
	const struct maple_plan *plan = &trial->plan;
	int64_t at[MAPLE_PLAN_STEPS];
	int moment[MAPLE_PLAN_STEPS];
	unsigned int s;

	f->moments = calloc(plan->nsteps, sizeof(*f->moments));
	if (!f->moments)
		return;
	find_steps(trial, at);
	for (s = 0; s < plan->nsteps; s++) {
		const struct maple_plan_step *step = &plan->step[s];
		/* The step that crashed never came to its end. */
		bool fatal = at[s] < 0 && trial->run.pc &&
			     trial->run.pc ==
				     site_address(c, &trial->run, step->site);
		int from = step->dep >= 0 ? moment[step->dep] : -1;
		const struct maple_event *e =
			at[s] >= 0 ? &trial->log[at[s]] : NULL;
		struct maple_event wait = { 0 };

		if (blocked(trial, s, at, &wait))
			e = &wait;
		moment[s] = -1;
		if (!e && !fatal)
			continue;
		moment[s] = f->nmoments;
		add_moment(c, f, trial, step, e, from);
	}
}

/* ---- the stacks ---- */

static bool ours(const struct maple_frame *frame)
{
	const char *image = frame->place.image;

	return image && maple_image_wanted(image, false, NULL, NULL);
}

static bool is_agent(const struct maple_frame *frame)
{
	return frame->place.image &&
	       strstr(frame->place.image, "libmaple-agent.so");
}

/*
 * What the agent's own code adds is not the program's: frames of the agent
 * go, and with a signal everything above the frame that it interrupted.
 */
static void strip(struct maple_stack *stack, const struct maple_run *run)
{
	unsigned int i, kept = 0, first = 0;

	if (stack->tid == run->failed_tid && run->pc)
		for (i = 0; i < stack->nframes; i++)
			if (stack->frames[i].pc == run->pc)
				first = i;
	for (i = 0; i < stack->nframes; i++) {
		if (i >= first && !is_agent(&stack->frames[i])) {
			stack->frames[kept++] = stack->frames[i];
			continue;
		}
		maple_place_deinit(&stack->frames[i].place);
	}
	stack->nframes = kept;
}

static void tell_stacks(struct maple_finding *f, struct maple_trial *trial)
{
	struct maple_run *run = &trial->run;
	unsigned int i, j;

	/* The finding takes them over. */
	f->stacks = run->stacks;
	f->nstacks = run->nstacks;
	run->stacks = NULL;
	run->nstacks = 0;
	for (i = 0; i < f->nstacks; i++) {
		struct maple_stack *stack = &f->stacks[i];

		stack->failed = run->signo && stack->tid == run->failed_tid;
		for (j = 0; j < run->nthreads; j++)
			if (run->threads[j].tid == stack->tid)
				stack->thread = strdup(run->threads[j].name);
		strip(stack, run);
	}
}

/* maple_story_top - the innermost frame in the program's own code, or NULL */
const struct maple_frame *maple_story_top(const struct maple_stack *stack)
{
	unsigned int i;

	for (i = 0; i < stack->nframes; i++)
		if (ours(&stack->frames[i]))
			return &stack->frames[i];
	return NULL;
}

static const char *function_of(const struct maple_place *place)
{
	return place->function ? place->function : "??";
}

/* ---- the name ---- */

/* Who only joins another thread is no part of the trouble. */
static bool tells(const struct maple_finding *f,
		  const struct maple_stack *stack)
{
	if (f->kind == MAPLE_FAILURE_SIGNAL)
		return stack->failed;
	return !stack->state || strncmp(stack->state, "joins ", 6);
}

static const char *failing_function(const struct maple_finding *f)
{
	const struct maple_frame *frame;
	unsigned int i;

	if (f->nedges)
		return function_of(&f->edges[0].place);
	for (i = 0; i < f->nstacks; i++) {
		if (!tells(f, &f->stacks[i]))
			continue;
		frame = maple_story_top(&f->stacks[i]);
		if (frame)
			return function_of(&frame->place);
	}
	return NULL;
}

/* "SIGSEGV in consume / close_queue": where it failed, and who with. */
static void name(struct maple_finding *f)
{
	const char *a = failing_function(f), *b = NULL, *what;
	const char *fn[2] = { NULL, NULL };
	char text[64];
	unsigned int i;

	for (i = 0; i < f->nmoments; i++)
		if (!fn[f->moments[i].role])
			fn[f->moments[i].role] =
				function_of(&f->moments[i].place);
	if (!a)
		a = fn[1] ? fn[1] : fn[0];
	if (f->nedges > 1)
		fn[0] = function_of(&f->edges[1].place);
	for (i = 0; i < 2; i++)
		if (fn[i] && (!b || !strcmp(b, a)))
			b = fn[i];
	what = maple_failure_name(f->kind);
	if (f->kind == MAPLE_FAILURE_SIGNAL && sigabbrev_np(f->signo)) {
		snprintf(text, sizeof(text), "SIG%s", sigabbrev_np(f->signo));
		what = text;
	} else if (f->kind == MAPLE_FAILURE_EXIT) {
		snprintf(text, sizeof(text), "exit status %d", f->status);
		what = text;
	}
	if (asprintf(&f->title, a && b ? "%s in %s / %s" :
				a      ? "%s in %s" :
					 "%s",
		     what, a, b) < 0)
		f->title = NULL;
}

/* Stable over runs and over address layouts: kind, functions, iRoot. */
static void identify(struct maple_campaign *c, struct maple_finding *f,
		     const struct maple_trial *trial)
{
	XXH64_state_t *state = XXH64_createState();
	const char *a = failing_function(f);
	struct maple_site_info info;
	unsigned int i;
	char text[512];
	int n;

	XXH64_reset(state, f->idiom);
	n = snprintf(text, sizeof(text), "%d %d %s %s", f->kind, f->signo,
		     a ? a : "", c->program);
	XXH64_update(state, text, n < (int)sizeof(text) ? n : 511);
	for (i = 0; f->idiom && i < trial->plan.nsteps; i++) {
		const struct maple_plan_step *step = &trial->plan.step[i];

		if (maple_registry_site(c->registry, step->site, &info))
			continue;
		n = snprintf(text, sizeof(text), "%s %llx %c",
			     info.build_id ? info.build_id : "",
			     (unsigned long long)info.offset,
			     letter[step->kind]);
		XXH64_update(state, text, n);
	}
	if (asprintf(&f->id, "%012llx",
		     (unsigned long long)XXH64_digest(state) >> 16) < 0)
		f->id = NULL;
	XXH64_freeState(state);
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static void tell_how(struct maple_campaign *c, struct maple_finding *f,
		     struct maple_trial *trial)
{
	const struct maple_campaign_options *o = c->options;
	unsigned int n = 0;

	while (o->argv[n])
		n++;
	f->argv = calloc(n + 1, sizeof(*f->argv));
	while (f->argv && n-- > 0)
		f->argv[n] = strdup(o->argv[n]);
	f->cwd = get_current_dir_name();
	f->exe = copy(o->exe);
	f->input = copy(o->input);
	f->seed = trial->seed;
	f->attempt = trial->plan.attempt;
	f->plan = maple_planfile_write(c, trial);
	f->output = trial->output;
	trial->output = NULL;
	f->run = c->run_number;
	f->found_at = time(NULL);
	f->times_seen = 1;
	if (asprintf(&f->replay, "mapletest replay %s", f->id) < 0)
		f->replay = NULL;
}

/*
 * maple_story_tell - the finding that @trial's failure makes; NULL when out
 * of memory. Takes the stacks and the output over.
 */
struct maple_finding *maple_story_tell(struct maple_campaign *c,
				       struct maple_trial *trial)
{
	struct maple_finding *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->kind = trial->judgement.failure;
	f->signo = trial->judgement.signo;
	f->status = trial->judgement.status;
	f->address = trial->run.fault;
	f->what = strdup(trial->judgement.what);
	if (trial->kind == MAPLE_RUN_ENFORCE) {
		f->idiom = trial->plan.idiom;
		tell_order(c, f, trial);
	}
	tell_stacks(f, trial);
	if (f->kind == MAPLE_FAILURE_DEADLOCK || f->kind == MAPLE_FAILURE_HANG)
		maple_story_waits(c, f, trial);
	name(f);
	identify(c, f, trial);
	tell_how(c, f, trial);
	if (f->id && f->title && f->what && f->replay)
		return f;
	maple_finding_destroy(f);
	return NULL;
}
