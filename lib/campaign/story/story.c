// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * From a failed run to a finding: what happened in which order, to which
 * variable, and what came of it. Everything becomes plain text here, while
 * the run's addresses still mean something.
 */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include "image/source/demangle.h"
#include "image/image.h"
#include "image/source/scopes.h"
#include "campaign/internal.h"
#include "story.h"

#define TITLE_NAME 60 /* columns that a function's name may take in it */

/* ---- the stacks ---- */

static bool ours(const struct maple_campaign *c, const struct maple_frame *frame)
{
	const struct maple_place *place = &frame->place;

	return place->image &&
	       maple_image_wanted(place->image, false, NULL, NULL) &&
	       !maple_image_in_parts(place->image, NULL) &&
	       !(place->function &&
		 !maple_image_function_wanted(place->function)) &&
	       !(place->build_id &&
		 maple_registry_is_runtime(c->registry, place->build_id,
					   place->offset));
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
		for (i = 0; !first && i < stack->nframes; i++)
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

/* Who is in a hook stands before its site, which nothing unwinds to. */
static void place_at_site(struct maple_campaign *c, struct maple_stack *stack,
			  const struct maple_run *run, uint32_t at)
{
	struct maple_frame *frame = &stack->frames[0];

	for (unsigned int i = 0; i < stack->nframes; i++)
		if (stack->frames[i].place.image)
			return;
	for (unsigned int i = 0; i < stack->nframes; i++)
		maple_place_deinit(&stack->frames[i].place);
	memset(frame, 0, sizeof(*frame));
	stack->nframes = 1;
	frame->pc = maple_story_address(c, run, at);
	maple_registry_place(c->registry, at, &frame->place);
}

static void tell_stacks(struct maple_campaign *c, struct maple_finding *f,
			struct maple_trial *trial)
{
	struct maple_run *run = &trial->run;
	unsigned int i, j;

	if (*run->no_stacks)
		maple_campaign_notice(c, "no stacks: %s", run->no_stacks);
	assert(!f->stacks && !f->nstacks);
	/* The finding takes them over. */
	f->stacks = run->stacks;
	f->nstacks = run->nstacks;
	run->stacks = NULL;
	run->nstacks = 0;
	for (i = 0; i < f->nstacks; i++) {
		struct maple_stack *stack = &f->stacks[i];

		stack->failed = run->signo && stack->tid == run->failed_tid;
		strip(stack, run);
		for (j = 0; j < run->nthreads; j++) {
			if (run->threads[j].tid != stack->tid)
				continue;
			free(stack->thread);
			stack->thread = strdup(run->threads[j].name);
			if (run->threads[j].at)
				place_at_site(c, stack, run,
					      run->threads[j].at - 1);
		}
	}
}

/*
 * maple_story_top - the innermost frame in the program's own code, or NULL; one
 * of a library's header only where no other is known
 */
const struct maple_frame *maple_story_top(const struct maple_campaign *c,
					  const struct maple_stack *stack)
{
	const struct maple_frame *top = NULL;
	unsigned int i;

	for (i = 0; i < stack->nframes; i++) {
		const struct maple_frame *frame = &stack->frames[i];

		if (!ours(c, frame))
			continue;
		if (frame->place.file &&
		    !maple_scopes_library(frame->place.file))
			return frame;
		if (!top)
			top = frame;
	}
	return top;
}

/*
 * maple_story_place - "lock_order.c:30" into @buf, or what is known of it; ""
 * if nothing is; returns @buf
 */
const char *maple_story_place(const struct maple_place *place, char *buf,
			      size_t size)
{
	const char *file = place->file ? strrchr(place->file, '/') : NULL;

	file = file ? file + 1 : place->file;
	if (file && place->line)
		snprintf(buf, size, "%s:%u", file, place->line);
	else
		snprintf(buf, size, "%s",
			 place->function ? place->function : "");
	return buf;
}

static const char *function_of(const struct maple_place *place)
{
	return place->function ? place->function : "??";
}

/* As much of it as a title has room for. */
static const char *title_of(const char *function)
{
	return function ? maple_demangle_tail(function, TITLE_NAME) : NULL;
}

/* ---- the name ---- */

/* Who only joins another thread is no part of the trouble. */
static bool tells(const struct maple_finding *f, const struct maple_stack *stack)
{
	if (f->kind == MAPLE_FAILURE_SIGNAL)
		return stack->failed;
	return !stack->state || strncmp(stack->state, "joins ", 6);
}

static const char *failing_function(const struct maple_campaign *c,
				    const struct maple_finding *f)
{
	const struct maple_frame *frame;
	unsigned int i;

	if (f->nedges)
		return function_of(&f->edges[0].place);
	for (i = 0; i < f->nstacks; i++) {
		if (!tells(f, &f->stacks[i]))
			continue;
		frame = maple_story_top(c, &f->stacks[i]);
		if (frame)
			return function_of(&frame->place);
	}
	return NULL;
}

/* "SIGSEGV in consume / close_queue": where it failed, and who with. */
static void name(const struct maple_campaign *c, struct maple_finding *f)
{
	const char *a = failing_function(c, f), *b = NULL, *what;
	const char *fn[MAPLE_ROLES] = { NULL };
	char text[64];
	unsigned int i;

	/* The report has functions of its own. */
	if (f->kind == MAPLE_FAILURE_SANITIZER) {
		f->title = strdup(f->what);
		return;
	}
	for (i = 0; i < f->nmoments; i++) {
		assert(f->moments[i].role < MAPLE_ROLES);
		if (!fn[f->moments[i].role])
			fn[f->moments[i].role] =
				function_of(&f->moments[i].place);
	}
	if (!a)
		a = fn[1] ? fn[1] : fn[0];
	if (f->nedges > 1)
		fn[0] = function_of(&f->edges[1].place);
	for (i = 0; i < MAPLE_ROLES; i++)
		if (fn[i] && (!b || !strcmp(b, a)))
			b = fn[i];
	a = title_of(a);
	b = title_of(b);
	what = maple_failure_name(f->kind);
	if (f->kind == MAPLE_FAILURE_SIGNAL && sigabbrev_np(f->signo)) {
		snprintf(text, sizeof(text), "SIG%s", sigabbrev_np(f->signo));
		what = text;
	} else if (f->kind == MAPLE_FAILURE_EXIT) {
		snprintf(text, sizeof(text), "exit status %d", f->status);
		what = text;
	}
	if (asprintf(&f->title,
		     a && b ? "%s in %s / %s"
		     : a    ? "%s in %s"
			    : "%s",
		     what, a, b) < 0)
		f->title = NULL;
}

/*
 * maple_story_print - what lasts of an event, to be freed; NULL: nobody knows
 * the site, or no memory
 */
char *maple_story_print(struct maple_campaign *c, uint32_t site, uint32_t kind)
{
	const char *print, *function;
	struct maple_site_info info;
	char *text;
	int n;

	if (maple_registry_site(c->registry, site, &info))
		return NULL;
	print = maple_campaign_print(c, site, &function);
	if (print)
		n = asprintf(&text, "%s %c", print, maple_story_letter[kind]);
	else
		n = asprintf(&text, "%s %llx %c",
			     info.build_id ? info.build_id : "",
			     (unsigned long long)info.offset,
			     maple_story_letter[kind]);
	return n < 0 ? NULL : text;
}

/*
 * Stable over runs, address layouts and rebuilds: kind, functions, goal, and
 * the input, with which it is replayed. What a sanitizer reports is the same
 * bug whatever order brings it about.
 */
static void identify(struct maple_campaign *c, struct maple_finding *f,
		     const struct maple_trial *trial)
{
	XXH64_state_t *state = XXH64_createState();
	const bool reported = f->kind == MAPLE_FAILURE_SANITIZER;
	const char *a = failing_function(c, f);
	unsigned int i;
	char text[512];
	int n;

	if (reported)
		a = f->title;
	XXH64_reset(state, reported ? 0 : maple_class_number(f->class));
	n = snprintf(text, sizeof(text), "%d %d %s %s", f->kind,
		     reported ? 0 : f->signo, a ? a : "", basename(c->program));
	XXH64_update(state, text, n < (int)sizeof(text) ? n : 511);
	for (i = 0; !reported && f->class && i < trial->job.plan.nsteps; i++) {
		const struct maple_plan_step *step = &trial->job.plan.step[i];
		char *print = maple_story_print(c, step->site, step->kind);

		if (print)
			XXH64_update(state, print, strlen(print));
		free(print);
	}
	if (c->options->input || c->options->argv[1] || c->between)
		XXH64_update(state, c->input, strlen(c->input));
	if (asprintf(&f->id, "%012llx",
		     (unsigned long long)XXH64_digest(state) >> 16) < 0)
		f->id = NULL;
	XXH64_freeState(state);
}

/* No order of the run does it alone: the title must not say that one does. */
static void say_together(struct maple_finding *f,
			 const struct maple_trial *trial)
{
	unsigned int n = 1 + (unsigned int)__builtin_popcount(trial->run.begun);
	char *title = f->title;

	if (!title || n == 1)
		return;
	if (asprintf(&f->title, "%s, with %u orders in one run", title, n) < 0)
		f->title = NULL;
	free(title);
}

/* What it had been asked before was still there. */
static void say_round(struct maple_finding *f, const struct maple_trial *trial)
{
	char *title = f->title;

	if (!title || trial->rounds < 2)
		return;
	if (asprintf(&f->title, "%s, in round %u of one server", title,
		     trial->rounds) < 0)
		f->title = NULL;
	free(title);
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

/*
 * maple_story_again - what @f takes to be done again, but for its order, and
 * when that was
 */
void maple_story_again(struct maple_campaign *c, struct maple_finding *f,
		       const struct maple_trial *trial)
{
	const struct maple_campaign_options *o = c->options;
	unsigned int n = 0;

	while (o->argv[n])
		n++;
	f->argv = calloc(n + 1, sizeof(*f->argv));
	while (f->argv && n-- > 0)
		f->argv[n] = strdup(o->argv[n]);
	f->attached = !c->subject->repeats;
	f->cwd = copy(c->cwd);
	f->exe = copy(o->exe);
	f->input = copy(o->input);
	f->backend = copy(c->backend);
	f->strategy = trial->part ? copy(trial->part->name) : NULL;
	f->seed = trial->job.seed;
	f->attempt = trial->job.plan.attempt;
	f->run = c->run_number;
	f->found_at = time(NULL);
	f->times_seen = 1;
	f->owner = geteuid();
}

static void tell_how(struct maple_campaign *c, struct maple_finding *f,
		     struct maple_trial *trial)
{
	maple_story_again(c, f, trial);
	f->plan = maple_planfile_write(c, trial, true);
	f->output = trial->output;
	trial->output = NULL;
	f->oracle = trial->oracle;
	trial->oracle = NULL;
	f->report = trial->report;
	trial->report = NULL;
	/* What it ran on, attached, is gone with it. */
	if (f->id)
		maple_finding_line(f);
}

/*
 * maple_story_tell - the finding that @trial's failure makes; NULL when out
 * of memory. Takes the stacks and the output over.
 */
struct maple_finding *maple_story_tell(struct maple_campaign *c,
				       struct maple_trial *trial)
{
	struct maple_finding *f = calloc(1, sizeof(*f));
	struct maple_goal goal;

	if (!f)
		return NULL;
	f->kind = trial->judgement.failure;
	f->signo = trial->judgement.signo;
	f->status = trial->judgement.status;
	f->address = trial->run.fault;
	f->what = strdup(trial->judgement.what);
	if (trial->job.kind == MAPLE_RUN_CONTROL)
		maple_story_switches(c, f, trial);
	if (trial->job.schedule == MAPLE_SCHEDULE_MEET)
		maple_story_meeting(c, f, trial);
	if (trial->job.kind == MAPLE_RUN_ENFORCE) {
		if (!maple_goal_of_plan(&trial->job.plan, &goal))
			f->class = copy(goal.class);
		maple_story_order(c, f, trial);
	}
	tell_stacks(c, f, trial);
	if (f->kind == MAPLE_FAILURE_DEADLOCK || f->kind == MAPLE_FAILURE_HANG)
		maple_story_waits(c, f, trial);
	name(c, f);
	identify(c, f, trial);
	say_together(f, trial);
	say_round(f, trial);
	tell_how(c, f, trial);
	if (f->id && f->title && f->what && (f->replay || f->attached))
		return f;
	maple_finding_destroy(f);
	return NULL;
}
